"""Which record of a long table narrows the spread of a regression's coefficients most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakscore.statistics import Regression
from leakscore_app.passes.runner import Passes
from leakscore_app.report._model import Narrowing
from leakscore_app.report.engine.features import Features
from leakscore_app.report.engine.leakage import narrowed, released_leverages
from leakscore_app.tables.sources.blocks import Block, Source


@dataclass(frozen=True)
class Narrowest:
    """The record of largest leverage: its leverage, its number from 0, and the predictor."""

    leverage: float
    row: int
    column: str

    def merge(self, other: Narrowest) -> Narrowest:
        """Add later records."""
        return max(self, other, key=lambda narrowest: narrowest.leverage)


@dataclass(frozen=True)
class Narrow:
    """A pass that finds it; `places` are the columns of the regression in a block."""

    regression: Regression
    places: tuple[int, ...]

    def __call__(self, block: Block) -> Narrowest:
        """Look at the complete rows of a block."""
        complete = np.flatnonzero(np.isfinite(block.values).all(axis=1))
        if not len(complete):
            return Narrowest(-1.0, -1, "")
        values = block.values[complete][:, self.places]
        leverages = self.regression.leverages(values)
        worst = int(leverages.argmax())
        column = self.regression.column_of(values[worst])
        return Narrowest(float(leverages[worst]), block.start + int(complete[worst]), column)


def narrowing_in_blocks(
    source: Features, passes: Passes, regression: Regression, size: int, n: int
) -> Narrowing:
    """Return which of `size` records narrows the spread of the coefficients most, its shift aside.

    With a leverage as large as one that shows, it is one of few of many records.
    """
    rows = Source(
        source.parts, source.read, source.size, source.missing, source.memory, source.levels
    )
    places = tuple(source.read.index(name) for name in regression.columns)
    worst: Narrowest = passes(rows, Narrow(regression, places), "looking at leverages")
    leverage = float(released_leverages(np.float64(worst.leverage), size, n))
    return Narrowing(worst.row + 1, worst.column, leverage, float(narrowed(0.0, leverage)))
