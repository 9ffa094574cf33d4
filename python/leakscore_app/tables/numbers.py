"""Numbers written as text: their marks, their signs and units, words for none; columns of them.

A file has one convention: a decimal mark and a mark of thousands. A number of digits and marks
excludes every convention in which it is not well formed; what all numbers of a file leave is its
convention. Two may remain that read a number differently: 4,258 is 4.258 or 4258.

Columns of plain numbers, by far the most, are cast whole by pyarrow. In the others every different
cell is looked at once. A file of any length is surveyed piece by piece, and all columns vote.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.typing import Flags
from leakscore_app._visible import visible
from leakscore_app.tables.cells import distinct

# --- conventions ---------------------------------------------------------------------------------

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
    """The conventions that the marks of a number allow.

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
_BEFORE_THREE = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
_BARE = re.compile(rf"[+-]?[0-9]+{_EXPONENT}")
_GROUPS = re.compile(
    rf"[+-]?[1-9][0-9]{{0,2}}(?:([.,'\u2019{BLANKS}])[0-9]{{3}})(?:\1[0-9]{{3}})*"
    r"(?:([.,])[0-9]+)?"
)
_BARE_SHAPE = Shape(ALL, bare=True)
_ONE_MARK = {mark: Shape(conventions_of(mark, None)) for mark in ".,"}
_ONE_OF_THREE = {m: Shape(_ONE_MARK[m].conventions | conventions_of(None, m), m) for m in _ONE_MARK}


def shape_of(number: str) -> Shape | None:
    """Return the shape of a trimmed number, or None if it is no number."""
    if _BARE.fullmatch(number):
        return _BARE_SHAPE
    if single := _SINGLE.fullmatch(number):
        shapes = _ONE_OF_THREE if _BEFORE_THREE.fullmatch(number) else _ONE_MARK
        return shapes[single[1] or single[2]]
    groups = _GROUPS.fullmatch(number)
    return None if groups is None else _grouped(groups[1], groups[2])


@cache
def _grouped(mark: str, decimal: str | None) -> Shape | None:
    """Return the shape of a number with both marks, None if the two are the same."""
    kind = "'" if mark in _APOSTROPHES else " " if mark in BLANKS else mark
    return None if decimal == mark else Shape(conventions_of(decimal, kind))


_MARKS = re.compile(rf"[{_APOSTROPHES}{BLANKS}]")


def parse(number: str, convention: Convention) -> float:
    """Return the value of a number that is well formed in a convention."""
    plain = _MARKS.sub("", number)
    if convention.thousands in (".", ","):
        plain = plain.replace(convention.thousands, "")
    return float(plain.replace(",", "."))


# --- words and signs -----------------------------------------------------------------------------

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
    """Return the meaning of words if they are yes and no; None if they are not."""
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


def _without_affixes(cells: Sequence[str]) -> tuple[list[str], list[str]]:
    """Remove affixes that all cells of a column have besides their numbers.

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


# --- columns of text ------------------------------------------------------------------------------

_SLICE, _BEGIN = 4096, 64


@dataclass
class Survey:
    """A survey of a column's text, before the convention of the file is known.

    Surveys of the pieces of a column are added; the sum decides as all cells together do.

    Attributes
    ----------
    cells : int
        Cells that are not missing.
    numbers : int
        Those that are numbers in some convention.
    conventions : int
        The conventions in which all of these are well formed, as bits.
    three : dict
        Mark -> index of the first row whose number has this single mark before three digits.
    bare : bool
        Whether there are numbers of digits only.
    bad : int or None
        The first row that is neither missing nor a number.
    near : int
        Cells that are numbers but for a unit or sign that the others lack.
    boolean : bool
        Whether all cells are yes or no, in whichever words.
    notes : list of str
        What was taken off the numbers, or stands for them.
    absent : dict
        Word that stands for a missing value -> its cells.
    bad_cell : str
        The cell of the row `bad`.
    """

    cells: int = 0
    numbers: int = 0
    conventions: int = ALL
    three: dict[str, int] = field(default_factory=dict)
    bare: bool = False
    bad: int | None = None
    near: int = 0
    boolean: bool = False
    notes: list[str] = field(default_factory=list)
    absent: dict[str, int] = field(default_factory=dict)
    bad_cell: str = ""
    text: Any = None
    _plain: dict[int, npt.NDArray[np.float64]] = field(default_factory=dict)
    _different: _Different | None = None

    def add(self, piece: Survey, start: int) -> None:
        """Add the survey of the next piece, above which there are `start` rows."""
        self.cells += piece.cells
        self.numbers += piece.numbers
        self.near += piece.near
        self.conventions &= piece.conventions
        self.three = {mark: start + row for mark, row in piece.three.items()} | self.three
        self.bare |= piece.bare
        for word, count in piece.absent.items():
            self.absent[word] = self.absent.get(word, 0) + count
        self.boolean |= piece.boolean
        self.notes += piece.notes
        if self.bad is None and piece.bad is not None:
            self.bad, self.bad_cell = start + piece.bad, piece.bad_cell

    @property
    def odd(self) -> bool:
        """Whether it holds yes and no, or signs about numbers: all cells must be alike then."""
        return self.boolean or bool(self.notes)

    @property
    def complete(self) -> bool:
        """Whether all cells are numbers, whatever other pieces hold."""
        return self.bad is None and not self.odd and self.near == 0 and self.numbers == self.cells

    def numeric(self, typed: int = 0) -> bool:
        """Whether at least half of the cells, and of `typed` numbers beside them, are numbers."""
        return 2 * (self.numbers + self.near + typed) >= self.cells + typed > 0

    def reason(self, place: Callable[[int], str], typed: int = 0) -> str:
        """Return why a column of text is not judged, with its first cell that is no number."""
        count, total = self.cells - self.numbers, self.cells + typed
        return f"text in {count} of {total} cells ({place(self.bad or 0)}: {self.bad_cell[:40]!r})"

    def values(self, index: int) -> npt.NDArray[np.float64]:
        """Return the numbers in the convention of this index, NaN elsewhere."""
        return self._plain[index] if index in self._plain else self._looked_at().values(index)

    def bad_rows(self, index: int) -> npt.NDArray[np.bool_]:
        """Return which rows are neither missing nor numbers in the convention of this index."""
        if index in self._plain:
            return np.zeros(len(self._plain[index]), bool)
        return self._looked_at().bad_rows(index)

    def is_number(self, bad: npt.NDArray[np.bool_]) -> bool:
        """Whether the first of these cells is a number in another convention."""
        where = self._looked_at().where[int(bad.argmax())]
        return bool(where >= 0 and self._looked_at().shapes[where] is not None)

    def shown(self, row: int) -> str:
        """Return the cell of a row as it is written."""
        return visible(str(self.text[row].as_py()).strip())

    def _looked_at(self) -> _Different:
        """Distinct cells, computed on first use."""
        if self._different is None:
            self._different = _Different.of(self.text)
            _survey_different(self._different, {})
        return self._different


def survey_of(text: Any, *, words: Mapping[str, float], missing: frozenset[str]) -> Survey:
    """Survey the text of a column.

    Parameters
    ----------
    text : pyarrow.ChunkedArray of string
        Null where the cell is no text.
    words : mapping
        Words for numbers besides yes and no, in lower case.
    missing : frozenset of str
        Words for a missing value besides the usual ones, in lower case.

    Returns
    -------
    Survey
    """
    import pyarrow
    import pyarrow.compute as compute

    survey = _single(text, ".") if not missing else None
    if survey is not None:
        return survey
    trimmed = compute.utf8_trim(text, characters=BLANKS + "\t\r\n\v\f\ufeff")
    words_for_none = pyarrow.array(sorted({"", *missing, *MISSING}), pyarrow.string())
    is_absent = compute.is_in(compute.utf8_lower(trimmed), value_set=words_for_none)
    absent = _counts(trimmed.filter(is_absent))
    trimmed = compute.if_else(is_absent, pyarrow.scalar(None, pyarrow.string()), trimmed)
    survey = _single(trimmed, ".") or _single(trimmed, ",")
    if survey is None:
        survey = _survey_different(_Different.of(trimmed), words)
        survey.text = trimmed
        survey.bad_cell = "" if survey.bad is None else survey.shown(survey.bad)
    survey.absent = absent
    return survey


def _counts(words: Any) -> dict[str, int]:
    """Return how often each word stands in a column, blank cells apart."""
    counts = words.value_counts().to_pylist()
    return {each["values"]: each["counts"] for each in counts if each["values"]}


def doubles_of(column: Any) -> npt.NDArray[np.float64]:
    """Return a column of pyarrow's float64 as an array, NaN where it is null.

    Its own ``to_numpy`` imports pandas.
    """
    import pyarrow.compute as compute

    chunks = getattr(column, "chunks", [column])
    parts = [np.empty(0)] if len(chunks) != 1 else []
    for chunk in chunks:
        filled = compute.fill_null(chunk, math.nan) if chunk.null_count else chunk
        values = filled.buffers()[1]
        if len(filled):
            parts.append(np.frombuffer(values, np.float64, len(filled), 8 * filled.offset))
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])


# --- columns whose numbers have no mark but one --------------------------------------------------


def _single(text: Any, mark: str) -> Survey | None:
    """Return the survey of a column in which every cell is a number without another mark."""
    import pyarrow
    import pyarrow.compute as compute

    if mark != "." and _any(compute.match_substring_regex(text, r"\.|,$|,[eE]")):
        return None
    plain = text if mark == "." else compute.replace_substring(text, mark, ".")
    try:
        # To refuse a column takes as long as 30 casts, and nearly all show it at their beginning.
        compute.cast(plain[:_BEGIN], pyarrow.float64())
        numbers = compute.cast(plain, pyarrow.float64())
    except pyarrow.ArrowInvalid:
        return None
    marked = compute.match_substring(text, mark)
    filled = len(text) - text.null_count
    bare = bool(filled) and _any(compute.invert(marked))
    survey = Survey(cells=filled, numbers=filled, bare=bare, text=text)
    three = False
    if _any(marked):
        row = _three(text, marked)
        three = row is not None
        survey.conventions = (_ONE_OF_THREE if three else _ONE_MARK)[mark].conventions
        survey.three = {} if row is None else {mark: row}
    values = whole = doubles_of(numbers)
    if three:
        joined = compute.replace_substring(text, mark, "")
        whole = doubles_of(compute.cast(joined, pyarrow.float64()))
    survey._plain = {
        i: whole if three and convention.thousands == mark else values
        for i, convention in enumerate(CONVENTIONS)
        if survey.conventions >> i & 1
    }
    return survey


def _any(mask: Any) -> bool:
    import pyarrow.compute as compute

    return bool(compute.any(mask).as_py())


def _three(text: Any, marked: Any) -> int | None:
    """Return the first row with a mark before three digits if all marks stand so; else None."""
    import pyarrow.compute as compute

    for most in (_BEGIN, _SLICE, len(text)):
        fits = compute.match_substring_regex(text[:most], f"^{_BEFORE_THREE.pattern}$")
        if _any(compute.and_not(marked[:most], fits)):
            return None
    return int(compute.index(fits, True).as_py())


# --- all other columns ---------------------------------------------------------------------------


@dataclass
class _Different:
    """The distinct cells of a column, and the rows of each."""

    cells: list[str]
    where: npt.NDArray[np.int64]  # -1 where there is none
    words: Mapping[str, float] = field(default_factory=dict)
    shapes: list[Shape | None] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, text: Any) -> _Different:
        cells, where = distinct(text)
        return cls(cells.to_pylist(), where)

    def read(self, numbers: list[str]) -> None:
        """Replace the cells by numbers without affixes."""
        self.numbers, self.shapes = numbers, [*map(shape_of, numbers)]

    @property
    def numeric(self) -> Flags:
        """Which cells are numbers, in whatever convention, or words for them."""
        pairs = zip(self.numbers, self.shapes, strict=True)
        return np.array([s is not None or n.lower() in self.words for n, s in pairs], bool)

    def counts(self) -> npt.NDArray[np.int64]:
        return np.bincount(self.where[self.where >= 0], minlength=len(self.cells))

    def first(self, chosen: npt.NDArray[np.bool_]) -> int | None:
        """Return the first row whose cell is chosen."""
        if not chosen.any():
            return None
        rows = np.append(chosen, False)[self.where]
        return int(rows.argmax())

    def bad_rows(self, index: int) -> npt.NDArray[np.bool_]:
        good = [
            number.lower() in self.words or (shape is not None and shape.conventions >> index & 1)
            for number, shape in zip(self.numbers, self.shapes, strict=True)
        ]
        return ~np.array([*good, True], bool)[self.where]

    def values(self, index: int) -> npt.NDArray[np.float64]:
        convention = CONVENTIONS[index]
        numbers = np.full(len(self.cells) + 1, np.nan)
        for i, (number, shape) in enumerate(zip(self.numbers, self.shapes, strict=True)):
            if number.lower() in self.words:
                numbers[i] = self.words[number.lower()]
            elif shape is not None and shape.conventions >> index & 1:
                numbers[i] = parse(number, convention)
        return numbers[self.where]


_SPECIAL = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "infinity": math.inf}
_SPECIAL |= {"-infinity": -math.inf, "+infinity": math.inf, "\u221e": math.inf}


def _survey_different(different: _Different, words: Mapping[str, float]) -> Survey:
    boolean, notes = booleans_of(different.cells), list[str]()
    different.words = {**_SPECIAL, **words, **(boolean or {})}
    different.read(different.cells)
    if boolean:
        yes, no = boolean
        notes = [f"{yes!r} is read as 1, {no!r} as 0"]
    elif not (numeric := different.numeric).all():
        plain, taken = _without_affixes(different.cells)
        if taken and sum(shape_of(each) is not None for each in plain) > numeric.sum():
            notes = taken
            different.read(plain)
    counts, numeric = different.counts(), different.numeric
    near = [
        not number and is_near(cell)
        for cell, number in zip(different.cells, numeric.tolist(), strict=True)
    ]
    survey = Survey(
        cells=int(counts.sum()),
        numbers=int(counts[numeric].sum()),
        bad=different.first(~numeric),
        near=int(counts[np.array(near, bool)].sum()),
        boolean=boolean is not None,
        notes=notes,
        _different=different,
    )
    shapes = [shape for shape in different.shapes if shape is not None]
    for shape in shapes:
        survey.conventions &= shape.conventions
    survey.bare = any(shape.bare for shape in shapes)
    for mark in ".,":
        fits = [shape is not None and shape.three == mark for shape in different.shapes]
        row = different.first(np.array(fits, bool))
        if row is not None:
            survey.three[mark] = row
    return survey


@dataclass(frozen=True)
class Vote:
    """The convention of a file, as its columns of numbers vote.

    Attributes
    ----------
    convention : int
        Index of the convention in which the columns are read.
    doubtful : dict
        Column -> (row, mark) of a number that the remaining conventions read differently.
    contrary : bool
        Whether numbers follow no common convention, and no option says which holds.
    noted : bool
        Whether a note is due, as other marks than decimal points are used.
    """

    convention: int
    doubtful: Mapping[str, tuple[int, str]]
    contrary: bool
    noted: bool


def vote_of(surveys: Mapping[str, Survey], decimal: str | None, thousands: str | None) -> Vote:
    """Return the convention that all columns of numbers allow.

    A point alone is the decimal mark unless something speaks against it: another column with
    decimal commas, `decimal`, or whole numbers in the same column beside points that all stand
    before three digits. All else that may be read in two ways is doubtful.
    """
    allowed = conventions_of(decimal, thousands)
    remaining = ALL
    for survey in surveys.values():
        remaining &= survey.conventions
    if not remaining & allowed:  # some numbers are bad cells in any convention
        return Vote(_first(allowed, surveys.values()), {}, allowed == ALL, True)
    remaining &= allowed
    doubtful = _doubtful(surveys, remaining)
    if doubtful and all(mark == "." and not surveys[n].bare for n, (_, mark) in doubtful.items()):
        points = remaining & conventions_of(".", None)
        remaining, doubtful = points or remaining, {} if points else doubtful
    convention = _first(remaining)
    marked = any(survey.conventions != ALL for survey in surveys.values())
    noted = marked and CONVENTIONS[convention] != CONVENTIONS[0]
    return Vote(convention, doubtful, False, noted)


def _first(remaining: int, surveys: Collection[Survey] = ()) -> int:
    """Return the first of the conventions that most columns follow."""
    indices = (i for i in range(len(CONVENTIONS)) if remaining >> i & 1)
    return max(indices, key=lambda i: sum(each.conventions >> i & 1 for each in surveys))


def _doubtful(surveys: Mapping[str, Survey], remaining: int) -> dict[str, tuple[int, str]]:
    """Return the columns whose numbers differ between the remaining conventions."""
    marks = {c.decimal for i, c in enumerate(CONVENTIONS) if remaining >> i & 1}
    if len(marks) < 2:
        return {}
    return {
        name: (row, mark) for name, survey in surveys.items() for mark, row in survey.three.items()
    }
