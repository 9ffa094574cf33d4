"""Epsilon and delta of the Gaussian curve: high precision, inversion, directions."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakscore
from leakscore.tradeoff import gaussian, gdp_epsilon
from tests.oracles import tradeoff as oracle

MUS = [1e-8, 1e-3, 0.05, 0.5, 1.0, 1.9, 3.999, 4.001, 9.0, 25.0, 40.0]


@pytest.mark.parametrize("mu", MUS)
def test_delta(mu: float) -> None:
    """From negative epsilon to where delta leaves the normal doubles."""
    around = mu * mu / 2 + mu * np.linspace(-25, 37, 24)
    epsilons = np.concatenate([[-5, -0.5, -1e-9, 0, 1e-12, 1e-3, 0.5, 5, 50, 300, 700], around])
    for epsilon, value in zip(epsilons, gaussian(mu).delta(epsilons), strict=True):
        exact = oracle.delta(epsilon, mu)
        if exact > 2.3e-308:
            assert abs(float(value / exact - 1)) < 1e-14, epsilon
        else:
            assert value < 2.4e-308


@pytest.mark.parametrize("mu", MUS)
def test_epsilon(mu: float) -> None:
    """The root of delta(epsilon) = delta, from a Newton step in high precision."""
    advantage = float(gaussian(mu).advantage())
    deltas = [10.0**-k for k in (1, 3, 6, 12, 30, 80, 150, 220, 300)]
    deltas = [delta for delta in deltas if delta < advantage]
    deltas += [advantage * share for share in (0.3, 0.9, 1 - 1e-6)]
    for delta, value in zip(deltas, gaussian(mu).epsilon(deltas), strict=True):
        slope = oracle.slope(value, mu)
        error = abs(float((oracle.delta(value, mu) - delta) / slope))
        ulp_of_delta = 1.2e-16 * delta / abs(float(slope))
        assert error < 1e-14 * value + 8 * ulp_of_delta, delta


@given(st.floats(1e-6, 60.0), st.floats(0.0, 1.0))
@settings(max_examples=300)
def test_round_trip(mu: float, share: float) -> None:
    f = gaussian(mu)
    delta = float(f.advantage()) * share
    epsilon = f.epsilon(delta)
    assert epsilon >= 0
    if delta > 1e-300 and share < 1:
        # delta' / delta <= (epsilon/mu + mu) / mu magnifies the rounding of epsilon.
        slope = (epsilon / mu + mu) / mu
        assert f.delta(epsilon) == pytest.approx(delta, rel=1e-14 + 4e-16 * slope * epsilon)


@given(st.floats(0.0, 50.0), st.floats(-50.0, 500.0), st.floats(-50.0, 500.0))
def test_profile_falls_and_is_tight(mu: float, a: float, b: float) -> None:
    f = gaussian(mu)
    assert f.delta(max(a, b)) <= f.delta(min(a, b)) * (1 + 1e-14)
    # No alpha exceeds delta, and the one at the threshold epsilon/mu + mu/2 attains it.
    delta = f.delta(a)
    alpha = np.linspace(0, 1, 201)
    with np.errstate(over="ignore"):
        assert (1 - f(alpha) - np.exp(a) * alpha <= delta + 1e-14).all()
    assert 0 <= delta <= 1
    assert delta >= -math.expm1(min(a, 0.0)) * (1 - 1e-15)


def test_no_finite_epsilon_and_none_needed() -> None:
    f = gaussian(1.0)
    assert (f.epsilon(0.0), f.epsilon(1.0), f.epsilon(float(f.advantage()))) == (math.inf, 0, 0)
    assert f.epsilon(math.nextafter(float(f.advantage()), 0)) == pytest.approx(0, abs=1e-15)
    assert f.epsilon(5e-324) > 38
    none = gaussian(0.0)
    assert none.epsilon([0.0, 0.5, 1.0]).tolist() == [0, 0, 0]
    assert none.delta([-math.inf, -1.0, 0.0, 1.0, math.inf]).tolist() == [
        1,
        -math.expm1(-1),
        0,
        0,
        0,
    ]
    all_ = gaussian(math.inf)
    assert all_.epsilon([0.0, 0.5, 1.0]).tolist() == [math.inf, math.inf, 0]
    assert all_.delta([-math.inf, 0.0, 1e300, math.inf]).tolist() == [1, 1, 1, 1]
    assert f.delta([-math.inf, math.inf]).tolist() == [1, 0]
    assert gaussian(1e200).epsilon(0.5) == math.inf
    assert gaussian(1e100).epsilon(0.5) == pytest.approx(5e199)
    assert gaussian(1e-300).epsilon(1e-301) == pytest.approx(1e-300, rel=1)


def test_directions_of_a_symmetric_curve() -> None:
    f = gaussian([0.5, 2.0])
    assert f.inverse() is f
    assert f.symmetrized() is f
    for direction in ("forward", "reverse", "both"):
        np.testing.assert_array_equal(f.delta([-1.0, 1.0], direction), f.delta([-1.0, 1.0]))
        np.testing.assert_array_equal(f.epsilon(1e-5, direction), f.epsilon(1e-5))


@given(st.floats(0.01, 10), st.floats(1e-30, 1))
def test_the_shortcut_is_the_curve(mu: float, delta: float) -> None:
    assert gdp_epsilon(delta, mu) == gaussian(mu).epsilon(delta)


def test_the_shortcut_broadcasts() -> None:
    mu = np.array([[0.5], [1.0], [3.0]])
    delta = np.array([1e-9, 1e-3])
    table = gdp_epsilon(delta, mu)
    assert table.shape == (3, 2)
    np.testing.assert_array_equal(table, gaussian(mu[:, 0]).epsilon(delta))
    for row, f in zip(table, gaussian(mu[:, 0]).mu, strict=True):
        np.testing.assert_allclose(gaussian(f).delta(row), delta, rtol=1e-13)
    assert gdp_epsilon(np.ones((2, 0)), 1.0).shape == (2, 0)
    with pytest.raises(ValueError, match=r"delta of shape \(2,\) and mu of shape \(3,\)"):
        gdp_epsilon([0.1, 0.2], [1.0, 2.0, 3.0])


def test_threads_change_nothing() -> None:
    epsilon = np.linspace(-1, 40, 5000)
    results = []
    for count in (1, 2, 8):
        leakscore.set_num_threads(count)
        results.append((gaussian(2.0).delta(epsilon), gdp_epsilon(10.0 ** -epsilon[200:], 2.0)))
    for delta, root in results[1:]:
        np.testing.assert_array_equal(delta, results[0][0])
        np.testing.assert_array_equal(root, results[0][1])


def test_known_values() -> None:
    """Published epsilons of Gaussian mechanisms at delta = 1e-5."""
    assert gdp_epsilon(1e-5, [0.5, 1.0, 2.0, 3.0, 4.0]) == pytest.approx(
        [1.99, 4.38, 10.00, 16.68, 24.38], abs=0.006
    )
    exact = mpmath.findroot(lambda e: oracle.delta(e, 1) - mpmath.mpf(1e-5), 4.377)
    assert gdp_epsilon(1e-5, 1.0) == pytest.approx(float(exact), rel=1e-15)
