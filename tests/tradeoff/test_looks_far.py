"""The best of several looks where one look's alpha or beta is smaller than any double."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore.tradeoff import gaussian


def normal(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def gain(mu: float, looks: int, epsilon: float, direction: str) -> Any:
    """Delta of the best of looks at a Gaussian mean, by golden sections over the threshold."""
    weight = mp.exp(mp.mpf(epsilon))

    def value(z: Any) -> Any:
        caught, flagged = normal(mu - z), normal(-z)
        if direction == "reverse":
            return normal(z) ** looks - weight * normal(z - mu) * normal(z) ** (looks - 1)
        others, alpha = (-mp.expm1(k * mp.log1p(-flagged)) for k in (looks - 1, looks))
        return caught + (1 - caught) * others - weight * alpha

    # The gain has one maximum and may be flat far from it: its neighbourhood is where lines touch.
    middle = (mp.mpf(epsilon) + mp.log(looks)) / mu + mp.mpf(mu) / 2
    middle = middle if direction == "forward" else mu - middle
    low, high, share = middle - 2, middle + 2, (mp.sqrt(5) - 1) / 2
    for _ in range(80):
        step = share * (high - low)
        if value(high - step) < value(low + step):
            low = high - step
        else:
            high = low + step
    return value(low)


@pytest.mark.parametrize("mu", [20.0, 30.0, 45.0, 1e3])
@pytest.mark.parametrize("looks", [3, 1000])
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_profiles_of_nearly_certain_attacks(mu: float, looks: int, direction: str) -> None:
    best = gaussian(mu).best_of(looks)
    with mp.workdps(40):
        for delta in (1e-200, 1e-100, 1e-10, 0.3, 0.9):
            epsilon = float(best.epsilon(delta, direction))
            exact = gain(mu, looks, epsilon, direction)
            assert float(exact / delta) == pytest.approx(1.0, rel=1e-9)
            assert best.delta(epsilon, direction) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("mu", [20.0, 30.0, 38.0, 45.0, 100.0, 1e3, 1e6])
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_one_look_is_the_curve(mu: float, direction: Any) -> None:
    curve, best = gaussian(mu), gaussian(mu).best_of(1)
    deltas = np.array([1e-300, 1e-100, 1e-10, 0.3, 0.9])
    epsilons = curve.epsilon(deltas)
    np.testing.assert_allclose(best.epsilon(deltas, direction), epsilons, rtol=1e-12)
    far = np.concatenate([[690.0, 700.0, 745.0, 1e3], epsilons])
    expected = curve.delta(far)
    np.testing.assert_allclose(best.delta(far, direction), expected, rtol=1e-6, atol=1e-307)
    log_alpha = np.array([-1e6, -1e4, -1000.0, -745.0, -700.0, -10.0])
    for turned in (best, best.inverse()):
        np.testing.assert_allclose(
            turned.log_power(log_alpha), curve.log_power(log_alpha), rtol=1e-12, atol=1e-300
        )
