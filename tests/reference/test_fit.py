"""Moments of a table: accuracy, layouts, dtypes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import leakscore
from leakscore import Reference, SingularCovarianceError, _core
from tests.helpers.layouts import LAYOUTS, memmap
from tests.oracles import reference as oracle

EPS = np.finfo(np.float64).eps


def table(rows: int, dim: int, seed: int = 0, offset: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, dim)) @ rng.normal(size=(dim, dim)) + offset * np.sqrt(dim)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", [0.0, 100.0, 1e6])
@pytest.mark.parametrize("shape", [(2, 3), (37, 5), (301, 2), (1000, 1)])
def test_moments_to_rounding_whatever_the_offset(
    shape: tuple[int, int], offset: float, dtype: type
) -> None:
    X = table(*shape, offset=offset).astype(dtype)
    mean, variances = oracle.moments(X)
    found = Reference.fit(X, cov="diagonal")
    np.testing.assert_array_less(np.abs(found.mean - mean), 2 * EPS * np.abs(mean) + 1e-16)
    np.testing.assert_allclose(found.cov, variances, rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(20_000, 9), (5000, 700), (300_000, 1)])
def test_moments_of_many_blocks_of_a_trend(shape: tuple[int, int], order: str) -> None:
    """Blocks have different means, so that what merging them adds is most of the variance."""
    X = np.random.default_rng(0).normal(size=shape) + np.linspace(0, 30, shape[0])[:, None]
    for Y in (X, X.astype(np.float32), X.astype(np.int8)):
        exact = Y.astype(np.longdouble)
        found = Reference.fit(np.asarray(Y, order=order), cov="diagonal")
        np.testing.assert_allclose(found.mean, exact.mean(axis=0).astype(float), rtol=1e-14)
        np.testing.assert_allclose(found.cov, exact.var(axis=0).astype(float), rtol=1e-13)


@pytest.mark.parametrize("ddof", [0, 1, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_full_covariance(dtype: type, ddof: int) -> None:
    X = table(300, 20, offset=100.0).astype(dtype)
    found = Reference.fit(X, ddof=ddof)
    expected = oracle.covariance(X, ddof)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert (np.abs(found.cov - expected) / scale).max() < 2e-15
    np.testing.assert_array_equal(found.cov, found.cov.T)
    assert (found.n_reference, found.kind, found.shrinkage) == (300, "full", 0.0)


def test_large_float32_tables_are_summed_in_float32_unless_ill_conditioned() -> None:
    X = np.random.default_rng(3).normal(size=(9000, 500)).astype(np.float32) + 100
    expected = np.cov(X.T.astype(np.float64), ddof=0)
    error = np.abs(Reference.fit(X).cov - expected).max()
    assert 1e-13 < error < 1e-6
    X[:, 1] += 3 * X[:, 0]
    X[:, 2] -= 5 * X[:, 1]
    X -= X.mean(axis=0)
    expected = np.cov(X.T.astype(np.float64), ddof=0)
    reference = Reference.fit(X)
    assert np.abs(reference.cov - expected).max() < 1e-11
    e = X[:5].astype(np.float64) - X.astype(np.float64).mean(axis=0)
    exact = np.einsum("ij,ij->i", e, np.linalg.solve(expected, e.T).T)
    np.testing.assert_allclose(reference.squared_mahalanobis(X[:5]), exact, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(70, 7), (1100, 33), (3, 1)])
def test_layouts_give_the_same_moments(layout: str, dtype: type, shape: tuple[int, int]) -> None:
    X = table(*shape, offset=3.0).astype(dtype)
    given = LAYOUTS[layout](X)
    before = given.copy()
    for cov in ("diagonal", "full"):
        found, expected = (Reference.fit(Y, cov=cov, ridge=1.0) for Y in (given, X))
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-15, atol=1e-15)
        scale = np.sqrt(expected.variances)
        close = np.abs(found.cov - expected.cov) / (
            scale if cov == "diagonal" else np.outer(scale, scale)
        )
        assert close.max() < 1e-14
    np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "?"])
def test_dtypes(dtype: str, tmp_path: Path) -> None:
    X = np.random.default_rng(0).integers(0, 2 if dtype == "?" else 4, size=(90, 6)).astype(dtype)
    for given in (X, np.asfortranarray(X), memmap(X, tmp_path)):
        found = Reference.fit(given)
        np.testing.assert_allclose(found.mean, X.mean(axis=0, dtype=float), rtol=1e-15)
        np.testing.assert_allclose(found.cov, np.cov(X.T.astype(float), ddof=0), rtol=0, atol=1e-15)


def test_a_list_is_a_table() -> None:
    np.testing.assert_array_equal(Reference.fit([[0, 1], [2, 5]], cov="diagonal").cov, [1.0, 4.0])


@pytest.mark.parametrize("isa", leakscore.supported_isas())
def test_isa_levels_and_threads_give_the_same_bits(isa: str) -> None:
    """All levels add in the same order, and no sum depends on the number of threads."""
    X = table(5000, 40, offset=10.0)
    inputs = [X, X.astype(np.float32), np.asfortranarray(X), X.reshape(20, -1), X.reshape(-1, 1)]
    active = leakscore.active_isa()
    leakscore.set_num_threads(1)
    try:
        _core.select_isa(leakscore.supported_isas()[0])
        expected = [Reference.fit(Y, cov="diagonal") for Y in inputs]
        _core.select_isa(isa)
        for threads in (1, 2, 8):
            leakscore.set_num_threads(threads)
            for Y, wanted in zip(inputs, expected, strict=True):
                found = Reference.fit(Y, cov="diagonal")
                np.testing.assert_array_equal(found.mean, wanted.mean)
                np.testing.assert_array_equal(found.cov, wanted.cov)
    finally:
        _core.select_isa(active)


@pytest.mark.parametrize("value", [0.1, -1e9, 3.0])
@pytest.mark.parametrize("rows", [2, 33, 1000])
def test_constant_columns_have_no_variance_at_all(value: float, rows: int) -> None:
    X = table(rows, 4)
    X[:, 2] = value
    for cov in ("diagonal", "full"):
        if cov == "full" and rows == 2:
            continue
        reference = Reference.fit(X, cov=cov)
        assert reference.variances[2] == 0.0
        assert reference.mean[2] == value
        with pytest.raises(SingularCovarianceError, match=r"column\(s\) 2 have variance 0"):
            reference.squared_mahalanobis(X)


def test_duplicate_columns_are_named() -> None:
    X = table(100, 5)
    X[:, 3] = X[:, 1]
    for Y in (X, X.astype(np.float32)):
        with pytest.raises(SingularCovarianceError, match="column 3 is a linear combination"):
            Reference.fit(Y).squared_mahalanobis(Y)


@pytest.mark.parametrize("seed", range(20))
def test_dependent_columns_are_singular_whatever_rounding_says(seed: int) -> None:
    """A sum of columns leaves a last pivot of some 1e-17 of either sign."""
    X = table(200, 12, seed)
    X[:, 11] = X[:, :11] @ np.random.default_rng(seed).normal(size=11)
    with pytest.raises(SingularCovarianceError, match="column 11 is a linear combination"):
        Reference.fit(X).solve(X[0])


def test_ridge_and_fewer_rows_than_columns() -> None:
    X = table(6, 9)
    with pytest.raises(ValueError, match=r"X of shape .*ridge > 0 or cov='diag"):
        Reference.fit(X)
    for remedy in ({"ridge": 0.1}, {"shrinkage": "auto"}, {"shrinkage": 0.2}, {"cov": "diagonal"}):
        assert np.isfinite(Reference.fit(X, **remedy).squared_mahalanobis(X)).all()
    expected = oracle.covariance(X) + 0.1 * np.eye(9)
    np.testing.assert_allclose(Reference.fit(X, ridge=0.1).cov, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"X": np.ones((1, 3))}, ValueError, "at least 2 row"),
        ({"X": np.ones(3)}, ValueError, "X of shape .* 2-D"),
        ({"X": np.ones((3, 0))}, ValueError, "X of shape"),
        ({"X": np.ones((2, 2, 2))}, ValueError, "X of shape"),
        ({"X": [["a"], ["b"]]}, TypeError, "X"),
        ({"X": np.ones((3, 2), dtype=complex)}, TypeError, "X"),
        ({"X": np.ones((3, 2), dtype=object)}, TypeError, "X"),
        ({"X": [[1.0], [np.nan], [2.0]]}, ValueError, "X must be finite"),
        ({"X": [[np.inf], [1.0], [2.0]]}, ValueError, "X must be finite"),
        ({"X": [[1.0], [2.0], [-np.inf]]}, ValueError, "X must be finite"),
        ({"X": [[1e200], [-1e200], [0.0]]}, ValueError, "rescale"),
        ({"cov": "low"}, ValueError, "cov='low'"),
        ({"cov": None}, TypeError, "cov=None"),
        ({"shrinkage": 1.1}, ValueError, "shrinkage=1.1"),
        ({"shrinkage": -0.1}, ValueError, "shrinkage=-0.1"),
        ({"shrinkage": "best"}, ValueError, "shrinkage='best'"),
        ({"shrinkage": True}, TypeError, "shrinkage=True"),
        ({"shrinkage": "oas", "cov": "diagonal"}, ValueError, "'full' with shrinkage='oas'"),
        ({"ridge": -1.0}, ValueError, "ridge=-1.0"),
        ({"ridge": np.nan}, ValueError, "ridge=nan"),
        ({"ddof": -1}, ValueError, "ddof=-1"),
        ({"ddof": 10}, ValueError, "ddof=10"),
        ({"ddof": 1.0}, TypeError, "ddof=1.0"),
    ],
)
def test_refuses(change: dict[str, object], error: type[Exception], match: str) -> None:
    arguments = {"X": table(10, 2)} | change
    with pytest.raises(error, match=match):
        Reference.fit(**arguments)  # type: ignore[arg-type]
