"""Noise of the shape that costs least for the records of a table, confirmed by the game."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from leakscore import leakage
from leakscore.leakage import ShapedNoise
from leakscore.leakage.wish import Wish
from leakscore_app.report._leakage import Population, risk_of
from leakscore_app.report._model import Doubles, Game, Noise, Told, ToldGame
from leakscore_app.report._remedies import Budget, same_in_theory

_MOST_COLUMNS = 200
_MOST_WORK = 10**9  # records times columns squared: a few seconds
_MOST_TOLD = 2 * 10**7  # beyond which the noise is not computed again without a record
_TRIES = 12
_LEAST_LEFT = 1e-3  # share of the limit that what earlier means told leaves
_TIED = 1e-3  # relative, of leakages that are at the limit together


def why_same(population: Population, asked: str | None, statistic: str) -> str:
    """Say why noise is the same in every column: asked for, or nothing cheaper can be computed.

    Raises
    ------
    ValueError
        If another shape is asked for that cannot be computed.
    """
    if asked == "same":
        return "it was asked for (--noise-shape same)"
    why = _hindrance(population, statistic)
    if why and asked is not None:
        raise ValueError(f"Expected noise_shape='same', not {asked!r}: {why}")
    return why


def _hindrance(population: Population, statistic: str) -> str:
    if statistic != "mean":
        return "for another statistic than the mean no cheaper shape is computed"
    if population.shrinkage:
        return "with a shrunk covariance no cheaper shape is computed"
    if population.dim > _MOST_COLUMNS:
        return f"for more than {_MOST_COLUMNS} columns no cheaper shape is computed"
    if population.size * population.dim**2 > _MOST_WORK:
        return "for so many records and columns a cheaper shape takes too long"
    return ""


@dataclass(frozen=True, eq=False)
class _Found:
    """Noise of a theory: its covariance in the population's units, and all leakages with it."""

    noise: ShapedNoise
    cov: Doubles
    scores: Doubles


@dataclass(frozen=True, eq=False)
class Search:
    """Who is to be protected from what, and how it is played.

    `play` plays a record, by its index, with noise of a covariance, `play_anew` with noise that is
    computed from every table for a limit, or says why not; `played` is how many of the worst ones,
    and `also` who else.
    """

    population: Population
    budget: Budget
    rows: npt.NDArray[np.int64]
    columns: tuple[str, ...]
    play: Callable[[int, Doubles], Game]
    play_anew: Callable[[int, float], ToldGame | str]
    played: int
    also: tuple[int, ...]

    def noise(self, shape: str) -> Noise:
        """Find the noise of a shape, "optimal" or "independent".

        While a game's upper end is above the budget, the theory is asked for less.
        """
        asked = found = self._in_theory(self.budget, shape)
        harder, confirmed = self.budget, False
        for attempt in range(_TRIES):
            if attempt:
                found = self._in_theory(harder, shape)
            order = self._order(found.scores)
            games: list[Game] = []
            # Of whom earlier means told too much, the game does, too, whatever the noise.
            fair = [i for i in order[: self.played] if not self._beyond[i]] or order[:1]
            for index in dict.fromkeys([*fair, *self.also]):
                games.append(self.play(index, found.cov))
                if self.budget.upper(games[-1]) > self.budget.limit:
                    break
            else:
                confirmed = True
                break
            harder = self.budget.tightened(float(found.scores[order[0]]), games[-1])
        noise = replace(
            self._told_in_columns(found, order[0], games),
            confirmed=confirmed,
            shape=shape,
            theory_standard_errors=self._size(asked.cov),
            gap=self._gap(found, asked),
        )
        if shape != "optimal" or not found.cov.any():
            return noise
        cov = found.cov * np.outer(self.population.scale, self.population.scale)
        return replace(
            noise,
            covariance=cov,
            told=self._told(order[0], found, harder, games),
            beside=self._beside(),
            protected_radius=found.noise.protected_radius,
        )

    def _in_theory(self, budget: Budget, shape: str) -> _Found:
        noise = self._least(budget, shape)
        cov = np.asarray(noise.covariance)
        population = self.population
        if population.plain:
            return _Found(noise, cov, population.shaped(cov))
        return _Found(noise, cov, self._told_before + population.table.added(cov))

    @cached_property
    def _beyond(self) -> npt.NDArray[np.bool_]:
        """Of whom earlier means told more than the limit: judged by what the release adds."""
        return np.asarray(self.population.told > self.budget.largest_leakage())

    @cached_property
    def _told_before(self) -> Doubles:
        """What earlier means told of those who are judged by all means."""
        return np.where(self._beyond, 0.0, self.population.told)

    def _least(self, budget: Budget, shape: str, without: int | None = None) -> ShapedNoise:
        """Find the noise of least cost for all records, or for those of all persons but one."""
        population = self.population
        if population.plain:
            values = population.values
            values = values if without is None else np.delete(values, without, axis=0)
            return _least(population, values, budget, shape)
        most = budget.largest_leakage()
        told = np.minimum(self._told_before, (1 - _LEAST_LEFT) * most)
        table = population.table
        if without is not None:
            table, told = table.without(without), np.delete(told, without)
        wish = Wish(population.n, most, shape != "optimal", None, None, None)
        return table.noise(wish, told)

    def _gap(self, found: _Found, asked: _Found) -> float:
        """Hold the noise that is offered against the bound on that of the theory."""
        cost, least = (float(np.sum(self._errors(one.cov) ** 2)) for one in (found, asked))
        return 1 - (1 - asked.noise.gap) * least / cost if cost else 0.0

    def _order(self, scores: Doubles) -> list[int]:
        """Return all who are judged, the worst first; of those at the limit, as without noise."""
        judged = np.flatnonzero(self.population.published.new)
        scores = scores[judged]
        tied = scores >= (1 - _TIED) * scores.max()
        without = np.where(tied, self.population.informed()[judged], 0.0)
        order: list[int] = judged[np.lexsort((-scores, -without, ~tied))].tolist()
        return order

    def _errors(self, cov: Doubles) -> Doubles:
        """Return noise in standard errors of each column's mean."""
        population = self.population
        return np.asarray(np.sqrt(np.diag(cov) * (population.n / population.correction)))

    def _size(self, cov: Doubles) -> float:
        return float(np.sqrt(np.mean(self._errors(cov) ** 2)))

    def _told_in_columns(self, found: _Found, worst: int, games: list[Game]) -> Noise:
        errors, after = self._errors(found.cov), risk_of(found.scores[[worst]], None)
        std = np.sqrt(np.diag(found.cov)) * self.population.scale
        return Noise(
            budget=self.budget.options(),
            binding_row=int(self.rows[worst]),
            standard_errors=self._size(found.cov),
            theory_standard_errors=0.0,
            confirmed=False,
            rows_played=tuple(game.row for game in games),
            noise_std=dict(zip(self.columns, std.tolist(), strict=True)),
            leakage=float(after.leakage[0]),
            advantage=float(after.advantage[0]),
            power=float(after.power[0]),
            game=games[0],
            cost=float(np.sum(errors**2)),
            column_standard_errors=dict(zip(self.columns, errors.tolist(), strict=True)),
            rows_at_limit=tuple(self.rows[self._active(found.noise)].tolist()),
        )

    def _beside(self) -> dict[str, float]:
        """Return what noise of the other shapes takes in theory, in standard errors."""
        population, judged = self.population, np.flatnonzero(self.population.published.new)
        same, _ = same_in_theory(population, self._told_before, self.budget, judged, 0.0)
        return {
            "independent": self._size(self._in_theory(self.budget, "independent").cov),
            "same": float(same * np.sqrt(population.n / population.correction)),
        }

    def _active(self, noise: ShapedNoise) -> npt.NDArray[np.intp]:
        """Return the persons whose limit is met."""
        return np.unique(self.population.owned.of_row[noise.active])

    def _told(self, index: int, found: _Found, budget: Budget, games: list[Game]) -> Told | None:
        """Judge a record by the noise that is computed without it."""
        population = self.population
        size, dim = population.values.shape
        size -= int(population.owned.sizes[index]) - 1
        few = size - 2 <= dim or (population.finite and population.n >= size - 1)
        few = few or (not population.plain and not population.table.can_spare(index))
        if few or size * dim**2 > _MOST_TOLD or np.isinf(population.informed()[index]):
            return None
        without = np.asarray(self._least(budget, "optimal", index).covariance)
        told = float(self._told_before[index]) + population.anew(index, without)
        risk = risk_of(np.array([told]), None)
        row = int(self.rows[index])
        same = [game for game in games if game.row == row]
        played = (same[0] if same else self.play(index, found.cov)).advantage
        anew = self.play_anew(index, budget.largest_leakage())
        return Told(
            row=row,
            leakage=float(found.scores[index]),
            leakage_without=float(risk.leakage[0]),
            advantage_without=float(risk.advantage[0]),
            power_without=float(risk.power[0]),
            public=played.simulated,
            public_std_error=played.std_error,
            anew=None if isinstance(anew, str) else anew,
            why_not_played=anew if isinstance(anew, str) else "",
        )


def _least(population: Population, values: Doubles, budget: Budget, shape: str) -> ShapedNoise:
    """Find the noise of least cost for a mean of such records."""
    kind: Literal["optimal", "optimal-diagonal"] = (
        "optimal" if shape == "optimal" else "optimal-diagonal"
    )
    return leakage.noise_for_table(
        values,
        population.n,
        max_leakage=budget.largest_leakage(),
        shape=kind,
        population="finite" if population.finite else "infinite",
    )
