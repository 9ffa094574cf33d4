"""Reading a table of records: csv, npz, npy, parquet. Never unpickles, never guesses silently.

A `Table` holds the content of the file: a value that is missing or is not a number is NaN, and a
column with text records the place of its first text. `records` decides what is left out, and why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import _validate
from leakscore._visible import visible
from leakscore.tables import csv, files, memory_limit, npy, parquet

__all__ = ["EMBEDDED", "Table", "embedded_table", "read_table", "table_of"]

EMBEDDED = "breast-cancer-wisconsin.csv"


@dataclass(frozen=True)
class Table:
    """Records of a file.

    Attributes
    ----------
    name : str
        Its name in messages.
    path : str or None
        The file that was read, None for the embedded table.
    sha256 : str
        Of the file's bytes.
    columns : tuple of str
        Unique names.
    values : (N, d) ndarray of float64
        NaN where a value is missing or is not a number.
    text : dict
        Column index -> number of the first record (from 1) whose entry is not a number.
    notes : tuple of str
        Everything about the reading that the file does not state itself.
    lines : (N,) ndarray of int, optional
        The line of the file or sheet on which each record begins, from 1; None for an array.
    ids : (N,) ndarray of str, optional
        Who each record belongs to. Records of one person have the same label.
    """

    name: str
    path: str | None
    sha256: str
    columns: tuple[str, ...]
    values: npt.NDArray[np.float64]
    text: dict[int, int]
    notes: tuple[str, ...] = ()
    lines: npt.NDArray[np.int64] | None = None
    ids: npt.NDArray[np.str_] | None = None


@dataclass
class _Content:
    """Columns and values before names are made unique."""

    columns: list[str]
    values: npt.NDArray[np.float64]
    text: dict[int, int]
    notes: list[str]


def embedded_table() -> Table:
    """The table in the package: 569 breast masses, 30 measurements each (CC BY 4.0)."""
    data = (resources.files("leakscore") / "data" / EMBEDDED).read_bytes()
    content = _Content(*csv.parse(EMBEDDED, data, delimiter=",", decimal=".", header="yes"))
    source = (
        "Breast Cancer Wisconsin (Diagnostic), Wolberg, Mangasarian, Street & Street 1995, "
        "UCI, doi 10.24432/C5DW2B, CC BY 4.0"
    )
    return _table(EMBEDDED, None, hashlib.sha256(data).hexdigest(), content, source)


def read_table(
    path: str,
    *,
    key: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: str = "auto",
    max_memory: int = memory_limit.DEFAULT,
) -> Table:
    """Read a table of records; the content determines the format, not the name.

    Parameters
    ----------
    path : str
        A csv, npz, npy or parquet file; ``-`` reads csv from standard input.
    key : str, optional
        Which array of an npz archive.
    delimiter, decimal : str, optional
        Of a csv file; detected by default: comma, semicolon or tab; point or comma.
    header : {"auto", "yes", "no"}
        Whether the first line of a csv file names the columns.
    max_memory : int
        Bytes that the file, packed and unpacked, may take, 1 GiB by default: a few kilobytes may
        announce, or unpack to, more than the machine holds.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        If the file is empty, damaged, ragged, too large, or not a table of numbers.
    ImportError
        If a parquet file is given and pyarrow is not installed.
    """
    limit = _validate.count("max_memory", max_memory, low=1)
    file = files.open_file(path, limit)
    if key is not None and file.kind != "npz":
        raise ValueError(f"{file.name} is no npz archive, so that key={key!r} means nothing")
    if file.kind != "text" and (delimiter is not None or decimal is not None or header != "auto"):
        raise ValueError(
            f"{file.name} is no csv file, so that delimiter, decimal and header mean nothing"
        )
    if file.kind == "npy":
        content = _from_array(file.name, npy.load_npy(file), file)
    elif file.kind == "npz":
        content = _read_npz(file, key)
    elif file.kind == "parquet":
        content = _read_parquet(file)
    else:
        content = _Content(
            *csv.parse(
                file.name,
                file.data,
                delimiter=delimiter,
                decimal=decimal,
                header=header,
                limit=limit,
            )
        )
    return _table(file.name, path, file.sha256, content)


def _table(name: str, path: str | None, sha256: str, content: _Content, *notes: str) -> Table:
    names: dict[str, None] = {}
    for index, given in enumerate(content.columns, start=1):
        column = given.strip() or f"column {index}"
        if column in names:
            content.notes.append(
                f'column {index} has the name "{visible(column)}" of an earlier one'
            )
            column = f"{column} (column {index})"
        names[column] = None
    return Table(
        name=name,
        path=path,
        sha256=sha256,
        columns=tuple(names),
        values=content.values,
        text=content.text,
        notes=(*notes, *content.notes),
    )


def table_of(
    values: npt.ArrayLike,
    columns: Sequence[str] | None = None,
    *,
    ids: Sequence[str] | None = None,
) -> Table:
    """Make a table from an array.

    Parameters
    ----------
    values : (N, d) array_like
        Records are rows.
    columns : sequence of str, optional
        Names; by default the columns are numbered from 1.
    ids : sequence of str, optional
        Who each record belongs to.

    Returns
    -------
    Table
        Its hash is the hash of the values as float64, row after row.

    Raises
    ------
    ValueError
        If the array is not two-dimensional, or names or labels do not fit it.

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
    if ids is not None and len(ids) != len(array):
        raise ValueError(f"Expected {len(ids)} ids to be {len(array)}, one for each record")
    sha256 = hashlib.sha256(content.values.tobytes()).hexdigest()
    table = _table("array", "array", sha256, content)
    return table if ids is None else replace(table, ids=np.array(list(map(str, ids)), np.str_))


# --- numpy ---------------------------------------------------------------------------------------


def _read_npz(file: files.File, key: str | None) -> _Content:
    arrays = npy.load_npz(file)
    keys = list(arrays)
    if key is None and len(keys) > 1:
        raise ValueError(
            f"{file.name} holds several arrays, choose one with --key: {files.listed(keys)}"
        )
    if key is not None and key not in keys:
        raise ValueError(f"{file.name} has no array {key!r}; it holds {files.listed(keys)}")
    chosen = keys[0] if key is None else key
    return _from_array(f"{file.name}[{visible(chosen)}]", arrays[chosen], file)


def _from_array(name: str, values: npt.NDArray[Any], file: files.File | None = None) -> _Content:
    if values.dtype.names is not None:
        if values.ndim != 1:
            raise ValueError(f"Expected {name} of shape {values.shape} to hold one row per record")
        if file is not None:
            file.require(_needed(len(values), len(values.dtype.names)))
        return _from_columns({field: values[field] for field in values.dtype.names})
    if values.ndim != 2:
        hint = "; one column is (N, 1)" if values.ndim == 1 else ""
        raise ValueError(
            f"Expected {name} of shape {values.shape} to be 2-D, one row per record{hint}"
        )
    if values.dtype.kind not in "fiub":
        raise ValueError(f"Expected {name} to hold real numbers, not dtype {values.dtype}")
    if file is not None:
        same = values.dtype == np.float64 and values.flags.c_contiguous
        file.require(_needed(0 if same else len(values), values.shape[1]))
    columns = [f"column {j}" for j in range(1, values.shape[1] + 1)]
    notes = [f"columns of {name} have no names: numbered from 1"]
    with np.errstate(all="ignore"):  # a long double may be too large: then it is infinite
        return _Content(columns, np.ascontiguousarray(values, dtype=np.float64), {}, notes)


def _needed(rows: int, columns: int) -> int:
    """Return the memory of a table."""
    return columns * (8 * rows + memory_limit.COLUMN)


def _from_columns(columns: dict[str, npt.NDArray[Any]]) -> _Content:
    size = len(next(iter(columns.values()))) if columns else 0
    values = np.full((size, len(columns)), np.nan)
    text = {}
    for j, column in enumerate(columns.values()):
        if column.ndim == 1 and column.dtype.kind in "fiub":
            with np.errstate(all="ignore"):
                values[:, j] = column
        else:
            text[j] = 1
    return _Content(list(columns), values, text, [])


# --- parquet -------------------------------------------------------------------------------------


def _read_parquet(file: files.File) -> _Content:
    table = parquet.Parquet(file)
    file.require(_needed(table.rows, len(table.names)))
    values, text = np.full((table.rows, len(table.names)), np.nan), {}
    for j, name in enumerate(table.names):
        if parquet.is_number(table.types[name]):
            values[:, j] = table.numbers(name)
        elif table.rows:
            text[j] = 1
    return _Content(list(table.names), values, text, [])
