"""Figure 1 of Kaissis et al., "Optimal privacy guarantees for a relaxed threat model" (2023).

Trade-off curves of the Laplace and Gaussian mechanisms against an attacker who does not have the
record (relaxed) and one who has it (informed): panels a to f. Each point is checked by playing the
attack itself: the test on the size of the output, in the direction of j (a test of the null) and of
its inverse (a test of the alternative).

Panel e composes 30 sub-sampled steps. The paper multiplies the steps' test statistics: such an
attacker assumes a new unknown direction in every step. An attacker who knows that the direction is
the same ("aligned") does better, and is simulated too; only the informed curve is a guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import tradeoff
from leakscore.distributions import chi2, folded_laplace, ncx2
from leakscore.games import summarize
from leakscore.tradeoff import TradeOff
from reproduce._outcome import STANDARD_ERRORS, Outcome, Row

Doubles = npt.NDArray[np.float64]

ALPHAS = (0.01, 0.1, 0.5)
MU, RATE, STEPS = 0.2, 0.4, 30  # of panel e
TITLE = "Kaissis et al. (2023), Figure 1: attackers with and without the record"


@dataclass(frozen=True)
class Panel:
    """The curves of a panel by name, solid or dotted."""

    title: str
    relaxed: dict[str, TradeOff]
    informed: dict[str, TradeOff]


def reproduce(*, rounds: int = 100_000, seed: int = 1) -> Outcome:
    """Play every attack and compare it with its curve."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for mu in (0.6, 1.5):
        rows += _laplace(mu, rounds, rng)
    for mu, dim in ((0.6, 1), (1.5, 1), (1.0, 1), (1.0, 30)):
        rows += _gaussian(mu, dim, rounds, rng)
    rows += _composed(rounds, rng)
    return Outcome(TITLE, rounds, seed, tuple(rows), {"panels": panels()})


def panels() -> list[Panel]:
    """Return the curves that the six panels show."""
    result = []
    for letter, mu in zip("ab", (0.6, 1.5), strict=True):
        f, j = tradeoff.laplace(mu), tradeoff.relaxed_laplace(mu)
        result.append(_panel(f"({letter}) Laplace, {mu:g}", j, f))
    for letter, mu in zip("cd", (0.6, 1.5), strict=True):
        f, j = tradeoff.gaussian(mu), tradeoff.relaxed_gaussian(mu)
        result.append(_panel(f"({letter}) Gaussian, {mu:g}", j, f))
    composed = {name: _steps(name) for name in ("relaxed-unaligned", "relaxed-aligned")}
    result.append(Panel("(e) 30 sub-sampled steps", composed, {"informed": _steps("informed")}))
    by_dim = {f"relaxed, d = {dim}": tradeoff.relaxed_gaussian(1.0, dim) for dim in (1, 30)}
    result.append(Panel("(f) Gaussian, 1", by_dim, {"informed": tradeoff.gaussian(1.0)}))
    return result


def _panel(title: str, j: TradeOff, f: TradeOff) -> Panel:
    curves = {"j": j, "its inverse": j.inverse(), "J": j.symmetrized()}
    return Panel(title, curves, {"informed": f})


def _steps(adversary: Any) -> TradeOff:
    return tradeoff.subsampled_gaussian(1.0 / MU, RATE, STEPS, adversary=adversary)


# --- the attacks ---------------------------------------------------------------------------------


def error_row(name: str, wrong: npt.NDArray[np.bool_], theory: float) -> Row:
    """Compare the share of wrong decisions with a curve."""
    error = np.sqrt(max(theory * (1.0 - theory), 1.0 / wrong.size) / wrong.size)
    return Row(name, float(wrong.mean()), float(theory), STANDARD_ERRORS * float(error))


def _both(name: str, j: TradeOff, laws: tuple[Any, Any], draws: tuple[Doubles, Doubles]) -> Any:
    """Test the size of the output at three levels, against the null and the alternative."""
    (isf, ppf), (outside, inside) = laws, draws
    for alpha in ALPHAS:
        yield error_row(f"{name}: j({alpha:g})", inside <= isf(alpha), j(alpha))
        theory = j.inverse()(alpha)
        yield error_row(f"{name}: inverse({alpha:g})", outside > ppf(alpha), theory)


def _laplace(mu: float, rounds: int, rng: np.random.Generator) -> list[Row]:
    draws = (np.abs(rng.laplace(size=rounds)), np.abs(mu + rng.laplace(size=rounds)))
    laws = (
        lambda alpha: folded_laplace.isf(alpha, 0.0, 1.0),
        lambda beta: folded_laplace.ppf(beta, mu, 1.0),
    )
    rows = list(_both(f"Laplace {mu:g}", tradeoff.relaxed_laplace(mu), laws, draws))
    return rows + _hull(f"Laplace {mu:g}", tradeoff.relaxed_laplace(mu), rows)


def _gaussian(mu: float, dim: int, rounds: int, rng: np.random.Generator) -> list[Row]:
    noise = rng.standard_normal((2, rounds, dim))
    noise[1, :, 0] += mu
    outside, inside = np.square(noise).sum(axis=-1)
    laws = (
        lambda alpha: chi2.isf(alpha, dim),
        lambda beta: ncx2.ppf(beta, dim, mu * mu),
    )
    name, j = f"Gaussian {mu:g}, d = {dim}", tradeoff.relaxed_gaussian(mu, dim)
    rows = list(_both(name, j, laws, (outside, inside)))
    return rows + _hull(name, j, rows)


def _hull(name: str, j: TradeOff, rows: list[Row]) -> list[Row]:
    """At .1 the hull is the lower of both curves in all of these settings."""
    best = min((row for row in rows if "(0.1)" in row.name), key=lambda row: row.theory)
    return [Row(f"{name}: J(0.1)", best.measured, float(j.symmetrized()(0.1)), best.tolerance)]


def _composed(rounds: int, rng: np.random.Generator) -> list[Row]:
    """Play 30 sub-sampled steps; their thresholds are estimated from the draws of the null."""
    member = np.repeat([False, True], rounds)
    scores = np.concatenate(
        [np.array(list(step_scores(flags, rng))) for flags in np.array_split(member, 40)], axis=1
    )
    rows = []
    for adversary, score in zip(("informed", "relaxed-unaligned"), scores[:2], strict=True):
        found, curve = summarize(score, member, alpha=ALPHAS), _steps(adversary)
        for i, alpha in enumerate(ALPHAS):
            theory, allowed = float(curve(alpha)), STANDARD_ERRORS * float(found.power_se[i])
            rows.append(
                Row(f"30 steps, {adversary}: f({alpha:g})", 1 - found.power[i], theory, allowed)
            )
    return rows + _aligned(summarize(scores[2], member, alpha=ALPHAS))


def _aligned(found: Any) -> list[Row]:
    """The aligned attack lies within its bracket: no better than informed, no worse than a test."""
    curve, rows = _steps("relaxed-aligned"), []
    for i, alpha in enumerate(ALPHAS):
        low, high = (float(end) for end in curve.interval("beta", alpha))
        measured = 1 - float(found.power[i])
        allowed = 0.5 * (high - low) + STANDARD_ERRORS * float(found.power_se[i])
        name = f"30 steps, relaxed-aligned: bracket at {alpha:g}"
        rows.append(Row(name, measured, 0.5 * (low + high), allowed))
    return rows


def step_scores(member: npt.NDArray[np.bool_], rng: np.random.Generator) -> tuple[Doubles, ...]:
    """Return the log-likelihood ratios of three attackers, one a round.

    Informed, unaligned (a new sign in every step) and aligned (one unknown sign).
    """
    x = rng.standard_normal((member.size, STEPS))
    sampled = rng.random(x.shape) < RATE
    x += MU * (member[:, np.newaxis] & sampled)
    plus = np.log(1 - RATE + RATE * np.exp(MU * x - 0.5 * MU * MU)).sum(axis=1)
    minus = np.log(1 - RATE + RATE * np.exp(-MU * x - 0.5 * MU * MU)).sum(axis=1)
    size = np.log(1 - RATE + RATE * np.exp(-0.5 * MU * MU) * np.cosh(MU * x)).sum(axis=1)
    return plus, size, np.logaddexp(plus, minus) - np.log(2.0)


# --- the figure ----------------------------------------------------------------------------------


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the six panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 8.2), layout="constrained")
    for axes, panel in zip(figure.subplots(2, 3).ravel(), outcome.curves["panels"], strict=True):
        draw_panel(axes, panel)
    figure.suptitle(outcome.title, fontsize=11)
    figure.savefig(path, dpi=150)


def draw_panel(axes: Any, panel: Panel) -> None:
    """Draw the relaxed curves solid and the informed one dotted."""
    from leakscore import plot

    plot.trade_off(panel.relaxed, ax=axes)
    alpha = np.linspace(0, 1, 401) ** 2
    for name, curve in panel.informed.items():
        axes.plot(alpha, curve(alpha), ":", color="black", lw=1.8, label=name)
    axes.set(title=panel.title)
    axes.legend(fontsize=8)
