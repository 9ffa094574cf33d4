"""The central chi-square law where it has closed forms, against mpmath."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from mpmath import mp, mpf

from leakscore.distributions import chi2

TOLERANCE = 7e-16
DFS = [1e-280, 1e-5, 0.3, 1.0, 2.0, 7.3, 31.9, 32.0, 63.9, 64.0, 256.0, 256.0001, 1e4, 1e7, 1e12]
rng = np.random.default_rng(77)


def abscissae(df: float) -> np.ndarray:
    """Return points around the mean, far from it, and at both ends."""
    near = np.abs(df + 3 * np.sqrt(2 * df) * rng.normal(size=8))
    return np.concatenate([near, df * 10 ** rng.uniform(-3, 1.5, 6), [1e-310, 1e-30, 1e3, 1e100]])


@pytest.mark.parametrize("df", DFS)
def test_density(df: float, isa: str) -> None:
    x = abscissae(df)
    with mp.workprec(300):
        h = mpf(df) / 2
        logs = [(h - 1) * mp.log(mpf(v)) - mpf(v) / 2 - h * mp.log(2) - mp.loggamma(h) for v in x]
        plain = np.array([float(mp.exp(log)) if log > -1e4 else 0.0 for log in logs])
        expected = np.array([float(log) for log in logs])
    size = np.maximum(1, np.abs(expected))
    np.testing.assert_array_less(np.abs(chi2.logpdf(x, df) - expected) / size, TOLERANCE)
    seen = (plain > 1e-300) & (plain < np.inf)
    np.testing.assert_allclose(chi2.pdf(x, df)[seen], plain[seen], rtol=2 * TOLERANCE)


@pytest.mark.parametrize("df", [300.0, 3e3, 2.5e4, 1e5, 1e6, 1e10])
def test_density_far_from_a_large_mean(df: float, isa: str) -> None:
    """All digits where the exponent is 700, and on both sides of where another form takes over."""
    a = df / 2 - 1
    far = df + np.sqrt(2 * df) * np.linspace(-37, 37, 120)
    borders = 2 * a * (1 + np.outer([-1, 1], np.linspace(0.9, 1.1, 40)).ravel() / 6)
    x = np.concatenate([far, borders])
    x = x[x > 0]
    with mp.workprec(300):
        constant = (a + 1) * mp.log(2) + mp.loggamma(mpf(a + 1))
        logs = [mpf(a) * mp.log(mpf(v)) - mpf(v) / 2 - constant for v in x]
        seen = np.array([log > -700 for log in logs])
        plain = np.array([float(mp.exp(log)) for log in logs])
    found, log_found = chi2.pdf(x, df), chi2.logpdf(x, df)
    np.testing.assert_allclose(found[seen], plain[seen], rtol=2.5e-16)
    np.testing.assert_allclose(log_found, np.array([float(log) for log in logs]), rtol=2.3e-16)


def exact(name: str, x: float, df: int) -> mpf:
    """Return P(X <= x) or P(X > x), or its logarithm."""
    v = mpf(x) / 2
    lower = mp.erf(mp.sqrt(v)) if df == 1 else -mp.expm1(-v)
    upper = mp.erfc(mp.sqrt(v)) if df == 1 else mp.exp(-v)
    if name == "cdf":
        return lower
    if name == "sf":
        return upper
    if name == "logcdf":
        return mp.log1p(-upper) if upper < 0.5 else mp.log(lower)
    return mp.log1p(-lower) if lower < 0.5 else mp.log(upper)


@cache
def known(name: str, df: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points, the same at every level, and what is exact there."""
    x = np.concatenate(
        [10 ** rng.uniform(-300, 3, 60), rng.uniform(0.9, 1.1, 20), [1, 1e100, 1e200]]
    )
    with mp.workprec(2200):
        near = [float(exact(name, v, df)) for v in x[:-2]]
    far = {"cdf": [1, 1], "sf": [0, 0], "logcdf": [0, 0], "logsf": -x[-2:] / 2}[name]
    return x, np.concatenate([near, far])


@pytest.mark.parametrize("df", [1, 2])
@pytest.mark.parametrize("name", ["cdf", "sf", "logcdf", "logsf"])
def test_probabilities(name: str, df: int, isa: str) -> None:
    x, expected = known(name, df)
    np.testing.assert_allclose(getattr(chi2, name)(x, df), expected, rtol=TOLERANCE, atol=1e-305)


@pytest.mark.parametrize("df", [1, 2])
@pytest.mark.parametrize("upper", [False, True])
def test_quantiles(upper: bool, df: int, isa: str) -> None:
    p = np.concatenate(
        [10 ** rng.uniform(-150, -1, 30), rng.uniform(0, 1, 40), [0.5, 0.96, 1 - 2**-53, 2**-53]]
    )
    found = (chi2.isf if upper else chi2.ppf)(p, df)
    name = "sf" if upper else "cdf"
    with mp.workprec(2200):
        # One Newton step from the answer: the quantile's relative error.
        for q, x in zip(p.tolist(), found.tolist(), strict=True):
            v = mpf(x)
            density = mp.exp(-v / 2) / 2
            density *= mp.sqrt(2 / (mp.pi * v)) if df == 1 else 1
            step = (exact(name, x, df) - mpf(q)) / density / v
            assert abs(float(step)) < TOLERANCE, (q, x)


@pytest.mark.parametrize("name", ["pdf", "logpdf", "cdf", "logsf", "ppf"])
def test_neighbours_do_not_matter(name: str, isa: str) -> None:
    """Degrees of freedom with and without closed forms in one call: the same bits as alone."""
    df = np.tile([1.0, 2.0, 3.5, 300.0, 1.0], 120)
    x = rng.uniform(0.001, 0.999, len(df)) * (1 if name == "ppf" else df)
    function = getattr(chi2, name)
    together = function(x, df)
    np.testing.assert_array_equal([function(v, k) for v, k in zip(x, df, strict=True)], together)


@pytest.mark.parametrize("df", [1.0, 2.0, 5.0])
def test_ends(df: float, isa: str) -> None:
    x = np.array([-1.0, 0.0, np.inf, np.nan])
    np.testing.assert_array_equal(chi2.cdf(x, df), [0, 0, 1, np.nan])
    np.testing.assert_array_equal(chi2.sf(x, df), [1, 1, 0, np.nan])
    density = {1.0: np.inf, 2.0: 0.5}.get(df, 0.0)
    np.testing.assert_array_equal(chi2.pdf(x, df), [0, density, 0, np.nan])
    np.testing.assert_array_equal(
        chi2.ppf([0, 1, -0.1, 1.1, np.nan], df), [0, np.inf, *[np.nan] * 3]
    )
    assert 0 < chi2.isf(5e-324, df) < 2000
