"""The curve of a sub-sampled mean against a fine search over thresholds and mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from scipy.integrate import trapezoid
from scipy.stats import norm

from leakscore.tradeoff import gaussian, laplace, subsampled_mean

CASES = [(8.8834, 0.1), (5.0014, 0.3), (3.1031, 0.9), (0.01, 0.5), (40.0, 0.02)]
ALPHA = np.array([0.0, 1e-300, 1e-12, 1e-3, 0.1, 0.5, 0.9, 1 - 1e-9, 1.0])


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> tuple[float, float]:
    return request.param


def masses(m: float, rho: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return P0 and P1 above many thresholds, and P1 below."""
    mu = np.sqrt(m / rho)
    t = np.linspace(-12, mu + 12, 40_001)
    above = (1 - rho) * norm.sf(t) + rho * norm.sf(t - mu)
    return norm.sf(t), above, (1 - rho) * norm.cdf(t) + rho * norm.cdf(t - mu)


def test_power_and_advantage(case: tuple[float, float]) -> None:
    m, rho = case
    f = subsampled_mean(m, rho)
    mu = np.sqrt(m / rho)
    wanted = (1 - rho) * ALPHA + rho * norm.sf(norm.isf(ALPHA) - mu)
    np.testing.assert_allclose(f.power(ALPHA), wanted, rtol=1e-12)
    np.testing.assert_allclose(f(ALPHA) + f.power(ALPHA), 1.0, rtol=0, atol=4e-16)
    np.testing.assert_allclose(np.exp(f.log_power(np.log(ALPHA[1:]))), wanted[1:], rtol=1e-12)
    assert f.advantage() == pytest.approx(rho * (2 * norm.cdf(mu / 2) - 1), rel=1e-13)
    assert f.advantage() <= rho
    none, some, _ = masses(m, rho)
    assert f.auc() == pytest.approx(trapezoid(some[::-1], none[::-1]), rel=1e-6)


@pytest.mark.parametrize("epsilon", [-3.0, -0.2, 0.0, 0.05, 0.7, 3.0])
def test_deltas_are_the_largest_over_thresholds(case: tuple[float, float], epsilon: float) -> None:
    f = subsampled_mean(*case)
    none, some, missed = masses(*case)
    forward = max((some - np.exp(epsilon) * none).max(), 0.0, 1 - np.exp(epsilon))
    reverse = max((norm.cdf(norm.isf(none)) - np.exp(epsilon) * missed).max(), 0.0)
    assert f.delta(epsilon, "forward") == pytest.approx(forward, abs=2e-7)
    assert f.delta(epsilon, "reverse") == pytest.approx(max(reverse, 1 - np.exp(epsilon)), abs=2e-7)
    assert f.delta(epsilon) == max(f.delta(epsilon, "forward"), f.delta(epsilon, "reverse"))
    assert f.inverse().delta(epsilon, "forward") == f.delta(epsilon, "reverse")


def test_far_profile_keeps_its_digits() -> None:
    m, rho = 4.0, 0.25
    with mpmath.workdps(60):
        mu = mpmath.sqrt(mpf(m) / mpf(rho))
        for epsilon in (2.0, 9.0, 40.0, 100.0):
            inner = mpmath.log1p(mpmath.expm1(epsilon) / mpf(rho))
            first = mpmath.ncdf(-inner / mu + mu / 2)
            second = mpmath.exp(inner) * mpmath.ncdf(-inner / mu - mu / 2)
            wanted = mpf(rho) * (first - second)
            got = subsampled_mean(m, rho).delta(epsilon, "forward")
            assert abs(mpf(float(got)) / wanted - 1) < 2e-12


def test_small_profiles_below_small_rates_keep_their_digits() -> None:
    with mpmath.workdps(60):
        for rho, epsilon in (
            (1e-20, 1e-20),
            (1e-17, 3e-17),
            (1e-100, 1e-99),
            (0.5, -0.5),
            (1, -40),
        ):
            inner = mpmath.log(1 + mpmath.expm1(mpf(epsilon)) / mpf(rho))
            first = mpmath.ncdf(-inner + mpf(0.5))
            wanted = mpf(rho) * (first - mpmath.exp(inner) * mpmath.ncdf(-inner - mpf(0.5)))
            got = subsampled_mean(rho, rho).delta(epsilon, "forward")  # of mu 1
            assert abs(mpf(float(got)) / wanted - 1) < 2e-12


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "case", [(1e308, 0.5), (1e100, 1e-100), (1e308, 5e-324), (1.0, 1 - 2**-53)]
)
def test_epsilons_of_extreme_means(case: tuple[float, float]) -> None:
    f = subsampled_mean(*case)
    for delta in (1e-300, 1e-101, 1e-5, 0.4, 0.9):
        for direction in ("forward", "reverse"):
            epsilon = f.epsilon(delta, direction)
            assert f.delta(epsilon * (1 + 1e-11), direction) <= delta * (1 + 1e-11)
    # Of disjoint laws: delta = 1 - e^epsilon (1 - rate).
    assert subsampled_mean(1e308, 0.5).epsilon(0.1, "reverse") == pytest.approx(np.log(1.8))


@pytest.mark.filterwarnings("error")
def test_rates_of_disjoint_laws() -> None:
    """A mean that reveals the record: non-members share what is not sampled, a part of 0.9."""
    f = subsampled_mean([1e308, 1e308, 1.0, 1e10, 1e20, 1e100], [0.1, 1.0, *[0.1] * 4]).inverse()
    alpha = np.array([0.0, 1e-300, 0.01, 0.45, 0.8, 0.95, 1.0])
    least = np.maximum(1.0 - alpha / 0.9, 0.0)
    for i in (0, 3, 4, 5):
        np.testing.assert_allclose(f(alpha)[i], least, rtol=1e-14)
        np.testing.assert_allclose(f.power(alpha)[i], np.minimum(alpha / 0.9, 1.0), rtol=1e-13)
    assert f(alpha)[1].tolist() == [1.0] + [0.0] * 6
    alone = subsampled_mean(1.0, 0.1).inverse()
    np.testing.assert_allclose(f(alpha)[2], alone(alpha), rtol=1e-14)


def test_epsilon_inverts_delta(case: tuple[float, float]) -> None:
    f = subsampled_mean(*case)
    for direction in ("forward", "reverse", "both"):
        delta = np.array([1e-12, 1e-6, 1e-3, 0.5 * float(f.advantage())])
        epsilon = f.epsilon(delta, direction)
        # The least epsilon: at it delta is small enough, just below it is not.
        assert (f.delta(epsilon, direction) <= delta * (1 + 1e-11)).all()
        assert (f.delta(epsilon * (1 - 1e-13), direction) >= delta * (1 - 1e-11)).all()
        assert f.epsilon(float(f.advantage()) * (1 + 1e-12), direction) == 0.0
    assert (f.epsilon([0.0, 1e-300], "reverse") <= -np.log1p(-case[1])).all()
    assert f.epsilon(0.0) == np.inf


def test_inverse_swaps_the_errors(case: tuple[float, float]) -> None:
    m, rho = case
    f = subsampled_mean(m, rho)
    inverse, x = f.inverse(), np.array([1e-300, 1e-9, 1e-3, 0.2, 0.7, 0.999])
    power = inverse.power(x)
    t = norm.ppf(power)
    small = np.logaddexp(
        np.log1p(-rho) + norm.logcdf(t), np.log(rho) + norm.logcdf(t - np.sqrt(m / rho))
    )
    np.testing.assert_allclose(small[power < 0.5], np.log(x)[power < 0.5], rtol=1e-11)
    inside = inverse(x) > 1e-290  # elsewhere no double says what is left of H1
    np.testing.assert_allclose(f(inverse(x))[2:][inside[2:]], x[2:][inside[2:]], rtol=1e-11)
    np.testing.assert_allclose(inverse(x) + power, 1.0, rtol=0, atol=4e-16)
    np.testing.assert_allclose(inverse.log_power(np.log(x)), np.log(power), rtol=1e-12, atol=1e-15)
    assert inverse.advantage() == f.advantage()
    assert inverse.inverse()(0.3) == f(0.3)
    np.testing.assert_array_equal(inverse([0.0, 1.0]), [1.0, 0.0])
    limit = inverse.ppv(1e-250, 0.5)
    assert inverse.ppv(0.0, 0.5) == pytest.approx(limit, rel=0.1)


def test_hull_of_curve_and_inverse(case: tuple[float, float]) -> None:
    f = subsampled_mean(*case)
    hull, inverse = f.symmetrized(), f.inverse()
    alpha = np.linspace(0, 1, 20_001)
    beta = hull(alpha)
    assert (beta <= np.minimum(f(alpha), inverse(alpha)) + 1e-14).all()
    assert (np.diff(beta, 2) >= -1e-12).all()
    known = beta > 1e-9
    np.testing.assert_allclose(hull(beta[known]), alpha[known], rtol=1e-9, atol=1e-9)
    assert hull.advantage() == f.advantage()
    assert hull.auc() == pytest.approx(1 - trapezoid(beta, alpha), abs=1e-5)
    np.testing.assert_array_equal(hull.delta([0.1, 1.0]), f.delta([0.1, 1.0]))
    np.testing.assert_array_equal(hull.epsilon([1e-5, 1e-2]), f.epsilon([1e-5, 1e-2]))
    np.testing.assert_allclose(np.exp(hull.log_power(np.log(alpha[1:]))), 1 - beta[1:], rtol=1e-10)


def test_the_whole_sample_is_gaussian() -> None:
    f, g = subsampled_mean([0.5, 4.0], 1.0), gaussian(leakage=[0.5, 4.0])
    alpha, epsilon, delta = [1e-9, 0.1, 0.8], [-1.0, 0.0, 2.0], [1e-9, 1e-3, 0.9]
    for curve in (f, f.inverse(), f.symmetrized()):
        np.testing.assert_allclose(curve(alpha), g(alpha), rtol=1e-10)
        np.testing.assert_allclose(curve.delta(epsilon), g.delta(epsilon), rtol=1e-12)
        np.testing.assert_allclose(curve.epsilon(delta), g.epsilon(delta), rtol=1e-10)
        np.testing.assert_allclose(curve.auc(), g.auc(), rtol=1e-13)


def test_nothing_leaks_without_leakage() -> None:
    f = subsampled_mean(0.0, 0.3)
    for curve in (f, f.inverse(), f.symmetrized()):
        np.testing.assert_allclose(curve([0.0, 0.2, 1.0]), [1.0, 0.8, 0.0], rtol=1e-14)
        assert curve.advantage() == 0
        assert curve.epsilon(1e-9) == 0
        assert curve.ppv(0.0, 0.25) == 0.25


def test_shapes() -> None:
    f = subsampled_mean([[1.0], [2.0]], [0.1, 0.5, 1.0])
    assert f.shape == (2, 3)
    assert f.power([0.1, 0.2]).shape == (2, 3, 2)
    assert f.epsilon([1e-5, 1e-3]).shape == (2, 3, 2)
    assert f.inverse().power([0.1, 0.2]).shape == (2, 3, 2)
    assert f.symmetrized().log_power([-1.0]).shape == (2, 3, 1)


@pytest.mark.parametrize(
    ("leakage", "rate", "name"),
    [(-1, 0.5, "leakage"), (np.nan, 0.5, "leakage"), (np.inf, 0.5, "leakage")]
    + [(1.0, bad, "sample_rate") for bad in (0.0, -0.1, 1.1, np.nan)],
)
def test_refused(leakage: float, rate: float, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        subsampled_mean(leakage, rate)


def test_reverse_epsilons_of_almost_the_whole_sample() -> None:
    for shift, rate in ((60.0, 1 - 2**-53), (40.0, 1 - 1e-12)):
        f = laplace(shift).subsample(rate)
        with mpmath.workdps(60):
            share = (1 - mpf(rate)) + mpf(rate) * mpmath.exp(-mpf(shift))
            assert f.epsilon(0.0, "reverse") == pytest.approx(float(-mpmath.log(share)), rel=1e-14)
        epsilon = f.epsilon(0.1, "reverse")
        assert f.delta(epsilon * (1 + 1e-9), "reverse") <= 0.1
        assert f.delta(epsilon * (1 - 1e-9), "reverse") >= 0.1


@pytest.mark.parametrize("rate", [0.01, 0.5, 1.0])
@pytest.mark.parametrize("mu", [1e-150, 1e-12])
def test_epsilons_of_the_faintest_means(mu: float, rate: float) -> None:
    """To first order in mu, delta(rate mu y) = rate mu (phi(y) - y Phi(-y)) in both directions."""
    f, y = subsampled_mean(rate * mu**2, rate), np.array([0.1, 1.0, 5.0])
    delta = rate * mu * (norm.pdf(y) - y * norm.sf(y))
    for direction in ("forward", "reverse"):
        np.testing.assert_allclose(f.epsilon(delta, direction), rate * mu * y, rtol=1e-10)
