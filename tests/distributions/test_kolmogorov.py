"""The one-sided Kolmogorov law against interval arithmetic and scipy, on every ISA level."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import leakscore
from leakscore.distributions import kolmogorov
from tests.oracles import kolmogorov as oracle

TOLERANCE = 5e-15  # above 1e-300

rng = np.random.default_rng(1951)


def points(n: int) -> np.ndarray:
    """Every region: a few standard deviations, t = n x of order one, both ends, region borders."""
    found = np.concatenate(
        [
            rng.uniform(0, 1, 4),
            np.abs(rng.normal(size=5)) / np.sqrt(n),
            rng.uniform(0, 20, 5) / n,
            10 ** rng.uniform(-12, 0, 3),
            1 - 10 ** rng.uniform(-10, -1, 2),
            np.array([1.0, np.nextafter(1.0, 2), np.nextafter(1.0, 0), 2.0, 17.9, 18.1]) / n,
            [1e-300, 5e-324, np.sqrt(0.349 / n), np.sqrt(0.351 / n), 0.2499, 0.2501],
        ]
    )
    return found[(found > 0) & (found < 1)]


SMALL = [1, 2, 3, 4, 7, 20, 64, 199, 200, 201, 400, 925, 1600]
# (n, t = n x, bits): the alternating sum loses 1.45 t bits
LARGE = [
    (10**6, 0.3, 400), (10**6, 5.5, 400), (10**6, 17.99, 400), (10**6, 18.01, 400),
    (10**6, 250.25, 800), (10**6, 589.0, 1200), (10**6, 594.0, 1200), (10**6, 1500.5, 3000),
    (10**7, 18.5, 400), (10**7, 300.0, 900), (10**9, 17.5, 400), (10**9, 40.0, 400),
    (10**9, 1000.75, 2000), (123_457, 800.5, 2000),
]  # fmt: skip


@pytest.fixture(scope="module")
def truth() -> list[tuple[float, int, tuple]]:
    found = [(x, n, oracle.by_upper_sum(x, n)) for n in SMALL for x in points(n).tolist()]
    return found + [(t / n, n, oracle.by_lower_sum(t / n, n, bits)) for n, t, bits in LARGE]


def relative(value: float, true) -> float:
    return abs(float(value / true - 1))


@pytest.mark.usefixtures("isa")
def test_accuracy(truth: list[tuple[float, int, tuple]]) -> None:
    x, n = (np.array([row[i] for row in truth], dtype=float) for i in (0, 1))
    names = ("sf", "cdf", "pdf")
    got = {name: getattr(kolmogorov, name)(x, n) for name in names}
    logs = {name: getattr(kolmogorov, f"log{name}")(x, n) for name in names}
    for i, (point, size, exact) in enumerate(truth):
        for name, true in zip(names, exact, strict=True):
            if float(true) > 1e-300:
                assert relative(got[name][i], true) < TOLERANCE, (name, point, size)
            else:
                assert abs(got[name][i] - float(true)) <= TOLERANCE * 1e-300, (name, point, size)
            size_of_log = abs(logs[name][i])
            allowed = 1 if name == "pdf" else min(1, size_of_log)  # a log density crosses zero
            allowed = max(TOLERANCE * allowed, 1e-15 * size_of_log)
            assert abs(float(logs[name][i] - true.log())) <= allowed, (name, point, size)


@pytest.mark.usefixtures("isa")
def test_far_tails_against_the_sum() -> None:
    """Log-probabilities that no double holds, where hundreds of thousands of terms would count."""
    for n, x in [(2000, 0.3), (2000, 0.9), (5000, 0.26), (20_000, 0.6), (20_000, 0.999)]:
        sf, _, density = oracle.by_upper_sum(x, n, bits=300)
        np.testing.assert_allclose(kolmogorov.logsf(x, n), float(sf.log()), rtol=1e-15)
        np.testing.assert_allclose(kolmogorov.logpdf(x, n), float(density.log()), rtol=1e-15)
    # Poisson's summation over every h-th term on one side of x = 1/4, the contour on the other
    for n in (10**5, 10**7, 10**9):
        logs = kolmogorov.logsf([0.25, np.nextafter(0.25, 1)], n)
        slope = np.exp(kolmogorov.logpdf(0.25, n) - logs[0])
        np.testing.assert_allclose(logs[1], logs[0] - slope * 2.0**-54, rtol=1e-15)


def test_against_scipy() -> None:
    n = rng.integers(1, 3000, 200)
    x = np.abs(rng.normal(size=200)) / np.sqrt(n)
    keep = x < 1
    ours = kolmogorov.sf(x[keep], n[keep])
    np.testing.assert_allclose(ours, scipy.special.smirnov(n[keep], x[keep]), rtol=1e-12)
    q = rng.uniform(size=60)
    theirs = scipy.special.smirnovi(n[:60], q)
    np.testing.assert_allclose(kolmogorov.isf(q, n[:60]), theirs, rtol=1e-10)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("n", [1, 2, 3, 10, 200, 201, 900, 10**4, 10**7, 10**9])
def test_quantiles(n: int) -> None:
    q = np.concatenate([rng.uniform(size=25), 10 ** rng.uniform(-300, 0, 25), [0.5, 1e-300]])
    more = np.concatenate([-(10 ** rng.uniform(-12, 5, 30)), [-1e-300, -0.69, -0.7, -1e300]])
    for quantile, log_quantile, log_tail in (
        (kolmogorov.ppf, kolmogorov.ilogcdf, kolmogorov.logcdf),
        (kolmogorov.isf, kolmogorov.ilogsf, kolmogorov.logsf),
    ):
        for x, logs in ((quantile(q, n), np.log(q)), (log_quantile(more, n), more)):
            assert ((x >= 0) & (x <= 1)).all()
            inside = (x > 1e-290) & (x < 1)  # the others are no doubles, or nearly
            x, logs = x[inside], logs[inside]
            found = log_tail(x, n)
            rounding = 2.0**-52 * x * np.exp(kolmogorov.logpdf(x, n) - found)
            assert (np.abs(found - logs) <= 1e-15 * np.abs(logs) + 4e-15 + rounding).all()
        np.testing.assert_allclose(log_quantile(np.log(q), n), quantile(q, n), rtol=2e-13)


def test_closed_forms() -> None:
    x = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(kolmogorov.sf(x, 1), 1 - x, rtol=1e-15)
    np.testing.assert_allclose(kolmogorov.pdf(x, 1), 1.0, rtol=1e-15)
    n = 12
    x = 1 - x / n
    np.testing.assert_allclose(kolmogorov.logsf(x, n), n * np.log1p(-x), rtol=1e-14)
    np.testing.assert_allclose(kolmogorov.ilogsf(-1e5, [3, 10]), 1.0)
    np.testing.assert_allclose(kolmogorov.ppf(1e-250, [1, 10**9]), 1e-250, rtol=1e-15)


def test_monotone_across_the_methods() -> None:
    for n in (150, 200, 201, 930, 10**6):
        for border in (18 / n, np.sqrt(0.35 / n), 0.25):
            x = np.clip(border + np.linspace(-1e-9, 1e-9, 401) * border, 0, 1)
            tails = kolmogorov.logsf(x, n)
            assert (np.diff(tails) <= 4e-15 * np.abs(tails[1:])).all()
            assert (np.diff(kolmogorov.cdf(x, n)) >= -4e-15).all()


def test_ends_and_bad_values() -> None:
    x = np.array([-np.inf, -1.0, 0.0, 1.0, 2.0, np.inf, np.nan])
    nan = np.nan
    np.testing.assert_array_equal(kolmogorov.sf(x, 5), [1, 1, 1, 0, 0, 0, nan])
    np.testing.assert_array_equal(kolmogorov.cdf(x, 5), [0, 0, 0, 1, 1, 1, nan])
    inf = np.inf
    np.testing.assert_array_equal(kolmogorov.logsf(x, 5), [0, 0, 0, -inf, -inf, -inf, nan])
    np.testing.assert_array_equal(kolmogorov.logcdf(x, 5), [-inf, -inf, -inf, 0, 0, 0, nan])
    np.testing.assert_array_equal(kolmogorov.pdf(x, 5), [0, 0, 1, 0, 0, 0, nan])
    np.testing.assert_array_equal(kolmogorov.pdf(x, 1), [0, 0, 1, 1, 0, 0, nan])
    np.testing.assert_array_equal(kolmogorov.logpdf(x, 5), [-inf, -inf, 0, -inf, -inf, -inf, nan])
    q = np.array([-0.1, 0.0, 1.0, 1.1, nan])
    np.testing.assert_array_equal(kolmogorov.ppf(q, 5), [nan, 0, 1, nan, nan])
    np.testing.assert_array_equal(kolmogorov.isf(q, 5), [nan, 1, 0, nan, nan])
    logs = np.array([-inf, -0.0, 0.1, nan])
    np.testing.assert_array_equal(kolmogorov.ilogcdf(logs, 5), [0, 1, nan, nan])
    np.testing.assert_array_equal(kolmogorov.ilogsf(logs, 5), [1, 0, nan, nan])
    for n in (0, -1, 0.5, 1.5, 10.25, nan, inf, -inf, 2e9):
        for name in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf"):
            for value in (0.0, 0.3, 1.0):
                assert np.isnan(getattr(kolmogorov, name)(value, n)), (name, value, n)
        for name in ("ilogcdf", "ilogsf"):
            for value in (-inf, -0.3, 0.0):
                assert np.isnan(getattr(kolmogorov, name)(value, n)), (name, value, n)


def test_threads_and_flags() -> None:
    x, n = rng.uniform(size=70_000) ** 4, rng.integers(1, 30, 70_000)
    leakscore.set_num_threads(1)
    alone = kolmogorov.logsf(x, n)
    leakscore.set_num_threads(4)
    np.testing.assert_array_equal(kolmogorov.logsf(x, n), alone)
    with np.errstate(all="raise"):
        for name in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf", "ilogsf"):
            function = getattr(kolmogorov, name)
            function(np.array([np.nan, np.inf, 0.0, 1e-310, 0.9999, -1.0, -1e4]), 1000.0)
