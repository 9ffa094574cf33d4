"""Rows of a table, of which equal ones are kept once, and the first passes over them.

What depends on a row is computed once. The first passes tell moments of complete rows, what columns
hold besides, copies, and groups.
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
"""Rows of the sample, or a few more or less."""
FIRST = 5  # lost rows that are named
_LARGEST = 1e140  # whose square and its sums are finite
_MOST = 1 << 22  # different rows whose hashes are kept: 32 MB


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Some rows of a table, in its order.

    Attributes
    ----------
    rows : (k,) ndarray of int
        Their numbers in the table, from 0, increasing.
    different : (m, d) ndarray
    place : (k,) ndarray of int, optional
        Which of these each row is; by default they are the rows.
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
        """Return for each row what is known of the different ones, (m,) or (m, ...)."""
        return of_different if self.place is None else of_different[self.place]

    @property
    def values(self) -> Doubles:
        """All rows, (k, d)."""
        return self.each(self.different)

    @property
    def repeats(self) -> Integers:
        """How many rows are equal to each different one, (m,)."""
        if self.place is None:
            return np.ones(len(self.different), np.int64)
        return np.bincount(self.place, minlength=len(self.different))

    def taken(self, at: Integers) -> Doubles:
        """Return the values of some rows, in any order."""
        return self.different[at if self.place is None else self.place[at]]

    def chosen(self, at: npt.NDArray[np.bool_] | Integers) -> JudgedRows:
        """Return some of the rows, by their places among these."""
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
    """Return which rows of a table are in the sample: their hash is below what `size` asks for."""
    if size <= SAMPLED:
        return np.ones(len(rows), bool)
    words: Words = (rows + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(mixed(words) <= np.uint64(int(SAMPLED / size * 2**64)))


def mixed(words: Words) -> Words:
    """Mix the bits of words: the finaliser of Steele, Lea and Flood, SplitMix64 (2014)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(words ^ (words >> np.uint64(31)))


@dataclass(frozen=True, eq=False)
class Copies:
    """The smallest hashes of rows, and how many rows have each.

    Equal rows have equal hashes, and a hash is as good as drawn at random: of more different rows
    than are kept, those of smallest hash are a sample, and each is there with all of its copies.
    Of 4 million different rows two have one hash with probability 5e-7.

    Attributes
    ----------
    hashes : (k,) ndarray of uint64
        Increasing, at most 4,194,304.
    repeated : (r,) ndarray of uint64
        Those of more than one row, increasing.
    more : (r,) ndarray of int
        How many rows beyond the first have each of these.
    """

    hashes: Words
    repeated: Words
    more: Integers

    @classmethod
    def of(cls, values: Doubles, place: Integers | None = None) -> Copies:
        """Hash rows, of which equal ones may be there once; see `JudgedRows`."""
        rows = np.ascontiguousarray(values + 0.0)  # -0 and 0 are the same value
        factors = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64)
        # The low bits of small whole numbers are all 0: they are mixed before they are added.
        hashes = mixed(mixed(rows.view(np.uint64)) @ (factors * 2 + 1))
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
        """Return hashes once each, and what is repeated; `hashes` are sorted in place."""
        hashes.sort(kind="stable")  # two ordered halves are merged in linear time
        again = hashes[1:] == hashes[:-1]
        if again.any():
            doubled = hashes[1:][again]
            repeated = np.concatenate([repeated, doubled])
            more = np.concatenate([more, np.ones(len(doubled), np.int64)])
            hashes = hashes[np.concatenate([[True], ~again])]
        repeated, place = np.unique(repeated, return_inverse=True)
        more = np.bincount(place.reshape(-1), more, minlength=len(repeated)).astype(np.int64)
        if len(hashes) > _MOST:
            hashes = hashes[:_MOST].copy()
            kept = repeated <= hashes[-1]
            repeated, more = repeated[kept], more[kept]
        return cls(hashes, repeated, more)

    @property
    def rows(self) -> int:
        """How many rows have these hashes."""
        return len(self.hashes) + int(self.more.sum())

    def several(self) -> Integers:
        """Return how often each row of the sample occurs that occurs more than once."""
        return self.more + 1

    @property
    def whole(self) -> bool:
        """Whether these are all rows."""
        return len(self.hashes) < _MOST


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
class First(Fieldwise):
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
    absent: Integers
    holes: Integers
    columns: Columns
    judged: Columns
    moments: Moments
    copies: Copies


def first(block: Block) -> First:
    """Return what the first pass knows of a block."""
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
        # A row that is there once is finite, or missing as a whole.
        missing = holes = np.full(values.shape[1], block.each(lost).sum())
    moments = Moments(values.shape[1])
    if len(whole) and (counts is None or counts.any()):
        moments.update(_squarable(whole, judged), counts)
    return First(
        block.rows,
        Lost.of(block.each(lost), block.start),
        Lost.of(block.each(~(complete | lost)), block.start),
        missing,
        holes,
        columns,
        judged,
        moments,
        Copies.of(whole, place),
    )


def _squarable(values: Doubles, columns: Columns) -> Doubles:
    """Return values whose squares are finite: columns of larger ones are refused by name."""
    largest = max(float(np.max(columns.high, initial=0)), -float(np.min(columns.low, initial=0)))
    return values if largest <= _LARGEST else np.clip(values, -_LARGEST, _LARGEST)


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
