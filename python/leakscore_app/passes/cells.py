"""What the second pass knows of the cells of a table by group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class InCells:
    """The rows of each of K cells.

    Attributes
    ----------
    records : (K,) ndarray of int
    above : (t, K) ndarray of int
        Rows with a score above each threshold.
    worst : (K,) ndarray
        The largest score; -inf where there is no row.
    rows : (K,) ndarray of int
        The first row that has it; -1 where there is none.
    """

    records: Integers
    above: Integers
    worst: Doubles
    rows: Integers

    @classmethod
    def of(
        cls,
        cell: npt.NDArray[np.intp],
        count: int,
        rows: Integers,
        scores: Doubles,
        thresholds: Doubles,
    ) -> InCells:
        """Look at rows, which increase, of `count` cells."""
        above = [np.bincount(cell[scores > at], minlength=count) for at in thresholds]
        worst = np.full(count, -np.inf)
        np.maximum.at(worst, cell, scores)
        first = np.full(count, -1, np.int64)
        places = np.flatnonzero(scores == worst[cell])[::-1]
        first[cell[places]] = rows[places]  # of several the last one written: the first row
        records = np.bincount(cell, minlength=count).astype(np.int64)
        return cls(records, np.array(above, np.int64).reshape(-1, count), worst, first)

    def merge(self, other: InCells) -> InCells:
        """Add later rows."""
        ahead = other.worst > self.worst
        return InCells(
            self.records + other.records,
            self.above + other.above,
            np.where(ahead, other.worst, self.worst),
            np.where(ahead, other.rows, self.rows),
        )
