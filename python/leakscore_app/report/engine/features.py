"""Statistics other than the mean: features of records, block by block, take the place of columns.

A table in memory is one block; its features are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from leakscore.statistics import (
    GLM,
    Counts,
    Cox,
    GroupMeans,
    KnownWeights,
    Mean,
    NoFitError,
    Several,
    Statistic,
)
from leakscore.typing import Flags
from leakscore_app._visible import visible
from leakscore_app.passes.cells import FOLLOWS, MeasureCells
from leakscore_app.passes.rows import SAMPLED, CountLevels, FirstPass, GroupedRecords, first_pass
from leakscore_app.report._model import Doubles
from leakscore_app.report.engine.pooled import CellsByGroup, GroupedSource, PooledCells, PooledLaw
from leakscore_app.report.engine.setup import AnalysisOptions
from leakscore_app.report.engine.survey import (
    Judged,
    Passes,
    in_memory,
    in_one_block,
    judged_of,
    law_of,
    named_by,
    records_of,
)
from leakscore_app.tables import files
from leakscore_app.tables.columns import APART, ASKED, NOT_PUBLISHED
from leakscore_app.tables.doubts import option
from leakscore_app.tables.sources.blocks import ROWS, Block, Source, Span
from leakscore_app.tables.sources.opened import Opened
from leakscore_app.tables.table import COMPUTED, Records, Table, too_few

UNCOUNTED = "counts are published only"
_WEIGHTS = "it holds the weights, which everybody knows"
_NUMBERS = 1 << 25  # of a block, at most: 256 MB
_BY_GROUP = 1 << 22  # the same of a table by group, whose features are put together of parts
_FEWEST = 1024  # rows of a block

Integers = npt.NDArray[np.int64]
Levels: TypeAlias = Mapping[str, tuple[str, ...]]


# --- what a statistic is of ----------------------------------------------------------------------


def only_counts(statistic: Statistic) -> bool:
    """Whether only counts are published; then no column of numbers is."""
    return all(isinstance(part, Counts) for part in parts_of(statistic))


def parts_of(statistic: Statistic) -> Sequence[Statistic]:
    """Return the statistics that are published together."""
    return statistic.parts if isinstance(statistic, Several) else (statistic,)


def categories_of(statistic: Statistic) -> tuple[str, ...]:
    """Return the columns of categories that a statistic names."""
    given = [getattr(part, "by", ()) for part in parts_of(statistic)]
    return tuple(dict.fromkeys(name for by in given for name in by))


def learns(statistic: Statistic) -> bool:
    """Whether features depend on estimates from the records, or from their moments."""
    return any(type(part).prepare is not Statistic.prepare for part in parts_of(statistic))


def by_group(bound: Statistic) -> Iterator[tuple[Counts | GroupMeans, list[int]]]:
    """Yield the tables by group in a statistic, and the places of their columns in a block."""
    whole = ((bound, list(range(len(bound.columns)))),)
    for part, places in bound.tables if isinstance(bound, Several) else whole:
        if isinstance(part, (Counts, GroupMeans)):
            yield part, places


def no_fit(
    error: NoFitError, statistic: Statistic, record: int, *, persons: bool = False
) -> ValueError:
    """Name the record, or the person, without which a statistic does not exist, and the remedy."""
    what = "Cox model" if statistic.kind == "cox" else statistic.kind.replace("-", " ")
    column = visible(error.column)
    who = f"the person of record {record}" if persons else f"record {record}"
    source = column.partition("=")[0]  # of one of its levels, see --proportions
    remedy = f"leave the column out ({option('--exclude', source)}) or that record"
    if source in getattr(statistic, "by", ()):
        remedy = f"leave {visible(source)!r} out of --factors, or leave that record out"
    elif error.column in statistic.apart:
        remedy = "leave that record out"
    return ValueError(
        f"the {what} cannot be computed without {who}: nobody else tells of column {column!r}, "
        f"and what is published of it gives {who} away; {remedy}"
    )


def require_weights(name: str, weights: Doubles, start: int) -> None:
    """Refuse weights that are missing, infinite or negative; `start` records come before these."""
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"The weights ({visible(name)!r}) must be finite and at least 0, not "
            f"{float(weights[row])} in record {start + row + 1} (counting from 1)"
        )


# --- counting groups -----------------------------------------------------------------------------


def levels_of(
    source: Source, passes: Passes, groups: Levels, *, crossed: bool
) -> tuple[Levels, dict[str, Integers], GroupedRecords]:
    """Count the records of each level.

    Parameters
    ----------
    source : Source
        The columns of categories first, then those of numbers.
    passes : Passes
    groups : dict
        Column of categories -> all of its levels.
    crossed : bool
        Whether combinations of levels are counted.

    Returns
    -------
    levels : dict
        The levels of judged records.
    numbers : dict
        Column -> place of each level of `groups` among these, where some are absent.
    counted : GroupedRecords
    """
    sizes = tuple(map(len, groups.values()))
    counted: GroupedRecords = passes(source, CountLevels(sizes, crossed), "counting groups")
    levels, numbers = {}, {}
    for (name, given), count in zip(groups.items(), counted.levels, strict=True):
        levels[name] = tuple(given[k] for k in np.flatnonzero(count).tolist())
        if len(levels[name]) < len(given):
            numbers[name] = np.cumsum(count > 0) - 1
    return levels, numbers, counted


# --- blocks of features --------------------------------------------------------------------------


def cell_columns(statistic: Statistic, values: Doubles) -> Doubles:
    """Return the number of each record's cell in each table by group, (k, tables)."""
    cells = [table.cell_of(values[:, places]) for table, places in by_group(statistic)]
    return np.column_stack([np.empty((len(values), 0)), *cells])


@dataclass(frozen=True, eq=False)
class Features(Source):
    """The features of a statistic as the columns of a table; `columns` are the required ones.

    The features of a row are NaN if a column that is read is missing or infinite in it.

    Attributes
    ----------
    read : tuple of str
        Columns of the parts.
    statistic : Statistic
        Bound to some of them, and prepared.
    cells : bool
        Whether each record's features are followed by its cell number, for each table by group.
    numbers : dict
        Column of categories -> number in the statistic of each level that is read, where these
        differ.
    owners : (N,) ndarray of int, optional
        The person of each row, where these may have several.
    once : bool
        Whether equal rows of a block are computed once, as tables of counts hold few distinct ones.
    """

    read: tuple[str, ...] = ()
    statistic: Statistic = field(default_factory=Mean)
    cells: bool = False
    numbers: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    owners: npt.NDArray[np.intp] | None = None
    once: bool = False

    def blocks(self, span: Span | None = None) -> Iterator[Block]:
        """Yield the features of the blocks of a span, or of all parts in order."""
        at = {name: j for j, name in enumerate(self.statistic.names)}
        chosen = [at[name] for name in self.columns]
        tables = list(by_group(self.statistic)) if self.cells else []
        for block, complete, rows in self.inputs(span):
            place = None
            if self.once:
                complete, rows, place = _once(complete, rows)
            values = np.full((len(complete), len(chosen) + len(tables)), np.nan)
            if complete.any():
                features = self._fitted(block.start, complete, rows)
                if chosen != list(range(features.shape[1])):
                    features = features[:, chosen]
                if self.cells:
                    features = np.hstack([features, cell_columns(self.statistic, rows)])
                values[complete] = features
            yield Block(block.number, block.start, values, place)

    @property
    def table(self) -> Source:
        """Names of the columns that are read."""
        return Source(self.parts, self.read, self.size, self.missing, self.levels)

    def inputs(
        self, span: Span | None = None
    ) -> Iterator[tuple[Block, npt.NDArray[np.bool_], Doubles]]:
        """Yield blocks, which of their rows are complete, and these rows for the statistic."""
        of = [self.read.index(name) for name in self.statistic.columns]
        for block in self.table.blocks(span):
            complete = np.asarray(np.isfinite(block.values).all(axis=1))
            self._require_weights(block)
            rows = block.values[:, of] if complete.all() else block.values[complete][:, of]
            for name, numbers in self.numbers.items():
                at = self.statistic.columns.index(name)
                rows[:, at] = numbers[rows[:, at].astype(np.intp)]
            yield block, complete, rows

    def _fitted(self, start: int, complete: npt.NDArray[np.bool_], rows: Doubles) -> Doubles:
        """Return the features of the complete rows of a block, by person if these have several."""
        owners = self.owners
        if owners is not None:
            owners = np.unique(
                owners[start : start + len(complete)][complete], return_inverse=True
            )[1]
        try:
            with np.errstate(over="ignore"):  # what is infinite is refused by name
                return self.statistic.features(rows, owners)
        except NoFitError as error:
            record = start + int(np.flatnonzero(complete)[error.row]) + 1
            raise no_fit(error, self.statistic, record, persons=owners is not None) from None

    def _require_weights(self, block: Block) -> None:
        """Refuse a missing or invalid weight: without it there is no weighted mean."""
        name = getattr(self.statistic, "weights", None)
        if name is not None:
            require_weights(name, block.values[:, self.read.index(name)], block.start)


def _once(complete: Flags, rows: Doubles) -> tuple[Flags, Doubles, Integers]:
    """Return the distinct rows of codes, an incomplete one among them, and each row's place.

    See `Features.once`.
    """
    sizes = (rows.max(axis=0, initial=0) + 1).astype(np.intp)
    cell = np.ravel_multi_index(tuple(rows.astype(np.intp).T), tuple(sizes))
    present = np.bincount(cell) > 0
    place = np.full(len(complete), np.count_nonzero(present))
    place[complete] = (np.cumsum(present) - 1)[cell]
    cells = np.unravel_index(np.flatnonzero(present), tuple(sizes))
    return np.arange(len(cells[0]) + 1) < len(cells[0]), np.column_stack(cells).astype(float), place


# --- what is judged ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Needed:
    """The first pass over some columns, for rows in which all numbers that are read are finite.

    Attributes
    ----------
    columns : tuple of int
    groups : int
        Number of leading columns of categories.
    weights : str, optional
        Name of the last of `columns`, if it holds weights.
    """

    columns: tuple[int, ...]
    groups: int
    weights: str | None

    def __call__(self, block: Block) -> FirstPass:
        """Return the first pass's results of a block; refuse invalid weights."""
        values, numbers = block.values[:, self.columns], block.values[:, self.groups :]
        if self.weights is not None:
            require_weights(self.weights, values[:, -1], block.start)
        absent, infinite = (test(numbers).any(axis=1) for test in (np.isnan, np.isinf))
        values[infinite, -1] = np.inf  # so that it is lost for the reason for which the row is
        values[absent, -1] = np.nan
        return first_pass(Block(block.number, block.start, values))


def features_of(
    opened: Opened, passes: Passes, options: AnalysisOptions
) -> tuple[Judged, Statistic]:
    """Judge what is published: columns, or features of them, whose columns are judged first.

    Returns
    -------
    Judged, Statistic
        The features, and the prepared statistic.
    """
    statistic, reading = options.statistic or Mean(), _reading(options)
    if isinstance(statistic, Mean):
        judged = judged_of(opened, passes, **reading)
        return judged, statistic.on(judged.columns)
    base, features = _bound_of(opened, passes, statistic, reading, whole=False)
    judged = _judged(opened, features, passes, base, base.by_cell)
    cells = any(by_group(features.statistic))
    source = replace(cast(Features, judged.source), cells=cells)
    return replace(judged, source=source), features.statistic


def _reading(options: AnalysisOptions) -> dict[str, Any]:
    """Return the keywords of `judged_of` about columns."""
    return {name: getattr(options, name) for name in ("columns", "exclude", "missing")}


def _bound_of(
    opened: Opened, passes: Passes, statistic: Statistic, reading: Mapping[str, Any], *, whole: bool
) -> tuple[Judged, Features]:
    """Judge the columns of a statistic, and prepare it with estimates from the records.

    If all records are in one block (`whole`), the estimates are from these, not from moments.
    """
    if opened.source.rows == 0:
        raise ValueError(too_few(opened.name, 0, 0, {}))
    separate = named_by(opened, statistic, reading["exclude"])
    base = _base_of(opened, passes, statistic, separate, reading)
    groups, seen = opened.groups, base.seen
    source = replace(base.source, columns=(*groups, *base.source.columns, *separate))
    bound = statistic.on((*groups, *base.columns, *separate), groups)
    numbers: Mapping[str, npt.NDArray[np.int64]] = {}
    if groups:
        crossed = isinstance(statistic, GroupMeans) and not whole
        levels, numbers, counted = levels_of(source, passes, groups, crossed=crossed)
        seen = replace(seen, copies=counted.copies)
        bound = statistic.on(bound.columns, levels)
        by_cell: GroupedSource | None = None
        if isinstance(bound, GroupMeans) and not whole:
            by_cell = _grouped(source, passes, bound, base, of=(groups, numbers, counted))
        base = replace(base, groupless=counted.lost, by_cell=by_cell)
    _require_room(opened.source.rows if whole else None, len(bound.names))
    if separate or learns(bound):
        at = tuple(source.columns.index(name) for name in bound.columns)
        needed = _Needed(at, len(groups), getattr(bound, "weights", None))
        seen = passes(source, needed, "estimating what features need")
    most = None if whole else _BY_GROUP if groups else _NUMBERS
    features = _source_of(source, bound, numbers, most)
    if learns(bound):
        bound = _prepared(features, None if whole else seen)
        features = replace(features, statistic=bound, columns=bound.names)
    excluded = {name: why for name, why in base.excluded.items() if name not in separate}
    if isinstance(bound, KnownWeights):
        excluded |= dict.fromkeys(separate, _WEIGHTS)
    published = base.published + len(separate)
    return replace(base, seen=seen, excluded=excluded, published=published), features


def _grouped(
    source: Source,
    passes: Passes,
    statistic: GroupMeans,
    base: Judged,
    *,
    of: tuple[Levels, Mapping[str, Integers], GroupedRecords],
) -> GroupedSource | None:
    """Return the cells of means by group, if some are small.

    `of` are all levels, the numbers of levels as in `Features`, and the counts of records.
    """
    levels, numbers, counted = of
    sizes, crossed = tuple(map(len, levels.values())), np.flatnonzero(counted.cells)
    codes = np.zeros((len(crossed), len(statistic.columns)))
    for j, (name, code) in enumerate(zip(levels, np.unravel_index(crossed, sizes), strict=True)):
        codes[:, j] = numbers[name][code] if name in numbers else code
    places = np.array([source.columns.index(name) for name in base.columns], np.intp)
    cell, law = statistic.cell_of(codes), base.law
    measure = MeasureCells(sizes, crossed, cell, places, law.mean * law.scale, law.scale)
    return GroupedSource.of(source, passes, measure, counted.cells[crossed], statistic=statistic)


def _judged(
    opened: Opened,
    source: Features,
    passes: Passes,
    base: Judged,
    by_cell: CellsByGroup | None,
) -> Judged:
    """Judge the features by their moments, or by those of small cells."""
    if by_cell is None or isinstance(source.statistic, Counts):
        features = Opened(
            opened.name,
            opened.path,
            source,
            source.statistic.names,
            opened.digest,
            understood=True,
            owners=opened.owners,
        )
        judged = judged_of(features, passes, rounding=COMPUTED)
        if isinstance(source.statistic, Counts):
            judged = replace(judged, law=PooledLaw.of_counts(judged.law))
    else:
        chosen, others = by_cell.moments.feature_names(by_cell.statistic.names, by_cell.numbers)
        judged = replace(
            base,
            source=replace(source, columns=chosen),
            law=by_cell.law,
            columns=chosen,
            excluded=others,
            dependent=tuple(name for name, why in others.items() if why == FOLLOWS),
            counting=(),
        )
    seen, read = judged.seen, base.seen  # features are missing wherever a column that is read is
    return replace(
        base,
        source=judged.source,
        seen=replace(seen, missing=read.missing, infinite=read.infinite, copies=read.copies),
        law=judged.law,
        columns=judged.columns,
        excluded={**base.excluded, **judged.excluded},
        dependent=(*base.dependent, *judged.dependent),
        counting=judged.counting,
    )


def _prepared(features: Features, seen: FirstPass | None) -> Statistic:
    """Prepare a statistic by moments, or by the records of the only block."""
    if seen is not None:
        return features.statistic.prepare(seen.moments)
    ((_, complete, rows),) = features.inputs()
    try:
        return features.statistic.prepare(rows)
    except NoFitError as error:
        record = int(np.flatnonzero(complete)[error.row]) + 1
        raise no_fit(error, features.statistic, record) from None


def _require_room(rows: int | None, features: int) -> None:
    """Refuse more features than memory may hold, of a sample or of a long table in memory."""
    sampled, rows = rows is None, SAMPLED if rows is None else rows
    needed = 8 * rows * features
    if needed > files.MAX_MEMORY and (sampled or rows > ROWS):
        raise ValueError(
            f"{features} features of {'a sample of ' * sampled}{rows} records need "
            f"{files.shown_size(needed)} of memory, more than "
            f"{files.shown_size(files.MAX_MEMORY)}: publish fewer columns or coarser groups"
            f"{'' if sampled else ', or judge a part of the records'}"
        )


def _base_of(
    opened: Opened,
    passes: Passes,
    statistic: Statistic,
    separate: tuple[str, ...],
    reading: Mapping[str, Any],
) -> Judged:
    """Judge the columns of numbers; counts alone, or a model of factors alone, have none."""
    columns, exclude = reading["columns"], reading["exclude"]
    among = opened.requested if columns is None else columns
    requested = {name for name in opened.columns if among is None or name in among} - set(exclude)
    alone = isinstance(statistic, (GLM, Cox)) and bool(statistic.by)
    alone = alone and {*(columns or ()), *exclude} <= {*opened.columns}
    if not only_counts(statistic) and (not alone or requested - {*opened.excluded, *separate}):
        return judged_of(opened, passes, **reading, separate=separate)
    why = dict.fromkeys(opened.columns, ASKED if alone else UNCOUNTED)
    why |= dict.fromkeys(separate, APART) | opened.excluded
    none = np.empty(0)
    return Judged(
        source=replace(opened.source, columns=()),
        seen=first_pass(Block(0, 0, none[:, np.newaxis])),
        law=law_of(none, np.empty((0, 0)), 0, (), np.empty(0, np.intp)),
        columns=(),
        excluded=why,
        dependent=(),
        counting=(),
        unjudged=(),
        published=sum(why[name] not in NOT_PUBLISHED for name in requested),
    )


def _source_of(
    source: Source,
    statistic: Statistic,
    numbers: Mapping[str, npt.NDArray[np.int64]],
    most: int | None,
) -> Features:
    """Return a source of features; above `most` features blocks have fewer rows."""
    size, once = source.size, False
    if most is not None and only_counts(statistic):
        levels = (statistic.levels or {}).values()
        once = prod(len(each) for each in levels) <= ROWS
    while not once and most is not None and size > _FEWEST and size * len(statistic.names) > most:
        size //= 2
    read = vars(source) | {"columns": statistic.names, "size": size, "read": source.columns}
    return Features(**read, statistic=statistic, numbers=numbers, once=once)


# --- a table in memory ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Featured:
    """The judged features of a table in memory.

    Attributes
    ----------
    opened : Opened
        The table.
    judged : Judged
    records : Records
        The features of the records.
    statistic : Statistic
        Of the table's columns.
    block : ndarray
        Records as `Statistic.features` takes them; of a mean or a sum, `records.values`.
    pooled : PooledCells or None
        The cells, where some are too small for a covariance of their own.
    """

    opened: Opened
    judged: Judged
    records: Records
    statistic: Statistic
    block: Doubles
    pooled: PooledCells | None = None

    @cached_property
    def tables(self) -> list[tuple[tuple[str, ...], Integers]]:
        """The tables by group: names of cells, and the cell of each record, (N,)."""
        tables = by_group(self.statistic)
        return [(table.cells, table.cell_of(self.block[:, places])) for table, places in tables]

    @cached_property
    def weights(self) -> Doubles | None:
        """Known weights of the records, (N,), or None."""
        return self.statistic.weights_of(self.block)


def featured(table: Table, options: AnalysisOptions) -> Featured:
    """Return the features of a table; its records themselves for the mean or the sum.

    A shrinkage in the options takes the place of pooled covariances.
    """
    opened, statistic = in_one_block(table), options.statistic or Mean()
    if isinstance(statistic, Mean):
        judged, mean = features_of(opened, in_memory, options)
        records = records_of(table, judged)
        return Featured(opened, judged, records, mean, records.values)
    base, source = _bound_of(opened, in_memory, statistic, _reading(options), whole=True)
    ((_, complete, block),) = source.inputs()
    chosen, cells = source.statistic, None
    ids = None if table.ids is None else table.ids[complete]
    single = ids is None or len(np.unique(ids)) == len(ids)
    if isinstance(chosen, (Counts, GroupMeans)) and options.shrinkage is None and single:
        numbers = np.ascontiguousarray(block[:, len(opened.groups) :])
        cells = PooledCells.of(numbers, chosen.cell_of(block), chosen)
        cells = cells if cells is not None and cells.needed else None
    if cells is None:
        source = replace(source, owners=opened.owners)
    judged = _judged(opened, source, in_memory, base, cells)
    return Featured(opened, judged, records_of(table, judged), chosen, block, cells)
