"""Which character separates the cells of a text: the one that gives every line equally many."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from leakscore_app._visible import visible
from leakscore_app.tables.formats.layout import is_number, width_of
from leakscore_app.tables.grammar.words import MISSING

SPACE = "space"
MARKS = (",", ";", "\t", "|")
_CANDIDATES = (*MARKS, SPACE)
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", SPACE: "blanks"}
_ROWS = 200
FEWEST_ROWS = 6
"""Lines that a sample holds at least, however long they are."""
_LENGTH = 1 << 18
_QUOTED_OR_BLANKS = re.compile(r'"(?:[^"]|"")*"|[ \t]+')


@dataclass(frozen=True)
class TextSample:
    """The first rows of a text, and on which line each of them begins, from 1."""

    rows: list[list[str]]
    lines: list[int]
    whole: bool


def spaced(text: str) -> str:
    """Return a text of cells between runs of blanks with one tab between cells."""
    lines = (line.strip(" \t") for line in text.split("\n"))
    return "\n".join(
        _QUOTED_OR_BLANKS.sub(lambda m: m[0] if m[0].startswith('"') else "\t", line)
        for line in lines
    )


@contextlib.contextmanager
def long_cells() -> Iterator[None]:
    """Let the csv module take cells of any length: with another delimiter a line is one cell."""
    before = csv.field_size_limit(sys.maxsize >> 32)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _beginning(text: str) -> str:
    """Return the beginning of a text, a few lines of it at least."""
    end = 0
    for _ in range(FEWEST_ROWS):
        end = text.find("\n", end) + 1
        if not end:
            return text if len(text) <= _LENGTH or "\n" in text else text[:_LENGTH]
    return text[: max(end, _LENGTH)]


def sample_of(name: str, text: str, delimiter: str) -> TextSample:
    """Return the first rows of a text; a row that the end of the sample cuts is left out."""
    start = _beginning(text)
    size = len(start)
    if delimiter == SPACE:
        start, delimiter = spaced(start), "\t"
    reader = csv.reader(io.StringIO(start, newline=""), delimiter=delimiter)
    rows, lines, line = [], [], 1
    try:
        with long_cells():
            for row in reader:
                rows.append(row)
                lines.append(line)
                line = reader.line_num + 1
                if len(rows) == _ROWS:
                    return TextSample(rows, lines, False)
    except csv.Error as error:
        raise ValueError(f"{name}, line {reader.line_num}: {error}") from None
    whole = len(text) == size
    if not whole and len(rows) > 1:
        rows.pop()
        lines.pop()
    return TextSample(rows, lines, whole)


def delimiter_of(name: str, text: str) -> str:
    """Return the delimiter of a text.

    Raises
    ------
    ValueError
        If two are equally good and give different cells.
    """
    stated = re.match(r"\s*sep=(.)\s*[\r\n]", text, re.IGNORECASE)
    if stated:
        return stated[1]
    graded = {mark: _grade(sample_of(name, text, mark).rows) for mark in _CANDIDATES}
    fit = {mark: grade for mark, grade in graded.items() if grade[0] == 1}
    if SPACE in fit and len(fit) > 1 and _blanks_follow_marks(sample_of(name, text, SPACE).rows):
        del fit[SPACE]
    best = max(fit or graded, key=lambda mark: graded[mark])
    if graded[best] == _NO_TABLE:
        return ","
    rivals = [mark for mark in fit if mark != best and graded[mark] == graded[best]]
    if {best, *rivals} == {"\t", SPACE}:  # a tab is a blank
        return "\t"
    if rivals:
        raise ValueError(
            f"{name}: cells may be separated by {_NAMES[best]} or by {_NAMES[rivals[0]]}: say "
            f"which with --delimiter"
        )
    _require_no_decimals(name, text, best)
    return best


def _blanks_follow_marks(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a comma or another delimiter stands before some blank of most lines."""
    marked = [any(cell.endswith(MARKS) for cell in row[:-1]) for row in rows]
    return 2 * sum(marked) > len(marked)


_OTHERS = re.compile(r"[^\w\s.+\-()\"'%]|\t")


def require_no_other(name: str, rows: Sequence[Sequence[str]], delimiter: str) -> None:
    """Refuse lines of one cell that another character cuts into as many parts, some numbers."""
    cells = [row[0].strip() for row in rows if row and row[0].strip()]
    if not cells or sum(map(is_number, cells)) * 2 >= len(cells):
        return
    for mark in dict.fromkeys(_OTHERS.findall(cells[0])):
        parts = [cell.split(mark) for cell in cells]
        numbers = [[is_number(part.strip()) for part in line] for line in parts]
        even = len({len(line) for line in parts}) == 1
        if mark != delimiter and even and any(map(all, zip(*numbers, strict=True))):
            raise ValueError(
                f"{name}: each line is one cell, {visible(cells[0])[:40]!r}: do {visible(mark)!r} "
                f"separate the cells? say so with --delimiter"
            )


_NO_TABLE = (0.0, 0.0, 0.0)
_ANY_MARK = re.compile(r"[,;\t|]")


def _grade(rows: Sequence[Sequence[str]]) -> tuple[float, float, float]:
    """Return how well rows are split.

    The shares are: of rows of the usual width, of cells without another delimiter but in numbers,
    of cells that are numbers.
    """
    width = width_of(rows)
    if width < 2:
        return _NO_TABLE
    first = next((i for i, row in enumerate(rows) if len(row) >= width - 1 and any(row)), 0)
    body = [row for row in rows[first:] if any(cell.strip() for cell in row)]
    alike = [row for row in body[1:] if len(row) == width] or body
    short = len(body[0]) == width - 1  # a header without a name for the names of the rows
    even = (len(alike) + (len(body[0]) == width or short)) / max(1, len(body))
    cells = [cell.strip() for row in alike for cell in row if cell.strip()]
    numbers = [is_number(cell) or cell.lower() in MISSING for cell in cells]
    clean = sum(
        number or not _ANY_MARK.search(cell) for cell, number in zip(cells, numbers, strict=True)
    )
    size = max(1, len(cells))
    return min(1.0, even), round(clean / size, 9), round(sum(numbers) / size, 9)


_TWO_OR_ONE = re.compile(r"[+-]?\d+,\d+")


def _require_no_decimals(name: str, text: str, delimiter: str) -> None:
    """Refuse lines such as 1,5, two cells or one number, unless two names stand above."""
    if delimiter != ",":
        return
    rows = [row for row in sample_of(name, text, ",").rows if any(cell.strip() for cell in row)]
    named = len(rows[0]) > 1 and not any(map(is_number, rows[0]))
    body = rows[1:] if not is_number(rows[0][0]) else rows
    if named or not body:
        return
    if all(len(row) == 2 and _TWO_OR_ONE.fullmatch(",".join(row).strip()) for row in body):
        shown = visible(",".join(body[0]).strip())
        raise ValueError(
            f"{name}: {shown!r} may be two cells or one number: say --delimiter , or --decimal ,"
        )
