"""Changed releases of a long table: scored by the kept records alone, or by one pass more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakscore.distributions import norm
from leakscore.report._leakage import risk_of
from leakscore.report._model import ALPHA, LEVELS, Doubles, Remedy
from leakscore.report.streamed.judged import Passes
from leakscore.report.streamed.people import Crowd
from leakscore.streaming.law import Law
from leakscore.streaming.scores import Count, Kept, Views
from leakscore.tables.sources.blocks import Source

THRESHOLDS: Doubles = np.asarray((norm.ppf(np.array(LEVELS)) - norm.ppf(ALPHA)) ** 2)
"""Leakages above which records are recognised with more than each level of power."""


@dataclass(frozen=True, eq=False)
class View:
    """A changed release.

    Attributes
    ----------
    law : Law
    divisor : float
        Leakages are scores over it.
    grown : float
        By which factor, at most, a score of the release as it is grows; inf if that is not known.
    known : dict
        Scores of some rows that are known better than by the law.
    without : frozenset of int
        Rows that are left out.
    kept : Kept, optional
        The worst rows by a guess of the law, in place of those of the release as it is.
    bound : float
        No other row has a larger score than this; only with `kept`.
    """

    law: Law
    divisor: float
    grown: float
    known: dict[int, float]
    without: frozenset[int] = frozenset()
    kept: Kept | None = None
    bound: float = np.inf


@dataclass(frozen=True, eq=False)
class Outcome:
    """The worst row of a changed release, its leakage, and counts above each level of power."""

    row: int
    leakage: float
    above: dict[str, int]


def outcomes(
    views: Sequence[View], crowd: Crowd, least: float, source: Source, passes: Passes
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
    """
    found: dict[int, Outcome] = {}
    open_: list[int] = []
    for place, view in enumerate(views):
        outcome = _by_kept(view, crowd)
        bound = view.bound
        if view.kept is None:
            bound = least * view.grown if least > 0 else 0.0
        settled = bound / view.divisor
        if settled <= min(outcome.leakage, float(THRESHOLDS.min())):
            found[place] = outcome
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
            kept = one.kept.scores.copy()
            for row, score in view.known.items():
                kept[one.kept.rows == row] = score
            worst = int(kept.argmax())
            found[place] = Outcome(
                int(one.kept.rows[worst]), float(kept[worst]) / view.divisor, _named(one.above)
            )
    return [found[place] for place in range(len(views))]


def _by_kept(view: View, crowd: Crowd) -> Outcome:
    columns = np.isin(crowd.law.kept, view.law.kept)
    rows, values = crowd.numbers, crowd.raw
    if view.kept is not None:
        rows, values = view.kept.rows, view.kept.values
    scores = view.law.distances(values[:, columns])
    for row, score in view.known.items():
        scores[rows == row] = score
    scores[np.isin(rows, list(view.without))] = -np.inf
    worst = int(scores.argmax())
    leakages = scores / view.divisor
    above = np.array([int((leakages > at).sum()) for at in THRESHOLDS])
    return Outcome(int(rows[worst]), float(leakages[worst]), _named(above))


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
