"""A polygon below a convex curve, and hulls of lower ends that are made of points."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore.tradeoff import TradeOff, gaussian, random_allocation, shuffled_gaussian
from tests.helpers.parts import Polygon, below, lower_hull

ALPHA = np.concatenate([np.logspace(-14, -1, 140), np.linspace(0.1, 1, 130)])


def points(mu: float, step: float) -> tuple[Any, Any]:
    """Logs of alpha and beta of a Gaussian curve, from 40 digits."""
    with mp.workdps(40):
        x = mp.linspace(-8.0, 8.0 + mu, round((16.0 + mu) / step) + 1)
        alpha = [float(mp.log(mp.ncdf(u))) for u in x]
        beta = [float(mp.log(mp.ncdf(-u - mu))) for u in x]
    return np.array(alpha), np.array(beta)


@pytest.mark.parametrize("mu", [0.3, 3.0])
@pytest.mark.parametrize("step", [0.5, 0.01])
def test_a_polygon_below(mu: float, step: float) -> None:
    """Between the points as well, and nearly as near as the chords above."""
    log_alpha, log_beta = points(mu, step)
    low = Polygon(*lower_hull(*below(log_alpha, log_beta)), "attack", "informed")
    alpha = np.concatenate([ALPHA, np.exp(log_alpha[1:-1])])
    gap = gaussian(mu)(alpha) - low(alpha)
    assert gap.min() >= 0.0
    assert gap.max() < 0.5 * step**2


@pytest.mark.parametrize("looks", [2, 500])
@pytest.mark.parametrize(
    "curve", [random_allocation(1.0, 10), shuffled_gaussian(1.0, 100)], ids=["allocated", "plain"]
)
def test_the_hull_of_a_lower_end_is_below_it(curve: TradeOff, looks: int) -> None:
    best = curve.best_of(looks)
    low, high = best.symmetrized().interval("beta", ALPHA)
    least = np.minimum(best.lower(ALPHA), best.lower.inverse()(ALPHA))
    assert (low <= least).all()
    assert (low <= high).all()
    touching = low > least * (1.0 - 1e-4)  # elsewhere a chord joins both
    assert touching[ALPHA < 1e-3].all()


def test_the_hull_of_an_exact_curve_is_attained() -> None:
    """Its chords join points of the curve, and so lie above it."""
    best = gaussian(1.0).best_of(3)
    alpha = np.geomspace(1e-9, 1e-3, 100)
    least = np.minimum(best(alpha), best.inverse()(alpha))
    np.testing.assert_array_less(least * (1.0 - 1e-12), best.symmetrized()(alpha))


def test_a_polygon_below_ends_at_both_axes() -> None:
    """Beyond the last point, at .5 here, nothing is claimed."""
    log_alpha, log_beta = points(1.0, 0.1)
    kept = (log_alpha > np.log(1e-3)) & (log_alpha < np.log(0.5))
    across, down = below(log_alpha[kept], log_beta[kept])
    assert across[0] == down[-1] == -np.inf
    low = Polygon(*lower_hull(across, down), "attack", "informed")
    assert low(0.0) <= np.exp(log_beta[kept][0])
    assert low(0.51) == low(1.0) == 0.0
