"""What a Reference accepts, refuses and holds."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from leakscore import ColumnGram, Reference, SingularCovarianceError

MEAN = np.array([1.0, -2.0, 0.5])
VARIANCES = np.array([1.0, 4.0, 0.25])
MATRIX = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.2], [0.1, -0.2, 3.0]])


@pytest.mark.parametrize(("cov", "kind"), [(VARIANCES, "diagonal"), (MATRIX, "full")])
def test_holds_copies_that_cannot_be_written(cov: np.ndarray, kind: str) -> None:
    mean, given = MEAN.copy(), cov.copy()
    reference = Reference(mean, given)
    mean[:] = given[:] = 9.0
    np.testing.assert_array_equal(reference.mean, MEAN)
    np.testing.assert_array_equal(reference.cov, cov)
    np.testing.assert_array_equal(reference.variances, cov if cov.ndim == 1 else np.diag(cov))
    assert (reference.dim, reference.kind, reference.n_reference) == (3, kind, None)
    assert repr(reference) == f"Reference(dim=3, kind='{kind}')"
    for held in (reference.mean, reference.cov, reference.variances):
        with pytest.raises(ValueError, match="read-only"):
            held[0] = 1.0
    with pytest.raises(AttributeError):
        reference.mean = MEAN  # type: ignore[misc]


@pytest.mark.parametrize("cov", [VARIANCES, MATRIX])
def test_logdet(cov: np.ndarray) -> None:
    expected = np.linalg.slogdet(np.diag(cov) if cov.ndim == 1 else cov)[1]
    assert Reference(MEAN, cov).logdet == pytest.approx(expected, rel=1e-14)
    assert Reference([0.0, 0.0], [1e-200, 1e-200]).logdet == pytest.approx(-400 * np.log(10))


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))]
)
def test_copies_and_pickles(clone) -> None:
    table = np.random.default_rng(0).normal(size=(20, 3))
    reference = Reference.fit(table, ridge=0.1, ddof=1).add_diagonal([1.0, 0.0, 2.0])
    again = clone(reference)
    np.testing.assert_array_equal(again.cov, reference.cov)
    np.testing.assert_array_equal(
        again.squared_mahalanobis(table), reference.squared_mahalanobis(table)
    )
    assert (again.n_reference, again.shrinkage) == (20, 0.0)
    assert not again.cov.flags.writeable


def test_add_diagonal() -> None:
    np.testing.assert_array_equal(Reference(MEAN, VARIANCES).add_diagonal(1.0).cov, VARIANCES + 1)
    noisy = Reference(MEAN, MATRIX).add_diagonal([1.0, 0.0, 2.0])
    np.testing.assert_array_equal(noisy.cov, MATRIX + np.diag([1.0, 0.0, 2.0]))
    reference = Reference(MEAN, MATRIX)
    assert reference.add_diagonal(0.0) is reference
    with pytest.raises(ValueError, match=r"variance=.* must be >= 0"):
        reference.add_diagonal([1.0, -1.0, 0.0])
    with pytest.raises(ValueError, match="variance of shape"):
        reference.add_diagonal([1.0, 1.0])


@pytest.mark.parametrize(
    ("mean", "cov", "error", "match"),
    [
        ([0, 0], [1, -1], ValueError, r"cov\[1\]=-1.0, a variance"),
        ([0, 0], [[1, 0], [0, -1e-300]], ValueError, r"cov\[1, 1\]=-1e-300, a variance"),
        (
            [0, 0],
            [[1, 0.5], [0.4, 1]],
            ValueError,
            r"symmetric: cov\[0, 1\]=0.5 and cov\[1, 0\]=0.4",
        ),
        ([0, 0], [[1e-20, 5e-21], [4e-21, 1e-20]], ValueError, "symmetric"),
        ([0, 0], [[1, 2], [2, 1]], ValueError, "semidefinite: .* eigenvalue -1"),
        ([0, 0], [[1, 1.0001], [1.0001, 1]], ValueError, "semidefinite"),
        ([0, 0], [[0, 1], [1, 1]], ValueError, "variance 0 has a covariance"),
        ([0, 0], [1.0], ValueError, r"cov of shape \(1,\)"),
        ([0, 0], np.eye(3), ValueError, r"cov of shape \(3, 3\)"),
        ([0, 0], 1.0, ValueError, r"cov of shape \(\)"),
        ([0, np.nan], [1, 1], ValueError, "mean must be finite"),
        ([0, 0], [np.inf, 1], ValueError, "cov must be finite"),
        ([0, 0], [[1, np.nan], [np.nan, 1]], ValueError, "cov must be finite"),
        ([], [], ValueError, "mean must not be empty"),
        ([[0.0]], [1], ValueError, r"mean of shape \(1, 1\)"),
        (["a"], [1], TypeError, "mean"),
        ([0j], [1], TypeError, "mean"),
        ([0.0], ["1"], TypeError, "cov"),
        ([0.0], [None], TypeError, "cov"),
    ],
)
def test_refuses(mean: object, cov: object, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        Reference(mean, cov)  # type: ignore[arg-type]


def test_symmetry_is_relative_to_the_dtype() -> None:
    cov = MATRIX.copy()
    cov[0, 1] += 1e-9
    held = Reference(MEAN, cov).cov
    np.testing.assert_array_equal(held, held.T)
    cov[0, 1] += 1e-5
    assert Reference(MEAN, cov.astype(np.float32)).kind == "full"
    with pytest.raises(ValueError, match="symmetric"):
        Reference(MEAN, cov)


@pytest.mark.parametrize(
    ("cov", "names"),
    [
        ([1.0, 0.0, 1.0], r"column\(s\) 1 have variance 0"),
        (np.diag([0.0, 1.0, 0.0]), r"column\(s\) 0, 2 have variance 0"),
        ([[1.0, 0.5, 2.0], [0.5, 1.0, 1.0], [2.0, 1.0, 4.0]], "column 2 is a linear combination"),
    ],
)
def test_singular_covariance_is_held_and_used_with_noise(cov: object, names: str) -> None:
    reference = Reference(MEAN, cov)  # type: ignore[arg-type]
    assert reference.logdet == -np.inf
    row = np.ones(3)
    for call in (
        reference.squared_mahalanobis,
        reference.solve,
        lambda v: reference.inner(v, v),
    ):
        with pytest.raises(SingularCovarianceError, match=names + ".*noise_std > 0.*ridge > 0"):
            call(row)
    noisy = np.diag(cov) if np.ndim(cov) == 1 else np.asarray(cov)
    noisy = noisy + 0.3 * np.eye(3)
    expected = (row - MEAN) @ np.linalg.solve(noisy, row - MEAN)
    found = reference.add_diagonal(0.3).squared_mahalanobis(row)
    assert found == pytest.approx(expected, rel=1e-13)


def test_units_do_not_make_a_covariance_singular() -> None:
    scale = np.array([1e-150, 1.0, 1e150])
    reference = Reference(MEAN * scale, MATRIX * scale * scale[:, None])
    expected = Reference(MEAN, MATRIX).squared_mahalanobis(MEAN + 1)
    assert reference.squared_mahalanobis((MEAN + 1) * scale) == pytest.approx(expected, rel=1e-12)


def test_a_diagonal_reference_never_imports_scipy() -> None:
    code = (
        "import sys, numpy as np, leakscore\n"
        "from leakscore import Reference, leakage\n"
        "X = np.arange(12.0).reshape(6, 2) ** 2\n"
        "r = Reference.fit(X, cov='diagonal', shrinkage='auto', ridge=0.5)\n"
        "r.squared_mahalanobis(X), r.solve(X), r.inner(X, X), r.logdet, r.add_diagonal(1.0)\n"
        "leakage.leakage_score(X, r, 5, noise_std=0.1), leakage.leave_one_out(X, r, 5)\n"
        "assert not [name for name in sys.modules if name.split('.')[0] == 'scipy']\n"
        "Reference.fit(X).squared_mahalanobis(X)\n"
        "assert 'scipy.linalg.cython_blas' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_variance_too_small_to_divide_by_is_none() -> None:
    for cov in ([1.0, 1e-310], np.diag([1.0, 1e-310])):
        with pytest.raises(SingularCovarianceError, match=r"column\(s\) 1 have variance 0"):
            Reference([0.0, 0.0], cov).squared_mahalanobis([0.0, 0.0])


def test_a_copy_of_column_sums_is_another_object() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    sums = ColumnGram(40)
    sums.update(X[:, :2])
    for twin in (copy.copy(sums), copy.deepcopy(sums)):
        twin.update(X[:, 2:])
        assert (sums.dim, twin.dim) == (2, 3)
        np.testing.assert_allclose(twin.reference().mean, X.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(sums.reference().mean, X[:, :2].mean(axis=0), rtol=1e-12)
