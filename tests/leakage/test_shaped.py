"""Noise of the shape that costs least: feasible, optimal, and bounded by its certificate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import Reference
from leakscore.leakage import leakage_score, noise_for
from tests.helpers.parts import lower_bound, lower_bound_independent
from tests.oracles import shaped as oracle
from tests.oracles.leakage import group_leakage

SHAPES = ("optimal", "optimal-diagonal")
LIMITS = [
    {"max_advantage": 0.1},
    {"max_advantage": 0.5},
    {"epsilon": 1.0, "delta": 1e-6},
    {"max_power": 0.05},
    {"max_leakage": 1e-6},
]


def case(kind: str = "full", dim: int = 3, rows: int = 12) -> tuple[Reference, np.ndarray]:
    rng = np.random.default_rng(dim)
    X = rng.normal(size=(40, dim)) @ rng.normal(size=(dim, dim)) * 10.0 ** np.arange(dim) + 5
    Z = X[:rows] + 3 * X.std(axis=0) * rng.standard_t(2, size=(rows, dim))
    return Reference.fit(X, cov=kind), Z  # type: ignore[arg-type]


def dense(reference: Reference) -> np.ndarray:
    return np.diag(reference.cov) if reference.cov.ndim == 1 else reference.cov


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_limit_is_met_and_the_gap_closed(shape: Any, limit: dict[str, float]) -> None:
    for neighbours in ("replace", "add-remove"):
        reference, Z = case()
        found = noise_for(Z, reference, 10, shape=shape, neighbours=neighbours, **limit)
        common: Any = {"neighbours": neighbours}
        after = leakage_score(Z, reference, 10, noise_cov=found.covariance, **common)
        assert after.max() <= found.max_leakage * (1 + 1e-12)
        assert found.leakage_after == pytest.approx(after.max(), rel=1e-9)
        assert found.max_leakage < found.leakage_before
        assert 0 <= found.gap <= 1e-4
        np.testing.assert_array_equal(
            np.flatnonzero(after > found.max_leakage * (1 - 1e-4)), found.active
        )
        assert found.worst == int(np.argmax(after))
        assert found.cost == pytest.approx(float(np.square(found.standard_errors).sum()), rel=1e-9)
        np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), found.std)
        np.testing.assert_allclose(found.factor @ found.factor.T, found.covariance)
        if shape == "optimal-diagonal":
            off = found.covariance - np.diag(np.diag(found.covariance))
            assert not off.any()
        # The same limit as the older shapes meet, for less.
        other = noise_for(Z, reference, 10, neighbours=neighbours, **limit)
        assert other.max_leakage == found.max_leakage
        assert found.cost <= float(np.square(other.standard_errors).sum()) * (1 + 1e-4)


@pytest.mark.parametrize("kind", ["full", "diagonal"])
@pytest.mark.parametrize("dim", [1, 2, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_other_solver_finds_less(shape: Any, dim: int, kind: str) -> None:
    reference, Z = case(kind, dim)
    weights = np.linspace(0.5, 2.0, dim) / reference.variances
    found = noise_for(Z, reference, 10, max_advantage=0.3, shape=shape, weights=weights)
    errors = Z - reference.mean
    limits = np.full(len(Z), 10 * found.max_leakage)
    independent = shape == "optimal-diagonal"
    other = oracle.least_cost(dense(reference), weights, errors, limits, independent=independent)
    assert other >= found.cost * (1 - found.gap) * (1 - 1e-6)
    assert other == pytest.approx(found.cost, rel=2e-4)


@pytest.mark.parametrize("seed", range(5))
def test_the_certificate_is_below_every_noise_within_the_limits(seed: int) -> None:
    """Weak duality by brute force, for random multipliers, and the formula against its oracle."""
    rng = np.random.default_rng(seed)
    d, k = 3, 5
    root = rng.normal(size=(d, d))
    cov, rows, lam = root @ root.T, 2 * rng.normal(size=(k, d)), rng.exponential(size=k)
    weights = rng.normal(size=(k, d))  # any; the best are K^-1 y
    bound = lower_bound(rows, weights, lam, lambda some: np.einsum("ij,jk,ik->i", some, cov, some))
    values, vectors = np.linalg.eigh((weights.T * lam) @ weights)
    share = (vectors * np.clip(values, 0, 1)) @ vectors.T
    ones = np.ones(d)
    multiples = [
        oracle.certificate(cov, ones, rows, np.ones(k), t * lam, np.eye(d) - share)
        for t in np.geomspace(1e-4, 1e2, 4001)
    ]
    assert bound == pytest.approx(max(0.0, *multiples), rel=1e-4, abs=1e-12)
    costs, tight = [], []
    for _ in range(300):
        factor = rng.normal(size=(d, d)) * rng.exponential(size=d)
        noise = factor @ factor.T
        noise *= max(1.0, oracle.excess(cov, noise, rows).max()) ** 2
        while oracle.excess(cov, noise, rows).max() > 1:
            noise *= 1.5
        costs.append(np.trace(noise))
        diagonal = np.diag(noise) * 1.0
        while oracle.excess(cov, np.diag(diagonal), rows).max() > 1:
            diagonal *= 1.2
        inverse = np.linalg.inv(cov + np.diag(diagonal))
        at = rows @ inverse
        q = np.einsum("ij,ij->i", at, rows)
        for some in (lam, 1e3 * lam * (q == q.max())):
            tight.append(lower_bound_independent(at, q - 1, some, diagonal))
        costs.append(diagonal.sum())
    assert bound <= min(costs)
    assert max(tight) <= min(costs[1::2])
    assert max(tight) > 0


def test_columns_of_any_size_and_many_records() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_t(3, size=(700, 8)) @ rng.normal(size=(8, 8))
    plain = noise_for(X, Reference.fit(X), 50, max_advantage=0.2, shape="optimal")
    sizes = 10.0 ** np.linspace(-8, 8, 8)
    other = noise_for(sizes * X, Reference.fit(sizes * X), 50, max_advantage=0.2, shape="optimal")
    assert other.cost == pytest.approx(plain.cost, rel=1e-5)
    np.testing.assert_allclose(other.standard_errors, plain.standard_errors, rtol=2e-2)
    assert max(plain.gap, other.gap) <= 1e-4
    cov = np.cov(X.T, ddof=0) + 50 * plain.covariance
    z = X - X.mean(axis=0)
    assert oracle.excess(cov, np.zeros((8, 8)), z).max() <= 50 * plain.max_leakage * (1 + 1e-9)
    float32 = noise_for(
        X.astype(np.float32), Reference.fit(X), 50, max_advantage=0.2, shape="optimal"
    )
    assert float32.cost == pytest.approx(plain.cost, rel=1e-4)


@pytest.mark.parametrize(("condition", "gap"), [(1e6, 1e-4), (1e12, 1e-3)])
def test_nearly_singular_covariances(condition: float, gap: float) -> None:
    """At 1e12 the rounding of C itself, 2e-16, is 2e-4 of its least eigenvalue."""
    rng = np.random.default_rng(5)
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    root = turn * np.geomspace(1, condition**-0.5, 6)
    X = rng.standard_t(3, size=(300, 6)) @ root.T
    reference = Reference(np.zeros(6), root @ root.T)
    for shape in SHAPES:
        found = noise_for(X, reference, 30, max_advantage=0.2, shape=shape)  # type: ignore[call-overload]
        after = leakage_score(X, reference, 30, noise_factor=found.factor)
        assert after.max() <= found.max_leakage
        assert found.gap <= gap


def test_limits_far_apart() -> None:
    reference, Z = case(dim=4)
    costs = []
    for limit in (1e-6, 1e-3, 1.0):
        found = noise_for(Z, reference, 10, max_leakage=limit, shape="optimal")
        assert found.gap <= 1e-4
        costs.append(found.cost)
    assert costs[0] > 500 * costs[1] > 500 * costs[2]


def test_persons_are_protected_as_groups() -> None:
    reference, Z = case(rows=12)
    ids = np.array(["a", "b", "c"] * 4)
    for shape in SHAPES:
        found = noise_for(Z, reference, 20, max_advantage=0.2, shape=shape, ids=ids)  # type: ignore[call-overload]
        joint = [group_leakage(Z[ids == name], reference, 20, found.covariance) for name in "abc"]
        assert max(joint) <= found.max_leakage * (1 + 1e-12)
        assert max(joint) == pytest.approx(found.leakage_after, rel=1e-9)
        tight = {
            name for name, m in zip("abc", joint, strict=True) if m > 0.9999 * found.max_leakage
        }
        assert set(ids[found.active]) == tight
        assert ids[found.worst] == "abc"[int(np.argmax(joint))]
        alone = noise_for(Z, reference, 20, max_advantage=0.2, shape=shape)  # type: ignore[call-overload]
        same = noise_for(
            Z,
            reference,
            20,
            max_advantage=0.2,
            shape=shape,  # type: ignore[call-overload]
            ids=np.arange(12),
        )
        assert same.cost == pytest.approx(alone.cost, rel=1e-4)


def test_the_protected_radius() -> None:
    reference, Z = case()
    common: Any = {"max_advantage": 0.2, "shape": "optimal"}
    plain = noise_for(Z, reference, 10, **common)
    wider = noise_for(Z, reference, 10, radius=2 * plain.protected_radius, **common)
    assert wider.protected_radius == pytest.approx(2 * plain.protected_radius, rel=1e-6)
    assert wider.cost > plain.cost
    assert wider.gap <= 1e-4
    rng = np.random.default_rng(0)
    ways = rng.normal(size=(4000, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    root = np.linalg.cholesky(reference.cov)
    for found in (plain, wider):
        sphere = reference.mean + found.protected_radius * ways @ root.T
        after = leakage_score(sphere, reference, 10, noise_cov=found.covariance)
        assert after.max() <= found.max_leakage * (1 + 1e-9)
        # and hardly any radius beyond it
        after = leakage_score(sphere, reference, 10, noise_cov=found.covariance)
        assert after.max() >= 0.98 * found.max_leakage
