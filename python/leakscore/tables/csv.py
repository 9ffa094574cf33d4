"""Reading csv: the forms of delimiters, numbers, headers and missing values."""

from __future__ import annotations

import csv
import io
import itertools
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore.tables import memory_limit

__all__ = ["cells", "parse"]

Parsed: TypeAlias = tuple[list[str], npt.NDArray[np.float64], dict[int, int], list[str]]

_MISSING = frozenset({"", "na", "n/a", "nan", "-nan", "null", "none", "?", ".", "-", "#n/a"})
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_CHUNK = 1 << 18  # cells that are converted to numbers together


def parse(
    name: str,
    data: bytes,
    *,
    delimiter: str | None,
    decimal: str | None,
    header: str,
    words: Mapping[str, float] = MappingProxyType({}),
    limit: int = memory_limit.DEFAULT,
) -> Parsed:
    """Parse the bytes of a file called `name`; an option that is None is detected.

    `words` are read as numbers, in any case. `limit` is the memory that the bytes and the numbers
    may take.

    Returns
    -------
    columns : list of str
        Their names in the file, or numbers.
    values : (N, d) ndarray
        NaN where an entry is missing or is not a number.
    text : dict
        Column index -> number of the first record, from 1, whose entry is not a number.
    notes : list of str
        What was detected.
    """
    text, encoding, notes = _decode(name, data, limit)
    delimiter = delimiter or _delimiter_of(text)
    decimal = decimal or _decimal_of(text, delimiter)
    if decimal == ",":
        notes.append("numbers are read with decimal commas")
    numbers = 1 + sum(map(text.count, (delimiter, "\n", "\r")))
    memory_limit.require(name, len(data) + memory_limit.CELL * numbers, limit)
    del text
    rows = _rows(name, data, encoding, delimiter, limit)
    first = next(rows, None)
    if first is None:
        raise ValueError(f"{name} is empty")
    parser = _Columns(len(first), decimal, words)
    size = max(1, _CHUNK // len(first))
    for chunk in iter(lambda: list(itertools.islice(rows, size)), []):
        parser.extend(chunk)
    if header == "yes" or (header == "auto" and parser.is_header(first)):
        return first, parser.values(), parser.text, notes
    head = _Columns(len(first), decimal, words)
    head.extend([first])
    text_cells = {j: row + 1 for j, row in parser.text.items()} | head.text
    notes.append("the first line holds a record, no names: columns are numbered from 1")
    columns = [f"column {j}" for j in range(1, len(first) + 1)]
    return columns, np.vstack([head.values(), parser.values()]), text_cells, notes


def cells(
    name: str, data: bytes, delimiter: str | None, limit: int = memory_limit.DEFAULT
) -> Iterator[list[str]]:
    """Return the cells of every nonblank line, as they are written."""
    text, encoding, _ = _decode(name, data, limit)
    return _rows(name, data, encoding, delimiter or _delimiter_of(text), limit)


def _decode(name: str, data: bytes, limit: int) -> tuple[str, str, list[str]]:
    """Return the text, its encoding and notes about it."""
    memory_limit.require(name, (2 if data.isascii() else 5) * len(data), limit)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding, notes = "utf-16", ["the file is read as UTF-16"]
    elif b"\0" in data[:4096]:
        raise ValueError(f"{name} is neither csv, npz, npy nor parquet")
    else:
        encoding, notes = "utf-8-sig", []
    try:
        text = data.decode(encoding, "replace" if encoding == "utf-16" else "strict")
    except UnicodeDecodeError:
        encoding, notes = "latin-1", ["the file is not UTF-8: it is read as Latin-1"]
        text = data.decode(encoding)
    if not text or text.isspace():
        raise ValueError(f"{name} is empty")
    return text, encoding, notes


def _delimiter_of(text: str) -> str:
    """The delimiter (tab, semicolon or comma) that gives the first lines equally many cells."""
    start = text[:65536] if text[:65536].strip() else text.lstrip()[:65536]
    sample = re.sub(r'"[^"]*"', '""', start).splitlines()
    whole = sample[:-1] if len(text) > 65536 and len(sample) > 1 else sample
    lines = [line for line in whole if line.strip()][:20] or [""]
    fewest = {mark: min(line.count(mark) for line in lines) for mark in ",;\t"}
    for mark in "\t;,":
        if fewest[mark] and all(line.count(mark) == fewest[mark] for line in lines):
            return mark
    return max(fewest, key=lambda mark: fewest[mark])


def _decimal_of(text: str, delimiter: str) -> str:
    if delimiter == "," or re.search(r"\d\.\d", text) or not re.search(r"\d,\d", text):
        return "."
    return ","


class _Lines:
    """The lines of a text, as long as the cells of one record do not take too much memory.

    A record spans several lines where a quoted cell does: `cells` counts the cells of the lines
    since it was last set to 0.
    """

    def __init__(self, name: str, lines: Iterator[str], delimiter: str, limit: int) -> None:
        self._name = name
        self._lines = lines
        self._delimiter = delimiter
        self._limit = limit
        self.cells = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.cells += 1 + line.count(self._delimiter)
        if self.cells * memory_limit.COLUMN > self._limit:
            what = f"{self._name}, with {self.cells} cells in a line,"
            memory_limit.require(what, self.cells * memory_limit.COLUMN, self._limit)
        return line


def _rows(name: str, data: bytes, encoding: str, delimiter: str, limit: int) -> Iterator[list[str]]:
    """The non-blank lines, all of one width."""
    errors = "replace" if encoding == "utf-16" else "strict"
    text = io.TextIOWrapper(io.BytesIO(data), encoding, errors, newline="")
    lines = _Lines(name, text, delimiter, limit)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    width = None
    try:
        for row in reader:
            lines.cells = 0
            if not row or (len(row) == 1 and width != 1 and not row[0].strip()):
                continue
            if width is None:
                width = len(row)
            if len(row) != width:
                raise ValueError(
                    f"{name}, line {reader.line_num}: {len(row)} cells, but {width} in the first "
                    f"line (cells are separated by {delimiter!r})"
                )
            yield row
    except csv.Error as error:
        raise ValueError(f"{name}, line {reader.line_num}: {error}") from None


class _Columns:
    """Cells turned into numbers, column by column, in chunks of lines."""

    def __init__(self, width: int, decimal: str, words: Mapping[str, float]) -> None:
        self.text: dict[int, int] = {}
        self._words = words
        self._numbers = [array("d") for _ in range(width)]
        self._decimal = decimal
        self._has_number = [False] * width

    def extend(self, chunk: Sequence[Sequence[str]]) -> None:
        for j, cells in enumerate(zip(*chunk, strict=True)):
            self._numbers[j].extend(self._parsed(j, cells))

    def _parsed(self, j: int, cells: Sequence[str]) -> list[float]:
        try:  # float() also takes 1_000, which is a name rather than a number
            numbers = list(map(float, cells))
            if "_" not in "".join(cells):
                self._has_number[j] = True
                return numbers
        except ValueError:
            pass
        if self._words.keys() >= {cell.lower() for cell in cells}:
            self._has_number[j] = True
            return [self._words[cell.lower()] for cell in cells]
        return [self._cell(j, row, cell) for row, cell in enumerate(cells)]

    def _cell(self, j: int, row: int, cell: str) -> float:
        try:
            number = _number(cell, self._decimal, self._words)
        except ValueError:
            self.text.setdefault(j, len(self._numbers[j]) + row + 1)
            return float("nan")
        self._has_number[j] |= number == number
        return number

    def is_header(self, first: Sequence[str]) -> bool:
        """Text above numbers, or no number at all in the first line."""
        numbers = [self._is_number(cell) for cell in first]
        above = any(
            self._has_number[j] and j not in self.text
            for j, number in enumerate(numbers)
            if not number
        )
        # A name may also be a word that stands for a number, but not every name is.
        named = any(cell.strip() for cell, number in zip(first, numbers, strict=True) if not number)
        alone = not any(
            number and cell.strip().lower() not in self._words
            for cell, number in zip(first, numbers, strict=True)
        )
        return above or (alone and named)

    def _is_number(self, cell: str) -> bool:
        try:
            _number(cell, self._decimal, self._words)
        except ValueError:
            return False
        return True

    def values(self) -> npt.NDArray[np.float64]:
        return np.column_stack([np.array(column) for column in self._numbers])


def _number(cell: str, decimal: str, words: Mapping[str, float]) -> float:
    cell = cell.strip()
    if cell.lower() in words:
        return words[cell.lower()]
    if cell.lower() in _MISSING:
        return float("nan")
    if "_" in cell:
        raise ValueError(cell)
    if decimal == "," and _DECIMAL_COMMA.fullmatch(cell):
        cell = cell.replace(",", ".")
    return float(cell)
