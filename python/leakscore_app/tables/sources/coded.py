"""Columns of categories beside those of numbers: a block holds the number of each level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles
from leakscore_app.tables.sources.arrays import ArrayPart
from leakscore_app.tables.sources.blocks import ROWS

Codes = npt.NDArray[np.int32]


def codes_of(labels: npt.NDArray[np.str_]) -> tuple[tuple[str, ...], Codes]:
    """Return the levels of labels, in order, and the number of each label's; -1 for a blank one."""
    levels, codes = np.unique(labels, return_inverse=True)
    blank = int(len(levels) > 0 and levels[0] == "")
    return tuple(levels[blank:].tolist()), codes.reshape(-1).astype(np.int32) - blank


@dataclass(frozen=True, eq=False)
class CodedPart:
    """An array with columns of categories.

    Attributes
    ----------
    part : ArrayPart
    codes : dict
        Name of a column -> the number of each row's level, -1 where it is not known.
    """

    part: ArrayPart
    codes: Mapping[str, Codes] = field(repr=False)

    @property
    def name(self) -> str:
        """For messages."""
        return self.part.name

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of categories, then the others."""
        return (*self.codes, *(name for name in self.part.columns if name not in self.codes))

    @property
    def rows(self) -> int:
        """Rows of the array."""
        return self.part.rows

    def batches(self, columns: Sequence[str], first: int, last: int | None) -> Iterator[Doubles]:
        """Yield rows; see `blocks.Part`. An unknown level is NaN."""
        stop = self.rows if last is None else last
        coded = [place for place, name in enumerate(columns) if name in self.codes]
        plain = [place for place, name in enumerate(columns) if name not in self.codes]
        others = [columns[place] for place in plain]
        for start in range(first, stop, ROWS):
            end = min(start + ROWS, stop)
            values = np.empty((end - start, len(columns)))
            for place in coded:
                codes = self.codes[columns[place]][start:end]
                values[:, place] = np.where(codes < 0, np.nan, codes)
            if plain:
                (values[:, plain],) = self.part.batches(others, start, end)
            yield values
