"""chi2 and ncx2 against 80-digit Poisson mixtures, on every ISA level that this machine runs."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

import leakscore
from leakscore import _core
from leakscore.distributions import chi2, ncx2
from tests.helpers.chi2_points import TAIL_FLOOR, TOLERANCE, Row, relative, rows

FUNCTIONS = ["pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"]
TABLE = rows()

pytestmark = pytest.mark.usefixtures("digits")

rng = np.random.default_rng(31)


def columns(table: list[Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return tuple(np.array([getattr(row, name) for row in table]) for name in ("x", "df", "nc"))


def test_table_covers_the_range() -> None:
    x, df, nc = columns(TABLE)
    assert df.min() == 0.05
    assert df.max() == 2e7
    assert nc.max() == 1e7
    assert ((nc == 0) & (df > 1e6)).any()
    assert min(row.logcdf for row in TABLE) < -1e4
    assert min(row.logsf for row in TABLE) < -1e4
    assert 400 < len(TABLE) < 1000
    assert (x < 1e-100).any()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str, isa: str) -> None:
    wanted = [row.value(name) for row in TABLE]
    kept = [i for i, w in enumerate(wanted) if name.startswith("log") or w > TAIL_FLOOR]
    table = [TABLE[i] for i in kept]
    got = getattr(ncx2, name)(*columns(table))
    errors = relative(got, [wanted[i] for i in kept])
    if name == "logpdf":  # it crosses zero
        errors *= [min(1.0, abs(float(wanted[i]))) for i in kept]
    worst = int(np.argmax(errors))
    assert errors[worst] < TOLERANCE, (table[worst], got[worst])
    assert np.median(errors) < 2.3e-16


@pytest.mark.parametrize("name", FUNCTIONS)
def test_chi2_is_ncx2_without_noncentrality(name: str, isa: str) -> None:
    central = [row for row in TABLE if row.nc == 0]
    x, df, nc = columns(central)
    general = getattr(ncx2, name)(x, df, nc)
    np.testing.assert_allclose(getattr(chi2, name)(x, df), general, rtol=2e-15, atol=1e-300)
    np.testing.assert_array_equal(general, getattr(ncx2, name)(x, df, 0.0))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_neighbours_do_not_matter(name: str, isa: str) -> None:
    """Each point alone, in the table's order and shuffled: the same bits."""
    function = getattr(ncx2, name)
    x, df, nc = columns(TABLE)
    order = rng.permutation(len(x))
    together = function(x, df, nc)
    np.testing.assert_array_equal(function(x[order], df[order], nc[order]), together[order])
    alone = [function(*point) for point in zip(x, df, nc, strict=True)]
    np.testing.assert_array_equal(together, alone)


def test_levels_agree() -> None:
    """v3 and v4 in every bit, v2 without fused operations to a few roundings."""
    levels = leakscore.supported_isas()
    x, df, nc = columns(TABLE)
    before, results = leakscore.active_isa(), {}
    for level in levels:
        _core.select_isa(level)
        results[level] = {name: getattr(ncx2, name)(x, df, nc) for name in FUNCTIONS}
    _core.select_isa(before)
    fused = [level for level in levels if level in ("v3", "v4")]
    for name in FUNCTIONS:
        for level in fused[1:]:
            np.testing.assert_array_equal(results[fused[0]][name], results[level][name])
        np.testing.assert_allclose(
            results[levels[0]][name], results[levels[-1]][name], 4e-15, 1e-307
        )


def test_even_df_are_finite_sums(isa: str) -> None:
    """chi2.sf(x, 2k) = exp(-x/2) sum_{j<k} (x/2)^j / j!; digits enough for logs near 0."""
    x = np.concatenate([rng.uniform(0.01, 60, 60), 10 ** rng.uniform(-10, 2.5, 60), [1400.0]])
    for k in (1, 2, 5, 13):
        with mp.workdps(220):
            halves = [mpf(v) / 2 for v in x.tolist()]
            sums = [mp.fsum(h**j / mp.factorial(j) for j in range(k)) for h in halves]
            logs = [mp.log(total) - h for total, h in zip(sums, halves, strict=True)]
        assert relative(chi2.sf(x, 2 * k), [mp.exp(log) for log in logs]).max() < 1.5e-15
        assert relative(chi2.logsf(x, 2 * k), logs).max() < 1.5e-15


def test_one_degree_is_a_folded_normal(isa: str) -> None:
    """ncx2.sf(x, 1, nc) = Phi(m - s) + Phi(-m - s) with s^2 = x, m^2 = nc."""
    x, nc = 10 ** rng.uniform(-8, 3, 150), 10 ** rng.uniform(-8, 2.8, 150)
    roots = [
        (mp.sqrt(mpf(a)), mp.sqrt(mpf(b))) for a, b in zip(x.tolist(), nc.tolist(), strict=True)
    ]
    upper = [mp.ncdf(m - s) + mp.ncdf(-m - s) for s, m in roots]
    lower = [mp.ncdf(s - m) - mp.ncdf(-s - m) for s, m in roots]
    for name, wanted in (("sf", upper), ("cdf", lower)):
        kept = [i for i, w in enumerate(wanted) if w > TAIL_FLOOR]
        got = getattr(ncx2, name)(x[kept], 1, nc[kept])
        assert relative(got, [wanted[i] for i in kept]).max() < TOLERANCE


@pytest.mark.parametrize(
    ("df", "nc"), [(0.05, 0.0), (0.6, 3.0), (2.0, 0.0), (30.0, 400.0), (1e7, 1e6)]
)
def test_tails_add_up_and_are_monotone(df: float, nc: float, isa: str) -> None:
    spread = np.sqrt(2 * df + 4 * nc)
    x = np.linspace(max(df + nc - 9 * spread, 1e-3 * (df + nc)), df + nc + 30 * spread, 4001)
    cdf, sf = ncx2.cdf(x, df, nc), ncx2.sf(x, df, nc)
    np.testing.assert_allclose(cdf + sf, 1.0, rtol=0, atol=4.5e-16)
    for rising in (cdf, -sf, ncx2.logcdf(x, df, nc), -ncx2.logsf(x, df, nc)):
        steps = np.diff(rising)
        assert (steps > -2e-15 * np.abs(rising[1:])).all()
    shifted = ncx2.sf(x, df, np.linspace(nc, nc + spread, 7)[:, None])
    assert (np.diff(shifted, axis=0) > -2e-15 * shifted[1:]).all()


def test_scale_of_density() -> None:
    """The density is the derivative of the cdf: integrals over small steps, by Gauss-Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    for df, nc in ((0.4, 0.7), (3.0, 0.0), (7.0, 90.0), (2e4, 3e3)):
        spread = np.sqrt(2 * df + 4 * nc)
        low = max(df + nc - 2 * spread, 0.3 * (df + nc))
        high = low + 0.2 * spread
        x = low + (high - low) * (nodes + 1) / 2
        area = (high - low) / 2 * np.sum(weights * ncx2.pdf(x, df, nc))
        wanted = ncx2.cdf(high, df, nc) - ncx2.cdf(low, df, nc)
        np.testing.assert_allclose(area, wanted, rtol=2e-14)
