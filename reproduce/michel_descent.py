"""Figure 7 of T. Michel, D. Basu and E. Kaufmann, sequential membership inference: SGD.

Linear regression in 5 dimensions, 10 steps of SGD on fresh batches of 50, all parameters seen; the
target's record is in one batch. Mean and covariance of a record's gradient are known at every
parameter, so that SeMI-SGD needs no references. Gradients are not Gaussian, but the mean of its
statistic depends on their first two moments alone: both means, with and without the target, are
exact given the parameters before the step, and are checked at every step.

The paper does not define its target. Two targets are used, of squared Mahalanobis distance 400 at
the optimum; they differ in the angle between their inputs and the optimum. The paper makes three
statements about the step of the target. That SeMI-SGD has the largest power at every step holds for
both targets. That its power hardly changes holds for neither: it grows as gradients become smaller.
That the power of the Delta attacks falls holds for one target; for the other it grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import games, sequential, tradeoff
from reproduce._batch_game import require_both
from reproduce._outcome import (
    SEEN,
    STANDARD_ERRORS,
    Above,
    AtLeast,
    Outcome,
    Row,
    standard_error,
)
from reproduce._sequences import (
    back_front_diff,
    back_front_ratio,
    delta_diff,
    delta_ratio,
    mean_llr,
)
from reproduce.michel import PAPER

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

DIM, STEPS, N, RATE, LEVEL = 5, 10, 50, 0.05, 0.01
OPTIMUM = np.eye(DIM)[0]
COSINES = {"A": -1.0 / 3.0, "B": 0.3}  # between the target's inputs and the optimum
SIZE, RESIDUAL = 4.0, 5.0  # length of the target's inputs, and its residual at the optimum
SEMI, DELTA, RATIO, FRONT, FRONT_RATIO = ATTACKS = (
    "SeMI-SGD",
    "Delta diff",
    "Delta ratio",
    "Back-Front diff",
    "Back-Front ratio",
)
_ENOUGH = 10_000  # rounds by which a power is seen to grow or fall with the step
TRAINING = games.Training("linear", N, STEPS, RATE)


@dataclass(frozen=True)
class Played:
    """Scores of all attacks on a target in one step."""

    member: Flags
    scores: dict[str, Doubles]
    expected: tuple[Doubles, Doubles]  # means of SeMI-SGD given the parameters: out, in

    def power(self, attack: str) -> tuple[float, float]:
        """Return the power at alpha = .01 and its standard error."""
        scores = self.scores[attack]
        inside, outside = scores[self.member], scores[~self.member]
        cuts = np.quantile(outside, [1.0 - 1.5 * LEVEL, 1.0 - LEVEL, 1.0 - 0.5 * LEVEL])
        more, power, less = (float((inside > cut).mean()) for cut in cuts)
        of_cut = (more - less) / LEVEL  # slope of the ROC curve: the cut is estimated, too
        variance = power * (1.0 - power) / inside.size + of_cut**2 * LEVEL / outside.size
        return power, float(np.sqrt(variance))

    def mean_rows(self, name: str) -> list[Row]:
        """Compare the means of SeMI-SGD with the exact ones."""
        rows = []
        for word, flags, means in zip(
            ("out", "in"), (~self.member, self.member), self.expected, strict=True
        ):
            found, mean = self.scores[SEMI][flags], means[flags]
            error = STANDARD_ERRORS * standard_error(found - mean)
            rows.append(
                Row(f"{name}: mean, {word}", float(found.mean()), float(mean.mean()), error)
            )
        return rows


def population() -> games.Gaussian:
    """Inputs and response of a record: N(0, I), and optimum'x plus a standard normal error."""
    cov = np.eye(DIM + 1)
    cov[DIM, :DIM] = cov[:DIM, DIM] = OPTIMUM
    cov[DIM, DIM] = OPTIMUM @ OPTIMUM + 1.0
    return games.Gaussian(np.zeros(DIM + 1), cov)


def target(cosine: float) -> Doubles:
    """Return the record of a target."""
    x = SIZE * np.concatenate(([cosine, np.sqrt(1.0 - cosine**2)], np.zeros(DIM - 2)))
    return np.append(x, OPTIMUM @ x + RESIDUAL)


def play(cosine: float, step: int, rounds: int, rng: np.random.Generator) -> Played:
    """Play rounds with a target in one step, counted from 0."""
    z = target(cosine)
    theta, member, _ = games.dpsgd(population(), z, TRAINING, step, rounds, rng)
    require_both(member)
    law = sequential.linear_regression(theta[:, step], OPTIMUM, np.ones(DIM), 1.0, z[:-1], z[-1])
    losses = TRAINING.losses(theta, z)
    scores = {
        SEMI: law.llr((theta[:, step] - theta[:, step + 1]) / RATE, N),
        DELTA: delta_diff(losses),
        RATIO: delta_ratio(losses),
        FRONT: back_front_diff(losses),
        FRONT_RATIO: back_front_ratio(losses),
    }
    return Played(member, scores, mean_llr(law.squared_mahalanobis, N, DIM))


def reproduce(*, rounds: int = 10_000, seed: int = 1) -> Outcome:
    """Play target A in every step, and B in the first and the last."""
    rng = np.random.default_rng(seed)
    places = {"A": range(STEPS), "B": (0, STEPS - 1)}
    played = {
        (name, step): play(COSINES[name], step, 2 * rounds, rng)
        for name, steps in places.items()
        for step in steps
    }
    powers = {
        (*place, attack): game.power(attack) for place, game in played.items() for attack in ATTACKS
    }
    rows: list[Row] = []
    for (name, step), game in played.items():
        rows += game.mean_rows(f"{name}, step {step + 1}")
        best = max(ATTACKS[1:], key=lambda attack: powers[name, step, attack][0])
        what = f"{name}, step {step + 1}: power - {best}"
        rows.append(
            AtLeast(what, *_apart(powers, (name, step, SEMI), (name, step, best), STANDARD_ERRORS))
        )
    last = STEPS - 1
    for name, attack, first, second in (
        ("A", SEMI, last, 0),
        ("B", SEMI, last, 0),
        ("A", DELTA, last, 0),
        ("B", DELTA, 0, last),
    ):
        pair = (name, first, attack), (name, second, attack)
        what = f"{name}, {attack}: power, step {first + 1} - {second + 1}"
        if rounds >= _ENOUGH:
            rows.append(Above(f"{what} (>)", *_apart(powers, *pair, SEEN)))
        else:
            rows.append(AtLeast(what, *_apart(powers, *pair, STANDARD_ERRORS)))
    title = f"{PAPER}, Figure 7: SGD on a linear regression, batches of {N}"
    curves = {"powers": powers, "middle": played["A", 4]}
    return Outcome(title, rounds, seed, tuple(rows), curves, tuple(_notes(powers)))


def _apart(powers: Any, first: Any, second: Any, errors: int) -> tuple[float, float, float]:
    """Return the distance of two powers, 0, and a number of standard errors of it."""
    (one, its), (other, others) = powers[first], powers[second]
    return one - other, 0.0, errors * float(np.hypot(its, others))


def _notes(powers: dict[Any, tuple[float, float]]) -> list[str]:
    lines = []
    for name, cosine in COSINES.items():
        told = [
            f"{attack} {powers[name, 0, attack][0]:.3f} -> {powers[name, STEPS - 1, attack][0]:.3f}"
            for attack in (SEMI, DELTA, FRONT)
        ]
        lines.append(
            f"Power at .01, target {name} (cosine {cosine:.2f}), step 1 -> 10: ",
        )
        lines[-1] += ", ".join(told)
    square = RESIDUAL**2 * SIZE**2
    limit = float(tradeoff.gaussian_mean(square, N, DIM).power(LEVEL))
    lines.append(f"Were gradients Gaussian and parameters at the optimum: SeMI-SGD {limit:.3f}")
    return lines


def draw(outcome: Outcome, path: Path) -> None:
    """Draw ROC curves of step 5, and power against the step."""
    from matplotlib.figure import Figure

    from leakscore.audit import Audit

    figure = Figure(figsize=(10.5, 4.7), layout="constrained")
    first, second = figure.subplots(1, 2)
    game, powers = outcome.curves["middle"], outcome.curves["powers"]
    for i, attack in enumerate(ATTACKS):
        scores = game.scores[attack]
        roc = Audit(scores[game.member], scores[~game.member]).roc()
        places = np.linspace(0, len(roc.fpr) - 1, 1000).astype(int)
        first.plot(roc.fpr[places], roc.tpr[places], color=f"C{i}", label=attack)
        own = np.array([powers["A", step, attack] for step in range(STEPS)])
        second.errorbar(
            range(1, STEPS + 1), own[:, 0], yerr=own[:, 1], color=f"C{i}", fmt="o-", ms=4
        )
        ends = [powers["B", step, attack][0] for step in (0, STEPS - 1)]
        second.plot((1, STEPS), ends, "s--", color=f"C{i}", ms=4, lw=0.8, mfc="white")
    first.plot([0, 1], [0, 1], color="0.7", lw=0.8, zorder=0)
    first.set(title="(a) target A in step 5", xlabel="alpha", ylabel="power", aspect="equal")
    first.legend(fontsize=8, loc="lower right")
    second.plot([], [], "o-", color="0.4", label="target A")
    second.plot([], [], "s--", color="0.4", mfc="white", label="target B")
    second.set(title=f"(b) power at alpha = {LEVEL:g}", xlabel="step of the target", ylim=0)
    second.legend(fontsize=8)
    figure.suptitle(outcome.title, fontsize=11)
    figure.savefig(path, dpi=150)
