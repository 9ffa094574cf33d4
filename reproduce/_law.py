"""Theory of the attacks on softmax regression: scores with known weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from reproduce._auc import Auc
from reproduce._epoch import (
    ATTACKS,
    NAMES,
    Attack,
    Attacker,
    Doubles,
    Indices,
    Played,
    Records,
    epoch_scores,
)
from reproduce._models import Floats, Logistic
from reproduce._outcome import STANDARD_ERRORS, Row

_DRAWS = 20_000  # of an epoch
_BLOCK = 4000  # records


@dataclass(frozen=True)
class Law:
    """The theory of the scores of one attack, with batches drawn from the whole population.

    The score of a step is the mean over its batch of one value for each record, which depends on
    the step and on the target.
    """

    values: Floats  # of the records of the population, (steps, records, 3)
    own: Doubles  # of the target, (steps, 3)
    batch: int

    @cached_property
    def mean(self) -> Doubles:
        """Mean score of a step without the target, (steps, 3)."""
        return np.asarray(self.values.mean(axis=1, dtype=np.float64))

    @cached_property
    def variance(self) -> Doubles:
        """Variance of the score of a step."""
        return np.asarray(self.values.var(axis=1, dtype=np.float64)) / self.batch

    @cached_property
    def shift(self) -> Doubles:
        """What the target adds to the mean score of the step it is in."""
        return (self.own - self.mean) / self.batch

    @property
    def leakage(self) -> Doubles:
        """Effective leakage of the exposed step."""
        return np.asarray(self.shift.mean(axis=0) ** 2 / self.variance.mean(axis=0))

    def excess(self, target: int) -> float:
        """Excess kurtosis of the score of a step."""
        away = self.values[:, :, target] - self.mean[:, np.newaxis, target]
        fourth = np.square(np.square(away)).mean(axis=1, dtype=np.float64)
        return float(
            (fourth / (self.batch * self.variance[:, target]) ** 2 - 3).mean() / self.batch
        )

    def auc(self, attack: Attack, target: int, rng: np.random.Generator) -> Auc:
        """Area of the epoch, from batches that are drawn with and without the target."""
        steps, records, _ = self.values.shape
        absent = np.empty((_DRAWS, steps))
        replaced = np.empty((_DRAWS, steps))
        for t in range(steps):
            drawn = self.values[t, :, target][rng.integers(records, size=(_DRAWS, self.batch))]
            drawn.mean(axis=1, dtype=np.float64, out=absent[:, t])
            replaced[:, t] = drawn[:, 0]
        exposed = rng.integers(steps, size=_DRAWS)
        exposed_steps = np.arange(_DRAWS), exposed
        present = absent.copy()
        present[exposed_steps] += (self.own[exposed, target] - replaced[exposed_steps]) / self.batch
        return Auc.of(epoch_scores(attack, present), epoch_scores(attack, absent))

    def gaussian_auc(self, attack: Attack, target: int, rng: np.random.Generator) -> float:
        """Area of the epoch if the scores of its steps were Gaussian with these moments."""
        steps = len(self.mean)
        absent = np.sqrt(self.variance[:, target]) * rng.standard_normal((_DRAWS, steps))
        absent += self.mean[:, target]
        exposed = rng.integers(steps, size=_DRAWS)
        present = absent.copy()
        present[np.arange(_DRAWS), exposed] += self.shift[exposed, target]
        return Auc.of(epoch_scores(attack, present), epoch_scores(attack, absent)).value

    def row(self, view: str, attack: Attack, target: int, played: Played) -> Row:
        """Compare the leakage of the exposed step with that of the scores."""
        absent = played.nonmembers[attack][:, target]
        rounds, steps = absent.shape
        exposed_steps = np.arange(rounds), played.exposed
        shift = float(
            (played.members[attack][:, target][exposed_steps] - absent[exposed_steps]).mean()
        )
        measured = shift**2 / float(absent.var(axis=0, ddof=1).mean())
        theory = float(self.leakage[target])
        replaced = 4 * float(self.variance.mean(axis=0)[target]) / (shift**2 * rounds * self.batch)
        spread = (2 + self.excess(target)) / (steps * (rounds - 1))
        allowed = STANDARD_ERRORS * theory * float(np.sqrt(replaced + spread))
        return Row(f"{view}: {NAMES[target]}, leakage, {attack[1]}", measured, theory, allowed)


def laws(
    model: Logistic,
    records: Records,
    batch: int,
    path: npt.NDArray[Any],
    chosen: Indices,
    attacker: Attacker,
) -> dict[str, Law]:
    """Return the laws of both attacks at the steps of the attacker's own training."""
    population, own = [], []
    for theta, known in zip(path[:-1], attacker.references, strict=True):
        rows = model.gradients(theta, *records.take(chosen)).astype(np.float64)
        away = rows - known.mean
        weights = known.solve(away)
        # The covariance score is w'(x - mu0) - M / (2 n), the scalar product (z - mu0)'x.
        constants = weights @ known.mean + np.einsum("jd,jd->j", weights, away) / (2 * batch)
        directions = np.concatenate([weights, away])
        shifts = np.concatenate([constants, np.zeros(len(chosen))])
        values = _population(model, records, theta, directions) - shifts
        population.append(values.astype(np.float32))
        own.append(np.einsum("jd,jd->j", directions, np.concatenate([rows, rows])) - shifts)
    values, mine = np.stack(population), np.array(own)
    k = len(chosen)
    return {
        attack: Law(values[:, :, half], mine[:, half], batch)
        for attack, half in zip(ATTACKS, (slice(0, k), slice(k, None)), strict=True)
    }


def _population(
    model: Logistic, records: Records, theta: npt.NDArray[Any], directions: Doubles
) -> Doubles:
    """Return the products of the directions with the gradients of the whole population."""
    rows = records.population
    return np.concatenate(
        [
            model.projections(theta, directions, *records.take(rows[i : i + _BLOCK]))
            for i in range(0, len(rows), _BLOCK)
        ]
    )
