"""What a bound says in words: one word for one delta, an array for many."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore.audit import Audit


@pytest.mark.parametrize("delta", [1e-5, [0.0, 1e-5]])
def test_text_of_one_delta_and_of_many(delta: object) -> None:
    audit = Audit(range(50, 150), range(100))
    bound = audit.epsilon(delta, orientation="both")
    rows = np.atleast_1d(bound.direction), np.atleast_1d(bound.orientation)
    assert set(rows[0]) <= {"forward", "reverse"}
    assert set(rows[1]) == {"high"}
    assert isinstance(bound.direction, str) == (np.ndim(delta) == 0)
    turned = Audit(range(100), range(50, 150)).epsilon(delta, orientation="both")
    assert set(np.atleast_1d(turned.orientation)) == {"low"}
