"""Leakage of sums beyond the Gaussian theory: outlying records, and remainders.

**Outlying records.** The theory of the leakage takes the sum of the records for normal. A sum with
few outlying values is not: the holder of a rare trait may leak more than the theory says, and
others less. So the advantage or the power of the records that leak most is computed from the law of
the sum, by its characteristic function on a grid. An Edgeworth expansion about the normal law is of
no use here: it is far off for a trait of two records. Values of more than an eighth of the sum's
standard deviation are counted exactly, of which the sum holds 64 on average at most; the rest is
normal.

The score of a person is a sum over independent parts: the batches between the published means, or
the records of equal weight. Each part has its own characteristic function.

The squared distances of all records add up to N d. So if h of N records have a trait that no other
column predicts, at most d h records leak as much as they do: a rare trait is among the first in
rank. With batches or weights an outlying record may leak less in theory than many others; half of
the ranked records are therefore the farthest ones.

**Remainders.** If the others' values of a column lie on a lattice o + k s, a sum of n is n o
plus a multiple of s, and a record that is r off the lattice leaves the remainder r. No linear score
sees it. The law of the remainder is computed exactly, with the others drawn as in the game, a few
off the lattice as well; in draws without replacement each is drawn independently. A remainder
is hidden

- by noise of a step on the sum, which leaves exp(-2 pi^2) of the advantage;
- by rounding. A mean with d decimals gives the sum to within L = n 10^-d. In an interval of L
  the numbers of sums with one remainder and with another differ by at most one, of L / s, also if
  its ends are sums. So rounding leaves at most s / (2 L) of the advantage, plus what a step adds at
  the ends of the intervals: s / 2 times the largest density, .4 over the sum's spread. If that
  spread is less than a step, rounding counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import gcd

import numpy as np
import numpy.typing as npt

from leakscore.numeric import by_squaring
from leakscore_app.passes.lattices import ColumnSteps, OffLattice, decimals_of, max_off_share
from leakscore_app.passes.rows import JudgedRows
from leakscore_app.report._model import ALPHA, Arithmetic, Doubles, Noise, Release, Remainder
from leakscore_app.report.engine.leakage import Budget
from leakscore_app.report.engine.population import Population

_GRID, _FINE = 1024, 4096  # points: of one part, and of many
_PERIOD = 32.0  # such: standard deviations of the sum
_FAR = 0.125  # such: a value that is counted
_PROJECTED, _RANKED = 3 * 10**8, 400  # of all candidates, and how many they are
_TOGETHER = 1 << 20  # numbers projected at a time
_CLEAR = 0.01  # more than the grid's error
_WEIGHTS, _LIGHTEST = 16, 1e-3  # groups of weights, and the least of them over the largest
_FEW = 200  # records of a person, up to which the direction is exact


@dataclass(frozen=True, eq=False)
class Summands:
    """Independent records in a sum, and a person's contribution.

    Attributes
    ----------
    others, counts : (m,) ndarray
        Contributions of the other records, of mean 0, and their multiplicities.
    added : float
        Contribution of the person.
    drawn : tuple of int
        Numbers of others drawn with the person's records in the sum, and without.
    """

    others: Doubles
    counts: Doubles
    added: float
    drawn: tuple[int, int]


def hidden_behind(
    population: Population,
    order: Sequence[int],
    count: int,
    quantity: str,
    sample: JudgedRows | None = None,
) -> tuple[list[int], int]:
    """Return persons that the law of the sums, unlike the theory, clearly ranks among the worst.

    Also the number of persons that were ranked by it.

    Parameters
    ----------
    population : Population
    order : sequence of int
        Its persons, the worst in theory first.
    count : int
        Number of the worst that are played.
    quantity : {"advantage", "power"}
    sample : JudgedRows, optional
        For a crowd: records that stand for all others.
    """
    rows, counts = population.centred, np.ones(len(population.centred))
    number = len(rows)
    if sample is not None and len(sample.rows):
        rows = np.concatenate([rows, sample.different - population.reference.mean])
        share = (population.size - number) / len(sample.rows)
        counts, number = np.append(counts, share * sample.repeats), number + len(sample.rows)
    each = 10 if population.pull is None else 4 * _WEIGHTS
    most = min(_PROJECTED // (number * (population.dim + each)), _RANKED)
    candidates = _candidates(population, order, count, most)
    if len(candidates) <= count:
        return [], len(candidates)
    shares = np.empty(len(candidates))
    tile = max(1, _TOGETHER // len(rows))
    for start in range(0, len(candidates), tile):
        several = candidates[start : start + tile]
        directions = [_directions(population, person) for person in several]
        projected = iter((rows @ np.concatenate(directions).T).T)
        for place, person in enumerate(several, start):
            sums = list(_summands(population, person, counts, projected))
            shares[place] = quantity_of(laws(sums, finite=population.finite), quantity)
    ranked = np.argsort(-shares, kind="stable")[:count]
    clear = shares > shares[:count].min() + _CLEAR
    hidden = [candidates[place] for place in ranked.tolist() if place >= count and clear[place]]
    return hidden, len(candidates)


def _candidates(
    population: Population, order: Sequence[int], count: int, most: int
) -> Sequence[int]:
    """Return the worst in theory, and the farthest where batches or weights change their rank."""
    if (population.pull is None and population.published.last == 0) or len(order) <= most:
        return order[:most]
    far = population.reference.squared_mahalanobis(population.values)
    distances = np.bincount(population.owned.of_row, far)[order]
    farthest = np.asarray(order)[np.argsort(-distances, kind="stable")].tolist()
    return list(dict.fromkeys([*order[: max(count, most // 2)], *farthest]))[:most]


def _directions(population: Population, person: int) -> Doubles:
    """Return the direction of a person's score in each batch, up to a factor.

    With U the person's records and S the scatter of all N, that of the others is S - U'BU,
    B = I + 11'/(N - k), of which the inverse times U' is S^-1 U' (I - B U S^-1 U')^-1.
    """
    numbers = population.owned.rows(person)
    parts, rows = population.published.parts(person), population.centred[numbers]
    shifts = np.array([np.isin(numbers, part.rows) for part in parts], dtype=np.float64)
    if 1 < len(rows) <= _FEW:
        rest = population.size - len(rows)
        shifts += shifts.sum(axis=1, keepdims=True) / rest  # the mean of the others is elsewhere
        inside = rows @ population.reference.solve(rows).T / population.size
        lost = inside + inside.sum(axis=0) / rest
        with suppress(np.linalg.LinAlgError):  # the others do not vary in some direction
            shifts = np.linalg.solve(np.eye(len(rows)) - lost, shifts.T).T
    return np.asarray(population.reference.solve(shifts @ rows))


def _summands(
    population: Population, person: int, counts: Doubles, projected: Iterator[Doubles]
) -> Iterator[Summands]:
    """Yield the parts of a person's score: those of each batch, or of records of equal weight."""
    excluded = population.owned.rows(person)
    numbers = np.delete(counts, excluded)
    for part in population.published.parts(person):
        along = next(projected)
        values, size = np.delete(along, excluded), int(population.published.sizes[part.batch])
        centre = numbers @ values / numbers.sum()
        values, shift = values - centre, float((along[part.rows] - centre).sum())
        if population.pull is None:
            drawn = size - len(part.rows), size
            yield Summands(values / size, numbers, shift / size, drawn)
            continue
        (row,) = part.rows.tolist()
        for weight, places, includes in _weights(population.pull, row):
            added = float(population.pull[row]) * shift if includes else 0.0
            yield Summands(weight * values, numbers, added, (places - includes, places))


def _weights(pull: Doubles, row: int) -> Iterator[tuple[float, int, bool]]:
    """Yield a weight for each group of similar ones, their number, and whether the row has one."""
    distinct, places = np.unique(pull, return_inverse=True)
    if len(distinct) > _WEIGHTS:
        with np.errstate(divide="ignore"):
            depth = np.log(pull / pull.max()) / np.log(_LIGHTEST)
        places = np.minimum(depth * _WEIGHTS, _WEIGHTS - 1).astype(np.intp)
    numbers = np.bincount(places)
    squares = np.bincount(places, pull**2)
    for group in np.flatnonzero(numbers).tolist():
        number = int(numbers[group])
        yield float(np.sqrt(squares[group] / number)), number, group == places[row]


def quantity_of(law: tuple[Doubles, Doubles], quantity: str) -> float:
    """Return the best advantage, or the power, between two laws of a sum on a grid."""
    hits, alarms = (1 - np.cumsum(masses) for masses in law)
    if quantity == "power":
        return float(np.interp(ALPHA, alarms[::-1], hits[::-1]))
    return float(np.clip((hits - alarms).max(), 0.0, 1.0))


def laws(sums: Sequence[Summands], *, finite: bool) -> tuple[Doubles, Doubles]:
    """Return the law of a sum with a person's records and without, on a grid.

    Parameters
    ----------
    sums : sequence of Summands
        Independent parts of the sum. With many parts the grid is finer, as a light record moves
        the sum less.
    finite : bool
        Whether the others are drawn without replacement.
    """
    variance = sum(_variance(part, finite=finite) for part in sums)
    if not variance > 0:
        return np.array([0.0, 1.0]), np.array([1.0, 0.0])
    size = _GRID if len(sums) == 1 else _FINE
    point = float(np.sqrt(variance)) * _PERIOD / size
    half = size // 4
    frequency = 2 * np.pi * np.arange(size // 2 + 1) / size
    shift = float(np.clip(sum(part.added for part in sums) / point, -half, half))
    smooth = -(frequency**2) / 2  # by a point of the grid
    logs = np.array([smooth + 1j * frequency * shift, smooth + 0j])
    for part in sums:
        values = np.clip(part.others / point, -half, half)  # beyond, the sum is far off
        far = np.abs(values) > _FAR * size / _PERIOD
        places = np.rint(values[far]).astype(np.int64) % size
        histogram = np.bincount(places, part.counts[far], minlength=size).astype(np.float64)
        rest = part.counts[~far], values[~far]
        near = np.array([float(rest[0] @ rest[1] ** power) for power in range(3)])
        total = float(part.counts.sum())
        if finite:
            logs += [_finite(histogram, near, drawn / total, frequency) for drawn in part.drawn]
        else:
            logs += np.outer(part.drawn, _infinite(histogram, near, total, frequency))
    result = np.fft.fftshift(np.fft.irfft(np.exp(np.conj(logs)), size, axis=1), axes=1)
    return result[0], result[1]


def _variance(part: Summands, *, finite: bool) -> float:
    """Return the variance of a part of a sum without the person."""
    number, total = part.drawn[1], float(part.counts.sum())
    share = number / total if finite else 0.0
    return number * float(part.counts @ part.others**2) / total * max(1 - share, 0.0)


def _infinite(
    histogram: Doubles, near: Doubles, total: float, frequency: Doubles
) -> npt.NDArray[np.complex128]:
    """Return the log of a record's characteristic function, drawn with replacement."""
    single = np.conj(np.fft.rfft(histogram)) / total
    if near[0] > 0:
        mean, square = near[1] / near[0], near[2] / near[0]
        normal = 1j * frequency * mean - frequency**2 * (square - mean**2) / 2
        single = single + near[0] / total * np.exp(normal)
    return np.asarray(np.log(np.where(single == 0, 1e-300, single)))


def _finite(
    histogram: Doubles, near: Doubles, share: float, frequency: Doubles
) -> npt.NDArray[np.complex128]:
    """Return that of a sum in which each record is drawn at most once, independently."""
    normal = 1j * frequency * share * near[1] - frequency**2 * share * (1 - share) * near[2] / 2
    places = np.flatnonzero(histogram)
    return np.asarray(histogram[places] @ _drawn_once(share)[places] + normal)


@lru_cache(maxsize=4)
def _drawn_once(share: float) -> npt.NDArray[np.complex128]:
    turns = np.outer(np.arange(_GRID), np.arange(_GRID // 2 + 1)) % _GRID
    factors = 1 - share + share * np.exp(2j * np.pi * turns / _GRID)
    return np.asarray(np.log(np.where(np.abs(factors) < 1e-300, 1e-300, factors)))


_LEAST = 1e-3  # advantage that is told of
_POINTS = 1 << 20  # of a law of remainders; of more, no two sums have the same
_WORK = 1 << 24
_EQUAL = 128  # points of a law of how many records of a value a sum holds, 20 on average
_LISTED = 1000
_DECIMALS = 20

Integers = npt.NDArray[np.int64]


def why_unchecked(release: Release, weighted: bool) -> str:
    """Say why no search for steps is made; "" if one is."""
    if weighted:
        return "a mean with known weights is no sum of the records as they are"
    if release.exact != "exact":
        return "what is published is no sum of the records"
    return ""


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums that follow from a release.

    Attributes
    ----------
    population : Population
    rows : (P,) ndarray of int
        The number of each person's first record.
    budget : Budget
    columns : tuple of str
    units : (d,) ndarray
        Published numbers over means.
    decimals : int or None
        To which the numbers are rounded.
    sample : JudgedRows
        A sample of all records.
    records : (N,) ndarray of int, optional
        Numbers of all records, where `owners` are known.
    owners : (N,) ndarray of int, optional
        The number of the first record of each record's person; by default each is a person.
    """

    population: Population
    rows: Integers
    budget: Budget
    columns: tuple[str, ...]
    units: Doubles
    decimals: int | None
    sample: JudgedRows
    records: Integers | None = None
    owners: Integers | None = None

    def arithmetic(self, lattices: Sequence[ColumnSteps], off: Sequence[OffLattice]) -> Arithmetic:
        """Return the records that remainders reveal, and the rounding that hides them."""
        result = Arithmetic(self._remainders(lattices, off))
        if not self._exceeds(result) or self._shares.max() > self.budget.limit:
            return result
        for decimals in range(_DECIMALS, -_DECIMALS, -1):
            rounded = [
                replace(
                    each,
                    advantage=each.exact * self._after_rounding(each.column, each.step, decimals),
                )
                for each in result.records
            ]
            if not self._exceeds(Arithmetic(tuple(rounded))):
                return replace(result, hidden_by=decimals)
        return result

    def noise(
        self, noise: Noise | None, arithmetic: Arithmetic, played: Mapping[int, float]
    ) -> Noise | None:
        """Return noise on the means that also hides the remainders above the limit.

        `played` are the upper ends of the games of records by number.
        """
        if noise is None or not (noise.standard_errors or self._exceeds(arithmetic, played)):
            return noise
        return _with_steps(noise, arithmetic, self.population)

    def _exceeds(self, arithmetic: Arithmetic, played: Mapping[int, float] | None = None) -> bool:
        """Whether arithmetic raises a record's share above the limit."""
        least = dict.fromkeys(arithmetic.added, 0.0) | dict(played or {})
        return any(
            max(self._share(row), least[row]) + added > self.budget.limit
            for row, added in arithmetic.added.items()
        )

    def _share(self, row: int) -> float:
        """Return the share of a record by the theory; the largest share if it is not in memory."""
        index = int(np.searchsorted(self.rows, row))
        present = index < len(self.rows) and self.rows[index] == row
        return float(self._shares[index] if present else self._shares.max())

    @cached_property
    def _shares(self) -> Doubles:
        people = self.population
        scores = people.informed()
        if people.published.last:
            scores = self.budget.answered_for(people.earlier, people.added())
        return self.budget.shares(scores)

    def _remainders(
        self, lattices: Sequence[ColumnSteps], off: Sequence[OffLattice]
    ) -> tuple[Remainder, ...]:
        """Return the records with revealing remainders, the worst first."""
        worst: dict[tuple[int, str], Remainder] = {}
        for lattice, records in zip(lattices, off, strict=True):
            share = records.count / self.population.size
            if 0 < share <= max_off_share(self.population.batch_size):
                for each in self._of(lattice, records):
                    before = worst.get((each.row, each.column))
                    if before is None or _rank(each) > _rank(before):
                        worst[each.row, each.column] = each
        ordered = sorted(worst.values(), key=lambda each: (-each.advantage, -each.exact, each.row))
        return tuple(ordered[:_LISTED])

    def _of(self, lattice: ColumnSteps, off: OffLattice) -> Iterator[Remainder]:
        law = _Law.of(lattice, off, self)
        column = self.columns[lattice.column]
        remaining = self._after_rounding(column, lattice.width, self.decimals)
        for row, exact, others in law.advantages():
            # The bound spares most records the law of one on the lattice.
            if exact >= _LEAST + 1.5 * law.most_of_none or exact >= _LEAST + 1.5 * law.of_none:
                yield Remainder(
                    row=row,
                    column=column,
                    step=lattice.width,
                    others=others,
                    exact=exact,
                    advantage=exact * remaining,
                )

    def _after_rounding(self, column: str, step: float, decimals: int | None) -> float:
        """Return the share of an advantage that remains after rounding."""
        if decimals is None:
            return 1.0
        people, j = self.population, self.columns.index(column)
        width = people.n / float(self.units[j]) * 10.0**-decimals
        spread = _spread_of(self.sample.each(self.sample.different[:, j]))
        spread *= float(np.sqrt(people.batch_size * people.correction))
        return min(1.0, float(step / 2 * (1 / width + 0.4 / spread))) if spread >= step else 1.0


def _spread_of(values: Doubles) -> float:
    """Return the spread of most values: by quartiles, or the standard deviation if it is less."""
    low, high = np.quantile(values, [0.25, 0.75])
    return min(float(high - low) / 1.349, float(values.std()))


def _with_steps(noise: Noise, arithmetic: Arithmetic, population: Population) -> Noise:
    """Return noise of at least a step on each sum."""
    if not arithmetic.records or not noise.confirmed:
        return noise
    least = dict.fromkeys(noise.noise_std, 0.0)
    for record in arithmetic.records:
        least[record.column] = max(least[record.column], record.step / population.n)
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


def _rank(record: Remainder) -> tuple[float, int]:
    return record.advantage, -record.others


@dataclass(frozen=True, eq=False)
class _Law:
    """The law of the remainder of a sum, for records off a lattice.

    Attributes
    ----------
    sums : Sums
    owners : (m,) ndarray of int
        Number of the first record of each record's person.
    residues : (m,) ndarray of int
        Distance to the lattice; -1 if that is no whole number of units.
    numbers : (m,) ndarray
        The values.
    count : float
        Number of records that each represents.
    step : int
    rows : (m,) ndarray of int
    """

    sums: Sums
    owners: Integers
    residues: Integers
    numbers: Doubles
    count: float
    step: int
    rows: Integers

    @classmethod
    def of(cls, lattice: ColumnSteps, off: OffLattice, sums: Sums) -> _Law:
        """Take records off a lattice, in units in which most residues are whole numbers."""
        finer = lattice.finer(max(lattice.decimals, decimals_of(off.numbers)))
        owners = off.rows
        if sums.owners is not None and sums.records is not None:
            owners = sums.owners[np.searchsorted(sums.records, off.rows)]
        count = off.count / len(off.rows)
        step, residues = finer.showable_residues(off.numbers, _POINTS)
        return cls(sums, owners, residues, off.numbers, count, step, off.rows)

    @property
    def most_of_none(self) -> float:
        """Upper bound of `of_none`: the chance that the record not drawn is off the lattice."""
        return self.count * len(self.rows) / (self.sums.population.size - 1)

    @cached_property
    def of_none(self) -> float:
        """The advantage of a record on the lattice: one other record fewer is drawn with it."""
        none = np.zeros(0, np.int64)
        return self._advantage(none, none, 1, 1) if len(self.rows) > 1 else 0.0

    def advantages(self) -> Iterator[tuple[int, float, int]]:
        """Yield each person off the lattice, the best advantage, and the number of others off it.

        If there are very many, those of the first distinct remainders.
        """
        advantages: dict[tuple[float, ...], float] = {}
        order = np.argsort(self.owners, kind="stable")
        owners, first = np.unique(self.owners[order], return_index=True)
        for owner, places in zip(owners.tolist(), np.split(order, first[1:]), strict=True):
            records, added = self._records_of(owner)
            inside = places[np.isin(self.rows[places], added)] if added is not None else places
            size = 1 if added is None else len(added)
            key: tuple[float, ...] = (records, size, len(inside))
            key = (*key, *sorted(self.residues[inside].tolist()))
            key = (*key, *sorted(self.residues[places].tolist()))
            if self._odd:
                key = (*key, *sorted(self.numbers[places].tolist()))
            if key not in advantages:
                if len(advantages) * self._points > _WORK:
                    return
                advantages[key] = self._advantage(places, inside, records, size)
            yield owner, advantages[key], round(self.count * len(self.rows)) - len(places)

    def _records_of(self, owner: int) -> tuple[int, Integers | None]:
        """Return a person's number of records, and the row numbers of those in the sum."""
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

    @cached_property
    def _odd(self) -> bool:
        """Whether sums of different values always differ."""
        return bool((self.residues < 0).any()) or self.step // self._unit > _POINTS

    @cached_property
    def _counted(self) -> tuple[int, int]:
        """Return the unit in which residues are counted, and how many units are told apart.

        A sum that holds fewer than _EQUAL of them may be too small to pass the step.
        """
        if self._odd:
            return self._unit, _EQUAL
        unit = gcd(*np.unique(self.residues).tolist()) or self._unit
        reach = _EQUAL * (int(self.residues.max()) // unit)
        if self.sums.owners is None and 0 < reach < self.step // gcd(self.step, unit):
            return unit, reach
        return self._unit, self.step // self._unit

    @property
    def _points(self) -> int:
        return self._counted[1]

    def _advantage(self, places: Integers, inside: Integers, records: int, size: int) -> float:
        """Return the total variation of the remainders with a person's records and without.

        `places` are all records of the person, `inside` those in the sum. The sum holds `size` of
        the person's `records`.
        """
        single = len(places) == 1
        shifts = self.residues // self._counted[0]
        if self._odd and single:  # the sum tells how many of each value it holds: of these, its own
            shifts = (self.numbers == self.numbers[places]).astype(np.int64)
        shift = int(shifts[inside].sum()) % self._points
        if len(places) == len(self.rows) or (self._odd and not single):
            return float(len(inside) > 0 and (self._odd or shift != 0))
        people = self.sums.population
        others = np.delete(shifts, places)
        counts = self.count * np.bincount(others, minlength=self._points).astype(np.float64)
        total = people.size - records
        counts[0] += total - counts.sum()
        drawn = people.batch_size - size, people.batch_size
        return min(1.0, _distance(counts, drawn, shift, finite=people.finite))


def _distance(counts: Doubles, drawn: tuple[int, int], shift: int, *, finite: bool) -> float:
    """Return the total variation distance of two sums of residues 0, 1, ... modulo their number.

    The first sum is of `drawn[0]` residues plus `shift`, the second of `drawn[1]`. `counts` is the
    number of records with each residue.
    """
    points, (fewer, more) = len(counts), drawn
    if finite:
        first, second = (_drawn_independently(counts, number) for number in drawn)
    else:
        single = np.fft.rfft(counts / counts.sum())
        first = by_squaring(single, fewer, np.multiply) if fewer else np.ones_like(single)
        second = first * single ** (more - fewer)
    first = first * _turned(shift, points)
    return float(np.abs(np.fft.irfft(first - second, points)).sum() / 2)


def _drawn_independently(counts: Doubles, number: int) -> npt.NDArray[np.complex128]:
    """Return the transform of the law of a sum if each record is drawn independently."""
    share = number / counts.sum()
    law = np.ones(len(counts) // 2 + 1, dtype=np.complex128)
    for residue in (np.flatnonzero(counts[1:]) + 1).tolist():
        law *= (1 - share + share * _turned(residue, len(counts))) ** counts[residue]
    return law


def _turned(number: int, points: int) -> npt.NDArray[np.complex128]:
    """Return the transform of the law of a number."""
    turns = np.arange(points // 2 + 1) * number % points
    return np.asarray(np.exp(-2j * np.pi / points * turns))
