"""Edgeworth expansions against series derived in fractions, and against exact laws."""

from __future__ import annotations

import pickle
from functools import cache
from math import factorial

import numpy as np
import pytest
import scipy.stats
from mpmath import mp, mpf

from leakscore.distributions import edgeworth, norm
from tests.oracles import edgeworth as oracle

POINTS = ["pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"]
QUANTILES = {"ppf": "cdf", "isf": "sf", "ilogcdf": "logcdf", "ilogsf": "logsf"}


def gamma_sum(n: float) -> np.ndarray:
    """Return the cumulants of a sum of n exponential variables."""
    return np.array([n * factorial(r - 1) for r in range(1, 7)], dtype=float)


def binomial(n: float, p: float) -> np.ndarray:
    v = p * (1 - p)
    skew, flat = 1 - 2 * p, 1 - 12 * v
    return n * np.array(
        [p, v, v * skew, v * (1 - 6 * v), v * skew * flat, v * (1 - 30 * v + 120 * v**2)]
    )


FAMILIES = {
    "gamma 50": gamma_sum(50),
    "gamma 12": gamma_sum(12),
    "binomial 400": binomial(400, 0.1),
    "chi-square 600": gamma_sum(300) * 2.0 ** np.arange(1, 7),
    "far from 0": np.array([1e6, 3.0, -0.5, 0.25, 0.1, -0.2]),
    "nearly normal": np.array([-2.0, 1e-6, 1e-18, 1e-26, 1e-33, 1e-40]),
}
each_family = pytest.mark.parametrize("family", FAMILIES)
each_length = pytest.mark.parametrize("length", range(2, 7))


def valid_points(cumulants: np.ndarray, count: int = 20001, width: float = 12.0) -> np.ndarray:
    x = cumulants[0] + np.sqrt(cumulants[1]) * np.linspace(-width, width, count)
    return x[edgeworth.valid(x, cumulants)]


@cache
def truth(family: str, length: int) -> list[tuple[str, float, mpf]]:
    """Return functions, points and the exact values: the same at every level."""
    cumulants = FAMILIES[family][:length]
    x = valid_points(cumulants)
    x = x[:: max(1, x.size // 8)]
    assert x.size >= 8
    found = []
    with mp.workdps(40):
        for point in x.tolist():
            for name in POINTS:
                true = getattr(oracle, name.removeprefix("log"))(point, cumulants.tolist())
                found.append((name, point, mp.log(true) if name.startswith("log") else true))
    return found


@each_length
@each_family
def test_accuracy_of_the_series(family: str, length: int, isa: str) -> None:
    cumulants = FAMILIES[family][:length]
    for name, point, true in truth(family, length):
        got = mpf(float(getattr(edgeworth, name)(point, cumulants)))
        with mp.workdps(40):
            # Logs near 0 are those of a mass near 1.
            assert abs(got - true) <= 5e-14 * max(abs(true), 1e-2 * name.startswith("log"))


@each_length
@each_family
def test_cornish_fisher_is_the_derived_series(family: str, length: int) -> None:
    cumulants = FAMILIES[family][:length]
    for q in (0.01, 0.3, 0.5, 0.77, 0.99):
        with mp.workdps(40):
            true = oracle.cornish_fisher(mpf(float(norm.ppf(q))), cumulants.tolist())
        got = edgeworth.cornish_fisher(q, cumulants)
        if not np.isnan(got):
            assert abs(got - float(true)) <= 2e-15 * (abs(true) + np.sqrt(cumulants[1]))
    assert np.isfinite(edgeworth.cornish_fisher([0.1, 0.5, 0.9], FAMILIES[family][:length])).all()


@each_length
@each_family
def test_valid_is_where_there_is_a_number(family: str, length: int, isa: str) -> None:
    cumulants = FAMILIES[family][:length]
    x = cumulants[0] + np.sqrt(cumulants[1]) * np.linspace(-60, 60, 24001)
    valid = edgeworth.valid(x, cumulants)
    assert valid.dtype == np.bool_
    assert valid[12000]
    assert np.abs(np.diff(valid.astype(int))).sum() <= 2  # one interval
    for name in POINTS:
        values = getattr(edgeworth, name)(x, cumulants)
        np.testing.assert_array_equal(np.isnan(values), ~valid)
    inside = x[valid]
    cdf, sf = edgeworth.cdf(inside, cumulants), edgeworth.sf(inside, cumulants)
    assert ((cdf >= 0) & (cdf <= 1) & (sf >= 0) & (sf <= 1)).all()
    assert (np.diff(cdf) >= -3e-16).all()
    assert (np.diff(sf) <= 3e-16).all()
    assert (edgeworth.pdf(inside, cumulants) >= 0).all()
    np.testing.assert_allclose(cdf + sf, 1.0, rtol=4e-16)
    near = np.abs(inside - cumulants[0]) < 8 * np.sqrt(cumulants[1])
    for name, values in (("logcdf", cdf), ("logsf", sf)):
        logs = getattr(edgeworth, name)(inside[near], cumulants)
        np.testing.assert_allclose(np.exp(logs), values[near], rtol=2e-14)


LAWS = {
    "gamma 20": (scipy.stats.gamma(20), gamma_sum(20)),
    "gamma 50": (scipy.stats.gamma(50), gamma_sum(50)),
    "gamma 400": (scipy.stats.gamma(400), gamma_sum(400)),
    "chi-square 100": (scipy.stats.chi2(100), gamma_sum(50) * 2.0 ** np.arange(1, 7)),
    "chi-square 2000": (scipy.stats.chi2(2000), gamma_sum(1000) * 2.0 ** np.arange(1, 7)),
}
WORST = {3: 0.16, 4: 0.06, 5: 0.1, 6: 0.12}  # of the smaller tail, where the expansion is valid


@pytest.mark.parametrize("length", WORST)
@pytest.mark.parametrize("law", LAWS)
def test_error_of_the_expansion_where_it_is_valid(law: str, length: int) -> None:
    exact, cumulants = LAWS[law]
    x = valid_points(cumulants[:length])
    above = x > cumulants[0]
    got = np.where(above, edgeworth.sf(x, cumulants[:length]), edgeworth.cdf(x, cumulants[:length]))
    error = np.abs(got / np.where(above, exact.sf(x), exact.cdf(x)) - 1)
    assert error.max() < WORST[length]
    assert np.median(error) < 0.05 * WORST[length]


def test_longer_expansions_are_better() -> None:
    exact, cumulants = LAWS["gamma 400"]
    x = exact.ppf(np.linspace(0.05, 0.95, 50))
    errors = [np.abs(edgeworth.cdf(x, cumulants[:k]) - exact.cdf(x)).max() for k in range(2, 7)]
    assert (np.diff(errors) < 0).all()
    assert errors[-1] < 1e-6 < errors[1] < 1e-3 < errors[0]


def test_binomial_with_continuity_correction() -> None:
    law, cumulants = scipy.stats.binom(400, 0.3), binomial(400, 0.3)
    k = np.arange(90, 151)
    # The lattice adds its own term, -1/24 h^2 p'(x), of order n^-1.
    np.testing.assert_allclose(edgeworth.cdf(k + 0.5, cumulants), law.cdf(k), atol=3e-4)


@each_length
@each_family
@pytest.mark.parametrize("name", QUANTILES)
def test_quantiles_invert(name: str, family: str, length: int, isa: str) -> None:
    cumulants = FAMILIES[family][:length]
    deviation = np.sqrt(cumulants[1])
    x = valid_points(cumulants, 301, width=6.0)[1:-1]
    masses = getattr(edgeworth, QUANTILES[name])(x, cumulants)
    # What a rounding of the probability moves x by.
    slope = edgeworth.pdf(x, cumulants)
    size = np.abs(masses) * (np.exp(masses) if name.startswith("ilog") else 1.0)
    slack = 8e-16 * (np.abs(x) + deviation + size / slope)
    back = getattr(edgeworth, name)(masses, cumulants)
    assert (np.abs(back - x) <= slack).all()


def test_quantiles_outside(isa: str) -> None:
    cumulants = gamma_sum(50)
    for name in ("ppf", "isf"):
        values = getattr(edgeworth, name)([-0.1, 0.0, 1.0, 1.1, np.nan, 1e-300], cumulants)
        assert np.isnan(values).all(), name
        assert np.isfinite(getattr(edgeworth, name)(0.5, cumulants))
    for name in ("ilogcdf", "ilogsf"):
        values = getattr(edgeworth, name)([0.0, -1e-300, 0.1, -1e3, -np.inf, np.nan], cumulants)
        assert np.isnan(values).all(), name


def test_two_cumulants_are_the_normal_law(isa: str) -> None:
    x = np.concatenate([np.linspace(-35, 35, 141), [-np.inf, np.inf, np.nan]])
    for name in POINTS:
        ours = getattr(edgeworth, name)(2 * x + 5, [5, 4])
        normal = getattr(norm, name)(x)
        expected = {"pdf": normal / 2, "logpdf": normal - np.log(2)}.get(name, normal)
        np.testing.assert_allclose(ours, expected, rtol=1e-15, err_msg=name)
    q = [0.0, 1e-300, 0.2, 0.5, 0.99, 1.0]
    for name in ("ppf", "isf", "cornish_fisher"):
        expected = 5 + 2 * (norm.isf if name == "isf" else norm.ppf)(q)
        np.testing.assert_allclose(getattr(edgeworth, name)(q, (5, 4, 0)), expected, rtol=1e-15)


def test_hopeless_cumulants_are_valid_nowhere() -> None:
    x = np.linspace(-5, 5, 101)
    for cumulants in ([0, 1, 50.0], [0, 1, 0, 0, 0, -1e5], [0, 1e-300, 1.0]):
        assert not edgeworth.valid(x, cumulants).any()
        assert np.isnan(edgeworth.cdf(x, cumulants)).all()
        assert np.isnan(edgeworth.ppf([0.1, 0.5, 0.9], cumulants)).all()


def test_arrays_of_cumulants() -> None:
    sets = np.stack([gamma_sum(30), gamma_sum(40), gamma_sum(50)])
    x = np.linspace(25, 55, 7)
    table = edgeworth.cdf(x[:, None], sets)
    assert table.shape == (7, 3)
    for column, cumulants in enumerate(sets):
        np.testing.assert_array_equal(table[:, column], edgeworth.cdf(x, cumulants))
    np.testing.assert_array_equal(edgeworth.cdf(x, sets[0].tolist()), table[:, 0])
    np.testing.assert_array_equal(edgeworth.cdf(x[:3], sets[::-1].astype(">f8")[::-1]), [
        edgeworth.cdf(a, b) for a, b in zip(x[:3], sets, strict=True)
    ])  # fmt: skip
    out = np.zeros((7, 3))
    assert edgeworth.cdf(x[:, None], sets, out=out) is out
    np.testing.assert_array_equal(out, table)
    assert edgeworth.cdf(x, sets[0], dtype=np.float32).dtype == np.float32
    assert isinstance(edgeworth.cdf(40.0, sets[0]), np.float64)
    assert pickle.loads(pickle.dumps(edgeworth)) is edgeworth
    assert pickle.loads(pickle.dumps(edgeworth.cdf)) is edgeworth.cdf
    with pytest.raises(TypeError, match=r"edgeworth\.cdf"):
        edgeworth.cdf(x, sets[0], x)
