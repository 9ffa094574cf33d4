"""A table by group with cells of few records: their covariances are taken to be the same.

The features of a record of cell g are t = (1, z) there and 0 elsewhere. Their second moments are
E_h = p_h (C_h + m_h m_h') in each cell h, p_h its share, m_h and C_h mean and covariance of t in
it, and the covariance of all features is B - q q', B the matrix of the blocks E_h, q their means
p_h m_h. A cell of fewer than 10 (d + 1) records does not tell its C_h: there it is the scatter
within all cells over N - K, K the number of cells.

A record is left out of the shares, of its cell's mean and covariance, and of the pooled one as far
as its own cell is judged by it. (Without noise no other cell's covariance matters to it.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from leakscore.reference import Reference
from leakscore_app.report._model import Doubles
from leakscore_app.report.engine.population import Population, Published
from leakscore_app.tables.records import independent_columns

Integers = npt.NDArray[np.intp]

RECORDS = 10
"""Records of a cell for each of its d + 1 features, below which its covariance is pooled."""

_NOTHING = 1e-9  # share of a variance, to rounding
_TOGETHER = 2**20  # numbers of the matrices that are solved at once


@dataclass(frozen=True, eq=False)
class PooledCells:
    """Records (N, d) by cell, and which cells are judged by the pooled covariance.

    Attributes
    ----------
    numbers : (N, d) ndarray
        Columns that vary, and of which none follows from others.
    cell : (N,) ndarray of int
        0 to K - 1; no cell is empty.
    small : (K,) ndarray of bool
    columns : tuple of (k_h,) ndarray of int
        Of each cell, the columns that vary within it and do not follow from others there.
    """

    numbers: Doubles
    cell: Integers
    small: npt.NDArray[np.bool_]
    columns: tuple[Integers, ...]

    @classmethod
    def of(cls, numbers: Doubles, cell: Integers) -> PooledCells | None:
        """Return the cells; None if none is small, or all together tell no covariance."""
        sizes = np.bincount(cell)
        small = sizes < RECORDS * (1 + numbers.shape[1])
        within = len(cell) - len(sizes)
        if not small.any() or not numbers.shape[1] or within < numbers.shape[1] + 2:
            return None
        away = numbers - _means(numbers, cell)[cell]
        pooled = np.array(independent_columns(away), dtype=np.intp)
        columns = tuple(
            pooled if few else np.array(independent_columns(away[cell == h]), dtype=np.intp)
            for h, few in enumerate(small.tolist())
        )
        return cls(numbers, cell, small, columns)

    def kept(self, rows: Integers) -> PooledCells | None:
        """Return the cells of some records; empty ones are gone."""
        _, cell = np.unique(self.cell[rows], return_inverse=True)
        return PooledCells.of(self.numbers[rows], cell.reshape(-1))

    def chosen(self) -> list[int]:
        """Return which features of `GroupMeans` are judged, in their order."""
        count, dim = len(self.small), self.numbers.shape[1]
        return [
            *range(count - 1),
            *(count - 1 + h * dim + int(j) for h, of in enumerate(self.columns) for j in of),
        ]

    @cached_property
    def places(self) -> tuple[Integers, ...]:
        """Of each cell, the places of its features among those chosen: 1 first, but for cell 0."""
        starts = np.cumsum([len(self.small) - 1, *(len(of) for of in self.columns)])
        return tuple(
            np.concatenate([np.arange(h - 1, h) if h else np.arange(0), np.arange(start, stop)])
            for h, (start, stop) in enumerate(pairwise(starts.tolist()))
        )

    def features(self) -> Doubles:
        """Return the chosen features (N, D)."""
        result = np.zeros((len(self.cell), len(self.chosen())))
        for h, (places, columns) in enumerate(zip(self.places, self.columns, strict=True)):
            rows = np.flatnonzero(self.cell == h)
            ones = np.ones((len(rows), 1 if h else 0))
            result[np.ix_(rows, places)] = np.hstack([ones, self.numbers[np.ix_(rows, columns)]])
        return result


def _means(numbers: Doubles, cell: Integers) -> Doubles:
    return np.stack([numbers[cell == h].mean(axis=0) for h in range(int(cell.max()) + 1)])


@dataclass(frozen=True, eq=False)
class _Block:
    """The features of one cell: p, m and C, of one law or, with a first axis, of several."""

    share: Doubles
    mean: Doubles
    cov: Doubles

    @property
    def first(self) -> Doubles:
        """First moments over all records, q."""
        return self.share[..., None] * self.mean

    @property
    def second(self) -> Doubles:
        """Second moments over all records, E."""
        outer = self.mean[..., :, None] * self.mean[..., None, :]
        return np.asarray(self.share[..., None, None] * (self.cov + outer))

    @property
    def variances(self) -> Doubles:
        """Variances of the features over all records."""
        second = np.diagonal(self.cov, axis1=-2, axis2=-1) + self.mean**2
        return np.asarray(self.share[..., None] * second - self.first**2)

    def scaled(self, share: float) -> _Block:
        """Return the same with another number of records in all."""
        return replace(self, share=self.share * share)


class Pooled(Population):
    """Counts and means by group, as the features of `PooledCells`; see `Population`.

    Parameters
    ----------
    cells : PooledCells
    n : int
    finite : bool
    published : Published, optional
        Persons, each with one record, and batches.
    told : (P,) ndarray, optional
    """

    pooled = True

    def __init__(
        self,
        cells: PooledCells,
        n: int,
        *,
        finite: bool,
        published: Published | None = None,
        told: Doubles | None = None,
    ) -> None:
        self.cells, values = cells, cells.features()
        self.n, self.finite, self.shrinkage, self.pull = n, finite, None, None
        self.size, self.dim = values.shape
        self.correction = 1 - n / self.size if finite else 1.0
        self.published = published or Published.of(None, self.size, n)
        self.owned = self.published.owned
        self._told, self._known = told, {}
        self.scale, self.values = np.ones(self.dim), values
        blocks = [self._block(h) for h in range(len(cells.small))]
        for places, block in zip(cells.places, blocks, strict=True):
            self.scale[places] = np.sqrt(block.variances)
        self.values = values / self.scale
        self.blocks = [self._block(h) for h in range(len(cells.small))]
        mean, cov = self._joined(self.blocks)
        self.reference = Reference(mean, cov)
        self.centred = self.values - mean

    # --- moments of cells ------------------------------------------------------------------------

    def _own(self, h: int) -> Doubles:
        """Return the features of the records of a cell there, (n_h, k)."""
        return np.asarray(self.values[np.ix_(self.cells.cell == h, self.cells.places[h])])

    @cached_property
    def _within(self) -> Doubles:
        """Scatter of the numbers within all cells, (d, d)."""
        away = self.cells.numbers - _means(self.cells.numbers, self.cells.cell)[self.cells.cell]
        return np.asarray(away.T @ away)

    def _scatter(self, h: int) -> tuple[Doubles, int]:
        """Return the scatter that a cell is judged by, in units of its features, and its divisor.

        The indicator, where there is one, does not vary within the cell.
        """
        cells, places, columns = self.cells, self.cells.places[h], self.cells.columns[h]
        if not cells.small[h]:
            away = self._own(h)
            away = away - away.mean(axis=0)
            return np.asarray(away.T @ away), len(away)
        result = np.zeros((len(places), len(places)))
        first = len(places) - len(columns)
        scale = self.scale[places[first:]]
        result[first:, first:] = self._within[np.ix_(columns, columns)] / np.outer(scale, scale)
        return result, self.size - len(cells.small)

    def _block(self, h: int) -> _Block:
        own = self._own(h)
        scatter, divisor = self._scatter(h)
        share = np.asarray(len(own) / self.size)
        return _Block(share, own.mean(axis=0), scatter / divisor)

    def _without_each(self, h: int, own: Doubles) -> _Block:
        """Return the block of a cell without each of some of its records, (r, k)."""
        count = int((self.cells.cell == h).sum())
        share = np.full(len(own), (count - 1) / (self.size - 1))
        if count == 1:
            return _Block(share, np.zeros_like(own), np.zeros((1, own.shape[1], own.shape[1])))
        away = own - self.blocks[h].mean
        scatter, divisor = self._scatter(h)
        lost = count / (count - 1) * away[:, :, None] * away[:, None, :]
        mean = self.blocks[h].mean - away / (count - 1)
        return _Block(share, mean, (scatter - lost) / (divisor - 1))

    def _others(self) -> list[_Block]:
        """Return the blocks of all cells as parts of one record less."""
        return [block.scaled(self.size / (self.size - 1)) for block in self.blocks]

    def _joined(self, blocks: list[_Block]) -> tuple[Doubles, Doubles]:
        """Return mean and covariance of all features."""
        mean, cov = np.zeros(self.dim), np.zeros((self.dim, self.dim))
        for places, block in zip(self.cells.places, blocks, strict=True):
            mean[places] = block.first
            cov[np.ix_(places, places)] = block.second
        return mean, cov - np.outer(mean, mean)

    def _fit_without(self, person: int) -> Reference:
        h = int(self.cells.cell[person])
        blocks, places = self._others(), self.cells.places[h]
        one = self._without_each(h, self.values[[person]][:, places])
        blocks[h] = _Block(one.share[0], one.mean[0], one.cov[0])
        mean, cov = self._joined(blocks)
        return Reference(mean, self.correction * cov)

    # --- leakage ---------------------------------------------------------------------------------

    def _distances(self, variance: float | None) -> Doubles:
        """Squared distance of each record from the others, (N,)."""
        if variance:
            return self._by_cells(self._noisy_of(variance))
        return self._by_cells(self._plain_of)

    def _by_cells(self, scores_of: Callable[[int, Doubles, _Block], Doubles]) -> Doubles:
        """Score the records cell by cell, some MB at a time."""
        scores = np.empty(self.size)
        for h, places in enumerate(self.cells.places):
            rows = np.flatnonzero(self.cells.cell == h)
            tile = max(1, _TOGETHER // max(len(places), 1) ** 2)
            for start in range(0, len(rows), tile):
                some = rows[start : start + tile]
                own = self.values[np.ix_(some, places)]
                scores[some] = scores_of(h, own, self._without_each(h, own))
        return scores

    def _plain_of(self, h: int, own: Doubles, law: _Block) -> Doubles:
        """Return (1/p - 1) + M/p, M the distance of z within its cell.

        With t the share of the record in the scatter W, M is n/(n-1) f t / (1 - t), f the divisor
        without it.
        """
        count = int((self.cells.cell == h).sum())
        if count == 1:
            return np.full(len(own), np.inf)
        first = len(self.cells.places[h]) - len(self.cells.columns[h])
        away = (own - self.blocks[h].mean)[:, first:]
        scatter, divisor = self._scatter(h)
        grown = count / (count - 1)
        share = np.zeros(len(own))
        if away.shape[1]:
            known = Reference(np.zeros(away.shape[1]), scatter[first:, first:])
            share = grown * known.squared_mahalanobis(away)
        left = np.where(1 - share > _NOTHING, 1 - share, 0.0)
        with np.errstate(divide="ignore"):
            within = grown * (divisor - 1) * share / left
        return np.asarray((1 / law.share - 1) + within / law.share)

    def _noisy_of(self, variance: float) -> Callable[[int, Doubles, _Block], Doubles]:
        """Return the same with noise, (B + v - q q')^-1 by Sherman and Morrison."""
        along = []
        for block in self._others():
            q = block.first
            noisy = block.second + variance * np.eye(len(q))
            along.append(float(q @ np.linalg.solve(noisy, q)))
        total = sum(along)

        def scores_of(h: int, own: Doubles, law: _Block) -> Doubles:
            q = law.first
            noisy = law.second + variance * np.eye(own.shape[1])
            solved = np.linalg.solve(noisy, np.stack([own, q], axis=2))
            target = np.sum(own * solved[:, :, 0], axis=1)
            both = np.sum(own * solved[:, :, 1], axis=1)
            means = total - along[h] + np.sum(q * solved[:, :, 1], axis=1)
            return np.asarray(target - 2 * both + means + (both - means) ** 2 / (1 - means))

        return scores_of

    def weaker(self) -> Doubles:
        """Leakage to the attacker who knows the features' means and variances only, (P,)."""
        parts = []
        for block in self._others():
            variances = block.variances  # 0 of a count that only the record left out belongs to
            weight = np.zeros_like(variances)
            np.divide(-block.first, variances, out=weight, where=variances > _NOTHING)
            spread = weight @ block.second @ weight
            parts.append((-weight @ block.first, spread, weight @ block.first))
        sums = np.sum(parts, axis=0)

        def scores_of(h: int, own: Doubles, law: _Block) -> Doubles:
            away, variances = own - law.first, law.variances
            alone = np.asarray((variances <= _NOTHING).any(axis=1))
            weight = np.divide(
                away, variances, out=np.zeros_like(away), where=~alone[:, np.newaxis]
            )
            rest = sums - np.array(parts[h])
            along = np.sum(weight * away, axis=1) + rest[0]
            spread = np.einsum("ri,rij,rj->r", weight, law.second, weight) + rest[1]
            spread -= (np.sum(weight * law.first, axis=1) + rest[2]) ** 2
            scores = along**2 / np.where(spread > 0, spread, 1.0)
            scores[alone] = np.inf
            return np.asarray(scores)

        scores = self._by_cells(scores_of) / self.divisors
        scores = scores[self.owned.first]
        scores[self.published.given_away()] = np.inf
        return np.asarray(scores)

    def left_out(self, person: int, remaining: Doubles) -> Doubles:  # noqa: ARG002
        """Return no leakage without single features: those of a cell belong together."""
        return np.full(self.dim, np.nan)

    # --- changed releases ------------------------------------------------------------------------

    def without_records(self, rows: Integers) -> tuple[Population | None, Integers]:
        """Return the release without some records of the last batch, and which persons remain."""
        kept = np.delete(np.arange(self.size), rows)
        published, persons = self.published.kept(kept)
        n = min(self.n, len(kept)) if published.last == 0 else self.n - len(rows)
        cells = self.cells.kept(kept)
        if cells is None:  # no cell is small any more, or too few records are left
            return super().without_records(rows)
        told = self.told[persons]
        return Pooled(cells, n, finite=self.finite, published=published, told=told), persons

    def can_spare(self, rows: Integers) -> bool:
        """Tell whether the release can be judged without some records of the last batch."""
        kept = np.delete(np.arange(self.size), rows)
        return self.cells.kept(kept) is not None and self._can_draw(rows)

    def _other(
        self,
        values: Doubles,
        n: int,
        published: Published,
        told: Doubles,
        kept: Integers | slice = slice(None),
    ) -> Population:
        if values is not self.values:
            return super()._other(values, n, published, told, kept)
        return Pooled(self.cells, n, finite=self.finite, published=published, told=told)


def small_cells(cells: PooledCells, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the cells that are judged by the pooled covariance."""
    return tuple(name for name, few in zip(names, cells.small.tolist(), strict=True) if few)
