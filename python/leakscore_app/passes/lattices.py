"""Lattices of columns: the steps on which all values of a column lie, but for few.

Values are decimal, as text is; of a binary number that is the shortest one that rounds to it.
Nothing is a lattice to a tolerance: k / 10^d, correctly rounded, is the number or is not. But off a
lattice is only what a sum can show: a binary64 sum of n values carries eps n E|x| at best, and what
is less (0.1 + 0.2 is 0.30000000000000004) is on it.
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
LARGEST = 10**15  # whose decimals are the shortest of their binary number
_DECIMALS = 15
_LOOKED = 4096  # records in which lattices are looked for
_GROUPS, _SIZES = 128, (3, 64)  # of records, in whose differences steps are looked for
_TRIED, _KEPT = 12, 4  # steps of a column
_DIGITS = 6  # of a step beyond all values, after its first one
_SEEN = 4  # times the dust, of a step
_MOST = 1 << 21  # numbers of records off a lattice that are kept
_DRAWN = 20  # records off a lattice in a sum, on average, from which on it tells no more
_LARGEST_SHARE = 0.5


def in_units(
    values: Doubles, decimals: int, dust: float = 0.0
) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Return values as multiples of 10^-decimals, and which are such but for `dust`; or 0."""
    scale = 10.0**decimals
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.rint(values * scale)
        exact = (np.abs(scaled) < LARGEST) & (np.abs(scaled / scale - values) <= dust)
    return np.where(exact, scaled, 0.0).astype(np.int64), exact


def in_steps(projections: npt.ArrayLike, step: float | Doubles) -> Doubles:
    """Round projections to multiples of a step."""
    return np.asarray(np.rint(np.asarray(projections) / step) * step)


def decimals_of(values: Doubles) -> int:
    """Return how many decimals most values are multiples of: the fewest that do it."""
    counts = []
    for decimals in range(_DECIMALS + 1):
        counts.append(int(in_units(values, decimals)[1].sum()))
        if counts[-1] == len(values):
            break
    return int(np.argmax(counts))


@dataclass(frozen=True)
class ColumnSteps:
    """Numbers origin + offset + k step of a column, in units of 10^-decimals, but for `dust`."""

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
        """Return the same in units of more decimals, if their number is a whole one of 64 bits."""
        scale = 10 ** (decimals - self.decimals)
        if scale * self.step >= 1 << 63:
            return self
        return replace(self, decimals=decimals, step=scale * self.step, offset=scale * self.offset)

    def residues(self, values: Doubles) -> Integers:
        """Return how far values lie above the lattice; -1 of those that are no whole units."""
        numbers, exact = in_units(values - self.origin, self.decimals, self.dust)
        return np.where(exact, (numbers - self.offset) % self.step, -1)

    def shown(self, values: Doubles, most: int) -> tuple[int, Integers]:
        """Return a step, and how far values lie above the lattice, in units that a sum can show.

        They are those of the decimals if these hold all values. If not, and if no more than `most`
        sums can be told from each other to the dust, they are as wide as the dust.
        """
        residues = self.residues(values)
        points = self.width / self.dust if self.dust else np.inf
        unit = gcd(self.step, *np.unique(residues).tolist())
        if not 1 < points < most or (residues.min(initial=0) >= 0 and self.step // unit <= points):
            return self.step, residues
        above = (values - self.origin) / self.width - self.offset / self.step
        return int(points), np.rint(above % 1 * int(points)).astype(np.int64) % int(points)


@dataclass(frozen=True, eq=False)
class Off:
    """Records off a lattice: how many, and of the first of them what is known.

    Attributes
    ----------
    count : int
    rows : (k,) ndarray of int
    numbers : (k,) ndarray
        Their values of the lattice's column.
    values : (k, d) or (k, 0) ndarray
        Of all columns, where the records are not at hand.
    """

    count: int
    rows: Integers
    numbers: Doubles
    values: Doubles

    @classmethod
    def of(cls, lattice: ColumnSteps, rows: JudgedRows, *, at_hand: bool = False) -> Off:
        """Look at the records of a block."""
        off = lattice.residues(rows.different[:, lattice.column]) != 0
        places = np.flatnonzero(rows.each(off)) if off.any() else np.zeros(0, np.int64)
        first = places[: _MOST // max(rows.different.shape[1], 1)]
        numbers = rows.each(rows.different[:, lattice.column])[first]
        values = np.empty((len(first), 0)) if at_hand else rows.taken(first)
        return cls(len(places), rows.rows[first], numbers, values)

    def merge(self, other: Off) -> Off:
        """Add later records."""
        rows = np.concatenate([self.rows, other.rows])
        numbers = np.concatenate([self.numbers, other.numbers])
        values = np.concatenate([self.values, other.values])
        most = _MOST // max(values.shape[1], 1)
        return Off(self.count + other.count, rows[:most], numbers[:most], values[:most])


def share_of(n: int) -> float:
    """Return the largest share of the records off a lattice with which a sum of n tells of it."""
    return min(_LARGEST_SHARE, _DRAWN / n)


def lattices_of(rows: JudgedRows, share: float, n: int) -> tuple[ColumnSteps, ...]:
    """Return the lattices that hold all values of a column but a `share` at most.

    Parameters
    ----------
    rows : JudgedRows
        Records, or a sample of them. Of many, some are looked at.
    share : float
    n : int
        Records in a sum.
    """
    size = len(rows.rows)
    rng, looked = np.random.default_rng(size), np.arange(size)
    if size > _LOOKED:
        looked = np.sort(rng.choice(size, _LOOKED, replace=False))
    values = rows.taken(looked)
    size = int(np.clip(round(1.2 / share), *_SIZES))
    groups = rng.integers(len(values), size=(_GROUPS, size))
    steps: list[ColumnSteps] = []
    for column, numbers in enumerate(values.T):
        dust = float(np.finfo(float).eps * n * np.abs(numbers).mean())
        most = share * len(values)
        lattices = [*_of_column(column, numbers, most, groups, dust)]
        lattices = lattices or [*_of_constant(column, numbers, most, dust)]
        steps += sorted(lattices, key=lambda lattice: -lattice.step)[:_KEPT]
    return tuple(steps)


def _of_column(
    column: int, values: Doubles, most: float, groups: Integers, dust: float
) -> Iterator[ColumnSteps]:
    decimals = decimals_of(values)
    numbers, exact = in_units(values, decimals, dust)
    if len(values) - exact.sum() > most:
        return
    for step in _steps(numbers[groups], np.asarray(exact[groups].all(axis=1))):
        offsets, counts = np.unique(numbers[exact] % step, return_counts=True)
        lattice = ColumnSteps(column, decimals, step, int(offsets[counts.argmax()]), dust)
        if len(values) - counts.max() <= most and lattice.width > _SEEN * dust:
            yield lattice


def _of_constant(column: int, values: Doubles, most: float, dust: float) -> Iterator[ColumnSteps]:
    """Yield the lattice of a column of one value, but for few: its step is beyond all others."""
    several, counts = np.unique(values, return_counts=True)
    origin = float(several[counts.argmax()])
    reach = float(np.abs(several - origin).max())
    if len(values) - counts.max() <= most and _SEEN * dust < reach < np.inf:
        decimals = min(_DIGITS - int(np.floor(np.log10(reach))), sys.float_info.max_10_exp)
        step = int(reach * 10.0**decimals) + 1
        yield ColumnSteps(column, decimals, step, 0, dust, origin)


def _steps(groups: Integers, exact: npt.NDArray[np.bool_]) -> list[int]:
    """Return steps that differences within many groups have in common.

    A group of records on one lattice has their step, or a multiple of it; two such have the step.
    """
    steps = np.gcd.reduce(np.abs(groups - groups[:, :1]), axis=1)[exact]
    several, counts = np.unique(steps[steps > 0], return_counts=True)
    several = several[np.argsort(-counts, kind="stable")[: _GROUPS // 2]]
    tried = np.unique(np.gcd(several[:, None], several[None, :]))
    shares = np.mean(steps[:, None] % tried[None, :] == 0, axis=0)
    first: list[int] = tried[np.lexsort((-tried, -shares))[:_TRIED]].tolist()
    return first
