"""The first pass: moments of the complete rows, and what columns hold besides."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore.reference import Moments
from leakscore.typing import Flags
from leakscore_app.passes.columns import Columns
from leakscore_app.passes.copies import Copies
from leakscore_app.tables.sources.blocks import Block

Counts = npt.NDArray[np.int64]
FIRST = 5  # lost rows that are named


@dataclass(frozen=True)
class Lost:
    """Rows that cannot be judged: how many, and the numbers, from 1, of the first few."""

    count: int
    first: tuple[int, ...]

    def merge(self, other: Lost) -> Lost:
        """Add later rows."""
        return Lost(self.count + other.count, (*self.first, *other.first)[:FIRST])

    @classmethod
    def of(cls, rows: Flags, start: int) -> Lost:
        """Return the rows that are marked; `start` rows lie above the first."""
        places = np.flatnonzero(rows)
        return cls(len(places), tuple((places[:FIRST] + start + 1).tolist()))


@dataclass(frozen=True, eq=False)
class First:
    """What the first pass knows of some blocks.

    Attributes
    ----------
    rows : int
    missing, infinite : Lost
        Rows in which a value is missing, and others in which one is infinite.
    absent, holes : (d,) ndarray of int
        Cells of each column that are missing, and that are missing or infinite.
    columns : Columns
        Of the values that are finite.
    judged : Columns
        Of the complete rows.
    moments : Moments
        Of the complete rows.
    copies : Copies
        Of the complete rows.
    """

    rows: int
    missing: Lost
    infinite: Lost
    absent: Counts
    holes: Counts
    columns: Columns
    judged: Columns
    moments: Moments
    copies: Copies

    def merge(self, other: First) -> First:
        """Add later blocks."""
        moments = copy.copy(self.moments)
        moments.merge(other.moments)
        return First(
            self.rows + other.rows,
            self.missing.merge(other.missing),
            self.infinite.merge(other.infinite),
            self.absent + other.absent,
            self.holes + other.holes,
            self.columns.merge(other.columns),
            self.judged.merge(other.judged),
            moments,
            self.copies.merge(other.copies),
        )


def first(block: Block) -> First:
    """Return what the first pass knows of a block."""
    values = block.values
    dim = values.shape[1]
    moments = Moments(dim)
    none = np.zeros(dim, np.int64)
    if np.isfinite(values).all():
        moments.update(values)
        columns, nobody = Columns.of(values), Lost(0, ())
        copies = Copies.of(values)
        return First(len(values), nobody, nobody, none, none, columns, columns, moments, copies)
    absent, infinite = np.isnan(values), np.isinf(values)
    lost = np.asarray(absent.any(axis=1))
    far = np.asarray(infinite.any(axis=1) & ~lost)
    complete = values[~(lost | far)]
    if len(complete):
        moments.update(complete)
    return First(
        len(values),
        Lost.of(lost, block.start),
        Lost.of(far, block.start),
        absent.sum(axis=0),
        (absent | infinite).sum(axis=0),
        Columns.of(values),
        Columns.of(complete),
        moments,
        Copies.of(complete),
    )
