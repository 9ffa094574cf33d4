"""Who is played beside the worst records in theory: those that the law of the sums shows more.

The theory of the leakage takes the sum of the records for normal. That of few values far out is
not: the holder of a rare trait may show more than the theory says, and others less. So the
advantage or the power of the records that leak most is computed from the law of the sum, by its
characteristic function on a grid. An expansion about the normal law (Edgeworth) is of no use here:
of a trait that one other record has, it is far off. Values of more than an eighth of the sum's
standard deviation are counted, of which the sum holds 64 on average at most; the rest is normal.

No more than d h of N records leak as much as those of a trait that h have and that no other column
tells of, as the squared distances of all add up to N d: a rare trait is among the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from leakscore_app.report._leakage import Population
from leakscore_app.report._model import ALPHA, Doubles

_GRID, _PERIOD = 1024, 32.0  # points, and standard deviations of the sum
_FAR = 0.125  # such: a value that is counted
_WORK, _MOST = 3 * 10**8, 400  # of all candidates, and how many they are
_TOGETHER = 1 << 22  # numbers projected at a time
_CLEAR = 0.01  # more than the grid's error


def hidden_behind(
    population: Population,
    order: Sequence[int],
    count: int,
    quantity: str,
    sample: Doubles | None = None,
) -> list[int]:
    """Return whom the law of the sums puts among the `count` worst, clearly, and the theory not.

    With earlier means or known weights, the theory's order stands.

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
    if population.pull is not None or population.published.last:
        return []
    rows, counts = population.centred, np.ones(len(population.centred))
    if sample is not None and len(sample):
        rows = np.concatenate([rows, sample - population.reference.mean])
        share = (population.size - len(counts)) / len(sample)
        counts = np.append(counts, np.full(len(sample), share))
    candidates = order[: min(_WORK // (len(rows) * (population.dim + 10)), _MOST)]
    if len(candidates) <= count:
        return []
    shares = np.empty(len(candidates))
    tile = max(1, _TOGETHER // len(rows))
    for start in range(0, len(candidates), tile):
        several = [population.owned.rows(i) for i in candidates[start : start + tile]]
        # To a factor, the direction is the same whether or not a record is among the others.
        away = np.array([rows[one].sum(axis=0) for one in several])
        projected = rows @ population.reference.solve(away).T
        for place, one in enumerate(several):
            values, numbers = np.delete(projected[:, place], one), np.delete(counts, one)
            centre = numbers @ values / numbers.sum()
            own = float((projected[one, place] - centre).sum())
            drawn = population.n - len(one), population.n
            finite = population.finite
            law = laws(values - centre, numbers, own, drawn, finite=finite)
            shares[start + place] = share_of(law, quantity)
    ranked = np.argsort(-shares, kind="stable")[:count]
    clear = shares > shares[:count].min() + _CLEAR
    return [candidates[place] for place in ranked.tolist() if place >= count and clear[place]]


def share_of(law: tuple[Doubles, Doubles], quantity: str) -> float:
    """Return the advantage of the best threshold, or the power, on a sum of two laws on a grid."""
    hits, alarms = (1 - np.cumsum(one) for one in law)
    if quantity == "power":
        return float(np.interp(ALPHA, alarms[::-1], hits[::-1]))
    return float(np.clip((hits - alarms).max(), 0.0, 1.0))


def laws(
    others: Doubles, counts: Doubles, own: float, drawn: tuple[int, int], *, finite: bool
) -> tuple[Doubles, Doubles]:
    """Return the law of a sum of records that are numbers, with a person's and without.

    Parameters
    ----------
    others, counts : (m,) ndarray
        The other records, of mean 0, and how many there are of each.
    own : float
        The person's sum.
    drawn : tuple of int
        How many others are drawn with the person's in the sum, and without.
    finite : bool
        Whether others are not put back.
    """
    total = float(counts.sum())
    share = drawn[1] / total if finite else 0.0
    variance = drawn[1] * float(counts @ others**2) / total * max(1 - share, 0.0)
    if not variance > 0:
        return np.array([0.0, 1.0]), np.array([1.0, 0.0])
    point = float(np.sqrt(variance)) * _PERIOD / _GRID
    half = _GRID // 4
    values = np.clip(others / point, -half, half)  # beyond, the sum is far off, however far
    far = np.abs(values) > _FAR * _GRID / _PERIOD
    places = np.rint(values[far]).astype(np.int64) % _GRID
    histogram: Doubles = np.bincount(places, counts[far], minlength=_GRID).astype(np.float64)
    rest = counts[~far], values[~far]
    near = np.array([float(rest[0] @ rest[1] ** power) for power in range(3)])
    frequency = 2 * np.pi * np.arange(_GRID // 2 + 1) / _GRID
    result = []
    for number, shift in zip(drawn, (float(np.clip(own / point, -half, half)), 0.0), strict=True):
        law = _finite if finite else _infinite
        log_law = law(histogram, near, number, total, frequency)
        smooth = 1j * frequency * shift - frequency**2 / 2  # by a point of the grid
        result.append(np.fft.fftshift(np.fft.irfft(np.exp(np.conj(log_law + smooth)), _GRID)))
    return result[0], result[1]


def _infinite(
    histogram: Doubles, near: Doubles, number: int, total: float, frequency: Doubles
) -> npt.NDArray[np.complex128]:
    """Return the logarithm of the characteristic function of a sum of records put back."""
    single = np.conj(np.fft.rfft(histogram)) / total
    if near[0] > 0:
        mean, square = near[1] / near[0], near[2] / near[0]
        normal = 1j * frequency * mean - frequency**2 * (square - mean**2) / 2
        single = single + near[0] / total * np.exp(normal)
    return np.asarray(number * np.log(np.where(single == 0, 1e-300, single)))


def _finite(
    histogram: Doubles, near: Doubles, number: int, total: float, frequency: Doubles
) -> npt.NDArray[np.complex128]:
    """Return that where each other record is drawn at most once, independently of the others."""
    share = number / total
    normal = 1j * frequency * share * near[1] - frequency**2 * share * (1 - share) * near[2] / 2
    places = np.flatnonzero(histogram)
    return np.asarray(histogram[places] @ _drawn_once(share)[places] + normal)


@lru_cache(maxsize=4)
def _drawn_once(share: float) -> npt.NDArray[np.complex128]:
    turns = np.outer(np.arange(_GRID), np.arange(_GRID // 2 + 1)) % _GRID
    factors = 1 - share + share * np.exp(2j * np.pi * turns / _GRID)
    return np.asarray(np.log(np.where(np.abs(factors) < 1e-300, 1e-300, factors)))
