"""Who is played beside the worst records in theory: those that the law of the sums shows more.

The theory of the leakage takes the sum of the records for normal. That of few values far out is
not: the holder of a rare trait may show more than the theory says, and others less. So the
advantage or the power of the records that leak most is computed from the law of the sum, by its
characteristic function on a grid. An expansion about the normal law (Edgeworth) is of no use here:
of a trait that one other record has, it is far off. Values of more than an eighth of the sum's
standard deviation are counted, of which the sum holds 64 on average at most; the rest is normal.

The score of a person is a sum over independent parts: the batches between means that were published
before, or the records of equal weight. Each part has its own characteristic function.

No more than d h of N records leak as much as those of a trait that h have and that no other column
tells of, as the squared distances of all add up to N d: a rare trait is among the first. With
batches or weights a record far out may leak less in theory than many others do, and half of those
ranked are the farthest ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from leakscore_app.report._model import ALPHA, Doubles
from leakscore_app.report.engine.population import Population

_GRID, _FINE = 1024, 4096  # points: of one part, and of many
_PERIOD = 32.0  # such: standard deviations of the sum
_FAR = 0.125  # such: a value that is counted
_WORK, _MOST = 3 * 10**8, 400  # of all candidates, and how many they are
_TOGETHER = 1 << 22  # numbers projected at a time
_CLEAR = 0.01  # more than the grid's error
_WEIGHTS, _LIGHTEST = 16, 1e-3  # groups of weights, and the least of them over the largest
_FEW = 200  # records of a person, up to which the direction is exact


@dataclass(frozen=True, eq=False)
class Summands:
    """Independent records in a sum, and what a person adds to it.

    Attributes
    ----------
    others, counts : (m,) ndarray
        What each of the other records adds, of mean 0, and how many there are of each.
    added : float
        What the person adds.
    drawn : tuple of int
        How many others are drawn with the person's records in the sum, and without.
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
    sample: Doubles | None = None,
) -> tuple[list[int], int]:
    """Return whom the law of the sums puts among the `count` worst, clearly, and the theory not.

    And how many persons are ranked by it.

    Parameters
    ----------
    population : Population
    order : sequence of int
        Its persons, the worst in theory first.
    count : int
        How many are played.
    quantity : {"advantage", "power"}
    sample : (M, d) ndarray, optional
        Of a crowd: records of which all others are copies.
    """
    rows, counts = population.centred, np.ones(len(population.centred))
    if sample is not None and len(sample):
        rows = np.concatenate([rows, sample - population.reference.mean])
        share = (population.size - len(counts)) / len(sample)
        counts = np.append(counts, np.full(len(sample), share))
    each = 10 if population.pull is None else 4 * _WEIGHTS
    most = min(_WORK // (len(rows) * (population.dim + each)), _MOST)
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
            shares[place] = share_of(laws(sums, finite=population.finite), quantity)
    ranked = np.argsort(-shares, kind="stable")[:count]
    clear = shares > shares[:count].min() + _CLEAR
    hidden = [candidates[place] for place in ranked.tolist() if place >= count and clear[place]]
    return hidden, len(candidates)


def _candidates(
    population: Population, order: Sequence[int], count: int, most: int
) -> Sequence[int]:
    """Return the worst in theory, and the farthest ones where the theory weighs them otherwise."""
    if (population.pull is None and population.published.last == 0) or len(order) <= most:
        return order[:most]
    far = population.reference.squared_mahalanobis(population.values)
    distances = np.bincount(population.owned.of_row, far)[order]
    farthest = np.asarray(order)[np.argsort(-distances, kind="stable")].tolist()
    return list(dict.fromkeys([*order[: max(count, most // 2)], *farthest]))[:most]


def _directions(population: Population, person: int) -> Doubles:
    """Return the directions along which a person is looked for, one for each batch, to a factor.

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
    """Yield a weight that stands for similar ones, how many they are, and whether a row has one."""
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


def share_of(law: tuple[Doubles, Doubles], quantity: str) -> float:
    """Return the advantage of the best threshold, or the power, on a sum of two laws on a grid."""
    hits, alarms = (1 - np.cumsum(one) for one in law)
    if quantity == "power":
        return float(np.interp(ALPHA, alarms[::-1], hits[::-1]))
    return float(np.clip((hits - alarms).max(), 0.0, 1.0))


def laws(sums: Sequence[Summands], *, finite: bool) -> tuple[Doubles, Doubles]:
    """Return the law of a sum of records that are numbers, with a person's and without.

    Parameters
    ----------
    sums : sequence of Summands
        Independent parts of the sum. The grid of many is finer, as a light record moves it less.
    finite : bool
        Whether others are not put back.
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
    """Return the logarithm of the characteristic function of a record that is put back."""
    single = np.conj(np.fft.rfft(histogram)) / total
    if near[0] > 0:
        mean, square = near[1] / near[0], near[2] / near[0]
        normal = 1j * frequency * mean - frequency**2 * (square - mean**2) / 2
        single = single + near[0] / total * np.exp(normal)
    return np.asarray(np.log(np.where(single == 0, 1e-300, single)))


def _finite(
    histogram: Doubles, near: Doubles, share: float, frequency: Doubles
) -> npt.NDArray[np.complex128]:
    """Return that of a sum where each record is drawn at most once, independently of the others."""
    normal = 1j * frequency * share * near[1] - frequency**2 * share * (1 - share) * near[2] / 2
    places = np.flatnonzero(histogram)
    return np.asarray(histogram[places] @ _drawn_once(share)[places] + normal)


@lru_cache(maxsize=4)
def _drawn_once(share: float) -> npt.NDArray[np.complex128]:
    turns = np.outer(np.arange(_GRID), np.arange(_GRID // 2 + 1)) % _GRID
    factors = 1 - share + share * np.exp(2j * np.pi * turns / _GRID)
    return np.asarray(np.log(np.where(np.abs(factors) < 1e-300, 1e-300, factors)))
