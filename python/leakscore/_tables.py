"""Reading a table of records: csv, npz, npy, parquet. Never unpickles, never guesses silently.

A `Table` holds what the file holds: a value that is missing or is not a number is NaN, a column
with text says where its first text is. What is left out, and why, is decided in `_clean`.
"""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import _csv, _validate

__all__ = ["EMBEDDED", "Table", "embedded_table", "read_table", "table_of"]

EMBEDDED = "breast-cancer-wisconsin.csv"


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
    content = _Content(*_csv.parse(EMBEDDED, data, delimiter=",", decimal=".", header="yes"))
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
    archive = data.startswith((b"PK\x03\x04", b"PK\x05\x06"))
    binary = archive or data.startswith((b"\x93NUMPY", b"PAR1"))
    if key is not None and not archive:
        raise ValueError(f"{name} is no npz archive, so that key={key!r} means nothing")
    if binary and (delimiter is not None or decimal is not None or header != "auto"):
        raise ValueError(
            f"{name} is no csv file, so that delimiter, decimal and header mean nothing"
        )
    if data.startswith(b"\x93NUMPY"):
        content = _from_array(name, _load(name, data))
    elif archive:
        content = _read_npz(name, data, key)
    elif data.startswith(b"PAR1"):
        content = _read_parquet(name, data)
    else:
        content = _Content(
            *_csv.parse(name, data, delimiter=delimiter, decimal=decimal, header=header)
        )
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


def table_of(values: npt.ArrayLike, columns: Sequence[str] | None = None) -> Table:
    """Make a table of an array.

    Parameters
    ----------
    values : (N, d) array_like
        Records are rows.
    columns : sequence of str, optional
        Names; by default the columns are numbered from 1.

    Returns
    -------
    Table
        Its hash is that of the values as float64, row after row.

    Raises
    ------
    ValueError
        If the array is not two-dimensional or the names do not fit it.

    Examples
    --------
    >>> from leakscore import report
    >>> report.table_of([[1.0, 2.0], [3.0, 5.0]], ["a", "b"]).columns
    ('a', 'b')
    """
    array = _validate.matrix("values", values)
    content = _from_array("the array", array)
    if columns is not None:
        if len(columns) != array.shape[1]:
            raise ValueError(f"Expected {len(columns)} columns to be {array.shape[1]}")
        content = _Content(list(columns), content.values, {}, [])
    return _table("array", "array", content.values.tobytes(), content)


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


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
