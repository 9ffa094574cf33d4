"""From a table to a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import tradeoff
from leakscore._results import ByValue
from leakscore._visible import visible
from leakscore.render import html, text
from leakscore.render.text import counted
from leakscore.report._game import audit_of, play, records_played
from leakscore.report._leakage import Population, Shrinkage, counts_of, interval_of, risk_of
from leakscore.report._model import (
    ALPHA,
    AuditResult,
    Cell,
    Content,
    Covariance,
    Doubles,
    Driver,
    Drivers,
    Game,
    Noise,
    Owned,
    Previous,
    Remedy,
    Risk,
)
from leakscore.report._notices import notices_of
from leakscore.report._previous import Earlier, earlier_of, previous_of
from leakscore.report._remedies import noise_of, noise_on_every_mean, remedies_of
from leakscore.report._sections import document
from leakscore.report._setup import (
    Options,
    budget_of,
    checked,
    input_of,
    published_of,
    release_of,
    rounds_of,
    shrinkage_of,
    threat_models_of,
)
from leakscore.report._statistic import cells_of, featured
from leakscore.report._verdict import verdict_of
from leakscore.report._words import named
from leakscore.report.noise.shaped import Search, why_same
from leakscore.statistics import Statistic
from leakscore.tables.records import Records, records_of
from leakscore.tables.table import Table

Progress: TypeAlias = Callable[[str, float], None]


class Report(ByValue, Content):
    """What leaks when the mean of n records is published; see `leakscore.report.analyse`."""

    def __repr__(self) -> str:
        columns, index = len(self.input.columns_judged), self.worst[0]
        return (
            f"<Report on {visible(self.input.name)}: the mean of {self.release.n} records in "
            f"{counted(columns, 'column')}, {counted(len(self.rows), 'record')} judged; worst "
            f"{named(self, int(self.rows[index]))}: "
            f"leakage {self.informed.leakage[index]:.4g}, advantage "
            f"{self.informed.advantage[index]:.1%}, power {self.informed.power[index]:.1%} at "
            f"{ALPHA:.0%} false positives; {counted(len(self.warnings), 'warning')}>"
        )

    def _repr_html_(self) -> str:
        """Show a notebook the page's head, in a frame that runs nothing and fetches nothing."""
        return html.framed(self.to_html())

    def to_text(self, width: int = 80) -> str:
        """Return the report as aligned plain text."""
        return text.render(document(self), width)

    def to_html(self) -> str:
        """Return the report as one self-contained page: inline style and charts, no script."""
        return html.render(document(self))


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
    max_power: float | None = None,
    epsilon: float | None = None,
    delta: float = 1e-5,
    max_noise: float = 1.0,
    noise_shape: str | None = None,
    worst: int = 5,
    rounds: int | None = None,
    seed: int = 0,
    audit: bool = False,
    confidence: float = 0.95,
    show_values: bool = False,
    statistic: Statistic | None = None,
    min_cell: int = 10,
    progress: Progress | None = None,
) -> Report:
    """Tell what leaks of every record if the mean of n records of a table is published.

    The attacker knows the population's mean and covariance (here those of all other records) and
    all values of one record, and asks whether it is one of the n. A weaker attacker knows the
    means and variances only.

    Parameters
    ----------
    table : Table
        From `read_table`, `table_of` or `embedded_table`. If it has `ids`, persons are judged, each
        by all of their records.
    n : int, optional
        Records averaged, 2 to the number judged. Default: all of them; 100 of the embedded table.
    previous : int or sequence of int, optional
        The means of so many first rows of the table were published before, in this order, without
        noise; now the mean of all records is. Increasing, less than the number of rows. Every
        number is then what all means tell together.
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
    max_advantage, max_power, epsilon : float, optional
        The limit for every record, one of them: a largest advantage (default 0.2), a largest power
        at 1 % false positives, or a Gaussian epsilon at `delta`. The verdict holds theory and game
        against it, and noise is sought that brings them under it.
    delta : float
        For `epsilon`, the audit, and the Gaussian-equivalent epsilon.
    max_noise : float
        The most noise that is worth publishing with, in standard errors of the mean; where more
        is needed, the verdict is not to publish. Of noise that differs between columns, the root
        mean square counts.
    noise_shape : {"optimal", "independent", "same"}, optional
        Of the noise: that which costs least, correlated between columns; the best that is
        independent; or the same number of standard errors in every column. Default: "optimal", or
        "same" where no other is computed (persons, earlier means, other statistics, shrinkage,
        many columns).
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
    statistic : Statistic, optional
        What is published, of `leakscore.statistics`; the mean by default. Groups are those of the
        table (`read_table(groups=)`, `table_of(groups=)`).
    min_cell : int
        Cells of a table by group with fewer records are not to be published.
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
    asked = Options(
        n=n,
        previous=previous,
        population=population,
        base_population=base_population,
        columns=columns,
        exclude=exclude,
        missing=missing,
        shrinkage=shrinkage,
        max_advantage=max_advantage,
        max_power=max_power,
        epsilon=epsilon,
        delta=delta,
        max_noise=max_noise,
        noise_shape=noise_shape,
        worst=worst,
        rounds=rounds,
        seed=seed,
        audit=audit,
        confidence=confidence,
        show_values=show_values,
        statistic=statistic,
        min_cell=min_cell,
    )
    return _Analysis(table, checked(asked), progress).report()


class _Analysis:
    """The work of `analyse`, part by part; each part draws its games in this order."""

    def __init__(self, table: Table, asked: Options, progress: Progress | None) -> None:
        self.table, self.asked = table, asked
        self.budget = budget_of(asked)
        records = records_of(
            table, columns=asked.columns, exclude=asked.exclude, missing=asked.missing
        )
        self.featured = featured(table, records, asked.statistic)
        self.records = self.featured.records
        n = asked.n
        self.earlier: Earlier | None = None
        if asked.previous is not None:
            self.earlier = earlier_of(
                asked.previous, self.records, len(table.values), n, asked.population
            )
            n = len(self.records.rows)
        self.release = release_of(
            table,
            self.records,
            n,
            asked.population,
            asked.base_population,
            self.featured.statistic,
        )
        totals = () if self.earlier is None else self.earlier.records
        self.published = published_of(self.records, self.release, totals)
        self.rows = self.records.rows[self.published.owned.first]
        self.rounds = rounds_of(asked.rounds, self.release.n)
        self.simulated = min(records_played(self.release.n), asked.worst)
        self.step = _Steps(progress, self.simulated + 5)
        self.seeds = np.random.SeedSequence(asked.seed)

    def report(self) -> Report:
        """Do it all."""
        self.step("scoring every record")
        self._score()
        games = self._games()
        noise = self._noise(games)
        self.step("scoring the remedies")
        plain = self.release.statistic in ("mean", "sum")
        remedies = remedies_of(self.people, self.budget, self.rows, self.records.columns, plain)
        if noise is not None:
            remedies += tuple(noise_on_every_mean(self.people, noise, self.rows))
        report = self._written(games, noise, remedies)
        report = replace(report, verdict=verdict_of(report, self.budget, self.asked.max_noise))
        return replace(report, warnings=notices_of(report, self.table, self.records))

    def _score(self) -> None:
        largest = int(self.published.owned.sizes.max())
        self.people = Population(
            self.records.values,
            self.release.n,
            finite=self.asked.population == "finite",
            shrinkage=shrinkage_of(self.records.values, self.asked.shrinkage, largest),
            published=self.published,
        )
        self.scores = self.people.informed()
        self.order = np.argsort(-self.scores, kind="stable")
        played = self.order[np.isfinite(self.scores[self.order])]
        # Those whom this release is about first: earlier means have told of the others.
        new = self.published.new[played]
        self.played = [*played[new].tolist(), *played[~new].tolist()]
        self.about = self.played[: int(new.sum())] or self.played
        if not self.played:
            raise ValueError(
                f"each of the {len(self.scores)} records has something that no other has (a column "
                "of its own? a mean of its own?): any trace of it in the mean gives it away, and "
                "there is nothing to simulate"
            )

    def _game(
        self,
        index: int,
        attacker: str = "informed",
        noise_std: float = 0.0,
        noise_cov: Doubles | None = None,
    ) -> Game:
        noisy = noise_std > 0 or noise_cov is not None
        stream = self._stream(index) if noisy else self.seeds.spawn(1)[0]
        row = int(self.rows[index])
        self.step(f"playing record {row}, {attacker}{' with noise' if noisy else ''}")
        return play(
            self.people,
            index,
            row,
            attacker,
            rounds=self.rounds,
            rng=np.random.default_rng(stream),
            noise_std=noise_std,
            noise_cov=noise_cov,
            rows=self.records.rows,
        )

    def _stream(self, index: int) -> np.random.SeedSequence:
        """Return the stream of a record's games with noise: the same draws for any noise."""
        return np.random.SeedSequence(self.asked.seed, spawn_key=(index, self.people.n))

    def _games(self) -> list[Game]:
        """The worst records, the worst to the weaker attacker, and the one in the middle."""
        first = self.played[: self.simulated]
        games = [self._game(i) for i in first]
        games.append(self._game(self.played[0], "weaker"))
        worst = next(int(i) for i in self.order if np.isfinite(self.scores[i]))
        games += [self._game(i) for i in dict.fromkeys([self._middle(), worst]) if i not in first]
        return games

    def _noise(self, games: list[Game]) -> Noise | None:
        """Find the noise; none hides a person who is all of the batch that the release adds."""
        if self.published.given_away(slice(-1, None)).any():
            return None
        why = why_same(self.people, self.asked.noise_shape, self.release.statistic)
        if not why:
            return self._shaped(games)
        return replace(self._same(games), why_same=why)

    def _same(self, games: list[Game]) -> Noise:
        """Find the noise that is the same in every column."""
        kept = {game.row: game for game in games if game.attacker == "informed"}

        def with_noise(index: int, std: float) -> Game:
            known = kept.get(int(self.rows[index])) if std == 0 else None
            return known or self._game(index, noise_std=std)

        return noise_of(
            self.people,
            self.budget,
            self.rows,
            self.records.columns,
            with_noise,
            played=self.simulated,
            also=self._also(),
        )

    def _shaped(self, games: list[Game]) -> Noise:
        """Find the noise of least cost; where it is correlated, independent noise beside it."""
        kept = {game.row: game for game in games if game.attacker == "informed"}

        def with_noise(index: int, cov: Doubles) -> Game:
            known = None if cov.any() else kept.get(int(self.rows[index]))
            return known or self._game(index, noise_cov=cov if cov.any() else None)

        search = Search(
            self.people,
            self.budget,
            self.rows,
            self.records.columns,
            with_noise,
            played=self.simulated,
            also=tuple(self._also()),
        )
        return search.noise(self.asked.noise_shape or "optimal")

    def _also(self) -> list[int]:
        """Return whom else to play with noise: the record in the middle, if it is a new one."""
        middle = self._middle()
        return [middle] if self.published.new[middle] else []

    def _middle(self) -> int:
        """Return the record in the middle of those that can be played."""
        return int(self.about[len(self.about) // 2])

    def _audit(self, game: Game) -> AuditResult | None:
        if not self.asked.audit:
            return None
        return audit_of(game, delta=self.asked.delta, confidence=self.asked.confidence)

    def _written(
        self,
        games: list[Game],
        noise: Noise | None,
        remedies: tuple[Remedy, ...],
    ) -> Report:
        asked, people, rows = self.asked, self.people, self.rows
        informed = risk_of(self.scores, self.release.base_rate)
        weaker = risk_of(people.weaker(), self.release.base_rate)
        listed = tuple(int(i) for i in self.order[: asked.worst])
        return Report(
            tool_version=_version(),
            seed=asked.seed,
            input=input_of(self.table, self.records, asked),
            release=self.release,
            threat_models=threat_models_of(
                len(self.records.columns), not bool(self.published.owned.alone.all())
            ),
            rows=rows,
            in_sample=people.in_sample(),
            informed=informed,
            weaker=weaker,
            gaussian_epsilon=tradeoff.gaussian(leakage=self.scores).epsilon(asked.delta),
            gaussian_delta=asked.delta,
            counts=(counts_of("informed", informed, rows), counts_of("weaker", weaker, rows)),
            worst=listed,
            drivers=tuple(_drivers(people, self.records, i, asked.show_values) for i in listed),
            covariance=_covariance(people, rows, self.played[0], self.scores, asked.confidence),
            games=tuple(games),
            noise=noise,
            remedies=remedies,
            audit=self._audit(games[0]),
            warnings=(),
            previous=self._previous(),
            lines=self.records.lines,
            owned=self._owned(),
            cells=self._cells(informed),
            min_cell=asked.min_cell,
        )

    def _cells(self, risk: Risk) -> tuple[Cell, ...]:
        alone = bool(self.published.owned.alone.all())
        return cells_of(self.featured, self.rows, risk, alone)

    def _previous(self) -> Previous | None:
        if self.earlier is None:
            return None
        return previous_of(self.people, self.scores, self.earlier, self.records.rows)

    def _owned(self) -> Owned | None:
        owned, ids = self.published.owned, self.records.ids
        return None if ids is None else Owned(ids[owned.first], self.records.rows, owned.of_row)


class _Steps:
    """Tell how much of the work is done before each of its steps."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def __call__(self, step: str) -> None:
        if self._progress is not None:
            self._progress(step, min(self._done / self._total, 1.0))
        self._done += 1


def _version() -> str:
    import leakscore

    return leakscore.__version__


def _drivers(people: Population, records: Records, index: int, show_values: bool) -> Drivers:
    shares, without = people.shares(index)
    left = np.full(people.dim, np.nan) if people.shrinkage else people.left_out(index, without)
    order = np.argsort(-shares, kind="stable")
    first = int(people.owned.first[index])
    show_values = show_values and bool(people.owned.alone[index])
    return Drivers(
        row=int(records.rows[first]),
        columns=tuple(
            Driver(
                column=records.columns[j],
                share=float(shares[j]),
                leakage_without=float(left[j]),
                value=float(records.values[first, j]) if show_values else None,
            )
            for j in order
        ),
        negative_shares=int((shares < 0).sum()),
    )


def _covariance(
    people: Population,
    rows: npt.NDArray[np.int64],
    index: int,
    scores: Doubles,
    confidence: float,
) -> Covariance:
    """Say how well the covariance is known, and what that does to the worst leakage."""
    worst = float(scores[index])
    others = people.size - int(people.owned.sizes[index])
    low = high = power_low = power_high = None
    if not people.shrinkage:
        low, high = interval_of(worst, others, people.dim, confidence)
        power_low, power_high = tradeoff.gaussian(leakage=[low, high]).power(ALPHA).tolist()
    return Covariance(
        kind="full",
        shrinkage=people.reference.shrinkage if people.shrinkage else None,
        condition_number=float(np.linalg.cond(people.reference.cov)),
        rows_per_column=people.size / people.dim,
        worst_row=int(rows[index]),
        worst_leakage=worst,
        interval_confidence=confidence,
        leakage_low=low,
        leakage_high=high,
        power_low=power_low,
        power_high=power_high,
    )
