"""The third pass: the middle rows, projections for the games, and moments of clipped values.

Also further passes for special cases: dependent columns, and estimates without single rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from leakscore.leakage.table_law import TableLaw
from leakscore.reference import Moments
from leakscore.typing import Doubles
from leakscore_app.passes.lattices import ColumnSteps, OffLattice, round_to_steps
from leakscore_app.passes.rows import JudgedRows
from leakscore_app.passes.runner import Fieldwise
from leakscore_app.passes.scores import GUESSED_ROWS, LawCounts, Ties, bin_of, count_above
from leakscore_app.tables.sources.blocks import Block
from leakscore_app.tables.table import Explained, Unexplained

EXTREMES = 128  # values at each end that are stored one by one
CUTS = 64  # number of bins of equal count, and of bins of equal width, for the others

Integers = npt.NDArray[np.int64]


def cuts_of(sample: Doubles) -> Doubles:
    """Return the ends of bins: quantiles of a sample, and equidistant points."""
    shares = np.arange(1, CUTS) / CUTS
    points = np.linspace(sample.min(), sample.max(), CUTS + 1)
    return np.union1d(np.quantile(sample, shares), points)


@dataclass(frozen=True, eq=False)
class BinMoments:
    """Counts, means, scatters and extremes of the numbers in each bin, all (B,)."""

    sizes: Integers
    means: Doubles
    scatters: Doubles
    low: Doubles
    high: Doubles

    @classmethod
    def of(cls, ordered: Doubles, cuts: Doubles) -> BinMoments:
        """Return the moments of increasing numbers in the bins between cuts."""
        ends = np.concatenate([[0], np.searchsorted(ordered, cuts), [len(ordered)]])
        sizes = np.diff(ends)
        full = np.flatnonzero(sizes)
        means, scatters = np.zeros(len(sizes)), np.zeros(len(sizes))
        low, high = np.full(len(sizes), np.inf), np.full(len(sizes), -np.inf)
        if len(full):
            first = ends[full]
            low[full], high[full] = ordered[first], ordered[ends[full + 1] - 1]
            means[full] = np.add.reduceat(ordered, first) / sizes[full]
            same = full[low[full] == high[full]]
            means[same] = low[same]  # exact for equal numbers
            offsets = ordered - np.repeat(means[full], sizes[full])
            scatters[full] = np.add.reduceat(offsets * offsets, first)
        return cls(sizes, means, scatters, low, high)

    def merge(self, other: BinMoments) -> BinMoments:
        """Return the moments with other numbers added."""
        sizes = self.sizes + other.sizes
        share = np.divide(other.sizes, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
        step = other.means - self.means
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        means = np.where(self.sizes > 0, self.means + share * step, other.means)
        return BinMoments(
            sizes,
            np.where(low == high, low, means),
            self.scatters + other.scatters + step * step * (self.sizes * share),
            low,
            high,
        )


@dataclass(frozen=True, eq=False)
class ProjectedNumbers:
    """A summary of numbers: power sums, the extreme ones, and bins of the others.

    Attributes
    ----------
    cuts : (B - 1,) ndarray
    count : int
    powers : (4,) ndarray
        Sums of the first four powers.
    largest : (float, int)
        The number of largest absolute value, and its row.
    low, high : (k,) ndarray
        The smallest and the largest numbers, 128 at most of each, increasing.
    inside : BinMoments
        Of the other numbers.
    """

    cuts: Doubles
    count: int
    powers: Doubles
    largest: tuple[float, int]
    low: Doubles
    high: Doubles
    inside: BinMoments

    @classmethod
    def of(cls, values: Doubles, rows: Integers, cuts: Doubles) -> ProjectedNumbers:
        """Summarise numbers (k,) of rows."""
        ordered = np.sort(values)
        count = len(ordered)
        single = min(EXTREMES, count // 2)
        squares = values * values
        powers = [values.sum(), squares.sum(), (squares * values).sum(), (squares**2).sum()]
        largest = (0.0, -1)
        if count:
            place = int(np.argmax(np.abs(values)))
            largest = (float(values[place]), int(rows[place]))
        return cls(
            cuts,
            count,
            np.array(powers),
            largest,
            ordered[:single],
            ordered[count - single :],
            BinMoments.of(ordered[single : count - single], cuts),
        )

    def merge(self, other: ProjectedNumbers) -> ProjectedNumbers:
        """Add later rows; numbers that are no longer extreme go into the bins."""
        low = np.sort(np.concatenate([self.low, other.low]))
        high = np.sort(np.concatenate([self.high, other.high]))
        start = max(len(high) - EXTREMES, 0)
        dropped = np.sort(np.concatenate([low[EXTREMES:], high[:start]]))
        inside = self.inside.merge(other.inside).merge(BinMoments.of(dropped, self.cuts))
        ahead = abs(other.largest[0]) > abs(self.largest[0])
        return ProjectedNumbers(
            self.cuts,
            self.count + other.count,
            self.powers + other.powers,
            other.largest if ahead else self.largest,
            low[:EXTREMES],
            high[start:],
            inside,
        )


_CACHED = 2048  # rows that are projected together: intermediate results stay in the cache


@dataclass(frozen=True, eq=False)
class Direction:
    """The direction on which rows are projected for a game.

    Attributes
    ----------
    centre : (d,) ndarray
        Point whose projection is 0.
    weight : (d,) ndarray
    row : int
        Number of the target, which is not projected.
    cuts : (B - 1,) ndarray
        Ends of the bins.
    step : float
        A power of two; projections are rounded to multiples of it.
    """

    centre: Doubles
    weight: Doubles
    row: int
    cuts: Doubles
    step: float

    def line(self, values: Doubles, rows: Integers) -> ProjectedNumbers:
        """Summarise the projections of a block without the target."""
        place = int(np.searchsorted(rows, self.row))
        if place < len(rows) and rows[place] == self.row:
            values, rows = np.delete(values, place), np.delete(rows, place)
        return ProjectedNumbers.of(values, rows, self.cuts)


@dataclass(frozen=True, eq=False)
class ThirdPass(Fieldwise):
    """The result of the third pass over a part of the blocks.

    Attributes
    ----------
    middle : tuple of Ties
        Scores in the middle bins, for the informed attacker and for the weaker one.
    lines : tuple of ProjectedNumbers
        For each direction.
    clipped : tuple of Moments
        For each pair of limits.
    guessed : LawCounts
        For each guess of a law.
    off : tuple of OffLattice
        For each lattice.
    """

    middle: tuple[Ties, ...]
    lines: tuple[ProjectedNumbers, ...]
    clipped: tuple[Moments, ...]
    guessed: LawCounts
    off: tuple[OffLattice, ...] = ()


@dataclass(frozen=True, eq=False)
class Project:
    """The third pass over a block, as a function that can be sent to a worker.

    Attributes
    ----------
    law : TableLaw
    middle : tuple of (k,) ndarray of int
        The middle bins for the two attackers, or an empty tuple.
    directions : tuple of Direction
    limits : tuple of (2, d) ndarray
        Lower and upper limits for clipped values.
    guesses : tuple of TableLaw
        Laws of a sample, which stand for laws not computed yet; their worst rows are stored.
    lattices : tuple of ColumnSteps
    """

    law: TableLaw
    middle: tuple[Integers, ...] = ()
    directions: tuple[Direction, ...] = ()
    limits: tuple[Doubles, ...] = ()
    guesses: tuple[TableLaw, ...] = ()
    lattices: tuple[ColumnSteps, ...] = ()

    def __call__(self, block: Block) -> ThirdPass:
        """Return the result of the third pass for a block."""
        chosen = JudgedRows.of(self.law, block)
        rows, ties = chosen.rows, []
        both = self.law.both(chosen.different) if self.middle else ()
        for bins, scores in zip(self.middle, map(chosen.each, both), strict=True):
            inside = np.flatnonzero(np.isin(bin_of(scores), bins))
            ties.append(Ties.of(scores[inside], rows[inside]))
        clipped = []
        for limits in self.limits:
            moments = Moments(chosen.different.shape[1])
            if len(rows):
                moments.update(np.clip(chosen.values, *limits))
            clipped.append(moments)
        guessed = LawCounts(tuple(count_above(law, chosen, GUESSED_ROWS) for law in self.guesses))
        off = tuple(OffLattice.of(lattice, chosen) for lattice in self.lattices)
        return ThirdPass(tuple(ties), self._lines(chosen), tuple(clipped), guessed, off)

    def _lines(self, rows: JudgedRows) -> tuple[ProjectedNumbers, ...]:
        """Project the rows on all directions at once, centred so that no digits are lost.

        Multiples of a step have exact sums, so that equal counts in bins mean equal sums.
        """
        if not self.directions:
            return ()
        mean, values = self.law.mean, rows.different
        weights = np.stack([axis.weight for axis in self.directions], axis=1)
        shifts = [float((mean - axis.centre) @ axis.weight) for axis in self.directions]
        steps = np.array([axis.step for axis in self.directions])
        projected = np.empty((len(values), len(steps)))
        for start in range(0, len(values), _CACHED):
            part = slice(start, start + _CACHED)
            exact = (self.law.scaled(values[part]) - mean) @ weights + shifts
            projected[part] = round_to_steps(exact, steps)
        return tuple(
            axis.line(np.ascontiguousarray(rows.each(numbers)), rows.rows)
            for axis, numbers in zip(self.directions, projected.T, strict=True)
        )


@dataclass(frozen=True, eq=False)
class Triangle:
    """R of X = QR for standardised rows X: it shows dependent columns without squares."""

    triangle: Doubles

    def merge(self, other: Triangle) -> Triangle:
        """Add later rows."""
        joined = np.concatenate([self.triangle, other.triangle])
        return Triangle(np.asarray(np.linalg.qr(joined, mode="r")))


@dataclass(frozen=True, eq=False)
class Triangulate:
    """A pass that computes R; the law's mean and scale standardise the rows."""

    law: TableLaw

    def __call__(self, block: Block) -> Triangle:
        """Return R of a block."""
        rows = JudgedRows.of(self.law, block)
        standard = (self.law.scaled(rows.different) - self.law.mean) / np.sqrt(self.law.rows)
        standard *= np.sqrt(rows.repeats)[:, np.newaxis]
        padding = max(standard.shape[1] - len(standard), 0)  # R is square, also for few rows
        standard = np.pad(standard, ((0, padding), (0, 0)))
        return Triangle(np.asarray(np.linalg.qr(standard, mode="r")))


@dataclass(frozen=True, eq=False)
class MeasureUnexplained:
    """A pass that measures the residuals of columns that follow from others."""

    law: TableLaw
    explained: Explained
    owners: npt.NDArray[np.intp] | None = None

    def __call__(self, block: Block) -> Unexplained:
        """Return the residuals of a block."""
        chosen, root = JudgedRows.of(self.law, block), np.sqrt(self.law.rows)
        rows, mean, owners = chosen.rows, self.law.mean / root, None
        if self.owners is not None:
            owners, chosen = self.owners[rows], JudgedRows(rows, chosen.values)
        elif chosen.place is not None:
            rows = rows[np.unique(chosen.place, return_index=True)[1]]
        scaled, repeats = self.law.scaled(chosen.different) / root, chosen.repeats
        if not len(rows):  # the mean itself has no residuals
            scaled, rows, repeats = mean[np.newaxis], np.array([block.start]), np.ones(1, np.int64)
        return Unexplained.of(self.explained, scaled, mean, rows, repeats, owners)


@dataclass(frozen=True, eq=False)
class OtherMoments(Fieldwise):
    """Moments of all rows except certain ones, for several such exceptions."""

    moments: tuple[Moments, ...]


@dataclass(frozen=True, eq=False)
class MeasureOthers:
    """A pass for moments without rows that dominate the variance, for several sets of them."""

    law: TableLaw
    rows: tuple[frozenset[int], ...]

    def __call__(self, block: Block) -> OtherMoments:
        """Return the moments of a block without each set of rows."""
        rows = JudgedRows.of(self.law, block)
        rows = replace(rows, different=self.law.scaled(rows.different))
        estimates = []
        for excluded in self.rows:
            moments = Moments(rows.different.shape[1])
            others = rows.select(~np.isin(rows.rows, list(excluded)))
            if len(others.rows):
                moments.update(others.different, None if others.place is None else others.repeats)
            estimates.append(moments)
        return OtherMoments(tuple(estimates))
