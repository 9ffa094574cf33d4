"""A table by group with small cells, whose covariances are pooled.

The features of a record of cell g are t = (1, z) there and 0 elsewhere. Their second moments are
E_h = p_h (C_h + m_h m_h') in each cell h, p_h its share, m_h and C_h mean and covariance of t in
it, and the covariance of all features is B - q q', B the matrix of the blocks E_h, q their means
p_h m_h. A cell of fewer than 10 (d + 1) records is too small to estimate its C_h. There C_h is the
pooled covariance, the scatter within all cells over N - K, K the number of cells, unless a number
varies clearly less in the cell. As few records rarely show that, a second attack is played, with
the variances of the cell and the correlations of all cells (`PooledLaw.separate`).

A record is left out of the shares, of its cell's mean and covariance, and of the pooled covariance
if its own cell is judged by that. (Without noise no other cell's covariance matters to it.)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from leakscore.leakage.table_law import TableLaw
from leakscore.reference import Reference
from leakscore.statistics import Counts, GroupMeans
from leakscore_app.passes.cells import RECORDS, CellMoments, MeasureCells, suffice
from leakscore_app.report._model import Doubles
from leakscore_app.report._published import Published
from leakscore_app.report.engine.population import Population
from leakscore_app.tables.sources.blocks import Source

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Integers = npt.NDArray[np.intp]

_NOTHING = 1e-9  # share of a variance, to rounding
_TOGETHER = 1 << 22  # numbers of the covariances that are looked at together
_MOST_WORK = 2 * 10**9  # records times the cube of their features: about a second
_LEAST_SPREAD = 1e-6  # of the variance in all cells, of that in a cell whose records are alike


@dataclass(frozen=True, eq=False)
class CellLaw:
    """The features of one cell.

    Attributes
    ----------
    places : (k,) ndarray of int
        Places among all features.
    size : int
        Number of records.
    first : int
        1 if the first feature is the cell's indicator, which does not vary within it.
    mean, scatter
        Of the features of its records; in a small cell, the scatter of all cells.
    divisor : int
        Of the scatter, which gives the covariance.
    squares : (k,) ndarray
        Sums over its records of the squares of each feature less its mean.
    separate : bool
        Whether the variances are by these squares, and not by the scatter.
    """

    places: Integers
    size: int
    first: int
    mean: Doubles
    scatter: Doubles
    divisor: int
    squares: Doubles
    separate: bool = False

    @property
    def cov(self) -> Doubles:
        """The covariance of the features."""
        cov = self.scatter / self.divisor
        if self.separate:
            variances = np.maximum(np.diagonal(cov, axis1=-2, axis2=-1), 0.0)
            spread = np.maximum(self.squares / max(self.size - 1, 1), _LEAST_SPREAD * variances)
            ratio = np.sqrt(spread / np.where(variances > 0, variances, 1.0))
            cov = cov * _products(ratio)
        return np.asarray(cov)

    def moments(self, records: int) -> tuple[Doubles, Doubles]:
        """Return first and second moments of the cell's features over all `records`."""
        second = self.size / records * (self.cov + _products(self.mean))
        return np.asarray(self.size / records * self.mean), np.asarray(second)

    def times(self, units: Doubles) -> CellLaw:
        """Return the cell with its features multiplied by `units`, (k,)."""
        scatter, squares = self.scatter * np.outer(units, units), self.squares * units**2
        return replace(self, mean=self.mean * units, scatter=scatter, squares=squares)

    def without(self, rows: Doubles) -> CellLaw:
        """Return the cell without one of its records, or for each of several rows without it."""
        if self.size == 1:
            none, scatter = 0 * self.mean, 0 * self.scatter
            return replace(self, size=0, mean=none, scatter=scatter, divisor=1, squares=none)
        away, rest = rows - self.mean, self.size - 1
        lost = self.size / rest * _products(away)
        return replace(
            self,
            size=rest,
            mean=self.mean - away / rest,
            scatter=self.scatter - lost,
            divisor=self.divisor - 1,
            squares=self.squares - np.diagonal(lost, axis1=-2, axis2=-1),
        )


def _products(rows: Doubles) -> Doubles:
    """Return the products of any two numbers of a row, (..., k, k)."""
    return np.asarray(rows[..., :, np.newaxis] * rows[..., np.newaxis, :])


@dataclass(frozen=True, eq=False)
class PooledLaw(TableLaw):
    """The law of a table by group with small cells, as the attackers know it.

    Attributes
    ----------
    cells : tuple of CellLaw
        The first features are the indicators of all but the first.
    centres : tuple of ndarray, optional
        Subtracted from the features of each cell's records, one array (k,) a cell.
    """

    cells: tuple[CellLaw, ...] = ()
    centres: tuple[Doubles, ...] | None = None

    @classmethod
    def of(
        cls,
        moments: CellMoments,
        kept: Integers | None = None,
        width: int | None = None,
    ) -> PooledLaw:
        """Return the law of cells, none of which is empty.

        `kept` are the judged columns of a block of `width` features; all by default.
        """
        records, parts = int(moments.sizes.sum()), list(_in_units_of_file(moments))
        kept = np.arange(sum(len(part.places) for part in parts)) if kept is None else kept
        read = np.arange(len(kept) if width is None else width)
        return cls._of_cells(parts, kept, read, records)

    @classmethod
    def _of_cells(
        cls, parts: Sequence[CellLaw], kept: Integers, read: Integers, records: int
    ) -> PooledLaw:
        """Return the law of cells in units of the file."""
        mean, scale = np.zeros(len(kept)), np.zeros(len(kept))
        for part in parts:
            first, second = part.moments(records)
            mean[part.places], scale[part.places] = first, np.sqrt(np.diag(second) - first**2)
        cells, cov = [], np.zeros((len(kept), len(kept)))
        for part in parts:
            cells.append(part.times(1 / scale[part.places]))
            cov[np.ix_(part.places, part.places)] = cells[-1].moments(records)[1]
        mean = mean / scale
        cov -= np.outer(mean, mean)
        return cls(kept, read, records, scale, mean, cov, cells=tuple(cells))

    @cached_property
    def centred(self) -> PooledLaw:
        """The law of the features of each cell less their means in the cell.

        To first order the mean of a cell, a sum over a count, follows from these alone. So noise on
        a count does not hide a mean.
        """
        parts = [cell.times(self.scale[cell.places]) for cell in self.cells]
        means = [np.concatenate([np.zeros(of.first), of.mean[of.first :]]) for of in parts]
        parts = [
            replace(part, mean=part.mean - mean) for part, mean in zip(parts, means, strict=True)
        ]
        law = self._of_cells(parts, self.kept, self.read, self.rows)
        return replace(law, centres=tuple(means))

    @cached_property
    def separate(self) -> PooledLaw | None:
        """The law with the variances of each small cell.

        None without small cells, or where leaving each record out would take too long.
        """
        cells = [replace(cell, separate=cell.divisor != cell.size) for cell in self.cells]
        few = [cell for cell in cells if cell.separate and len(cell.places) > cell.first]
        work = sum(cell.size * len(cell.places) ** 3 for cell in few)
        return replace(self, cells=tuple(cells)) if few and work <= _MOST_WORK else None

    def scaled(self, values: Doubles) -> Doubles:
        """Return values of the judged columns, less `centres` if given, in units."""
        if self.centres is not None:
            values, cell = values.copy(), self.cell_of(values)
            for h in np.unique(cell).tolist():
                values[np.ix_(cell == h, self.cells[h].places)] -= self.centres[h]
        return super().scaled(values)

    @classmethod
    def of_counts(cls, law: TableLaw) -> TableLaw:
        """Return the law of the counts of all cells but the first; `law` if there are none."""
        others = np.rint(law.mean * law.scale * law.rows).astype(np.int64)
        first = law.rows - int(others.sum())
        if not first:
            return law
        moments = CellMoments.of_counts(np.concatenate([[first], others]))
        return cls.of(moments, law.kept, len(law.read))

    @property
    def counts(self) -> bool:
        """Whether only counts are published."""
        return len(self.mean) < len(self.cells)

    def without(self, values: Doubles) -> PooledLaw:
        """Return the law of counts without some rows (k, D), given in the units of the file.

        Empty cells are dropped then, and the first cell with records has no indicator.
        """
        sizes = np.array([cell.size for cell in self.cells])
        sizes -= np.bincount(self.cell_of(values), minlength=len(sizes))
        nonempty = np.flatnonzero(sizes)
        kept = self.kept[nonempty[1:] - 1]
        return PooledLaw.of(CellMoments.of_counts(sizes[nonempty]), kept, len(self.read))

    def cell_of(self, values: Doubles) -> Integers:
        """Return the cell of each record, by its features."""
        cell = np.zeros(len(values), np.intp)
        rows, indicators = np.nonzero(values[:, : len(self.cells) - 1])
        cell[rows] = indicators + 1
        return cell

    def left_out(self, row: Doubles, share: float) -> Reference:
        """Return mean and a share of the covariance of all records but one, in units of the law."""
        of, others = int(self.cell_of(row[None])[0]), self.rows - 1
        mean, cov = np.zeros(len(row)), np.zeros((len(row), len(row)))
        for h, cell in enumerate(self.cells):
            part = cell.without(row[cell.places]) if h == of else cell
            mean[cell.places], cov[np.ix_(cell.places, cell.places)] = part.moments(others)
        cov -= np.outer(mean, mean)
        alike = np.diag(cov) <= _NOTHING  # the others, of a feature of variance 1 with the record
        cov[alike] = cov[:, alike] = 0.0
        return Reference(mean, share * cov)

    def distances(self, values: Doubles) -> Doubles:
        """Return the squared distance of each record from all others, (k,)."""
        return self._by_cell(values, self._distances_in)

    def weaker(self, values: Doubles) -> Doubles:
        """Return n times the leakage to the attacker who knows means and variances, (k,)."""
        return self._by_cell(values, self._weaker_in)

    def both(self, values: Doubles) -> tuple[Doubles, Doubles]:
        """Return `distances` and `weaker` of records."""
        return self.distances(values), self.weaker(values)

    def _by_cell(self, values: Doubles, scores_of: Callable[[int, Doubles], Doubles]) -> Doubles:
        scores, cell = np.empty(len(values)), self.cell_of(values)
        scaled = self.scaled(values)
        for h in np.unique(cell).tolist():
            rows = np.flatnonzero(cell == h)
            scores[rows] = scores_of(h, scaled[np.ix_(rows, self.cells[h].places)])
        return scores

    def _distances_in(self, h: int, rows: Doubles) -> Doubles:
        scores = self._noisy(h, rows) if self.noise else self._plain(h, rows)
        if self.cells[h].separate and self.cells[h].size > 1:
            varied = np.flatnonzero(np.isfinite(scores))  # in all cells, without the record
            for start in range(0, len(varied), tile := max(1, _TOGETHER // rows.shape[1] ** 2)):
                part = varied[start : start + tile]
                scores[part] = self._separate_in(h, rows[part])
        return scores

    def _separate_in(self, h: int, rows: Doubles) -> Doubles:
        """Return the distances by the variances of the cell, without each record."""
        total = float(self._along.sum() - self._along[h])
        first, second = self.cells[h].without(rows).moments(self.rows - 1)
        both = np.stack([rows, first], axis=-1)
        products = np.swapaxes(both, 1, 2) @ np.linalg.solve(
            second + self.noise * np.eye(rows.shape[1]), both
        )
        target, with_means = products[:, 0, 0], products[:, 0, 1]
        means = total + products[:, 1, 1]
        return np.asarray(target - 2 * with_means + means + (with_means - means) ** 2 / (1 - means))

    def _plain(self, h: int, rows: Doubles) -> Doubles:
        """Return (1/p - 1) + M/p, M the distance of z within its cell.

        With t the share of the record in the scatter W, M is n/(n-1) f t / (1 - t), f the divisor
        without it.
        """
        cell = self.cells[h]
        if cell.size == 1:
            return np.full(len(rows), np.inf)
        away = (rows - cell.mean)[:, cell.first :]
        grown, part = cell.size / (cell.size - 1), (cell.size - 1) / (self.rows - 1)
        share = np.zeros(len(rows))
        if away.shape[1]:
            others = Reference(np.zeros(away.shape[1]), cell.scatter[cell.first :, cell.first :])
            share = grown * others.squared_mahalanobis(away)
        rest = np.where(1 - share > _NOTHING, 1 - share, 0.0)
        with np.errstate(divide="ignore"):
            within = grown * (cell.divisor - 1) * share / rest
        return np.asarray((1 / part - 1) + within / part)

    @cached_property
    def _along(self) -> Doubles:
        """For each cell q' (E + v)^-1 q, with the shares of one record less; v is the noise."""
        along = []
        for cell in self.cells:
            first, second = cell.moments(self.rows - 1)
            noisy = second + self.noise * np.eye(len(first))
            along.append(float(first @ np.linalg.solve(noisy, first)))
        return np.array(along)

    def _noisy(self, h: int, rows: Doubles) -> Doubles:
        """Return the distances with noise, by (B + v - q q')^-1 of Sherman and Morrison.

        Without a record, a = z - m, E + v is a matrix of the whole cell and one in the plane of
        a and m: all products are those of that plane (Woodbury).
        """
        cell, size = self.cells[h], self.cells[h].size
        total = float(self._along.sum() - self._along[h])
        if size == 1:
            target = np.sum(rows * rows, axis=1) / self.noise
            return np.asarray(target + total + total**2 / (1 - total))
        rest, part = size - 1, (size - 1) / (self.rows - 1)
        every = part * cell.scatter / (cell.divisor - 1) + self.noise * np.eye(len(cell.mean))
        away = rows - cell.mean
        solved, along = np.linalg.solve(every, away.T).T, np.linalg.solve(every, cell.mean)
        gram = np.empty((len(rows), 2, 2))
        gram[:, 0, 0] = np.sum(away * solved, axis=1)
        gram[:, 0, 1] = gram[:, 1, 0] = away @ along
        gram[:, 1, 1] = cell.mean @ along
        lost = 1 / rest**2 - size / rest / (cell.divisor - 1)
        plane = part * np.array([[lost, -1 / rest], [-1 / rest, 1.0]])
        products = np.linalg.solve(np.eye(2) + gram @ plane, gram)
        record, others = np.ones(2), part * np.array([-1 / rest, 1.0])
        both = record @ products @ others
        means = total + others @ products @ others
        target = record @ products @ record
        return np.asarray(target - 2 * both + means + (both - means) ** 2 / (1 - means))

    @cached_property
    def _weights(self) -> Doubles:
        """For each cell -w'q, w'E w and w'q, (K, 3); w are the weights of another cell's record."""
        parts = []
        for cell in self.cells:
            first, second = cell.moments(self.rows - 1)
            variances = np.diag(second) - first**2  # 0 of a count of the record left out alone
            weight = np.zeros_like(variances)
            np.divide(-first, variances, out=weight, where=variances > _NOTHING)
            parts.append((-weight @ first, weight @ second @ weight, weight @ first))
        return np.array(parts)

    def _weaker_in(self, h: int, rows: Doubles) -> Doubles:
        cell, size = self.cells[h], self.cells[h].size
        if not len(cell.places):
            along, spread, first = self._weights.sum(axis=0) - self._weights[h]
            return np.full(len(rows), along**2 / (spread - first**2))
        if size == 1:
            return np.full(len(rows), np.inf)
        rest, part = size - 1, (size - 1) / (self.rows - 1)
        away, lost = rows - cell.mean, size / (size - 1)
        mean, divisor = cell.mean - away / rest, cell.divisor - 1
        variances = (np.diag(cell.scatter) - lost * away * away) / divisor + mean * mean
        variances = part * variances - (part * mean) ** 2
        alone = np.asarray((variances <= _NOTHING).any(axis=1))
        target = rows - part * mean
        weight = np.divide(
            target, variances, out=np.zeros_like(target), where=~alone[:, np.newaxis]
        )
        others = self._weights.sum(axis=0) - self._weights[h]
        along = np.sum(weight * target, axis=1) + others[0]
        inside, centre = np.sum(weight * away, axis=1), np.sum(weight * mean, axis=1)
        spread = np.sum((weight @ cell.scatter) * weight, axis=1) - lost * inside**2
        spread = part * (spread / divisor + centre**2) + others[1]
        spread -= (part * centre + others[2]) ** 2
        scores = along**2 / np.where(spread > 0, spread, 1.0)
        scores[alone] = np.inf
        return np.asarray(scores)


def _in_units_of_file(moments: CellMoments) -> Iterator[CellLaw]:
    records, count = int(moments.sizes.sum()), len(moments.sizes)
    start = count - 1
    for h, (columns, few) in enumerate(zip(moments.columns, moments.small.tolist(), strict=True)):
        size, first = int(moments.sizes[h]), min(h, 1)
        triangle = moments.within if few else moments.triangles[h, 1:, 1:]
        part = triangle[:, columns] * moments.unit[columns]
        scatter = np.zeros((first + len(columns),) * 2)
        scatter[first:, first:] = part.T @ part
        mean, squares = np.ones(first + len(columns)), np.zeros(first + len(columns))
        mean[first:] = moments.means[h, columns]
        inside = moments.triangles[h, 1:, 1:][:, columns] * moments.unit[columns]
        squares[first:] = np.square(inside).sum(axis=0)
        places = np.concatenate([np.arange(h - first, h), start + np.arange(len(columns))])
        start += len(columns)
        divisor = records - count if few else size
        yield CellLaw(places, size, first, mean, scatter, divisor, squares)


@dataclass(frozen=True, eq=False)
class CellsByGroup:
    """The cells of a table by group, some of them small.

    Attributes
    ----------
    moments : CellMoments
    numbers : (K,) ndarray of int
        Numbers of the cells that hold records.
    statistic : GroupMeans
    """

    moments: CellMoments
    numbers: Integers
    statistic: Counts | GroupMeans

    @property
    def needed(self) -> bool:
        """Whether the law of each cell is needed: a cell is small, or cells are counted."""
        moments, count = self.moments, len(self.numbers)
        if moments.low.shape[1]:
            return bool(moments.small.any())
        return int(self.numbers[0]) == 0 and int(moments.sizes.sum()) > count

    @property
    def small(self) -> tuple[str, ...]:
        """The cells that are judged by the pooled covariance."""
        cells = self.statistic.cells
        return tuple(cells[k] for k in self.numbers[self.moments.small].tolist())

    @cached_property
    def law(self) -> PooledLaw:
        """The law of the judged features."""
        return PooledLaw.of(self.moments)


@dataclass(frozen=True, eq=False)
class PooledCells(CellsByGroup):
    """Records (N, d) in memory by cell; columns vary, and none follows from others.

    Attributes
    ----------
    records : (N, d) ndarray
    cell : (N,) ndarray of int
        0 to K - 1; no cell is empty.
    """

    records: Doubles
    cell: Integers

    @classmethod
    def of(
        cls, records: Doubles, cell: Integers, statistic: Counts | GroupMeans
    ) -> PooledCells | None:
        """Return the cells; None if all together are too few for a covariance."""
        numbers, compact = np.unique(cell, return_inverse=True)
        unit = records.std(axis=0)
        unit[unit == 0] = 1.0
        moments = CellMoments.of(
            records, compact.reshape(-1), len(numbers), centre=records.mean(axis=0), unit=unit
        )
        if not moments.suffice:
            return None
        return cls(moments, numbers, statistic, records, compact.reshape(-1))

    def of_rows(self, rows: Integers) -> PooledCells | None:
        """Return the non-empty cells of some records."""
        return PooledCells.of(self.records[rows], self.numbers[self.cell[rows]], self.statistic)

    def features(self) -> Doubles:
        """Return the judged features (N, D)."""
        law = self.law
        result = np.zeros((len(self.cell), len(law.mean)))
        for h, (part, columns) in enumerate(zip(law.cells, self.moments.columns, strict=True)):
            rows = np.flatnonzero(self.cell == h)
            ones = np.ones((len(rows), part.first))
            inside = np.hstack([ones, self.records[np.ix_(rows, columns)]])
            result[np.ix_(rows, part.places)] = inside
        return result


class LawPopulation(Population):
    """A population whose law is that of a table; see `Population`.

    Parameters
    ----------
    law : TableLaw
    raw : (K, d) ndarray
        The records in memory, in the units of the file.
    n : int
    finite : bool
    published : Published, optional
        Persons, each with one record, and batches.
    """

    def __init__(
        self, law: TableLaw, raw: Doubles, n: int, *, finite: bool, published: Published | None
    ) -> None:
        self.law, self.raw, self.scale = law, raw, law.scale
        self.pooled = isinstance(law, PooledLaw) and not law.counts
        self._begin(
            law.scaled(raw),
            Reference(law.mean, law.cov),
            n,
            finite=finite,
            size=law.rows,
            published=published,
        )

    @cached_property
    def separate(self) -> Population | None:
        """See `Population`."""
        law = self.law.separate if isinstance(self.law, PooledLaw) else None
        return None if law is None else self.with_law(law)

    @abstractmethod
    def with_law(self, law: TableLaw) -> Population:
        """Return the same records with another law of the same columns."""

    def distances(self, law: TableLaw) -> Doubles:
        """Squared distance of each record from all others by a law of the same columns, (K,)."""
        return law.distances(self.raw)

    def _noisy_distances(self, variance: float | None) -> Doubles:
        return self.distances(self.law.with_noise(variance or 0.0))

    def _weaker_of_one(self) -> Doubles:
        """Return the leakage of every record by itself, (K,)."""
        return np.asarray(self.law.both(self.raw)[1] / self.divisors)

    @cached_property
    def _precision(self) -> Doubles:
        """None for cells with numbers, whose features are not left out one by one."""
        return np.full(self.dim, np.nan) if self.pooled else super()._precision


class Pooled(LawPopulation):
    """Counts and means by group, in memory; see `Population`.

    Parameters
    ----------
    cells : PooledCells
    n : int
    finite : bool
    published : Published, optional
        Persons, each with one record, and batches.
    earlier : (P,) ndarray, optional
    law : PooledLaw, optional
        The law of the cells; by default that of their features.
    """

    law: PooledLaw

    def __init__(
        self,
        cells: PooledCells,
        n: int,
        *,
        finite: bool,
        published: Published | None = None,
        earlier: Doubles | None = None,
        law: PooledLaw | None = None,
    ) -> None:
        law = cells.law if law is None else law
        super().__init__(law, cells.features(), n, finite=finite, published=published)
        self.cells, self._earlier = cells, earlier

    def with_slopes(self, slopes: csr_array) -> Pooled:  # noqa: ARG002
        """Return the release of the means of the cells; see `PooledLaw.centred`."""
        return self.with_law(self.law.centred)

    def with_law(self, law: TableLaw) -> Pooled:
        """See `LawPopulation`."""
        return Pooled(
            self.cells,
            self.n,
            finite=self.finite,
            published=self.published,
            earlier=self.earlier,
            law=cast(PooledLaw, law),
        )

    def _fit_without(self, person: int) -> Reference:
        return self.law.left_out(self.values[person], self.correction)

    def _of_rows(
        self, kept: Integers, n: int, published: Published, earlier: Doubles
    ) -> Population | None:
        cells = self.cells.of_rows(kept)
        if cells is None:
            return None
        return Pooled(cells, n, finite=self.finite, published=published, earlier=earlier)

    def can_spare(self, rows: Integers) -> bool:
        """Whether the release can be judged without some records of the last batch."""
        kept = np.delete(np.arange(self.size), rows)
        return self.cells.of_rows(kept) is not None and self._can_draw(rows)


# --- block by block -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GroupedSource(CellsByGroup):
    """A table by group that is read block by block.

    Attributes
    ----------
    source : Source
    measure : MeasureCells
        The pass that measures the moments.
    """

    source: Source
    measure: MeasureCells

    @classmethod
    def of(
        cls,
        source: Source,
        passes: Callable[..., CellMoments],
        measure: MeasureCells,
        records: Integers,
        *,
        statistic: GroupMeans,
    ) -> GroupedSource | None:
        """Measure cells; None if none is small, or all are too few for a covariance.

        Parameters
        ----------
        source : Source
            Its first columns are those of categories.
        passes : callable
            Takes source, pass and its name; returns the merged result.
        measure : MeasureCells
            Whose cells are those of the whole table by group.
        records : (m,) ndarray of int
            Numbers of records with each combination of levels.
        statistic : GroupMeans
        """
        numbers, cell = np.unique(measure.cell, return_inverse=True)
        sizes, dim = np.bincount(cell, records), len(measure.places)
        if not suffice(sizes, dim) or (sizes >= RECORDS * (1 + dim)).all():
            return None
        measure = replace(measure, cell=cell)
        moments = passes(source, measure, "looking at cells")
        return cls(moments, numbers, statistic, source, measure)

    @property
    def means(self) -> Doubles:
        """The means of all features: shares of the cells, and means of the numbers in them."""
        share = self.moments.sizes / int(self.moments.sizes.sum())
        cells = np.zeros((len(self.statistic.cells), 1 + self.moments.low.shape[1]))
        inside = np.column_stack([np.ones(len(share)), self.moments.means])
        cells[self.numbers] = share[:, None] * inside
        return np.concatenate([cells[1:, 0], cells[:, 1:].ravel()])

    def without(self, rows: frozenset[int], passes: Callable[..., CellMoments]) -> PooledLaw | None:
        """Estimate the law without some rows in a pass; None if it cannot be judged."""
        measure = replace(self.measure, excluded=rows)
        moments = passes(self.source, measure, "leaving records out")
        cells = np.flatnonzero(moments.sizes)
        moments = moments.of_cells(cells)
        if not moments.suffice:
            return None
        before = self.law
        kept: list[int] = []
        for h, columns in zip(cells.tolist(), moments.columns, strict=True):
            part, inside = before.cells[h], self.moments.columns[h]
            if not np.isin(columns, inside).all():
                return None
            kept += part.places[part.first + np.searchsorted(inside, columns)].tolist()
        indicators = [h - 1 for h in cells[1:].tolist()]
        at = np.array([*indicators, *kept], dtype=np.intp)
        return PooledLaw.of(moments, at, len(before.mean))
