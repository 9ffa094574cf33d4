"""Changed releases of a long table: scored by the kept records alone, or by one pass more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore.distributions import norm
from leakscore.leakage.table_law import TableLaw
from leakscore.reference import Moments, SingularCovarianceError
from leakscore_app.passes.scores import Count, Views, WorstRows
from leakscore_app.report._leakage import risk_of
from leakscore_app.report._model import ALPHA, LEVELS, Doubles, Remedy
from leakscore_app.report.streamed.judged import Passes
from leakscore_app.report.streamed.people import DOMINANT, Crowd, part_of
from leakscore_app.tables.sources.blocks import Source

Integers = npt.NDArray[np.int64]
THRESHOLDS: Doubles = np.asarray((norm.ppf(np.array(LEVELS)) - norm.ppf(ALPHA)) ** 2)
"""Leakages above which records are recognised with more than each level of power."""


Estimate: TypeAlias = Callable[[Sequence[frozenset[int]]], Sequence[Moments]]
"""Reads the moments of all records but some, in the units of the whole table's law."""
_REFITTED = 64  # records with nearly all variance in a direction that are left out one by one


@dataclass(frozen=True, eq=False)
class View:
    """A changed release.

    Attributes
    ----------
    law : TableLaw
    divisor : float
        Leakages are scores over it.
    grown : float
        By which factor, at most, a score of the release as it is grows; inf if that is not known.
    known : dict
        Scores of some rows that are known better than by the law.
    without : frozenset of int
        Rows that are left out.
    kept : WorstRows, optional
        The worst rows by a guess of the law, in place of those of the release as it is.
    bound : float
        No other row has a larger score than this; only with `kept`.
    """

    law: TableLaw
    divisor: float
    grown: float
    known: dict[int, float]
    without: frozenset[int] = frozenset()
    kept: WorstRows | None = None
    bound: float = np.inf


@dataclass(frozen=True, eq=False)
class Outcome:
    """The worst row of a changed release, its leakage, and counts above each level of power."""

    row: int
    leakage: float
    above: dict[str, int]


def outcomes(
    views: Sequence[View],
    crowd: Crowd,
    least: float,
    source: Source,
    passes: Passes,
    estimate: Estimate,
) -> list[Outcome]:
    """Return what is asked of changed releases.

    Parameters
    ----------
    views : sequence of View
    crowd : Crowd
        The kept records.
    least : float
        No record that is not kept has a larger score; -inf if all are kept.
    source : Source
    passes : callable
        Reads the table, if the kept records do not settle it.
    estimate : callable
        Reads it without some records, where one is left that has nearly all of a variance.
    """
    found: dict[int, _Scored] = {}
    open_: list[int] = []
    for place, view in enumerate(views):
        scored = _by_kept(view, crowd)
        bound = view.bound
        if view.kept is None:
            bound = least * view.grown if least > 0 else 0.0
        settled = bound / view.divisor
        if settled <= min(scored.outcome(view).leakage, float(THRESHOLDS.min())):
            found[place] = scored
        else:
            open_.append(place)
    if open_:
        chosen = [views[place] for place in open_]
        asked = Count(
            tuple(view.law for view in chosen),
            tuple(THRESHOLDS * view.divisor for view in chosen),
            tuple(view.without for view in chosen),
        )
        counted: Views = passes(source, asked, "scoring the remedies")
        for place, view, one in zip(open_, chosen, counted.found, strict=True):
            scores = one.kept.scores.copy()
            for row, score in view.known.items():
                scores[one.kept.rows == row] = score
            found[place] = _Scored(one.kept.rows, scores, one.kept.values, one.above)
    ordered = [found[place] for place in range(len(views))]
    _refit(views, ordered, crowd, estimate)
    return [scored.outcome(view) for view, scored in zip(views, ordered, strict=True)]


@dataclass(frozen=True, eq=False)
class _Scored:
    """Rows (k,) of a changed release, their scores and values, and counts of all rows."""

    rows: Integers
    scores: Doubles
    values: Doubles
    above: Integers

    def outcome(self, view: View) -> Outcome:
        """Return the worst row; of equal scores the first row."""
        order = np.lexsort((self.rows, -self.scores))
        worst = int(order[0])
        leakage = float(self.scores[worst]) / view.divisor
        return Outcome(int(self.rows[worst]), leakage, _named(self.above))


def _by_kept(view: View, crowd: Crowd) -> _Scored:
    rows, values = crowd.numbers, crowd.raw
    if view.kept is not None:
        rows, values = view.kept.rows, view.kept.values
    values = values[:, np.isin(crowd.law.kept, view.law.kept)]
    scores = view.law.distances(values)
    for row, score in view.known.items():
        scores[rows == row] = score
    scores[np.isin(rows, list(view.without))] = -np.inf
    leakages = scores / view.divisor
    above = np.array([int((leakages > at).sum()) for at in THRESHOLDS])
    return _Scored(rows, scores, values, above)


def _refit(
    views: Sequence[View], scored: Sequence[_Scored], crowd: Crowd, estimate: Estimate
) -> None:
    """Score records again that dominate once others are left out: the closed form loses digits.

    Their scores are far above every threshold, before and after, so the counts remain.
    """
    asked: list[tuple[View, _Scored, int]] = []
    for view, one in zip(views, scored, strict=True):
        if view.without:
            most = view.law.rows * DOMINANT / (1 - DOMINANT)
            places = np.flatnonzero(one.scores > most)[:_REFITTED].tolist()
            asked += [(view, one, place) for place in places]
    if not asked:
        return
    sets = [view.without | {int(one.rows[place])} for view, one, place in asked]
    for (view, one, place), moments in zip(asked, estimate(sets), strict=True):
        columns = np.flatnonzero(np.isin(crowd.law.kept, view.law.kept)).tolist()
        known = part_of(moments.reference(), columns)
        try:
            row = view.law.scaled(one.values[place])
            one.scores[place] = float(known.squared_mahalanobis(row))
        except SingularCovarianceError:  # in some direction only this record varies
            one.scores[place] = np.inf


def _named(above: np.ndarray) -> dict[str, int]:
    levels = zip(LEVELS, above.tolist(), strict=True)
    return {f"{100 * level:g}%": int(count) for level, count in levels}


def remedy(kind: str, what: str, cost: str, outcome: Outcome, **more: object) -> Remedy:
    """Return a remedy from the outcome of a changed release."""
    risk = risk_of(np.array([outcome.leakage]), None)
    return Remedy(
        kind=kind,
        what=what,
        cost=cost,
        worst_row=outcome.row + 1,
        leakage=outcome.leakage,
        advantage=float(risk.advantage[0]),
        power=float(risk.power[0]),
        above=outcome.above,
        **more,  # type: ignore[arg-type]
    )
