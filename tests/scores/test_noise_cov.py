"""Noise with a covariance: the exact laws written out, and noise_std where it is diagonal."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from leakscore import Reference, SingularCovarianceError
from leakscore.distributions import ncx2
from leakscore.leakage import (
    attribute_leakage,
    cross_leakage,
    leakage_score,
    members_to_disclose,
    posterior_std,
    release_leakage,
)
from leakscore.scores import covariance_score, gaussian_llr, glir
from leakscore.sequential import gradient_llr, sgd_llr
from leakscore.whitebox import covariance_attack

D, N = 4, 7
KINDS = ("diagonal", "full", "low-rank")
NEIGHBOURS = ("replace", "add-remove")
each_kind = pytest.mark.parametrize("kind", KINDS)


def case(kind: str) -> tuple[Reference, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a reference, its matrix, a factor of the noise, releases and targets."""
    rng = np.random.default_rng(KINDS.index(kind))
    mean, thin = rng.normal(size=D), rng.normal(size=(D, 2))
    variances = rng.uniform(0.5, 2, size=D)
    if kind == "low-rank":
        reference = Reference.low_rank(mean, variances, thin)
    else:
        cov = variances if kind == "diagonal" else np.diag(variances) + thin @ thin.T
        reference = Reference(mean, cov)
    matrix = np.diag(reference.cov) if reference.cov.ndim == 1 else reference.cov
    releases = mean + 0.4 * rng.normal(size=(5, D))
    return reference, matrix, 0.3 * rng.normal(size=(D, 1)), releases, rng.normal(size=(3, D))


def forms(factor: np.ndarray) -> list[dict[str, Any]]:
    return [{"noise_cov": factor @ factor.T}, {"noise_factor": factor}]


@each_kind
def test_leakage_by_the_formula(kind: str) -> None:
    reference, C, F, _, Z = case(kind)
    S, e = F @ F.T, Z - reference.mean
    K = C + N * S
    M = e @ np.linalg.solve(K, e.T) / N
    for noise in forms(F):
        np.testing.assert_allclose(leakage_score(Z, reference, N, **noise), M.diagonal(), 1e-12)
        np.testing.assert_allclose(cross_leakage(Z, Z, reference, N, **noise), M, 1e-11)
        added = Z @ np.linalg.solve((N - 1) * C / N**2 + S, Z.T) / N**2
        found = leakage_score(Z, reference, N, neighbours="add-remove", **noise)
        np.testing.assert_allclose(found, added.diagonal(), 1e-12)


@each_kind
def test_releases_of_a_growing_table(kind: str) -> None:
    reference, C, F, _, Z = case(kind)
    counts = np.array([5, 9, 20])
    joint = np.kron(1 / np.maximum.outer(counts, counts), C) + np.kron(np.eye(3), F @ F.T)
    for step in range(3):
        shift = np.concatenate(
            [
                (Z[0] - reference.mean) / n if t >= step else np.zeros(D)
                for t, n in enumerate(counts)
            ]
        )
        expected = shift @ np.linalg.solve(joint, shift)
        for noise in forms(F):
            found = release_leakage(Z[0], reference, counts, step=step, **noise)
            assert found == pytest.approx(expected, rel=1e-10)


@each_kind
def test_scores_are_the_ratios_of_the_two_laws(kind: str) -> None:
    reference, C, F, X, Z = case(kind)
    mu, S = reference.mean, F @ F.T
    within, out = (N - 1) * C / N**2 + S, C / N + S
    exact, removed, limit, quantile = (np.empty((5, 3)) for _ in range(4))
    for k, z in enumerate(Z):
        inside = multivariate_normal(mu + (z - mu) / N, within).logpdf(X)
        exact[:, k] = inside - multivariate_normal(mu, out).logpdf(X)
        none = multivariate_normal((N - 1) * mu / N, within).logpdf(X)
        removed[:, k] = multivariate_normal((N - 1) * mu / N + z / N, within).logpdf(X) - none
        w = np.linalg.solve(C + N * S, z - mu)
        limit[:, k] = (X - mu) @ w - (z - mu) @ w / (2 * N)
        gap = N * np.einsum("ij,ji->i", X - z, np.linalg.solve(C + N * S, (X - z).T))
        quantile[:, k] = -ncx2.logcdf(gap, D, N * float((z - mu) @ w))
    for noise in forms(F):
        np.testing.assert_allclose(gaussian_llr(X, Z, reference, N, **noise), exact, 1e-10)
        found = gaussian_llr(X, Z, reference, N, neighbours="add-remove", **noise)
        np.testing.assert_allclose(found, removed, 1e-10, 1e-12)
        np.testing.assert_allclose(covariance_score(X, Z, reference, N, **noise), limit, 1e-11)
        np.testing.assert_allclose(glir(X, Z, reference, N, **noise), quantile, 1e-9)
        pairs = gaussian_llr(X[:3], Z, reference, N, paired=True, **noise)
        np.testing.assert_allclose(pairs, exact[:3].diagonal(), 1e-10)
        steps = gradient_llr(X, Z[0], reference, N, **noise)
        np.testing.assert_allclose(steps, exact[:, 0], 1e-10)
        theta = np.vstack([np.zeros(D), -np.cumsum(X, axis=0)])
        found = sgd_llr(theta, Z[0], reference, 1.0, N, **noise)
        np.testing.assert_allclose(found, exact[:, 0], 1e-9)
        found = covariance_attack(theta, np.tile(Z[0], (5, 1)), reference, 1.0, N, **noise)
        np.testing.assert_allclose(found, limit[:, 0], 1e-9)


def parameters(X: np.ndarray) -> np.ndarray:
    """Parameters whose steps at rate 1 are -X."""
    return np.vstack([np.zeros(D), -np.cumsum(X, axis=0)])


CALLS: dict[str, Callable[..., Any]] = {
    "leakage_score": lambda R, X, Z, **noise: leakage_score(Z, R, N, **noise),
    "cross_leakage": lambda R, X, Z, **noise: cross_leakage(Z, Z, R, N, **noise),
    "release_leakage": lambda R, X, Z, **noise: release_leakage(Z, R, [5, 9], step=1, **noise),
    "attribute_leakage": lambda R, X, Z, **noise: attribute_leakage(X[: len(Z)], Z, R, N, **noise),
    "posterior_std": lambda R, X, Z, **noise: posterior_std(R, N, 0, **noise),
    "members_to_disclose": lambda R, X, Z, **noise: members_to_disclose(R, N, 0, 0.7, **noise),
    "covariance_score": lambda R, X, Z, **noise: covariance_score(X, Z, R, N, **noise),
    "gaussian_llr": lambda R, X, Z, **noise: gaussian_llr(X, Z, R, N, **noise),
    "glir": lambda R, X, Z, **noise: glir(X, Z, R, N, **noise),
    "gradient_llr": lambda R, X, Z, **noise: gradient_llr(X, Z[0], R, N, **noise),
    "sgd_llr": lambda R, X, Z, **noise: sgd_llr(parameters(X), Z[0], R, 1.0, N, **noise),
    "covariance_attack": lambda R, X, Z, **noise: covariance_attack(
        parameters(X), np.tile(Z[0], (5, 1)), R, 1.0, N, **noise
    ),
}
DRAWN = {"EmpiricalMean", "sequential"}  # tests/games


def test_no_function_with_noise_is_forgotten() -> None:
    rooms = ("games", "leakage", "scores", "sequential", "shadow", "tradeoff", "whitebox")
    taking = {
        name
        for room in rooms
        for name, found in vars(importlib.import_module(f"leakscore.{room}")).items()
        if inspect.isfunction(found) or inspect.isclass(found)
        if {"noise_cov", "noise_factor"} & set(inspect.signature(found).parameters)
    }
    assert taking == set(CALLS) | DRAWN


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@each_kind
def test_diagonal_noise_is_noise_std(kind: str, call: Callable[..., Any]) -> None:
    reference, _, _, X, Z = case(kind)
    std = np.array([0.1, 0.0, 2.0, 0.3])
    expected = call(reference, X, Z, noise_std=std)
    nearly = np.diag(std**2)
    nearly[0, 2] = nearly[2, 0] = 1e-300  # not diagonal: the way of matrices
    for noise in (
        {"noise_cov": np.diag(std**2)},
        {"noise_cov": nearly},
        {"noise_factor": np.diag(std)},
        {"noise_factor": np.diag(std)[:, [0, 2, 3]]},
    ):
        np.testing.assert_allclose(call(reference, X, Z, **noise), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(
        call(reference, X, Z, noise_factor=np.zeros((D, 0))), call(reference, X, Z)
    )


def test_noise_of_large_and_tiny_size_loses_no_digits() -> None:
    """log det of nearly equal matrices: against the ratio for noise that is diagonal."""
    reference, _, _, X, Z = case("full")
    for std in (1e-9, 1e-4, 1e3):
        expected = gaussian_llr(X, Z, reference, 10**6, noise_std=std)
        found = gaussian_llr(X, Z, reference, 10**6, noise_factor=std * np.eye(D))
        turned = np.linalg.qr(np.random.default_rng(0).normal(size=(D, D)))[0]
        also = gaussian_llr(X, Z, reference, 10**6, noise_factor=std * turned)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(also, expected, rtol=1e-9, atol=1e-14)


def test_singular_covariances_with_noise_where_it_is_needed() -> None:
    line = Reference([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]])
    across = np.array([[1.0], [-1.0]])
    assert leakage_score([2.0, 0.0], line, 5, noise_factor=across) == pytest.approx(
        np.array([2.0, 0.0]) @ np.linalg.solve([[6.0, -4.0], [-4.0, 6.0]], [2.0, 0.0]) / 5
    )
    with pytest.raises(SingularCovarianceError):
        leakage_score([2.0, 0.0], line, 5, noise_factor=[[1.0], [1.0]])
    with pytest.raises(SingularCovarianceError):
        gaussian_llr([0.1, 0.2], [2.0, 0.0], line, 5, noise_factor=[[1.0], [1.0]])


def test_many_columns_stay_of_low_rank() -> None:
    rng = np.random.default_rng(0)
    d = 20_000
    factor, thin = 0.1 * rng.normal(size=(d, 2)), rng.normal(size=(d, 3))
    for reference in (
        Reference(np.zeros(d), np.ones(d)),
        Reference.low_rank(np.zeros(d), 1.0, thin),
    ):
        z = rng.normal(size=d)
        rows = np.hstack(
            [np.sqrt(9) * factor, thin if reference.kind == "low-rank" else factor[:, :0]]
        )
        small = np.eye(rows.shape[1]) + rows.T @ rows  # Woodbury, by hand
        expected = (z @ z - (z @ rows) @ np.linalg.solve(small, rows.T @ z)) / 9
        found = leakage_score(z, reference, 9, noise_factor=factor)
        assert found == pytest.approx(expected, rel=1e-9)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"noise_cov": np.ones((D, D - 1))}, r"noise_cov of shape \(4, 3\)"),
    ({"noise_cov": np.ones(D)}, r"noise_cov of shape \(4,\)"),
    ({"noise_cov": np.triu(np.ones((D, D)))}, "noise_cov must be symmetric"),
    ({"noise_cov": 2 * np.eye(D) - np.ones((D, D))}, "noise_cov must be positive semidefinite"),
    ({"noise_cov": -np.eye(D)}, r"noise_cov\[0, 0\]=-1.0"),
    ({"noise_cov": np.full((D, D), np.nan)}, "noise_cov must be finite"),
    ({"noise_cov": np.full((D, D), np.inf)}, "noise_cov must be finite"),
    ({"noise_factor": np.ones((D + 1, 2))}, r"noise_factor of shape \(5, 2\)"),
    ({"noise_factor": np.ones(D)}, r"noise_factor of shape \(4,\)"),
    ({"noise_factor": np.full((D, 2), np.inf)}, "noise_factor must be finite"),
    ({"noise_factor": np.full((D, 2), 1e200)}, "noise_factor"),
    ({"noise_cov": np.eye(D), "noise_std": 1.0}, "One kind of noise"),
    ({"noise_cov": np.eye(D), "noise_factor": np.eye(D)}, "One kind of noise"),
]


@pytest.mark.parametrize("name", ["leakage_score", "gaussian_llr", "gradient_llr"])
@pytest.mark.parametrize(("noise", "named"), BAD)
def test_what_is_refused(noise: dict[str, Any], named: str, name: str) -> None:
    reference, _, _, X, Z = case("full")
    with pytest.raises(ValueError, match=named):
        CALLS[name](reference, X, Z, **noise)
