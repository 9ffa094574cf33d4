"""What the values of each column look like: ends, whole numbers, dates, counters, sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles, Flags
from leakscore_app.tables.grammar.codes import ends_of, might_be_code
from leakscore_app.tables.row_names import are_dates

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
        return cls(*(*map(np.concatenate, joined), tuple(one for (one,) in ends), tail))

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
            tuple(_joined(one, more) for one, more in zip(self.ends, other.ends, strict=True)),
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
            [bool(one) and are_dates(column) for one, column in zip(whole, values.T, strict=True)]
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


def _joined(one: tuple[Doubles, Doubles], more: tuple[Doubles, Doubles]) -> tuple[Doubles, Doubles]:
    """Return the ends of both: again codes and what is beside them."""
    return _end(one[0], more[0], 0), _end(one[1], more[1], 1)


def _end(one: Doubles, more: Doubles, side: int) -> Doubles:
    """Return the smallest values of both with side 0, the largest with side 1."""
    if len(one) == len(more) == 1:  # mostly: neither is a code
        outer = (min, max)[side](float(one[0]), float(more[0]))
        if not might_be_code(outer):
            return np.array([outer])
    return ends_of(np.concatenate([one, more]))[side]


def _are_whole(values: Doubles) -> bool:
    return bool(values[0] == np.floor(values[0])) and bool((values == np.floor(values)).all())
