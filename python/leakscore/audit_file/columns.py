"""The named columns of a file of scores: csv, npz, npy, parquet, JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.tables import csv, files, memory_limit, npy, parquet, strict_json

__all__ = ["WORDS", "Columns", "Dialect", "columns_of"]

Array = npt.NDArray[Any]

WORDS: Mapping[str, float] = {
    **dict.fromkeys(("true", "yes", "member", "in"), 1.0),
    **dict.fromkeys(("false", "no", "non-member", "nonmember", "non_member", "out"), 0.0),
}
"""What else than 1 and 0 may stand for a member and a non-member."""

_INFINITE = {"inf": np.inf, "-inf": -np.inf}
"""How strict JSON, this package's too, spells numbers that it has not."""


@dataclass(frozen=True)
class Dialect:
    """How a csv file is written; what is None is found out."""

    delimiter: str | None = None
    decimal: str | None = None
    header: str = "auto"


@dataclass(frozen=True)
class Columns:
    """The columns of a file, each made an array when it is asked for.

    Attributes
    ----------
    file : File
    format : str
        "csv", "npz", "npy", "parquet" or "json".
    names : tuple of str
    notes : tuple of str
        What had to be found out.
    padding : callable
        The number of blank cells at the end of a column, which is shorter than others.
    """

    file: files.File
    format: str
    names: tuple[str, ...]
    get: Callable[[str], Array]
    notes: tuple[str, ...] = ()
    padding: Callable[[str], int] | None = None

    def where(self, name: str) -> str:
        """Name a column of this file in a message."""
        return f"{self.file.name}, column {name!r}"

    def vector(self, name: str) -> Array:
        """Return a column as a 1-D array, its padding left out."""
        array = self.get(name)
        if array.ndim > 1 and array.size == max(array.shape):
            array = array.reshape(-1)
        if array.ndim != 1:
            raise ValueError(
                f"Expected {self.where(name)} of shape {array.shape} to hold one value per round"
            )
        blank = 0 if self.padding is None else self.padding(name)
        return array[: array.size - blank]

    def numbers(self, name: str) -> Array:
        """Return a column of real numbers without NaN, of the dtype that it has in the file."""
        array = self.vector(name)
        if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
            raise ValueError(f"Expected {self.where(name)} to hold numbers, not {array.dtype}")
        if array.dtype.kind == "f" and bool((missing := np.isnan(array)).any()):
            row = int(missing.argmax()) + 1
            raise ValueError(f"{self.where(name)}, row {row}: the score is missing or NaN")
        return array

    def bits(self, name: str) -> npt.NDArray[np.bool_]:
        """Return a column of memberships; words for 1 and 0 are understood."""
        try:
            array = self.vector(name)
        except ValueError as error:
            raise ValueError(f"{error} (a membership is 1 or 0, or {', '.join(WORDS)})") from None
        if array.dtype.kind in "US":
            text = np.char.decode(array, "latin-1") if array.dtype.kind == "S" else array
            numbers = [WORDS.get(word.strip().lower(), np.nan) for word in text.tolist()]
            found = np.asarray(numbers, dtype=np.float64)
            found[text == "1"], found[text == "0"] = 1.0, 0.0
        elif array.dtype.kind in "fiub":
            found = array
        else:
            raise ValueError(f"Expected {self.where(name)} to hold 1 and 0, not {array.dtype}")
        wrong = (found != 0) & (found != 1)
        if bool(wrong.any()):
            row = int(wrong.argmax())
            raise ValueError(
                f"{self.where(name)}, row {row + 1}: {array[row].item()!r} is neither 1 (member) "
                "nor 0 (non-member)"
            )
        return np.asarray(found == 1)


def columns_of(file: files.File, dialect: Dialect) -> Columns:
    """Return the columns of a file; its format is told by its content."""
    is_json = file.kind == "text" and file.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")
    if (file.kind != "text" or is_json) and dialect != Dialect():
        raise ValueError(
            f"{file.name} is no csv file, so that delimiter, decimal and header mean nothing"
        )
    if is_json:
        return _of_json(file)
    readers = {"npy": _of_npy, "npz": _of_npz, "parquet": _of_parquet}
    return readers[file.kind](file) if file.kind in readers else _of_csv(file, dialect)


def _of_csv(file: files.File, dialect: Dialect) -> Columns:
    names, values, text, notes = csv.parse(
        file.name,
        file.data,
        delimiter=dialect.delimiter,
        decimal=dialect.decimal,
        header=dialect.header,
        words=WORDS,
        limit=file.limit,
    )
    names = [name.strip() or f"column {j}" for j, name in enumerate(names, start=1)]
    if len(set(names)) < len(names):
        raise ValueError(f"{file.name} has columns of the same name: {files.listed(names)}")

    def get(name: str) -> Array:
        j = names.index(name)
        if j in text:
            raise ValueError(f"{file.name}, column {name!r}, row {text[j]}: not a number")
        return values[:, j]

    def padding(name: str) -> int:
        j = names.index(name)
        run = int(np.isnan(values[::-1, j]).cumprod().sum())
        return run and _blanks(file, j, run, dialect)

    return Columns(file, "csv", tuple(names), get, tuple(notes), padding)


def _blanks(file: files.File, j: int, run: int, dialect: Dialect) -> int:
    """Count the blank cells of column j at the end: a missing value, unlike NaN, is blank."""
    blank = 0
    for line in csv.cells(file.name, file.data, dialect.delimiter, file.limit):
        blank = 0 if line[j].strip() else blank + 1
    return min(blank, run)


def _of_npy(file: files.File) -> Columns:
    array = npy.load_npy(file)
    if array.dtype.names is not None:
        return Columns(file, "npy", array.dtype.names, lambda name: np.asarray(array[name]))
    if array.ndim == 2:
        file.require(memory_limit.COLUMN * array.shape[1])
        names = tuple(f"column {j}" for j in range(1, array.shape[1] + 1))
        return Columns(file, "npy", names, lambda name: np.asarray(array[:, names.index(name)]))
    return Columns(file, "npy", ("scores",), {"scores": np.asarray(array)}.__getitem__)


def _of_npz(file: files.File) -> Columns:
    arrays = npy.load_npz(file)
    return Columns(file, "npz", tuple(arrays), lambda name: np.asarray(arrays[name]))


def _of_parquet(file: files.File) -> Columns:
    table = parquet.Parquet(file)
    return Columns(file, "parquet", table.names, table.array)


def _of_json(file: files.File) -> Columns:
    document = strict_json.load_json(file)
    if isinstance(document, dict) and isinstance(document.get("primitives"), dict):
        document = document["primitives"]  # LeakPro's CombinedMetricResult
    columns = document if isinstance(document, dict) else {}
    names = [name for name, value in columns.items() if isinstance(value, (list, int, float))]
    if not names:
        raise ValueError(f"Expected {file.name} to hold a JSON object of lists")
    return Columns(
        file,
        "json",
        tuple(names),
        lambda name: strict_json.array_of(file, name, _numbers(columns[name])),
    )


def _numbers(value: Any) -> Any:
    """Return a list whose infinite numbers, which strict JSON has to spell, are numbers again."""
    if not isinstance(value, list):
        return value
    return [_INFINITE.get(cell, cell) if type(cell) is str else cell for cell in value]
