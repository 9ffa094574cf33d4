"""Long texts of cells between delimiters, a piece of about a megabyte at a time.

Only what is read in the same way piece by piece as at once is read here: UTF-8, one character
between the cells, quotes that close. Any other text is read as a whole, or refused there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore_app.tables.cells import ReadingOptions
from leakscore_app.tables.files import File
from leakscore_app.tables.formats import delimited, packed, sniff
from leakscore_app.tables.formats.layout import Layout, layout_of

PIECE = 1 << 20
"""Bytes that are read first, to the end of a line: all cells are read as text there."""
_LATER = 4  # times as many are read at a time thereafter
_REST = 1 << 16  # bytes of a last piece of its own
_MOST = 1 << 26  # bytes of the longest line
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Form:
    """How a text is cut into cells.

    Attributes
    ----------
    delimiter : str
    layout : Layout
    begin : int
        Bytes above the first record.
    above : int
        Lines above it.
    """

    delimiter: str
    layout: Layout
    begin: int
    above: int


class AtOnceError(ValueError):
    """The text must be read as a whole."""


def form_of(name: str, start: bytes, options: ReadingOptions) -> Form:
    """Find out how a text is cut, from its first lines.

    Raises
    ------
    ValueError
        If it cannot be told, or the text must be read as a whole; `read_delimited` says which.
    """
    marked = len(_MARK) if start.startswith(_MARK) else 0
    file = File(name, start)
    if (
        file.kind != "text"
        or packed.is_compressed(start)
        or start[:2] in (b"\xff\xfe", b"\xfe\xff")
    ):
        raise AtOnceError
    data = start[marked:]
    require_plain(name, data, options.delimiter or ",")
    text = data.decode()
    if text.lstrip()[:1] in ("{", "["):
        raise AtOnceError
    delimited.require_lines(name, text)
    delimiter = options.delimiter or delimited.delimiter_in(name, text, options)
    if delimiter == sniff.SPACE:
        raise AtOnceError
    require_plain(name, data, delimiter)
    body, skipped = delimited.without_lines(data, options.skip_lines, 0)
    sample = sniff.sample_of(name, delimited.start_of(body), delimiter)
    layout = layout_of(name, sample.rows, options.header)
    if layout.width == 1:
        sniff.require_no_other(name, sample.rows[layout.body :], delimiter)
    if layout.body >= len(sample.lines):
        raise AtOnceError
    above = sample.lines[layout.body] - 1
    begin = len(start) - len(delimited.below_line(body, above))
    return Form(delimiter, layout, begin, skipped + above)


def require_plain(name: str, data: bytes, delimiter: str) -> None:
    """Refuse a piece that is not read alone as it is read with all others."""
    if b"\0" in data or (b"\r" in data and data.count(b"\r") != data.count(b"\r\n")):
        raise AtOnceError
    if data.isascii() and b'"' not in data:
        return
    text = data.decode()
    if '"' in text:
        if delimited.BLANK_BEFORE_QUOTE.search(text):
            raise AtOnceError
        delimited.require_quotes(name, text, delimiter)


def pieces_of(file: Any, begin: int) -> Iterator[tuple[int, bytes]]:
    """Yield where each piece of whole lines begins, and its bytes."""
    size = os.fstat(file.fileno()).st_size
    file.seek(begin)
    wanted = PIECE
    while data := file.read(wanted):
        data += file.readline(_MOST)
        while b'"' in data and data.count(b'"') % 2:  # a cell with a line break
            more = file.readline(_MOST)
            if not more or len(data) > _MOST:
                raise AtOnceError
            data += more
        if size - begin - len(data) < _REST:
            data += file.read()
        yield begin, data
        begin += len(data)
        wanted = _LATER * PIECE


def newlines_in(data: bytes) -> int:
    """Count the ends of lines: twice as fast as ``bytes.count``, where these are many."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))


def numbers_of(
    form: Form, data: bytes, plain: Sequence[int], text: Sequence[int]
) -> tuple[dict[int, Any], npt.NDArray[np.int64], int] | None:
    """Read a piece with some columns as plain numbers and others as text.

    Parameters
    ----------
    form : Form
    data : bytes
    plain, text : sequence of int
        Columns.

    Returns
    -------
    columns : dict of int to pyarrow.ChunkedArray
    lines : ndarray of int
        Of each row, from 1 for the first line of the piece.
    ends : int
        How many lines end in the piece.
    or None, if some cell of `plain` is no plain number or a row may be blank.
    """
    import pyarrow

    kinds = dict.fromkeys(plain, pyarrow.float64())
    among = sorted([*plain, *text])
    try:
        table, blank = delimited.cells_of(data, form.delimiter, form.layout.width, kinds, among)
    except pyarrow.ArrowInvalid:
        return None
    rows, ends = len(table), newlines_in(data)
    if rows + len(blank) != ends + (not data.endswith(b"\n")):
        return None
    columns = dict(zip(among, table.columns, strict=True))
    if not any(column.null_count == 0 for column in columns.values()):
        return None  # some row may be blank in all columns
    lines = np.delete(np.arange(1, rows + len(blank) + 1), np.array(blank, np.int64) - 1)
    return columns, lines, ends


def texts_of(form: Form, data: bytes) -> delimited.Rows:
    """Read a piece with all columns as text; see `numbers_of`."""
    return delimited.split(data, form.delimiter, form.layout.width)
