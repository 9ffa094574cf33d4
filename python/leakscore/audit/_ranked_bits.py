"""The bits of the rounds in the order of their scores: all that the sorted-bits test sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore import _core
from leakscore._validate import Array

__all__ = ["RankedBits"]

# Mixed into the seed of the order of ties, so that bits drawn from a generator with the very same
# seed do not share its stream.
_TIES = 0x74696573


@dataclass(frozen=True)
class RankedBits:
    """Counts of members among the highest and the lowest scores, at the sizes that a test uses.

    Attributes
    ----------
    rounds : int
        Number of rounds.
    sizes : ndarray
        The preset sizes, ascending, up to half the rounds.
    highest, lowest : ndarray
        Members among that many highest, and lowest, scores; ties are ordered at random.
    """

    rounds: int
    sizes: npt.NDArray[np.int64]
    highest: npt.NDArray[np.int64]
    lowest: npt.NDArray[np.int64]

    @classmethod
    def of(
        cls, scores: Array, member: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> RankedBits:
        """Rank the rounds by score, ties in a random order that knows neither bits nor rounds."""
        words = rng.integers(0, 2**32, 4, dtype=np.uint64)
        shuffled = np.random.default_rng([_TIES, *words.tolist()]).permutation(scores.size)
        ranked = member[shuffled[np.argsort(scores[shuffled], kind="stable")]]
        sizes = _core.sorted_bits_grid(scores.size)
        half = int(sizes[-1])
        return cls(
            scores.size,
            sizes,
            np.cumsum(ranked[: -half - 1 : -1], dtype=np.int64)[sizes - 1],
            np.cumsum(ranked[:half], dtype=np.int64)[sizes - 1],
        )
