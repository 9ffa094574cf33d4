"""The first pass: moments of the complete rows, what columns hold besides, and copies."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.reference import Moments
from leakscore.typing import Doubles, Flags
from leakscore_app.tables.grammar.codes import ends_of, might_be_code
from leakscore_app.tables.row_names import are_dates
from leakscore_app.tables.sources.blocks import Block

_CACHED = 2048  # rows
_TOGETHER = 32  # rows: numpy's loops over the few numbers of one row are slow
_TAIL = 3  # last rows that may sum up the others


@dataclass(frozen=True, eq=False)
class Columns:
    """Of the finite values of each column; all arrays are (d,) but `tail`.

    Attributes
    ----------
    counts : ndarray of int
    low, high : ndarray
        NaN where there is no value.
    first, last : ndarray
        In the order of the rows.
    whole : ndarray of bool
        Whether all are whole numbers, none negative.
    dates : ndarray of bool
        Whether all are days such as 20240131.
    counting, stepping : ndarray of bool
        Whether every value is the one above it plus 1; or differs from it by 1.
    sums, sizes : ndarray
        Sums of the values and of their sizes.
    ends : tuple of (smallest, largest)
        Of each column, the values that might be codes for a missing one, and their neighbours.
    tail : (k, d) ndarray
        The last rows, at most 3, whatever they hold.
    """

    counts: npt.NDArray[np.int64]
    low: Doubles
    high: Doubles
    first: Doubles
    last: Doubles
    whole: Flags
    dates: Flags
    counting: Flags
    stepping: Flags
    sums: Doubles
    sizes: Doubles
    ends: tuple[tuple[Doubles, Doubles], ...]
    tail: Doubles

    @classmethod
    def of(cls, values: Doubles) -> Columns:
        """Look at rows, of which none, some or all values are finite."""
        tail = values[-_TAIL:].copy()
        if len(values) and np.isfinite(values).all():
            return cls(*(*_looked_at(values), tail))
        parts = [_looked_at(column[np.isfinite(column)][:, np.newaxis]) for column in values.T]
        *joined, ends = zip(*parts, strict=True)
        return cls(*(*map(np.concatenate, joined), tuple(cells for (cells,) in ends), tail))

    def merge(self, other: Columns) -> Columns:
        """Add later rows."""
        none, more = self.counts == 0, other.counts == 0
        step = other.first - self.last
        joined = none | more
        with np.errstate(over="ignore"):
            sums, sizes = self.sums + other.sums, self.sizes + other.sizes
        return Columns(
            self.counts + other.counts,
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
            np.where(none, other.first, self.first),
            np.where(more, self.last, other.last),
            self.whole & other.whole,
            self.dates & other.dates,
            self.counting & other.counting & (joined | (step == 1)),
            self.stepping & other.stepping & (joined | (np.abs(step) == 1)),
            sums,
            sizes,
            tuple(_joined(ends, more) for ends, more in zip(self.ends, other.ends, strict=True)),
            np.concatenate([self.tail, other.tail])[-_TAIL:],
        )


def _looked_at(values: Doubles) -> tuple[Any, ...]:
    """Return counts, ends, flags and sums of columns without holes."""
    rows, dim = values.shape
    if not rows:
        nothing, yes = np.full(dim, np.nan), np.ones(dim, bool)
        zero = np.zeros(dim)
        ends = ((np.zeros(0), np.zeros(0)),) * dim
        return np.zeros(dim, np.int64), *[nothing] * 4, *[yes] * 4, zero, zero, ends
    low, high = _over_rows(values, np.minimum), _over_rows(values, np.maximum)
    whole = low >= 0
    whole[whole] = [_are_whole(values[:, j]) for j in np.flatnonzero(whole)]
    with np.errstate(over="ignore"):
        counting = values[1:2] - values[:1] == 1 if rows > 1 else np.ones((1, dim), bool)
        stepping = np.abs(values[1:2] - values[:1]) == 1 if rows > 1 else counting
        counting, stepping = counting[0].copy(), stepping[0].copy()
        for j in np.flatnonzero(stepping):
            steps = np.diff(values[:, j])
            stepping[j] = bool((np.abs(steps) == 1).all())
            counting[j] = counting[j] and bool((steps == 1).all())
        dates = np.array(
            [bool(day) and are_dates(column) for day, column in zip(whole, values.T, strict=True)]
        )
        sums, sizes = _over_rows(values, np.add), np.zeros(dim)
        for start in range(0, rows, _CACHED):
            sizes += _over_rows(np.abs(values[start : start + _CACHED]), np.add)
    counts = np.full(dim, rows, np.int64)
    ends = tuple(
        ends_of(column)
        if might_be_code(least) or might_be_code(most)
        else (least[None], most[None])
        for column, least, most in zip(values.T, low, high, strict=True)
    )
    flags = (whole, dates, counting, stepping)
    return counts, low, high, values[0], values[-1], *flags, sums, sizes, ends


def _over_rows(values: Doubles, join: np.ufunc) -> Doubles:
    """Join the rows by a minimum, a maximum or a sum, several rows at a time."""
    rows, dim = values.shape
    whole = rows - rows % _TOGETHER
    parts = values[whole:]
    if whole:
        wide = join.reduce(values[:whole].reshape(-1, _TOGETHER * dim), axis=0)
        parts = np.concatenate([wide.reshape(_TOGETHER, dim), parts])
    return np.asarray(join.reduce(parts, axis=0))


def _joined(
    ends: tuple[Doubles, Doubles], more: tuple[Doubles, Doubles]
) -> tuple[Doubles, Doubles]:
    """Return the ends of both: again codes and what is beside them."""
    return _end(ends[0], more[0], 0), _end(ends[1], more[1], 1)


def _end(ends: Doubles, more: Doubles, side: int) -> Doubles:
    """Return the smallest values of both with side 0, the largest with side 1."""
    if len(ends) == len(more) == 1:  # mostly: neither is a code
        outer = (min, max)[side](float(ends[0]), float(more[0]))
        if not might_be_code(outer):
            return np.array([outer])
    return ends_of(np.concatenate([ends, more]))[side]


def _are_whole(values: Doubles) -> bool:
    return bool(values[0] == np.floor(values[0])) and bool((values == np.floor(values)).all())


_MOST = 1 << 22  # different rows whose hashes are kept: 32 MB
Words = npt.NDArray[np.uint64]


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
    more: npt.NDArray[np.int64]

    @classmethod
    def of(cls, values: Doubles) -> Copies:
        """Hash rows."""
        rows = np.ascontiguousarray(values + 0.0)  # -0 and 0 are the same value
        factors = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64)
        # The low bits of small whole numbers are all 0: they are mixed before they are added.
        hashes = mixed(mixed(rows.view(np.uint64)) @ (factors * 2 + 1))
        return cls._smallest(hashes, np.zeros(0, np.uint64), np.zeros(0, np.int64))

    def merge(self, other: Copies) -> Copies:
        """Add other rows."""
        return self._smallest(
            np.concatenate([self.hashes, other.hashes]),
            np.concatenate([self.repeated, other.repeated]),
            np.concatenate([self.more, other.more]),
        )

    @classmethod
    def _smallest(cls, hashes: Words, repeated: Words, more: npt.NDArray[np.int64]) -> Copies:
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

    def several(self) -> npt.NDArray[np.int64]:
        """Return how often each row of the sample occurs that occurs more than once."""
        return self.more + 1

    @property
    def whole(self) -> bool:
        """Whether these are all rows."""
        return len(self.hashes) < _MOST


def mixed(words: Words) -> Words:
    """Mix the bits of words: the finaliser of Steele, Lea and Flood, SplitMix64 (2014)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(words ^ (words >> np.uint64(31)))


Counts = npt.NDArray[np.int64]
FIRST = 5  # lost rows that are named


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
class First:
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
    absent: Counts
    holes: Counts
    columns: Columns
    judged: Columns
    moments: Moments
    copies: Copies

    def merge(self, other: First) -> First:
        """Add later blocks."""
        moments = copy.copy(self.moments)
        moments.merge(other.moments)
        return First(
            self.rows + other.rows,
            self.missing.merge(other.missing),
            self.infinite.merge(other.infinite),
            self.absent + other.absent,
            self.holes + other.holes,
            self.columns.merge(other.columns),
            self.judged.merge(other.judged),
            moments,
            self.copies.merge(other.copies),
        )


def first(block: Block) -> First:
    """Return what the first pass knows of a block."""
    values = block.values
    dim = values.shape[1]
    moments = Moments(dim)
    none = np.zeros(dim, np.int64)
    if np.isfinite(values).all():
        moments.update(values)
        columns, nobody = Columns.of(values), Lost(0, ())
        copies = Copies.of(values)
        return First(len(values), nobody, nobody, none, none, columns, columns, moments, copies)
    absent, infinite = np.isnan(values), np.isinf(values)
    lost = np.asarray(absent.any(axis=1))
    far = np.asarray(infinite.any(axis=1) & ~lost)
    complete = values[~(lost | far)]
    if len(complete):
        moments.update(complete)
    return First(
        len(values),
        Lost.of(lost, block.start),
        Lost.of(far, block.start),
        absent.sum(axis=0),
        (absent | infinite).sum(axis=0),
        Columns.of(values),
        Columns.of(complete),
        moments,
        Copies.of(complete),
    )
