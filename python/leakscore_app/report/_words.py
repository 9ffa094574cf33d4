"""How numbers, budgets and remedies read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal

from leakscore_app.document import document as doc
from leakscore_app.report._model import LEVELS, Compared, Content, IdentifiedCounts, Noise, Remedy

ABOVE = [f">\u00a0{100 * level:g}\u00a0%" for level in LEVELS]
"""Names of the columns that count records by power."""


def named(report: Content, row: int, *, whole: bool = True) -> str:
    """Name a record by its number, and by line and person where they are known.

    It stands for all records of its person, if these are judged as a `whole`.
    """
    more = _others_of_its_person(report, row) if whole else 0
    return f"{'' if more else 'record '}{label(report, row, whole=whole)}"


def label(report: Content, row: int, *, whole: bool = True) -> str:
    """Return the name of a record as cells of tables have it, without the word "record"."""
    place = report.place(row)
    more = _others_of_its_person(report, row) if whole else 0
    if more:
        line = f", line {place['line']}," if "line" in place else ""
        return f"person {place['id']} (record {row}{line} and {more} more)"
    line = f" (line {place['line']})" if "line" in place else ""
    return f"{row}{line}{', person ' + str(place['id']) if 'id' in place else ''}"


def _others_of_its_person(report: Content, row: int) -> int:
    return report.owned.records_of(row) - 1 if report.owned is not None else 0


def capitalised(text: str) -> str:
    """Return a text with a capital at its beginning."""
    return f"{text[:1].upper()}{text[1:]}"


def times(share: float) -> str:
    """Return how many times in 100, in two digits at least where it is not certain."""
    shown = f"{100 * share:.0f}" if 0.0995 <= share <= 0.9905 else f"{100 * share:.1f}"
    if share < 1 and float(shown) == 100:
        shown = "more than 99.9"
    return shown.removesuffix(".0")


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


def rounded_up(value: float, digits: int = 3) -> str:
    """Return a number in few digits, never less than it is: less noise would be too little."""
    if value == 0:
        return "0"
    shown = Decimal(value)
    step = Decimal(1).scaleb(shown.adjusted() - digits + 1)
    return f"{float(shown.quantize(step, ROUND_CEILING)):.{digits}g}"


def several(errors: float) -> str:
    """Return 1 standard error, 0.8 standard errors; more rather than less."""
    shown = rounded_up(errors)
    return f"{shown} standard error{'' if shown == '1' else 's'}"


def share_beside(share: float, limit: float) -> str:
    """Return a share in percent, in digits enough to tell it from a limit beside it."""
    for digits in range(1, 12):
        shown = f"{100 * share:.{digits}f}"
        if (float(shown) > 100 * limit) == (share > limit):
            break
    return percent(share) if digits == 1 else f"{shown}\u00a0%"


def limited(limit: dict[str, float]) -> str:
    """Name a limit: an advantage, a power, or a Gaussian epsilon."""
    if "max_advantage" in limit:
        return f"an advantage of at most {_share(limit['max_advantage'])}"
    if "max_power" in limit:
        return f"a power of at most {_share(limit['max_power'])}"
    return f"a Gaussian epsilon of at most {limit['epsilon']:g} at delta = {limit['delta']:g}"


def _share(share: float) -> str:
    return f"{100 * share:.6g}\u00a0%"


def budget(noise: Noise) -> str:
    """Name the budget of the noise."""
    return limited(noise.budget)


def remedies_table(
    report: Content,
    name: str,
    remedies: Sequence[Remedy],
    caption: str,
    now: IdentifiedCounts | None = None,
) -> doc.TextTable:
    """Return a table of remedies, below the release as it is now."""
    lines = [(r.what, r.cost, r.worst_row, r.power, r.above) for r in remedies]
    if now is not None:
        lines.insert(0, ("as it is", "-", now.worst_row, now.worst_power, now.above))
    rows: list[list[str | doc.Bar]] = [
        [
            what,
            cost,
            label(report, row),
            percent(power),
            doc.Bar(power),
            str(above["50%"]),
            str(above["10%"]),
        ]
        for what, cost, row, power, above in lines
    ]
    header = [name, "cost", "worst record", "power", "", ABOVE[1], ABOVE[0]]
    return doc.TextTable(header, rows, caption, words=["cost"], page_only=["cost"])
