"""How many scores lie in bins whose ends need not be known before: the codes of floats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles

Integers = npt.NDArray[np.int64]
_BITS = 44  # of the code of a score that its bin leaves out: 256 bins between powers of two


def bin_of(scores: Doubles) -> Integers:
    """Return the bin of each score, the upper bits of its code: larger scores, larger bins."""
    return np.asarray(np.abs(scores).view(np.int64) >> _BITS)


def lower_end(bins: Integers) -> Doubles:
    """Return the least score of each bin."""
    return np.asarray((bins << _BITS).view(np.float64))


@dataclass(frozen=True, eq=False)
class SparseHistogram:
    """How many scores lie in each bin that is not empty; `bins` increase."""

    bins: Integers
    counts: Integers

    @classmethod
    def of(cls, scores: Doubles) -> SparseHistogram:
        """Count scores."""
        return cls(*np.unique(bin_of(scores), return_counts=True))

    def merge(self, other: SparseHistogram) -> SparseHistogram:
        """Add other scores."""
        bins, place = np.unique(np.concatenate([self.bins, other.bins]), return_inverse=True)
        counts = np.zeros(len(bins), np.int64)
        np.add.at(counts, place.reshape(-1), np.concatenate([self.counts, other.counts]))
        return SparseHistogram(bins, counts)

    @property
    def total(self) -> int:
        """How many scores there are."""
        return int(self.counts.sum())

    def holding(self, rank: int) -> tuple[int, int]:
        """Return the bin of the score of this rank, from 0, and how many lie in bins below."""
        ends = np.cumsum(self.counts)
        place = int(np.searchsorted(ends, rank, side="right"))
        return int(self.bins[place]), int(ends[place] - self.counts[place])

    @property
    def middle(self) -> Integers:
        """The bins of the two scores in the middle, (2,); the same one if their number is odd."""
        size = self.total
        return np.array([self.holding(rank)[0] for rank in ((size - 1) // 2, size // 2)])
