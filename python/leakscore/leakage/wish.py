"""What is asked of shaped noise."""

from __future__ import annotations

from dataclasses import dataclass

from leakscore import validation

__all__ = ["Wish"]

SAFE = 1 - 2e-13
"""Of a limit: what rounding leaves of it."""


@dataclass(frozen=True)
class Wish:
    """What is asked of noise, still unchecked but for the first three."""

    n: int
    budget: float
    independent: bool
    weights: object = None
    ids: object = None
    radius: object = None


def least_multiple(wish: Wish, reach: float) -> float:
    """Return how many times C the whole covariance must be for the radius to be within reach."""
    if wish.radius is None:
        return 1.0
    radius = validation.scalar("radius", wish.radius, 0.0, closed="neither")
    if wish.independent:
        raise ValueError(
            "radius must be given only with shape='optimal', not shape='optimal-diagonal'"
        )
    return max(1.0, radius**2 / reach * (1 + 1e-12))
