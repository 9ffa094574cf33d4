"""The folded Laplace law against mpmath, on every ISA level that this machine runs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from mpmath import mp, mpf

import leakscore
from leakscore import _core
from leakscore.distributions import folded_laplace
from tests.oracles import folded_laplace as oracle

NORMAL_MIN, SUBNORMAL_STEP = 2.3e-308, 5e-324
TOLERANCE = 4e-16
VALUES = ["pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"]
QUANTILES = {"ppf": "logcdf", "isf": "logsf", "ilogcdf": "logcdf", "ilogsf": "logsf"}

rng = np.random.default_rng(41)


def laws(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points near and far from the fold and the centre; half at ends of the range."""
    scale = 10 ** rng.uniform(-3, 3, count)
    m = rng.choice([0, 1e-8, 1e-3, 0.3, 1, 5, 40, 600, 1e3], count) * rng.uniform(0.5, 1.5, count)
    step = rng.choice([1e-12, 1e-5, 0.1, 1, 10, 300], count) * rng.normal(size=count)
    t = np.abs(m * (rng.uniform(size=count) < 0.7) + step)
    far = rng.uniform(size=count) < 0.5
    scale[far] = 10 ** rng.uniform(-307, 307, far.sum())
    m[far] = 10 ** rng.uniform(-30, 15, far.sum())
    t[far] = 10 ** rng.uniform(-300, 15, far.sum())
    with np.errstate(over="ignore"):
        x, loc = t * scale, rng.choice([-1, 1], count) * m * scale
    edges = [
        (1e-300, 0.5, 1e200),  # x / scale underflows, its log does not
        (1e-200, 0.0, 1e200),
        (3.0, 1e-310, 1e-3),
        (900e-300, 1e-300, 1e-300),  # exp(-D) underflows, the density does not
        (1450e-308, 0.0, 1e-308),
        (4e-321, 8e-321, 1e-322),  # subnormal everything
        (1e308, 1.7e308, 1.7e308),
        (1.0, 1e300, 1.0),
        (0.0, 2.0, 1.0),
        (2.0, 2.0, 1.0),
        (5e-324, 1.0, 1.0),
    ]
    found = np.concatenate([np.stack([x, loc, scale]), np.array(edges).T], axis=1)
    x, loc, scale = found[:, np.isfinite(found).all(axis=0)]
    return x, loc, scale


LAWS = laws(600)


@pytest.fixture(scope="module")
def truth() -> dict[str, list[mpf]]:
    with mp.workdps(50):
        return {
            name: [
                getattr(oracle, name)(*law)
                for law in zip(*map(np.ndarray.tolist, LAWS), strict=True)
            ]
            for name in VALUES
        }


@pytest.mark.parametrize("name", VALUES)
def test_accuracy(name: str, isa: str, truth: dict[str, list[mpf]]) -> None:
    got = getattr(folded_laplace, name)(*LAWS).tolist()
    laws_ = list(zip(*map(np.ndarray.tolist, LAWS), strict=True))
    for (x, loc, scale), value, true in zip(laws_, got, truth[name], strict=True):
        if not np.isfinite(float(true)):
            assert value == float(true), (x, loc, scale)
        elif abs(true) < NORMAL_MIN:
            assert abs(mpf(value) - true) <= 2 * SUBNORMAL_STEP, (x, loc, scale)
        else:
            # Where its terms cancel, the log density is as accurate as they are.
            terms = abs((x - abs(loc)) / scale) + abs(np.log(scale)) if name == "logpdf" else 0
            assert abs(mpf(value) - true) <= TOLERANCE * max(abs(true), terms), (x, loc, scale)


def masses(logs: bool, upper: bool) -> np.ndarray:
    count = LAWS[0].size
    if logs:
        return -(10 ** rng.uniform(-320, 15, count))
    given = (folded_laplace.sf if upper else folded_laplace.cdf)(*LAWS)
    small = 10 ** rng.uniform(-323, 0, count)
    chosen = np.where(rng.uniform(size=count) < 0.6, given, small)
    return np.where(rng.uniform(size=count) < 0.1, 1 - 10 ** rng.uniform(-16, 0, count), chosen)


@pytest.mark.parametrize("name", QUANTILES)
def test_quantiles(name: str, isa: str) -> None:
    """The true quantile lies within 4 ulp, or what one ulp of the mass moves it."""
    logs, upper = name.startswith("ilog"), name.endswith("sf")
    given = masses(logs, upper)
    _, loc, scale = LAWS
    got = getattr(folded_laplace, name)(given, loc, scale)
    checked = 0
    with mp.workdps(60):
        for x, mass, *law in zip(*map(np.ndarray.tolist, (got, given, loc, scale)), strict=True):
            if not (NORMAL_MIN < x < 1e308 and (logs or 0 < mass < 1)):
                continue
            log = mpf(mass) if logs else mp.log(mpf(mass))
            below = getattr(oracle, QUANTILES[name])
            low, high = (mpf(x) * (1 + sign * 4 * mpf(2) ** -53) for sign in (-1, 1))
            ends = [below(low, *law), below(high, *law)]
            slack = (abs(log) if logs else mpf(1)) * mpf(2) ** -53
            assert min(ends) - slack <= log <= max(ends) + slack, (x, mass, law)
            checked += 1
    assert checked > 300


def test_ends(isa: str) -> None:
    inf, nan = np.inf, np.nan
    points = [-inf, -1.0, -5e-324, -0.0, 0.0, inf, nan]
    expected = {
        "pdf": [0, 0, 0, np.exp(-0.5) / 2, np.exp(-0.5) / 2, 0, nan],
        "logpdf": [-inf, -inf, -inf, -0.5 - np.log(2), -0.5 - np.log(2), -inf, nan],
        "cdf": [0, 0, 0, 0, 0, 1, nan],
        "sf": [1, 1, 1, 1, 1, 0, nan],
        "logcdf": [-inf, -inf, -inf, -inf, -inf, 0, nan],
        "logsf": [0, 0, 0, 0, 0, -inf, nan],
    }
    for name, values in expected.items():
        got = getattr(folded_laplace, name)(points, -1.0, 2.0)
        np.testing.assert_allclose(got, values, rtol=3e-16, err_msg=name)
    q, log_q = [-1e-300, -0.0, 0.0, 1.0, 1 + 2**-52, nan], [5e-324, 0.0, -inf, nan, inf]
    np.testing.assert_array_equal(folded_laplace.ppf(q, 1, 2), [nan, 0, 0, inf, nan, nan])
    np.testing.assert_array_equal(folded_laplace.isf(q, 1, 2), [nan, inf, inf, 0, nan, nan])
    np.testing.assert_array_equal(folded_laplace.ilogcdf(log_q, 1, 2), [nan, inf, 0, nan, nan])
    np.testing.assert_array_equal(folded_laplace.ilogsf(log_q, 1, 2), [nan, 0, inf, nan, nan])


@pytest.mark.parametrize("name", [*VALUES, *QUANTILES])
def test_improper_parameters(name: str, isa: str) -> None:
    argument = {"ppf": 0.3, "isf": 0.3, "ilogcdf": -1.0, "ilogsf": -1.0}.get(name, 0.7)
    f = getattr(folded_laplace, name)
    for loc, scale in [(np.inf, 1), (-np.inf, 1), (np.nan, 1), (0, 0), (0, -1), (0, np.inf)]:
        assert np.isnan(f(argument, loc, scale)), (loc, scale)
    assert np.isnan(f(argument, 0.0, np.nan))
    np.testing.assert_array_equal(f(argument, [-1.5, 1.5], 2.0), f(argument, 1.5, 2.0))


def test_identities(isa: str) -> None:
    x, loc, scale = LAWS
    cdf, sf = folded_laplace.cdf(x, loc, scale), folded_laplace.sf(x, loc, scale)
    np.testing.assert_allclose(cdf + sf, 1.0, rtol=4e-16)
    t = np.geomspace(1e-300, 700, 500)
    # Without a centre it is the exponential law.
    np.testing.assert_allclose(folded_laplace.cdf(t, 0.0, 1.0), -np.expm1(-t), rtol=4e-16)
    np.testing.assert_allclose(folded_laplace.logsf(t, 0.0, 1.0), -t, rtol=1e-16)
    for m in (0.1, 3.0, 50.0):
        assert (np.diff(folded_laplace.cdf(np.linspace(0, 2 * m, 3001), m, 1.0)) >= 0).all()
        assert (np.diff(folded_laplace.ppf(np.linspace(0, 1, 3001), m, 1.0)) > 0).all()


def test_levels_agree() -> None:
    results = {}
    before = leakscore.active_isa()
    for level in leakscore.supported_isas():
        _core.select_isa(level)
        results[level] = [getattr(folded_laplace, name)(*LAWS) for name in VALUES]
    _core.select_isa(before)
    first = results[leakscore.supported_isas()[0]]
    for values in results.values():
        for name, a, b in zip(VALUES, values, first, strict=True):
            if name != "logpdf":
                np.testing.assert_allclose(a, b, rtol=7e-16, atol=2 * SUBNORMAL_STEP, err_msg=name)
    if {"v3", "v4"} <= set(results):
        np.testing.assert_array_equal(results["v3"], results["v4"])


def test_against_the_two_sided_law() -> None:
    """The oracle agrees with the definition, and scipy's Laplace law with both."""
    x, loc = np.meshgrid(np.linspace(0.01, 30, 40), np.linspace(-12, 12, 9))
    with mp.workdps(60):
        for point, centre in zip(x.ravel().tolist(), loc.ravel().tolist(), strict=True):
            true = oracle.from_two_sides(point, centre, 1.5)
            assert abs(oracle.cdf(point, centre, 1.5) / true - 1) < mpf(10) ** -40
    law = scipy.stats.laplace(loc=loc, scale=1.5)
    expected = law.cdf(x) - law.cdf(-x)
    np.testing.assert_allclose(folded_laplace.cdf(x, loc, 1.5), expected, rtol=1e-9)


def test_nothing_lies_below_the_fold(isa: str) -> None:
    cdf = folded_laplace.cdf([-1.0, -0.0, 0.0], 0.0, 1.0)
    assert (cdf == 0).all()
    assert not np.signbit(cdf).any()
