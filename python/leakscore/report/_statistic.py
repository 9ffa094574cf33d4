"""A table as the features of a statistic other than the mean, and the cells of a table by group."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from leakscore.report._model import Cell, Risk
from leakscore.statistics import GroupMeans, Mean, Statistic
from leakscore.tables.records import LeftColumn, LeftRows, Records, records_of
from leakscore.tables.table import Table

_GROUPLESS = "its group is not known"


@dataclass(frozen=True, eq=False)
class Featured:
    """What is judged.

    Attributes
    ----------
    records : Records
        The features of the records.
    statistic : Statistic
        Of the table's columns.
    cell : (N,) ndarray of int or None
        The cell of each record.
    """

    records: Records
    statistic: Statistic
    cell: npt.NDArray[np.intp] | None = None


def featured(table: Table, records: Records, statistic: Statistic | None) -> Featured:
    """Return the records of a statistic: those of the table if it is the mean or the sum."""
    if statistic is None or isinstance(statistic, Mean):
        chosen = Mean() if statistic is None else statistic
        return Featured(records, chosen.on(records.columns))
    labels = {name: given[records.rows - 1] for name, given in table.groups.items()}
    known = np.ones(len(records.rows), dtype=bool)
    for given in labels.values():
        known &= given != ""
    records = _kept(records, known)
    labels = {name: given[known] for name, given in labels.items()}
    levels = {name: tuple(np.unique(given).tolist()) for name, given in labels.items()}
    bound = statistic.on((*labels, *records.columns), levels)
    codes = [np.searchsorted(levels[name], given) for name, given in labels.items()]
    block = np.column_stack([*(code.astype(np.float64) for code in codes), records.values])
    bound = bound.prepare(block)
    cell = bound.cell_of(block) if isinstance(bound, GroupMeans) else None
    return Featured(_features(table, records, bound, block), bound, cell)


def _kept(records: Records, known: npt.NDArray[np.bool_]) -> Records:
    """Leave out the records whose group is not known."""
    if known.all():
        return records
    lost = records.rows[~known]
    left = LeftRows(_GROUPLESS, len(lost), tuple(lost[:5].tolist()))
    return replace(
        records,
        values=records.values[known],
        rows=records.rows[known],
        left_rows=(*records.left_rows, left),
        lines=None if records.lines is None else records.lines[known],
        ids=None if records.ids is None else records.ids[known],
    )


def _features(
    table: Table, records: Records, statistic: Statistic, block: npt.NDArray[np.float64]
) -> Records:
    """Return the features that vary and follow from no others."""
    made = records_of(
        Table(
            name=table.name,
            path=table.path,
            sha256=table.sha256,
            columns=statistic.names,
            values=statistic.features(block),
            left={},
            lines=records.lines,
            ids=records.ids,
        )
    )
    unasked = [LeftColumn(column.name, column.reason) for column in made.left_columns]
    return replace(
        made,
        rows=records.rows,
        left_columns=(*records.left_columns, *unasked),
        left_rows=records.left_rows,
        dependent=(*records.dependent, *made.dependent),
    )


def cells_of(
    found: Featured, owner: npt.NDArray[np.intp], rows: npt.NDArray[np.int64], risk: Risk
) -> tuple[Cell, ...]:
    """Return the cells of a table by group with their worst records, in the order of the table.

    Parameters
    ----------
    found : Featured
        The records and the cell of each.
    owner : (N,) ndarray of int
        The person of each record; without ids each is a person's only one.
    rows : (P,) ndarray of int
        Which record names each person.
    risk : Risk
        Of each person.
    """
    statistic, cell = found.statistic, found.cell
    if cell is None or not isinstance(statistic, GroupMeans):
        return ()
    inside, person = np.divmod(np.unique(cell * len(rows) + owner), len(rows))
    numbers, first = np.unique(inside, return_index=True)
    records = np.bincount(cell)
    cells = []
    for k, people in zip(numbers.tolist(), np.split(person, first[1:]), strict=True):
        worst = people[int(risk.leakage[people].argmax())]
        cells.append(
            Cell(
                cell=statistic.cells[k],
                records=int(records[k]),
                persons=len(people),
                row=int(rows[worst]),
                leakage=float(risk.leakage[worst]),
                advantage=float(risk.advantage[worst]),
                power=float(risk.power[worst]),
                above_half=int((risk.power[people] > 0.5).sum()),
            )
        )
    return tuple(cells)
