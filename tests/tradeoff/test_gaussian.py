"""The Gaussian curve against high precision, far into both tails, and its identities."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscore.tradeoff import gaussian, subsampled_gaussian
from tests.oracles import tradeoff as oracle

MUS = [1e-8, 1e-4, 0.01, 0.3, 1.0, 2.5, 5.0, 13.0, 40.0]
ALPHAS = [1e-300, 1e-200, 1e-100, 1e-30, 1e-16, 1e-8, 1e-3, 0.05, 0.3, 0.499, 0.5, 0.7, 0.999]
ALPHAS += [1 - 1e-6, 1 - 2.0**-40, 1 - 2.0**-53]

mus = st.floats(0.0, 50.0)
alphas = st.floats(0.0, 1.0)


def relative(value: float, exact: mpmath.mpf) -> float:
    """Return the relative error; below the normal doubles, in spacings of the subnormal ones."""
    if exact < 2.3e-308:
        return abs(float((mpmath.mpf(value) - exact) / mpmath.mpf(2) ** -1074)) * 1e-15
    return abs(float(mpmath.mpf(value) / exact - 1))


@pytest.mark.parametrize("mu", MUS)
def test_beta_and_power(mu: float) -> None:
    f = gaussian(mu)
    for alpha, beta, power in zip(ALPHAS, f(ALPHAS), f.power(ALPHAS), strict=True):
        assert relative(beta, oracle.beta(alpha, mu)) < 1e-14, alpha
        assert relative(power, oracle.power(alpha, mu)) < 1e-14, alpha


@pytest.mark.parametrize("mu", [1e-8, 13.0, 36.5, 37.0, 38.0, 76.5])
def test_large_shifts_of_rare_rates(mu: float) -> None:
    """z - mu has lost the digits of z; below 1e-305 those of alpha are lost itself."""
    f = gaussian(mu)
    for alpha in [5e-324, 1e-310, 1e-307, 1e-304, 1e-300, 1e-3, 0.3]:
        allowed = 3e-13 if alpha < 1e-305 else 2e-15
        assert relative(f(alpha), oracle.beta(alpha, mu)) < allowed, alpha
        assert relative(f.power(alpha), oracle.power(alpha, mu)) < allowed, alpha


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("log_alpha", [-1e12, -1e6, -5000.0, -745.2, -690.8, -100.0, -10.0, -1.0])
def test_log_power(mu: float, log_alpha: float) -> None:
    value = gaussian(mu).log_power(log_alpha)
    exact = oracle.log_power(log_alpha, mu)
    # Half an ulp of log_alpha and half an ulp of the quantile z move it by z hazard ulps.
    z = mpmath.sqrt(-2 * log_alpha)
    hazard = mpmath.npdf(z - mu) / mpmath.exp(exact)
    assert relative(-value, -exact) < 1e-15 + 5e-16 * float(z * hazard / -exact)
    if mu <= 5:
        assert relative(-value, -exact) < 1e-13


def test_log_power_continues_log_of_power() -> None:
    f = gaussian([0.0, 0.1, 3.0, 20.0])
    alpha = np.geomspace(1e-300, 1e-95, 100)
    np.testing.assert_allclose(f.log_power(np.log(alpha)), np.log(f.power(alpha)), rtol=1e-13)


@pytest.mark.parametrize("mu", [1e-300, 1e-8, 0.1, 1.0, 3.0, 8.0, 20.0, 40.0])
def test_advantage_and_auc(mu: float) -> None:
    f = gaussian(mu)
    assert relative(f.advantage(), mpmath.erf(mpmath.mpf(mu) / mpmath.sqrt(8))) < 5e-16
    assert relative(f.auc(), mpmath.ncdf(mpmath.mpf(mu) / mpmath.sqrt(2))) < 5e-16


def test_leakage_is_mu_squared() -> None:
    f = gaussian(leakage=[0.0, 2.0, 9.0, math.inf])
    assert f.leakage.tolist() == [0.0, 2.0, 9.0, math.inf]
    np.testing.assert_array_equal(f.mu, np.sqrt([0.0, 2.0, 9.0, math.inf]))
    assert gaussian(3.0).leakage == 9.0
    assert (gaussian(1e200).leakage, gaussian(1e-200).leakage) == (math.inf, 0.0)
    assert (f.kind, f.adversary, f.shape) == ("guarantee", "informed", (4,))


@given(mus, alphas, alphas, st.floats(0, 1))
def test_a_trade_off_curve(mu: float, a: float, b: float, weight: float) -> None:
    """Convex, decreasing, from 1 to 0, below the diagonal and its own inverse."""
    f = gaussian(mu)
    low, high = f(min(a, b)), f(max(a, b))
    assert high <= low
    assert f(a) <= (1 - a) * (1 + 4e-16)
    middle = weight * a + (1 - weight) * b
    assert f(middle) <= weight * f(a) + (1 - weight) * f(b) + 4e-16
    assert f.power(a) == pytest.approx(1 - f(a), abs=3e-16)
    assert (f(0.0), f(1.0), f.power(0.0), f.power(1.0)) == (1.0, 0.0, 0.0, 1.0)
    assert f.reconstruction(a) == f.power(a)
    if 1e-9 < a < 1 - 1e-9 and mu < 4:
        assert f(f(a)) == pytest.approx(a, rel=1e-9)


@given(mus, mus, alphas)
def test_more_leakage_more_power(mu: float, other: float, alpha: float) -> None:
    weak, strong = gaussian(min(mu, other)), gaussian(max(mu, other))
    assert weak.power(alpha) <= strong.power(alpha) * (1 + 1e-15)
    assert strong(alpha) <= weak(alpha) * (1 + 1e-15)
    assert weak.advantage() <= strong.advantage()


@pytest.mark.parametrize("mu", [0.0, math.inf, 1e200, 1e-320])
def test_ends_of_mu(mu: float) -> None:
    """No information, and none missing; at mu = inf even alpha = 0 finds every member."""
    f = gaussian(mu)
    alpha = np.array([0.0, 1e-300, 0.2, 1.0])
    if mu < 1:
        np.testing.assert_allclose(f(alpha), 1 - alpha, rtol=3e-16)
        np.testing.assert_allclose(f.power(alpha), alpha, rtol=1e-14)
        np.testing.assert_allclose(f.log_power([-math.inf, -1e9, 0.0]), [-math.inf, -1e9, 0])
        assert f.advantage() == pytest.approx(mu * 0.3989422804014327, abs=1e-323)
        assert f.auc() == 0.5
        return
    perfect = mu == math.inf
    assert f(alpha).tolist() == [0.0 if perfect else 1.0, 0.0, 0.0, 0.0]
    assert f.power(alpha).tolist() == [1.0 if perfect else 0.0, 1.0, 1.0, 1.0]
    assert f.log_power([-math.inf, -1e300, 0.0]).tolist() == [0.0 if perfect else -math.inf, 0, 0]
    assert (f.advantage(), f.auc()) == (1.0, 1.0)


def test_an_attack_bounds_no_reconstruction() -> None:
    """Others may reconstruct more: the mechanism's own curve allows .957, this one .777."""
    f = gaussian(3.0)
    assert f.reconstruction(0.1) == f.power(0.1) == pytest.approx(0.957, abs=1e-3)
    assert f.best_of(10).power(0.1) == pytest.approx(0.777, abs=1e-3)
    for attack in (f.best_of(10), f.best_of(10).symmetrized()):
        with pytest.raises(ValueError, match="not 'attack': other attacks may reconstruct more"):
            attack.reconstruction(0.1)
    low, high = subsampled_gaussian(1.0, 0.01, 100).interval("reconstruction", 0.1)
    assert high == subsampled_gaussian(1.0, 0.01, 100).reconstruction(0.1) >= low
