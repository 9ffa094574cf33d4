"""The generalised chi-square law at the far ends of doubles, against closed forms in mpmath."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from leakscore.distributions import gx2, norm

FAR = (1e20, 1e50, 1e80, 1e100, 1e148, 1e154, 1e200, 1e300)


@pytest.fixture(autouse=True)
def _digits() -> Any:
    with mp.workdps(700):  # of sums of 1e600 and 1
        yield


def log_normal_tail(z: Any) -> Any:
    return mp.log(mp.erfc(z / mp.sqrt(2)) / 2)


def close(got: float, true: Any, rtol: float = 1e-14) -> bool:
    if abs(true) > mpf(1.7976931348623157e308):
        return bool(got == np.copysign(np.inf, float(mp.sign(true))))
    return bool(abs(mpf(float(got)) - true) <= rtol * abs(true))


@pytest.mark.parametrize("x", FAR)
def test_one_noncentral_term(x: float) -> None:
    weight, nc = 1.5, 6.25
    root = mp.sqrt(mpf(x) / weight)
    true = mp.log(mp.exp(log_normal_tail(root - 2.5)) + mp.exp(log_normal_tail(root + 2.5)))
    assert close(gx2.logsf(x, [weight], 1, nc), true)
    assert gx2.sf(x, [weight], 1, nc) == 0.0
    assert gx2.cdf(x, [weight], 1, nc) == 1.0
    assert gx2.pdf(x, [weight], 1, nc) == 0.0
    back = gx2.ilogsf(float(true), [weight], 1, nc) if abs(true) < 1e308 else x
    assert abs(back - x) <= 1e-13 * x


@pytest.mark.parametrize("x", [*FAR, 1e308])
def test_laplace(x: float) -> None:
    """1.5 chi2_2 - 1.5 chi2_2 is a Laplace variable of scale 3."""
    law = ([1.5, -1.5], 2, 0)
    for own, pdf, at in ((gx2.logsf, gx2.logpdf, x), (gx2.logcdf, gx2.logpdf, -x)):
        assert close(own(at, *law), -mpf(x) / 3 - mp.log(2))
        assert close(pdf(at, *law), -mpf(x) / 3 - mp.log(6))
    assert close(gx2.ilogsf(-x, *law), 3 * (mpf(x) - mp.log(2)))


@pytest.mark.parametrize("y", FAR)
def test_normal_less_exponential(y: float) -> None:
    """sigma Z - 0.2 chi2_2, where no term is on the upper side."""
    sigma, scale = mpf(0.5), 2 * mpf(0.2)
    z = mpf(y) / sigma
    tilt = mpf(y) / scale + (sigma / scale) ** 2 / 2
    if y < 1e100:
        ratio = mp.exp(tilt + log_normal_tail(z + sigma / scale) - log_normal_tail(z))
        true = log_normal_tail(z) + mp.log1p(-ratio)
    else:
        true = -z * z / 2  # to 1e-90
    assert close(gx2.logsf(y, [-0.2], 2, 0, sigma=0.5), true)


def test_one_element_does_not_sink_an_array() -> None:
    x = [1.0, 1e100, -1e100, 1.7e308, -1.7e308, 5e-324, np.inf, np.nan]
    for sigma in (0.0, 1.0):
        for name in ("cdf", "sf", "logcdf", "logsf", "pdf", "logpdf", "error"):
            found = getattr(gx2, name)(x, [1.0, -0.5], 3, 0, sigma=sigma)
            alone = getattr(gx2, name)(1.0, [1.0, -0.5], 3, 0, sigma=sigma)
            assert found[0] == alone
            assert not np.isnan(found[:-1]).any(), name


@pytest.mark.parametrize("df", [1.0, 0.4, 0.05])
@pytest.mark.parametrize("x", [1e-100, 1e-239, 1e-250, 1e-300, 5e-324])
def test_next_to_the_pole(df: float, x: float) -> None:
    """The density of chi2_df - chi2_df is that of the variance-gamma law."""
    order = mpf(df) / 2 - mpf(1) / 2
    # K_0(y) = -log(y / 2) - gamma up to y^2, which mpmath finds by limits and takes seconds for.
    bessel = mp.besselk(order, mpf(x) / 2) if order else -mp.log(mpf(x) / 4) - mp.euler
    true = mp.power(x, order) * bessel / 4 ** (mpf(df) / 2)
    true /= mp.sqrt(mp.pi) * mp.gamma(mpf(df) / 2)
    for at in (x, -x):
        assert close(gx2.pdf(at, [1.0, -1.0], df, 0), true, 1e-11)
        assert close(gx2.logpdf(at, [1.0, -1.0], df, 0), mp.log(true), 1e-12)


@pytest.mark.parametrize("nc", [1e45, 1e60, 1e100, 1e154, 1e300])
def test_huge_noncentralities_are_normal(nc: float) -> None:
    weights, ncs = [1.0, -0.5], [nc, nc]
    mean, deviation = 0.5 * nc, np.sqrt(4.0 * nc + nc)
    for z in (-30.0, -2.0, 0.0, 1.0, 8.0):
        x = mean + z * deviation
        true = (x - mean) / deviation  # after the rounding of x
        np.testing.assert_allclose(gx2.cdf(x, weights, 1, ncs), norm.cdf(true), rtol=1e-9)
        np.testing.assert_allclose(gx2.sf(x, weights, 1, ncs), norm.sf(true), rtol=1e-9)
    assert gx2.cdf(0.0, [1.0, -1.0], 1, ncs) == 0.5
    assert gx2.cdf(-2.0, weights, 1, ncs) == 0.0


def test_huge_sigma_and_offset() -> None:
    law = ([1.0, -0.5], 1, 0)
    assert gx2.cdf(-2.0, *law, sigma=1.7e308) == 0.5
    assert gx2.sf(1.5e308, *law, sigma=1.5e308) == pytest.approx(norm.sf(1.0), rel=1e-13)
    assert gx2.cdf(2.0, *law, offset=1.7e308) == 0.0
    assert gx2.sf(2.0, *law, offset=1.7e308) == 1.0


def test_what_does_not_converge_is_named() -> None:
    with pytest.raises(RuntimeError, match=r"gx2\.cdf: no convergence at 3e-05"):
        gx2.cdf([-1.0, 3e-5], [1.0, 0.5], 1e-200, 0)
    with pytest.raises(RuntimeError, match="norm of the same mean and variance is near"):
        gx2.isf(1e-9, [1.0, 0.5], 1.0, [1e28, 1e27])
    for name in ("df", "nc"):
        with pytest.raises(ValueError, match=name):
            gx2.cdf(1.0, [1.0], **({"df": 1.0, "nc": 0.0} | {name: 1.7e308}))
