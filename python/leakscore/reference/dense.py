"""Full covariance matrices: what is refused, the Cholesky factor, and the test of singularity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from leakscore import _core, _validate
from leakscore._types import Array, Doubles


@cache
def _use_blas() -> None:
    """Pass scipy's BLAS and LAPACK to the compiled core (0.3 s of CPU time, on first use only)."""
    from scipy.linalg import cython_blas, cython_lapack

    _core.set_blas(dict(cython_blas.__pyx_capi__), dict(cython_lapack.__pyx_capi__))


def rounding(dtype: np.dtype[Any]) -> float:
    """Return the relative spacing of the numbers with which a matrix of this dtype was computed."""
    return float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps)


def tolerance(dim: int, epsilon: float) -> float:
    """Return the share of a variance that is lost in the rounding of a matrix of this size."""
    return 10 * dim * epsilon


@dataclass(frozen=True)
class Factor:
    """Lower Cholesky factor of a covariance, and how near it is to singular.

    The share of coordinate j is its squared pivot over its variance: what is left of the variance
    of j given the coordinates before it. It does not depend on units.
    """

    lower: Doubles
    smallest_share: float
    dependent: int | None
    """The first coordinate with no variance left beyond rounding."""


def factorise(cov: Doubles, epsilon: float) -> Factor:
    """Factorise a symmetric matrix with variances > 0, as far as it is positive definite."""
    _use_blas()
    lower, positive = _core.cholesky(cov)
    shares = np.diag(lower)[:positive] ** 2 / np.diag(cov)[:positive]
    lost = np.flatnonzero(shares <= tolerance(len(cov), epsilon))
    dependent = int(lost[0]) if lost.size else positive if positive < len(cov) else None
    return Factor(lower, float(shares.min(initial=1.0)), dependent)


def why_singular(variances: Doubles, dependent: int | None) -> str | None:
    """Name the columns that make a covariance singular, and the remedy; None if it is regular."""
    constant = np.flatnonzero(variances < np.finfo(np.float64).tiny)  # 1 / variance may overflow
    if constant.size:
        some = ", ".join(map(str, constant[:10])) + (", ..." if constant.size > 10 else "")
        reason = f"column(s) {some} have variance 0"
    elif dependent is not None:
        reason = f"column {dependent} is a linear combination of those before it, to rounding"
    else:
        return None
    return (
        f"The covariance is singular: {reason}. Pass noise_std > 0, leave such columns out, or fit "
        "with ridge > 0 or shrinkage='auto'"
    )


def scatter(X: Array, mean: Doubles, *, single: bool) -> Doubles:
    """Sum over the rows of (x - mean)(x - mean)'; `single` sums blocks of rows in float32."""
    _use_blas()
    return _core.scatter(X, mean, single)


def symmetric(cov: Doubles, epsilon: float, name: str = "cov") -> Doubles:
    """Return the symmetric part of a matrix that is symmetric up to rounding; refuse any other."""
    if np.array_equal(cov, cov.T):
        return cov
    sd = np.sqrt(np.diag(cov))
    gap = np.abs(cov - cov.T) - np.sqrt(epsilon) * sd * sd[:, None]
    i, j = np.unravel_index(np.argmax(gap), gap.shape)
    if gap[i, j] > 0:
        raise ValueError(
            f"Expected {name} to be symmetric: {name}[{i}, {j}]={float(cov[i, j])!r} and "
            f"{name}[{j}, {i}]={float(cov[j, i])!r} differ by more than {np.sqrt(epsilon):.1e} of "
            f"sqrt({name}[i, i] {name}[j, j])"
        )
    return np.asarray(0.5 * (cov + cov.T))


def require_semidefinite(cov: Doubles, epsilon: float, name: str = "cov") -> None:
    """Refuse a symmetric matrix with an eigenvalue below 0, beyond rounding, in standard units."""
    variances = np.diag(cov)
    constant = variances == 0
    if cov[constant].any():
        raise ValueError(
            f"Expected {name} to be positive semidefinite: a coordinate of variance 0 has a "
            "covariance"
        )
    scale = 1 / np.sqrt(np.where(constant, 1.0, variances))
    smallest = float(np.linalg.eigvalsh(cov * scale * scale[:, None])[0])
    if smallest < -tolerance(len(cov), epsilon):
        raise ValueError(
            f"Expected {name} to be positive semidefinite: its correlation matrix has the "
            f"eigenvalue {smallest:.3g}"
        )


def products(name: str, rows: Array, weights: Doubles) -> Doubles:
    """Return rows times weights, (T, k), a few rows in float64 at a time."""
    table, columns = np.atleast_2d(rows), np.atleast_2d(weights).T
    result = np.empty((len(table), columns.shape[1]))
    block = max(1, 2**18 // table.shape[1])
    for start in range(0, len(table), block):
        part = np.ascontiguousarray(table[start : start + block], dtype=np.float64)
        np.matmul(part, columns, out=result[start : start + block])
    if not np.isfinite(result).all():
        _validate.finite(name, rows)
    return result
