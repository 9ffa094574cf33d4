"""The charts of the page: who is identified, how much leaks, and whether the theory holds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from leakscore import tradeoff
from leakscore.distributions import norm
from leakscore_app._visible import capitalised
from leakscore_app.document import Axis, Chart, decades, nice_ticks
from leakscore_app.document import document as doc
from leakscore_app.report._model import ALPHA, LEVELS, Bars, Content, Doubles, Game
from leakscore_app.report._verdict import named, number, percent
from leakscore_app.report.engine.leakage import THRESHOLDS

_RATES = (0.001, 0.01, 0.1, 0.5)  # of false positives, in the table of the ROC
_MERGED = 5  # bars of a chart in a line of its table


def roc(report: Content) -> str:
    """Log-log ROC of the worst record: both attackers, theory and game."""
    informed, weaker = _two(report)
    who = named(report, informed.row)
    low = min(1e-3, 2 / informed.rounds)
    low = 10.0 ** math.floor(math.log10(low))
    chart = Chart(
        title=f"ROC of {who}",
        description=(
            f"{capitalised(who)}: at {100 * ALPHA:g} % false positives the informed attacker "
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
    positive, edges = _bins(report)
    records = report.records
    most = max(records, 10)
    counts = report.counts[0].above
    chart = Chart(
        title="Distribution of the leakage",
        description=(
            f"Leakage of {records} records. The informed attacker identifies "
            f"{counts['10%']} of them with more than 10 % power, {counts['50%']} with more than "
            f"50 % and {counts['90%']} with more than 90 %."
        ),
        x=Axis(edges[0], edges[-1], decades(edges[0], edges[-1]), "leakage m", log=True),
        y=Axis(0.7, most, decades(1, most), "records", log=True),
    )
    for scores, style in zip(positive, ("informed", "weaker"), strict=True):
        bars = _counted(scores, edges)
        chart.bars(edges.tolist(), bars.tolist(), f"bar {style}", f"{style} attacker")
    for level, threshold in zip(LEVELS, THRESHOLDS.tolist(), strict=True):
        if edges[0] < threshold < edges[-1]:
            chart.vertical(threshold, f"{100 * level:g}\u00a0%")
    chart.legend(f"power at {100 * ALPHA:g} % false positives", "line guide")
    return chart.render()


def _two(report: Content) -> tuple[Game, Game]:
    """Return the games of the worst record against both attackers."""
    informed = next(game for game in report.games if game.attacker == "informed")
    weaker = next(game for game in report.games if game.attacker == "weaker")
    return informed, weaker


def roc_table(report: Content) -> doc.TextTable:
    """Return the numbers of the ROC at round rates of false positives."""
    informed, weaker = _two(report)
    columns: dict[str, Iterable[str]] = {"false positives": map(percent, _RATES)}
    for game in (informed, weaker):
        seen, power = game.roc["false_positive_rate"], game.roc["simulated_power"]
        theory = tradeoff.gaussian(leakage=game.leakage).power(_RATES)
        played = np.interp(_RATES, seen, power, left=-1.0).tolist()
        columns[f"{game.attacker}\ntheory"] = map(percent, theory.tolist())
        columns[f"{game.attacker}\ngame"] = ["-" if at < 0 else percent(at) for at in played]
    return doc.TextTable.of(columns, f"Power against {named(report, informed.row)}")


def _bins(report: Content) -> tuple[list[Bars], Doubles]:
    """Return the positive, finite leakages to both attackers, and the edges of the bars."""
    scores = (report.informed.leakage, report.weaker.leakage)
    drawn = []
    for bars in report.bars or [Bars(each, np.ones(len(each), np.int64)) for each in scores]:
        inside = np.isfinite(bars.least) & (bars.least > 0)
        drawn.append(Bars(bars.least[inside], bars.counts[inside]))
    least = np.concatenate([bars.least for bars in drawn])
    order = np.argsort(least)
    ends = np.cumsum(np.concatenate([bars.counts for bars in drawn])[order])
    low = float(least[order[np.searchsorted(ends, 0.001 * ends[-1])]])
    high = float(least.max()) * 1.3
    return drawn, np.geomspace(min(low, high / 10), high, 41)


def _counted(bars: Bars, edges: Doubles) -> npt.NDArray[np.int64]:
    """Count leakages between edges; those below the first are in the first bar."""
    place = np.searchsorted(edges, np.maximum(bars.least, edges[0]), side="right") - 1
    place = np.minimum(place, len(edges) - 2)
    return np.bincount(place, bars.counts, len(edges) - 1).astype(np.int64)


def leakages_table(report: Content) -> doc.TextTable:
    """Return the numbers of the histogram, some bars together."""
    positive, edges = _bins(report)
    edges = edges[::_MERGED]
    informed, weaker = (_counted(bars, edges).tolist() for bars in positive)
    caption = "Records by leakage; the first line holds those below it, too"
    columns = {
        "leakage m": _between(edges),
        "informed": map(str, informed),
        "weaker": map(str, weaker),
    }
    return doc.TextTable.of(columns, caption)


def _between(edges: Doubles) -> list[str]:
    """Name the bins between edges."""
    return [f"{number(low)} to {number(high)}" for low, high in pairwise(edges.tolist())]


def _reach(game: Game) -> float:
    values = np.concatenate([game.members, game.nonmembers])
    normal = game.leakage / 2 + 3.5 * math.sqrt(game.leakage)
    return max(normal, float(np.quantile(np.abs(values), 0.999)))


def ratios_table(game: Game) -> doc.TextTable:
    """Return the numbers of the histograms, some bars together, beside their laws."""
    edges = np.linspace(-_reach(game), _reach(game), 61)[::_MERGED]
    spread, centre = math.sqrt(game.leakage), game.leakage / 2
    columns: dict[str, Iterable[str]] = {"log-likelihood ratio": _between(edges)}
    for who, scores, mean in (
        ("without it", game.nonmembers, -centre),
        ("with it", game.members, centre),
    ):
        theory = np.diff(norm.cdf((edges - mean) / spread))
        columns[f"{who}\ntheory"] = map(percent, theory)
        columns[f"{who}\ngame"] = map(percent, np.histogram(scores, edges)[0] / len(scores))
    return doc.TextTable.of(columns, "Share of the tables with such a score")


def ratios(report: Content, game: Game) -> str:
    """Histograms of the log-likelihood ratio with and without the record, with their laws."""
    who, spread, reach = named(report, game.row), math.sqrt(game.leakage), _reach(game)
    edges = np.linspace(-reach, reach, 61)
    grid = np.linspace(-reach, reach, 241)
    peak = 1 / (spread * math.sqrt(2 * math.pi))
    chart = Chart(
        title=f"Likelihood ratios of {who}",
        description=(
            f"{capitalised(who)}, {game.rounds} rounds of the game: the score of a table without "
            f"the record and with it, and the normal laws of mean \u2212m/2 and m/2, variance m = "
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
