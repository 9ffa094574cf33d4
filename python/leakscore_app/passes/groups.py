"""A pass over columns of categories: the records of each level, and of each combination of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from leakscore_app.passes.first import Copies, Lost
from leakscore_app.passes.tree import Fieldwise
from leakscore_app.tables.sources.blocks import Block

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroupedRecords(Fieldwise):
    """Records of which all groups are known, and others.

    Attributes
    ----------
    lost : Lost
        Records with all numbers whose group is not known.
    levels : tuple of (k,) ndarray of int
        Of each column of categories, the records of each level.
    cells : (K,) ndarray of int
        Records of each combination of levels, where these are counted.
    copies : Copies
        Of the records, by groups and numbers.
    """

    lost: Lost
    levels: tuple[Integers, ...]
    cells: Integers
    copies: Copies


@dataclass(frozen=True)
class Group:
    """A pass that counts levels; the first columns of a block are those of categories.

    Attributes
    ----------
    sizes : tuple of int
        How many levels each of them has.
    crossed : bool
        Whether combinations of levels are counted.
    """

    sizes: tuple[int, ...]
    crossed: bool

    def __call__(self, block: Block) -> GroupedRecords:
        """Return what is known of a block."""
        codes, numbers = np.hsplit(block.values, [len(self.sizes)])
        complete = np.asarray(np.isfinite(numbers).all(axis=1))
        grouped = np.asarray(np.isfinite(codes).all(axis=1))
        groups = codes[complete & grouped].astype(np.intp).T
        levels = (
            np.bincount(column, minlength=size)
            for column, size in zip(groups, self.sizes, strict=True)
        )
        cells = np.zeros(0, np.intp)
        if self.crossed:
            crossed = np.ravel_multi_index(tuple(groups), self.sizes)
            cells = np.bincount(crossed, minlength=prod(self.sizes))
        lost = Lost.of(complete & ~grouped, block.start)
        copies = Copies.of(block.values[complete & grouped])
        return GroupedRecords(lost, tuple(levels), cells, copies)
