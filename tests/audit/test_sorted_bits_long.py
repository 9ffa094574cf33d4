"""Crossing probabilities of hundreds of rounds, beside a walk through all counts in floats."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from leakscore import _core
from tests.oracles import sorted_bits as oracle

ROUNDS = 300
SIZES = oracle.grid(ROUNDS)


def crossing_given(exposed: int, q: float, critical: np.ndarray) -> float:
    """Return the probability to cross if as many of the first guesses are right."""
    law, crossed, before = np.ones(1), 0.0, 0
    for g, c in zip(SIZES, critical.tolist(), strict=True):
        sure = min(exposed, g) - min(exposed, before)
        coins = g - before - sure
        law = np.convolve(law, stats.binom.pmf(np.arange(coins + 1), coins, q))
        law = np.concatenate([np.zeros(sure), law])
        crossed += law[c:].sum()
        law[c:] = 0.0
        before = g
    return crossed


def crossing(delta: float, epsilon: float, critical: np.ndarray) -> float:
    q = 1 / (1 + math.exp(-epsilon))
    chances = stats.binom.pmf(np.arange(40), ROUNDS, delta / 2)
    return math.fsum(
        chance * crossing_given(exposed, q, critical)
        for exposed, chance in enumerate(chances)
        if chance > 1e-22
    )


def compare(delta: float, epsilon: float, critical: np.ndarray) -> float:
    exact = crossing(delta, epsilon, critical)
    found = _core.sorted_bits_crossing(ROUNDS, delta, epsilon, critical)
    assert exact * (1 - 1e-12) <= found <= exact * (1 + 2e-10) + 2e-16
    return found


@pytest.mark.parametrize("delta", [0.0, 0.003])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 40.0])
def test_of_boundaries_at_some_distance(epsilon: float, delta: float) -> None:
    sizes = np.array(SIZES)
    q = 1 / (1 + math.exp(-epsilon))
    for deviations in (-2.0, 0.5, 2.0, 4.0):
        spread = np.sqrt(sizes * q * (1 - q))
        critical = np.clip(np.ceil(sizes * q + deviations * spread), 1, sizes + 1).astype(np.int64)
        compare(delta, epsilon, critical)


@pytest.mark.parametrize(("delta", "stride"), [(0.0, 1), (0.003, 14)])
def test_where_hardly_any_count_is_left(delta: float, stride: int) -> None:
    """All counts of a size are critical, or but a few improbable ones, and the walk goes on."""
    for place in (0, 5, len(SIZES) - 3):
        for least in range(0, SIZES[place] + 2, stride):
            critical = np.array(SIZES) + 1
            critical[place] = least
            critical[-1] = SIZES[-1] - 3
            compare(delta, 1.5, critical)
