"""The scores of an audit, sorted once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.audit.bands.frontier import Frontier, frontier
from leakscore.audit.bands.uniform import Band
from leakscore.audit.data.histogram import ScoreHistogram
from leakscore.audit.data.points import Flagged, Points
from leakscore.audit.data.ranked_bits import RankedBits
from leakscore.numeric import frozen
from leakscore.typing import Array, Doubles

One = TypeVar("One")

_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))
_FEW = 4096  # scores of one class whose halves wait until a method asks for them
_NONE = np.empty(0)
_MANY = 1 << 17  # scores of one class whose sort is worth a thread


class OddBits:
    """Which of the ascending scores were at odd positions of the input, a bit for each.

    Few scores are kept as they were given, and their bits found when first asked for: most methods
    never ask, and one sort takes half the time of two with a merge.
    """

    __slots__ = ("_bits", "_given")

    def __init__(self, bits: Array | None, given: Array = _NONE) -> None:
        self._bits, self._given = bits, given

    def packed(self) -> Array:
        """Return the bits, 8 to a byte, the lowest first."""
        bits = self._bits
        if bits is None:
            even, array, _ = _halves(self._given, self._given.dtype)
            bits = self._bits = _core.merge_score_halves(even, array)
        return bits


class ClassScores:
    """Member and non-member scores, each ascending, of one dtype and read-only.

    A place is a score: the test there flags the scores above it. Bits record which scores were at
    even and which at odd positions of the input: two independent halves.
    """

    __slots__ = ("_odd_members", "_odd_nonmembers", "members", "nonmembers", "ranked")

    ranked: RankedBits | None  # if the bits of the rounds were fair coins

    def __init__(self, members: npt.ArrayLike, nonmembers: npt.ArrayLike) -> None:
        inside = validation.sample("members", members)
        outside = validation.sample("nonmembers", nonmembers)
        dtype = inside.dtype
        if dtype != outside.dtype or dtype not in _PLAIN:
            dtype = np.result_type(dtype, outside.dtype, np.float32)
        (self.members, self._odd_members), (self.nonmembers, self._odd_nonmembers) = _at_once(
            lambda: _sorted("members", inside, dtype),
            lambda: _sorted("nonmembers", outside, dtype),
            worth=min(inside.size, outside.size) >= _MANY,
        )
        self.ranked = None

    @property
    def n_members(self) -> int:
        """Number of member scores."""
        return self.members.size

    @property
    def n_nonmembers(self) -> int:
        """Number of non-member scores."""
        return self.nonmembers.size

    @property
    def constant(self) -> bool:
        """Whether all scores are equal: no test distinguishes the rounds."""
        return bool(
            min(self.members[0], self.nonmembers[0]) == max(self.members[-1], self.nonmembers[-1])
        )

    def swapped(self) -> ClassScores:
        """Return the same scores with the classes swapped; nothing is copied."""
        other = object.__new__(ClassScores)
        other.members, other.nonmembers = self.nonmembers, self.members
        other._odd_members, other._odd_nonmembers = self._odd_nonmembers, self._odd_members
        other.ranked = None
        return other

    def half(self, *, odd: bool) -> tuple[Array, Array]:
        """Return the members and non-members of one half of the input, each ascending."""
        return (
            _half(self.members, self._odd_members, odd=odd),
            _half(self.nonmembers, self._odd_nonmembers, odd=odd),
        )

    def next_above(self, thresholds: Doubles) -> Doubles:
        """Return the lowest observed score above each threshold, inf if there is none."""
        following = np.full(thresholds.shape, np.inf)
        for scores in (self.members, self.nonmembers):
            places = np.searchsorted(scores, thresholds.astype(scores.dtype), side="right")
            inside = places < scores.size
            following[inside] = np.minimum(following[inside], scores[places[inside]])
        return following + 0.0  # -0.0 becomes 0.0

    def frontier(self, fpr_band: Band, fnr_band: Band) -> Frontier:
        """Return the thresholds that can be best for any objective that falls with both bounds."""
        return frontier(self.nonmembers, self.members, fpr_band, fnr_band)

    def epsilon(self, fpr_band: Band, fnr_band: Band, deltas: Doubles) -> tuple[Array, ...]:
        """Return the best threshold for each delta and what it certifies, as columns.

        (epsilon, threshold, forward, false_positives, false_negatives, fpr_upper, fnr_upper,
        max_certifiable)
        """
        return _core.score_epsilon(
            self.nonmembers, self.members, deltas, fpr_band.core, fnr_band.core
        )

    def members_above(self, places: Array) -> Array:
        """Count the members that the tests at these places flag."""
        return self.n_members - np.searchsorted(self.members, places, side="right")

    def nth_nonmember(self, k: Array) -> Array:
        """Return the place of the non-member with k others at or above its own, k from 0."""
        return np.asarray(self.nonmembers[self.n_nonmembers - 1 - k])

    def merge(self, other: object) -> ClassScores:
        """Return all scores of both."""
        if not isinstance(other, ClassScores):
            raise ValueError(
                "Expected two audits of one kind: bin the scores with numpy.histogram(scores, "
                "edges) and Audit.from_counts first"
            )
        merged = ClassScores.__new__(ClassScores)
        evens, odds = (
            [_merged(*pair) for pair in zip(self.half(odd=odd), other.half(odd=odd), strict=True)]
            for odd in (False, True)
        )
        merged.members, merged._odd_members = _joined(evens[0], np.concatenate([evens[0], odds[0]]))
        merged.nonmembers, merged._odd_nonmembers = _joined(
            evens[1], np.concatenate([evens[1], odds[1]])
        )
        merged.ranked = None
        if self.ranked is not None and other.ranked is not None:
            merged.ranked = self.ranked.merge(other.ranked)
        return merged

    @property
    def most_thresholds(self) -> int:
        """Number of thresholds, at most."""
        return self.n_members + self.n_nonmembers + 1

    def points(self, ranks: tuple[Array, Array] | None = None) -> Points:
        """Return the operating points at every distinct score.

        With ranks of non-members and of members, from the largest: only at the scores of these.
        """
        nonmembers, members = self.nonmembers, self.members
        if ranks is not None:
            nonmembers = nonmembers[self.n_nonmembers - 1 - ranks[0]]
            members = members[self.n_members - 1 - ranks[1]]
        places = np.unique(np.concatenate([nonmembers, members]))[::-1]
        return Points(
            np.append(places.astype(np.float64) + 0.0, -np.inf),
            *(
                Flagged.from_above(
                    x.size - np.searchsorted(x, places, side="right"),
                    x.size - np.searchsorted(x, places, side="left"),
                    x.size,
                )
                for x in (self.nonmembers, self.members)
            ),
        )

    def roc(self) -> tuple[Doubles, Doubles, Doubles]:
        """Return fpr, tpr and thresholds at every distinct score, descending."""
        return _core.score_roc(self.nonmembers, self.members)

    def auc(self) -> float:
        """Return P(member > non-member) + P(equal) / 2."""
        return _core.score_auc(self.nonmembers, self.members)

    def advantage(self) -> float:
        """Return the largest true minus false positive rate."""
        return _core.score_advantage(self.nonmembers, self.members)


class SampledAudit:
    """The scores of an audit, as all its parts use them."""

    __slots__ = ("_samples",)

    _samples: ClassScores | ScoreHistogram

    @property
    def n_members(self) -> int:
        """Number of member scores."""
        return self._samples.n_members

    @property
    def n_nonmembers(self) -> int:
        """Number of non-member scores."""
        return self._samples.n_nonmembers

    def _single(self, what: str) -> ClassScores:
        """Return the single scores, which a histogram does not have."""
        if isinstance(self._samples, ScoreHistogram):
            raise ValueError(f"Expected single scores for {what}, not the counts of bins")
        return self._samples


def allowed_errors(rate: Doubles, n: int) -> Array:
    """Return the largest counts with ``count / n <= rate`` in floating point."""
    count = np.rint(rate * n).astype(np.int64)
    return np.asarray(count - (count / n > rate))


def _at_once(
    first: Callable[[], One], second: Callable[[], One], *, worth: bool
) -> tuple[One, One]:
    """Call both, at once if that is worth a thread and two may run; the first one's error wins."""
    if not worth or _core.get_num_threads() == 1:
        return first(), second()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        try:
            later = pool.submit(second)
        except RuntimeError:  # the system, or an interpreter that ends, gives no thread
            return first(), second()
        return first(), later.result()


def _sorted(name: str, scores: Array, dtype: np.dtype[Any]) -> tuple[Array, OddBits]:
    """Sort a copy of the scores, read-only; return it, and which were at odd positions."""
    few = scores.size <= _FEW
    if few:
        given = scores.astype(dtype)
        array = given.copy()
        numbers = _core.sort_scores(array)
    else:
        even, array, numbers = _halves(scores, dtype)
    if not numbers:
        raise ValueError(f"Expected {name} without NaN")
    return (frozen(array), OddBits(None, given)) if few else _joined(even, array)


def _halves(scores: Array, dtype: np.dtype[Any]) -> tuple[Array, Array, bool]:
    """Return those at even positions, ascending, and an array that ends with the others.

    And whether there was no NaN.
    """
    even = np.array(scores[::2], dtype=dtype)
    array = np.empty(scores.size, dtype=dtype)
    odd = array[even.size :]
    odd[...] = scores[1::2]
    return even, array, _core.sort_scores(even) and _core.sort_scores(odd)


def _joined(even: Array, array: Array) -> tuple[Array, OddBits]:
    """Merge a sorted half with the other half, the end of `array`; return all and the odd bits."""
    bits = _core.merge_score_halves(even, array)
    return frozen(array), OddBits(bits)


def _half(array: Array, bits: OddBits, *, odd: bool) -> Array:
    """Return one of the joined halves."""
    packed = bits.packed()
    is_odd = np.unpackbits(packed, count=array.size, bitorder="little").view(np.bool_)
    return np.asarray(array[is_odd if odd else ~is_odd])


def _merged(first: Array, second: Array) -> Array:
    """Merge two sorted arrays: a stable sort finds the two runs and takes linear time."""
    array = np.concatenate([first, second])
    array.sort(kind="stable")
    return array
