"""Arrays in memory or in an npy file that is mapped, and callables, as parts of a source.

Beside columns of numbers an array may have columns of categories: a block holds the number of each
level. Tables of dask are callables that compute part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles
from leakscore_app.tables.cells import numbered
from leakscore_app.tables.formats import npy
from leakscore_app.tables.sources.blocks import ROWS, Digest, FilePart, part_of, state_of

Codes = npt.NDArray[np.int32]


def codes_of(labels: npt.NDArray[np.str_]) -> tuple[tuple[str, ...], Codes]:
    """Return the levels of labels, in order, and the number of each label's; -1 for a blank one."""
    levels, codes = np.unique(labels, return_inverse=True)
    blank = int(len(levels) > 0 and levels[0] == "")
    return tuple(levels[blank:].tolist()), codes.reshape(-1).astype(np.int32) - blank


def without_graph(table: Any) -> Any:
    """Return a frame or array of dask as a callable that yields its parts; others as they are.

    Raises
    ------
    TypeError
        If it is another collection of dask.
    ValueError
        If it is an array with another number of dimensions than two.
    """
    if not hasattr(table, "__dask_graph__"):
        return table
    kind = type(table)  # an object of dask.delayed has every attribute
    if hasattr(kind, "partitions") and hasattr(kind, "columns"):
        return _parts(lambda k: table.partitions[k], table.npartitions)
    if not hasattr(kind, "rechunk"):
        raise TypeError(f"table must be a frame or array of dask, not {kind.__name__}")
    if table.ndim != 2:
        raise ValueError(f"table of shape {table.shape} must be 2-D, one row per record")
    rows = table.rechunk({1: -1})
    return _parts(lambda k: rows.blocks[k], rows.numblocks[0])


def _parts(part: Callable[[int], Any], count: int) -> Callable[[], Iterator[Any]]:
    return lambda: (part(k).compute() for k in range(count))


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


@dataclass(eq=False)
class CallablePart:
    """What a function yields anew at each call: arrays (k, d), or frames of named columns."""

    function: Callable[[], Iterable[Any]]
    name: str
    columns: tuple[str, ...]
    digest: Digest = field(default_factory=Digest)
    rows: int | None = None
    last: Any = field(default=None, repr=False)

    @classmethod
    def of(cls, function: Callable[[], Iterable[Any]]) -> CallablePart:
        """Look at the first block."""
        blocks = _blocks(function)
        first = next(blocks, None)
        if first is None:
            raise ValueError("the callable yields no block of records")
        return cls(function, "the blocks", _block(first)[0], last=blocks)

    def batches(self, columns: Sequence[str], first: int, last: int) -> Iterator[Doubles]:
        """Yield rows; see `blocks.Part`. Blocks of other columns are refused."""
        chosen = places(self.columns, columns)
        width = len(self.columns)

        def read() -> Iterator[Doubles]:
            names = None
            blocks = _blocks(self.function)
            if blocks is self.last:
                raise ValueError(
                    "the callable returned the same iterator again, which can be read once only: "
                    "it must return a new one at each call"
                )
            self.last = blocks
            for number, block in enumerate(blocks, start=1):
                given, values = _block(block)
                names = names or given
                if given != names or values.shape[1] != width:
                    raise ValueError(
                        f"block {number} of the callable has the columns {', '.join(given)[:80]}, "
                        f"the first has {', '.join(names)[:80]}"
                    )
                yield values

        watched = self.digest.watched(read(), self.columns, self.name)
        for values in part_of(watched, first, last):
            yield values[:, chosen]


def _blocks(function: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """Call a function; refuse one table, whose rows would be taken for blocks."""
    blocks: Any = function()
    if isinstance(blocks, np.ndarray) or not isinstance(blocks, Iterable) or _is_frame(blocks):
        raise TypeError(
            f"The callable must return an iterator of blocks, not {type(blocks).__name__}"
        )
    return iter(blocks)


def _is_frame(block: Any) -> bool:
    return hasattr(block, "__arrow_c_stream__") or hasattr(block, "__arrow_c_array__")


def _block(block: Any) -> tuple[tuple[str, ...], Doubles]:
    """Return names and values of one block."""
    if _is_frame(block):
        from leakscore_app.tables.sources.frames import numbers_of

        return numbers_of(block)
    array = np.asarray(block)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise ValueError(
            f"A block of shape {array.shape} and dtype {array.dtype} must be (k, d) real numbers"
        )
    return numbered(array.shape[1]), np.asarray(array, dtype=np.float64)
