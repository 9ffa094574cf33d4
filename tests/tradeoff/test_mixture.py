"""The sub-sampled mean: mixtures at 60 digits, suprema, tables; and misspecified targets."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from leakscore.tradeoff import gaussian, laplace, misspecified, subsampled_mean

RATES = [1e-9, 0.1, 0.5, 0.97]
LEAKAGES = [1e-6, 0.4, 8.883, 60.0]
each_curve = pytest.mark.parametrize("rate", RATES)
each_leakage = pytest.mark.parametrize("leakage", LEAKAGES)


def laws(leakage: float, rate: float, t: mpf) -> tuple[mpf, mpf]:
    """Upper tails at t of H0 and of the mixture."""
    mu = mpmath.sqrt(mpf(leakage) / mpf(rate))
    none, there = mpmath.ncdf(-t), mpmath.ncdf(mu - t)
    return none, (1 - mpf(rate)) * none + mpf(rate) * there


def lower(leakage: float, rate: float, t: mpf) -> tuple[mpf, mpf]:
    mu = mpmath.sqrt(mpf(leakage) / mpf(rate))
    none, there = mpmath.ncdf(t), mpmath.ncdf(t - mu)
    return none, (1 - mpf(rate)) * none + mpf(rate) * there


@each_curve
@each_leakage
def test_both_error_rates_of_a_threshold(leakage: float, rate: float) -> None:
    """At thresholds from tail to tail, forward and reverse; log rates beyond all doubles."""
    f = subsampled_mean(leakage, rate)
    g = f.inverse()
    with mpmath.workdps(60):
        mu = float(mpmath.sqrt(mpf(leakage) / mpf(rate)))
        for t in (-30.0, -6.0, -1.0, 0.2, mu / 2, mu, 3.0, 20.0):
            if t > 30 or abs(t - mu) > 36:
                continue
            # Power is concave in alpha, so the rounding of alpha is not magnified.
            alpha, power = laws(leakage, rate, mpf(t))
            if alpha > 1e-290:
                assert f.power(float(alpha)) == pytest.approx(float(power), rel=2e-13)
            kept, share = lower(leakage, rate, mpf(t))  # 1 - alpha and beta
            if share > 1e-290:
                assert g.power(float(share)) == pytest.approx(float(kept), rel=2e-13)
                known = float(mpmath.log(share))
                slack = 1e-14 * max(1.0, -known)
                assert abs(g.log_power(known) - float(mpmath.log(kept))) < slack


def test_log_power_in_extreme_tails() -> None:
    f = subsampled_mean(8.883, 0.1)
    with mpmath.workdps(60):
        for log_alpha in (-1e6, -2000.0, -1e-20):
            full = mpf(float(gaussian(leakage=88.83).log_power(log_alpha)))
            mixed = mpf("0.9") * mpmath.exp(log_alpha) + mpf("0.1") * mpmath.exp(full)
            assert float(f.log_power(log_alpha)) == pytest.approx(float(mpmath.log(mixed)), 1e-12)
    # In reverse nearly all of a small alpha is H0's own: power = alpha / (1 - rate).
    value = f.inverse().log_power(-5000.0)
    assert value == pytest.approx(-5000 - np.log1p(-0.1), rel=1e-12)


@each_curve
@each_leakage
def test_profiles_are_suprema_over_thresholds(leakage: float, rate: float) -> None:
    f = subsampled_mean(leakage, rate)
    with mpmath.workdps(60):
        mu = mpmath.sqrt(mpf(leakage) / mpf(rate))
        for epsilon in (-3.0, -0.05, 0.0, 1e-6, 0.05, 0.8, 4.0):
            weight = mpmath.exp(epsilon)
            # Likelihood ratio (1 - rate) + rate exp(mu t - mu^2/2) = e^epsilon, or its inverse.
            for direction, level in (("forward", weight), ("reverse", 1 / weight)):
                inside = (level - 1 + mpf(rate)) / mpf(rate)
                if inside > 0:
                    t = mpmath.log(inside) / mu + mu / 2
                    alpha, power = laws(leakage, rate, t)
                    kept, share = lower(leakage, rate, t)
                    truth = (
                        power - weight * alpha if direction == "forward" else kept - weight * share
                    )
                else:
                    truth = 1 - weight if direction == "forward" else mpf(0)
                # The shifted epsilon is rounded, which the hazard of the tail magnifies.
                assert float(f.delta(epsilon, direction)) == pytest.approx(
                    float(truth), rel=2e-12, abs=1e-290
                )


@each_curve
@each_leakage
@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
def test_epsilon_inverts_delta(leakage: float, rate: float, direction: str) -> None:
    f = subsampled_mean(leakage, rate)
    advantage = float(f.advantage())
    for share in (1e-8, 1e-3, 0.3, 0.99):
        epsilon = f.epsilon(share * advantage, direction)
        spread = 2e-15 * max(abs(epsilon), 1e-16)
        low, high = f.delta(epsilon + spread, direction), f.delta(epsilon - spread, direction)
        assert low * (1 - 1e-10) <= share * advantage <= high * (1 + 1e-10)
    assert f.epsilon(advantage * (1 + 1e-12), direction) == 0
    assert f.epsilon(0.0, "reverse") == -np.log1p(-rate)
    assert f.epsilon(0.0, "forward") == np.inf


def test_table_of_exact_advantages_and_powers() -> None:
    """Exact values that simulations agree with; the claim rate * m exceeds even the rate itself."""
    leakage = np.array([8.883, 5.001, 3.103])
    for rate, advantage, power in (
        (0.1, [0.1, 0.1, 0.0995], [0.19, 0.19, 0.19]),
        (0.5, [0.4825, 0.4431, 0.3935], [0.5492, 0.535, 0.4934]),
        (0.9, [0.7954, 0.6853, 0.5821], [0.8817, 0.7831, 0.6557]),
    ):
        f = subsampled_mean(leakage, rate)
        np.testing.assert_allclose(f.advantage(), advantage, atol=6e-5)
        np.testing.assert_allclose(f.power(0.1), power, atol=6e-5)
    claimed = gaussian(leakage=0.1 * 8.883)
    assert claimed.advantage() > 3.6 * 0.1
    assert claimed.power(0.01) < 0.084 < 0.108 < subsampled_mean(8.883, 0.1).power(0.01)


@pytest.mark.parametrize("rate", [0.1, 0.6, 1.0])
def test_hull_areas_and_limits(rate: float) -> None:
    f = subsampled_mean(4.0, rate)
    g, hull, alpha = f.inverse(), f.symmetrized(), np.linspace(0, 1, 20_001)
    assert (hull(alpha) <= np.minimum(f(alpha), g(alpha)) + 1e-15).all()
    assert np.diff(hull(alpha), 2).min() > -1e-15
    np.testing.assert_allclose(hull(hull(alpha[1:-1])), alpha[1:-1], rtol=1e-9)
    for curve in (f, g, hull):
        area = ((curve.power(alpha)[1:] + curve.power(alpha)[:-1]) / 2 * np.diff(alpha)).sum()
        assert curve.auc() == pytest.approx(area, abs=5e-5)
        np.testing.assert_allclose(curve.power(alpha) + curve(alpha), 1, rtol=1e-14)
    for epsilon in (-2.0, -0.1, 0.0, 0.3, 1.5):
        assert (
            hull.delta(epsilon)
            == f.delta(epsilon)
            == max(f.delta(epsilon, "forward"), f.delta(epsilon, "reverse"))
        )
    if rate == 1.0:
        same = gaussian(leakage=4.0)
        np.testing.assert_allclose(f(alpha), same(alpha), rtol=1e-13)
        np.testing.assert_allclose(g(alpha), same(alpha), rtol=1e-12)
        np.testing.assert_allclose(f.epsilon([1e-9, 0.1], "reverse"), same.epsilon([1e-9, 0.1]))
    else:
        assert g.ppv(0.0, 0.5) == pytest.approx(1 / (2 - rate))


def test_misspecified() -> None:
    f = misspecified([4.0, 4.0, 0.0], [2.0, -2.0, 0.0])
    np.testing.assert_allclose(f.advantage(), [0.38292492, 0.38292492, 0], atol=1e-8)
    np.testing.assert_array_equal(f.power(0.05), gaussian([1.0, 1.0, 0.0]).power(0.05))
    assert (f.kind, f.adversary, f.inverse() is f) == ("attack", "misspecified", True)
    for own, shared, name in ((-1.0, 0.0, "m_targ"), (0.0, 1.0, "m_scal"), (1.0, np.inf, "m_scal")):
        with pytest.raises(ValueError, match=name):
            misspecified(own, shared)


@pytest.mark.parametrize("rate", [1e-9, 0.3, 0.97])
def test_a_mixture_of_laplace_laws_inverted_ends_in_straight_lines(rate: float) -> None:
    """Where few are accused, the ratio of both laws is at one end of its range; so at the other."""
    mu = 1.5
    inverse = laplace(mu).subsample(rate).inverse()
    least, most = (1.0 - rate) + rate * np.exp(-mu), (1.0 - rate) + rate * np.exp(mu)
    for log_alpha in (-700.0, -60.0, -5.0):
        assert inverse.log_power(log_alpha) == pytest.approx(log_alpha - np.log(least), rel=1e-14)
    for gap in (2.0**-45, 2.0**-20):
        assert inverse(1.0 - gap) == pytest.approx(gap / most, rel=1e-13)


@pytest.mark.parametrize(("largest", "rate"), [(702.0, 1e-305), (701.0, 5e-305), (800.0, 1e-300)])
def test_a_rate_that_undoes_a_huge_ratio(largest: float, rate: float) -> None:
    with mpmath.workdps(50):
        exact = mpmath.log(1 - mpf(rate) + mpf(rate) * mpmath.exp(mpf(largest)))
    epsilon = laplace(largest).subsample(rate).epsilon(0.0, "forward")
    assert epsilon == pytest.approx(float(exact), rel=1e-12)
