"""Sets of records that can be listed: of few records, and of all but few, all sets are tried.

Who knows the records of a finite population, and that n of them are averaged, lists all sets of n
and looks which have the published numbers. That is no linear score. Where C(N, n) is small, the
advantage of this best use is computed exactly, by the law of the numbers in sets with all records
of a person and in sets with none.
"""

from __future__ import annotations

from itertools import chain, combinations
from math import comb

import numpy as np
import numpy.typing as npt

from leakscore.leakage.groups import Groups
from leakscore.typing import Doubles
from leakscore_app.report._model import Listed
from leakscore_app.report.engine.population import Integers

_MOST = 1 << 18  # sets
_DECIMALS = 20


def list_sets(
    values: Doubles,
    owned: Groups,
    rows: npt.NDArray[np.int64],
    n: int,
    units: Doubles,
    decimals: int | None,
    limit: float,
) -> Listed | None:
    """Return whose record the list of all sets tells most of; None if they are too many.

    Parameters
    ----------
    values : (N, d) ndarray
    owned : Groups
        Whose the records are.
    rows : (P,) ndarray of int
        The number of each person's first record.
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
    persons = len(rows)
    keys, counts = np.unique(
        np.arange(sets)[:, None] * persons + owned.of_row[chosen], return_counts=True
    )
    places, person = np.divmod(keys, persons)
    pairs = places, person, counts == owned.sizes[person]
    advantages = _advantages(chosen, pairs, parts, start, decimals)
    worst = int(advantages.argmax())
    coarser = None
    if advantages[worst] > limit:
        first = _DECIMALS if decimals is None else decimals - 1
        for coarser in range(first, -_DECIMALS, -1):
            if _advantages(chosen, pairs, parts, start, coarser).max() <= limit:
                break
    return Listed(int(rows[worst]), sets, float(advantages[worst]), coarser)


def _advantages(
    chosen: Integers,
    pairs: tuple[Integers, Integers, npt.NDArray[np.bool_]],
    parts: Doubles,
    start: Doubles,
    decimals: int | None,
) -> Doubles:
    """Return the total variation of the numbers with each person's records and without them.

    `pairs` are a chosen set and a person of whom it has records, and whether it has them all.
    """
    (sets, fewer), (places, person, whole) = chosen.shape, pairs
    persons = int(person.max()) + 1
    same = np.zeros(sets, np.int64)
    dust = 4 * np.finfo(float).eps * (np.abs(start) + fewer * np.abs(parts).max(axis=0))
    for part, first, least in zip(parts.T, start, dust, strict=True):
        numbers = first + part[chosen].sum(axis=1)
        if decimals is not None:
            numbers = np.round(numbers, decimals)
        order = np.argsort(numbers, kind="stable")
        ranks = np.empty(sets, np.int64)
        ranks[order] = np.cumsum(np.diff(numbers[order], prepend=numbers[order[0]]) > least)
        _, same = np.unique(same * sets + ranks, return_inverse=True)
        if same.max() == sets - 1:
            return np.ones(persons)
    keys, key, some = np.unique(
        same[places] * persons + person, return_inverse=True, return_counts=True
    )
    every, none = np.bincount(key, whole), np.bincount(same)[keys // persons] - some
    of = keys % persons
    common = np.minimum(
        every / np.bincount(of, every)[of], none / (sets - np.bincount(of, some))[of]
    )
    return np.asarray(1 - np.bincount(of, common))
