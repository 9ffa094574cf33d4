"""Figure 6 of Azize & Basu, "Some Targets Are Harder to Identify than Others" (AISTATS).

The attacker knows the population's mean from n0 reference records only. How much leakage remains,
m_eff = (shift of the mean score)^2 / variance, compared with the leakage score m?

The paper states that the loss is negligible for small n0 already. It is, if the same references
serve in every round and have a separate threshold: then m_eff is about m M / (M + d / n0) with the
squared Mahalanobis distance M = n m. If one threshold serves for references that are drawn again in
each round, m_eff is about m / (1 + n / n0), and hardly any leakage remains while n0 is below n.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import Reference
from leakscore.games import Bernoulli, EmpiricalMean, fixed_target
from leakscore.games._populations import NO_NOISE, ReleasedMean
from leakscore.leakage import leakage_score
from leakscore.scores import covariance_score
from reproduce._outcome import STANDARD_ERRORS, Outcome, Row
from reproduce.azize import D, N, deviations, targets

Doubles = npt.NDArray[np.float64]

SIZES = (1, 5, 10, 50, 100, 1000)
TITLE = (
    f"Azize & Basu (AISTATS), Figure 6: n0 references, mean of n={N} Bernoulli records, d={D}, "
    "easy target"
)
_BLOCK = 500  # rounds


@dataclass(frozen=True)
class Problem:
    """The population, the target, and their standardised moments."""

    p: Doubles
    z: Doubles

    @property
    def reference(self) -> Reference:
        """The knowledge of an attacker who needs no references."""
        return Reference(self.p, self.p * (1 - self.p))

    @property
    def distance(self) -> float:
        """Squared Mahalanobis distance M of the target."""
        return float(self.reference.squared_mahalanobis(self.z))

    @property
    def moments(self) -> tuple[Doubles, Doubles, Doubles]:
        """Standardised target, skewness and excess kurtosis of every coordinate."""
        variance = self.p * (1 - self.p)
        scale = np.sqrt(variance)
        return (self.z - self.p) / scale, (1 - 2 * self.p) / scale, 1 / variance - 6

    def same_references(self, n0: int) -> tuple[float, float]:
        """Return m_eff for fixed references, and its spread over draws of them.

        With u the standardised error of their mean, m_eff = (M - a'u)^2 / (n (M - 2 a'u + u'u)).
        """
        a, skewness, kurtosis = self.moments
        M, error = self.distance, D / n0
        slopes = -2 * M * error, -(M**2)
        variances = M / n0, float(np.sum(2 + kurtosis / n0)) / n0**2
        shared = float(a @ skewness) / n0**2
        spread = np.sqrt(
            slopes[0] ** 2 * variances[0]
            + slopes[1] ** 2 * variances[1]
            + 2 * slopes[0] * slopes[1] * shared
        )
        return M**2 / (N * (M + error)), float(spread) / (N * (M + error) ** 2)

    def new_references(self, n0: int) -> float:
        """Return m_eff for references that are drawn again in every round."""
        a, skewness, kurtosis = self.moments
        M = self.distance
        variance = M / N + M / n0 + D / (N * n0)
        variance += float(np.sum(2 + kurtosis / n0) - 2 * (a @ skewness)) / n0**2
        return (M / N) ** 2 / variance

    def linear(self, reference: Reference) -> float:
        """Return m_eff of the covariance score with any given reference."""
        weight = (self.z - reference.mean) / reference.cov
        shift = float(weight @ (self.z - self.p))
        return shift**2 / (N * float(weight**2 @ (self.p * (1 - self.p))))


@dataclass(frozen=True)
class Measured:
    """m_eff of one attack from its scores."""

    members: Doubles
    nonmembers: Doubles

    @property
    def leakage(self) -> float:
        """Squared shift over the mean of the variances."""
        shift = self.members.mean() - self.nonmembers.mean()
        return float(2 * shift**2 / (self.members.var(ddof=1) + self.nonmembers.var(ddof=1)))

    def row(self, name: str, theory: float) -> Row:
        """Compare with theory: d' = sqrt(m_eff) has variance (2 + d'^2 / 4) / rounds."""
        apart = STANDARD_ERRORS * np.sqrt((2 + theory / 4) / len(self.members))
        allowed = 2 * np.sqrt(theory) * apart + apart**2
        return Row(name, self.leakage, theory, float(allowed))


def references(problem: Problem, rng: np.random.Generator) -> dict[str, dict[int, Reference]]:
    """Fit references to the first n0 of one draw of records, variances known or estimated."""
    table = rng.random((max(SIZES), D)) < problem.p
    known, estimated = {}, {}
    for n0 in SIZES:
        ones = table[:n0].sum(axis=0)
        smooth = (ones + 1) / (n0 + 2)  # Laplace: no variance may be 0
        known[n0] = Reference(ones / n0, problem.reference.cov)
        estimated[n0] = Reference(ones / n0, smooth * (1 - smooth))
    return {"known": known, "estimated": estimated}


def reference_means(p: Doubles, n0: int, rounds: int, rng: np.random.Generator) -> Doubles:
    """Draw the mean of n0 records for every round."""
    means = np.empty((rounds, p.size))
    key = rng.integers(0, 1 << 64, size=2, dtype=np.uint64)
    sampler = Bernoulli(p)._sampler(np.zeros_like(p), ReleasedMean(n0, True, NO_NOISE))
    sampler.fill(key, 0, np.zeros(rounds, dtype=np.bool_), means)
    return means


def redrawn_scores(outputs: Doubles, centres: Doubles, z: Doubles, cov: Doubles) -> Doubles:
    """Return the covariance score of each release with its own mean."""
    aim, weight = z - centres, 1 / cov
    constant = np.einsum("ij,ij,j->i", aim, aim, weight) / (2 * N)
    return np.asarray(np.einsum("ij,ij,j->i", aim, outputs - centres, weight) - constant)


def play(
    problem: Problem,
    fixed: dict[str, dict[int, Reference]],
    rounds: int,
    rng: np.random.Generator,
) -> dict[str, dict[int, Measured]]:
    """Attack the same releases with every reference, fixed and redrawn."""
    z, population = problem.z, Bernoulli(problem.p)
    scores: dict[tuple[str, int], list[Doubles]] = {}
    flags = []
    for start in range(0, 2 * rounds, _BLOCK):
        block = min(_BLOCK, 2 * rounds - start)
        outputs, member = fixed_target(population, z, EmpiricalMean(N), block, rng, balanced=True)
        flags.append(member)
        attacks = {(kind, n0): known for kind in fixed for n0, known in fixed[kind].items()}
        attacks["optimum", 0] = problem.reference
        for attack, known in attacks.items():
            scores.setdefault(attack, []).append(covariance_score(outputs, z, known, N))
        for n0 in SIZES:
            centres = reference_means(problem.p, n0, block, rng)
            part = redrawn_scores(outputs, centres, z, problem.reference.cov)
            scores.setdefault(("redrawn", n0), []).append(part)
    inside = np.concatenate(flags)
    measured: dict[str, dict[int, Measured]] = {}
    for (kind, n0), parts in scores.items():
        whole = np.concatenate(parts)
        measured.setdefault(kind, {})[n0] = Measured(whole[inside], whole[~inside])
    return measured


def reproduce(*, rounds: int = 10_000, seed: int = 1) -> Outcome:
    """Play all games and compare them with the theory."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.25, 0.75, D)
    problem = Problem(p, targets(p, rng)["easy"])
    fixed = references(problem, rng)
    measured = play(problem, fixed, rounds, rng)
    m = float(leakage_score(problem.z, problem.reference, N))
    rows = [measured["optimum"][0].row("m: known mean", m)]
    for n0 in SIZES:
        exact = {kind: problem.linear(fixed[kind][n0]) for kind in fixed}
        typical, spread = problem.same_references(n0)
        rows += [
            measured["known"][n0].row(f"n0 {n0}: same references", exact["known"]),
            Row(
                f"n0 {n0}: these references, m M/(M + d/n0)",
                exact["known"],
                typical,
                STANDARD_ERRORS * spread,
            ),
            measured["estimated"][n0].row(f"n0 {n0}: same, estimated C", exact["estimated"]),
            measured["redrawn"][n0].row(f"n0 {n0}: drawn anew", problem.new_references(n0)),
        ]
    return Outcome(TITLE, rounds, seed, tuple(rows), {"measured": measured, "problem": problem})


def draw(outcome: Outcome, path: Path) -> None:
    """Draw m_eff against n0, and how far every number is from its theory."""
    from matplotlib.figure import Figure

    measured, problem = outcome.curves["measured"], outcome.curves["problem"]
    figure = Figure(figsize=(11.5, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    _effective(left, measured, problem)
    deviations(right, outcome)
    figure.suptitle(
        f"{outcome.title}\npoints: {outcome.rounds} simulated rounds per hypothesis; "
        "dotted: theory",
        fontsize=11,
    )
    figure.savefig(path, dpi=150)


def _effective(axes: Any, measured: dict[str, dict[int, Measured]], problem: Problem) -> None:
    fine = np.unique(np.geomspace(SIZES[0], SIZES[-1], 60).astype(int))
    same = [problem.same_references(int(n0))[0] for n0 in fine]
    anew = [problem.new_references(int(n0)) for n0 in fine]
    axes.axhline(problem.distance / N, color="0.6", lw=0.8, label="known mean: m")
    axes.plot(fine, same, ":", color="black", lw=1.8)
    axes.plot(fine, anew, ":", color="black", lw=1.8)
    for kind, colour, marker, label in (
        ("known", "C0", "o", "same references in every round"),
        ("estimated", "C2", "s", "the same, variances estimated too"),
        ("redrawn", "C3", "^", "references drawn anew in every round"),
    ):
        points = [measured[kind][n0].leakage for n0 in SIZES]
        axes.plot(SIZES, points, marker, color=colour, ms=5, label=label)
    axes.set(xscale="log", xlabel="number of reference records n0", ylim=(0, None))
    axes.set(title="leakage that the attack finds", ylabel=r"$m_\mathrm{eff}$")
    axes.legend(fontsize=8, loc="center left")
