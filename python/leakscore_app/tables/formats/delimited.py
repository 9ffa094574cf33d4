"""Texts of cells between delimiters, csv above all: pyarrow splits them, all cells stay text."""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore_app.tables import files
from leakscore_app.tables.cells import Cells, Grid, ReadingOptions, text_of, without_values
from leakscore_app.tables.files import File, libraries
from leakscore_app.tables.formats.layout import (
    MARKS,
    SPACE,
    Layout,
    delimiter_of,
    layout_of,
    long_cells,
    require_no_other,
    sample_of,
    spaced,
)

_MOST_COLUMNS = 100_000
_MOST_JUDGED = 5000  # features of a statistic
_HAS_LETTERS = re.compile(r"[^\W\d_eE]{2}").search
_BELOW = 20  # lines below a table at most
_START = 1 << 24  # bytes that the longest first lines take
_BLOCK = 1 << 20  # bytes that pyarrow splits at a time
_SHORT = 1 << 17  # of which a line may be a quarter
LINE_END = re.compile(rb"\r\n|\r|\n")
BLANK_BEFORE_QUOTE = re.compile(r'([,;|])[ \t]+(?="(?!"))')
BYTE_ORDER_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


def read_delimited(file: File, options: ReadingOptions) -> Grid:
    """Split a text into columns of cells.

    Parameters
    ----------
    file : File
    options : ReadingOptions

    Returns
    -------
    Grid

    Raises
    ------
    ValueError
        If the lines have different numbers of cells, or something cannot be told.
    """
    text, notes = _decoded(file, options)
    if '"' in text and BLANK_BEFORE_QUOTE.search(text, 0, text.rfind('"') + 2):
        # After spaces a quote begins a quoted cell all the same.
        text = BLANK_BEFORE_QUOTE.sub(r"\1", text)
    _require_room(file, options.delimiter)
    delimiter = delimiter_in(file.name, text, options)
    plain = len(text) == len(file.data) and text.isascii() and file.data.isascii()
    data = file.data if plain else b""
    if delimiter == SPACE:
        text, delimiter, data = spaced(text), "\t", b""
    if '"' in text:
        require_quotes(file.name, text, delimiter)
    data = _without_last(data or text.encode(), options.skip_last or 0)
    del text
    form = form_of(file.name, data, delimiter, options)
    file.require(files.COLUMN_BYTES * form.layout.width)
    libraries(file.name, "pyarrow")
    rows, layout = form.split(data[form.begin :]), form.layout
    named = zip(layout.columns, rows.columns, strict=True)
    cells = [Cells(name, text=text) for name, text in named]
    notes += [*layout.notes, *without_values(form.above + rows.blank)]
    if count := options.skip_last:
        lines = "line is" if count == 1 else f"{count} lines are"
        notes.append(f"the last {lines} left out, as asked")
    return Grid(
        file.name, cells, len(rows.lines), form.above + rows.lines, notes, layout.names is not None
    )


# --- bytes to text -------------------------------------------------------------------------------


def _decoded(file: File, options: ReadingOptions) -> tuple[str, list[str]]:
    data = file.data
    files.require_memory(file.name, (2 if data.isascii() else 5) * len(data), file.limit)
    if options.encoding is not None:
        return _decode_as(file, options.encoding), []
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            text = _nonempty(file, data.decode(encoding, "replace"))
            return text, [f"the file is read as {encoding.upper()}"]
    try:
        text = data.decode("utf-8-sig")
        notes = []
    except UnicodeDecodeError:
        try:
            text = data.decode("cp1252")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{file.name} is neither UTF-8 nor cp1252 (byte {error.start + 1}): name its "
                "--encoding"
            ) from None
        notes = ["the file is not UTF-8: it is read as cp1252 (see --encoding)"]
    if "\0" in text:
        raise ValueError(
            f"{file.name} is no text: it has null characters (of UTF-16 without a byte order mark? "
            f"--encoding utf-16-{'be' if text.startswith(chr(0)) else 'le'})"
        )
    return _nonempty(file, text), notes


def _decode_as(file: File, encoding: str) -> str:
    try:
        text = file.data.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise ValueError(f"encoding={encoding!r} must be one that Python knows") from None
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file.name} is not written in {encoding}: byte {error.start + 1} stands for nothing"
        ) from None
    if not isinstance(text, str):
        raise ValueError(f"encoding={encoding!r} must be one of text")
    return _nonempty(file, text)


def _nonempty(file: File, text: str) -> str:
    if not text[:4096].strip('" \t\r\n') and not text.strip('" \t\r\n'):
        raise ValueError(f"{file.name} is empty")
    return text


def delimiter_in(name: str, text: str, options: ReadingOptions) -> str:
    """Return what separates the cells; refuse a first line of very many before all marks cut it."""
    first = text[: max(text.find("\n"), text.find("\r"))]
    columns = 1 + max(map(first.count, MARKS))
    if columns > _MOST_COLUMNS:
        raise ValueError(
            f"{name} has {columns} columns, more than {_MOST_COLUMNS}: one record is one line; is "
            "the table transposed?"
        )
    if options.delimiter:
        return options.delimiter
    body = text
    if options.skip_lines:
        body = "".join(text.splitlines(keepends=True)[options.skip_lines :])
    if options.decimal == "," and not re.search(r"[;\t|]", body[: 1 << 18]):
        sample = sample_of(name, body, ",")
        if all(len(row) <= 2 for row in sample.rows) and '"' not in body[: 1 << 18]:
            return ";"  # one column of numbers with decimal commas
    return delimiter_of(name, body)


# --- checks of the whole text --------------------------------------------------------------------


def _require_judged(
    name: str, layout: Layout, rows: Sequence[Sequence[str]], options: ReadingOptions
) -> None:
    """Refuse more columns of numbers than a report judges, from the first lines."""
    few = options.columns is not None and len(options.columns) <= _MOST_JUDGED
    if options.complete or few or layout.width <= _MOST_JUDGED:
        return
    numbers = sum(
        options.publishes(column) and not any(map(_HAS_LETTERS, given))
        for column, given in zip(layout.columns, zip(*rows, strict=False), strict=False)
    )
    if numbers > _MOST_JUDGED:
        raise ValueError(
            f"{name} has {numbers} columns of numbers, and a report judges {_MOST_JUDGED}: name "
            "them with --columns; or is the table transposed? One record is one line"
        )


def _require_room(file: File, delimiter: str | None) -> None:
    """Refuse cells that would not fit."""
    marks = MARKS if delimiter in (None, SPACE) else (str(delimiter),)
    counts = [file.data.count(mark.encode()) for mark in (*marks, "\n", "\r")]
    cells = 1 + max(counts[:-2]) + counts[-2] + counts[-1]
    files.require_memory(file.name, len(file.data) + files.CELL_BYTES * cells, file.limit)


def require_quotes(name: str, text: str, delimiter: str) -> None:
    """Refuse quotes that do not close, or that close within a cell: pyarrow would join cells."""
    # Lines below the one of the last quote are fine if that line ends outside a cell.
    last = text.find("\n", text.rfind('"')) + 1
    if last and _quote_error(text[:last], delimiter) is None:
        return
    wrong = _quote_error(text, delimiter)
    if wrong is not None:
        line, error = wrong
        raise ValueError(f"{name}, line {line}: {error} (a quoted cell does not end as it should)")


def _quote_error(text: str, delimiter: str) -> tuple[int, csv.Error] | None:
    """Return the line and the error of the first quotes that are wrong."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        with long_cells():
            deque(reader, maxlen=0)
    except csv.Error as error:
        return reader.line_num, error
    return None


def _without_last(data: bytes, count: int) -> bytes:
    """Leave out the last lines that are not blank."""
    for _ in range(count):
        data = data.rstrip()
        ends = max(data.rfind(b"\n"), data.rfind(b"\r"))
        data = data[: max(ends, 0)]
    return data


def _below_line(data: bytes, skipped: int) -> bytes:
    """Return the text below so many lines."""
    for count, end in enumerate(LINE_END.finditer(data), start=1):
        if count == skipped:
            return data[end.end() :]
    return data if skipped == 0 else b""


# --- text to columns -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """How a text is cut into cells.

    Attributes
    ----------
    name : str
        The file's, for messages.
    delimiter : str
    layout : Layout
    begin : int
        Bytes above the first record.
    above : int
        Lines above it.
    """

    name: str
    delimiter: str
    layout: Layout
    begin: int
    above: int

    def split(self, data: bytes) -> Rows:
        """Cut records into cells, all of them text; rows of blank cells are left out."""
        if not data:
            nothing = np.empty(0, np.int64)
            return Rows([text_of([])] * self.layout.width, nothing, nothing)
        table, blank = _cells_of(data, self)
        columns = list(table.columns)
        return _without_blank_rows(columns, _lines(columns, blank, b'"' in data))


def form_of(name: str, data: bytes, delimiter: str, options: ReadingOptions) -> Form:
    """Find out from its first lines how a text is cut, and where its records begin."""
    body = _below_line(data, options.skip_lines)
    if not body[:4096].strip() and not body.strip():  # a copy of long data costs a tenth
        raise ValueError(
            f"{name} has no line beside those that --skip-lines and --skip-last leave out"
        )
    sample = sample_of(name, body[:_START].decode("utf-8", "ignore"), delimiter)
    layout = layout_of(name, sample.rows, options.header)
    records = sample.rows[layout.body :]
    if layout.width == 1:
        require_no_other(name, records, delimiter)
    _require_judged(name, layout, records, options)
    if not records and not sample.whole:
        raise ValueError(
            f"{name}: no table begins in its first {len(sample.lines)} lines: --skip-lines "
            "leaves out lines above the table"
        )
    above = sample.lines[layout.body] - 1 if records else 0
    begin = len(data) - len(_below_line(body, above)) if records else len(data)
    return Form(name, delimiter, layout, begin, options.skip_lines + above)


@dataclass(frozen=True, eq=False)
class Rows:
    """Columns of text, and the line on which each row begins, from 1.

    `blank` are the lines of the rows without any value, which are left out.
    """

    columns: list[Any]
    lines: npt.NDArray[np.int64]
    blank: npt.NDArray[np.int64]


def _cells_of(data: bytes, form: Form) -> tuple[Any, list[int]]:
    """Let pyarrow split lines into columns of text, and return the lines that hold no row, from 1.

    Raises
    ------
    ValueError
        If a line has another number of cells.
    """
    import pyarrow
    import pyarrow.csv as reader

    wrong: list[Any] = []
    blank: list[int] = []

    def refuse(row: Any) -> str:
        if row.text.strip():
            wrong.append(row)
            return "error"
        blank.append(row.number)
        return "skip"

    names = [str(j) for j in range(form.layout.width)]
    try:
        table = reader.read_csv(
            pyarrow.BufferReader(data),
            reader.ReadOptions(use_threads=False, column_names=names, block_size=_block(data)),
            reader.ParseOptions(
                delimiter=form.delimiter,
                newlines_in_values=b'"' in data,
                ignore_empty_lines=False,
                invalid_row_handler=refuse,
            ),
            reader.ConvertOptions(
                column_types=dict.fromkeys(names, pyarrow.string()),
                null_values=[""],
                strings_can_be_null=True,
                check_utf8=False,
            ),
        )
    except pyarrow.ArrowInvalid as error:
        if wrong:
            raise ValueError(_ragged(data, form)) from None
        raise ValueError(f"{form.name} cannot be split into cells: {error}") from None
    return table, blank


def _block(data: bytes) -> int:
    """Return a block that holds the longest line: pyarrow needs whole rows."""
    start = data[: 1 << 22]
    if all(start.find(b"\n", at, at + _SHORT) >= 0 for at in range(0, len(start), _SHORT)):
        return _BLOCK  # no line is longer than twice as much
    longest = max(map(len, start.splitlines() or [b""]))
    return int(min(max(_BLOCK, 4 * longest), (1 << 31) - 1))


def _ragged(data: bytes, form: Form) -> str:
    """Name the first line with another number of cells, and what may be meant."""
    text, width = io.StringIO(data.decode(), newline=""), form.layout.width
    reader, begin = csv.reader(text, delimiter=form.delimiter), form.above + 1
    line = cells = rows = even = 0
    with long_cells():
        for row in reader:
            if any(cell.strip() for cell in row):
                if len(row) != width and not line:
                    line, cells = begin, len(row)
                rows += bool(line)
                even += bool(line) and len(row) == width
            begin = form.above + reader.line_num + 1
    hint = "--delimiter says what separates them, --skip-lines leaves out lines above the table"
    if rows <= _BELOW and not even:
        what, them = ("is it a line", "it") if rows == 1 else ("are these lines", "them")
        hint = f"{what} below the table? --skip-last {rows} leaves {them} out"
    mark = "tabs or spaces" if form.delimiter == "\t" else repr(form.delimiter)
    return (
        f"{form.name}, line {line}: {cells} cells, but {width} in the other lines (cells are "
        f"separated by {mark}; {hint})"
    )


def _lines(columns: list[Any], blank: list[int], quoted: bool) -> npt.NDArray[np.int64]:
    """Return the line on which each row begins, from 1: a quoted cell may span several.

    `blank` are the numbers, from 1, of lines that hold no row.
    """
    import pyarrow.compute as compute

    size = len(columns[0]) if columns else 0
    lines = np.arange(1, 1 + size + len(blank), dtype=np.int64)
    lines = np.delete(lines, np.array(blank, np.int64) - 1)
    if not quoted:
        return lines
    for column in columns:
        if compute.any(compute.match_substring_regex(column, r"[\r\n]")).as_py():
            ends = compute.count_substring_regex(column, r"\r\n|\r|\n").fill_null(0)
            lines[1:] += np.cumsum(np.asarray(ends.to_numpy(), np.int64))[:-1]
    return lines


def _without_blank_rows(columns: list[Any], lines: npt.NDArray[np.int64]) -> Rows:
    """Leave out the rows without any cell, as spreadsheets and final lines have them."""
    import pyarrow
    import pyarrow.compute as compute

    filled = np.zeros(len(lines), bool)
    for column in columns:
        blank = compute.match_substring_regex(column, r"^\s*$")
        if not column.null_count and not compute.any(blank).as_py():  # mostly, and it is cheap
            return Rows(columns, lines, lines[:0])
        text = compute.invert(blank).fill_null(False)
        filled |= np.asarray(text.to_numpy(zero_copy_only=False), bool)
        if filled.all():
            return Rows(columns, lines, lines[:0])
    mask = pyarrow.array(filled)
    return Rows([column.filter(mask) for column in columns], lines[filled], lines[~filled])
