"""Figures 1, 2, 4 and 8 of T. Michel, D. Basu and E. Kaufmann, sequential membership inference.

A table grows by batches of 10 Gaussian records and its mean is published after each; the target's
record may be in one batch. Every error rate is checked against its exact law, at the exact
threshold of alpha = .01, by playing the game.

Two statements of the paper do not hold, and the figures show it: SeMI-max does not "consistently
outperform" the final mean (its power is lower from T = 20 on, figures 2 and 4), and power does
depend on the dimension (figure 8b). The roots of the final mean's test (A.5) and the radius of
corollary B.6 are misprinted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import sequential
from leakscore.distributions import ncx2, norm
from reproduce._auc import Auc
from reproduce._batch_game import (
    FINAL,
    LARGEST,
    LEVEL,
    STAR,
    TESTS,
    UNIFORM,
    N,
    Setting,
    require_both,
)
from reproduce._outcome import STANDARD_ERRORS, Erratum, Outcome, Row, standard_error
from reproduce._sequences import mean_llr
from reproduce.kaissis import error_row

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_TOLD_APART = 0.6  # of the distance from a printed number: the most that the tolerance may be
PAPER = "Michel, Basu & Kaufmann, sequential membership inference"


def rates_rows(
    name: str, setting: Setting, test: str, scores: tuple[Doubles, Doubles]
) -> list[Row]:
    """Compare both errors at the exact threshold of alpha = .01."""
    threshold = setting.threshold(test)
    members, nonmembers = scores
    return [
        error_row(f"{name}, {test}: alpha", nonmembers > threshold, LEVEL),
        error_row(f"{name}, {test}: power", members > threshold, setting.power(test)),
    ]


def mended(row: Row, printed: float, name: str | None = None) -> Row:
    """Distinguish the row from the printed number, if the rounds are enough."""
    fields = name or row.name, row.measured, row.theory, row.tolerance
    enough = row.tolerance < _TOLD_APART * abs(row.theory - printed)
    return Erratum(*fields, printed) if enough else Row(*fields)


# --- figure 1 ------------------------------------------------------------------------------------


class _One:
    """The mean ratio, release by release, of a target in the fifth of ten batches."""

    SETTING = Setting(steps=10, insertion=4)

    def reproduce(self, *, rounds: int = 50_000, seed: int = 1) -> Outcome:
        """Play, and compare means of the ratios with their exact values."""
        setting = self.SETTING
        star, final, member = map(
            np.concatenate,
            zip(
                *(
                    (p.ratios()[:, 4], p.so_far(), p.member)
                    for p in setting.play(2 * rounds, np.random.default_rng(seed))
                ),
                strict=True,
            ),
        )
        require_both(member)
        rows = [
            row
            for name, (score, n) in (
                [("SeMI*, updates 5 to 10", (star, N))]
                + [(f"final, update {t}", (final[:, t - 1], N * t)) for t in range(5, 11)]
            )
            for row in _mean_rows(name, score, member, mean_llr(setting.square, n, 1))
        ]
        before = mean_llr(setting.square, 4 * N, 1)[0]
        rows += _mean_rows("final, update 4", final[:, 3], member, (before, before))
        curves = {"star": star, "final": final, "member": member}
        title = f"{PAPER}, Figure 1: the mean log-likelihood ratio, target in batch 5"
        return Outcome(title, rounds, seed, tuple(rows), curves)

    def draw(self, outcome: Outcome, path: Path) -> None:
        """Draw both panels: means, and the middle half of the rounds."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10.0, 4.4), layout="constrained")
        axes = figure.subplots(1, 2, sharey=True)
        member, updates = outcome.curves["member"], np.arange(1, 11)
        star = np.where(updates >= 5, outcome.curves["star"][:, np.newaxis], 0.0)
        for panel, values, title in (
            (axes[0], star, "(a) SeMI*"),
            (axes[1], outcome.curves["final"], "(b) the mean so far"),
        ):
            for flags, colour, label in (
                (member, "C3", "target in"),
                (~member, "C0", "target out"),
            ):
                panel.plot(updates, values[flags].mean(axis=0), "o-", color=colour, label=label)
                low, high = np.quantile(values[flags], [0.25, 0.75], axis=0)
                panel.fill_between(updates, low, high, color=colour, alpha=0.15, lw=0)
            panel.axvline(5, color="0.7", ls=":", lw=1)
            panel.set(title=title, xlabel="updates seen", ylabel="log-likelihood ratio")
            panel.legend(fontsize=8)
        figure.suptitle(outcome.title, fontsize=11)
        figure.savefig(path, dpi=150)


def _mean_rows(name: str, score: Doubles, member: Flags, means: tuple[Any, Any]) -> list[Row]:
    rows = []
    for word, flags, mean in (("out", ~member, means[0]), ("in", member, means[1])):
        values = score[flags]
        error = STANDARD_ERRORS * standard_error(values)
        rows.append(Row(f"{name}: mean, {word}", float(values.mean()), float(mean), error))
    return rows


# --- figure 2 ------------------------------------------------------------------------------------


class _Two:
    """Power at alpha = .01 against the number of batches and the target's distance."""

    STEPS, DISTANCES = (5, 10, 20, 50), (6.0, 9.0)

    def reproduce(self, *, rounds: int = 500_000, seed: int = 1) -> Outcome:
        """Play every setting."""
        rng = np.random.default_rng(seed)
        settings = [(f"T = {steps}", Setting(steps, insertion=4)) for steps in self.STEPS]
        settings += [(f"distance {m:g}", Setting(5, m, insertion=4)) for m in self.DISTANCES]
        rows: list[Row] = []
        for name, setting in settings:
            scores = setting.scores(rounds, rng)
            found = {test: rates_rows(name, setting, test, scores[test]) for test in TESTS}
            for test in TESTS:
                rows += found[test]
            if setting.steps >= 50:  # the paper: SeMI-max "consistently outperforms"
                rows[-1] = mended(rows[-1], found[LARGEST][1].theory)
        rows.append(_roots(rounds, rng))
        title = f"{PAPER}, Figure 2: power at alpha = {LEVEL:g}, batches of {N}, distance 3"
        notes = (
            "printed, final: the power of SeMI-max, which the paper says is the larger one",
            "printed, roots: the Type I error between the roots of A.5 as they are printed",
        )
        return Outcome(title, rounds, seed, tuple(rows), {}, notes)

    def draw(self, outcome: Outcome, path: Path) -> None:
        """Draw exact powers as lines, and measured ones as points."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10.5, 4.4), layout="constrained")
        first, second = figure.subplots(1, 2)
        rows = {row.name: row for row in outcome.rows}
        steps: list[float] = list(range(2, 51))
        distances: list[float] = list(np.linspace(1.0, 10.0, 40))

        def growth(steps: float) -> Setting:
            return Setting(int(steps))

        def shift(distance: float) -> Setting:
            return Setting(5, distance)

        for i, test in enumerate(TESTS):
            growing = [rows[f"T = {t}, {test}: power"] for t in self.STEPS]
            far = [rows[f"distance {m:g}, {test}: power"] for m in self.DISTANCES]
            for axes, place, own, fine, made in (
                (first, self.STEPS, growing, steps, growth),
                (second, (3.0, *self.DISTANCES), growing[:1] + far, distances, shift),
            ):
                axes.plot(place, [row.measured for row in own], "o", color=f"C{i}", ms=4)
                if test == UNIFORM:  # costly: only where it was played
                    axes.plot(place, [row.theory for row in own], ":", color=f"C{i}", label=test)
                else:
                    line = [made(value).power(test) for value in fine]
                    axes.plot(fine, line, color=f"C{i}", label=test)
        first.axhline(LEVEL, color="0.7", lw=0.8, zorder=0)
        first.set(
            title="(a) distance 3", xlabel="number of updates T", ylabel="power", yscale="log"
        )
        second.set(title="(b) T = 5", xlabel="Mahalanobis distance of the target", ylabel="power")
        first.legend(fontsize=8)
        second.legend(fontsize=8)
        figure.suptitle(outcome.title, fontsize=11)
        figure.savefig(path, dpi=150)


def _roots(rounds: int, rng: np.random.Generator) -> Row:
    """Play the test of the final mean, which accuses between two roots (A.5, nT = 40)."""
    setting, gamma = Setting(4), 1.0
    played = np.concatenate([p.releases[~p.member, -1, 0] for p in setting.play(2 * rounds, rng)])
    n = N * setting.steps
    width = np.sqrt(setting.square - np.log1p(-1.0 / n) - 2.0 * gamma)
    half = width * np.sqrt((n - 1) / n)
    low, high = setting.distance - half, setting.distance + half
    alpha = float(sequential.error_rates(gamma, setting.square, n, 1)[0])
    row = error_row("final, roots at threshold 1: alpha", (low <= played) & (played <= high), alpha)
    centre, half = setting.distance / n, width * np.sqrt(n - 1) / n
    ends = norm.cdf(np.sqrt(n) * np.array([centre - half, centre + half]))
    return mended(row, float(ends[1] - ends[0]))


# --- figure 4 ------------------------------------------------------------------------------------


class _Four:
    """ROC curves and their areas, for a fixed batch of the target and for a random one."""

    STEPS = (5, 10, 50)

    def reproduce(self, *, rounds: int = 100_000, seed: int = 1) -> Outcome:
        """Play and compare areas."""
        rng = np.random.default_rng(seed)
        rows: list[Row] = []
        scores, curves, areas = {}, {}, {}
        for steps in self.STEPS:
            setting = Setting(steps, insertion=4)
            scores[steps] = setting.scores(rounds, rng)
            curves[steps] = {test: setting.curve(test) for test in TESTS}
            areas[steps] = {test: setting.auc(test) for test in (STAR, LARGEST, FINAL)}
            areas[steps][UNIFORM] = trapezoids(*curves[steps][UNIFORM])
            for test in TESTS:
                row = auc_row(f"T = {steps}, {test}: AUC", scores[steps][test], areas[steps][test])
                worse = test == FINAL and steps >= 50
                rows.append(mended(row, areas[steps][LARGEST]) if worse else row)
        anywhere = Setting(5, insertion="uniform").scores(rounds, rng)
        for test in TESTS[1:]:
            name = f"T = 5, any batch, {test}: AUC"
            rows.append(auc_row(name, anywhere[test], areas[5][test]))
        title = f"{PAPER}, Figure 4: ROC curves, batches of {N}, distance 3"
        notes = (
            "printed: the area of SeMI-max, which the paper says is the larger one",
            "any batch: figures 5 and 6, whose errors are those of a fixed batch, as all are alike",
        )
        return Outcome(title, rounds, seed, tuple(rows), {"scores": scores, "exact": curves}, notes)

    def draw(self, outcome: Outcome, path: Path) -> None:
        """Draw the exact curves, and the measured ones dotted."""
        from matplotlib.figure import Figure

        from leakscore.audit import Audit

        figure = Figure(figsize=(13.0, 4.7), layout="constrained")
        panels = figure.subplots(1, len(self.STEPS), squeeze=False)
        for axes, steps in zip(panels[0], self.STEPS, strict=True):
            for i, test in enumerate(TESTS):
                exact = outcome.curves["exact"][steps][test]
                axes.plot(*exact, color=f"C{i}", lw=1.2, label=test)
                roc = Audit(*outcome.curves["scores"][steps][test]).roc()
                places = np.linspace(0, len(roc.fpr) - 1, 400).astype(int)
                axes.plot(roc.fpr[places], roc.tpr[places], ":", color=f"C{i}", lw=2.2)
            axes.plot([0, 1], [0, 1], color="0.7", lw=0.8, zorder=0)
            axes.set(title=f"T = {steps}", xlabel="alpha", ylabel="power", aspect="equal")
            axes.legend(fontsize=8, loc="lower right")
        figure.suptitle(f"{outcome.title}; dotted: measured", fontsize=11)
        figure.savefig(path, dpi=150)


def trapezoids(x: Doubles, y: Doubles) -> float:
    """Return the area under a curve through points."""
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1])) / 2.0)


def auc_row(name: str, scores: tuple[Doubles, Doubles], theory: float) -> Row:
    size = min(map(len, scores))
    area = Auc.of(*(score[:size] for score in scores))
    return Row(name, area.value, theory, STANDARD_ERRORS * area.error)


# --- figure 8 ------------------------------------------------------------------------------------


class _Eight:
    """The region of accusation in two dimensions, and power against the dimension."""

    DIMS = (1, 2, 10, 50, 100)

    def reproduce(self, *, rounds: int = 50_000, seed: int = 1) -> Outcome:
        """Play in every dimension."""
        rng = np.random.default_rng(seed)
        rows: list[Row] = []
        for dim in self.DIMS:
            setting = Setting(5, dim=dim, insertion=2)
            scores = setting.scores(rounds, rng)
            alpha, power = rates_rows(f"d = {dim}", setting, STAR, scores[STAR])
            flat = Setting(5, dim=2).power(STAR)
            rows += [alpha, mended(power, flat) if dim >= 50 else power]
            if dim == 2:
                rows.append(self._disc(rounds, rng))
                rows.append(mended(alpha, printed_alpha(setting), "d = 2, corollary B.6: alpha"))
        title = f"{PAPER}, Figure 8: {N} records a batch in d dimensions, distance 3"
        notes = (
            "printed, power: that of d = 2, as the paper says that the dimension does not matter",
            "printed, corollary B.6: the error with its n^2 M in place of M",
        )
        return Outcome(title, rounds, seed, tuple(rows), {}, notes)

    def _disc(self, rounds: int, rng: np.random.Generator) -> Row:
        """Accuse batch means in the disc around the target's record."""
        setting = Setting(5, dim=2, insertion=2)
        inside = [
            np.hypot(*(sequential.batch_means(p.releases[~p.member])[:, 2] - setting.target).T)
            <= radius(setting)
            for p in setting.play(2 * rounds, rng)
        ]
        return error_row("d = 2, batch mean in the disc: alpha", np.concatenate(inside), LEVEL)

    def draw(self, outcome: Outcome, path: Path) -> None:
        """Draw the disc with batch means, and the power."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10.5, 4.7), layout="constrained")
        first, second = figure.subplots(1, 2)
        setting = Setting(5, dim=2, insertion=2)
        played = next(setting.play(1200, np.random.default_rng(outcome.seed)))
        batch = sequential.batch_means(played.releases)[:, 2]
        for flags, colour, label in (
            (~played.member, "C0", "target out"),
            (played.member, "C3", "target in"),
        ):
            first.plot(*batch[flags].T, ".", ms=3, color=colour, alpha=0.5, label=label)
        turn = np.linspace(0.0, 2.0 * np.pi, 200)
        size = radius(setting)
        first.plot(3.0 + size * np.cos(turn), size * np.sin(turn), "k", lw=1.2, label="accused")
        first.plot(3.0, 0.0, "k*", ms=9)
        first.set(title=f"(a) d = 2, alpha = {LEVEL:g}", aspect="equal")
        first.set(xlabel="batch mean, in the target's direction", ylabel="across it")
        first.legend(fontsize=8, loc="upper right")
        dims = np.unique(np.geomspace(1, 500, 40).astype(int))
        powers = [Setting(5, dim=int(dim)).power(STAR) for dim in dims]
        second.plot(dims, powers, color="C0", label="exact")
        rows = {row.name: row for row in outcome.rows}
        own = [rows[f"d = {dim}, {STAR}: power"] for dim in self.DIMS]
        second.errorbar(
            self.DIMS,
            [row.measured for row in own],
            yerr=[row.tolerance / STANDARD_ERRORS for row in own],
            fmt="o",
            color="C3",
            ms=4,
            label="measured",
        )
        second.axhline(Setting(5, dim=2).power(STAR), color="0.6", ls="--", label="the paper's")
        second.set(title="(b) power", xlabel="dimension d", ylabel="power", xscale="log", ylim=0)
        second.legend(fontsize=8)
        figure.suptitle(outcome.title, fontsize=11)
        figure.savefig(path, dpi=150)


def radius(setting: Setting) -> float:
    """Return the distance from the target's record below which SeMI* accuses at alpha = .01."""
    largest = 0.5 * (setting.square - setting.dim * np.log1p(-1.0 / N))
    room = 2.0 * (largest - setting.threshold(STAR))
    return float(np.sqrt(room * (N - 1) / N))


def printed_alpha(setting: Setting) -> float:
    """Return the Type I error by corollary B.6 as printed."""
    inner = 0.5 * N**2 * setting.square - setting.threshold(STAR)
    inner -= 0.5 * setting.dim * np.log1p(-1.0 / N)
    return float(ncx2.cdf(2.0 * (N - 1) * inner, setting.dim, N * setting.square))


ONE, TWO, FOUR, EIGHT = _One(), _Two(), _Four(), _Eight()
