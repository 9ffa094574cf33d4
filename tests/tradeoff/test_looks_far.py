"""The best of several looks where one look's alpha or beta is smaller than any double."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from leakscore.tradeoff import gaussian, laplace


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


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_one_far_tail_costs_no_other_element(
    direction: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    curve, places = gaussian(20.0), []
    log_power = type(curve)._log_power

    def counted(self: Any, log_alpha: Any) -> Any:
        places.append(np.size(log_alpha))
        return log_power(self, log_alpha)

    monkeypatch.setattr(type(curve), "_log_power", counted)
    best = curve.best_of(3)
    for number, given in (
        (best.delta, np.append(np.linspace(-3.0, 300.0, 199), 1200.0)),
        (best.epsilon, np.append(np.linspace(0.6, 0.99, 199), 1e-250)),
    ):
        places.clear()
        number(given, direction)
        assert sum(places) < 420 * given.size  # of 32 and 16 sections in each of 12 rounds


def test_no_rate_overflows() -> None:
    for curve in (gaussian(1e5), gaussian(60.0)):
        best = curve.best_of(10**9)
        assert (best.delta([1.0, 1e6]) == 1.0).all() == (curve.delta(1e6) == 1.0)
        assert best.epsilon(0.5, "reverse") > 1000.0


def test_reversed_epsilons_where_alpha_is_tiny_and_beta_of_one_look_is_not() -> None:
    looks, curve = 849793, laplace(0.10139487)
    with mp.workdps(50):
        ratio = mp.exp(mp.mpf(0.10139487))

        def gain(epsilon: Any) -> Any:
            """Of b = 1 - ratio a, at the a where its derivative is 0."""
            near, far = mp.expm1(epsilon), mp.exp(epsilon) * ratio - 1
            a = ((looks - 1) * near + far) / (looks * far)
            return (1 - a) ** (looks - 1) * (a * far - near)

        for delta in (1e-170, 1e-250):
            epsilon = mp.mpf(curve.best_of(looks).epsilon(delta, "reverse"))
            assert gain(epsilon + 1e-12) <= delta <= gain(epsilon - 1e-12)


@pytest.mark.parametrize("mu", [0.5, 3.0, 10.0])
@pytest.mark.parametrize("looks", [1, 3, 100])
def test_hulls_at_alphas_below_their_points(mu: float, looks: int) -> None:
    """There the curve itself, in the order that accuses members, is the hull."""
    hull = gaussian(mu).best_of(looks).symmetrized()
    with mp.workdps(60):
        for z in (38.0, 45.0, 100.0, 450.0):
            a, caught = normal(-mp.mpf(z)), normal(mp.mpf(mu) - z)
            log_alpha = mp.log(-mp.expm1(looks * mp.log1p(-a)))
            others = -mp.expm1((looks - 1) * mp.log1p(-a))
            log_power = mp.log(caught + (1 - caught) * others)
            assert hull.log_power(float(log_alpha)) == pytest.approx(float(log_power), rel=1e-9)


def _laplace(a: np.ndarray, mu: float) -> np.ndarray:
    low, high = 1.0 - math.exp(mu) * a, math.exp(-mu) * (1.0 - a)
    middle = math.exp(-mu) / (4.0 * a)
    return np.where(a < 0.5 * math.exp(-mu), low, np.where(a < 0.5, middle, high))


@pytest.mark.parametrize("looks", [2, 19, 1000])
@pytest.mark.parametrize("mu", [0.5, 4.0, 30.0])
@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_hull_is_within_its_error_of_the_curve_and_of_its_inverse(
    family: str, mu: float, looks: int
) -> None:
    a = -np.expm1(-np.exp(np.linspace(-600.0, 1.0, 300_001)))
    beta = _laplace(a, mu) if family == "laplace" else stats.norm.cdf(-stats.norm.ppf(a) - mu)
    alpha = -np.expm1(looks * np.log1p(-a))
    beta = beta * np.exp((looks - 1) * np.log1p(-a))
    curve = {"laplace": laplace, "gaussian": gaussian}[family](mu)
    hull = curve.best_of(looks).symmetrized()
    assert (hull(alpha) - beta).max() < 1e-7  # were up to 8e-6
    assert (hull(beta) - alpha).max() < 1e-7
