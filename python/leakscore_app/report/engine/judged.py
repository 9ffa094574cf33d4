"""The judged table, in memory or block by block: the interface that an analysis works with.

Remedies are changes of the release other than noise, scored again: fewer columns, clipped values,
other records.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.statistics import GroupMeans, Statistic
from leakscore_app._visible import visible
from leakscore_app.passes.lattices import ColumnSteps, OffLattice, lattices_of, max_off_share
from leakscore_app.passes.rows import JudgedRows
from leakscore_app.report._model import (
    Doubles,
    Listing,
    Narrowing,
    Noise,
    Observations,
    Release,
    Remedy,
    ReportInput,
)
from leakscore_app.report.engine.attack import LinearAttack, Others, Refits
from leakscore_app.report.engine.features import only_counts
from leakscore_app.report.engine.leakage import above, by_level, least_size, shares_of
from leakscore_app.report.engine.noise import Slopes, TheoryNoise
from leakscore_app.report.engine.notices import about_records, doubt_of
from leakscore_app.report.engine.population import Population
from leakscore_app.report.engine.setup import AnalysisOptions, budget_of
from leakscore_app.report.engine.sums import Sums, why_unchecked
from leakscore_app.report.engine.survey import Judged
from leakscore_app.report.engine.values import ValueTable
from leakscore_app.tables.sources.opened import Opened
from leakscore_app.tables.table import LeftColumn

Integers = npt.NDArray[np.intp]
DROPS = (1, 3, 5)
CLIPS = (0.01, 0.05)
LEAVES = (1, 5)
GROWTHS = (2, 5)
MOST_RECORDS = 10**12


@dataclass(frozen=True, eq=False)
class JudgedRelease:
    """A changed release: row numbers (k,) and leakages (k,) of the persons who remain."""

    rows: npt.NDArray[np.int64]
    scores: Doubles


@dataclass(frozen=True, eq=False)
class Clipped:
    """The release of clipped values, and how many standard errors it moves a mean at most."""

    release: Any
    shift: float
    what: str = "columns"


@dataclass(frozen=True, eq=False)
class Outcome:
    """The worst record of a changed release, its leakage, and counts above each level of power."""

    row: int
    leakage: float
    above: dict[str, int]

    @classmethod
    def of(cls, release: JudgedRelease) -> Outcome:
        """Return the worst record that remains in a changed release."""
        worst = int(np.argmax(release.scores))
        levels = by_level(above(release.scores))
        return cls(int(release.rows[worst]), float(release.scores[worst]), levels)


@dataclass(frozen=True, eq=False)
class Change:
    """A changed release and the words of its remedy; `more` is a field of `Remedy`."""

    kind: str
    what: str
    cost: str
    release: Any
    more: dict[str, Any] = field(default_factory=dict)

    def remedy(self, outcome: Outcome) -> Remedy:
        """Return the remedy with the leakage that remains."""
        return Remedy(
            kind=self.kind,
            what=self.what,
            cost=self.cost,
            worst_row=outcome.row,
            **shares_of(outcome.leakage),
            above=outcome.above,
            **self.more,
        )


class JudgedTable(ABC):
    """The judged columns of a table, and what an analysis needs from all of its records.

    Parameters
    ----------
    opened : Opened
    judged : Judged
        The columns, or features of them.
    statistic : Statistic
        Bound to the columns of the table.
    options : AnalysisOptions
    say : callable
        Called with a line of progress.

    Attributes
    ----------
    population : Population
        The persons whose records are in memory: all, or the worst ones.
    weighted : bool
        Whether weights are known to everybody.
    shared : dict
        Columns that may identify persons, and their numbers of distinct values.
    columns : tuple of str
    size : int
        Records that are judged.
    """

    population: Population
    _numbers: tuple[Population, Population] | None = None
    weighted = False
    shared: Mapping[str, int] = MappingProxyType({})
    released: Release

    def __init__(
        self,
        opened: Opened,
        judged: Judged,
        statistic: Statistic,
        *,
        options: AnalysisOptions,
        say: Callable[[str], None],
    ) -> None:
        self.opened, self.judged, self.statistic = opened, judged, statistic
        self.options, self.say, self.budget = options, say, budget_of(options)
        self.columns, self.size = judged.columns, judged.law.rows
        self.finite = options.population == "finite"
        self.input = ReportInput(
            name=opened.name,
            path=None if opened.embedded else opened.path,
            sha256=opened.digest(),
            rows=judged.seen.rows,
            # A column of categories of the file is there once, not each of its levels.
            columns=len(opened.columns) + sum(1 - len(of[1:]) for of in opened.shares.values()),
            rows_judged=self.size,
            columns_judged=judged.columns,
            columns_left_out=tuple(LeftColumn(*pair) for pair in judged.excluded.items()),
            columns_published=judged.published,
            columns_unjudged=judged.unjudged,
            rows_left_out=judged.excluded_rows,
            dependent_columns=judged.dependent,
            notes=opened.notes,
            shares=opened.shares,
        )

    def publish(self, release: Release) -> None:
        """Settle what is published."""
        self.released = release

    @property
    @abstractmethod
    def rows(self) -> npt.NDArray[np.int64]:
        """The number of each person's first record, from 1."""

    @property
    @abstractmethod
    def keys(self) -> npt.NDArray[np.int64]:
        """The seed of each person's games."""

    @property
    @abstractmethod
    def every(self) -> JudgedRows:
        """The records, or a sample of them."""

    @property
    def sample(self) -> JudgedRows | None:
        """A sample of the records that are not in memory, in units of the population."""
        return None

    @property
    @abstractmethod
    def means(self) -> Doubles:
        """Means of the features."""

    @abstractmethod
    def score(self) -> None:
        """Score every record; the population is known then."""

    @abstractmethod
    def middle(self, about: Sequence[int]) -> int:
        """Return the record in the middle of those that can be played, the worst first."""

    @abstractmethod
    def others(self, attacks: Sequence[LinearAttack], what: str) -> Iterable[Sequence[Others]]:
        """Give the projections of the other records for each attack."""

    def refits(self, rounds: int) -> Refits | None:  # noqa: ARG002
        """Return the refits of each round of a game, where the score is not linear."""
        return None

    def likely(self, index: int, others: Sequence[int]) -> list[int]:  # noqa: ARG002
        """Return the persons whose records are projected in the same pass."""
        return [index]

    def covered(self, theories: Sequence[TheoryNoise]) -> bool:  # noqa: ARG002
        """Whether no record outside of memory leaks more, under any of the noises."""
        return True

    # --- what is published -----------------------------------------------------------------------

    @property
    def units(self) -> Doubles:
        """The units of the published numbers, one a judged column; see `Statistic.units`."""
        return self.statistic.units(self.means, self.released.n)[self._places]

    @cached_property
    def slopes(self) -> Slopes | None:
        """Slopes of the published numbers by features; None if each number is a feature's mean."""
        statistic, n = self.statistic, self.released.n
        jacobian = statistic.jacobian(self.means, n)
        if jacobian is None:
            return None
        at = np.array(self._places)
        others = np.setdiff1d(np.flatnonzero(np.count_nonzero(jacobian[at], axis=0) > 1), at)
        return Slopes(
            statistic=statistic,
            n=n,
            size=self.size,
            most=int(self.population.owned.sizes.max()),
            means=self.means,
            judged=at,
            others=others,
            by_judged=self._by_judged(at, others),
        )

    def _by_judged(self, at: Integers, others: Integers) -> Doubles:
        """Slopes of the features that are not judged by those that are, (k, d).

        Where cells have their own laws, such a feature is n less all other counts; otherwise it
        follows by the covariance of all features.
        """
        if not len(others):
            return np.zeros((0, len(at)))
        if isinstance(self.statistic, GroupMeans) and self.population.pooled:
            return np.where(at < len(self.statistic.cells) - 1, -1.0, 0.0)[np.newaxis]
        cov = self.judged.seen.moments.cov
        units = np.sqrt(np.diag(cov)[at])
        inner = cov[np.ix_(at, at)] / np.outer(units, units)
        slopes = np.linalg.solve(inner, cov[np.ix_(at, others)] / units[:, np.newaxis])
        return np.asarray(slopes.T / units)

    @property
    def numbers(self) -> Population:
        """The population by the numbers that noise is added to, in units of their features.

        The mean of a group is a sum over a count: noise on the count does not hide the mean.
        """
        if self.slopes is None:
            return self.population
        of, numbers = self._numbers or (None, self.population)
        if of is not self.population:  # records were joined since, or none was asked for yet
            slopes = self.slopes.of_features()
            if self.size < len(self.columns) + 2:  # with more records such a column is not judged
                self._require_spread(self.population.alike(slopes))
            numbers = self.population.with_slopes(slopes)
            self._numbers = self.population, numbers
        return numbers

    def _require_spread(self, alike: Integers) -> None:
        if len(alike):
            raise ValueError(
                f"{visible(self.columns[alike[0]])!r} does not vary among the records, "
                f"and {self.size} records are too few for {len(self.columns)} numbers: leave the "
                "column out (--exclude), or join groups"
            )

    @property
    def estimates(self) -> Doubles:
        """The published numbers, one a judged column, without noise."""
        return self.statistic.estimates(self.means, self.released.n)[self._places]

    @property
    def _places(self) -> list[int]:
        """Places of the judged columns among the features."""
        places = {name: k for k, name in enumerate(self.statistic.names)}
        return [places[name] for name in self.columns]

    # --- arithmetic ------------------------------------------------------------------------------

    @cached_property
    def steps(self) -> tuple[ColumnSteps, ...]:
        """Lattices of steps on which most values of a column lie."""
        n = self.population.batch_size
        unchecked = why_unchecked(self.released, self.weighted)
        return () if unchecked else lattices_of(self.every, max_off_share(n), n)

    @abstractmethod
    def off_steps(self) -> list[OffLattice]:
        """Return the records off each of the steps."""

    def sums(self) -> Sums:
        """Return the records that arithmetic on the sums may reveal."""
        return Sums(
            self.population,
            self.rows,
            self.budget,
            columns=self.columns,
            units=self.units,
            decimals=self.released.decimals,
            sample=self.every,
        )

    def keep(self, off: Sequence[OffLattice], worst: Sequence[int]) -> None:  # noqa: B027
        """Keep the worst records off steps, where not all records are in memory."""

    # --- changed releases ------------------------------------------------------------------------

    @abstractmethod
    def release(self, population: Population) -> Any:
        """Return a changed population as a release of the same persons."""

    @abstractmethod
    def clipped(self, share: float) -> Clipped | None:
        """Return the release of values clipped at a quantile; None if all become the same."""

    @abstractmethod
    def without_worst(self, count: int) -> Any:
        """Return the release without the worst records; None if it cannot be judged."""

    def outcomes(self, changes: Sequence[Change]) -> list[Outcome]:
        """Return the outcome of each changed release."""
        return [Outcome.of(change.release) for change in changes]

    # --- what is written -------------------------------------------------------------------------

    @abstractmethod
    def values_of(self, index: int) -> Doubles | None:
        """Return the values of a person's only record."""

    @abstractmethod
    def listing(self, scores: Doubles, base_rate: float | None) -> Listing:
        """Return the report's statements about all records."""

    def sensitive_values(self) -> ValueTable:
        """Return the records as needed to guess one sensitive value from the release."""
        raise ValueError("a sensitive column needs all records at once")

    def observations(self, listing: Listing) -> Observations:
        """Return observations: equal records, identifying columns, fitted models."""
        statistic, opened, judged = self.statistic, self.opened, self.judged
        levels = {level for of in opened.shares.values() for level in of}
        # Of categories many records are equal.
        categories = only_counts(statistic) or levels.issuperset(self.columns)
        copies = None if categories else judged.seen.copies
        notices, doubts = about_records(copies, self.size, self.shared, judged.seen.rows)
        return Observations(
            judged.counting,
            tuple(notices),
            embedded=opened.notes[0] if opened.embedded else None,
            doubt="" if self.options.distinct_records else doubt_of(doubts),
            narrowing=self.narrowing(listing.informed.leakage),
        )

    @abstractmethod
    def narrowing(self, leakage: Doubles) -> Narrowing | None:
        """Return the record that narrows the spread of the published numbers most."""

    def hidden_from_lists(self, noise: Noise | None) -> Noise | None:
        """Return noise that also hides few records from an attacker who lists all sets."""
        return noise


# --- remedies ----------------------------------------------------------------------------------


def changes_of(table: JudgedTable) -> Iterator[Change]:
    """Yield all changes that are tried.

    Columns are left out or clipped for plain means only: the features of a record belong together.

    The persons in the last batch are judged, by all means together. Where that batch is one person,
    no change of the values hides this person; more records do.
    """
    published = table.population.published
    if published.given_away(slice(-1, None)).any():
        yield from _waiting(table)
        return
    if table.statistic.kind in ("mean", "sum"):
        yield from _fewer_columns(table)
        yield from _clipped(table)
    yield from _without_worst(table)
    yield from (_waiting if published.last else _more_records)(table)


def _fewer_columns(table: JudgedTable) -> Iterator[Change]:
    """Leave out, one after another, the column whose loss helps the worst record most."""
    population = smaller = table.population
    judged, kept = np.flatnonzero(population.published.new), list(range(population.dim))
    dropped: list[str] = []
    while len(kept) > 1 and len(dropped) < DROPS[-1]:
        worst = int(judged[np.argmax(smaller.informed()[judged])])
        _, without = smaller.shares(worst)
        dropped.append(table.columns[kept.pop(int(np.argmin(without)))])
        smaller = population.with_columns(kept)
        if len(dropped) in DROPS:
            number = f"{len(dropped)} column{'s' if len(dropped) > 1 else ''}"
            yield Change(
                "fewer columns",
                f"without {number}: {', '.join(dropped)}",
                f"{number} less",
                table.release(smaller),
                {"columns": tuple(dropped)},
            )


def _clipped(table: JudgedTable) -> Iterator[Change]:
    """Clip the columns of the records that the release adds."""
    for share in CLIPS:
        clipped = table.clipped(share)
        if clipped is not None:
            yield Change(
                "winsorising",
                f"{clipped.what} clipped at {100 * share:g} % and {100 - 100 * share:g} %",
                f"moves a mean by up to {clipped.shift:.2g} standard errors",
                clipped.release,
                {"clipped": share, "mean_shift": clipped.shift},
            )


def _without_worst(table: JudgedTable) -> Iterator[Change]:
    """Leave out the worst records; others become the unusual ones then."""
    population = table.population
    who = "record" if population.published.last == 0 else "new record"
    who = who if population.owned.alone.all() else "person"
    for count in LEAVES:
        release = table.without_worst(count)
        if release is not None:
            number = f"the worst {who}" if count == 1 else f"the {count} worst {who}s"
            cost = "the next records stand out more"
            yield Change("fewer records", f"without {number}", cost, release)


def _more_records(table: JudgedTable) -> Iterator[Change]:
    """Average more records: of the same population, or of this table if it is the population."""
    budget, population = table.budget, table.population
    mean = table.statistic.kind in ("mean", "sum")
    sizes = [population.n * growth for growth in GROWTHS]
    if not population.finite:
        worst = float(population.informed().max()) * population.n
        enough = least_size(lambda n: budget.met_by(worst / n), 1, MOST_RECORDS)
        sizes += [] if enough is None or enough <= population.n else [enough]
    for n in sorted(set(sizes)):
        if population.finite and n > population.most_drawn:
            continue
        missing = max(n - population.size, 0)
        yield Change(
            "larger n",
            f"the mean of {n} records" if mean else f"{n} records",
            f"{missing} more records than there are" if missing else "none",
            table.release(population.larger(n)),
            {"records_missing": missing},
        )


def _waiting(table: JudgedTable) -> Iterator[Change]:
    """Wait for more new records: leakages fall as their batch grows.

    The least batch b that meets the budget follows from M / b and the leakage from earlier means,
    also for a person who is alone in the batch now.
    """
    budget, population, judged = table.budget, table.population, table.population.published.new
    size, twice = population.batch_size, 2 * population.batch_size
    # Twice as large a batch is nobody's alone, and gives the squared distances.
    distances = population.larger(twice).added() * twice
    earlier = np.where(population.earlier > budget.largest_leakage(), 0.0, population.earlier)
    now = earlier + population.added()

    def enough(batch: int) -> bool:
        scores = (earlier + distances / batch)[judged]
        return budget.met_by(float(scores.max()))

    sizes = {size * growth for growth in GROWTHS if size > 1}
    least = least_size(enough, size, MOST_RECORDS)
    if least is not None and not budget.met_by(float(now[judged].max())):
        sizes.add(least)
    for larger in sorted(sizes):
        yield Change(
            "larger batch",
            f"wait until {larger} new records are there",
            f"{larger - size} more new records than there are",
            table.release(population.larger(larger)),
        )


def noise_on_every_mean(
    population: Population, noise: Noise, rows: npt.NDArray[np.int64]
) -> Iterator[Change]:
    """Score all means as if each had carried the noise that the present one needs.

    The noise has the same standard errors in every column, even where another shape is offered.
    """
    errors = noise.standard_errors if noise.beside is None else noise.beside["same"]
    if population.published.last and errors and noise.shape != "independent":
        scores = population.noisy_from_the_start(errors / float(np.sqrt(population.n)))
        yield Change(
            "noise on every mean",
            f"noise of {errors:.3g} standard errors of the present mean on all "
            f"{len(population.published.sizes)} means",
            "too late for the means published without it",
            JudgedRelease(rows, scores),
        )
