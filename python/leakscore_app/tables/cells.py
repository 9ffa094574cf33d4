"""The cells of a table before they are understood: typed numbers, text, or both in one column."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore_app._visible import listed, unescaped
from leakscore_app.tables import files


@dataclass(frozen=True)
class ReadingOptions:
    """How a file is to be read; what is None or "auto" is found out, or the file is refused.

    Attributes
    ----------
    delimiter, decimal, thousands, encoding, header
        Of a text; `thousands` "none" stands for no mark, " " for every kind of space.
    skip_lines : int
        Lines that are left out above the header.
    skip_last : int, optional
        Records that are left out at the end. Where a number is given, 0 included, the last record
        may equal the sum or mean of the others.
    sheet, key : str, optional
        Which sheet of a workbook, which array or file of an archive.
    missing_values : tuple of str
        Words and numbers that stand for a missing value; "none": no number does.
    bad_cells : {"refuse", "missing"}
        What becomes of cells that are no numbers in a column of numbers.
    id : str, optional
        The column that tells who a record belongs to.
    groups : tuple of str
        Columns of categories that divide the records into groups.
    proportions : tuple of str
        Columns of categories, of which the share of each level is published.
    columns, exclude
        The columns that are published, if not all: no other column is looked at.
    complete : bool
        Whether every record counts, so that none can be left out.
    words : mapping
        What stands for numbers besides yes and no, in lower case.
    max_memory : int
        Bytes that the file, packed and unpacked, may take.
    """

    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    header: str = "auto"
    skip_lines: int = 0
    skip_last: int | None = None
    sheet: str | None = None
    key: str | None = None
    missing_values: tuple[str, ...] = ()
    bad_cells: str = "refuse"
    id: str | None = None
    groups: tuple[str, ...] = ()
    proportions: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    complete: bool = False
    words: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    max_memory: int = files.MAX_MEMORY

    def __post_init__(self) -> None:
        """Refuse values that no option has."""
        validation.choice("header", self.header, ("auto", "yes", "no"))
        validation.choice("bad_cells", self.bad_cells, ("refuse", "missing"))
        if self.decimal is not None:
            validation.choice("decimal", self.decimal, (".", ","))
        if self.thousands is not None:
            validation.choice("thousands", self.thousands, (",", ".", "'", " ", "none"))
        if self.decimal is not None and self.decimal == self.thousands:
            raise ValueError(
                f"thousands={self.thousands!r} must differ from decimal={self.decimal!r}"
            )
        mark = self.delimiter
        if mark not in (None, "space") and (len(str(mark)) != 1 or str(mark) in '\r\n"'):
            raise ValueError(f"delimiter={mark!r} must be one character or 'space'")
        validation.count("skip_lines", self.skip_lines, low=0)
        if self.skip_last is not None:
            validation.count("skip_last", self.skip_last, low=0)
        validation.count("max_memory", self.max_memory, low=1)

    @classmethod
    def of(cls, reading: Mapping[str, Any]) -> ReadingOptions:
        """Return the arguments of `read_table`; refuse one word in the place of a list."""
        named = {name: value for name, value in reading.items() if value is not None}
        for name in ("missing_values", "columns", "exclude", "groups", "proportions"):
            if isinstance(named.get(name), str):
                raise TypeError(f"{name}={named[name]!r} must be a list of names, not one word")
            if name in named:
                named[name] = tuple(map(str, named[name]))
        return cls(**named)

    def publishes(self, name: str) -> bool:
        """Whether a column of numbers is published, where these are names of the table."""
        if name in self.exclude or name in self.groups or name in self.proportions:
            return False
        return self.columns is None or name in self.columns

    @property
    def codes(self) -> bool:
        """Whether a number may stand for a missing value that is not said to be one."""
        return "none" not in map(str.lower, self.missing_values)

    @property
    def words_for_missing(self) -> frozenset[str]:
        """What stands for a missing value besides the usual words, also as messages show it."""
        words = {*self.missing_values, *map(unescaped, self.missing_values)}
        return frozenset({word.lower() for word in words} - {"none"})

    @property
    def numbers_for_missing(self) -> list[float]:
        """The numbers among what stands for missing values."""
        codes = []
        for word in self.missing_values:
            with contextlib.suppress(ValueError):
                codes.append(float(word.replace(",", ".")))
        return [code for code in codes if np.isfinite(code)]

    @property
    def missing_as_asked(self) -> list[str]:
        """Notes on them."""
        return [f"{plain(code)} is read as missing, as asked" for code in self.numbers_for_missing]


@dataclass
class Cells:
    """One column.

    Attributes
    ----------
    name : str
        As the file has it.
    numbers : (N,) ndarray of float64 or None
        Typed numbers, NaN where a cell is none.
    text : pyarrow.ChunkedArray of string, or None
        Null where the cell is blank or a typed number.
    other : str
        What the column holds if neither of both can tell, "dates" for example.
    index : bool
        Whether the file marks the column as names of its rows.
    typed : (N,) ndarray, optional
        The numbers in the dtype that they have in the file, where it is wanted.
    """

    name: str
    numbers: npt.NDArray[np.float64] | None = None
    text: Any = None
    other: str = ""
    index: bool = False
    typed: npt.NDArray[Any] | None = None


@dataclass
class Grid:
    """The columns of a file.

    Attributes
    ----------
    name : str
        The file's name in messages.
    columns : list of Cells
    rows : int
    lines : (rows,) ndarray of int or None
        The line or sheet row on which each record begins.
    notes : list of str
        What had to be found out.
    named : bool
        Whether the names are the file's, and not numbers in their place.
    """

    name: str
    columns: list[Cells]
    rows: int
    lines: npt.NDArray[np.int64] | None = None
    notes: list[str] = field(default_factory=list)
    named: bool = True

    def place(self, row: int) -> str:
        """Name the place of a record in a message."""
        return f"record {row + 1}" if self.lines is None else f"line {self.lines[row]}"

    def without_last(self, count: int | None) -> Grid:
        """Return the grid without its last records."""
        if not count:
            return self
        rows = max(0, self.rows - count)
        columns = [
            replace(
                cells,
                numbers=None if cells.numbers is None else cells.numbers[:rows],
                text=None if cells.text is None else cells.text[:rows],
            )
            for cells in self.columns
        ]
        lines = None if self.lines is None else self.lines[:rows]
        return replace(self, columns=columns, rows=rows, lines=lines)


def numbered(count: int) -> tuple[str, ...]:
    """Return names of columns that have none."""
    return tuple(f"column {j}" for j in range(1, count + 1))


def without_values(lines: npt.NDArray[np.int64]) -> list[str]:
    """Say how many rows are left out that hold no value, and the line of the first."""
    count = len(lines)
    if not count:
        return []
    rows = "a row without any value is" if count == 1 else f"{count} rows without any value are"
    return [f"{rows} left out ({listed([f'line {lines[0]}'], count=count)})"]


def text_of(words: Sequence[str | None]) -> Any:
    """Return cells of text as pyarrow has them."""
    import pyarrow

    return pyarrow.chunked_array([pyarrow.array(words, pyarrow.string())])


def distinct(column: Any) -> tuple[Any, npt.NDArray[np.int64]]:
    """Return the different cells of a column of pyarrow, and which of them each is: -1 for null."""
    import pyarrow

    array = column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
    if isinstance(array, pyarrow.ChunkedArray):  # some versions return it with one chunk
        array = array.chunk(0)
    if not pyarrow.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    places = array.indices.cast(pyarrow.int64()).fill_null(-1)
    return array.dictionary, places.to_numpy(zero_copy_only=False)


def blank_at_end(cells: Cells) -> int:
    """Return the number of blank cells at the end of a column."""
    import pyarrow.compute as compute

    filled = np.zeros(0, bool)
    if cells.text is not None:
        if len(cells.text) and (cells.text[-1].as_py() or "").strip():
            return 0  # mostly: what follows imports pandas
        words = compute.not_equal(compute.utf8_trim_whitespace(cells.text), "")
        filled = np.asarray(words.fill_null(False).to_numpy(), bool)
    if cells.numbers is not None:
        typed = ~np.isnan(cells.numbers)
        filled = typed if cells.text is None else filled | typed
    return int(len(filled) - 1 - filled.nonzero()[0][-1]) if filled.any() else len(filled)


def names_in(text: str) -> list[str]:
    """Split a list of names: one line of csv, so that a name with a comma stands in quotes.

    Examples
    --------
    >>> from leakscore_app.tables.cells import names_in
    >>> names_in('age,"cost, EUR"')
    ['age', 'cost, EUR']
    """
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise ValueError(f"{text!r} is no list of names: {error}") from None
    return [name.strip() for row in rows for name in row if name.strip()]


_LONG = 1e20  # whole numbers below it are written out


def plain(number: float) -> str:
    """Return a number without a needless point."""
    return str(int(number)) if number.is_integer() and abs(number) < _LONG else repr(number)
