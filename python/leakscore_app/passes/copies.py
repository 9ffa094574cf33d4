"""How many rows are equal to others, from the rows of smallest hash: a sample of the values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles

_MOST = 16_384
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Copies:
    """The smallest hashes of rows, and how many rows have each.

    Equal rows have equal hashes, and a hash is as good as drawn at random: of all different rows,
    those of smallest hash are a sample, and each is there with all of its copies.

    Attributes
    ----------
    hashes : (k,) ndarray of uint64
        Increasing, at most 16,384.
    counts : (k,) ndarray of int
    """

    hashes: Words
    counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, values: Doubles) -> Copies:
        """Hash rows."""
        rows = np.ascontiguousarray(values + 0.0)  # -0 and 0 are the same value
        factors = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64)
        return cls._smallest(mixed(rows.view(np.uint64) @ (factors * 2 + 1)))

    def merge(self, other: Copies) -> Copies:
        """Add other rows."""
        hashes = np.concatenate([self.hashes, other.hashes])
        return self._smallest(hashes, np.concatenate([self.counts, other.counts]))

    @classmethod
    def _smallest(cls, hashes: Words, counts: npt.NDArray[np.int64] | None = None) -> Copies:
        if not len(hashes):
            return cls(hashes, np.zeros(0, np.int64))
        order = np.zeros(0, np.intp)
        if counts is None:
            ordered = np.sort(hashes)
        else:
            order = np.argsort(hashes, kind="stable")
            ordered = hashes[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        if counts is None:
            sums = np.diff(starts, append=len(ordered))
        else:
            sums = np.add.reduceat(counts[order], starts)
        return cls(ordered[starts[:_MOST]], sums[:_MOST])

    def several(self) -> npt.NDArray[np.int64]:
        """Return how often each row of the sample occurs that occurs more than once."""
        return np.asarray(self.counts[self.counts > 1])

    @property
    def whole(self) -> bool:
        """Whether these are all rows."""
        return len(self.hashes) < _MOST


def mixed(words: Words) -> Words:
    """Mix the bits of words: the finaliser of Steele, Lea and Flood, SplitMix64 (2014)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(words ^ (words >> np.uint64(31)))
