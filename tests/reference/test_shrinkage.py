"""Shrinkage of a sample covariance, against scikit-learn and the papers' loops."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf, oas

from leakscore import Moments, Reference
from tests.oracles import reference as oracle


def tables() -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    correlated = rng.normal(size=(60, 8)) @ rng.normal(size=(8, 8)) + 100
    wide = rng.normal(size=(12, 50)) * rng.uniform(0.1, 9, size=50)
    noise = rng.normal(size=(40, 6))
    return [correlated, wide, noise, correlated[:2], correlated.astype(np.float32)]


@pytest.mark.parametrize("rule", [ledoit_wolf, oas])
@pytest.mark.parametrize("case", range(5))
def test_same_as_scikit_learn(rule, case: int) -> None:
    X = tables()[case]
    cov, intensity = rule(X.astype(np.float64))
    found = Reference.fit(X, shrinkage=rule.__name__.replace("_", "-"))
    assert found.shrinkage == pytest.approx(intensity, rel=1e-10)
    np.testing.assert_allclose(found.cov, cov, rtol=1e-10, atol=1e-12 * np.abs(cov).max())


@pytest.mark.parametrize("case", range(5))
def test_auto_is_the_intensity_of_schaefer_and_strimmer(case: int) -> None:
    X = tables()[case]
    found = Reference.fit(X, shrinkage="auto", ddof=1)
    intensity = oracle.schaefer_strimmer(X.astype(np.float64))
    assert found.shrinkage == pytest.approx(intensity, rel=1e-10)
    sample = oracle.covariance(X, ddof=1)
    expected = (1 - intensity) * sample + intensity * np.diag(np.diag(sample))
    np.testing.assert_allclose(found.cov, expected, rtol=1e-9, atol=1e-12 * np.abs(sample).max())


def test_a_number_shrinks_towards_the_variances() -> None:
    X = tables()[0]
    sample = oracle.covariance(X)
    found = Reference.fit(X, shrinkage=0.25, ridge=3.0).cov
    expected = 0.75 * sample + 0.25 * np.diag(np.diag(sample)) + 3 * np.eye(8)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(Reference.fit(X, shrinkage=0).cov, Reference.fit(X).cov)
    whole = Reference.fit(X, shrinkage=1).cov
    np.testing.assert_array_equal(whole, np.diag(np.diag(whole)))


def test_a_diagonal_is_its_own_target() -> None:
    X = tables()[0]
    plain = Reference.fit(X, cov="diagonal")
    for shrinkage in (0.7, "auto"):
        np.testing.assert_array_equal(
            Reference.fit(X, cov="diagonal", shrinkage=shrinkage).cov, plain.cov
        )


def test_constant_columns_do_not_count() -> None:
    X = tables()[0]
    with_constant = np.c_[X, np.full(len(X), 0.1)]
    for Y in (X, with_constant):
        found = Reference.fit(Y, shrinkage="auto").shrinkage
        assert found == pytest.approx(oracle.schaefer_strimmer(X), rel=1e-10)


@pytest.mark.parametrize("shrinkage", ["auto", "ledoit-wolf", "oas", 0.5])
def test_one_column_and_no_spread(shrinkage: str | float) -> None:
    X = tables()[0]
    np.testing.assert_allclose(
        Reference.fit(X[:, :1], shrinkage=shrinkage).cov, [[X[:, 0].var()]], rtol=1e-13
    )
    assert not Reference.fit(np.ones((5, 3)), shrinkage=shrinkage).cov.any()


@pytest.mark.parametrize("unit", [1e-150, 1e-90, 1e90, 1e150])
@pytest.mark.parametrize("rule", ["auto", "ledoit-wolf", "oas"])
def test_units_do_not_matter(rule: str, unit: float) -> None:
    """Fourth powers of such numbers are 0 or infinite."""
    X = tables()[0] - 100
    expected = Reference.fit(X, shrinkage=rule).shrinkage
    assert 0 < expected < 1
    assert Reference.fit(unit * X, shrinkage=rule).shrinkage == pytest.approx(expected, rel=1e-11)
    if rule == "auto":
        units = np.where(np.arange(8) % 2, unit, 1 / unit)
        for kind in ("full", "low-rank"):
            found = Reference.fit(units * X, kind, shrinkage=rule).shrinkage
            assert found == pytest.approx(expected, rel=1e-11)
    if rule == "oas":
        moments = Moments(8)
        moments.update(unit * X)
        found = moments.reference(shrinkage=rule).shrinkage
        assert found == pytest.approx(expected, rel=1e-11)
