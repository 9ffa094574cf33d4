"""From a table to a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from leakscore import _validate, tradeoff
from leakscore.report import _html, _text
from leakscore.report._game import audit_of, play, records_played
from leakscore.report._leakage import Population, Shrinkage, counts_of, interval_of, risk_of
from leakscore.report._model import ALPHA, Content, Covariance, Doubles, Driver, Drivers, Game
from leakscore.report._notices import notices_of
from leakscore.report._previous import earlier_of, previous_of
from leakscore.report._remedies import noise_of, remedies_of
from leakscore.report._setup import (
    budget_of,
    input_of,
    release_of,
    rounds_of,
    shrinkage_of,
    threat_models_of,
)
from leakscore.tables.records import Records, records_of
from leakscore.tables.table import Table, embedded_table, read_table, table_of

__all__ = ["Report", "Table", "analyse", "embedded_table", "read_table", "table_of"]

Progress: TypeAlias = Callable[[str, float], None]


class Report(Content):
    """What leaks when the mean of n records is published; see `leakscore.report.analyse`."""

    def to_text(self, width: int = 80) -> str:
        """Return the report as aligned plain text."""
        return _text.render(self, width)

    def to_html(self) -> str:
        """Return the report as one self-contained page: inline style and charts, no script."""
        return _html.render(self)


def analyse(
    table: Table,
    *,
    n: int | None = None,
    previous: int | Sequence[int] | None = None,
    population: str = "infinite",
    base_population: int | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    missing: str = "rows",
    shrinkage: Shrinkage = None,
    max_advantage: float | None = None,
    epsilon: float | None = None,
    delta: float = 1e-5,
    worst: int = 5,
    rounds: int | None = None,
    seed: int = 0,
    audit: bool = False,
    confidence: float = 0.95,
    show_values: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Tell what leaks of every record if the mean of n records of a table is published.

    The attacker knows the population's mean and covariance (here those of all other records) and
    all values of one record, and asks whether it is one of the n. Beside him a weaker one knows
    the means and variances only.

    Parameters
    ----------
    table : Table
        From `read_table` or `embedded_table`.
    n : int, optional
        Records averaged, 2 to the number judged. Default: all of them; 100 of the embedded table.
    previous : int or sequence of int, optional
        The means of so many first rows of the table were published before, in this order, without
        noise; now the mean of all records is. Increasing, less than the number of rows.
    population : {"infinite", "finite"}
        Whether the table is a sample of a larger population, or is itself the population from
        which the n are drawn without replacement.
    base_population : int, optional
        Number of people who may be in the data, for the base rate n/N. Default: the records
        judged, if n is less; otherwise the base rate is unknown.
    columns, exclude : sequence of str, optional
        What is published, by name; the rest is left out.
    missing : {"rows", "columns"}
        What is left out where a value is missing or infinite.
    shrinkage : float or "auto", optional
        Of the covariance towards its diagonal. Default: none, "auto" if the records are too few
        for their columns.
    max_advantage, epsilon : float, optional
        The budget for the noise: a largest advantage (default 0.2), or a Gaussian epsilon at
        `delta`.
    delta : float
        For `epsilon`, the audit, and the Gaussian-equivalent epsilon.
    worst : int
        How many records are listed.
    rounds : int, optional
        Of each simulated game, half with the record. Default: 20000, fewer for large n.
    seed : int
        Of the games.
    audit : bool
        Whether to certify an epsilon of the worst record's game.
    confidence : float
        Of the audit and of the interval for the worst leakage.
    show_values : bool
        Whether the report may show values of records.
    progress : callable, optional
        Called before each step with its name and the share of the work that is done.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If the table cannot be judged or a parameter is out of its range.

    References
    ----------
    Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024): leakage score (7),
    advantage (8), power (9), covariance score (10).

    Examples
    --------
    >>> from leakscore import report
    >>> result = report.analyse(report.embedded_table(), rounds=2000)
    >>> row = result.counts[0].worst_row
    >>> row, round(float(result.informed.power[row - 1]), 3)
    (153, 0.932)
    """
    _validate.choice("population", population, ("infinite", "finite"))
    _validate.choice("missing", missing, ("rows", "columns"))
    worst = _validate.count("worst", worst, low=1)
    seed = _validate.count("seed", seed, high=None)
    confidence = _validate.scalar("confidence", confidence, 0, 1, closed="neither")
    budget = budget_of(max_advantage, epsilon, delta)
    records = records_of(table, columns=columns, exclude=exclude, missing=missing)
    earlier = None
    if previous is not None:
        earlier = earlier_of(previous, records, len(table.values), n, population)
        n = len(records.rows)
    release = release_of(table, records, n, population, base_population)
    rounds = rounds_of(rounds, release.n)

    simulated = min(records_played(release.n), worst)
    step = _Steps(progress, simulated + 5 + 2 * (earlier is not None))
    step("scoring every record")
    people = Population(
        records.values,
        release.n,
        finite=population == "finite",
        shrinkage=shrinkage_of(records.values, shrinkage),
    )
    scores = people.informed()
    informed = risk_of(scores, release.base_rate)
    weaker = risk_of(people.weaker(), release.base_rate)
    order = np.argsort(-scores, kind="stable")
    listed = tuple(int(i) for i in order[:worst])

    streams = iter(np.random.SeedSequence(seed).spawn(simulated + 5))

    def game(
        index: int,
        attacker: str = "informed",
        noise_std: float = 0.0,
        averaged: Population = people,
    ) -> Game:
        row = int(records.rows[index])
        step(f"playing record {row}, {attacker}{' with noise' if noise_std else ''}")
        rng = np.random.default_rng(next(streams))
        return play(averaged, index, row, attacker, rounds=rounds, rng=rng, noise_std=noise_std)

    played = [int(i) for i in order if np.isfinite(scores[i])]
    if not played:
        raise ValueError(
            f"each of the {len(scores)} records has something that no other has (a column of its "
            "own?): any trace of it in the mean gives it away, and there is nothing to simulate"
        )
    middle = played[len(played) // 2]
    games = [game(i) for i in played[:simulated]]
    games.append(game(played[0], "weaker"))
    if middle not in played[:simulated]:
        games.append(game(middle))
    noise = noise_of(
        people,
        budget,
        records.rows,
        records.columns,
        lambda i, std: game(i, noise_std=std) if std else games[0],
    )
    step("scoring the remedies")
    remedies = remedies_of(people, budget, records.rows, records.columns)
    together = None
    if earlier is not None:
        together = previous_of(
            people,
            scores,
            earlier,
            budget,
            records,
            worst,
            noise,
            lambda batch, i, std: game(i, noise_std=std, averaged=batch),
        )
    drivers = tuple(_drivers(people, records, i, show_values) for i in listed)
    covariance = _covariance(people, records, played[0], scores, confidence)
    report = Report(
        tool_version=_version(),
        seed=seed,
        input=input_of(table, records),
        release=release,
        threat_models=threat_models_of(len(records.columns)),
        rows=records.rows,
        in_sample=people.in_sample(),
        informed=informed,
        weaker=weaker,
        gaussian_epsilon=tradeoff.gaussian(leakage=scores).epsilon(delta),
        gaussian_delta=delta,
        counts=(
            counts_of("informed", informed, records.rows),
            counts_of("weaker", weaker, records.rows),
        ),
        worst=listed,
        drivers=drivers,
        covariance=covariance,
        games=tuple(games),
        noise=noise,
        remedies=remedies,
        audit=audit_of(games[0], delta=delta, confidence=confidence) if audit else None,
        warnings=(),
        previous=together,
    )
    return replace(report, warnings=notices_of(report, table, records))


class _Steps:
    """Tell how much of the work is done before each of its steps."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def __call__(self, step: str) -> None:
        if self._progress is not None:
            self._progress(step, self._done / self._total)
        self._done += 1


def _version() -> str:
    import leakscore

    return leakscore.__version__


def _drivers(people: Population, records: Records, index: int, show_values: bool) -> Drivers:
    shares, without = people.shares(index)
    left = np.full(people.dim, np.nan) if people.shrinkage else people.left_out(without)
    order = np.argsort(-shares, kind="stable")
    return Drivers(
        row=int(records.rows[index]),
        columns=tuple(
            Driver(
                column=records.columns[j],
                share=float(shares[j]),
                leakage_without=float(left[j]),
                value=float(records.values[index, j]) if show_values else None,
            )
            for j in order
        ),
        negative_shares=int((shares < 0).sum()),
    )


def _covariance(
    people: Population, records: Records, index: int, scores: Doubles, confidence: float
) -> Covariance:
    """Say how well the covariance is known, and what that does to the worst leakage."""
    worst = float(scores[index])
    low = high = power_low = power_high = None
    if not people.shrinkage:
        low, high = interval_of(worst, people.size - 1, people.dim, confidence)
        power_low, power_high = tradeoff.gaussian(leakage=[low, high]).power(ALPHA).tolist()
    return Covariance(
        kind="full",
        shrinkage=people.reference.shrinkage if people.shrinkage else None,
        condition_number=float(np.linalg.cond(people.reference.cov)),
        rows_per_column=people.size / people.dim,
        worst_row=int(records.rows[index]),
        worst_leakage=worst,
        interval_confidence=confidence,
        leakage_low=low,
        leakage_high=high,
        power_low=power_low,
        power_high=power_high,
    )
