"""leave_one_out against plain refits without each row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscore import Reference, SingularCovarianceError
from leakscore.leakage import leakage_score, leave_one_out
from tests.helpers.layouts import LAYOUTS
from tests.oracles import leakage as oracle


def table(rows: int = 25, dim: int = 4, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, dim)) @ rng.normal(size=(dim, dim)) + 5
    X[rows // 2] *= 10
    return X


@pytest.mark.parametrize("kind", ["full", "diagonal"])
@pytest.mark.parametrize("ddof", [0, 1, 3])
@pytest.mark.parametrize("ridge", [0.0, 0.3, 1e3])
@pytest.mark.parametrize("rows", [8, 25])
def test_equals_refits(kind: str, ddof: int, ridge: float, rows: int) -> None:
    X = table(rows)
    reference = Reference.fit(X, cov=kind, ddof=ddof, ridge=ridge)
    expected = oracle.left_out_distances(X, kind, ddof, ridge)
    np.testing.assert_allclose(leave_one_out(X, reference, 7), expected / 7, rtol=1e-10)


@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_equals_refits_after_add_diagonal(kind: str) -> None:
    X, extra = table(), np.array([0.1, 0.0, 3.0, 0.5])
    reference = Reference.fit(X, cov=kind, ridge=0.2, ddof=1).add_diagonal(extra)
    expected = oracle.left_out_distances(X, kind, 1, 0.2 + extra)
    np.testing.assert_allclose(leave_one_out(X, reference, 7), expected / 7, rtol=1e-10)


@pytest.mark.parametrize("shrinkage", [0.3, 1.0, "auto", "ledoit-wolf", "oas"])
@pytest.mark.parametrize("rows", [4, 25, 200])
def test_shrinkage_is_estimated_again(shrinkage: str | float, rows: int) -> None:
    X = table(rows)
    found = leave_one_out(X, Reference.fit(X, shrinkage=shrinkage, ddof=1).add_diagonal(0.1), 7)
    for i in range(rows):
        others = Reference.fit(np.delete(X, i, axis=0), shrinkage=shrinkage, ddof=1, ridge=0.1)
        assert found[i] == pytest.approx(leakage_score(X[i], others, 7), rel=1e-12)


def test_shrinkage_of_a_large_table_is_refused() -> None:
    X = np.random.default_rng(0).normal(size=(3000, 400))
    with pytest.raises(ValueError, match=r"shrinkage='auto' for X of shape .*ridge"):
        leave_one_out(X, Reference.fit(X, shrinkage="auto"), 10)


def test_finite_population() -> None:
    X = table()
    reference = Reference.fit(X)
    finite = leave_one_out(X, reference, 10, population="finite")
    np.testing.assert_allclose(finite, leave_one_out(X, reference, 10) / (1 - 10 / 25), rtol=1e-14)
    for n in (25, 26):
        with pytest.raises(ValueError, match=f"n={n} must be < 25"):
            leave_one_out(X, reference, n, population="finite")


def test_the_outlier_no_longer_hides_itself() -> None:
    """In the sample M < n0 - 1 however far the row lies; left out, it grows with the distance."""
    X = np.random.default_rng(0).normal(size=(100, 3))
    for far in (1e2, 1e4, 1e6):
        X[7] = far
        reference = Reference.fit(X)
        assert leakage_score(X[7], reference, 100) < 1
        scores = leave_one_out(X, reference, 100)
        assert np.argmax(scores) == 7
        assert scores[7] == pytest.approx(oracle.left_out_distances(X)[7] / 100, rel=1e-6)


@pytest.mark.parametrize("kind", ["full", "diagonal"])
@pytest.mark.parametrize("offset", [0.0, 0.1, 1e5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_row_that_alone_has_a_value_is_certain(kind: str, offset: float, dtype: type) -> None:
    X = np.c_[table(), np.full(25, offset)].astype(dtype)
    X[9, 4] += 0.5
    scores = leave_one_out(X, Reference.fit(X, cov=kind), 10)
    assert np.flatnonzero(np.isinf(scores)).tolist() == [9]
    with_ridge = leave_one_out(X, Reference.fit(X, cov=kind, ridge=1e-3), 10)
    expected = oracle.left_out_distances(X, kind, 0, 1e-3)
    np.testing.assert_allclose(with_ridge, expected / 10, rtol=1e-9)


def test_very_many_rows_that_alone_have_a_value_are_certain() -> None:
    """Too many for a refit without each: rounding leaves a share of 1 just below 1."""
    rng = np.random.default_rng(0)
    cell = np.concatenate([np.arange(521), rng.integers(0, 173, 79)])
    X = (cell[:, None] == np.arange(1, 521)).astype(float)
    alone = np.bincount(cell)[cell] == 1
    assert np.isposinf(leave_one_out(X, Reference.fit(X), 600)).tolist() == alone.tolist()


def test_too_few_rows_left() -> None:
    X = table(5)  # 4 rows in 4 coordinates are left: a singular covariance
    assert np.isinf(leave_one_out(X, Reference.fit(X), 3)).all()
    assert np.isfinite(leave_one_out(X, Reference.fit(X, ridge=1.0), 3)).all()
    assert np.isinf(leave_one_out(X[:2], Reference.fit(X[:2], cov="diagonal"), 3)).all()
    with pytest.raises(ValueError, match="ddof=4 <= 3"):
        leave_one_out(X, Reference.fit(X, ddof=4), 3)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_layouts_and_float32(layout: str, kind: str) -> None:
    X = (table(300, 6) + 100).astype(np.float32)
    given = LAYOUTS[layout](X)
    found = leave_one_out(given, Reference.fit(given, cov=kind), 10)
    expected = oracle.left_out_distances(X.astype(np.float64), kind) / 10
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@given(st.integers(1, 4), st.integers(0, 10**6))
def test_is_larger_than_in_the_sample(dim: int, seed: int) -> None:
    X = np.random.default_rng(seed).standard_t(2, size=(3 * dim + 4, dim))
    for kind in ("full", "diagonal"):
        reference = Reference.fit(X, cov=kind)
        assert (leave_one_out(X, reference, 9) > leakage_score(X, reference, 9)).all()


def test_knows_its_table_by_a_column_of_last_digits() -> None:
    # The mean is rounded to 1/8: products about it are not quite those about the mean.
    X = table()
    X[:, 0] = np.random.default_rng(2).integers(0, 64, len(X)) / 8
    moved = X + np.array([1e15, 0, 0, 0])
    assert (moved[:, 0] - 1e15 == X[:, 0]).all()
    for options in ({"ridge": 1.0}, {"shrinkage": 0.5}, {}):
        expected = leave_one_out(X, Reference.fit(X, **options), 7)
        scores = leave_one_out(moved, Reference.fit(moved, **options), 7)
        np.testing.assert_allclose(scores, expected, rtol=0.2)


def test_refuses_another_table() -> None:
    X = table()
    reference = Reference.fit(X)
    for other, match in (
        (X[:-1], "the 25 rows"),
        (X + 0.01, "moments differ"),
        (X[:, ::-1], "moments differ"),
        (X.mean(axis=0) + 2 * (X - X.mean(axis=0)), "moments differ"),
        (X[:, :3], "4 coordinates"),
        (np.where(X[3, 1] == X, np.nan, X), "X must be finite"),
    ):
        with pytest.raises(ValueError, match=match):
            leave_one_out(other, reference, 10)
    with pytest.raises(ValueError, match="reference must be fitted"):
        leave_one_out(X, Reference(X.mean(axis=0), np.cov(X.T)), 10)
    with pytest.raises(ValueError, match="n=1 must be >= 2"):
        leave_one_out(X, reference, 1)
    with pytest.raises(ValueError, match="population='half'"):
        leave_one_out(X, reference, 10, population="half")  # type: ignore[arg-type]
    Y = np.c_[X[:, :3], X[:, 2]]
    with pytest.raises(SingularCovarianceError, match="column 3 is a linear combination"):
        leave_one_out(Y, Reference.fit(Y), 10)
