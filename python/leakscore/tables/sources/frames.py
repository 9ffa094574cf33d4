"""Frames with the Arrow stream interface (pandas, polars, pyarrow, duckdb) as parts of a source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leakscore import _core
from leakscore._types import Doubles
from leakscore._visible import visible
from leakscore.tables.formats.arrow import index_of, is_number, kind_of
from leakscore.tables.grammar.numbers import doubles_of
from leakscore.tables.sources import states


def reader_of(frame: Any) -> Any:
    """Return pyarrow's reader of batches of a frame."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            f"reading a {type(frame).__name__} needs pyarrow (pip install 'leakscore[tables]')"
        ) from None
    if hasattr(frame, "__arrow_c_stream__"):
        try:
            return pyarrow.RecordBatchReader.from_stream(frame)
        except pyarrow.ArrowInvalid as error:  # the stream of one column has no names
            raise TypeError(
                f"Expected a frame with named columns, not a {type(frame).__name__}: make a frame "
                "of it (to_frame)"
            ) from error
    batch = pyarrow.record_batch(frame)
    return pyarrow.RecordBatchReader.from_batches(batch.schema, [batch])


def frame_batches(frame: Any) -> tuple[tuple[str, ...], Iterator[Doubles]]:
    """Return names and values of a frame of numbers; refuse other columns by name."""
    reader = reader_of(frame)
    names = tuple(reader.schema.names)
    for name, kind in zip(names, reader.schema.types, strict=True):
        if not is_number(kind):
            raise ValueError(f"column {visible(name)!r} holds {kind_of(kind)}, no numbers")
    return names, (doubles(batch, range(len(names))) for batch in reader)


def doubles(batch: Any, chosen: Iterable[int]) -> Doubles:
    """Return columns of numbers of a batch as rows of float64, NaN where a value is missing."""
    import pyarrow

    chosen = list(chosen)
    columns = []
    for j in chosen:
        column = batch.column(j)
        if column.type != pyarrow.float64():
            column = column.cast(pyarrow.float64(), safe=False)
        columns.append(doubles_of(column))
    if not columns:
        return np.empty((batch.num_rows, 0))
    return _core.interleave([np.ascontiguousarray(column) for column in columns])


@dataclass(eq=False)
class FramePart:
    """A frame, whose stream is asked for anew in every pass.

    Attributes
    ----------
    frame : object
        With the method ``__arrow_c_stream__``.
    left : dict
        Name of a column without numbers -> what it holds.
    index : tuple of str
        Columns that name the rows of a pandas frame.
    """

    frame: Any
    name: str
    columns: tuple[str, ...]
    left: dict[str, str]
    index: tuple[str, ...] = ()
    digest: states.Digest = field(default_factory=states.Digest)
    rows: int | None = None

    @classmethod
    def of(cls, frame: Any) -> FramePart:
        """Look at the schema of a frame; refuse a stream that can be read once only."""
        kind = type(frame).__name__
        if kind in ("RecordBatchReader", "RecordBatchStreamReader", "RecordBatchFileReader"):
            raise ValueError(
                f"a {kind} can be read once only, and a report reads its records several times: "
                "pass a table, or a function that opens the stream anew"
            )
        schema = reader_of(frame).schema
        names = tuple(schema.names)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"the {kind} has two columns named {visible(twice)!r}: rename one")
        left = {
            name: kind_of(one)
            for name, one in zip(names, schema.types, strict=True)
            if not is_number(one)
        }
        return cls(frame, f"the {kind}", names, left, tuple(sorted(index_of(schema))))

    def batches(self, columns: Sequence[str], first: int, last: int | None) -> Iterator[Doubles]:
        """Yield rows; see `blocks.Part`."""

        def read() -> Iterator[Doubles]:
            reader = reader_of(self.frame)
            if tuple(reader.schema.names) != self.columns:
                raise ValueError(f"{self.name} changed its columns between two passes")
            chosen = [self.columns.index(name) for name in columns]
            for batch in reader:
                yield doubles(batch, chosen)

        watched = self.digest.watched(read(), columns, self.name)
        yield from states.part_of(watched, first, last)
