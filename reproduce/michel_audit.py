"""Figure 3 of T. Michel, D. Basu and E. Kaufmann, sequential membership inference: an audit.

Softmax regression on Fashion-MNIST, trained on public records and then by 10 steps of DP-SGD on
fresh batches of 64. The target is, of 2000 records, the one whose clipped gradient is farthest from
those of 1000 held-out references (Mahalanobis, with the noise of multiplier 1). It is in the first
batch: the parameters before it are the same in all rounds, so the references' gradients are needed
once. SeMI-SGD is the exact log-likelihood ratio of that step with its noise; "final" is that of the
mean of all steps, for an attacker who sees only the last parameters; the others use the target's
loss.

A bound on epsilon is compared with the epsilon of this game. Batches are fresh and another record
replaces the target, so this is the epsilon of one Gaussian mechanism of mu = 2 over the noise
multiplier, not an accountant's for ten steps and adding a record. A third number is the largest
bound that so many rounds can certify. The references predict the separation of the ratio's two
means, in its standard deviations: the target's Mahalanobis distance in the law of a noisy step. It
is checked against the measured one.

PyTorch is not needed: the gradients of softmax regression have a closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import canaries, games, sequential, tradeoff
from leakscore.audit import Audit, EpsilonBound
from leakscore.reference import Reference
from reproduce._auc import Auc
from reproduce._outcome import STANDARD_ERRORS, AtLeast, Outcome, Row
from reproduce._sequences import back_front_diff, back_front_ratio, delta_diff, delta_ratio
from reproduce.azize_training import load
from reproduce.michel import PAPER

Doubles = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]

CLASSES, BATCH, STEPS, RATE, CLIP, DELTA = 10, 64, 10, 0.5, 1.0, 1e-4
PUBLIC, REFERENCES, CANDIDATES = 10_000, 1000, 2000
NOISES = (4.0, 2.0, 1.0, 0.5)  # noise multipliers
ATTACKS = (
    SEMI,
    FINAL,
    *LOSSES,
) = (
    "SeMI-SGD",
    "final",
    "Delta diff",
    "Delta ratio",
    "Back-Front diff",
    "Back-Front ratio",
)
OF_LOSSES = (
    delta_diff,
    delta_ratio,
    back_front_diff,
    back_front_ratio,
)


@dataclass(frozen=True)
class Setup:
    """The parts that do not depend on the noise: records, start, target and references."""

    pool: games.Empirical
    start: Doubles
    target: Doubles
    gradient: Doubles  # the target's, clipped
    reference: Reference
    known: Floats  # records that the reference is fitted to

    @classmethod
    def of(cls, records: Floats, rng: np.random.Generator) -> Setup:
        """Divide the records, train on the public ones, and choose the target."""
        order = rng.permutation(len(records))
        ends = np.cumsum([PUBLIC, REFERENCES, CANDIDATES])
        public, references, candidates, pool = (records[part] for part in np.split(order, ends))
        start = pretrained(public, rng)
        training = training_of(0.0, start)
        gradients = training.gradients(start, references)
        reference = Reference.fit(gradients, "low-rank", shrinkage=0.0, ddof=1)
        own = training.gradients(start, candidates)
        noisy = reference.add_diagonal(BATCH * training_of(1.0, start).noise_std ** 2)
        chosen = canaries.select(own, noisy, 1)[0][0]
        return cls(
            games.Empirical(pool), start, candidates[chosen], own[chosen], reference, references
        )

    def play(self, noise: float, rounds: int, rng: np.random.Generator) -> Played:
        """Play rounds at a noise multiplier."""
        training = training_of(noise, self.start)

        def seen(theta: Doubles) -> Doubles:
            moved = [(theta[:, 0] - theta[:, t]) / (RATE * t) for t in (1, STEPS)]
            return np.concatenate([*moved, training.losses(theta, self.target)], axis=1)

        found, member, _ = games.dpsgd(self.pool, self.target, training, 0, rounds, rng, score=seen)
        dim, std = self.start.size, training.noise_std
        first, mean, losses = np.split(found, [dim, 2 * dim], axis=1)
        law = self.gradient, self.reference
        ratio = sequential.gradient_llr(first[:, np.newaxis], *law, BATCH, noise_std=std)
        last = sequential.gradient_llr(
            mean[:, np.newaxis], *law, BATCH * STEPS, noise_std=std / np.sqrt(STEPS)
        )
        scores = [ratio[:, 0], last[:, 0], *(of(losses) for of in OF_LOSSES)]
        pairs = {
            name: (score[member], score[~member])
            for name, score in zip(ATTACKS, scores, strict=True)
        }
        return Played(noise, pairs, self.separation(std))

    def separation(self, std: float) -> float:
        """Return mu from the references: the length of the target's shift in units of their law."""
        away = (self.gradient - self.reference.mean) / BATCH
        known = self.reference.add_diagonal(BATCH * std**2)  # n (C/n + s^2)
        return float(np.sqrt(BATCH * known.squared_mahalanobis(away + known.mean)))


@dataclass(frozen=True)
class Played:
    """Scores of all attacks at a noise multiplier: members, nonmembers."""

    noise: float
    scores: dict[str, tuple[Doubles, Doubles]]
    predicted: float

    @property
    def epsilon(self) -> float:
        """Epsilon of the game, which no test exceeds."""
        return float(sequential.game_tradeoff(self.noise).epsilon(DELTA))

    @property
    def of_target(self) -> float:
        """Epsilon that the best test of this target attains, if gradients are as predicted."""
        return float(tradeoff.gaussian(self.predicted).epsilon(DELTA))

    def bound(self, attack: str) -> EpsilonBound:
        """Certify a lower bound, by the default method."""
        return Audit(*self.scores[attack]).epsilon(DELTA, method="weighted-ell")

    def auc(self, attack: str) -> Auc:
        """Area under the ROC curve of an attack."""
        members, nonmembers = self.scores[attack]
        size = min(members.size, nonmembers.size)
        return Auc.of(members[:size], nonmembers[:size])

    def separated(self) -> tuple[float, float]:
        """Return the measured mu of SeMI-SGD and its standard error."""
        members, nonmembers = self.scores[SEMI]
        spread = np.sqrt(0.5 * (members.var(ddof=1) + nonmembers.var(ddof=1)))
        mu = float((members.mean() - nonmembers.mean()) / spread)
        each = 1.0 / members.size + 1.0 / nonmembers.size
        total = members.size + nonmembers.size
        return mu, float(np.sqrt(each + 0.5 * mu**2 / total))

    def rows(self) -> list[Row]:
        """Check what must hold at any noise."""
        name, own = f"noise {self.noise:g}", self.auc(SEMI)
        rows: list[Row] = [
            AtLeast(
                f"{name}: epsilon - bound, {attack}", self.epsilon, float(self.bound(attack)), 0.0
            )
            for attack in (SEMI, FINAL)
        ]
        mu, error = self.separated()
        slack = STANDARD_ERRORS * error + 0.1 * self.predicted
        rows.append(Row(f"{name}: mu of SeMI-SGD", mu, self.predicted, slack))
        rows += [
            own.at_least(self.auc(attack), f"{name}: AUC - {attack}") for attack in ATTACKS[1:]
        ]
        return rows

    def note(self) -> str:
        """Report the bounds of all attacks."""
        best = self.bound(SEMI)
        bounds = ", ".join(f"{attack} {float(self.bound(attack)):.2f}" for attack in ATTACKS)
        return (
            f"Noise {self.noise:g}, epsilon of the game {self.epsilon:.2f}, of this target "
            f"{self.of_target:.2f}, at most certifiable {best.max_certifiable:.2f}: {bounds}"
        )


def training_of(noise: float, start: Doubles, steps: int | None = None) -> games.Training:
    """Return the training at a noise multiplier, to its end or to an earlier step."""
    return games.Training(
        "logistic",
        BATCH,
        steps or STEPS,
        RATE,
        clip=CLIP,
        noise_multiplier=noise,
        classes=CLASSES,
        start=start,
    )


def pretrained(public: Floats, rng: np.random.Generator) -> Doubles:
    """Return parameters after 300 steps of SGD on public records."""
    order = rng.integers(len(public), size=(300, BATCH))
    training = games.Training("logistic", BATCH, 1, 0.1, classes=CLASSES)
    theta = np.zeros(training.size(public.shape[1] - 1))
    for batch in order:
        theta -= 0.1 * training.gradients(theta, public[batch]).mean(axis=0)
    return theta


def records_of(images: npt.NDArray[Any], labels: npt.NDArray[Any]) -> Floats:
    """Return one record a row: pixels in [0, 1], a constant, and the label."""
    pixels = np.ones((len(images), images[0].size + 2), dtype=np.float32)
    np.divide(images.reshape(len(images), -1), np.float32(255), out=pixels[:, :-2])
    pixels[:, -1] = labels
    return pixels


def reproduce(*, data: tuple[Path, ...], rounds: int = 500, seed: int = 1) -> Outcome:
    """Prepare, and audit at every noise."""
    rng = np.random.default_rng(seed)
    setup = Setup.of(records_of(*load(data)), rng)
    played = [setup.play(noise, 2 * rounds, rng) for noise in NOISES]
    rows = [row for game in played for row in game.rows()]
    title = f"{PAPER}, Figure 3: audit of DP-SGD on Fashion-MNIST, {STEPS} steps of {BATCH}"
    notes = (
        f"Lower bounds on epsilon at delta = {DELTA:g}, confidence .95, target in the first step:",
        *(game.note() for game in played),
        "mu: a tenth is allowed beside 4 standard errors, as references and gradients are what "
        "they are",
    )
    return Outcome(title, rounds, seed, tuple(rows), {"played": played}, notes)


def draw(outcome: Outcome, path: Path) -> None:
    """Draw bounds against the game's epsilon, and the areas against the noise."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 4.8), layout="constrained")
    first, second = figure.subplots(1, 2)
    played = outcome.curves["played"]
    truth = [game.epsilon for game in played]
    first.plot(truth, truth, color="0.5", label="of the game")
    first.plot(truth, [game.of_target for game in played], "--", color="0.5", label="of the target")
    cap = [game.bound(SEMI).max_certifiable for game in played]
    first.plot(truth, cap, ":", color="k", label="at most certifiable")
    for i, attack in enumerate(ATTACKS):
        bounds = [float(game.bound(attack)) for game in played]
        first.plot(truth, bounds, "o-", ms=4, color=f"C{i}", label=attack)
        areas = [game.auc(attack) for game in played]
        second.errorbar(
            [game.noise for game in played],
            [area.value for area in areas],
            yerr=[area.error for area in areas],
            fmt="o-",
            ms=4,
            color=f"C{i}",
        )
    first.set(xlabel=f"epsilon of the game, delta = {DELTA:g}", ylabel="lower bound, .95")
    first.set_xscale("log")
    first.set_ylim(0, 1.3 * max(cap))
    first.set_title("(a) certified")
    first.set_xticks(truth, [f"{value:.2g}" for value in truth], minor=False)
    first.minorticks_off()
    figure.legend(fontsize=8, loc="outside right center")
    second.axhline(0.5, color="0.7", lw=0.8, zorder=0)
    second.set(title="(b) area under the ROC curve", xlabel="noise multiplier", xscale="log")
    second.set_xticks(NOISES, [f"{noise:g}" for noise in NOISES])
    second.minorticks_off()
    figure.suptitle(f"{outcome.title}\n{outcome.rounds} rounds per hypothesis", fontsize=11)
    figure.savefig(path, dpi=150)
