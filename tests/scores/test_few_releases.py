"""One release or a few against many targets, and rows of every length, in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import Reference, scores
from tests.scores.test_many import on_any_threads

Array = np.ndarray[Any, Any]
N = 50
LENGTHS = [1, 7, 8, 9, 16, 23, 127, 128, 129, 2049, 4103]


def long(*arrays: Array) -> list[Array]:
    return [array.astype(np.longdouble) for array in arrays]


def by_definition(name: str, x: Array, z: Array, mean: Array, variance: Array, std: float) -> Array:
    """Return the score (T, k) of independent coordinates, term by term."""
    x, z, mean, variance = long(x[:, np.newaxis], z[np.newaxis], mean, variance)
    if name == "scalar_product":
        return ((z - mean) * x).sum(axis=-1)
    noise = N * np.longdouble(std) ** 2
    out, within = variance + noise, variance * (N - 1) / N + noise
    gap, away = x - mean, z - mean
    if name == "covariance_score":
        return (away * gap / out - away**2 / (2 * N * out)).sum(axis=-1)
    if name == "add_remove":
        return (z * (x - mean * (N - 1) / N) / within - z**2 / (2 * N * within)).sum(axis=-1)
    inner = gap - away / N
    return (gap**2 * N / out - inner**2 * N / within + np.log(out / within)).sum(axis=-1) / 2


def score(name: str, x: Array, z: Array, mean: Array, variance: Array, std: float) -> Array:
    if name == "scalar_product":
        return scores.scalar_product(x, z, mean)
    reference = Reference(mean, variance)
    if name == "add_remove":
        return scores.gaussian_llr(x, z, reference, N, noise_std=std, neighbours="add-remove")
    return getattr(scores, name)(x, z, reference, N, noise_std=std)


@pytest.mark.parametrize(
    "name", ["covariance_score", "gaussian_llr", "add_remove", "scalar_product"]
)
@pytest.mark.parametrize(("releases", "targets", "dim"), [(1, 16, 33), (3, 300, 2050), (40, 90, 7)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_pass_over_the_targets_for_each_release(
    name: str, releases: int, targets: int, dim: int, dtype: type
) -> None:
    rng = np.random.default_rng(5)
    mean, variance = 3 + rng.normal(size=dim), rng.uniform(0.5, 2, dim)
    x = (mean + rng.normal(size=(releases, dim)) / 7).astype(dtype)
    z = (mean + rng.normal(size=(targets, dim))).astype(dtype)
    expected = by_definition(name, x, z, mean, variance, 0.1)
    found = on_any_threads(lambda: score(name, x, z, mean, variance, 0.1))
    assert np.abs(found - expected).max() <= 2e-13 * expected.std()
    for table in (np.asfortranarray(z), np.repeat(z, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(score(name, x, table, mean, variance, 0.1), found)


def test_an_inverse_that_overflows_costs_no_score() -> None:
    mean, variance = np.zeros(2), np.array([1.0, 1e-309])
    x, z = np.array([0.5, 0.0]), np.zeros((20, 2))
    z[:, 0] = np.arange(20)
    found = scores.covariance_score(x, z, Reference(mean, variance), 10)
    np.testing.assert_allclose(found, z[:, 0] / 2 - z[:, 0] ** 2 / 20, rtol=1e-15)


@pytest.mark.parametrize("dim", LENGTHS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bernoulli_of_every_length(dim: int, dtype: type) -> None:
    rng = np.random.default_rng(6)
    p, x = rng.uniform(0.1, 0.9, dim), rng.uniform(0.05, 0.95, (21, dim)).astype(dtype)
    z = rng.random((21, dim)) < 0.5
    wide = x.astype(np.longdouble)
    ones, zeros = np.log(wide) - np.log(p), np.log1p(-wide) - np.log1p(-p)
    expected = np.where(z, ones, zeros).sum(axis=1)
    found = on_any_threads(lambda: scores.bernoulli_llr(x, z, p, paired=True))
    scale = np.sqrt(dim)
    np.testing.assert_allclose(found, expected.astype(float), rtol=0, atol=2e-14 * scale)
    expected = np.where(z[3], ones, zeros).sum(axis=1)
    found = on_any_threads(lambda: scores.bernoulli_llr(x, z[3], p))
    np.testing.assert_allclose(found, expected.astype(float), rtol=0, atol=2e-14 * scale)
    expected = np.where(z, ones[3], zeros[3]).sum(axis=1)
    found = on_any_threads(lambda: scores.bernoulli_llr(x[3], z, p))
    np.testing.assert_allclose(found, expected.astype(float), rtol=0, atol=2e-14 * scale)


@pytest.mark.parametrize("bad", [(0, 0), (9, 128), (18, 2047), (20, 2052)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bernoulli_finds_one_bad_element(bad: tuple[int, int], dtype: type) -> None:
    p, x = np.full(2053, 0.5), np.full((21, 2053), 0.25, dtype)
    z = np.ones((21, 2053), np.uint8)
    wrong, mean = z.copy(), x.copy()
    wrong[bad], mean[bad] = 2, np.nextafter(dtype(1), dtype(2))
    with pytest.raises(ValueError, match="target"):
        scores.bernoulli_llr(x, wrong, p, paired=True)
    with pytest.raises(ValueError, match="target"):
        scores.bernoulli_llr(x[0], wrong.astype(dtype), p)
    for kind in ({"paired": True}, {}):
        with pytest.raises(ValueError, match="observed"):
            scores.bernoulli_llr(mean, z if kind else z[0], p, **kind)
