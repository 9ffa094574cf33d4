"""Contradictions of a curve of lines, at the least level that contradicts in sixty digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from leakscore import _core
from tests.oracles.one_run import contradicted

DOWN = 1 - 2.0**-50  # more than the roundings of a line
CURVES = [  # places, values and slopes of a convex function up to the diagonal
    ([0.0], [0.0], [0.375]),
    ([0.0, 0.5], [0.0, 0.125], [0.25, 1.5]),
    ([0.0, 0.25, 0.75, 0.875], [0.0, 0.0, 0.0625, 0.125], [0.0, 0.125, 0.5, 5.0]),
]
COUNTS = [
    (20, 20, 18),
    (20, 8, 8),
    (10, 10, 5),
    (50, 25, 25),
    (7, 7, 6),
    (100, 30, 24),
    (10, 10, 9),
]


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize(("canaries", "guesses", "correct"), COUNTS)
def test_the_least_level_that_contradicts(
    canaries: int, guesses: int, correct: int, curve: tuple
) -> None:
    at, value, slope = (np.array(part) for part in curve)

    def inverse(right: mpmath.mpf) -> mpmath.mpf:
        line = int(np.searchsorted(at, float(right), "right")) - 1
        return mpmath.mpf(value[line]) + mpmath.mpf(slope[line]) * (right - mpmath.mpf(at[line]))

    def exactly(level: float) -> bool:
        return contradicted(mpmath.mpf(canaries), guesses, correct, mpmath.mpf(level), inverse)

    def found(level: float) -> bool:
        arguments = float(canaries), float(guesses), float(correct), level
        return _core.one_run_lines_contradiction(*arguments, at, value * DOWN, slope * DOWN)[0]

    with mpmath.workdps(60):
        low, high = 0.0, 1.0
        assert not exactly(low)
        if not exactly(high):
            assert not found(high)
            return
        while np.nextafter(low, 2.0) < high:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if exactly(middle) else (middle, high)
    assert not found(low)
    assert found(min(1.0, high * (1 + 1e-13)))
