"""Sets of records that can be listed: of few records, and of all but few, all sets are tried.

Who knows the records of a finite population, and that n of them are averaged, lists all sets of n
and looks which have the published numbers. That is no linear score. Where C(N, n) is small, the
advantage of this best use is computed exactly: of a record in a share p of the sets with the same
numbers, by the law of the numbers with it and without it.
"""

from __future__ import annotations

from itertools import chain, combinations
from math import comb

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles
from leakscore_app.report._model import Listed

_MOST = 1 << 18  # sets
_DECIMALS = 20


def list_sets(
    values: Doubles,
    rows: npt.NDArray[np.int64],
    n: int,
    units: Doubles,
    decimals: int | None,
    limit: float,
) -> Listed | None:
    """Return the record that the list of all sets tells most of; None if they are too many.

    Parameters
    ----------
    values : (N, d) ndarray
    rows : (N,) ndarray of int
        Numbers of the records.
    n : int
    units : (d,) ndarray
        What is published, over the mean.
    decimals : int or None
        To how many it is rounded.
    limit : float
        The most advantage that is allowed.
    """
    size = len(values)
    sets = comb(size, n)
    if sets > _MOST:
        return None
    fewer = min(n, size - n)  # who is in, or who is not
    chosen = np.fromiter(
        chain.from_iterable(combinations(range(size), fewer)), np.int64, sets * fewer
    ).reshape(sets, fewer)
    parts, start = units * values / n, np.zeros(len(units))
    if fewer < n:
        parts, start = -parts, parts.sum(axis=0)
    advantages = _advantages(chosen, parts, start, decimals)
    worst = int(advantages.argmax())
    coarser = None
    if advantages[worst] > limit:
        first = _DECIMALS if decimals is None else decimals - 1
        for coarser in range(first, -_DECIMALS, -1):
            if _advantages(chosen, parts, start, coarser).max() <= limit:
                break
    return Listed(int(rows[worst]), sets, float(advantages[worst]), coarser)


def _advantages(
    chosen: npt.NDArray[np.int64], parts: Doubles, start: Doubles, decimals: int | None
) -> Doubles:
    """Return the total variation of the numbers with each record and without it."""
    (sets, fewer), size = chosen.shape, len(parts)
    same = np.zeros(sets, np.int64)
    dust = 4 * np.finfo(float).eps * (np.abs(start) + fewer * np.abs(parts).max(axis=0))
    for part, first, least in zip(parts.T, start, dust, strict=True):
        numbers = first + part[chosen].sum(axis=1)
        if decimals is not None:
            numbers = np.round(numbers, decimals)
        order = np.argsort(numbers, kind="stable")
        places = np.empty(sets, np.int64)
        places[order] = np.cumsum(np.diff(numbers[order], prepend=numbers[order[0]]) > least)
        _, same = np.unique(same * sets + places, return_inverse=True)
        if same.max() == sets - 1:
            return np.ones(size)
    pairs, counts = np.unique(same[:, None] * size + chosen, return_counts=True)
    others = np.bincount(same)[pairs // size] - counts
    without = comb(size - 1, fewer)
    common = np.minimum(counts / (sets - without), others / without)
    return np.asarray(1 - np.bincount(pairs % size, common, minlength=size))
