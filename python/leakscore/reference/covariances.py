"""Representations of the covariance C of a Reference, and quadratic forms in its inverse.

Matrices are refused, factorised and tested for singularity here. `Diagonal` and `Full` hold them.
The docstrings of `Diagonal` also describe the methods of `Full` and `low_rank.LowRank`. Call a
method that needs the inverse only where `problem` returns None. Instances are immutable, except
that factors are cached after their first computation.

The functions at the end are right also where a square or a difference overflows. In these cases
each row is divided by the power of two that brings its largest coordinate near to one standard
deviation. This rounds nothing that matters. The result is multiplied by the power again, so it is
the number, or inf with its sign where the number is beyond every double.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from leakscore import _core, validation
from leakscore.typing import Array, Doubles, Indices

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
Table: TypeAlias = Array
Kind: TypeAlias = Literal["diagonal", "full", "low-rank"]

# Determinants closer to each other than this are compared by a series, not by their logarithms.
_NEAR_ONE = 1e-6


# --- matrices ----------------------------------------------------------------------------------


def rounding(dtype: np.dtype[Any]) -> float:
    """Return the machine epsilon in which a matrix of this dtype was computed."""
    return float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps)


def tolerance(dim: int, epsilon: float) -> float:
    """Return the share of a variance up to which a matrix of this size has only rounding errors."""
    return 10 * dim * epsilon


_BAND_ROWS = 128  # a band of rows is compared with the same columns, read along rows


def symmetric(name: str, cov: Array) -> tuple[Doubles, float]:
    """Copy a square matrix with variances >= 0; return it with its machine epsilon.

    A matrix that is symmetric up to rounding is replaced by its symmetric part. Others are refused.
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
    """Refuse negative variances, of a matrix or (`ndim=1`) of a vector."""
    if (variances < 0).any():
        j = int(np.argmax(variances < 0))
        place = ", ".join([str(j)] * ndim)
        raise ValueError(f"{name}[{place}]={float(variances[j])!r}, a variance, must be >= 0")


def _make_symmetric(name: str, cov: Doubles, epsilon: float) -> None:
    """Replace a matrix that is symmetric up to rounding by its symmetric part, in place."""
    bands = [slice(first, first + _BAND_ROWS) for first in range(0, len(cov), _BAND_ROWS)]
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


def root(matrix: Doubles) -> Doubles:
    """Return F, (d, r) with r <= d, whose F F' is a semidefinite matrix; columns have any units."""
    scale = np.sqrt(np.diag(matrix))
    unit = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    values, vectors = np.linalg.eigh(matrix * unit * unit[:, np.newaxis])
    positive = values > 0
    return np.asarray(scale[:, np.newaxis] * vectors[:, positive] * np.sqrt(values[positive]))


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


@cache
def use_blas() -> None:
    """Pass scipy's BLAS and LAPACK to the compiled core (0.3 s of CPU time, on first use only)."""
    from scipy.linalg import cython_blas, cython_lapack

    _core.set_blas(dict(cython_blas.__pyx_capi__), dict(cython_lapack.__pyx_capi__))


@dataclass(frozen=True)
class Factor:
    """Lower Cholesky factor of a covariance, and how near the covariance is to singular.

    The share of coordinate j is its squared pivot over its variance. That is the share of the
    variance of j that remains given the coordinates before it. It does not depend on units.
    """

    lower: Doubles
    smallest_share: float
    dependent: int | None
    """The first coordinate with no variance left beyond rounding."""


def factorise(cov: Doubles, epsilon: float) -> Factor:
    """Factorise the leading positive definite part of a symmetric matrix with variances > 0."""
    use_blas()
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
    use_blas()
    return _core.scatter(X, mean, single)


# --- distances in single precision --------------------------------------------------------------

# Rows that are checked together in single precision, random sums that check them, and the relative
# error allowed in a distance.
_GROUP, _SUMS, _SINGLE = 64, 8, 1e-5
_SMALL, _LARGE = 1e-30, 1e30


@cache
def _random_weights() -> Doubles:
    """Return random weights of the rows of a group, (8, 64), of mean square 1 for each row."""
    drawn = np.random.default_rng(0).normal(size=(_SUMS, _GROUP))
    return np.asarray(drawn / np.sqrt(np.square(drawn).mean(axis=0)))


def distances_in_single(rows: Array, centre: Doubles, lower: Doubles, single: Floats) -> Doubles:
    """Squared distances by a factor in float32, in float64 from the first block that fails a check.

    The check adds the whitened rows y of a group, in units of |y|, with eight sets of random
    weights. It compares these sums with the same sums whitened in float64, at an eighth of the cost
    of whitening every row in float64. The root mean square of the gaps estimates the root of the
    sum of the squared relative errors of the group's rows. So it bounds the relative error of each
    y, which is half that of |y|^2. It must be below a quarter of the error allowed. The factor 2
    that remains is for errors that happen to cancel, as those of equal rows do in too few sums.
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
    """Return the distances of a block, and the estimated largest relative error of its groups."""
    zeros = np.zeros(centre.size)
    with np.errstate(over="ignore", invalid="ignore"):
        white = _centred_in_single(block, centre)
        _core.whiten_rows(single, white)
        squares = _core.quadratic(white, zeros, zeros + 1)
        usable = (squares > _SMALL) & (squares < _LARGE)
        unit = np.where(usable, 1 / np.sqrt(np.where(usable, squares, 1.0)), 0.0)
        groups = range(0, len(block), _GROUP)
        exact, approximate = np.zeros((2, _SUMS * len(groups), centre.size))
        for g, first in enumerate(groups):
            part, sums = slice(first, first + _GROUP), slice(_SUMS * g, _SUMS * (g + 1))
            weights = _random_weights()[:, : len(unit[part])] * unit[part]
            _core.combine(block[part], 0, centre, weights, exact[sums])
            _core.combine(white[part], 0, zeros, weights, approximate[sums])
        _core.whiten_rows(lower, exact)
        gaps = np.square(exact - approximate).sum(axis=1).reshape(-1, _SUMS)
    if not usable.all():
        squares[~usable] = _core.mahalanobis(block[~usable], centre, lower)
    return squares, float(np.sqrt(gaps.mean(axis=1).max()))


def _centred_in_single(block: Array, centre: Doubles) -> Floats:
    """Return the rows less their centre, with one rounding where both are of similar size."""
    if block.dtype.name != "float32":
        return np.subtract(block, centre, order="C").astype(np.float32)
    high = centre.astype(np.float32)
    centred: Floats = np.subtract(block, high, order="C", dtype=np.float32)
    centred -= (centre - high).astype(np.float32)
    return centred


# --- covariances --------------------------------------------------------------------------------


class Invertible(Protocol):
    """Methods of a covariance C that the quadratic forms below need."""

    @property
    def variances(self) -> Doubles: ...

    def distances(self, rows: Table, centre: Doubles) -> Doubles:
        """(z - centre)' C^-1 (z - centre) of every row; not finite where a row is not."""

    def distances_about(self, rows: Table, centres: Table) -> Doubles:
        """Return the same about each of many centres, (T, k)."""

    def solve(self, rows: Doubles) -> Doubles:
        """C^-1 v of every row v of a contiguous array, which may be overwritten."""


class Correlated(Invertible, Protocol):
    """Methods of a covariance C of dependent coordinates that the exact likelihood ratio needs."""

    def log_ratio(self, other: Any, extra: Doubles) -> float:
        """Logarithm of det C / det C' for C' of the same kind with C = C' + diag(extra)."""

    def between(self, first: Any, second: Any, rows: Doubles) -> Doubles:
        """Return e' A^-1 C B^-1 e of every row e; A and B are C plus a diagonal."""

    def form(self, first: Doubles, second: Doubles) -> Doubles:
        """Return u' C v of every row u of one argument and the same row v of the other."""


class Diagonal:
    """Variances of uncorrelated coordinates.

    `rounding` is the machine epsilon in which they were computed. `single` tells whether distances
    may be computed in float32 where that keeps five digits.
    """

    __slots__ = ("rounding", "variances")

    kind: Literal["diagonal"] = "diagonal"
    single = False

    def __init__(self, variances: Doubles, rounding: float) -> None:
        variances.flags.writeable = False
        self.variances, self.rounding = variances, rounding

    def __reduce__(self) -> tuple[Any, ...]:
        return Diagonal, (self.variances, self.rounding)

    @property
    def values(self) -> Doubles:
        """Variances (d,) of a diagonal covariance, the matrix (d, d) of the others."""
        return self.variances

    def problem(self) -> str | None:
        """Why C is singular; None if it is not."""
        return why_singular(self.variances, None)

    def logdet(self) -> float:
        """Logarithm of det C."""
        return float(np.log(self.variances).sum())

    def distances(self, rows: Table, centre: Doubles) -> Doubles:
        """(z - centre)' C^-1 (z - centre) of every row; not finite where a row is not."""
        return _core.quadratic(rows, centre, 1 / self.variances)

    def distances_about(self, rows: Table, centres: Table) -> Doubles:
        """Return the same about each of many centres, (T, k)."""
        return _core.quadratic_about(rows, centres, 1 / self.variances)

    def solve(self, rows: Doubles) -> Doubles:
        """C^-1 v of every row v of a contiguous array, which may be overwritten."""
        rows /= self.variances
        return rows

    def form(self, first: Doubles, second: Doubles) -> Doubles:
        """Return u' C v of every row u of one argument and the same row v of the other."""
        return np.asarray(np.einsum("ij,ij,j->i", first, second, self.variances))

    def between_all(self, rows: Doubles) -> Doubles:
        """Return R C R' of rows R, (k, k)."""
        return np.asarray((rows * self.variances) @ rows.T)

    def plus(self, extra: Doubles) -> Diagonal:
        """Return C + diag(extra), for one number or one per coordinate, at least 0."""
        return Diagonal(self.variances + extra, self.rounding)


class Full:
    """A matrix, factorised when its inverse is first needed."""

    _in_single: Floats | None
    __slots__ = ("_factor", "_in_single", "rounding", "single", "values")

    kind: Literal["full"] = "full"

    def __init__(
        self,
        values: Doubles,
        rounding: float,
        factor: Factor | None = None,
        single: bool = False,
    ) -> None:
        values.flags.writeable = False
        self.values, self.rounding, self._factor = values, rounding, factor
        self.single, self._in_single = single, None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.values, self.rounding, None, self.single)

    @property
    def variances(self) -> Doubles:
        return np.diag(self.values)

    def problem(self) -> str | None:
        constant = why_singular(self.variances, None)
        if constant is not None:
            return constant
        return why_singular(self.variances, self._factorised().dependent)

    @property
    def smallest_share(self) -> float:
        """Least share of a coordinate's variance that remains given those before it."""
        return self._factorised().smallest_share if self.variances.all() else 0.0

    def _factorised(self) -> Factor:
        if self._factor is None:
            self._factor = factorise(self.values, self.rounding)
        return self._factor

    def logdet(self) -> float:
        return float(2 * np.log(np.diag(self._factorised().lower)).sum())

    def log_ratio(self, other: Full, extra: Doubles) -> float:
        if not (extra <= _NEAR_ONE * other.variances).all():
            return self.logdet() - other.logdet()
        # Nearly 0: log det(1 + K) = tr K - tr K^2 / 2 + ... with K = C'^-1 diag(extra).
        inverse = other.solve(np.eye(len(extra)))
        first = float(np.diag(inverse) @ extra)
        second = float(extra @ (inverse * inverse) @ extra)
        if second > _NEAR_ONE * first:
            return self.logdet() - other.logdet()
        return first - second / 2

    def distances(self, rows: Table, centre: Doubles) -> Doubles:
        lower = self._factorised().lower
        if not self.single:
            return _core.mahalanobis(rows, centre, lower)
        if self._in_single is None:
            self._in_single = lower.astype(np.float32)
        return distances_in_single(rows, centre, lower, self._in_single)

    def distances_about(self, rows: Table, centres: Table) -> Doubles:
        return _core.mahalanobis_about(rows, centres, self._factorised().lower)

    def solve(self, rows: Doubles) -> Doubles:
        _core.solve_rows(self._factorised().lower, rows)
        return rows

    def between(self, first: Full, second: Full, rows: Doubles) -> Doubles:
        other = second.solve(rows.copy())
        return np.asarray(np.einsum("ij,ij->i", first.solve(rows) @ self.values, other))

    def form(self, first: Doubles, second: Doubles) -> Doubles:
        return np.asarray(np.einsum("ij,ij->i", first @ self.values, second))

    def between_all(self, rows: Doubles) -> Doubles:
        return np.asarray(rows @ self.values @ rows.T)

    def plus(self, extra: Doubles) -> Full:
        values = self.values.copy()
        values.flat[:: len(values) + 1] += extra
        return type(self)(values, self.rounding, None, self.single)

    def in_precision(self, *, single: bool) -> Full:
        """Return the same covariance in single or double precision."""
        return type(self)(self.values, self.rounding, self._factor, single)


# --- quadratic forms ----------------------------------------------------------------------------


def distances(covariance: Invertible, name: str, rows: Array, centre: Doubles) -> Doubles:
    """Return (z - centre)' C^-1 (z - centre) of every row, (k,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        result = covariance.distances(rows, centre)
    odd = ~np.isfinite(result)
    if odd.any():
        validation.finite(name, rows)
        # Halves, as the difference itself may overflow.
        centred = 0.5 * np.atleast_2d(rows)[odd].astype(np.float64) - 0.5 * centre
        scaled, powers = _scaled(covariance, centred)
        squares = covariance.distances(scaled, np.zeros_like(centre))
        result[odd] = _rescale(squares, 2 * (powers + 1))
    return result


def distances_about(covariance: Invertible, name: str, rows: Array, centres: Array) -> Doubles:
    """Return (z - c)' C^-1 (z - c) of every row z and centre c, (T, k)."""
    with np.errstate(over="ignore", invalid="ignore"):
        result = covariance.distances_about(rows, centres)
    for k in np.flatnonzero(~np.isfinite(result).all(axis=0)):
        result[:, k] = distances(covariance, name, rows, centres[k].astype(np.float64))
    return result


def solve(covariance: Invertible, name: str, rows: Array) -> Doubles:
    """Return C^-1 v of every row v, in the shape of `rows`."""
    given = np.array(rows, dtype=np.float64, order="C")
    validation.finite(name, given)
    with np.errstate(over="ignore", invalid="ignore"):
        result = covariance.solve(given)
    if not np.isfinite(result).all():
        scaled, powers = _scaled(covariance, np.atleast_2d(rows).astype(np.float64))
        result = _rescale(covariance.solve(scaled), powers[:, np.newaxis]).reshape(rows.shape)
    return result


def inner(covariance: Invertible, u: Array, v: Array) -> Doubles:
    """Return u' C^-1 v of every pair of rows, (T, k)."""
    with np.errstate(over="ignore", invalid="ignore"):
        if u.size < v.size:
            result = _products("V", v, solve(covariance, "U", u)).T
        else:
            result = _products("U", u, solve(covariance, "V", v))
    odd = ~np.isfinite(result)
    if odd.any():
        first, second = odd.any(axis=1), odd.any(axis=0)
        result[np.ix_(first, second)] = _scaled_inner(
            covariance, np.atleast_2d(u)[first], np.atleast_2d(v)[second]
        )
    return np.asarray(result)


def _scaled_inner(covariance: Invertible, u: Array, v: Array) -> Doubles:
    first, before = _scaled(covariance, u.astype(np.float64))
    second, after = _scaled(covariance, v.astype(np.float64))
    result = _products("U", first, covariance.solve(second))
    return _rescale(result, before[:, np.newaxis] + after)


def _scaled(covariance: Invertible, rows: Doubles) -> tuple[Doubles, Indices]:
    """Return rows over powers of two, and the exponents of these, (k,)."""
    _, spread = np.frexp(np.sqrt(covariance.variances))
    fractions, sizes = np.frexp(rows)
    none = np.iinfo(sizes.dtype).min
    powers = np.where(fractions != 0.0, sizes - spread, none).max(axis=1)
    powers[powers == none] = 0  # a row of zeros
    with np.errstate(under="ignore"):
        return np.ldexp(rows, -powers[:, np.newaxis]), powers.astype(np.intp)


def _rescale(values: Doubles, powers: Indices) -> Doubles:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(values, powers))


def _products(name: str, rows: Array, weights: Doubles) -> Doubles:
    """Return rows times weights, (T, k), converting a few rows to float64 at a time."""
    table, columns = np.atleast_2d(rows), np.atleast_2d(weights).T
    result = np.empty((len(table), columns.shape[1]))
    block = max(1, 2**18 // table.shape[1])
    for start in range(0, len(table), block):
        part = np.ascontiguousarray(table[start : start + block], dtype=np.float64)
        np.matmul(part, columns, out=result[start : start + block])
    if not np.isfinite(result).all():
        validation.finite(name, rows)
    return result
