"""Lattices of columns: steps of which nearly all values of a column are multiples.

A value counts as a decimal number: the shortest one that rounds to the binary number. A lattice has
no tolerance: k / 10^d, correctly rounded, equals the number or does not. But a value is off a
lattice only if a sum can show it. A binary64 sum of n values has an error of about eps n E|x| at
best, the "dust", and smaller distances (0.1 + 0.2 is 0.30000000000000004) count as 0.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles
from leakscore_app.passes.rows import JudgedRows

Integers = npt.NDArray[np.int64]
LARGEST = 10**15  # integers up to it have one shortest decimal each
_DECIMALS = 15
_SAMPLE_SIZE = 4096  # records that are searched for lattices
_GROUPS, _SIZES = 128, (3, 64)  # number of groups of records whose differences give steps; sizes
_MOST_CANDIDATES, _MOST_LATTICES = 12, 4  # steps of a column
_DIGITS = 6  # after the first one, of a step beyond all values
_DUST_MARGIN = 4  # least ratio of a step to the dust
_MOST_NUMBERS = 1 << 21  # numbers that are stored of records off a lattice
_MOST_DRAWN = 20  # mean number of records off a lattice in a sum that still reveals one of them
_LARGEST_SHARE = 0.5


def as_multiples(
    values: Doubles, decimals: int, dust: float = 0.0
) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Return values as multiples of 10^-decimals, 0 for others, and which are within `dust`."""
    scale = 10.0**decimals
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.rint(values * scale)
        exact = (np.abs(scaled) < LARGEST) & (np.abs(scaled / scale - values) <= dust)
    return np.where(exact, scaled, 0.0).astype(np.int64), exact


def round_to_steps(projections: npt.ArrayLike, step: float | Doubles) -> Doubles:
    """Round projections to multiples of a step."""
    return np.asarray(np.rint(np.asarray(projections) / step) * step)


def decimals_of(values: Doubles) -> int:
    """Return the least number of decimals with which most values are decimal numbers."""
    counts = []
    for decimals in range(_DECIMALS + 1):
        counts.append(int(as_multiples(values, decimals)[1].sum()))
        if counts[-1] == len(values):
            break
    return int(np.argmax(counts))


@dataclass(frozen=True)
class ColumnSteps:
    """A lattice: origin + (offset + k step) 10^-decimals of a column, each within `dust`."""

    column: int
    decimals: int
    step: int
    offset: int
    dust: float
    origin: float = 0.0

    @property
    def width(self) -> float:
        """The step in units of the column."""
        return self.step / 10.0**self.decimals

    def finer(self, decimals: int) -> ColumnSteps:
        """Return the same lattice in units of more decimals, if its step fits into 64 bits."""
        scale = 10 ** (decimals - self.decimals)
        if scale * self.step >= 1 << 63:
            return self
        return replace(self, decimals=decimals, step=scale * self.step, offset=scale * self.offset)

    def residues(self, values: Doubles) -> Integers:
        """Return how far values lie above the lattice; -1 for values that are no whole units."""
        numbers, exact = as_multiples(values - self.origin, self.decimals, self.dust)
        return np.where(exact, (numbers - self.offset) % self.step, -1)

    def showable_residues(self, values: Doubles, most: int) -> tuple[int, Integers]:
        """Return the step and the values' residues, in units that a sum can show.

        The units are those of the decimals if all values are whole units. Otherwise, if fewer than
        `most` sums differ by more than the dust within a step, the units are as wide as the dust.
        """
        residues = self.residues(values)
        points = self.width / self.dust if self.dust else np.inf
        unit = gcd(self.step, *np.unique(residues).tolist())
        if not 1 < points < most or (residues.min(initial=0) >= 0 and self.step // unit <= points):
            return self.step, residues
        above = (values - self.origin) / self.width - self.offset / self.step
        return int(points), np.rint(above % 1 * int(points)).astype(np.int64) % int(points)


@dataclass(frozen=True, eq=False)
class OffLattice:
    """Records off a lattice: their number, and the first of them.

    Attributes
    ----------
    count : int
        Number of all records off the lattice.
    rows : (k,) ndarray of int
        Numbers of the first records.
    numbers : (k,) ndarray
        Their values of the lattice's column.
    values : (k, d) or (k, 0) ndarray
        Their values of all columns, unless the caller has the table in memory.
    """

    count: int
    rows: Integers
    numbers: Doubles
    values: Doubles

    @classmethod
    def of(cls, lattice: ColumnSteps, rows: JudgedRows, *, at_hand: bool = False) -> OffLattice:
        """Collect the records of a block; `at_hand`: the caller has their values."""
        off = lattice.residues(rows.different[:, lattice.column]) != 0
        places = np.flatnonzero(rows.each(off)) if off.any() else np.zeros(0, np.int64)
        first = places[: _MOST_NUMBERS // max(rows.different.shape[1], 1)]
        numbers = rows.each(rows.different[:, lattice.column])[first]
        values = np.empty((len(first), 0)) if at_hand else rows.take(first)
        return cls(len(places), rows.rows[first], numbers, values)

    def merge(self, other: OffLattice) -> OffLattice:
        """Add later records."""
        rows = np.concatenate([self.rows, other.rows])
        numbers = np.concatenate([self.numbers, other.numbers])
        values = np.concatenate([self.values, other.values])
        most = _MOST_NUMBERS // max(values.shape[1], 1)
        return OffLattice(self.count + other.count, rows[:most], numbers[:most], values[:most])


def max_off_share(n: int) -> float:
    """Return the largest share of records off a lattice at which a sum of n reveals one of them."""
    return min(_LARGEST_SHARE, _MOST_DRAWN / n)


def lattices_of(rows: JudgedRows, share: float, n: int) -> tuple[ColumnSteps, ...]:
    """Return lattices that hold all values of a column except a `share` at most.

    Parameters
    ----------
    rows : JudgedRows
        Records; of many a sample is searched.
    share : float
        Largest share of values off a lattice.
    n : int
        Number of records in a sum.
    """
    size = len(rows.rows)
    rng, sample = np.random.default_rng(size), np.arange(size)
    if size > _SAMPLE_SIZE:
        sample = np.sort(rng.choice(size, _SAMPLE_SIZE, replace=False))
    values = rows.take(sample)
    size = int(np.clip(round(1.2 / share), *_SIZES))
    groups = rng.integers(len(values), size=(_GROUPS, size))
    steps: list[ColumnSteps] = []
    for column, numbers in enumerate(values.T):
        dust = float(np.finfo(float).eps * n * np.abs(numbers).mean())
        most = share * len(values)
        lattices = [*_column_lattices(column, numbers, most, groups, dust)]
        lattices = lattices or [*_of_constant(column, numbers, most, dust)]
        steps += sorted(lattices, key=lambda lattice: -lattice.step)[:_MOST_LATTICES]
    return tuple(steps)


def _column_lattices(
    column: int, values: Doubles, most: float, groups: Integers, dust: float
) -> Iterator[ColumnSteps]:
    decimals = decimals_of(values)
    numbers, exact = as_multiples(values, decimals, dust)
    if len(values) - exact.sum() > most:
        return
    for step in _common_steps(numbers[groups], np.asarray(exact[groups].all(axis=1))):
        offsets, counts = np.unique(numbers[exact] % step, return_counts=True)
        lattice = ColumnSteps(column, decimals, step, int(offsets[counts.argmax()]), dust)
        if len(values) - counts.max() <= most and lattice.width > _DUST_MARGIN * dust:
            yield lattice


def _of_constant(column: int, values: Doubles, most: float, dust: float) -> Iterator[ColumnSteps]:
    """Yield the lattice of a column with mostly one value; its step exceeds all distances."""
    distinct, counts = np.unique(values, return_counts=True)
    origin = float(distinct[counts.argmax()])
    reach = float(np.abs(distinct - origin).max())
    if len(values) - counts.max() <= most and _DUST_MARGIN * dust < reach < np.inf:
        decimals = min(_DIGITS - int(np.floor(np.log10(reach))), sys.float_info.max_10_exp)
        step = int(reach * 10.0**decimals) + 1
        yield ColumnSteps(column, decimals, step, 0, dust, origin)


def _common_steps(groups: Integers, exact: npt.NDArray[np.bool_]) -> list[int]:
    """Return steps that divide the differences within many groups.

    The differences in a group of records on one lattice have its step, or a multiple, as greatest
    common divisor. Two such groups together have the step.
    """
    steps = np.gcd.reduce(np.abs(groups - groups[:, :1]), axis=1)[exact]
    distinct, counts = np.unique(steps[steps > 0], return_counts=True)
    distinct = distinct[np.argsort(-counts, kind="stable")[: _GROUPS // 2]]
    divisors = np.unique(np.gcd(distinct[:, None], distinct[None, :]))
    shares = np.mean(steps[:, None] % divisors[None, :] == 0, axis=0)
    best: list[int] = divisors[np.lexsort((-divisors, -shares))[:_MOST_CANDIDATES]].tolist()
    return best
