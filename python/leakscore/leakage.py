"""How much the release of a mean of n records tells about one of them: the leakage score m."""

from __future__ import annotations

from typing import Any, Literal

import numpy.typing as npt

from leakscore import _validate
from leakscore.reference import Reference

__all__ = ["leakage_score"]


def leakage_score(
    target: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    noise_std: npt.ArrayLike = 0.0,
    neighbours: Literal["replace", "add-remove"] = "replace",
) -> Any:
    """Leakage score m of targets in the released mean of n records."""
    n = _validate.count("n", n, low=2)
    _validate.choice("neighbours", neighbours, ("replace", "add-remove"))
    noise = _validate.per_coordinate("noise_std", noise_std, reference.dim)
    if neighbours == "replace":
        extra, divisor, known = n * noise**2, n, reference
    else:
        extra, divisor = (n / (n - 1)) * n * noise**2, n - 1
        known = Reference([0.0] * reference.dim, reference.cov)
    return known.add_diagonal(extra).squared_mahalanobis(target) / divisor
