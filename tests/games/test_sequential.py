"""Games on sequences of releases: their laws, their words, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from leakscore import _core, games, sequential, set_num_threads
from leakscore.games import Bernoulli, Empirical, Gaussian
from reproduce._sequences import mean_llr
from tests.oracles.games import word

RNG = np.random.default_rng(3)
TABLE = RNG.normal(size=(90, 3)) + 1.0
COV = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.5]])
P = np.array([0.1, 0.5, 0.9])
LAWS: dict[str, tuple[Any, np.ndarray, np.ndarray, np.ndarray]] = {
    "diagonal": (
        Gaussian([0, 1, 2], [1, 2, 3]),
        np.r_[4.0, 0, 0],
        np.r_[0.0, 1, 2],
        np.r_[1.0, 2, 3],
    ),
    "full": (Gaussian([0, 1, 2], COV), np.r_[4.0, 0, 0], np.r_[0.0, 1, 2], np.diag(COV)),
    "bernoulli": (Bernoulli(P), np.r_[1.0, 0, 1], P, P * (1 - P)),
    "table": (Empirical(TABLE), np.r_[4.0, 0, 0], TABLE.mean(0), TABLE.var(0)),
}
ROUNDS, STEPS, N = 20_000, 4, 6


def play(name: str, insertion: Any = 2, seed: int = 1, **options: Any) -> Any:
    population, target, *_ = LAWS[name]
    return games.sequential(population, target, N, STEPS, insertion, ROUNDS, seed, **options)


@pytest.mark.parametrize("name", LAWS)
def test_batches_are_independent_means_and_one_has_the_target(name: str) -> None:
    releases, member, step = play(name)
    assert releases.shape == (ROUNDS, STEPS, 3)
    assert member.dtype == bool
    assert abs(member.mean() - 0.5) < 4 * 0.5 / ROUNDS**0.5
    np.testing.assert_array_equal(step, np.where(member, 2, -1))
    _, target, mean, variance = LAWS[name]
    batches = sequential.batch_means(releases)
    for t in range(STEPS):
        for flags, inside in ((member, t == 2), (~member, False)):
            values = batches[flags, t]
            others = N - inside
            expected = (inside * target + others * mean) / N
            spread = others * variance / N**2
            error = np.sqrt(spread / len(values))
            assert np.all(np.abs(values.mean(0) - expected) < 4.5 * error)
            kurtosis = stats.kurtosis(values, axis=0)
            allowed = 4.5 * spread * np.sqrt((2 + np.maximum(kurtosis, 0)) / len(values))
            assert np.all(np.abs(values.var(0) - spread) < allowed)
    along = batches[~member, :, 0]
    apart = np.corrcoef(along.T)[np.triu_indices(STEPS, 1)]
    assert np.abs(apart).max() < 4.5 / len(along) ** 0.5


def test_gaussian_ratios_have_their_exact_means() -> None:
    population, target = Gaussian(np.zeros(2), np.ones(2)), np.r_[3.0, 0.0]
    releases, member, step = games.sequential(population, target, 10, 3, "uniform", 40_000, 5)
    from leakscore import Reference

    reference = Reference(np.zeros(2), np.ones(2))
    ratios = sequential.gradient_llr(sequential.batch_means(releases), target, reference, 10)
    without, with_it = mean_llr(9.0, 10, 2)
    for values, mean in (
        (ratios[~member].ravel(), without),
        (ratios[member, step[member]], with_it),
        (ratios[member, step[member] - 1], without),  # another batch of the same round
    ):
        assert abs(values.mean() - mean) < 4 * values.std() / values.size**0.5


def test_noise_is_on_the_released_means_and_independent() -> None:
    quiet, *_ = play("diagonal")
    noisy, *_ = play("diagonal", noise_std=[0.5, 0.0, 2.0])
    noise = noisy - quiet
    assert np.all(noise[..., 1] == 0.0)
    for j, std in ((0, 0.5), (2, 2.0)):
        assert abs(noise[..., j].std() / std - 1) < 4 / (2 * noise[..., j].size) ** 0.5
        apart = np.corrcoef(noise[..., j].T)[np.triu_indices(STEPS, 1)]
        assert np.abs(apart).max() < 4.5 / ROUNDS**0.5


@pytest.mark.parametrize("chances", ["uniform", [0.1, 0.0, 0.6, 0.3], [0.0, 1.0, 0.0, 0.0]])
def test_insertion_law(chances: Any) -> None:
    _, member, step = play("diagonal", chances)
    law = np.full(STEPS, 0.25) if isinstance(chances, str) else np.array(chances)
    assert np.all((step >= 0) == member)
    found, size = np.bincount(step[member], minlength=STEPS), member.sum()
    assert np.all(np.abs(found - size * law) <= 4 * np.sqrt(size * law * (1 - law)))


def test_coins_and_steps_are_words_of_the_key() -> None:
    key = np.random.default_rng(9).integers(0, 1 << 64, size=2, dtype=np.uint64)
    population = Gaussian([0.0], [1.0])
    _, member, step = games.sequential(population, [1.0], 2, 5, "uniform", 150, 9)
    for r in (0, 1, 77, 149):
        assert member[r] == word(key, 0, 0, r) >> 63
        assert step[r] == (word(key, 1, 0, r) * 5 >> 64 if member[r] else -1)


@pytest.mark.parametrize("name", [*LAWS, "disjoint"])
def test_equal_seeds_at_any_number_of_threads_and_rounds(name: str) -> None:
    def game(rounds: int, seed: Any) -> Any:
        if name == "disjoint":
            population = Empirical(TABLE, exclude=1, replace=False)
            return games.sequential(population, TABLE[1], 6, 9, "uniform", rounds, seed)
        population, target, *_ = LAWS[name]
        return games.sequential(population, target, 6, 9, "uniform", rounds, seed, noise_std=0.1)

    set_num_threads(1)
    expected = game(300, 7)
    set_num_threads(8)
    for found, wanted in zip(game(300, np.random.default_rng(7)), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    if name in ("diagonal", "bernoulli"):
        np.testing.assert_array_equal(game(120, 7)[0], expected[0][:120])
    assert not np.array_equal(game(300, 8)[0], expected[0])


def test_rows_that_are_not_put_back() -> None:
    """With distinct powers of two as records, sums show which rows each batch has."""
    rows = 2.0 ** np.arange(13)
    population = Empirical(rows[:, np.newaxis], exclude=12, replace=False)
    releases, member, step = games.sequential(population, [rows[12]], 4, 3, "uniform", 400, 2)
    sums = np.rint(sequential.batch_means(releases)[..., 0] * 4).astype(int)
    bits = sums[..., np.newaxis] >> np.arange(13) & 1
    assert np.all(bits.sum(axis=-1) == 4)
    assert bits.sum(axis=1).max() == 1
    np.testing.assert_array_equal(bits[..., 12], step[:, np.newaxis] == np.arange(3))
    assert member.any()
    assert not member.all()
    share = bits[~member, 0, :12].mean(axis=0)  # every row is as likely in the first batch
    assert np.all(np.abs(share - 1 / 3) < 4.5 * np.sqrt(2 / 9 / (~member).sum()))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 1}, "n"),
        ({"num_steps": 0}, "num_steps"),
        ({"insertion": 3}, "insertion"),
        ({"insertion": -1}, "insertion"),
        ({"insertion": "last"}, "insertion"),
        ({"insertion": [0.5, 0.5]}, "insertion"),
        ({"insertion": [0.5, 0.5, 0.5]}, "insertion"),
        ({"insertion": [1.5, -0.5, 0.0]}, "insertion"),
        ({"insertion": [np.nan, 0.5, 0.5]}, "insertion"),
        ({"rounds": 0}, "rounds"),
        ({"noise_std": -1.0}, "noise_std"),
        ({"noise_std": [1.0, 2.0, 3.0]}, "noise_std"),
        ({"target": [1.0, np.inf]}, "target"),
        ({"target": [1.0]}, "target"),
        ({"population": Bernoulli([0.5, 0.5])}, "target"),
        ({"population": Empirical(np.ones((5, 2)), replace=False)}, "num_steps"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    good: dict[str, Any] = {
        "population": Gaussian([0.0, 0.0], [1.0, 1.0]),
        "target": [2.0, 0.0],
        "n": 2,
        "num_steps": 3,
        "insertion": 0,
        "rounds": 5,
        "rng": 1,
    }
    with pytest.raises(ValueError, match=words):
        games.sequential(**(good | options))
    with pytest.raises(TypeError):
        games.sequential(**(good | {"insertion": 1.5}))
    with pytest.raises(TypeError):
        games.sequential(**(good | {"population": "normal"}))


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (700, 10, 1), (33, 7, 31), (5, 600, 2), (9, 4, 50), (2, 3, 70_000)]
)
def test_running_means_have_the_bits_of_numpy(shape: tuple[int, int, int]) -> None:
    batches = np.random.default_rng(0).normal(size=shape)
    expected = np.cumsum(batches, axis=1) / np.arange(1.0, shape[1] + 1)[:, np.newaxis]
    _core.running_means(batches)
    np.testing.assert_array_equal(batches, expected)
