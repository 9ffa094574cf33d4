"""The charts of the page: who is identified, how much leaks, and whether the theory holds."""

from __future__ import annotations

import math

import numpy as np

from leakscore.render.svg import Axis, Chart, decades, nice_ticks
from leakscore.report._model import ALPHA, LEVELS, Content, Game
from leakscore.report._words import number, percent

__all__ = ["leakages", "ratios", "roc"]


def roc(report: Content) -> str:
    """Log-log ROC of the worst record: both attackers, theory and game."""
    informed = next(game for game in report.games if game.attacker == "informed")
    weaker = next(game for game in report.games if game.attacker == "weaker")
    low = min(1e-3, 2 / informed.rounds)
    low = 10.0 ** math.floor(math.log10(low))
    chart = Chart(
        title=f"ROC of row {informed.row}",
        description=(
            f"Row {informed.row}: at {100 * ALPHA:g} % false positives the informed attacker "
            f"identifies {percent(informed.power.theory)} in theory and "
            f"{percent(informed.power.simulated)} in the game, the weaker "
            f"{percent(weaker.power.theory)} and {percent(weaker.power.simulated)}."
        ),
        x=Axis(low, 1, decades(low, 1), "false positives (share of tables without it)", log=True),
        y=Axis(low, 1, decades(low, 1), "power (share of tables with it)", log=True),
    )
    chart.vertical(ALPHA, "1\u00a0%", at_foot=True)
    chart.line([low, 1], [low, 1], "line chance")
    for game, style in ((weaker, "weaker"), (informed, "informed")):
        rate = game.roc["false_positive_rate"]
        chart.line(rate, game.roc["theoretical_power"], f"line {style}", f"{style}, theory")
        chart.dots(rate, game.roc["simulated_power"], f"dot {style}", f"{style}, game")
    chart.legend("guessing", "line chance")
    return chart.render()


def leakages(report: Content) -> str:
    """Histogram of the records' leakage scores, both attackers; counts on a logarithmic axis."""
    informed, weaker = report.informed.leakage, report.weaker.leakage
    positive = [scores[np.isfinite(scores) & (scores > 0)] for scores in (informed, weaker)]
    joined = np.concatenate(positive)
    low, high = float(np.quantile(joined, 0.001)), float(joined.max()) * 1.3
    edges = np.geomspace(min(low, high / 10), high, 41)
    most = max(len(informed), 10)
    counts = report.counts[0].above
    chart = Chart(
        title="Distribution of the leakage",
        description=(
            f"Leakage of {len(informed)} records. The informed attacker identifies "
            f"{counts['10%']} of them with more than 10 % power, {counts['50%']} with more than "
            f"50 % and {counts['90%']} with more than 90 %."
        ),
        x=Axis(edges[0], edges[-1], decades(edges[0], edges[-1]), "leakage m", log=True),
        y=Axis(0.7, most, decades(1, most), "records", log=True),
    )
    for scores, style in zip(positive, ("informed", "weaker"), strict=True):
        bars = np.histogram(np.maximum(scores, edges[0]), edges)[0]
        chart.bars(edges.tolist(), bars.tolist(), f"bar {style}", f"{style} attacker")
    for level in LEVELS:
        threshold = _leakage_of_power(level)
        if edges[0] < threshold < edges[-1]:
            chart.vertical(threshold, f"{100 * level:g}\u00a0%")
    chart.legend(f"power at {100 * ALPHA:g} % false positives", "line guide")
    return chart.render()


def _leakage_of_power(power: float) -> float:
    """Leakage at which the power at 1 % false positives is `power`."""
    from leakscore.distributions import norm

    return float((norm.ppf(power) - norm.ppf(ALPHA)) ** 2)


def ratios(game: Game) -> str:
    """Histograms of the log-likelihood ratio with and without the record, with their laws."""
    spread = math.sqrt(game.leakage)
    values = np.concatenate([game.members, game.nonmembers])
    reach = max(game.leakage / 2 + 3.5 * spread, float(np.quantile(np.abs(values), 0.999)))
    edges = np.linspace(-reach, reach, 61)
    grid = np.linspace(-reach, reach, 241)
    peak = 1 / (spread * math.sqrt(2 * math.pi))
    chart = Chart(
        title=f"Likelihood ratios of row {game.row}",
        description=(
            f"Row {game.row}, {game.rounds} rounds of the game: the score of a table without the "
            f"record and with it, and the normal laws of mean \u2212m/2 and m/2, variance m = "
            f"{number(game.leakage)} that the theory predicts."
        ),
        x=Axis(-reach, reach, nice_ticks(-reach, reach), "log-likelihood ratio"),
        y=Axis(0, 1.35 * peak, nice_ticks(0, 1.35 * peak, 5), "density"),
    )
    for scores, style, name, centre in (
        (game.nonmembers, "out", "without the record", -game.leakage / 2),
        (game.members, "in", "with the record", game.leakage / 2),
    ):
        heights = np.histogram(scores, edges)[0] / len(scores) / (edges[1] - edges[0])
        chart.bars(edges.tolist(), heights.tolist(), f"bar {style}", f"{name}, game")
        law = peak * np.exp(-0.5 * ((grid - centre) / spread) ** 2)
        chart.line(grid.tolist(), law.tolist(), f"line {style}", f"{name}, theory")
    return chart.render()
