"""Roots of many monotone functions at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from leakscore._validate import Doubles

_STEPS = 400


def falling_root(
    function: Callable[[Doubles], tuple[Doubles, Doubles]], low: Doubles, high: Doubles
) -> Doubles:
    """Solve function = 0 on [low, high], elementwise; it falls, and returns its slope as well.

    Newton's steps, and halving where one leaves what is known to hold the root or does not halve
    it in a few steps. Ends one step after a step of 1e-12, or with no double left between the ends;
    raises RuntimeError if neither happens.
    """
    low, high = np.array(low), np.array(high)
    x = 0.5 * low + 0.5 * high
    for step in range(_STEPS):
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            value, slope = function(x)
            above = value >= 0.0
            low, high = np.where(above, x, low), np.where(above, high, x)
            newton = x - value / slope
        middle = 0.5 * low + 0.5 * high
        inside = (newton > low) & (newton < high) & (step % 4 != 3)
        size = np.maximum(np.abs(x), 1e-300)
        settled = inside & (np.abs(newton - x) <= 2.0**-40 * size)  # the last step squares this
        narrow = high - low <= 2.0**-51 * size
        following = np.where(inside, newton, middle)
        if (settled | narrow | (value == 0.0)).all():
            return np.where(value == 0.0, x, following)
        x = np.where(settled | (value == 0.0), x, following)
    raise RuntimeError("The search for a root did not end")
