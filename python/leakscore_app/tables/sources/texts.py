"""Long csv files as parts of a source: split a piece at a time, understood as if read at once.

One pass looks at all cells, as `columns.content_of` does: which marks numbers are written with,
which columns hold text. Only what is read in the same way piece by piece as at once is read here:
UTF-8, one character between the cells, quotes that close. Any other text is read as a whole.
"""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles
from leakscore_app.tables import files
from leakscore_app.tables.categories import Categories, TooManyLevelsError, rows_of
from leakscore_app.tables.cells import ReadingOptions, numbered, without_values
from leakscore_app.tables.columns import GROUP, TextColumns, Understanding, understand
from leakscore_app.tables.doubts import may_hold_codes
from leakscore_app.tables.files import File, State, require_same, state_of
from leakscore_app.tables.formats import delimited
from leakscore_app.tables.formats.delimited import Form, Rows
from leakscore_app.tables.formats.layout import SPACE
from leakscore_app.tables.numbers import ALL, Survey, is_summary, survey_of
from leakscore_app.tables.sources.blocks import FilePart, LineNumbers

PIECE = 1 << 20
"""Bytes that are read first, to the end of a line: all cells are read as text there."""
_LATER = 4  # times as many are read at a time thereafter
_REST = 1 << 16  # bytes of a last piece of its own
_MOST = 1 << 26  # bytes of the longest line
_MARK = b"\xef\xbb\xbf"


class AtOnceError(ValueError):
    """The text must be read as a whole."""


def _form_of(name: str, start: bytes, options: ReadingOptions) -> Form:
    """Find out how a text is cut, from its first lines.

    Raises
    ------
    ValueError
        If it cannot be told, or the text must be read as a whole; `read_delimited` says which.
    """
    marked = len(_MARK) if start.startswith(_MARK) else 0
    file = File(name, start)
    data = start[marked:]
    text = data.decode()
    if file.kind != "text" or files.is_compressed(start) or text.lstrip()[:1] in ("{", "["):
        raise AtOnceError
    delimiter = delimited.delimiter_in(name, text, options)
    if delimiter == SPACE:
        raise AtOnceError
    require_plain(name, data, delimiter)
    form = delimited.form_of(name, data, delimiter, options)
    if form.begin == len(data):
        raise AtOnceError
    return replace(form, begin=marked + form.begin)


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
    size_read = PIECE
    while data := file.read(size_read):
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
        size_read = _LATER * PIECE


_LABELLED = 5  # rows at the end that are searched for labels of sums


@dataclass(frozen=True)
class Piece:
    """Some whole lines: where they begin, their length, and the rows above them."""

    begin: int
    size: int
    start: int


@dataclass(frozen=True, eq=False)
class TextPart(FilePart):
    """A csv file.

    Attributes
    ----------
    form : Form
    pieces : tuple of Piece
    convention : int
        In which its numbers are read.
    kept : KeptPieces
    """

    form: Form
    pieces: tuple[Piece, ...]
    convention: int
    kept: KeptPieces

    def batches(self, columns: Sequence[str], first: int, last: int) -> Iterator[Doubles]:
        """Yield rows; see `blocks.Part`."""
        if first >= last:
            return
        self.require_same()
        at = bisect_right([piece.start for piece in self.pieces], first) - 1
        with Path(self.path).open("rb") as file:
            for piece in self.pieces[at:]:
                if piece.start >= last:
                    break
                values = self.kept.get(self.path, piece.start, columns)
                if values is None:
                    file.seek(piece.begin)
                    cells = self.form.split(file.read(piece.size)).columns
                    named = dict(zip(self.columns, cells, strict=True))
                    values = rows_of(named, columns, self.levels, self._doubles)
                    self.kept.keep(self.path, piece.start, columns, values)
                yield values[max(first - piece.start, 0) : last - piece.start]
        self.require_same()

    def _doubles(self, column: Any) -> Doubles:
        return survey_of(column, words={}, missing=frozenset()).values(self.convention)


MOST_KEPT = 160_000_000
"""Bytes of decoded pieces that are kept from one pass to the next."""


@dataclass(eq=False)
class KeptPieces:
    """Numbers of texts that were decoded once, for the next passes over them.

    Attributes
    ----------
    most : int
        Bytes that may still be kept.
    """

    most: int = MOST_KEPT
    _pieces: dict[tuple[str, int], tuple[list[str], Doubles]] = field(default_factory=dict)

    def keep(self, path: str, start: int, names: Sequence[str], values: Doubles) -> None:
        """Keep some columns of the piece that begins with a row of a file, if there is room."""
        if (path, start) not in self._pieces and values.nbytes <= self.most:
            self._pieces[path, start] = list(names), values
            self.most -= values.nbytes

    def forget(self, path: str, start: int) -> None:
        """Keep a piece no longer."""
        if (path, start) in self._pieces:
            self.most += self._pieces.pop((path, start))[1].nbytes

    def get(self, path: str, start: int, columns: Sequence[str]) -> Doubles | None:
        """Return some columns of a piece; None if they are not kept, and others no longer."""
        names, values = self._pieces.get((path, start), ((), None))
        if values is None or not set(columns) <= set(names):
            self.forget(path, start)
            return None
        return values if names == list(columns) else values[:, [*map(names.index, columns)]]

    def __reduce__(self) -> tuple[type[KeptPieces], tuple[int]]:
        """Travel empty, and keep nothing: a task reads its blocks once."""
        return KeptPieces, (0,)


def text_part(
    path: str, name: str, options: ReadingOptions, kept: KeptPieces, categories: Categories
) -> TextPart | None:
    """Look at all cells of a csv file; None if it is to be read as a whole.

    Parameters
    ----------
    path, name : str
    options : ReadingOptions
        `columns` and `exclude` are names of the file's columns.
    kept : KeptPieces
        Keeps what is decoded on the way.
    categories : Categories
        Gets the levels of columns of categories.
    """
    state = state_of(path)
    try:
        with Path(path).open("rb") as file:
            _, start = next(pieces_of(file, 0), (0, b""))
            form = _form_of(name, start, options)
            reading = _Reading(path, name, options, form, kept, categories)
            file.seek(0)
            reading.digest.update(file.read(form.begin))
            for begin, data in pieces_of(file, form.begin):
                reading.take(begin, data)
        require_same(path, name, state)
        return reading.part(state)
    except TooManyLevelsError:
        raise
    except ValueError:
        require_same(path, name, state)
        return None  # read as a whole it is refused in its own words


@dataclass(eq=False)
class _Reading:
    """A csv file that is being looked at."""

    path: str
    name: str
    options: ReadingOptions
    form: Form
    kept: KeptPieces
    categories: Categories
    digest: Any = field(default_factory=hashlib.sha256)
    line: int = 0
    convention: int = 0
    last: Rows | None = None
    blank: list[npt.NDArray[np.int64]] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    breaks: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        layout = self.form.layout
        numbers = numbered(layout.width)
        named = zip(layout.columns, numbers, strict=True)
        self.columns = tuple(name.strip() or number for name, number in named)
        if len(set(self.columns)) < len(self.columns):
            raise AtOnceError
        self.unnamed = not layout.columns[0].strip()
        self.line = self.form.above
        # What numbers stand for missing values, the source says of all columns alike.
        options = replace(self.options, missing_values=())
        self.texts = TextColumns(
            self.name, self.columns, options, self.categories, texts=self.columns
        )

    def take(self, begin: int, data: bytes) -> None:
        """Look at the next piece."""
        self.digest.update(data)
        require_plain(self.name, data, self.form.delimiter)
        rows = self.form.split(data)
        self.blank.append(self.line + rows.blank)
        if not self.pieces:
            self._require_no_label(rows.columns, slice(0, 1))
        start = self.texts.rows
        values = self._look(dict(zip(self.columns, rows.columns, strict=True)), len(rows.lines))
        if values:
            self.kept.keep(self.path, start, list(values), np.column_stack([*values.values()]))
        self.pieces.append(Piece(begin, len(data), start))
        self._count(rows.lines, start)
        self.line += data.count(b"\n")
        self.last = rows

    def _look(self, columns: dict[str, Any], rows: int) -> dict[str, Doubles]:
        """Add a piece to what is known of the columns; return the values of those of numbers."""
        surveys, seen = self.texts.add(columns, rows), self.texts.surveys
        complete = {name: each for name, each in seen.items() if each.complete}
        if not self.pieces:
            self.convention = self._understood(complete).vote.convention
        for name, survey in complete.items():
            if survey.conventions == ALL and may_hold_codes(columns[name]):
                raise AtOnceError
        return {name: surveys[name].values(self.convention) for name in complete}

    def _count(self, lines: npt.NDArray[np.int64], start: int) -> None:
        """Note where the line is no longer that of the row above it plus 1."""
        offsets = lines + self.line - np.arange(start, start + len(lines))
        changes = np.flatnonzero(np.diff(offsets, prepend=np.nan))
        self.breaks += zip((start + changes).tolist(), offsets[changes].tolist(), strict=True)

    def _understood(
        self, surveys: Mapping[str, Survey], place: Callable[[int], str] = str
    ) -> Understanding:
        """Understand columns, where it takes no more than is known of all their pieces."""
        understood = understand(surveys, self.texts.options, place)
        vote, numeric = understood.vote, understood.numeric.values()
        if vote.doubtful or vote.contrary or any(each.odd for each in surveys.values()):
            raise AtOnceError
        if not all(s.complete and s.conventions >> vote.convention & 1 for s in numeric):
            raise AtOnceError
        return understood

    def _require_no_label(self, columns: Any, rows: slice) -> None:
        """Leave a text with a label of sums at an end to those who look at all of its cells."""
        for column in columns:
            words = column[rows].to_pylist()
            if any(is_summary((word or "").strip().lower()) for word in words):
                raise AtOnceError

    def part(self, state: State) -> TextPart:
        """Return what was found."""
        last, count = self.last, self.texts.rows
        if last is None or (len(last.lines) <= _LABELLED and count > len(last.lines)):
            raise AtOnceError
        self._require_no_label(last.columns, slice(-_LABELLED, None))
        starts, offsets = (np.array(each, np.int64) for each in zip(*self.breaks, strict=True))
        places = LineNumbers(starts, offsets)
        understood = self._understood(self.texts.surveys, lambda row: f"line {int(places[row])}")
        convention, layout = understood.vote.convention, self.form.layout
        blank = without_values(np.concatenate(self.blank))
        if convention != self.convention:
            for piece in self.pieces:
                self.kept.forget(self.path, piece.start)
        return TextPart(
            self.path,
            self.name,
            self.columns,
            count,
            state,
            self.form,
            tuple(self.pieces),
            convention,
            self.kept,
            excluded=understood.text | dict.fromkeys(self.categories.groups, GROUP),
            notes=(*layout.notes, *blank, *understood.notes),
            unnamed=self.unnamed,
            hashed=self.digest.hexdigest(),
            lines=places,
        )
