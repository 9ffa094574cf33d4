"""The cells of a table by group, each with its worst record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from leakscore.statistics import Statistic
from leakscore_app.passes.scores import InCells
from leakscore_app.report._model import LEVELS, Cell, Risk
from leakscore_app.report.engine.crowd import Crowd
from leakscore_app.report.engine.features import Featured, Tabled, by_group
from leakscore_app.report.engine.leakage import shares_of


def cells_of(
    featured: Featured, owner: npt.NDArray[np.intp], rows: npt.NDArray[np.int64], risk: Risk
) -> tuple[Cell, ...]:
    """Return the cells of a table by group with their worst records, in the order of the table.

    Parameters
    ----------
    featured : Featured
        The records and the cell of each.
    owner : (N,) ndarray of int
        The person of each record; without ids each is a person's only one.
    rows : (P,) ndarray of int
        Which record names each person.
    risk : Risk
        Of each person.
    """
    return tuple(each for table in featured.tables for each in _cells_of(table, owner, rows, risk))


def _cells_of(
    table: Tabled, owner: npt.NDArray[np.intp], rows: npt.NDArray[np.int64], risk: Risk
) -> Iterator[Cell]:
    cell = table.cell
    inside, person = np.divmod(np.unique(cell * len(rows) + owner), len(rows))
    numbers, first = np.unique(inside, return_index=True)
    records = np.bincount(cell)
    for k, people in zip(numbers.tolist(), np.split(person, first[1:]), strict=True):
        worst = people[int(risk.leakage[people].argmax())]
        yield Cell(
            cell=table.names[k],
            records=int(records[k]),
            persons=len(people),
            row=int(rows[worst]),
            **shares_of(float(risk.leakage[worst])),
            above_half=int((risk.power[people] > 0.5).sum()),
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
    half = LEVELS.index(0.5)
    informed = dict(zip(crowd.numbers.tolist(), crowd.informed().tolist(), strict=True))
    for (table, _), cells in zip(by_group(statistic), counted, strict=True):
        names = table.cells
        for k in np.flatnonzero(cells.records).tolist():
            row = int(cells.rows[k])
            yield Cell(
                cell=names[k],
                records=int(cells.records[k]),
                persons=int(cells.records[k]),
                row=row + 1,
                **shares_of(informed.get(row, float(cells.worst[k]) / divisor)),
                above_half=int(cells.above[half, k]),
            )
