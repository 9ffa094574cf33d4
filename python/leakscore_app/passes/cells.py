"""Moments of the records in each cell of a table by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles
from leakscore_app.tables.sources.blocks import Block
from leakscore_app.tables.table import CONSTANT, combinations, differ

Integers = npt.NDArray[np.intp]

RECORDS = 10
"""Records for each of the d + 1 features; a cell with fewer has the pooled covariance."""

_FEWEST = 2  # the same, for a cell that varies clearly less than others
_LEVEL = 1e-3  # of the test for less variation, over all cells and numbers (or combinations)
FOLLOWS = "within its cell it is the same in all records, or follows from other columns"


@dataclass(frozen=True, eq=False)
class CellMoments:
    """Moments of the records (1, z) of each of K cells, as QR triangles to avoid squares.

    Attributes
    ----------
    sizes : (K,) ndarray of int
    low, high : (K, d) ndarray
        Smallest and largest values of the numbers.
    triangles : (K, d + 1, d + 1) ndarray
        R of the cell's records (1, z) = QR.
    centre, unit : (d,) ndarray
        z = (numbers - centre) / unit.
    """

    sizes: npt.NDArray[np.int64]
    low: Doubles
    high: Doubles
    triangles: Doubles
    centre: Doubles
    unit: Doubles

    @classmethod
    def of(
        cls, numbers: Doubles, cell: Integers, count: int, *, centre: Doubles, unit: Doubles
    ) -> CellMoments:
        """Return the moments of records (N, d) in `count` cells."""
        dim, standard = numbers.shape[1], (numbers - centre) / unit
        sizes = np.bincount(cell, minlength=count)
        order, ends = np.argsort(cell, kind="stable"), np.cumsum(sizes)
        low, high = np.full((count, dim), np.inf), np.full((count, dim), -np.inf)
        triangles = np.zeros((count, dim + 1, dim + 1))
        for h in np.flatnonzero(sizes).tolist():
            rows = order[ends[h] - sizes[h] : ends[h]]
            low[h], high[h] = numbers[rows].min(axis=0), numbers[rows].max(axis=0)
            features = np.column_stack([np.ones(len(rows)), standard[rows]])
            triangles[h] = _triangle(features)
        return cls(sizes, low, high, triangles, centre, unit)

    def merge(self, other: CellMoments) -> CellMoments:
        """Add later records."""
        stacked = np.concatenate([self.triangles, other.triangles], axis=1)
        return replace(
            self,
            sizes=self.sizes + other.sizes,
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
            triangles=np.array([_triangle(rows) for rows in stacked]),
        )

    def of_cells(self, cells: Integers) -> CellMoments:
        """Return the moments of a part of the cells."""
        return replace(
            self,
            sizes=self.sizes[cells],
            low=self.low[cells],
            high=self.high[cells],
            triangles=self.triangles[cells],
        )

    @property
    def means(self) -> Doubles:
        """Means of the numbers in each cell; no cell may be empty."""
        means = self.triangles[:, 0, 1:] / self.triangles[:, :1, 0]
        return np.asarray(self.centre + self.unit * means)

    @classmethod
    def of_counts(cls, sizes: npt.NDArray[np.int64]) -> CellMoments:
        """Return the moments of cells without numbers; no cell may be empty."""
        empty = np.empty((len(sizes), 0))
        return cls(sizes, empty, empty, np.sqrt(sizes)[:, None, None], empty[0], empty[0])

    @cached_property
    def small(self) -> npt.NDArray[np.bool_]:
        """Which cells are too small for a covariance by themselves, and vary as others do."""
        if self.low.shape[1] == 0:  # cells of counts need no covariance
            return np.zeros(len(self.sizes), dtype=bool)
        each = self.sizes / (1 + self.low.shape[1])
        few = each < RECORDS
        for h in np.flatnonzero(few & (each >= _FEWEST)).tolist():
            few[h] = not self._varies_less(h)
        return np.asarray(few)

    def _varies_less(self, h: int) -> bool:
        """Whether a number, or a combination, varies in a cell, but clearly less than in all cells.

        Scale the scatter of all cells to I; let U be the cell's share of it. If cells vary alike, U
        has a matrix beta law: the shares of numbers, and 1/(U^-1)_ii, have beta laws (Muirhead
        1982, 3.3). The least 1/(U^-1)_ii of d numbers is at most d times the share of any
        combination.
        """
        from scipy.special import betainc

        free, (count, dim) = int(self.sizes[h]) - 1, self.low.shape
        rest = max(int(self.sizes.sum()) - count - free, 1)
        varies, triangle = differ(self.low, self.high)[h], self.triangles[h, 1:, 1:]
        squares = np.square(triangle).sum(axis=0)[varies]
        shares = squares / np.square(self.within).sum(axis=0)[varies]
        columns = _independent(triangle, self._pooled[varies[self._pooled]])
        inverse = np.linalg.inv(_triangle(triangle[:, columns]))
        given_others = 1 / np.square(_triangle(self.within[:, columns]) @ inverse).sum(axis=1)
        chances = (
            betainc(free / 2, rest / 2, shares),
            betainc((free - len(columns) + 1) / 2, rest / 2, given_others),
        )
        return bool((np.concatenate(chances) < _LEVEL / (count * dim)).any())

    @cached_property
    def _pooled(self) -> Integers:
        """The numbers that vary within cells and follow from no others, over all cells together."""
        varies = differ(self.low, self.high).any(axis=0)
        return _independent(self.within, np.flatnonzero(varies))

    @cached_property
    def within(self) -> Doubles:
        """The QR triangle of the numbers minus their cell means, over all cells together."""
        dim = self.low.shape[1]
        return _triangle(self.triangles[:, 1:, 1:].reshape(len(self.sizes) * dim, dim))

    @cached_property
    def columns(self) -> tuple[Integers, ...]:
        """The numbers of each cell that vary and follow from no others there."""
        varies = differ(self.low, self.high)
        return tuple(
            self._pooled if few else _independent(triangle[1:, 1:], np.flatnonzero(within))
            for few, triangle, within in zip(self.small, self.triangles, varies, strict=True)
        )

    @property
    def suffice(self) -> bool:
        """Whether all cells together have records enough for a covariance."""
        return suffice(self.sizes, self.low.shape[1])

    @property
    def judged_features(self) -> list[int]:
        """Indices of the features of `GroupMeans` of these cells that are judged, in order."""
        count, dim = self.low.shape
        cells = enumerate(self.columns)
        return [*range(count - 1), *(count - 1 + h * dim + int(j) for h, of in cells for j in of)]

    def feature_names(
        self, names: Sequence[str], cells: Integers
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return the names of the judged features, and for each other name the reason.

        `names` are those of all features, `cells` the numbers of these cells among all cells.
        """
        dim, count = self.low.shape[1], (len(names) + 1) // (self.low.shape[1] + 1)
        of_cell = [count - 1 + h * dim + j for h in cells.tolist() for j in range(dim)]
        every = [names[k] for k in (*(h - 1 for h in cells[1:].tolist()), *of_cell)]
        chosen = tuple(every[k] for k in self.judged_features)
        first = [names[h - 1] for h in cells[:1].tolist() if h]  # its count follows: n - the others
        why = dict.fromkeys(names, CONSTANT) | dict.fromkeys([*first, *every], FOLLOWS)
        for name in chosen:
            del why[name]
        return chosen, why


def suffice(sizes: npt.NDArray[np.int64], dim: int) -> bool:
    """Whether cells of these sizes have records enough for the covariance of `dim` numbers."""
    if dim == 0:
        return len(sizes) > 1
    return bool(sizes.sum() - len(sizes) >= dim + 2)


def _triangle(rows: Doubles) -> Doubles:
    """Return R of rows = QR, as a square matrix."""
    dim = rows.shape[1]
    padded = rows if len(rows) >= dim else np.concatenate([rows, np.zeros((dim, dim))])
    return np.asarray(np.linalg.qr(padded, mode="r"))


def _independent(triangle: Doubles, columns: Integers) -> Integers:
    """Return those of `columns`, all of which vary, that do not follow from earlier ones."""
    if not len(columns):
        return columns
    part = triangle[:, columns]
    dependent = combinations(_triangle(part / np.linalg.norm(part, axis=0)))
    return np.delete(columns, list(dependent))


@dataclass(frozen=True, eq=False)
class MeasureCells:
    """A pass for the moments of cells; the first columns of a block are categories.

    Attributes
    ----------
    levels : tuple of int
        Number of levels of each of these columns.
    crossed, cell : (m,) ndarray of int
        The combinations of levels with records, increasing, and the cell of each.
    places : (d,) ndarray of int
        The columns of numbers.
    centre, unit : (d,) ndarray
        As in `CellMoments`.
    excluded : frozenset of int
        Rows that are left out.
    """

    levels: tuple[int, ...]
    crossed: Integers
    cell: Integers
    places: Integers
    centre: Doubles
    unit: Doubles
    excluded: frozenset[int] = frozenset()

    def __call__(self, block: Block) -> CellMoments:
        """Return the moments of the complete rows of a block."""
        rows = np.flatnonzero(np.isfinite(block.values).all(axis=1))
        if self.excluded:
            rows = rows[~np.isin(rows + block.start, list(self.excluded))]
        codes = block.values[rows, : len(self.levels)].astype(np.intp).T
        crossed = np.ravel_multi_index(tuple(codes), self.levels)
        return CellMoments.of(
            block.values[np.ix_(rows, self.places)],
            self.cell[np.searchsorted(self.crossed, crossed)],
            int(self.cell.max()) + 1,
            centre=self.centre,
            unit=self.unit,
        )
