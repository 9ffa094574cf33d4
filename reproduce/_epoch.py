"""One epoch of SGD as a membership game: the training, the attacker's knowledge and scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import Reference, canaries
from leakscore.scores import covariance_score, scalar_product
from leakscore.whitebox import aggregate
from reproduce._models import Bytes, Floats, Model

Doubles = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Attack = tuple[str, str]  # which coordinates of a model the attacker sees, and one of ATTACKS

NAMES = ("easy", "medium", "hard")
ATTACKS = ("covariance", "scalar")
LEARNING_RATE = 1e-3
RIDGE = 0.5  # of the mean variance of a coordinate
_BLOCK = 25  # rounds that are scored together: few passes over the references


@dataclass(frozen=True)
class Sizes:
    """Numbers of records, batches and steps."""

    references: int = 1000
    candidates: int = 1000
    batch: int = 64
    steps: int = 10

    @property
    def private(self) -> int:
        """Records of the private set: every one is in one batch."""
        return self.batch * self.steps

    @property
    def least(self) -> int:
        """Number of records that a game needs at least: the population is twice a private set."""
        return self.references + self.candidates + 3 * self.private


@dataclass(frozen=True)
class Records:
    """Images and labels, and the roles of the records."""

    images: Bytes
    labels: Bytes
    references: Indices
    own: Indices  # on which the attacker trains to see where a training goes
    candidates: Indices
    population: Indices

    def take(self, rows: npt.ArrayLike) -> tuple[Bytes, Bytes]:
        """Return images and labels of some rows."""
        return self.images[rows], self.labels[rows]  # type: ignore[index]


def divide(images: Bytes, labels: Bytes, sizes: Sizes, rng: np.random.Generator) -> Records:
    """Give every record one role."""
    if len(images) < sizes.least:
        raise ValueError(f"There must be at least {sizes.least} images, not {len(images)}")
    ends = np.cumsum([sizes.references, sizes.private, sizes.candidates])
    return Records(images, labels, *np.split(rng.permutation(len(images)), ends))


def train(model: Model, theta: npt.NDArray[Any], batches: Indices, records: Records) -> Any:
    """Return the parameters before the first step of SGD and after each."""
    path = np.empty((len(batches) + 1, theta.size), dtype=theta.dtype)
    path[0] = theta
    for t, batch in enumerate(batches):
        step = model.mean_gradient(path[t], *records.take(batch))
        path[t + 1] = path[t] - theta.dtype.type(LEARNING_RATE) * step
    return path


@dataclass(frozen=True)
class Attacker:
    """An attacker who sees some coordinates of every step, and knows a gradient's law there."""

    columns: slice
    references: tuple[Reference, ...]

    def scores(self, released: Floats, target: Floats, t: int, batch: int) -> tuple[Any, Any]:
        """Covariance score and scalar product of the rows: step t of many trainings."""
        reference = self.references[t]
        x, z = released[:, self.columns], target[:, self.columns]
        covariance = covariance_score(x, z, reference, batch, paired=True)
        return covariance, scalar_product(x, z, reference.mean, paired=True)


def attackers(
    model: Model, records: Records, sizes: Sizes, views: dict[str, slice]
) -> tuple[dict[str, Attacker], npt.NDArray[Any]]:
    """Fit references at the steps of the attacker's own training; return its parameters too."""
    batches = records.own.reshape(sizes.steps, sizes.batch)
    path = train(model, model.start, batches, records)
    references: dict[str, list[Reference]] = {name: [] for name in views}
    for theta in path[:-1]:
        gradients = model.gradients(theta, *records.take(records.references))
        for name, columns in views.items():
            part = gradients[:, columns]
            ridge = RIDGE * float(part.var(axis=0, dtype=np.float64).mean())
            references[name].append(Reference.fit(part, "low-rank", ridge=ridge))
    result = {name: Attacker(views[name], tuple(references[name])) for name in views}
    return result, path


def targets(model: Model, records: Records, attacker: Attacker) -> tuple[Indices, Doubles]:
    """Return the candidates of the largest, the middle and the smallest distance at the start."""
    rows = model.gradients(model.start, *records.take(records.candidates))[:, attacker.columns]
    order, distances = canaries.select(rows, attacker.references[0], k=len(rows))
    chosen = [0, (len(rows) - 1) // 2, len(rows) - 1]
    return records.candidates[order[chosen]], distances[chosen]


@dataclass(frozen=True)
class Played:
    """Scores of every attack, (rounds, 3 targets, steps), and the step the target was in."""

    members: dict[Attack, Doubles]
    nonmembers: dict[Attack, Doubles]
    exposed: Indices


def play(
    model: Model,
    records: Records,
    sizes: Sizes,
    chosen: Indices,
    known: dict[str, Attacker],
    rounds: int,
    rng: np.random.Generator,
) -> Played:
    """Train without a target and once with each target in place of a record, and score all steps.

    Up to the step of the target's batch, a training with a target equals the one without it.
    """
    exposed = rng.integers(sizes.steps, size=rounds)
    parts: dict[Attack, list[Doubles]] = {}
    for first in range(0, rounds, _BLOCK):
        trainings = [
            _trainings(model, records, sizes, chosen, int(t), rng)
            for t in exposed[first : first + _BLOCK]
        ]
        released = np.concatenate([training[0] for training in trainings], axis=1)
        gradients = np.concatenate([training[1] for training in trainings], axis=1)
        del trainings
        for view, attacker in known.items():
            scored = [
                attacker.scores(released[t], gradients[t], t, sizes.batch)
                for t in range(sizes.steps)
            ]
            for attack, steps in zip(ATTACKS, zip(*scored, strict=True), strict=True):
                shaped = np.stack(steps, axis=-1).reshape(-1, 2, len(chosen), sizes.steps)
                parts.setdefault((view, attack), []).append(shaped)
    whole = {attack: np.concatenate(blocks) for attack, blocks in parts.items()}
    nonmembers = {attack: scores[:, 0] for attack, scores in whole.items()}
    return Played({attack: scores[:, 1] for attack, scores in whole.items()}, nonmembers, exposed)


def _trainings(
    model: Model,
    records: Records,
    sizes: Sizes,
    chosen: Indices,
    exposed: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return what was released and the targets' gradients, (steps, 2 x 3, d): absent, present."""
    k = len(chosen)
    private = rng.choice(records.population, sizes.private, replace=False)
    batches = private.reshape(sizes.steps, sizes.batch)
    path = train(model, model.start, batches, records)
    released = np.empty((sizes.steps, 2 * k, path.shape[1]), dtype=np.float32)
    gradients = np.empty_like(released)
    released[:] = _released(path)[:, np.newaxis]
    for t in range(sizes.steps):
        gradients[t, :k] = model.gradients(path[t], *records.take(chosen))
    gradients[:, k:] = gradients[:, :k]
    for j, target in enumerate(chosen):
        changed = batches[exposed:].copy()
        changed[0, 0] = target
        rest = train(model, path[exposed], changed, records)
        released[exposed:, k + j] = _released(rest)
        for t in range(exposed + 1, sizes.steps):
            gradient = model.gradients(rest[t - exposed], *records.take([target]))
            gradients[t, k + j] = gradient[0]
    return released, gradients


def _released(path: npt.NDArray[Any]) -> Doubles:
    """Return the averaged gradient of every step, from the parameters."""
    rows = path.astype(np.float64)
    return (rows[:-1] - rows[1:]) / LEARNING_RATE


def epoch_scores(attack: Attack, steps: Doubles) -> Any:
    """Combine the steps of an epoch, as an attack does."""
    return aggregate(steps, "one-epoch" if attack[1] == "covariance" else "max")
