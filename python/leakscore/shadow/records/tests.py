"""Intervals and tests of one record, for very many records that share a few counts."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from leakscore._numeric import doubled, frozen, sign_change
from leakscore._types import Counts, Doubles, Flags
from leakscore.distributions import clopper_pearson
from leakscore.shadow.theory.noncentral import log_tail

_GRID = 257


def shift_intervals(
    t: Doubles, unit: Doubles, dof: float, confidence: float
) -> tuple[Doubles, ...]:
    """Return the interval of a difference in standard deviations, from its two-sample t.

    The limits are noncentralities over `unit`, the square root of the number of scores that count:
    a limit is a smooth rising function of t alone, and is solved for on a grid.
    """
    finite = np.isfinite(t)
    reach = float(np.arcsinh(np.abs(t[finite]).max(initial=1.0)))
    grid, *ends = _limits(dof, 0.5 * (1.0 - confidence), math.ceil(reach))
    limits = (np.interp(np.where(finite, t, 0.0), grid, end) / unit for end in ends)
    return tuple(
        np.where(finite, limit, side) for limit, side in zip(limits, (-np.inf, np.inf), strict=True)
    )


@lru_cache(maxsize=64)
def _limits(dof: float, miss: float, reach: int) -> tuple[Doubles, Doubles, Doubles]:
    """Return t up to sinh(reach), and both limits of the noncentrality there."""
    grid = np.sinh(np.linspace(-reach, reach, _GRID))
    low = _limit(grid, dof, miss)
    return frozen(grid), frozen(low), frozen(-low[::-1])


def _limit(t: Doubles, dof: float, miss: float) -> Doubles:
    """Return the noncentrality at which t is exceeded with probability `miss`."""
    c, aim = np.full(t.shape, dof), np.log(miss)

    def gap(shift: Doubles) -> Doubles:
        return np.asarray(np.maximum(log_tail(t, shift, c) - aim, -1e300))

    low = t - doubled(np.full(t.shape, 4.0), lambda d: gap(t - d) > 0.0)
    found: Doubles = sign_change(gap, low, t + 4.0, 1e-9)
    return found


def lower_rates(hits: Doubles, of: Doubles, confidence: float) -> Doubles:
    """Return Clopper and Pearson's lower bound of each rate."""
    pairs, owner = _distinct(hits, of)
    low, _ = clopper_pearson(pairs[:, 0], pairs[:, 1], confidence, "lower")
    rates: Doubles = np.asarray(low)[owner]
    return rates


def p_values(hits: Doubles, of: Doubles, rate: float) -> Doubles:
    """Return the probability of as many hits at this rate: small if the true one is above it."""
    from scipy.special import bdtrc

    pairs, owner = _distinct(hits, of)
    whole = pairs.astype(np.int64)
    fewer = np.maximum(whole[:, 0] - 1, 0)
    found = np.where(whole[:, 0] == 0, 1.0, bdtrc(fewer, whole[:, 1], rate))
    values: Doubles = np.asarray(found)[owner]
    return values


def _distinct(hits: Doubles, of: Doubles) -> tuple[Doubles, Counts]:
    """Return the distinct pairs of counts, and which of them each record has."""
    width = int(of.max()) + 1
    codes = (hits * width + of).astype(np.int64)
    present = np.flatnonzero(np.bincount(codes))
    place = np.zeros(width * width, dtype=np.int64)
    place[present] = np.arange(present.size)
    return np.column_stack([present // width, present % width]).astype(np.float64), place[codes]


def holm(p: Doubles, level: float) -> Flags:
    """Return what is rejected with probability at most `level` of any error (Holm 1979)."""
    order = np.argsort(p, kind="stable")
    kept = np.flatnonzero(p[order] > level / np.arange(p.size, 0, -1))
    rejected = np.zeros(p.size, dtype=np.bool_)
    rejected[order[: kept[0] if kept.size else p.size]] = True
    return rejected
