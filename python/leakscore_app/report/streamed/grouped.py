"""Tables by group of a long table: which levels there are, and what cells hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore.statistics import GroupMeans, Statistic
from leakscore_app.passes.cells import InCells
from leakscore_app.passes.first import Lost
from leakscore_app.report._leakage import risk_of
from leakscore_app.report._model import LEVELS, Cell, Doubles
from leakscore_app.report.statistic.featured import by_group
from leakscore_app.report.statistic.pooled import RECORDS
from leakscore_app.report.streamed.judged import Passes
from leakscore_app.report.streamed.people import Crowd
from leakscore_app.tables.sources.blocks import Block, Source

Integers = npt.NDArray[np.int64]
Levels: TypeAlias = Mapping[str, tuple[str, ...]]


class SmallCellsError(Exception):
    """Cells hold so few records that a covariance within all cells is needed, in memory."""


@dataclass(frozen=True, eq=False)
class GroupedRecords:
    """Records of which all groups are known, and others.

    Attributes
    ----------
    lost : Lost
        Records with all numbers whose group is not known.
    levels : tuple of (k,) ndarray of int
        Of each column of categories, the records of each level.
    cells : (K,) ndarray of int
        Records of each combination of levels, where these are counted.
    """

    lost: Lost
    levels: tuple[Integers, ...]
    cells: Integers

    def merge(self, other: GroupedRecords) -> GroupedRecords:
        """Add later blocks."""
        return GroupedRecords(
            self.lost.merge(other.lost),
            tuple(one + more for one, more in zip(self.levels, other.levels, strict=True)),
            self.cells + other.cells,
        )


@dataclass(frozen=True)
class Group:
    """A pass that counts levels; the first columns of a block are those of categories.

    Attributes
    ----------
    sizes : tuple of int
        How many levels each of them has.
    crossed : bool
        Whether combinations of levels are counted.
    """

    sizes: tuple[int, ...]
    crossed: bool

    def __call__(self, block: Block) -> GroupedRecords:
        """Return what is known of a block."""
        codes, numbers = np.hsplit(block.values, [len(self.sizes)])
        complete = np.asarray(np.isfinite(numbers).all(axis=1))
        known = np.asarray(np.isfinite(codes).all(axis=1))
        found = codes[complete & known].astype(np.intp).T
        levels = (
            np.bincount(column, minlength=size)
            for column, size in zip(found, self.sizes, strict=True)
        )
        cells = np.zeros(0, np.intp)
        if self.crossed:
            crossed = np.ravel_multi_index(tuple(found), self.sizes)
            cells = np.bincount(crossed, minlength=prod(self.sizes))
        return GroupedRecords(Lost.of(complete & ~known, block.start), tuple(levels), cells)


def levels_of(
    source: Source, passes: Passes, statistic: Statistic, groups: Levels, columns: int
) -> tuple[Levels, dict[str, Integers], Lost]:
    """Count the records of each level.

    Parameters
    ----------
    source : Source
        The columns of categories first, then those of numbers.
    passes : Passes
    statistic : Statistic
    groups : dict
        Column of categories -> all of its levels.
    columns : int
        Columns of numbers of which cells have means.

    Returns
    -------
    levels : dict
        Those that judged records have.
    numbers : dict
        Column -> which number each level of `groups` has among these, where not all are there.
    lost : Lost
        Records with all numbers whose group is not known.

    Raises
    ------
    SmallCellsError
        If means by group have cells of too few records for a covariance of their own.
    """
    sizes = tuple(map(len, groups.values()))
    means = isinstance(statistic, GroupMeans)
    found: GroupedRecords = passes(source, Group(sizes, means), "counting groups")
    crossed = found.cells[found.cells > 0]
    if (crossed < RECORDS * (1 + columns)).any():
        raise SmallCellsError
    levels, numbers = {}, {}
    for (name, given), count in zip(groups.items(), found.levels, strict=True):
        levels[name] = tuple(given[k] for k in np.flatnonzero(count).tolist())
        if len(levels[name]) < len(given):
            numbers[name] = np.cumsum(count > 0) - 1
    return levels, numbers, found.lost


def cells_of(
    statistic: Statistic, found: Sequence[InCells], crowd: Crowd, divisor: float
) -> Iterator[Cell]:
    """Yield the cells that hold records, in the order of the table.

    Parameters
    ----------
    statistic : Statistic
    found : sequence of InCells
        Of its tables by group, whose thresholds are those of `LEVELS`.
    crowd : Crowd
        The records that are kept: of some the score is known better.
    divisor : float
        Leakages are scores over it.
    """
    half = LEVELS.index(0.5)
    known = dict(zip(crowd.numbers.tolist(), crowd.informed().tolist(), strict=True))
    for (table, _), cells in zip(by_group(statistic), found, strict=True):
        names = table.cells
        for k in np.flatnonzero(cells.records).tolist():
            row = int(cells.rows[k])
            risk = risk_of(np.array([known.get(row, float(cells.worst[k]) / divisor)]), None)
            yield Cell(
                cell=names[k],
                records=int(cells.records[k]),
                persons=int(cells.records[k]),
                row=row + 1,
                leakage=float(risk.leakage[0]),
                advantage=float(risk.advantage[0]),
                power=float(risk.power[0]),
                above_half=int(cells.above[half, k]),
            )


def cell_columns(statistic: Statistic, values: Doubles) -> Doubles:
    """Return the number of each record's cell in each table by group, (k, tables)."""
    cells = [table.cell_of(values[:, places]) for table, places in by_group(statistic)]
    return np.column_stack([np.empty((len(values), 0)), *cells])
