"""Intervals and tests of one record, for very many records that share a few counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from leakscore.distributions import clopper_pearson
from leakscore.numeric import doubled, frozen, sign_change
from leakscore.shadow.theory.noncentral import log_tail
from leakscore.typing import Array, Counts, Doubles, Flags

_GRID = 257
_ROUNDING = 1e-10  # more than the relative error of the incomplete beta function


def shift_intervals(
    t: Doubles, unit: Doubles, dof: float, confidence: float
) -> tuple[Doubles, ...]:
    """Return the interval of a difference in standard deviations, from its two-sample t.

    The limits are noncentralities over `unit`, the square root of the number of scores that count:
    a limit is a smooth rising function of t alone, and is solved for on a grid.
    """
    finite = np.isfinite(t)
    reach = float(np.arcsinh(np.abs(t[finite]).max(initial=1.0)))
    grid, ends = _limits(dof, 0.5 * (1.0 - confidence), math.ceil(reach))
    both = np.interp(np.where(finite, t, 0.0), grid, ends) / unit
    limits = ((both.real, -np.inf), (both.imag, np.inf))
    return tuple(np.where(finite, limit, side) for limit, side in limits)


@lru_cache(maxsize=64)
def _limits(dof: float, miss: float, reach: int) -> tuple[Doubles, Array]:
    """Return t up to sinh(reach), and the limits of the noncentrality there.

    The lower one is the real part, the upper one the imaginary part: both are found at once.
    """
    grid = np.sinh(np.linspace(-reach, reach, _GRID))
    low = _limit(grid, dof, miss)
    return frozen(grid), frozen(low - 1j * low[::-1])


def _limit(t: Doubles, dof: float, miss: float) -> Doubles:
    """Return the noncentrality at which t is exceeded with probability `miss`."""
    c, aim = np.full(t.shape, dof), np.log(miss)

    def gap(shift: Doubles) -> Doubles:
        return np.asarray(np.maximum(log_tail(t, shift, c) - aim, -1e300))

    low = t - doubled(np.full(t.shape, 4.0), lambda d: gap(t - d) > 0.0)
    found: Doubles = sign_change(gap, low, t + 4.0, 1e-9)
    return found


@dataclass(frozen=True)
class DistinctHits:
    """Hits of so many, for very many records: the distinct pairs, and which one each record has."""

    hits: Doubles
    of: Doubles
    owner: Counts

    @classmethod
    def of_records(cls, hits: Doubles, of: Doubles) -> DistinctHits:
        """Find the distinct pairs."""
        width = int(of.max()) + 1
        codes = (hits * width + of).astype(np.int64)
        present, owner = _codes(codes, width * width)
        return cls((present // width).astype(np.float64), (present % width).astype(float), owner)

    def lower_rates(self, confidence: float) -> Doubles:
        """Return Clopper and Pearson's lower bound of each record's rate."""
        low, _ = clopper_pearson(self.hits, self.of, confidence, "lower")
        rates: Doubles = np.asarray(low)[self.owner]
        return rates

    def above(self, rate: float, level: float) -> Flags:
        """Return whose rate is above this one, with probability `level` at most of any error."""
        records = np.bincount(self.owner, minlength=self.hits.size)
        rejected: Flags = holm(self._p_values(rate), records, level)[self.owner]
        return rejected

    def _p_values(self, rate: float) -> Doubles:
        """Return the probability of as many hits at this rate: small if the true one is above."""
        from scipy.special import bdtrc

        fewer = np.maximum(self.hits - 1.0, 0.0)
        p = np.where(self.hits == 0.0, 1.0, bdtrc(fewer, self.of.astype(np.int64), rate))
        return p * (1.0 + _ROUNDING)


def _codes(codes: Counts, most: int) -> tuple[Counts, Counts]:
    """Return the distinct codes in [0, most), in order, and the place of each among them."""
    if most > max(1 << 16, 8 * codes.size):
        present, owner = np.unique(codes, return_inverse=True)
        return present, owner.astype(np.int64)
    present = np.flatnonzero(np.bincount(codes, minlength=most))
    place = np.zeros(most, dtype=np.int64)
    place[present] = np.arange(present.size)
    return present, place[codes]


def holm(p: Doubles, records: Counts, level: float) -> Flags:
    """Return which p-values, each of so many records, are rejected (Holm 1979).

    With probability at most `level` one of them is rejected wrongly. Of equal p-values the first
    faces the least threshold: if it is rejected, so are all.
    """
    order = np.argsort(p, kind="stable")
    left = records.sum() - (np.cumsum(records[order]) - records[order])
    kept = np.flatnonzero(p[order] > level / left)
    rejected = np.zeros(p.size, dtype=np.bool_)
    rejected[order[: kept[0] if kept.size else p.size]] = True
    return rejected


def midranks(values: Doubles) -> Doubles:
    """Return ranks from 0 on, the mean of them for equal values."""
    order = np.argsort(values)
    ordered = values[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    after = np.append(first[1:], values.size)
    ranks = np.empty(values.size)
    ranks[order] = np.repeat(0.5 * (first + after - 1), after - first)
    return ranks
