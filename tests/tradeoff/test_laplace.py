"""The Laplace mechanism's curves, informed and relaxed: high precision, errata, attacks."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from leakscore.tradeoff import laplace, relaxed_laplace
from tests.oracles import relaxed as oracle

MUS = [1e-8, 1e-3, 0.3, 0.6, 1.5, 5.0, 40.0, 300.0]
ALPHAS = [1e-300, 1e-100, 1e-20, 1e-5, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-9]
CURVES = {
    "informed": (laplace, oracle.laplace),
    "relaxed": (relaxed_laplace, oracle.relaxed_laplace),
    "inverse": (lambda mu: relaxed_laplace(mu).inverse(), oracle.relaxed_laplace_inverse),
}


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("name", CURVES)
def test_beta_and_power(name: str, mu: float) -> None:
    make, exact = CURVES[name]
    f = make(mu)
    with mpmath.workdps(420):
        for alpha in ALPHAS:
            beta = exact(alpha, mu)
            assert abs(f(alpha) / beta - 1) < 1e-13, alpha
            assert abs(f.power(alpha) / (1 - beta) - 1) < 1e-13, alpha
            log_alpha = math.log(alpha)
            beta = exact(mpmath.exp(log_alpha), mu)
            assert abs(f.log_power(log_alpha) / mpmath.log1p(-beta) - 1) < 1e-13, alpha


@pytest.mark.parametrize("mu", [1e-8, 1e-5, 1e-3, 0.1])
def test_the_end_of_the_line(mu: float) -> None:
    """1 - alpha cosh(mu) up to alpha = e^-mu, where it is as small as mu."""
    f = relaxed_laplace(mu)
    for alpha in (math.exp(-mu), math.exp(-mu) * (1 - 1e-12), math.exp(-2 * mu), 1 - 0.5 * mu):
        with mpmath.workdps(40):
            beta = oracle.relaxed_laplace(alpha, mu)
            assert abs(f(alpha) / beta - 1) < 1e-15, alpha
            assert abs(f.power(alpha) / (1 - beta) - 1) < 1e-15, alpha


def test_beyond_the_doubles() -> None:
    """At e^-1e6 both curves are lines; at mu = 750 and 1200 e^mu has no double."""
    assert laplace(3.0).log_power(-1e6) == 3.0 - 1e6
    assert relaxed_laplace(3.0).log_power(-1e6) == pytest.approx(math.log(math.cosh(3)) - 1e6)
    assert relaxed_laplace(3.0).inverse().log_power(-1e6) == 3.0 - 1e6
    with mpmath.workdps(600):
        for name, (make, exact) in CURVES.items():
            for mu in (750.0, 1200.0):
                beta = exact(1e-250, mu)
                assert abs(make(mu)(1e-250) - beta) <= 2e-13 * beta, name


def test_published_values() -> None:
    """At alpha = .1 for mu = .6 and 1.5: figure 1."""
    f = relaxed_laplace([0.6, 1.5])
    assert f(0.1) == pytest.approx([0.881453, 0.764759], abs=6e-7)
    assert f.inverse()(0.1) == pytest.approx([0.834253, 0.647667], abs=6e-7)
    assert f.symmetrized()(0.1) == pytest.approx([0.834253, 0.647667], abs=6e-7)
    assert laplace([0.6, 1.5])(0.1) == pytest.approx([0.817788, 0.551831], abs=6e-7)
    single = relaxed_laplace(1.0).subsample(0.3)
    assert single(0.1) == pytest.approx(0.883708, abs=6e-7)
    assert single.inverse()(0.1) == pytest.approx(0.877758, abs=6e-7)
    assert single.symmetrized()(0.1) == pytest.approx(0.877758, abs=6e-7)


@pytest.mark.parametrize(("mu", "gap"), [(0.6, 0.0168), (1.5, 0.0066)])
def test_the_threshold_of_the_inverse(mu: float, gap: float) -> None:
    """Equation 3 with e^(-2 mu); the printed e^-mu misses by up to .0168 (mu = .6) and .0066."""
    f = relaxed_laplace(mu)
    alpha = np.linspace(0.001, 1, 1000)
    np.testing.assert_allclose(f.inverse()(f(alpha)), alpha, rtol=1e-12)
    beta = f(alpha)
    curved = 1 / (beta * np.exp(mu) + np.sqrt(beta**2 * np.exp(2 * mu) + 1))
    printed = np.where(beta < 0.5 - 0.5 * np.exp(-mu), curved, (1 - beta) / np.cosh(mu))
    assert np.abs(printed - alpha).max() == pytest.approx(gap, abs=1e-4)


@given(st.floats(-18, 5).map(math.exp), st.floats(-1.5, 1.5))
@settings(max_examples=150, deadline=None)
def test_hockey_sticks_are_those_of_the_curve(mu: float, share: float) -> None:
    epsilon = share * mu
    alpha = np.concatenate([np.geomspace(1e-300, 1, 4000), np.linspace(0.0, 1, 2001)])
    for f in (laplace(mu), relaxed_laplace(mu)):
        for curve in (f, f.inverse(), f.symmetrized()):
            delta = float(curve.delta(epsilon, "forward"))
            with np.errstate(over="ignore"):
                reached = (curve.power(alpha) - math.exp(epsilon) * alpha).max()
            assert reached <= delta + 1e-15
            assert delta - reached < 2e-3
            assert delta >= -math.expm1(epsilon) * (1 - 1e-13)
            if 0 < delta < curve.advantage():
                back = curve.epsilon(delta, "forward")
                again = curve.delta(back, "forward")
                assert again == pytest.approx(delta, rel=1e-9, abs=4e-16 * mu * mu)
        assert f.delta(0.0) == pytest.approx(f.advantage(), rel=1e-14)
    assert relaxed_laplace(mu).epsilon(0.0) == laplace(mu).epsilon(0.0) == mu


@given(st.floats(-18, 3.6).map(math.exp))
@settings(max_examples=80, deadline=None)
def test_they_are_trade_offs(mu: float) -> None:
    alpha = np.concatenate([np.geomspace(1e-12, 0.1, 50)[:-1], np.linspace(0.1, 1, 90)])
    f = relaxed_laplace(mu)
    for curve in (laplace(mu), f, f.inverse(), f.symmetrized()):
        beta = curve(alpha)
        assert (curve(0.0), curve(1.0)) == (1, 0)
        assert (beta <= 1 - alpha + 1e-15).all()
        assert (beta >= laplace(mu)(alpha) - 1e-15).all()
        chords = np.diff(beta) / np.diff(alpha)
        noise = 1e-14 * np.abs(chords) + 4e-16 / np.diff(alpha)
        assert (np.diff(chords) >= -(noise[1:] + noise[:-1])).all()
    hull = np.minimum(f(alpha), f.inverse()(alpha))
    assert (f.symmetrized()(alpha) <= hull + 1e-15).all()


@pytest.mark.parametrize("mu", [1e-3, 0.6, 1.5, 6.0])
def test_areas(mu: float) -> None:
    alpha = np.concatenate([[0.0], np.geomspace(1e-12, 1, 400_001)])
    f = relaxed_laplace(mu)
    for curve in (laplace(mu), f, f.inverse(), f.symmetrized()):
        assert curve.auc() == pytest.approx(trapezoid(curve.power(alpha), alpha), abs=1e-8)


def test_no_attack_crosses_below() -> None:
    """The magnitude attains the curve of one unknown sign; other scores stay above."""
    rng, rounds, mu = np.random.default_rng(5), 200_000, 1.0
    outside = rng.laplace(size=rounds)
    inside = rng.laplace(size=rounds) + mu * rng.choice([-1.0, 1.0], rounds)
    f = relaxed_laplace(mu)
    for score, attained in (
        (np.abs, True),
        (lambda x: x, False),
        (lambda x: -np.abs(np.abs(x) - mu), False),
    ):
        cuts = np.quantile(score(outside), [0.99, 0.9, 0.5])
        alpha = [(score(outside) > cut).mean() for cut in cuts]
        beta = np.array([(score(inside) <= cut).mean() for cut in cuts])
        assert (beta > f(alpha) - 4 / math.sqrt(rounds)).all()
        if attained:
            assert (beta < f(alpha) + 4 / math.sqrt(rounds)).all()


def test_ends() -> None:
    ends = [0.0, math.inf]
    for curve in (laplace(ends), relaxed_laplace(ends), relaxed_laplace(ends).inverse()):
        assert curve([0.0, 0.25, 1.0]).tolist() == [[1, 0.75, 0], [0, 0, 0]]
        assert curve.advantage().tolist() == [0, 1]
        assert curve.auc().tolist() == [0.5, 1]
        assert curve.epsilon([0.0, 0.5, 1.0]).tolist() == [[0, 0, 0], [math.inf, math.inf, 0]]
        assert curve.delta([-math.inf, 0.0, math.inf]).tolist() == [[1, 0, 0], [1, 1, 1]]
        assert curve.log_power([-math.inf, 0.0]).tolist() == [[-math.inf, 0], [0, 0]]
        assert curve.ppv(0.0, 0.25).tolist() == [0.25, 1]
