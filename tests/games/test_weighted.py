"""Sums of many records with weights: drawn by bins as if each record were drawn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.helpers.parts import weighted_sums

ROUNDS = 4000
RNG = np.random.default_rng(11)
VALUES = RNG.gamma(1.5, size=3000) ** 2 - 4.0
WEIGHTS = {
    "three": RNG.choice([0.0, 1.0, 2.5], 6000),
    "many": RNG.lognormal(0.0, 1.0, 6000),
    "one heavy": np.append(np.ones(5000), 400.0),  # far from normal: one record is most of the sum
    "few heavy": np.concatenate([RNG.uniform(0.5, 1.0, 5000), RNG.uniform(50, 99, 300)]),
    "as few as are drawn alone": RNG.uniform(0.0, 1.0, 200),
}


def single_draws(
    values: np.ndarray, weights: np.ndarray, rounds: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw a value for each weight."""
    drawn = (values[rng.integers(values.size, size=weights.size)] for _ in range(rounds))
    return np.array([each @ weights for each in drawn])


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_law_is_that_of_single_draws(name: str) -> None:
    weights = WEIGHTS[name]
    found = weighted_sums(VALUES, weights, ROUNDS, np.random.default_rng(1))
    drawn = single_draws(VALUES, weights, ROUNDS, np.random.default_rng(2))
    assert stats.ks_2samp(found, drawn).pvalue > 1e-3
    mean = VALUES.mean() * weights.sum()
    variance = VALUES.var() * (weights**2).sum()
    third = stats.moment(VALUES, 3) * (weights**3).sum()
    away = (found - mean) / np.sqrt(variance)
    for power, expected in ((1, 0.0), (2, 1.0), (3, third / variance**1.5)):
        error = np.std(away**power) / np.sqrt(ROUNDS)
        assert abs(np.mean(away**power) - expected) < 4 * error, power


def test_two_different_laws_are_told_apart() -> None:
    """The comparison above finds a heaviest weight that is too small by a tenth."""
    heavy = WEIGHTS["one heavy"]
    lighter = np.where(heavy > 1, 0.9 * heavy, heavy)
    found = weighted_sums(VALUES, lighter, ROUNDS, np.random.default_rng(1))
    drawn = single_draws(VALUES, heavy, ROUNDS, np.random.default_rng(2))
    assert stats.ks_2samp(found, drawn).pvalue < 1e-6


def test_values_that_are_all_the_same_and_no_weight() -> None:
    found = weighted_sums(np.full(500, 2.0), np.arange(600.0), 3, np.random.default_rng(0))
    np.testing.assert_allclose(found, 600 * 599.0, rtol=1e-13)
    assert weighted_sums(VALUES, np.zeros(5), 3, np.random.default_rng(0)).tolist() == [0.0] * 3
