"""What a game releases has the law of the game: by exact moments, and by playing it naively."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from leakscore.games import Bernoulli, Empirical, EmpiricalMean, Gaussian, fixed_target
from tests.oracles.games import naive_game

ROUNDS = 60_000
RNG = np.random.default_rng(2024)
TABLE = RNG.gamma(2.0, size=(40, 5)) * [1.0, 5.0, 0.1, 1.0, 3.0]
FACTOR = RNG.normal(size=(5, 5))
FULL = FACTOR @ FACTOR.T
SINGULAR = FACTOR[:, :2] @ FACTOR[:, :2].T
P = np.array([0.1, 0.5, 0.9, 0.3, 0.02])
MU = np.array([-1.0, 0.0, 2.0, 5.0, -30.0])
Z = np.array([1.0, 0.0, 1.0, 1.0, 0.0])

# name: population, mean and covariance of one record, and how many rows it has if it is finite
POPULATIONS = {
    "bernoulli": (Bernoulli(P), P, np.diag(P * (1 - P)), np.inf),
    "diagonal": (Gaussian(MU, MU**2), MU, np.diag(MU**2), np.inf),
    "full": (Gaussian(MU, FULL), MU, FULL, np.inf),
    "singular": (Gaussian(MU, SINGULAR), MU, SINGULAR, np.inf),
    "table": (Empirical(TABLE), TABLE.mean(0), np.cov(TABLE.T, ddof=0), np.inf),
    "finite table": (Empirical(TABLE, replace=False), TABLE.mean(0), np.cov(TABLE.T), 40),
    "all but one": (
        Empirical(TABLE, exclude=7, replace=False),
        np.delete(TABLE, 7, 0).mean(0),
        np.cov(np.delete(TABLE, 7, 0).T),
        39,
    ),
    "large table": (
        Empirical(np.tile(TABLE, (20, 1)).astype(np.float32), exclude=3),
        np.delete(np.tile(TABLE.astype(np.float32), (20, 1)), 3, 0).mean(0, dtype=float),
        np.cov(np.delete(np.tile(TABLE, (20, 1)), 3, 0).T, ddof=0),
        np.inf,
    ),
}


def mean_of(drawn: int, mean: np.ndarray, cov: np.ndarray, rows: float) -> tuple[np.ndarray, ...]:
    """Mean and covariance of a sum of records, drawn with or without replacement."""
    return drawn * mean, drawn * cov * (1 - drawn / rows)


def agrees(outputs: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> None:
    """Mean and covariance, each to 4.5 of the standard errors that the sample itself shows."""
    centred = outputs - mean
    error = centred.mean(0)
    tiny = 1e-9 * (1 + np.abs(mean))
    assert np.all(np.abs(error) <= 4.5 * centred.std(0) / np.sqrt(len(outputs)) + tiny)
    products = centred[:, :, None] * centred[:, None, :]
    gap = np.abs(products.mean(0) - cov)
    assert np.all(gap <= 4.5 * products.std(0) / np.sqrt(len(outputs)) + 1e-9 * np.abs(cov).max())


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize(
    "mechanism",
    [
        EmpiricalMean(2),
        EmpiricalMean(20),
        EmpiricalMean(20, noise_std=[0.5, 0.0, 0.1, 1.0, 0.2]),
        EmpiricalMean(20, neighbours="add-remove"),
    ],
    ids=["two", "twenty", "noise", "add-remove"],
)
def test_moments_under_both_hypotheses(name: str, mechanism: EmpiricalMean) -> None:
    population, mean, cov, rows = POPULATIONS[name]
    outputs, member = fixed_target(population, Z, mechanism, ROUNDS, 5, balanced=True)
    n, noise = mechanism.n, np.diag(np.broadcast_to(mechanism.noise_std, 5) ** 2)
    absent = n if mechanism.neighbours == "replace" else n - 1
    total, spread = mean_of(absent, mean, cov, rows)
    agrees(outputs[~member], total / n, spread / n**2 + noise)
    total, spread = mean_of(n - 1, mean, cov, rows)
    agrees(outputs[member], (Z + total) / n, spread / n**2 + noise)


@pytest.mark.parametrize("name", ["bernoulli", "full", "finite table"])
def test_subsampling_takes_the_target_by_chance(name: str) -> None:
    population, mean, cov, rows = POPULATIONS[name]
    mechanism = EmpiricalMean(20, sample_rate=0.25, noise_std=0.1)
    outputs, member = fixed_target(population, Z, mechanism, ROUNDS, 6, balanced=True)
    noise = 0.01 * np.eye(5)
    total, spread = mean_of(5, mean, cov, rows)
    without = total / 5, spread / 25 + noise
    agrees(outputs[~member], *without)
    total, spread = mean_of(4, mean, cov, rows)
    having = (Z + total) / 5, spread / 25 + noise
    # A member's mean has it in one round of four: the mixture's mean and covariance.
    gap = np.outer(having[0] - without[0], having[0] - without[0])
    mixed = 0.25 * having[0] + 0.75 * without[0]
    agrees(outputs[member], mixed, 0.25 * having[1] + 0.75 * without[1] + 0.25 * 0.75 * gap)


@pytest.mark.parametrize("replace", [True, False])
def test_the_naive_game_has_the_same_law(replace: bool) -> None:
    """Two-sample Kolmogorov-Smirnov in a random direction, under each hypothesis."""
    n, rounds, direction = 6, 8000, np.array([1.0, -0.3, 2.0, 0.7, -0.2])
    rows = np.delete(TABLE, 7, 0)

    def draw(count: int, rng: np.random.Generator) -> np.ndarray:
        return rows[rng.choice(len(rows), size=count, replace=replace)]

    population = Empirical(TABLE, exclude=7, replace=replace)
    outputs, member = fixed_target(population, TABLE[7], EmpiricalMean(n), rounds, 8, balanced=True)
    naive = naive_game(draw, TABLE[7], n, member, np.random.default_rng(9))
    for side in (member, ~member):
        test = stats.ks_2samp(outputs[side] @ direction, naive[side] @ direction)
        assert test.pvalue > 1e-3


def test_rows_drawn_without_replacement_are_all_different_sets() -> None:
    """All 4 of 4 rows give their mean always; 2 of 4 give each of the six pairs equally often."""
    X = np.array([[1.0], [2.0], [4.0], [8.0]])
    outputs, member = fixed_target(
        Empirical(X, replace=False), [100.0], EmpiricalMean(4), 1000, 1, balanced=True
    )
    assert np.all(outputs[~member] == 3.75)
    assert set((4 * outputs[member, 0] - 100).tolist()) == {7.0, 11.0, 13.0, 14.0}
    outputs, member = fixed_target(
        Empirical(X, replace=False), [0.0], EmpiricalMean(2), 60_000, 1, balanced=True
    )
    values, counts = np.unique(2 * outputs[~member], return_counts=True)
    assert values.tolist() == [3.0, 5.0, 6.0, 9.0, 10.0, 12.0]
    assert stats.chisquare(counts).pvalue > 1e-3


def test_an_excluded_row_is_never_drawn() -> None:
    X = np.eye(6)
    for replace in (True, False):
        outputs, member = fixed_target(
            Empirical(X, exclude=2, replace=replace), X[2], EmpiricalMean(5), 4000, 3
        )
        assert np.all(outputs[~member, 2] == 0)
        assert np.all(outputs[member, 2] == 1 / 5)
        assert np.all(outputs.sum(axis=1).round(12) == 1)


def test_coins_are_fair_and_balance_is_exact() -> None:
    population = Bernoulli([0.5])
    _, member = fixed_target(population, [1.0], EmpiricalMean(2), 100_000, 1)
    assert abs(member.mean() - 0.5) < 4 * 0.5 / np.sqrt(100_000)
    runs = (member[1:] != member[:-1]).mean()
    assert abs(runs - 0.5) < 4 * 0.5 / np.sqrt(100_000)
    _, member = fixed_target(population, [1.0], EmpiricalMean(2), 1000, 1, balanced=True)
    assert member.sum() == 500
    assert 200 < member[:500].sum() < 300  # in random order
