"""Systems in a low-rank covariance: what float32 sums cost, and what is kept for the next call."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from leakscore import Reference, _core, scores, set_num_threads
from tests.helpers.layouts import LAYOUTS
from tests.helpers.parts import CentredRows
from tests.helpers.sizes import sizes

RNG = np.random.default_rng(5)


def centred(X: Any, centre: Any) -> Any:
    return X.astype(np.float64) - centre


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (17, 40), (9, 2500), (40, 4130)])
def test_products_and_combinations(shape: tuple[int, int], dtype: Any, isa: str) -> None:
    """Against numpy in float64, with an offset of the data; bit-equal for any number of threads."""
    rows, cols = shape
    X = (RNG.normal(size=shape) * 20 + 90).astype(dtype)
    centre = RNG.normal(size=cols + 3) + 90
    unit, vectors = RNG.uniform(0.5, 2, cols + 3), RNG.normal(size=(3, cols + 3))
    weight = RNG.normal(size=(3, rows))
    F = centred(X, centre[3:])
    found = []
    for threads in (1, 2):
        set_num_threads(threads)
        one, other = vectors.copy(), vectors.copy()
        _core.combine(X, 3, centre, weight, one)
        both = _core.combine_and_multiply(X, 3, centre, unit, weight, other)
        found.append((_core.multiply(X, 3, centre, vectors), one, other, both))
    for mine, again in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, again)
    products, one, other, both = found[0]
    expected = vectors.copy()
    expected[:, 3:] += weight @ F
    size = np.abs(F).max()
    np.testing.assert_allclose(products, vectors[:, 3:] @ F.T, atol=1e-13 * cols * size, rtol=0)
    np.testing.assert_allclose(one, expected, atol=1e-13 * rows * size, rtol=0)
    np.testing.assert_array_equal(one, other)
    scaled = (expected * unit)[:, 3:] @ F.T
    np.testing.assert_allclose(both, scaled, atol=1e-13 * cols * size * rows * size, rtol=0)


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 8e-16), (np.float32, 1e-15)])
def test_long_rows_keep_their_digits(dtype: Any, error: float) -> None:
    """Of the spread, against sums in extended precision; running sums of all columns keep less."""
    rng = np.random.default_rng(1)
    centre, v = rng.normal(size=49_152), rng.normal(size=(4, 49_152))
    X = rng.normal(size=(48, centre.size)).astype(dtype)
    exact = v.astype(np.longdouble) @ (X.astype(np.longdouble) - centre).T
    gaps = _core.multiply(X, 0, centre, v) - exact
    assert np.sqrt(np.square(gaps).mean()) <= error * exact.std()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_of_every_layout(layout: str) -> None:
    X = RNG.normal(size=(21, 300)).astype(np.float32)
    odd, v = LAYOUTS[layout](X), RNG.normal(size=(2, 300))
    centre, weight = RNG.normal(size=300), RNG.normal(size=(2, 21))
    np.testing.assert_allclose(
        _core.multiply(odd, 0, centre, v), v @ centred(odd, centre).T, atol=1e-11, rtol=0
    )
    found = v.copy()
    _core.combine(odd, 0, centre, weight, found)
    np.testing.assert_allclose(found, v + weight @ centred(odd, centre), atol=1e-12, rtol=0)


@pytest.fixture
def smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 15,000 columns be summed in float32, and solved by strips, as 150,000 are."""
    sizes(monkeypatch, single_from=2**27, strip_numbers=2**17)


def float_sums(dim: int = 15_000) -> tuple[Reference, Reference, Any]:
    """Make a reference whose Gram matrix is summed in float32, one in float64, and targets."""
    X = RNG.normal(size=(120, dim)).astype(np.float32) + 7
    Z = np.vstack([X[:1], RNG.normal(size=(2, X.shape[1])) + 7])
    exact = Reference.fit(X.astype(np.float64), "low-rank", shrinkage=0.1)
    return Reference.fit(X, "low-rank", shrinkage=0.1), exact, Z


@pytest.mark.usefixtures("smaller")
def test_a_wrong_gram_matrix_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """No correction converges from a matrix that is 60 % off: it is summed again, or it raises."""
    right, wrong = CentredRows.gram, {True}  # in float32, or not
    extra = np.linspace(0.0, 1e-3, 15_000)  # for which G is summed again

    def gram(self: CentredRows, scale: Any, in_float: list[bool]) -> Any:
        return right(self, scale, in_float) * (1.6 if any(in_float) in wrong else 1.0)

    monkeypatch.setattr(CentredRows, "gram", gram)
    for copies in (1, 3):  # a few at a time, and many
        quick, exact, Z = float_sums()
        quick, exact = quick.add_diagonal(extra), exact.add_diagonal(extra)
        held: Any = quick.covariance
        assert held.capacity().gram.single
        rows = np.repeat(Z, copies, axis=0)
        expected, weights = exact.solve(rows), quick.solve(rows)
        assert not held.capacity().gram.single
        np.testing.assert_allclose(weights, expected, atol=1e-9 * np.abs(expected).max(), rtol=0)
    wrong.add(False)
    quick, _, Z = float_sums()
    with pytest.raises(RuntimeError, match="did not converge: after 10 corrections"):
        quick.add_diagonal(extra).solve(Z[:2])


@pytest.mark.usefixtures("smaller")
@pytest.mark.parametrize("shrinkage", [0.5, 1e-3, 1e-7])
def test_float_sums_at_every_intensity(shrinkage: float) -> None:
    """Down to intensities at which float64 loses digits too, which must not look like failure."""
    X = RNG.normal(size=(120, 15_000)).astype(np.float32)
    quick = Reference.fit(X, "low-rank", shrinkage=shrinkage)
    exact = Reference.fit(X.astype(np.float64), "low-rank", shrinkage=shrinkage)
    Z = np.vstack([X[:1], X[:1] - X[1:2], RNG.normal(size=(1, X.shape[1]))])
    found, expected = quick.solve(Z), exact.solve(Z)
    scale = np.abs(expected).max(axis=1, keepdims=True)
    assert (np.abs(found - expected) / scale).max() < max(1e-8, 1e-15 / shrinkage**2)


def test_what_is_kept_does_not_change_a_score() -> None:
    quick, _, Z = float_sums(150_000)
    observed = RNG.normal(size=(3, quick.dim)).astype(np.float32) * 0.1 + 7
    first = scores.covariance_score(observed, Z[0], quick, 50)
    np.testing.assert_array_equal(scores.covariance_score(observed, Z[0], quick, 50), first)
    other = scores.covariance_score(observed, Z[1], quick, 50)
    assert np.abs(other - first).min() > 1e-3
    both = scores.covariance_score(observed, Z[:2], quick, 50)
    np.testing.assert_allclose(both, np.column_stack([first, other]), rtol=1e-9, atol=1e-9)
    held: Any = quick.covariance
    noise = [np.asarray(s) for s in (0.5, 0.25, 0.5)]
    made = [held.plus(s) for s in noise]
    assert made[0] is made[2]
    assert made[0] is not made[1]
    for shift, known in zip(noise, made, strict=True):
        np.testing.assert_array_equal(known.diagonal, held.diagonal + shift)
    assert held.plus(np.asarray(0.125)) is held.plus(np.asarray(0.125))
    assert held.plus(np.asarray(0.5)) is not made[0]  # two are kept


@pytest.mark.usefixtures("smaller")
@pytest.mark.parametrize(
    ("dtype", "paired"), [(np.float32, False), (np.float64, True), (np.int8, False)]
)
def test_many_targets_of_many_coordinates(dtype: Any, paired: bool) -> None:
    """Solved by strips of columns, which give what one target at a time gives."""
    X = (RNG.normal(size=(20, 15_000)) * 20).astype(dtype)
    known = Reference.fit(X, "low-rank", shrinkage=0.2)
    Z = (RNG.normal(size=(9, X.shape[1])) * 20).astype(dtype)
    x = (RNG.normal(size=(9, X.shape[1])) * 5).astype(dtype)
    held: Any = known.covariance
    assert held.streams(len(Z))
    assert not held.streams(1)
    for given in ({}, {"noise_std": 0.5}, {"neighbours": "add-remove"}):
        for score in (scores.covariance_score, scores.gaussian_llr):
            found = score(x, Z, known, 30, paired=paired, **given)
            for k in (0, 8):
                expected = score(x, Z[k], known, 30, **given)
                atol = 1e-10 * expected.std()
                mine, its = (found[k], expected[k]) if paired else (found[:, k], expected)
                np.testing.assert_allclose(mine, its, atol=atol, rtol=1e-10)
    distances = [known.squared_mahalanobis(z) for z in Z]
    np.testing.assert_allclose(known.squared_mahalanobis(Z), distances, rtol=1e-12)
    if dtype is not np.int8:
        Z[3, 7] = np.nan
        with pytest.raises(ValueError, match="target must be finite"):
            scores.covariance_score(x, Z, known, 30, paired=paired)
        with pytest.raises(ValueError, match="Z must be finite"):
            known.squared_mahalanobis(Z)


@pytest.mark.usefixtures("smaller")
def test_strips_of_float_sums_are_corrected() -> None:
    quick, exact, Z = float_sums()
    Z = np.vstack([Z, Z[::-1] + 0.25, 2 * Z])
    x = RNG.normal(size=(4, quick.dim)).astype(np.float32) * 0.1 + 7
    held: Any = quick.covariance
    assert held.streams(len(Z))
    assert held.capacity().gram.single
    found, expected = (scores.covariance_score(x, Z, r, 50) for r in (quick, exact))
    np.testing.assert_allclose(found, expected, atol=1e-8 * expected.std(axis=0).min(), rtol=1e-8)


@pytest.mark.parametrize(("dim", "rank"), [(3, 3), (3, 9), (50, 50), (50, 200)])
@pytest.mark.parametrize("diagonal", [0.0, 1e-12, 1e-6, 1.0])
def test_factors_with_as_many_columns_as_coordinates(dim: int, rank: int, diagonal: float) -> None:
    """The diagonal may be tiny or 0 although the matrix is well conditioned."""
    rng = np.random.default_rng(dim + rank)
    factor = rng.standard_normal((dim, rank)) + (3 * np.eye(dim, rank) if dim == rank else 0)
    z, mean = rng.standard_normal((4, dim)), rng.standard_normal(dim)
    reference = Reference.low_rank(mean, diagonal, factor)
    cov = factor @ factor.T + diagonal * np.eye(dim)
    loss = 1e-15 * np.linalg.cond(cov)
    assert reference.kind == "low-rank"
    expected = np.linalg.solve(cov, (z - mean).T).T
    np.testing.assert_allclose(reference.solve(z - mean), expected, rtol=loss, atol=loss)
    distances = np.einsum("ij,ij->i", z - mean, expected)
    np.testing.assert_allclose(reference.squared_mahalanobis(z), distances, rtol=loss)
    assert reference.logdet == pytest.approx(np.linalg.slogdet(cov)[1], rel=1e-12, abs=loss)
    again = pickle.loads(pickle.dumps(reference)).add_diagonal(0.5)
    assert again.kind == "low-rank"
    np.testing.assert_allclose(again.cov, cov + 0.5 * np.eye(dim), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("ridge", [1e-3, 1e-6, 1e-9, 1e-11])
def test_rows_of_the_sample_at_hardly_any_ridge(
    ridge: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums in float32 are not trusted where S is huge: M of a row is n0 - 1, less what r takes."""
    sizes(monkeypatch, single_from=0)
    X = np.random.default_rng(1).normal(size=(60, 1500)).astype(np.float32)
    single = Reference.fit(X, "low-rank", shrinkage=0.0, ridge=ridge)
    double = Reference.fit(X.astype(np.float64), "low-rank", shrinkage=0.0, ridge=ridge)
    found = single.squared_mahalanobis(X[:5])
    np.testing.assert_allclose(found, double.squared_mahalanobis(X[:5]), rtol=1e-6)
    np.testing.assert_allclose(found, 59.0, rtol=2e-4)
    if ridge > 1e-8:  # below, C is too ill conditioned for six digits of its inverse
        away = X[:5] - single.mean
        again = np.einsum("ij,ij->i", away, single.solve(away))
        np.testing.assert_allclose(again, found, rtol=1e-6)
