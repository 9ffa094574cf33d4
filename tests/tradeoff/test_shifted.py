"""N(0, 1) against N(d, r^2): high precision, the other families at their limits, attacks."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from leakscore.tradeoff import gaussian, relaxed_gaussian, shifted_gaussian
from tests.oracles.shifted import power_and_beta

LAWS = [
    (0.0, 0.3, 60),
    (0.0, 4.0, 60),
    (0.3, 50.0, 60),
    (1.0, 0.5, 60),
    (0.5, 0.7, 60),
    (1e-8, 1.0 + 1e-6, 60),
    (2.0, 1.0 - 1e-6, 60),
    (2.0, 1.0 + 1e-12, 75),
    (1.5, 1.0 - 1e-12, 75),
    (10.0, 0.01, 60),
    (40.0, 1.5, 60),
]


@pytest.mark.parametrize(("shift", "scale", "digits"), LAWS)
def test_power_and_beta_in_many_digits(shift: float, scale: float, digits: int) -> None:
    f = shifted_gaussian(-shift, scale)
    for alpha in (1e-30, 1e-8, 0.03, 0.49, 0.6, 1 - 1e-9):
        power, beta = power_and_beta(alpha, shift, scale, digits)
        assert abs(f.power(alpha) - power) < 1e-12 * power + 1e-300, alpha
        assert abs(f(alpha) - beta) < 1e-12 * beta + 1e-300, alpha


def test_far_beyond_the_doubles() -> None:
    """An interval about z0 shrinks in both laws alike; far out a tail is one of the normal law."""
    f = shifted_gaussian(1.0, 0.5)
    top = f.epsilon(0.0, direction="forward")
    assert top == pytest.approx(math.log(2.0) + 1.0 / 1.5, rel=1e-14)
    assert f.log_power(-1e6) == pytest.approx(-1e6 + top, rel=1e-15)
    assert f.log_power(-1e300) == -1e300
    wide = shifted_gaussian(0.0, 2.0).log_power(-1e6)
    z = stats.norm.isf(0.5 * 1e-300)  # for the form of the tail
    assert wide == pytest.approx(-0.25e6, rel=1e-4)
    assert shifted_gaussian(0.0, 2.0).power(1e-300) == pytest.approx(2 * stats.norm.sf(z / 2))


def test_it_is_the_gaussian_curve_at_equal_spreads() -> None:
    alpha = np.array([0.0, 1e-12, 0.01, 0.5, 1.0])
    both = shifted_gaussian([-1.0, 2.0], [1.0, 3.0])
    assert both.power(alpha)[0].tobytes() == gaussian(1.0).power(alpha).tobytes()
    near = shifted_gaussian(1.0, 1.0 + 1e-14)
    np.testing.assert_allclose(near.power(alpha), gaussian(1.0).power(alpha), rtol=1e-12)
    assert near.auc() == pytest.approx(gaussian(1.0).auc(), rel=1e-13)


def test_it_is_the_squared_score_at_equal_means() -> None:
    """abs(z) of N(0, 1) against N(0, r^2): a scaled chi-square, and no trend of z itself."""
    alpha = np.array([1e-10, 1e-3, 0.2, 0.9])
    z = stats.norm.isf(alpha / 2)
    np.testing.assert_allclose(
        shifted_gaussian(0.0, 2.5).power(alpha), 2 * stats.norm.sf(z / 2.5), rtol=1e-12
    )
    low = stats.norm.isf((1 - alpha) / 2)
    np.testing.assert_allclose(
        shifted_gaussian(0.0, 0.4).power(alpha), 2 * stats.norm.cdf(low / 0.4) - 1, rtol=1e-6
    )


@pytest.mark.parametrize(("shift", "scale"), [(1.0, 0.6), (1.5, 1.7), (0.4, 1.0001)])
def test_no_one_sided_or_two_sided_test_does_better(shift: float, scale: float) -> None:
    f = shifted_gaussian(shift, scale)
    law = stats.norm(shift, scale)
    for alpha in (1e-4, 0.05, 0.4):
        best = max(law.sf(stats.norm.isf(alpha)), law.cdf(stats.norm.ppf(alpha)))
        two_sided = law.sf(stats.norm.isf(alpha / 2)) + law.cdf(stats.norm.ppf(alpha / 2))
        assert f.power(alpha) >= max(best, two_sided) * (1 - 1e-12)
    assert (f.power([0.05]) >= relaxed_gaussian(shift).power([0.05]) * (scale > 1)).all()


@pytest.mark.parametrize(
    ("shift", "scale", "epsilon"),
    [
        (1.0, 0.5, 0.3),
        (1.0, 2.0, 0.3),
        (3.0, 1.0001, 2.0),
        (0.5, 1.2, -0.7),
        (1e-6, 1 + 1e-6, 0.0),
        (1e-6, 1 - 1e-6, 1e-7),
    ],
)
def test_hockey_sticks_by_a_plain_sum(shift: float, scale: float, epsilon: float) -> None:
    z, step = np.linspace(-25.0, 25.0, 1_000_001, retstep=True)
    ratio = -math.log(scale) - (z - shift) ** 2 / (2 * scale**2) + z**2 / 2
    excess = np.maximum(np.expm1(np.minimum(ratio - epsilon, 500.0)), 0.0)
    delta = float((stats.norm.pdf(z) * math.exp(epsilon) * excess).sum() * step)
    f = shifted_gaussian(shift, scale)
    assert f.delta(epsilon, "forward") == pytest.approx(delta, rel=1e-8)
    if epsilon > 0:
        found = f.epsilon(f.delta(epsilon, "forward"), "forward")
        assert found == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(("shift", "scale"), [(1.0, 0.5), (0.0, 3.0), (2.0, 1.0001), (3.0, 1e-4)])
def test_areas_are_integrals_of_the_curves(shift: float, scale: float) -> None:
    nodes, weights = np.polynomial.legendre.leggauss(400)
    u = (1 + nodes) / 2
    alpha, weights = u**2 * (3 - 2 * u), 3 * weights * u * (1 - u)
    f = shifted_gaussian(shift, scale)
    assert f.auc() == pytest.approx(float(weights @ f.power(alpha)), abs=1e-9)
    hull = f.symmetrized()
    assert hull.auc() == pytest.approx(float(weights @ hull.power(alpha)), abs=2e-7)
    assert f.advantage() >= (f.power(alpha) - alpha).max() > f.advantage() - 1e-3


def test_the_wider_law_has_the_larger_delta() -> None:
    """On which `symmetrized` rests: forward at a scale above 1, at every epsilon."""
    rng = np.random.default_rng(0)
    shift = np.concatenate([[0.0], 10 ** rng.uniform(-6, 1.3, 100)])
    f = shifted_gaussian(shift, 1 + 10 ** rng.uniform(-8, 1.5, shift.size))
    epsilon = 10 ** np.linspace(-8, 2, 40)
    forward, reverse = f.delta(epsilon, "forward"), f.delta(epsilon, "reverse")
    assert (reverse <= forward * (1 + 1e-12) + 1e-300).all()
    hull = f.symmetrized()
    alpha = np.array([1e-6, 0.01, 0.3, 0.8])
    lower = np.minimum(f(alpha), f.inverse()(alpha))
    assert (hull(alpha) <= lower + 1e-14).all()
    np.testing.assert_allclose(hull.delta(epsilon), forward, rtol=1e-12)


def test_the_inverse_swaps_the_laws() -> None:
    f = shifted_gaussian(1.3, [0.7, 2.0])
    alpha = np.array([1e-5, 0.1, 0.5, 0.95])
    beta = f(alpha)
    for i in range(2):
        np.testing.assert_allclose(f.inverse()(beta[i])[i], alpha, rtol=1e-10)


def test_extreme_laws_and_ends() -> None:
    f = shifted_gaussian([1e50, 0.0, 0.0], [1e-50, 1e50, 1e-50])
    np.testing.assert_array_equal(f.power([0.0, 1.0]), [[0.0, 1.0]] * 3)
    np.testing.assert_array_equal(f.delta([-np.inf, np.inf]), [[1.0, 0.0]] * 3)
    assert np.isinf(f.epsilon(0.0)).all()
    steep = shifted_gaussian(1e5, 7.0)  # slope -1 is at an alpha of no double
    assert steep.symmetrized().log_power(-1e10) == steep.log_power(-1e10)
    z = stats.norm.isf(0.5e-5) * 1e50
    assert f.epsilon(1e-5)[1] == pytest.approx(z * z / 2, rel=1e-9)
    assert shifted_gaussian([], 2.0).power(0.1).shape == (0,)
    with pytest.raises(ValueError, match=r"scale=0\.0"):
        shifted_gaussian(1.0, 0.0)


def test_log_powers_next_to_0() -> None:
    """Where nearly all are accused: minus beta, at equal means 2 Phi(z/r) - 1."""
    for scale, log_alpha in ((1e3, -0.5), (1e20, -600.0), (1.5, -1e-9)):
        with mp.workdps(60):
            z = mp.findroot(
                lambda z, aim=log_alpha: mp.log(mp.erfc(z / mp.sqrt(2))) - aim,
                float(stats.norm.isf(0.5 * math.exp(log_alpha))) or 1e-9,
            )
            exact = float(mp.log1p(-mp.erf(z / scale / mp.sqrt(2))))
        assert shifted_gaussian(0.0, scale).log_power(log_alpha) == pytest.approx(exact, rel=1e-11)
