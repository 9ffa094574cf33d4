"""Curves from Renyi divergences and zCDP, against the region of one event and closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from leakscore import tradeoff
from leakscore.tradeoff import from_profile, from_rdp, from_zcdp

ALPHA = np.concatenate([[0.0], 10.0 ** np.arange(-12.0, 0.0, 0.25), np.linspace(0.1, 1.0, 50)])


def most_power(order: float, divergence: float, alpha: float, swapped: bool) -> float:
    """The largest power of one event under a Renyi divergence, by bisection in the log odds."""

    def excess(odds: float) -> float:
        law = [-np.logaddexp(0.0, -odds), -np.logaddexp(0.0, odds)]
        other = [math.log(alpha), math.log1p(-alpha)]
        first, second = (other, law) if swapped else (law, other)
        terms = [order * a + (1.0 - order) * b for a, b in zip(first, second, strict=True)]
        return float(np.logaddexp(*terms)) - (order - 1.0) * divergence

    if excess(700.0) <= 0.0:
        return 1.0
    odds = brentq(excess, math.log(alpha) - math.log1p(-alpha), 700.0, xtol=1e-14)
    return 1.0 / (1.0 + math.exp(-odds))


@pytest.mark.parametrize(
    ("order", "divergence"), [(2.0, 1.0), (1.5, 0.1), (32.0, 3.0), (8.0, 1e-4), (64.0, 30.0)]
)
def test_one_order_gives_its_exact_region(order: float, divergence: float) -> None:
    both, forward = (from_rdp([order], [divergence], relation=way) for way in ("both", "forward"))
    for alpha in (1e-8, 1e-3, 0.05, 0.3, 0.9):
        ways = [most_power(order, divergence, alpha, swapped) for swapped in (False, True)]
        for f, power in ((both, min(ways)), (forward, ways[0])):
            assert power * (1.0 - 1e-12) <= f.power(alpha) <= power * (1.0 + 1e-6)


@pytest.mark.parametrize("mu", [0.01, 1.0, 8.0])
def test_orders_of_a_gaussian_guarantee_less_than_its_curve(mu: float) -> None:
    orders = 1.0 + np.geomspace(1e-2, 1e3, 80)
    f, g = from_rdp(orders, orders * mu * mu / 2.0), tradeoff.gaussian(mu)
    assert (f(ALPHA) <= g(ALPHA)).all()
    # No more than the usual conversion of the same orders.
    epsilon = np.linspace(0.0, 12.0 * mu, 40)[:, np.newaxis]
    less = orders - 1.0
    usual = (
        less * (orders * mu * mu / 2.0 - epsilon) + less * np.log1p(-1.0 / orders) - np.log(orders)
    )
    deltas = f.delta(epsilon[:, 0])
    assert (deltas <= np.exp(np.minimum(usual.min(axis=1), 0.0)) * (1.0 + 1e-2)).all()
    z = from_zcdp(mu * mu / 2.0)
    assert (z(ALPHA) <= g(ALPHA)).all()
    assert (z.power(ALPHA[1:]) <= f.power(ALPHA[1:]) * (1.0 + 1e-2)).all()


def test_pure_differential_privacy_is_the_infinite_order() -> None:
    f, g = from_rdp([2.0, np.inf], [np.inf, 1.5]), tradeoff.approximate_dp(1.5)
    assert (f(ALPHA) <= g(ALPHA)).all()
    np.testing.assert_allclose(f(ALPHA), g(ALPHA), rtol=1e-13, atol=1e-14)


def test_zcdp_of_nothing_is_no_leakage_and_xi_costs() -> None:
    assert from_zcdp(0.0).advantage() < 1e-6
    assert from_zcdp(0.5, 0.3)(0.1) < from_zcdp(0.5)(0.1)


@pytest.mark.parametrize(
    ("orders", "epsilons", "message"),
    [
        ([1.0, 2.0], [0.1, 0.1], r"orders\[0\]=1.0 must be in \(1, inf\]"),
        ([0.5], [0.1], r"orders"),
        ([3.0, 2.0], [0.1, 0.1], "increasing"),
        ([2.0, 2.0], [0.1, 0.1], "increasing"),
        ([2.0], [-0.1], r"epsilons\[0\]"),
        ([2.0], [np.nan], r"epsilons"),
        ([2.0], [np.inf], "finite divergence"),
        ([2.0, 3.0], [0.1], "as orders"),
    ],
)
def test_orders_that_are_none_are_refused(orders: Any, epsilons: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_rdp(orders, epsilons)


def test_far_tails_stay_finite() -> None:
    f = from_rdp(np.arange(2.0, 400.0), np.arange(2.0, 400.0) * 450.0)  # mu = 30
    assert 0.0 <= f(1e-300) < 1.0
    assert math.isfinite(f.epsilon(1e-9))
    tiny = from_profile([0.0, 700.0], [1e-300, 1e-308])
    assert 0.0 < tiny.power(1e-308) < 1e-290
