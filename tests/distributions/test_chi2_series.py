"""The chi-square laws where series replace the contour, and at the borders of that, by mpmath."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from mpmath import mp, mpf

from leakscore.distributions import chi2, ncx2
from tests.helpers.chi2_points import relative

TOLERANCE = 1.1e-15
DIGITS = 180  # the smallest tail has 1e-116, and the other one is its complement
CENTRAL = [2.0, 3.0, 10.0, 17.25, 41.0, 63.0, 64.0, 64.5, 200.0, 1e3, 3e4]
MIXED = [(1.0, 1e-6), (1.0, 1.0), (1.5, 3.7), (3.0, 16.0), (7.0, 0.3), (17.7, 8.0), (32.0, 15.9)]
rng = np.random.default_rng(23)

pytestmark = pytest.mark.usefixtures("digits")


@functools.cache
def mixture(x: float, df: float, nc: float) -> tuple[mpf, mpf, mpf]:
    """Return lower tail, upper tail and density: the Poisson mixture, term by term."""
    with mp.workdps(DIGITS):
        a, z, rate = mpf(df) / 2, mpf(x) / 2, mpf(nc) / 2
        term = total = mpf(1)
        j = 0
        while term > total * mpf(10) ** (10 - DIGITS):
            j += 1
            term *= z / (a + j)
            total += term
        gap = mp.exp(a * mp.log(z) - z - mp.loggamma(a + 1))  # between the laws of a and a + 1
        lower, weight = total * gap, mp.exp(-rate)
        sums = [mpf(0)] * 3
        j = 0
        while j <= rate or max(weight, gap * weight) > min(sums) * mpf("1e-40"):
            parts = lower, 1 - lower, gap * (a + j) / (2 * z)
            sums = [s + weight * part for s, part in zip(sums, parts, strict=True)]
            lower -= gap
            j += 1
            gap *= z / (a + j)
            weight *= rate / j
        return sums[0], sums[1], sums[2]


def check(function: str, got: np.ndarray, exact: list[tuple[mpf, mpf, mpf]]) -> None:
    wanted = [row[["cdf", "sf", "pdf"].index(function.removeprefix("log"))] for row in exact]
    if function.startswith("log"):
        with mp.workdps(DIGITS):
            wanted = [mp.log(value) for value in wanted]
    assert relative(got, wanted).max() < TOLERANCE


def central_points(df: float) -> np.ndarray:
    """Return points over both tails, and beside each border between two forms."""
    spread = np.sqrt(2 * df)
    borders = np.array([1, 0.35, 2.4, 1 - 8 * spread / df, 1 + 8 * spread / df]) * df
    borders = borders[(borders > 0.05 * df) & (np.abs(borders - df) < 32 * spread)]
    near = np.concatenate([borders * (1 - 1e-9), borders, borders * (1 + 1e-9)])
    own = np.random.default_rng(round(4 * df))  # the same points at every level, computed once
    return np.concatenate([near, np.maximum(df + spread * own.uniform(-8, 10, 9), 0.1)])


@pytest.mark.parametrize("df", CENTRAL)
def test_central_tails(df: float, isa: str) -> None:
    x = central_points(df)
    exact = [mixture(v, df, 0.0) for v in x.tolist()]
    for function in ("cdf", "sf", "logcdf", "logsf"):
        check(function, getattr(chi2, function)(x, df), exact)


@pytest.mark.parametrize(("df", "nc"), MIXED)
def test_small_noncentral_laws(df: float, nc: float, isa: str) -> None:
    border = df + nc - 0.5
    own = np.random.default_rng(round(4 * df))
    x = np.concatenate(
        [[border * (1 - 1e-9), border], (df + nc) * own.uniform(0.01, 4, 8), [1e-3, 64 / nc]]
    )
    x = np.minimum(x, 300)
    exact = [mixture(v, df, nc) for v in x.tolist()]
    for function in ("pdf", "cdf", "sf", "logcdf", "logsf"):
        check(function, getattr(ncx2, function)(x, df, nc), exact)


def bessel_density(x: float, df: float, nc: float) -> mpf:
    """Return the density by Bessel's function."""
    order, product = mpf(df) / 2 - 1, mp.sqrt(mpf(x) * mpf(nc))
    size = mp.exp(-((mp.sqrt(x) - mp.sqrt(nc)) ** 2) / 2) / 2
    return size * (mpf(x) / nc) ** (order / 2) * mp.besseli(order, product) * mp.exp(-product)


@pytest.mark.parametrize("df", [1.0, 1.3, 2.0, 3.0, 5.0, 12.0, 14.7, 32.0, 33.0, 64.0, 128.0])
def test_densities_of_few_degrees_of_freedom(df: float, isa: str) -> None:
    """Beside and beyond the border between series and expansion, and in both tails."""
    border = max(25.0, (df / 2 - 1) ** 2)
    nc = border * 10 ** rng.uniform(-0.5, 0.5, 4)
    spread = np.sqrt(2 * df + 4 * nc)
    at = np.concatenate([625 / nc, border**2 / nc])
    upper, lower = df + nc + spread * rng.uniform(2, 20, 4), nc * 10 ** rng.uniform(-4, 0, 4)
    x, nc = np.concatenate([at * (1 - 1e-9), at, at * (1 + 1e-9), upper, lower]), np.tile(nc, 8)
    with mp.workdps(60):
        exact = [bessel_density(*point) for point in zip(x, [df] * len(x), nc, strict=True)]
        logs = [mp.log(value) for value in exact]
    assert relative(ncx2.pdf(x, df, nc), exact).max() < TOLERANCE
    far = np.array(logs, dtype=float) < -1
    wanted = [value for value, is_far in zip(logs, far, strict=True) if is_far]
    assert relative(ncx2.logpdf(x[far], df, nc[far]), wanted).max() < TOLERANCE


def test_densities_of_huge_noncentral_laws(isa: str) -> None:
    """Whose exponent is a difference of numbers beyond 1e30."""
    x, nc = np.array([1e30, 1e30 * (1 + 1e-14), 1e24, 1e10]), np.array([1e30, 1e30, 1e24, 1.1e10])
    for df in (1.0, 2.5, 7.0):
        with mp.workdps(90):
            exact = [bessel_density(*point) for point in zip(x, [df] * 4, nc, strict=True)]
        assert relative(ncx2.pdf(x, df, nc), exact).max() < TOLERANCE


def test_neighbours_do_not_matter(isa: str) -> None:
    """Mixed laws in one call and alone: the same bits, though blocks share what one law needs."""
    df = rng.choice([*CENTRAL, 5.0, 90.0], 400)
    x = np.maximum(df + np.sqrt(2 * df) * rng.uniform(-6, 8, 400), 0.2)
    nc = rng.choice([0.0, 0.1, 2.0, 16.0, 300.0], 400)
    for function in ("cdf", "logsf", "pdf"):
        for call, arguments in (
            (getattr(chi2, function), (x, df)),
            (getattr(ncx2, function), (x, df, nc)),
        ):
            alone = [call(*point) for point in zip(*arguments, strict=True)]
            np.testing.assert_array_equal(call(*arguments), alone)


@pytest.mark.parametrize(("df", "nc"), [(3.0, 0.0), (10.0, 0.0), (300.0, 0.0), *MIXED])
def test_quantiles_return(df: float, nc: float, isa: str) -> None:
    own = np.random.default_rng(round(4 * df + nc))  # the same points in any order of the tests
    q = np.concatenate([10 ** own.uniform(-12, -1, 8), own.uniform(0.02, 0.5, 8)])
    for inverse, forward in (("ppf", "cdf"), ("isf", "sf")):
        x = getattr(ncx2, inverse)(q, df, nc)
        slope = ncx2.pdf(x, df, nc) * x / q  # of the logarithms: the quantile's rounding
        error = np.abs(getattr(ncx2, forward)(x, df, nc) / q - 1)
        np.testing.assert_array_less(error, 1e-15 * np.maximum(1, slope))
