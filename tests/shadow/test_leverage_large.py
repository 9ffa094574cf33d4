"""Designs whose squares overflow are refused, without a warning; records of large influence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from leakscore import shadow


def test_designs_too_large_to_square_are_refused() -> None:
    design = np.tile([1.7e308, 1e-300, -1.7e308, 1e154], (2, 1))
    with pytest.raises(
        ValueError, match=r"design must have entries whose squares are finite, not 1\.7e"
    ):
        shadow.linear_law(design, np.zeros(4), 0.0, np.zeros(4), sigma=1.0)


@pytest.mark.parametrize("influence", [1e-8, 1.0, 1e3, 1e6, 1e9])
def test_margins_with_records_of_any_influence(influence: float) -> None:
    """By scipy's search: Newton's steps from the middle did not end for large ones."""
    mean = np.linspace(-40.0, 40.0, 9)
    law = shadow.LogisticLaw(mean, np.ones(9), np.full(9, influence))
    for shift, at in zip(law.shift.tolist(), mean.tolist(), strict=True):
        moved = brentq(lambda x, at=at: x - influence * expit(-at - x), 0.0, influence, xtol=1e-13)
        assert shift == pytest.approx(moved, rel=1e-9, abs=1e-12)
