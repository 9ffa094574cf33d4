"""Tails far beyond underflow, and the prior of _laws."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from leakscore import shadow
from leakscore.shadow import _laws
from tests.oracles import shadow as oracle

pytestmark = pytest.mark.usefixtures("digits")

DEVIATIONS = np.array([-1e100, -40.0, -3.0, -1.7, 0.0, 0.5, 1.2, 1.7, 1.8, 3.0, 9.0, 60.0, 1e5])


def t_tail(z: float, nu: float) -> mp.mpf:
    """Log upper tail, by a convergent series of the incomplete beta function in many digits."""
    with mp.workdps(60):
        n, x = mp.mpf(nu), mp.mpf(z)
        a, y = n / 2, n / (n + x * x)
        if x * x > n:  # y < 1/2
            series = mp.hyp2f1(a + mp.mpf(1) / 2, 1, a + 1, y)
            log_half = (
                a * mp.log(y) + mp.log1p(-y) / 2 - mp.log(a) - mp.log(mp.beta(a, mp.mpf(1) / 2))
            ) + mp.log(series / 2)
        else:
            centre = mp.betainc(mp.mpf(1) / 2, a, 0, 1 - y, regularized=True)
            log_half = mp.log((1 - centre) / 2)
        return log_half if z > 0 else mp.log1p(-mp.exp(log_half))


def log_tail(z: np.ndarray, nu: float) -> np.ndarray:
    """Less the score of records that every model has: OUT is known by its prior alone."""
    known = shadow.Prior(0.0, 1e300, nu, 1.0)
    every = np.ones((1, z.size))
    return -shadow.bayes(z, 0.0 * every, every, kind="offline", prior=(known, known))


@pytest.mark.parametrize("nu", [0.05, 0.7, 1.0, 2.5, 7.0, 31.0, 33.0, 200.0, 4e3, 1e5])
def test_student(nu: float) -> None:
    found = log_tail(DEVIATIONS, nu)
    for z, value in zip(DEVIATIONS, found, strict=True):
        expected = t_tail(float(z), nu)
        assert abs(value - expected) <= 4e-12 * max(1, abs(expected)), (z, nu)
    np.testing.assert_allclose(found[2:-3], stats.t.logsf(DEVIATIONS[2:-3], nu), rtol=1e-8)


@pytest.mark.parametrize("nu", [1e8, 1e17])
def test_many_degrees_of_freedom_are_nearly_normal(nu: float) -> None:
    """The first terms of the expansion about the normal law (Abramowitz & Stegun 26.7.8)."""
    z = np.linspace(-3, 8, 45)
    found = log_tail(z, nu)
    with mp.workdps(40):
        for value, x in zip(found, map(mp.mpf, z), strict=True):
            density = mp.npdf(x)
            first = density * x * (x**2 + 1) / 4 / nu
            second = density * x * (3 * x**6 - 7 * x**4 - 5 * x**2 - 3) / 96 / mp.mpf(nu) ** 2
            tail = mp.erfc(x / mp.sqrt(2)) / 2 + first + second
            assert abs(value - mp.log(tail)) <= 4e-12 * max(1, abs(mp.log(tail)))


def test_tails_increase_up_to_huge_deviations() -> None:
    z = np.concatenate([-np.geomspace(1e150, 1e-3, 400), np.geomspace(1e-3, 1e150, 400)])
    for nu in (0.5, 3.0, 100.0, np.inf):
        tail = log_tail(z, nu)
        assert np.isfinite(tail).all()
        assert (np.diff(tail) <= 0).all()
        assert (np.diff(tail[400:]) < 0).all()


def test_offline_scores_far_out() -> None:
    signals = np.array([[0.0], [1.0], [2.0], [5.0]])
    included = np.array([[0], [0], [0], [1]])
    for x in (-1e6, -30.0, 0.0, 1.0, 7.0, 39.0, 1e4, 1e150):
        found = shadow.lira([x], signals, included, kind="offline")
        expected = oracle.lira([x], signals, included, "offline")
        assert abs(found[0] - expected[0]) <= 4e-12 * max(1, abs(expected[0]))
    known = shadow.Prior(0.0, 0.0, 0.5, 1.0)
    for x in (1e3, 1e80, 1e150):
        found = shadow.bayes([x], signals, included, kind="offline", prior=(known, known))
        scale2 = (1 + 1 / 3) * (0.5 + 2.0) / 2.5
        expected = [-t_tail((x - 1.0) / float(np.sqrt(scale2)), 2.5)]
        assert abs(found[0] - expected[0]) <= 4e-11 * max(1, abs(expected[0]))


def test_observed_signals_whose_squares_overflow() -> None:
    rng = np.random.default_rng(4)
    signals, included = rng.normal(size=(8, 6)), np.indices((8, 6)).sum(axis=0) % 2
    known = shadow.Prior(0.0, 0.0, 0.5, 1.0)
    for x in (1e160, 1e300):
        observed = np.where(np.arange(6) == 2, x, 0.5)
        with pytest.raises(ValueError, match=r"1 of 6 scores overflow.* at record 2"):
            shadow.lira(observed, signals, included)
        for found in (
            shadow.bayes(observed, signals, included, prior=(known, known)),
            shadow.bayes(observed, signals, included, prior=(known, known), kind="offline"),
        ):
            assert np.isfinite(found).all()
        tail = float(log_tail(np.array([x]), 2.5)[0])
        assert abs(tail - t_tail(x, 2.5)) <= 4e-12 * abs(tail)


@pytest.mark.parametrize("value", [1e-12, 1e-3, 0.3, 1.0, 40.0, 1e7, 1e14])
def test_inverse_trigamma(value: float) -> None:
    y = _laws.inverse_trigamma(value)
    assert mp.psi(1, y) == pytest.approx(value, rel=1e-12)


def test_the_prior_finds_the_law_that_variances_were_drawn_from() -> None:
    rng = np.random.default_rng(0)
    dof, scale, size = 6.0, 2.5, 200_000
    variance = dof * scale / rng.chisquare(dof, size)
    estimates = variance * rng.chisquare(4, size) / 4
    found = _laws.from_variances(estimates, np.full(size, 4.0))
    assert float(found.dof) == pytest.approx(dof, rel=0.03)
    assert float(found.variance) == pytest.approx(scale, rel=0.02)


def test_tails_of_very_many_records_at_once() -> None:
    """Steps of the fraction are 1 to the last digits for each, though not for all in one turn."""
    z = 1.8 + np.random.default_rng(0).gamma(2.0, size=200_000)
    together = log_tail(z, 7119.3)
    np.testing.assert_allclose(together[:20], log_tail(z[:20], 7119.3), rtol=1e-14)
    np.testing.assert_allclose(together[:20], stats.t.logsf(z[:20], 7119.3), rtol=1e-8)
