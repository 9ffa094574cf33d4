"""Section 7.3 and figure 7 of Kaissis et al. (NeurIPS 2023): noise calibrated to the relaxed model.

For the paper's trainings on CIFAR-10 and SNLI: epsilon and the reconstruction bound gamma = 1 -
f(.1) of each attacker at the paper's noise, the noise at which epsilon is 1 for the relaxed
attacker who assumes a new unknown direction in every step (the paper's product of statistics), and
the epsilons of the other attackers at that noise. Reconstruction bounds are checked by playing the
attacks, epsilon of the informed attacker with the PLD accountant of Google's dp-accounting 0.6.0.

Differences from the paper: it states that its noise gives the informed attacker epsilon = 1, which
is the looser RDP figure (PLD: .920 and .747), and that epsilons of about 6 and 2.5 correspond to
the calibrated noise (here: 4.45 and 1.62). The calibrated noise also does not keep the "same
membership guarantee": on CIFAR-10 the attacker who assumes the same unknown sign in all steps
("aligned") reaches a power of .27 at alpha = .1, where .15 was claimed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import tradeoff
from leakscore.games import GameSummary, summarize
from leakscore.tradeoff import TradeOff
from reproduce._outcome import SEEN, STANDARD_ERRORS, Above, Outcome, Row

Doubles = npt.NDArray[np.float64]

ALPHA = 0.1
ADVERSARIES: tuple[Any, ...] = ("informed", "relaxed-unaligned", "relaxed-aligned")
TITLE = "Kaissis et al. (2023), section 7.3: noise calibrated to a relaxed attacker"


@dataclass(frozen=True)
class Training:
    """A training of the paper, and epsilon of the informed attacker by dp-accounting's PLD."""

    name: str
    noise: float
    rate: float
    steps: int
    delta: float
    accountant: float

    def curve(self, noise: float, adversary: Any) -> TradeOff:
        """Return the curve of one attacker."""
        return tradeoff.subsampled_gaussian(noise, self.rate, self.steps, adversary=adversary)

    def calibrated(self, epsilon: float = 1.0, adversary: Any = "relaxed-unaligned") -> float:
        """Return the noise at which an attacker has this epsilon."""
        return float(
            tradeoff.calibrate(
                "subsampled_gaussian",
                epsilon=epsilon,
                delta=self.delta,
                sample_rate=self.rate,
                num_steps=self.steps,
                adversary=adversary,
            )
        )


TRAININGS = (
    Training("CIFAR-10", 10.5, 4096 / 50_000, 1000, 1e-5, 0.9199),
    Training("SNLI", 1.15, 4096 / 549_361, 405, 1.8e-6, 0.7473),
)


def reproduce(*, rounds: int = 10_000, seed: int = 1) -> Outcome:
    """Compute the table, and play the attacks at both amounts of noise."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    noises = {}
    for training in TRAININGS:
        noises[training.name] = calibrated = training.calibrated()
        rows += _epsilons(training, calibrated)
        for noise in (training.noise, calibrated):
            rows += _attacks(training, noise, rounds, rng)
    return Outcome(TITLE, rounds, seed, tuple(rows), {"noise": noises}, _told(noises))


def _told(noises: dict[str, float]) -> tuple[str, ...]:
    """Return epsilon of the other attackers at both amounts of noise."""
    lines = []
    for training in TRAININGS:
        for noise in (training.noise, noises[training.name]):
            ends = [
                training.curve(noise, adversary).interval("epsilon", training.delta)
                for adversary in ADVERSARIES
            ]
            told = ", ".join(
                f"{name} [{low:.4f}, {high:.4f}]"
                for name, (low, high) in zip(ADVERSARIES, ends, strict=True)
            )
            lines.append(f"epsilon, {training.name}, noise {noise:.4g}: {told}")
    return tuple(lines)


def _epsilons(training: Training, calibrated: float) -> list[Row]:
    informed = training.curve(training.noise, "informed")
    relaxed = training.curve(calibrated, "relaxed-unaligned")
    return [
        Row(
            f"{training.name}: epsilon, informed [paper 1]",
            float(informed.epsilon(training.delta)),
            training.accountant,
            1e-4,
        ),
        Row(
            f"{training.name}: epsilon, relaxed, at noise {calibrated:.4f}",
            float(relaxed.epsilon(training.delta)),
            1.0,
            1e-3,
        ),
    ]


def _attacks(training: Training, noise: float, rounds: int, rng: np.random.Generator) -> list[Row]:
    """Compare gamma(.1) with simulation; the aligned attacker's is only known within bounds."""
    member = np.repeat([False, True], rounds)
    parts = [
        step_ratios(training, noise, flags, rng)
        for flags in np.array_split(member, max(member.size * training.steps >> 21, 1))
    ]
    rows, found = [], {}
    for adversary, score in zip(ADVERSARIES, np.concatenate(parts, axis=1), strict=True):
        found[adversary] = summary = summarize(score, member, alpha=ALPHA)
        low, high = training.curve(noise, adversary).interval("power", ALPHA)
        allowed = 0.5 * float(high - low) + STANDARD_ERRORS * float(summary.power_se[0])
        name = f"{training.name}, noise {noise:.4g}: gamma, {adversary}"
        rows.append(Row(name, float(summary.power[0]), 0.5 * float(low + high), allowed))
    return rows + _beaten(training, noise, found)


def _beaten(training: Training, noise: float, found: dict[str, GameSummary]) -> list[Row]:
    """On CIFAR-10 the aligned attack does better than the claim for the calibrated noise."""
    if training.name != "CIFAR-10" or noise == training.noise:
        return []
    aligned = found["relaxed-aligned"]
    claimed = float(training.curve(noise, "relaxed-unaligned").power(ALPHA))
    least = SEEN * float(aligned.power_se[0])
    return [Above("CIFAR-10: aligned > claimed", float(aligned.power[0]), claimed, least)]


def step_ratios(
    training: Training, noise: float, member: npt.NDArray[np.bool_], rng: np.random.Generator
) -> Doubles:
    """Return the log-likelihood ratios of the informed, the unaligned and the aligned attacker."""
    mu, p = 1.0 / noise, training.rate
    x = rng.standard_normal((member.size, training.steps))
    x[member] += mu * (rng.random((int(member.sum()), training.steps)) < p)
    plus, minus = (
        np.log1p(p * np.expm1(sign * mu * x - 0.5 * mu * mu)).sum(axis=1) for sign in (1, -1)
    )
    size = np.log1p(p * (np.exp(-0.5 * mu * mu) * np.cosh(mu * x) - 1.0)).sum(axis=1)
    return np.array([plus, size, np.logaddexp(plus, minus)])


def draw(outcome: Outcome, path: Path) -> None:
    """Draw gamma against the noise for each training."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 4.6), layout="constrained")
    for axes, training in zip(figure.subplots(1, 2), TRAININGS, strict=True):
        _draw_training(axes, training, outcome.curves["noise"][training.name])
    figure.suptitle(outcome.title, fontsize=11)
    figure.savefig(path, dpi=150)


def _draw_training(axes: Any, training: Training, calibrated: float) -> None:
    noises = np.geomspace(0.7 * calibrated, 1.5 * training.noise, 12)
    for adversary, colour in zip(ADVERSARIES, ("black", "C0", "C3"), strict=True):
        curves = [training.curve(float(noise), adversary) for noise in noises]
        low, high = np.array([curve.interval("power", ALPHA) for curve in curves]).T
        if adversary == "relaxed-aligned":
            axes.fill_between(noises, low, high, color=colour, alpha=0.2, lw=0, label=adversary)
        else:
            axes.plot(noises, high, color=colour, label=adversary)
    axes.axvline(training.noise, color="0.5", lw=0.8, ls="--", label="the paper's noise")
    axes.axvline(calibrated, color="0.5", lw=0.8, ls=":", label="calibrated to unaligned")
    axes.axhline(ALPHA, color="0.8", lw=0.8)
    axes.set(title=f"{training.name}: {training.steps} steps", xscale="log")
    axes.set(xlabel="noise multiplier", ylabel=r"reconstruction bound $\gamma(.1)$")
    axes.legend(fontsize=8)
