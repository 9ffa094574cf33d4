"""Quadratic forms of a Reference: squared_mahalanobis, solve and inner."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakscore
from leakscore import Reference, _core
from tests.helpers.layouts import LAYOUTS, memmap
from tests.oracles import reference as oracle


def case(kind: str, dim: int, rows: int, offset: float = 0.0) -> tuple[Reference, np.ndarray]:
    rng = np.random.default_rng(dim)
    factor = rng.normal(size=(dim, dim)) + 2 * np.eye(dim)
    cov = factor @ factor.T
    mean = rng.normal(size=dim) + offset
    Z = mean + rng.normal(size=(rows, dim)) @ factor.T
    return Reference(mean, cov if kind == "full" else np.diag(cov)), Z


@pytest.mark.parametrize("kind", ["diagonal", "full"])
@pytest.mark.parametrize("dim", [1, 2, 5, 17])
def test_squared_mahalanobis_against_40_digits(kind: str, dim: int) -> None:
    reference, Z = case(kind, dim, 7)
    expected = oracle.squared_mahalanobis(Z, reference.mean, reference.cov)
    condition = np.linalg.cond(reference.cov) if kind == "full" else 1.0
    np.testing.assert_allclose(
        reference.squared_mahalanobis(Z), expected, rtol=4e-16 * (4 + condition)
    )
    one = reference.squared_mahalanobis(Z[3])
    assert isinstance(one, float)
    assert one == pytest.approx(expected[3], rel=4e-16 * (4 + condition))


@pytest.mark.parametrize("kind", ["diagonal", "full"])
@pytest.mark.parametrize("dim", [3, 200, 401])
def test_float32_rows_with_an_offset_of_100_sd(kind: str, dim: int) -> None:
    reference, Z = case(kind, dim, 50, offset=100 * np.sqrt(dim))
    single = Z.astype(np.float32)
    e = single.astype(np.float64) - reference.mean
    matrix = reference.cov if kind == "full" else np.diag(reference.cov)
    expected = np.einsum("ij,ij->i", e, np.linalg.solve(matrix, e.T).T)
    found = reference.squared_mahalanobis(single)
    assert found.dtype == np.float64
    # The oracle's own rounding, by LU, is about 1e-16 times the condition of the matrix.
    np.testing.assert_allclose(found, expected, rtol=1e-14 * dim)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["diagonal", "full"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, kind: str, dtype: type, tmp_path: Path) -> None:
    reference, Z = case(kind, 37, 530)
    Z = Z.astype(dtype)
    expected = reference.squared_mahalanobis(Z)
    for rows in (LAYOUTS[layout](Z), memmap(LAYOUTS[layout](Z), tmp_path)):
        before = rows.copy()
        np.testing.assert_allclose(reference.squared_mahalanobis(rows), expected, rtol=1e-13)
        np.testing.assert_allclose(reference.solve(rows), reference.solve(Z), rtol=1e-12)
        products = reference.inner(rows, Z[:3])
        np.testing.assert_allclose(products, reference.inner(Z, Z[:3]), rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(rows, before)


def test_integer_rows() -> None:
    reference, _ = case("full", 4, 1)
    Z = np.array([[0, 1, 2, -3], [127, -128, 5, 0]], dtype=np.int8)
    expected = reference.squared_mahalanobis(Z.astype(float))
    np.testing.assert_array_equal(reference.squared_mahalanobis(Z), expected)
    np.testing.assert_array_equal(reference.squared_mahalanobis(Z.tolist()), expected)


@pytest.mark.parametrize("dim", [1, 20000, 40000])
def test_long_and_short_rows(dim: int) -> None:
    rng = np.random.default_rng(0)
    Z, variances = rng.normal(size=(5, dim)), rng.uniform(0.5, 2, size=dim)
    expected = (Z.astype(np.longdouble) ** 2 / variances).sum(axis=1).astype(float)
    reference = Reference(np.zeros(dim), variances)
    for rows in (Z, np.asfortranarray(Z), Z.astype(Z.dtype.newbyteorder())):
        np.testing.assert_allclose(reference.squared_mahalanobis(rows), expected, rtol=1e-14)


@pytest.mark.parametrize("isa", leakscore.supported_isas())
def test_isa_levels_and_threads_give_the_same_bits(isa: str) -> None:
    reference, Z = case("diagonal", 300, 3001)
    inputs = [Z, Z.astype(np.float32), np.asfortranarray(Z), Z.astype(">f8"), Z[:1]]
    active = leakscore.active_isa()
    leakscore.set_num_threads(1)
    try:
        _core.select_isa(leakscore.supported_isas()[0])
        expected = [reference.squared_mahalanobis(Y) for Y in inputs]
        _core.select_isa(isa)
        for threads in (1, 2, 8):
            leakscore.set_num_threads(threads)
            for Y, wanted in zip(inputs, expected, strict=True):
                np.testing.assert_array_equal(reference.squared_mahalanobis(Y), wanted)
    finally:
        _core.select_isa(active)


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_solve_and_inner(kind: str) -> None:
    reference, Z = case(kind, 9, 6)
    U = Z[:4]
    matrix = reference.cov if kind == "full" else np.diag(reference.cov)
    inverse = np.linalg.inv(matrix)
    np.testing.assert_allclose(reference.solve(Z), Z @ inverse, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(reference.solve(Z[0]), inverse @ Z[0], rtol=1e-11, atol=1e-12)
    for left, right in ((U, Z), (Z, U), (U[0], Z), (Z, U[0]), (U[:1], Z)):
        found = reference.inner(left, right)
        expected = left @ inverse @ right.T
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)
    one = reference.inner(Z[0] - reference.mean, Z[0] - reference.mean)
    assert isinstance(one, float)
    assert one == pytest.approx(reference.squared_mahalanobis(Z[0]), rel=1e-12)


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_refuses(kind: str) -> None:
    reference, Z = case(kind, 3, 4)
    for method, name in (
        (reference.squared_mahalanobis, "Z"),
        (reference.solve, "V"),
        (lambda v: reference.inner(v, Z), "U"),
        (lambda v: reference.inner(Z, v), "V"),
        (lambda v: reference.inner(v, Z[0]), "U"),
    ):
        for bad, match in (
            (np.ones(4), "3 coordinates"),
            (np.ones((2, 2)), "3 coordinates"),
            (np.ones((1, 2, 3)), r"\(d,\) or \(k, d\)"),
            (np.ones((0, 3)), "empty"),
            (1.0, r"\(d,\) or \(k, d\)"),
            ([1.0, np.nan, 0.0], "finite"),
            ([[1.0, 0.0, 0.0], [0.0, -np.inf, 0.0]], "finite"),
        ):
            with pytest.raises(ValueError, match=f"{name} .*{match}"):
                method(bad)
        for bad in (["a", "b", "c"], np.ones(3, dtype=complex), np.array([None] * 3)):
            with pytest.raises(TypeError, match=name):
                method(bad)


@given(
    st.integers(1, 6),
    st.integers(0, 2**32 - 1),
    st.floats(-2, 2),
    st.floats(-3, 3),
)
def test_affine_maps_of_the_data_leave_distances_as_they_are(
    dim: int, seed: int, log_scale: float, log_shift: float
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4 * dim + 8, dim))
    rotation = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    stretch = np.exp(rng.uniform(-1, 1, size=dim)) * 10**log_scale
    Y = X @ (rotation * stretch) + 10**log_shift
    before, after = (Reference.fit(T).squared_mahalanobis(T) for T in (X, Y))
    np.testing.assert_allclose(after, before, rtol=1e-9)
    by_columns = X * stretch + 10**log_shift
    for options in ({"cov": "diagonal"}, {"shrinkage": "auto"}, {"shrinkage": 0.4}):
        before, after = (
            Reference.fit(T, **options).squared_mahalanobis(T) for T in (X, by_columns)
        )
        np.testing.assert_allclose(after, before, rtol=1e-8)
