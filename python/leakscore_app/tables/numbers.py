"""The numbers in columns of text: the conventions that they allow, their values, what is no number.

Columns of plain numbers, by far the most, are cast whole by pyarrow. In the others every different
cell is looked at once. A file of any length is surveyed piece by piece, and all columns vote.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.typing import Flags
from leakscore_app._visible import visible
from leakscore_app.tables import conventions
from leakscore_app.tables.cells import distinct
from leakscore_app.tables.conventions import ALL, CONVENTIONS, MISSING, booleans_of, conventions_of

_THREE = r"^[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}$"
_PLAIN = r"^[+-]?[0-9.,]+(?:[eE][+-]?[0-9]+)?$"
_SLICE, _BEGIN = 4096, 64


@dataclass
class Survey:
    """What is known of a column's text before the convention of the file is.

    Those of the pieces of a column are added up, which decides as all cells together do.

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
        Cells that are numbers but for a unit or sign that the others have not.
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
        """Add what is known of the next piece, above which there are `start` rows."""
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
        """Whether yes and no, or signs about numbers, stand in it: all cells must be alike."""
        return self.boolean or bool(self.notes)

    @property
    def complete(self) -> bool:
        """Whether all cells are numbers, whatever stands in other pieces."""
        return self.bad is None and not self.odd and self.near == 0 and self.numbers == self.cells

    def numeric(self, typed: int = 0) -> bool:
        """Whether at least half of the cells, and of `typed` numbers beside them, are numbers."""
        return 2 * (self.numbers + self.near + typed) >= self.cells + typed > 0

    def reason(self, place: Callable[[int], str], typed: int = 0) -> str:
        """Say why a column of text is not judged: of its first cell that is no number."""
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
        """Return the different cells; those of a column of plain numbers are looked at late."""
        if self._different is None:
            self._different = _Different.of(self.text)
            _survey_different(self._different, {})
        return self._different


def survey_of(text: Any, *, words: Mapping[str, float], missing: frozenset[str]) -> Survey:
    """Look at the text of a column.

    Parameters
    ----------
    text : pyarrow.ChunkedArray of string
        Null where the cell is no text.
    words : mapping
        What stands for numbers besides yes and no, in lower case.
    missing : frozenset of str
        What stands for a missing value besides the usual words, in lower case.

    Returns
    -------
    Survey
    """
    import pyarrow
    import pyarrow.compute as compute

    survey = _single(text, ".") if not missing else None
    if survey is not None:
        return survey
    trimmed = compute.utf8_trim(text, characters=conventions.BLANKS + "\t\r\n\v\f\ufeff")
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
        survey.conventions = (conventions.THREE if three else conventions.SINGLE)[mark].conventions
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
        fits = compute.match_substring_regex(text[:most], _THREE)
        if _any(compute.and_not(marked[:most], fits)):
            return None
    return int(compute.index(fits, True).as_py())


# --- all other columns ---------------------------------------------------------------------------


@dataclass
class _Different:
    """The different cells of a column, and where each of them stands."""

    cells: list[str]
    where: npt.NDArray[np.int64]  # -1 where there is none
    words: Mapping[str, float] = field(default_factory=dict)
    shapes: list[conventions.Shape | None] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, text: Any) -> _Different:
        cells, where = distinct(text)
        return cls(cells.to_pylist(), where)

    def read(self, numbers: list[str]) -> None:
        """Take these for the cells, what is not part of the numbers taken off."""
        self.numbers, self.shapes = numbers, [*map(conventions.shape_of, numbers)]

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
        convention = conventions.CONVENTIONS[index]
        numbers = np.full(len(self.cells) + 1, np.nan)
        for i, (number, shape) in enumerate(zip(self.numbers, self.shapes, strict=True)):
            if number.lower() in self.words:
                numbers[i] = self.words[number.lower()]
            elif shape is not None and shape.conventions >> index & 1:
                numbers[i] = conventions.parse(number, convention)
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
        plain, taken = conventions.plain(different.cells)
        if taken and sum(conventions.shape_of(each) is not None for each in plain) > numeric.sum():
            notes = taken
            different.read(plain)
    counts, numeric = different.counts(), different.numeric
    near = [
        not number and conventions.is_near(cell)
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
    """The outcome.

    Attributes
    ----------
    convention : int
        Index of the convention in which the columns are read.
    doubtful : dict
        Column -> (row, mark) of a number that the conventions left read differently.
    contrary : bool
        Whether numbers follow no common convention, and no option says which holds.
    noted : bool
        Whether the reader should be told: other than decimal points are used.
    """

    convention: int
    doubtful: Mapping[str, tuple[int, str]]
    contrary: bool
    noted: bool


def vote_of(surveys: Mapping[str, Survey], decimal: str | None, thousands: str | None) -> Vote:
    """Count what the columns of numbers leave.

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
    """Return the columns whose numbers differ between the conventions that are left."""
    marks = {c.decimal for i, c in enumerate(CONVENTIONS) if remaining >> i & 1}
    if len(marks) < 2:
        return {}
    return {
        name: (row, mark) for name, survey in surveys.items() for mark, row in survey.three.items()
    }
