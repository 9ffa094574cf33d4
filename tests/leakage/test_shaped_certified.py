"""The certificate of shaped noise, recomputed from the answer alone; records far out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import Reference
from leakscore.leakage import noise_for, noise_for_table
from tests.leakage.test_shaped import SHAPES
from tests.oracles import shaped as oracle


def table(seed: int) -> tuple[np.ndarray, int, float]:
    """Return a small table of heavy tails, a number of records, and a limit."""
    rng = np.random.default_rng(seed)
    dim, rows = int(rng.integers(1, 7)), int(rng.integers(12, 60))
    X = rng.standard_t(3, size=(rows, dim)) @ rng.normal(size=(dim, dim))
    n, z = int(rng.integers(4, rows)), X - X.mean(axis=0)
    most = min(
        oracle.excess(cov, np.zeros((dim, dim)), z).max()
        for cov in (np.cov(X.T, ddof=0).reshape(dim, dim), np.diag(X.var(axis=0)))
    )
    return X * 10.0 ** rng.integers(-3, 4, size=dim), n, most / n * rng.uniform(0.05, 0.8)


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("shape", SHAPES)
def test_the_certificate_is_recomputed(shape: Any, seed: int) -> None:
    X, n, limit = table(seed)
    reference = Reference.fit(X, cov="diagonal" if seed % 5 == 4 else "full")
    cov = np.diag(reference.cov) if reference.cov.ndim == 1 else reference.cov
    weights = np.random.default_rng(seed).uniform(0.2, 3, size=len(cov)) / reference.variances
    inside = noise_for(X, reference, n, max_leakage=limit, shape=shape, weights=weights)
    found = [(inside, cov, np.full(len(X), n * limit))]
    if seed % 5 < 4:  # left out, by the formula of the page
        N = len(X)
        own = noise_for_table(X, n, max_leakage=limit, shape=shape, weights=weights)
        b, c = n * limit * ((N - 1) / N) ** 2, N / (N - 1) ** 2
        found.append((own, cov * N / (N - 1), np.full(N, b / (1 + c * b))))
    for noise, floor, limits in found:
        added, errors = n * noise.covariance, X - X.mean(axis=0)
        assert noise.cost > 0
        assert (oracle.excess(floor, added, errors) <= limits * (1 + 1e-9)).all()
        assert noise.cost == pytest.approx(float(weights @ np.diag(added)), rel=1e-9)
        bound = oracle.certified_cost(
            floor, weights, errors, limits, added, independent=shape == "optimal-diagonal"
        )
        assert noise.gap <= 1e-4
        assert noise.cost * (1 - 1e-3) <= bound <= noise.cost * (1 + 1e-9)


@pytest.mark.parametrize("shape", ["column-sd", "scalar"])
def test_of_one_shape_nothing_less_is_enough(shape: Any) -> None:
    for seed in range(8):
        X, n, limit = table(seed)
        reference = Reference.fit(X)
        found = noise_for(X, reference, n, max_leakage=limit, shape=shape)
        added = n * np.diag(found.noise_std**2)
        for times, over in ((1 + 1e-9, False), (1 - 1e-9, True)):
            worst = oracle.excess(reference.cov, times * added, X - X.mean(axis=0)).max()
            assert (worst > n * limit) == over


@pytest.mark.parametrize("away", [1e5, 1e7, 1e9])
@pytest.mark.parametrize("seed", [0, 1, 36])
def test_records_far_out(seed: int, away: float) -> None:
    """The steps were once solved to the accuracy of the far ones alone, and lost the path."""
    rng = np.random.default_rng(seed)
    dim, rows = int(rng.integers(2, 13)), int(rng.integers(20, 301))
    X = rng.standard_t(3, size=(rows, dim)) @ rng.normal(size=(dim, dim))
    reference = Reference(X.mean(axis=0), np.cov(X.T))
    Z = X.copy()
    Z[: 1 + seed % 3] *= away
    for shape in SHAPES:
        found = noise_for(Z, reference, rows, max_advantage=0.2, shape=shape)  # type: ignore[call-overload]
        assert found.gap <= 1e-4
        # To 30 digits more, as beside this noise the rounding of doubles is seen.
        assert excess_of_many_digits(reference, rows * found.covariance, Z[:20]) <= (
            rows * found.max_leakage * (1 + 1e-9)
        )
    own = noise_for_table(Z, rows, max_advantage=0.2)
    assert own.gap <= 1e-4


def excess_of_many_digits(reference: Reference, noise: np.ndarray, rows: np.ndarray) -> float:
    import mpmath

    with mpmath.workdps(46):
        matrix = mpmath.matrix(reference.cov.tolist()) + mpmath.matrix(noise.tolist())
        inverse = matrix**-1
        errors = mpmath.matrix(rows.tolist())
        worst = 0.0
        for i in range(errors.rows):
            error = errors[i, :].T - mpmath.matrix(reference.mean.tolist())
            worst = max(worst, float((error.T * inverse * error)[0]))
    return worst


def require_left_out_within(X: np.ndarray, n: int, found: Any) -> None:
    """The records far out are within the limit, each against the others."""
    for i in range(5):
        others = np.delete(X, i, axis=0)
        reference = Reference(others.mean(axis=0), np.cov(others.T, ddof=0))
        worst = excess_of_many_digits(reference, n * found.covariance, X[i : i + 1])
        assert worst <= n * found.max_leakage * (1 + 1e-6)


@pytest.mark.parametrize("seed", [15, 44, 104])
def test_columns_that_almost_repeat_others_beside_records_far_out(seed: int) -> None:
    """What is regular to one rounding is not to another: of C for the radius, of C + S too."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, size=(30, 9)) @ rng.normal(size=(9, 9))
    X[:5] *= 10 ** rng.uniform(3, 7.5, size=(5, 1))
    X[:, 3] = X[:, 0] + 10 ** rng.uniform(-7, -4) * X[:, 3]
    found = noise_for_table(X, 30, max_advantage=0.05)
    require_left_out_within(X, 30, found)
    assert np.isfinite(found.protected_radius)


def test_sums_of_noise_and_covariance_keep_away_from_singular_ones() -> None:
    rng = np.random.default_rng(28)
    dim, rows = rng.integers(2, 13), rng.integers(20, 301)
    X = rng.standard_t(3, size=(rows, dim)) @ rng.normal(size=(dim, dim))
    X[:5] = 1e7 * X.std(axis=0) * rng.normal(size=(4, 5, dim))[3]
    found = noise_for_table(X, int(rows), max_advantage=0.05)
    require_left_out_within(X, int(rows), found)
