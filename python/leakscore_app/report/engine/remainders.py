"""Arithmetic on one published number: what a record off the steps of all others adds to the sum.

If the others' values of a column lie on a lattice o + k s, a sum of n of them is a multiple of s
above n o, and a record that is r off the lattice leaves the remainder r. No linear score sees it.
The law of the remainder is computed exactly, with the others drawn as in the game, where few of
them are off, too; where none is put back, each is drawn independently. A remainder is hidden

- by noise of a step on the sum: what is left is exp(-2 pi^2) of it;
- by a mean that is published to d decimals: it tells the sum to L = n 10^-d only. In an interval of
  L the sums with one remainder and with another differ in number by one at most, of L / s, also
  where its ends are sums. So s / (2 L) of the advantage is left at most, and as much as a step adds
  at the ends of the intervals, s / 2 times the largest density, .4 over the sum's spread. If that
  is less than a step, rounding counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd

import numpy as np
import numpy.typing as npt

from leakscore_app.passes.lattices import ColumnSteps, Off, decimals_of
from leakscore_app.report._model import Arithmetic, Doubles, Noise, Release, Remainder
from leakscore_app.report.engine.leakage import Budget
from leakscore_app.report.engine.population import Population

_DRAWN = 20  # records off a lattice in a sum, on average, from which on it tells no more
_LARGEST_SHARE = 0.5
_LEAST = 1e-3  # advantage that is told of
_POINTS = 1 << 20  # of a law of remainders; of more, no two sums have the same
_WORK = 1 << 24
_LISTED = 1000
_DECIMALS = 20

Integers = npt.NDArray[np.int64]


def share_of(n: int) -> float:
    """Return the largest share of the records off a lattice with which a sum of n tells of it."""
    return min(_LARGEST_SHARE, _DRAWN / n)


def why_unchecked(release: Release, weighted: bool) -> str:
    """Say why no steps are looked for; "" if they are."""
    if weighted:
        return "a mean with known weights is no sum of the records as they are"
    if release.exact != "exact":
        return f"{release.statistic} is no sum of the records"
    return ""


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums that a release tells.

    Attributes
    ----------
    population : Population
    rows : (P,) ndarray of int
        The number of each person's first record.
    budget : Budget
    columns : tuple of str
    units : (d,) ndarray
        What is published, over the mean.
    decimals : int or None
        To how many it is rounded.
    sample : (M, d) ndarray
        Of all records.
    records : (N,) ndarray of int, optional
        Numbers of all records, where `owners` are known.
    owners : (N,) ndarray of int, optional
        The number of the first record of each record's person; by default each is a person's only.
    """

    population: Population
    rows: Integers
    budget: Budget
    columns: tuple[str, ...]
    units: Doubles
    decimals: int | None
    sample: Doubles
    records: Integers | None = None
    owners: Integers | None = None

    def arithmetic(self, lattices: Sequence[ColumnSteps], off: Sequence[Off]) -> Arithmetic:
        """Return what remainders tell, and to how many decimals rounding hides it."""
        result = Arithmetic(self._remainders(lattices, off))
        if not self._exceeds(result) or self._shares.max() > self.budget.limit:
            return result
        for decimals in range(_DECIMALS, -_DECIMALS, -1):
            rounded = [
                replace(one, advantage=one.exact * self._left(one.column, one.step, decimals))
                for one in result.records
            ]
            if not self._exceeds(Arithmetic(tuple(rounded))):
                return replace(result, hidden_by=decimals)
        return result

    def noise(self, noise: Noise | None, arithmetic: Arithmetic) -> Noise | None:
        """Return noise on the means that hides remainders, too, where they are above the limit."""
        if noise is None or not (noise.standard_errors or self._exceeds(arithmetic)):
            return noise
        return _with_steps(noise, arithmetic, self.population)

    def _exceeds(self, arithmetic: Arithmetic) -> bool:
        """Tell whether arithmetic adds so much to a record's share that it is above the limit."""
        limit = self.budget.limit
        return any(self._share(row) + added > limit for row, added in arithmetic.added.items())

    def _share(self, row: int) -> float:
        """Return the share of a record by the theory; of one that is not kept, the largest."""
        index = int(np.searchsorted(self.rows, row))
        there = index < len(self.rows) and self.rows[index] == row
        return float(self._shares[index] if there else self._shares.max())

    @cached_property
    def _shares(self) -> Doubles:
        people = self.population
        scores = people.informed()
        if people.published.last:
            scores = self.budget.answered_for(people.told, people.added())
        return self.budget.shares(scores)

    def _remainders(
        self, lattices: Sequence[ColumnSteps], off: Sequence[Off]
    ) -> tuple[Remainder, ...]:
        """Return the records that tell of themselves, the worst first."""
        worst: dict[tuple[int, str], Remainder] = {}
        for lattice, records in zip(lattices, off, strict=True):
            share = records.count / self.population.size
            if 0 < share <= share_of(self.population.batch_size):
                for one in self._of(lattice, records):
                    before = worst.get((one.row, one.column))
                    if before is None or _rank(one) > _rank(before):
                        worst[one.row, one.column] = one
        ordered = sorted(worst.values(), key=lambda one: (-one.advantage, -one.exact, one.row))
        return tuple(ordered[:_LISTED])

    def _of(self, lattice: ColumnSteps, off: Off) -> Iterator[Remainder]:
        law = _Law.of(lattice, off, self)
        column = self.columns[lattice.column]
        left = self._left(column, lattice.width, self.decimals)
        least = _LEAST + 1.5 * law.of_none
        for row, exact, others in law.advantages():
            if exact >= least:
                yield Remainder(
                    row=row,
                    column=column,
                    step=lattice.width,
                    others=others,
                    exact=exact,
                    advantage=exact * left,
                )

    def _left(self, column: str, step: float, decimals: int | None) -> float:
        """Return what share of an advantage rounding leaves."""
        if decimals is None:
            return 1.0
        people, j = self.population, self.columns.index(column)
        width = people.n / float(self.units[j]) * 10.0**-decimals
        spread = _spread_of(self.sample[:, j]) * np.sqrt(people.batch_size * people.correction)
        return min(1.0, float(step / 2 * (1 / width + 0.4 / spread))) if spread >= step else 1.0


def _spread_of(values: Doubles) -> float:
    """Return the spread of most values: that by quartiles, or the standard one, if it is less."""
    low, high = np.quantile(values, [0.25, 0.75])
    return min(float(high - low) / 1.349, float(values.std()))


def _with_steps(noise: Noise, arithmetic: Arithmetic, population: Population) -> Noise:
    """Return noise of a step on each sum, at least."""
    if not arithmetic.records or not noise.confirmed:
        return noise
    least = dict.fromkeys(noise.noise_std, 0.0)
    for one in arithmetic.records:
        least[one.column] = max(least[one.column], one.step / population.n)
    std, steps = (np.array(list(values.values())) for values in (noise.noise_std, least))
    units = population.scale * np.sqrt(population.correction / population.n)
    if noise.shape == "same":
        errors = np.full(len(std), max(noise.standard_errors, float((steps / units).max())))
    else:
        errors = np.maximum(std, steps) / units
    more = np.maximum((errors * units) ** 2 - std**2, 0.0)
    cost = None if noise.cost is None else float(errors @ errors)
    gap = noise.gap
    if noise.cost is not None and gap is not None and cost:
        gap = 1 - (1 - gap) * noise.cost / cost
    return replace(
        noise,
        noise_std=dict(zip(noise.noise_std, (errors * units).tolist(), strict=True)),
        standard_errors=float(np.sqrt(np.mean(errors**2))),
        column_standard_errors={}
        if noise.shape == "same"
        else dict(zip(noise.noise_std, errors.tolist(), strict=True)),
        covariance=None if noise.covariance is None else noise.covariance + np.diag(more),
        cost=cost,
        gap=gap,
    )


def _rank(one: Remainder) -> tuple[float, int]:
    return one.advantage, -one.others


@dataclass(frozen=True, eq=False)
class _Law:
    """The law of the remainder of a sum, of records off a lattice.

    Attributes
    ----------
    sums : Sums
    owners : (m,) ndarray of int
        Number of the first record of each one's person.
    residues : (m,) ndarray of int
        How far it is off; -1 if that is no whole number of units.
    count : float
        How many records each stands for.
    step : int
    rows : (m,) ndarray of int
    """

    sums: Sums
    owners: Integers
    residues: Integers
    count: float
    step: int
    rows: Integers

    @classmethod
    def of(cls, lattice: ColumnSteps, off: Off, sums: Sums) -> _Law:
        """Look at records off a lattice, in units in which as many as can be are whole."""
        values = off.values[:, lattice.column]
        finer = lattice.finer(max(lattice.decimals, decimals_of(values)))
        owners = off.rows
        if sums.owners is not None and sums.records is not None:
            owners = sums.owners[np.searchsorted(sums.records, off.rows)]
        count = off.count / len(off.rows)
        return cls(sums, owners, finer.residues(values), count, finer.step, off.rows)

    @cached_property
    def of_none(self) -> float:
        """The advantage of a record on the lattice: with it, one other fewer is drawn."""
        none = np.zeros(0, np.int64)
        return self._advantage(none, none, 1, 1) if len(self.rows) > 1 else 0.0

    def advantages(self) -> Iterator[tuple[int, float, int]]:
        """Yield each person off the lattice, the best advantage, and how many others are off.

        Of very many, those of the first different remainders.
        """
        known: dict[tuple[int, ...], float] = {}
        order = np.argsort(self.owners, kind="stable")
        owners, first = np.unique(self.owners[order], return_index=True)
        for owner, places in zip(owners.tolist(), np.split(order, first[1:]), strict=True):
            records, added = self._records_of(owner)
            inside = places[np.isin(self.rows[places], added)] if added is not None else places
            size = 1 if added is None else len(added)
            key = (records, size, len(inside), *sorted(self.residues[inside].tolist()))
            key = (*key, *sorted(self.residues[places].tolist()))
            if key not in known:
                if len(known) * self._points > _WORK:
                    return
                known[key] = self._advantage(places, inside, records, size)
            yield owner, known[key], round(self.count * len(self.rows)) - len(places)

    def _records_of(self, owner: int) -> tuple[int, Integers | None]:
        """Return how many records a person has, and the numbers of those in the sum."""
        sums = self.sums
        if sums.owners is None or sums.records is None:
            return 1, None
        mine = sums.owners == owner
        published = sums.population.published
        return int(mine.sum()), sums.records[mine & (published.batch == published.last)]

    @cached_property
    def _unit(self) -> int:
        """Return the greatest common divisor of the step and all residues."""
        return gcd(self.step, *np.unique(self.residues).tolist())

    @property
    def _points(self) -> int:
        return self.step // self._unit

    def _advantage(self, places: Integers, inside: Integers, records: int, size: int) -> float:
        """Return the total variation of the remainders with a person's records and without.

        `places` are all of the person's, `inside` those in the sum, which holds `size` records of
        the person, of `records` in the table.
        """
        own = int(self.residues[inside].sum()) // self._unit % self._points if len(inside) else 0
        odd = bool((self.residues < 0).any()) or self._points > _POINTS
        if odd or len(places) == len(self.rows):
            return float(len(inside) > 0 and (odd or own != 0))
        people = self.sums.population
        others = np.delete(self.residues, places) // self._unit
        counts = self.count * np.bincount(others, minlength=self._points).astype(np.float64)
        total = people.size - records
        counts[0] += total - counts.sum()
        drawn = people.batch_size
        laws = [_law(counts, number, finite=people.finite) for number in (drawn - size, drawn)]
        return min(1.0, float(np.abs(np.roll(laws[0], own) - laws[1]).sum() / 2))


def _law(counts: Doubles, number: int, *, finite: bool) -> Doubles:
    """Return the law of the sum, modulo their length, of so many of some numbers 0, 1, ..."""
    points = len(counts)
    if not finite:
        return np.fft.irfft(np.fft.rfft(counts / counts.sum()) ** number, points)
    share = number / counts.sum()
    law = np.ones(points // 2 + 1, dtype=np.complex128)
    turns = np.arange(points // 2 + 1)
    for residue in np.flatnonzero(counts[1:]) + 1:
        phase = np.exp(-2j * np.pi * (turns * residue % points) / points)
        law *= (1 - share + share * phase) ** counts[residue]
    return np.fft.irfft(law, points)
