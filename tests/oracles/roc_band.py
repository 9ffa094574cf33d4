"""Slow twin of the bounds on the true ROC curve: every threshold in a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.oracles import audit

Bound = Callable[[int], float]


@dataclass(frozen=True)
class Box:
    """Bounds on the true rates at a threshold."""

    threshold: float
    fpr_lower: float
    fpr_upper: float
    tpr_lower: float
    tpr_upper: float


def boxes(
    members: Sequence[float], nonmembers: Sequence[float], fpr_band: Bound, tpr_band: Bound
) -> list[Box]:
    """Return the bounds at every threshold, descending, given upper bounds from counts."""
    n0, n1 = len(nonmembers), len(members)
    found = []
    for fpr, tpr, threshold in audit.rates(members, nonmembers):
        k0, k1 = round(fpr * n0), round(tpr * n1)
        found.append(
            Box(threshold, 1 - fpr_band(n0 - k0), fpr_band(k0), 1 - tpr_band(n1 - k1), tpr_band(k1))
        )
    return found


def tpr_at(found: Sequence[Box], allowed: float) -> tuple[float, float]:
    """Return what allowed thresholds reach at least, and what possibly allowed ones may reach."""
    if allowed == 1:
        return 1.0, 1.0
    return (
        max([0.0, *(box.tpr_lower for box in found if box.fpr_upper <= allowed)]),
        max(box.tpr_upper for box in found if box.fpr_lower <= allowed),
    )


def area(points: Sequence[tuple[float, float]]) -> float:
    """Return the area under a polyline."""
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))


def auc(found: Sequence[Box]) -> tuple[float, float]:
    """Return the areas under the polylines through the corners, ends joined to the square's."""
    return (
        area([(0.0, 0.0), *((box.fpr_upper, box.tpr_lower) for box in found), (1.0, 1.0)]),
        area([(0.0, 0.0), *((box.fpr_lower, box.tpr_upper) for box in found), (1.0, 1.0)]),
    )
