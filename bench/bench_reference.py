"""Fitting a Reference and its squared distances (W4), beside numpy and scipy at their best."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular

from bench._harness import allclose, compare, read_seconds, timed
from leakscore import Reference
from leakscore.leakage import leave_group_out, leave_one_out

Array = np.ndarray[Any, Any]


def _gemm_seconds(flops: float, dtype: type) -> float:
    """Give the time of these operations at the speed of a square matrix product."""
    a = np.ones((1024, 1024), dtype=dtype)
    best = min(timed(lambda: a @ a)[0] for _ in range(5))
    return flops / (2 * 1024**3) * best


def _moments(X: Array) -> tuple[Array, Array]:
    """Mean and variance of each column: no faster pair of numpy calls is as accurate."""
    mean = X.mean(axis=0, dtype=np.float64)
    return mean, np.var(X, axis=0, dtype=np.float64)


def _covariance(X: Array) -> Array:
    """Mean first, then one matrix product (numpy calls syrk for it)."""
    centred = X - X.mean(axis=0)
    return centred.T @ centred / len(X)


def _logdet(cov: Array) -> Any:
    """LAPACK alone; its factor is the same whichever triangle it reads."""
    factor, _ = lapack.dpotrf(cov.astype(np.float64, copy=False), lower=1, clean=0)
    return 2 * np.log(np.diag(factor)).sum()


def _float_distances(Z: Array, mean: Array, factor: Array) -> Array:
    """Float32 throughout: half the time, and six digits of a well-conditioned covariance."""
    white = blas.strsm(1.0, factor, (Z - mean).T, lower=1, overwrite_b=1)
    return np.einsum("ij,ij->j", white, white)


def _distances(Z: Array, mean: Array, factor: Array) -> Array:
    white = solve_triangular(factor, (Z - mean).T, lower=True, check_finite=False, overwrite_b=True)
    return np.einsum("ij,ij->j", white, white)


def diagonal() -> None:
    """Variances, distances and leave-one-out of a diagonal reference."""
    for rows, dim, dtype in ((2000, 5000, np.float64), (2000, 5000, np.float32)):
        X = np.random.default_rng(0).normal(size=(rows, dim)).astype(dtype)
        name = f"{rows} x {dim} {np.dtype(dtype).name}"
        read = read_seconds(X)
        close = allclose(1e-10)
        fitted = Reference.fit(X, cov="diagonal")
        compare(
            f"diagonal fit {name}",
            lambda X=X: Reference.fit(X, cov="diagonal").cov,
            lambda X=X: _moments(X)[1],
            same=close,
            limit=read,
        )
        mean, weight = fitted.mean.astype(dtype), (1 / fitted.cov).astype(dtype)

        def form(X: Array = X, mean: Array = mean, weight: Array = weight) -> Array:
            e = X - mean
            return np.einsum("ij,ij,j->i", e, e, weight)

        compare(
            f"diagonal distances {name}",
            lambda X=X, fitted=fitted: fitted.squared_mahalanobis(X),
            form,
            same=allclose(1e-4 if dtype is np.float32 else 1e-12),
            limit=read,
        )

        def left_out(X: Array = X, mean: Array = fitted.mean, cov: Array = fitted.cov) -> Array:
            n = len(X)
            t = np.subtract(X, mean, dtype=np.float64)
            np.multiply(t, t, out=t)
            t /= cov * (n - 1)
            return n / 1000 * np.divide(t, 1 - t, out=t).sum(axis=1)

        compare(
            f"diagonal leave_one_out {name}",
            lambda X=X, fitted=fitted: leave_one_out(X, fitted, 1000),
            left_out,
            same=allclose(1e-9),
            limit=2 * read,
            note="ours checks the table too",
        )


def full() -> None:
    """W4: covariance, Cholesky factor and distances of 10,000 x 2,000."""
    rows, dim = 10_000, 2000
    for dtype in (np.float64, np.float32):
        X = np.random.default_rng(1).normal(size=(rows, dim)).astype(dtype)
        name = f"{rows} x {dim} {np.dtype(dtype).name}"
        syrk = _gemm_seconds(rows * dim**2, dtype)
        reference = Reference.fit(X)
        compare(
            f"fit and factor {name}",
            lambda X=X: Reference.fit(X).logdet,
            lambda X=X: _logdet(_covariance(X)),
            same=allclose(1e-5 if dtype is np.float32 else 1e-12),
            limit=syrk + _gemm_seconds(dim**3 / 3, np.float64),
            repeats=3,
        )
        factor = np.linalg.cholesky(reference.cov)
        compare(
            f"distances {name}",
            lambda X=X, reference=reference: reference.squared_mahalanobis(X),
            lambda X=X, reference=reference, factor=factor: _distances(X, reference.mean, factor),
            same=allclose(1e-10),
            limit=_gemm_seconds(rows * dim**2, np.float64),
            repeats=5,
        )
    in_single(name, X, reference, factor)
    factored(reference)


def in_single(name: str, X: Any, reference: Reference, factor: Any) -> None:
    """The same distances beside float32 throughout: in float64, and as far as a check allows."""
    rows, dim = X.shape
    given = (reference.mean.astype(np.float32), np.asfortranarray(factor, dtype=np.float32))
    compare(
        f"distances {name}",
        lambda: reference.squared_mahalanobis(X),
        lambda: _float_distances(X, *given),
        same=allclose(1e-5),
        repeats=5,
        note="rival: strsm, float32 throughout; ours in float64",
    )
    quick = reference.with_precision("single")
    exact = reference.squared_mahalanobis(X)
    errors = [
        float(np.abs(found / exact - 1).max())
        for found in (quick.squared_mahalanobis(X), _float_distances(X, *given))
    ]
    compare(
        f'distances {name}, precision="single"',
        lambda: quick.squared_mahalanobis(X),
        lambda: _float_distances(X, *given),
        same=allclose(1e-5),
        limit=_gemm_seconds(rows * dim**2, np.float32),
        repeats=5,
        note=f"strsm, errs by {errors[1]:.0e}; ours by {errors[0]:.0e}, checked in float64",
    )


def factored(reference: Reference) -> None:
    """The factor of a covariance that is given."""
    matrix, dim = reference.cov, reference.dim
    compare(
        f"Cholesky factor {dim} x {dim}",
        lambda: Reference(reference.mean, matrix).logdet,
        lambda: _logdet(matrix),
        same=allclose(1e-12),
        limit=_gemm_seconds(dim**3 / 3, np.float64),
        repeats=5,
        note="ours checks symmetry and finiteness too",
    )


def grouped() -> None:
    """Persons of three records each, left out as a whole: 30,000 x 20, beside refits by numpy."""
    rows, dim, size = 30_000, 20, 3
    X = np.random.default_rng(2).normal(size=(rows, dim))
    person = np.arange(rows) // size
    reference = Reference.fit(X)

    def refits() -> Array:
        """Mean and covariance of the others from the sums of all, one solution a person."""
        centred = X - X.mean(axis=0)
        scatter, left = centred.T @ centred, rows - size
        away = centred.reshape(-1, size, dim)
        sums = away.sum(axis=1)
        without = scatter - away.transpose(0, 2, 1) @ away
        without -= sums[:, :, None] * sums[:, None, :] / left
        shift = sums * (rows / left)
        solved = np.linalg.solve(without / left, shift[..., None])[..., 0]
        return np.asarray((shift * solved).sum(axis=1) / rows)

    compare(
        f"leave_group_out {rows} x {dim}, groups of {size}",
        lambda: leave_group_out(X, reference, rows, person),
        refits,
        same=allclose(1e-9),
        repeats=5,
        note="rival: a batch of 20 x 20 systems; ours checks the table too",
    )


def run() -> None:
    """Run all tables."""
    diagonal()
    full()
    grouped()
