"""Rows of a table, of which equal ones are kept once: what depends on a row is computed once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore.leakage.table_law import TableLaw
from leakscore.typing import Doubles
from leakscore_app.passes.first import Words, mixed
from leakscore_app.tables.sources.blocks import Block, Kind

Integers = npt.NDArray[np.int64]
SAMPLED = 65_536
"""Rows of the sample, or a few more or less."""


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Some rows of a table, in its order.

    Attributes
    ----------
    rows : (k,) ndarray of int
        Their numbers in the table, from 0, increasing.
    different : (m, d) ndarray
    place : (k,) ndarray of int, optional
        Which of these each row is; by default they are the rows.
    """

    rows: Integers
    different: Doubles
    place: Integers | None = None

    @classmethod
    def of(cls, law: TableLaw, block: Block) -> JudgedRows:
        """Return the judged columns of the complete rows of a block."""
        different, complete = law.chosen(block.values)
        if block.place is None:
            return cls(complete + block.start, different)
        at = np.full(len(block.values), -1)
        at[complete] = np.arange(len(complete))
        place = at[block.place]
        inside = np.flatnonzero(place >= 0)
        return cls(inside + block.start, different, place[inside])

    def each(self, of_different: npt.NDArray[Kind]) -> npt.NDArray[Kind]:
        """Return for each row what is known of the different ones, (m,) or (m, ...)."""
        return of_different if self.place is None else of_different[self.place]

    @property
    def values(self) -> Doubles:
        """All rows, (k, d)."""
        return self.each(self.different)

    @property
    def repeats(self) -> Integers:
        """How many rows are equal to each different one, (m,)."""
        if self.place is None:
            return np.ones(len(self.different), np.int64)
        return np.bincount(self.place, minlength=len(self.different))

    def taken(self, at: Integers) -> Doubles:
        """Return the values of some rows, in any order."""
        return self.different[at if self.place is None else self.place[at]]

    def chosen(self, at: npt.NDArray[np.bool_] | Integers) -> JudgedRows:
        """Return some of the rows, by their places among these."""
        if self.place is None:
            return JudgedRows(self.rows[at], self.different[at])
        place = self.place[at]
        present = np.bincount(place, minlength=len(self.different)) > 0
        return JudgedRows(self.rows[at], self.different[present], (np.cumsum(present) - 1)[place])

    def merge(self, other: JudgedRows) -> JudgedRows:
        """Add later rows."""
        rows = np.concatenate([self.rows, other.rows])
        if self.place is None or other.place is None:
            return JudgedRows(rows, np.concatenate([self.values, other.values]))
        different = np.concatenate([self.different, other.different])
        place = np.concatenate([self.place, other.place + len(self.different)])
        return JudgedRows(rows, different, place)


def sampled_rows(rows: Integers, size: int) -> npt.NDArray[np.bool_]:
    """Return which rows of a table are in the sample: their hash is below what `size` asks for."""
    if size <= SAMPLED:
        return np.ones(len(rows), bool)
    words: Words = (rows + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(mixed(words) <= np.uint64(int(SAMPLED / size * 2**64)))
