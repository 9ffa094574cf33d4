"""Frames with the Arrow stream interface, callables and parquet files as parts of a source.

Frames and callables are streams, which must yield the same rows in every pass. Row groups of a
file are read one after another, never all.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from leakscore.typing import Doubles
from leakscore_app._visible import visible
from leakscore_app.tables.categories import Categories, Levels, read_for, rows_of
from leakscore_app.tables.cells import ReadingOptions, numbered
from leakscore_app.tables.columns import GROUP, TextColumns, reason_of, understand
from leakscore_app.tables.files import libraries, state_of
from leakscore_app.tables.formats.arrow import (
    damage,
    index_of,
    is_number,
    is_text,
    kind_of,
    require_names,
    words_of,
)
from leakscore_app.tables.numbers import doubles_of
from leakscore_app.tables.sources.blocks import ROWS, FilePart, places

# --- frames --------------------------------------------------------------------------------------


def reader_of(frame: Any) -> Any:
    """Return pyarrow's reader of batches of a frame."""
    pyarrow = libraries(f"a {type(frame).__name__}", "pyarrow")
    if hasattr(frame, "__arrow_c_stream__"):
        try:
            return pyarrow.RecordBatchReader.from_stream(frame)
        except pyarrow.ArrowException as error:  # the stream of one column has no names
            if column := re.search(r"for column (.*) with type (\w+)", str(error)):
                raise ValueError(
                    f"column {visible(column[1])!r} must hold numbers or text, not {column[2]}: "
                    "leave it out of the frame"
                ) from error
            raise TypeError(
                f"The frame must have named columns, not be a {type(frame).__name__}: make a frame "
                "of it (to_frame)"
            ) from error
    batch = pyarrow.record_batch(frame)
    return pyarrow.RecordBatchReader.from_batches(batch.schema, [batch])


def numbers_of(frame: Any) -> tuple[tuple[str, ...], Doubles]:
    """Return names and values of a frame of numbers; refuse other columns by name."""
    content = reader_of(frame).read_all()
    names = tuple(content.schema.names)
    for name, kind in zip(names, content.schema.types, strict=True):
        if not is_number(kind):
            raise ValueError(f"column {visible(name)!r} holds {kind_of(kind)}, no numbers")
    return names, doubles(content, names)


def doubles(batch: Any, names: Sequence[str], levels: Levels = MappingProxyType({})) -> Doubles:
    """Return columns of a batch or table as rows of float64, NaN where a value is missing.

    Columns hold numbers, or categories that are in the place of others.
    """
    if not names:
        return np.empty((batch.num_rows, 0))
    read = {name: batch.column(name) for name in read_for(names, levels)}
    return rows_of(read, names, levels, _numbers)


def _numbers(column: Any) -> Doubles:
    return doubles_of(column if column.type == "float64" else column.cast("float64", safe=False))


def excluded_in(
    name: str,
    schema: Any,
    read: Callable[[list[str]], Iterable[Any]],
    categories: Categories,
    options: ReadingOptions,
) -> tuple[dict[str, str], frozenset[str]]:
    """Say why columns are not judged, collect levels, and return the texts that may hold numbers.

    Only columns of words are read (by `read`), and of these only columns that are published, and
    columns of categories.
    """
    import pyarrow

    require_names(name, schema)
    kinds = dict(zip(schema.names, schema.types, strict=True))
    text = [each for each, kind in kinds.items() if is_text(kind)]
    texts = TextColumns(name, schema.names, options, categories, texts=text)
    for each in categories.names:
        categories.require_words(name, each, kinds[each])
    for batch in read(texts.names) if texts.names else ():
        cells = {each: batch.column(each) for each in categories.names}
        for each in texts.surveys:
            cells[each] = pyarrow.chunked_array([words_of(batch.column(each))])
        texts.add(cells, batch.num_rows)
    excluded = {
        each: "it is text" if is_text(kind) else reason_of(kind_of(kind))
        for each, kind in kinds.items()
        if not is_number(kind)
    }
    understood = understand(texts.surveys, texts.options, lambda row: f"record {row + 1}")
    excluded |= understood.text | dict.fromkeys(categories.groups, GROUP)
    surveys = texts.surveys
    if any(each.odd for each in surveys.values()) or understood.text.keys() != surveys.keys():
        return excluded, frozenset(surveys)
    return excluded, frozenset()


# --- streams -------------------------------------------------------------------------------------


@dataclass(eq=False)
class Stream:
    """Rows that are yielded anew in every pass, the same each time."""

    name: str
    columns: tuple[str, ...]
    rows: int | None = field(default=None, init=False)
    _count: int | None = field(default=None, init=False)
    _checksums: dict[str, int] = field(default_factory=dict, init=False)

    def read(self, columns: Sequence[str]) -> Iterator[Doubles]:
        """Yield all rows of some columns."""
        raise NotImplementedError

    def batches(self, columns: Sequence[str], first: int, last: int) -> Iterator[Doubles]:
        """Yield rows; see `blocks.Part`."""
        yield from part_of(self._watched(columns), first, last)

    def _watched(self, columns: Sequence[str]) -> Iterator[Doubles]:
        """Yield all rows; at the end, refuse others than the first time."""
        rows, checksums = 0, [0] * len(columns)
        for batch in self.read(columns):
            rows += len(batch)
            pairs = zip(np.ascontiguousarray(batch.T), checksums, strict=True)
            checksums = [zlib.crc32(column.data, checksum) for column, checksum in pairs]
            yield batch
        read = dict(zip(columns, checksums, strict=True))
        self._count = rows if self._count is None else self._count
        if rows != self._count or {**read, **self._checksums} != {**self._checksums, **read}:
            raise ValueError(
                f"{self.name} yielded {rows} records that are not those of the first pass "
                f"({self._count}): a report reads them several times, in the same order each time"
            )
        self._checksums |= read


def part_of(batches: Iterable[Doubles], first: int, last: int) -> Iterator[Doubles]:
    """Yield rows [first, last) of what is read from the beginning to the end."""
    start = 0
    for batch in batches:
        taken = batch[max(first - start, 0) : max(last - start, 0)]
        start += len(batch)
        if len(taken):
            yield taken


@dataclass(eq=False)
class FramePart(Stream):
    """A frame with the method ``__arrow_c_stream__``; `levels` are the categories in columns."""

    frame: Any
    levels: Levels = field(default_factory=dict)

    def read(self, columns: Sequence[str]) -> Iterator[Doubles]:
        """Yield all rows; see `Stream`."""
        reader = reader_of(self.frame)
        if tuple(reader.schema.names) != self.columns:
            raise ValueError(f"{self.name} changed its columns between two passes")
        for batch in reader:
            yield doubles(batch, columns, self.levels)


@dataclass(eq=False)
class CallablePart(Stream):
    """What a function yields anew at each call: arrays (k, d), or frames of named columns."""

    function: Callable[[], Iterable[Any]]
    last: Any = field(default=None, repr=False)

    @classmethod
    def of(cls, function: Callable[[], Iterable[Any]]) -> CallablePart:
        """Look at the first block."""
        blocks = _blocks(function)
        first = next(blocks, None)
        if first is None:
            raise ValueError("the callable yields no block of records")
        return cls("the blocks", _block(first)[0], function, blocks)

    def read(self, columns: Sequence[str]) -> Iterator[Doubles]:
        """Yield all rows; see `Stream`. Blocks of other columns are refused."""
        chosen, names = places(self.columns, columns), None
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
            if given != names or values.shape[1] != len(self.columns):
                raise ValueError(
                    f"block {number} of the callable has the columns {', '.join(given)[:80]}, "
                    f"the first has {', '.join(names)[:80]}"
                )
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
        return numbers_of(block)
    array = np.asarray(block)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise ValueError(
            f"A block of shape {array.shape} and dtype {array.dtype} must be (k, d) real numbers"
        )
    return numbered(array.shape[1]), np.asarray(array, dtype=np.float64)


# --- parquet files -------------------------------------------------------------------------------


def _batches(path: str, name: str, columns: list[str]) -> Iterator[Any]:
    """Yield batches of columns of words."""
    with damage(name), _opened(path, name, columns) as file:
        yield from file.iter_batches(batch_size=ROWS, columns=columns, use_threads=False)


_BUFFER = 1 << 20  # bytes of a column that are read at a time


@dataclass(frozen=True, eq=False)
class ParquetPart(FilePart):
    """A parquet file; `groups` are the rows of each row group."""

    groups: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, path: str, name: str, categories: Categories, options: ReadingOptions
    ) -> ParquetPart | None:
        """Look at a file; None if it is to be read as a whole: texts in it may be numbers.

        Only columns of words are read, and of these only columns that are published, and columns of
        categories.
        """
        state = state_of(path)
        with damage(name), _opened(path, name) as file:
            schema, metadata = file.schema_arrow, file.metadata
            groups = tuple(
                metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)
            )
            rows = int(metadata.num_rows)
            index = tuple(sorted(index_of(schema)))
        if rows < 0 or min(groups, default=0) < 0 or sum(groups) != rows:
            raise ValueError(f"{name} is damaged: it announces {rows} rows")
        excluded, unsettled = excluded_in(
            name, schema, lambda columns: _batches(path, name, columns), categories, options
        )
        if unsettled:
            return None
        return cls(
            path,
            name,
            tuple(schema.names),
            rows,
            state,
            groups,
            excluded=excluded,
            index=index,
            unnamed=not "".join(schema.names[:1]).strip(),
        )

    def batches(self, columns: Sequence[str], first: int, last: int) -> Iterator[Doubles]:
        """Yield rows; see `blocks.Part`."""
        last = min(last, self.rows)
        ends = np.cumsum((0, *self.groups))
        low = int(np.searchsorted(ends[1:], first, "right"))
        chosen = list(range(low, max(low, int(np.searchsorted(ends[:-1], last)))))
        skipped = first - int(ends[low]) if chosen else 0
        self.require_same()
        rows = 0
        read = read_for(columns, self.levels)
        words = read_for(self.levels, self.levels)
        with damage(self.name), _opened(self.path, self.name, words) as file:
            batches = file.iter_batches(
                batch_size=ROWS, row_groups=chosen, columns=read, use_threads=False
            )
            values = (doubles(batch, columns, self.levels) for batch in batches)
            for block in part_of(values, skipped, skipped + last - first):
                rows += len(block)
                yield block
        self.require_same()
        if rows != last - first:
            raise ValueError(f"{self.name} is damaged: {rows} of {last - first} rows are there")


def _opened(path: str, name: str, words: Sequence[str] = ()) -> Any:
    """Open a file without buffers for more than a part of a column.

    Columns of `words` are read as they are mostly stored: different words, and which of them each
    cell is.
    """
    return libraries(name, "pyarrow.parquet", "pyarrow").ParquetFile(
        path, read_dictionary=list(words), buffer_size=_BUFFER, pre_buffer=False
    )
