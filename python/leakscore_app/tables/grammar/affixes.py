"""What stands around the numbers of a column: a currency, a unit, brackets, another minus.

They are taken off only where all cells of a column are written alike, and the note says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from leakscore_app.tables.grammar.conventions import shape_of

_MINUS = "\u2212"
_CURRENCY = r"[$\u20ac\u00a3\u00a5\u20b9]|EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CZK|INR|Fr\.|kr"
_UNITS = (
    r"%|\u2030|\u00b0C?|\u00b0F|K|g|kg|mg|[u\u00b5\u03bc]g|ng|t|lbs?|oz|m|km|cm|mm|[u\u00b5\u03bc]m|nm"
    r"|ft|in|mi|l|L|ml|mL|dl|dL|s|ms|sec|min|h|hrs?|d|days?|weeks?|wk|months?|mo|years?|yrs?|y|a"
    r"|Hz|kHz|MHz|V|mV|W|kW|kWh|J|kJ|kcal|Pa|kPa|hPa|bar|mmHg|mmol|mol|mmol/[lL]|mg/d[lL]|g/d[lL]"
    r"|g/[lL]|U/[lL]|IU|bpm|kg/m2|kg/m\u00b2|m2|m\u00b2|m3|m\u00b3|km/h|m/s|ppm|dB|pts?|points?"
)
_NUMBER = r"(?P<number>[0-9.,].*?[0-9.,]|[0-9])"
_AFFIXED = re.compile(
    rf"(?P<sign>[+-]?)\s*(?P<prefix>{_CURRENCY})?\s*(?P<inner>[+-]?)\s*{_NUMBER}"
    rf"(?:(?P<gap>\s*)(?P<suffix>{_UNITS}|{_CURRENCY}))?"
)
_BRACKETS = re.compile(rf"(?P<currency>{_CURRENCY})?\s*\((?P<inner>.+)\)")
_UNDERSCORES = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:_[0-9]{3})+(?:\.[0-9]+)?")
_LONG = re.compile(r"[+-]?[0-9]{4,}(?:\.[0-9]*)?")


def plain(cells: Sequence[str]) -> tuple[list[str], list[str]]:
    """Take off what all cells of a column have in common besides their numbers.

    Parameters
    ----------
    cells : sequence of str
        The different cells of a column, trimmed, without missing ones.

    Returns
    -------
    plain : list of str
        The same cells without affixes; unchanged where they are not alike.
    notes : list of str
        What was taken off, in words.
    """
    notes: list[str] = []
    bare = list(cells)
    for take in (_minus, _brackets, _underscores, _affixes):
        bare, said = take(bare)
        if said:
            notes.append(said)
    return bare, notes


def _minus(cells: list[str]) -> tuple[list[str], str]:
    if not any(_MINUS in cell for cell in cells):
        return cells, ""
    return [cell.replace(_MINUS, "-", 1) for cell in cells], "the sign U+2212 is read as minus"


def _brackets(cells: list[str]) -> tuple[list[str], str]:
    bracketed = [_BRACKETS.fullmatch(cell) for cell in cells]
    if not any(bracketed) or any(cell.startswith(("-", "+")) for cell in cells):
        return cells, ""
    if any(match and match["inner"].startswith(("-", "+")) for match in bracketed):
        return cells, ""
    taken = [
        f"-{match['currency'] or ''}{match['inner'].strip()}" if match else cell
        for cell, match in zip(cells, bracketed, strict=True)
    ]
    return taken, "numbers in brackets are read as negative"


def _underscores(cells: list[str]) -> tuple[list[str], str]:
    grouped = [_UNDERSCORES.fullmatch(cell) is not None for cell in cells]
    if not any(grouped) or any(
        ("_" in cell and not whole) or _LONG.fullmatch(cell)
        for cell, whole in zip(cells, grouped, strict=True)
    ):
        return cells, ""
    return [cell.replace("_", "") for cell in cells], "underscores are read as marks of thousands"


def _affixes(cells: list[str]) -> tuple[list[str], str]:
    matches = [_AFFIXED.fullmatch(cell) for cell in cells]
    kinds = {
        None if match is None else (match["prefix"] or "", match["suffix"] or "")
        for match in matches
    }
    if len(kinds) != 1 or None in kinds or kinds == {("", "")}:
        return cells, ""
    if any(m is not None and m["sign"] and m["inner"] for m in matches):
        return cells, ""
    taken = [m["sign"] + m["inner"] + m["number"] for m in matches if m is not None]
    affix = " and ".join(repr(part) for part in (kinds.pop() or ()) if part)
    return taken, f"every number is written with {affix}, which is taken off"


def is_near(cell: str) -> bool:
    """Whether a cell is a number with a currency, unit, or sign of its own."""
    cell = cell.replace(_MINUS, "-")
    match = _AFFIXED.fullmatch(cell) or _AFFIXED.fullmatch(cell.removeprefix("(").removesuffix(")"))
    return match is not None and shape_of(match["number"]) is not None
