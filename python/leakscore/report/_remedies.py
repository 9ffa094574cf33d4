"""What brings the worst record down: noise under a budget, and the cheaper changes re-scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import leakage, tradeoff
from leakscore.report._leakage import Population, above, risk_of
from leakscore.report._model import Doubles, Game, Noise, Remedy

__all__ = ["MOST_RECORDS", "Budget", "noise_of", "remedies_of", "remedy_of"]

_DROPS = (1, 3, 5)
_CLIPS = (0.01, 0.05)
_LEAVES = (1, 5)
_GROWTHS = (2, 5)
MOST_RECORDS = 10**12


@dataclass(frozen=True)
class Budget:
    """The most that may leak of any record: an advantage, or a Gaussian (epsilon, delta)."""

    max_advantage: float
    epsilon: float | None
    delta: float

    def options(self) -> dict[str, Any]:
        """Return the keywords of `leakage.noise_for`."""
        if self.epsilon is not None:
            return {"epsilon": self.epsilon, "delta": self.delta}
        return {"max_advantage": self.max_advantage}

    def met_by(self, score: float) -> bool:
        """Tell whether a leakage score is under the budget."""
        if np.isinf(score):
            return False
        curve = tradeoff.gaussian(leakage=score)
        if self.epsilon is not None:
            return bool(curve.delta(self.epsilon) <= self.delta)
        return bool(curve.advantage() <= self.max_advantage)

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
) -> Noise:
    """Find the noise that brings every record `among` them, left out, under the budget; play it.

    Noise changes which record is worst, so the noise of the worst record is found, all records
    are scored again, and so on until the worst is the one that the noise was found for.
    """
    candidates = np.arange(population.size)[among]

    def worst_of(scores: Doubles) -> int:
        return int(candidates[np.argmax(scores[among])])

    scores = population.informed()
    index, noise = worst_of(scores), 0.0
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
        if worst_of(scores) == index:
            break
        index = worst_of(scores)
    after = risk_of(scores[[index]], None)
    return Noise(
        budget=budget.options(),
        binding_row=int(rows[index]),
        standard_errors=noise * np.sqrt(population.n / population.correction),
        noise_std=dict(zip(columns, (noise * population.scale).tolist(), strict=True)),
        leakage=float(after.leakage[0]),
        advantage=float(after.advantage[0]),
        power=float(after.power[0]),
        game=play(index, noise),
    )


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
        smaller = population.replaced(population.values[:, kept])
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
    for share in _CLIPS:
        low, high = np.quantile(population.values, [share, 1 - share], axis=0)
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
