"""Bands as constraints on the order statistics of n uniform variables.

The error rate above a threshold with k errors exceeds A(k) only if the order statistic U_(k+1)
exceeds it. So a band is a set of constraints U_(i) <= c_i, and A(k) is c_i for the first
constrained index i > k. It stays exactly valid if constraints are left out.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from leakscore import _core
from leakscore.typing import Counts, Doubles

__all__ = ["ENDS"]

ALL_INDEXES = 20_000  # samples up to this size have every index constrained
ENDS = 100_000  # of samples larger than both ends together, only this many indexes at each end are

_SPACING = 0.1  # of constrained indexes, in standard deviations of the order statistic
_FAR_SPACING = 0.2, 5e-4  # of counts between the ends: the same, and relative to the nearer end
_BLOCK = 1.25  # ratio of the rates at which neighbouring maximal inequalities begin


def grid_to(n: int, last: int) -> Counts:
    """Return the constrained indexes from 1 to `last`: all, or a square-root grid."""
    if n <= ALL_INDEXES:
        return np.arange(1, last + 1, dtype=np.int64)
    indexes = [1]
    while (i := indexes[-1]) < last:
        deviation = math.sqrt(i * ((n - i) / n))
        indexes.append(min(last, i + max(1, math.floor(_SPACING * deviation))))
    return np.array(indexes, dtype=np.int64)


@lru_cache(maxsize=8)
def boundaries(n: int) -> tuple[Counts, ...]:
    """Return the sets of constrained indexes: one for all, or those of the two ends; cached."""
    if n <= 2 * ENDS:
        sets: tuple[Counts, ...] = (indexes(n),)
    else:
        lower = grid_to(n, ENDS)
        sets = (lower, (n + 1 - lower)[::-1].copy())
    for index in sets:
        index.flags.writeable = False
    return sets


def indexes(n: int) -> Counts:
    """Return all indexes, or a symmetric square-root grid of them."""
    lower = grid_to(n, n if n <= ALL_INDEXES else (n + 1) // 2)
    return np.union1d(lower, n + 1 - lower)


def beta_bounds(index: Counts, n: int, level: Doubles | float) -> tuple[Doubles, Doubles]:
    """Return the (1 - level)-quantiles of Beta(i, n + 1 - i), rounded up, and their complements.

    The complements are relatively exact where they are small.
    """
    levels = np.full(index.size, level)
    upper, rest = _core.clopper_pearson(
        (index - 1).astype(np.float64), np.full(index.size, float(n)), levels, 1.0 - levels, True
    )
    if np.isnan(upper).any():
        place = int(np.argmax(np.isnan(upper)))
        raise RuntimeError(f"no bound found for {index[place] - 1} of {n} at {levels[place]!r}")
    return np.maximum.accumulate(upper), np.minimum.accumulate(rest)


def far_counts(n: int, miss: float) -> tuple[Counts, Doubles]:
    """Return counts between the two ends and upper bounds that miss with probability `miss`.

    With N(t) of n uniform variables up to t, N(t)/t is a reverse martingale, so that Doob's
    inequality extends Chernoff's bound from t = a to all t >= a at once:
    ``P(N(t) <= x n t for some t >= a) <= exp(-n KL(a x, a))``. A few such inequalities, from rates
    a that grow geometrically, bound all rates from below the middle; above, they bound the shares
    1 - N(t)/n of the complement.
    """
    counts = [ENDS]
    while (k := counts[-1]) < n // 2:
        deviation = math.sqrt(k * ((n - k) / n))
        counts.append(k + max(1, math.floor(max(_FAR_SPACING[0] * deviation, _FAR_SPACING[1] * k))))
    lower = np.array(counts[1:], dtype=np.int64)
    number = math.ceil(math.log(n / 2 / ENDS) / math.log(_BLOCK)) + 2
    begin: Doubles = np.float64(ENDS / n) * _BLOCK ** np.arange(-1.0, number - 1.0)
    exponent = math.log(2 * number / miss) * (1.0 + 1e-9)
    fewest = _chernoff(n, begin, exponent, 0.0 * begin)
    most = _chernoff(n, begin, exponent, np.minimum(1.0, 9.0 * begin))
    bounds, mirrored = np.ones(lower.size), np.zeros(lower.size)
    share = lower / n
    for a, low, high in zip(begin, fewest, most, strict=True):
        # N(t)/t > n low/a for t >= a, and t < a does not affect an upper bound.
        bounds = np.minimum(bounds, np.maximum(a, share * (a / low)))
        # 1 - N(1 - s) < n high s/a for s >= a, and no more than n high below.
        mirrored = np.maximum(mirrored, np.where(share > high, share * (a / high), 0.0))
    margin = 1e-14  # far more than three roundings; the difference is rounded once more
    rest = np.nextafter(1.0 - mirrored * (1.0 - margin), 2.0)
    knots = np.concatenate([lower, (n - lower)[::-1]])
    values = np.concatenate([bounds * (1.0 + margin), rest[::-1]])
    order = np.argsort(knots, kind="stable")
    return knots[order], np.minimum(1.0, values[order])


def _chernoff(n: int, rate: Doubles, exponent: float, far: Doubles) -> Doubles:
    """Solve n KL(x, rate) = exponent for x between `far` and rate; the far end of the bracket."""
    near = rate
    for _ in range(200):
        middle = 0.5 * (far + near)
        inner = middle * np.log(middle / rate)
        outer = (1.0 - middle) * (np.log1p(-middle) - np.log1p(-rate))
        inside = n * (inner + outer) < exponent
        far, near = np.where(inside, far, middle), np.where(inside, middle, near)
    return np.asarray(far)
