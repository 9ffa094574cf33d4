"""Hulls of the curves of records that are in a share of the steps: the largest support line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore.tradeoff import (
    gaussian,
    gaussian_mean,
    laplace,
    misspecified,
    relaxed_laplace,
    shifted_gaussian,
)

CURVES = [
    *(make(mu) for make in (laplace, relaxed_laplace) for mu in (0.3, 2.0, 4.0)),
    *(shifted_gaussian(*law) for law in ((1.0, 0.5), (0.4, 1.5), (2.0, 1.001))),
    gaussian(1.0),
    gaussian_mean(5.0, 8, 4),
    misspecified(4.0, 2.0),
]


def support(f: Any, alpha: float, top: float) -> float:
    """Return the largest line below the curve and its inverse, by ever finer slopes."""
    low, high, best = -top, top, 0.0
    for _ in range(4):
        slopes = np.linspace(low, high, 801)
        steep = np.abs(slopes)
        deltas = np.maximum(f.delta(steep, "forward"), f.delta(steep, "reverse"))
        mirrored = np.exp(-steep) * (1.0 - deltas - alpha)
        lines = np.where(slopes > 0.0, 1.0 - deltas - np.exp(steep) * alpha, mirrored)
        at, best = int(lines.argmax()), float(lines.max())
        low, high = slopes[max(at - 1, 0)], slopes[min(at + 1, 800)]
    return best


@pytest.mark.parametrize("rate", [0.02, 0.5, 0.8])  # at 0.8 the deltas of one of them cross
@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_hulls_are_the_largest_support_lines(curve: Any, rate: float) -> None:
    f = curve.subsample(rate)
    hull = f.symmetrized()
    top = min(30.0, max(float(f.epsilon(0.0, way)) for way in ("forward", "reverse")))
    for alpha in (0.01, 0.05, 0.2, 0.4, 0.55, 0.8, 0.97):
        assert hull(alpha) == pytest.approx(support(f, alpha, top), abs=1e-10), alpha
