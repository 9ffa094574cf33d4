"""covariance_score, scalar_product and oracle_threshold."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from leakscore import Reference, leakage, scores
from tests.oracles import scores as oracle
from tests.scores.test_gaussian import problem


@pytest.mark.parametrize("kind", ["diagonal", "full"])
@pytest.mark.parametrize("noise_std", [0.0, 0.1])
@pytest.mark.parametrize("dim", [1, 4])
@pytest.mark.parametrize("n", [2, 1000])
def test_it_is_the_formula(kind, noise_std, dim, n) -> None:
    x, z, mean, cov = problem(dim, n, seed=3, rows=4, targets=20)
    cov = np.diag(cov).copy() if kind == "diagonal" else cov
    reference = Reference(mean, cov)
    truth = [[oracle.covariance_score(a, b, mean, cov, n, noise_std) for b in z] for a in x]
    many = scores.covariance_score(x, z, reference, n, noise_std=noise_std)
    np.testing.assert_allclose(many, truth, rtol=1e-11, atol=1e-13)
    few = scores.covariance_score(x, z[:3], reference, n, noise_std=noise_std)
    np.testing.assert_allclose(few, many[:, :3], rtol=1e-11, atol=1e-13)
    pairs = scores.covariance_score(x, z[:4], reference, n, noise_std=noise_std, paired=True)
    np.testing.assert_allclose(pairs, np.diag(many), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_without_the_target_in_place_it_is_the_exact_ratio(kind) -> None:
    x, z, mean, cov = problem(4, 30)
    reference = Reference(mean, np.diag(cov) if kind == "diagonal" else cov)
    kwargs = {"noise_std": 0.05, "neighbours": "add-remove"}
    np.testing.assert_array_equal(
        scores.covariance_score(x, z, reference, 30, **kwargs),
        scores.gaussian_llr(x, z, reference, 30, **kwargs),
    )


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_its_law_is_normal_with_the_leakage_score(neighbours) -> None:
    """N(-m/2, m) without and N(m/2, m) with the target; the threshold holds its level."""
    rng = np.random.default_rng(4)
    dim, n, rounds, noise_std = 40, 1000, 40_000, 0.01
    mean, variance = rng.normal(size=dim), rng.uniform(0.5, 2.0, dim)
    reference = Reference(mean, variance)
    z = mean + 12 * np.sqrt(variance) * rng.normal(size=dim)
    kwargs = {"noise_std": noise_std, "neighbours": neighbours}
    m = leakage.leakage_score(z, reference, n, **kwargs)
    assert 2 < m < 20
    others = mean if neighbours == "replace" else (n - 1) / n * mean
    shift = (z - mean) / n if neighbours == "replace" else z / n
    draws = rng.normal(size=(rounds, dim)) * np.sqrt(variance * (n - 1) / n**2 + noise_std**2)
    outside = scores.covariance_score(others + draws, z, reference, n, **kwargs)
    inside = scores.covariance_score(others + shift + draws, z, reference, n, **kwargs)
    for found, expected in ((outside, -m / 2), (inside, m / 2)):
        assert abs(found.mean() - expected) < 4 * np.sqrt(m / rounds)
        # n - 1 of the n records vary, a relative 1/n below m: within the error of the variance
        assert abs(found.var() - m) < 4 * m * np.sqrt(2 / rounds)
    level = (outside > scores.oracle_threshold(0.05, m)).mean()
    assert abs(level - 0.05) < 4 * np.sqrt(0.05 * 0.95 / rounds)


@pytest.mark.parametrize("k", [1, 3, 40])
@pytest.mark.parametrize("dim", [1, 30, 5000])
def test_scalar_product(k, dim) -> None:
    rng = np.random.default_rng(dim)
    x, z, point = rng.normal(size=(6, dim)), rng.normal(size=(k, dim)), rng.normal(size=dim)
    truth = x @ (z - point).T
    result = scores.scalar_product(x, z, point)
    np.testing.assert_allclose(result, truth, rtol=1e-12, atol=1e-12 * np.sqrt(dim))
    assert scores.scalar_product(x, z[0], point).shape == (6,)
    assert scores.scalar_product(x[0], z, point).shape == (k,)
    if k == 3:
        pairs = scores.scalar_product(x[:3], z, point, paired=True)
        np.testing.assert_allclose(pairs, np.diag(truth[:3]), rtol=1e-12, atol=1e-11)
    with pytest.raises(ValueError, match="reference_point"):
        scores.scalar_product(x, z, np.where(np.arange(dim) == 0, np.nan, point))


def test_oracle_threshold() -> None:
    alpha = np.array([1e-300, 1e-6, 0.05, 0.5, 1 - 1e-9])
    m = np.array([[1e-6], [1.0], [30.0]])
    with mpmath.workdps(40):
        for row, leak in zip(scores.oracle_threshold(alpha, m), m[:, 0], strict=True):
            for value, level in zip(row, alpha, strict=True):
                gap = (mpmath.mpf(value) + mpmath.mpf(leak) / 2) / mpmath.sqrt(leak)
                above = mpmath.erfc(gap / mpmath.sqrt(2)) / 2
                assert abs(above / mpmath.mpf(level) - 1) < 1e-10
    assert scores.oracle_threshold(0.0, 1.0) == np.inf
    assert scores.oracle_threshold(1.0, 1.0) == -np.inf
    assert scores.oracle_threshold(0.3, 0.0) == 0.0
    assert np.isnan(scores.oracle_threshold([np.nan, 0.5], [1.0, np.nan])).all()
    assert isinstance(scores.oracle_threshold(0.3, 2), float)
    for alpha_, m_, message in (
        (-0.1, 1.0, r"alpha=-0\.1 must be in \[0, 1\]"),
        (1.1, 1.0, "alpha=1.1"),
        (0.5, [1.0, -1.0], r"m\[1\]=-1\.0 must be in \[0, inf"),
        ([0.1, 0.2], [1.0, 2.0, 3.0], "alpha of shape .* and m of shape"),
    ):
        with pytest.raises(ValueError, match=message):
            scores.oracle_threshold(alpha_, m_)
