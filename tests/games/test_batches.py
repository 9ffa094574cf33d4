"""Batches of a data set: against plain loops over words of the key; correlated noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import games, set_num_threads, tradeoff
from leakscore.games import Batches, Empirical, Gaussian, Training
from tests.oracles.batches import drawn
from tests.oracles.games import NOISE, normal, word

RNG = np.random.default_rng(8)
STEPS, RECORDS = 6, 8
PATTERNS = [[1, 0, 0, 1, 0, 0], [0, 1, 1, 0, 0, 1], [0, 0, 0, 0, 1, 0]]
SCHEMES = {
    "poisson": Batches("poisson", sample_rate=0.3),
    "everyone": Batches("poisson", sample_rate=1.0),
    "truncated": Batches("truncated", sample_rate=0.5, max_batch_size=3),
    "allocated": Batches("allocated"),
    "allocated, 2 of 3": Batches("allocated", selected=2, num_epochs=2),
    "balls in bins": Batches("allocated", num_epochs=3, reallocate=False),
    "fixed": Batches("fixed", batch_size=3),
    "shuffled": Batches("shuffled", num_epochs=3),
    "patterns": Batches("patterns", participation=PATTERNS),
}
# Powers of two as gradients: a sum says who is in it. Row 5 is not in the data.
WEIGHTS = 2.0 ** np.arange(1, RECORDS)
ROWS = np.insert(np.column_stack([np.ones(RECORDS - 1), -WEIGHTS]), 5, [1.0, 77.0], axis=0)
OTHERS = Empirical(ROWS, exclude=5, replace=False)
TARGET, OTHER = [1.0, -1.0], [1.0, -0.5]
# So small a rate that the parameters, and with them the gradients, hardly move.
TRAINING = Training("linear", 4, STEPS, 2.0**-40)


def sums(theta: np.ndarray) -> np.ndarray:
    """The gradients of the steps, as whole multiples of a half."""
    return np.round(2 * 4 * 2.0**40 * (theta[:, :-1, 0] - theta[:, 1:, 0])) / 2


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("other", [None, OTHER])
def test_batches_are_what_plain_loops_make_of_the_words(name: str, other: Any) -> None:
    scheme = SCHEMES[name]
    theta, member, held = games.dpsgd(OTHERS, TARGET, TRAINING, scheme, 40, 3, other=other)
    key = np.random.default_rng(3).integers(0, 1 << 64, size=2, dtype=np.uint64)
    found = sums(theta)
    for r in (0, 1, 2, 3, 21, 39):
        assert member[r] == word(key, 0, 0, r) >> 63
        stays = scheme.kind in ("fixed", "shuffled") or other is not None
        steps = drawn(key, r, scheme, bool(member[r]) or stays, RECORDS, STEPS)
        first = 1.0 if member[r] else 0.0 if other is None else 0.5
        values = np.concatenate([[first], WEIGHTS])
        np.testing.assert_array_equal(found[r], [values[batch].sum() for batch in steps])
        np.testing.assert_array_equal(held[r], [0 in batch for batch in steps])


@pytest.mark.parametrize("name", SCHEMES)
def test_sizes_and_rates(name: str) -> None:
    scheme = SCHEMES[name]
    theta, member, held = games.dpsgd(OTHERS, TARGET, TRAINING, scheme, 4000, 1, other=[1, -1])
    bits = (sums(theta).astype(int)[..., np.newaxis] >> np.arange(RECORDS)) & 1
    sizes, taken = bits.sum(axis=-1), bits.sum(axis=1)
    np.testing.assert_array_equal(bits[..., 0] == 1, held)
    if name == "truncated":
        assert sizes.max() == 3
    elif scheme.kind == "fixed":
        assert (sizes == 3).all()
    elif scheme.kind == "shuffled":
        assert (sizes == RECORDS // 2).all()
        assert (taken == 3).all()
    elif scheme.kind == "allocated":
        assert (taken == (scheme.selected or 1) * (scheme.num_epochs or 1)).all()
        if name == "balls in bins":
            np.testing.assert_array_equal(bits[:, :2], bits[:, 2:4])
    # No record and no step is special, except for the patterns' steps.
    rates = bits.mean(axis=0)
    expected = np.mean(PATTERNS, axis=0)[:, np.newaxis] if name == "patterns" else rates.mean()
    error = np.sqrt(expected * (1 - expected) / 4000)
    assert (np.abs(rates - expected) <= 4.5 * error).all()
    known = {"poisson": 0.3, "everyone": 1.0, "fixed": 3 / 8, "allocated": 1 / 6}
    if name in known:
        assert abs(rates.mean() - known[name]) <= 4.5 * float(np.mean(error)) / 40**0.5
    assert 0.46 < member.mean() < 0.54


def test_equal_seeds_whatever_threads_rounds_blocks_and_scores() -> None:
    """900 rounds of 600 inputs are many blocks of records, and two of parameters."""
    table = Empirical(
        np.column_stack([RNG.normal(size=(30, 600)), RNG.integers(0, 2, 30)]), replace=False
    )
    target = np.append(np.ones(600), 1.0)
    training = Training(
        "logistic",
        8,
        5,
        0.3,
        clip=1.0,
        noise_multiplier=1.0,
        strategy_matrix=tradeoff.strategy_matrix("tree", 5),
    )

    def play(rounds: int, **options: Any) -> Any:
        scheme = Batches("poisson", sample_rate=0.25)
        return games.dpsgd(table, target, training, scheme, rounds, 4, **options)

    set_num_threads(1)
    expected = play(900)
    set_num_threads(8)
    for found, wanted in zip(play(900), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    for found, wanted in zip(play(300), expected, strict=True):
        np.testing.assert_array_equal(found, wanted[:300])
    last, member, held = play(900, score=lambda theta: theta[:, -1])
    np.testing.assert_array_equal(last, expected[0][:, -1])
    np.testing.assert_array_equal(member, expected[1])
    np.testing.assert_array_equal(held, expected[2])


@pytest.mark.parametrize("kind", ["tree", "square-root", "banded"])
def test_correlated_noise_is_the_inverse_of_independent_noise(kind: str) -> None:
    matrix = tradeoff.strategy_matrix(kind, STEPS, bands=2 if kind == "banded" else None)
    training = Training(
        "linear", 4, STEPS, 1.0, clip=2.0, noise_multiplier=1.5, strategy_matrix=matrix
    )
    nobody = Empirical([[0.0, 0.0, 0.0]], replace=False)
    theta, *_ = games.dpsgd(nobody, [0.0, 0.0, 0.0], training, Batches("allocated"), 5, 9)
    key = np.random.default_rng(9).integers(0, 1 << 64, size=2, dtype=np.uint64)
    for r in (0, 4):
        words = [(r * STEPS + t) * 2 + j for t in range(STEPS) for j in range(2)]
        z = np.array([float(normal(key, NOISE, w)) for w in words]).reshape(STEPS, 2)
        expected = np.linalg.solve(matrix, z) * training.noise_std
        np.testing.assert_allclose(theta[r, :-1] - theta[r, 1:], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "cyclic"}, "kind"),
        ({"kind": "poisson"}, "sample_rate"),
        ({"sample_rate": 0.0}, "sample_rate"),
        ({"batch_size": 3}, "batch_size=3"),
        ({"num_epochs": 2}, "num_epochs=2"),
        ({"kind": "truncated"}, "max_batch_size"),
        ({"kind": "fixed", "sample_rate": None, "batch_size": 0}, "batch_size"),
        ({"kind": "allocated", "sample_rate": None, "selected": 0}, "selected"),
        ({"kind": "patterns", "sample_rate": None, "participation": [[0.5]]}, "participation"),
    ],
)
def test_batches_that_are_refused(options: dict[str, Any], words: str) -> None:
    good: dict[str, Any] = {"kind": "poisson", "sample_rate": None if "kind" in options else 0.5}
    if options.get("kind") == "truncated":
        good["sample_rate"] = 0.5
    with pytest.raises(ValueError, match=words):
        Batches(**(good | options))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"population": Empirical(ROWS)}, "replace=False"),
        ({"population": Gaussian(np.zeros(2), np.ones(2))}, "replace=False"),
        ({"insertion": Batches("fixed", batch_size=9)}, "batch_size=9"),
        ({"insertion": Batches("shuffled")}, "multiple of 6"),
        ({"insertion": Batches("shuffled", num_epochs=4)}, "num_epochs=4"),
        ({"insertion": Batches("allocated", selected=7)}, "selected=7"),
        ({"insertion": Batches("patterns", participation=[[1, 0]])}, "participation"),
        ({"other": [1.0]}, "other"),
        ({"other": [1.0, np.nan]}, "other"),
        ({"insertion": 0, "population": Empirical(ROWS), "other": OTHER}, "other"),
        ({"training": Training("linear", 5, STEPS, 1e300)}, "diverge"),
    ],
)
def test_games_that_are_refused(options: dict[str, Any], words: str) -> None:
    good: dict[str, Any] = {
        "population": OTHERS,
        "target": TARGET,
        "training": TRAINING,
        "insertion": Batches("allocated"),
        "rounds": 4,
        "rng": 1,
    }
    with pytest.raises(ValueError, match=words):
        games.dpsgd(**(good | options))


@pytest.mark.parametrize(
    ("matrix", "words"),
    [(np.eye(3), "shape"), (np.ones((2, 2)), "triangular"), (np.eye(2, k=-1), "diagonal")],
)
def test_matrices_that_are_refused(matrix: np.ndarray, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Training("linear", 5, 2, 0.1, clip=1.0, noise_multiplier=1.0, strategy_matrix=matrix)
    with pytest.raises(ValueError, match="noise_multiplier"):
        Training("linear", 5, 2, 0.1, clip=1.0, strategy_matrix=np.eye(2))
