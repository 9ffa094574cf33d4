"""From a table, whatever holds it, to a report: score, play, find noise, change, write."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leakscore import tradeoff
from leakscore_app.report._model import (
    Arithmetic,
    AuditResult,
    Doubles,
    Drivers,
    Game,
    Noise,
    Remedy,
    RevealedNoiseGame,
    SensitiveValue,
)
from leakscore_app.report.engine.attack import LinearAttack, Others, attack_on
from leakscore_app.report.engine.game import audit_of, played, records_played
from leakscore_app.report.engine.judged import JudgedTable, changes_of, noise_on_every_mean
from leakscore_app.report.engine.leakage import covariance_of, drivers_of
from leakscore_app.report.engine.noise import (
    Search,
    TheoryNoise,
    drawn,
    in_units,
    play_recomputed,
    why_not,
    why_same,
)
from leakscore_app.report.engine.population import Population
from leakscore_app.report.engine.setup import (
    listed_of,
    nothing_to_play,
    release_of,
    require_all_drawn,
    rounds_of,
    threat_models_of,
)
from leakscore_app.report.engine.sums import hidden_behind, why_unchecked
from leakscore_app.report.engine.values import sensitive_value
from leakscore_app.report.result import Report

_TRIES = 12
_LISTED_OFF = 20  # records off steps that are kept of a long table


class Analysis:
    """The work of `leakscore_app.analyse`; each part draws its games in this order."""

    def __init__(self, table: JudgedTable) -> None:
        self.table, self.budget = table, table.budget
        self.options = options = table.options
        embedded = table.opened.embedded
        self.release = release_of(options, table.input, table.statistic, embedded=embedded)
        n = self.release.n
        require_all_drawn(options, n, table.size)
        table.publish(self.release)
        self.rounds = rounds_of(options.rounds, n, table.size)
        self.simulated = min(records_played(n, table.size), options.worst)
        self.seeds = np.random.SeedSequence(options.seed)

    def report(self) -> Report:
        """Score, play, find noise, score remedies, and write."""
        self.table.say("scoring every record")
        self.table.score()
        self.refits = self.table.refits(self.rounds)
        self._order()
        games = self._games()
        arithmetic = self._arithmetic()
        noise, exact = self._drawn(self._noise(games, arithmetic))
        remedies = self._remedies(noise)
        return self._written(games, arithmetic, noise=noise, exact=exact, remedies=remedies)

    def _order(self) -> None:
        """Order the persons in memory, the worst first."""
        population = self.table.population
        self.scores = population.informed()
        self.order = np.argsort(-self.scores, kind="stable")
        finite = self.order[np.isfinite(self.scores[self.order])]
        # Those whom this release is about first: earlier means have told of the others.
        new = population.published.new[finite]
        self.playable: list[int] = [*finite[new].tolist(), *finite[~new].tolist()]
        self.about = self.playable[: int(new.sum())] or self.playable
        if not self.playable:
            raise nothing_to_play(len(self.scores))

    # --- games -----------------------------------------------------------------------------------

    def _games(self) -> list[Game]:
        """Play the worst records, those hidden from theory, the weaker one's worst, the median.

        For coefficients, the records of the largest leverages come last.
        """
        table, quantity = self.table, self.budget.quantity
        hidden, self.ranked = hidden_behind(
            table.population, self.about, self.simulated, quantity, table.sample
        )
        first = [*self.playable[: self.simulated], *hidden]
        narrow: list[int] = []
        if self.refits is not None:
            others = [person for person in self.about if person not in first]
            narrow = self.refits.narrowing(table.population, others, self.simulated)
        narrow += [person for person in self._separate_worst() if person not in (*first, *narrow)]
        self.hidden = table.rows[list(dict.fromkeys([*hidden, *narrow]))]
        worst = next(int(i) for i in self.order if np.isfinite(self.scores[i]))
        more = dict.fromkeys([table.middle(self.about), worst, *narrow])
        pairs = [(index, "informed") for index in first]
        pairs += [
            (self.playable[0], "weaker"),
            *((index, "informed") for index in more if index not in first),
        ]
        attacks = [self._attack_on(*pair) for pair in pairs]
        return [
            self._played(attack, others, self.seeds.spawn(1)[0])
            for attack, others in zip(attacks, table.others(attacks, "the games"), strict=True)
        ]

    def _separate_worst(self) -> list[int]:
        """Return the worst persons by the variances of each small cell."""
        separate = self.table.population.separate
        if separate is None:
            return []
        scores = separate.informed()[self.about]
        worst = np.argsort(-scores, kind="stable")[: self.simulated]
        return [self.about[place] for place in worst.tolist()]

    def _attack_on(
        self,
        index: int,
        attacker: str = "informed",
        noise: tuple[float, Doubles | None] = (0.0, None),
    ) -> LinearAttack:
        """Return the attack on a person, by the law of small cells with the larger leakage."""
        population = self.table.population
        separate = population.separate
        if separate is not None and attacker == "informed":
            population = max(population, separate, key=lambda law: float(law.informed()[index]))
        return attack_on(population, index, attacker, *noise)

    def _played(
        self, attack: LinearAttack, others: Sequence[Others], stream: np.random.SeedSequence
    ) -> Game:
        row = int(self.table.rows[attack.index])
        with_noise = " with noise" if attack.noise else ""
        self.table.say(f"playing record {row}, {attack.attacker}{with_noise}")
        rng = np.random.default_rng(stream)
        population, refits = self.table.population, self.refits
        return played(population, attack, others, row, rounds=self.rounds, rng=rng, refits=refits)

    def _stream(self, index: int) -> np.random.SeedSequence:
        """Return the stream of a record's games with noise: the same draws for any noise."""
        key = int(self.table.keys[index]), self.table.population.n
        return np.random.SeedSequence(self.options.seed, spawn_key=key)

    # --- arithmetic and noise --------------------------------------------------------------------

    def _arithmetic(self) -> Arithmetic:
        """Search for remainders of sums; keep the records that they reveal."""
        if why := why_unchecked(self.release, self.table.weighted):
            return Arithmetic(unchecked=why)
        off = self.table.off_steps()
        arithmetic = self.table.sums().arithmetic(self.table.steps, off)
        self.table.keep(off, [record.row for record in arithmetic.records[:_LISTED_OFF]])
        self._order()
        return arithmetic

    def _noise(self, games: list[Game], arithmetic: Arithmetic) -> Noise | None:
        """Find the noise on the published numbers."""
        noise = self._least_noise(games)
        if not arithmetic.unchecked:
            informed = [game for game in games if game.attacker == "informed"]
            upper = {game.row: self.budget.upper(game) for game in informed}
            sums = replace(self.table.sums(), population=self.table.numbers)
            noise = sums.noise(noise, arithmetic, upper)
        slopes = self.table.slopes
        units = self.table.units if slopes is None else slopes.units
        return self.table.hidden_from_lists(in_units(noise, units))

    def _drawn(self, noise: Noise | None) -> tuple[Noise | None, dict[str, float] | None]:
        """Return the noise with one draw of it, and the noise-free numbers, if asked."""
        seed = self.options.draw_noise
        if seed is None:
            return noise, None
        estimates = self.table.estimates
        if noise is not None:
            noise = drawn(noise, estimates, secrets.randbits(128) if seed is True else seed)
        return noise, dict(zip(self.table.columns, estimates.tolist(), strict=True))

    def _least_noise(self, games: list[Game]) -> Noise | None:
        """Find the noise; None if a person is all of the last batch, as no noise is enough then.

        If only the worst records are in memory, others may leak more with noise. These are kept,
        too, and the noise is found again, until a pass over all records finds none.
        """
        table = self.table
        if table.population.published.given_away(slice(-1, None)).any():
            return None
        why = why_same(table.population, self.options.noise_shape, self.release.statistic)
        shape = "same" if why else self.options.noise_shape or "optimal"
        games = [game for game in games if game.attacker == "informed"]
        for _ in range(_TRIES):
            search = self._search(shape, games)
            if table.covered(search.theories):
                noise, offered = search.noise()
                if offered is search.theory or table.covered([offered]):
                    return replace(noise, why_same=why)
            self._order()
        raise ValueError("the noise that hides all records was not found: choose a larger limit")

    def _search(self, shape: str, games: list[Game]) -> Search:
        table, rows = self.table, self.table.rows
        numbers, plain = table.numbers, {game.row: game for game in games}
        noisy: dict[tuple[int, TheoryNoise], Game] = {}
        also = self._also()

        def play(index: int, theory: TheoryNoise) -> Game:
            row = int(rows[index])
            if theory.none and row in plain:
                return plain[row]
            if (row, theory) not in noisy:
                likely = table.likely(index, [*self.playable[: self.simulated], *also])
                attacks = [
                    self._attack_on(i, noise=self._on_features(theory, numbers, i)) for i in likely
                ]
                pairs = zip(attacks, table.others(attacks, "games with noise"), strict=True)
                for attack, others in pairs:
                    game = self._played(attack, others, self._stream(attack.index))
                    noisy[int(rows[attack.index]), theory] = game
            return noisy[row, theory]

        return Search(
            numbers,
            self.budget,
            rows,
            table.columns,
            shape,
            play,
            self._play_recomputed,
            played=self.simulated,
            also=tuple(also),
        )

    def _on_features(
        self, theory: TheoryNoise, numbers: Population, index: int
    ) -> tuple[float, Doubles | None]:
        """Return noise on the means of features, as a deviation or as a covariance."""
        slopes, population = self.table.slopes, self.table.population
        if slopes is None:
            return theory.std, theory.cov
        std = theory.deviations(population.dim) * numbers.scale * slopes.units
        records = population.values[population.owned.rows(index)] * population.scale
        noise = slopes.on_features(std, records)
        return 0.0, noise / np.outer(population.scale, population.scale)

    def _also(self) -> list[int]:
        """Return further persons to play with noise: the hidden ones, and the median if new."""
        hidden: list[int] = np.searchsorted(self.table.rows, self.hidden).tolist()
        middle = self.table.middle(self.about)
        return [*hidden, middle] if self.table.population.published.new[middle] else hidden

    def _play_recomputed(self, index: int, max_leakage: float) -> RevealedNoiseGame | str:
        """Play a record with noise computed from every table, or say why not."""
        population, row = self.table.population, int(self.table.rows[index])
        if why := why_not(population, self.rounds):
            return why
        self.table.say(f"playing record {row} with noise computed from every table")
        rng = np.random.default_rng(self._stream(index).spawn(1)[0])
        return play_recomputed(population, index, max_leakage, rounds=self.rounds, rng=rng)

    def _remedies(self, noise: Noise | None) -> tuple[Remedy, ...]:
        self.table.say("scoring the remedies")
        changes = [*changes_of(self.table)]
        if noise is not None:
            changes += noise_on_every_mean(self.table.numbers, noise, self.table.rows)
        outcomes = self.table.outcomes(changes)
        return tuple(change.remedy(after) for change, after in zip(changes, outcomes, strict=True))

    # --- what is written -------------------------------------------------------------------------

    def _written(
        self,
        games: list[Game],
        arithmetic: Arithmetic,
        *,
        noise: Noise | None,
        exact: dict[str, float] | None,
        remedies: tuple[Remedy, ...],
    ) -> Report:
        options, table, population = self.options, self.table, self.table.population
        listing = table.listing(self.scores, self.release.base_rate)
        worst: list[int] = listing.places[self.order[: options.worst]].tolist()
        which = options.records or (None if population.whole else "worst")
        listed_as, listed = listed_of(which, len(listing.rows), worst)
        leakage = listing.informed.leakage[listed]
        several = not bool(population.owned.alone.all())
        return Report(
            **vars(listing),
            seed=options.seed,
            input=table.input,
            release=self.release,
            threat_models=threat_models_of(len(table.columns), several),
            listed=listed,
            listed_as=listed_as,
            gaussian_epsilon=tradeoff.gaussian(leakage=leakage).epsilon(options.delta),
            gaussian_delta=options.delta,
            worst=tuple(worst),
            drivers=tuple(self._drivers(int(i)) for i in self.order[: options.worst]),
            covariance=covariance_of(
                population, table.rows, self.playable[0], self.scores, options.confidence
            ),
            games=tuple(games),
            noise=noise,
            remedies=remedies,
            audit=self._audit(games[0]),
            observations=table.observations(listing),
            arithmetic=arithmetic,
            exact=exact,
            min_cell=options.min_cell,
            budget=self.budget,
            max_noise=options.max_noise,
            sensitive=self._sensitive(noise),
            ranked=self.ranked,
        )

    def _sensitive(self, noise: Noise | None) -> SensitiveValue | None:
        column = self.options.sensitive
        if column is None:
            return None
        self.table.say(f"judging values of {column}")
        rng = np.random.default_rng(self.seeds.spawn(1)[0])
        values = self.table.sensitive_values()
        return sensitive_value(values, column, noise, rounds=self.rounds, rng=rng)

    def _audit(self, game: Game) -> AuditResult | None:
        if not self.options.audit:
            return None
        return audit_of(game, delta=self.options.delta, confidence=self.options.confidence)

    def _drivers(self, index: int) -> Drivers:
        values = self.table.values_of(index) if self.options.show_values else None
        row = int(self.table.rows[index])
        return drivers_of(self.table.population, index, row, self.table.columns, values)
