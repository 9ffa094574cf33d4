"""Gaussian curves at their ends, the mean of many records far out, and mistaken targets."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import pytest

from leakscore.tradeoff import gaussian, gaussian_mean, misspecified


def test_a_test_that_flags_nobody() -> None:
    """At alpha = 0 the ratio of power to alpha is the largest of the likelihood ratio."""
    f = gaussian([0.0, 1e-300, 2.0, math.inf])
    assert f.ppv(0.0, 0.3).tolist() == [0.3, 1.0, 1.0, 1.0]
    assert f.epsilon(0.0).tolist() == [0.0, math.inf, math.inf, math.inf]


def test_mu_and_its_square() -> None:
    for f in (gaussian(3.0), gaussian(leakage=9.0)):
        assert (f.mu, f.leakage) == (3.0, 9.0)
    with pytest.raises(TypeError, match="exactly one"):
        gaussian()
    with pytest.raises(TypeError, match="exactly one"):
        gaussian(1.0, leakage=1.0)
    assert gaussian(1e200).leakage == math.inf
    assert gaussian(1e-200).leakage == 0.0


def test_mistaken_targets() -> None:
    f = misspecified([4.0, 0.0, 0.25], [-2.0, 0.0, 3.0])
    assert f.mu.tolist() == [1.0, 0.0, 6.0]
    assert f.leakage.tolist() == [1.0, 0.0, 36.0]
    assert (f.kind, f.adversary) == ("attack", "misspecified")
    for bad in (-1.0, [2.0, 0.0, 5.0]):
        with pytest.raises(ValueError, match=r"m_scal=(-1|2)\.0 must be 0 where m_targ is"):
            misspecified(0.0, bad)
    with pytest.raises(ValueError, match=r"m_scal=5\.0 must be 0"):
        misspecified([1.0, 0.0], [2.0, 5.0])


def test_ranges_of_counts() -> None:
    for n, dim in ((1, 3), (20, 0)):
        with pytest.raises(ValueError, match="must be"):
            gaussian_mean(1.0, n, dim)
    assert gaussian_mean(1.0, 2, 1).power(1.0) == 1.0


def length_rates(cut: Any, n: Any, m: Any) -> tuple[Any, Any, Any]:
    """Return alpha, power and beta of the test that accuses sqrt(S) below its mean less `cut`."""
    shrunk = mp.sqrt((n - 1) / n)
    moved = (mp.sqrt(n * m) - cut) / shrunk - mp.sqrt((n - 1) * m)
    return mp.ncdf(-cut), mp.ncdf(moved), mp.ncdf(-moved)


@pytest.mark.parametrize(("distance", "ratio"), [(4e31, 1e16), (1e45, 1e30), (1e-20, 1e66)])
def test_the_mean_of_more_records_than_distance(distance: float, ratio: float) -> None:
    """n M beyond 2^200, but M/n of any size: the normal laws of sqrt(S), in 150 digits."""
    with mp.workdps(150):
        n, m = mp.mpf(float(1e15 * (1.0 + ratio))), mp.mpf(distance)
        f = gaussian_mean(distance, 10**15, 7, noise_ratio=ratio)
        shift = float(mp.sqrt(m / n))
        assert f.neighbours == "replace"
        for cut in (-1.0, 0.5, 3.0, 20.0):
            alpha, power, beta = length_rates(mp.mpf(cut), n, m)
            assert f.power(float(alpha)) == pytest.approx(float(power), rel=1e-12)
            assert f(float(alpha)) == pytest.approx(float(beta), rel=1e-12)
            assert f.log_power(float(mp.log(alpha))) == pytest.approx(
                float(mp.log(power)), rel=1e-12
            )
            back = f.inverse().power(float(beta))
            assert back == pytest.approx(float(1 - alpha), rel=1e-12)
            assert f.inverse()(float(beta)) == pytest.approx(float(alpha), rel=1e-11)
        for curve, other in ((f, gaussian(shift)), (f.symmetrized(), gaussian(shift))):
            assert curve.advantage() == other.advantage()
            assert curve.auc() == other.auc()
            for direction in ("forward", "reverse"):
                assert curve.delta(0.3, direction) == other.delta(0.3)
                assert curve.epsilon(1e-9, direction) == other.epsilon(1e-9)
        assert f.epsilon(0.0) == f.epsilon(0.0, "forward") == math.inf
        assert f.delta(math.inf, "reverse") == 0.0
        assert f.delta(-math.inf) == 1.0


@pytest.mark.parametrize("mu", [1e3, 1e5])
def test_delta_where_epsilon_is_near_half_the_square_of_mu(mu: float) -> None:
    """There epsilon / mu and mu / 2 cancel: the rest is more than an ulp of their difference."""
    for a in (-3.0, -0.0684, -1e-3, 0.067, 1.073, 5.0):
        epsilon = mu * (a + mu / 2)
        with mp.workdps(60):
            true_a = mp.mpf(epsilon) / mu - mp.mpf(mu) / 2
            beyond = true_a + mu
            upper = [mp.erfc(true_a / mp.sqrt(2)) / 2, mp.erfc(beyond / mp.sqrt(2)) / 2]
            true = upper[0] - mp.exp(epsilon) * upper[1]
            assert abs(gaussian(mu).delta(epsilon) / true - 1) < 1e-15, a
