"""Sub-sampled ratio, GLiR, Z-estimators: against high precision, and their laws by simulation."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from scipy import stats

from leakscore import Reference, SingularCovarianceError
from leakscore.scores import covariance_score, gaussian_llr, glir, subsampled_llr, z_estimator_llr

LLRS = [-1e9, -800.0, -40.0, -3.0, -1.0, -1e-9, 1e-300, 1e-9, 0.5, 3.0, 40.0, 699.0, 720.0, 1e9]


@pytest.mark.parametrize("rate", [1e-300, 1e-12, 0.1, 0.5, 0.999, 1 - 2.0**-53, 1.0])
def test_subsampled_llr(rate: float) -> None:
    with mpmath.workdps(700):
        for llr, value in zip(LLRS, subsampled_llr(LLRS, rate), strict=True):
            truth = mpmath.log((1 - mpf(rate)) + mpf(rate) * mpmath.exp(mpf(llr)))
            assert abs(mpf(value) - truth) <= 4e-15 * abs(truth) + mpf(2) ** -1074, llr


def test_subsampled_llr_of_infinite_ratios() -> None:
    assert subsampled_llr(np.inf, 0.5) == np.inf
    assert subsampled_llr(-np.inf, 0.25) == np.log1p(-0.25)
    assert subsampled_llr(-np.inf, 1.0) == -np.inf
    with pytest.raises(ValueError, match="llr"):
        subsampled_llr([0.0, np.nan], 0.5)


def test_glir_against_scipy() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6))
    reference = Reference.fit(X)
    x, z = X[:5] / 3, X[7:10]
    scores = glir(x, z, reference, 12)
    for t in range(5):
        for k in range(3):
            S = 12 * (x[t] - z[k]) @ np.linalg.solve(reference.cov, x[t] - z[k])
            law = stats.ncx2(6, 12 * reference.squared_mahalanobis(z[k]))
            assert scores[t, k] == pytest.approx(-np.log(law.cdf(S)), rel=1e-9)
    # For one target it orders releases as the exact ratio does.
    for k in range(3):
        assert (np.argsort(scores[:, k]) == np.argsort(gaussian_llr(x, z[k], reference, 12))).all()


@pytest.mark.parametrize("noise_std", [0.0, 0.4])
def test_glir_is_exponential_without_the_target(noise_std: float) -> None:
    """The printed factor n - 1 for n leaves a distance of 0.4."""
    rng = np.random.default_rng(1)
    rounds, d, n = 4000, 30, 8
    x = rng.normal(size=(rounds, d)) * np.sqrt(1 / n + noise_std**2)
    reference = Reference(np.zeros(d), np.ones(d))
    scores = glir(x, 1.5 * rng.normal(size=d), reference, n, noise_std=noise_std)
    assert stats.kstest(scores, "expon").pvalue > 1e-4


def test_z_estimator_of_a_mean_is_the_covariance_score() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4)) + 1
    reference = Reference.fit(X)
    x, z = X[:6] / 7 + 1, X[6:9]
    scores = z_estimator_llr(x, z - reference.mean, reference.cov, reference.mean, 20)
    np.testing.assert_allclose(scores, covariance_score(x, z, reference, 20), rtol=1e-10)


def test_z_estimator_laws_in_a_regression() -> None:
    """Ordinary least squares: laws N(-+m/2, m) as for a mean."""
    rng = np.random.default_rng(3)
    rounds, n, k = 1000, 400, 5
    theta = np.arange(1.0, k + 1)
    record, response = np.full(k, 3.0), float(np.full(k, 3.0) @ theta) + 3.0
    influence = record * 3.0  # E x x' is the identity, and so is the sandwich with unit noise
    m = influence @ influence / n
    for member in (False, True):
        estimates = np.empty((rounds, k))
        for i in range(rounds):
            x = rng.normal(size=(n, k))
            y = x @ theta + rng.normal(size=n)
            if member:
                x[0], y[0] = record, response
            estimates[i] = np.linalg.solve(x.T @ x, x.T @ y)
        scores = z_estimator_llr(estimates, influence, np.ones(k), theta, n)
        # n = 400 leaves a bias of order 1/sqrt(n) beside the sampling error of the mean.
        sign = 1 if member else -1
        assert abs(scores.mean() - sign * m / 2) < 4 * np.sqrt(m / rounds) + 2 * m / np.sqrt(n)


def test_z_estimator_input() -> None:
    with pytest.raises(SingularCovarianceError, match="influence_covariance"):
        z_estimator_llr([1.0, 2.0], [1.0, 1.0], [[1.0, 1.0], [1.0, 1.0]], [0.0, 0.0], 10)
    with pytest.raises(ValueError, match="influence_covariance"):
        z_estimator_llr([1.0, 2.0], [1.0, 1.0], [[1.0, 3.0], [3.0, 1.0]], [0.0, 0.0], 10)
    for cov, message in (
        ([[0.0, 1.0], [1.0, 1.0]], "of variance 0 has a covariance$"),
        ([[1.0, 0.5], [0.1, 1.0]], r"symmetric: influence_covariance\[0, 1\]=0.5"),
    ):
        with pytest.raises(ValueError, match=message):
            z_estimator_llr([1.0, 2.0], [1.0, 1.0], cov, [0.0, 0.0], 10)
