"""Shaped noise at the edges: nothing to do, singular covariances, free columns, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import Reference, SingularCovarianceError
from leakscore.leakage import leakage_score, leave_one_out, noise_for, noise_for_table
from tests.leakage.test_shaped import SHAPES, case
from tests.oracles import shaped as oracle

both = pytest.mark.parametrize("shape", SHAPES)
LIMIT: Any = {"max_advantage": 0.2}


@both
def test_no_noise_where_no_record_is_over_the_limit(shape: Any) -> None:
    reference, Z = case()
    found = noise_for(Z, reference, 10**9, shape=shape, **LIMIT)
    assert found.cost == found.gap == 0.0
    assert found.active.size == 0
    assert found.factor.shape == (3, 0)
    assert found.covariance is not None
    assert not found.covariance.any()
    assert not found.std.any()
    assert found.leakage_before == found.leakage_after <= found.max_leakage
    np.testing.assert_array_equal(
        leakage_score(Z, reference, 10**9, noise_factor=found.factor),
        leakage_score(Z, reference, 10**9),
    )


@both
def test_free_columns_get_enough_noise_and_not_without_bound(shape: Any) -> None:
    reference, Z = case(dim=4)
    weights = 1 / reference.variances
    weights[1] = 0.0
    found = noise_for(Z, reference, 10, shape=shape, weights=weights, **LIMIT)
    assert np.isfinite(found.factor).all()
    assert found.std[1] > 0
    assert leakage_score(Z, reference, 10, noise_cov=found.covariance).max() <= (
        found.max_leakage * (1 + 1e-12)
    )
    # As if the column were not released.
    kept = [0, 2, 3]
    alone = Reference(reference.mean[kept], reference.cov[np.ix_(kept, kept)])
    without = noise_for(Z[:, kept], alone, 10, shape=shape, **LIMIT)
    assert found.cost == pytest.approx(without.cost, rel=1e-4)
    assert max(found.gap, without.gap) <= 1e-4
    assert found.cost < noise_for(Z, reference, 10, shape=shape, **LIMIT).cost


@both
def test_a_singular_covariance_gets_noise_where_it_has_none(shape: Any) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5, 8))  # fewer records than columns
    reference = Reference(X.mean(axis=0), np.cov(X.T, ddof=0))
    Z = rng.normal(size=(30, 8))
    found = noise_for(Z, reference, 10, shape=shape, **LIMIT)
    assert found.leakage_before == np.inf
    assert found.gap <= 1e-4
    after = leakage_score(Z, reference, 10, noise_cov=found.covariance)
    assert after.max() <= found.max_leakage * (1 + 1e-9)
    # In the null space alone: 1-D noise of the size of the record, by hand.
    line = Reference([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]])
    found = noise_for([[1.0, -1.0]], line, 10, shape=shape, max_leakage=0.1, weights=[1.0, 1.0])
    if shape == "optimal":  # the noise along (1, -1) of variance 2 / (n m), and no other
        np.testing.assert_allclose(10 * found.covariance, [[1, -1], [-1, 1]], atol=1e-4)
    assert found.gap <= 1e-4


@pytest.mark.parametrize("rows", [(14, 2), (22, 6), (27, 5)])
def test_the_gap_is_closed_on_small_tables(rows: tuple[int, int]) -> None:
    """Where P differs from 1 by the rounding of multipliers, the bound once lost a thousandth."""
    for seed in range(6):
        X = np.random.default_rng(seed).standard_t(2, size=rows)
        found = noise_for_table(X, 20, max_advantage=0.2)
        assert found.gap <= 1e-4
        worst = oracle.worst_left_out(X, 20, found.covariance)
        assert worst == pytest.approx(found.leakage_after, rel=1e-6)
        assert worst <= found.max_leakage * (1 + 1e-9)


@both
def test_columns_that_repeat_another_and_outliers(shape: Any) -> None:
    one = np.random.default_rng(0).standard_cauchy(size=3000)
    X = np.column_stack([one, 2 * one, np.ones(3000)])
    found = noise_for_table(X, 9, max_advantage=0.1, shape=shape)
    assert found.std[2] == 0.0
    assert found.gap <= 1e-4


@both
def test_records_so_far_out_that_no_double_hides_them(shape: Any) -> None:
    line = Reference([0.0], [4.0])
    with pytest.raises(ValueError, match=r"targets\[1\] must be nearer to the mean"):
        noise_for([[1.0], [1e200]], line, 9, shape=shape, **LIMIT)


@both
def test_columns_in_which_nothing_varies(shape: Any) -> None:
    reference, Z = case()
    cov = np.zeros((4, 4))
    cov[:3, :3] = reference.cov
    wide = Reference([*reference.mean, 7.0], cov)
    plain = noise_for(Z, reference, 10, shape=shape, **LIMIT)
    same = noise_for(np.column_stack([Z, np.full(12, 7.0)]), wide, 10, shape=shape, **LIMIT)
    assert same.cost == pytest.approx(plain.cost, rel=1e-6)
    assert same.std[3] == same.standard_errors[3] == 0.0
    odd = np.column_stack([Z, np.full(12, 8.0)])
    with pytest.raises(SingularCovarianceError, match=r"weights.* column 3 "):
        noise_for(odd, wide, 10, shape=shape, **LIMIT)
    weights = [*(1 / reference.variances), 1.0]
    found = noise_for(odd, wide, 10, shape=shape, weights=weights, **LIMIT)
    assert found.standard_errors[3] == np.inf
    assert found.gap <= 1e-4
    after = leakage_score(odd, wide, 10, noise_cov=found.covariance)
    assert after.max() <= found.max_leakage * (1 + 1e-9)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("population", ["infinite", "finite"])
@both
def test_rows_of_a_table_by_leaving_each_out(
    shape: Any, population: Any, ddof: int, ridge: float
) -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_t(3, size=(25, 3)) @ rng.normal(size=(3, 3))
    n = 10
    reference = Reference.fit(X, ddof=ddof, ridge=ridge)
    found = noise_for_table(
        X, n, reference=reference, shape=shape, population=population, max_advantage=0.3
    )
    share = 1 - n / 25 if population == "finite" else 1.0
    after = np.empty(25)
    for i in range(25):
        others = np.delete(X, i, axis=0)
        fitted = Reference.fit(others, ddof=ddof, ridge=ridge)
        cov = share * fitted.cov + n * found.covariance
        z = X[i] - fitted.mean
        after[i] = z @ np.linalg.solve(cov, z) / n
    assert after.max() <= found.max_leakage * (1 + 1e-9)
    assert after.max() == pytest.approx(found.leakage_after, rel=1e-9)
    assert found.worst == int(np.argmax(after))
    np.testing.assert_array_equal(
        np.flatnonzero(after > found.max_leakage * (1 - 1e-4)), found.active
    )
    before = leave_one_out(X, reference, n, population=population)
    assert found.leakage_before == pytest.approx(before.max(), rel=1e-9)
    assert found.gap <= 1e-4


def test_a_table_costs_more_left_out_than_in_its_own_covariance() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_t(3, size=(200, 5))
    inside = noise_for(X, Reference.fit(X), 50, shape="optimal", **LIMIT)
    outside = noise_for_table(X, 50, **LIMIT)
    assert inside.cost < outside.cost < 2 * inside.cost
    wider = noise_for_table(X, 50, radius=12.0, **LIMIT)
    assert wider.protected_radius == pytest.approx(12.0, rel=1e-2)
    assert wider.protected_radius >= 12.0


BAD: list[tuple[dict[str, Any], str]] = [
    ({"max_leakage": 0.0}, "max_leakage=0.0"),
    ({"max_advantage": 0.0}, "max_advantage=0.0"),
    ({"max_advantage": 0.1, "max_leakage": 0.1}, "One budget"),
    ({}, "One budget"),
    ({"max_leakage": 0.1, "weights": [1.0, 1.0]}, "weights"),
    ({"max_leakage": 0.1, "weights": [1.0, -1.0, 1.0]}, "weights"),
    ({"max_leakage": 0.1, "weights": [0.0, 0.0, 0.0]}, "weights"),
    ({"max_leakage": 0.1, "weights": [1.0, np.nan, 1.0]}, "weights"),
    ({"max_leakage": 0.1, "ids": [1, 2]}, "ids"),
    ({"max_leakage": 0.1, "ids": [np.nan] * 12}, "ids"),
    ({"max_leakage": 0.1, "radius": -1.0}, "radius"),
    ({"max_leakage": 0.1, "radius": np.inf}, "radius"),
    ({"max_leakage": 0.1, "radius": 1.0, "shape": "optimal-diagonal"}, "radius"),
    ({"max_leakage": 0.1, "shape": "scalar", "ids": [1] * 12}, "ids"),
    ({"max_leakage": 0.1, "shape": "column-sd", "weights": [1.0] * 3}, "weights"),
    ({"max_leakage": 0.1, "shape": "round"}, "shape"),
]


@pytest.mark.parametrize(("given", "named"), BAD)
def test_what_is_refused(given: dict[str, Any], named: str) -> None:
    reference, Z = case()
    with pytest.raises(ValueError, match=named):
        noise_for(Z, reference, 10, **({"shape": "optimal"} | given))


def test_tables_that_are_refused() -> None:
    reference, Z = case(rows=40)
    with pytest.raises(ValueError, match="kind 'full' without shrinkage"):
        noise_for_table(Z, 10, reference=Reference.fit(Z, "diagonal"), **LIMIT)
    with pytest.raises(ValueError, match="shrinkage"):
        noise_for_table(Z, 10, reference=Reference.fit(Z, shrinkage=0.1), **LIMIT)
    with pytest.raises(ValueError, match="the table that reference was fitted on"):
        noise_for_table(Z, 10, reference=reference.add_diagonal(0.0), **LIMIT)
    with pytest.raises(ValueError, match="n=40 must be < 40"):
        noise_for_table(Z, 40, population="finite", **LIMIT)
    with pytest.raises(ValueError, match="X"):
        noise_for_table(Z[:2], 10, **LIMIT)


@pytest.mark.parametrize("population", ["infinite", "finite"])
def test_the_radius_around_a_table_by_brute_force(population: Any) -> None:
    """Someone outside the table at this distance, by the table's own covariance."""
    rng = np.random.default_rng(4)
    X = rng.standard_t(3, size=(60, 3)) @ rng.normal(size=(3, 3))
    n, reference = 40, Reference.fit(X)
    share = 1 - n / 60 if population == "finite" else 1.0
    for radius in (None, 9.0):
        found = noise_for_table(X, n, population=population, radius=radius, **LIMIT)
        ways = rng.normal(size=(4000, 3))
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        away = found.protected_radius * ways @ np.linalg.cholesky(reference.cov).T
        law = share * reference.cov + n * found.covariance
        after = np.einsum("ij,ji->i", away, np.linalg.solve(law, away.T)) / n
        assert after.max() <= found.max_leakage * (1 + 1e-9)
        assert after.max() >= 0.9 * found.max_leakage
        assert radius is None or found.protected_radius >= radius
