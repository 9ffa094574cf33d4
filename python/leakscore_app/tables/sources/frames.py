"""Frames with the Arrow stream interface (pandas, polars, pyarrow, duckdb) as parts of a source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from leakscore.typing import Doubles
from leakscore_app._visible import visible
from leakscore_app.tables.cells import ReadingOptions
from leakscore_app.tables.columns import GROUP
from leakscore_app.tables.formats.arrow import index_of, is_number, kind_of
from leakscore_app.tables.grammar.numbers import doubles_of
from leakscore_app.tables.sources import states
from leakscore_app.tables.sources.categories import Categories, Coded
from leakscore_app.tables.sources.looked import of_other_kinds, texts_in


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
    return names, (doubles(batch, names) for batch in reader)


def doubles(
    batch: Any, names: Iterable[str], levels: Mapping[str, Coded] = MappingProxyType({})
) -> Doubles:
    """Return columns of a batch as rows of float64, NaN where a value is missing.

    Columns hold numbers, but for those of `levels`: of these the number of each cell's level.
    """
    import pyarrow

    columns = []
    for name in names:
        column = batch.column(name)
        if name in levels:
            columns.append(levels[name].codes(column))
            continue
        if column.type != pyarrow.float64():
            column = column.cast(pyarrow.float64(), safe=False)
        columns.append(doubles_of(column))
    if not columns:
        return np.empty((batch.num_rows, 0))
    return np.column_stack(columns)


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
    levels : dict
        Name of a column of categories -> what its cells are numbered by.
    unsettled : frozenset of str
        Columns of text that may hold numbers.
    """

    frame: Any
    name: str
    columns: tuple[str, ...]
    left: dict[str, str]
    index: tuple[str, ...] = ()
    levels: Mapping[str, Coded] = field(default_factory=dict)
    unsettled: frozenset[str] = frozenset()
    digest: states.Digest = field(default_factory=states.Digest)
    rows: int | None = None

    @classmethod
    def of(cls, frame: Any, options: ReadingOptions) -> FramePart:
        """Look at a frame; refuse a stream that can be read once only.

        Its columns of words are read if some are published, or are columns of categories.
        """
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
        part = cls(frame, f"the {kind}", names, {}, tuple(sorted(index_of(schema))))
        categories = Categories.of(options)
        options = categories.ask(part.name, names, _known(options, names))
        for name in categories.names:
            categories.require_words(part.name, name, schema.field(name).type)
        wordy = [name for name in names if not is_number(schema.field(name).type)]
        left = of_other_kinds(schema, wordy)
        texts = [name for name in wordy if name not in left]
        among = [name for name in texts if options.publishes(name)]
        found: dict[str, str] | None = {}
        if among or categories.names:
            found = texts_in(reader_of(frame), part.name, among, categories, options)
        left = dict.fromkeys(texts, "it is text") | left | (found or {})
        left |= dict.fromkeys(categories.groups, GROUP)
        unsettled = frozenset(among if found is None else ())
        return replace(part, left=left, levels=categories.coded(part.name), unsettled=unsettled)

    def batches(self, columns: Sequence[str], first: int, last: int | None) -> Iterator[Doubles]:
        """Yield rows; see `blocks.Part`."""

        def read() -> Iterator[Doubles]:
            reader = reader_of(self.frame)
            if tuple(reader.schema.names) != self.columns:
                raise ValueError(f"{self.name} changed its columns between two passes")
            for batch in reader:
                yield doubles(batch, columns, self.levels)

        watched = self.digest.watched(read(), columns, self.name)
        yield from states.part_of(watched, first, last)


def _known(options: ReadingOptions, names: Sequence[str]) -> ReadingOptions:
    """Return the options without names that no column has: where they are used they are refused."""
    columns = options.columns
    return replace(
        options,
        groups=tuple(name for name in options.groups if name in names),
        exclude=tuple(name for name in options.exclude if name in names),
        columns=None if columns is None else tuple(name for name in columns if name in names),
    )
