"""Areas below curves of N(0, 1) against N(d, r^2) at every scale."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from leakscore.tradeoff import shifted_gaussian


def nearer(d: float, r: float) -> float:
    """Return P(a draw with the record is nearer z0 than one without it), for a scale below 1."""
    z0 = d / (1.0 - r) / (1.0 + r)
    turn = (z0 - d) / r  # where the distance is 0
    cuts = {-12.0, *range(-10, 11), 12.0}
    cuts |= {turn + x * y for x in (-1, 1) for y in (0.0, *np.geomspace(r / 9, 9.0, 12))}
    cuts |= {(x - d) / r for x in (-3, -1, 0, 1, 3)}
    ends = np.array(sorted(x for x in cuts if abs(x) <= 12.0))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    middle, half = 0.5 * (ends[1:] + ends[:-1]), 0.5 * np.diff(ends)
    t = middle[:, np.newaxis] + half[:, np.newaxis] * nodes
    width = np.abs(r * (t - turn))
    further = special.ndtr(z0 - width) + special.ndtr(-z0 - width)
    density = np.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
    return float((half[:, np.newaxis] * weights * density * further).sum())


def test_areas() -> None:
    """By a plain sum; at equal means 2 atan(r)/pi, so that 1 - auc is 2/(pi r) far out."""
    for scale in (1e-8, 1e-3, 0.03, 0.5, 0.97):
        for shift in (0.0, 1e-6, 0.3, 1.0, 3.0, 10.0, 40.0):
            exact = nearer(shift, scale)
            assert shifted_gaussian(shift, scale).auc() == pytest.approx(exact, abs=2e-14)
            back = shifted_gaussian(shift / scale, 1.0 / scale).auc()
            assert back == pytest.approx(exact, abs=2e-14), (shift, scale)
    for scale in (1e-50, 1e-5, 0.3, 4.0, 1e4, 1e8, 1e50):
        exact = 2.0 / math.pi * math.atan(max(scale, 1.0 / scale))
        assert shifted_gaussian(0.0, scale).auc() == pytest.approx(exact, abs=3e-16)
