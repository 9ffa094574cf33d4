"""Shaped noise: tables in which nothing varies, fewer rows than columns, weights of any size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from leakscore import Reference, SingularCovarianceError
from leakscore.leakage import noise_for, noise_for_table
from tests.helpers.parts import regular
from tests.leakage.test_shaped import SHAPES, case
from tests.oracles import shaped as oracle

both = pytest.mark.parametrize("shape", SHAPES)
LIMIT: Any = {"max_advantage": 0.2}


@both
def test_tables_in_which_nothing_varies(shape: Any) -> None:
    with pytest.raises(SingularCovarianceError, match="A column must vary"):
        noise_for_table(np.ones((9, 2)), 10, shape=shape, **LIMIT)
    nothing = Reference([1.0, 1.0], [0.0, 0.0])
    with pytest.raises(SingularCovarianceError, match="A column must vary"):
        noise_for(np.ones((3, 2)), nothing, 10, shape=shape, **LIMIT)


def test_a_table_of_few_rows_takes_a_ridge() -> None:
    X = np.random.default_rng(0).normal(size=(5, 8))
    with pytest.raises(ValueError, match=r"X of shape \(5, 8\).*pass reference=.*ridge"):
        noise_for_table(X, 10, **LIMIT)
    with pytest.raises(ValueError, match=r"X of shape \(5, 5\).*pass reference="):
        noise_for_table(X[:, :5], 10, **LIMIT)
    found = noise_for_table(X, 10, reference=Reference.fit(X, ridge=0.1), **LIMIT)
    worst = oracle.worst_left_out(X, 10, found.covariance, ridge=0.1)
    assert worst <= found.max_leakage * (1 + 1e-9)


@both
@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_weights_of_very_different_size(shape: Any, scale: float) -> None:
    """As of a column whose noise is free, or alone is paid for; beyond doubles they are refused."""
    reference, Z = case(dim=4)
    weights, free = 1 / reference.variances, 1 / reference.variances
    weights[1] *= scale
    free[1 if scale < 1 else [0, 2, 3]] = 0.0
    found = noise_for(Z, reference, 10, shape=shape, weights=weights, **LIMIT)
    limit = noise_for(Z, reference, 10, shape=shape, weights=free, **LIMIT)
    assert found.cost == pytest.approx(limit.cost * max(scale, 1.0), rel=2e-4)
    for far in (1e300, 1e-300):
        weights[1] = far
        with pytest.raises(ValueError, match=r"weights\[1\]=1e[-+]300 times the variance"):
            noise_for(Z, reference, 10, shape=shape, weights=weights, **LIMIT)


def test_the_last_degree_of_freedom() -> None:
    """Of 5 rows and ddof=3 one is left without a row: the limit holds for plain refits."""
    X = np.random.default_rng(1).normal(size=(5, 1))
    noise = noise_for_table(X, 5, reference=Reference.fit(X, ddof=3), max_leakage=0.01)
    told = []
    for i in range(5):
        others = np.delete(X, i)
        variance = float(np.square(others - others.mean()).sum()) / (4 - 3)
        told.append(float(X[i, 0] - others.mean()) ** 2 / 5 / (variance + 5 * noise.std[0] ** 2))
    assert max(told) == pytest.approx(0.01, rel=1e-9)
    with pytest.raises(ValueError, match="ddof=4 of reference must be <= 3"):
        noise_for_table(X, 5, reference=Reference.fit(X, ddof=4), max_leakage=0.01)


def test_means_that_a_person_of_many_rows_may_be_all_of() -> None:
    X = np.random.default_rng(1).normal(size=(12, 1))
    limit: Any = {"ids": [0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7], "max_leakage": 0.01}
    assert noise_for_table(X, 8, population="finite", **limit).leakage_after <= 0.01
    with pytest.raises(ValueError, match="n=9 must be <= 8 with population='finite'"):
        noise_for_table(X, 9, population="finite", **limit)
    for n in (5, 12):
        assert noise_for_table(X, n, **limit).leakage_after <= 0.01
    for n in (2, 3, 4):
        with pytest.raises(ValueError, match=f"n={n} must be > 4"):
            noise_for_table(X, n, **limit)


def test_a_power_is_at_a_rate_of_one_percent() -> None:
    """The leakage m at which Phi(sqrt(m) + Phi^-1(.01)) is the power."""
    X = np.random.default_rng(1).normal(size=(12, 1))
    mu = stats.norm.ppf(0.3) - stats.norm.ppf(0.01)
    for noise in (
        noise_for(X, Reference.fit(X), 3, max_power=0.3),
        noise_for(X, Reference.fit(X), 3, max_power=0.3, shape="optimal"),
        noise_for_table(X, 3, max_power=0.3),
    ):
        assert noise.max_leakage == pytest.approx(mu**2, rel=1e-9)


def test_what_no_variance_makes_regular_is_refused() -> None:
    for bad in (1e300, np.inf):
        with pytest.raises(ValueError, match="covariance must be semidefinite"):
            regular(np.array([[1.0, 0.0], [bad, 1.0]]), np.finfo(np.float64).eps)
