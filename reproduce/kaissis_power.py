"""Figure 2 of Kaissis et al. (NeurIPS 2023): the limit of many compositions, and power.

Panel a: 150 steps of a Gaussian mechanism in 300 dimensions, the attacker's test of the common
direction (chi-square with noncentrality kappa), and its two limits for large d, whose printed forms
(equation 7) are off by .09 and .79: their second terms are k / sqrt(2 d) over sqrt(1 + 2 k / d),
and k / sqrt(2 d), with k = N mu^2. They are close to the exact curve, not equal to it.

Panels b and c: power at alpha = .001. The paper draws the informed attacker of panel c by the
central limit theorem. For one step, which the panel seems to show, that is meaningless (power 1 at
ratio 3 instead of .14), so the exact curve is drawn.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from leakscore import tradeoff
from leakscore.distributions import chi2, norm
from reproduce._outcome import Erratum, Outcome, Row
from reproduce.kaissis import error_row

Doubles = npt.NDArray[np.float64]

MU, DIM, STEPS = 0.2, 300, 150  # of panel a
RATE, LEVEL = 0.3, 1e-3  # of panels b and c
RATIOS = (2.0, 3.0, 4.0)
TITLE = "Kaissis et al. (2023), Figure 2: many steps, and power"


def limits(alpha: npt.ArrayLike, kappa: float, dim: int) -> tuple[Doubles, Doubles]:
    """Return the two limits of the composed curve for large d (the corrected 55 and 59)."""
    z, shift = norm.isf(alpha), kappa / np.sqrt(2.0 * dim)
    return norm.cdf((z - shift) / np.sqrt(1.0 + 2.0 * kappa / dim)), norm.cdf(z - shift)


def reproduce(*, rounds: int = 100_000, seed: int = 1) -> Outcome:
    """Play the attacks of the three panels."""
    rng = np.random.default_rng(seed)
    rows = _many_steps(rounds, rng)
    for ratio in RATIOS:
        rows += _power(ratio, rounds, rng)
    return Outcome(TITLE, rounds, seed, tuple(rows), {})


def _many_steps(rounds: int, rng: np.random.Generator) -> list[Row]:
    """Average the steps' outputs and test the length of the mean."""
    curve = tradeoff.compose_relaxed_gaussian([MU] * STEPS, DIM)
    rows, length = [], np.empty(rounds)
    for first in range(0, rounds, 10_000):
        part = slice(first, min(first + 10_000, rounds))
        total = rng.standard_normal((part.stop - first, DIM)) * np.sqrt(STEPS)
        total[:, 0] += MU * STEPS
        length[part] = np.square(total).sum(axis=1) / STEPS
    for alpha in (0.01, 0.1, 0.5):
        wrong = length <= chi2.isf(alpha, DIM)
        rows.append(error_row(f"150 steps, d = 300: j({alpha:g})", wrong, float(curve(alpha))))
    both = zip(limits(0.1, STEPS * MU**2, DIM), printed_limits(0.1, MU, STEPS, DIM), strict=True)
    for name, (ours, printed) in zip(("55", "59"), both, strict=True):
        exact = float(curve(0.1))
        rows.append(Erratum(f"limit ({name}) at .1, to .004", exact, float(ours), 0.004, printed))
    return rows


def printed_limits(alpha: float, mu: float, steps: int, dim: int) -> tuple[float, float]:
    """Return both sides of equation 7 as printed."""
    z, growth = float(norm.isf(alpha)), np.sqrt(1.0 + 2.0 * steps * mu**2 / dim)
    first = z / growth - np.sqrt(2.0) * steps * mu**2 / (2.0 * dim * growth)
    return float(norm.cdf(first)), float(norm.cdf(z - steps * np.sqrt(mu / (2.0 * dim))))


def _power(ratio: float, rounds: int, rng: np.random.Generator) -> list[Row]:
    """Test one output at alpha = .001, with and without sub-sampling."""
    x = ratio + rng.standard_normal(rounds)
    sampled = np.where(rng.random(rounds) < RATE, x, rng.standard_normal(rounds))
    informed, relaxed = tradeoff.gaussian(ratio), tradeoff.relaxed_gaussian(ratio)
    one, two = float(norm.isf(LEVEL)), float(norm.isf(LEVEL / 2))
    rows = [
        error_row(f"{name}, ratio {ratio:g}: power at {LEVEL:g}", caught, float(curve.power(LEVEL)))
        for name, caught, curve in (
            ("informed", x > one, informed),
            ("relaxed", np.abs(x) > two, relaxed),
            (f"informed, rate {RATE:g}", sampled > one, informed.subsample(RATE)),
            (f"relaxed, rate {RATE:g}", np.abs(sampled) > two, relaxed.subsample(RATE)),
        )
    ]
    # The paper's informed attacker of panel c, by the central limit of a single step.
    limit = tradeoff.gaussian(RATE * np.sqrt(np.expm1(ratio**2))).power(LEVEL)
    exact = rows[2]
    fields = exact.measured, exact.theory, exact.tolerance, float(limit)
    return [*rows[:2], Erratum(exact.name, *fields), *rows[3:]]


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the three panels."""
    from matplotlib.figure import Figure

    from leakscore import plot

    figure = Figure(figsize=(12.5, 4.4), layout="constrained")
    first, second, third = figure.subplots(1, 3)
    curve = tradeoff.compose_relaxed_gaussian([MU] * STEPS, DIM)
    plot.trade_off({"exact": curve, "inverse": curve.inverse()}, ax=first)
    alpha = np.linspace(1e-6, 1 - 1e-6, 401)
    for name, limit in zip(("(55)", "(59)"), limits(alpha, STEPS * MU**2, DIM), strict=True):
        first.plot(alpha, limit, ":", lw=1.8, label=f"limit {name}, mended")
    first.set(title="(a) 150 steps, d = 300, ratio 1/5")
    first.legend(fontsize=8)
    ratios = np.linspace(0.05, 6.0, 120)
    for axes, rate, title in (
        (second, 1.0, "(b) Gaussian mechanism"),
        (third, RATE, f"(c) sampling rate {RATE:g}, one step"),
    ):
        for name, family in (
            ("informed", tradeoff.gaussian),
            ("relaxed", tradeoff.relaxed_gaussian),
        ):
            power = [family(ratio).subsample(rate).power(LEVEL) for ratio in ratios.tolist()]
            axes.plot(ratios, power, lw=1.4, label=name)
        axes.axhline(LEVEL, color="0.7", lw=0.8, zorder=0)
        axes.legend(fontsize=8)
        axes.set(title=title, xlim=(0, 6), xlabel=r"ratio $\Delta / \sigma$")
        axes.set(ylabel=rf"power at $\alpha$ = {LEVEL:g}")
    figure.suptitle(outcome.title, fontsize=11)
    figure.savefig(path, dpi=150)
