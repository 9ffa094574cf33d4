"""Bands from the order statistics of uniform variables: a Clopper-Pearson bound at each count.

The error rate above a threshold with k errors exceeds A(k) only if the order statistic U_(k+1)
exceeds it, so that a band is a set of constraints U_(i) <= c_i, one for each index i of a set. A(k)
is c_i for the first constrained index i > k, whatever the set: a band stays exactly valid when
constraints are left out.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from leakscore import _core
from leakscore._validate import Doubles

__all__ = ["ALL_COUNTS", "beta_bounds", "indexes"]

Counts = npt.NDArray[np.int64]

ALL_COUNTS = 20_000  # up to here every index is constrained
_SPACING = 0.1  # of constrained indexes above, in standard deviations of the order statistic


def indexes(n: int) -> Counts:
    """Return the constrained indexes, ascending, 1 and n among them."""
    if n <= ALL_COUNTS:
        return np.arange(1, n + 1, dtype=np.int64)
    lower = [1]
    while 2 * (i := lower[-1]) <= n:
        lower.append(i + max(1, math.floor(_SPACING * math.sqrt(i * ((n - i) / n)))))
    half = np.array(lower, dtype=np.int64)
    return np.unique(np.concatenate([half, n + 1 - half]))


def beta_bounds(index: Counts, n: int, level: Doubles | float) -> Doubles:
    """Return the (1 - level)-quantiles of Beta(i, n + 1 - i), rounded up, at most 1."""
    size = index.size
    levels = np.broadcast_to(np.asarray(level, dtype=np.float64), size)
    upper, _ = _core.clopper_pearson(
        (index - 1).astype(np.float64), np.full(size, float(n)), levels.copy(), 1.0 - levels, True
    )
    return np.maximum.accumulate(upper)
