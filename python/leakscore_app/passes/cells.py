"""Cells of a table by group: the moments of the records of each."""

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
"""Records of a cell for each of its d + 1 features, below which its covariance is pooled."""

_OWN = 2  # such records at least, of a cell that varies less than others
_LEVEL = 1e-3  # at which one does, of all cells and numbers (or combinations) together
FOLLOWS = "within its cell it is the same in all records, or follows from other columns"


@dataclass(frozen=True, eq=False)
class CellMoments:
    """Moments of the records (1, z) of each of K cells, as triangles: nothing is squared.

    Attributes
    ----------
    sizes : (K,) ndarray of int
    low, high : (K, d) ndarray
        The ends of the numbers.
    triangles : (K, d + 1, d + 1) ndarray
        R of the cell's records (1, z) = QR.
    centre, unit : (d,) ndarray
        About which, and in which, z is the numbers.
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
        """Look at records (N, d) of `count` cells."""
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
        """Return those of some of the cells."""
        return replace(
            self,
            sizes=self.sizes[cells],
            low=self.low[cells],
            high=self.high[cells],
            triangles=self.triangles[cells],
        )

    @property
    def means(self) -> Doubles:
        """Means of the numbers in each cell, none of which is empty."""
        means = self.triangles[:, 0, 1:] / self.triangles[:, :1, 0]
        return np.asarray(self.centre + self.unit * means)

    @classmethod
    def of_counts(cls, sizes: npt.NDArray[np.int64]) -> CellMoments:
        """Return those of cells without numbers, none of which is empty."""
        none = np.empty((len(sizes), 0))
        return cls(sizes, none, none, np.sqrt(sizes)[:, None, None], none[0], none[0])

    @cached_property
    def small(self) -> npt.NDArray[np.bool_]:
        """Which cells hold too few records for a covariance of their own, and vary as others do."""
        if self.low.shape[1] == 0:  # what varies is counted
            return np.zeros(len(self.sizes), dtype=bool)
        each = self.sizes / (1 + self.low.shape[1])
        few = each < RECORDS
        for h in np.flatnonzero(few & (each >= _OWN)).tolist():
            few[h] = not self._narrow(h)
        return np.asarray(few)

    def _narrow(self, h: int) -> bool:
        """Tell whether a number, or a combination, varies in a cell, but clearly less than in all.

        If cells vary alike, the share U of the cell in a scatter that is I of all cells has a
        matrix beta law: shares of numbers, and 1/(U^-1)_ii, have beta laws (Muirhead 1982, 3.3).
        Of d numbers the least of the latter is at most d times the share of any combination.
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
        """The numbers that vary within cells and follow from no others in all cells together."""
        varies = differ(self.low, self.high).any(axis=0)
        return _independent(self.within, np.flatnonzero(varies))

    @cached_property
    def within(self) -> Doubles:
        """The triangle of the numbers less the means of their cells, all cells together."""
        dim = self.low.shape[1]
        return _triangle(self.triangles[:, 1:, 1:].reshape(len(self.sizes) * dim, dim))

    @cached_property
    def columns(self) -> tuple[Integers, ...]:
        """Of each cell, the numbers that vary and follow from no others there."""
        varies = differ(self.low, self.high)
        return tuple(
            self._pooled if few else _independent(triangle[1:, 1:], np.flatnonzero(within))
            for few, triangle, within in zip(self.small, self.triangles, varies, strict=True)
        )

    @property
    def suffice(self) -> bool:
        """Whether all cells together tell a covariance."""
        return suffice(self.sizes, self.low.shape[1])

    @property
    def chosen(self) -> list[int]:
        """Which features of `GroupMeans` of these cells are judged, in their order."""
        count, dim = self.low.shape
        inside = (count - 1 + h * dim + int(j) for h, of in enumerate(self.columns) for j in of)
        return [*range(count - 1), *inside]

    def named(
        self, names: Sequence[str], cells: Integers
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return which features are judged, and why others are not.

        `names` are those of all features, `cells` the numbers of these cells among all.
        """
        dim, count = self.low.shape[1], (len(names) + 1) // (self.low.shape[1] + 1)
        of_cell = [count - 1 + h * dim + j for h in cells.tolist() for j in range(dim)]
        every = [names[k] for k in (*(h - 1 for h in cells[1:].tolist()), *of_cell)]
        chosen = tuple(every[k] for k in self.chosen)
        first = [names[h - 1] for h in cells[:1].tolist() if h]  # n less the others
        why = dict.fromkeys(names, CONSTANT) | dict.fromkeys([*first, *every], FOLLOWS)
        for name in chosen:
            del why[name]
        return chosen, why


def suffice(sizes: npt.NDArray[np.int64], dim: int) -> bool:
    """Tell whether cells of so many records tell a covariance of `dim` numbers, or counts."""
    if dim == 0:
        return len(sizes) > 1
    return bool(sizes.sum() - len(sizes) >= dim + 2)


def _triangle(rows: Doubles) -> Doubles:
    """Return R of rows = QR, as a square."""
    dim = rows.shape[1]
    padded = rows if len(rows) >= dim else np.concatenate([rows, np.zeros((dim, dim))])
    return np.asarray(np.linalg.qr(padded, mode="r"))


def _independent(triangle: Doubles, columns: Integers) -> Integers:
    """Return the columns, of some that vary, that do not follow from earlier ones."""
    if not len(columns):
        return columns
    part = triangle[:, columns]
    dependent = combinations(_triangle(part / np.linalg.norm(part, axis=0)))
    return np.delete(columns, list(dependent))


@dataclass(frozen=True, eq=False)
class MeasureCells:
    """A pass over a table whose first columns are those of categories.

    Attributes
    ----------
    levels : tuple of int
        How many each of them has.
    crossed, cell : (m,) ndarray of int
        The combinations of levels that hold records, increasing, and the cell of each.
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
