"""Figures 3b, 3c, 5 and 6 of Kaissis et al. (NeurIPS 2023): audits in gradient space.

A canary of the largest allowed size is put into one coordinate of the gradient (3b, 5b, 6) or into
an unknown direction of 50 (3c), and the attacker tests the size of the noisy output. A run has 1024
outputs with the canary and 1024 without; its empirical curve is read at 50 levels, in both
directions, and the mean over runs is compared with the curve. The empirical threshold is itself
random, so the mean must be the curve's average over the law of that threshold's level, a beta law;
this average differs from the curve by up to .003.

Figure 3a, and figure 3c on a network, are in `kaissis_attacks`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import tradeoff
from leakscore.tradeoff import TradeOff
from reproduce._outcome import Outcome, Row, student

Doubles = npt.NDArray[np.float64]
Sampler = Callable[[np.random.Generator, tuple[int, int], bool], Doubles]

UNIT = "runs, a quarter of them at d = 50"
OUTPUTS = 1024  # of each hypothesis in a run
LEVELS = np.arange(1, 51) / 51
ASKED = (0, 4, 14, 24, 44)  # of the levels, in the table


@dataclass(frozen=True)
class Setting:
    """A mechanism that is audited: its curve and the size of its outputs."""

    name: str
    curve: TradeOff
    sizes: Sampler
    share: int = 1  # one in this many of the runs


@dataclass(frozen=True)
class Band:
    """Mean and standard deviation over runs of the empirical curve at the levels."""

    mean: Doubles
    deviation: Doubles
    runs: int
    expected: Doubles


@dataclass(frozen=True)
class AuditFigure:
    """A figure: its title and what it audits."""

    title: str
    settings: tuple[Setting, ...]
    beside: dict[str, TradeOff] = field(default_factory=dict)

    def reproduce(self, *, rounds: int = 1024, seed: int = 1) -> Outcome:
        """Audit every setting in `rounds` runs."""
        rng = np.random.default_rng(seed)
        rows: list[Row] = []
        bands = {}
        for setting in self.settings:
            runs = max(rounds // setting.share, 2)
            bands[setting.name] = audited(setting, runs, rng)
            for direction, band in zip(("j", "inverse"), bands[setting.name], strict=True):
                rows += band_rows(f"{setting.name}, {direction}", band)
        return Outcome(
            self.title,
            rounds,
            seed,
            tuple(rows),
            {"bands": bands},
            unit=UNIT,
        )

    def draw(self, outcome: Outcome, path: Path) -> None:
        """Draw the bands of the runs over the curves."""
        from matplotlib.figure import Figure

        width = len(self.settings) + bool(self.beside)
        figure = Figure(figsize=(4.6 * width, 4.6), layout="constrained")
        axes = figure.subplots(1, width, squeeze=False)[0]
        for panel, setting in zip(axes, self.settings, strict=False):
            draw_setting(panel, setting.name, setting.curve, outcome.curves["bands"][setting.name])
        if self.beside:
            from leakscore import plot

            plot.trade_off(self.beside, ax=axes[-1])
        figure.suptitle(outcome.title, fontsize=10)
        figure.savefig(path, dpi=150)


def audited(setting: Setting, runs: int, rng: np.random.Generator) -> tuple[Band, Band]:
    """Return the empirical curve of the test of the null, and of the alternative."""
    outside, inside = (setting.sizes(rng, (runs, OUTPUTS), member) for member in (False, True))
    return bands(setting.curve, outside, inside)


def bands(curve: TradeOff, outside: Doubles, inside: Doubles) -> tuple[Band, Band]:
    """Return the empirical curve of runs, one a row, and that of the reverse test."""
    outside, inside = np.sort(outside, axis=1), np.sort(inside, axis=1)
    allowed = np.floor(LEVELS * OUTPUTS).astype(int)  # wrong decisions of the first kind
    missed = _shares(inside, outside[:, OUTPUTS - 1 - allowed], side="right")
    flagged = 1.0 - _shares(outside, inside[:, allowed], side="left")
    return (
        _band(missed, curve, allowed),
        _band(flagged, curve.inverse(), allowed),
    )


def _shares(values: Doubles, thresholds: Doubles, side: Any) -> Doubles:
    """Return the share of the sorted values below each threshold, run by run."""
    pairs = zip(values, thresholds, strict=True)
    counts = np.array([np.searchsorted(v, t, side=side) for v, t in pairs])
    return np.asarray(counts / values.shape[1])


def _band(measured: Doubles, curve: TradeOff, allowed: npt.NDArray[np.int_]) -> Band:
    return Band(
        measured.mean(axis=0),
        measured.std(axis=0, ddof=1),
        len(measured),
        averaged(curve, allowed, OUTPUTS),
    )


def averaged(curve: TradeOff, allowed: npt.NDArray[np.int_], outputs: int) -> Doubles:
    """Return the mean of a curve over the level of an empirical threshold.

    The (k + 1)-th largest of n outputs has a level with the law Beta(k + 1, n - k).
    """
    from scipy.stats import beta

    nodes, weights = np.polynomial.legendre.leggauss(64)
    levels = beta.ppf(
        0.5 + 0.5 * nodes, allowed[:, np.newaxis] + 1.0, outputs - allowed[:, np.newaxis]
    )
    return np.asarray(curve(levels) @ (0.5 * weights))


def band_rows(name: str, band: Band) -> list[Row]:
    """Compare the mean over runs with the curve."""
    # At least one output of all: a few runs may agree to the last one.
    error = np.maximum(band.deviation / np.sqrt(band.runs), 1 / (OUTPUTS * band.runs))
    return [
        Row(
            f"{name}({LEVELS[i]:.3f})",
            float(band.mean[i]),
            float(band.expected[i]),
            student(band.runs) * float(error[i]),
        )
        for i in ASKED
    ]


def draw_setting(axes: Any, title: str, curve: TradeOff, bands: tuple[Band, Band]) -> None:
    """Draw both directions over their curves."""
    from leakscore import plot

    plot.trade_off({"curve": curve, "its inverse": curve.inverse()}, ax=axes)
    for band, colour in zip(bands, ("C0", "C1"), strict=True):
        low, high = band.mean - band.deviation, band.mean + band.deviation
        axes.fill_between(LEVELS, low, high, color=colour, alpha=0.3, lw=0)
        axes.plot(LEVELS, band.mean, ".", color="black", ms=3)
    axes.plot([], [], ".", color="black", ms=3, label=f"mean of {bands[0].runs} runs, ± 1 s.d.")
    axes.set(title=title)
    axes.legend(fontsize=7.5)


# --- what is audited -----------------------------------------------------------------------------


def _gaussian(mu: float, dim: int = 1, rate: float = 1.0) -> Sampler:
    """Squared length of the canary, if it is in and sampled, with Gaussian noise."""

    def sizes(rng: np.random.Generator, shape: tuple[int, int], member: bool) -> Doubles:
        shift = mu * (rng.random(shape) < rate) if member else np.zeros(shape)
        total = np.square(rng.standard_normal(shape) + shift)
        for _ in range(dim - 1):
            total += np.square(rng.standard_normal(shape))
        return np.asarray(total)

    return sizes


def _laplace(mu: float, rate: float = 1.0) -> Sampler:
    """Size of the canary, if it is in and sampled, with Laplace noise."""

    def sizes(rng: np.random.Generator, shape: tuple[int, int], member: bool) -> Doubles:
        shift = mu * (rng.random(shape) < rate) if member else np.zeros(shape)
        return np.asarray(np.abs(rng.laplace(size=shape) + shift))

    return sizes


GAUSSIAN = AuditFigure(
    "Kaissis et al. (2023), Figure 3: audits of the Gaussian mechanism (b, c)",
    (
        Setting("d = 1, ratio 1", tradeoff.relaxed_gaussian(1.0), _gaussian(1.0)),
        Setting("d = 50, ratio 2", tradeoff.relaxed_gaussian(2.0, 50), _gaussian(2.0, 50), 4),
    ),
)
LAPLACE = AuditFigure(
    "Kaissis et al. (2023), Figure 5: the Laplace mechanism, sub-sampled (a) and audited (b)",
    (
        Setting("Laplace, ratio 1", tradeoff.relaxed_laplace(1.0), _laplace(1.0)),
        Setting(
            "Laplace, rate 0.3",
            tradeoff.relaxed_laplace(1.0).subsample(0.3),
            _laplace(1.0, 0.3),
        ),
    ),
    {
        "j": tradeoff.relaxed_laplace(1.0),
        "j, rate 0.3": tradeoff.relaxed_laplace(1.0).subsample(0.3),
        "its inverse, rate 0.3": tradeoff.relaxed_laplace(1.0).subsample(0.3).inverse(),
    },
)
SUBSAMPLED = AuditFigure(
    "Kaissis et al. (2023), Figure 6: audit of one sub-sampled Gaussian step, ratio 1.5, rate 0.3",
    (
        Setting(
            "ratio 1.5, rate 0.3",
            tradeoff.relaxed_gaussian(1.5).subsample(0.3),
            _gaussian(1.5, rate=0.3),
        ),
    ),
)
