"""Whatever holds a table, opened to be read block by block: what is known of it before that."""

from __future__ import annotations

import glob
import hashlib
import itertools
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore_app._visible import listed, visible
from leakscore_app.tables import files
from leakscore_app.tables.categories import Categories, Coded, Share, labels_of, with_names
from leakscore_app.tables.cells import Cells, ReadingOptions, numbered
from leakscore_app.tables.columns import DecodedTable, Stated, shared, why_unpublished
from leakscore_app.tables.doubts import Column, Columns, may_be_code, option, refusal
from leakscore_app.tables.formats.arrow import index_of
from leakscore_app.tables.sources.blocks import ROWS, ArrayPart, FilePart, NpyPart, Source, codes_of
from leakscore_app.tables.sources.frames import (
    CallablePart,
    FramePart,
    ParquetPart,
    excluded_in,
    reader_of,
)
from leakscore_app.tables.sources.texts import KeptPieces, text_part
from leakscore_app.tables.table import Table, require_meaning, table_of_content, table_of_path

LONG = ROWS
"""Rows beyond which a table is judged block by block."""


@dataclass(frozen=True, eq=False)
class Opened(Stated):
    """A table that can be read block by block.

    Attributes
    ----------
    path : str
        As in `Table`.
    source : Source
        With all columns of numbers.
    columns : tuple of str
        All columns.
    excluded, refused : dict
        Name of a column -> why it cannot be judged, or what must be settled before.
    notes : tuple of str
    digest : callable
        Returns the SHA-256 hash.
    embedded : bool
        Whether it is the table in the package.
    understood : bool
        Whether it is known already which columns name the rows.
    requested : tuple of str, optional
        The columns that are published, where that was said when the table was opened.
    groups : dict
        Name of a column of categories -> its levels; the source has their numbers in it.
    shares : dict
        As those of `Table`.
    unsettled : frozenset of str
        Columns of text that may hold numbers: only all cells together tell.
    max_memory : int
        Bytes that its numbers may take where they are all needed at once.
    owners : (N,) ndarray of int, optional
        Whose each record is, from 0.
    """

    path: str | None
    source: Source
    columns: tuple[str, ...]
    digest: Callable[[], str]
    excluded: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    embedded: bool = False
    understood: bool = False
    requested: tuple[str, ...] | None = None
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shares: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unsettled: frozenset[str] = frozenset()
    max_memory: int = files.MAX_MEMORY
    owners: npt.NDArray[np.intp] | None = None

    def with_size(self, size: int) -> Opened:
        """Return the same in blocks of another size."""
        return replace(self, source=replace(self.source, size=size))

    def whole(self) -> Table:
        """Read all rows into memory, and look at columns as a file is looked at."""
        values = self.source.values()
        numbers, rows = dict(zip(self.source.columns, values.T, strict=True)), len(values)
        absent = np.full(rows, np.nan)
        columns = [
            Column(name, numbers.get(name, absent), self.excluded.get(name, ""))
            for name in self.columns
        ]
        named = self.requested or ()
        self.leave_out(columns, {*named, *self.source.levels})
        people = {n: Cells(n, numbers=numbers[n]) for n in numbers if n not in named}
        content = DecodedTable(
            columns, None, self._labels(), [*self.notes], shared(people, rows), self.shares
        )
        lines = None if self.lines is None else self.lines[np.arange(rows)]
        return table_of_content(self.name, self.path, self.digest(), content, lines)

    def looked_at(
        self, seen: Columns, rows: int, requested: Collection[str]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Look at columns of numbers as a file is looked at; refuse sums of the other records.

        Parameters
        ----------
        seen : Columns
            What the numbers in the columns of the source tell.
        rows : int
        requested : collection of str
            Columns that are asked for by name.

        Returns
        -------
        excluded, refused : dict
            Name of a column -> why it is not judged as it counts, names or dates the records, or
            what must be settled as it may hold a code for missing values.
        """
        names = self.source.columns
        numbers = names if self.understood else {*requested, *self.source.levels}
        excluded, codes = self.doubts_in(seen, names, rows, numbers)
        refused = {
            name: refusal(may_be_code(self.name, name, code), name, alone=len(names) < 2)
            for name, code in codes.items()
        }
        return excluded, refused

    def _labels(self) -> dict[str, npt.NDArray[np.str_]]:
        """Return the group of each record by every column of categories."""
        if not self.groups:
            return {}
        codes = replace(self.source, columns=tuple(self.groups)).values().T
        return {
            name: labels_of(levels, column)
            for (name, levels), column in zip(self.groups.items(), codes, strict=True)
        }

    def is_longer_than(self, rows: int) -> bool:
        """Whether it has more rows; reads as many, where the source does not tell."""
        if self.source.rows is not None:
            return self.source.rows > rows
        blocks = replace(self.source, size=rows + 1).blocks()
        return any(block.start + block.rows > rows for block in blocks)


def of_table(table: Table) -> Opened:
    """Open a table in memory, whose cells are understood already."""
    excluded = {table.columns[j]: why for j, why in table.excluded.items()}
    numeric = tuple(name for name in table.columns if name not in excluded)
    coded = {name: codes_of(labels) for name, labels in table.groups.items()}
    codes = {name: numbers for name, (_, numbers) in coded.items()}
    owners = None if table.ids is None else np.unique(table.ids, return_inverse=True)[1]
    return Opened(
        name=table.name,
        path=table.path,
        source=Source((ArrayPart(table.values, table.name, table.columns, codes),), numeric),
        columns=table.columns,
        excluded=excluded,
        refused={table.columns[j]: why for j, why in table.refused.items()},
        notes=table.notes,
        digest=lambda: table.sha256,
        lines=table.lines,
        embedded=table.path is None,
        understood=True,
        shares=table.shares,
        groups={name: levels for name, (levels, _) in coded.items()},
        owners=None if owners is None else owners.reshape(-1),
    )


def of_array(values: npt.NDArray[Any]) -> Opened:
    """Open an array (N, d) of real numbers, which may be mapped from a file."""
    names = numbered(values.shape[1])
    source = Source((ArrayPart(values, "the array", names),), names)
    note = "columns of the array have no names: numbered from 1"
    return Opened("array", "array", source, names, partial(_hash_of, source), notes=(note,))


def of_frame(frame: Any, options: ReadingOptions) -> Opened:
    """Open a frame with the Arrow stream interface; `options` name columns only.

    Its columns of words are read if some are published, or are columns of categories.
    """
    kind = type(frame).__name__
    if kind in ("RecordBatchReader", "RecordBatchStreamReader", "RecordBatchFileReader"):
        raise ValueError(
            f"a {kind} can be read once only, and a report reads its records several times: "
            "pass a table, or a function that opens the stream anew"
        )
    schema, name = reader_of(frame).schema, f"the {kind}"
    columns, categories = tuple(schema.names), Categories.of(options)
    excluded, unsettled = excluded_in(name, schema, lambda _: reader_of(frame), categories, options)
    levels, _ = categories.coded(name, columns)
    numeric = tuple(each for each in columns if each not in excluded)
    source = Source((FramePart(name, columns, frame, levels),), numeric, levels=frozenset(levels))
    first = "".join(columns[:1])
    return Opened(
        kind,
        kind,
        source,
        columns,
        partial(_hash_of, source),
        excluded=excluded,
        index=frozenset(index_of(schema)),
        groups={name: each.levels for name, each in levels.items()},
        unsettled=unsettled,
        unnamed=None if first.strip() else first,
    )


def of_callable(function: Callable[[], Any]) -> Opened:
    """Open what a function yields block by block, anew at each call."""
    part = CallablePart.of(function)
    unnamed = part.columns == numbered(len(part.columns))
    notes = ("columns of the blocks have no names: numbered from 1",) * unnamed
    source = Source((part,), part.columns)
    return Opened("blocks", "blocks", source, part.columns, partial(_hash_of, source), notes=notes)


def _hash_of(source: Source) -> str:
    """Hash values as float64, row after row."""
    digest = hashlib.sha256()
    for block in source.blocks():
        digest.update(np.ascontiguousarray(block.values).data)
    return digest.hexdigest()


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


# --- files ----------------------------------------------------------------------------------------


def paths_of(pattern: str | os.PathLike[str]) -> list[str]:
    """Return the files of a pattern, sorted, or of a path that is none; refuse an empty pattern."""
    pattern = os.fspath(pattern)
    if pattern == "-" or Path(pattern).exists() or not glob.has_magic(pattern):
        return [pattern]
    paths = sorted(
        path
        for path in glob.glob(pattern)  # noqa: PTH207 (a Path's glob takes no absolute pattern)
        if Path(path).is_file()
    )
    if not paths:
        raise ValueError(f"no file is called {visible(pattern)}")
    return paths


def of_files(paths: Sequence[str], options: ReadingOptions) -> Opened | None:
    """Open parquet, npy and long csv files; None if one is to be read as a whole.

    Parameters
    ----------
    paths : sequence of str
    options : ReadingOptions
        How texts are read, and which columns are published.

    Raises
    ------
    ValueError
        If the files have other columns, or one is damaged.
    """
    kept, categories = KeptPieces(), Categories.of(options)
    parts: list[FilePart] = []
    for path in paths:
        part = _part_of(path, options, kept, categories, alone=len(paths) == 1)
        if part is None:
            return None
        parts.append(part)
    for part in parts[1:]:
        _require_same_columns(parts[0], part)
    return _joined(parts, paths, categories, options)


def _joined(
    parts: Sequence[FilePart], paths: Sequence[str], categories: Categories, options: ReadingOptions
) -> Opened:
    """Return the files of one table."""
    first, name = parts[0], parts[0].name
    if len(parts) > 1:
        name = f"{first.name} to {parts[-1].name} ({len(parts)} files)"
    groups, coded = categories.coded(first.name, first.columns)
    shares = {name: tuple(each.shares) for name, each in coded.items()}
    columns = tuple(each for name in first.columns for each in shares.get(name, (name,)))
    levels: dict[str, Coded | Share] = dict(groups)
    for each in coded.values():
        levels |= each.shares
    options = with_names(first.name, first.columns, options)
    named = (each for each in columns if each not in levels)
    unpublished = {each: why for each in named if (why := why_unpublished(each, options))}
    excluded = {name: why for name, why in first.excluded.items() if name not in shares}
    excluded |= unpublished
    published = tuple(name for name in columns if name not in {*unpublished, *groups})
    source = Source(
        tuple(replace(part, levels=levels) for part in parts),
        tuple(name for name in columns if name not in excluded),
        missing=tuple(options.numbers_for_missing),
        levels=frozenset(levels),
    )
    return Opened(
        name=name,
        path=", ".join(paths),
        source=source,
        columns=columns,
        excluded=excluded,
        index=frozenset(itertools.chain(*(part.index for part in parts))),
        notes=(*_notes_on(parts), *options.missing_as_asked),
        sums=options.skip_last is None,
        codes=options.codes,
        requested=None if options.columns is None else published,
        max_memory=options.max_memory,
        digest=lambda: _hash_of_files(parts),
        lines=first.lines if len(parts) == 1 else None,
        unnamed="".join(first.columns[:1]) if any(part.unnamed for part in parts) else None,
        groups={name: each.levels for name, each in groups.items()},
        shares={name: each.columns for name, each in coded.items()},
    )


def _notes_on(parts: Sequence[FilePart]) -> Iterable[str]:
    noted = parts[:1] if isinstance(parts[0], NpyPart) else parts
    return dict.fromkeys(note for part in noted for note in part.notes)


def _require_same_columns(first: FilePart, part: FilePart) -> None:
    if part.columns != first.columns:
        raise ValueError(
            f"{part.name} has the columns {listed(part.columns)}, {first.name} has "
            f"{listed(first.columns)}: files of one table have the same, in the same order"
        )
    ours, theirs = (frozenset(each.excluded) for each in (first, part))
    for column in sorted(ours ^ theirs):
        text, numbers = (first, part) if column in ours else (part, first)
        raise ValueError(
            f"column {visible(column)!r} holds numbers in {numbers.name} and none in {text.name}: "
            f"{option('--exclude', visible(column))} leaves it out"
        )


def _part_of(
    path: str, options: ReadingOptions, kept: KeptPieces, categories: Categories, *, alone: bool
) -> FilePart | None:
    if files.state_of(path) is None:
        return None
    with Path(path).open("rb") as stream:
        file = files.File(visible(Path(path).name), stream.read(6))
    name = file.name
    if file.kind in ("parquet", "npy"):
        require_meaning(file, options)
    if file.kind == "parquet":
        return ParquetPart.of(path, name, categories, options)
    if file.kind == "npy":
        return None if options.groups or options.proportions else NpyPart.of(path, name)
    part_of_text = text_part(path, name, options, kept, categories)
    if part_of_text is None and not alone:
        _refuse_part(path, name, options)
    return part_of_text


def _refuse_part(path: str, name: str, options: ReadingOptions) -> None:
    """Say why a file of a pattern is not read: as `read_table` says it, or what it needs."""
    table = table_of_path(path, options)
    for why in table.refused.values():
        raise ValueError(why)
    raise ValueError(
        f"{name} is not read with others: yes and no, codes, labels of sums, and encodings "
        "but UTF-8 are understood in a single file only; join the files to one first, or --exclude "
        "such columns"
    )


def _hash_of_files(parts: Sequence[FilePart]) -> str:
    """Hash the bytes of a file; of several, the hashes of all in their order."""
    hashes = [part.sha256 for part in parts]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()
