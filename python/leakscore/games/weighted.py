"""Sums of many records with weights: no round costs more for more records.

A round draws one value for every weight. Places of one weight are counts of the bins of the values
(`projections.Bins`). Where there are more than 32 weights, the 256 largest keep places of their
own, and the others are cut into groups: with w their mean in a group,

    sum_j w_j z_j = w sum_j z_j + sum_j (w_j - w) z_j,

two terms without covariance. The second is replaced by a normal of its variance, so mean and
variance of the sum are exact.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from leakscore.games.projections import Bins
from leakscore.typing import Doubles

__all__ = ["weighted_sums"]

_LEVELS = 32  # different weights up to which each is a group
_SINGLE = 256  # largest weights that keep places of their own
_CUTS = 16  # groups of equal count, and as many of equal width, of the others
_EACH = 384  # places up to which values are drawn one by one: there are about as many bins
_LARGEST_ERROR = 1e-4  # of the distribution function, as in `Projections`
_TILE = 1024  # rounds
_TOGETHER = 1 << 22  # numbers that are drawn at once


def weighted_sums(
    values: Doubles, weights: Doubles, rounds: int, rng: np.random.Generator
) -> Doubles:
    """Draw sums of weights times values, any value for each weight.

    Parameters
    ----------
    values : (m,) ndarray
    weights : (k,) ndarray
        At least 0.
    rounds : int
    rng : numpy.random.Generator

    Returns
    -------
    (rounds,) ndarray of float64
    """
    bins, scale = Bins.of(values), float(values.std())
    total = np.zeros(rounds)
    for weight, count, scatter in _groups(weights[weights > 0]):
        total += weight * _sums(values, bins, count, rounds, rng)
        if scatter > 0:
            total += float(np.sqrt(scatter)) * scale * rng.standard_normal(rounds)
    return total


def _groups(weights: Doubles) -> Iterator[tuple[float, int, float]]:
    """Yield mean, number and scatter of the weights of each group."""
    levels, counts = np.unique(weights, return_counts=True)
    if len(levels) <= _LEVELS:
        yield from zip(levels.tolist(), counts.tolist(), [0.0] * len(levels), strict=True)
        return
    ordered = np.sort(weights)
    others, largest = ordered[:-_SINGLE], ordered[-_SINGLE:]
    yield from ((weight, 1, 0.0) for weight in largest.tolist())
    if not len(others):
        return
    points = np.linspace(others[0], others[-1], _CUTS + 1)[1:-1]
    counted = np.linspace(0, len(others), _CUTS + 1)[1:-1].astype(np.int64)
    for group in np.split(others, np.union1d(counted, np.searchsorted(others, points))):
        if len(group):
            mean = float(group.mean())
            yield mean, len(group), float(((group - mean) ** 2).sum())


def _sums(
    values: Doubles, bins: Bins, count: int, rounds: int, rng: np.random.Generator
) -> Doubles:
    """Draw sums of so many values."""
    result = np.empty(rounds)
    if count <= _EACH or bins.error(count, replace=True) > _LARGEST_ERROR:
        tile = max(1, _TOGETHER // count)
        for start in range(0, rounds, tile):
            some = result[start : start + tile]
            values[rng.integers(len(values), size=(len(some), count))].sum(axis=1, out=some)
        return result
    joined = bins.joined(count, replace=True)
    for start in range(0, rounds, _TILE):
        some = result[start : start + _TILE]
        means, variances = joined.sums(rng, count, len(some), replace=True)
        means += np.sqrt(variances) * rng.standard_normal(len(some))
        some[:] = count * joined.centre + joined.unit * means
    return result
