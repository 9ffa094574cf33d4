"""The normal law against mpmath, on every ISA level that this machine runs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
from mpmath import mp, mpf

import leakscore
from leakscore import _core
from leakscore.distributions import norm
from tests.oracles import normal as oracle

NORMAL_MIN = 2.3e-308
SUBNORMAL_STEP = 5e-324
TOLERANCE = {"v2": 1e-15, "v3": 5e-16, "v4": 5e-16, "native": 5e-16}
LARGEST = float.fromhex("0x1.6a09e667f3bccp+512")  # the largest a with a finite a^2 / 2

rng = np.random.default_rng(20240)


def neighbourhood(points: list[float], count: int = 4) -> np.ndarray:
    """Return the doubles next to each point: region borders sit there."""
    found = list(points)
    for direction in (-np.inf, np.inf):
        x = np.array(points)
        for _ in range(count):
            x = np.nextafter(x, direction)
            found.extend(x)
    return np.array(found)


def abscissas() -> np.ndarray:
    signs = rng.choice([-1.0, 1.0], 150)
    return np.concatenate(
        [
            np.linspace(-38.6, 38.6, 501),
            np.linspace(-38.6, -37.4, 121),  # results near and below 2.3e-308
            rng.normal(size=300),
            rng.uniform(-0.05, 0.05, 200),
            signs * 10 ** rng.uniform(-320, 0, 150),
            neighbourhood([0.0, 1.0, -1.0, 5.0, -5.0, 38.4, -38.4, -37.5, 39.0, -39.0]),
        ]
    )


def far_abscissas() -> np.ndarray:
    far = [*-(10 ** rng.uniform(1, 154.2, 300)), -1e150, -LARGEST, 39.5, 1e3, 1e200]
    return np.concatenate([abscissas(), far, neighbourhood([-760.5, -200.0])])


def masses() -> np.ndarray:
    half = 0.5 + rng.choice([-1, 1], 200) * 10 ** rng.uniform(-16.2, -0.31, 200)
    border = float(mp.exp(-4))
    found = np.concatenate(
        [
            rng.uniform(0, 1, 300),
            10 ** rng.uniform(-323.3, 0, 300),
            half,
            1 - 10 ** rng.uniform(-15.9, 0, 150),
            border + np.linspace(-2e-3, 2e-3, 100),
            neighbourhood([0.5, border, 1 - border, 2.3e-308, 0.25]),
            [SUBNORMAL_STEP, 2 * SUBNORMAL_STEP, 1 - 2.0**-53],
        ]
    )
    return found[(found > 0) & (found < 1)]


def log_masses() -> np.ndarray:
    half = -np.log(2) + rng.choice([-1, 1], 150) * 10 ** rng.uniform(-17, -0.3, 150)
    upper_border = float(mp.log1p(-mp.exp(-4)))
    found = np.concatenate(
        [
            -(10 ** rng.uniform(-300, 300, 300)),
            -(10 ** rng.uniform(-18, 3, 300)),
            half,
            rng.uniform(-760, -60, 120),
            neighbourhood([-4.0, -60.0, -750.0, -745.0, -0.3465, -1.04, -np.log(2), upper_border]),
            [-1e300, -1e-300, -SUBNORMAL_STEP, -1e-310, -1.79e308],
        ]
    )
    return found[found < 0]


GRIDS = {
    "pdf": abscissas(),
    "cdf": abscissas(),
    "sf": abscissas(),
    "logpdf": far_abscissas(),
    "logcdf": far_abscissas(),
    "logsf": -far_abscissas(),
    "ppf": masses(),
    "isf": masses(),
    "ilogcdf": log_masses(),
    "ilogsf": log_masses(),
}


@pytest.fixture(scope="module")
def truth() -> dict[str, list[mpf]]:
    with mp.workdps(50):
        return {
            name: [getattr(oracle, name)(x) for x in grid.tolist()] for name, grid in GRIDS.items()
        }


@pytest.mark.parametrize("name", GRIDS)
def test_accuracy(name: str, isa: str, truth: dict[str, list[mpf]]) -> None:
    got = getattr(norm, name)(GRIDS[name])
    assert got.dtype == np.float64
    for x, value, true in zip(GRIDS[name].tolist(), got.tolist(), truth[name], strict=True):
        if not np.isfinite(float(true)):
            assert value == float(true), x
        elif abs(true) >= NORMAL_MIN:
            assert abs(mpf(value) / true - 1) <= TOLERANCE[isa], (x, value)
        else:
            assert abs(mpf(value) - true) <= SUBNORMAL_STEP, (x, value)


@pytest.mark.parametrize("name", GRIDS)
def test_levels_agree(name: str) -> None:
    results = {}
    before = leakscore.active_isa()
    for level in leakscore.supported_isas():
        _core.select_isa(level)
        results[level] = getattr(norm, name)(GRIDS[name])
    _core.select_isa(before)
    first = results[leakscore.supported_isas()[0]]
    for level, values in results.items():
        np.testing.assert_allclose(values, first, rtol=7e-16, atol=SUBNORMAL_STEP, err_msg=level)
    if {"v3", "v4"} <= set(results):
        np.testing.assert_array_equal(results["v3"], results["v4"])


def test_ends(isa: str) -> None:
    points = [-np.inf, np.inf, np.nan, 0.0]
    inf, nan, log_half = np.inf, np.nan, np.log(0.5)
    expected = {
        "pdf": [0, 0, nan, 1 / np.sqrt(2 * np.pi)],
        "logpdf": [-inf, -inf, nan, -0.5 * np.log(2 * np.pi)],
        "cdf": [0, 1, nan, 0.5],
        "sf": [1, 0, nan, 0.5],
        "logcdf": [-inf, 0, nan, log_half],
        "logsf": [0, -inf, nan, log_half],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(norm, name)(points), values, 2e-16, err_msg=name)
    for value in (-1e-300, -1.0, 1 + 2**-52, 2.0, np.inf, -np.inf, np.nan):
        assert np.isnan(norm.ppf(value))
        assert np.isnan(norm.isf(value))
    np.testing.assert_array_equal(norm.ppf([0.0, -0.0, 0.5, 1.0]), [-inf, -inf, 0, inf])
    np.testing.assert_array_equal(norm.isf([0.0, -0.0, 0.5, 1.0]), [inf, inf, 0, -inf])
    for value in (5e-324, 1e-300, 1.0, np.inf, np.nan):
        assert np.isnan(norm.ilogcdf(value))
        assert np.isnan(norm.ilogsf(value))
    np.testing.assert_array_equal(norm.ilogcdf([-inf, -0.0, 0.0]), [-inf, inf, inf])
    np.testing.assert_array_equal(norm.ilogsf([-inf, -0.0, 0.0]), [inf, -inf, -inf])


def test_log_overflows_where_the_value_does(isa: str) -> None:
    beyond = np.nextafter(LARGEST, np.inf)
    for function, sign in ((norm.logcdf, -1), (norm.logsf, 1)):
        assert np.isfinite(function(sign * LARGEST))
        assert function(sign * beyond) == -np.inf
        assert function(-sign * beyond) == 0.0
    assert np.isfinite(norm.logpdf(LARGEST))
    assert norm.logpdf(beyond) == norm.logpdf(-beyond) == -np.inf


def test_identities(isa: str) -> None:
    x = GRIDS["cdf"]
    np.testing.assert_allclose(norm.cdf(x) + norm.sf(x), 1.0, rtol=2.3e-16)
    np.testing.assert_array_equal(norm.sf(x), norm.cdf(-x))
    np.testing.assert_array_equal(norm.logsf(x), norm.logcdf(-x))
    np.testing.assert_array_equal(norm.pdf(x), norm.pdf(-x))
    p, log_p = GRIDS["ppf"], GRIDS["ilogcdf"]
    np.testing.assert_array_equal(norm.isf(p), -norm.ppf(p))
    np.testing.assert_array_equal(norm.ilogsf(log_p), -norm.ilogcdf(log_p))


def test_quantiles_invert(isa: str) -> None:
    x = np.concatenate([-(10 ** rng.uniform(-3, 150, 400)), rng.uniform(-38, 37, 400)])
    # An error of one part in 1e16 in the log mass moves x by log Phi(x) Phi(x) / pdf(x) of that.
    np.testing.assert_allclose(norm.ilogcdf(norm.logcdf(x)), x, rtol=1.3e-15, atol=4e-16)
    np.testing.assert_allclose(norm.ilogsf(norm.logsf(-x)), -x, rtol=1.3e-15, atol=4e-16)
    left = rng.uniform(-37, 0, 400)
    np.testing.assert_allclose(norm.ppf(norm.cdf(left)), left, rtol=1.3e-15, atol=1e-15)


@pytest.mark.parametrize("name", [name for name in GRIDS if "pdf" not in name])
def test_monotone_to_the_last_digits(name: str) -> None:
    """Neighbouring doubles may step back by a rounding error, never by more."""
    falling = name in ("sf", "logsf", "isf", "ilogsf")
    starts = GRIDS[name][np.isfinite(GRIDS[name])][::10]
    runs = [starts]
    for _ in range(30):
        runs.append(np.nextafter(runs[-1], np.inf))
    values = getattr(norm, name)(np.array(runs)) * (-1 if falling else 1)
    values = values[:, np.isfinite(values).all(axis=0)]
    assert values.shape[1] > 50
    back = values[:-1] - values[1:]
    assert (back <= 1e-15 * np.abs(values[1:]) + SUBNORMAL_STEP).all()
    assert (values[-1] >= values[0] - 1e-15 * np.abs(values[0])).all()


def test_agrees_with_scipy() -> None:
    x = np.linspace(-37, 37, 2001)
    np.testing.assert_allclose(norm.cdf(x), scipy.special.ndtr(x), rtol=5e-13)
    np.testing.assert_allclose(norm.logcdf(x), scipy.special.log_ndtr(x), rtol=5e-13)
    p = 10 ** np.linspace(-300, -1e-3, 2001)
    np.testing.assert_allclose(norm.ppf(p), scipy.special.ndtri(p), rtol=2e-15)
    np.testing.assert_allclose(norm.ilogcdf(np.log(p)), scipy.special.ndtri_exp(np.log(p)), 1e-12)


@pytest.mark.parametrize("name", ["ppf", "isf"])
def test_a_quantile_does_not_depend_on_its_neighbours(name: str, isa: str) -> None:
    """Groups that lie in the centre take another way than those with one number of a tail."""
    centre = rng.uniform(0.02, 0.98, 203)
    mixed = np.where(rng.random(centre.size) < 0.1, rng.uniform(size=centre.size) ** 20, centre)
    mixed[[5, 77]], mixed[-1] = np.nan, 1.0
    function = getattr(norm, name)
    for values in (centre, mixed, neighbourhood([np.exp(-4.0), -np.expm1(-4.0)])):
        alone = [function(value) for value in values]
        np.testing.assert_array_equal(function(values), alone)
