"""Quadratic forms in the inverse of a covariance, also where a square or difference overflows.

In these cases each row is divided by the power of two that brings its largest coordinate near to
one standard deviation. This rounds nothing that matters. The result is multiplied by the power
again, so it is the number, or inf with its sign where the number is beyond every double.
"""

from __future__ import annotations

import numpy as np

from leakscore import validation
from leakscore.reference import dense
from leakscore.reference.low_rank import CovarianceForm
from leakscore.typing import Array, Doubles, Indices


def distances(covariance: CovarianceForm, name: str, rows: Array, centre: Doubles) -> Doubles:
    """Return (z - centre)' C^-1 (z - centre) of every row, (k,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        result = covariance.distances(rows, centre)
    odd = ~np.isfinite(result)
    if odd.any():
        validation.finite(name, rows)
        # Halves, as the difference itself may overflow.
        away = 0.5 * np.atleast_2d(rows)[odd].astype(np.float64) - 0.5 * centre
        scaled, powers = _scaled(covariance, away)
        squares = covariance.distances(scaled, np.zeros_like(centre))
        result[odd] = _grown(squares, 2 * (powers + 1))
    return result


def distances_about(covariance: CovarianceForm, name: str, rows: Array, centres: Array) -> Doubles:
    """Return (z - c)' C^-1 (z - c) of every row z and centre c, (T, k)."""
    with np.errstate(over="ignore", invalid="ignore"):
        result = covariance.distances_about(rows, centres)
    for k in np.flatnonzero(~np.isfinite(result).all(axis=0)):
        result[:, k] = distances(covariance, name, rows, centres[k].astype(np.float64))
    return result


def solve(covariance: CovarianceForm, name: str, rows: Array) -> Doubles:
    """Return C^-1 v of every row v, in the shape of `rows`."""
    given = np.array(rows, dtype=np.float64, order="C")
    validation.finite(name, given)
    with np.errstate(over="ignore", invalid="ignore"):
        result = covariance.solve(given)
    if not np.isfinite(result).all():
        scaled, powers = _scaled(covariance, np.atleast_2d(rows).astype(np.float64))
        result = _grown(covariance.solve(scaled), powers[:, np.newaxis]).reshape(rows.shape)
    return result


def inner(covariance: CovarianceForm, u: Array, v: Array) -> Doubles:
    """Return u' C^-1 v of every pair of rows, (T, k)."""
    with np.errstate(over="ignore", invalid="ignore"):
        if u.size < v.size:
            result = dense.products("V", v, solve(covariance, "U", u)).T
        else:
            result = dense.products("U", u, solve(covariance, "V", v))
    odd = ~np.isfinite(result)
    if odd.any():
        first, second = odd.any(axis=1), odd.any(axis=0)
        result[np.ix_(first, second)] = _scaled_inner(
            covariance, np.atleast_2d(u)[first], np.atleast_2d(v)[second]
        )
    return np.asarray(result)


def _scaled_inner(covariance: CovarianceForm, u: Array, v: Array) -> Doubles:
    first, before = _scaled(covariance, u.astype(np.float64))
    second, after = _scaled(covariance, v.astype(np.float64))
    products = dense.products("U", first, covariance.solve(second))
    return _grown(products, before[:, np.newaxis] + after)


def _scaled(covariance: CovarianceForm, rows: Doubles) -> tuple[Doubles, Indices]:
    """Return rows over powers of two, and the exponents of these, (k,)."""
    _, spread = np.frexp(np.sqrt(covariance.variances))
    fractions, sizes = np.frexp(rows)
    none = np.iinfo(sizes.dtype).min
    powers = np.where(fractions != 0.0, sizes - spread, none).max(axis=1)
    powers[powers == none] = 0  # a row of zeros
    with np.errstate(under="ignore"):
        return np.ldexp(rows, -powers[:, np.newaxis]), powers.astype(np.intp)


def _grown(values: Doubles, powers: Indices) -> Doubles:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(values, powers))
