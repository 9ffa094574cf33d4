"""From a long table to what a report holds, in four passes where nothing unusual is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from leakscore import tradeoff
from leakscore.reference import Moments, Reference
from leakscore.statistics import Mean, Statistic
from leakscore_app.document.document import Notice
from leakscore_app.passes.copies import Copies
from leakscore_app.passes.histogram import SparseHistogram, lower_end
from leakscore_app.passes.lattices import Lattice, Off, lattices_of
from leakscore_app.passes.lines import Line
from leakscore_app.passes.middle import Ties
from leakscore_app.passes.scores import (
    Count,
    Score,
    ScorePass,
    Views,
    WorstRows,
)
from leakscore_app.passes.third import Others, Project, Third, Without
from leakscore_app.report._game import audit_of, records_played
from leakscore_app.report._leakage import covariance_of, drivers_of, risk_of
from leakscore_app.report._model import (
    Arithmetic,
    AuditResult,
    Bars,
    Doubles,
    Drivers,
    Game,
    IdentifiedCounts,
    Noise,
    Observations,
    Remedy,
    ReportInput,
)
from leakscore_app.report._notices import about_copies, doubt_of, equal_records
from leakscore_app.report._remedies import CLIPS, Budget, noise_of, same_in_theory
from leakscore_app.report._setup import (
    AnalysisOptions,
    budget_of,
    listed_of,
    release_from,
    require_all_drawn,
    rounds_of,
    threat_models_of,
)
from leakscore_app.report.noise.drawing import drawn, in_units
from leakscore_app.report.result import Report
from leakscore_app.report.rounds.remainders import Sums, share_of, why_unchecked
from leakscore_app.report.rounds.skewed import hidden_behind
from leakscore_app.report.statistic.featured import by_group
from leakscore_app.report.streamed.changes import Clipping, changes_of, guess_of
from leakscore_app.report.streamed.featured import features_of
from leakscore_app.report.streamed.grouped import cells_of
from leakscore_app.report.streamed.judged import Judged, judged_of
from leakscore_app.report.streamed.passes import Passes
from leakscore_app.report.streamed.people import Crowd
from leakscore_app.report.streamed.playing import Asked, Projected, played, prepared
from leakscore_app.report.streamed.views import THRESHOLDS, outcomes
from leakscore_app.tables.sources.opened import Opened

_REFITTED = 64  # records with nearly all variance in a direction that are left out one by one
_TOGETHER = 1 << 23  # numbers of the covariances that are estimated in one pass
_TRIES = 12
_TOLD = 20  # records off lattices that are kept
_SMALL_N = 30  # records of a mean below which the bins of projections show
_SAME = "a table that is read block by block gets the same noise in every column"


class Streamed:
    """The work of `leakscore_app.analyse` on a table that is read block by block."""

    def __init__(self, opened: Opened, asked: AnalysisOptions, passes: Passes) -> None:
        self.opened, self.asked, self.passes = opened, asked, passes
        self.budget: Budget = budget_of(asked)
        self.judged, self.statistic = self._judged()
        self.plain = isinstance(self.statistic, Mean)
        self.law = self.judged.law
        sizes = self.law.rows, self.judged.found.rows
        self.release = release_from(
            sizes,
            len(self.judged.columns),
            asked.n,
            asked.population,
            asked.base_population,
            self.statistic,
        )
        self.release = replace(self.release, decimals=asked.decimals)
        require_all_drawn(asked, self.release.n, self.law.rows)
        n, self.finite = self.release.n, asked.population == "finite"
        self.divisor = n * (1 - n / self.law.rows) if self.finite else float(n)
        self.rounds = rounds_of(asked.rounds, n, self.law.rows)
        self.simulated = min(records_played(n, self.law.rows), asked.worst)
        self.seeds = np.random.SeedSequence(asked.seed)

    def report(self) -> Report:
        """Do it all."""
        every = self.asked.records == "all"
        cells = tuple(len(table.cells) for table, _ in by_group(self.statistic))
        asked = Score(self.law, THRESHOLDS * self.divisor, every, cells)
        self.found: ScorePass = self._pass(asked, "scoring every record")
        self.least = -np.inf
        if self.found.informed.total > len(self.found.kept.rows):
            self.least = float(self.found.kept.scores[-1])
        self.sample = self.law.scaled(self.found.sample.values)
        self._people()
        third, ready = self._third()
        games = [self._played(one, line) for one, line in zip(ready, third.lines, strict=True)]
        arithmetic = self._arithmetic(third.off)
        noisy = self._noise(games)
        if arithmetic.records:
            noisy = cast("Noise", self._sums().noise(noisy, arithmetic))
        noise = cast("Noise", in_units(noisy, self._units()))
        if self.asked.draw_noise is not None:
            noise = drawn(noise, self.law.mean * self.law.scale, self.asked.draw_noise)
        remedies = self._remedies(third)
        report = self._written(games, noise, remedies, third)
        return replace(report, arithmetic=arithmetic)

    def _judged(self) -> tuple[Judged, Statistic]:
        """Return what is judged, the columns or features of them, and the statistic."""
        asked, chosen = self.asked, self.asked.statistic or Mean()
        reading: dict[str, Any] = {
            "columns": asked.columns,
            "exclude": asked.exclude,
            "missing": asked.missing,
        }
        if not isinstance(chosen, Mean):
            return features_of(self.opened, self.passes, chosen, **reading)
        judged = judged_of(self.opened, self.passes, **reading)
        return judged, chosen.on(judged.columns)

    def _pass(self, one: Callable[..., Any], what: str) -> Any:
        return self.passes(self.judged.source, one, what)

    # --- the records that are kept ---------------------------------------------------------------

    def _people(self) -> None:
        """Keep the worst records and the one in the middle of the sample."""
        scores = self.law.distances(self.found.sample.values)
        order = np.argsort(scores, kind="stable")
        finite = order[np.isfinite(scores[order])]
        if not len(finite):
            raise ValueError(
                f"each of the {self.law.rows} records has something that no other has (a column of "
                "its own? a mean of its own?): any trace of it in the mean gives it away, and "
                "there is nothing to simulate"
            )
        middle = finite[(len(finite) - 1) // 2]
        kept = self.found.kept
        one = WorstRows(
            self.found.sample.rows[[middle]],
            scores[[middle]],
            scores[[middle]],
            self.found.sample.values[[middle]],
        )
        self.middle_row = int(one.rows[0])
        self.crowd = self._crowd(kept if self.middle_row in kept.rows else kept.joined(one), {})
        dominant = self.crowd.dominant()[:_REFITTED]
        if dominant:
            self.crowd = self._crowd(self._known(), self._refitted(dominant))
        self._ordered()

    def _crowd(self, kept: WorstRows, refitted: dict[int, Reference]) -> Crowd:
        order = np.argsort(kept.rows, kind="stable")
        return Crowd(
            self.law,
            kept.values[order],
            kept.rows[order],
            self.release.n,
            finite=self.finite,
            refitted=refitted,
        )

    def _known(self) -> WorstRows:
        none = np.zeros(len(self.crowd.numbers))
        return WorstRows(self.crowd.numbers, none, none, self.crowd.raw)

    def _refitted(self, rows: Sequence[int]) -> dict[int, Reference]:
        """Estimate anew without each of some records."""
        found = self._without([frozenset([row]) for row in rows])
        return {row: moments.reference() for row, moments in zip(rows, found, strict=True)}

    def _without(self, rows: Sequence[frozenset[int]]) -> tuple[Moments, ...]:
        """Read the moments of all records but some, in units of the law."""
        together = max(1, _TOGETHER // len(self.law.mean) ** 2)
        moments: list[Moments] = []
        for start in range(0, len(rows), together):
            some = tuple(rows[start : start + together])
            found: Others = self._pass(Without(self.law, some), "leaving records out")
            moments += found.moments
        return tuple(moments)

    def _ordered(self) -> None:
        self.scores = self.crowd.informed()
        self.order = np.argsort(-self.scores, kind="stable")
        self.playable: list[int] = self.order[np.isfinite(self.scores[self.order])].tolist()
        self.middle = int(np.searchsorted(self.crowd.numbers, self.middle_row))

    # --- the third pass and the games ------------------------------------------------------------

    def _third(self) -> tuple[Third, list[Projected]]:
        new = ~np.isin(self.found.sample.rows, self.crowd.numbers)
        quantity = self.budget.quantity
        hidden = hidden_behind(
            self.crowd, self.playable, self.simulated, quantity, self.sample[new]
        )
        self.hidden_rows = self.crowd.numbers[hidden]
        first = [*self.playable[: self.simulated], *hidden]
        asked = [Asked(index) for index in first]
        asked.append(Asked(self.playable[0], "weaker"))
        asked += [Asked(self.middle)] if self.middle not in first else []
        ready = [prepared(self.crowd, one, self.sample) for one in asked]
        bins = tuple(
            np.zeros(0, np.int64) if ties is not None else histogram.middle
            for ties, histogram in zip(self._ties(), self._histograms, strict=True)
        )
        self.guesses = [
            guess_of(self.law, limits, self.found.sample.values) for limits in self._limits
        ]
        project = Project(
            self.law,
            bins,
            tuple(one.direction for one in ready),
            self._limits,
            tuple(guess for guess in self.guesses if guess is not None),
            self.lattices,
        )
        third: Third = self._pass(project, "projecting records for the games")
        return third, ready

    @property
    def _histograms(self) -> tuple[SparseHistogram, SparseHistogram]:
        return self.found.informed, self.found.weaker

    def _ties(self) -> list[Ties | None]:
        """Return the scores in the middle for both attackers, where the second pass met all."""
        pairs = zip(self.found.middle, self._histograms, strict=True)
        return [middle.found(histogram.middle) for middle, histogram in pairs]

    @cached_property
    def _limits(self) -> tuple[Doubles, ...]:
        """Return the quantiles of the sample at which values are clipped."""
        values = self.found.sample.values
        if not self.plain:  # features of a record belong together
            return ()
        shares = [each for share in CLIPS for each in (share, 1 - share)]
        return tuple(np.quantile(values, shares, axis=0).reshape(len(CLIPS), 2, -1))

    def _clippings(self, third: Third) -> list[Clipping]:
        """Join what is known of the clipped tables."""
        worst = iter(third.guessed.found)
        return [
            Clipping(limits, moments, guess, None if guess is None else next(worst).kept)
            for limits, moments, guess in zip(
                self._limits, third.clipped, self.guesses, strict=True
            )
        ]

    def _played(self, ready: Projected, line: Line, noisy: bool = False) -> Game:
        index = ready.asked.index
        row = int(self.crowd.numbers[index])
        stream = self.seeds.spawn(1)[0]
        if noisy:
            stream = np.random.SeedSequence(self.asked.seed, spawn_key=(row, self.crowd.n))
        self.passes.say(f"playing record {row + 1}, {ready.asked.attacker}")
        rng = np.random.default_rng(stream)
        return played(self.crowd, ready, line, self.rounds, rng)

    # --- arithmetic ------------------------------------------------------------------------------

    @cached_property
    def lattices(self) -> tuple[Lattice, ...]:
        """Lattices of columns, of the sample."""
        n = self.release.n
        if why_unchecked(self.release, False):
            return ()
        return lattices_of(self.found.sample.values, share_of(n), n)

    def _arithmetic(self, off: tuple[Off, ...]) -> Arithmetic:
        """Look for remainders of sums; keep the records that they tell of."""
        if why := why_unchecked(self.release, False):
            return Arithmetic(unchecked=why)
        off = tuple(replace(records, rows=records.rows + 1) for records in off)
        arithmetic = self._sums().arithmetic(self.lattices, off)
        worst = [one.row for one in arithmetic.records[:_TOLD]]
        for records in off:
            new = np.isin(records.rows, worst) & ~np.isin(records.rows - 1, self.crowd.numbers)
            if new.any():
                self._join(records.rows[new] - 1, records.values[new])
        return arithmetic

    def _sums(self) -> Sums:
        return Sums(
            self.crowd,
            self.crowd.numbers + 1,
            self.budget,
            columns=self.judged.columns,
            units=self._units(),
            decimals=self.release.decimals,
            sample=self.found.sample.values,
        )

    def _join(self, rows: np.ndarray, values: Doubles) -> None:
        """Keep further records."""
        none = np.zeros(len(rows))
        more = WorstRows(rows, none, none, values)
        self.crowd = self._crowd(self._known().joined(more), self.crowd.refitted)
        self._ordered()

    # --- noise and remedies ----------------------------------------------------------------------

    def _noise(self, games: list[Game]) -> Noise:
        """Find the noise that is the same in every column; read again where records may be hidden.

        Scores fall with noise, so a record that is not kept matters only if its score without noise
        is above the budget. Then the records that are worst with the noise are looked up.
        """
        for _ in range(_TRIES):
            everyone = np.arange(len(self.crowd.numbers))
            told = np.zeros(len(everyone))
            std, scores = same_in_theory(self.crowd, told, self.budget, everyone, 0.0)
            if self._covered(std, float(scores.max())):
                noise = self._confirmed(games)
                if self._covered(noise.standard_errors / self._root, noise.leakage):
                    return replace(noise, why_same=_SAME)
        raise ValueError("the noise that hides all records was not found: choose a larger limit")

    def _units(self) -> Doubles:
        """Return the units of the published numbers, one a judged column; see `Statistic.units`."""
        judged = self.judged
        if not isinstance(self.statistic, Mean):
            means = judged.found.moments.mean
            units = self.statistic.units(means, self.release.n)
            places = {name: k for k, name in enumerate(self.statistic.names)}
            return units[[places[name] for name in judged.columns]]
        return self.statistic.units(self.law.mean, self.release.n)

    @property
    def _root(self) -> float:
        return float(np.sqrt(self.crowd.n / self.crowd.correction))

    def _covered(self, std: float, worst: float) -> bool:
        """Tell whether no other record leaks more with this noise; keep those that do."""
        if self.least <= 0 or self.budget.met_by(self.least / self.divisor):
            return True
        law = self.law.with_noise(self.crowd.n * std**2 / self.crowd.correction)
        asked = Count((law,), (np.zeros(0),), (frozenset(),))
        found: Views = self._pass(asked, "looking for records that noise leaves")
        kept = found.found[0].kept
        if kept.scores[0] / self.divisor <= worst * (1 + 1e-12):
            return True
        new = ~np.isin(kept.rows, self.crowd.numbers)
        if not new.any():
            return True
        self._join(kept.rows[new], kept.values[new])
        return False

    def _confirmed(self, games: list[Game]) -> Noise:
        known = {(game.row, 0.0): game for game in games if game.attacker == "informed"}

        def with_noise(index: int, std: float) -> Game:
            row = int(self.crowd.numbers[index]) + 1
            if (row, std) not in known:
                likely = [index, *self.playable[: self.simulated], *self._also()]
                self._project_noisy(list(dict.fromkeys(likely)), std, known)
            return known[row, std]

        return noise_of(
            self.crowd,
            self.budget,
            self.crowd.numbers + 1,
            self.judged.columns,
            with_noise,
            played=self.simulated,
            also=self._also(),
        )

    def _also(self) -> list[int]:
        """Return whom to play with noise beside the worst: those hidden, and the middle one."""
        hidden: list[int] = np.searchsorted(self.crowd.numbers, self.hidden_rows).tolist()
        return [*hidden, self.middle]

    def _project_noisy(
        self, indices: list[int], std: float, known: dict[tuple[int, float], Game]
    ) -> None:
        """Play records with noise: one pass for all that are likely to be asked for."""
        ready = [prepared(self.crowd, Asked(i, noise_std=std), self.sample) for i in indices]
        asked = Project(self.law, directions=tuple(one.direction for one in ready))
        third: Third = self._pass(asked, "projecting records for games with noise")
        for one, line in zip(ready, third.lines, strict=True):
            row = int(self.crowd.numbers[one.asked.index]) + 1
            known[row, std] = self._played(one, line, noisy=True)

    def _remedies(self, third: Third) -> tuple[Remedy, ...]:
        self.passes.say("scoring the remedies")
        changes = changes_of(
            self.crowd,
            self.budget,
            self.judged.columns,
            self._clippings(third),
            self.least,
            self._without,
            plain=self.plain,
        )
        found = outcomes(
            [change.view for change in changes],
            self.crowd,
            self.least,
            self.judged.source,
            self.passes,
            self._without,
        )
        return tuple(change.told(outcome) for change, outcome in zip(changes, found, strict=True))

    # --- what is written -------------------------------------------------------------------------

    def _written(
        self, games: list[Game], noise: Noise, remedies: tuple[Remedy, ...], third: Third
    ) -> Report:
        asked, crowd, base = self.asked, self.crowd, self.release.base_rate
        rows, informed, weaker, in_sample = self._listed()
        place = np.searchsorted(rows, crowd.numbers)
        worst = [int(place[index]) for index in self.order[: asked.worst]]
        which, listed = listed_of(asked.records or "worst", len(rows), worst)
        first = self.playable[0]
        return Report(
            seed=asked.seed,
            input=self._input(),
            release=self.release,
            threat_models=threat_models_of(len(self.judged.columns), False),
            rows=rows + 1,
            in_sample=in_sample,
            informed=risk_of(informed, base),
            weaker=risk_of(weaker, base),
            listed=listed,
            listed_as=which,
            gaussian_epsilon=tradeoff.gaussian(leakage=informed[listed]).epsilon(asked.delta),
            gaussian_delta=asked.delta,
            counts=self._counts(third),
            worst=tuple(worst),
            drivers=tuple(self._drivers(int(i)) for i in self.order[: asked.worst]),
            covariance=covariance_of(
                crowd, crowd.numbers + 1, first, self.scores, asked.confidence
            ),
            games=tuple(games),
            noise=noise,
            remedies=remedies,
            audit=self._audit(games[0]),
            observations=self._observed(which),
            lines=None if self.opened.lines is None else self.opened.lines[rows],
            bars=(self._bars(self.found.informed), self._bars(self.found.weaker)),
            cells=tuple(cells_of(self.statistic, self.found.cells, self.crowd, self.divisor)),
            min_cell=asked.min_cell,
            budget=self.budget,
            max_noise=asked.max_noise,
        )

    def _drivers(self, index: int) -> Drivers:
        crowd = self.crowd
        values = crowd.raw[index] if self.asked.show_values else None
        row = int(crowd.numbers[index]) + 1
        return drivers_of(crowd, index, row, self.judged.columns, values)

    def _listed(self) -> tuple[np.ndarray, Doubles, Doubles, Doubles]:
        """Return numbers and leakages of the kept records, or of all that are to be listed."""
        crowd = self.crowd
        if self.found.every is None:
            return crowd.numbers, self.scores, crowd.weaker(), crowd.in_sample()
        rows, informed, weaker = self.found.every
        informed = informed / self.divisor
        grow, rest = self.law.rows / (self.law.rows - 1), self.law.rows - 1
        with np.errstate(invalid="ignore"):
            in_sample = informed / grow / (1 + informed * self.divisor / grow / rest)
        place = np.searchsorted(rows, crowd.numbers)
        informed[place], in_sample[place] = self.scores, crowd.in_sample()
        return rows, informed, weaker / self.divisor, in_sample

    def _bars(self, histogram: SparseHistogram) -> Bars:
        return Bars(lower_end(histogram.bins) / self.divisor, histogram.counts)

    def _counts(self, third: Third) -> tuple[IdentifiedCounts, IdentifiedCounts]:
        worst = int(self.scores.argmax())
        ends = (
            (float(self.scores[worst]), int(self.crowd.numbers[worst])),
            (self.found.worst[0] / self.divisor, self.found.worst[1]),
        )
        found = []
        for place, (attacker, known) in enumerate(
            zip(("informed", "weaker"), self._ties(), strict=True)
        ):
            histogram = self._histograms[place]
            ties = third.middle[place] if known is None else known
            above = dict(
                zip(
                    (f"{100 * level:g}%" for level in (0.1, 0.5, 0.9)),
                    self.found.above[place].tolist(),
                    strict=True,
                )
            )
            found.append(self._count(attacker, above, _middle(histogram, ties), ends[place]))
        return found[0], found[1]

    def _count(
        self,
        attacker: str,
        above: dict[str, int],
        middle: tuple[Doubles, int],
        worst: tuple[float, int],
    ) -> IdentifiedCounts:
        scores, row = middle
        risk = risk_of(np.array([*(scores / self.divisor), worst[0]]), None)
        return IdentifiedCounts(
            attacker=attacker,
            records=self.law.rows,
            above=above,
            median_power=float(np.mean(risk.power[:2])),
            worst_power=float(risk.power[2]),
            median_advantage=float(np.mean(risk.advantage[:2])),
            worst_advantage=float(risk.advantage[2]),
            median_row=row + 1,
            worst_row=worst[1] + 1,
        )

    def _input(self) -> ReportInput:
        opened, judged = self.opened, self.judged
        return ReportInput(
            name=opened.name,
            path=None if opened.embedded else opened.path,
            sha256=opened.digest(),
            rows=judged.found.rows,
            columns=len(opened.columns),
            rows_judged=self.law.rows,
            columns_judged=judged.columns,
            columns_left_out=judged.left,
            columns_published=judged.published,
            columns_unjudged=judged.unjudged,
            rows_left_out=judged.left_rows,
            dependent_columns=judged.dependent,
            notes=opened.notes,
        )

    def _audit(self, game: Game) -> AuditResult | None:
        if not self.asked.audit:
            return None
        return audit_of(game, delta=self.asked.delta, confidence=self.asked.confidence)

    def _observed(self, listed_as: str) -> Observations:
        """Say what is done otherwise because the table is long."""
        rows = f"{self.law.rows:,}"
        sample = f"a sample of {len(self.found.sample.rows):,} records"
        clipped = f"Values are clipped at quantiles of {sample}. " if self.plain else ""
        text = (
            f"The {rows} records are read block by block, several times. {clipped}The record in "
            f"the middle that is played is that of {'the' if self.plain else 'a'} sample"
            f"{'' if self.plain else sample.removeprefix('a sample')}, and games draw counts of "
            "bins of the projections; leakages, counts and medians are those of all records."
        )
        if self.release.n < _SMALL_N:
            text += (
                f" For a mean of only n = {self.release.n} these bins are rough: a part of the "
                "table, of at most 65,536 records, has its games drawn record by record."
            )
        if listed_as == "worst" and self.asked.records is None:
            text += " The JSON lists the worst records (--records all lists all)."
        found = [*_copies(self.judged.found.copies, self.law.rows)]
        doubt = ""
        if found and not self.asked.distinct_records:
            doubt = doubt_of([equal_records(_equal(self.judged.found.copies, self.law.rows))])
        found.append(Notice("note", "long-table", text))
        return Observations(tuple(self.judged.counting), tuple(found), doubt=doubt)


def _middle(histogram: SparseHistogram, ties: Ties) -> tuple[Doubles, int]:
    """Return the two scores in the middle (one twice, if their number is odd), and a row of it."""
    size = histogram.total
    scores, rows = [], []
    below = histogram.holding((size - 1) // 2)[1]
    for rank in ((size - 1) // 2, size // 2):
        score, row = ties.of_rank(rank - below)
        scores.append(score)
        rows.append(row)
    return np.array(scores), rows[0]


def _copies(copies: Copies, rows: int) -> list[Notice]:
    several = copies.several()
    if not len(several):
        return []
    return [about_copies(_equal(copies, rows), int(several.max()))]


def _equal(copies: Copies, rows: int) -> str:
    """Say how many records are equal to another one, or that share of a sample."""
    several = int(copies.several().sum())
    if copies.whole:
        return f"{several} of {rows}"
    return f"About {100 * several / float(copies.counts.sum()):.2g} % of {rows}"
