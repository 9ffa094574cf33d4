"""Lower curves of batches against pairs of laws on grids, and strategies against their nodes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from leakscore.tradeoff import (
    GaussianTradeOff,
    correlated_gaussian,
    gaussian,
    participation_patterns,
    random_allocation,
    strategy_matrix,
    truncated_poisson_gaussian,
)
from tests.oracles.octaves import polygon_beta

ALPHA = np.concatenate([np.logspace(-5.0, -1.0, 20), np.linspace(0.1, 0.95, 18)])


def masses(grid: Any, mean: float) -> Any:
    law = np.exp(-0.5 * (grid - mean) ** 2)
    return law / law.sum()


@pytest.mark.parametrize(("slots", "hits"), [(3, 2), (4, 3)])
def test_blocks_of_unequal_length(slots: int, hits: int) -> None:
    """k of T is dominated by k blocks, T mod k of which are a step longer; exact on a grid."""
    mu = 1.25
    f = random_allocation(1.0 / mu, slots, selected=hits)
    grid = np.linspace(-6.0, 7.5, 55)
    outside, inside = masses(grid, 0.0), masses(grid, mu)
    pair = (np.outer(inside, outside) + np.outer(outside, inside)).ravel() / 2.0
    h0, h1 = np.outer(outside, outside).ravel(), pair
    # Steps that surely hold the record add up to one Gaussian step.
    surely = math.sqrt(hits - 1.0) * mu
    wide = np.linspace(-6.0, 6.0 + surely, 400)
    h0, h1 = (np.outer(two, masses(wide, mean)).ravel() for two, mean in ((h0, 0.0), (h1, surely)))
    np.testing.assert_allclose(f.lower(ALPHA), polygon_beta(h0, h1, ALPHA), atol=3e-3)


@pytest.mark.parametrize(("rate", "most", "records"), [(0.5, 2, 4), (0.3, 1, 6), (1.0, 2, 3)])
def test_a_cut_batch_that_says_whether_it_was_full(rate: float, most: int, records: int) -> None:
    """By the sums of binomial masses: the record comes, and is kept among all that came."""
    mu, others = 0.8, records - 1
    f = truncated_poisson_gaussian(1.0 / mu, rate, most, records, 1)
    come = np.arange(records)
    weights = binom.pmf(come, others, rate)
    full = float(weights[come >= most].sum())
    kept = float((weights * rate * most / (come + 1.0))[come >= most].sum())
    grid = np.linspace(-8.0, 10.0, 20_001)
    h0 = np.concatenate([(1.0 - full) * masses(grid, 0.0), full * masses(grid, 0.0)])
    room = (1.0 - full) * ((1.0 - rate) * masses(grid, 0.0) + rate * masses(grid, mu))
    replaced = (full - kept) * masses(grid, 0.0) + kept * masses(grid, 2.0 * mu)
    exact = polygon_beta(h0, np.concatenate([room, replaced]), ALPHA)
    np.testing.assert_allclose(f.lower(ALPHA), exact, atol=2e-4)
    rare = truncated_poisson_gaussian(1.0, 1e-300, 2, 10, 1)  # a batch that is never full
    np.testing.assert_allclose(rare(ALPHA), 1.0 - ALPHA, rtol=1e-12)


def test_noise_of_two_steps_and_of_one() -> None:
    with pytest.raises(ValueError, match=r"must be >= 0\.06 with 2"):
        random_allocation(0.05, 2)
    assert random_allocation(0.05, 1).epsilon(1e-5) == gaussian(20.0).epsilon(1e-5)


def test_correlated_noise_that_is_one_gaussian_step() -> None:
    """Negative products count where two steps may hold the record, products of 0 nowhere."""
    identity, together = np.eye(3), np.ones((1, 3))
    apart = np.array([[1.0, 0.0], [-0.5, 1.0]])
    for matrix, patterns, shift in (
        (identity, together, math.sqrt(3.0)),
        (0.5 * identity, together, math.sqrt(0.75)),
        (apart, np.eye(2), math.sqrt(1.25)),
        ([[1.0, 0.0], [1.0, 0.0]], np.eye(2), math.sqrt(2.0)),  # a step without a part
        ([[2.0]], [[1.0]], 2.0),
    ):
        f = correlated_gaussian(matrix, patterns)
        assert isinstance(f, GaussianTradeOff)
        assert f.mu == pytest.approx(shift, rel=1e-14)
    assert not isinstance(correlated_gaussian(apart, np.ones((1, 2))), GaussianTradeOff)
    with pytest.raises(ValueError, match="strategy_matrix"):
        correlated_gaussian(np.empty((0, 0)), np.empty((0, 0)))


def test_patterns_and_trees_of_any_length() -> None:
    np.testing.assert_array_equal(participation_patterns(6, num_epochs=3), [[1, 0] * 3, [0, 1] * 3])
    np.testing.assert_array_equal(participation_patterns(3), np.eye(3))
    for steps in range(1, 18):
        nodes = np.zeros((steps, steps))
        for size in (1, 2, 4, 8, 16):
            for node in range(steps // size):
                inside = np.arange(steps) // size == node
                nodes += np.outer(inside, inside)
        tree = strategy_matrix("tree", steps)
        np.testing.assert_allclose(tree.T @ tree, nodes, atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_contributions_that_nearly_cancel(seed: int) -> None:
    """The attack is within what equal contributions move in exact arithmetic, all signs as well."""
    rng, steps = np.random.default_rng(seed), 12
    matrix = np.eye(steps)
    matrix[-1, 1:] = rng.standard_normal(steps - 1)
    matrix[-1, -1] = -matrix[-1, 1:-1].sum()
    matrix[range(1, steps - 1), range(1, steps - 1)] = 0.0
    matrix[:, 0] = 1.0
    pattern = np.r_[0.0, np.ones(steps - 1)]
    f = correlated_gaussian(matrix, [pattern])
    entries = [Fraction(entry) for entry in matrix[-1, 1:].tolist()]
    equal, signs = abs(sum(entries)), sum(abs(entry) for entry in entries)
    low, high = f.interval("advantage")
    assert low <= float(equal) / math.sqrt(2.0 * math.pi) * (1.0 + 1e-12)
    assert high >= gaussian(float(signs)).advantage() * (1.0 - 1e-15)


@pytest.mark.parametrize("scale", [1e-161, 1e-300, 1e160, 1e300])
def test_units_of_contributions_do_not_matter(scale: float) -> None:
    f = correlated_gaussian([[scale, 0.0], [scale, scale]], [[1, 1]], scale)
    assert f.epsilon(1e-5) == pytest.approx(gaussian(math.sqrt(5.0)).epsilon(1e-5), rel=1e-12)
    with pytest.raises(ValueError, match="in the range of doubles"):
        correlated_gaussian([[1e-161]], [[1]])


def test_a_sum_of_products_errs_by_the_sizes_of_its_terms() -> None:
    """Columns of length 1, all but orthogonal: each of their products may err by 400 units."""
    steps = 400
    matrix = np.eye(steps)
    matrix[1, 0] = -1e-9
    _, high = correlated_gaussian(matrix, np.ones((1, steps)), 4.0).interval("advantage")
    shift = math.sqrt(steps) / 4.0
    assert high >= gaussian(shift * (1.0 + 0.5 * steps * steps * 2.0**-53)).advantage()
    assert high == pytest.approx(gaussian(shift).advantage(), rel=1e-9)
