"""The noise that brings every record under a limit: in theory, confirmed by games, drawn.

Its shape is that which costs least, of any covariance or independent between columns, or the same
number of standard errors in every column.

If the matrix of such noise is revealed, it may itself reveal a record. A game shows how much. Each
round draws a table of the others' records, with the target in place of one of them in half of the
rounds; computes the noise of least cost from this table; and publishes the noisy mean and the
matrix. The attacker knows the population, not the other records. From the matrix the attack takes
the target's leakage under it, which is smaller if the noise was computed with the target. Half of
the rounds train a threshold between both kinds of tables; the log-ratio of its two sides is added
to that of the mean under the matrix. The other half judges, and then the halves exchange their
roles. Another attack may do better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from leakscore import leakage
from leakscore.distributions import norm
from leakscore.leakage import ShapedNoise
from leakscore.leakage.table_law import rough_noise
from leakscore.reference import Reference
from leakscore.statistics import GroupMeans, Several, Statistic
from leakscore_app.report._model import Doubles, Game, Noise, RevealedNoise, RevealedNoiseGame
from leakscore_app.report.engine.game import HALF_LEVEL, mean_upper
from leakscore_app.report.engine.leakage import Budget, shares_of
from leakscore_app.report.engine.population import Population, Shape

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_MOST_COLUMNS = 200
_MOST_WORK = 10**9  # records times columns squared: a few seconds
_MOST_REVEALED = 2 * 10**7  # beyond which the noise is not computed again without a record
_TRIES = 12
_LEAST_LEFT = 1e-3  # share of the limit that what earlier means told leaves
_TIED = 1e-3  # relative, of leakages that are at the limit together


def why_same(population: Population, wish: str | None, statistic: str) -> str:
    """Say why noise is the same in every column: asked for, or nothing cheaper can be computed.

    Raises
    ------
    ValueError
        If another shape is asked for that cannot be computed.
    """
    if wish == "same":
        return "it was asked for (--noise-shape same)"
    why = _hindrance(population, statistic)
    if why and wish is not None:
        raise ValueError(f"noise_shape={wish!r} must be 'same': {why}")
    return why


def _hindrance(population: Population, statistic: str) -> str:
    if statistic != "mean":
        return "for another statistic than the mean no cheaper shape is computed"
    if population.shrinkage:
        return "with a shrunk covariance no cheaper shape is computed"
    if population.dim > _MOST_COLUMNS:
        return f"for more than {_MOST_COLUMNS} columns no cheaper shape is computed"
    if len(population.values) * population.dim**2 > _MOST_WORK:
        return "for so many records and columns a cheaper shape takes too long"
    return ""


@dataclass(frozen=True, eq=False)
class TheoryNoise:
    """Noise that suffices in theory, and the leakage of every person with it.

    Attributes
    ----------
    scores : (P,) ndarray
    std : float
        In standard deviations of a record, where it is the same in every column.
    cov : (d, d) ndarray, optional
        In the population's units, for noise of another shape.
    solution : ShapedNoise, optional
        The optimum from which `cov` is.
    """

    scores: Doubles
    std: float = 0.0
    cov: Doubles | None = None
    solution: ShapedNoise | None = None

    @property
    def none(self) -> bool:
        """Whether no noise is needed."""
        return self.std == 0 if self.cov is None else not self.cov.any()

    def deviations(self, dim: int) -> Doubles:
        """Return the standard deviation of the noise on each of the columns' means."""
        return np.full(dim, self.std) if self.cov is None else np.sqrt(np.diag(self.cov))


@dataclass(frozen=True, eq=False)
class Search:
    """The search for noise: the persons to protect, the limit, and the games that confirm it.

    Attributes
    ----------
    population : Population
    budget : Budget
    rows, columns
        Numbers of the persons' first records, and names of the columns.
    shape : {"optimal", "independent", "same"}
    play : callable
        Plays a record, by its index, with noise; the same draws each time, so that more noise
        leaks less.
    play_recomputed : callable
        Plays a record with noise that is computed from every table for a limit, or says why not.
    played : int
        How many of the worst records are played.
    also : tuple of int
        Further persons to play.
    """

    population: Population
    budget: Budget
    rows: npt.NDArray[np.int64]
    columns: tuple[str, ...]
    shape: str
    play: Callable[[int, TheoryNoise], Game]
    play_recomputed: Callable[[int, float], RevealedNoiseGame | str]
    played: int = 1
    also: tuple[int, ...] = ()

    @cached_property
    def theory(self) -> TheoryNoise:
        """The noise of the theory."""
        return self._in_theory(self.budget)

    @cached_property
    def theories(self) -> list[TheoryNoise]:
        """The noise of the theory, and that of the other shapes beside noise of any covariance."""
        if self.shape != "optimal" or self.theory.none:
            return [self.theory]
        return [self.theory, self._independent, self._same(self.budget)]

    def noise(self) -> tuple[Noise, TheoryNoise]:
        """Confirm the noise of the theory by games; increase it while a game exceeds the limit.

        In theory the noise is enough for every person in the present mean; for the worst ones the
        upper end of the game is within the limit, too. It cannot protect persons who are in earlier
        means only.
        """
        theory, harder, confirmed = self.theory, self.budget, False
        for attempt in range(_TRIES):
            if attempt:
                theory = self._in_theory(harder, theory)
            order = self._order(theory.scores)
            games: list[Game] = []
            # Persons over the limit by earlier means stay over it at any noise.
            fair = [i for i in order[: self.played] if not self._beyond[i]] or order[:1]
            for index in dict.fromkeys([*fair, *self.also]):
                games.append(self.play(index, theory))
                if self.budget.upper(games[-1]) > self.budget.limit:
                    break
            else:
                confirmed = True
                break
            harder = self.budget.tightened(float(theory.scores[order[0]]), games[-1])
        noise = replace(self._described(theory, order[0], games), confirmed=confirmed)
        return self._with_shape(noise, theory, harder), theory

    def _in_theory(self, budget: Budget, least: TheoryNoise | None = None) -> TheoryNoise:
        if self.shape == "same":
            return self._same(budget, 0.0 if least is None else least.std)
        return self._shaped(budget, cast(Shape, self.shape))

    @cached_property
    def _independent(self) -> TheoryNoise:
        return self._shaped(self.budget, "independent")

    def _shaped(self, budget: Budget, shape: Shape) -> TheoryNoise:
        solution = self._least(budget, shape)
        cov = np.asarray(solution.covariance)
        return TheoryNoise(self.population.noisy(cov, self._earlier), cov=cov, solution=solution)

    def _least(self, budget: Budget, shape: Shape, without: int | None = None) -> ShapedNoise:
        """Find the noise of least cost for all persons, or all but one."""
        most = budget.largest_leakage()
        earlier = np.minimum(self._earlier, (1 - _LEAST_LEFT) * most)
        return self.population.least_noise(most, shape, earlier, without)

    def _same(self, budget: Budget, least: float = 0.0) -> TheoryNoise:
        """Find the noise that is the same in every column, `least` or more.

        Noise changes which person is worst. So find the noise for the worst person, score all
        persons again, and repeat until the worst is one for whom the noise was found.
        """
        population, earlier, judged = self.population, self._earlier, self._judged
        noise, added = least, self._added(least)
        scores = earlier + added.max(axis=0)
        index = int(judged[np.argmax(scores[judged])])
        while not budget.met_by(scores[index]):
            others = self._laws[int(added[:, index].argmax())].without(index)
            enough = leakage.noise_for(
                population.added_record(index, others)[np.newaxis],
                others,
                population.batch_size,
                shape="scalar",
                **budget.noise_options(float(earlier[index])),
            )
            share = population.batch_size / population.n  # of the batch in the present mean
            noise = max(noise, float(np.max(enough.noise_std)) * share)
            added = self._added(noise)
            scores = earlier + added.max(axis=0)
            before, index = index, int(judged[np.argmax(scores[judged])])
            if index == before:
                break
        return TheoryNoise(scores, noise)

    @cached_property
    def _laws(self) -> list[Population]:
        """The population, and the one with the covariance of each small cell."""
        separate = self.population.separate
        return [self.population] if separate is None else [self.population, separate]

    def _added(self, noise: float) -> Doubles:
        """Leakage of every person from the present mean by each of the laws, (laws, P)."""
        return np.array([law.added(noise) for law in self._laws])

    @cached_property
    def _judged(self) -> npt.NDArray[np.int64]:
        return np.flatnonzero(self.population.published.new)

    @cached_property
    def _beyond(self) -> npt.NDArray[np.bool_]:
        """Persons over the limit by earlier means; they are judged by what the release adds."""
        return np.asarray(self.population.earlier > self.budget.largest_leakage())

    @cached_property
    def _earlier(self) -> Doubles:
        """Leakage from earlier means of the persons who are judged by all means, else 0."""
        return np.where(self._beyond, 0.0, self.population.earlier)

    def _order(self, scores: Doubles) -> list[int]:
        """Return the judged persons, the worst first.

        With shaped noise many are at the limit together; these are ordered as without noise.
        """
        scores = scores[self._judged]
        order = np.argsort(-scores, kind="stable")
        if self.shape != "same":
            tied = scores >= (1 - _TIED) * scores.max()
            without = np.where(tied, self.population.informed()[self._judged], 0.0)
            order = np.lexsort((-scores, -without, ~tied))
        persons: list[int] = self._judged[order].tolist()
        return persons

    def _errors(self, theory: TheoryNoise) -> Doubles:
        """Return noise in standard errors of each column's mean."""
        return np.asarray(theory.deviations(self.population.dim) * self.population.root)

    def _size(self, theory: TheoryNoise) -> float:
        if theory.cov is None:
            return theory.std * self.population.root
        return float(np.sqrt(np.mean(self._errors(theory) ** 2)))

    def _described(self, theory: TheoryNoise, worst: int, games: list[Game]) -> Noise:
        """Return the noise, and the leakage with it, as the report shows them."""
        std = theory.deviations(self.population.dim) * self.population.scale
        return Noise(
            budget=self.budget.options(),
            binding_row=int(self.rows[worst]),
            standard_errors=self._size(theory),
            theory_standard_errors=self._size(self.theory),
            confirmed=False,
            rows_played=tuple(game.row for game in games),
            noise_std=dict(zip(self.columns, std.tolist(), strict=True)),
            **shares_of(float(theory.scores[worst])),
            game=games[0],
            shape=self.shape,
        )

    def _with_shape(self, noise: Noise, chosen: TheoryNoise, budget: Budget) -> Noise:
        """Add the fields of noise that differs between columns."""
        theory = self.theory
        if chosen.cov is None or chosen.solution is None or theory.solution is None:
            return noise
        errors = self._errors(chosen)
        cost, least = (float(np.sum(self._errors(noisy) ** 2)) for noisy in (chosen, theory))
        active = np.unique(self.population.owned.of_row[chosen.solution.active])
        noise = replace(
            noise,
            cost=cost,
            # No noise costs less than the bound on that of the theory.
            gap=1 - (1 - theory.solution.gap) * least / cost if cost else 0.0,
            column_standard_errors=dict(zip(self.columns, errors.tolist(), strict=True)),
            rows_at_limit=tuple(self.rows[active].tolist()),
        )
        if self.shape != "optimal" or chosen.none:
            return noise
        worst = int(np.searchsorted(self.rows, noise.binding_row))
        return replace(
            noise,
            covariance=chosen.cov * np.outer(self.population.scale, self.population.scale),
            told=self._revealed(worst, chosen, budget, noise),
            beside=self._other_shapes(),
            protected_radius=chosen.solution.protected_radius,
        )

    def _other_shapes(self) -> dict[str, float]:
        """Return the size of noise of the other shapes in theory, in standard errors."""
        return {
            "independent": self._size(self._independent),
            "same": self._size(self._same(self.budget)),
        }

    def _revealed(
        self, index: int, theory: TheoryNoise, budget: Budget, noise: Noise
    ) -> RevealedNoise | None:
        """Return how much the matrix of the noise reveals of a record, in theory and played."""
        population = self.population
        work = (population.size - int(population.owned.sizes[index]) + 1) * population.dim**2
        if not population.can_spare_person(index) or work > _MOST_REVEALED:
            return None
        if np.isinf(population.informed()[index]):
            return None
        cov = np.asarray(self._least(budget, "optimal", index).covariance)
        alone = float(self._earlier[index]) + population.leakage_refitted(index, cov)
        without = {f"{name}_without": share for name, share in shares_of(alone).items()}
        same = noise.game if noise.game.row == noise.binding_row else self.play(index, theory)
        recomputed = self.play_recomputed(index, budget.largest_leakage())
        return RevealedNoise(
            row=noise.binding_row,
            leakage=float(theory.scores[index]),
            **without,
            public=same.advantage.simulated,
            public_std_error=same.advantage.std_error,
            anew=None if isinstance(recomputed, str) else recomputed,
            why_not_played=recomputed if isinstance(recomputed, str) else "",
        )


def in_units(noise: Noise | None, units: Doubles) -> Noise | None:
    """Return noise on the means of features as noise on the published numbers.

    Parameters
    ----------
    noise : Noise or None
    units : (d,) ndarray
        From `Statistic.units`, in the order of the noise's columns.
    """
    if noise is None or (units == 1).all():
        return noise
    std = np.array(list(noise.noise_std.values())) * units
    covariance = noise.covariance
    return replace(
        noise,
        noise_std=dict(zip(noise.noise_std, std.tolist(), strict=True)),
        covariance=None if covariance is None else covariance * np.outer(units, units),
    )


@dataclass(frozen=True, eq=False)
class Slopes:
    """First-order dependence of the published numbers on the means of features.

    The mean of a group is a sum over a count: noise on the count does not hide the mean.

    Attributes
    ----------
    statistic : Statistic
    n, size, most : int
        Records in the release, in the table, and of a person at most.
    means : (D,) ndarray
        Of all features.
    judged : (d,) ndarray of int
        Which features are judged; there is noise on as many numbers.
    others : (k,) ndarray of int
        Further features on which the numbers depend.
    by_judged : (k, d) ndarray
        Slopes of these by the judged ones.
    """

    statistic: Statistic
    n: int
    size: int
    most: int
    means: Doubles
    judged: npt.NDArray[np.intp]
    others: npt.NDArray[np.intp]
    by_judged: Doubles

    @property
    def units(self) -> Doubles:
        """Factor from noise on a feature's mean to noise on its number, for each number.

        A record is judged by all others. In a cell of s records their mean is of s - 1, which takes
        s / (s - 1) times as much noise.
        """
        units = self.statistic.units(self.means, self.n)
        tables = self.statistic.parts if isinstance(self.statistic, Several) else [self.statistic]
        means = [
            part.names[len(part.cells) - 1 :] for part in tables if isinstance(part, GroupMeans)
        ]
        inside = np.isin(self.statistic.names, np.concatenate([[], *means]))
        rest = np.maximum(self.size - self.most * units, self.size / 2)
        fewer = (self.size - self.most) / rest
        return np.where(inside, units * fewer, units)[self.judged]

    def of_features(self) -> csr_array:
        """Return the slopes by the judged features, (d, d), with 1 on the diagonal."""
        from scipy.sparse import csr_array

        units = self.statistic.units(self.means, self.n)[self.judged]
        return csr_array(self._at(self.means) / units[:, np.newaxis])

    def _at(self, means: Doubles) -> Doubles:
        jacobian = self.statistic.jacobian(means, self.n)
        if jacobian is None:
            raise TypeError(
                f"{self.statistic.kind} must have numbers that hang on several features"
            )
        slopes = jacobian[self.judged]
        return np.asarray(slopes[:, self.judged] + slopes[:, self.others] @ self.by_judged)

    def on_features(self, std: Doubles, records: Doubles) -> Doubles:
        """Return noise on the numbers as the covariance of noise on the means of the features.

        Parameters
        ----------
        std : (d,) ndarray
            Of the noise on each number.
        records : (m, d) ndarray
            The features of a person's records; the slopes are taken at the means of the others.
        """
        from scipy.sparse import csc_array, csr_array
        from scipy.sparse.linalg import splu

        shift = (self.means[self.judged] - records).sum(axis=0) / (self.size - len(records))
        means = self.means.copy()
        means[self.judged] += shift
        means[self.others] += self.by_judged @ shift
        slopes = self._at(means)
        if not np.isfinite(slopes).all():  # nobody else is in a cell
            slopes = self._at(self.means)
        noise = csr_array(splu(csc_array(slopes)).solve(np.diag(std)))
        return np.asarray(cast(csr_array, noise @ noise.T).toarray())


def grown(noise: Noise, factor: float) -> Noise:
    """Return noise `factor` times as large, with the leakages of the smaller one."""
    more = factor**2
    return replace(
        noise,
        noise_std={name: factor * std for name, std in noise.noise_std.items()},
        standard_errors=factor * noise.standard_errors,
        column_standard_errors={
            name: factor * errors for name, errors in noise.column_standard_errors.items()
        },
        covariance=None if noise.covariance is None else more * noise.covariance,
        cost=None if noise.cost is None else more * noise.cost,
        gap=None if noise.gap is None else 1 - (1 - noise.gap) / more,
    )


def drawn(noise: Noise, estimates: Doubles, seed: int) -> Noise:
    """Return the same noise with the published numbers and one draw of it.

    Nothing is drawn where no noise is needed, or where the game does not confirm it.

    Parameters
    ----------
    noise : Noise
    estimates : (d,) ndarray
        In the order of the noise's columns.
    seed : int
    """
    if noise.standard_errors == 0 or not noise.confirmed:
        return noise
    rng = np.random.default_rng(seed)
    if noise.covariance is not None:
        noisy = rng.multivariate_normal(estimates, noise.covariance)
    else:
        std = np.array(list(noise.noise_std.values()))
        noisy = estimates + std * rng.standard_normal(len(std))
    return replace(noise, noisy_mean=dict(zip(noise.noise_std, noisy.tolist(), strict=True)))


_MOST_TABLES, _LEAST_TABLES = 100, 20
_ROUNDS_A_TABLE = 500  # of a game without tables: 40 tables for 20000 rounds
_MOST_TABLE_WORK = 8 * 10**7  # tables times records times columns squared: some seconds
_GAP = 0.1  # of the noise in a round


def why_not(population: Population, rounds: int) -> str:
    """Say why no such game is played; "" if it is."""
    if population.finite:
        return (
            "it is computed from the whole file, who is in the file is known in this game, and so "
            "the matrix tells nothing of who was drawn"
        )
    if not population.plain:
        return "for persons of several records and after earlier means it is not played"
    if tables(population, rounds) < _LEAST_TABLES:
        return "for so many records and columns it takes too long"
    return ""


def tables(population: Population, rounds: int) -> int:
    """Return the number of tables drawn, half of them with the record."""
    fair = int(np.clip(rounds // _ROUNDS_A_TABLE, _LEAST_TABLES, _MOST_TABLES))
    return min(fair, _MOST_TABLE_WORK // int(population.size * population.dim**2)) // 4 * 4


def play_recomputed(
    population: Population,
    index: int,
    max_leakage: float,
    *,
    rounds: int,
    rng: np.random.Generator,
) -> RevealedNoiseGame:
    """Play a record against an attacker who is given the matrix of each table.

    Parameters
    ----------
    population : Population
        Plain, and not finite.
    index : int
        Which record.
    max_leakage : float
        Limit of the noise.
    rounds : int
        Of a game without tables: the more, the more tables.
    rng : numpy.random.Generator
    """
    game = _Game(population, index, max_leakage)
    half = tables(population, rounds) // 2
    inside, outside = (
        np.array([game.round(member, rng) for _ in range(half)]).T for member in (True, False)
    )
    hits, alarms = attack_chances(inside, outside)
    advantage = float(hits.mean() - alarms.mean())
    error = float(np.hypot(_error(hits), _error(alarms)))
    return RevealedNoiseGame(
        tables=2 * half,
        advantage=advantage,
        std_error=error,
        upper=advantage_upper(hits - alarms),
    )


class _Game:
    """Tables of the others' records, with one record or without it."""

    def __init__(self, population: Population, index: int, max_leakage: float) -> None:
        self.known: Reference = population.without(index)
        self.others = np.delete(population.values, index, axis=0)
        self.target = population.values[index]
        self.n, self.max_leakage = population.n, max_leakage
        self.size = population.size

    def round(self, member: bool, rng: np.random.Generator) -> tuple[float, float, float]:
        """Draw a table, compute its noise, and return the attacker's statistics of both.

        Returns the logarithm of the record's leakage under the matrix, and the mean and the
        standard deviation over the noise of the log-likelihood ratio of the mean, given the matrix.
        """
        rows = self.others[rng.integers(len(self.others), size=max(self.size, self.n))]
        if member:
            rows[0] = self.target
        noise = rough_noise(rows[: self.size], self.n, self.max_leakage, _GAP)
        away = self.target - self.known.mean
        law = Reference(self.known.mean, self.known.cov + self.n * noise)
        weight = law.solve(away)
        leakage = float(away @ weight) / self.n
        ratio = float((rows[: self.n].mean(axis=0) - self.known.mean) @ weight) - leakage / 2
        spread = float(np.sqrt(max(float(weight @ noise @ weight), 0.0)))
        return float(np.log(leakage)), ratio, spread


def advantage_upper(differences: Doubles) -> float:
    """Return the 95 % upper end of the mean of chances of hits less those of alarms, at most 1.

    Each half is judged by a rule that the other half fixes. The halves are not independent, so each
    end has half of the level.
    """
    ends = []
    for start in range(2):
        values = np.append(differences[start::2], 1.0)[np.newaxis]
        ends.append(mean_upper(values, np.ones(values.shape[1]), HALF_LEVEL)[0])
    return float(np.mean(ends))


def attack_chances(inside: Doubles, outside: Doubles) -> tuple[Doubles, Doubles]:
    """Return the chance that the attack says "member", by rules learned from the other half.

    `inside` and `outside` are the results of `_Game.round`, (3, R).
    """
    hits, alarms = np.zeros(inside.shape[1]), np.zeros(outside.shape[1])
    for start in range(2):
        rule = ThresholdRule.of(inside[0, 1 - start :: 2], outside[0, 1 - start :: 2])
        hits[start::2] = rule.chances(*inside[:, start::2])
        alarms[start::2] = rule.chances(*outside[:, start::2])
    return hits, alarms


@dataclass(frozen=True)
class ThresholdRule:
    """A threshold of the record's leakage under the matrix, and the log-ratio of each side."""

    threshold: float
    below: float
    above: float

    @staticmethod
    def of(inside: Doubles, outside: Doubles) -> ThresholdRule:
        """Learn the threshold whose sides differ most, and their ratios."""
        every = np.sort(np.concatenate([inside, outside]))
        cuts = (every[1:] + every[:-1]) / 2
        shares = [_shares(values, cuts) for values in (inside, outside)]
        best = int(np.argmax(np.abs(shares[0] - shares[1])))
        hit, alarm = float(shares[0][best]), float(shares[1][best])
        return ThresholdRule(
            float(cuts[best]), float(np.log(hit / alarm)), float(np.log((1 - hit) / (1 - alarm)))
        )

    def chances(self, log_leakage: Doubles, ratio: Doubles, spread: Doubles) -> Doubles:
        """Return the chance over the noise that the sum of both log-ratios is above 0."""
        total = ratio + np.where(log_leakage <= self.threshold, self.below, self.above)
        noisy = norm.cdf(total / np.where(spread == 0, 1.0, spread))
        return np.where(spread == 0, total > 0, noisy)


def _shares(values: Doubles, cuts: Doubles) -> npt.NDArray[np.float64]:
    """Return the share of the values below each cut, never 0 or 1."""
    below = np.searchsorted(np.sort(values), cuts, side="right")
    return np.asarray((below + 0.5) / (len(values) + 1))


def _error(chances: Doubles) -> float:
    """Return the standard error of a mean of chances, at least that of a count of rounds."""
    share = (float(chances.sum()) + 0.5) / (len(chances) + 1)
    return float(np.sqrt(share * (1 - share) / len(chances)))
