"""Shapes, the positive predictive value, and what the trade-off functions refuse."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from leakscore.tradeoff import gaussian, gdp_epsilon


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
@pytest.mark.parametrize("argument", [(), (4,), (1, 5), (0,)])
def test_shapes(shape: tuple[int, ...], argument: tuple[int, ...]) -> None:
    mu = np.random.default_rng(0).uniform(0, 3, shape)
    f = gaussian(mu)
    assert f.shape == shape
    x = np.full(argument, 0.25)
    for method in (f, f.power, f.delta, f.epsilon, f.reconstruction):
        assert np.shape(method(x)) == shape + argument
    assert np.shape(f.log_power(-x)) == shape + argument
    assert np.shape(f.ppv(x, 0.1)) == shape + argument
    for method in (f.advantage, f.auc):
        assert np.shape(method()) == shape
    for index in np.ndindex(shape):
        for place in np.ndindex(argument):
            one = gaussian(mu[index])
            assert f(x)[index + place] == one(0.25)
            assert f.epsilon(x)[index + place] == one.epsilon(0.25)
            assert f.delta(x)[index + place] == one.delta(0.25)


def test_scalars_are_floats() -> None:
    f = gaussian(1)
    for value in (f(0), f.power(1), f.advantage(), f.auc(), f.delta(1), f.epsilon(1e-5), f.mu):
        assert isinstance(value, float)
    assert repr(f) == "gaussian(mu=1.)"
    assert repr(gaussian([0.5, 2.0])) == "gaussian(mu=[0.5, 2. ])"


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f8", "f2", "i4", "u1"])
def test_any_real_dtype_and_layout(dtype: str) -> None:
    values = np.array([[0, 1, 1], [1, 0, 0]], dtype=dtype)
    f = gaussian(2.0)
    expected = f(values.astype(float))
    np.testing.assert_array_equal(f(values), expected)
    np.testing.assert_array_equal(f(values[:, ::-1]), expected[:, ::-1])
    np.testing.assert_array_equal(f(np.asfortranarray(values)), expected)
    np.testing.assert_array_equal(f.delta(values), f.delta(values.astype(float)))
    np.testing.assert_array_equal(gaussian(values).power(0.3), gaussian(values * 1.0).power(0.3))


def test_parameters_are_the_curves_own() -> None:
    mu = np.array([1.0, 2.0])
    f = gaussian(mu)
    mu[0] = 9.0
    assert f.mu.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        f.mu[0] = 9.0
    frozen = np.array([0.1, 0.2])
    frozen.flags.writeable = False
    f.power(frozen), f.ppv(frozen, frozen), f.epsilon(frozen), f.delta(frozen)
    for twin in (copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        assert twin.mu.tolist() == [1.0, 2.0]
        assert twin.power(0.1).tolist() == f.power(0.1).tolist()
        assert twin.inverse() is twin


def test_ppv_by_hand() -> None:
    f = gaussian(2.0)
    for alpha in (1e-300, 1e-6, 0.01, 0.5, 1.0):
        for prior in (1e-300, 1e-4, 0.3, 1 - 1e-12):
            a, p, power = Fraction(alpha), Fraction(prior), Fraction(float(f.power(alpha)))
            exact = p * power / (p * power + (1 - p) * a)
            assert f.ppv(alpha, prior) == pytest.approx(float(exact), rel=1e-15)


def test_ppv_at_the_ends() -> None:
    """At alpha = 0 the limit from the right: certainty, or the prior if there is nothing to see."""
    f = gaussian([0.0, 1e-3, 1.0, math.inf])
    np.testing.assert_array_equal(f.ppv(0.0, 0.2), [0.2, 1, 1, 1])
    np.testing.assert_array_equal(f.ppv(0.0, 0.0), [0, 0, 0, 0])
    np.testing.assert_array_equal(f.ppv([0.0, 0.3], 1.0), np.ones((4, 2)))
    np.testing.assert_allclose(f.ppv(1.0, 0.2), 0.2, rtol=1e-15)
    np.testing.assert_allclose(f.ppv(0.1, 0.2)[[0, 3]], [0.2, 0.2 / (0.2 + 0.8 * 0.1)], rtol=1e-14)
    assert f.ppv([0.1, 0.2], [[0.5], [0.6], [0.7]]).shape == (4, 3, 2)
    assert gaussian(5.0).ppv(1e-300, 1e-9) == pytest.approx(1.0)


F = gaussian([1.0, 2.0])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: gaussian(), TypeError, "exactly one of mu and leakage"),
        (lambda: gaussian(1.0, leakage=1.0), TypeError, "exactly one of mu and leakage"),
        (lambda: gaussian(-1e-300), ValueError, r"mu=-1e-300 must be in \[0, inf\]"),
        (lambda: gaussian([1.0, math.nan]), ValueError, r"mu\[1\]=nan"),
        (lambda: gaussian(leakage=-1.0), ValueError, "leakage=-1"),
        (lambda: gaussian("1"), TypeError, "mu"),
        (lambda: gaussian(1j), TypeError, "mu"),
        (lambda: gaussian([None]), TypeError, "mu"),
        (lambda: F(-0.1), ValueError, r"alpha=-0.1 must be in \[0, 1\]"),
        (lambda: F([[0.1, 1.1]]), ValueError, r"alpha\[0, 1\]=1.1"),
        (lambda: F(math.nan), ValueError, "alpha=nan"),
        (lambda: F.power(2), ValueError, "alpha=2"),
        (lambda: F.power(None), TypeError, "alpha"),
        (lambda: F.log_power(1e-9), ValueError, "log_alpha=1e-09"),
        (lambda: F.log_power(math.nan), ValueError, "log_alpha"),
        (lambda: F.delta(math.nan), ValueError, "epsilon"),
        (lambda: F.delta(1.0, "backward"), ValueError, "forward, reverse, both"),
        (lambda: F.delta(1.0, None), TypeError, "direction"),
        (lambda: F.epsilon(-1e-9), ValueError, "delta"),
        (lambda: F.epsilon([0.1, math.nan]), ValueError, r"delta\[1\]"),
        (lambda: F.epsilon(1.5), ValueError, "delta"),
        (lambda: F.reconstruction(1.5), ValueError, "kappa"),
        (lambda: F.ppv(0.1, 1.5), ValueError, "prior"),
        (lambda: F.ppv(-0.1, 0.5), ValueError, "alpha"),
        (lambda: F.ppv([0.1, 0.2], [0.1, 0.2, 0.3]), ValueError, "alpha of shape .* and prior"),
        (lambda: gdp_epsilon(2.0, 1.0), ValueError, "delta"),
        (lambda: gdp_epsilon(0.1, math.nan), ValueError, "mu"),
    ],
)
def test_refused(call, error: type, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=words):
        call()
