"""The worst records of a long table as the population of a report, and its changed releases.

All other records are known by the law of the table. The kept records alone settle a change where no
other record can leak more with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore.leakage import ShapedNoise
from leakscore.leakage.table_law import TableLaw
from leakscore.reference import Moments, Reference, SingularCovarianceError, left_out
from leakscore_app.passes.scores import CountAbove, LawCounts, WorstRows
from leakscore_app.report._model import Doubles
from leakscore_app.report.engine.judged import Clipped, Outcome
from leakscore_app.report.engine.leakage import THRESHOLDS, above, by_level
from leakscore_app.report.engine.pooled import LawPopulation, PooledLaw
from leakscore_app.report.engine.population import Shape
from leakscore_app.report.engine.survey import law_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Integers = npt.NDArray[np.int64]
REFITTED = 64  # records with nearly all variance in a direction that are left out one by one


class Crowd(LawPopulation):
    """Some records of a table, of whose other records only the law is known.

    Each of these records is a person. Indices are places among them; `size` counts the table.

    Parameters
    ----------
    law : TableLaw
    values : (K, d) ndarray
        The records, in the units of the file.
    rows : (K,) ndarray of int
        Their numbers, from 0.
    n : int
    finite : bool
    refitted : dict
        Number of a record -> mean and covariance of all others, estimated without it.
    """

    whole = False

    def __init__(
        self,
        law: TableLaw,
        values: Doubles,
        rows: Integers,
        n: int,
        *,
        finite: bool,
        refitted: dict[int, Reference] | None = None,
    ) -> None:
        super().__init__(law, values, n, finite=finite, published=None)
        self.numbers, self.refitted = rows, refitted or {}

    def noisy(self, noise_cov: Doubles, earlier: Doubles) -> Doubles:  # noqa: ARG002
        """Leakage of every record with noise of a covariance on the mean, (K,)."""
        law = self.law.with_noise(self.n * noise_cov / self.correction)
        return np.asarray(self.distances(law) / self.divisors)

    def least_noise(
        self,
        most: float,
        shape: Shape,
        earlier: Doubles,  # noqa: ARG002
        without: int | None = None,
    ) -> ShapedNoise:
        """Find the noise of least cost that brings these records under a leakage.

        Its cost is a lower bound for the whole table; see `Population.least_noise`.
        """
        if without is not None:
            raise ValueError("No person must be left out of kept records")
        return self.law.least_noise(
            self.values,
            self.n,
            max_leakage=most,
            shape="optimal" if shape == "optimal" else "optimal-diagonal",
            share=self.correction,
        )

    def can_spare_person(self, person: int) -> bool:  # noqa: ARG002
        """Whether noise can be found without a record: no, as the others are not all in memory."""
        return False

    def distances(self, law: TableLaw) -> Doubles:
        """Squared distance of each record from all others by a law of the same columns, (K,)."""
        distances = super().distances(law)
        for index in np.flatnonzero(np.isin(self.numbers, list(self.refitted))).tolist():
            others = self.refitted[int(self.numbers[index])]
            try:
                if np.ndim(law.noise):
                    noisy = Reference(others.mean, others.cov + law.noise)
                else:
                    noisy = others.add_diagonal(law.noise)
                distances[index] = noisy.squared_mahalanobis(self.values[index])
            except SingularCovarianceError:  # in some direction only this record varies
                distances[index] = np.inf
        return distances

    def _fit_without(self, person: int) -> Reference:
        if isinstance(self.law, PooledLaw):
            return self.law.left_out(self.values[person], self.correction)
        refitted = self.refitted.get(int(self.numbers[person]))
        if refitted is not None:
            return Reference(refitted.mean, self.correction * refitted.cov)
        rest, away = self.size - 1, self.centred[person]
        cov = self.law.cov * (self.size / rest) - np.outer(away, away) * (self.size / rest**2)
        return Reference(self.law.mean - away / rest, self.correction * cov)

    def in_sample(self) -> Doubles:
        """Leakage with the record in the reference: too small for the unusual ones."""
        return np.asarray(self.reference.squared_mahalanobis(self.values) / self.divisors)

    def _changed(self, **changes: Any) -> Crowd:
        given = {"law": self.law, "values": self.raw, "rows": self.numbers, "n": self.n}
        given |= {"finite": self.finite, "refitted": self.refitted}
        return Crowd(**{**given, **changes})

    def knowing(self, refitted: dict[int, Reference]) -> Crowd:
        """Return the crowd with estimates of the law without some of these records."""
        return self._changed(refitted=refitted)

    def joined(self, rows: Integers, values: Doubles) -> Crowd:
        """Return the crowd with further records; those that are in it already count once."""
        new = ~np.isin(rows, self.numbers)
        numbers = np.concatenate([self.numbers, rows[new]])
        order = np.argsort(numbers, kind="stable")
        values = np.concatenate([self.raw, values[new]])
        return self._changed(rows=numbers[order], values=values[order])

    def larger(self, size: int) -> Crowd:
        """Return the crowd with another number of records in the mean."""
        return self._changed(n=size)

    def with_columns(self, kept: Sequence[int]) -> Crowd:
        """Return the release of some of the columns."""
        columns = list(kept)
        refitted = {row: part_of(others, columns) for row, others in self.refitted.items()}
        law = self.law.with_columns(kept)
        return self._changed(law=law, values=self.raw[:, columns], refitted=refitted)

    def with_slopes(self, slopes: csr_array) -> Crowd:
        """Return the release of numbers that change with several of the values."""
        if isinstance(self.law, PooledLaw):
            return self.with_law(self.law.centred)
        law = self.law.with_slopes(slopes)
        units = (slopes * self.scale) / law.scale[:, np.newaxis]
        refitted = {
            row: Reference(units @ others.mean, units @ (units @ others.cov).T)
            for row, others in self.refitted.items()
        }
        return Crowd(law, self.raw, self.numbers, self.n, finite=self.finite, refitted=refitted)

    def with_law(self, law: TableLaw) -> Crowd:
        """See `LawPopulation`."""
        return self._changed(law=law)

    def dominant(self) -> list[int]:
        """Return the numbers of records that have nearly all of the variance in some direction."""
        if isinstance(self.law, PooledLaw):  # of whose cell other records tell the covariance
            return []
        share = self.reference.squared_mahalanobis(self.values) / (self.size - 1)
        return [int(row) for row in self.numbers[share > left_out.DOMINANT]]


def part_of(reference: Reference, columns: list[int]) -> Reference:
    return Reference(reference.mean[columns], reference.cov[np.ix_(columns, columns)])


Estimate: TypeAlias = Callable[[Sequence[frozenset[int]]], Sequence[Moments]]
"""Reads the moments of all records but some, in the units of the whole table's law."""
_SURE = 1e-10  # share of a variance that squares still tell from none
_DIGITS = 1e-9  # share of a variance below which it is not found as a difference
_LARGEST = 0.5  # joint leverage up to which a bound is worth having
_ROUNDING = 1 + 1e-6  # far more than the rounding of scores


@dataclass(frozen=True, eq=False)
class View:
    """A changed release.

    Attributes
    ----------
    law : TableLaw
    divisor : float
        Leakages are scores over it.
    bound : float
        No row outside of memory has a larger score; inf if no such bound is known.
    rescored : dict
        Scores of some rows, more exact than by the law.
    without : frozenset of int
        Excluded rows.
    kept : WorstRows, optional
        The worst rows by a guess of the law, in place of those of the unchanged release.
    """

    law: TableLaw
    divisor: float
    bound: float
    rescored: dict[int, float]
    without: frozenset[int] = frozenset()
    kept: WorstRows | None = None

    def corrected(self, rows: Integers, scores: Doubles) -> Doubles:
        """Return scores of rows with the more exact ones in place of the law's."""
        scores = scores.copy()
        for row, score in self.rescored.items():
            scores[rows == row] = score
        return scores


def divisor_of(crowd: Crowd) -> float:
    """Return the divisor of a release's scores."""
    return float(crowd.n * crowd.correction)


def view_of(crowd: Crowd, least: float) -> View:
    """Return the unchanged release; no record outside of memory scores more than `least`."""
    scores = crowd.distances(crowd.law)
    refitted = {
        int(row): float(score)
        for row, score in zip(crowd.numbers, scores, strict=True)
        if int(row) in crowd.refitted
    }
    return View(crowd.law, divisor_of(crowd), max(least, 0.0), refitted)


def clipped_view(
    crowd: Crowd,
    limits: Doubles,
    moments: Moments,
    *,
    guess: TableLaw | None,
    worst: WorstRows | None,
) -> Clipped | None:
    """Return the release of clipped values; None if no column varies any more.

    `worst` are its worst rows by the guessed law, if there is a guess.
    """
    law = _clipped_law(crowd.law, limits, moments)
    moved = np.abs(moments.mean / crowd.scale - crowd.law.mean).max()
    shift = float(moved) * float(np.sqrt(crowd.n))
    if law is None:
        return None
    view = View(law, divisor_of(crowd), np.inf, {})
    if guess is not None and worst is not None and len(law.kept) >= len(guess.kept):
        least = float(worst.scores[-1]) if law.rows > len(worst.rows) else 0.0
        view = replace(view, kept=worst, bound=bound_by_guess(law, guess, least))
    return Clipped(view, shift)


def bound_by_guess(law: TableLaw, guess: TableLaw, least: float) -> float:
    """Bound the scores by a law of all rows whose scores by a guess of it are `least` at most.

    With C and m the covariance and the mean of the law, C~ and m~ those of the guess, all in one
    unit, and L the largest eigenvalue of C^-1 C~, |y|_C <= sqrt(L) |y|_C~ for every y, so that

        |x - m|_C <= sqrt(L) (|x - m~|_C~ + |m~ - m|_C~).

    A score is N p / (1 - p) with p = |x - m|^2 / (N - 1).
    """
    others, unit = law.rows - 1, guess.scale / law.scale
    cov = guess.cov * np.outer(unit, unit)
    root = np.linalg.cholesky(law.cov)
    half = np.linalg.solve(root, cov)
    largest = float(np.linalg.eigvalsh(np.linalg.solve(root, half.T))[-1])
    step = guess.mean * unit - law.mean
    moved = float(step @ np.linalg.solve(cov, step))
    before = others * least / (law.rows + least)
    share = largest * (np.sqrt(before) + np.sqrt(max(moved, 0.0))) ** 2 / others
    return float(_ROUNDING * law.rows * share / (1 - share)) if share < 1 else np.inf


def guess_of(law: TableLaw, limits: Doubles, sample: Doubles) -> TableLaw | None:
    """Estimate the law of a clipped table from a sample; None if a column is constant."""
    moments = Moments(sample.shape[1])
    moments.update(np.clip(sample, *limits))
    clipped = _clipped_law(law, limits, moments)
    if clipped is None or len(clipped.kept) < len(law.kept):
        return None
    return clipped


def _clipped_law(law: TableLaw, ends: Doubles, moments: Moments) -> TableLaw | None:
    """Return the law of clipped values without columns that follow from others now."""
    cov = moments.cov
    kept = _independent(cov, np.flatnonzero(ends[0] < ends[1]).tolist())
    if not kept:
        return None
    clipped = law_of(moments.mean, cov, law.rows, kept, law.read, ends[:, kept])
    return TableLaw(
        law.kept[kept], law.read, law.rows, clipped.scale, clipped.mean, clipped.cov, clipped.limits
    )


def _independent(cov: Doubles, columns: Sequence[int]) -> list[int]:
    """Return the columns that vary and do not follow from earlier ones."""
    kept: list[int] = []
    for j in columns:
        if not cov[j, j] > 0:
            continue
        tried = [*kept, j]
        scale = np.sqrt(np.diag(cov)[tried])
        part = cov[np.ix_(tried, tried)] / scale / scale[:, np.newaxis]
        unexplained = part[-1, -1]
        if kept:
            unexplained -= part[-1, :-1] @ np.linalg.solve(part[:-1, :-1], part[:-1, -1])
        if unexplained > _SURE:
            kept = tried
    return kept


def view_without(
    crowd: Crowd,
    count: int,
    least: float,
    estimate: Estimate,
    pooled: Callable[[frozenset[int]], PooledLaw | None],
) -> View | None:
    """Return the release without the worst records; None if it cannot be judged.

    `pooled` reads the law without rows of a table by group with cells of few records.
    """
    worst = np.argsort(-crowd.informed(), kind="stable")[:count]
    rest = crowd.size - count
    n = min(crowd.n, rest)
    if crowd.finite and n > rest - 2:
        return None
    correction = 1 - n / rest if crowd.finite else 1.0
    rows = frozenset(int(row) for row in crowd.numbers[worst])
    if isinstance(crowd.law, PooledLaw):
        remaining = pooled(rows) if crowd.pooled else crowd.law.without(crowd.raw[worst])
        return None if remaining is None else View(remaining, n * correction, np.inf, {}, rows)
    share = joint_leverage(crowd, worst)
    if 1 - share < _DIGITS:  # what remains of a variance would have lost its digits
        (moments,) = estimate([rows])
        law = replace(crowd.law, rows=rest, mean=moments.mean, cov=moments.cov)
    else:
        law = crowd.law.without(crowd.raw[worst])
    if not _regular(law.cov):
        kept = _independent(law.cov, range(crowd.dim))
        if not kept:  # the other records are all the same
            return None
        law = law.with_columns(kept)
    bound = least * growth_bound(share, crowd.size, count, least) if least > 0 else 0.0
    return View(law, n * correction, bound, {}, rows)


def _regular(cov: Doubles) -> bool:
    variances = np.diag(cov)
    return bool(variances.min() > 0) and bool(
        np.linalg.eigvalsh(cov / np.sqrt(np.outer(variances, variances)))[0] > _SURE
    )


def joint_leverage(crowd: Crowd, worst: np.ndarray) -> float:
    """Return the largest share that these records have of the variance in any direction."""
    away = crowd.centred[worst]
    joint = away @ crowd.reference.solve(away).T / (crowd.size - 1)
    return float(np.linalg.eigvalsh((joint + joint.T) / 2)[-1])


def growth_bound(leverage: float, size: int, count: int, least: float) -> float:
    """Bound the scores of records outside of memory, over `least`, when others are excluded.

    Of N records k are excluded and N' remain; `leverage` is the joint leverage of the excluded. Let
    T be the scatter about the mean, A the excluded records less the mean, and L the largest
    eigenvalue of A T^-1 A'. The remaining scatter T - A' (I + 11'/N') A is at least
    1 - L (1 + k/N') times T. The mean moves by 1'A / N', in units of T by at most sqrt(k L) / N'. A
    score is N p / (1 - p) with p = N/(N-1) (x-m)' T^-1 (x-m).
    Return inf if the excluded records have a large leverage.
    """
    rest = size - count
    weight = max(leverage * (size - 1) / size, 0.0)
    if not (least > 0 and weight < _LARGEST and weight * (1 + count / rest) < 1):
        return np.inf
    before = least / (size + least) * (size - 1) / size
    moved = np.sqrt(before) + np.sqrt(count * weight) / rest
    share = moved**2 / (1 - weight * (1 + count / rest)) * rest / (rest - 1)
    return _ROUNDING * rest * share / (1 - share) / least if share < 1 else np.inf


def outcomes(
    views: Sequence[View],
    crowd: Crowd,
    count: Callable[[CountAbove], LawCounts],
    estimate: Estimate,
) -> list[Outcome]:
    """Score changed releases.

    Parameters
    ----------
    views : sequence of View
    crowd : Crowd
        The kept records.
    count : callable
        Counts in a pass over the table, where the kept records do not suffice.
    estimate : callable
        Estimates the law without some records in a pass, where a remaining record has nearly all
        of a variance.
    """
    scored = [_score_kept_rows(view, crowd) for view in views]
    pairs = enumerate(zip(views, scored, strict=True))
    open_ = [place for place, (view, rows) in pairs if not _is_settled(view, rows)]
    if open_:
        chosen = [views[place] for place in open_]
        counting = CountAbove(
            tuple(view.law for view in chosen),
            tuple(THRESHOLDS * view.divisor for view in chosen),
            tuple(view.without for view in chosen),
        )
        for place, counts in zip(open_, count(counting).counts, strict=True):
            kept, scores = counts.kept, views[place].corrected(counts.kept.rows, counts.kept.scores)
            scored[place] = _ScoredRows(kept.rows, scores, kept.values, counts.above)
    _refit(views, scored, crowd, estimate)
    return [rows.outcome(view) for view, rows in zip(views, scored, strict=True)]


@dataclass(frozen=True, eq=False)
class _ScoredRows:
    """Rows (k,) of a changed release, their scores and values, and counts of all rows."""

    rows: Integers
    scores: Doubles
    values: Doubles
    above: Integers

    def outcome(self, view: View) -> Outcome:
        """Return the worst row; the first of equal scores."""
        order = np.lexsort((self.rows, -self.scores))
        worst = int(order[0])
        leakage = float(self.scores[worst]) / view.divisor
        return Outcome(int(self.rows[worst]) + 1, leakage, by_level(self.above))


def _is_settled(view: View, scored: _ScoredRows) -> bool:
    """Whether no record outside of memory can be worse, or be counted."""
    least = min(scored.outcome(view).leakage, float(THRESHOLDS.min()))
    return view.bound / view.divisor <= least


def _score_kept_rows(view: View, crowd: Crowd) -> _ScoredRows:
    rows, values = crowd.numbers, crowd.raw
    if view.kept is not None:
        rows, values = view.kept.rows, view.kept.values
    values = values[:, np.isin(crowd.law.kept, view.law.kept)]
    scores = view.corrected(rows, view.law.distances(values))
    scores[np.isin(rows, list(view.without))] = -np.inf
    return _ScoredRows(rows, scores, values, above(scores / view.divisor))


def _refit(
    views: Sequence[View], scored: Sequence[_ScoredRows], crowd: Crowd, estimate: Estimate
) -> None:
    """Score records that dominate once others are excluded again: the closed form loses digits.

    Their scores are far above every threshold, before and after, so the counts stay.
    """
    dominant: list[tuple[View, _ScoredRows, int]] = []
    for view, rows in zip(views, scored, strict=True):
        if view.without and not isinstance(view.law, PooledLaw):
            most = view.law.rows * left_out.DOMINANT / (1 - left_out.DOMINANT)
            places = np.flatnonzero(rows.scores > most)[:REFITTED].tolist()
            dominant += [(view, rows, place) for place in places]
    if not dominant:
        return
    sets = [view.without | {int(rows.rows[place])} for view, rows, place in dominant]
    for (view, rows, place), moments in zip(dominant, estimate(sets), strict=True):
        columns = np.flatnonzero(np.isin(crowd.law.kept, view.law.kept)).tolist()
        others = part_of(moments.reference(), columns)
        try:
            row = view.law.scaled(rows.values[place])
            rows.scores[place] = float(others.squared_mahalanobis(row))
        except SingularCovarianceError:  # in some direction only this record varies
            rows.scores[place] = np.inf
