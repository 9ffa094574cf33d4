"""Projections of all rows on one direction: moments, extreme values and bins, mergeable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles

SINGLE = 128  # extreme values on each side that are bins of their own
CUTS = 64  # bins of about equal count, and as many of equal width, between them

Integers = npt.NDArray[np.int64]


def cuts_of(sample: Doubles) -> Doubles:
    """Return where bins end: at quantiles of a sample, and at points of equal distance."""
    shares = np.arange(1, CUTS) / CUTS
    points = np.linspace(sample.min(), sample.max(), CUTS + 1)
    return np.union1d(np.quantile(sample, shares), points)


@dataclass(frozen=True, eq=False)
class Inside:
    """Counts, means and scatters of the numbers in each bin, and their ends, all (B,)."""

    sizes: Integers
    means: Doubles
    scatters: Doubles
    low: Doubles
    high: Doubles

    @classmethod
    def of(cls, ordered: Doubles, cuts: Doubles) -> Inside:
        """Sort numbers, which increase, into the bins that these cuts leave."""
        ends = np.concatenate([[0], np.searchsorted(ordered, cuts), [len(ordered)]])
        sizes = np.diff(ends)
        full = np.flatnonzero(sizes)
        means, scatters = np.zeros(len(sizes)), np.zeros(len(sizes))
        low, high = np.full(len(sizes), np.inf), np.full(len(sizes), -np.inf)
        if len(full):
            first = ends[full]
            low[full], high[full] = ordered[first], ordered[ends[full + 1] - 1]
            means[full] = np.add.reduceat(ordered, first) / sizes[full]
            same = full[low[full] == high[full]]
            means[same] = low[same]  # free of rounding
            away = ordered - np.repeat(means[full], sizes[full])
            scatters[full] = np.add.reduceat(away * away, first)
        return cls(sizes, means, scatters, low, high)

    def merge(self, other: Inside) -> Inside:
        """Add other numbers."""
        sizes = self.sizes + other.sizes
        share = np.divide(other.sizes, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
        step = other.means - self.means
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        means = np.where(self.sizes > 0, self.means + share * step, other.means)
        return Inside(
            sizes,
            np.where(low == high, low, means),
            self.scatters + other.scatters + step * step * (self.sizes * share),
            low,
            high,
        )


@dataclass(frozen=True, eq=False)
class Line:
    """Numbers, of which moments, the extreme ones and bins of the others are kept.

    Attributes
    ----------
    cuts : (B - 1,) ndarray
    count : int
    powers : (4,) ndarray
        Sums of the first four powers.
    largest : (float, int)
        The number of largest size, and its row.
    low, high : (k,) ndarray
        Increasing, at most 128.
    inside : Inside
    """

    cuts: Doubles
    count: int
    powers: Doubles
    largest: tuple[float, int]
    low: Doubles
    high: Doubles
    inside: Inside

    @classmethod
    def of(cls, values: Doubles, rows: Integers, cuts: Doubles) -> Line:
        """Look at numbers (k,) that belong to rows."""
        ordered = np.sort(values)
        count = len(ordered)
        single = min(SINGLE, count // 2)
        squares = values * values
        powers = [values.sum(), squares.sum(), (squares * values).sum(), (squares**2).sum()]
        largest = (0.0, -1)
        if count:
            place = int(np.argmax(np.abs(values)))
            largest = (float(values[place]), int(rows[place]))
        return cls(
            cuts,
            count,
            np.array(powers),
            largest,
            ordered[:single],
            ordered[count - single :],
            Inside.of(ordered[single : count - single], cuts),
        )

    def merge(self, other: Line) -> Line:
        """Add later rows; what is no longer extreme goes into the bins."""
        low = np.sort(np.concatenate([self.low, other.low]))
        high = np.sort(np.concatenate([self.high, other.high]))
        start = max(len(high) - SINGLE, 0)
        dropped = np.sort(np.concatenate([low[SINGLE:], high[:start]]))
        inside = self.inside.merge(other.inside).merge(Inside.of(dropped, self.cuts))
        ahead = abs(other.largest[0]) > abs(self.largest[0])
        return Line(
            self.cuts,
            self.count + other.count,
            self.powers + other.powers,
            other.largest if ahead else self.largest,
            low[:SINGLE],
            high[start:],
            inside,
        )
