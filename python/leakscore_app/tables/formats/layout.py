"""Where a table begins in a text or a sheet, and which character separates the cells of a text."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from leakscore_app._visible import listed, visible
from leakscore_app.tables.cells import numbered
from leakscore_app.tables.numbers import MISSING, is_near, shape_of

_YEARS = range(1800, 2200)
_PLAIN = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_AFFIXES = re.compile(r"^[(\s$\u20ac\u00a3\u00a5]+|[)\s%$\u20ac\u00a3\u00a5]+$")
_NUMBERS_AS_WORDS = frozenset({"true", "false", "inf", "-inf", "infinity", "-infinity"})


@dataclass
class Layout:
    """How the first rows of a table are to be read.

    Attributes
    ----------
    names : list of str or None
        The header, None if there is none.
    body : int
        Index of the first row that is a record.
    width : int
        Cells of a record.
    notes : list of str
    """

    names: list[str] | None
    body: int
    width: int
    notes: list[str] = field(default_factory=list)

    @property
    def columns(self) -> Sequence[str]:
        """The names, or numbers in their place."""
        return self.names or numbered(self.width)


def is_number(cell: str) -> bool:
    """Whether a cell is a number, in whatever convention, with whatever currency or percent."""
    if _PLAIN.fullmatch(cell):  # most are
        return True
    plain = _AFFIXES.sub("", cell.strip().replace("\u2212", "-"))
    return shape_of(plain) is not None or plain.lower() in _NUMBERS_AS_WORDS


def _is_blank(cell: str) -> bool:
    return not cell.strip()


def _is_text(cell: str) -> bool:
    return not (_is_blank(cell) or is_number(cell) or cell.strip().lower() in MISSING)


def width_of(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of cells that most rows have; of equally frequent ones the largest."""
    counts = Counter(len(row) for row in rows if not all(map(_is_blank, row)))
    return max(counts, key=lambda width: (counts[width], width), default=0)


def layout_of(name: str, rows: Sequence[Sequence[str]], header: str) -> Layout:
    """Find where a table begins.

    Parameters
    ----------
    name : str
        The file's, for messages.
    rows : sequence of rows of cells
        The first rows; rows of a sheet have one width.
    header : {"auto", "yes", "no"}

    Returns
    -------
    Layout

    Raises
    ------
    ValueError
        If it cannot be told whether the first line holds names.
    """
    width = width_of(rows)
    first, notes = _above(rows, width)
    row = rows[first] if first < len(rows) else []
    body = rows[first + 1 :]
    if header == "yes" or (header != "no" and _is_header(name, row, body)):
        return _with_names(name, rows, first, width, notes)
    notes.append("the first line holds a record, no names: columns are numbered from 1")
    return Layout(None, first, width, notes)


def _with_names(
    name: str, rows: Sequence[Sequence[str]], first: int, width: int, notes: list[str]
) -> Layout:
    names = [cell.strip() for cell in rows[first]]
    if names and names[0].startswith("#"):
        names[0] = names[0].lstrip("# ")  # alone, it is no name
        if not names[0]:
            names = names[1:]
    body = first + 1
    if len(names) == width - 1:
        return Layout(_completed(name, names, rows[body:], notes), body, width, notes)
    if len(names) > width and not any(names[width:]):
        names = names[:width]
    if len(names) != width:
        raise ValueError(
            f"{name}: {len(names)} names ({listed(names, 3)}) stand above "
            f"{width} columns: --skip-lines leaves out lines above the table, --delimiter says "
            "what separates the cells"
        )
    return Layout(names, body, width, notes)


def _completed(
    name: str, names: list[str], body: Sequence[Sequence[str]], notes: list[str]
) -> list[str]:
    """Give the column without a name a place: the last if it is blank, else the first."""
    whole = [row for row in body if len(row) == len(names) + 1]
    if whole and all(_is_blank(row[-1]) for row in whole):
        return [*names, ""]
    firsts = [row[0].strip() for row in whole]
    counting = all(
        cell.isdecimal() and (i == 0 or int(cell) == int(firsts[i - 1]) + 1)
        for i, cell in enumerate(firsts)
    )
    if whole and (counting or all(map(_is_text, firsts))):
        notes.append("the header is one name short: the first column holds the names of the rows")
        return ["", *names]
    raise ValueError(
        f"{name} has {len(names)} names for {len(names) + 1} columns: name each column, or say "
        "--header no --skip-lines 1 to number them; --skip-lines leaves out lines above the table, "
        "--delimiter says what separates the cells"
    )


# --- above the header ----------------------------------------------------------------------------


def _above(rows: Sequence[Sequence[str]], width: int) -> tuple[int, list[str]]:
    """Return the index of the first row of the table, and a note on the rows above it."""
    first, skipped = 0, 0
    while first < len(rows) and _is_above(rows, first, width):
        skipped += not all(map(_is_blank, rows[first]))
        first += 1
    if not skipped:
        return first, []
    lines = "line above the header is" if skipped == 1 else "lines above the header are"
    start = next(cell for row in rows for cell in row if not _is_blank(cell)).strip()
    return first, [f"{skipped} {lines} left out ({visible(start)[:40]!r})"]


def _is_above(rows: Sequence[Sequence[str]], index: int, width: int) -> bool:
    row = rows[index]
    filled = [cell for cell in row if not _is_blank(cell)]
    if not filled:
        return True
    start = filled[0].lstrip()
    if start.startswith("#"):
        # A comment of as many names as there are columns is a header.
        names = len(filled) > 1 and len(row) - (start == "#") == width
        return not (names and index + 1 < len(rows) and not _is_comment(rows[index + 1]))
    if start.lower().startswith("sep="):
        return True
    if len(filled) > 1 or width == 1 or is_number(start):
        return False
    # One text is a title if the line is too short for names, or names stand below.
    several = (below for below in rows[index + 1 :] if sum(map(bool, map(str.strip, below))) > 1)
    return len(row) < width - 1 or all(map(_is_text, next(several, [""])))


def _is_comment(row: Sequence[str]) -> bool:
    return bool(row) and row[0].lstrip().startswith("#")


# --- the header ----------------------------------------------------------------------------------


def _is_header(name: str, row: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: text above numbers, or no number at all."""
    text = [j for j, cell in enumerate(row) if _is_text(cell)]
    numbers = [j for j, cell in enumerate(row) if is_number(cell)]
    if not numbers:
        return bool(text)
    if _is_comment(row):
        return True
    numeric = _numeric_columns(body, len(row))
    above = [j for j in text if j in numeric]
    if above and len(above) >= len([j for j in numbers if j in numeric]):
        return True
    count = not text and len(row) > 2  # two may be a record by chance
    if not above and not _may_be_names([row[j].strip() for j in numbers], count=count):
        return False
    raise ValueError(
        f"{name}: the first line ({listed(row, 4)}) may hold names or "
        "a record: say which with --header yes or --header no"
    )


def _may_be_names(cells: Sequence[str], *, count: bool) -> bool:
    """Whether numbers are years in equal steps or, where they may, `count` the columns."""
    whole = [int(cell) for cell in cells if cell.isdecimal()]
    steps = {b - a for a, b in itertools.pairwise(whole)}
    if len(whole) < len(cells) or len(steps) != 1 or steps == {0}:
        return False
    counting = count and steps == {1} and whole[0] in (0, 1)
    return whole[0] in _YEARS or counting


def _numeric_columns(body: Sequence[Sequence[str]], width: int) -> set[int]:
    """Return the columns in which at least half of the cells are numbers."""
    numeric = set()
    for j in range(width):
        cells = [row[j] for row in body if len(row) > j and not _is_blank(row[j])]
        filled = [cell for cell in cells if cell.strip().lower() not in MISSING]
        if filled and 2 * sum(map(is_number, filled)) >= len(filled):
            numeric.add(j)
    return numeric


def is_amount(cell: str) -> bool:
    """Whether a cell is a number with a unit, or one beyond a limit of detection, such as <0.5."""
    return is_near(cell.strip().lstrip("<>=\u2264\u2265").lstrip())


SPACE = "space"
MARKS = (",", ";", "\t", "|")
_CANDIDATES = (*MARKS, SPACE)
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", SPACE: "spaces"}
_ROWS = 200
_FEWEST_ROWS = 6
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
    """Return a text of cells between runs of spaces with one tab between cells."""
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
    for _ in range(_FEWEST_ROWS):
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
    rows = {mark: sample_of(name, text, mark).rows for mark in _CANDIDATES}
    graded = {mark: _grade(rows[mark]) for mark in _CANDIDATES}
    fit = {mark: grade for mark, grade in graded.items() if grade[0] == 1}
    if SPACE in fit and len(fit) > 1 and _blanks_follow_marks(rows[SPACE]):
        del fit[SPACE]
    best = max(fit or graded, key=lambda mark: graded[mark])
    if graded[best] == _NO_TABLE:
        return ","
    rivals = [mark for mark in fit if mark != best and graded[mark] == graded[best]]
    if {best, *rivals} == {"\t", SPACE}:  # a tab is a space
        return "\t"
    if rivals:
        raise ValueError(
            f"{name}: cells may be separated by {_NAMES[best]} or by {_NAMES[rivals[0]]}: say "
            f"which with --delimiter"
        )
    if best == ",":
        _require_no_decimals(name, rows[","])
    return best


def _blanks_follow_marks(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a comma or another delimiter stands before some space of most lines."""
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


def _require_no_decimals(name: str, rows: Sequence[Sequence[str]]) -> None:
    """Refuse lines such as 1,5, two cells or one number, unless two names stand above."""
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    named = len(rows[0]) > 1 and not any(map(is_number, rows[0]))
    body = rows[1:] if not is_number(rows[0][0]) else rows
    if named or not body:
        return
    if all(len(row) == 2 and _TWO_OR_ONE.fullmatch(",".join(row).strip()) for row in body):
        shown = visible(",".join(body[0]).strip())
        raise ValueError(
            f"{name}: {shown!r} may be two cells or one number: say --delimiter , or --decimal ,"
        )
