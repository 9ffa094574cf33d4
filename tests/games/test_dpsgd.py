"""Games on the training of a model: against plain loops over words of the key, and their laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from leakscore import games, sequential, set_num_threads
from leakscore.games import Bernoulli, Empirical, Gaussian, Training
from reproduce._sequences import mean_llr
from tests.oracles.games import COIN, NOISE, normal, word

RNG = np.random.default_rng(8)
INPUTS = RNG.normal(size=(40, 3))
LABELS = RNG.integers(0, 3, size=40)
LINEAR = np.column_stack([INPUTS, INPUTS @ [1.0, -1.0, 0.5] + RNG.normal(size=40)])
BINARY = np.column_stack([INPUTS, LABELS % 2])
MANY = np.column_stack([INPUTS, LABELS])
CASES: dict[str, tuple[str, np.ndarray, dict[str, Any]]] = {
    "linear": ("linear", LINEAR, {}),
    "linear, clipped": ("linear", LINEAR, {"clip": 0.7, "noise_multiplier": 0.4}),
    "binary": ("logistic", BINARY, {"clip": 0.5, "noise_multiplier": 1.5}),
    "softmax": ("logistic", MANY, {"classes": 3, "clip": 0.5, "noise_multiplier": 0.3}),
}
RATES = [0.5, 0.25, 0.125]


def loss(model: str, classes: int, theta: np.ndarray, record: np.ndarray) -> float:
    """The loss of one record, as its definition says."""
    x, y = record[:-1], record[-1]
    if model == "linear":
        return 0.5 * float(theta @ x - y) ** 2
    outputs = [0.0, float(theta @ x)] if classes == 2 else list(theta.reshape(classes, -1) @ x)
    return math.log(sum(map(math.exp, outputs))) - outputs[int(y)]


def slow_gradient(training: Training, theta: np.ndarray, record: np.ndarray) -> np.ndarray:
    """Central differences of the loss, clipped."""
    found = np.empty(theta.size)
    for i in range(theta.size):
        step = np.zeros(theta.size)
        step[i] = 1e-5
        ends = [loss(training.model, training.classes, theta + s * step, record) for s in (1, -1)]
        found[i] = (ends[0] - ends[1]) / 2e-5
    norm = np.linalg.norm(found)
    return found if training.clip is None else found * min(1.0, training.clip / norm)


@pytest.mark.parametrize("name", CASES)
def test_a_game_is_what_plain_loops_make_of_the_words(name: str) -> None:
    model, table, options = CASES[name]
    training = Training(model, 4, 3, RATES, **options)
    target = table[0] * [2.0, 2.0, 2.0, 1.0]
    theta, member, step = games.dpsgd(
        Empirical(table, exclude=0), target, training, [0.5, 0.25, 0.25], 30, 3
    )
    key = np.random.default_rng(3).integers(0, 1 << 64, size=2, dtype=np.uint64)
    rows = [int(key[0]), (int(key[1]) + 1) % 2**64]  # of the first 4096 records
    size = training.size(3)
    for r in (0, 1, 2, 17, 29):
        assert member[r] == word(key, 0, 0, r) >> 63
        share = (word(key, 1, 0, r) >> 11) / 2**53
        assert step[r] == (int(share >= 0.5) + int(share >= 0.75) if member[r] else -1)
        at = np.zeros(size)
        np.testing.assert_array_equal(theta[r, 0], at)
        for t in range(3):
            places = [(r * 3 + t) * 4 + i for i in range(4)]
            batch = [table[1 + (word(rows, COIN, 0, place) * 39 >> 64)] for place in places]
            if step[r] == t:
                batch[0] = target
            total = sum(slow_gradient(training, at, record) for record in batch) / 4
            assert isinstance(total, np.ndarray)
            if training.noise_std:
                first = (r * 3 + t) * size
                noise = [float(normal(key, NOISE, first + j)) for j in range(size)]
                total = total + training.noise_std * np.array(noise)
            at = at - RATES[t] * total
            np.testing.assert_allclose(theta[r, t + 1], at, rtol=0, atol=2e-9)


@pytest.mark.parametrize("name", CASES)
def test_gradients_and_losses(name: str) -> None:
    model, table, options = CASES[name]
    training = Training(model, 4, 3, 0.1, **options)
    theta = RNG.normal(size=(5, 1, training.size(3)))
    gradients, losses = training.gradients(theta, table), training.losses(theta, table)
    assert gradients.shape == (5, 40, training.size(3))
    for i, j in ((0, 0), (4, 39), (2, 7)):
        expected = slow_gradient(training, theta[i, 0], table[j])
        np.testing.assert_allclose(gradients[i, j], expected, rtol=0, atol=1e-8)
        known = loss(model, training.classes, theta[i, 0], table[j])
        assert losses[i, j] == pytest.approx(known, rel=1e-12)
    one = training.losses(theta[0, 0], table[0])
    assert np.ndim(one) == 0
    assert one == losses[0, 0]
    if training.clip is not None:
        lengths = np.linalg.norm(gradients, axis=-1)
        assert lengths.max() <= training.clip * (1 + 1e-12)
        assert (lengths > training.clip * (1 - 1e-12)).any()


def test_losses_do_not_overflow() -> None:
    binary, many = Training("logistic", 2, 1, 1.0), Training("logistic", 2, 1, 1.0, classes=3)
    assert binary.losses([800.0], [1.0, 0.0]) == 800.0
    assert binary.losses([800.0], [1.0, 1.0]) == 0.0
    assert many.losses([900.0, 0.0, 0.0], [1.0, 2.0]) == 900.0
    np.testing.assert_array_equal(many.gradients([900.0, 0.0, 0.0], [1.0, 2.0]), [1.0, 0.0, -1.0])


def test_means_of_the_ratio_are_exact_in_linear_regression() -> None:
    """They depend on two moments of the gradients alone, Gaussian or not."""
    cov = np.eye(4)
    cov[3, :3] = cov[:3, 3] = [0.5, 0.0, -0.5]
    cov[3, 3] = 1.5
    z = np.array([2.0, 0.0, 0.0, 4.0])
    training = Training("linear", 20, 4, 0.1, start=[1.0, 0.0, 0.0])
    theta, member, _ = games.dpsgd(Gaussian(np.zeros(4), cov), z, training, 3, 20_000, 6)
    np.testing.assert_array_equal(theta[:, 0], np.tile([1.0, 0.0, 0.0], (20_000, 1)))
    law = sequential.linear_regression(theta[:, 3], [0.5, 0.0, -0.5], np.ones(3), 1.0, z[:3], z[3])
    ratio = law.llr((theta[:, 3] - theta[:, 4]) / 0.1, 20)
    means = mean_llr(law.squared_mahalanobis, 20, 3)
    for flags, mean in zip((~member, member), means, strict=True):
        apart = (ratio - mean)[flags]
        assert abs(apart.mean()) < 4 * apart.std() / apart.size**0.5


def test_equal_seeds_whatever_threads_rounds_and_scores() -> None:
    training = Training("logistic", 16, 5, 0.3, clip=1.0, noise_multiplier=1.0)
    population = Bernoulli([0.5, 0.2, 0.7, 0.4])
    target = [1, 1, 0, 1]

    def play(rounds: int, seed: Any = 4, **options: Any) -> Any:
        return games.dpsgd(population, target, training, "uniform", rounds, seed, **options)

    set_num_threads(1)
    expected = play(3000)
    set_num_threads(8)
    for found, wanted in zip(play(3000, np.random.default_rng(4)), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    for found, wanted in zip(play(1200), expected, strict=True):
        np.testing.assert_array_equal(found, wanted[:1200])
    last, member, _ = play(3000, score=lambda theta: theta[:, -1])
    np.testing.assert_array_equal(last, expected[0][:, -1])
    np.testing.assert_array_equal(member, expected[1])
    one, *_ = play(3000, score=lambda theta: theta[:, -1, 0].astype(np.float32))
    np.testing.assert_array_equal(one, expected[0][:, -1, 0].astype(np.float32))
    assert not np.array_equal(play(3000, 5)[0], expected[0])


def test_rows_of_a_table_are_equally_likely_and_never_the_excluded_one() -> None:
    """One step from 0 with a response of a power of two in every row: the row can be read off."""
    rows = np.column_stack([np.ones(11), 2.0 ** np.arange(11)])
    training = Training("linear", 2, 2, 1.0)
    population = Empirical(rows, exclude=4)
    theta, member, _ = games.dpsgd(population, [1.0, 0.0], training, 1, 6000, 3)
    first = np.rint(2 * theta[:, 1, 0]).astype(int)  # the sum of the two responses
    pairs = np.log2(np.stack([rows[:, 1] + other for other in rows[:, 1]]))
    sums = np.rint(2**pairs).astype(int)
    counts = np.zeros(11)
    for i in range(11):
        for j in range(i + 1):
            found = np.count_nonzero(first == sums[i, j])
            counts[i] += found
            counts[j] += found
    assert counts[4] == 0
    others = np.delete(counts, 4)
    assert member.any()
    # For different rows 2^i + 2^j is unique except for i = j, which is 2^(i+1) and no other sum.
    assert others.sum() == 12_000
    assert np.all(np.abs(others - 1200) < 4.5 * np.sqrt(1200 * 0.9))


@pytest.mark.parametrize("population", [Gaussian(np.zeros(4), np.eye(4) + 0.5), Empirical(LINEAR)])
def test_blocks_change_nothing(population: Any) -> None:
    """Fewer rounds are the first of many, of which a score sees several blocks."""
    game = (population, [1.0, 2.0, 3.0, 4.0], Training("linear", 6, 3, 0.1), "uniform")
    sizes = []

    def score(theta: Any) -> Any:
        sizes.append(len(theta))
        return theta.reshape(len(theta), -1)

    found = games.dpsgd(*game, 180_000, 2, score=score)[0]
    assert len(sizes) > 1
    last = sizes[0] + 50
    expected = games.dpsgd(*game, last, 2)[0]
    np.testing.assert_allclose(found[:last], expected.reshape(last, -1), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "quadratic"}, "model"),
        ({"n": 1}, "n"),
        ({"num_steps": 0}, "num_steps"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": [0.1, 0.2]}, "learning_rate"),
        ({"clip": 0.0}, "clip"),
        ({"noise_multiplier": -1.0}, "noise_multiplier"),
        ({"noise_multiplier": 1.0}, "clip"),
        ({"classes": 3}, "classes"),
        ({"model": "logistic", "classes": 1}, "classes"),
        ({"start": [np.nan]}, "start"),
    ],
)
def test_trainings_that_are_refused(options: dict[str, Any], words: str) -> None:
    good: dict[str, Any] = {"model": "linear", "n": 5, "num_steps": 3, "learning_rate": 0.1}
    with pytest.raises(ValueError, match=words):
        Training(**(good | options))


TABLE = Empirical(BINARY)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"population": Gaussian(np.zeros(4), np.ones(4))}, "labels"),
        ({"population": Empirical(MANY)}, "labels"),
        ({"population": Empirical(BINARY, replace=False)}, "replace"),
        ({"population": Bernoulli([0.5]), "target": [1.0]}, "at least 2"),
        ({"population": Empirical(np.where(BINARY > 1.5, np.inf, BINARY))}, "X"),
        ({"target": [0.0, 0.0, 0.0, 2.0]}, "labels"),
        ({"target": [0.0, 1.0]}, "target"),
        ({"insertion": 3}, "insertion"),
        ({"rounds": 0}, "rounds"),
        ({"training": Training("logistic", 5, 3, 0.1, start=[0.0, 1.0])}, "start"),
        ({"score": lambda theta: theta[:1, 0, 0]}, "score"),
        ({"score": lambda theta: theta[:, 0, 0] * np.nan}, "NaN"),
        ({"training": Training("linear", 5, 3, 1e200)}, "diverge"),
    ],
)
def test_games_that_are_refused(options: dict[str, Any], words: str) -> None:
    good: dict[str, Any] = {
        "population": TABLE,
        "target": [0.0, 0.0, 1.0, 1.0],
        "training": Training("logistic", 5, 3, 0.1),
        "insertion": 0,
        "rounds": 4,
        "rng": 1,
    }
    with pytest.raises(ValueError, match=words):
        games.dpsgd(**(good | options))
    with pytest.raises(TypeError):
        games.dpsgd(**(good | {"training": "sgd"}))
    with pytest.raises(TypeError):
        games.dpsgd(**(good | {"score": 3}))
