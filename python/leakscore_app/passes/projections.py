"""The third pass: the rows in the middle, projections for the games, moments of clipped values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from leakscore.leakage.table_law import TableLaw
from leakscore.reference import Moments
from leakscore.typing import Doubles
from leakscore_app.passes.lattices import ColumnSteps, Off, in_steps
from leakscore_app.passes.rows import JudgedRows
from leakscore_app.passes.runner import Fieldwise
from leakscore_app.passes.scores import GUESSED, Ties, Views, bin_of, counted
from leakscore_app.tables.sources.blocks import Block
from leakscore_app.tables.table import Explained, Unexplained

SINGLE = 128  # extreme values on each side that are bins of their own
CUTS = 64  # bins of about equal count, and as many of equal width, between them

Integers = npt.NDArray[np.int64]


def cuts_of(sample: Doubles) -> Doubles:
    """Return where bins end: at quantiles of a sample, and at points of equal distance."""
    shares = np.arange(1, CUTS) / CUTS
    points = np.linspace(sample.min(), sample.max(), CUTS + 1)
    return np.union1d(np.quantile(sample, shares), points)


@dataclass(frozen=True, eq=False)
class Inside:
    """Counts, means and scatters of the numbers in each bin, and their ends, all (B,)."""

    sizes: Integers
    means: Doubles
    scatters: Doubles
    low: Doubles
    high: Doubles

    @classmethod
    def of(cls, ordered: Doubles, cuts: Doubles) -> Inside:
        """Sort numbers, which increase, into the bins that these cuts leave."""
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
            means[same] = low[same]  # free of rounding
            away = ordered - np.repeat(means[full], sizes[full])
            scatters[full] = np.add.reduceat(away * away, first)
        return cls(sizes, means, scatters, low, high)

    def merge(self, other: Inside) -> Inside:
        """Add other numbers."""
        sizes = self.sizes + other.sizes
        share = np.divide(other.sizes, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
        step = other.means - self.means
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        means = np.where(self.sizes > 0, self.means + share * step, other.means)
        return Inside(
            sizes,
            np.where(low == high, low, means),
            self.scatters + other.scatters + step * step * (self.sizes * share),
            low,
            high,
        )


@dataclass(frozen=True, eq=False)
class Line:
    """Numbers, of which moments, the extreme ones and bins of the others are kept.

    Attributes
    ----------
    cuts : (B - 1,) ndarray
    count : int
    powers : (4,) ndarray
        Sums of the first four powers.
    largest : (float, int)
        The number of largest size, and its row.
    low, high : (k,) ndarray
        Increasing, at most 128.
    inside : Inside
    """

    cuts: Doubles
    count: int
    powers: Doubles
    largest: tuple[float, int]
    low: Doubles
    high: Doubles
    inside: Inside

    @classmethod
    def of(cls, values: Doubles, rows: Integers, cuts: Doubles) -> Line:
        """Look at numbers (k,) that belong to rows."""
        ordered = np.sort(values)
        count = len(ordered)
        single = min(SINGLE, count // 2)
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
            Inside.of(ordered[single : count - single], cuts),
        )

    def merge(self, other: Line) -> Line:
        """Add later rows; what is no longer extreme goes into the bins."""
        low = np.sort(np.concatenate([self.low, other.low]))
        high = np.sort(np.concatenate([self.high, other.high]))
        start = max(len(high) - SINGLE, 0)
        dropped = np.sort(np.concatenate([low[SINGLE:], high[:start]]))
        inside = self.inside.merge(other.inside).merge(Inside.of(dropped, self.cuts))
        ahead = abs(other.largest[0]) > abs(self.largest[0])
        return Line(
            self.cuts,
            self.count + other.count,
            self.powers + other.powers,
            other.largest if ahead else self.largest,
            low[:SINGLE],
            high[start:],
            inside,
        )


_CACHED = 2048  # rows: what lies between stays in the cache


@dataclass(frozen=True, eq=False)
class Direction:
    """What rows are projected on for one game.

    Attributes
    ----------
    centre : (d,) ndarray
        What the projection of is 0.
    weight : (d,) ndarray
    row : int
        Number of the target, which is left out.
    cuts : (B - 1,) ndarray
    step : float
        A power of two that projections are rounded to multiples of.
    """

    centre: Doubles
    weight: Doubles
    row: int
    cuts: Doubles
    step: float

    def line(self, values: Doubles, rows: Integers) -> Line:
        """Look at the projections of a block without the target."""
        place = int(np.searchsorted(rows, self.row))
        if place < len(rows) and rows[place] == self.row:
            values, rows = np.delete(values, place), np.delete(rows, place)
        return Line.of(values, rows, self.cuts)


@dataclass(frozen=True, eq=False)
class Third(Fieldwise):
    """What the third pass knows of some blocks.

    Attributes
    ----------
    middle : tuple of Ties
        Scores in the bins in the middle, to the informed attacker and to the weaker one.
    lines : tuple of Line
        For each direction.
    clipped : tuple of Moments
        For each pair of limits.
    guessed : Views
        For each guess of a law.
    off : tuple of Off
        For each lattice.
    """

    middle: tuple[Ties, ...]
    lines: tuple[Line, ...]
    clipped: tuple[Moments, ...]
    guessed: Views
    off: tuple[Off, ...] = ()


@dataclass(frozen=True, eq=False)
class Project:
    """The third pass over a block: a function that travels to where the rows are.

    Attributes
    ----------
    law : TableLaw
    middle : tuple of (k,) ndarray of int
        The bins in the middle for the two attackers, or none.
    directions : tuple of Direction
    limits : tuple of (2, d) ndarray
        What values are clipped at.
    guesses : tuple of TableLaw
        Laws whose worst rows are kept, before they are known: of a sample.
    lattices : tuple of ColumnSteps
        Of columns.
    """

    law: TableLaw
    middle: tuple[Integers, ...] = ()
    directions: tuple[Direction, ...] = ()
    limits: tuple[Doubles, ...] = ()
    guesses: tuple[TableLaw, ...] = ()
    lattices: tuple[ColumnSteps, ...] = ()

    def __call__(self, block: Block) -> Third:
        """Return what the third pass knows of a block."""
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
        guessed = Views(tuple(counted(law, chosen, GUESSED) for law in self.guesses))
        off = tuple(Off.of(lattice, chosen) for lattice in self.lattices)
        return Third(tuple(ties), self._lines(chosen), tuple(clipped), guessed, off)

    def _lines(self, rows: JudgedRows) -> tuple[Line, ...]:
        """Project the rows on all directions at once, centred so that no digits are lost.

        Multiples of a step have exact sums, so that equal counts of bins are equal sums.
        """
        if not self.directions:
            return ()
        mean, values = self.law.mean, rows.different
        weights = np.stack([axis.weight for axis in self.directions], axis=1)
        moves = [float((mean - axis.centre) @ axis.weight) for axis in self.directions]
        steps = np.array([axis.step for axis in self.directions])
        projected = np.empty((len(values), len(steps)))
        for start in range(0, len(values), _CACHED):
            part = slice(start, start + _CACHED)
            exact = (self.law.scaled(values[part]) - mean) @ weights + moves
            projected[part] = in_steps(exact, steps)
        return tuple(
            axis.line(np.ascontiguousarray(rows.each(numbers)), rows.rows)
            for axis, numbers in zip(self.directions, projected.T, strict=True)
        )


@dataclass(frozen=True, eq=False)
class Triangle:
    """R of X = QR of standardised rows: what shows dependent columns without squaring."""

    triangle: Doubles

    def merge(self, other: Triangle) -> Triangle:
        """Add later rows."""
        joined = np.concatenate([self.triangle, other.triangle])
        return Triangle(np.asarray(np.linalg.qr(joined, mode="r")))


@dataclass(frozen=True, eq=False)
class Triangulate:
    """A pass that finds R; the law's mean and scale standardise the rows."""

    law: TableLaw

    def __call__(self, block: Block) -> Triangle:
        """Return R of a block."""
        rows = JudgedRows.of(self.law, block)
        standard = (self.law.scaled(rows.different) - self.law.mean) / np.sqrt(self.law.rows)
        standard *= np.sqrt(rows.repeats)[:, np.newaxis]
        lacking = max(standard.shape[1] - len(standard), 0)  # R is square, also of few rows
        standard = np.pad(standard, ((0, lacking), (0, 0)))
        return Triangle(np.asarray(np.linalg.qr(standard, mode="r")))


@dataclass(frozen=True, eq=False)
class Remaining:
    """A pass that looks at what records leave of columns that follow from others."""

    law: TableLaw
    explained: Explained
    owners: npt.NDArray[np.intp] | None = None

    def __call__(self, block: Block) -> Unexplained:
        """Look at a block."""
        chosen, root = JudgedRows.of(self.law, block), np.sqrt(self.law.rows)
        rows, mean, owners = chosen.rows, self.law.mean / root, None
        if self.owners is not None:
            owners, chosen = self.owners[rows], JudgedRows(rows, chosen.values)
        elif chosen.place is not None:
            rows = rows[np.unique(chosen.place, return_index=True)[1]]
        scaled, repeats = self.law.scaled(chosen.different) / root, chosen.repeats
        if not len(rows):  # nothing is left of the mean
            scaled, rows, repeats = mean[np.newaxis], np.array([block.start]), np.ones(1, np.int64)
        return Unexplained.of(self.explained, scaled, mean, rows, repeats, owners)


@dataclass(frozen=True, eq=False)
class OtherMoments(Fieldwise):
    """Moments of all rows but some, several times."""

    moments: tuple[Moments, ...]


@dataclass(frozen=True, eq=False)
class Without:
    """A pass that estimates anew without some rows that have nearly all variance, several times."""

    law: TableLaw
    rows: tuple[frozenset[int], ...]

    def __call__(self, block: Block) -> OtherMoments:
        """Return the moments of a block without rows."""
        rows = JudgedRows.of(self.law, block)
        rows = replace(rows, different=self.law.scaled(rows.different))
        estimates = []
        for excluded in self.rows:
            moments = Moments(rows.different.shape[1])
            others = rows.chosen(~np.isin(rows.rows, list(excluded)))
            if len(others.rows):
                moments.update(others.different, None if others.place is None else others.repeats)
            estimates.append(moments)
        return OtherMoments(tuple(estimates))
