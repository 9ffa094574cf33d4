"""Noise of the shape that costs least in DP-SGD: canaries hidden at a fraction of the noise.

Softmax regression on Fashion-MNIST, trained on public records and then by steps on fresh batches
of 64 with clipped gradients. A list of canaries, the records of 2000 whose gradients are farthest
out, is to be hidden: the advantage of the covariance attack on the first step is at most 0.2.
DP-SGD's noise, the same in all of the 7850 directions, is compared with noise of the shape that
costs least. Both are computed at the parameters before the first step, and kept for all, from a
low-rank reference of held-out records' gradients; the cost is the variance of the noise, added over
all directions. The best shape lies in the span of the references' and the canaries' gradients: in
other directions the reference is its ridge alone, and noise there hides no canary.

This is no differential privacy. The noise hides the canaries of the list and who lies in the same
ellipsoid, from an attacker who is not told the list; a clipped record outside of it leaks more than
the limit, which is checked, too. Isotropic noise of this size bounds every clipped record's leakage
to about the limit, but is far from a small epsilon over many steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from leakscore import canaries, games, leakage, tradeoff
from leakscore.leakage import RequiredNoise, ShapedNoise
from leakscore.reference import Reference
from reproduce._outcome import STANDARD_ERRORS, Above, AtMost, Outcome, Row
from reproduce.azize_training import load

Doubles = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
Law = Literal["none", "isotropic", "shaped"]

CLASSES, BATCH, STEPS, RATE, CLIP, LIMIT = 10, 64, 100, 1.0, 1.0, 0.2
PUBLIC, REFERENCES, CANDIDATES, CANARIES, TEST = 2000, 150, 2000, 10, 5000
LAST = 25  # steps whose accuracy is averaged
POOL = 3000  # records whose gradients the game draws
RIDGE = 0.1  # of the mean variance
LAWS: tuple[Law, ...] = ("none", "isotropic", "shaped")


@dataclass(frozen=True)
class Setup:
    """Records by their part, and the parameters from which all trainings start."""

    references: Floats
    canaries: Floats
    others: Floats
    pool: Floats
    test: Floats
    start: Doubles

    @classmethod
    def of(cls, records: Floats, rng: np.random.Generator) -> Setup:
        """Divide the records, train on the public ones, and choose the canaries."""
        order = rng.permutation(len(records))
        ends = np.cumsum([PUBLIC, REFERENCES, CANDIDATES, TEST])
        public, references, candidates, test, pool = (
            records[part] for part in np.split(order, ends)
        )
        start = pretrained(public, rng)
        known = reference_of(gradients(start, references))
        chosen = canaries.select(gradients(start, candidates), known, CANARIES)[0]
        others = np.delete(candidates, chosen, axis=0)
        return cls(references, candidates[chosen], others, pool, test, start)


@dataclass(frozen=True)
class Step:
    """The noise of both laws on a step's averaged gradient, at some parameters."""

    reference: Reference
    own: Doubles
    """The canaries' gradients."""
    isotropic: RequiredNoise
    shaped: ShapedNoise
    """In the basis of the directions of references and canaries."""
    factor: Doubles
    """Of the shaped noise, in all directions."""

    @classmethod
    def at(cls, theta: Doubles, setup: Setup) -> Step:
        """Find the noise from the gradients of references and canaries."""
        rows, own = gradients(theta, setup.references), gradients(theta, setup.canaries)
        known = reference_of(rows)
        away = np.concatenate([rows, own]) - known.mean
        basis = np.linalg.qr(away.T)[0]  # (d, p): the directions of references and canaries
        factor = (rows - known.mean) @ basis / np.sqrt(len(rows))
        ridge = RIDGE * float(rows.var(axis=0).mean())
        inside = Reference(
            np.zeros(basis.shape[1]), factor.T @ factor + ridge * np.eye(basis.shape[1])
        )
        common: dict[str, Any] = {"max_advantage": LIMIT}
        isotropic = leakage.noise_for(own, known, BATCH, shape="scalar", **common)
        shaped = leakage.noise_for(
            (own - known.mean) @ basis,
            inside,
            BATCH,
            shape="optimal",
            weights=np.ones(basis.shape[1]),
            **common,
        )
        return cls(known, own, isotropic, shaped, basis @ shaped.factor)

    def options(self, law: Law) -> dict[str, Any]:
        """Return the noise as keywords of `leakage.leakage_score`."""
        if law == "none":
            return {}
        if law == "isotropic":
            return {"noise_std": self.isotropic.noise_std}
        return {"noise_factor": self.factor}

    def leakages(self, law: Law, rows: Doubles) -> Doubles:
        """Return what gradients leak under a law."""
        found = leakage.leakage_score(rows, self.reference, BATCH, **self.options(law))
        return np.asarray(found)

    def variance(self, law: Law) -> float:
        """Return the variance of the noise, added over all directions."""
        noise = {"none": np.zeros(1), "isotropic": self.isotropic.noise_std}
        return float(np.square(noise.get(law, self.shaped.std)).sum())

    def draw(self, law: Law, rng: np.random.Generator) -> Doubles:
        """Draw the noise of one step."""
        if law == "shaped":
            factor = self.factor
            return np.asarray(factor @ rng.standard_normal(factor.shape[1]))
        if law == "isotropic":
            return self.isotropic.noise_std * rng.standard_normal(self.reference.dim)
        return np.zeros(self.reference.dim)


@dataclass(frozen=True)
class Attack:
    """The attack on one step with the canary that leaks most, played: advantages."""

    theory: float
    measured: float
    error: float


def attack(step: Step, law: Law, pool: Doubles, rounds: int, rng: np.random.Generator) -> Attack:
    """Play the covariance attack on a step; batches are drawn from a pool of gradients.

    The score is linear in the released mean, so each record is projected on its direction once.
    """
    scores = step.leakages(law, step.own)
    target = step.own[int(scores.argmax())]
    away = target - step.reference.mean
    known, spread = step.reference, 0.0
    if law == "isotropic":
        known = known.add_diagonal(BATCH * step.isotropic.noise_std**2)
    direction = known.solve(away)
    if law == "shaped":  # (C + n F F')^-1 v by the formula of Sherman, Morrison and Woodbury
        factor = np.sqrt(BATCH) * step.factor
        solved = np.asarray(step.reference.solve(np.ascontiguousarray(factor.T))).T
        inner = np.eye(factor.shape[1]) + factor.T @ solved
        direction = direction - solved @ np.linalg.solve(inner, factor.T @ direction)
        spread = float(np.linalg.norm(step.factor.T @ direction))
    elif law == "isotropic":
        spread = float(np.linalg.norm(step.isotropic.noise_std * direction))
    others, own = (pool - step.reference.mean) @ direction, float(away @ direction)
    means, member = games.fixed_target(
        games.Empirical(others[:, np.newaxis]),
        [own],
        games.EmpiricalMean(BATCH, noise_std=spread),
        2 * rounds,
        rng,
        balanced=True,
    )
    above = means[:, 0] > own / (2 * BATCH)
    hits, alarms = float(above[member].mean()), float(above[~member].mean())
    error = np.sqrt((hits * (1 - hits) + alarms * (1 - alarms)) / rounds)
    theory = float(tradeoff.gaussian(leakage=scores.max()).advantage())
    return Attack(theory, hits - alarms, float(error))


def train(setup: Setup, step: Step, law: Law, rng: np.random.Generator) -> Doubles:
    """Return the accuracy before every step and after the last."""
    theta, found = setup.start.copy(), [accuracy(setup.start, setup.test)]
    for _ in range(STEPS):
        batch = gradients(theta, setup.pool[rng.integers(len(setup.pool), size=BATCH)])
        theta = theta - RATE * (batch.mean(axis=0) + step.draw(law, rng))
        found.append(accuracy(theta, setup.test))
    return np.array(found)


def gradients(theta: Doubles, records: Floats) -> Doubles:
    """Return the records' gradients, clipped."""
    training = games.Training("logistic", BATCH, 1, RATE, clip=CLIP, classes=CLASSES)
    return np.asarray(training.gradients(theta, records))


def reference_of(rows: Doubles) -> Reference:
    """Estimate mean and covariance of a gradient, from fewer records than directions.

    The ridge is for directions in which no reference varies, such as those of dark corners.
    """
    return Reference.fit(
        rows, "low-rank", shrinkage=0.0, ridge=RIDGE * float(rows.var(axis=0).mean())
    )


def pretrained(public: Floats, rng: np.random.Generator) -> Doubles:
    """Return parameters after some steps of SGD on public records."""
    theta = np.zeros(CLASSES * (public.shape[1] - 1))
    for _ in range(100):
        theta -= 0.1 * gradients(theta, public[rng.integers(len(public), size=BATCH)]).mean(axis=0)
    return theta


def accuracy(theta: Doubles, records: Floats) -> float:
    """Return the share of records whose label has the largest weight."""
    logits = records[:, :-1] @ theta.reshape(CLASSES, -1).T
    return float((logits.argmax(axis=1) == records[:, -1]).mean())


def settled(accuracies: Doubles) -> float:
    """Return the mean accuracy of the last steps: that of single ones goes up and down."""
    return float(accuracies[-LAST:].mean())


def reproduce(*, data: tuple[Path, ...], rounds: int = 10_000, seed: int = 1) -> Outcome:
    """Find both laws, attack the first step under each, and train with each."""
    images, labels = load(data)
    records = np.ones((len(images), images[0].size + 2), dtype=np.float32)
    np.divide(images.reshape(len(images), -1), np.float32(255), out=records[:, :-2])
    records[:, -1] = labels
    rng = np.random.default_rng(seed)
    setup = Setup.of(records, rng)
    step = Step.at(setup.start, setup)
    pool = gradients(setup.start, setup.pool[:POOL])
    played = {law: attack(step, law, pool, rounds, rng) for law in LAWS}
    accuracies = {law: train(setup, step, law, rng) for law in LAWS}
    outside = {
        law: float(step.leakages(law, gradients(setup.start, setup.others)).max()) for law in LAWS
    }
    rows = _rows(step, played, accuracies, outside)
    title = f"Noise of least cost in DP-SGD, Fashion-MNIST, {STEPS} steps of {BATCH}"
    curves = {"accuracies": accuracies, "played": played}
    return Outcome(title, rounds, seed, rows, curves, tuple(_notes(step, outside, accuracies)))


def _rows(
    step: Step,
    played: dict[Law, Attack],
    accuracies: dict[Law, Doubles],
    outside: dict[Law, float],
) -> tuple[Row, ...]:
    limit = step.shaped.max_leakage
    rows: list[Row] = []
    for law, game in played.items():
        slack = STANDARD_ERRORS * game.error + 0.1 * game.theory
        rows.append(Row(f"{law}: advantage on the worst canary", game.measured, game.theory, slack))
    for law in LAWS[1:]:
        worst = float(step.leakages(law, step.own).max())
        rows.append(AtMost(f"{law}: leakage of the canaries", worst, limit, 1e-9 * limit))
    rows.append(AtMost("shaped: duality gap", step.shaped.gap, 1e-4, 0.0))
    rows.append(
        AtMost(
            "variance, shaped over isotropic",
            step.variance("shaped") / step.variance("isotropic"),
            1.0,
            0.0,
        )
    )
    shaped, isotropic = settled(accuracies["shaped"]), settled(accuracies["isotropic"])
    error = np.sqrt((shaped * (1 - shaped) + isotropic * (1 - isotropic)) / TEST)
    rows.append(Above("accuracy, shaped - isotropic (>)", shaped - isotropic, 0.0, 2 * error))
    rows.append(Above("leakage outside the list, shaped (>)", outside["shaped"], limit, 0.0))
    return tuple(rows)


def _notes(step: Step, outside: dict[Law, float], accuracies: dict[Law, Doubles]) -> list[str]:
    multiplier = float(np.max(step.isotropic.noise_std)) * BATCH / CLIP
    share = step.variance("shaped") / step.variance("isotropic")
    before = tradeoff.gaussian(leakage=step.leakages("none", step.own).max()).advantage()
    told = ", ".join(f"{law} {100 * settled(accuracies[law]):.1f} %" for law in LAWS)
    return [
        f"Isotropic: noise multiplier {multiplier:.2f} in {step.reference.dim} directions. Shaped: "
        f"{step.shaped.factor.shape[1]} directions, {100 * share:.2g} % of the variance.",
        f"Advantage on the worst canary without noise {float(before):.3f}, limit {LIMIT:g}.",
        f"Accuracy, the mean of the last {LAST} of {STEPS} steps: {told}; before "
        f"them {100 * accuracies['none'][0]:.1f} %.",
        f"Largest leakage of a record outside the list: none {outside['none']:.3g}, isotropic "
        f"{outside['isotropic']:.3g}, shaped {outside['shaped']:.3g}; limit "
        f"{step.shaped.max_leakage:.3g}.",
        "Shaped noise is no differential privacy: it hides the canaries of the list, from whoever "
        "is not told the list. A tenth is allowed beside 4 standard errors of an advantage, as "
        "references and pool are different records.",
    ]


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the accuracy against the step, and the advantage of the attack."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 4.4), layout="constrained")
    first, second = figure.subplots(1, 2)
    for i, law in enumerate(LAWS):
        first.plot(100 * outcome.curves["accuracies"][law], "o-", ms=4, color=f"C{i}", label=law)
        game = outcome.curves["played"][law]
        second.errorbar(i, game.measured, yerr=game.error, fmt="o", color=f"C{i}")
        second.plot([i - 0.2, i + 0.2], [game.theory] * 2, color="0.3", lw=1)
    second.axhline(LIMIT, color="0.6", ls="--", lw=0.8)
    first.set(xlabel="step", ylabel="accuracy, %", title="(a) accuracy")
    first.legend(title="noise", fontsize=8)
    second.set(ylim=0, ylabel="advantage", title="(b) attack on the worst canary, first step")
    second.set_xticks(range(len(LAWS)), LAWS)
    figure.suptitle(f"{outcome.title}\n{outcome.rounds} rounds per hypothesis", fontsize=11)
    figure.savefig(path, dpi=150)
