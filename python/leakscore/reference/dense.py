"""Full covariance matrices: what is refused, the Cholesky factor, and the test of singularity."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from leakscore import _core, validation
from leakscore.typing import Array, Doubles

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]


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
        listed = ", ".join(map(str, constant[:10])) + (", ..." if constant.size > 10 else "")
        reason = f"column(s) {listed} have variance 0"
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


# Rows that are judged together in single precision, the sums of them that are, and the relative
# error that a distance may have.
_GROUP, _SUMS, _SINGLE = 64, 8, 1e-5
_SMALL, _LARGE = 1e-30, 1e30


@cache
def _signed() -> Doubles:
    """Return random weights of the rows of a group: of each row, their mean square is 1."""
    drawn = np.random.default_rng(0).normal(size=(_SUMS, _GROUP))
    return np.asarray(drawn / np.sqrt(np.square(drawn).mean(axis=0)))


def distances_in_single(rows: Array, centre: Doubles, lower: Doubles, single: Floats) -> Doubles:
    """Squared distances by a factor in float32, in float64 from the first block that fails a check.

    The whitened rows y of a group, in units of |y|, are added with weights, eight times, and the
    sums compared with those of L^-1 e in float64: that costs an eighth of whitening every row so.
    The root mean square of the gaps estimates the root of the sum of the squared relative errors
    of all rows of the group, of which each is at most that, and half that of |y|^2. It must be
    below a quarter of the error allowed: half of that is left for errors that chance to cancel, as
    those of equal rows do where fewer sums are taken.
    """
    table = np.atleast_2d(rows)
    result = np.empty(len(table))
    most = _GROUP * int(np.clip(2**33 // (_GROUP * centre.size**2), 1, 32))
    good = True
    for start in range(0, len(table), most):
        block = table[start : start + most]
        squares, gap = _single(block, centre, lower, single) if good else (result[:0], np.inf)
        good = 4 * gap <= _SINGLE
        if not good:
            squares = _core.mahalanobis(block, centre, lower)
        result[start : start + most] = squares
    return result


def _single(block: Array, centre: Doubles, lower: Doubles, single: Floats) -> tuple[Doubles, float]:
    """Return the distances of a block, and an estimate of the largest error of a whitened row."""
    zeros = np.zeros(centre.size)
    with np.errstate(over="ignore", invalid="ignore"):
        white = _away_in_single(block, centre)
        _core.whiten_rows(single, white)
        squares = _core.quadratic(white, zeros, zeros + 1)
        usable = (squares > _SMALL) & (squares < _LARGE)
        unit = np.where(usable, 1 / np.sqrt(np.where(usable, squares, 1.0)), 0.0)
        groups = range(0, len(block), _GROUP)
        given, solved = np.zeros((2, _SUMS * len(groups), centre.size))
        for g, first in enumerate(groups):
            part, sums = slice(first, first + _GROUP), slice(_SUMS * g, _SUMS * (g + 1))
            weights = _signed()[:, : len(unit[part])] * unit[part]
            _core.combine(block[part], 0, centre, weights, given[sums])
            _core.combine(white[part], 0, zeros, weights, solved[sums])
        _core.whiten_rows(lower, given)
        gaps = np.square(given - solved).sum(axis=1).reshape(-1, _SUMS)
    if not usable.all():
        squares[~usable] = _core.mahalanobis(block[~usable], centre, lower)
    return squares, float(np.sqrt(gaps.mean(axis=1).max()))


def _away_in_single(block: Array, centre: Doubles) -> Floats:
    """Return the rows less their centre, rounded once where the numbers are of one size."""
    if block.dtype.name != "float32":
        return np.subtract(block, centre, order="C").astype(np.float32)
    high = centre.astype(np.float32)
    away: Floats = np.subtract(block, high, order="C", dtype=np.float32)
    away -= (centre - high).astype(np.float32)
    return away


_BAND = 128  # rows that are compared with as many columns, read along rows of the matrix


def symmetric(name: str, cov: Array) -> tuple[Doubles, float]:
    """Copy a square matrix with variances >= 0, symmetric or so up to rounding, which is returned.

    Refuse any other; what rounding alone makes unsymmetric is replaced by its symmetric part.
    """
    values, exact = _core.copy_symmetric(cov)
    epsilon = rounding(cov.dtype)
    if not exact:
        validation.finite(name, values)
    require_variances(name, np.diag(values))
    if not exact:
        _make_symmetric(name, values, epsilon)
    return values, epsilon


def require_variances(name: str, variances: Doubles, ndim: int = 2) -> None:
    """Refuse negative variances, those of a matrix or of a vector."""
    if (variances < 0).any():
        j = int(np.argmax(variances < 0))
        place = ", ".join([str(j)] * ndim)
        raise ValueError(f"{name}[{place}]={float(variances[j])!r}, a variance, must be >= 0")


def _make_symmetric(name: str, cov: Doubles, epsilon: float) -> None:
    """Replace a matrix that is symmetric up to rounding by its symmetric part, in place."""
    bands = [slice(first, first + _BAND) for first in range(0, len(cov), _BAND)]
    sd, worst = np.sqrt(np.diag(cov)), (0.0, 0, 0)
    for band in bands:
        gap = np.abs(cov[band] - cov[:, band].T) - np.sqrt(epsilon) * sd * sd[band, None]
        row, column = np.unravel_index(np.argmax(gap), gap.shape)
        if gap[row, column] > worst[0]:
            worst = float(gap[row, column]), band.start + int(row), int(column)
    beyond, i, j = worst
    if beyond > 0:
        raise ValueError(
            f"{name} must be symmetric: {name}[{i}, {j}]={float(cov[i, j])!r} and "
            f"{name}[{j}, {i}]={float(cov[j, i])!r} differ by more than {np.sqrt(epsilon):.1e} of "
            f"sqrt({name}[i, i] {name}[j, j])"
        )
    for band in bands:
        right = slice(band.start, None)
        half = 0.5 * (cov[band, right] + cov[right, band].T)
        cov[band, right], cov[right, band] = half, half.T


def require_semidefinite(cov: Doubles, epsilon: float, name: str = "cov") -> None:
    """Refuse a symmetric matrix with an eigenvalue below 0, beyond rounding, in standard units."""
    variances = np.diag(cov)
    constant = variances == 0
    if cov[constant].any():
        raise ValueError(
            f"{name} must be positive semidefinite: a coordinate of variance 0 has a covariance"
        )
    scale = 1 / np.sqrt(np.where(constant, 1.0, variances))
    least, correlation = -tolerance(len(cov), epsilon), cov * scale * scale[:, None]
    with suppress(np.linalg.LinAlgError):  # a tenth of the time of eigenvalues, which decide
        np.linalg.cholesky(correlation - 0.5 * least * np.eye(len(cov)))
        return
    smallest = float(np.linalg.eigvalsh(correlation)[0])
    if smallest < least:
        raise ValueError(
            f"{name} must be positive semidefinite: its correlation matrix has the "
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
        validation.finite(name, rows)
    return result
