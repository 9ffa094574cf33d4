"""Gradients of trainings where squares overflow, and axes that do not fit."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from leakscore.games import Training


@pytest.mark.parametrize(
    "record", [[1e200, -1e200, 1e-3], [1e-200, 0.0, 1e200], [1e200, 0.0, 1e200], [3e-200, 0, 1e150]]
)
def test_clipping_where_squares_overflow(record: list[float]) -> None:
    training = Training("linear", 2, 1, 1.0, clip=0.5)
    x, y = np.array(record[:2]), record[2]
    expected = [float(mpf(-y) * mpf(v)) for v in x]
    norm = mpmath.norm([mpf(y) * mpf(v) for v in x])
    if norm > 0.5:
        expected = [float(-mpf(y) * mpf(v) / norm / 2) for v in x]
    with np.errstate(all="raise", under="ignore"):
        found = training.gradients([0.0, 0.0], record)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_leading_axes_that_do_not_broadcast_are_refused() -> None:
    training = Training("linear", 2, 1, 1.0)
    for of in (training.gradients, training.losses):
        with pytest.raises(ValueError, match=r"theta of shape \(3, 2\) and of records"):
            of(np.ones((3, 2)), np.ones((4, 3)))
