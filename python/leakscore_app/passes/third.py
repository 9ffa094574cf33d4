"""The third pass: the rows in the middle, projections for the games, moments of clipped values."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore.leakage.table_law import TableLaw
from leakscore.reference import Moments
from leakscore.typing import Doubles
from leakscore_app.passes.histogram import bin_of
from leakscore_app.passes.lattices import Lattice, Off
from leakscore_app.passes.lines import Line
from leakscore_app.passes.middle import Ties
from leakscore_app.passes.scores import GUESSED, Views, counted
from leakscore_app.tables.sources.blocks import Block

Integers = npt.NDArray[np.int64]
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
    """

    centre: Doubles
    weight: Doubles
    row: int
    cuts: Doubles

    def line(self, values: Doubles, rows: Integers) -> Line:
        """Look at the projections of a block without the target."""
        place = int(np.searchsorted(rows, self.row))
        if place < len(rows) and rows[place] == self.row:
            values, rows = np.delete(values, place), np.delete(rows, place)
        return Line.of(values, rows, self.cuts)


@dataclass(frozen=True, eq=False)
class Third:
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

    def merge(self, other: Third) -> Third:
        """Add later blocks."""
        clipped = []
        for one, more in zip(self.clipped, other.clipped, strict=True):
            moments = copy.copy(one)
            moments.merge(more)
            clipped.append(moments)
        return Third(
            tuple(a.merge(b) for a, b in zip(self.middle, other.middle, strict=True)),
            tuple(a.merge(b) for a, b in zip(self.lines, other.lines, strict=True)),
            tuple(clipped),
            self.guessed.merge(other.guessed),
            tuple(a.merge(b) for a, b in zip(self.off, other.off, strict=True)),
        )


@dataclass(frozen=True, eq=False)
class Project:
    """The third pass over a block: a function that travels to where the rows are.

    Attributes
    ----------
    law : TableLaw
    middle : tuple of (k,) ndarray of int
        The bins in the middle for the two attackers; an empty array to look for none.
    directions : tuple of Direction
    limits : tuple of (2, d) ndarray
        What values are clipped at.
    guesses : tuple of TableLaw
        Laws whose worst rows are kept, before they are known: of a sample.
    lattices : tuple of Lattice
        Of columns.
    """

    law: TableLaw
    middle: tuple[Integers, ...] = ()
    directions: tuple[Direction, ...] = ()
    limits: tuple[Doubles, ...] = ()
    guesses: tuple[TableLaw, ...] = ()
    lattices: tuple[Lattice, ...] = ()

    def __call__(self, block: Block) -> Third:
        """Return what the third pass knows of a block."""
        values, places = self.law.chosen(block.values)
        rows = places + block.start
        ties = []
        functions = (self.law.distances, self.law.weaker)
        for bins, scores_of in zip(self.middle, functions, strict=False):
            scores = scores_of(values) if len(bins) else np.zeros(0)
            inside = np.flatnonzero(np.isin(bin_of(scores), bins))
            ties.append(Ties.of(scores[inside], rows[inside]))
        clipped = []
        for limits in self.limits:
            moments = Moments(values.shape[1])
            if len(values):
                moments.update(np.clip(values, *limits))
            clipped.append(moments)
        guessed = Views(tuple(counted(law, values, rows, most=GUESSED) for law in self.guesses))
        off = tuple(Off.of(lattice, values, rows) for lattice in self.lattices)
        return Third(tuple(ties), self._lines(values, rows), tuple(clipped), guessed, off)

    def _lines(self, values: Doubles, rows: Integers) -> tuple[Line, ...]:
        """Project the rows on all directions at once, centred so that no digits are lost."""
        if not self.directions:
            return ()
        mean = self.law.mean
        weights = np.stack([one.weight for one in self.directions], axis=1)
        steps = [float((mean - one.centre) @ one.weight) for one in self.directions]
        found = np.empty((len(values), len(steps)))
        for start in range(0, len(values), _CACHED):
            part = slice(start, start + _CACHED)
            found[part] = (self.law.scaled(values[part]) - mean) @ weights
        found += steps
        return tuple(
            one.line(np.ascontiguousarray(numbers), rows)
            for one, numbers in zip(self.directions, found.T, strict=True)
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
        values, _ = self.law.chosen(block.values)
        standard = (self.law.scaled(values) - self.law.mean) / np.sqrt(self.law.rows)
        return Triangle(np.asarray(np.linalg.qr(standard, mode="r")))


@dataclass(frozen=True, eq=False)
class Others:
    """Moments of all rows but some, several times."""

    moments: tuple[Moments, ...]

    def merge(self, other: Others) -> Others:
        """Add later blocks."""
        joined = []
        for one, more in zip(self.moments, other.moments, strict=True):
            moments = copy.copy(one)
            moments.merge(more)
            joined.append(moments)
        return Others(tuple(joined))


@dataclass(frozen=True, eq=False)
class Without:
    """A pass that estimates anew without some rows that have nearly all variance, several times."""

    law: TableLaw
    rows: tuple[frozenset[int], ...]

    def __call__(self, block: Block) -> Others:
        """Return the moments of a block without rows."""
        values, places = self.law.chosen(block.values)
        scaled, rows = self.law.scaled(values), places + block.start
        found = []
        for left in self.rows:
            moments = Moments(scaled.shape[1])
            others = scaled[~np.isin(rows, list(left))]
            if len(others):
                moments.update(others)
            found.append(moments)
        return Others(tuple(found))
