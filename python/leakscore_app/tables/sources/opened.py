"""Whatever holds a table, opened to be read block by block: what is known of it before that."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore_app._visible import visible
from leakscore_app.tables import memory_limit
from leakscore_app.tables.categories import Coded
from leakscore_app.tables.cells import ReadingOptions
from leakscore_app.tables.columns import ASKED
from leakscore_app.tables.sources.arrays import (
    ArrayPart,
    CallablePart,
    codes_of,
    numbered,
)
from leakscore_app.tables.sources.blocks import ROWS, Block, LineNumbers, Source
from leakscore_app.tables.table import Table, table_of_numbers


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
    excluded, refused : dict
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
    requested : tuple of str, optional
        The columns that are published, where that was said when the table was opened.
    unnamed : bool
        Whether the file has no name for its first column.
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

    name: str
    path: str | None
    source: Source
    columns: tuple[str, ...]
    excluded: dict[str, str]
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
    requested: tuple[str, ...] | None = None
    unnamed: bool = False
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shares: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unsettled: frozenset[str] = frozenset()
    max_memory: int = memory_limit.DEFAULT
    owners: npt.NDArray[np.intp] | None = None

    def with_size(self, size: int) -> Opened:
        """Return the same in blocks of another size."""
        return replace(self, source=replace(self.source, size=size))

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
                columns=self.requested,
                exclude=tuple(name for name, why in self.excluded.items() if why == ASKED),
            ),
            name=self.name,
            index=self.index,
            notes=self.notes,
        )
        at_left = {
            j: self.excluded[name] for j, name in enumerate(self.columns) if name in self.excluded
        }
        levels = {j for j, name in enumerate(self.columns) if name in self.source.levels}
        reasons = {j: why for j, why in table.excluded.items() if j not in levels}
        return replace(
            table,
            path=self.path,
            sha256=self.digest(),
            excluded={**reasons, **at_left},
            lines=None if self.lines is None else self.lines[np.arange(len(values))],
            groups=self._labels(),
            shares=self.shares,
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
        stated = self.source.rows
        if stated is not None:
            return stated > rows
        counted = 0
        for block in Source(self.source.parts, self.source.columns, rows + 1).blocks():
            counted += len(block.values)
            if counted > rows:
                return True
        return False


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
        index=frozenset(),
        notes=table.notes,
        sums=False,
        codes=False,
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
    part = ArrayPart(values, "the array", names)
    source = Source((part,), names)
    note = "columns of the array have no names: numbered from 1"
    return _in_memory("array", source, {}, frozenset(), (note,), named=False)


def of_frame(frame: Any, options: ReadingOptions) -> Opened:
    """Open a frame with the Arrow stream interface; `options` name columns only."""
    from leakscore_app.tables.sources.frames import FramePart

    part = FramePart.of(frame, options)
    numeric = tuple(name for name in part.columns if name not in part.excluded)
    source = Source((part,), numeric, levels=frozenset(part.levels))
    name = part.name.removeprefix("the ")
    opened = _in_memory(name, source, part.excluded, frozenset(part.index), ())
    groups = {name: each.levels for name, each in part.levels.items() if isinstance(each, Coded)}
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
    excluded: dict[str, str],
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
        excluded=excluded,
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
    paths = sorted(
        path
        for path in glob.glob(pattern)  # noqa: PTH207 (a Path's glob takes no absolute pattern)
        if Path(path).is_file()
    )
    if not paths:
        raise ValueError(f"no file is called {visible(pattern)}")
    return paths


LONG = ROWS
"""Rows beyond which a table is judged block by block."""
