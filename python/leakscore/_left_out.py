"""Squared Mahalanobis distances of the rows of a table, each to the table without it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import _core, _covariance, _dense, _estimate
from leakscore.reference import Reference, SingularCovarianceError
from leakscore.reference import _restore as _estimated

Doubles = npt.NDArray[np.float64]

# Work that an exact estimate without each of some rows may take: seconds.
_MOST_WORK = 2**37

# Where more than this share of the variance in some direction is one row's, the closed form loses
# digits, and that row is left out in earnest.
_DOMINANT = 0.999


def distances(table: _estimate.Table, reference: Reference, fit: _estimate.Fit) -> Doubles:
    """Return the distance of every row to the others; +inf if only it varies in some direction."""
    reference._require_inverse()
    freedom = fit.rows - 1 - fit.ddof
    if freedom < 1:
        raise ValueError(
            f"Expected reference to be fitted with ddof={fit.ddof} <= {fit.rows - 2}, the number "
            "of rows less 2"
        )
    if reference.kind == "diagonal":
        return _of_diagonal(table, reference, fit, freedom)
    if fit.shrinkage is None:
        return _of_full(table, reference, fit, freedom)
    if fit.rows * _work(table) > _MOST_WORK:
        raise ValueError(
            f"Expected reference without shrinkage={fit.shrinkage!r} for X of shape {table.shape}: "
            "each row would need an estimate of its own. Use ridge=... or cov='diagonal', which "
            "have a closed form"
        )
    return np.array([_left_out(table, row, fit) for row in range(fit.rows)])


def require_own_table(table: _estimate.Table, reference: Reference) -> _estimate.Fit:
    """Return how `reference` was fitted, once it is known to be on this table."""
    fit = reference._fit
    if fit is None:
        raise ValueError("Expected reference to be fitted on X, by Reference.fit(X)")
    if len(table) != fit.rows:
        raise ValueError(f"Expected X to have the {fit.rows} rows that reference was fitted on")
    mean, squares = _estimate.moments("X", table)
    variances = squares / (fit.rows - fit.ddof)
    near = 1e-6 * np.sqrt(fit.variances) + 1e-12 * np.abs(reference.mean)
    if (np.abs(mean - reference.mean) > near).any() or not np.allclose(
        variances, fit.variances, rtol=1e-5, atol=0.0
    ):
        raise ValueError(
            "Expected X to be the table that reference was fitted on: its moments differ"
        )
    return fit


def _of_diagonal(
    table: _estimate.Table, reference: Reference, fit: _estimate.Fit, freedom: int
) -> Doubles:
    """Each coordinate by itself: its variance without the row."""
    factor, growth = fit.rows / (fit.rows - 1), (fit.rows - fit.ddof) / freedom
    variances = (reference.cov - fit.ridge) * growth + fit.ridge
    sums = _core.left_out(table, reference.mean, factor / freedom / variances)
    return np.asarray(factor * freedom * sums)


def _of_full(
    table: _estimate.Table, reference: Reference, fit: _estimate.Fit, freedom: int
) -> Doubles:
    """Change the covariance by a matrix of rank one, and estimate it again for dominant rows."""
    factor, growth = fit.rows / (fit.rows - 1), (fit.rows - fit.ddof) / freedom
    ridge = np.broadcast_to(fit.ridge, (reference.dim,))
    if not ridge.any() and fit.rows - 1 <= reference.dim:
        return np.full(fit.rows, np.inf)
    scaled = reference._add((1 / growth - 1) * ridge)  # times growth, it has the divisor `freedom`
    share = scaled._distances("X", table, reference.mean) * (factor / freedom / growth)
    with np.errstate(divide="ignore"):
        result = factor * freedom * share / np.maximum(1 - share, 0.0)
    dominant = np.flatnonzero(share > _DOMINANT)
    for row in dominant[: int(_MOST_WORK // _work(table))]:
        result[row] = _left_out(table, row, fit)
    return np.asarray(result)


def _work(table: _estimate.Table) -> int:
    """Multiplications of one estimate."""
    rows, dim = table.shape
    return int((rows + dim) * dim * dim)


def _left_out(table: _estimate.Table, row: int, fit: _estimate.Fit) -> float:
    """Distance of a row to mean and covariance of the others, estimated as `fit` was."""
    others = np.delete(table, row, axis=0)
    freedom = fit.rows - 1 - fit.ddof
    mean, _ = _estimate.moments("X", others)
    cov = _dense.scatter(others, mean, single=False)
    cov /= freedom
    _estimate.shrink(cov, fit.shrinkage, others, mean, freedom)
    cov.flat[:: len(mean) + 1] += fit.ridge
    try:
        known = _estimated(mean, _covariance.Full(cov, _estimate.EPSILON), None)
        return float(known.squared_mahalanobis(table[row]))
    except SingularCovarianceError:
        return np.inf
