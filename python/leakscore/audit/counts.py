"""Scores as counts: what thresholds flag, and audits that know the bin of each score alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from leakscore import _core, _validate_counts
from leakscore.audit.bands import Band, Frontier
from leakscore.numeric import frozen
from leakscore.typing import Array, Doubles

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Flagged:
    """How many scores of one class descending thresholds flag; the last flags all.

    Each threshold stands for all thresholds from itself up to, but excluding, the one before it.
    They flag between `least` and `counts` scores: the same number unless thresholds were left out.
    """

    least: Array
    counts: Array

    @classmethod
    def from_above(cls, above: Array, at_or_above: Array, n: int) -> Flagged:
        """Take the scores above, and at or above, each threshold but the last."""
        return cls(np.append(0, at_or_above), np.append(above, n))


@dataclass(frozen=True)
class Points:
    """Thresholds, descending, and what they flag of each class; the last flags everyone."""

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


class ScoreHistogram:
    """Members and non-members per bin; it is to binned scores what `Scores` is to single ones.

    The edges reach from -inf to inf, so that every score has a bin. A place is the index of an
    edge: the test there flags the bins above that edge, and a score in bin j has the place j + 1,
    at which it is just not flagged.
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
        given = _validate_counts.edges("edges", edges)
        self.edges, *beyond = _validate_counts.complete(given, below, above)
        classes = (("member_counts", members), ("nonmember_counts", nonmembers))
        self._members_above, self._nonmembers_above = (
            _above(
                _validate_counts.histogram(
                    name, counts, given.size - 1, *(pair[i : i + 1] for pair in beyond)
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
        """Whether one bin holds all scores."""
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
        return _nth(self._nonmembers_above, k)

    def above_edge(self, name: str, edge: float) -> tuple[int, int]:
        """Count the non-members and the members in the bins above an edge."""
        place = int(np.searchsorted(self.edges, edge))
        if place == self.edges.size or self.edges[place] != edge:
            raise ValueError(f"{name}={edge!r} must be one of the edges of the bins")
        return int(self._nonmembers_above[place]), int(self._members_above[place])

    def swapped(self) -> ScoreHistogram:
        """Return the same bins with the classes swapped; nothing is copied."""
        other = object.__new__(ScoreHistogram)
        other.edges = self.edges
        other._members_above = self._nonmembers_above
        other._nonmembers_above = self._members_above
        return other

    def next_above(self, thresholds: Doubles) -> Doubles:
        """Return the edges themselves: the scores below an edge are not flagged."""
        return thresholds

    def frontier(self, fpr_band: Band, fnr_band: Band) -> Frontier:
        """Return the edges that can be best for any objective that falls with both bounds."""
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
        """Return the best edge for each delta and what it certifies, as columns; see `Scores`."""
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
        """Return the places that can be best, after the one that flags no one.

        As for scores: where one more error would reach another step of the band, descending;
        without knots, just below each bin that holds members, ascending.
        """
        used = np.flatnonzero(self.member_counts + self.nonmember_counts)
        if knots.size:
            inner = _nth(self._nonmembers_above, knots[knots < self.n_nonmembers])
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
            used = np.union1d(*(_nth(x, k) for x, k in zip(above, ranks, strict=True))) - 1
        places = used[::-1] + 1
        return Points(
            np.append(self.edges[places], self.edges[0]),
            *(
                Flagged.from_above(above[places], above[places - 1], int(above[0]))
                for above in (self._nonmembers_above, self._members_above)
            ),
        )

    def roc(self) -> tuple[Doubles, Doubles, Doubles]:
        """Return fpr, tpr and edges at every bin that holds a score, descending."""
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


def require_kind(other: object, kind: type[Kind]) -> Kind:
    """Refuse to merge scores with counts."""
    if not isinstance(other, kind):
        raise ValueError(
            "Both audits must be of one kind: bin the scores with numpy.histogram(scores, "
            "edges) and Audit.from_counts first"
        )
    return other


def _above(counts: Array) -> Array:
    """Count what lies above each edge."""
    above = np.zeros(counts.size + 1, dtype=np.int64)
    np.cumsum(counts[::-1], out=above[-2::-1])
    return frozen(above)


def _nth(above: Array, k: Array) -> Array:
    """Return the lowest edges with at most k above; rank k lies in the bin below such an edge."""
    return above.size - np.searchsorted(above[::-1], k, side="right")
