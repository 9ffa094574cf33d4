"""The theorem of four outcomes on rounds that differ, by enumeration."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

from leakscore import _core
from tests.audit.test_four_outcomes import SIZES, four, random_counts

SCORES = 3


def all_rankings(laws: np.ndarray, n1: int) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities and ranked bits over all assignments and scores.

    `laws` holds P(score | bit) of each round, bit first. Which `n1` rounds have the target is drawn
    at random. Ties are ordered by the number of the round, which a score may tell as well.
    """
    rounds = laws.shape[1]
    scores = np.array(list(product(range(SCORES), repeat=rounds)))
    order = np.argsort(scores, axis=1, kind="stable")  # the smallest is the most suspicious
    chances, bits = [], []
    for inside in combinations(range(rounds), n1):
        member = np.isin(np.arange(rounds), inside)
        each = laws[member.astype(int), np.arange(rounds), scores]
        chances.append(each.prod(axis=1) / math.comb(rounds, n1))
        bits.append(member[order])
    return np.concatenate(chances), np.concatenate(bits)


@pytest.mark.parametrize(("n1", "n0", "delta", "epsilon"), SIZES)
def test_no_rounds_that_differ_cross_more_often(
    n1: int, n0: int, delta: float, epsilon: float
) -> None:
    """Each round has its own kernel of the four outcomes, some of them deterministic."""
    rng, rounds = np.random.default_rng([7, n1]), n1 + n0
    counts = np.array([random_counts(rng, rounds)[1:-1] for _ in range(12)])
    ends = [[rounds + 1, *each, rounds + 1] for each in counts.tolist()]
    limits = [
        _core.four_outcomes_crossing(np.array(each), n1, n0, delta, epsilon, 1e-15) for each in ends
    ]
    outcomes = np.array(four(epsilon, delta))[::-1]  # non-members first
    near = math.inf
    for spread in (0.02, 0.02, 0.3, 0.3, 1.0, 1.0):
        kernels = rng.dirichlet([spread] * SCORES, (rounds, 4))
        chances, bits = all_rankings(np.einsum("bz,rzs->brs", outcomes, kernels), n1)
        assert math.fsum(chances) == pytest.approx(1.0)
        found = np.cumsum(bits, axis=1)[:, :-1]
        for limit, critical in zip(limits, counts, strict=True):
            room = limit - math.fsum(chances[(found >= critical).any(axis=1)])
            assert room >= -1e-14
            near = min(near, room)
    assert near < 0.1
