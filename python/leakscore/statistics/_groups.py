"""Tables of means by group: counts and means of every cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from leakscore._types import Doubles
from leakscore.statistics._statistic import Statistic, indicators, names_of


@dataclass(frozen=True)
class GroupMeans(Statistic):
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

    by: str | Sequence[str]
    kind: ClassVar[str] = "group-means"

    def __post_init__(self) -> None:
        """Take one name for a list of one."""
        object.__setattr__(self, "by", names_of(self.by))

    def _require(self) -> None:
        if not self.by:
            raise ValueError("Expected by=() to name a column of categories")
        cells = prod(len(self._levels_of("by", name)) for name in self.by)
        if cells * (1 + len(self._numbers())) > 100_000:
            raise ValueError(
                f"Expected by={self.by} to have fewer than {cells} cells: publish coarser groups"
            )

    def published(self, records: int, columns: str) -> str:
        """Say what is published, as the start of a sentence."""
        by, numbers = ", ".join(self.by), columns.replace("column", "number")
        return f"The means by {by} and the counts of n = {records} records ({numbers} in all)"

    @property
    def cells(self) -> tuple[str, ...]:
        """Names of the cells."""
        levels = [[f"{name}={level}" for level in self._levels_of("by", name)] for name in self.by]
        return tuple(", ".join(parts) for parts in product(*levels))

    @property
    def names(self) -> tuple[str, ...]:
        """The cells but the first, then every column within every cell."""
        inside = [f"{self.columns[j]} where {cell}" for cell in self.cells for j in self._numbers()]
        return (*self.cells[1:], *inside)

    def cell_of(self, block: npt.ArrayLike) -> npt.NDArray[np.intp]:
        """Return the number of each record's cell, -1 where it is not known."""
        values = np.asarray(block, dtype=np.float64)
        codes = np.zeros(len(values))
        for name in self.by:
            codes = codes * len(self._levels_of("by", name)) + values[:, self._index("by", name)]
        return np.where(np.isnan(codes), -1, codes).astype(np.intp)

    def _features(self, values: Doubles) -> Doubles:
        cell = self.cell_of(values).astype(np.float64)
        cell[cell < 0] = np.nan
        inside = indicators(cell, len(self.cells))
        numbers = values[:, self._numbers()]
        within = inside[:, :, None] * numbers[:, None, :]
        return np.concatenate([inside[:, 1:], within.reshape(len(values), -1)], axis=1)
