"""Figure 2 (a-e) of Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024).

The mean of n = 1000 Bernoulli records of d = 5000 coordinates is released, with and without noise.
Three targets, "easy", "medium" and "hard" to identify, are attacked by the covariance score (the
paper's equation 10). Its law under both hypotheses, and the ROC curve that follows (equation 9),
must be those of the Gaussian theory with the leakage score m.

Panel (f), sub-sampling, is a separate figure, in azize_subsampling: the paper's law (Gaussian with
rho m) is not that of the mechanism it defines, whose advantage is at most rho.
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
from leakscore.tradeoff import gaussian
from reproduce._outcome import STANDARD_ERRORS, Outcome, Row

Doubles = npt.NDArray[np.float64]

N, D = 1000, 5000
SHADES = ("#7b3294", "#c2187a", "#e66101", "#b08900")  # of the four amounts of noise
ALPHAS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
GAMMAS = (0.25, 0.5, 1.0, 2.0)
TITLE = (
    f"Azize & Basu (2024), Figure 2 (a-e): mean of n={N} Bernoulli records, d={D}, p in [.25, .75]"
)


@dataclass(frozen=True)
class Game:
    """The scores of one target under one amount of noise, and the leakage score they follow."""

    name: str
    leakage: float  # of the target, with the noise
    members: Doubles
    nonmembers: Doubles

    def rows(self) -> list[Row]:
        """Compare moments, advantage and ROC points with the theory of N(-+m/2, m)."""
        m, curve = self.leakage, gaussian(leakage=self.leakage)
        audit = Audit(self.members, self.nonmembers)
        rounds = len(self.members)
        rows = []
        for hypothesis, scores, mean in (
            ("H0", self.nonmembers, -m / 2),
            ("H1", self.members, m / 2),
        ):
            error = np.sqrt(m / rounds)
            rows.append(self._row(f"mean of the score, {hypothesis}", scores.mean(), mean, error))
            error = m * np.sqrt(2 / rounds)
            rows.append(self._row(f"variance, {hypothesis}", scores.var(ddof=1), m, error))
        advantage = (self.members > 0).mean() - (self.nonmembers > 0).mean()
        missed = float(norm.cdf(-np.sqrt(m) / 2))
        error = np.sqrt(2 * missed * (1 - missed) / rounds)
        rows.append(self._row("advantage at score 0", advantage, curve.advantage(), error))
        for alpha in ALPHAS:
            power = float(curve.power(alpha))
            z = norm.ppf(alpha)
            slope = norm.pdf(z + np.sqrt(m)) / norm.pdf(z)
            # The power at a true level alpha, and the level of an estimated threshold.
            error = np.sqrt((power * (1 - power) + slope**2 * alpha * (1 - alpha)) / rounds)
            rows.append(self._row(f"power at {alpha:g}", audit.tpr_at(alpha), power, error))
        return rows

    def _row(self, name: str, measured: float, theory: float, error: float) -> Row:
        allowed = STANDARD_ERRORS * float(error)
        return Row(f"{self.name}: {name}", float(measured), float(theory), allowed)

    @property
    def label(self) -> str:
        """Its entry in a legend."""
        return f"m = {self.leakage:.2f}"


def targets(p: Doubles, rng: np.random.Generator) -> dict[str, Doubles]:
    """Return the records furthest from and nearest to p, and one drawn from the population."""
    return {
        "easy": (p <= 0.5).astype(np.float64),
        "medium": (rng.random(p.size) < p).astype(np.float64),
        "hard": (p > 0.5).astype(np.float64),
    }


def play(
    name: str, z: Doubles, p: Doubles, gamma: float, rounds: int, rng: np.random.Generator
) -> Game:
    """Attack one target: gamma^2 / n is the variance of the noise on the released mean."""
    reference = Reference(p, p * (1 - p))
    noise_std = gamma / np.sqrt(N)

    def score(outputs: Doubles) -> Any:
        return covariance_score(outputs, z, reference, N, noise_std=noise_std)

    mechanism = EmpiricalMean(N, noise_std=noise_std)
    scores, member = fixed_target(
        Bernoulli(p), z, mechanism, 2 * rounds, rng, score=score, balanced=True
    )
    m = float(leakage_score(z, reference, N, noise_std=noise_std))
    return Game(name, m, scores[member], scores[~member])


def reproduce(*, rounds: int = 10_000, seed: int = 1) -> Outcome:
    """Play all games and compare them with the theory."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.25, 0.75, D)
    records = targets(p, rng)
    plain = {name: play(name, z, p, 0.0, rounds, rng) for name, z in records.items()}
    noisy = {
        gamma: play(f"easy, gamma {gamma:g}", records["easy"], p, gamma, rounds, rng)
        for gamma in GAMMAS
    }
    rows = [row for game in (*plain.values(), *noisy.values()) for row in game.rows()]
    return Outcome(TITLE, rounds, seed, tuple(rows), {"targets": plain, "noise": noisy})


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the five panels: theory dotted, simulation solid, as in the paper."""
    from matplotlib.figure import Figure

    plain, noisy = outcome.curves["targets"], outcome.curves["noise"]
    figure = Figure(figsize=(12.5, 7.6), layout="constrained")
    axes = figure.subplots(2, 3)
    panels(axes, plain, noisy)
    deviations(axes[1, 2], outcome)
    figure.suptitle(
        f"{outcome.title}\nsolid: {outcome.rounds} simulated rounds per hypothesis; "
        "dotted: Gaussian theory",
        fontsize=11,
    )
    figure.savefig(path, dpi=150)


def panels(axes: Any, plain: dict[str, Game], noisy: dict[float, Game]) -> None:
    """Draw the panels (a) to (e)."""
    _histograms(axes[0, 0], plain["easy"], "(a) scores of the easy target")
    _histograms(axes[0, 1], plain["hard"], "(b) scores of the hard target")
    hard = {plain["hard"].label: plain["hard"]}
    _curves(axes[0, 2], hard, "(c) power against the hard target", ["C3"])
    by_target = {f"{name}, {game.label}": game for name, game in plain.items()}
    _curves(axes[1, 0], by_target, "(d) three targets", ["C0", "C2", "C3"])
    by_noise = {"no noise, " + plain["easy"].label: plain["easy"]} | {
        rf"$\gamma$ = {gamma:g}, {game.label}": game for gamma, game in noisy.items()
    }
    _curves(axes[1, 1], by_noise, "(e) easy target, noise on the mean", ["C0", *SHADES])


def _histograms(axes: Any, game: Game, title: str) -> None:
    m = game.leakage
    bins = np.linspace(-m / 2 - 4.2 * np.sqrt(m), m / 2 + 4.2 * np.sqrt(m), 61)
    x = np.linspace(bins[0], bins[-1], 401)
    for scores, centre, colour, label in (
        (game.nonmembers, -m / 2, "C0", "target out (H0)"),
        (game.members, m / 2, "C1", "target in (H1)"),
    ):
        axes.hist(scores, bins, density=True, histtype="step", color=colour)
        faint = {"color": colour, "alpha": 0.3, "label": label}
        axes.hist(scores, bins, density=True, histtype="stepfilled", **faint)
        theory = norm.pdf((x - centre) / np.sqrt(m)) / np.sqrt(m)
        axes.plot(x, theory, ":", color="black", lw=1.5)
    axes.plot([], [], ":", color="black", label=r"theory N($\mp$m/2, m)")
    axes.set(title=f"{title}, {game.label}", xlabel="log-likelihood ratio score")
    axes.set(ylabel="density", ylim=(0, 1.32 * axes.get_ylim()[1]))
    axes.legend(fontsize=8, loc="upper right", ncols=2)


def _curves(axes: Any, games: dict[str, Game], title: str, colours: list[str]) -> None:
    alpha = np.linspace(0, 1, 401) ** 2
    for (label, game), colour in zip(games.items(), colours, strict=True):
        roc = Audit(game.members, game.nonmembers).roc()
        axes.plot(roc.fpr, roc.tpr, color=colour, lw=1.2, label=label)
        theory = gaussian(leakage=game.leakage).power(alpha)
        axes.plot(alpha, theory, ":", color="black", lw=1.8)
    axes.plot([], [], ":", color="black", lw=1.8, label=r"$\Phi(\Phi^{-1}(\alpha) + \sqrt{m})$")
    axes.plot([0, 1], [0, 1], color="0.7", lw=0.8, zorder=0)
    axes.set(title=title, xlabel=r"false positive rate $\alpha$", ylabel="true positive rate")
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    axes.legend(fontsize=8, loc="lower right")


def deviations(axes: Any, outcome: Outcome, separator: str = ":") -> None:
    """Every number of the table: its distance from the theory in standard errors.

    Numbers whose names begin alike, up to the separator, are a group.
    """
    z = np.array([row.z for row in outcome.rows])
    ok = np.array([row.ok for row in outcome.rows])
    place = np.arange(z.size)
    groups = [row.name.partition(separator)[0] for row in outcome.rows]
    starts = np.array([i for i in place if i == 0 or groups[i] != groups[i - 1]])
    axes.axhspan(-STANDARD_ERRORS, STANDARD_ERRORS, color="0.93")
    axes.axhline(0, color="0.6", lw=0.8)
    axes.plot(place[ok], z[ok], "o", ms=3, color="C0")
    axes.plot(place[~ok], z[~ok], "o", ms=5, color="C3")
    limit = max(STANDARD_ERRORS + 1.0, float(np.abs(z).max()) + 0.5)
    axes.vlines(starts[1:] - 0.5, -limit, limit, color="0.8", lw=0.8)
    axes.set(title=f"all {z.size} numbers: measured - theory", ylabel="standard errors")
    axes.set(xlim=(-1, z.size), ylim=(-limit, limit))
    labels = [groups[i].replace("easy, gamma", r"$\gamma$ =") for i in starts]
    middles = (starts + np.append(starts[1:], z.size) - 1) / 2
    axes.set_xticks(middles, labels, fontsize=8)
    axes.tick_params(axis="x", length=0)
