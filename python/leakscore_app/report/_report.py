"""From a table to a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from leakscore import single_threaded_blas, tradeoff
from leakscore.statistics import Statistic
from leakscore_app.passes.lattices import Off, lattices_of
from leakscore_app.report._game import audit_of, play, records_played
from leakscore_app.report._leakage import (
    Population,
    Shrinkage,
    counts_of,
    covariance_of,
    drivers_of,
    risk_of,
)
from leakscore_app.report._model import (
    Arithmetic,
    AuditResult,
    Cell,
    Doubles,
    Drivers,
    Game,
    Noise,
    Owned,
    Previous,
    Remedy,
    Risk,
    ToldGame,
)
from leakscore_app.report._notices import observed
from leakscore_app.report._previous import Earlier, earlier_of, previous_of
from leakscore_app.report._remedies import noise_of, noise_on_every_mean, remedies_of
from leakscore_app.report._setup import (
    AnalysisOptions,
    budget_of,
    checked,
    input_of,
    listed_of,
    published_of,
    release_of,
    require_all_drawn,
    require_plain,
    rounds_of,
    shrinkage_of,
    threat_models_of,
)
from leakscore_app.report.noise.anew import play_anew, why_not
from leakscore_app.report.noise.drawing import drawn, in_units
from leakscore_app.report.noise.shaped import Search, why_same
from leakscore_app.report.result import Report
from leakscore_app.report.rounds.remainders import Sums, share_of, why_unchecked
from leakscore_app.report.rounds.skewed import hidden_behind
from leakscore_app.report.statistic.featured import cells_of, featured
from leakscore_app.report.statistic.pooled import Pooled, small_cells
from leakscore_app.report.streamed.analysis import Streamed
from leakscore_app.report.streamed.grouped import SmallCellsError
from leakscore_app.report.streamed.passes import Passes
from leakscore_app.report.streamed.whole import TEXT, Tabular, opened_of, whole_of, why_whole
from leakscore_app.tables.sources.opened import LONG
from leakscore_app.tables.sources.partitions import without_graph
from leakscore_app.tables.table import Table

_FEW_COLUMNS = 500
Progress: TypeAlias = Callable[[str, float], None]


def analyse(
    table: Tabular,
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
    draw_noise: int | None = None,
    decimals: int | None = None,
    worst: int = 5,
    rounds: int | None = None,
    seed: int = 0,
    audit: bool = False,
    confidence: float = 0.95,
    show_values: bool = False,
    statistic: Statistic | None = None,
    min_cell: int = 10,
    records: str | None = None,
    distinct_records: bool = False,
    progress: Progress | None = None,
    client: Any = None,
) -> Report:
    """Tell what leaks of every record if the mean of n records of a table is published.

    The attacker knows the population's mean and covariance (here those of all other records) and
    all values of one record, and asks whether it is one of the n. A weaker attacker knows the
    means and variances only.

    Parameters
    ----------
    table : Table, array_like, frame or callable
        From `read_table`, `table_of`, `embedded_table` or `open_table`; if it has `ids`, persons
        are judged, each by all of their records. Or an array (N, d), which may be mapped from a
        file; anything with the Arrow stream interface (frames of pandas, polars, pyarrow, duckdb);
        a frame or array of dask, computed part by part; a function that yields blocks of records
        anew at each call. Of more than 65536 records, blocks are read several times and memory does
        not grow with the table; see Notes.
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
        "same" where no other is computed (other statistics, shrinkage, many columns).
    draw_noise : int, optional
        A secret seed: the report then holds the mean with one draw of the noise. Of a mean of all
        records only.
    decimals : int, optional
        To how many the published numbers are rounded, negative ones to tens, hundreds, ... Default:
        they are exact. Rounding counts for arithmetic only: see Notes.
    worst : int
        How many records are listed.
    rounds : int, optional
        Of each simulated game, half with the record. Default: 20000, fewer for an n above 5000 of
        a table of up to 65536 records, which are drawn one by one.
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
        table (`read_table(groups=)`, `table_of(groups=)`), or columns of a frame.
    min_cell : int
        Cells of a table by group with fewer records are not to be published.
    records : {"all", "worst", "none"}, optional
        Which records the JSON lists; "worst" are those that `worst` counts. Default: all up to
        10000, the worst of more. Its summaries always speak of all.
    distinct_records : bool
        Whether no two records are of one person, also where they are equal or a column that looks
        like a person's number repeats. Otherwise the verdict says what must be settled.
    progress : callable, optional
        Called before each step with its name and the share of the work that is done.
    client : distributed.Client, optional
        Of a dask cluster, whose workers read a table of more than 65536 records, with the same
        bits (extra ``dask``); files must be at the same paths on all of them.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If the table cannot be judged or a parameter is out of its range.
    ClusterError
        If the cluster is lost, or its workers hold another version of leakscore.

    Notes
    -----
    Both attackers use a linear score, and another use of the numbers can tell more. One is checked,
    in every column of a sum, a mean or a count by itself: where the values of all other records go
    in steps, or of all but few, a record off these steps leaves its remainder in the sum. What it
    adds to the advantage is `arithmetic` of the report, and counts in the verdict. Noise of a step
    on the sum hides it, and so does rounding (`decimals`) to much more than a step.

    Tables of more than 65536 records are read in blocks of so many, whatever holds them, with the
    same bits. What leaks of each record, the counts and the medians are those of all records; games
    draw counts of bins, values are clipped at quantiles of a sample of 65536 records, noise is the
    same in every column, and only the worst records are listed unless `records` is "all". Persons,
    earlier means, means of cells of few records, known weights, shrinkage and other shapes of noise
    need the table in memory, and it is read as a whole for them.

    References
    ----------
    Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024): leakage score (7),
    advantage (8), power (9), covariance score (10).

    Examples
    --------
    >>> import leakscore_app
    >>> result = leakscore_app.analyse(leakscore_app.embedded_table(), rounds=2000)
    >>> row = result.counts[0].worst_row
    >>> row, round(float(result.informed.power[row - 1]), 3)
    (153, 0.932)
    """
    asked = AnalysisOptions(
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
        draw_noise=draw_noise,
        decimals=decimals,
        worst=worst,
        rounds=rounds,
        seed=seed,
        audit=audit,
        confidence=confidence,
        show_values=show_values,
        statistic=statistic,
        min_cell=min_cell,
        records=records,
        distinct_records=distinct_records,
    )
    asked = checked(asked)
    table = without_graph(table)
    opened = opened_of(table, asked)
    why = why_whole(opened, table, asked)
    if why == TEXT:  # once all cells are understood, it is a table as others are
        table = whole_of(table, opened, why)
        opened, why = opened_of(table, asked), ""
    if not why and opened.is_longer_than(LONG):
        try:
            with single_threaded_blas():  # waiting threads took a tenth of the work
                return Streamed(opened, asked, Passes(progress, client)).report()
        except SmallCellsError:
            why = "cells of few records"
    whole = whole_of(table, opened, why)
    # Threads of BLAS wait for each other longer than they work on so few columns.
    with single_threaded_blas() if whole.values.shape[1] <= _FEW_COLUMNS else nullcontext():
        return _Analysis(whole, asked, progress).report()


class _Analysis:
    """The work of `analyse`, part by part; each part draws its games in this order."""

    def __init__(self, table: Table, asked: AnalysisOptions, progress: Progress | None) -> None:
        self.table, self.asked = table, asked
        self.budget = budget_of(asked)
        self.featured = featured(
            table,
            asked.statistic,
            columns=asked.columns,
            exclude=asked.exclude,
            missing=asked.missing,
            shrinkage=asked.shrinkage,
        )
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
        self.release = replace(self.release, decimals=asked.decimals)
        require_all_drawn(asked, self.release.n, len(self.records.rows))
        totals = () if self.earlier is None else self.earlier.records
        self.published = published_of(self.records, self.release, totals)
        if self.featured.weights is not None:
            require_plain(asked, self.release, self.published)
        self.rows = self.records.rows[self.published.owned.first]
        size = len(self.records.rows)
        self.rounds = rounds_of(asked.rounds, self.release.n, size)
        self.simulated = min(records_played(self.release.n, size), asked.worst)
        self.step = _Progress(progress, self.simulated + 5)
        self.seeds = np.random.SeedSequence(asked.seed)

    def report(self) -> Report:
        """Do it all."""
        self.step("scoring every record")
        self._score()
        games = self._games()
        noise = self._noise(games)
        arithmetic, noise = self._arithmetic(noise)
        noise = in_units(noise, self.featured.units(self.release.n))
        if self.asked.draw_noise is not None:
            noise = drawn(noise, self.records.values.mean(axis=0), self.asked.draw_noise)
        self.step("scoring the remedies")
        plain = self.release.statistic in ("mean", "sum")
        remedies = remedies_of(self.people, self.budget, self.rows, self.records.columns, plain)
        if noise is not None:
            remedies += tuple(noise_on_every_mean(self.people, noise, self.rows))
        return replace(self._written(games, noise, remedies), arithmetic=arithmetic)

    def _arithmetic(self, noise: Noise | None) -> tuple[Arithmetic, Noise | None]:
        """Look for remainders of sums, and hide them by noise where they are above the limit."""
        if why := why_unchecked(self.release, self.featured.weights is not None):
            return Arithmetic(unchecked=why), noise
        records, owned = self.records, self.published.owned
        sums = Sums(
            self.people,
            self.rows,
            self.budget,
            columns=records.columns,
            units=self.featured.units(self.release.n),
            decimals=self.release.decimals,
            sample=records.values,
            records=records.rows,
            owners=None if self.people.plain else self.rows[owned.of_row],
        )
        size = self.people.batch_size
        lattices = lattices_of(records.values, share_of(size), size)
        off = [Off.of(lattice, records.values, records.rows) for lattice in lattices]
        arithmetic = sums.arithmetic(lattices, off)
        return arithmetic, sums.noise(noise, arithmetic)

    def _score(self) -> None:
        self.people = self._population()
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

    def _population(self) -> Population:
        cells, finite = self.featured.pooled, self.asked.population == "finite"
        if cells is not None:
            return Pooled(cells, self.release.n, finite=finite, published=self.published)
        largest = int(self.published.owned.sizes.max())
        return Population(
            self.records.values,
            self.release.n,
            finite=finite,
            shrinkage=shrinkage_of(self.records.values, self.asked.shrinkage, largest),
            published=self.published,
            weights=self.featured.weights,
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
        """The worst records, those hidden from theory, the worst to the weaker one, the middle."""
        quantity = self.budget.quantity
        self.hidden = hidden_behind(self.people, self.about, self.simulated, quantity)
        first = [*self.played[: self.simulated], *self.hidden]
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
            self._anew,
            played=self.simulated,
            also=tuple(self._also()),
        )
        return search.noise(self.asked.noise_shape or "optimal")

    def _anew(self, index: int, max_leakage: float) -> ToldGame | str:
        """Play a record with noise computed from every table, or say why not."""
        why = why_not(self.people, self.rounds)
        if why:
            return why
        self.step(f"playing record {int(self.rows[index])} with noise computed from every table")
        rng = np.random.default_rng(self._stream(index).spawn(1)[0])
        return play_anew(self.people, index, max_leakage, rounds=self.rounds, rng=rng)

    def _also(self) -> list[int]:
        """Return whom else to play with noise: those hidden, the middle one if it is new."""
        middle = self._middle()
        return [*self.hidden, middle] if self.published.new[middle] else self.hidden

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
        asked, people, rows, owned = self.asked, self.people, self.rows, self._owned()
        informed = risk_of(self.scores, self.release.base_rate)
        weaker = risk_of(people.weaker(), self.release.base_rate)
        worst = tuple(int(i) for i in self.order[: asked.worst])
        listed_as, listed = listed_of(asked.records, len(rows), worst)
        return Report(
            seed=asked.seed,
            input=input_of(self.table, self.records, asked, self.featured.used),
            release=self.release,
            threat_models=threat_models_of(
                len(self.records.columns), not bool(self.published.owned.alone.all())
            ),
            rows=rows,
            in_sample=people.in_sample(),
            informed=informed,
            weaker=weaker,
            listed=listed,
            listed_as=listed_as,
            gaussian_epsilon=tradeoff.gaussian(leakage=self.scores[listed]).epsilon(asked.delta),
            gaussian_delta=asked.delta,
            counts=(counts_of("informed", informed, rows), counts_of("weaker", weaker, rows)),
            worst=worst,
            drivers=tuple(self._drivers(i) for i in worst),
            covariance=covariance_of(people, rows, self.played[0], self.scores, asked.confidence),
            games=tuple(games),
            noise=noise,
            remedies=remedies,
            audit=self._audit(games[0]),
            observations=observed(
                self.table,
                self.records,
                owned,
                self.featured.block,
                distinct=asked.distinct_records,
            ),
            previous=self._previous(),
            lines=self.records.lines,
            owned=owned,
            cells=self._cells(informed),
            min_cell=asked.min_cell,
            pooled_cells=self._pooled(),
            effective_n=None if people.pull is None else people.n / people.correction,
            budget=self.budget,
            max_noise=asked.max_noise,
        )

    def _drivers(self, index: int) -> Drivers:
        first = int(self.published.owned.first[index])
        shown = self.asked.show_values and bool(self.published.owned.alone[index])
        values = self.records.values[first] if shown else None
        return drivers_of(
            self.people, index, int(self.records.rows[first]), self.records.columns, values
        )

    def _cells(self, risk: Risk) -> tuple[Cell, ...]:
        return cells_of(self.featured, self.published.owned.of_row, self.rows, risk)

    def _pooled(self) -> tuple[str, ...]:
        found = self.featured
        if found.pooled is None:
            return ()
        (table,) = found.tables
        return small_cells(found.pooled, [table.names[k] for k in np.unique(table.cell).tolist()])

    def _previous(self) -> Previous | None:
        if self.earlier is None:
            return None
        return previous_of(self.people, self.scores, self.earlier, self.records.rows)

    def _owned(self) -> Owned | None:
        owned, ids = self.published.owned, self.records.ids
        return None if ids is None else Owned(ids[owned.first], self.records.rows, owned.of_row)


class _Progress:
    """Tell how much of the work is done before each of its steps."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def __call__(self, step: str) -> None:
        if self._progress is not None:
            self._progress(step, min(self._done / self._total, 1.0))
        self._done += 1
