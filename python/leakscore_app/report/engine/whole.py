"""A judged table whose records are all in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import tradeoff, validation
from leakscore.statistics import GLM, Cox, Regression
from leakscore_app.passes.lattices import OffLattice
from leakscore_app.passes.rows import JudgedRows, sampled_rows
from leakscore_app.passes.scores import CellScores
from leakscore_app.report._model import (
    ALPHA,
    Batch,
    Cell,
    Doubles,
    Listed,
    Listing,
    Narrowing,
    Noise,
    Observations,
    Owned,
    Previous,
    Refit,
    Release,
)
from leakscore_app.report.engine.attack import Fitted, LinearAttack, Others, Refits, projected
from leakscore_app.report.engine.features import Featured, featured, only_counts
from leakscore_app.report.engine.judged import CLIPS, Clipped, JudgedRelease, JudgedTable
from leakscore_app.report.engine.leakage import (
    THRESHOLDS,
    cells_named,
    counts_of,
    narrowing_of,
    refits_of,
    risk_of,
    thinning_of,
)
from leakscore_app.report.engine.listed import Sets, enough_noise, list_sets
from leakscore_app.report.engine.notices import about_persons
from leakscore_app.report.engine.pooled import Pooled
from leakscore_app.report.engine.population import Population
from leakscore_app.report.engine.setup import (
    AnalysisOptions,
    published_of,
    require_plain,
    shrinkage_of,
)
from leakscore_app.report.engine.sums import Sums
from leakscore_app.report.engine.survey import GROUPLESS
from leakscore_app.report.engine.values import ValueTable, refused
from leakscore_app.tables.table import Records, Table

_LISTED = 3  # persons who are looked for in the list of all sets


class WholeTable(JudgedTable):
    """The judged part of a table in memory; see `JudgedTable`.

    Parameters
    ----------
    table : Table
    options : AnalysisOptions
    say : callable
        Called with a line of progress.
    """

    def __init__(self, table: Table, options: AnalysisOptions, say: Callable[[str], None]) -> None:
        self.table, self.featured, dropped = without_small_cells(table, options)
        judged, statistic = self.featured.judged, self.featured.statistic
        opened = self.featured.opened
        super().__init__(opened, judged, statistic, options=options, say=say)
        self.records, self.shared = self.featured.records, table.shared
        if dropped:
            lost = tuple(
                replace(rows, reason=f"in a cell of fewer than {options.min_cell}, or in none")
                if rows.reason == GROUPLESS
                else rows
                for rows in self.input.rows_left_out
            )
            self.input = replace(self.input, rows_dropped=dropped, rows_left_out=lost)
        self.weighted = self.featured.weights is not None
        self.earlier: Earlier | None = None
        if options.previous is not None:
            self.earlier = earlier_of(
                options.previous, self.records, len(table.values), options.n, options.population
            )

    def publish(self, release: Release) -> None:
        """Settle the release, and the persons of the records."""
        super().publish(release)
        totals = () if self.earlier is None else self.earlier.records
        self.persons = published_of(self.records, release, totals)
        if self.weighted:
            require_plain(self.options, release, self.persons)

    @cached_property
    def rows(self) -> npt.NDArray[np.int64]:
        """The number of each person's first record, from 1."""
        return self.records.rows[self.persons.owned.first]

    @property
    def keys(self) -> npt.NDArray[np.int64]:
        """The seed of each person's games."""
        return np.arange(self.population.persons)

    @cached_property
    def every(self) -> JudgedRows:
        """The records."""
        return JudgedRows(self.records.rows, self.records.values)

    @property
    def means(self) -> Doubles:
        """Means of the features."""
        return np.asarray(self.statistic.features(self.featured.block).mean(axis=0))

    @property
    def estimates(self) -> Doubles:
        """The published numbers, one a judged column, without noise."""
        if self.featured.weights is None:
            return super().estimates
        return np.average(self.records.values, axis=0, weights=self.featured.weights)

    def score(self) -> None:
        """Estimate the law that an attacker knows; the population scores the persons."""
        cells, n = self.featured.pooled, self.released.n
        if cells is not None:
            self.population = Pooled(cells, n, finite=self.finite, published=self.persons)
            return
        values = self.records.values
        largest = int(self.persons.owned.sizes.max())
        self.population = Population(
            values,
            n,
            finite=self.finite,
            shrinkage=shrinkage_of(values, self.options.shrinkage, largest),
            published=self.persons,
            weights=self.featured.weights,
        )

    def middle(self, about: Sequence[int]) -> int:
        """Return the record in the middle of those that can be played, the worst first."""
        return int(about[len(about) // 2])

    def others(self, attacks: Sequence[LinearAttack], what: str) -> Iterator[Sequence[Others]]:  # noqa: ARG002
        """Yield the projections of the other records for each attack."""
        for attack in attacks:
            yield projected(self.population, attack, self.records.rows)

    def refits(self, rounds: int) -> Refits | None:
        """Return the refits of each round of a game, of coefficients."""
        model, block, rows = self.statistic, self.featured.block, self.records.rows
        if not isinstance(model, Fitted):
            return None
        return Refits.of(
            model, block, self.columns, rows=rows, published=self.persons, rounds=rounds
        )

    def off_steps(self) -> list[OffLattice]:
        """Return the records off each of the steps."""
        return [OffLattice.of(steps, self.every, at_hand=True) for steps in self.steps]

    def sums(self) -> Sums:
        """Return the records that arithmetic on the sums may reveal, and their persons."""
        if self.population.plain:
            return super().sums()
        owners = self.rows[self.persons.owned.of_row]
        return replace(super().sums(), records=self.records.rows, owners=owners)

    # --- changed releases ------------------------------------------------------------------------

    @property
    def _judged(self) -> npt.NDArray[np.bool_]:
        return self.population.published.new

    def release(self, population: Population) -> JudgedRelease:
        """Return a changed population of the same persons as a release."""
        return JudgedRelease(self.rows[self._judged], population.informed()[self._judged])

    def clipped(self, share: float) -> Clipped:
        """Return the release in which values of the new records are clipped at a quantile."""
        population = self.population
        added = population.published.batch == population.published.last
        low, high = self._quantiles[CLIPS.index(share)]
        values = np.clip(population.values, low, high)
        moves = values[added].mean(axis=0) - population.values[added].mean(axis=0)
        moved = float(np.abs(moves).max()) * (population.batch_size / population.n)
        scores = population.informed_of(values)
        what = "columns" if added.all() else "the new records' columns"
        release = JudgedRelease(self.rows[self._judged], scores[self._judged])
        return Clipped(release, moved * float(np.sqrt(population.n)), what)

    @cached_property
    def _quantiles(self) -> Doubles:
        levels = [level for share in CLIPS for level in (share, 1 - share)]
        sampled = sampled_rows(self.records.rows - 1, self.size)
        limits = np.quantile(self.population.values[sampled], levels, axis=0)
        return np.asarray(limits.reshape(len(CLIPS), 2, -1))

    def without_worst(self, count: int) -> JudgedRelease | None:
        """Return the release without the worst persons' new records."""
        population, published = self.population, self.persons
        judged = np.flatnonzero(self._judged)
        worst = judged[np.argsort(-population.informed()[judged], kind="stable")[:count]]
        new = published.batch == published.last
        rows = np.flatnonzero(np.isin(population.owned.of_row, worst) & new)
        if len(worst) < count or not population.can_spare(rows):
            return None
        smaller, remain = population.without_records(rows)
        scores = population.earlier[remain] if smaller is None else smaller.informed()
        kept = self._judged[remain] & ~np.isin(remain, worst)
        return JudgedRelease(self.rows[remain][kept], scores[kept])

    def sensitive_values(self) -> ValueTable:
        """Return the records as needed to guess one sensitive value from the release."""
        if why := refused(self.options, self.statistic.kind):
            raise ValueError(f"sensitive={self.options.sensitive!r} must be a column of {why}")
        if not self.persons.owned.alone.all():
            raise ValueError(
                f"sensitive={self.options.sensitive!r} must be a column of persons with one "
                "record each"
            )
        values, rows = self.records.values, self.records.rows
        return ValueTable(values, rows, self.columns, self.units, self.released.n)

    # --- what is written -------------------------------------------------------------------------

    def values_of(self, index: int) -> Doubles | None:
        """Return the values of a person's only record."""
        owned = self.persons.owned
        return self.records.values[owned.first[index]] if owned.alone[index] else None

    def listing(self, scores: Doubles, base_rate: float | None) -> Listing:
        """Return the report's statements about all records."""
        people, rows, cells = self.population, self.rows, self.featured.pooled
        informed = risk_of(scores, base_rate)
        weaker = risk_of(people.weaker(), base_rate)
        owned, ids = self.persons.owned, self.records.ids
        who = None if ids is None else Owned(ids[owned.first], self.records.rows, owned)
        return Listing(
            rows=rows,
            places=np.arange(len(rows)),
            in_sample=people.in_sample(),
            informed=informed,
            weaker=weaker,
            counts=(
                counts_of("informed", scores, rows),
                counts_of("weaker", weaker.leakage, rows),
            ),
            lines=self.records.lines,
            owned=who,
            cells=tuple(cells_of(self.featured, owned.of_row, rows, scores)),
            pooled_cells=() if cells is None else cells.small,
            previous=None
            if self.earlier is None
            else previous_of(people, scores, self.earlier, self.records.rows),
            effective_n=None if people.pull is None else people.n / people.correction,
        )

    @cached_property
    def _sets(self) -> Sets | None:
        people = self.population
        if not people.finite:
            return None
        return Sets.of(self.records.values, people.owned, self.released.n, self.units)

    def hidden_from_lists(self, noise: Noise | None) -> Noise | None:
        """Return noise that also hides few records from an attacker who lists all sets."""
        if noise is None or not (noise.confirmed and noise.standard_errors) or self._sets is None:
            return noise
        scores = np.nan_to_num(self.population.informed(), posinf=0.0)
        worst = np.argsort(-scores, kind="stable")[:_LISTED].tolist()
        limit = self.budget.allowed_advantage
        return enough_noise(noise, self._sets, worst, limit, self.options.seed)

    def observations(self, listing: Listing) -> Observations:
        """Return observations on the records and their persons."""
        seen = replace(
            super().observations(listing), refits=self._refitted(), listed=self._listed()
        )
        if listing.owned is None:
            return seen
        persons = tuple(about_persons(listing.owned, self.table, self.records))
        return replace(seen, records=persons, doubt="")

    def _listed(self) -> Listed | None:
        """Return the result of listing all sets of a finite population, where they are few."""
        if self._sets is None:
            return None
        decimals = self.options.decimals if self.released.exact == "exact" else None
        return list_sets(self._sets, self.rows, decimals, self.budget.allowed_advantage)

    def _refitted(self) -> tuple[Refit, ...]:
        """Return the shifts of the records without which a model was fitted again."""
        if not isinstance(self.statistic, GLM | Cox) or not self.persons.owned.alone.all():
            return ()
        return refits_of(self.statistic, self.featured.block, self.rows)

    def narrowing(self, leakage: Doubles) -> Narrowing | None:
        """Return the record, or the person, that narrows the spread of the numbers most."""
        regression, persons = self.statistic, self.persons.owned.of_row
        if not isinstance(regression, Regression):
            return thinning_of(self.population, self.rows, leakage, self.budget)
        return narrowing_of(
            regression,
            self.featured.block,
            self.rows[persons],
            leakage[persons],
            n=self.persons.totals,
            budget=self.budget,
            owners=persons,
        )


def without_small_cells(table: Table, options: AnalysisOptions) -> tuple[Table, Featured, int]:
    """Return a table without the records of small cells, if asked; its features; and their number.

    The records lose their group; cells that become small by this lose theirs, too.
    """
    dropped = 0
    while True:
        of = featured(table, options)
        if not options.drop_small_cells:
            return table, of, dropped
        if not of.tables:
            raise ValueError("drop_small_cells must not be given: nothing is published by group")
        small = small_cells(of, options.min_cell)
        if small.all():
            raise ValueError(
                f"every cell holds fewer than {options.min_cell} records: publish coarser groups"
            )
        if not small.any():
            return table, of, dropped
        single = all(np.ptp(cell[~small]) == 0 for _, cell in of.tables)
        if single and only_counts(of.statistic):
            raise ValueError(
                f"only one cell holds {options.min_cell} records or more, and their number is that "
                "of all records that are left: publish coarser groups"
            )
        rows = of.records.rows[small] - 1
        groups = {name: labels.copy() for name, labels in table.groups.items()}
        for labels in groups.values():
            labels[rows] = ""
        table, dropped = replace(table, groups=groups), dropped + len(rows)


def small_cells(featured: Featured, least: int) -> npt.NDArray[np.bool_]:
    """Return which records are in a cell of fewer than `least` persons, in any of the tables."""
    ids, size = featured.records.ids, len(featured.records.rows)
    owner = np.arange(size) if ids is None else np.unique(ids, return_inverse=True)[1]
    small = np.zeros(size, np.bool_)
    for _, cell in featured.tables:
        pairs = np.unique(np.column_stack([cell, owner]), axis=0)
        small |= np.bincount(pairs[:, 0])[cell] < least
    return small


Integers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Earlier:
    """Numbers of rows of the file, and of judged records, in each earlier mean."""

    rows: tuple[int, ...]
    records: tuple[int, ...]


def earlier_of(
    previous: int | Sequence[int], records: Records, rows: int, n: int | None, population: str
) -> Earlier:
    """Return the earlier means; refuse counts that are no history of these rows.

    Rows that are not judged now were in no earlier mean.
    """
    previous = [previous] if np.ndim(previous) == 0 else list(previous)  # type: ignore[list-item, arg-type]
    if population == "finite":
        raise ValueError(
            f"previous={previous} must not be given with a finite population: the earlier means "
            "are of these very rows, which are a sample of a larger population, not drawn anew"
        )
    size = len(records.rows)
    if n is not None and n != size:
        raise ValueError(
            f"n={n} must not be given with previous={previous}: the mean of all {size} records is "
            "published now"
        )
    counts = [validation.count("previous", count, 1, rows - 1) for count in previous]
    if not counts:
        raise ValueError("previous=[] must hold a number of rows")
    if any(later <= count for count, later in pairwise(counts)):
        raise ValueError(f"previous={counts} must increase")
    judged = np.searchsorted(records.rows, counts, side="right").tolist()
    steps = zip(pairwise([0, *counts, rows]), pairwise([0, *judged, size]), strict=True)
    for (start, stop), (before, after) in steps:
        if before == after:
            raise ValueError(
                f"previous={counts} must have a record between any two means; none of the rows "
                f"{start + 1} to {stop} is judged"
            )
    return Earlier(tuple(counts), tuple(judged))


def previous_of(people: Population, scores: Doubles, earlier: Earlier, rows: Integers) -> Previous:
    """Compare the leakage from all means with that from the present mean alone.

    Parameters
    ----------
    people : Population
    scores : (P,) ndarray
        Leakage of each person from all means.
    earlier : Earlier
    rows : (N,) ndarray of int
        Numbers of the records.
    """
    published = people.published
    alone = people.of_one_mean().informed()
    return Previous(
        rows_published=earlier.rows,
        records_published=(*earlier.records, people.size),
        alone=risk_of(alone, None),
        told=people.earlier,
        added=people.added(),
        new=published.new,
        given_away=published.given_away(),
        batch_sizes=published.batch_sizes(),
        power_if_gaussian=_if_gaussian(people, scores),
        batches=_batches(people, alone, scores, rows),
    )


def _batches(
    people: Population, alone: Doubles, scores: Doubles, rows: Integers
) -> tuple[Batch, ...]:
    published = people.published
    batches = []
    for batch, size in enumerate(published.sizes.tolist()):
        records = np.flatnonzero(published.batch == batch)
        who = np.unique(published.owned.of_row[records])
        first = rows[published.owned.first[who]]
        batches.append(
            Batch(
                rows=(int(rows[records[0]]), int(rows[records[-1]])),
                records=size,
                new=batch == published.last,
                alone=counts_of("informed", alone[who], first),
                joint=counts_of("informed", scores[who], first),
            )
        )
    return tuple(batches)


def _if_gaussian(people: Population, scores: Doubles) -> Doubles:
    """Return the power of the best test for Gaussian records, exact for a smallest batch of two.

    NaN for persons of several records, which have no such law here.
    """
    power = np.where(people.owned.alone, 1.0, np.nan)
    inside = np.isfinite(scores) & people.owned.alone
    size = people.published.sizes[people.published.batch[people.owned.first[inside]]]
    power[inside] = tradeoff.gaussian_mean(scores[inside] * size, size, people.dim).power(ALPHA)
    return power


def cells_of(
    featured: Featured, owner: npt.NDArray[np.intp], rows: npt.NDArray[np.int64], leakage: Doubles
) -> Iterator[Cell]:
    """Yield the cells of a table by group with their worst records, in the order of the table.

    Parameters
    ----------
    featured : Featured
        The records and the cell of each.
    owner : (N,) ndarray of int
        The person of each record; without ids each is a person's only one.
    rows : (P,) ndarray of int
        Number of the record that names each person.
    leakage : (P,) ndarray
        Leakage of each person.
    """
    for names, of_record in featured.tables:
        cell, person = np.divmod(np.unique(of_record * len(rows) + owner), len(rows))
        persons = CellScores.of(cell, len(names), rows[person], leakage[person], THRESHOLDS)
        yield from cells_named(names, persons, persons.worst, np.bincount(of_record).tolist())
