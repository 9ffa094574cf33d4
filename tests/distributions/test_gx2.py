"""The generalised chi-square law against ball arithmetic, Ruben's series and closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
from mpmath import mp, mpf

from leakscore.distributions import chi2, gx2, ncx2, norm
from tests.helpers.gx2_points import LAWS, TRUE, moments, points
from tests.oracles import gx2 as oracle

pytestmark = pytest.mark.usefixtures("digits")

TARGET = 1e-12
TINY = 1e-300


def error(got: float, true: Any) -> float:
    return float(abs(mpf(float(got)) / true - 1))


def test_tails_densities_and_logs(isa: str) -> None:
    for name, x, upper, tail, density in TRUE:
        law = LAWS[name]
        own, log = (gx2.sf, gx2.logsf) if upper else (gx2.cdf, gx2.logcdf)
        other = gx2.cdf if upper else gx2.sf
        assert error(log(x, **law), mp.log(tail)) < TARGET, (name, x)
        assert error(gx2.logpdf(x, **law), mp.log(density)) < TARGET, (name, x)
        if tail > TINY:
            assert error(own(x, **law), tail) < TARGET, (name, x)
            assert error(gx2.pdf(x, **law), density) < TARGET, (name, x)
        assert error(other(x, **law), 1 - tail) < 2 * TARGET, (name, x)


def test_the_error_estimate_holds(isa: str) -> None:
    """And is no more than some ten times the error, at most points."""
    ratios = []
    for name, x, upper, tail, _ in TRUE:
        estimate = gx2.error(x, **LAWS[name])
        assert 0 < estimate < TARGET, (name, x)
        if tail > TINY:
            own = (gx2.sf if upper else gx2.cdf)(x, **LAWS[name])
            assert error(own, tail) <= estimate, (name, x)
            ratios.append(estimate / max(error(own, tail), 1e-18))
    assert np.median(ratios) < 60.0


def test_quantiles(isa: str) -> None:
    for name, x, upper, tail, density in TRUE:
        law = LAWS[name]
        # The derivative of log x in log p, and the rounding of p.
        condition = max(1.0, float(tail / (density * abs(x))), abs(law.get("offset", 0.0) / x))
        log = float(mp.log(tail))
        back = (gx2.ilogsf if upper else gx2.ilogcdf)(log, **law)
        slack = max(1.0, abs(log))
        assert abs(back - x) <= 1e-14 * condition * slack * abs(x), (name, x, back)
        if tail > TINY:
            back = (gx2.isf if upper else gx2.ppf)(float(tail), **law)
            assert abs(back - x) <= 1e-13 * condition * abs(x), (name, x, back)


def test_the_oracle_does_not_depend_on_its_path() -> None:
    law = LAWS["mixed"]
    for x in points(law)[1::3]:
        first = oracle.tail_and_density(x, **law, tilt=0.2)
        second = oracle.tail_and_density(x, **law, tilt=0.5)
        assert abs(first[1] / second[1] - 1) < 1e-25


@pytest.mark.parametrize("x", [0.01, 3.0, 40.0, 300.0])
def test_ruben_series(x: float) -> None:
    law = {"weights": [1.0, 1.5, 2.0], "df": [1.0, 2.5, 0.5], "nc": [0.0, 2.0, 1.0]}
    lower, upper = oracle.ruben(x, **law)
    assert error(gx2.cdf(x, **law), lower) < TARGET
    assert error(gx2.sf(x, **law), upper) < TARGET


@pytest.mark.parametrize("x", [0.5, 10.0, 200.0, 4000.0])
def test_sum_of_exponentials(x: float) -> None:
    weights = [3.0, 1.25, 0.5, 0.125]
    true = oracle.hypoexponential(x, weights)
    assert error(gx2.sf(x, weights, 2, 0), true) < TARGET


@pytest.mark.parametrize("x", [-1200.0, -30.0, -0.125, 0.0, 1e-30, 2.0, 900.0])
def test_laplace(x: float) -> None:
    """w chi2_2 - w chi2_2 is a Laplace variable of scale 2 w."""
    scale = mpf(3.0)
    tail = mp.exp(-abs(mpf(x)) / scale) / 2
    own = gx2.sf if x >= 0 else gx2.cdf
    assert error(own(x, [1.5, -1.5], 2, 0), tail) < TARGET
    if x != 0:
        assert error(gx2.pdf(x, [1.5, -1.5], 2, 0), tail / scale) < TARGET


def test_single_terms_are_chi_square() -> None:
    x = np.array([1e-3, 0.7, 5.0, 60.0, 1400.0])
    for df, nc in ((0.5, 0.0), (4.0, 0.0), (3.0, 7.0), (50.0, 0.25)):
        for name in ("cdf", "sf", "pdf", "logcdf", "logsf", "logpdf"):
            ours = getattr(gx2, name)(2.5 * x, [2.5], df, nc)
            law = getattr(chi2, name)(x, df) if nc == 0 else getattr(ncx2, name)(x, df, nc)
            expected = law / 2.5 if name == "pdf" else law - (name == "logpdf") * np.log(2.5)
            np.testing.assert_allclose(ours, expected, rtol=TARGET, atol=1e-305)
    ours = gx2.sf([9.99e6, 1.0e7, 1.002e7, 1.1e7], [1.0], 1e7, 0)
    np.testing.assert_allclose(ours, chi2.sf([9.99e6, 1.0e7, 1.002e7, 1.1e7], 1e7), rtol=TARGET)
    central = scipy.stats.chi2.sf([1.0, 20.0, 100.0], 9)
    np.testing.assert_allclose(gx2.sf([1.0, 20.0, 100.0], [1.0], 9, 0), central, rtol=1e-13)


def test_normal_term_alone_matters() -> None:
    x = np.linspace(-37, 37, 15)
    ours = gx2.cdf(x, [1e-12], 1, 0, sigma=1.0)
    np.testing.assert_allclose(ours, norm.cdf(x - 1e-12), rtol=1e-10)


def test_equal_weights_are_one_term() -> None:
    x = np.array([0.1, 4.0, 500.0])
    many = gx2.sf(x, [0.5, 2.0, 0.5, 0.0, 0.5], [1, 2, 3, 4, 5], [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(many, gx2.sf(x, [2.0, 0.5], [2, 9], [1, 6]))


def test_hundreds_of_terms() -> None:
    rng = np.random.default_rng(5)
    weights = np.exp(rng.normal(size=300)) * rng.choice([-1.0, 1.0], 300)
    law = {
        "weights": weights,
        "df": rng.choice([1.0, 2.0, 0.5], 300),
        "nc": rng.exponential(size=300),
    }
    mean, deviation = moments(**law)
    draws = sum(
        w * rng.noncentral_chisquare(n, c, 20_000)
        for w, n, c in zip(weights, law["df"], law["nc"], strict=True)
    )
    for z in (-1.0, 0.5, 2.0):
        true = gx2.cdf(mean + z * deviation, **law)
        share = np.mean(draws <= mean + z * deviation)
        assert abs(share - true) < 4 * np.sqrt(true * (1 - true) / draws.size)


def test_where_both_supports_meet() -> None:
    """At x = offset the characteristic function decays like a power only."""
    for df in (0.05, 0.5, 1.0):  # w chi2 - w chi2 is symmetric
        assert error(gx2.cdf(4.0, [1.5, -1.5], df, 0, offset=4.0), mpf(1) / 2) < TARGET
        assert gx2.pdf(4.0, [1.5, -1.5], df, 0, offset=4.0) == np.inf
    for df in (
        1.025,
        1.5,
        3.0,
        20.0,
    ):  # variance gamma: density Gamma(h - 1/2)/(4 sqrt(pi) Gamma(h))
        h = mpf(df) / 2
        true = mp.gamma(h - mpf(1) / 2) / (4 * mp.sqrt(mp.pi) * mp.gamma(h))
        assert error(gx2.pdf(0.0, [1.0, -1.0], df, 0), true) < TARGET


def test_the_very_end_of_the_support() -> None:
    for x in (1e-200, 1e-250, 1e-300):
        for function in ("cdf", "logcdf", "sf", "pdf", "logpdf"):
            ours = getattr(gx2, function)(x, [1.0], 0.05, 0)
            np.testing.assert_allclose(ours, getattr(chi2, function)(x, 0.05), rtol=TARGET)
    q = np.array([1e-5, 1e-6, 1e-7])
    np.testing.assert_allclose(gx2.ppf(q, [1.0], 0.05, 0), chi2.ppf(q, 0.05), rtol=1e-11)
    assert gx2.ppf(1e-300, [1.0], 0.05, 0) == 0.0


def test_conventions() -> None:
    law = ([1.0, 0.5], 1, 0)
    np.testing.assert_array_equal(gx2.cdf([-np.inf, -1.0, 0.0, np.inf], *law), [0, 0, 0, 1])
    np.testing.assert_array_equal(gx2.logsf([-np.inf, -1.0, 0.0, np.inf], *law), [0, 0, 0, -np.inf])
    assert np.isnan(gx2.sf(np.nan, *law))
    np.testing.assert_array_equal(gx2.ppf([-0.1, 0.0, 1.0, 1.1], *law), [np.nan, 0, np.inf, np.nan])
    both = ([1.0, -0.5], 1, 0)
    np.testing.assert_array_equal(gx2.isf([0.0, 1.0], *both), [np.inf, -np.inf])
    np.testing.assert_array_equal(gx2.cdf([2.0, 1.0, 3.0], [-1.0], 1, 0, offset=2.0)[::2], 1.0)
    # The density at the end of the support: 0, a half exponential's, or a pole.
    assert gx2.pdf(3.0, [1.0], 3, 0, offset=3.0) == 0
    assert error(gx2.pdf(3.0, [2.0, 0.5], 1, 0, offset=3.0), mpf(1) / 2) < TARGET
    assert gx2.pdf(3.0, [1.0], 1, 0, offset=3.0) == np.inf
    assert isinstance(gx2.cdf(1.0, *law), float)
    assert gx2.cdf(np.ones((2, 3, 0)), *law).shape == (2, 3, 0)
