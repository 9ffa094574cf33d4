"""Sub-sampling in Azize & Basu: their law, the exact one, and the game itself.

The mean of k = rho n of n records is released. Their Theorem 4.3 (2024; 4.2 of the AISTATS version)
claims the law of a leakage score rho m. That is impossible: with probability rho the target is in
the sample, for all coordinates at once, and otherwise for none. So no attack has an advantage above
rho, but the claim is .36 for rho = .1 and m = 8.9. The released mean is a mixture, whose exact
trade-off curve has power (1 - rho) alpha + rho Phi(Phi^-1(alpha) + sqrt(m / rho)). At small alpha
this power is above the claim: the claim is no bound either.

The attack is the covariance score l of a mean of k records. The likelihood ratio of the mixture,
log(1 - rho + rho exp(l)), is an increasing function of l, 0 at 0, so the attack is the same. But in
floating point it is log(1 - rho) for every l below about -37, and no longer orders those.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import Reference
from leakscore.audit import Audit
from leakscore.distributions import norm
from leakscore.games import Bernoulli, EmpiricalMean, fixed_target
from leakscore.leakage import leakage_score
from leakscore.scores import covariance_score
from leakscore.tradeoff import gaussian, subsampled_mean
from reproduce._outcome import STANDARD_ERRORS, Outcome, Row
from reproduce.azize import ALPHAS, D, N, deviations, targets

Doubles = npt.NDArray[np.float64]

RATES = (0.1, 0.3, 0.5, 0.9)
TITLE = (
    f"Azize & Basu, sub-sampling: mean of rho n of n={N} Bernoulli records, d={D}, p in [.25, .75]"
)


@dataclass(frozen=True)
class SubsampledGame:
    """The scores of one target under one rate."""

    name: str
    rate: float
    leakage: float  # of the target in a mean of all n records
    members: Doubles
    nonmembers: Doubles

    def power(self, alpha: npt.ArrayLike) -> Any:
        """Exact power of the best attack: on the mean of k records, if the target is sampled."""
        return subsampled_mean(self.leakage, self.rate).power(alpha)

    @property
    def claimed(self) -> Any:
        """The papers' trade-off curve."""
        return gaussian(leakage=self.rate * self.leakage)

    @property
    def advantage(self) -> float:
        """Measured advantage of the score at 0."""
        return float((self.members > 0).mean() - (self.nonmembers > 0).mean())

    def rows(self) -> list[Row]:
        """Compare advantage and ROC points with the exact law."""
        mu, rounds = np.sqrt(self.leakage / self.rate), len(self.members)
        claimed = self.claimed
        expected = float(exact_advantage(self.leakage, self.rate))
        false = float(norm.cdf(-mu / 2))
        true = false + expected
        error = np.sqrt((true * (1 - true) + false * (1 - false)) / rounds)
        name = f"advantage at 0 [papers {float(claimed.advantage()):.4f}]"
        rows = [self._row(name, self.advantage, expected, error)]
        audit = Audit(self.members, self.nonmembers)
        for alpha in ALPHAS:
            power, z = float(self.power(alpha)), norm.ppf(alpha)
            slope = 1 - self.rate + self.rate * norm.pdf(z + mu) / norm.pdf(z)
            error = np.sqrt((power * (1 - power) + slope**2 * alpha * (1 - alpha)) / rounds)
            name = f"power at {alpha:g} [papers {float(claimed.power(alpha)):.4f}]"
            rows.append(self._row(name, audit.tpr_at(alpha), power, error))
        return rows

    def _row(self, name: str, measured: float, theory: float, error: float) -> Row:
        allowed = STANDARD_ERRORS * float(error)
        return Row(f"rho {self.rate:g}, {self.name}: {name}", float(measured), theory, allowed)


def exact_advantage(leakage: float, rate: npt.ArrayLike) -> Any:
    """Return the largest advantage: that on the mean of k records, if the target is sampled."""
    return subsampled_mean(leakage, rate).advantage()


def play(
    name: str, z: Doubles, p: Doubles, rate: float, rounds: int, rng: np.random.Generator
) -> SubsampledGame:
    """Attack one target in the mean of a share of the records."""
    reference, mechanism = Reference(p, p * (1 - p)), EmpiricalMean(N, sample_rate=rate)

    def score(outputs: Doubles) -> Any:
        return covariance_score(outputs, z, reference, mechanism.num_averaged)

    scores, member = fixed_target(
        Bernoulli(p), z, mechanism, 2 * rounds, rng, score=score, balanced=True
    )
    m = float(leakage_score(z, reference, N))
    return SubsampledGame(name, rate, m, scores[member], scores[~member])


def reproduce(*, rounds: int = 10_000, seed: int = 1) -> Outcome:
    """Play all games and compare them with the exact law."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.25, 0.75, D)
    records = targets(p, rng)
    games = {
        rate: {name: play(name, z, p, rate, rounds, rng) for name, z in records.items()}
        for rate in RATES
    }
    rows = [row for group in games.values() for game in group.values() for row in game.rows()]
    return Outcome(TITLE, rounds, seed, tuple(rows), {"rates": games})


def draw(outcome: Outcome, path: Path) -> None:
    """Draw a panel for each rate, the advantages, and how far each number is from its theory."""
    from matplotlib.figure import Figure

    games = outcome.curves["rates"]
    figure = Figure(figsize=(12.5, 8), layout="constrained")
    axes = figure.subplots(2, 3).ravel()
    colours = ["C0", "C2", "C3"]
    for panel, (rate, group) in zip(axes, games.items(), strict=False):
        labelled = {f"{name}, m = {game.leakage:.2f}": game for name, game in group.items()}
        curves(panel, labelled, rf"$\rho$ = {rate:g}", colours)
    _advantages(axes[4], games, colours)
    deviations(axes[5], outcome, separator=",")
    figure.suptitle(
        f"{outcome.title}\nsolid: {outcome.rounds} simulated rounds per hypothesis; "
        "dotted: exact law; dashed: the papers' claim",
        fontsize=11,
    )
    figure.savefig(path, dpi=150)


def curves(axes: Any, games: dict[str, SubsampledGame], title: str, colours: Any) -> None:
    """Draw ROC curves: measured, exact and as claimed."""
    alpha = np.linspace(0, 1, 401) ** 2
    for (label, game), colour in zip(games.items(), colours, strict=False):
        roc = Audit(game.members, game.nonmembers).roc()
        axes.plot(roc.fpr, roc.tpr, color=colour, lw=1.2, label=label)
        axes.plot(alpha, game.claimed.power(alpha), "--", color=colour, lw=0.9, alpha=0.7)
        axes.plot(alpha, game.power(alpha), ":", color="black", lw=1.8)
    axes.plot([], [], ":", color="black", lw=1.8, label="exact law")
    axes.plot([], [], "--", color="0.4", lw=0.9, label=r"the papers' claim, Gaussian $\rho m$")
    axes.plot([0, 1], [0, 1], color="0.7", lw=0.8, zorder=0)
    axes.set(title=title, xlabel=r"false positive rate $\alpha$", ylabel="true positive rate")
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    axes.legend(fontsize=7.5, loc="lower right")


def _advantages(axes: Any, games: dict[float, dict[str, SubsampledGame]], colours: Any) -> None:
    """Draw the advantage against the rate: no attack can be above the diagonal."""
    rates = np.linspace(0.005, 1, 200)
    first = next(iter(games.values()))
    for name, colour in zip(first, colours, strict=True):
        m = first[name].leakage
        axes.plot(rates, exact_advantage(m, rates), ":", color="black", lw=1.8)
        claimed = gaussian(leakage=rates * m).advantage()
        axes.plot(rates, claimed, "--", color=colour, lw=0.9, alpha=0.7)
        points = [group[name].advantage for group in games.values()]
        axes.plot(list(games), points, "o", color=colour, ms=4, label=name)
    axes.plot([0, 1], [0, 1], color="0.7", lw=0.8, zorder=0, label=r"$\rho$, the most there is")
    axes.set(title="advantage", xlabel=r"sampling rate $\rho$", ylabel="advantage")
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02), aspect="equal")
    axes.legend(fontsize=7.5, loc="lower right")
