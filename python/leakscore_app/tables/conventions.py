"""What one cell is: a number with its marks, a word for a missing value, a sign or unit about it.

A file has one convention: a decimal mark and a mark of thousands. A number of digits and marks
excludes every convention in which it is not well formed; what all numbers of a file leave is its
convention. Two may remain that read a number differently: 4,258 is 4.258 or 4258.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

BLANKS = " \u00a0\u2007\u2009\u202f"
_APOSTROPHES = "'\u2019"


@dataclass(frozen=True)
class Convention:
    """A decimal mark, and a mark of thousands or "" for none; " " stands for every space."""

    decimal: str
    thousands: str

    @property
    def words(self) -> str:
        """For notes: how the numbers are read."""
        if not self.thousands:
            return f"decimal {_NAMES[self.decimal]}s"
        return f"decimal {_NAMES[self.decimal]}s and {_NAMES[self.thousands]}s between thousands"


_NAMES = {".": "point", ",": "comma", "'": "apostrophe", " ": "space"}

CONVENTIONS = (
    Convention(".", ""),
    Convention(",", ""),
    Convention(".", ","),
    Convention(",", "."),
    Convention(".", "'"),
    Convention(",", "'"),
    Convention(".", " "),
    Convention(",", " "),
)
"""In order of preference where all that are left read the same numbers."""

ALL = (1 << len(CONVENTIONS)) - 1


def conventions_of(decimal: str | None, thousands: str | None) -> int:
    """Return the conventions that options leave; `thousands` "none" stands for no mark."""
    mark = "" if thousands == "none" else thousands
    return sum(
        1 << i
        for i, convention in enumerate(CONVENTIONS)
        if decimal in (None, convention.decimal) and mark in (None, convention.thousands)
    )


@dataclass(frozen=True)
class Shape:
    """What the marks of a number tell.

    Attributes
    ----------
    conventions : int
        Those in which the number is well formed, as bits in the order of `CONVENTIONS`.
    three : str
        The mark if it is single and stands before exactly three digits, so that it may be either of
        the two; otherwise empty.
    bare : bool
        Whether the number has digits only.
    """

    conventions: int
    three: str = ""
    bare: bool = False


_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
_SINGLE = re.compile(rf"[+-]?(?=[.,]?[0-9])[0-9]*(?:([.,])[0-9]+|(\.)){_EXPONENT}")
_THREE = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
_BARE = re.compile(rf"[+-]?[0-9]+{_EXPONENT}")
_GROUPS = re.compile(
    rf"[+-]?[1-9][0-9]{{0,2}}(?:([.,'\u2019{BLANKS}])[0-9]{{3}})(?:\1[0-9]{{3}})*"
    r"(?:([.,])[0-9]+)?"
)
_BARE_SHAPE = Shape(ALL, bare=True)
SINGLE = {mark: Shape(conventions_of(mark, None)) for mark in ".,"}
THREE = {m: Shape(SINGLE[m].conventions | conventions_of(None, m), m) for m in SINGLE}


def shape_of(number: str) -> Shape | None:
    """Return what the marks of a trimmed number tell, or None if it is no number."""
    if _BARE.fullmatch(number):
        return _BARE_SHAPE
    if single := _SINGLE.fullmatch(number):
        shapes = THREE if _THREE.fullmatch(number) else SINGLE
        return shapes[single[1] or single[2]]
    groups = _GROUPS.fullmatch(number)
    return None if groups is None else _grouped(groups[1], groups[2])


@cache
def _grouped(mark: str, decimal: str | None) -> Shape | None:
    """Return what a mark of thousands and a decimal mark tell, None where they are the same."""
    kind = "'" if mark in _APOSTROPHES else " " if mark in BLANKS else mark
    return None if decimal == mark else Shape(conventions_of(decimal, kind))


_MARKS = re.compile(rf"[{_APOSTROPHES}{BLANKS}]")


def parse(number: str, convention: Convention) -> float:
    """Return the value of a number that is well formed in a convention."""
    plain = _MARKS.sub("", number)
    if convention.thousands in (".", ","):
        plain = plain.replace(convention.thousands, "")
    return float(plain.replace(",", "."))


MISSING = frozenset(
    (
        *("na", "n/a", "n.a.", "nan", "-nan", "+nan", "null", "none", "nil", "nd", "n.d.", "nat"),
        *("missing", "unknown", ".", "..", "...", "-", "--", "---", "?", "*", "\u2013", "\u2014"),
        *("k.a.", "s/d", "<na>", "(null)", "#n/a", "#na", "#n/a!", "#nv", "#value!", "#div/0!"),
        *("#ref!", "#name?", "#num!", "#null!", "#wert!", "#bezug!", "#zahl!", "#valeur!", "#n/d"),
        *("#valor!", "\\n", "1.#qnan", "1.#ind", "-1.#ind", "-nan(ind)", "nan(ind)"),
        *("(blank)", "(leer)", "(missing)", "k. a.", "keine angabe", "no data"),
        *(f".{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"),
    )
)
"""In lower case: usual words for a missing value, and the errors of spreadsheets."""

_PAIRS = (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"))


def booleans_of(words: Iterable[str]) -> Mapping[str, float] | None:
    """Return what the words of a column stand for if they are yes and no; None if they are not."""
    present = {word.lower() for word in words}
    for yes, no in _PAIRS:
        if present and present <= {yes, no}:
            return {yes: 1.0, no: 0.0}
    return None


_SUMMARY = re.compile(
    r"(?:(?:grand|column|row) |sub)?totals?|sums?|means?|averages?|avg|\u03a3|\u00f8|mw|"
    r"summe|gesamt|gesamtsumme|insgesamt|total g[e\u00e9]n[e\u00e9]ral|zwischensumme|"
    r"mittelwert|mittel|durchschnitt|somme|moyenne|totale|media|promedio|suma|totaal|gemiddelde|medelv\u00e4rde|"
    r"summa|razem|\u015brednia|\u0438\u0442\u043e\u0433\u043e|\u5408\u8ba1|"
    r"st(?:an)?d\.? ?(?:dev(?:iation|\.)?|error|err\.?)|stdabw|standardabweichung|median|overall|"
    r"all|sd|std|se|minimum|maximum|variance|varianz",
    re.IGNORECASE,
)
_BEHIND = re.compile(r"\s*(?:\([^()]*\)|\[[^\[\]]*\]|:)\s*$")


def is_summary(cell: str) -> bool:
    """Whether a cell labels a row of sums or means."""
    return _SUMMARY.fullmatch(_BEHIND.sub("", cell.strip()).strip()) is not None


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
