"""Tables by group: counts, or counts and means, of every cell; several tables at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from leakscore.reference import Moments
from leakscore.statistics._statistic import ByLevels, Statistic, indicators, names_of
from leakscore.typing import Doubles, Flags

_MOST_CELLS = 100_000
_ROUNDING = 1e-12  # of the sum of all shares


@dataclass(frozen=True)
class _Cells(ByLevels):
    """A statistic of the combinations of the levels of some columns."""

    def _require(self) -> None:
        cells = prod(self._sizes())
        if cells * (1 + len(self._averaged())) > _MOST_CELLS:
            raise ValueError(
                f"by={self.by} must have fewer than {cells} cells: publish coarser groups"
            )

    def _averaged(self) -> list[int]:
        """Return the columns whose mean in every cell is published."""
        return []

    @property
    def cells(self) -> tuple[str, ...]:
        """Names of the cells."""
        levels = [[f"{name}={level}" for level in self._levels_of("by", name)] for name in self.by]
        return tuple(", ".join(parts) for parts in product(*levels))

    def cell_of(self, block: npt.ArrayLike) -> npt.NDArray[np.intp]:
        """Return the number of each record's cell, -1 where a category is missing."""
        values = np.asarray(block, dtype=np.float64)
        codes = np.zeros(len(values))
        for name, size in zip(self.by, self._sizes(), strict=True):
            codes = codes * size + values[:, self._index("by", name)]
        return np.where(np.isnan(codes), -1, codes).astype(np.intp)

    def _indicators(self, values: Doubles) -> Doubles:
        cell = self.cell_of(values).astype(np.float64)
        cell[cell < 0] = np.nan
        return indicators(cell, len(self.cells))


@dataclass(frozen=True)
class Counts(_Cells):
    """A contingency table: how many records each combination of levels has.

    phi is 1 in the record's cell and 0 elsewhere; the first cell is left out, since the counts add
    up to n. A record of a cell with share p has M = 1/p - 1.

    Parameters
    ----------
    by : str or sequence of str
        Columns of categories.

    Examples
    --------
    >>> from leakscore import statistics
    >>> levels = {"sex": ["f", "m"], "place": ["u", "v"]}
    >>> counts = statistics.Counts(by=("sex", "place")).on(["sex", "place"], levels)
    >>> counts.names
    ('sex=f, place=v', 'sex=m, place=u', 'sex=m, place=v')
    >>> counts.features([[0, 0], [1, 0]]).tolist()
    [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """

    kind: ClassVar[str] = "counts"
    totals: ClassVar[bool] = True

    def published(self, records: int, columns: str) -> str:
        """Say what is published, as the start of a sentence."""
        del columns  # the first cell is a number, too
        cells = f"{len(self.cells)} cells"
        return f"The counts by {', '.join(self.by)} of n = {records} records ({cells})"

    @property
    def names(self) -> tuple[str, ...]:
        """The cells but the first."""
        return self.cells[1:]

    def _features(self, values: Doubles) -> Doubles:
        return self._indicators(values)[:, 1:]


@dataclass(frozen=True)
class GroupMeans(_Cells):
    """Means and counts by group: phi(z) = (1_g, 1_g z) for every cell g.

    A record of a cell with share p_g has M = (1/p_g - 1) + M_g(z) / p_g, where M_g is its distance
    from the other records of its cell. The count of the first cell is left out: the counts add up
    to n.

    Parameters
    ----------
    by : str or sequence of str
        Columns of categories; the cells are the combinations of their levels.

    Examples
    --------
    >>> from leakscore import statistics
    >>> means = statistics.GroupMeans(by=("sex",)).on(["sex", "a"], {"sex": ["f", "m"]})
    >>> means.names
    ('sex=m', 'a where sex=f', 'a where sex=m')
    >>> means.features([[1, 7.0]]).tolist()
    [[1.0, 0.0, 7.0]]
    """

    kind: ClassVar[str] = "group-means"
    said: ClassVar[str] = (
        "The means by {by} and the counts of n = {records} records ({numbers} in all)"
    )

    def _averaged(self) -> list[int]:
        return self._numeric()

    @property
    def names(self) -> tuple[str, ...]:
        """The cells but the first, then every column within every cell."""
        inside = [f"{self.columns[j]} where {cell}" for cell in self.cells for j in self._numeric()]
        return (*self.cells[1:], *inside)

    def units(self, means: npt.ArrayLike, n: int) -> Doubles:
        """Return n of a count, and one over its cell's share of a mean; see `Statistic.units`.

        Parameters
        ----------
        means : (D,) array_like
        n : int

        Returns
        -------
        (D,) ndarray of float64
        """
        others = self._feature_means(means)[: len(self.cells) - 1]
        first = 1.0 - others.sum()
        shares = np.concatenate([[first if first > _ROUNDING else 0.0], others])
        with np.errstate(divide="ignore"):
            inside = np.repeat(1.0 / shares, len(self._averaged()))
        return np.concatenate([np.full(len(others), float(n)), inside])

    def jacobian(self, means: npt.ArrayLike, n: int) -> Doubles:
        """Return the derivatives of sums over counts; see `Statistic.jacobian`.

        Parameters
        ----------
        means : (D,) array_like
        n : int

        Returns
        -------
        (D, D) ndarray of float64
        """
        units, numbers, counts = self.units(means, n), self.estimates(means, n), len(self.cells) - 1
        slopes = np.diag(units)
        shape = counts + 1, len(self._averaged())
        within, by_count = np.zeros((*shape, counts)), (units * numbers)[counts:].reshape(shape)
        within[0] = by_count[0][:, np.newaxis]  # the first count is n less the others
        cell = np.arange(counts)
        within[cell + 1, :, cell] = -by_count[1:]
        slopes[counts:, :counts] = within.reshape(len(units) - counts, counts)
        return slopes

    def _features(self, values: Doubles) -> Doubles:
        inside = self._indicators(values)
        numbers = values[:, self._numeric()]
        within = inside[:, :, None] * numbers[:, None, :]
        return np.concatenate([inside[:, 1:], within.reshape(len(values), -1)], axis=1)


@dataclass(frozen=True)
class Several(Statistic):
    """Several statistics of the same records, with the features of all.

    Tables by two columns that are not crossed, or totals with subgroups, also publish what follows
    from them by subtraction. `leakscore_app.analyse` leaves out features that follow from others.

    Parameters
    ----------
    parts : sequence of Statistic
        If two have a feature of the same name, that of the first is taken.

    Examples
    --------
    >>> from leakscore import statistics
    >>> tables = statistics.Several([statistics.Counts("sex"), statistics.Mean()])
    >>> tables = tables.on(["sex", "a"], {"sex": ["f", "m"]})
    >>> tables.names, tables.features([[1, 7.0]]).tolist()
    (('sex=m', 'a'), [[1.0, 7.0]])
    """

    parts: Sequence[Statistic]
    kind: ClassVar[str] = "several"

    def __post_init__(self) -> None:
        """Refuse parts that are not statistics."""
        parts: tuple[Any, ...] = tuple(self.parts)
        for part in parts:
            if not isinstance(part, Statistic) or isinstance(part, Several):
                raise TypeError(f"parts must be of leakscore.statistics, not {part!r}")
        if any(part.exact != "exact" for part in parts):
            raise ValueError("parts must have a law that is exact: not a regression or a quantile")
        if {"cross-products", "covariance"} <= {part.kind for part in parts}:
            raise ValueError("parts must not hold cross-products and covariances: both name a*b")
        object.__setattr__(self, "parts", parts)

    def on(
        self, columns: Sequence[str], levels: Mapping[str, Sequence[str]] | None = None
    ) -> Several:
        """Return the statistic of tables with these columns; see `Statistic.on`.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns of a block, in their order.
        levels : mapping, optional
            Column of categories -> its levels.

        Returns
        -------
        Several
        """
        mapping = levels or {}
        bound = []
        for part in self.parts:
            named = names_of(getattr(part, "by", ()))
            options = {name: of for name, of in mapping.items() if name in named}
            bound.append(part.on([n for n in columns if n not in mapping or n in options], options))
        return super(Several, replace(self, parts=tuple(bound))).on(columns, levels)

    def prepare(self, values: npt.ArrayLike | Moments) -> Several:
        """Return the statistic with each part prepared.

        Parameters
        ----------
        values : (N, d) array_like or Moments

        Returns
        -------
        Several
        """
        if not isinstance(values, Moments):
            values = self._checked(values)
        blocks: list[Moments | Doubles] = [
            values.part(at) if isinstance(values, Moments) else values[:, at]
            for _, at in self.tables
        ]
        parts = zip(self.parts, blocks, strict=True)
        return replace(self, parts=tuple(part.prepare(block) for part, block in parts))

    def units(self, means: npt.ArrayLike, n: int) -> Doubles:
        """Return the units of the parts; see `Statistic.units`.

        Parameters
        ----------
        means : (D,) array_like
        n : int

        Returns
        -------
        (D,) ndarray of float64
        """
        mean = self._feature_means(means)
        return np.concatenate([part.units(mean[at], n)[new] for part, at, new in self._layout()])

    def jacobian(self, means: npt.ArrayLike, n: int) -> Doubles | None:
        """Return the derivatives of the parts, or None; see `Statistic.jacobian`.

        Parameters
        ----------
        means : (D,) array_like
        n : int

        Returns
        -------
        (D, D) ndarray of float64, or None
        """
        mean = self._feature_means(means)
        blocks = [(part.jacobian(mean[at], n), at, new) for part, at, new in self._layout()]
        if all(block is None for block, _, _ in blocks):
            return None
        slopes = np.diag(self.units(means, n))
        for block, at, new in blocks:
            if block is not None:
                slopes[np.ix_(at[new], at)] = block[new]
        return slopes

    def published(self, records: int, columns: str) -> str:
        """Say what is published, as the start of a sentence."""
        del columns  # each part has its own
        parts = [part.published(records, _count_of_columns(len(part.names))) for part in self.parts]
        lower = [f"{part[:1].lower()}{part[1:]}" for part in parts]
        return f"Together {', and '.join(lower)}"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features of the parts, each once."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.names))

    @property
    def tables(self) -> tuple[tuple[Statistic, list[int]], ...]:
        """The parts, each with the indices of its columns in a block."""
        return tuple((part, [*map(self.columns.index, part.columns)]) for part in self.parts)

    def _require(self) -> None:
        if not self.parts:
            raise ValueError("parts=() must hold a statistic")

    def _features(self, values: Doubles) -> Doubles:
        return self._join_columns(part.features(values[:, at]) for part, at in self.tables)

    def _features_of(self, values: Doubles, owners: npt.NDArray[np.intp]) -> Doubles:
        return self._join_columns(part.features(values[:, at], owners) for part, at in self.tables)

    def _join_columns(self, blocks: Iterable[Doubles]) -> Doubles:
        """Join the features of the parts, each name once."""
        layout = zip(self._layout(), blocks, strict=True)
        return np.concatenate([block[:, new] for (_, _, new), block in layout], axis=1)

    def _layout(self) -> Iterator[tuple[Statistic, npt.NDArray[np.intp], Flags]]:
        """Yield each part, the places of its features in `names`, and which of them are new."""
        place: dict[str, int] = {}
        for part in self.parts:
            before = len(place)
            at = np.array([place.setdefault(name, len(place)) for name in part.names])
            yield part, at, at >= before


def _count_of_columns(size: int) -> str:
    return f"{size} column{'' if size == 1 else 's'}"
