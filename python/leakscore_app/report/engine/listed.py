"""Exhaustive attacks on means of a finite population: all sets of n of N records are listed.

An attacker who knows the records of a finite population, and that n of them are averaged, lists all
sets of n and compares their means with the published numbers. That is no linear score. Where
C(N, n) is small, the advantage of the best such attack is computed exactly, from the law of the
numbers in sets with all records of a person and in sets with none.

Noise that hides a person from linear scores may not suffice here: with little noise few sets are
near the published numbers. So the likelihood ratio of both mixtures is played, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import comb

import numpy as np
import numpy.typing as npt

from leakscore.leakage.groups import Groups
from leakscore.typing import Doubles
from leakscore_app.report._model import Listed, Noise
from leakscore_app.report._published import Integers
from leakscore_app.report.engine.game import highest
from leakscore_app.report.engine.noise import grown

_MOST = 1 << 18  # sets
_DECIMALS = 20
_DENSITIES, _ROUNDS = 10**8, (200, 10_000)  # of one person's game, and its rounds of either kind
_TOGETHER = 1 << 22  # densities
_NO_NOISE = 1e-10  # of the numbers' variance, taken for a direction without noise
_GROWN, _TRIES = 1.2, 24


@dataclass(frozen=True, eq=False)
class Sets:
    """All sets of n of N records.

    Attributes
    ----------
    chosen : (S, k) ndarray of int
        Records in each set, or those outside of it.
    parts, start : (N, d), (d,) ndarray
        Contribution of a chosen record to the numbers of a set, and the numbers of no choice.
    owned : Groups
        Records by person.
    """

    chosen: Integers
    parts: Doubles
    start: Doubles
    owned: Groups

    @classmethod
    def of(cls, values: Doubles, owned: Groups, n: int, units: Doubles) -> Sets | None:
        """List the sets; None if they are too many. `units` are published numbers over means."""
        size = len(values)
        sets = comb(size, n)
        if sets > _MOST:
            return None
        fewer = min(n, size - n)
        chosen = np.fromiter(
            chain.from_iterable(combinations(range(size), fewer)), np.int64, sets * fewer
        ).reshape(sets, fewer)
        parts, start = units * values / n, np.zeros(len(units))
        if fewer < n:
            parts, start = -parts, parts.sum(axis=0)
        return cls(chosen, parts, start, owned)

    def of_person(self, person: int) -> tuple[Doubles, Doubles]:
        """Return the published numbers of sets that chose all records of a person, and none."""
        inside = np.isin(self.chosen, self.owned.rows(person)).sum(axis=1)
        every, none = (
            self.start + self.parts[self.chosen[inside == count]].sum(axis=1)
            for count in (int(self.owned.sizes[person]), 0)
        )
        return every, none


def list_sets(
    sets: Sets, rows: npt.NDArray[np.int64], decimals: int | None, limit: float
) -> Listed:
    """Return the person that the list of all sets reveals most.

    Parameters
    ----------
    sets : Sets
    rows : (P,) ndarray of int
        The number of each person's first record.
    decimals : int or None
        Of the published numbers, if they are rounded.
    limit : float
        The largest advantage that is allowed.
    """
    persons, count = len(rows), len(sets.chosen)
    keys, counts = np.unique(
        np.arange(count)[:, None] * persons + sets.owned.of_row[sets.chosen], return_counts=True
    )
    places, person = np.divmod(keys, persons)
    pairs = places, person, counts == sets.owned.sizes[person]
    advantages = _advantages(sets, pairs, decimals)
    worst = int(advantages.argmax())
    coarser = None
    if advantages[worst] > limit:
        first = _DECIMALS if decimals is None else decimals - 1
        for coarser in range(first, -_DECIMALS, -1):
            if _advantages(sets, pairs, coarser).max() <= limit:
                break
    return Listed(int(rows[worst]), count, float(advantages[worst]), coarser)


def enough_noise(
    noise: Noise, sets: Sets, persons: Sequence[int], limit: float, seed: int
) -> Noise:
    """Increase noise until it hides persons from an attacker who lists all sets.

    It is not confirmed if no tried size is enough.
    """
    pairs = [sets.of_person(person) for person in persons]
    for _ in range(_TRIES):
        rng = np.random.default_rng(seed)
        if all(_upper(pair, noise, rng) <= limit for pair in pairs):
            return noise
        noise = grown(noise, _GROWN)
    return replace(noise, confirmed=False)


def _upper(pair: tuple[Doubles, Doubles], noise: Noise, rng: np.random.Generator) -> float:
    """Return the 95 % upper end of the advantage of the likelihood ratio of two mixtures."""
    every = np.concatenate(pair)
    unit = every.std(axis=0)
    cov = noise.covariance
    cov = np.diag(np.square([*noise.noise_std.values()])) if cov is None else np.asarray(cov)
    variances, directions = np.linalg.eigh(cov / np.outer(unit, unit))
    shape = directions / np.sqrt(np.maximum(variances, _NO_NOISE))
    laws = [(each - every.mean(axis=0)) / unit @ shape for each in pair]
    rounds = int(np.clip(_DENSITIES // len(every), *_ROUNDS))
    ratios = []
    for law in laws:
        drawn = law[rng.integers(len(law), size=rounds)]
        drawn += rng.standard_normal(drawn.shape)
        ratios.append(_log_density(drawn, laws[0]) - _log_density(drawn, laws[1]))
    return highest(ratios[0], ratios[1], 0.0, 1.0)


def _log_density(points: Doubles, centres: Doubles) -> Doubles:
    """Return the log density of a mixture of normal laws, up to a constant common to all."""
    from scipy.special import logsumexp

    half = np.square(centres).sum(axis=1) / 2
    tile = max(1, _TOGETHER // len(centres))
    parts = [
        logsumexp(points[start : start + tile] @ centres.T - half, axis=1)
        for start in range(0, len(points), tile)
    ]
    return np.asarray(np.concatenate(parts) - np.log(len(centres)))


def _advantages(
    all_sets: Sets,
    pairs: tuple[Integers, Integers, npt.NDArray[np.bool_]],
    decimals: int | None,
) -> Doubles:
    """Return the total variation distance of the numbers with each person's records and without.

    `pairs` are a chosen set, a person with records in it, and whether it has all of them.
    """
    chosen, parts, start = all_sets.chosen, all_sets.parts, all_sets.start
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
    keys, key, holding = np.unique(
        same[places] * persons + person, return_inverse=True, return_counts=True
    )
    every, none = np.bincount(key, whole), np.bincount(same)[keys // persons] - holding
    of = keys % persons
    common = np.minimum(
        every / np.bincount(of, every)[of], none / (sets - np.bincount(of, holding))[of]
    )
    return np.asarray(1 - np.bincount(of, common))
