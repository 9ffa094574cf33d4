"""The cells of a table by group, each with its worst record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from leakscore.statistics import Statistic
from leakscore_app.passes.scores import InCells
from leakscore_app.report._model import LEVELS, Cell, Doubles
from leakscore_app.report.engine.crowd import Crowd
from leakscore_app.report.engine.features import Featured, by_group
from leakscore_app.report.engine.leakage import THRESHOLDS, shares_of


def cells_of(
    featured: Featured, owner: npt.NDArray[np.intp], rows: npt.NDArray[np.int64], leakage: Doubles
) -> Iterator[Cell]:
    """Yield the cells of a table by group with their worst records, in the order of the table.

    Parameters
    ----------
    featured : Featured
        The records and the cell of each.
    owner : (N,) ndarray of int
        The person of each record; without ids each is a person's only one.
    rows : (P,) ndarray of int
        Which record names each person.
    leakage : (P,) ndarray
        Of each person.
    """
    for table in featured.tables:
        names = table.names
        cell, person = np.divmod(np.unique(table.cell * len(rows) + owner), len(rows))
        persons = InCells.of(cell, len(names), rows[person], leakage[person], THRESHOLDS)
        yield from _named(names, persons, persons.worst, np.bincount(table.cell).tolist())


def _named(
    names: Sequence[str], persons: InCells, leakages: Doubles, records: Sequence[int]
) -> Iterator[Cell]:
    """Yield the cells that hold persons, of leakages (K,)."""
    above = persons.above[LEVELS.index(0.5)]
    for k in np.flatnonzero(persons.records).tolist():
        yield Cell(
            cell=names[k],
            records=records[k],
            persons=int(persons.records[k]),
            row=int(persons.rows[k]),
            **shares_of(float(leakages[k])),
            above_half=int(above[k]),
        )


def small_cells(featured: Featured, least: int) -> npt.NDArray[np.bool_]:
    """Return which records are in a cell of fewer than `least` persons, in any of the tables."""
    ids, size = featured.records.ids, len(featured.records.rows)
    owner = np.arange(size) if ids is None else np.unique(ids, return_inverse=True)[1]
    small = np.zeros(size, np.bool_)
    for table in featured.tables:
        pairs = np.unique(np.column_stack([table.cell, owner]), axis=0)
        small |= np.bincount(pairs[:, 0])[table.cell] < least
    return small


def cells_of_blocks(
    statistic: Statistic, counted: Sequence[InCells], crowd: Crowd, divisor: float
) -> Iterator[Cell]:
    """Yield the cells that hold records, in the order of the table.

    Parameters
    ----------
    statistic : Statistic
    counted : sequence of InCells
        Of its tables by group, whose thresholds are those of `LEVELS`.
    crowd : Crowd
        The records that are kept: of some the score is known better.
    divisor : float
        Leakages are scores over it.
    """
    for (table, _), cells in zip(by_group(statistic), counted, strict=True):
        leakages, kept = cells.worst / divisor, np.isin(cells.rows, crowd.numbers)
        leakages[kept] = crowd.informed()[np.searchsorted(crowd.numbers, cells.rows[kept])]
        numbered = replace(cells, rows=cells.rows + 1)
        yield from _named(table.cells, numbered, leakages, cells.records.tolist())
