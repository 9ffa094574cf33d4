"""The sorted-bits test by simulation: how often it is wrong, and how tight it is."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from leakscore.audit import Audit

Draw = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def normal(shift: float) -> Draw:
    return lambda rng, bits: rng.normal(shift * bits)


def laplace(epsilon: float) -> Draw:
    return lambda rng, bits: rng.laplace(bits, 1 / epsilon)


def randomised_response(epsilon: float) -> Draw:
    keep = 1 / (1 + math.exp(-epsilon))
    return lambda rng, bits: np.where(rng.random(bits.size) < keep, bits, ~bits).astype(np.float32)


def leaky(epsilon: float, delta: float) -> Draw:
    """Randomised response that shows the bit with probability delta: no better mechanism exists."""
    answer = randomised_response(epsilon)

    def draw(rng: np.random.Generator, bits: np.ndarray) -> np.ndarray:
        shown = rng.random(bits.size) < delta
        return np.where(shown, np.where(bits, 2.0, -1.0), answer(rng, bits))

    return draw


def bounds(draw: Draw, rounds: int, reps: int, delta: float, confidence: float) -> np.ndarray:
    rng = np.random.default_rng(21)
    values = np.empty(reps)
    for i in range(reps):
        bits = rng.random(rounds) < 0.5
        audit = Audit.from_rounds(draw(rng, bits), bits, random_bits=True, rng=rng)
        values[i] = audit.epsilon(delta, confidence, "sorted-bits").epsilon
    return values


def assert_seldom_exceeded(values: np.ndarray, epsilon: float, level: float) -> None:
    share = (values > epsilon).mean()
    assert share <= level + 4 * math.sqrt(level * (1 - level) / values.size)


NULLS = [
    pytest.param(normal(0.0), 0.0, 0.0, id="nothing"),
    pytest.param(laplace(1.0), 1.0, 1e-5, id="laplace"),
    pytest.param(randomised_response(1.0), 1.0, 0.0, id="ties"),
    pytest.param(leaky(2.0, 2.5e-4), 2.0, 2.5e-4, id="exposed"),
]


@pytest.mark.parametrize(("draw", "epsilon", "delta"), NULLS)
def test_true_epsilon_is_seldom_exceeded(draw: Draw, epsilon: float, delta: float) -> None:
    values = bounds(draw, 200, 700, delta, 0.8)
    assert_seldom_exceeded(values, epsilon, 0.2)
    assert (values > epsilon).mean() > 0.04  # the test does not hide behind a loose bound


@pytest.mark.parametrize("seed", [None, 1])
def test_one_seed_does_not_order_ties_alike_in_all_audits(seed: int | None) -> None:
    """Members come first in a file: with the same lots in all audits seed 1 was wrong in 18 %."""
    rng, reps, rounds = np.random.default_rng(5), 300, 2000
    answer, wrong = randomised_response(1.0), 0
    for _ in range(reps):
        bits = np.sort(rng.random(rounds) < 0.5)[::-1]
        audit = Audit.from_rounds(answer(rng, bits), bits, random_bits=True, rng=seed)
        wrong += audit.epsilon(1e-5, method="sorted-bits").epsilon >= 1.0
    assert 0 < wrong / reps <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / reps)


def test_more_exposed_rounds_than_claimed_are_noticed() -> None:
    """With delta claimed as 0, rounds that show their bits are evidence against any epsilon."""
    values = bounds(leaky(1.0, 0.1), 400, 200, 0.0, 0.95)
    assert (values > 1.0).mean() > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [200, 2000])
@pytest.mark.parametrize(("draw", "epsilon", "delta"), NULLS[:3])
def test_nominal_five_percent(draw: Draw, epsilon: float, delta: float, rounds: int) -> None:
    assert_seldom_exceeded(bounds(draw, rounds, 4000, delta, 0.95), epsilon, 0.05)


@pytest.mark.parametrize(
    ("draw", "rounds", "expected", "simpler"),
    [
        (normal(0.5), 2000, 0.698, 0.68),
        (normal(1.0), 2000, 1.70, 1.64),
        (normal(3.0), 2000, 4.636, 4.32),
        (laplace(1.0), 2000, 0.823, 0.828),
        (normal(1.0), 200, 0.926, 0.93),
        (normal(3.0), 200, 2.88, 2.89),
    ],
)
def test_mean_bound(draw: Draw, rounds: int, expected: float, simpler: float) -> None:
    """Means of an independent simulation, and those of the simpler dominating walk F + W."""
    values = bounds(draw, rounds, 250, 1e-5, 0.95)
    error = values.std() / math.sqrt(values.size)
    assert abs(values.mean() - expected) < 0.005 + 4 * error
    assert values.mean() > simpler - 4 * error
