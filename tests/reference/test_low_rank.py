"""Reference.low_rank and fit(cov="low-rank") against dense matrices and mpmath."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leakscore import Reference, SingularCovarianceError
from leakscore.leakage import leakage_score, leave_one_out, noise_for
from leakscore.reference import low_rank
from leakscore.scores import covariance_score, gaussian_llr
from tests.helpers.layouts import LAYOUTS
from tests.oracles import reference as oracle

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(20, 24))
DIAGONALS = {
    "one number": 0.5,
    "vector": RNG.uniform(0.1, 3.0, size=24),
    "steep": np.geomspace(1e-2, 1e6, 24),
    "some zeros": np.where(np.arange(24) % 10 == 3, 0.0, 1.5),
}


def close(found: Any, expected: Any, rtol: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


def pair(diagonal: Any, rank: int) -> tuple[Reference, Reference]:
    """Return a low-rank reference and the same in full."""
    dim = ROWS.shape[1]
    mean, factor = np.arange(dim) / 7, np.random.default_rng(rank).normal(size=(dim, rank))
    cov = np.diag(np.broadcast_to(diagonal, dim)) + factor @ factor.T
    return Reference.low_rank(mean, diagonal, factor), Reference(mean, cov)


@pytest.mark.parametrize("rank", [3, 7, 80])
@pytest.mark.parametrize("diagonal", DIAGONALS.values(), ids=DIAGONALS)
def test_every_method_equals_the_dense_one(diagonal: Any, rank: int) -> None:
    thin, full = pair(diagonal, rank)
    assert (thin.kind, thin.dim, thin.n_reference) == ("low-rank", 24, None)
    close(thin.cov, full.cov, 1e-14)
    close(thin.variances, full.variances, 1e-14)
    assert thin.logdet == pytest.approx(oracle.logdet(full.cov), rel=1e-12)
    close(thin.solve(ROWS), np.linalg.solve(full.cov, ROWS.T).T, 1e-9)
    close(thin.solve(ROWS[0]), thin.solve(ROWS)[0], 1e-10)
    close(thin.inner(ROWS, ROWS[:3]), full.inner(ROWS, ROWS[:3]), 1e-9)
    exact = oracle.squared_mahalanobis(ROWS[:2], full.mean, full.cov)
    np.testing.assert_allclose(thin.squared_mahalanobis(ROWS[:2]), exact, rtol=1e-10)
    again = pickle.loads(pickle.dumps(thin.add_diagonal(0.1)))
    close(again.solve(ROWS), full.add_diagonal(0.1).solve(ROWS), 1e-9)


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("noise", [0.0, 0.3, np.arange(24.0) / 20], ids=["none", "one", "each"])
@pytest.mark.parametrize("targets", [1, 3, 25])
def test_every_score_equals_the_dense_one(neighbours: Any, noise: Any, targets: int) -> None:
    thin, full = pair(DIAGONALS["vector"], 5)
    given: Any = {"n": 9, "noise_std": noise, "neighbours": neighbours}
    z = RNG.normal(size=(targets, 24))
    for score in (covariance_score, gaussian_llr):
        close(score(ROWS, z, thin, **given), score(ROWS, z, full, **given), 1e-11)
        found = score(ROWS[:1], z[:1], thin, **given, paired=True)
        close(found, score(ROWS[0], z[0], full, **given), 1e-11)
    close(leakage_score(z, thin, **given), leakage_score(z, full, **given), 1e-11)


@pytest.mark.parametrize("shape", ["column-sd", "scalar"])
@pytest.mark.parametrize("diagonal", ["vector", "some zeros"])
def test_least_noise_equals_the_dense_one(shape: Any, diagonal: str) -> None:
    thin, full = pair(DIAGONALS[diagonal], 5)
    needed = [noise_for(3 * ROWS, r, 9, max_advantage=0.1, shape=shape) for r in (thin, full)]
    close(needed[0].noise_std, needed[1].noise_std, 1e-10)
    assert needed[0].worst_target == needed[1].worst_target


OPTIONS: list[dict[str, Any]] = [
    {"shrinkage": "auto"},
    {"shrinkage": "auto", "ridge": 0.4, "ddof": 1},
    {"shrinkage": 0.3},
    {"shrinkage": 0.3, "ridge": 0.2, "ddof": 1},
    {"shrinkage": 0.0, "ridge": 0.5},
    {"shrinkage": 1.0},
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("rows", [12, 90])
def test_fit_equals_the_full_one(rows: int, options: dict[str, Any], dtype: Any) -> None:
    rng = np.random.default_rng(rows)
    X = (rng.normal(size=(rows, 40)) @ rng.normal(size=(40, 40)) + 5).astype(dtype)
    thin = Reference.fit(X, "low-rank", **options)
    full = Reference.fit(X.astype(np.float64), **options)
    Z = np.vstack([X.astype(np.float64), 5 + rng.normal(size=(7, 40))])
    assert (thin.kind, thin.n_reference) == ("low-rank", rows)
    if options == {"shrinkage": "auto"}:
        np.testing.assert_array_equal(Reference.fit(X, "low-rank").solve(Z), thin.solve(Z))
    assert thin.shrinkage == pytest.approx(full.shrinkage, rel=1e-12)
    close(thin.mean, full.mean, 1e-14)
    close(thin.cov, full.cov, 1e-13)
    close(thin.logdet, full.logdet, 1e-12)
    close(thin.squared_mahalanobis(Z), full.squared_mahalanobis(Z), 1e-11)
    close(thin.solve(Z), full.solve(Z), 1e-10)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_are_read_where_they_are(layout: str) -> None:
    X = np.random.default_rng(1).normal(size=(9, 33))
    odd = LAYOUTS[layout](X)
    known = Reference.fit(X, "low-rank")
    for found, expected in (
        (Reference.fit(odd, "low-rank").solve(X), known.solve(X)),
        (known.solve(odd), known.solve(X)),
        (known.squared_mahalanobis(odd[:5]), known.squared_mahalanobis(X[:5])),
        (known.squared_mahalanobis(odd), known.squared_mahalanobis(X)),
        (known.inner(odd, odd[:2]), known.inner(X, X[:2])),
    ):
        close(found, expected, 1e-12)


def test_a_memory_map_is_read_from_the_file(tmp_path: Any) -> None:
    X = np.random.default_rng(2).normal(size=(6, 50)).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = Reference.fit(np.load(tmp_path / "X.npy", mmap_mode="r"), "low-rank")
    np.testing.assert_array_equal(mapped.solve(X), Reference.fit(X, "low-rank").solve(X))


def test_fit_holds_a_read_only_view_and_low_rank_a_copy() -> None:
    X = np.random.default_rng(3).normal(size=(6, 10))
    fitted = Reference.fit(X, "low-rank")
    assert np.shares_memory(fitted.covariance.parts[0], X)  # type: ignore[attr-defined]
    X[0] = 1.0  # which is the caller's to do, but not while the reference is used
    factor = X.T.copy()
    given = Reference.low_rank(np.zeros(10), 1.0, factor)
    before = given.cov
    factor[:] = 9.0
    np.testing.assert_array_equal(given.cov, before)


def test_what_noise_makes_regular() -> None:
    X = np.random.default_rng(4).normal(size=(8, 30))
    X[:, 7] = 2.0
    singular = Reference.fit(X, "low-rank", shrinkage=0.0)
    assert singular.logdet == -np.inf
    dense = Reference(X.mean(axis=0), np.cov(X.T, ddof=0))
    close(
        leakage_score(X, singular, 5, noise_std=0.2),
        leakage_score(X, dense, 5, noise_std=0.2),
        1e-12,
    )
    for score in (covariance_score, gaussian_llr):
        found = score(X, X[:2], singular, 5, noise_std=0.2)
        close(found, score(X, X[:2], dense, 5, noise_std=0.2), 1e-11)
    with pytest.raises(SingularCovarianceError, match=r"column\(s\) 7 have variance 0"):
        singular.solve(X)


@pytest.mark.parametrize(("rank", "diagonal"), [(2, 0.0), (4, np.repeat([0.0, 1.0], 5))])
def test_too_few_rows_for_the_zeros(rank: int, diagonal: Any) -> None:
    factor = np.random.default_rng(5).normal(size=(10, rank))
    thin = Reference.low_rank(np.zeros(10), diagonal, factor)
    with pytest.raises(SingularCovarianceError, match=r"linear combination.*noise_std > 0"):
        thin.squared_mahalanobis(np.ones(10))
    regular = Reference.low_rank(np.zeros(10), diagonal, np.hstack([factor, np.eye(10)]))
    assert np.isfinite(regular.squared_mahalanobis(np.ones(10)))


def test_rows_of_the_sample_keep_their_digits_at_little_noise() -> None:
    """M of a row in the span of the others is small beside |D^-1/2 e|^2 = 1e12."""
    X = np.random.default_rng(6).normal(size=(5, 40))
    thin = Reference.fit(X, "low-rank", shrinkage=0.0, ridge=1e-10)
    exact = oracle.squared_mahalanobis(X, thin.mean, thin.cov)
    np.testing.assert_allclose(thin.squared_mahalanobis(X), 4.0, rtol=1e-8)
    np.testing.assert_allclose(thin.squared_mahalanobis(X), exact, rtol=1e-5)


@pytest.mark.parametrize(
    "options",
    [{"ridge": 0.5}, {"ridge": 1e-6}, {"ridge": 0.5, "ddof": 1}, {"shrinkage": 0.3}],
    ids=str,
)
@pytest.mark.parametrize("dim", [6, 16])
def test_leave_one_out_equals_refits(options: dict[str, Any], dim: int) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(12, dim)) @ rng.normal(size=(dim, dim)) + 50
    X[3] *= 10
    given = {"shrinkage": 0.0} | options
    found = leave_one_out(X, Reference.fit(X, "low-rank", **given), 7)
    for i, m in enumerate(found[:5]):
        others = Reference.fit(np.delete(X, i, axis=0), **given)
        exact = oracle.squared_mahalanobis(X[i : i + 1], others.mean, others.cov)[0]
        assert m == pytest.approx(exact / 7, rel=1e-9 if dim == 6 else 2e-5)


def test_leave_one_out_of_many_shrunk_rows_is_refused() -> None:
    X = np.random.default_rng(8).normal(size=(400, 3000))
    with pytest.raises(ValueError, match=r"shrinkage='auto' for X of shape .*shrinkage=0.0 with"):
        leave_one_out(X, Reference.fit(X, "low-rank"), 10)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"diagonal": -1.0}, "diagonal=-1.0 must be >= 0"),
        ({"diagonal": [1.0]}, "diagonal of shape"),
        ({"factor": np.ones((4, 2))}, r"factor of shape \(4, 2\) must be \(3, r\)"),
        ({"factor": np.ones(3)}, "factor of shape .* 2-D"),
        ({"factor": np.ones((3, 0))}, "factor of shape"),
        ({"factor": np.full((3, 1), 1e200)}, "factor must have variances below"),
        ({"mean": [0.0, np.inf, 0.0]}, "mean must be finite"),
    ],
)
def test_refuses(given: dict[str, Any], match: str) -> None:
    good: dict[str, Any] = {"mean": np.zeros(3), "diagonal": 1.0, "factor": np.ones((3, 1))}
    with pytest.raises(ValueError, match=match):
        Reference.low_rank(**good | given)


def test_the_matrix_of_many_coordinates_is_refused() -> None:
    thin = Reference.low_rank(np.zeros(20_000), 1.0, np.ones((20_000, 1)))
    with pytest.raises(ValueError, match="at most 16384 coordinates, not 20000"):
        thin.cov  # noqa: B018
    with pytest.raises(ValueError, match=r"cov='low-rank' must be 'full' with shrinkage='oas'"):
        Reference.fit(ROWS, "low-rank", shrinkage="oas")


def test_a_gram_matrix_is_centred_on_both_sides() -> None:
    """C G C with C = 1 - ones/m, in fractions: what rounding put into the direction of ones."""
    rng = np.random.default_rng(12)
    half = rng.normal(size=(7, 7)) + 1e3 * rng.normal(size=(7, 1))
    gram = half + half.T
    exact = [[Fraction(x) for x in row] for row in gram.tolist()]
    rows = [sum(row) / 7 for row in exact]
    cols = [sum(column) / 7 for column in zip(*exact, strict=True)]
    mean = sum(rows) / 7
    found = low_rank.doubly_centred(gram.copy())
    for i in range(7):
        for j in range(7):
            true = float(exact[i][j] - rows[i] - cols[j] + mean)
            assert found[i, j] == pytest.approx(true, abs=1e-11)
    assert np.abs(found.sum(axis=0)).max() < 1e-11
    assert np.abs(found.sum(axis=1)).max() < 1e-11
