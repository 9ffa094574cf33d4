"""What is known of a column of a text that is read piece by piece: the surveys of its pieces."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from leakscore_app.tables.grammar.conventions import ALL, SINGLE
from leakscore_app.tables.grammar.numbers import Survey

_POINT = SINGLE["."].conventions


@dataclass
class Surveyed:
    """The joint survey of the pieces of one column.

    Attributes
    ----------
    cells, numbers, near, conventions, three, bare
        As in `Survey`.
    bad : (int, str) or None
        The first row that is no number, from 0, and its cell.
    odd : bool
        Whether some piece holds yes and no, or signs about its numbers: then all cells must be
        looked at together.
    whole : bool
        Whether all numbers are whole, none negative.
    absent : Counter
        Word that stands for a missing value -> its cells.
    """

    cells: int = 0
    numbers: int = 0
    near: int = 0
    conventions: int = ALL
    three: dict[str, int] = field(default_factory=dict)
    bare: bool = False
    bad: tuple[int, str] | None = None
    odd: bool = False
    whole: bool = True
    absent: Counter[str] = field(default_factory=Counter)

    def add(self, survey: Survey, start: int) -> None:
        """Add the next piece, above which there are `start` rows."""
        self.cells += survey.cells
        self.numbers += survey.numbers
        self.near += survey.near
        self.conventions &= survey.conventions
        self.three = {mark: start + row for mark, row in survey.three.items()} | self.three
        self.bare |= survey.bare
        self.absent.update(survey.absent)
        self.odd |= survey.boolean or bool(survey.notes)
        if self.bad is None and survey.bad is not None:
            self.bad = start + survey.bad, survey.shown(survey.bad)

    def see(self, values: npt.NDArray[np.float64]) -> None:
        """Look at values of the next piece, NaN where there is none."""
        if self.whole:
            known = values[np.isfinite(values)]
            self.whole = bool(((known == np.floor(known)) & (known >= 0)).all())

    @property
    def numeric(self) -> bool:
        """Whether all cells are numbers."""
        return self.bad is None and not self.odd and self.near == 0 and self.numbers == self.cells

    @property
    def text(self) -> bool:
        """Whether fewer than half of the cells are numbers."""
        return not self.odd and 2 * (self.numbers + self.near) < self.cells

    @property
    def decided(self) -> bool:
        """Whether its points are decimal marks, whatever follows, and it holds fractions."""
        return self.numeric and self.conventions | _POINT == _POINT and not self.whole

    def survey(self) -> Survey:
        """Return what the vote on the marks asks for."""
        return Survey(self.cells, self.numbers, self.conventions, self.three, self.bare, None)
