"""The walk of the sorted-bits test dominates every ranking, by enumeration of all outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from leakscore import _core


def outcomes(epsilon: float, delta: float) -> list[tuple[float, float]]:
    """Return P(outcome) and P(member | outcome) of four-outcome randomised response.

    Kairouz, Oh and Viswanath: every (epsilon, delta)-close pair of laws is a function of it.
    """
    q = 1 / (1 + math.exp(-epsilon))
    hidden = (1 - delta) / 2
    return [(delta / 2, 1.0), (hidden, q), (hidden, 1 - q), (delta / 2, 0.0)]


def rankings() -> list[tuple[int, ...]]:
    """Return all scores of four outcomes, up to monotone maps, ties among them included."""
    return [
        scores
        for scores in product(range(4), repeat=4)
        if set(scores) == set(range(max(scores) + 1))
    ]


def crossing(chances: Sequence[float], critical: dict[int, int]) -> float:
    """Return P(C_g >= critical[g] for some g), with independent bits of these probabilities."""
    law, crossed = {0: 1.0}, 0.0
    for g, chance in enumerate(chances, start=1):
        grown: dict[int, float] = {}
        for count, mass in law.items():
            for step, p in ((1, chance), (0, 1 - chance)):
                if count + step >= critical.get(g, g + 1):
                    crossed += mass * p
                else:
                    grown[count + step] = grown.get(count + step, 0.0) + mass * p
        law = grown
    return crossed


def compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    if parts == 1:
        return [(total,)]
    return [
        (first, *rest)
        for first in range(total + 1)
        for rest in compositions(total - first, parts - 1)
    ]


def groups(scores: tuple[int, ...], laws: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return P and P(member) of each value of the score, the highest first; lots order ties."""
    found = []
    for value in range(max(scores), -1, -1):
        tied = [law for score, law in zip(scores, laws, strict=True) if score == value]
        mass = math.fsum(p for p, _ in tied)
        found.append((mass, math.fsum(p * member for p, member in tied) / mass))
    return found


def ranked_crossing(
    rounds: int, found: list[tuple[float, float]], critical: dict[int, int]
) -> float:
    total = []
    for counts in compositions(rounds, len(found)):
        weight = float(math.factorial(rounds))
        chances: list[float] = []
        for n, (mass, member) in zip(counts, found, strict=True):
            weight *= mass**n / math.factorial(n)
            chances += [member] * n
        total.append(weight * crossing(chances[: max(critical)], critical))
    return math.fsum(total)


@pytest.mark.parametrize("delta", [0.01, 0.2])
@pytest.mark.parametrize("epsilon", [0.1, 1.5])
@pytest.mark.parametrize("rounds", [2, 5, 10])
def test_no_ranking_of_the_outcomes_beats_the_walk(
    rounds: int, epsilon: float, delta: float
) -> None:
    """Exact; the ranking by the odds breaks the bound of a walk with fewer exposed rounds."""
    sizes = _core.sorted_bits_grid(rounds)
    rng = np.random.default_rng(rounds)
    laws = outcomes(epsilon, delta)
    for _ in range(3):
        counts = np.sort(rng.integers(1, rounds // 2 + 2, sizes.size))
        if (counts > sizes).all():
            counts[-1] = sizes[-1]
        critical = dict(zip(sizes.tolist(), counts.tolist(), strict=True))
        bound = _core.sorted_bits_crossing(rounds, delta, epsilon, counts)
        shares = [ranked_crossing(rounds, groups(scores, laws), critical) for scores in rankings()]
        assert max(shares) <= bound


@pytest.mark.parametrize("seed", range(8))
def test_rounds_that_are_not_alike(seed: int) -> None:
    """Each round has its own epsilon and delta, up to the claimed ones, and random scores."""
    rng, rounds, epsilon, delta = np.random.default_rng(seed), 5, 0.8, 0.3
    sizes = _core.sorted_bits_grid(rounds)
    laws = [
        outcomes(epsilon * rng.choice([0.5, 1.0]), delta * rng.choice([0.5, 1.0, 1.0]))
        for _ in range(rounds)
    ]
    # In half of the cases a more telling outcome has the higher score, in every round.
    scores = rng.random((rounds, 4))
    if seed % 2:
        scores = -np.sort(-scores, axis=1)
    for counts in ([1, 2], [1, 3], [2, 2]):
        critical = dict(zip(sizes.tolist(), counts, strict=True))
        total = []
        for drawn in product(range(4), repeat=rounds):
            order = sorted(range(rounds), key=lambda i, drawn=drawn: -scores[i, drawn[i]])
            weight = math.prod(laws[i][drawn[i]][0] for i in range(rounds))
            chances = [laws[i][drawn[i]][1] for i in order]
            total.append(weight * crossing(chances[: int(sizes[-1])], critical))
        bound = _core.sorted_bits_crossing(rounds, delta, epsilon, np.array(counts))
        assert math.fsum(total) <= bound * (1 + 1e-12)
