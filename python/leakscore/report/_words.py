"""How numbers, budgets and remedies read."""

from __future__ import annotations

import math
from collections.abc import Sequence

from leakscore.render import document as doc
from leakscore.report._model import LEVELS, Compared, Counts, Noise, Remedy

__all__ = ["ABOVE", "budget", "number", "percent", "plus_minus", "remedies_table"]

ABOVE = [f">\u00a0{100 * level:g}\u00a0%" for level in LEVELS]
"""Names of the columns that count records by power."""


def percent(share: float) -> str:
    """Return 94.4 %, and never 100.0 % or 0.0 % of what is not certain."""
    if 0.9995 <= share < 1:
        return "> 99.9\u00a0%"
    if 0 < share < 0.0005:
        return "< 0.1\u00a0%"
    return f"{100 * share:.1f}\u00a0%"


def number(value: float) -> str:
    """Return a leakage in four digits."""
    return "infinite" if math.isinf(value) else f"{value:.4g}"


def plus_minus(one: Compared) -> str:
    """Return the simulated share with one standard error, in percent."""
    return f"{100 * one.simulated:.1f}\u00a0±\u00a0{max(100 * one.std_error, 0.1):.1f}\u00a0%"


def budget(noise: Noise) -> str:
    """Name the budget of the noise."""
    limits = noise.budget
    if "max_advantage" in limits:
        return f"an advantage of at most {percent(limits['max_advantage'])}"
    return f"a Gaussian epsilon of at most {limits['epsilon']:g} at delta = {limits['delta']:g}"


def remedies_table(
    name: str, remedies: Sequence[Remedy], caption: str, now: Counts | None = None
) -> doc.Table:
    """Return a table of remedies, below the release as it is now."""
    lines = [(r.what, r.cost, r.worst_row, r.power, r.above) for r in remedies]
    if now is not None:
        lines.insert(0, ("as it is", "-", now.worst_row, now.worst_power, now.above))
    rows: list[list[str | doc.Bar]] = [
        [what, cost, str(row), percent(power), doc.Bar(power), str(above["50%"]), str(above["10%"])]
        for what, cost, row, power, above in lines
    ]
    header = [name, "cost", "worst row", "power", "", ABOVE[1], ABOVE[0]]
    return doc.Table(header, rows, caption, words=["cost"], page_only=["cost"])
