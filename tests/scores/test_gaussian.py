"""gaussian_llr against the densities it is the ratio of."""

from __future__ import annotations

import numpy as np
import pytest

import leakscore
from leakscore import Reference, scores
from tests.oracles import scores as oracle


def problem(dim: int, n: int, seed: int = 0, rows: int = 3, targets: int = 2):
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=dim)
    root = rng.normal(size=(dim, dim))
    cov = root @ root.T / dim + np.diag(rng.uniform(0.5, 1.5, dim))
    z = mean + rng.normal(size=(targets, dim)) @ np.linalg.cholesky(cov).T
    x = mean + rng.normal(size=(rows, dim)) @ np.linalg.cholesky(cov).T / np.sqrt(n)
    return x, z, mean, cov


@pytest.mark.parametrize("kind", ["diagonal", "full"])
@pytest.mark.parametrize("noise_std", [0.0, 0.1, "each"])
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("dim", [1, 4])
@pytest.mark.parametrize("n", [2, 7, 1_000_000_000])
def test_it_is_the_ratio_of_the_densities(kind, noise_std, neighbours, dim, n) -> None:
    x, z, mean, cov = problem(dim, n)
    cov = np.diag(cov).copy() if kind == "diagonal" else cov
    noise = np.linspace(0.0, 0.3, dim) / np.sqrt(n) if noise_std == "each" else noise_std
    reference = Reference(mean, cov)
    result = scores.gaussian_llr(x, z, reference, n, noise_std=noise, neighbours=neighbours)
    assert result.shape == (3, 2)
    truth = [[oracle.gaussian_llr(a, b, mean, cov, n, noise, neighbours) for b in z] for a in x]
    scale = np.sqrt(leakscore.leakage.leakage_score(z, reference, n, noise_std=noise))
    # The determinants of two matrices are compared by their logarithms unless they are close.
    rounding = 0.0 if kind == "diagonal" or n > 1000 else 2e-15 * dim
    np.testing.assert_allclose(
        result, truth, rtol=1e-12, atol=1e-13 * min(1, scale.max()) + rounding
    )


@pytest.mark.parametrize("kind", ["diagonal", "full"])
@pytest.mark.parametrize("noise_std", [0.0, 0.2])
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_many_targets_are_as_few(kind, noise_std, neighbours) -> None:
    x, z, mean, cov = problem(5, 20, rows=40, targets=600)
    reference = Reference(mean, np.diag(cov) if kind == "diagonal" else cov)
    kwargs = {"noise_std": noise_std, "neighbours": neighbours}
    many = scores.gaussian_llr(x, z, reference, 20, **kwargs)
    for k in (0, 5, 599):
        few = scores.gaussian_llr(x, z[k], reference, 20, **kwargs)
        assert few.shape == (40,)
        np.testing.assert_allclose(many[:, k], few, rtol=1e-12, atol=1e-13)
    one = scores.gaussian_llr(x[3], z, reference, 20, **kwargs)
    np.testing.assert_allclose(one, many[3], rtol=1e-12, atol=1e-13)
    pairs = scores.gaussian_llr(x, z[:40], reference, 20, paired=True, **kwargs)
    np.testing.assert_allclose(pairs, np.diag(many), rtol=1e-12, atol=1e-13)
    alone = scores.gaussian_llr(x[3], z[3], reference, 20, **kwargs)
    assert isinstance(alone, float)
    assert alone == pytest.approx(pairs[3], rel=1e-12)


@pytest.mark.parametrize("noise_std", [0.0, 0.02])
def test_two_hundred_thousand_coordinates_lose_nothing(noise_std) -> None:
    rng = np.random.default_rng(1)
    dim, n = 200_000, 1000
    mean, variance = rng.normal(size=dim), rng.uniform(0.5, 2.0, dim)
    z = mean + np.sqrt(variance) * rng.normal(size=dim)
    x = mean + np.sqrt(variance / n) * rng.normal(size=(3, dim))
    result = scores.gaussian_llr(x, z, Reference(mean, variance), n, noise_std=noise_std)
    truth = [oracle.gaussian_llr_long(row, z, mean, variance, n, noise_std) for row in x]
    np.testing.assert_allclose(result, truth, rtol=1e-11)


def test_noise_makes_up_for_a_singular_covariance() -> None:
    mean, z, x = np.zeros(3), np.array([1.0, 2.0, 0.5]), np.array([0.1, 0.3, -0.2])
    diagonal = np.array([1.0, 0.0, 2.0])
    full = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    for cov in (diagonal, full):
        truth = oracle.gaussian_llr(x, z, mean, cov, 9, 0.3, "replace")
        result = scores.gaussian_llr(x, z, Reference(mean, cov), 9, noise_std=0.3)
        assert result == pytest.approx(truth, rel=1e-12)
        with pytest.raises(leakscore.SingularCovarianceError, match="noise_std"):
            scores.gaussian_llr(x, z, Reference(mean, cov), 9)
        with pytest.raises(leakscore.SingularCovarianceError, match="noise_std"):
            scores.gaussian_llr(x, np.tile(z, (20, 1)), Reference(mean, cov), 9)
    only_there = np.array([0.0, 0.4, 0.0])
    truth = oracle.gaussian_llr(x, z, mean, diagonal, 9, only_there, "replace")
    result = scores.gaussian_llr(x, z, Reference(mean, diagonal), 9, noise_std=only_there)
    assert result == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_mean_of_the_ratio_under_both_hypotheses(kind) -> None:
    """Closed form: -(d/2) log(1-1/n) - d/(2(n-1)) - M/(2(n-1)), and its twin under H1."""
    rng = np.random.default_rng(2)
    dim, n, rounds = 3, 10, 200_000
    _, z, mean, cov = problem(dim, n)
    cov = np.diag(np.diag(cov)) if kind == "diagonal" else cov
    reference = Reference(mean, np.diag(cov) if kind == "diagonal" else cov)
    m = reference.squared_mahalanobis(z[0])
    noise = rng.normal(size=(rounds, dim)) @ np.linalg.cholesky(cov).T
    outside = scores.gaussian_llr(mean + noise / np.sqrt(n), z[0], reference, n)
    inside = mean + (z[0] - mean) / n + noise * np.sqrt(n - 1) / n
    inside = scores.gaussian_llr(inside, z[0], reference, n)
    constant = -dim / 2 * np.log1p(-1 / n)
    for found, expected in (
        (outside, constant - (dim + m) / (2 * (n - 1))),
        (inside, constant - dim / (2 * n) + m / (2 * n)),
    ):
        assert abs(found.mean() - expected) < 4 * found.std() / np.sqrt(rounds)
    # exp(ratio) has mean 1 without the target, as every likelihood ratio has
    ratio = np.exp(outside)
    assert abs(ratio.mean() - 1) < 4 * ratio.std() / np.sqrt(rounds)
