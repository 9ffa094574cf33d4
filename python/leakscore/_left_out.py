"""Squared Mahalanobis distances of the rows of a table, each to the table without it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import _core, _dense, _estimate
from leakscore.reference import Reference, SingularCovarianceError

Doubles = npt.NDArray[np.float64]

# A shrunk covariance is estimated again without each row, as long as that takes seconds.
_MOST_REFIT_WORK = 2**37


def distances(table: _estimate.Table, reference: Reference, fit: _estimate.Fit) -> Doubles:
    """Return the distance of every row to the others; +inf if only it varies in some direction."""
    reference._require_inverse()
    freedom = fit.rows - 1 - fit.ddof
    if freedom < 1:
        raise ValueError(
            f"Expected reference to be fitted with ddof={fit.ddof} <= {fit.rows - 2}, the number "
            "of rows less 2"
        )
    if fit.shrinkage is not None:
        return _refitted(table, fit)
    return _downdated(table, reference, fit, freedom)


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


def _downdated(
    table: _estimate.Table, reference: Reference, fit: _estimate.Fit, freedom: int
) -> Doubles:
    """Squared distances by the rank-one change of the covariance."""
    rows = fit.rows
    factor, growth = rows / (rows - 1), (rows - fit.ddof) / freedom
    ridge = np.broadcast_to(fit.ridge, (reference.dim,))
    if reference.kind == "diagonal":
        others = (reference.cov - ridge) * growth + ridge
        sums = _core.left_out(table, reference.mean, factor / freedom / others)
        return np.asarray(factor * freedom * sums)
    if not ridge.any() and rows - 1 <= reference.dim:
        return np.full(rows, np.inf)
    others = reference._add((1 / growth - 1) * ridge)  # times growth, it has the other divisor
    share = others._distances("X", table, reference.mean) * (factor / freedom / growth)
    left = 1 - share
    left[left <= _slack(reference)] = 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(factor * freedom * share / left)


def _slack(reference: Reference) -> float:
    """Return how far the share may lie from 1 by rounding: of the mean, and of the covariance."""
    offset = float((np.abs(reference.mean) / np.sqrt(reference.variances)).max())
    least = reference._cholesky().smallest_share
    lost = _dense.tolerance(reference.dim, _estimate.EPSILON) * (1 + offset) / least
    return float(min(lost, 1e-6))


def _refitted(table: _estimate.Table, fit: _estimate.Fit) -> Doubles:
    """Squared distances from as many estimates as there are rows."""
    rows, dim = table.shape
    if rows * dim * dim * (rows + dim) > _MOST_REFIT_WORK:
        raise ValueError(
            f"Expected reference without shrinkage={fit.shrinkage!r} for X of shape {table.shape}: "
            "each row would need an estimate of its own. Use ridge=... or cov='diagonal', which "
            "have a closed form"
        )
    result = np.empty(rows)
    for i in range(rows):
        others = Reference.fit(
            np.delete(table, i, axis=0), shrinkage=fit.shrinkage, ddof=fit.ddof
        ).add_diagonal(fit.ridge)
        try:
            result[i] = others.squared_mahalanobis(table[i])
        except SingularCovarianceError:
            result[i] = np.inf
    return result
