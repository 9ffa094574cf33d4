"""SeMI-SGD in every step of a fine-tuning by DP-SGD, on Fashion-MNIST of 14 x 14 pixels.

The records, the start and the target are those of figure 3 (`michel_audit`) on smaller pictures,
which cost a quarter of the work. At every step of every round the mean of 1000 held-out references'
clipped gradients, and the target's, are taken at the parameters of that step. Their covariance is
that at the start: fitted again in each step it would cost a factorisation a step and round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from leakscore import games, sequential, tradeoff
from reproduce import michel_audit
from reproduce._outcome import STANDARD_ERRORS, Row
from reproduce.azize_training import load
from reproduce.michel_audit import BATCH, CLASSES, CLIP, DELTA, RATE, Setup, training_of

Doubles = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

RIDGE = 0.5  # of the mean variance, without noise: the covariance is singular


def small_setup(data: tuple[Path, ...], rng: np.random.Generator) -> Setup:
    """Read the pictures, average pixels of 2 x 2, and prepare."""
    images, labels = load(data)
    rows, columns = (side // 2 for side in images.shape[1:])
    even = images[:, : 2 * rows, : 2 * columns]
    small = even.reshape(len(images), rows, 2, columns, 2).mean(axis=(2, 4), dtype=np.float32)
    return Setup.of(michel_audit.records_of(small, labels), rng)


@dataclass(frozen=True)
class Rounds:
    """Ratios of the scored steps, losses of the target, and the truth, one round a row."""

    ratios: Doubles  # (R, scored)
    leakage: Doubles  # (R, scored), the squared separation that the references predict
    losses: Doubles  # (R, T + 1)
    member: Flags
    step: Indices


@dataclass(frozen=True)
class FineTuning:
    """The game at a noise multiplier, and its exact law."""

    setup: Setup
    noise: float
    mean: Doubles = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", self._means(self.setup.start[np.newaxis])[0])

    @property
    def epsilon(self) -> float:
        """Epsilon of the game at DELTA, which no test exceeds."""
        return float(sequential.game_tradeoff(self.noise).epsilon(DELTA))

    def play(
        self, insertion: int | Literal["uniform"], steps: int, rounds: int, rng: np.random.Generator
    ) -> Rounds:
        """Play; of a target in a known step, the last one, only that step is scored."""
        setup, training = self.setup, training_of(self.noise, self.setup.start, steps)
        first = steps - 1 if isinstance(insertion, int) else 0

        def seen(theta: Doubles) -> Doubles:
            ratios, leakage = self.scored(theta[:, first:], training.noise_std)
            return np.concatenate([ratios, leakage, training.losses(theta, setup.target)], axis=1)

        found, member, step = games.dpsgd(
            setup.pool, setup.target, training, insertion, rounds, rng, score=seen
        )
        scored = steps - first
        ratios, leakage, losses = np.split(found, [scored, 2 * scored], axis=1)
        return Rounds(ratios, leakage, losses, member, step)

    def scored(self, theta: Doubles, std: float) -> tuple[Doubles, Doubles]:
        """Return the ratios of all steps, and what the references predict for them."""
        before, moved = theta[:, :-1], (theta[:, :-1] - theta[:, 1:]) / RATE
        shift = self._means(before.reshape(-1, before.shape[-1])).reshape(before.shape) - self.mean
        own = training_of(0.0, self.setup.start).gradients(before, self.setup.target) - shift
        known = self.setup.reference
        if std == 0.0:
            known = known.add_diagonal(RIDGE * float(known.variances.mean()))
        ratios = sequential.gradient_llr(moved - shift, own, known, BATCH, noise_std=std)
        noisy = known.add_diagonal(BATCH * std**2) if std else known
        flat = own.reshape(-1, own.shape[-1])
        leakage = noisy.squared_mahalanobis(flat).reshape(ratios.shape) / BATCH
        return ratios, leakage

    def _means(self, theta: Doubles) -> Doubles:
        """Return the references' mean clipped gradient at each of the parameters, (p, k)."""
        records = self.setup.known
        x, labels = records[:, :-1], records[:, -1].astype(np.intp)
        weights = theta.reshape(-1, x.shape[1]).astype(np.float32)  # (p classes, inputs)
        out = (x @ weights.T).reshape(len(x), -1, CLASSES)
        out -= out.max(axis=2, keepdims=True)
        np.exp(out, out=out)
        out /= out.sum(axis=2, keepdims=True)
        out[np.arange(len(x)), :, labels] -= 1.0
        sizes = np.sqrt(np.einsum("ipc,ipc->ip", out, out) * np.einsum("ij,ij->i", x, x)[:, None])
        out *= np.minimum(1.0, CLIP / np.maximum(sizes, 1e-30))[:, :, np.newaxis]
        total = out.reshape(len(x), -1).T @ x
        return np.asarray(total, dtype=np.float64).reshape(theta.shape) / len(x)


def separation_row(name: str, members: Doubles, nonmembers: Doubles, leakage: Doubles) -> Row:
    """Compare the separation of a step's ratios with that predicted; a tenth is allowed beside."""
    played = michel_audit.Played(0.0, {michel_audit.SEMI: (members, nonmembers)}, 0.0)
    mu, error = played.separated()
    predicted = float(np.sqrt(leakage.mean()))
    return Row(name, mu, predicted, STANDARD_ERRORS * error + 0.1 * predicted)


def noise_of(epsilon: float) -> float:
    """Return the noise multiplier at which this is epsilon of the game at DELTA."""
    from scipy.optimize import brentq

    def excess(mu: float) -> float:
        return float(tradeoff.gaussian(mu).epsilon(DELTA)) - epsilon

    return 2.0 / float(brentq(excess, 1e-3, 50.0, xtol=1e-12))
