"""Estimates of mean and covariance from a table, and how far to shrink them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import _core, _covariance, _dense, _validate

Doubles: TypeAlias = npt.NDArray[np.float64]
Table: TypeAlias = npt.NDArray[Any]
Shrinkage: TypeAlias = float | Literal["auto", "ledoit-wolf", "oas"] | None

EPSILON = float(np.finfo(np.float64).eps)

# float32 tables are summed in float32 (half the time) only where the time is worth it, from this
# many multiplications on, and where the covariance is so well conditioned that M keeps its digits:
# every coordinate has more than this share of its variance left once those before it are known.
_SINGLE_FROM = 2**31
_SINGLE_SHARE = 0.05


@dataclass(frozen=True)
class Fit:
    """How a covariance was estimated: all that is needed to leave a row out again."""

    rows: int
    ddof: int
    shrinkage: Shrinkage
    intensity: float
    ridge: float | Doubles
    variances: Doubles

    def with_ridge(self, variance: Doubles) -> Fit:
        """Return the same fit with more added to the variances."""
        return replace(self, ridge=self.ridge + variance)


def estimate(
    X: object, kind: str, shrinkage: object, ridge: object, ddof: object
) -> tuple[Doubles, _covariance.Covariance, Fit]:
    """Validate the arguments of `Reference.fit`; return mean, covariance and how it was made."""
    _validate.choice("cov", kind, ("full", "diagonal"))
    table = _validate.matrix("X", X, min_rows=2)
    method = _checked_shrinkage(shrinkage, kind)
    extra = _validate.scalar("ridge", ridge, 0.0)
    rows, dim = table.shape
    freedom = rows - _validate.count("ddof", ddof, 0, rows - 1)
    if kind == "full" and rows <= dim and method is None and extra == 0:
        raise ValueError(
            f"Expected X of shape {table.shape} to have more rows than columns: with cov='full' "
            "the covariance is singular otherwise. Pass shrinkage='auto', ridge > 0 or "
            "cov='diagonal'"
        )
    mean, squares = moments("X", table)
    fit = Fit(rows, rows - freedom, None, 0.0, extra, squares / freedom)
    if kind == "diagonal":
        return mean, _covariance.Diagonal(fit.variances + extra, EPSILON), fit
    factor = None
    large = table.dtype == np.float32 and rows * dim * dim >= _SINGLE_FROM
    for single in (True, False) if large else (False,):
        cov = _dense.scatter(table, mean, single=single)
        cov /= freedom
        intensity = shrink(cov, method, table, mean, freedom)
        cov.flat[:: dim + 1] += extra
        if not single:
            factor = None
        elif cov.diagonal().all():
            factor = _dense.factorise(cov, EPSILON)
            if factor.smallest_share > _SINGLE_SHARE:
                break
    covariance = _covariance.Full(cov, EPSILON, factor)
    return mean, covariance, replace(fit, shrinkage=method, intensity=intensity)


def moments(name: str, table: Table) -> tuple[Doubles, Doubles]:
    """Mean and sum of squared deviations of each column; refuses what is not finite."""
    mean, squares = _core.column_moments(table)
    if not np.isfinite(squares).all():
        _validate.finite(name, table)
        raise ValueError(f"Expected {name} to have variances below 1.8e308: rescale its columns")
    return mean, squares


def _checked_shrinkage(shrinkage: object, kind: str) -> Shrinkage:
    """Refuse what is not None, an intensity in [0, 1] or the name of a rule for it; 0 is None."""
    if shrinkage is None:
        return None
    if isinstance(shrinkage, str):
        _validate.choice("shrinkage", shrinkage, ("auto", "ledoit-wolf", "oas"))
        if kind == "diagonal" and shrinkage != "auto":
            raise ValueError(f"Expected cov='full' with shrinkage={shrinkage!r}")
        return shrinkage  # type: ignore[return-value]
    return _validate.scalar("shrinkage", shrinkage, 0.0, 1.0) or None


def shrink(cov: Doubles, shrinkage: Shrinkage, table: Table, mean: Doubles, freedom: int) -> float:
    """Shrink a sample covariance in place and return the intensity."""
    if shrinkage is None:
        return 0.0
    intensity = _intensity(cov * (freedom / len(table)), shrinkage, table, mean)
    variances = np.diag(cov).copy()
    if shrinkage in ("ledoit-wolf", "oas"):
        target = np.full_like(variances, variances.mean())
    else:
        target = variances
    cov *= 1 - intensity
    np.fill_diagonal(cov, (1 - intensity) * variances + intensity * target)
    return intensity


def _intensity(cov: Doubles, shrinkage: Shrinkage, table: Table, mean: Doubles) -> float:
    """Return the intensity for the sample covariance with ddof=0."""
    if len(cov) == 1:  # one variance: nothing to shrink towards, and scikit-learn says 0
        return 0.0 if isinstance(shrinkage, str) else float(shrinkage or 0.0)
    if shrinkage == "auto":
        return _schaefer_strimmer(cov, table, mean)
    if shrinkage == "ledoit-wolf":
        return _ledoit_wolf(cov, table, mean)
    if shrinkage == "oas":
        return _oas(cov, len(table))
    return float(shrinkage)  # type: ignore[arg-type]


def _schaefer_strimmer(cov: Doubles, table: Table, mean: Doubles) -> float:
    """Sum of the variances of all correlations over the sum of their squares.

    With y the standardised data, the variance of r_ij is that of y_i y_j over n - 1. Its sum over
    i != j needs no more of each row than sum_i y_i^2 and sum_i y_i^4: no n d^2 work.
    """
    rows, variances = len(table), np.diag(cov)
    varying = variances > 0
    weights = np.where(varying, 1 / np.where(varying, variances, 1.0), 0.0)
    squared_correlations = float(weights @ (cov * cov) @ weights) - int(varying.sum())
    if squared_correlations <= 0:
        return 1.0
    squares = _core.quadratic(table, mean, weights)
    products = float((squares**2 - _core.quartic(table, mean, weights)).sum())
    noise = (products / rows - squared_correlations) / (rows - 1)
    return min(max(noise / squared_correlations, 0.0), 1.0)


def _ledoit_wolf(cov: Doubles, table: Table, mean: Doubles) -> float:
    """Ledoit and Wolf's intensity towards a multiple of the identity."""
    rows, dim = table.shape
    squares = _core.quadratic(table, mean, np.ones(dim))
    scale = np.trace(cov) / dim
    norm = float((cov * cov).sum())
    noise = (float((squares**2).sum()) / rows - norm) / rows
    spread = norm - dim * scale**2
    return 0.0 if noise <= 0 else min(noise / spread, 1.0) if spread > 0 else 1.0


def _oas(cov: Doubles, rows: int) -> float:
    """Chen, Wiesel, Eldar and Hero's intensity, as scikit-learn computes it."""
    dim = len(cov)
    mean_square, square_mean = float((cov * cov).mean()), (np.trace(cov) / dim) ** 2
    spread = (rows + 1) * (mean_square - square_mean / dim)
    return 1.0 if spread <= 0 else float(min((mean_square + square_mean) / spread, 1.0))
