"""Designs whose squares overflow are refused, without a warning of numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore import shadow


def test_designs_too_large_to_square_are_refused() -> None:
    design = np.tile([1.7e308, 1e-300, -1.7e308, 1e154], (2, 1))
    with pytest.raises(
        ValueError, match=r"design must have entries whose squares are finite, not 1\.7e"
    ):
        shadow.linear_law(design, np.zeros(4), 0.0, np.zeros(4), sigma=1.0)
