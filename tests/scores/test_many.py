"""Many targets at once against one target at a time, at any thread count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import leakscore
from leakscore import Reference, scores
from tests.oracles import scores as oracle

DIM, RELEASES, TARGETS, N = 3001, 517, 13, 100
TOLERANCE = {np.float32: 2e-6, np.float64: 1e-13}  # of the score's standard deviation


def on_any_threads(score: Callable[[], Any]) -> Any:
    """Return what a score is on 1, 2 and 8 threads: the same bits."""
    before = leakscore.get_num_threads()
    results = []
    for count in (1, 2, 8):
        leakscore.set_num_threads(count)
        results.append(score())
    leakscore.set_num_threads(before)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    return results[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("score", [scores.covariance_score, scores.gaussian_llr])
def test_packed_products(score, dtype):
    rng = np.random.default_rng(0)
    reference = Reference(np.full(DIM, 3.0), np.full(DIM, 2.0))
    releases = (3 + rng.normal(size=(RELEASES, DIM))).astype(dtype)
    targets = rng.normal(size=(TARGETS, DIM))
    together = on_any_threads(lambda: score(releases, targets, reference, N, noise_std=0.1))
    alone = np.stack([score(releases, z, reference, N, noise_std=0.1) for z in targets], axis=1)
    assert np.abs(together - alone).max() <= TOLERANCE[dtype] * alone.std()


# One column, fewer than eight, whole and broken leaves and pairs of halves, several blocks of rows
# and of columns.
@pytest.mark.parametrize(
    ("releases", "targets", "dim"),
    [(1, 3, 1), (2, 5, 7), (3, 300, 128), (1, 4, 1037), (70, 150, 4096), (40, 3, 9001)],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_homer_to_the_last_bit(dtype: type, releases: int, targets: int, dim: int) -> None:
    rng = np.random.default_rng(1)
    p, z = rng.random(dim), rng.integers(0, 3, size=(targets, dim)) / 2
    x = rng.random((releases, dim)).astype(dtype)
    expected = oracle.homer_distance(x, z, p)
    found = on_any_threads(lambda: scores.homer_distance(x, z, p))
    np.testing.assert_array_equal(found, expected)
    wide = np.zeros((releases, 2 * dim), dtype)
    wide[:, ::2] = x
    others = (z * 2).astype(np.int8)
    for table in (wide[:, ::2], np.asfortranarray(x), x.astype(x.dtype.newbyteorder())):
        np.testing.assert_array_equal(scores.homer_distance(table, z, p), expected)
    expected = oracle.homer_distance(x, others, p)
    np.testing.assert_array_equal(scores.homer_distance(x, others, p), expected)


# More targets than a block takes, and rows enough to share the threads for one target.
@pytest.mark.parametrize(
    ("releases", "targets", "dim"), [(1, 4000, 30), (9, 50, 700), (90, 3, 4000)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_glir_to_the_last_bit(dtype: type, releases: int, targets: int, dim: int) -> None:
    rng = np.random.default_rng(2)
    reference = Reference(rng.random(dim), 1 + rng.random(dim))
    x = (0.2 * rng.normal(size=(releases, dim))).astype(dtype)
    z = rng.normal(size=(targets, dim)).astype(dtype)
    found = on_any_threads(lambda: scores.glir(x, z, reference, 30))
    np.testing.assert_array_equal(found, oracle.glir(x, z, reference, 30))
    x, z = np.asfortranarray(x), np.asfortranarray(z)  # sums of columns have an order of their own
    expected = oracle.glir(x, z, reference, 30)
    np.testing.assert_array_equal(scores.glir(x, z, reference, 30), expected)


def test_glir_of_a_full_covariance_to_the_last_bit() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 40)) @ rng.normal(size=(40, 40))
    reference, x, z = Reference.fit(X), X[:7] / 5, X[40:60].astype(np.float32)
    expected = oracle.glir(x, z, reference, 30)
    np.testing.assert_array_equal(scores.glir(x, z, reference, 30), expected)


def test_glir_where_squares_overflow() -> None:
    """A target beyond the square root of the largest double is found one by one."""
    reference = Reference(np.zeros(2), np.full(2, 1e306))
    x, z = np.array([[1e153, 0.0], [2e155, 0.0]]), np.array([[1e152, 0.0], [1e155, 1.0]])
    found = scores.glir(x, z, reference, 2)
    np.testing.assert_array_equal(found, oracle.glir(x, z, reference, 2))
    assert np.isfinite(found).all()
