"""Shaped noise in very many columns: as for few, and without a matrix of all columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import Reference, SingularCovarianceError
from leakscore.leakage import leakage_score, noise_for, noise_for_table
from tests.helpers.sizes import sizes

LIMIT: Any = {"max_advantage": 0.2, "shape": "optimal"}


@pytest.mark.parametrize("kind", ["diagonal", "low-rank"])
@pytest.mark.parametrize("own", [False, True])
def test_the_subspace_holds_the_optimum(
    monkeypatch: pytest.MonkeyPatch, kind: Any, own: bool
) -> None:
    rng = np.random.default_rng(1)
    d = 30
    X = rng.standard_t(3, size=(20, d)) @ np.linalg.cholesky(np.eye(d) / 2 + 0.5).T
    reference = Reference.fit(X, kind)
    if own:  # of no single level
        reference = reference.add_diagonal(rng.uniform(0, 1, size=d))
    plain = noise_for(X, reference, 25, **LIMIT)
    sizes(monkeypatch, dense_columns=10)
    wide = noise_for(X, reference, 25, **LIMIT)
    assert wide.cost == pytest.approx(plain.cost, rel=1e-4)
    assert max(plain.gap, wide.gap) <= 1e-4
    assert set(wide.active) >= {wide.worst}
    after = leakage_score(X, reference, 25, noise_factor=wide.factor)
    assert after.max() <= wide.max_leakage


@pytest.mark.parametrize("kind", ["diagonal", "low-rank"])
def test_tens_of_thousands_of_columns(kind: str) -> None:
    rng = np.random.default_rng(2)
    d = 20_000
    if kind == "diagonal":
        reference = Reference(np.zeros(d), rng.uniform(0.5, 2, size=d))
    else:
        reference = Reference.low_rank(np.zeros(d), 1.0, rng.normal(size=(d, 3)))
    X = rng.normal(size=(300, d))
    X[:5] *= 1.5
    found = noise_for(X, reference, 5000, max_leakage=6.0, shape="optimal")
    assert found.covariance is None
    assert found.factor.shape[0] == d
    assert found.factor.shape[1] <= 300
    assert found.gap <= 1e-4
    assert set(found.active) <= set(range(5))
    assert leakage_score(X, reference, 5000, noise_factor=found.factor).max() <= 6.0
    # Orthogonal records in uncorrelated columns: each needs noise along itself alone, of variance
    # |z|^2 / (n m) - 1 per record where all variances are 1.
    if kind == "diagonal":
        plain = Reference(np.zeros(d), np.ones(d))
        Z = np.zeros((3, d))
        Z[[0, 1, 2], [5, 70, 900]] = [100.0, 200.0, 300.0]
        exact = noise_for(Z, plain, 100, max_leakage=10.0, shape="optimal")
        assert exact.cost == pytest.approx(9 + 39 + 89, rel=1e-4)


def test_records_far_out_beside_a_ridge() -> None:
    """Little of C along them, and a scale of its own for each: the bound once stopped at 7 %."""
    rng = np.random.default_rng(0)
    rows = rng.standard_t(3, size=(120, 1500)) * rng.uniform(0.1, 2, 1500)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    known, own = rows[:100], rows[100:]
    ridge = 0.1 * float(known.var(axis=0).mean())
    reference = Reference.fit(known, "low-rank", shrinkage=0.0, ridge=ridge)
    found = noise_for(own, reference, 64, **LIMIT)
    assert found.gap <= 1e-4
    assert leakage_score(own, reference, 64, noise_factor=found.factor).max() <= found.max_leakage
    dense = Reference(np.zeros(60), np.cov(own[:, :60].T) * 1e-3 + 1e-4 * np.eye(60))
    away = noise_for(own[:, :60], dense, 64, **LIMIT)
    assert away.gap <= 1e-4


def test_a_record_too_far_out_is_named() -> None:
    far = np.zeros((3, 2))
    far[1] = 1e80
    with pytest.raises(ValueError, match=r"targets\[1\] must be nearer"):
        noise_for(far, Reference(np.zeros(2), np.eye(2)), 10, **LIMIT)
    table = np.random.default_rng(1).normal(size=(40, 2))
    table[7] = 1e80
    for more in ({}, {"ids": np.arange(40) // 2}):
        with pytest.raises((ValueError, SingularCovarianceError)) as caught:
            noise_for_table(table, 40, max_leakage=1e-300, **more)
        assert "targets" not in str(caught.value)


def test_what_is_refused() -> None:
    d = 500
    rng = np.random.default_rng(3)
    reference, Z = Reference(np.zeros(d), np.ones(d)), 10 * rng.normal(size=(3, d))
    for given, named in (
        ({"shape": "optimal-diagonal"}, "shape"),
        ({"radius": 5.0}, "radius"),
        ({"weights": np.arange(d)}, "weights must be > 0"),
    ):
        with pytest.raises(ValueError, match=named):
            noise_for(Z, reference, 10, **(LIMIT | given))
    singular = Reference(np.zeros(d), np.r_[0.0, np.ones(d - 1)])
    with pytest.raises(SingularCovarianceError, match="0"):
        noise_for(Z, singular, 10, **LIMIT)
