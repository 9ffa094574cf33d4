"""How a covariance is estimated: the options, and what is kept of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from leakscore import validation
from leakscore.reference.covariances import Table
from leakscore.typing import Doubles

Shrinkage: TypeAlias = float | Literal["auto", "ledoit-wolf", "oas"] | None


@dataclass(frozen=True)
class CovarianceFit:
    """How a covariance was estimated: all that leaving a row out needs."""

    rows: int
    ddof: int
    shrinkage: Shrinkage
    intensity: float
    ridge: float | Doubles
    variances: Doubles

    def with_ridge(self, variance: Doubles) -> CovarianceFit:
        """Return the same fit with a larger addition to the variances."""
        return replace(self, ridge=self.ridge + variance)


def checked_options(
    rows: int, kind: str, shrinkage: object, ridge: object, ddof: object
) -> tuple[Shrinkage, float, int]:
    """Return the shrinkage, the ridge and the divisor of the sums of squares."""
    method = checked_shrinkage(shrinkage, kind)
    extra = validation.scalar("ridge", ridge, 0.0)
    return method, extra, rows - validation.count("ddof", ddof, 0, rows - 1)


def checked_shrinkage(shrinkage: object, kind: str) -> Shrinkage:
    """Refuse all but None, an intensity in [0, 1] or the name of a rule for it; 0 becomes None."""
    if shrinkage is None:
        return "auto" if kind == "low-rank" else None
    if isinstance(shrinkage, str):
        validation.choice("shrinkage", shrinkage, ("auto", "ledoit-wolf", "oas"))
        if kind != "full" and shrinkage != "auto":
            raise ValueError(f"Expected cov='full' with shrinkage={shrinkage!r}, not cov={kind!r}")
        return shrinkage  # type: ignore[return-value]
    return validation.scalar("shrinkage", shrinkage, 0.0, 1.0) or None


def require_finite(name: str, table: Table, squares: Doubles) -> None:
    """Refuse a table whose sums of squares are not finite."""
    if not np.isfinite(squares).all():
        validation.finite(name, table)
        raise ValueError(f"Expected {name} to have variances below 1.8e308: rescale its columns")


def schaefer_strimmer(rows: int, squared_correlations: Any, products: Any) -> Any:
    """Intensity from the sums over i != j of r_ij^2 and, over the rows too, of y_i^2 y_j^2."""
    correlated = ~(squared_correlations <= 0)
    squares = np.where(correlated, squared_correlations, 1.0)
    noise = (products / rows - squares) / (rows - 1)
    return np.where(correlated, np.clip(noise / squares, 0.0, 1.0), 1.0)[()]
