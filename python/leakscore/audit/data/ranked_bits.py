"""The bits of the rounds in the order of their scores: the data of the sorted-bits test."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore import _core
from leakscore.typing import Array, Counts, Flags

MAX_ROUNDS = 1_000_000  # some 5 seconds for the critical counts

# Mixed into the seed of the order of ties, so that bits drawn from a generator with the same seed
# do not share its stream.
_TIES = 0x74696573


def lots_of(scores: Array, rng: np.random.Generator) -> npt.NDArray[np.uint32]:
    """Draw the order of ties, which is random and independent of the bits.

    The scores are part of the seed: with the same lots in every audit, rounds in the order members
    first would be ordered by their bits in the same way each time, and a seed could be lucky.
    """
    words = rng.integers(0, 2**32, 4, dtype=np.uint64)
    plain = np.ascontiguousarray(scores, dtype="<f8") + 0.0  # -0.0 becomes 0.0
    digest = np.frombuffer(hashlib.blake2b(plain.tobytes(), digest_size=16).digest(), dtype="<u4")
    ties = np.random.default_rng([_TIES, *words.tolist(), *digest.tolist()])
    return ties.integers(0, 2**32, scores.size, dtype=np.uint32)


@dataclass(frozen=True, eq=False)
class RankedBits:
    """Rounds by ascending score, and counts of members among the highest and the lowest scores.

    Attributes
    ----------
    rounds : int
        Number of rounds; above MAX_ROUNDS nothing else is kept.
    scores, lots, member : ndarray
        Of each round. Tied scores are ordered by lot, and rounds of equal lots as they were given.
    sizes : ndarray
        The preset sizes of the test, ascending, up to half the rounds.
    highest, lowest : ndarray
        Members among the highest, and the lowest, scores of each size.
    """

    rounds: int
    scores: Array
    lots: npt.NDArray[np.uint32]
    member: Flags
    sizes: Counts
    highest: Counts
    lowest: Counts

    @classmethod
    def of(cls, scores: Array, member: Flags, rng: np.random.Generator) -> RankedBits:
        """Rank the rounds by score, ties by lots that are independent of the bits."""
        kept = slice(None if scores.size <= MAX_ROUNDS else 0)
        lots = lots_of(scores[kept], rng)
        return cls._ranked(scores.size, scores[kept], lots, member[kept])

    def merge(self, other: RankedBits) -> RankedBits:
        """Rank the rounds of both; each keeps its lot, which is independent of the bits."""
        rounds = self.rounds + other.rounds
        kept = slice(None if rounds <= MAX_ROUNDS else 0)
        columns = [
            np.concatenate([getattr(self, name), getattr(other, name)])[kept]
            for name in ("scores", "lots", "member")
        ]
        return self._ranked(rounds, *columns)

    @classmethod
    def _ranked(
        cls,
        rounds: int,
        scores: Array,
        lots: npt.NDArray[np.uint32],
        member: Flags,
    ) -> RankedBits:
        order = np.lexsort((lots, scores))
        ranked = member[order]
        sizes = _core.sorted_bits_grid(scores.size) if scores.size else order
        half = int(sizes[-1]) if sizes.size else 0
        return cls(
            rounds,
            scores[order],
            lots[order],
            ranked,
            sizes,
            np.cumsum(ranked[::-1][:half], dtype=np.int64)[sizes - 1],
            np.cumsum(ranked[:half], dtype=np.int64)[sizes - 1],
        )
