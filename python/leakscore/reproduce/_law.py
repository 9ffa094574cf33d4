"""Theory of the attacks on softmax regression: Gaussian scores of weights that are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.audit import Audit
from leakscore.reproduce._epoch import (
    NAMES,
    Attack,
    Attacker,
    Doubles,
    Indices,
    Played,
    Records,
    epoch_scores,
)
from leakscore.reproduce._models import Logistic
from leakscore.reproduce._outcome import STANDARD_ERRORS, Row

_DRAWS = 100_000  # of an epoch
_BLOCK = 4000  # records


@dataclass(frozen=True)
class Law:
    """What theory says of the scores of one attack: Gaussian, by step and target."""

    mean: Doubles  # of a step without the target, (steps, 3)
    variance: Doubles
    shift: Doubles  # where the target is in the batch
    excess: Doubles  # kurtosis
    batch: int

    @property
    def leakage(self) -> Doubles:
        """Effective leakage of the exposed step."""
        return np.asarray(self.shift.mean(axis=0) ** 2 / self.variance.mean(axis=0))

    def auc(self, attack: Attack, target: int, rng: np.random.Generator) -> float:
        """Area of the epoch, drawn."""
        steps = len(self.mean)
        absent, present = (
            self.mean[:, target]
            + np.sqrt(self.variance[:, target]) * rng.standard_normal((_DRAWS, steps))
            for _ in range(2)
        )
        exposed = rng.integers(steps, size=_DRAWS)
        present[np.arange(_DRAWS), exposed] += self.shift[exposed, target]
        return Audit(epoch_scores(attack, present), epoch_scores(attack, absent)).auc()

    def row(self, view: str, attack: Attack, target: int, played: Played) -> Row:
        """Compare the leakage of the exposed step with that of the scores."""
        absent = played.nonmembers[attack][:, target]
        rounds, steps = absent.shape
        here = np.arange(rounds), played.exposed
        shift = float((played.members[attack][:, target][here] - absent[here]).mean())
        measured = shift**2 / float(absent.var(axis=0, ddof=1).mean())
        theory = float(self.leakage[target])
        replaced = 4 * float(self.variance.mean(axis=0)[target]) / (shift**2 * rounds * self.batch)
        spread = (2 + float(self.excess[:, target].mean())) / (steps * (rounds - 1))
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
    found: dict[str, list[tuple[Doubles, ...]]] = {"covariance": [], "scalar": []}
    for theta, known in zip(path[:-1], attacker.references, strict=True):
        rows = model.gradients(theta, *records.take(chosen)).astype(np.float64)
        away = rows - known.mean
        weights = known.solve(away)
        half = np.einsum("jd,jd->j", weights, away) / (2 * batch)
        origins = {"covariance": weights @ known.mean, "scalar": np.zeros(len(chosen))}
        constants = {"covariance": half, "scalar": np.zeros(len(chosen))}
        values = _population(model, records, theta, np.concatenate([weights, away]))
        for attack, part, direction in (
            ("covariance", values[:, : len(chosen)], weights),
            ("scalar", values[:, len(chosen) :], away),
        ):
            mean, variance = part.mean(axis=0), part.var(axis=0)
            shift = np.einsum("jd,jd->j", direction, rows) - mean
            fourth = np.square(np.square(part - mean)).mean(axis=0)
            excess = fourth / variance**2 - 3
            origin = mean - origins[attack] - constants[attack]
            found[attack].append((origin, variance / batch, shift / batch, excess / batch))
    result = {}
    for attack, steps in found.items():
        mean, variance, shift, excess = (np.array(column) for column in zip(*steps, strict=True))
        result[attack] = Law(mean, variance, shift, excess, batch)
    return result


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
