"""Other statistics than the mean of a long table: blocks of features, and cells, as its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from leakscore.statistics import GroupMeans, Mean, NoFitError, Regression, Statistic
from leakscore_app._visible import visible
from leakscore_app.passes.first import Copies, First, Lost, first
from leakscore_app.passes.scores import SAMPLED, InCells
from leakscore_app.report._model import LEVELS, Cell, Doubles, Narrowing
from leakscore_app.report.engine.crowd import Crowd
from leakscore_app.report.engine.features import UNCOUNTED, by_group, learns, no_fit, only_counts
from leakscore_app.report.engine.leakage import narrowed, released_leverages, risk_of
from leakscore_app.report.engine.pooled import FOLLOWS, CrossedLevels, GroupedSource, PooledLaw
from leakscore_app.report.engine.survey import Judged, Passes, judged_of
from leakscore_app.tables import memory_limit
from leakscore_app.tables.columns import NOT_PUBLISHED
from leakscore_app.tables.records import COMPUTED, LeftColumn
from leakscore_app.tables.sources.blocks import Block, Source, Span
from leakscore_app.tables.sources.opened import Opened

Integers = npt.NDArray[np.int64]
Levels: TypeAlias = Mapping[str, tuple[str, ...]]


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
    copies : Copies
        Of the records, by groups and numbers.
    """

    lost: Lost
    levels: tuple[Integers, ...]
    cells: Integers
    copies: Copies

    def merge(self, other: GroupedRecords) -> GroupedRecords:
        """Add later blocks."""
        return GroupedRecords(
            self.lost.merge(other.lost),
            tuple(one + more for one, more in zip(self.levels, other.levels, strict=True)),
            self.cells + other.cells,
            self.copies.merge(other.copies),
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
        lost = Lost.of(complete & ~known, block.start)
        copies = Copies.of(block.values[complete & known])
        return GroupedRecords(lost, tuple(levels), cells, copies)


def levels_of(
    source: Source, passes: Passes, statistic: Statistic, groups: Levels
) -> tuple[Levels, dict[str, Integers], GroupedRecords]:
    """Count the records of each level.

    Parameters
    ----------
    source : Source
        The columns of categories first, then those of numbers.
    passes : Passes
    statistic : Statistic
    groups : dict
        Column of categories -> all of its levels.

    Returns
    -------
    levels : dict
        Those that judged records have.
    numbers : dict
        Column -> which number each level of `groups` has among these, where not all are there.
    counted : GroupedRecords
    """
    sizes = tuple(map(len, groups.values()))
    means = isinstance(statistic, GroupMeans)
    found: GroupedRecords = passes(source, Group(sizes, means), "counting groups")
    levels, numbers = {}, {}
    for (name, given), count in zip(groups.items(), found.levels, strict=True):
        levels[name] = tuple(given[k] for k in np.flatnonzero(count).tolist())
        if len(levels[name]) < len(given):
            numbers[name] = np.cumsum(count > 0) - 1
    return levels, numbers, found


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


_NUMBERS = 1 << 25  # of a block, at most: 256 MB
_BY_GROUP = 1 << 22  # the same of a table by group, whose features are put together of parts
_FEWEST = 1024  # rows of a block


@dataclass(frozen=True, eq=False)
class Features(Source):
    """The features of a statistic as the columns of a table; `columns` are those that are wanted.

    Rows in which a column that is read is missing or infinite have no features: they are NaN.

    Attributes
    ----------
    read : tuple of str
        Columns of the parts.
    statistic : Statistic
        Bound to some of them, and prepared.
    cells : bool
        Whether the number of each record's cell follows its features, for each table by group.
    numbers : dict
        Column of categories -> which number each level that is read has in the statistic, where
        it is another one.
    """

    read: tuple[str, ...] = ()
    statistic: Statistic = field(default_factory=Mean)
    cells: bool = False
    numbers: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)

    def blocks(self, span: Span | None = None) -> Iterator[Block]:
        """Yield the features of the blocks of a span, or of all parts one after another."""
        rows = Source(self.parts, self.read, self.size, self.missing, self.memory, self.levels)
        of = [self.read.index(name) for name in self.statistic.columns]
        at = {name: j for j, name in enumerate(self.statistic.names)}
        chosen = [at[name] for name in self.columns]
        tables = list(by_group(self.statistic)) if self.cells else []
        for block in rows.blocks(span):
            complete = np.asarray(np.isfinite(block.values).all(axis=1))
            self._require_weights(block)
            values = np.full((len(complete), len(chosen) + len(tables)), np.nan)
            if complete.all():
                values = np.ascontiguousarray(self._fitted(block, complete, of, chosen))
            elif complete.any():
                values[complete] = self._fitted(block, complete, of, chosen)
            yield Block(block.number, block.start, values)

    def _fitted(
        self, block: Block, complete: npt.NDArray[np.bool_], of: list[int], chosen: list[int]
    ) -> Doubles:
        """Return the features of the complete rows of a block, of which each is another person."""
        rows = block.values if complete.all() else block.values[complete]
        try:
            return self._of(rows[:, of], chosen)
        except NoFitError as error:
            record = block.start + int(np.flatnonzero(complete)[error.row]) + 1
            raise no_fit(error, self.statistic, record) from None

    def _of(self, rows: Doubles, chosen: list[int]) -> Doubles:
        """Return the chosen features of complete rows, and their cells."""
        for name, numbers in self.numbers.items():
            at = self.statistic.columns.index(name)
            rows[:, at] = numbers[rows[:, at].astype(np.intp)]
        with np.errstate(over="ignore"):  # what is infinite is refused by name
            found = self.statistic.features(rows)
        if chosen != list(range(found.shape[1])):
            found = found[:, chosen]
        if self.cells:
            found = np.hstack([found, cell_columns(self.statistic, rows)])
        return found

    def _require_weights(self, block: Block) -> None:
        """Refuse a weight that is missing or none: without it there is no weighted mean."""
        name = getattr(self.statistic, "weights", None)
        if name is not None:
            require_weights(name, block.values[:, self.read.index(name)], block.start)


def require_weights(name: str, weights: Doubles, start: int) -> None:
    """Refuse weights that are missing, infinite or negative; `start` records lie above."""
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"Expected the weights ({visible(name)!r}) to be finite and at least 0, not "
            f"{float(weights[row])} in record {start + row + 1}"
        )


@dataclass(frozen=True)
class _Needed:
    """The first pass over some columns of the rows in which all that are read are finite.

    Attributes
    ----------
    columns : tuple of int
    weights : str, optional
        Name of the last of them, if it holds weights.
    """

    columns: tuple[int, ...]
    weights: str | None

    def __call__(self, block: Block) -> First:
        """Return what the first pass knows of a block; refuse what are no weights."""
        values = block.values[:, self.columns]
        if self.weights is not None:
            require_weights(self.weights, values[:, -1], block.start)
        absent, infinite = (test(block.values).any(axis=1) for test in (np.isnan, np.isinf))
        values[infinite, 0] = np.inf  # so that it is lost for the reason for which the row is
        values[absent, 0] = np.nan
        return first(Block(block.number, block.start, values))


@dataclass(frozen=True)
class Narrowest:
    """The record of largest leverage: its leverage, its number from 0, and the predictor."""

    leverage: float
    row: int
    column: str

    def merge(self, other: Narrowest) -> Narrowest:
        """Add later records."""
        return max(self, other, key=lambda narrowest: narrowest.leverage)


@dataclass(frozen=True)
class Narrow:
    """A pass that finds it; `places` are the columns of the regression in a block."""

    regression: Regression
    places: tuple[int, ...]

    def __call__(self, block: Block) -> Narrowest:
        """Look at the complete rows of a block."""
        complete = np.flatnonzero(np.isfinite(block.values).all(axis=1))
        if not len(complete):
            return Narrowest(-1.0, -1, "")
        values = block.values[complete][:, self.places]
        leverages = self.regression.leverages(values)
        worst = int(leverages.argmax())
        column = self.regression.column_of(values[worst])
        return Narrowest(float(leverages[worst]), block.start + int(complete[worst]), column)


def narrowing_in_blocks(
    source: Features, passes: Passes, regression: Regression, size: int, n: int
) -> Narrowing:
    """Return which of `size` records narrows the spread of the coefficients most, its shift aside.

    With a leverage as large as one that shows, it is one of few of many records.
    """
    rows = Source(
        source.parts, source.read, source.size, source.missing, source.memory, source.levels
    )
    places = tuple(source.read.index(name) for name in regression.columns)
    worst: Narrowest = passes(rows, Narrow(regression, places), "looking at leverages")
    leverage = float(released_leverages(np.float64(worst.leverage), size, n))
    return Narrowing(worst.row + 1, worst.column, leverage, float(narrowed(0.0, leverage)))


def features_of(
    opened: Opened,
    passes: Passes,
    statistic: Statistic,
    *,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    missing: str,
) -> tuple[Judged, Statistic]:
    """Judge the features of a statistic; its columns are judged first.

    Parameters
    ----------
    opened, passes, columns, exclude, missing
        As in `judged_of`.
    statistic : Statistic
        One that is `blockwise`.

    Returns
    -------
    Judged, Statistic
        The features, and the statistic with all that it must know.
    """
    apart = _apart(opened, statistic, exclude)
    base = _base_of(opened, passes, statistic, apart, columns, exclude, missing)
    groups, found = opened.groups, base.found
    source = replace(base.source, columns=(*groups, *base.source.columns, *apart))
    bound = statistic.on((*groups, *base.columns, *apart), groups)
    groupless, copies = Lost(0, ()), None if found is None else found.copies
    by_cell: GroupedSource | None = None
    numbers: Mapping[str, npt.NDArray[np.int64]] = {}
    if groups:
        groups, numbers, counted = levels_of(source, passes, bound, groups)
        groupless, copies = counted.lost, counted.copies
        bound = statistic.on(bound.columns, groups)
        _require_room(len(bound.names))
        by_cell = _grouped(source, passes, bound, base, of=(opened.groups, numbers, counted))
    elif apart or learns(bound):
        at = tuple(source.columns.index(name) for name in bound.columns)
        needed = _Needed(at, getattr(bound, "weights", None))
        found = passes(source, needed, "estimating what features need")
        copies, bound = found.copies, bound.prepare(found.moments)
    judged = _judged(_featured(opened, source, bound, numbers), passes, base, by_cell)
    none = Lost(0, ())
    left = [one for one in base.left if one.name not in apart]
    return replace(
        judged,
        source=replace(cast(Features, judged.source), cells=any(by_group(bound))),
        found=replace(
            judged.found,
            missing=none if found is None else found.missing,
            infinite=none if found is None else found.infinite,
            copies=copies or judged.found.copies,
        ),
        left=(*left, *judged.left),
        dependent=(*base.dependent, *judged.dependent),
        unjudged=base.unjudged,
        published=base.published + len(apart),
        groupless=groupless,
        absent=base.absent,
        infinite=base.infinite,
    ), bound


def _grouped(
    source: Source,
    passes: Passes,
    statistic: Statistic,
    base: Judged | _Base,
    *,
    of: tuple[Levels, Mapping[str, Integers], GroupedRecords],
) -> GroupedSource | None:
    """Look at the cells of means by group, if some hold few records.

    `of` are all levels, the numbers of levels as in `Features`, and how many records have each.
    """
    if not isinstance(statistic, GroupMeans) or not isinstance(base, Judged):
        return None
    levels, numbers, counted = of
    sizes, crossed = tuple(map(len, levels.values())), np.flatnonzero(counted.cells)
    codes = np.zeros((len(crossed), len(statistic.columns)))
    for j, (name, code) in enumerate(zip(levels, np.unravel_index(crossed, sizes), strict=True)):
        codes[:, j] = numbers[name][code] if name in numbers else code
    return GroupedSource.of(
        source,
        passes,
        CrossedLevels(sizes, crossed, statistic.cell_of(codes), counted.cells[crossed]),
        statistic=statistic,
        law=base.law,
        columns=tuple(source.columns.index(name) for name in base.columns),
    )


def _judged(
    features: Opened, passes: Passes, base: Judged | _Base, by_cell: GroupedSource | None
) -> Judged:
    """Judge the features: by their moments, or by those of cells of few records."""
    if by_cell is None or isinstance(base, _Base):
        return judged_of(
            features, passes, columns=None, exclude=(), missing="rows", rounding=COMPUTED
        )
    chosen, left = by_cell.moments.named(by_cell.statistic.names, by_cell.numbers)
    return replace(
        base,
        source=replace(features.source, columns=chosen),
        law=PooledLaw.of(by_cell.moments),
        columns=chosen,
        left=tuple(left),
        dependent=tuple(column.name for column in left if column.reason == FOLLOWS),
        counting=(),
        by_cell=by_cell,
    )


def _require_room(features: int) -> None:
    """Refuse more features of a table by group than a sample of them may take in memory."""
    needed = 8 * SAMPLED * features
    if needed > memory_limit.DEFAULT:
        raise ValueError(
            f"{features} features of a sample of {SAMPLED} records need "
            f"{memory_limit.shown(needed)} of memory, more than "
            f"{memory_limit.shown(memory_limit.DEFAULT)}: publish fewer columns or coarser groups"
        )


@dataclass(frozen=True, eq=False)
class _Base:
    """What of the table's columns is judged; see `Judged`."""

    source: Source
    found: First | None
    columns: tuple[str, ...]
    left: tuple[LeftColumn, ...]
    dependent: tuple[str, ...]
    unjudged: tuple[str, ...]
    published: int
    absent: dict[str, int] = field(default_factory=dict)
    infinite: dict[str, int] = field(default_factory=dict)


def _base_of(
    opened: Opened,
    passes: Passes,
    statistic: Statistic,
    apart: tuple[str, ...],
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    missing: str,
) -> Judged | _Base:
    """Judge the columns of numbers; of counts alone, none is."""
    among = opened.asked if columns is None else columns
    if not only_counts(statistic):
        return judged_of(
            opened,
            passes,
            columns=None if columns is None else [name for name in columns if name not in apart],
            exclude=(*exclude, *apart),
            missing=missing,
        )
    why = {name: opened.left.get(name, UNCOUNTED) for name in opened.columns}
    asked = {name for name in opened.columns if among is None or name in among} - set(exclude)
    return _Base(
        source=replace(opened.source, columns=()),
        found=None,
        columns=(),
        left=tuple(LeftColumn(name, reason) for name, reason in why.items()),
        dependent=(),
        unjudged=(),
        published=sum(why[name] not in NOT_PUBLISHED for name in asked),
    )


def _apart(opened: Opened, statistic: Statistic, exclude: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that a statistic names, as far as the table has them."""
    names = tuple(n for n in statistic.apart if n in opened.columns and n not in exclude)
    for name in names:
        why = opened.refused.get(name) or opened.left.get(name)
        if why:
            raise ValueError(f"Expected column {visible(name)!r} to be judged, but: {why}")
    return names


def _featured(
    opened: Opened,
    source: Source,
    statistic: Statistic,
    numbers: Mapping[str, npt.NDArray[np.int64]],
) -> Opened:
    """Open the features; a block of many has fewer rows."""
    size, most = source.size, _BY_GROUP if opened.groups else _NUMBERS
    while size > _FEWEST and size * len(statistic.names) > most:
        size //= 2
    features = Features(
        source.parts,
        statistic.names,
        size,
        source.missing,
        source.memory,
        source.levels,
        source.columns,
        statistic,
        numbers=numbers,
    )
    return replace(
        opened,
        source=features,
        columns=statistic.names,
        left={},
        shares={},
        refused={},
        index=frozenset(),
        sums=False,
        codes=False,
        understood=True,
        asked=None,
    )
