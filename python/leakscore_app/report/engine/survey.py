"""The choice of judged rows and columns, from a first pass over a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore.leakage.table_law import TableLaw
from leakscore.statistics import Statistic
from leakscore_app._visible import listed, no_column, visible
from leakscore_app.passes.projections import MeasureUnexplained, Triangle, Triangulate
from leakscore_app.passes.rows import FirstPass, JudgedRows, UnusableRows, first_pass
from leakscore_app.passes.runner import run
from leakscore_app.report._model import Doubles
from leakscore_app.report.engine.pooled import GroupedSource
from leakscore_app.tables.columns import APART, ASKED, NOT_PUBLISHED
from leakscore_app.tables.sources.blocks import Source
from leakscore_app.tables.sources.opened import Opened, of_table
from leakscore_app.tables.table import (
    CONSTANT,
    EXACT,
    NOTHING,
    ExcludedRows,
    Explained,
    Records,
    Table,
    Unexplained,
    cells_by_column,
    combinations,
    copied_columns,
    dependent_columns,
    differ,
    require_squares,
    surely_independent,
    too_few,
)

Passes: TypeAlias = Callable[[Source, Callable[..., Any], str], Any]
GROUPLESS = "its group is not known"


@dataclass(frozen=True, eq=False)
class Judged:
    """The judged rows and columns of a table.

    Attributes
    ----------
    source : Source
        With the columns that are read.
    seen : FirstPass
    law : TableLaw
    columns : tuple of str
        The judged columns.
    excluded : dict
        Name of a column -> reason why it is not judged.
    dependent : tuple of str
    counting : tuple of str
        Columns that count the records.
    unjudged : tuple of str
        Published columns that the report says nothing about.
    published : int
        Number of published columns.
    groupless : UnusableRows
        Rows without a group.
    absent, infinite : dict
        Column of the table -> number of its cells that are missing, or infinite.
    by_cell : GroupedSource, optional
        The cells of a table by group, where some are small.
    """

    source: Source
    seen: FirstPass
    law: TableLaw
    columns: tuple[str, ...]
    excluded: Mapping[str, str]
    dependent: tuple[str, ...]
    counting: tuple[str, ...]
    unjudged: tuple[str, ...]
    published: int
    groupless: UnusableRows = field(default_factory=lambda: UnusableRows(0, ()))
    absent: dict[str, int] = field(default_factory=dict)
    infinite: dict[str, int] = field(default_factory=dict)
    by_cell: GroupedSource | None = None

    @property
    def excluded_rows(self) -> tuple[ExcludedRows, ...]:
        """The rows that are not judged, by reason."""
        lost: tuple[tuple[str, UnusableRows, dict[str, int]], ...] = (
            ("a value is missing", self.seen.missing, self.absent),
            ("a value is infinite", self.seen.infinite, self.infinite),
            (GROUPLESS, self.groupless, {}),
        )
        return tuple(
            ExcludedRows(why, rows.count, rows.first, dict(cells))
            for why, rows, cells in lost
            if rows.count
        )


def judged_of(
    opened: Opened,
    passes: Passes,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    missing: str = "rows",
    separate: Sequence[str] = (),
    rounding: float = EXACT,
) -> Judged:
    """Read the table once, and again where columns are left out that lose rows.

    Parameters
    ----------
    opened : Opened
    passes : callable
        Takes source, pass and its name; returns the merged result.
    columns, exclude, missing
        As in `leakscore_app.analyse`.
    separate : sequence of str
        Columns that a statistic names.
    rounding : float
        Relative rounding error of the numbers.
    """
    requested = opened.requested if columns is None else columns
    excluded = dict.fromkeys(separate, APART)
    chosen = _chosen_columns(opened, columns, exclude, excluded)
    if opened.source.rows == 0:
        raise ValueError(too_few(opened.name, 0, 0, {}))
    source = replace(opened.source, columns=tuple(chosen))
    opened = replace(opened, source=source)
    seen: FirstPass = passes(source, first_pass, "reading the table")
    useless, refused = _useless(opened, seen, requested or (), missing)
    excluded |= useless
    published = [name for name in opened.columns if excluded.get(name) not in NOT_PUBLISHED]
    for why in (refused[name] for name in refused if name not in excluded):
        raise ValueError(why)
    places = {name: j for j, name in enumerate(source.columns)}
    if any(seen.holes[places[name]] for name in useless):  # rows were lost by them alone
        read = tuple(name for name in source.columns if name not in excluded)
        _require_columns(opened, read, excluded)
        source = replace(source, columns=read)
        seen = passes(source, first_pass, "reading the table again")
    kept = [j for j, name in enumerate(source.columns) if name not in excluded]
    _require_columns(opened, kept, excluded)
    _require_rows(opened, seen, source.columns)
    law, dependent, kept = _law(opened, source, seen, kept, passes, excluded, rounding)
    names = tuple(source.columns[j] for j in kept)
    judged = {*names, *dependent}
    counting = tuple(
        source.columns[j] for j in kept if seen.judged.stepping[j] and seen.moments.count > 1
    )
    # What is published and may tell anything: text, or a column with holes.
    unjudged = [n for n in published if n not in judged and excluded.get(n) != CONSTANT]
    ordered = sorted(excluded, key={n: j for j, n in enumerate(opened.columns)}.__getitem__)
    return Judged(
        source=source,
        seen=seen,
        law=law,
        columns=names,
        excluded={name: excluded[name] for name in ordered},
        dependent=dependent,
        counting=counting,
        unjudged=tuple(unjudged),
        published=len(published),
        absent=cells_by_column(source.columns, seen.absent),
        infinite=cells_by_column(source.columns, seen.holes - seen.absent),
    )


def named_by(opened: Opened, statistic: Statistic, exclude: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of numbers that a statistic names; refuse those that are not judged."""
    beside = set(opened.groups) - set(opened.columns)
    names = tuple(name for name in statistic.apart if name not in beside)
    for place, name in enumerate(names):
        why = opened.refused.get(name) or opened.excluded.get(name)
        if name in exclude or why == ASKED:
            why = "--exclude or --columns leaves it out"
        elif name in names[:place]:
            why = "two options name it"
        elif any(column.startswith(f"{name}=") for column in opened.columns):
            why = "--proportions takes it for categories"
        if why:
            raise ValueError(f"column {visible(name)!r} must be judged, but: {why}")
    return tuple(name for name in names if name in opened.columns)


def _chosen_columns(
    opened: Opened, columns: Sequence[str] | None, exclude: Sequence[str], excluded: dict[str, str]
) -> list[str]:
    for name in (*(columns or ()), *exclude):
        if name not in opened.columns:
            raise ValueError(no_column(opened.name, name, opened.columns))
    chosen = []
    for name in opened.columns:
        if name in excluded:
            continue
        if (columns is not None and name not in columns) or name in exclude:
            excluded[name] = ASKED
        elif name in opened.refused:
            raise ValueError(opened.refused[name])
        elif name in opened.excluded:
            excluded[name] = opened.excluded[name]
        else:
            chosen.append(name)
    _require_columns(opened, chosen, excluded)
    return chosen


def _useless(
    opened: Opened, seen: FirstPass, requested: Collection[str], missing: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Return columns to exclude (empty ones, row names, those with holes) and those to refuse."""
    names = opened.source.columns
    useless, refused = opened.looked_at(seen.columns, seen.rows, requested)
    for name, absent, holes in zip(names, seen.absent, seen.holes, strict=True):
        if absent == seen.rows:
            useless[name] = NOTHING
        elif missing == "columns" and holes and name not in useless:
            useless[name] = f"missing or infinite in {holes} record(s)"
    return useless, refused


def _require_columns(opened: Opened, kept: Sequence[Any], excluded: dict[str, str]) -> None:
    if not len(kept):
        reasons = listed([f"{name}: {why}" for name, why in excluded.items()], 3, "; ")
        raise ValueError(f"{opened.name} has no column of numbers to judge ({reasons})")


def _require_rows(opened: Opened, seen: FirstPass, names: Sequence[str]) -> None:
    rows = seen.moments.count
    if rows < 3:
        lost = seen.missing.count + seen.infinite.count
        raise ValueError(too_few(opened.name, rows, lost, cells_by_column(names, seen.holes)))


def _law(
    opened: Opened,
    source: Source,
    seen: FirstPass,
    kept: list[int],
    passes: Passes,
    excluded: dict[str, str],
    rounding: float,
) -> tuple[TableLaw, tuple[str, ...], list[int]]:
    """Return the law of the columns that vary and do not follow from others."""
    columns, read = seen.judged, np.arange(len(source.columns))
    low, high = columns.low[kept], columns.high[kept]
    require_squares(opened.name, [source.columns[j] for j in kept], low, high)
    varies = differ(low, high)
    for j, keep in zip(kept, varies, strict=True):
        if not keep:
            excluded[source.columns[j]] = CONSTANT
    kept = [j for j, keep in zip(kept, varies, strict=True) if keep]
    _require_columns(opened, kept, excluded)
    rows = seen.moments.count
    law = law_of(seen.moments.mean, seen.moments.cov, rows, kept, read)
    names = [source.columns[j] for j in kept]
    sources: dict[int, list[int]] = {}
    if rows < len(kept) + 2:  # any column is a combination of so many others
        every = passes(source, partial(JudgedRows.of, law), "looking for copied columns")
        sources = copied_columns(every.different)
    elif not surely_independent(law.cov):
        triangle: Triangle = passes(source, Triangulate(law), "looking for dependent columns")
        sources = combinations(triangle.triangle)
        if sources:
            explained = Explained.of(triangle.triangle, rounding)
            rest = MeasureUnexplained(law, explained, opened.owners)
            remainder: Unexplained = passes(source, rest, "looking at dependent columns")
            remainder.require_spread(opened.name, names)
    excluded |= dependent_columns(names, sources)
    independent = [k for k in range(len(kept)) if k not in sources]
    return (
        law.with_columns(independent) if sources else law,
        tuple(names[k] for k in sources),
        [kept[k] for k in independent],
    )


def in_one_block(table: Table) -> Opened:
    """Open a table in memory as one block."""
    return of_table(table).with_size(max(1, len(table.values)))


def in_memory(source: Source, each: Callable[..., Any], what: str) -> Any:  # noqa: ARG001
    """Return the result of a pass over a table in memory."""
    return run(source, each).result()


def records_of(table: Table, judged: Judged) -> Records:
    """Return the judged records of a table in memory."""
    (block,) = judged.source.blocks()
    complete = np.asarray(np.isfinite(block.values).all(axis=1))
    values = block.values if complete.all() else block.values[complete]
    if judged.columns != judged.source.columns:
        values = values[:, [judged.source.columns.index(name) for name in judged.columns]]
    return Records(
        values=np.ascontiguousarray(values),
        rows=np.flatnonzero(complete) + 1,
        lines=None if table.lines is None else table.lines[complete],
        ids=None if table.ids is None else table.ids[complete],
    )


def law_of(
    mean: Doubles,
    cov: Doubles,
    rows: int,
    kept: Sequence[int],
    read: npt.NDArray[np.intp],
    limits: Doubles | None = None,
) -> TableLaw:
    """Return the law of some columns, in units of their standard deviations."""
    at = np.array(kept, dtype=np.intp)
    scale = np.sqrt(np.diag(cov)[at])
    part = cov[np.ix_(at, at)] / scale / scale[:, np.newaxis]
    return TableLaw(at, read, rows, scale, mean[at] / scale, part, limits)
