"""Certified polygons where a difference cancels: rounded outwards against 50 digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from leakscore.tradeoff import approximate_dp, subsampled_gaussian
from tests.helpers.parts import certified_lower, certified_upper

pytestmark = pytest.mark.usefixtures("digits")


@pytest.mark.parametrize("log_alpha", [-700.0, -30.0, -20.0])
@pytest.mark.parametrize("share", [1e-9, 0.5])
def test_epsilon_just_below_the_power(log_alpha: float, share: float) -> None:
    """The delta leaves some alphas of the power of a vertex, or a good part of it."""
    rng = np.random.default_rng(7)
    for log_beta in np.log(rng.uniform(0.2, 0.8, 40)):
        points = np.array([-np.inf, log_alpha, 0.0]), np.array([0.0, log_beta, -np.inf])
        power = 1 - mp.exp(mpf(log_beta))
        left = max(share * power, 3 * mp.exp(mpf(log_alpha)))
        delta = float(power - left)
        if not 0 < delta < power - 2 * mp.exp(mpf(log_alpha)):
            continue
        exact = mp.log(power - mpf(delta)) - mpf(log_alpha)
        upper = certified_lower(*(points, "guarantee"), adversary="informed").epsilon(delta)
        lower = certified_upper(points, "informed").epsilon(delta)
        assert lower <= exact <= upper
        assert upper - lower < 1e-13 * abs(log_alpha) + 1e-14 * power / left


def test_the_advantage_of_little_power() -> None:
    """The best vertex has a power below 1/2."""
    f = subsampled_gaussian(1.0, 0.1, 3)
    for curve, sign in ((f.lower, 1), (f.upper, -1)):
        log_alpha, log_beta = curve.vertices
        power, alpha = -np.expm1(log_beta), np.exp(log_alpha)
        best = int(np.argmax(power - alpha))
        assert power[best] < 0.5
        exact = 1 - mp.exp(mpf(log_beta[best])) - mp.exp(mpf(log_alpha[best]))
        assert 0 <= sign * (curve.advantage() - exact) < 1e-14


def test_predictions_at_alpha_0() -> None:
    for prior in (0.1, 0.5):
        exact = prior * math.e / (prior * math.e + 1.0 - prior)
        assert approximate_dp(1.0).ppv(0.0, prior) == pytest.approx(exact, rel=1e-14)
        assert approximate_dp(1.0, 1e-3).ppv(0.0, prior) == 1.0
