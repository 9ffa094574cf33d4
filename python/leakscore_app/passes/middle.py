"""The scores in the middle: those in a few bins about the median, collected while rows are scored.

The median of each block lies near that of all rows unless the table is sorted; then its bins are
not covered, and a later pass looks for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles
from leakscore_app.passes.histogram import SparseHistogram, bin_of

Integers = npt.NDArray[np.int64]
_BESIDE = 2.5  # ranks on each side of the middle, over sqrt(rows): five standard errors
_ALL = (np.iinfo(np.int64).min, np.iinfo(np.int64).max)


@dataclass(frozen=True, eq=False)
class Ties:
    """Different scores, how many rows have each, and the first of these rows."""

    scores: Doubles
    counts: Integers
    rows: Integers

    @classmethod
    def of(cls, scores: Doubles, rows: Integers) -> Ties:
        """Count scores; rows increase."""
        different, first, counts = np.unique(scores, return_index=True, return_counts=True)
        return cls(different, counts, rows[first])

    def merge(self, other: Ties) -> Ties:
        """Add later rows."""
        scores, first, place = np.unique(
            np.concatenate([self.scores, other.scores]), return_index=True, return_inverse=True
        )
        counts = np.zeros(len(scores), np.int64)
        np.add.at(counts, place.reshape(-1), np.concatenate([self.counts, other.counts]))
        return Ties(scores, counts, np.concatenate([self.rows, other.rows])[first])

    def inside(self, low: int, high: int) -> Ties:
        """Return those in the bins from `low` to `high`."""
        bins = bin_of(self.scores)
        chosen = (bins >= low) & (bins <= high)
        return Ties(self.scores[chosen], self.counts[chosen], self.rows[chosen])

    def of_rank(self, rank: int) -> tuple[float, int]:
        """Return the score of this rank, from 0, and the first row that has it."""
        place = int(np.searchsorted(np.cumsum(self.counts), rank, side="right"))
        return float(self.scores[place]), int(self.rows[place])


@dataclass(frozen=True, eq=False)
class Middle:
    """All scores of some blocks that lie in the bins from `low` to `high`; none if low > high."""

    low: int
    high: int
    ties: Ties

    @classmethod
    def of(cls, scores: Doubles, rows: Integers, histogram: SparseHistogram) -> Middle:
        """Collect the scores about the median of a block; `histogram` counts them."""
        low, high = _about(histogram)
        bins = bin_of(scores)
        chosen = (bins >= low) & (bins <= high)
        return cls(low, high, Ties.of(scores[chosen], rows[chosen]))

    def merge(self, other: Middle, histogram: SparseHistogram) -> Middle:
        """Add later blocks; `histogram` counts the scores of both."""
        low, high = _about(histogram)
        low, high = max(low, self.low, other.low), min(high, self.high, other.high)
        return Middle(low, high, self.ties.merge(other.ties).inside(low, high))

    def found(self, bins: Integers) -> Ties | None:
        """Return the scores in some neighbouring bins; None if not all were collected."""
        low, high = int(bins.min()), int(bins.max())
        covered = self.low <= low and high <= self.high
        return self.ties.inside(low, high) if covered else None


def _about(histogram: SparseHistogram) -> tuple[int, int]:
    """Return the bins that hold the median of many more such scores; all bins for few scores."""
    size = histogram.total
    beside = int(_BESIDE * np.sqrt(size))
    low, high = (size - 1) // 2 - beside, size // 2 + beside
    return (
        histogram.holding(low)[0] if low > 0 else _ALL[0],
        histogram.holding(high)[0] if high < size - 1 else _ALL[1],
    )
