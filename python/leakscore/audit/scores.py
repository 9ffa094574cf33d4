"""The scores of an audit, sorted or counted in bins, and the bits of its rounds."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.audit.bands import Band, Frontier, frontier
from leakscore.numeric import frozen
from leakscore.typing import Array, Counts, Doubles, Flags

MAX_ROUNDS = 1_000_000  # about 5 seconds for the critical counts

# Mixed into the seed of the order of ties, so that bits drawn from a generator with the same seed
# do not share its stream.
_TIES = 0x74696573

Kind = TypeVar("Kind")
_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))
_FEW = 4096  # up to so many scores of a class, the halves are computed only when needed
_NONE = np.empty(0)
_MANY = 1 << 17  # from so many scores of a class on, a sort in a second thread pays
# The three forms of `arrays_of` have different numbers of arrays.
_HISTOGRAM, _SCORES, _RANKED = 3, 4, 8


@dataclass(frozen=True)
class Flagged:
    """The number of scores of one class that each of descending thresholds flags; the last, all.

    Each threshold represents all thresholds from itself up to, but excluding, the one before it.
    These flag between `least` and `counts` scores, which are equal unless thresholds were left out.
    """

    least: Array
    counts: Array

    @classmethod
    def from_above(cls, above: Array, at_or_above: Array, n: int) -> Flagged:
        """Take the scores above, and at or above, each threshold but the last."""
        return cls(np.append(0, at_or_above), np.append(above, n))


@dataclass(frozen=True)
class Points:
    """Thresholds, descending, and the numbers that they flag in each class; the last flags all."""

    thresholds: Doubles
    nonmembers: Flagged
    members: Flagged


def spread_ranks(n: int, count: int) -> Array:
    """Return about `count` of the ranks 0 to n - 1, at equal distances in standard errors.

    The count of scores above a threshold that has k on average has a standard deviation of
    sqrt(k (n - k) / n); ranks ``n sin(t)^2`` with equal steps of t are equally many of these
    deviations apart.
    """
    steps = np.arange(count) * (math.pi / (2 * count))
    return np.unique(np.append((n * np.sin(steps) ** 2).astype(np.int64), n - 1))


def tie_lots(scores: Array, rng: np.random.Generator) -> npt.NDArray[np.uint32]:
    """Draw a random lot for each round, independent of the bits, to order tied scores.

    The scores are part of the seed. With the same lots in every audit, rounds given with members
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
        Number of rounds; above MAX_ROUNDS the arrays are empty.
    scores, lots, member : ndarray
        Of each round. Tied scores are ordered by lot, and equal lots in the order of the input.
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
        rows = slice(None if scores.size <= MAX_ROUNDS else 0)
        lots = tie_lots(scores[rows], rng)
        return cls._ranked(scores.size, scores[rows], lots, member[rows])

    def merge(self, other: RankedBits) -> RankedBits:
        """Rank the rounds of both by their scores and the lots already drawn."""
        rounds = self.rounds + other.rounds
        rows = slice(None if rounds <= MAX_ROUNDS else 0)
        columns = [
            np.concatenate([getattr(self, name), getattr(other, name)])[rows]
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


class OddBits:
    """A bit for each of the ascending scores: whether it was at an odd position of the input.

    For few scores the unsorted input is stored, and the bits are computed at first use. Most
    methods do not use them, and one sort takes half the time of two sorts and a merge.
    """

    __slots__ = ("_bits", "_unsorted")

    def __init__(self, bits: Array | None, given: Array = _NONE) -> None:
        self._bits, self._unsorted = bits, given

    def packed(self) -> Array:
        """Return the bits, 8 to a byte, the lowest first."""
        bits = self._bits
        if bits is None:
            even, array, _ = _halves(self._unsorted, self._unsorted.dtype)
            bits = self._bits = _core.merge_score_halves(even, array)
        return bits


class ClassScores:
    """Member and non-member scores, each ascending, of one dtype and read-only.

    A place is a score, whose test flags the scores above it. Bits record which scores were at even
    and which at odd positions of the input, as two independent halves.
    """

    __slots__ = ("_odd_members", "_odd_nonmembers", "members", "nonmembers", "ranked")

    ranked: RankedBits | None  # if the bits of the rounds were fair coins

    def __init__(self, members: npt.ArrayLike, nonmembers: npt.ArrayLike) -> None:
        inside = validation.sample("members", members)
        outside = validation.sample("nonmembers", nonmembers)
        dtype = inside.dtype
        if dtype != outside.dtype or dtype not in _PLAIN:
            dtype = np.result_type(dtype, outside.dtype, np.float32)
        (self.members, self._odd_members), (self.nonmembers, self._odd_nonmembers) = _call_both(
            lambda: _sorted("members", inside, dtype),
            lambda: _sorted("nonmembers", outside, dtype),
            use_thread=min(inside.size, outside.size) >= _MANY,
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
        """Whether all scores are equal, so that no test distinguishes the rounds."""
        return bool(
            min(self.members[0], self.nonmembers[0]) == max(self.members[-1], self.nonmembers[-1])
        )

    def swapped(self) -> ClassScores:
        """Return the same scores with the classes swapped, without a copy."""
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
        return following

    def frontier(self, fpr_band: Band, fnr_band: Band) -> Frontier:
        """Return the thresholds that can be optimal for an objective decreasing in both bounds."""
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
        other = require_kind(other, ClassScores)
        merged = ClassScores.__new__(ClassScores)
        evens, odds = (
            [_merge(*pair) for pair in zip(self.half(odd=odd), other.half(odd=odd), strict=True)]
            for odd in (False, True)
        )
        merged.members, merged._odd_members = _join(evens[0], np.concatenate([evens[0], odds[0]]))
        merged.nonmembers, merged._odd_nonmembers = _join(
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
            np.append(places.astype(np.float64), -np.inf),
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


def _call_both(
    first: Callable[[], Kind], second: Callable[[], Kind], *, use_thread: bool
) -> tuple[Kind, Kind]:
    """Call both functions, in two threads if allowed; if both raise, raise the first's error."""
    if not use_thread or _core.get_num_threads() == 1:
        return first(), second()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        try:
            future = pool.submit(second)
        except RuntimeError:  # no thread is available, as at interpreter shutdown
            return first(), second()
        return first(), future.result()


def _sorted(name: str, scores: Array, dtype: np.dtype[Any]) -> tuple[Array, OddBits]:
    """Return a sorted read-only copy of the scores, and the bits of their odd positions."""
    few = scores.size <= _FEW
    if few:
        given = scores.astype(dtype)
        array = given.copy()
        numbers = _core.sort_scores(array)
    else:
        even, array, numbers = _halves(scores, dtype)
    if not numbers:
        raise ValueError(f"{name} must hold no NaN")
    return (frozen(array), OddBits(None, given)) if few else _join(even, array)


def _halves(scores: Array, dtype: np.dtype[Any]) -> tuple[Array, Array, bool]:
    """Return the scores at even positions, ascending, an array, and whether there is no NaN.

    The array ends with the scores at odd positions, ascending; its start is empty space.
    """
    even = np.array(scores[::2], dtype=dtype)
    array = np.empty(scores.size, dtype=dtype)
    odd = array[even.size :]
    odd[...] = scores[1::2]
    return even, array, _core.sort_scores(even) and _core.sort_scores(odd)


def _join(even: Array, array: Array) -> tuple[Array, OddBits]:
    """Merge a sorted half with the other half, the end of `array`; return all and the odd bits."""
    bits = _core.merge_score_halves(even, array)
    return frozen(array), OddBits(bits)


def _half(array: Array, bits: OddBits, *, odd: bool) -> Array:
    """Return the even or the odd half of the merged scores."""
    packed = bits.packed()
    is_odd = np.unpackbits(packed, count=array.size, bitorder="little").view(np.bool_)
    return np.asarray(array[is_odd if odd else ~is_odd])


def _merge(first: Array, second: Array) -> Array:
    """Merge two sorted arrays: a stable sort finds the two runs and takes linear time."""
    array = np.concatenate([first, second])
    array.sort(kind="stable")
    return array


class ScoreHistogram:
    """Members and non-members per bin; the counterpart of `ClassScores` for binned scores.

    The edges reach from -inf to inf, so that every score has a bin. A place is the index of an
    edge, whose test flags the bins above that edge. A score in bin j has the place j + 1, the
    lowest that does not flag it.
    """

    __slots__ = ("_members_above", "_nonmembers_above", "edges")

    def __init__(
        self,
        edges: npt.ArrayLike,
        members: npt.ArrayLike,
        nonmembers: npt.ArrayLike,
        *,
        below: npt.ArrayLike | None = None,
        above: npt.ArrayLike | None = None,
    ) -> None:
        inner = validation.edges("edges", edges)
        self.edges, *outer = validation.complete_edges(inner, below, above)
        classes = (("member_counts", members), ("nonmember_counts", nonmembers))
        self._members_above, self._nonmembers_above = (
            _counts_above(
                validation.histogram(
                    name, counts, inner.size - 1, *(pair[i : i + 1] for pair in outer)
                )
            )
            for i, (name, counts) in enumerate(classes)
        )

    @property
    def n_members(self) -> int:
        """Number of member scores."""
        return int(self._members_above[0])

    @property
    def n_nonmembers(self) -> int:
        """Number of non-member scores."""
        return int(self._nonmembers_above[0])

    @property
    def constant(self) -> bool:
        """Whether all scores are in one bin."""
        return int(np.count_nonzero(self.member_counts + self.nonmember_counts)) == 1

    @property
    def member_counts(self) -> Array:
        """Members per bin."""
        return -np.diff(self._members_above)

    @property
    def nonmember_counts(self) -> Array:
        """Non-members per bin."""
        return -np.diff(self._nonmembers_above)

    def members_above(self, places: Array) -> Array:
        """Count the members that the tests at these places flag."""
        return self._members_above[places]

    def nth_nonmember(self, k: Array) -> Array:
        """Return the place of the non-member with k others at or above its own, k from 0."""
        return _nth_edge(self._nonmembers_above, k)

    def above_edge(self, name: str, edge: float) -> tuple[int, int]:
        """Count the non-members and the members in the bins above an edge."""
        place = int(np.searchsorted(self.edges, edge))
        if place == self.edges.size or self.edges[place] != edge:
            raise ValueError(f"{name}={edge!r} must be one of the edges of the bins")
        return int(self._nonmembers_above[place]), int(self._members_above[place])

    def swapped(self) -> ScoreHistogram:
        """Return the same bins with the classes swapped, without a copy."""
        other = object.__new__(ScoreHistogram)
        other.edges = self.edges
        other._members_above = self._nonmembers_above
        other._nonmembers_above = self._members_above
        return other

    def next_above(self, thresholds: Doubles) -> Doubles:
        """Return the edges themselves: the scores below an edge are not flagged."""
        return thresholds

    def frontier(self, fpr_band: Band, fnr_band: Band) -> Frontier:
        """Return the edges that can be optimal for an objective decreasing in both bounds."""
        places = np.unique(self._candidates(fpr_band.knots))
        flagged = self._nonmembers_above[places]
        missed = self.n_members - self._members_above[places]
        fpr, fnr = fpr_band(flagged), fnr_band(missed)
        # fpr falls and fnr rises: of equal fpr the first is best, of equal fnr the last.
        best = np.flatnonzero(np.diff(fpr, prepend=2.0))
        best = best[np.diff(fnr[best], append=2.0) > 0]
        counts = flagged[best], missed[best]
        return Frontier(self.edges[places[best]], *counts, fpr[best], fnr[best])

    def epsilon(self, fpr_band: Band, fnr_band: Band, deltas: Doubles) -> tuple[Array, ...]:
        """Return the best edge for each delta and what it certifies; see `ClassScores`."""
        places = self._candidates(fpr_band.knots)
        value, point, *rest = _core.counts_epsilon(
            self._nonmembers_above[places],
            self.n_members - self._members_above[places],
            self.n_nonmembers,
            self.n_members,
            deltas,
            fpr_band.core,
            fnr_band.core,
        )
        return value, self.edges[places[point.astype(np.intp)]], *rest

    def _candidates(self, knots: Array) -> Array:
        """Return the places that can be optimal, after the one that flags no score.

        As for scores, these are the places where one more error would reach another step of the
        band, descending. Without knots they lie just below each bin with members, ascending.
        """
        used = np.flatnonzero(self.member_counts + self.nonmember_counts)
        if knots.size:
            inner = _nth_edge(self._nonmembers_above, knots[knots < self.n_nonmembers])
            places = np.append(np.unique(inner)[::-1], 0)
        else:
            places = np.append(0, used[:-1] + 1)[self.member_counts[used] > 0]
        return np.append(used[-1] + 1, places)

    def merge(self, other: object) -> ScoreHistogram:
        """Return the histogram of both sets of scores."""
        other = require_kind(other, ScoreHistogram)
        if not np.array_equal(self.edges, other.edges):
            raise ValueError("The two histograms must have the same edges")
        return ScoreHistogram(
            self.edges,
            self.member_counts + other.member_counts,
            self.nonmember_counts + other.nonmember_counts,
        )

    @property
    def most_thresholds(self) -> int:
        """Number of thresholds, at most."""
        return self.edges.size

    def points(self, ranks: tuple[Array, Array] | None = None) -> Points:
        """Return the operating points at every bin that is not empty.

        With ranks of non-members and of members, from the largest: only at the bins of these.
        """
        if ranks is None:
            used = np.flatnonzero(self.member_counts + self.nonmember_counts)
        else:
            above = (self._nonmembers_above, self._members_above)
            used = np.union1d(*(_nth_edge(x, k) for x, k in zip(above, ranks, strict=True))) - 1
        places = used[::-1] + 1
        return Points(
            np.append(self.edges[places], self.edges[0]),
            *(
                Flagged.from_above(above[places], above[places - 1], int(above[0]))
                for above in (self._nonmembers_above, self._members_above)
            ),
        )

    def roc(self) -> tuple[Doubles, Doubles, Doubles]:
        """Return fpr, tpr and edges at every bin with a score, descending."""
        points = self.points()
        return (
            points.nonmembers.counts / self.n_nonmembers,
            points.members.counts / self.n_members,
            points.thresholds,
        )

    def auc(self) -> float:
        """Return P(member in a higher bin) + P(same bin) / 2."""
        wide = 2 * self.n_members * self.n_nonmembers >= 2**63
        members = self.member_counts.astype(object if wide else np.int64)
        below: Array = 2 * self.n_nonmembers - (
            self._nonmembers_above[:-1] + self._nonmembers_above[1:]
        )
        doubled = int(np.dot(members, below.astype(members.dtype)))
        return float(doubled) / (2.0 * float(self.n_members * self.n_nonmembers))

    def advantage(self) -> float:
        """Return the largest true minus false positive rate over the edges."""
        n0, n1 = self.n_nonmembers, self.n_members
        dtype: Any = object if n0 * n1 >= 2**63 else np.int64
        gaps = n0 * self._members_above.astype(dtype) - n1 * self._nonmembers_above.astype(dtype)
        return float(gaps.max()) / (float(n0) * float(n1))


def _counts_above(counts: Array) -> Array:
    """Return the number of scores above each edge."""
    above = np.zeros(counts.size + 1, dtype=np.int64)
    np.cumsum(counts[::-1], out=above[-2::-1])
    return frozen(above)


def _nth_edge(above: Array, k: Array) -> Array:
    """Return the lowest edges with at most k scores above; rank k is in the bin below this edge."""
    return above.size - np.searchsorted(above[::-1], k, side="right")


def require_kind(other: object, kind: type[Kind]) -> Kind:
    """Refuse to merge scores with counts."""
    if not isinstance(other, kind):
        raise ValueError(
            "Both audits must be of one kind: bin the scores with numpy.histogram(scores, "
            "edges) and Audit.from_counts first"
        )
    return other


Samples: TypeAlias = ClassScores | ScoreHistogram


class SampledAudit:
    """Base class of audits: the scores and their numbers."""

    __slots__ = ("_samples",)

    _samples: Samples

    @property
    def n_members(self) -> int:
        """Number of member scores."""
        return self._samples.n_members

    @property
    def n_nonmembers(self) -> int:
        """Number of non-member scores."""
        return self._samples.n_nonmembers

    @property
    def constant(self) -> bool:
        """Whether all scores are equal, so that they distinguish no rounds."""
        return self._samples.constant

    @property
    def below_chance(self) -> bool:
        """Whether the AUC is three standard errors below that of scores without information."""
        members, nonmembers = self.n_members, self.n_nonmembers
        error = math.sqrt((members + nonmembers + 1) / (12 * members * nonmembers))  # Mann-Whitney
        return self._samples.auc() < 0.5 - 3 * error


def single(samples: Samples, what: str) -> ClassScores:
    """Return single scores, which a histogram does not have."""
    if isinstance(samples, ScoreHistogram):
        raise ValueError(f"{what} must have single scores, not the counts of bins")
    return samples


def allowed_errors(rate: Doubles, n: int) -> Array:
    """Return the largest counts with ``count / n <= rate`` in floating point."""
    count = np.rint(rate * n).astype(np.int64)
    return np.asarray(count - (count / n > rate))


def arrays_of(samples: Samples) -> list[Array]:
    """Return the arrays that `Audit.to_bytes` writes."""
    if isinstance(samples, ScoreHistogram):
        return [samples.edges, samples.member_counts, samples.nonmember_counts]
    arrays = [samples.members, samples._odd_members.packed()]
    arrays += [samples.nonmembers, samples._odd_nonmembers.packed()]
    if (bits := samples.ranked) is not None:
        arrays += [np.array([bits.rounds]), bits.scores, bits.lots, bits.member.astype(np.uint8)]
    return arrays


def samples_of(arrays: list[Array]) -> Samples:
    """Return the samples from the arrays of `arrays_of`; ValueError if they are not valid."""
    if len(arrays) == _HISTOGRAM:
        return ScoreHistogram(*arrays)
    _require(len(arrays) in (_SCORES, _RANKED), "edges and counts, or scores")
    members, odd_members, nonmembers, odd_nonmembers = arrays[:_SCORES]
    _require(members.dtype == nonmembers.dtype, "scores of one dtype")
    samples = object.__new__(ClassScores)
    samples.members, samples._odd_members = _restore_class(members, odd_members)
    samples.nonmembers, samples._odd_nonmembers = _restore_class(nonmembers, odd_nonmembers)
    samples.ranked = _restore_ranked(samples, arrays[_SCORES:]) if len(arrays) == _RANKED else None
    return samples


def _require(holds: bool | np.bool_, words: str) -> None:
    if not holds:
        raise ValueError(f"it must hold {words}")


def _restore_class(scores: Array, odd: Array) -> tuple[Array, OddBits]:
    kind = scores.dtype.kind == "f" and scores.ndim == 1 and scores.size > 0
    _require(kind, "scores of both classes")
    ascend = (scores[1:] >= scores[:-1]).all() and not np.isnan(scores[-1])
    _require(ascend, "ascending scores")
    _require(
        odd.dtype == np.uint8 and odd.shape == ((scores.size + 7) // 8,), "a bit for each score"
    )
    return frozen(scores), OddBits(odd)


def _restore_ranked(samples: ClassScores, arrays: list[Array]) -> RankedBits:
    rounds, scores, lots, member = arrays
    total = samples.n_members + samples.n_nonmembers
    rows = total if total <= MAX_ROUNDS else 0
    counted = rounds.dtype == np.int64 and rounds.shape == (1,) and rounds[0] == total
    _require(counted, "as many rounds as scores")
    shapes = scores.shape == lots.shape == member.shape == (rows,) and lots.dtype == np.uint32
    _require(shapes, "a lot and a bit for each round")
    bits = member.dtype == np.uint8 and not (member > 1).any()
    _require(bits and scores.dtype == samples.members.dtype, "bits of the rounds")
    inside = member.astype(np.bool_)
    for class_scores, flags in ((samples.members, inside), (samples.nonmembers, ~inside)):
        same = not rows or np.array_equal(np.sort(scores[flags]), class_scores)
        _require(same, "the scores of the rounds")
    return RankedBits._ranked(total, scores, lots, inside)
