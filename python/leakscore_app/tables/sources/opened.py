"""Whatever holds a table, opened to be read block by block: what is known of it before that."""

from __future__ import annotations

import glob
import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore_app._visible import listed, visible
from leakscore_app.tables import memory_limit
from leakscore_app.tables.cells import ReadingOptions
from leakscore_app.tables.columns import ASKED, with_names
from leakscore_app.tables.doubts import option
from leakscore_app.tables.formats.long_text import newlines_in
from leakscore_app.tables.labels import plain
from leakscore_app.tables.sources.arrays import ArrayPart, CallablePart, NpyPart, numbered
from leakscore_app.tables.sources.blocks import ROWS, Block, Memory, Part, Source
from leakscore_app.tables.sources.categories import Categories, SharesPart, expanded
from leakscore_app.tables.sources.coded import CodedPart, codes_of
from leakscore_app.tables.sources.frames import FramePart
from leakscore_app.tables.sources.parquet import ParquetPart
from leakscore_app.tables.sources.texts import KeptBlocks, LineNumbers, TextPart, text_part
from leakscore_app.tables.table import Table, read_table, table_of_numbers

_PIECE = 1 << 20


@dataclass(frozen=True, eq=False)
class Opened:
    """A table that can be read block by block.

    Attributes
    ----------
    name, path : str
        As in `Table`.
    source : Source
        With all columns of numbers.
    columns : tuple of str
        All columns.
    left, refused : dict
        Name of a column -> why it cannot be judged, or what must be settled before.
    index : frozenset of str
        Columns that name the rows.
    notes : tuple of str
    sums, codes : bool
        Whether its last row may be the sum of the others, and numbers codes for missing values.
    digest : callable
        Returns the SHA-256 hash.
    lines : (N,) ndarray of int, optional
        The line on which each record begins.
    named : bool
        Whether the columns have names of their own.
    embedded : bool
        Whether it is the table in the package.
    understood : bool
        Whether it is known already which columns name the rows.
    asked : tuple of str, optional
        The columns that are published, where that was said when the table was opened.
    unnamed : bool
        Whether the file has no name for its first column.
    groups : dict
        Name of a column of categories -> its levels; the source has their numbers in it.
    shares : dict
        Name of a column of categories -> the columns of 0 and 1 that are in its place.
    unsettled : frozenset of str
        Columns of text that may hold numbers: only all cells together tell.
    max_memory : int
        Bytes that its numbers may take where they are all needed at once.
    """

    name: str
    path: str | None
    source: Source
    columns: tuple[str, ...]
    left: dict[str, str]
    refused: dict[str, str]
    index: frozenset[str]
    notes: tuple[str, ...]
    sums: bool
    codes: bool
    digest: Callable[[], str]
    lines: npt.NDArray[np.int64] | LineNumbers | None = None
    named: bool = True
    embedded: bool = False
    understood: bool = False
    asked: tuple[str, ...] | None = None
    unnamed: bool = False
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shares: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unsettled: frozenset[str] = frozenset()
    max_memory: int = memory_limit.DEFAULT

    def with_size(self, size: int) -> Opened:
        """Return the same in blocks of another size."""
        return replace(self, source=replace(self.source, size=size))

    def reading(self, *, missing: tuple[float, ...], sums: bool, codes: bool) -> Opened:
        """Return the same with numbers that stand for missing values, and what is looked for."""
        source = replace(self.source, missing=missing)
        notes = (f"{plain(code)} is read as missing, as asked" for code in missing)
        return replace(self, source=source, sums=sums, codes=codes, notes=(*self.notes, *notes))

    def publishing(self, columns: Sequence[str] | None, exclude: Sequence[str]) -> Opened:
        """Return the same of which some columns only are published; refuse unknown names."""
        levels = {level for of in self.shares.values() for level in of}
        names = [*(name for name in self.columns if name not in levels), *self.shares]
        asked = ReadingOptions(
            columns=None if columns is None else tuple(columns), exclude=tuple(exclude)
        )
        asked = with_names(self.name, names, asked)
        among = None
        if asked.columns is not None:
            among = tuple(name for name in self.columns if name in {*asked.columns, *levels})
        wanted = set(self.columns if among is None else among) - set(asked.exclude)
        unwanted = dict.fromkeys((name for name in self.columns if name not in wanted), ASKED)
        unwanted = {name: why for name, why in unwanted.items() if name not in self.groups}
        read = tuple(name for name in self.source.columns if name in wanted)
        source = replace(self.source, columns=read)
        return replace(self, source=source, left={**self.left, **unwanted}, asked=among)

    def whole(self) -> Table:
        """Read all rows into memory, and look for what a file of numbers is asked for."""
        read = self.source.columns
        values = self.source.values()
        unread = np.full(len(values), np.nan)
        at = {name: values[:, j] for j, name in enumerate(read)}
        table = table_of_numbers(
            {name: at.get(name, unread) for name in self.columns},
            ReadingOptions(
                skip_last=None if self.sums else 0,
                missing_values=() if self.codes else ("none",),
                header="yes" if self.named else "no",
                columns=self.asked,
                exclude=tuple(name for name, why in self.left.items() if why == ASKED),
            ),
            name=self.name,
            index=self.index,
            notes=self.notes,
        )
        at_left = {j: self.left[name] for j, name in enumerate(self.columns) if name in self.left}
        levels = {j for j, name in enumerate(self.columns) if name in self.source.levels}
        found = {j: why for j, why in table.left.items() if j not in levels}
        return replace(
            table,
            path=self.path,
            sha256=self.digest(),
            left={**found, **at_left},
            lines=None if self.lines is None else self.lines[np.arange(len(values))],
            groups=self._labels(),
        )

    def _labels(self) -> dict[str, npt.NDArray[np.str_]]:
        """Return the group of each record by every column of categories."""
        if not self.groups:
            return {}
        codes = replace(self.source, columns=tuple(self.groups)).values().T
        return {
            name: np.array(["", *levels])[np.where(np.isnan(column), 0, column + 1).astype(np.intp)]
            for (name, levels), column in zip(self.groups.items(), codes, strict=True)
        }

    def is_longer_than(self, rows: int) -> bool:
        """Tell whether it has more rows; reads as many, where the source does not tell."""
        known = self.source.rows
        if known is not None:
            return known > rows
        found = 0
        for block in Source(self.source.parts, self.source.columns, rows + 1).blocks():
            found += len(block.values)
            if found > rows:
                return True
        return False


def of_table(table: Table) -> Opened:
    """Open a table in memory, whose cells are understood already."""
    left = {table.columns[j]: why for j, why in table.left.items()}
    numeric = tuple(name for name in table.columns if name not in left)
    part = ArrayPart(table.values, table.name, table.columns)
    coded = {name: codes_of(labels) for name, labels in table.groups.items()}
    codes = {name: numbers for name, (_, numbers) in coded.items()}
    return Opened(
        name=table.name,
        path=table.path,
        source=Source((CodedPart(part, codes) if codes else part,), numeric),
        columns=table.columns,
        left=left,
        refused={table.columns[j]: why for j, why in table.refused.items()},
        index=frozenset(),
        notes=table.notes,
        sums=False,
        codes=False,
        digest=lambda: table.sha256,
        lines=table.lines,
        embedded=table.path is None,
        understood=True,
        groups={name: levels for name, (levels, _) in coded.items()},
    )


def of_array(values: npt.NDArray[Any]) -> Opened:
    """Open an array (N, d) of real numbers, which may be mapped from a file."""
    names = numbered(values.shape[1])
    part = ArrayPart(values, "the array", names)
    source = Source((part,), names)
    note = "columns of the array have no names: numbered from 1"
    return _in_memory("array", source, {}, frozenset(), (note,), named=False)


def of_frame(frame: Any, options: ReadingOptions) -> Opened:
    """Open a frame with the Arrow stream interface; `options` name columns only."""
    part = FramePart.of(frame, options)
    numeric = tuple(name for name in part.columns if name not in part.left)
    source = Source((part,), numeric, levels=frozenset(part.levels))
    name = part.name.removeprefix("the ")
    opened = _in_memory(name, source, part.left, frozenset(part.index), ())
    groups = {name: coded.levels for name, coded in part.levels.items()}
    return replace(opened, columns=part.columns, groups=groups, unsettled=part.unsettled)


def of_callable(function: Callable[[], Any]) -> Opened:
    """Open what a function yields block by block, anew at each call."""
    part = CallablePart.of(function, None)
    named = part.columns != numbered(len(part.columns))
    notes = () if named else ("columns of the blocks have no names: numbered from 1",)
    source = Source((part,), part.columns)
    return _in_memory("blocks", source, {}, frozenset(), notes, named=named)


def _in_memory(
    name: str,
    source: Source,
    left: dict[str, str],
    index: frozenset[str],
    notes: tuple[str, ...],
    *,
    named: bool = True,
) -> Opened:
    return Opened(
        name=name,
        path=name,
        source=source,
        columns=source.columns,
        left=left,
        refused={},
        index=index,
        notes=notes,
        sums=False,
        codes=False,
        digest=lambda: _hash_of(source.blocks()),
        named=named,
    )


def _hash_of(blocks: Any) -> str:
    """Hash values as float64, row after row."""
    digest = hashlib.sha256()
    block: Block
    for block in blocks:
        digest.update(np.ascontiguousarray(block.values).data)
    return digest.hexdigest()


# --- files ----------------------------------------------------------------------------------------


def paths_of(pattern: str) -> list[str]:
    """Return the files of a pattern, sorted, or of a path that is none; refuse an empty pattern."""
    if pattern == "-" or Path(pattern).exists() or not glob.has_magic(pattern):
        return [pattern]
    found = sorted(
        path
        for path in glob.glob(pattern)  # noqa: PTH207 (a Path's glob takes no absolute pattern)
        if Path(path).is_file()
    )
    if not found:
        raise ValueError(f"no file is called {visible(pattern)}")
    return found


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
    memory, categories = Memory(), Categories.of(options)
    parts: list[FilePart] = []
    for index, path in enumerate(paths):
        kept = KeptBlocks(memory, index)
        part = _part_of(path, options, kept, categories, alone=len(paths) == 1)
        if part is None:
            return None
        parts.append(part)
    first = parts[0]
    for part in parts[1:]:
        _require_same_columns(first, part)
    index_columns = itertools.chain(*(p.index for p in parts if isinstance(p, ParquetPart)))
    named = not any(isinstance(part, NpyPart) for part in parts)
    notes: tuple[str, ...] = ()
    if not named:
        notes = (f"columns of {first.name} have no names: numbered from 1",)
    texts = [part for part in parts if isinstance(part, TextPart)]
    name, path = first.name, paths[0]
    if len(parts) > 1:
        name, path = f"{first.name} to {parts[-1].name} ({len(parts)} files)", ", ".join(paths)
    left = {} if isinstance(first, NpyPart) else first.left
    shares = categories.columns_of(first.name, first.columns)
    columns = expanded(first.columns, shares)
    numeric = tuple(column for column in columns if column not in left)
    source = replace(_source_of(parts, categories, shares, memory), columns=numeric)
    if texts and not shares:
        memory.holds(replace(source, columns=_looked_at(numeric, options)))
    return Opened(
        name=name,
        path=path,
        source=source,
        columns=columns,
        left={column: why for column, why in left.items() if column not in shares},
        refused={},
        index=frozenset(index_columns),
        notes=(*notes, *dict.fromkeys(note for part in texts for note in part.notes)),
        sums=True,
        codes=True,
        digest=lambda: _hash_of_files(parts, paths),
        lines=texts[0].lines if texts and len(parts) == 1 else None,
        named=named and all(part.named for part in texts),
        unnamed=any(part.unnamed for part in texts),
        groups={name: tuple(sorted(levels)) for name, levels in categories.groups.items()},
        shares=shares,
    )


FilePart: TypeAlias = ParquetPart | NpyPart | TextPart


def _source_of(
    parts: Sequence[FilePart],
    categories: Categories,
    shares: Mapping[str, tuple[str, ...]],
    memory: Memory,
) -> Source:
    """Return a source without columns yet, whose parts know all levels."""
    coded = categories.coded(parts[0].name)
    levels = frozenset([*coded, *(level for of in shares.values() for level in of)])
    made: list[Part] = []
    for part in parts:
        if isinstance(part, NpyPart):
            made.append(part)
            continue
        knowing = replace(part, levels=coded)
        made.append(SharesPart(knowing, shares) if shares else knowing)
    return Source(tuple(made), (), memory=memory, levels=levels)


def _looked_at(columns: Sequence[str], options: ReadingOptions) -> tuple[str, ...]:
    """Return the columns that are published."""
    among = columns if options.columns is None else options.columns
    return tuple(name for name in columns if name in among and name not in options.exclude)


def _require_same_columns(first: FilePart, part: FilePart) -> None:
    if part.columns != first.columns:
        raise ValueError(
            f"{part.name} has the columns {listed(part.columns)}, {first.name} has "
            f"{listed(first.columns)}: files of one table have the same, in the same order"
        )
    ours, theirs = (frozenset(getattr(one, "left", {})) for one in (first, part))
    for column in sorted(ours ^ theirs):
        text, numbers = (first, part) if column in ours else (part, first)
        raise ValueError(
            f"column {visible(column)!r} holds numbers in {numbers.name} and none in {text.name}: "
            f"{option('--exclude', visible(column))} leaves it out"
        )


def _part_of(
    path: str, options: ReadingOptions, kept: KeptBlocks, categories: Categories, *, alone: bool
) -> FilePart | None:
    if path == "-" or not Path(path).is_file():
        return None
    with Path(path).open("rb") as file:
        start = file.read(6)
    name, plain = visible(Path(path).name), options.of_text() == ReadingOptions().of_text()
    if start.startswith(b"PAR1"):
        return ParquetPart.of(path, name, categories, options) if plain else None
    if start.startswith(b"\x93NUMPY"):
        plain = plain and not (options.groups or options.proportions)
        return NpyPart.of(path, name) if plain else None
    if alone and not _is_long(path):
        return None
    part_of_text = text_part(path, name, options, kept, categories)
    if part_of_text is None and not alone:
        _refuse_part(path, name, options)
    return part_of_text


def _refuse_part(path: str, name: str, options: ReadingOptions) -> None:
    """Say why a file of a pattern is not read: as `read_table` says it, or what it needs."""
    table = read_table(path, **options.reading())
    for why in table.refused.values():
        raise ValueError(why)
    raise ValueError(
        f"{name} is not read with others: units, yes and no, codes, labels of sums, and encodings "
        "but UTF-8 are understood in a single file only; join the files to one first, or --exclude "
        "such columns"
    )


def _is_long(path: str) -> bool:
    """Tell whether a file has more lines than records are judged as a whole."""
    lines = 0
    with Path(path).open("rb", buffering=0) as file:
        while lines <= LONG and (piece := file.read(_PIECE)):
            lines += newlines_in(piece)
    return lines > LONG


def _hash_of_files(parts: Sequence[FilePart], paths: Sequence[str]) -> str:
    """Hash the bytes of a file; of several, the hashes of all in their order."""
    hashes = []
    for part, path in zip(parts, paths, strict=True):
        if isinstance(part, TextPart):
            hashes.append(part.sha256)
            continue
        digest = hashlib.sha256()
        with Path(path).open("rb", buffering=0) as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
        hashes.append(digest.hexdigest())
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


LONG = ROWS
"""Rows beyond which a table is judged block by block."""
