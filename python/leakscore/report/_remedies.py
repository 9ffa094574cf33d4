"""What brings the worst record down: noise under a budget, and the cheaper changes re-scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import leakage, tradeoff
from leakscore._numeric import bisect
from leakscore.distributions import norm
from leakscore.report._leakage import Population, above, risk_of
from leakscore.report._model import ALPHA, Doubles, Game, Noise, Remedy

__all__ = ["MOST_RECORDS", "Budget", "noise_of", "remedies_of", "remedy_of"]

_DROPS = (1, 3, 5)
_CLIPS = (0.01, 0.05)
_LEAVES = (1, 5)
_GROWTHS = (2, 5)
MOST_RECORDS = 10**12
_TRIES = 12
_SLACK = 0.999  # of mu, so that a try that nearly meets the budget is the last but one


@dataclass(frozen=True)
class Budget:
    """The most that may leak of any record: an advantage, a power, or a Gaussian (epsilon, delta).

    A Gaussian epsilon is held against a game as the advantage that it allows.
    """

    max_advantage: float
    epsilon: float | None
    delta: float
    max_power: float | None = None

    def options(self) -> dict[str, Any]:
        """Return the keywords of `leakage.noise_for`."""
        if self.epsilon is not None:
            return {"epsilon": self.epsilon, "delta": self.delta}
        if self.max_power is not None:
            return {"max_power": self.max_power}
        return {"max_advantage": self.max_advantage}

    def met_by(self, score: float) -> bool:
        """Tell whether a leakage score is under the budget."""
        if np.isinf(score):
            return False
        curve = tradeoff.gaussian(leakage=score)
        if self.epsilon is not None:
            return bool(curve.delta(self.epsilon) <= self.delta)
        if self.max_power is not None:
            return bool(curve.power(ALPHA) <= self.max_power)
        return bool(curve.advantage() <= self.max_advantage)

    @property
    def quantity(self) -> str:
        """What of a game the budget limits: its power or its advantage."""
        return "advantage" if self.max_power is None else "power"

    @property
    def limit(self) -> float:
        """The most advantage or power that the budget allows."""
        if self.epsilon is not None:
            return float(tradeoff.gaussian(leakage=self._largest_mu() ** 2).advantage())
        return self.max_advantage if self.max_power is None else self.max_power

    def shares(self, scores: npt.ArrayLike) -> Doubles:
        """Return the advantage or power of leakage scores in theory."""
        curve = tradeoff.gaussian(leakage=scores)
        return np.asarray(curve.advantage() if self.max_power is None else curve.power(ALPHA))

    def upper(self, game: Game) -> float:
        """Return the upper end, with 95 % confidence, of a game's advantage or power."""
        upper = getattr(game, self.quantity).upper
        return float(upper)

    def tightened(self, worst: float, game: Game) -> Budget:
        """Return the budget for the theory under which the game's upper end is within this one.

        A game stands for a mu, the square root of a leakage. That of its upper end over that of
        the theory hardly depends on the noise, so the theory is asked for so much less.
        """
        asked = self._largest_mu()
        allowed = min(asked, float(np.sqrt(worst))) * asked / self._mu_of(self.upper(game))
        limit = float(tradeoff.gaussian(leakage=(_SLACK * allowed) ** 2).advantage())
        return Budget(max_advantage=limit, epsilon=None, delta=self.delta)

    def _largest_mu(self) -> float:
        high = 1.0
        while self.met_by(high * high):
            high *= 2
        return bisect(lambda mu: self.met_by(mu * mu), 0.0, high)[0]

    def _mu_of(self, share: float) -> float:
        """Return the mu of the Gaussian curve with this advantage or power."""
        share = min(share, 1 - 1e-15)
        if self.max_power is not None:
            return float(norm.ppf(share) - norm.ppf(ALPHA))
        return float(2 * norm.ppf((1 + share) / 2))

    def fewest_records(self, worst: float, most: int) -> int | None:
        """Return the least n that brings a record of squared distance `worst` under the budget."""
        low, high = 1, 2
        while not self.met_by(worst / high):
            low, high = high, 2 * high
            if low > most:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.met_by(worst / middle) else (middle, high)
        return high


def noise_of(
    population: Population,
    budget: Budget,
    rows: npt.NDArray[np.int64],
    columns: tuple[str, ...],
    play: Callable[[int, float], Game],
    among: slice = slice(None),
    played: int = 1,
    also: Sequence[int] = (),
) -> Noise:
    """Find the noise that brings every record `among` them, left out, under the budget.

    The theory says so of all records, the upper end of the game of the `played` worst ones with
    this noise. While a game's is above the budget, the theory is asked for less.

    Parameters
    ----------
    population : Population
    budget : Budget
    rows, columns
        Numbers and names of the population's records and columns.
    play : callable
        Plays a record, by its index, with noise of a standard deviation on the mean; the same draws
        each time, so that less leaks with more noise.
    among : slice
        The records to protect.
    played : int
        How many of them, the worst ones, are played.
    also : sequence of int
        Further records that are played.
    """
    candidates = np.arange(population.size)[among]
    asked, scores = _in_theory(population, budget, candidates, 0.0)
    noise, confirmed, harder = asked, False, budget
    for attempt in range(_TRIES):
        if attempt:
            noise, scores = _in_theory(population, harder, candidates, noise)
        order = candidates[np.argsort(-scores[candidates], kind="stable")][:played].tolist()
        games: list[Game] = []
        for index in dict.fromkeys([*order, *also]):
            games.append(play(index, noise))
            if budget.upper(games[-1]) > budget.limit:
                break
        else:
            confirmed = True
            break
        harder = budget.tightened(float(scores[order[0]]), games[-1])
    after = risk_of(scores[order[:1]], None)
    errors = float(np.sqrt(population.n / population.correction))
    return Noise(
        budget=budget.options(),
        binding_row=int(rows[order[0]]),
        standard_errors=noise * errors,
        theory_standard_errors=asked * errors,
        confirmed=confirmed,
        rows_played=tuple(game.row for game in games),
        noise_std=dict(zip(columns, (noise * population.scale).tolist(), strict=True)),
        leakage=float(after.leakage[0]),
        advantage=float(after.advantage[0]),
        power=float(after.power[0]),
        game=games[0],
    )


def _in_theory(
    population: Population, budget: Budget, candidates: npt.NDArray[np.int64], least: float
) -> tuple[float, Doubles]:
    """Return the noise of the theory, `least` or more, and the leakages of all records with it.

    Noise changes which record is worst, so the noise of the worst record is found, all records
    are scored again, and so on until the worst is one that the noise was found for.
    """
    noise, scores = least, population.informed(least)
    index = int(candidates[np.argmax(scores[candidates])])
    while not budget.met_by(scores[index]):
        found = leakage.noise_for(
            population.values[index : index + 1],
            population.without(index),
            population.n,
            shape="scalar",
            **budget.options(),
        )
        noise = max(noise, float(np.max(found.noise_std)))
        scores = population.informed(noise)
        before, index = index, int(candidates[np.argmax(scores[candidates])])
        if index == before:
            break
    return noise, scores


def remedies_of(
    population: Population,
    budget: Budget,
    rows: npt.NDArray[np.int64],
    columns: tuple[str, ...],
) -> tuple[Remedy, ...]:
    """Score the release again with fewer columns, clipped values, fewer and more records."""
    return (
        *_fewer_columns(population, rows, columns),
        *_clipped(population, rows),
        *_without_worst(population, rows),
        *_more_records(population, budget, rows),
    )


def remedy_of(
    kind: str, what: str, cost: str, rows: npt.NDArray[np.int64], scores: Doubles, **more: Any
) -> Remedy:
    """Return a remedy, with the worst of the records that it leaves."""
    risk = risk_of(scores, None)
    worst = int(np.argmax(scores))
    return Remedy(
        kind=kind,
        what=what,
        cost=cost,
        worst_row=int(rows[worst]),
        leakage=float(scores[worst]),
        advantage=float(risk.advantage[worst]),
        power=float(risk.power[worst]),
        above=above(risk.power),
        **more,
    )


def _fewer_columns(
    population: Population, rows: npt.NDArray[np.int64], columns: tuple[str, ...]
) -> Iterator[Remedy]:
    """Leave out, one after another, the column whose loss helps the worst record most."""
    kept, smaller = list(range(population.dim)), population
    dropped: list[str] = []
    while len(kept) > 1 and len(dropped) < _DROPS[-1]:
        _, without = smaller.shares(int(np.argmax(smaller.informed())))
        dropped.append(columns[kept.pop(int(np.argmin(without)))])
        smaller = population.with_columns(kept)
        if len(dropped) in _DROPS:
            number = f"{len(dropped)} column{'s' if len(dropped) > 1 else ''}"
            yield remedy_of(
                "fewer columns",
                f"without {number}: {', '.join(dropped)}",
                f"{number} less",
                rows,
                smaller.informed(),
            )


def _clipped(population: Population, rows: npt.NDArray[np.int64]) -> Iterator[Remedy]:
    levels = [level for share in _CLIPS for level in (share, 1 - share)]
    limits = np.quantile(population.values, levels, axis=0)
    for share, low, high in zip(_CLIPS, limits[::2], limits[1::2], strict=True):
        values = np.clip(population.values, low, high)
        moved = float(np.abs(values.mean(axis=0) - population.values.mean(axis=0)).max())
        shift = moved * float(np.sqrt(population.n))
        yield remedy_of(
            "winsorising",
            f"columns clipped at {100 * share:g} % and {100 - 100 * share:g} %",
            f"moves a mean by up to {shift:.2g} standard errors",
            rows,
            population.informed_of(values),
            clipped=share,
            mean_shift=shift,
        )


def _without_worst(population: Population, rows: npt.NDArray[np.int64]) -> Iterator[Remedy]:
    """Leave the worst records out: those behind them become the unusual ones."""
    order = np.argsort(-population.informed(), kind="stable")
    for count in _LEAVES:
        rest = population.size - count
        if rest < 3 or (rest < population.dim + 2 and not population.shrinkage):
            continue
        if population.finite and population.n > rest - 2:
            continue
        keep = np.sort(order[count:])
        number = "the worst record" if count == 1 else f"the {count} worst records"
        yield remedy_of(
            "fewer records",
            f"without {number}",
            "the next records stand out more",
            rows[keep],
            population.informed_of(population.values[keep]),
        )


def _more_records(
    population: Population, budget: Budget, rows: npt.NDArray[np.int64]
) -> Iterator[Remedy]:
    """Average more records: of the same population, or of this table if it is the population."""
    sizes = [population.n * growth for growth in _GROWTHS]
    if not population.finite:
        worst = float(population.informed().max()) * population.n
        enough = budget.fewest_records(worst, MOST_RECORDS)
        sizes += [] if enough is None or enough <= population.n else [enough]
    for n in sorted(set(sizes)):
        if population.finite and n >= population.size:
            continue
        scores = population.with_n(n).informed()
        missing = max(n - population.size, 0)
        yield remedy_of(
            "larger n",
            f"the mean of {n} records",
            f"{missing} more records than there are" if missing else "none",
            rows,
            scores,
            records_missing=missing,
        )
