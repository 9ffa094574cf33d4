"""A table as parts that are read in blocks of 65,536 rows; arrays, in memory or in files, as parts.

Blocks are counted from the beginning of each part, whatever batches it yields. What is computed
block by block and merged by block numbers then has the same bits for every format, batch size and
number of workers. A table that is not the same in every pass is refused.

Beside columns of numbers an array may have columns of categories: a block holds the number of each
level.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles
from leakscore_app.tables.categories import Levels
from leakscore_app.tables.cells import numbered
from leakscore_app.tables.files import State, require_same, state_of
from leakscore_app.tables.formats import npy

Kind = TypeVar("Kind", bound=np.generic)

ROWS = 65_536
"""Rows of a block."""


class Part(Protocol):
    """A file, or an array or frame in memory: rows that can be read any number of times.

    Attributes
    ----------
    name : str
        For messages.
    columns : tuple of str
    rows : int or None
        None if only reading tells.
    """

    @property
    def name(self) -> str: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def rows(self) -> int | None: ...

    def batches(self, columns: Sequence[str], first: int, last: int) -> Iterator[Doubles]:
        """Yield rows [first, last) of some columns, in batches of any size, as float64.

        `last` may lie beyond the end.
        """


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive rows.

    Attributes
    ----------
    number : int
        Of the block, over all parts.
    start : int
        Rows of all parts above it.
    values : (m, d) ndarray of float64
        NaN where a value is missing.
    place : (k,) ndarray of int, optional
        Which of `values` each row is, where equal rows are there once.
    """

    number: int
    start: int
    values: Doubles
    place: npt.NDArray[np.int64] | None = None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.values if self.place is None else self.place)

    def each(self, of_values: npt.NDArray[Kind]) -> npt.NDArray[Kind]:
        """Return for each row what is known of the different ones, (m,) or (m, ...)."""
        return of_values if self.place is None else of_values[self.place]


@dataclass(frozen=True)
class Span:
    """Whole blocks of one part: what one task reads.

    Attributes
    ----------
    part : int
    first, last : int
        Rows [first, last) of the part; `first` begins a block.
    block, start : int
        Number of the first block, and rows of all parts above it.
    """

    part: int
    first: int
    last: int
    block: int
    start: int


@dataclass(frozen=True, eq=False)
class Source:
    """Parts that form one table.

    Attributes
    ----------
    parts : tuple of Part
    columns : tuple of str
        Those that are read.
    size : int
        Rows of a block.
    missing : tuple of float
        Numbers that stand for a missing value.
    levels : frozenset of str
        Columns of numbers of levels, or of 0 and 1 for one: `missing` says nothing of them.
    """

    parts: tuple[Part, ...]
    columns: tuple[str, ...]
    size: int = field(default_factory=lambda: ROWS)
    missing: tuple[float, ...] = ()
    levels: frozenset[str] = frozenset()

    @property
    def rows(self) -> int | None:
        """Rows of all parts, None if only reading tells."""
        counts = [part.rows for part in self.parts]
        return None if None in counts else sum(count for count in counts if count is not None)

    def values(self) -> Doubles:
        """Return all rows as one array."""
        none = np.empty((0, len(self.columns)))
        return np.concatenate([none, *(block.values for block in self.blocks())])

    def spans(self, blocks: int) -> list[Span]:
        """Cut the table into spans of so many blocks; the last of each part may have fewer.

        Only where all parts know their rows.
        """
        spans: list[Span] = []
        block = start = 0
        for index, part in enumerate(self.parts):
            if part.rows is None:
                raise ValueError(f"{part.name} does not tell how many rows it has")
            for first in range(0, part.rows, blocks * self.size):
                last = min(first + blocks * self.size, part.rows)
                spans.append(Span(index, first, last, block, start + first))
                block += -(-(last - first) // self.size)
            start += part.rows
        return spans

    def blocks(self, span: Span | None = None) -> Iterator[Block]:
        """Yield the blocks of a span, or of all parts one after another."""
        if span is not None:
            yield from self._cut(span.part, span.first, span.last, span.block, span.start)
            return
        number = start = 0
        for index in range(len(self.parts)):
            for block in self._cut(index, 0, sys.maxsize, number, start):
                yield block
                number, start = block.number + 1, block.start + block.rows

    def _cut(self, part: int, first: int, last: int, number: int, start: int) -> Iterator[Block]:
        read = self.parts[part].batches(self.columns, first, last)
        for values in cut(read, self.size, len(self.columns)):
            if self.missing:
                absent = np.isin(values, self.missing)
                absent[:, [name in self.levels for name in self.columns]] = False
                values = np.where(absent, np.nan, values)
            yield Block(number, start, values)
            number, start = number + 1, start + len(values)


def cut(batches: Iterable[Doubles], size: int, width: int) -> Iterator[Doubles]:
    """Join batches of rows and cut them into blocks of `size` rows; the last may be shorter.

    A block lies in memory row by row, and is not to be written to.
    """
    block, filled = np.empty((size, width)), 0
    for batch in batches:
        taken = 0
        while taken < len(batch):
            if not filled and len(batch) - taken >= size and batch.flags.c_contiguous:
                yield batch[taken : taken + size]
                taken += size
                continue
            count = min(size - filled, len(batch) - taken)
            block[filled : filled + count] = batch[taken : taken + count]
            filled, taken = filled + count, taken + count
            if filled == size:
                yield block
                block, filled = np.empty((size, width)), 0
    if filled:
        yield block[:filled]


# --- arrays --------------------------------------------------------------------------------------

Codes = npt.NDArray[np.int32]


def codes_of(labels: npt.NDArray[np.str_]) -> tuple[tuple[str, ...], Codes]:
    """Return the levels of labels, in order, and the number of each label's; -1 for a blank one."""
    levels, codes = np.unique(labels, return_inverse=True)
    blank = int(len(levels) > 0 and levels[0] == "")
    return tuple(levels[blank:].tolist()), codes.reshape(-1).astype(np.int32) - blank


def places(columns: Sequence[str], chosen: Sequence[str]) -> list[int] | slice:
    """Return where the wanted columns are; a slice if they are all columns in their order."""
    if tuple(columns) == tuple(chosen):
        return slice(None)
    at = {name: j for j, name in enumerate(columns)}
    return [at[name] for name in chosen]


@dataclass(frozen=True, eq=False)
class ArrayPart:
    """An array of real numbers (N, d), whatever its dtype and strides.

    Attributes
    ----------
    codes : dict
        Name of a column of categories beside them -> the number of each row's level, -1 where it is
        not known.
    """

    values: npt.NDArray[Any] = field(repr=False)
    name: str
    columns: tuple[str, ...]
    codes: Mapping[str, Codes] = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> int:
        """Rows of the array."""
        return len(self.values)

    def batches(self, columns: Sequence[str], first: int, last: int) -> Iterator[Doubles]:
        """Yield rows; see `blocks.Part`. An unknown level is NaN."""
        numbers = [name for name in columns if name not in self.codes]
        chosen = places(self.columns, numbers)
        last = min(last, self.rows)
        for start in range(first, last, ROWS):
            rows = slice(start, min(start + ROWS, last))
            with np.errstate(all="ignore"):  # a long double may be too large: then it is infinite
                block = np.asarray(self.values[rows][:, chosen], dtype=np.float64)
            if len(numbers) == len(columns):
                yield block
                continue
            columns_of_block = dict(zip(numbers, block.T, strict=True))
            for name, codes in self.codes.items():
                columns_of_block[name] = np.where(codes[rows] < 0, np.nan, codes[rows])
            yield np.column_stack([columns_of_block[name] for name in columns])


# --- files ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LineNumbers:
    """The line of each row: `offsets` more than its number from the rows `starts` on."""

    starts: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]

    def __getitem__(self, rows: Any) -> Any:
        """Return the lines of rows, from 1."""
        return rows + self.offsets[np.searchsorted(self.starts, rows, side="right") - 1]


_PIECE = 1 << 20


@dataclass(frozen=True, eq=False)
class FilePart:
    """A file as a part of a source: what is known of it, unless its format says otherwise.

    Attributes
    ----------
    path, name : str
    columns : tuple of str
    rows : int
    state : tuple of int
        Size and time of change when it was looked at first.
    excluded : dict
        Name of a column without numbers -> why it is not judged.
    index : tuple of str
        Columns that name the rows of a pandas frame.
    notes : tuple of str
    unnamed : bool
        Whether the first column has no name, and others have.
    lines : LineNumbers, optional
        The line on which each record begins.
    levels : dict
        Name of a column -> the categories in its place.
    hashed : str
        The SHA-256 hash of its bytes, where they were all read.
    """

    path: str
    name: str
    columns: tuple[str, ...]
    rows: int
    state: State
    _: KW_ONLY
    excluded: dict[str, str] = field(default_factory=dict)
    index: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unnamed: bool = False
    lines: LineNumbers | None = None
    levels: Levels = field(default_factory=dict)
    hashed: str = ""

    def batches(self, columns: Sequence[str], first: int, last: int) -> Iterator[Doubles]:
        """Yield rows; see `Part`."""
        raise NotImplementedError

    def require_same(self) -> None:
        """Refuse a file that changed since it was looked at first."""
        require_same(self.path, self.name, self.state)

    @property
    def sha256(self) -> str:
        """The hash of its bytes."""
        if self.hashed:
            return self.hashed
        digest = hashlib.sha256()
        with Path(self.path).open("rb", buffering=0) as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class NpyPart(FilePart):
    """An array in an npy file, mapped anew for every pass."""

    @classmethod
    def of(cls, path: str, name: str) -> NpyPart | None:
        """Look at the header of a file; None if it holds no table of real numbers alone."""
        state = state_of(path)
        array = npy.mapped(path, name)
        if array.ndim != 2 or not array.size or array.dtype.kind not in "fiub":
            return None
        notes = (f"columns of {name} have no names: numbered from 1",)
        return cls(path, name, numbered(array.shape[1]), len(array), state, notes=notes)

    def batches(self, columns: Sequence[str], first: int, last: int) -> Iterator[Doubles]:
        """Yield rows; see `blocks.Part`."""
        last = min(last, self.rows)
        for start in range(first, last, ROWS):
            self.require_same()
            # Mapped for one batch only: pages that were read are given back.
            rows = npy.mapped(self.path, self.name)[start : min(start + ROWS, last)]
            npy.require_values(self.name, rows)
            yield from ArrayPart(rows, self.name, self.columns).batches(columns, 0, len(rows))
        self.require_same()
