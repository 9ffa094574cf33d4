"""Reading a table of records: csv, npz, npy, parquet. Never unpickles, never guesses silently.

A `Table` holds what the file holds: a value that is missing or is not a number is NaN, a column
with text says where its first text is. What is left out, and why, is decided in `_clean`.
"""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import re
import sys
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["EMBEDDED", "Table", "embedded_table", "read_table"]

EMBEDDED = "breast-cancer-wisconsin.csv"

_MISSING = frozenset({"", "na", "n/a", "nan", "-nan", "null", "none", "?", ".", "-", "#n/a"})
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_CHUNK = 4096


@dataclass(frozen=True)
class Table:
    """Records as a file holds them.

    Attributes
    ----------
    name : str
        What to call it.
    path : str or None
        Where it was read, None for the embedded table.
    sha256 : str
        Of the file's bytes.
    columns : tuple of str
        Unique names.
    values : (N, d) ndarray of float64
        NaN where a value is missing or is not a number.
    text : dict
        Column index -> number of the first record (from 1) whose entry is not a number.
    notes : tuple of str
        Everything about the reading that the file does not say itself.
    """

    name: str
    path: str | None
    sha256: str
    columns: tuple[str, ...]
    values: npt.NDArray[np.float64]
    text: dict[int, int]
    notes: tuple[str, ...] = ()


@dataclass
class _Content:
    """Columns and values before names are made unique."""

    columns: list[str]
    values: npt.NDArray[np.float64]
    text: dict[int, int]
    notes: list[str]


def embedded_table() -> Table:
    """The table that the package carries: 569 breast masses, 30 measurements each (CC BY 4.0)."""
    data = (resources.files("leakscore") / "data" / EMBEDDED).read_bytes()
    content = _read_csv(data, delimiter=",", decimal=".", header="yes")
    source = (
        "Breast Cancer Wisconsin (Diagnostic), Wolberg, Mangasarian, Street & Street 1995, "
        "UCI, doi 10.24432/C5DW2B, CC BY 4.0"
    )
    return _table(EMBEDDED, None, data, content, source)


def read_table(
    path: str,
    *,
    key: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: str = "auto",
) -> Table:
    """Read a table of records; the format is told by the content, not by the name.

    Parameters
    ----------
    path : str
        A csv, npz, npy or parquet file; ``-`` reads csv from standard input.
    key : str, optional
        Which array of an npz archive.
    delimiter, decimal : str, optional
        Of a csv file; by default found out: comma, semicolon or tab; point or comma.
    header : {"auto", "yes", "no"}
        Whether the first line of a csv file names the columns.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        If the file is empty, damaged, ragged, or is no table of numbers.
    ImportError
        If a parquet file is given and pyarrow is not installed.
    """
    data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    name = "standard input" if path == "-" else Path(path).name
    if not data:
        raise ValueError(f"{name} is empty")
    if data.startswith(b"\x93NUMPY"):
        content = _from_array(name, _load(name, data))
    elif data.startswith(b"PK\x03\x04") or data.startswith(b"PK\x05\x06"):
        content = _read_npz(name, data, key)
    elif data.startswith(b"PAR1"):
        content = _read_parquet(name, data)
    else:
        content = _read_csv(data, delimiter=delimiter, decimal=decimal, header=header, name=name)
    return _table(name, path, data, content)


def _table(name: str, path: str | None, data: bytes, content: _Content, *notes: str) -> Table:
    names: dict[str, None] = {}
    for index, given in enumerate(content.columns, start=1):
        column = given.strip() or f"column {index}"
        if column in names:
            content.notes.append(f'column {index} has the name "{column}" of an earlier one')
            column = f"{column} (column {index})"
        names[column] = None
    return Table(
        name=name,
        path=path,
        sha256=hashlib.sha256(data).hexdigest(),
        columns=tuple(names),
        values=content.values,
        text=content.text,
        notes=(*notes, *content.notes),
    )


# --- numpy ---------------------------------------------------------------------------------------


def _load(name: str, data: bytes) -> Any:
    try:
        return np.load(io.BytesIO(data), allow_pickle=False)
    except ValueError as error:
        if "pickle" in str(error).lower():
            raise ValueError(f"{name} holds Python objects; only numbers are read") from None
        raise ValueError(f"{name} is damaged: {error}") from None
    except (EOFError, OSError) as error:
        raise ValueError(f"{name} is damaged: {error}") from None


def _read_npz(name: str, data: bytes, key: str | None) -> _Content:
    import zipfile

    try:
        members = zipfile.ZipFile(io.BytesIO(data)).namelist()
        keys = [member[:-4] for member in members if member.endswith(".npy")]
        if not keys:
            raise ValueError(f"{name} holds no arrays (a workbook? save it as csv)")
        if key is None and len(keys) > 1:
            raise ValueError(f"{name} holds several arrays, choose one with --key: {_listed(keys)}")
        if key is not None and key not in keys:
            raise ValueError(f"{name} has no array {key!r}; it holds {_listed(keys)}")
        chosen = keys[0] if key is None else key
        with _load(name, data) as archive:
            return _from_array(f"{name}[{chosen}]", archive[chosen])
    except zipfile.BadZipFile as error:
        raise ValueError(f"{name} is damaged: {error}") from None
    except ValueError as error:
        if "pickle" in str(error).lower():
            raise ValueError(f"{name} holds Python objects; only numbers are read") from None
        raise


def _from_array(name: str, values: npt.NDArray[Any]) -> _Content:
    if values.dtype.names is not None:
        if values.ndim != 1:
            raise ValueError(f"Expected {name} of shape {values.shape} to hold one row per record")
        return _from_columns({field: values[field] for field in values.dtype.names})
    if values.ndim != 2:
        hint = "; one column is (N, 1)" if values.ndim == 1 else ""
        raise ValueError(
            f"Expected {name} of shape {values.shape} to be 2-D, one row per record{hint}"
        )
    if values.dtype.kind not in "fiub":
        raise ValueError(f"Expected {name} to hold real numbers, not dtype {values.dtype}")
    columns = [f"column {j}" for j in range(1, values.shape[1] + 1)]
    notes = [f"columns of {name} have no names: numbered from 1"]
    return _Content(columns, np.ascontiguousarray(values, dtype=np.float64), {}, notes)


def _from_columns(columns: dict[str, npt.NDArray[Any]]) -> _Content:
    size = len(next(iter(columns.values()))) if columns else 0
    values = np.full((size, len(columns)), np.nan)
    text = {}
    for j, column in enumerate(columns.values()):
        if column.ndim == 1 and column.dtype.kind in "fiub":
            values[:, j] = column
        else:
            text[j] = 1
    return _Content(list(columns), values, text, [])


# --- parquet -------------------------------------------------------------------------------------


def _read_parquet(name: str, data: bytes) -> _Content:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            f'{name} is a parquet file: reading it needs pyarrow (pip install "leakscore[parquet]")'
        ) from None
    try:
        table = pyarrow.parquet.read_table(pyarrow.BufferReader(data))
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{name} is damaged: {error}") from None
    kinds = pyarrow.types
    columns = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        number = kinds.is_integer(field.type) or kinds.is_floating(field.type)
        if number or kinds.is_boolean(field.type) or kinds.is_decimal(field.type):
            cast = column.cast(pyarrow.float64(), safe=False)
            columns[field.name] = np.asarray(cast.to_numpy(), dtype=np.float64)
        else:
            columns[field.name] = np.empty(len(column), dtype="U1")
    if len(columns) < table.num_columns:
        raise ValueError(f"{name} has columns of the same name")
    return _from_columns(columns)


# --- csv -----------------------------------------------------------------------------------------


def _read_csv(
    data: bytes,
    *,
    delimiter: str | None,
    decimal: str | None,
    header: str,
    name: str = EMBEDDED,
) -> _Content:
    text, notes = _decode(name, data)
    if not text.strip():
        raise ValueError(f"{name} is empty")
    delimiter = delimiter or _delimiter_of(text)
    decimal = decimal or _decimal_of(text, delimiter)
    if decimal == ",":
        notes.append("numbers are read with decimal commas")
    rows = _rows(name, text, delimiter)
    first = next(rows)
    parser = _Columns(len(first), decimal)
    for chunk in iter(lambda: list(itertools.islice(rows, _CHUNK)), []):
        parser.extend(chunk)
    if header == "yes" or (header == "auto" and parser.is_header(first)):
        return _Content(first, parser.values(), parser.text, notes)
    head = _Columns(len(first), decimal)
    head.extend([first])
    found = {j: row + 1 for j, row in parser.text.items()} | head.text
    notes.append("the first line holds a record, no names: columns are numbered from 1")
    columns = [f"column {j}" for j in range(1, len(first) + 1)]
    return _Content(columns, np.vstack([head.values(), parser.values()]), found, notes)


def _decode(name: str, data: bytes) -> tuple[str, list[str]]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace"), ["the file is read as UTF-16"]
    if b"\0" in data[:4096]:
        raise ValueError(f"{name} is neither csv, npz, npy nor parquet")
    try:
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        return data.decode("latin-1"), ["the file is not UTF-8: it is read as Latin-1"]


def _delimiter_of(text: str) -> str:
    """The one of tab, semicolon and comma that splits the first lines into equally many cells."""
    sample = re.sub(r'"[^"]*"', '""', text[:65536]).splitlines()
    whole = sample[:-1] if len(text) > 65536 and len(sample) > 1 else sample
    lines = [line for line in whole if line.strip()][:20]
    fewest = {mark: min(line.count(mark) for line in lines) for mark in ",;\t"}
    for mark in "\t;,":
        if fewest[mark] and all(line.count(mark) == fewest[mark] for line in lines):
            return mark
    return max(fewest, key=lambda mark: fewest[mark])


def _decimal_of(text: str, delimiter: str) -> str:
    if delimiter == "," or re.search(r"\d\.\d", text) or not re.search(r"\d,\d", text):
        return "."
    return ","


def _rows(name: str, text: str, delimiter: str) -> Iterator[list[str]]:
    """The non-blank lines, all of one width."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    width = None
    try:
        for row in reader:
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

    def __init__(self, width: int, decimal: str) -> None:
        self.text: dict[int, int] = {}
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
        return [self._cell(j, row, cell) for row, cell in enumerate(cells)]

    def _cell(self, j: int, row: int, cell: str) -> float:
        try:
            number = _number(cell, self._decimal)
        except ValueError:
            self.text.setdefault(j, len(self._numbers[j]) + row + 1)
            return float("nan")
        self._has_number[j] |= number == number
        return number

    def is_header(self, first: Sequence[str]) -> bool:
        """Text above numbers, or no number at all in the first line."""
        words = [not _is_number(cell, self._decimal) for cell in first]
        above = any(
            word and self._has_number[j] and j not in self.text for j, word in enumerate(words)
        )
        return above or (all(words) and any(cell.strip() for cell in first))

    def values(self) -> npt.NDArray[np.float64]:
        return np.column_stack([np.array(column) for column in self._numbers])


def _number(cell: str, decimal: str) -> float:
    cell = cell.strip()
    if cell.lower() in _MISSING:
        return float("nan")
    if "_" in cell:
        raise ValueError(cell)
    if decimal == "," and _DECIMAL_COMMA.fullmatch(cell):
        cell = cell.replace(",", ".")
    return float(cell)


def _is_number(cell: str, decimal: str) -> bool:
    try:
        _number(cell, decimal)
    except ValueError:
        return False
    return True


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
