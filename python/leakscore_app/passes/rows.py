"""Rows of a table, with equal ones stored once, and the first passes over them.

Equal rows are computed with once. The first passes compute the moments of complete rows, facts on
the columns, copies and groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from leakscore.leakage.table_law import TableLaw
from leakscore.reference import Moments
from leakscore.typing import Doubles, Flags
from leakscore_app.passes.runner import Fieldwise
from leakscore_app.tables.doubts import Columns
from leakscore_app.tables.sources.blocks import Block, Kind

Words = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]
SAMPLED = 65_536
"""Size of the sample, within a few rows."""
FIRST = 5  # unusable rows that are named
_LARGEST = 1e140  # the sums of its squares are finite
_MOST_HASHES = 1 << 22  # 32 MB


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """A part of the rows of a table, in its order.

    Attributes
    ----------
    rows : (k,) ndarray of int
        Their numbers in the table, from 0, increasing.
    different : (m, d) ndarray
        The distinct rows.
    place : (k,) ndarray of int, optional
        Index in `different` of each row; None if `different` has all rows.
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
        """Return values of the distinct rows, (m,) or (m, ...), for each row."""
        return of_different if self.place is None else of_different[self.place]

    @property
    def values(self) -> Doubles:
        """All rows, (k, d)."""
        return self.each(self.different)

    @property
    def repeats(self) -> Integers:
        """Number of rows equal to each distinct one, (m,)."""
        if self.place is None:
            return np.ones(len(self.different), np.int64)
        return np.bincount(self.place, minlength=len(self.different))

    def take(self, at: Integers) -> Doubles:
        """Return the values of the rows with these indices, in any order."""
        return self.different[at if self.place is None else self.place[at]]

    def select(self, at: npt.NDArray[np.bool_] | Integers) -> JudgedRows:
        """Return the rows with these indices or flags."""
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
    """Return which rows of a table of `size` rows are in the sample: those of small hash."""
    if size <= SAMPLED:
        return np.ones(len(rows), bool)
    words: Words = (rows + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(mix_bits(words) <= np.uint64(int(SAMPLED / size * 2**64)))


def mix_bits(words: Words) -> Words:
    """Mix the bits of words: the finaliser of Steele, Lea and Flood, SplitMix64 (2014)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(words ^ (words >> np.uint64(31)))


@dataclass(frozen=True, eq=False)
class Copies:
    """The smallest hashes of rows, and the number of rows with each.

    Equal rows have equal hashes, and hashes behave as if drawn at random. So the rows of smallest
    hash are a random sample of the distinct rows, with all copies of each. Two of 4 million
    distinct rows share a hash with probability 5e-7.

    Attributes
    ----------
    hashes : (k,) ndarray of uint64
        Increasing, at most 4,194,304.
    repeated : (r,) ndarray of uint64
        Hashes of more than one row, increasing.
    more : (r,) ndarray of int
        Number of rows with each repeated hash, beyond the first.
    """

    hashes: Words
    repeated: Words
    more: Integers

    @classmethod
    def of(cls, values: Doubles, place: Integers | None = None) -> Copies:
        """Hash rows; with `place` equal rows are given once, see `JudgedRows`."""
        rows = np.ascontiguousarray(values + 0.0)  # -0 and 0 are the same value
        factors = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64)
        # The low bits of small whole numbers are all 0: mix the bits before adding them.
        hashes = mix_bits(mix_bits(rows.view(np.uint64)) @ (factors * 2 + 1))
        hashes = hashes if place is None else hashes[place]
        return cls._smallest(hashes, hashes[:0], np.zeros(0, np.int64))

    def merge(self, other: Copies) -> Copies:
        """Add other rows."""
        return self._smallest(
            np.concatenate([self.hashes, other.hashes]),
            np.concatenate([self.repeated, other.repeated]),
            np.concatenate([self.more, other.more]),
        )

    @classmethod
    def _smallest(cls, hashes: Words, repeated: Words, more: Integers) -> Copies:
        """Return distinct hashes and the repeated ones; sorts `hashes` in place."""
        hashes.sort(kind="stable")  # merges two sorted halves in linear time
        again = hashes[1:] == hashes[:-1]
        if again.any():
            doubled = hashes[1:][again]
            repeated = np.concatenate([repeated, doubled])
            more = np.concatenate([more, np.ones(len(doubled), np.int64)])
            hashes = hashes[np.concatenate([[True], ~again])]
        repeated, place = np.unique(repeated, return_inverse=True)
        more = np.bincount(place.reshape(-1), more, minlength=len(repeated)).astype(np.int64)
        if len(hashes) > _MOST_HASHES:
            hashes = hashes[:_MOST_HASHES].copy()
            inside = repeated <= hashes[-1]
            repeated, more = repeated[inside], more[inside]
        return cls(hashes, repeated, more)

    @property
    def rows(self) -> int:
        """The number of rows with these hashes."""
        return len(self.hashes) + int(self.more.sum())

    def multiplicities(self) -> Integers:
        """Return how often each repeated row of the sample occurs."""
        return self.more + 1

    @property
    def whole(self) -> bool:
        """Whether the sample has all rows."""
        return len(self.hashes) < _MOST_HASHES


@dataclass(frozen=True)
class UnusableRows:
    """Rows that cannot be judged: their number, and the first few, counted from 1."""

    count: int
    first: tuple[int, ...]

    def merge(self, other: UnusableRows) -> UnusableRows:
        """Add later rows."""
        return UnusableRows(self.count + other.count, (*self.first, *other.first)[:FIRST])

    @classmethod
    def of(cls, rows: Flags, start: int) -> UnusableRows:
        """Return the marked rows of a block; `start` rows precede it."""
        places = np.flatnonzero(rows)
        return cls(len(places), tuple((places[:FIRST] + start + 1).tolist()))


@dataclass(frozen=True, eq=False)
class FirstPass(Fieldwise):
    """The result of the first pass over a part of the blocks.

    Attributes
    ----------
    rows : int
    missing, infinite : UnusableRows
        Rows with a missing value, and other rows with an infinite one.
    absent, holes : (d,) ndarray of int
        Number of missing cells of each column, and of missing or infinite ones.
    columns : Columns
        Of the finite values.
    judged : Columns
        Of the complete rows.
    moments : Moments
        Of the complete rows.
    copies : Copies
        Of the complete rows.
    """

    rows: int
    missing: UnusableRows
    infinite: UnusableRows
    absent: Integers
    holes: Integers
    columns: Columns
    judged: Columns
    moments: Moments
    copies: Copies


def first_pass(block: Block) -> FirstPass:
    """Return the result of the first pass for a block."""
    values, place, counts = block.values, block.place, None
    finite, absent = np.isfinite(values), np.isnan(values)
    complete, lost = np.asarray(finite.all(axis=1)), np.asarray(absent.any(axis=1))
    whole = values if complete.all() else values[complete]
    missing, holes = absent.sum(axis=0), len(values) - finite.sum(axis=0)
    if place is None:
        judged = Columns.of(whole)
        columns = judged if complete.all() else Columns.of(values)
    else:
        place = (np.cumsum(complete) - 1)[place[complete[place]]]
        columns = judged = Columns.of_repeated(whole, place)
        counts = np.bincount(place, minlength=len(whole))
        # In a block with repeats each row is finite or missing as a whole.
        missing = holes = np.full(values.shape[1], block.each(lost).sum())
    moments = Moments(values.shape[1])
    if len(whole) and (counts is None or counts.any()):
        moments.update(_squarable(whole, judged), counts)
    return FirstPass(
        block.rows,
        UnusableRows.of(block.each(lost), block.start),
        UnusableRows.of(block.each(~(complete | lost)), block.start),
        missing,
        holes,
        columns,
        judged,
        moments,
        Copies.of(whole, place),
    )


def _squarable(values: Doubles, columns: Columns) -> Doubles:
    """Return values clipped to finite squares; columns with larger ones are refused later."""
    largest = max(float(np.max(columns.high, initial=0)), -float(np.min(columns.low, initial=0)))
    return values if largest <= _LARGEST else np.clip(values, -_LARGEST, _LARGEST)


@dataclass(frozen=True, eq=False)
class GroupedRecords(Fieldwise):
    """Counts of records by group.

    Attributes
    ----------
    lost : UnusableRows
        Records with complete numbers and a missing category.
    levels : tuple of (k,) ndarray of int
        For each column of categories, the number of records of each level.
    cells : (K,) ndarray of int
        Number of records of each combination of levels; empty if these are not counted.
    copies : Copies
        Of the records, by categories and numbers.
    """

    lost: UnusableRows
    levels: tuple[Integers, ...]
    cells: Integers
    copies: Copies


@dataclass(frozen=True)
class CountLevels:
    """A pass that counts levels; the first columns of a block are categories.

    Attributes
    ----------
    sizes : tuple of int
        Number of levels of each of these columns.
    crossed : bool
        Whether to count combinations of levels, too.
    """

    sizes: tuple[int, ...]
    crossed: bool

    def __call__(self, block: Block) -> GroupedRecords:
        """Return the counts of a block."""
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
        lost = UnusableRows.of(complete & ~grouped, block.start)
        copies = Copies.of(block.values[complete & grouped])
        return GroupedRecords(lost, tuple(levels), cells, copies)
