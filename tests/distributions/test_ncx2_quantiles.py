"""Quantiles of chi2 and ncx2: exact to the condition number, for every valid input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from leakscore.distributions import chi2, ncx2
from tests.helpers.chi2_points import TAIL_FLOOR, rows
from tests.oracles.chi2 import logs

TOLERANCE = 1e-13
TABLE = rows()

pytestmark = pytest.mark.usefixtures("digits")

rng = np.random.default_rng(32)


@pytest.mark.parametrize("name", ["ppf", "isf", "ilogcdf", "ilogsf"])
def test_table(name: str, isa: str) -> None:
    """The quantile of the rounded probability is x, up to what the rounding itself moves it."""
    tail = "cdf" if name in ("ppf", "ilogcdf") else "sf"
    log = name.startswith("ilog")
    points, conditions = [], []
    for row in TABLE:
        logp = getattr(row, f"log{tail}")
        q = logp if log else mp.exp(logp)
        if (not log and not TAIL_FLOOR < q < 1 - mpf("1e-3")) or (log and not logp < -1e-3):
            continue
        hazard = mpf(row.x) * mp.exp(row.logpdf - logp)  # |d log p / d log x|
        points.append((float(q), row.df, row.nc, row.x))
        conditions.append(float((abs(logp) if log else 1) / hazard))
    q, df, nc, x = np.array(points).T
    got = getattr(ncx2, name)(q, df, nc)
    errors = np.abs(got / x - 1) / np.maximum(1, conditions)
    assert len(q) > 250
    assert errors.max() < TOLERANCE, points[int(np.argmax(errors))]
    central = nc == 0
    closed = getattr(chi2, name)(q[central], df[central])
    np.testing.assert_allclose(closed, got[central], rtol=3e-15)


def random_laws(count: int) -> tuple[np.ndarray, np.ndarray]:
    df = 10 ** rng.uniform(np.log10(0.05), np.log10(2e7), count)
    nc = np.where(rng.random(count) < 0.3, 0.0, 10 ** rng.uniform(-3, 7, count))
    return df, nc


def test_round_trip(isa: str) -> None:
    """logcdf(ilogcdf(logp)) = logp for random laws and probabilities down to exp(-1e4)."""
    df, nc = random_laws(4000)
    logp = -(10 ** rng.uniform(-2.5, 4, 4000))
    for inverse, direct in ((ncx2.ilogcdf, ncx2.logcdf), (ncx2.ilogsf, ncx2.logsf)):
        x = inverse(logp, df, nc)
        assert np.isfinite(x).all()
        kept = x > 1e-290  # smaller ones are known to fewer digits
        x, law, wanted = x[kept], (df[kept], nc[kept]), logp[kept]
        back = direct(x, *law)
        density = np.exp(ncx2.logpdf(x, *law) - back) * x
        allowed = 8e-16 * density + 2e-14 * np.maximum(np.abs(wanted), 0.1)
        assert (np.abs(back - wanted) <= allowed).all()
        assert kept.mean() > 0.8


def test_both_directions_agree(isa: str) -> None:
    df, nc = random_laws(2000)
    q = rng.uniform(0.2, 0.8, 2000).round(12)
    np.testing.assert_allclose(ncx2.ppf(q, df, nc), ncx2.isf(1 - q, df, nc), rtol=2e-12)
    tiny = 10 ** rng.uniform(-300, -1, 2000)
    np.testing.assert_allclose(
        ncx2.isf(tiny, df, nc), ncx2.ilogsf(np.log(tiny), df, nc), rtol=3e-13
    )


def test_tiny_results() -> None:
    """Where x underflows its law is a power: cdf = (x/2)^(df/2) / Gamma(df/2 + 1) exp(-nc/2)."""
    for df, nc, q in ((0.05, 0.0, 1e-7), (0.05, 1.0, 1e-9), (1.0, 0.0, 1e-160), (0.3, 0.0, 1e-47)):
        a = mpf(df) / 2
        log_x = (mp.log(mpf(q)) + mp.loggamma(a + 1) + mpf(nc) / 2) / a + mp.log(2)
        wanted = mp.exp(log_x)
        assert wanted < mpf("1e-260")
        got = ncx2.ppf(q, df, nc)
        assert abs(mpf(float(got)) - wanted) <= mpf("5e-324") + wanted * mpf("1e-12")
    assert chi2.ppf(1e-300, 0.05) == 0.0
    assert chi2.ppf(5e-324, 1.0) == 0.0
    assert chi2.isf(5e-324, 1.0) > 1480


def test_ends(isa: str) -> None:
    inf, nan = np.inf, np.nan
    q = [0.0, 1.0, -0.0, -1e-300, 1 + 1e-15, nan, inf, -inf]
    np.testing.assert_array_equal(chi2.ppf(q, 3), [0, inf, 0, nan, nan, nan, nan, nan])
    np.testing.assert_array_equal(chi2.isf(q, 3), [inf, 0, inf, nan, nan, nan, nan, nan])
    logp = [-inf, 0.0, -0.0, 1e-300, nan, inf]
    np.testing.assert_array_equal(ncx2.ilogcdf(logp, 3, 1), [0, inf, inf, nan, nan, nan])
    np.testing.assert_array_equal(ncx2.ilogsf(logp, 3, 1), [inf, 0, 0, nan, nan, nan])
    for df, nc in ((0, 1), (-1, 1), (nan, 1), (inf, 1), (1, -1e-300), (1, nan), (1, inf)):
        for q in (0.0, 0.5, 1.0):
            assert np.isnan(ncx2.ppf(q, df, nc))
            assert np.isnan(ncx2.isf(q, df, nc))
            assert np.isnan(ncx2.ilogsf(-q, df, nc))


@given(
    st.floats(-300, -1e-12),
    st.floats(-1.3, 7.3),
    st.one_of(st.just(0.0), st.floats(-12, 7).map(lambda e: 10**e)),
    st.booleans(),
)
def test_quantiles_arrive_and_rise(log_q: float, log_df: float, nc: float, upper: bool) -> None:
    q, df = 10**log_q, 10**log_df
    inverse = ncx2.isf if upper else ncx2.ppf
    x = inverse([q * (1 - 1e-9), q, q * (1 + 1e-9) if q < 0.9 else q], df, nc)
    assert np.isfinite(x).all()
    assert (x >= 0).all()
    steps = np.diff(x) if not upper else -np.diff(x)
    assert (steps >= -1e-13 * x[1:]).all()


def test_against_the_oracle_at_the_result() -> None:
    """log p at the returned double, in 80 digits, is the requested one."""
    for logp, df, nc, upper in (
        (-690.0, 0.1, 3000.0, False),
        (-0.3, 0.05, 0.0, True),
        (-3000.0, 0.2, 1e4, False),
        (-12.5, 1.3, 2.0, True),
        (-250.0, 1e5, 4e4, False),
    ):
        x = float((ncx2.ilogsf if upper else ncx2.ilogcdf)(logp, df, nc))
        found = logs(x, df, nc)
        got = found.sf if upper else found.cdf
        hazard = mpf(x) * mp.exp(found.pdf - got)
        assert abs(got - mpf(logp)) < 3e-16 * hazard + 2e-15
