"""A judged table that is read block by block, in a few passes.

1. Moments, missing values, ends of the columns (`survey.judged_of`).
2. The leakage of every record: counts, histograms, the worst records and a sample.
3. Median scores, projections for the games, moments of clipped values, records off steps.

Further passes are made only where the records in memory do not suffice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias, cast

import numpy as np

from leakscore.leakage.table_law import TableLaw
from leakscore.reference import Moments
from leakscore.statistics import Correlations, Mean, Regression, Statistic, WeightedRatio
from leakscore_app.document.document import note
from leakscore_app.passes.lattices import OffLattice, round_to_steps
from leakscore_app.passes.projections import (
    Direction,
    MeasureOthers,
    OtherMoments,
    Project,
    ThirdPass,
    cuts_of,
)
from leakscore_app.passes.rows import JudgedRows
from leakscore_app.passes.runner import Passes
from leakscore_app.passes.scores import (
    CellScores,
    CountAbove,
    LawCounts,
    ScorePass,
    ScoreRows,
    SparseHistogram,
    Ties,
    WorstRows,
    lower_end,
)
from leakscore_app.report._model import (
    Bars,
    Cell,
    Doubles,
    IdentifiedCounts,
    Listing,
    Narrowing,
    Observations,
)
from leakscore_app.report.engine.attack import NEARLY_LINEAR, LinearAttack, Others, ProjectedBins
from leakscore_app.report.engine.crowd import (
    REFITTED,
    Crowd,
    View,
    clipped_view,
    guess_of,
    outcomes,
    view_of,
    view_without,
)
from leakscore_app.report.engine.features import Features, by_group, features_of
from leakscore_app.report.engine.judged import CLIPS, Change, Clipped, JudgedTable, Outcome
from leakscore_app.report.engine.leakage import (
    THRESHOLDS,
    by_level,
    cells_named,
    identified,
    narrowed,
    released_leverages,
    risk_of,
)
from leakscore_app.report.engine.noise import TheoryNoise
from leakscore_app.report.engine.pooled import PooledLaw
from leakscore_app.report.engine.population import Population
from leakscore_app.report.engine.setup import AnalysisOptions, nothing_to_play
from leakscore_app.tables.sources.blocks import Block
from leakscore_app.tables.sources.opened import Opened

_TOGETHER = 1 << 23  # numbers of the covariances that are estimated in one pass
_SMALL_N = 30  # records of a mean below which the bins of projections show
Narrowed: TypeAlias = Regression | Correlations | WeightedRatio
"""Statistics whose spread a record narrows by being there."""


class BlockTable(JudgedTable):
    """The judged part of a table that is read block by block; see `JudgedTable`.

    The population is the worst records, which are in memory. All others are known by the law of the
    table and by the results of passes.

    Parameters
    ----------
    opened : Opened
    options : AnalysisOptions
    passes : Passes
    """

    population: Crowd

    def __init__(self, opened: Opened, options: AnalysisOptions, passes: Passes) -> None:
        self.passes = passes
        judged, statistic = features_of(opened, passes, options)
        super().__init__(opened, judged, statistic, options=options, say=passes.say)
        self.law = judged.law
        self._third: ThirdPass | None = None

    def _pass(self, measure: Callable[..., Any], what: str) -> Any:
        return self.passes(self.judged.source, measure, what)

    @property
    def divisor(self) -> float:
        """Divisor of a score in its leakage."""
        n = self.released.n
        return n * (1 - n / self.size) if self.finite else float(n)

    # --- the records that are kept ---------------------------------------------------------------

    def score(self) -> None:
        """Score every record; keep the worst ones, and the median record of a sample."""
        cells = tuple(len(table.cells) for table, _ in by_group(self.statistic))
        every = self.options.records == "all"
        score = ScoreRows(self.law, THRESHOLDS * self.divisor, every, cells)
        self.scored: ScorePass = self._pass(score, "scoring every record")
        self.least = -np.inf  # no record that is not kept has a larger score
        if self.scored.informed.total > len(self.scored.kept.rows):
            self.least = float(self.scored.kept.scores[-1])
        sampled = self.scored.sample
        scores = sampled.each(self.law.distances(sampled.different))
        order = np.argsort(scores, kind="stable")
        finite = order[np.isfinite(scores[order])]
        if not len(finite):
            raise nothing_to_play(self.size)
        at = finite[[(len(finite) - 1) // 2]]
        self._middle = int(sampled.rows[at[0]])
        kept = self.scored.kept
        order = np.argsort(kept.rows, kind="stable")
        values, rows, n = kept.values[order], kept.rows[order], self.released.n
        crowd = Crowd(self.law, values, rows, n, finite=self.finite)
        self.population = crowd.joined(sampled.rows[at], sampled.take(at))
        dominant = self.population.dominant()[:REFITTED]
        if dominant:
            moments = self._without([frozenset([row]) for row in dominant])
            refitted = dict(zip(dominant, (of.reference() for of in moments), strict=True))
            self.population = self.population.knowing(refitted)
        separate = self.population.separate
        if separate is not None:
            self._keep_worst([cast(Crowd, separate).law], "looking for records of small cells")

    def _without(self, rows: Sequence[frozenset[int]]) -> tuple[Moments, ...]:
        """Read the moments of all records but some, in units of the law."""
        together = max(1, _TOGETHER // len(self.law.mean) ** 2)
        moments: list[Moments] = []
        for start in range(0, len(rows), together):
            excluded = MeasureOthers(self.law, tuple(rows[start : start + together]))
            others: OtherMoments = self._pass(excluded, "leaving records out")
            moments += others.moments
        return tuple(moments)

    @property
    def rows(self) -> np.ndarray:
        """Numbers of the kept records, from 1."""
        return self.population.numbers + 1

    @property
    def keys(self) -> np.ndarray:
        """The seed of each record's games."""
        return self.population.numbers

    @cached_property
    def sample(self) -> JudgedRows | None:
        """Records that stand for all others, in units of the law."""
        sample = self.scored.sample
        new = sample.select(~np.isin(sample.rows, self.population.numbers))
        return replace(new, different=self.law.scaled(new.different))

    def middle(self, about: Sequence[int]) -> int:  # noqa: ARG002
        """Return the record in the middle of the sample."""
        return int(np.searchsorted(self.population.numbers, self._middle))

    def covered(self, theories: Sequence[TheoryNoise]) -> bool:
        """Whether no other record leaks more under any of the noises; keep those that do.

        Scores fall with noise, so a record outside of memory matters only if its score without
        noise is above the budget. Then a pass finds the records that are worst with the noise.
        """
        if self.least <= 0 or self.budget.met_by(self.least / self.divisor):
            return True
        crowd, before = cast(Crowd, self.numbers), len(self.population.numbers)
        variances = [of.std**2 if of.cov is None else of.cov for of in theories]
        self._keep_worst(
            [crowd.law.with_noise(crowd.n * more / crowd.correction) for more in variances],
            "looking for records that noise leaves",
            [float(of.scores.max()) * self.divisor * (1 + 1e-12) for of in theories],
        )
        return len(self.population.numbers) == before

    def _keep_worst(
        self, laws: Sequence[TableLaw], what: str, least: Sequence[float] | None = None
    ) -> None:
        """Keep the records that are worst by some laws, if the worst score is above the `least`."""
        nothing = (np.zeros(0),) * len(laws), (frozenset[int](),) * len(laws)
        views: LawCounts = self._pass(CountAbove(tuple(laws), *nothing), what)
        for counted, score in zip(views.counts, least or [0.0] * len(laws), strict=True):
            if counted.kept.scores[0] > score:
                self.population = self.population.joined(counted.kept.rows, counted.kept.values)

    # --- the third pass and the games ------------------------------------------------------------

    def others(self, attacks: Sequence[LinearAttack], what: str) -> list[list[Others]]:
        """Return the projections of the other records for each attack, from one pass.

        The first such pass also makes the other measurements that need one.
        """
        directions = tuple(map(self._direction, attacks))
        project = Project(self.law, directions=directions)
        if self._third is None:
            bins = tuple(histogram.middle for histogram in self._histograms)
            guesses = tuple(self._guesses.values())
            project = Project(self.law, bins, directions, self._limits, guesses, self.steps)
        third: ThirdPass = self._pass(project, f"projecting records for {what}")
        self._third = self._third or third
        lines = zip(attacks, third.lines, strict=True)
        return [[ProjectedBins(line, attack.step)] for attack, line in lines]

    def _direction(self, attack: LinearAttack) -> Direction:
        """Return the direction of projection; the ends of bins are quantiles of the sample."""
        (strand,) = attack.strands
        sample = self.scored.sample
        away = self.law.scaled(sample.different) - strand.centre
        row = int(self.population.numbers[attack.index])
        cuts = cuts_of(sample.each(round_to_steps(away @ strand.weight, attack.step)))
        return Direction(strand.centre, strand.weight, row, cuts, attack.step)

    def likely(self, index: int, others: Sequence[int]) -> list[int]:
        """Return the persons whose records are projected in the same pass."""
        return list(dict.fromkeys([index, *others]))

    @property
    def _read(self) -> ThirdPass:
        """Results of the first pass for the games."""
        if self._third is None:
            raise RuntimeError("games must be played before their pass is asked for")
        return self._third

    @property
    def _histograms(self) -> tuple[SparseHistogram, SparseHistogram]:
        return self.scored.informed, self.scored.weaker

    # --- arithmetic ------------------------------------------------------------------------------

    @property
    def every(self) -> JudgedRows:
        """A sample of the records."""
        return self.scored.sample

    def off_steps(self) -> list[OffLattice]:
        """Return the records off each of the steps."""
        return [replace(records, rows=records.rows + 1) for records in self._read.off]

    def keep(self, off: Sequence[OffLattice], worst: Sequence[int]) -> None:
        """Keep the worst records off steps."""
        for records in off:
            chosen = np.isin(records.rows, worst)
            self.population = self.population.joined(
                records.rows[chosen] - 1, records.values[chosen]
            )

    @property
    def means(self) -> Doubles:
        """Means of the features."""
        if isinstance(self.statistic, Mean):
            return self.law.mean * self.law.scale
        of = self.judged.by_cell
        return self.judged.seen.moments.mean if of is None else of.means

    # --- changed releases ------------------------------------------------------------------------

    @cached_property
    def _limits(self) -> tuple[Doubles, ...]:
        """The quantiles of the sample at which values are clipped."""
        if not isinstance(self.statistic, Mean):  # features of a record belong together
            return ()
        shares = [each for share in CLIPS for each in (share, 1 - share)]
        limits = np.quantile(self.scored.sample.values, shares, axis=0)
        return tuple(limits.reshape(len(CLIPS), 2, -1))

    @cached_property
    def _guesses(self) -> dict[int, TableLaw]:
        """Laws of the clipped tables, as estimated from the sample, where that is possible."""
        sample = self.scored.sample.values
        guesses = (guess_of(self.law, limits, sample) for limits in self._limits)
        return {place: guess for place, guess in enumerate(guesses) if guess is not None}

    def release(self, population: Population) -> View:
        """Return changed kept records as a release."""
        if not isinstance(population, Crowd):
            raise TypeError(f"The population must be a Crowd, not {type(population).__name__}")
        return view_of(population, self.least)

    def clipped(self, share: float) -> Clipped | None:
        """Return the release of clipped values; None if no column varies any more."""
        place, third = CLIPS.index(share), self._read
        counted = dict(zip(self._guesses, third.guessed.counts, strict=True)).get(place)
        return clipped_view(
            self.population,
            self._limits[place],
            third.clipped[place],
            guess=self._guesses.get(place),
            worst=None if counted is None else counted.kept,
        )

    def without_worst(self, count: int) -> View | None:
        """Return the release without the worst records."""
        return view_without(self.population, count, self.least, self._without, self._pooled_without)

    def _pooled_without(self, rows: frozenset[int]) -> PooledLaw | None:
        """Estimate the law of cells without some records."""
        of = self.judged.by_cell
        return None if of is None else of.without(rows, self.passes)

    def outcomes(self, changes: Sequence[Change]) -> list[Outcome]:
        """Return the outcome of each changed release, in one pass if the kept ones are too few."""
        views = [change.release for change in changes]
        count = partial(self._pass, what="scoring the remedies")
        return outcomes(views, self.population, count, self._without)

    # --- what is written -------------------------------------------------------------------------

    def values_of(self, index: int) -> Doubles | None:
        """Return the values of a kept record."""
        return np.asarray(self.population.raw[index])

    def listing(self, scores: Doubles, base_rate: float | None) -> Listing:
        """Return the report's statements about the kept records, or about all if all are listed."""
        crowd = self.population
        rows, informed, in_sample = crowd.numbers, scores, crowd.in_sample()
        places = np.arange(len(rows))
        weaker = crowd.weaker()
        for every in self.scored.every:
            rows, (informed, weaker) = every.rows, every.different.T / self.divisor
            places = np.searchsorted(rows, crowd.numbers)
            grow, rest, kept = self.size / (self.size - 1), self.size - 1, in_sample
            with np.errstate(invalid="ignore"):
                in_sample = informed / grow / (1 + informed * self.divisor / grow / rest)
            informed[places], in_sample[places] = scores, kept
        lines, of = self.opened.lines, self.judged.by_cell
        return Listing(
            rows=rows + 1,
            places=places,
            in_sample=in_sample,
            informed=risk_of(informed, base_rate),
            weaker=risk_of(weaker, base_rate),
            counts=self._counts(scores),
            lines=None if lines is None else lines[rows],
            cells=tuple(cells_of_blocks(self.statistic, self.scored.cells, crowd, self.divisor)),
            pooled_cells=() if of is None else of.small,
            bars=(self._bars(self.scored.informed), self._bars(self.scored.weaker)),
        )

    def _bars(self, histogram: SparseHistogram) -> Bars:
        return Bars(lower_end(histogram.bins) / self.divisor, histogram.counts)

    def _counts(self, scores: Doubles) -> tuple[IdentifiedCounts, IdentifiedCounts]:
        """Count the records that each attacker identifies, and name the median ones."""
        worst, weaker = int(scores.argmax()), self.scored.worst
        ends = (
            (float(scores[worst]), int(self.population.numbers[worst])),
            (float(weaker.scores[0]) / self.divisor, int(weaker.rows[0])),
        )
        counts = []
        for place, attacker in enumerate(("informed", "weaker")):
            scores, row = _middle(self._histograms[place], self._read.middle[place])
            worst_score, worst_row = ends[place]
            scores = np.array([*(scores / self.divisor), worst_score])
            above, rows = by_level(self.scored.above[place]), (row + 1, worst_row + 1)
            counts.append(identified(attacker, self.size, above, scores=scores, rows=rows))
        return counts[0], counts[1]

    def observations(self, listing: Listing) -> Observations:
        """Return observations, with notices of what differs in a long table."""
        seen = super().observations(listing)
        return replace(seen, records=(*seen.records, note("long-table", self._length())))

    def _length(self) -> str:
        plain, copies = isinstance(self.statistic, Mean), self.judged.seen.copies
        sample = f"a sample of {len(self.scored.sample.rows):,} records"
        clipped = f"Values are clipped at quantiles of {sample}. " if plain else ""
        text = (
            f"The {self.size:,} records are read block by block, several times. {clipped}The "
            f"record in the middle that is played is that of {'the' if plain else 'a'} sample"
            f"{'' if plain else sample.removeprefix('a sample')}, and games draw counts of "
            "bins of the projections; leakages, counts and medians are those of all records."
        )
        if self.released.n < _SMALL_N:
            text += (
                f" For a mean of only n = {self.released.n} these bins are rough: a part of the "
                "table, of at most 65,536 records, has its games drawn record by record."
            )
        if self.options.records is None:
            text += " The JSON lists the worst records (--records all lists all)."
        if not copies.whole:
            text += f" Equal records are looked for among {len(copies.hashes):,} different ones."
        return text

    def narrowing(self, leakage: Doubles) -> Narrowing | None:  # noqa: ARG002
        """Return the record that narrows the spread of the published numbers most."""
        source, of = self.judged.source, self.statistic
        if not isinstance(of, Narrowed) or not isinstance(source, Features):
            return None
        return narrowing_in_blocks(source, self.passes, of, self.size, self.released.n)


def _middle(histogram: SparseHistogram, ties: Ties) -> tuple[Doubles, int]:
    """Return the two median scores (one twice, if their number is odd), and a row that has it."""
    size = histogram.total
    below = histogram.bin_of_rank((size - 1) // 2)[1]
    pairs = [ties.of_rank(rank - below) for rank in ((size - 1) // 2, size // 2)]
    return np.array([score for score, _ in pairs]), pairs[0][1]


@dataclass(frozen=True)
class Narrow:
    """A pass that finds the row of largest leverage.

    `places` are the columns of the statistic in a block.
    """

    statistic: Narrowed
    places: tuple[int, ...]

    def __call__(self, block: Block) -> WorstRows:
        """Look at the complete rows of a block."""
        complete = np.flatnonzero(np.isfinite(block.values).all(axis=1))
        values = block.values[complete][:, self.places]
        leverages = self.statistic.leverages(values) if len(complete) else np.zeros(0)
        return WorstRows.of(JudgedRows(complete + block.start, values), leverages, 1)


def narrowing_in_blocks(
    source: Features, passes: Passes, of: Narrowed, size: int, n: int
) -> Narrowing:
    """Return which of `size` records narrows the spread of the numbers most, besides its shift.

    Only few of many records can have a leverage that is large enough to matter.
    """
    places = tuple(source.read.index(name) for name in of.columns)
    worst: WorstRows = passes(source.table, Narrow(of, places), "looking at leverages")
    leverage = float(released_leverages(worst.scores, size, n)[0])
    return Narrowing(
        int(worst.rows[0]) + 1,
        of.column_of(worst.values[0]),
        leverage,
        float(narrowed(0.0, leverage)),
        unplayed=leverage > NEARLY_LINEAR,
    )


def cells_of_blocks(
    statistic: Statistic, counted: Sequence[CellScores], crowd: Crowd, divisor: float
) -> Iterator[Cell]:
    """Yield the cells that hold records, in the order of the table.

    Parameters
    ----------
    statistic : Statistic
    counted : sequence of CellScores
        Of its tables by group, whose thresholds are those of `LEVELS`.
    crowd : Crowd
        The kept records; some have more exact scores.
    divisor : float
        Divisor of a score in its leakage.
    """
    for (table, _), cells in zip(by_group(statistic), counted, strict=True):
        leakages, kept = cells.worst / divisor, np.isin(cells.rows, crowd.numbers)
        leakages[kept] = crowd.informed()[np.searchsorted(crowd.numbers, cells.rows[kept])]
        numbered = replace(cells, rows=cells.rows + 1)
        yield from cells_named(table.cells, numbered, leakages, cells.records.tolist())
