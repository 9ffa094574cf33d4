"""What of a long table is judged: the first pass, and what it says of rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore.leakage.table_law import TableLaw
from leakscore_app._visible import listed, visible
from leakscore_app.passes.first import Columns, First, Lost, first
from leakscore_app.passes.projections import Remaining, Triangle, Triangulate
from leakscore_app.report._model import Doubles
from leakscore_app.report.engine.features import GROUPLESS
from leakscore_app.report.engine.pooled import GroupedSource
from leakscore_app.tables.columns import ASKED, NOT_PUBLISHED
from leakscore_app.tables.doubts import option
from leakscore_app.tables.grammar.codes import code_at_end
from leakscore_app.tables.labels import plain
from leakscore_app.tables.records import (
    CONSTANT,
    EXACT,
    NOTHING,
    Explained,
    LeftColumn,
    LeftRows,
    Remainder,
    cells_by_column,
    combinations,
    dependent_columns,
    differ,
    require_squares,
    surely_independent,
    too_few,
)
from leakscore_app.tables.row_names import INDEX, dates_such_as, names_rows
from leakscore_app.tables.sources.blocks import Source
from leakscore_app.tables.sources.opened import Opened

Passes: TypeAlias = Callable[[Source, Callable[..., Any], str], Any]
_FIRST_DAY, _LAST_DAY = 18_000_101, 22_000_101


@dataclass(frozen=True, eq=False)
class Judged:
    """What of a table is judged.

    Attributes
    ----------
    source : Source
        With the columns that are read.
    found : First
    law : TableLaw
    columns : tuple of str
        That are judged.
    left : tuple of LeftColumn
    dependent : tuple of str
    counting : tuple of str
        Columns that count the records.
    unjudged : tuple of str
        Columns that are published and of which nothing here speaks.
    published : int
        How many columns are.
    groupless : Lost
        Rows without a group.
    absent, infinite : dict
        Column of the table -> its cells that are missing, or infinite.
    by_cell : GroupedSource, optional
        The cells of a table by group, where some hold few records.
    """

    source: Source
    found: First
    law: TableLaw
    columns: tuple[str, ...]
    left: tuple[LeftColumn, ...]
    dependent: tuple[str, ...]
    counting: tuple[str, ...]
    unjudged: tuple[str, ...]
    published: int
    groupless: Lost = field(default_factory=lambda: Lost(0, ()))
    absent: dict[str, int] = field(default_factory=dict)
    infinite: dict[str, int] = field(default_factory=dict)
    by_cell: GroupedSource | None = None

    @property
    def left_rows(self) -> tuple[LeftRows, ...]:
        """Which rows are not judged."""
        lost: tuple[tuple[str, Lost, dict[str, int]], ...] = (
            ("a value is missing", self.found.missing, self.absent),
            ("a value is infinite", self.found.infinite, self.infinite),
            (GROUPLESS, self.groupless, {}),
        )
        return tuple(
            LeftRows(why, rows.count, rows.first, dict(cells))
            for why, rows, cells in lost
            if rows.count
        )


def judged_of(
    opened: Opened,
    passes: Passes,
    *,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    missing: str,
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
    rounding : float
        Share of a number that is.
    """
    asked = opened.asked if columns is None else columns
    left: dict[str, str] = {}
    wanted = _wanted(opened, columns, exclude, left)
    source = replace(opened.source, columns=tuple(wanted))
    found: First = passes(source, first, "reading the table")
    published = [name for name in opened.columns if left.get(name) not in NOT_PUBLISHED]
    if opened.sums:
        _refuse_sums(opened, found)
    useless = _useless(opened, source.columns, found, asked=asked, missing=missing)
    published = [name for name in published if useless.get(name) not in NOT_PUBLISHED]
    left |= useless
    _require_codes(opened, source.columns, found, left)
    seen = {name: j for j, name in enumerate(source.columns)}
    if any(found.holes[seen[name]] for name in useless):  # rows were lost by them alone
        read = tuple(name for name in source.columns if name not in left)
        _require_columns(opened, read, left)
        source = replace(source, columns=read)
        found = passes(source, first, "reading the table again")
    kept = [j for j, name in enumerate(source.columns) if name not in left]
    _require_columns(opened, kept, left)
    _require_rows(opened, found, source.columns)
    law, dependent, kept = _law(opened, source, found, kept, passes, left, rounding)
    names = tuple(source.columns[j] for j in kept)
    counting = tuple(
        source.columns[j] for j in kept if found.judged.stepping[j] and found.moments.count > 1
    )
    order = {name: j for j, name in enumerate(opened.columns)}
    return Judged(
        source=source,
        found=found,
        law=law,
        columns=names,
        left=tuple(LeftColumn(one, left[one]) for one in sorted(left, key=order.__getitem__)),
        dependent=dependent,
        counting=counting,
        unjudged=tuple(_unjudged(opened, published, left, names, dependent)),
        published=len(published),
        absent=cells_by_column(source.columns, found.absent),
        infinite=cells_by_column(source.columns, found.holes - found.absent),
    )


def _unjudged(
    opened: Opened,
    published: Sequence[str],
    left: dict[str, str],
    names: Sequence[str],
    dependent: Sequence[str],
) -> list[str]:
    """Name the published columns that may tell anything: text, or columns with holes."""
    fine = {*names, *dependent}
    harmless = {CONSTANT}
    return [
        name
        for name in published
        if name not in fine and left.get(name) not in harmless and name in opened.columns
    ]


def _wanted(
    opened: Opened, columns: Sequence[str] | None, exclude: Sequence[str], left: dict[str, str]
) -> list[str]:
    for name in (*(columns or ()), *exclude):
        if name not in opened.columns:
            raise ValueError(
                f"{opened.name} has no column {visible(name)!r}; it has {listed(opened.columns)}"
            )
    wanted = []
    for name in opened.columns:
        if (columns is not None and name not in columns) or name in exclude:
            left[name] = ASKED
        elif name in opened.refused:
            raise ValueError(opened.refused[name])
        elif name in opened.left:
            left[name] = opened.left[name]
        else:
            wanted.append(name)
    _require_columns(opened, wanted, left)
    return wanted


def _useless(
    opened: Opened,
    names: Sequence[str],
    found: First,
    *,
    asked: Sequence[str] | None,
    missing: str,
) -> dict[str, str]:
    """Return the columns that hold nothing, or names of rows, or holes where these decide."""
    useless = {}
    for j, name in enumerate(names):
        why = _names_of_rows(opened, name, found, j)
        if found.absent[j] == found.rows:
            useless[name] = NOTHING
        elif why and name not in (asked or ()):
            useless[name] = why
        elif missing == "columns" and found.holes[j]:
            useless[name] = f"missing or infinite in {found.holes[j]} record(s)"
    return useless


def _names_of_rows(opened: Opened, name: str, found: First, j: int) -> str:
    """Say why a column of numbers counts, names or dates the records; empty if it does not."""
    if name in opened.index:
        return INDEX
    columns, rows = found.columns, found.rows
    whole, counting = bool(columns.whole[j]), bool(columns.counting[j])
    unnamed = name == opened.columns[0] and opened.named and (opened.unnamed or not name.strip())
    if opened.understood or name in opened.source.levels:
        return ""
    if opened.named and names_rows(
        name.strip(), unnamed=unnamed, whole=whole, counting=counting, rows=rows
    ):
        return INDEX
    days = float(columns.first[j])
    if whole and columns.dates[j] and _FIRST_DAY <= days < _LAST_DAY:
        return dates_such_as(days)
    return ""


def _require_columns(opened: Opened, kept: Sequence[Any], left: dict[str, str]) -> None:
    if not len(kept):
        reasons = "; ".join(f"{visible(name)}: {why}" for name, why in list(left.items())[:3])
        more = "; ..." if len(left) > 3 else ""
        raise ValueError(f"{opened.name} has no column of numbers to judge ({reasons}{more})")


def _require_rows(opened: Opened, found: First, names: Sequence[str]) -> None:
    rows = found.moments.count
    if rows < 3:
        lost = found.missing.count + found.infinite.count
        raise ValueError(too_few(opened.name, rows, lost, cells_by_column(names, found.holes)))


def _require_codes(
    opened: Opened, names: Sequence[str], found: First, left: dict[str, str]
) -> None:
    """Refuse a column of a file with a number far from all others that looks like a code."""
    if not opened.codes:
        return
    columns = found.columns
    for j, name in enumerate(names):
        if name in left or not columns.counts[j]:
            continue
        code = code_at_end(columns.ends[j], float(columns.sums[j] / columns.counts[j]))
        if code is not None:
            shown = plain(code)
            raise ValueError(
                f"{opened.name}, column {visible(name)!r}: {shown} lies far from all others: "
                f"--missing-values {shown} if it stands for a missing value, --missing-values none "
                f"if it is a value, {option('--exclude', visible(name))} leaves the column out"
            )


def _refuse_sums(opened: Opened, found: First) -> None:
    """Refuse a file whose last record is the sum or the mean of all others in every column."""
    columns = found.columns
    if found.rows < 4 or not len(columns.counts):
        return
    last = columns.tail[-1]
    known = np.isfinite(last)
    if 2 * int(known.sum()) < len(last) or not known.any():
        return
    others, sums = columns.counts[known] - 1, columns.sums[known] - last[known]
    sizes = columns.sizes[known] - np.abs(last[known])
    for what, divisor in (("sum", np.ones(len(others))), ("mean", np.maximum(others, 1))):
        near = np.abs(last[known] - sums / divisor) <= 1e-9 * sizes / divisor
        varied = columns.low[known] < columns.high[known]
        if near.all() and varied.any() and (what == "mean" or _stands_out(columns, known)):
            raise ValueError(
                f"{opened.name}, record {found.rows}: the record is the {what} of all others in "
                "every column: --skip-last 1 leaves it out, --skip-last 0 keeps all"
            )


def _stands_out(columns: Columns, known: npt.NDArray[np.bool_]) -> bool:
    """Tell whether the last record is the largest in size of some column: no chance sum of 0."""
    largest = np.maximum(np.abs(columns.low[known]), np.abs(columns.high[known]))
    return bool((np.abs(columns.tail[-1][known]) >= largest).any())


def _law(
    opened: Opened,
    source: Source,
    found: First,
    kept: list[int],
    passes: Passes,
    left: dict[str, str],
    rounding: float,
) -> tuple[TableLaw, tuple[str, ...], list[int]]:
    """Return the law of the columns that vary and do not follow from others."""
    columns, read = found.judged, np.arange(len(source.columns))
    low, high = columns.low[kept], columns.high[kept]
    require_squares(opened.name, [source.columns[j] for j in kept], low, high)
    varies = differ(low, high)
    for j, keep in zip(kept, varies, strict=True):
        if not keep:
            left[source.columns[j]] = CONSTANT
    kept = [j for j, keep in zip(kept, varies, strict=True) if keep]
    _require_columns(opened, kept, left)
    law = law_of(found.moments.mean, found.moments.cov, found.moments.count, kept, read)
    names = [source.columns[j] for j in kept]
    sources: dict[int, list[int]] = {}
    if not surely_independent(law.cov):
        triangle: Triangle = passes(source, Triangulate(law), "looking for dependent columns")
        sources = combinations(triangle.triangle)
        if sources:
            rest = Remaining(law, Explained.of(triangle.triangle, rounding))
            remainder: Remainder = passes(source, rest, "looking at dependent columns")
            remainder.require_spread(opened.name, names)
    for column in dependent_columns(names, sources):
        left[column.name] = column.reason
    independent = [k for k in range(len(kept)) if k not in sources]
    return (
        law.with_columns(independent),
        tuple(names[k] for k in sources),
        [kept[k] for k in independent],
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
