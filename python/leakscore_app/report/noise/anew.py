"""The game in which the noise is computed anew from every table, and the attacker sees its matrix.

Every round draws a table of the others' records, half of them with the record in place of another,
computes the noise of least cost from this table and publishes its mean with this noise, and the
matrix. The attacker knows the population, not the other records. Of the matrix, the attack uses the
leakage of the record under it: noise that was computed with the record hides it. A threshold
between the tables with the record and those without is learned from half of the rounds, and the
log-ratio of its two sides is added to that of the mean under the matrix; the other half judges, and
the other way round. Another attack may find more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore.distributions import norm
from leakscore.leakage.anew import rough_noise
from leakscore.reference import Reference
from leakscore_app.report._leakage import Population
from leakscore_app.report._model import Doubles, ToldGame
from leakscore_app.report.rounds.ends import HALF_LEVEL, mean_upper

_MOST_TABLES, _LEAST_TABLES = 100, 20
_ROUNDS_A_TABLE = 500  # of a game without tables: 40 tables for 20000 rounds
_MOST_WORK = 8 * 10**7  # tables times records times columns squared: some seconds
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
    """Return how many tables are drawn, half of them with the record."""
    fair = int(np.clip(rounds // _ROUNDS_A_TABLE, _LEAST_TABLES, _MOST_TABLES))
    return min(fair, _MOST_WORK // int(population.size * population.dim**2)) // 4 * 4


def play_anew(
    population: Population,
    index: int,
    max_leakage: float,
    *,
    rounds: int,
    rng: np.random.Generator,
) -> ToldGame:
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
    seen = [[game.round(member, rng) for _ in range(half)] for member in (True, False)]
    hits, alarms = _judged(seen[0], seen[1])
    advantage = float(hits.mean() - alarms.mean())
    error = float(np.hypot(_error(hits), _error(alarms)))
    return ToldGame(
        tables=2 * half,
        advantage=advantage,
        std_error=error,
        upper=_upper(hits - alarms),
    )


@dataclass(frozen=True)
class _Seen:
    """What an attacker makes of a round: the record under the matrix, and the mean under it."""

    log_leakage: float
    ratio: float
    """Mean over the noise of the log-likelihood ratio of the mean, given the matrix."""
    spread: float
    """Its standard deviation over the noise."""


class _Game:
    """Tables of the others' records, with one record or without it."""

    def __init__(self, population: Population, index: int, max_leakage: float) -> None:
        self.known: Reference = population.without(index)
        self.others = np.delete(population.values, index, axis=0)
        self.target = population.values[index]
        self.n, self.max_leakage = population.n, max_leakage
        self.size = population.size

    def round(self, member: bool, rng: np.random.Generator) -> _Seen:
        """Draw a table, compute its noise, and look at both as the attacker does."""
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
        return _Seen(float(np.log(leakage)), ratio, spread)


def _upper(differences: Doubles) -> float:
    """Return the 95 % upper end of the mean of chances of hits less those of alarms, at most 1.

    Each half is judged by a rule that is fixed given the other half, but not independently of it:
    each end has half of the level.
    """
    ends = []
    for start in range(2):
        values = np.append(differences[start::2], 1.0)[np.newaxis]
        ends.append(mean_upper(values, np.ones(values.shape[1]), HALF_LEVEL)[0])
    return float(np.mean(ends))


def _judged(with_it: list[_Seen], without: list[_Seen]) -> tuple[Doubles, Doubles]:
    """Return the chance that the attack says "member", each half's learned from the other half."""
    inside, outside = (np.array([one.log_leakage for one in seen]) for seen in (with_it, without))
    hits, alarms = np.zeros(len(with_it)), np.zeros(len(without))
    for start in range(2):
        rule = _Rule.of(inside[1 - start :: 2], outside[1 - start :: 2])
        hits[start::2] = [rule.chance(one) for one in with_it[start::2]]
        alarms[start::2] = [rule.chance(one) for one in without[start::2]]
    return hits, alarms


@dataclass(frozen=True)
class _Rule:
    """A threshold of the record's leakage under the matrix, and the log-ratio of each side."""

    threshold: float
    below: float
    above: float

    @staticmethod
    def of(inside: Doubles, outside: Doubles) -> _Rule:
        """Learn the threshold whose sides differ most, and their ratios."""
        every = np.sort(np.concatenate([inside, outside]))
        cuts = (every[1:] + every[:-1]) / 2
        shares = [_shares(values, cuts) for values in (inside, outside)]
        best = int(np.argmax(np.abs(shares[0] - shares[1])))
        hit, alarm = float(shares[0][best]), float(shares[1][best])
        return _Rule(
            float(cuts[best]), float(np.log(hit / alarm)), float(np.log((1 - hit) / (1 - alarm)))
        )

    def chance(self, seen: _Seen) -> float:
        """Return the chance over the noise that the sum of both log-ratios is above 0."""
        ratio = seen.ratio + (self.below if seen.log_leakage <= self.threshold else self.above)
        if seen.spread == 0:
            return float(ratio > 0)
        return float(norm.cdf(ratio / seen.spread))


def _shares(values: Doubles, cuts: Doubles) -> npt.NDArray[np.float64]:
    """Return what share of some values is below each cut, never 0 or 1."""
    below = np.searchsorted(np.sort(values), cuts, side="right")
    return np.asarray((below + 0.5) / (len(values) + 1))


def _error(chances: Doubles) -> float:
    """Return the standard error of a mean of chances, as if rounds were counted: at least it."""
    share = (float(chances.sum()) + 0.5) / (len(chances) + 1)
    return float(np.sqrt(share * (1 - share) / len(chances)))
