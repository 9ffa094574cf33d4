"""Means, sums, proportions and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from leakscore.statistics._statistic import Statistic, indicators, names_of
from leakscore.typing import Doubles


@dataclass(frozen=True)
class Mean(Statistic):
    """The mean of every column: phi(z) = z.

    Examples
    --------
    >>> from leakscore import statistics
    >>> statistics.Mean().on(["a"]).features([[1.5], [2.0]]).tolist()
    [[1.5], [2.0]]
    """

    kind: ClassVar[str] = "mean"
    blockwise: ClassVar[bool] = True

    def published(self, records: int, columns: str) -> str:
        """Say what is published, as the start of a sentence."""
        return f"The mean of n = {records} records in {columns}"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.columns

    def _features(self, values: Doubles) -> Doubles:
        return values


@dataclass(frozen=True)
class Sum(Mean):
    """The sum of every column, where the number of records is known: n times the mean.

    Examples
    --------
    >>> from leakscore import statistics
    >>> statistics.Sum().on(["a"]).exact
    'exact'
    """

    kind: ClassVar[str] = "sum"
    totals: ClassVar[bool] = True

    def published(self, records: int, columns: str) -> str:
        """Say what is published, as the start of a sentence."""
        return f"The sum of n = {records} records in {columns}"


@dataclass(frozen=True)
class Proportions(Statistic):
    """The share of each level of columns of categories: phi is 1 where a record has a level.

    The first level of each column is left out, since the shares add up to 1. In a single column a
    record of a level with share p has M = 1/p - 1.

    Parameters
    ----------
    by : str or sequence of str
        Columns of categories.

    Examples
    --------
    >>> from leakscore import statistics
    >>> shares = statistics.Proportions(by=("sex",)).on(["sex"], {"sex": ["f", "m"]})
    >>> shares.names, shares.features([[0], [1]]).tolist()
    (('sex=m',), [[0.0], [1.0]])
    """

    by: str | Sequence[str]
    kind: ClassVar[str] = "proportions"
    blockwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Take one name for a list of one."""
        object.__setattr__(self, "by", names_of(self.by))

    def _require(self) -> None:
        if not self.by:
            raise ValueError("Expected by=() to name a column of categories")
        for name in self.by:
            self._levels_of("by", name)

    @property
    def names(self) -> tuple[str, ...]:
        """Column and level."""
        return tuple(
            f"{name}={level}" for name in self.by for level in self._levels_of("by", name)[1:]
        )

    def _features(self, values: Doubles) -> Doubles:
        parts = [
            indicators(values[:, self._index("by", name)], len(self._levels_of("by", name)))[:, 1:]
            for name in self.by
        ]
        return np.concatenate(parts, axis=1)


@dataclass(frozen=True)
class Histogram(Statistic):
    """Counts of a column between edges: phi is 1 where a value lies in a bin.

    The first bin is left out, since the counts add up to n. Bins hold their lower edge; the last
    one holds both; values outside all are in a bin of their own where there are any.

    Parameters
    ----------
    column : str
    edges : sequence of float
        Increasing.

    Examples
    --------
    >>> from leakscore import statistics
    >>> histogram = statistics.Histogram(column="a", edges=(0.0, 1.0, 2.0)).on(["a"])
    >>> histogram.names
    ('a in [1, 2]', 'a outside')
    >>> histogram.features([[0.5], [2.0], [7.0]]).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """

    column: str
    edges: Sequence[float]
    kind: ClassVar[str] = "histogram"
    totals: ClassVar[bool] = True
    blockwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Hold the edges as they are compared."""
        object.__setattr__(self, "edges", tuple(map(float, self.edges)))

    def _require(self) -> None:
        self._index("column", self.column)
        edges = np.asarray(self.edges, dtype=np.float64)
        if edges.size < 2 or not (np.diff(edges) > 0).all():
            raise ValueError(f"Expected edges={self.edges} to hold at least two increasing numbers")

    @property
    def names(self) -> tuple[str, ...]:
        """The bins but the first, and what lies outside."""
        inner = zip(self.edges[1:-1], self.edges[2:], strict=True)
        closing = [")"] * (len(self.edges) - 3) + ["]"]
        bins = [
            f"{self.column} in [{low:g}, {high:g}{end}"
            for (low, high), end in zip(inner, closing, strict=False)
        ]
        return (*bins, f"{self.column} outside")

    def _features(self, values: Doubles) -> Doubles:
        column, edges = values[:, self._index("column", self.column)], np.asarray(self.edges)
        bins = np.asarray(np.searchsorted(edges, column, side="right") - 1.0, np.float64)
        bins[column == edges[-1]] = len(edges) - 2
        bins[(column < edges[0]) | (column > edges[-1])] = len(edges) - 1
        bins[np.isnan(column)] = np.nan
        return indicators(bins, len(edges))[:, 1:]
