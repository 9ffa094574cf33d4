"""Fixed, truncated and shuffled batches and correlated noise: every small data set is an attack."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest

from leakscore.tradeoff import (
    TradeOff,
    compose,
    correlated_gaussian,
    fixed_batch_gaussian,
    gaussian,
    participation_patterns,
    random_allocation,
    shuffled_gaussian,
    strategy_matrix,
    subsampled_gaussian,
    truncated_poisson_gaussian,
)
from tests.oracles.octaves import polygon_beta

GRID = np.linspace(-12.0, 12.0, 1601)
PLANE = np.linspace(-9.0, 9.0, 221)
ALPHA = np.concatenate([np.logspace(-8.0, -1.0, 40), np.linspace(0.1, 1.0, 60)])


def mixture(sums: Counter[float], noise: float) -> Any:
    """Masses of a mixture of normal laws on a fine grid."""
    law = np.zeros(GRID.size)
    for mean, weight in sums.items():
        law += weight * np.exp(-0.5 * ((GRID - mean) / noise) ** 2)
    return law / law.sum()


def fixed(records: Any, size: int) -> Counter[float]:
    sets = list(combinations(records, size))
    return _weighted([sum(one) for one in sets], [1.0 / len(sets)] * len(sets))


def truncated(records: Any, rate: float, most: int) -> Counter[float]:
    sums, weights = [], []
    for drawn in product((0, 1), repeat=len(records)):
        come = [r for r, in_it in zip(records, drawn, strict=True) if in_it]
        weight = math.prod(rate if in_it else 1.0 - rate for in_it in drawn)
        kept = list(combinations(come, min(most, len(come))))
        sums += [float(sum(one)) for one in kept]
        weights += [weight / len(kept)] * len(kept)
    return _weighted(sums, weights)


def _weighted(sums: list[float], weights: list[float]) -> Counter[float]:
    total: Counter[float] = Counter()
    for value, weight in zip(sums, weights, strict=True):
        total[float(value)] += weight  # type: ignore[assignment]
    return total


def assert_guaranteed(f: TradeOff, outside: Any, inside: Any) -> None:
    """No test of these two laws beats the curve, in either order."""
    for p, q, curve in ((outside, inside, f), (inside, outside, f.inverse())):
        assert (curve(ALPHA) <= polygon_beta(p, q, ALPHA) + 3e-5).all()


@pytest.mark.parametrize(("noise", "size", "count"), [(1.0, 2, 4), (0.6, 1, 3), (2.0, 3, 5)])
def test_fixed_batches_of_every_kind_of_data(noise: float, size: int, count: int) -> None:
    rng = np.random.default_rng(3)
    f = fixed_batch_gaussian(noise, size, count, 1)
    rows = [rng.uniform(-1.0, 1.0, count + 1) for _ in range(12)]
    rows += [np.array([1.0, -1.0, *[s] * (count - 1)]) for s in (-1.0, 1.0, 0.0)]
    for z, other, *rest in rows:
        laws = [mixture(fixed([record, *rest], size), noise) for record in (other, z)]
        assert_guaranteed(f, *laws)


def test_two_fixed_batches() -> None:
    """The product of two steps; steps may use other data in the second than in the first."""
    f = fixed_batch_gaussian(1.0, 1, 3, 2)
    laws = []
    for rest in ((-1.0, -1.0), (1.0, 1.0), (0.0, 0.3)):
        laws.append([mixture(fixed([r, *rest], 1), 1.0)[::8] for r in (-1.0, 1.0)])
    for first, second in product(laws, repeat=2):
        outside, inside = (
            np.outer(one / one.sum(), two / two.sum()).ravel()
            for one, two in zip(first, second, strict=True)
        )
        assert_guaranteed(f, outside, inside)


def test_fixed_batches_in_known_cases() -> None:
    f = fixed_batch_gaussian(1.0, 100, 10_000, 1000)
    for direction in ("forward", "reverse"):
        low, high = f.interval("epsilon", 1e-5, direction)
        assert low == pytest.approx(13.3608, abs=2e-3)
        assert high == pytest.approx(14.8207, abs=2e-3)
    attack = subsampled_gaussian(0.5, 0.01, 1000)
    alpha = np.logspace(-9.0, -0.05, 50)
    assert (f.upper(alpha) <= attack.upper(alpha) + 1e-6).all()
    assert (f.upper(alpha) <= attack.inverse().upper(alpha) + 1e-6).all()
    assert (f.lower(alpha) <= f.upper(alpha)).all()
    assert f.neighbours == "replace"
    everyone = fixed_batch_gaussian(2.0, 5, 5, 9)
    assert everyone.epsilon(1e-5) == gaussian(3.0).epsilon(1e-5)
    with pytest.raises(ValueError, match="neighbours"):
        compose([f, random_allocation(1.0, 10)])


@pytest.mark.parametrize(("rate", "most"), [(0.5, 2), (0.3, 1), (0.9, 3), (1.0, 2)])
def test_truncated_batches_of_every_kind_of_data(rate: float, most: int) -> None:
    rng, count, noise = np.random.default_rng(4), 4, 0.8
    f = truncated_poisson_gaussian(noise, rate, most, count, 1)
    rows = [rng.uniform(-1.0, 1.0, count) for _ in range(10)]
    rows += [np.array([1.0, *[s] * (count - 1)]) for s in (-1.0, 1.0, 0.0)]
    for z, *rest in rows:
        outside, inside = truncated(rest, rate, most), truncated([z, *rest], rate, most)
        assert_guaranteed(f, mixture(outside, noise), mixture(inside, noise))
    nothing = [0.0] * (count - 1)
    attack = polygon_beta(
        mixture(truncated(nothing, rate, most), noise),
        mixture(truncated([1.0, *nothing], rate, most), noise),
        ALPHA,
    )
    np.testing.assert_allclose(f.upper(ALPHA), attack, atol=2e-4)


def test_truncation_that_hardly_ever_happens() -> None:
    f = truncated_poisson_gaussian(1.0, 0.01, 200, 10_000, 100)
    poisson = subsampled_gaussian(1.0, 0.01, 100)
    assert f.epsilon(1e-5) == pytest.approx(poisson.epsilon(1e-5), rel=1e-4)
    low, high = truncated_poisson_gaussian(1.0, 0.01, 128, 10_000, 100).interval("epsilon", 1e-5)
    assert low < poisson.epsilon(1e-5) < high
    whole = truncated_poisson_gaussian(1.0, 0.1, 50, 50, 10)
    assert repr(whole) == repr(subsampled_gaussian(1.0, 0.1, 10))


@pytest.mark.parametrize("relation", ["replace", "zero-out"])
def test_shuffled_batches_of_every_kind_of_data(relation: str) -> None:
    rng, noise = np.random.default_rng(6), 1.0
    f = shuffled_gaussian(noise, 2, neighbours=relation)
    rows = [rng.uniform(-1.0, 1.0, 5) for _ in range(5)] + [np.array([1.0, -1.0, -1.0, -1.0, -1.0])]
    for z, other, *rest in rows:
        laws = []
        for record in (other if relation == "replace" else 0.0, z):
            law = np.zeros((PLANE.size, PLANE.size))
            for order in permutations([record, *rest]):
                sums = order[0] + order[1], order[2] + order[3]
                parts = [np.exp(-0.5 * ((PLANE - mean) / noise) ** 2) for mean in sums]
                law += np.outer(*parts)
            laws.append((law / law.sum()).ravel())
        assert_guaranteed(f, *laws)


def test_shuffled_attacks_are_attained() -> None:
    replaced = shuffled_gaussian(1.0, 100, num_epochs=3)
    attack = random_allocation(0.5, 100, num_epochs=3)
    alpha = np.logspace(-8.0, -0.05, 40)
    np.testing.assert_allclose(replaced.upper(alpha), attack.upper(alpha), rtol=1e-9)
    assert replaced.epsilon(1e-5) == gaussian(2.0 * math.sqrt(3.0)).epsilon(1e-5)
    low = shuffled_gaussian(1.0, 100).interval("epsilon", 1e-5)[0]
    assert low == pytest.approx(5.3966, abs=1e-3)
    zeroed = shuffled_gaussian(1.0, 100, neighbours="zero-out")
    assert zeroed.interval("epsilon", 1e-5)[0] == pytest.approx(4.063, abs=1e-3)
    assert zeroed.neighbours == "zero-out"
    with pytest.raises(ValueError, match="zero-out"):
        compose([zeroed, random_allocation(1.0, 10)])
    from scipy.special import log_ndtr

    c = np.linspace(-1.0, 9.0, 300)
    alpha, beta = (np.exp(99.0 * log_ndtr(c) + log_ndtr(c - shift)) for shift in (1.0, 2.0))
    np.testing.assert_allclose(zeroed.upper(1.0 - alpha), beta, atol=2e-5)


@pytest.mark.parametrize("seed", range(4))
def test_correlated_noise_against_signs_of_all_steps(seed: int) -> None:
    rng, steps = np.random.default_rng(seed), 6
    matrix = np.tril(rng.standard_normal((steps, steps))) + np.eye(steps)
    patterns = participation_patterns(steps, num_epochs=3 if seed % 2 else 6)
    f = correlated_gaussian(matrix, patterns, 2.0)
    most = max(
        float(np.linalg.norm(matrix @ (row * signs)))
        for row in patterns
        for signs in product((-1.0, 1.0), repeat=steps)
    )
    assert gaussian(most / 2.0).epsilon(1e-5) <= f.epsilon(1e-5) * (1.0 + 1e-12)
    equal = max(float(np.linalg.norm(matrix @ row)) for row in patterns)
    low = f.interval("epsilon", 1e-5)[0]
    assert low == pytest.approx(gaussian(equal / 2.0).epsilon(1e-5), rel=1e-9)


def test_strategies() -> None:
    for kind in ("identity", "tree", "square-root"):
        matrix = strategy_matrix(kind, 12)
        assert not np.triu(matrix, 1).any()
        assert (matrix >= 0.0).all()
        f = correlated_gaussian(matrix, participation_patterns(12, num_epochs=3), 3.0)
        shift = max(
            float(np.linalg.norm(matrix @ row)) for row in participation_patterns(12, num_epochs=3)
        )
        assert f.epsilon(1e-5) == pytest.approx(gaussian(shift / 3.0).epsilon(1e-5), rel=1e-12)
    root = strategy_matrix("square-root", 12)
    np.testing.assert_allclose(root @ root, np.tril(np.ones((12, 12))), atol=1e-13)
    banded = strategy_matrix("banded", 12, bands=3)
    np.testing.assert_array_equal(banded, np.triu(root, -2))
    tree = strategy_matrix("tree", 8)
    nodes = [np.repeat(np.eye(8 // s), s, axis=1) for s in (1, 2, 4, 8)]
    np.testing.assert_allclose(tree.T @ tree, sum(n.T @ n for n in nodes), atol=1e-12)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="batch_size=6 must be <= num_records=5"):
        fixed_batch_gaussian(1.0, 6, 5, 1)
    # A curve that is named as a remedy must hold: a replaced record moves a sum by 2.
    for refused in (
        lambda: fixed_batch_gaussian(0.05, 1, 5, 10),
        lambda: truncated_poisson_gaussian(0.05, 0.5, 1, 5, 10),
        lambda: shuffled_gaussian(0.1, 5, num_epochs=3),
    ):
        with pytest.raises(ValueError, match=r"noise_multiplier=.* take gaussian\(2 \* sqrt\(num_"):
            refused()
    with pytest.raises(ValueError, match=r"take gaussian\(sqrt\(num_epochs\) / noise_multiplier"):
        shuffled_gaussian(0.05, 5, neighbours="zero-out")
    with pytest.raises(ValueError, match="neighbours"):
        shuffled_gaussian(1.0, 5, neighbours="add-remove")
    with pytest.raises(ValueError, match="lower triangular"):
        correlated_gaussian(np.ones((2, 2)), np.eye(2))
    with pytest.raises(ValueError, match="row 1"):
        correlated_gaussian([[1.0, 0.0], [0.0, 0.0]], np.eye(2))
    with pytest.raises(ValueError, match="participation"):
        correlated_gaussian(np.eye(2), [[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"participation of shape \(1, 3\)"):
        correlated_gaussian(np.eye(2), [[1.0, 0.0, 1.0]])
    for entry in (1e200, 1e-200):  # no warning of numpy's before it, either
        with pytest.raises(ValueError, match="in the range of doubles"):
            correlated_gaussian([[entry, 0.0], [entry, entry]], np.eye(2))
    with pytest.raises(ValueError, match="bands"):
        strategy_matrix("tree", 4, bands=2)
    with pytest.raises(ValueError, match="multiple"):
        participation_patterns(5, num_epochs=2)
