"""A table as the features of a statistic other than the mean, and the cells of a table by group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from leakscore.statistics import (
    Counts,
    GroupMeans,
    KnownWeights,
    Mean,
    NoFitError,
    Several,
    Statistic,
)
from leakscore.typing import Doubles
from leakscore_app._visible import visible
from leakscore_app.report._model import Cell, Risk
from leakscore_app.report.engine.pooled import FOLLOWS, PooledCells
from leakscore_app.report.engine.population import Shrinkage
from leakscore_app.tables import memory_limit
from leakscore_app.tables.doubts import option
from leakscore_app.tables.records import COMPUTED, LeftColumn, LeftRows, Records, records_of
from leakscore_app.tables.sources.blocks import ROWS
from leakscore_app.tables.table import Table

GROUPLESS = "its group is not known"
UNCOUNTED = "counts are published only"
_WEIGHTS = "it holds the weights, which everybody knows"

Integers = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Tabled:
    """A table by group: the names of its cells, and the cell of each record (N,)."""

    names: tuple[str, ...]
    cell: Integers


@dataclass(frozen=True, eq=False)
class Featured:
    """What is judged.

    Attributes
    ----------
    records : Records
        The features of the records.
    statistic : Statistic
        Of the table's columns.
    tables : tuple of Tabled
        The tables by group in it.
    weights : (N,) ndarray or None
        Of each record, where everybody knows them.
    pooled : PooledCells or None
        The cells, where some hold too few records for a covariance of their own.
    used : tuple of str
        The table's columns of which the statistic is.
    block : ndarray or None
        Records as `Statistic.features` takes them; of a mean or a sum, `records.values`.
    """

    records: Records
    statistic: Statistic
    tables: tuple[Tabled, ...] = ()
    weights: Doubles | None = None
    pooled: PooledCells | None = None
    used: tuple[str, ...] = ()
    block: Doubles | None = None

    def units(self, n: int) -> Doubles:
        """Return the units of the published numbers, one a judged column; see `Statistic.units`."""
        block = self.records.values if self.block is None else self.block
        units = self.statistic.units(self.statistic.features(block).mean(axis=0), n)
        places = {name: k for k, name in enumerate(self.statistic.names)}
        return units[[places[name] for name in self.records.columns]]


def featured(
    table: Table,
    statistic: Statistic | None,
    *,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    missing: str,
    shrinkage: Shrinkage = None,
) -> Featured:
    """Return the records of a statistic: those of the table if it is the mean or the sum.

    `columns`, `exclude` and `missing` are those of `records_of`; a `shrinkage` that is asked for
    takes the place of pooled covariances.
    """
    if statistic is None or isinstance(statistic, Mean):
        records = records_of(table, columns=columns, exclude=exclude, missing=missing)
        chosen = Mean() if statistic is None else statistic
        return Featured(records, chosen.on(records.columns))
    apart = _apart(table, statistic, exclude)
    if only_counts(statistic):
        records = _without_numbers(table)
    else:
        records = records_of(
            table,
            columns=None if columns is None else [name for name in columns if name not in apart],
            exclude=(*exclude, *apart),
            missing=missing,
        )
    records, beside = _with_apart(table, records, statistic, apart)
    labels = {name: given[records.rows - 1] for name, given in table.groups.items()}
    known = np.ones(len(records.rows), dtype=bool)
    for given in labels.values():
        known &= given != ""
    records = _kept(records, known, GROUPLESS)
    labels = {name: given[known] for name, given in labels.items()}
    levels = {name: tuple(np.unique(given).tolist()) for name, given in labels.items()}
    bound = statistic.on((*labels, *records.columns, *apart), levels)
    _require_room(len(records.rows), len(bound.names))
    codes = [np.searchsorted(levels[name], given) for name, given in labels.items()]
    block = np.column_stack(
        [*(code.astype(np.float64) for code in codes), records.values, beside[known]]
    )
    try:
        bound = bound.prepare(block)
    except NoFitError as error:
        raise no_fit(error, bound, int(records.rows[error.row])) from None
    tables = tuple(_tables(bound, block))
    if isinstance(bound, GroupMeans) and shrinkage is None:
        cell = tables[0].cell
        pooled = _pooled(records, cell)
        if pooled is not None:
            made = _of_cells(records, bound, cell, pooled)
            return Featured(made, bound, tables, pooled=pooled, used=bound.columns, block=block)
    made = _features(table, records, bound, block)
    used = table.columns if only_counts(statistic) else bound.columns
    return Featured(made, bound, tables, bound.weights_of(block), used=used, block=block)


def _require_room(rows: int, features: int) -> None:
    """Refuse more features of a long table than the limit of files: several copies are made."""
    needed = 8 * rows * features
    if rows > ROWS and needed > memory_limit.DEFAULT:
        raise ValueError(
            f"{features} features of {rows} records need {memory_limit.shown(needed)} of memory, "
            f"more than {memory_limit.shown(memory_limit.DEFAULT)}: publish fewer columns or "
            "coarser groups, or judge a part of the records"
        )


def only_counts(statistic: Statistic) -> bool:
    """Tell whether all that is published are counts: then no column of numbers is."""
    return all(isinstance(part, Counts) for part in parts_of(statistic))


def parts_of(statistic: Statistic) -> Sequence[Statistic]:
    """Return the statistics that are published together, or the one."""
    return statistic.parts if isinstance(statistic, Several) else (statistic,)


def categories_of(statistic: Statistic) -> tuple[str, ...]:
    """Return the columns of categories that a statistic names."""
    given = [getattr(part, "by", ()) for part in parts_of(statistic)]
    return tuple(dict.fromkeys(name for by in given for name in by))


def learns(statistic: Statistic) -> bool:
    """Tell whether features are known only after records, or their moments, were looked at."""
    return any(type(part).prepare is not Statistic.prepare for part in parts_of(statistic))


def _without_numbers(table: Table) -> Records:
    """Return all records of a table of which counts are published only."""
    size = len(table.values)
    if size < 3:
        raise ValueError(f"{table.name} has {size} record(s), at least 3 are needed")
    none = np.empty((size, 0))
    left = tuple(
        LeftColumn(name, table.left.get(j, UNCOUNTED)) for j, name in enumerate(table.columns)
    )
    rows = np.arange(1, size + 1)
    return Records(none, (), rows, left, (), (), lines=table.lines, ids=table.ids)


def _tables(bound: Statistic, block: Doubles) -> Iterator[Tabled]:
    """Yield the tables by group that a statistic is, or holds beside other parts."""
    for part, places in by_group(bound):
        yield Tabled(part.cells, part.cell_of(block[:, places]))


def by_group(bound: Statistic) -> Iterator[tuple[Counts | GroupMeans, list[int]]]:
    """Yield the tables by group in a statistic, and where in a block the columns of each are."""
    whole = ((bound, list(range(len(bound.columns)))),)
    for part, places in bound.tables if isinstance(bound, Several) else whole:
        if isinstance(part, (Counts, GroupMeans)):
            yield part, places


def _pooled(records: Records, cell: Integers) -> PooledCells | None:
    """Return the cells, if some are judged by the pooled covariance, and none by persons."""
    if records.ids is not None and len(np.unique(records.ids)) < len(records.ids):
        return None
    cells = PooledCells.of(records.values, np.unique(cell, return_inverse=True)[1].reshape(-1))
    return None if cells is None or not cells.small.any() else cells


def _of_cells(
    records: Records, statistic: GroupMeans, cell: Integers, cells: PooledCells
) -> Records:
    """Return the features of cells; left out is what does not vary within any cell."""
    chosen, left = cells.moments.named(statistic.names, np.unique(cell))
    dependent = tuple(column.name for column in left if column.reason == FOLLOWS)
    return replace(
        records,
        values=cells.features(),
        columns=chosen,
        left_columns=(*records.left_columns, *left),
        dependent=(*records.dependent, *dependent),
    )


def _apart(table: Table, statistic: Statistic, exclude: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that a statistic names, as far as the table has them."""
    names = tuple(n for n in statistic.apart if n in table.columns and n not in exclude)
    for name in names:
        j = table.columns.index(name)
        why = table.refused.get(j) or table.left.get(j)
        if why:
            raise ValueError(f"Expected column {visible(name)!r} to be judged, but: {why}")
    return names


def _with_apart(
    table: Table, records: Records, statistic: Statistic, apart: tuple[str, ...]
) -> tuple[Records, Doubles]:
    """Return the records in which the columns of `apart` are known, and these columns (N, k).

    A weight that is missing is refused: without it there is no weighted mean.
    """
    weighted = hasattr(statistic, "weights")
    found = table.values[:, [table.columns.index(name) for name in apart]]
    bad = np.asarray(~np.isfinite(found).all(axis=1))
    if weighted and bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"Expected the weights ({visible(apart[0])!r}) to be finite and at least 0, not "
            f"{float(found[row, 0])} in record {row + 1}"
        )
    left = [column for column in records.left_columns if column.name not in apart]
    if isinstance(statistic, KnownWeights):
        left += [LeftColumn(name, _WEIGHTS) for name in apart]
    records = replace(records, left_columns=tuple(left))
    records = _kept(records, ~bad[records.rows - 1], "its response is not known")
    return records, found[records.rows - 1]


def _kept(records: Records, known: npt.NDArray[np.bool_], why: str) -> Records:
    """Leave out the records whose group or response is not known."""
    if known.all():
        return records
    lost = records.rows[~known]
    left = LeftRows(why, len(lost), tuple(lost[:5].tolist()))
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
            values=_fitted(statistic, records, block),
            left={},
            lines=records.lines,
            ids=records.ids,
        ),
        rounding=COMPUTED,
    )
    unasked = [LeftColumn(column.name, column.reason) for column in made.left_columns]
    return replace(
        made,
        rows=records.rows,
        left_columns=(*records.left_columns, *unasked),
        left_rows=records.left_rows,
        dependent=(*records.dependent, *made.dependent),
    )


def _fitted(statistic: Statistic, records: Records, block: Doubles) -> Doubles:
    """Return the features of records, of which those of one person go together."""
    owners = None if records.ids is None else np.unique(records.ids, return_inverse=True)[1]
    try:
        return statistic.features(block, owners)
    except NoFitError as error:
        record = int(records.rows[error.row])
        raise no_fit(error, statistic, record, persons=owners is not None) from None


def no_fit(
    error: NoFitError, statistic: Statistic, record: int, *, persons: bool = False
) -> ValueError:
    """Name the record, or the person, without whom a statistic does not exist, and the remedy."""
    what, column = statistic.kind.replace("-", " "), visible(error.column)
    who = f"the person of record {record}" if persons else f"record {record}"
    source = column.partition("=")[0]  # of one of its levels, see --proportions
    remedy = f"leave the column out ({option('--exclude', source)}) or that record"
    if error.column in statistic.apart:
        remedy = "leave that record out"
    return ValueError(
        f"the {what} cannot be computed without {who}: nobody else tells of column {column!r}, "
        f"and what is published of it gives {who} away; {remedy}"
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
    return tuple(one for table in found.tables for one in _cells_of(table, owner, rows, risk))


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
            leakage=float(risk.leakage[worst]),
            advantage=float(risk.advantage[worst]),
            power=float(risk.power[worst]),
            above_half=int((risk.power[people] > 0.5).sum()),
        )
