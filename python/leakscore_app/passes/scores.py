"""The second pass: leakages of all rows as counts and histograms, and the worst rows.

A score is n times the leakage, so that one pass serves every n.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore.leakage.table_law import TableLaw
from leakscore.typing import Doubles
from leakscore_app.passes.rows import JudgedRows, sampled_rows
from leakscore_app.passes.runner import Fieldwise
from leakscore_app.tables.sources.blocks import Block

Integers = npt.NDArray[np.int64]
_BITS = 44  # low bits of a float64 that its bin drops: 256 bins between powers of two


def bin_of(scores: Doubles) -> Integers:
    """Return the bin of each score: the upper bits of its float64, which increase with it."""
    return np.asarray(np.abs(scores).view(np.int64) >> _BITS)


def lower_end(bins: Integers) -> Doubles:
    """Return the smallest score of each bin."""
    return np.asarray((bins << _BITS).view(np.float64))


@dataclass(frozen=True, eq=False)
class SparseHistogram:
    """Counts of scores in the bins that are not empty; `bins` increase."""

    bins: Integers
    counts: Integers

    @classmethod
    def of(cls, scores: Doubles) -> SparseHistogram:
        """Count scores."""
        return cls(*np.unique(bin_of(scores), return_counts=True))

    def merge(self, other: SparseHistogram) -> SparseHistogram:
        """Add other scores."""
        bins, place = np.unique(np.concatenate([self.bins, other.bins]), return_inverse=True)
        counts = np.bincount(place.reshape(-1), np.concatenate([self.counts, other.counts]))
        return SparseHistogram(bins, counts.astype(np.int64))

    @property
    def total(self) -> int:
        """The number of scores."""
        return int(self.counts.sum())

    def bin_of_rank(self, rank: int) -> tuple[int, int]:
        """Return the bin of the score of this rank, from 0, and the number in lower bins."""
        ends = np.cumsum(self.counts)
        place = int(np.searchsorted(ends, rank, side="right"))
        return int(self.bins[place]), int(ends[place] - self.counts[place])

    @property
    def middle(self) -> Integers:
        """The bins of the two middle scores, (2,); of an odd number of scores twice the same."""
        size = self.total
        return np.array([self.bin_of_rank(rank)[0] for rank in ((size - 1) // 2, size // 2)])


@dataclass(frozen=True, eq=False)
class Ties:
    """Distinct scores, the number of rows with each, and the first of these rows."""

    scores: Doubles
    counts: Integers
    rows: Integers

    @classmethod
    def of(cls, scores: Doubles, rows: Integers) -> Ties:
        """Count scores; rows increase."""
        distinct, first, counts = np.unique(scores, return_index=True, return_counts=True)
        return cls(distinct, counts, rows[first])

    def merge(self, other: Ties) -> Ties:
        """Add later rows."""
        scores, first, place = np.unique(
            np.concatenate([self.scores, other.scores]), return_index=True, return_inverse=True
        )
        counts = np.bincount(place.reshape(-1), np.concatenate([self.counts, other.counts]))
        rows = np.concatenate([self.rows, other.rows])[first]
        return Ties(scores, counts.astype(np.int64), rows)

    def of_rank(self, rank: int) -> tuple[float, int]:
        """Return the score of this rank, from 0, and the first row with it."""
        place = int(np.searchsorted(np.cumsum(self.counts), rank, side="right"))
        return float(self.scores[place]), int(self.rows[place])


@dataclass(frozen=True, eq=False)
class CellScores:
    """Counts of rows in each of K cells, and the worst row of each.

    Attributes
    ----------
    records : (K,) ndarray of int
    above : (t, K) ndarray of int
        Number of rows with a score above each threshold.
    worst : (K,) ndarray
        The largest score; -inf for an empty cell.
    rows : (K,) ndarray of int
        The first row with that score; -1 for an empty cell.
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
    ) -> CellScores:
        """Count rows, which increase, in `count` cells."""
        above = [np.bincount(cell[scores > at], minlength=count) for at in thresholds]
        worst = np.full(count, -np.inf)
        np.maximum.at(worst, cell, scores)
        first = np.full(count, -1, np.int64)
        places = np.flatnonzero(scores == worst[cell])[::-1]
        first[cell[places]] = rows[places]  # from the last to the first row: the first one remains
        records = np.bincount(cell, minlength=count).astype(np.int64)
        return cls(records, np.array(above, np.int64).reshape(-1, count), worst, first)

    def merge(self, other: CellScores) -> CellScores:
        """Add later rows."""
        ahead = other.worst > self.worst
        return CellScores(
            self.records + other.records,
            self.above + other.above,
            np.where(ahead, other.worst, self.worst),
            np.where(ahead, other.rows, self.rows),
        )


WORST_ROWS = 5000
"""Number of rows of largest score that are stored."""
GUESSED_ROWS = 1000
"""The same for a law that is guessed from a sample."""
_NONE = np.zeros(0)


@dataclass(frozen=True, eq=False)
class WorstRows:
    """Rows of largest score, the largest first; of equal scores, the first rows.

    Attributes
    ----------
    rows : (k,) ndarray of int
        Numbers in the table, from 0.
    scores : (k,) ndarray
    values : (k, d) ndarray
        Of the judged columns.
    most : int, optional
        Largest number of rows.
    """

    rows: Integers
    scores: Doubles
    values: Doubles
    most: int | None = None

    @classmethod
    def of(cls, rows: JudgedRows, scores: Doubles, most: int) -> WorstRows:
        """Return the worst rows of a block, `most` at most."""
        worst = _largest(scores, most)
        return cls(rows.rows[worst], scores[worst], rows.take(worst), most)

    def merge(self, other: WorstRows) -> WorstRows:
        """Return the worst of both."""
        arrays = ((part.rows, part.scores, part.values) for part in (self, other))
        rows, scores, values = map(np.concatenate, zip(*arrays, strict=True))
        worst = np.lexsort((rows, -scores))[: self.most]
        return WorstRows(rows[worst], scores[worst], values[worst], self.most)


@dataclass(frozen=True, eq=False)
class ScorePass(Fieldwise):
    """The result of the second pass over a part of the blocks.

    Attributes
    ----------
    informed, weaker : SparseHistogram
    above : (2, t) ndarray of int
        Number of rows with a score above each threshold, for both attackers.
    kept : WorstRows
        Of the informed attacker.
    sample : JudgedRows
        Rows whose hashed number is below a limit.
    worst : WorstRows
        The row with the largest score of the weaker attacker.
    every : tuple of JudgedRows
        The scores of all rows for both attackers, if all rows are to be listed.
    cells : tuple of CellScores
        For each table by group.
    """

    informed: SparseHistogram
    weaker: SparseHistogram
    above: Integers
    kept: WorstRows
    sample: JudgedRows
    worst: WorstRows
    every: tuple[JudgedRows, ...] = ()
    cells: tuple[CellScores, ...] = ()


@dataclass(frozen=True, eq=False)
class ScoreRows:
    """The second pass over a block, as a function that can be sent to a worker.

    Attributes
    ----------
    law : TableLaw
    thresholds : (t,) ndarray
        Scores above which rows are counted.
    every : bool
        Whether the scores of all rows are returned.
    cells : tuple of int
        Number of cells of each table by group. The last columns of a block hold the row's cell in
        each of these tables.
    """

    law: TableLaw
    thresholds: Doubles
    every: bool = False
    cells: tuple[int, ...] = ()

    def __call__(self, block: Block) -> ScorePass:
        """Return the result of the second pass for a block."""
        law, chosen = self.law, JudgedRows.of(self.law, block)
        rows = chosen.rows
        informed, weaker = map(chosen.each, law.both(chosen.different))
        above = [[int((each > at).sum()) for at in self.thresholds] for each in (informed, weaker)]
        scores = np.stack([informed, weaker], axis=1) if self.every else None
        return ScorePass(
            SparseHistogram.of(informed),
            SparseHistogram.of(weaker),
            np.array(above, np.int64).reshape(2, len(self.thresholds)),
            WorstRows.of(chosen, informed, WORST_ROWS),
            chosen.select(sampled_rows(rows, law.rows)),
            WorstRows.of(chosen, weaker, 1),
            () if scores is None else (JudgedRows(rows, scores),),
            tuple(self._cells(block, rows, informed)),
        )

    def _cells(self, block: Block, rows: Integers, scores: Doubles) -> Iterator[CellScores]:
        for at, count in enumerate(self.cells, start=-len(self.cells)):
            cell = block.each(block.values[:, at])[rows - block.start].astype(np.intp)
            yield CellScores.of(cell, count, rows, scores, self.thresholds)


def _largest(scores: Doubles, most: int) -> Integers:
    """Return the indices of the largest scores, largest first; equal scores in their order."""
    places = np.arange(len(scores))
    if len(scores) > most:
        least = np.partition(scores, len(scores) - most)[len(scores) - most]
        places = np.flatnonzero(scores >= least)
    return places[np.argsort(-scores[places], kind="stable")[:most]]


@dataclass(frozen=True, eq=False)
class ThresholdCounts(Fieldwise):
    """Number of rows with a score above each threshold, (t,), and the worst rows."""

    above: Integers
    kept: WorstRows


@dataclass(frozen=True, eq=False)
class LawCounts(Fieldwise):
    """The result of a pass over a part of the blocks, under several laws."""

    counts: tuple[ThresholdCounts, ...]


@dataclass(frozen=True, eq=False)
class CountAbove:
    """A pass that scores rows under several laws: other columns, clipped values, noise.

    Attributes
    ----------
    laws : tuple of TableLaw
    thresholds : tuple of (t,) ndarray
        For each law.
    without : tuple of frozenset of int
        Rows to leave out for each law.
    """

    laws: tuple[TableLaw, ...]
    thresholds: tuple[Doubles, ...]
    without: tuple[frozenset[int], ...]

    def __call__(self, block: Block) -> LawCounts:
        """Return the counts of a block under each law."""
        counts = []
        for law, thresholds, without in zip(self.laws, self.thresholds, self.without, strict=True):
            rows = JudgedRows.of(law, block)
            if without:
                rows = rows.select(~np.isin(rows.rows, list(without)))
            counts.append(count_above(law, rows, WORST_ROWS, thresholds))
        return LawCounts(tuple(counts))


def count_above(
    law: TableLaw, rows: JudgedRows, most: int, thresholds: Doubles = _NONE
) -> ThresholdCounts:
    """Count rows above each threshold, and collect the worst, `most` at most."""
    scores = rows.each(law.distances(rows.different))
    above = np.array([int((scores > at).sum()) for at in thresholds], np.int64)
    return ThresholdCounts(above, WorstRows.of(rows, scores, most))
