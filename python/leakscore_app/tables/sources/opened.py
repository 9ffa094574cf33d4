"""Whatever holds a table, opened to be read block by block: what is known of it before that."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles
from leakscore_app._visible import visible
from leakscore_app.tables import files
from leakscore_app.tables.categories import Coded, labels_of
from leakscore_app.tables.cells import Cells, ReadingOptions, numbered
from leakscore_app.tables.columns import DecodedTable, Stated, shared
from leakscore_app.tables.doubts import Column, Columns, may_be_code, refusal
from leakscore_app.tables.sources.arrays import ArrayPart, CallablePart, codes_of
from leakscore_app.tables.sources.blocks import ROWS, Source
from leakscore_app.tables.table import Table, table_of_content


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
        codes = self.leave_out(columns, {*(self.requested or ()), *self.source.levels})
        self.refuse_codes(columns, codes)
        named = self.requested or ()
        people = {n: Cells(n, numbers=numbers[n]) for n in numbers if n not in named}
        content = DecodedTable(
            columns, None, self._labels(), [*self.notes], shared(people, rows), self.shares
        )
        lines = None if self.lines is None else self.lines[np.arange(rows)]
        return table_of_content(self.name, self.path, self.digest(), content, lines)

    def looked_at(
        self, seen: Columns, rows: int, spreads: Doubles, requested: Collection[str]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Look at columns of numbers as a file is looked at; refuse sums of the other records.

        Parameters
        ----------
        seen : Columns
            What the numbers in the columns of the source tell.
        rows : int
        spreads : (d,) ndarray
            As in `summed_up`.
        requested : collection of str
            Columns that are asked for by name.

        Returns
        -------
        excluded, refused : dict
            Name of a column -> why it is not judged as it counts, names or dates the records, or
            what must be settled as it may hold a code for missing values.
        """
        names, excluded = self.source.columns, {}
        if not self.understood:
            excluded = self.not_judged(seen, names, rows, {*requested, *self.source.levels})
        judged = [j for j, name in enumerate(names) if name not in excluded]
        self.require_no_sum(seen.chosen(judged), rows, spreads[judged])
        refused = {
            name: refusal(may_be_code(self.name, name, code), name, alone=len(names) < 2)
            for name, code in (seen.codes(names) if self.codes else {}).items()
            if name not in excluded
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
        """Tell whether it has more rows; reads as many, where the source does not tell."""
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
    """Open a frame with the Arrow stream interface; `options` name columns only."""
    from leakscore_app.tables.sources.frames import FramePart

    part = FramePart.of(frame, options)
    first = "".join(part.columns[:1])
    numeric = tuple(name for name in part.columns if name not in part.excluded)
    source = Source((part,), numeric, levels=frozenset(part.levels))
    name = part.name.removeprefix("the ")
    groups = {name: each.levels for name, each in part.levels.items() if isinstance(each, Coded)}
    return Opened(
        name,
        name,
        source,
        part.columns,
        partial(_hash_of, source),
        excluded=part.excluded,
        index=frozenset(part.index),
        groups=groups,
        unsettled=part.unsettled,
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


LONG = ROWS
"""Rows beyond which a table is judged block by block."""
