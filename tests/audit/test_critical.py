"""Critical values: published figures, the safe side, sizes at which the algorithm changes."""

from __future__ import annotations

import json
import math
from importlib import resources
from typing import Any

import mpmath
import numpy as np
import pytest

from leakscore.audit import bands, critical_value
from leakscore.distributions import kolmogorov
from tests.helpers.parts import BAND_METHODS, band
from tests.helpers.sizes import sizes
from tests.oracles import bands as oracle


@pytest.mark.parametrize(
    ("method", "n", "expected"),
    [
        ("weighted-ell", 100, 4.94249e-3),
        ("weighted-ell", 1000, 4.84619e-3),
        ("weighted-ell", 10_000, 5.12735e-3),
        ("ell", 10, 3.6818e-3),
        ("ell", 200, 8.4812e-4),
        ("ell", 1000, 5.32918e-4),
        ("ell", 20_000, 2.9772e-4),
        ("ell", 100_000, 2.4296e-4),
        ("berk-jones", 100, 5.3804),
        ("berk-jones", 1000, 5.8093),
        ("berk-jones", 10_000, 6.1216),
    ],
)
def test_figures_of_an_independent_implementation(method: str, n: int, expected: float) -> None:
    """Fourier transforms in numpy, printed to five digits; the same grid at n = 1e5."""
    assert critical_value(n, 0.95, method) == pytest.approx(
        expected, rel=2.1e-5
    )  # the digits that are printed


def test_closed_forms() -> None:
    assert critical_value(50, 0.9, "bonferroni") == pytest.approx(0.1 / 100)
    assert critical_value(50, 0.9, "dkw") == pytest.approx(math.sqrt(math.log(20) / 100))
    assert critical_value(50, 0.9, "dkw-two-sided") == pytest.approx(math.sqrt(math.log(40) / 100))
    exact = float(kolmogorov.isf(0.05, 50))
    assert exact < critical_value(50, 0.9, "ks") < exact * (1 + 1e-14)
    many = 10**9 + 1  # no law is computed, and hardly anything lost
    assert critical_value(many, 0.9, "ks") == critical_value(many, 0.9, "dkw")
    assert critical_value(many, 0.9, "ks") == pytest.approx(
        critical_value(many - 1, 0.9, "ks"), rel=5e-6
    )
    assert critical_value(1, 0.95, "ell") == pytest.approx(0.025, rel=1e-10)


@pytest.mark.parametrize("method", bands.LEVEL_METHODS)
@pytest.mark.parametrize(("n", "confidence"), [(1, 0.95), (2, 0.5), (17, 1 - 1e-10), (60, 0.01)])
def test_the_crossing_probability_is_the_miss(method: str, n: int, confidence: float) -> None:
    """Recomputed by a recursion in high precision from the very bounds of the band."""
    miss = (1 - confidence) / 2
    values = band(method, n, miss)(np.arange(n))
    with mpmath.workdps(80):
        found = oracle.crossing([mpmath.mpf(float(value)) for value in values])
        # A bound near 1 is rounded up to a double.
        assert -max(1e-11, 3e-14 / miss) < found / miss - 1 <= 0


@pytest.mark.parametrize("method", bands.LEVEL_METHODS)
@pytest.mark.parametrize("n", [1, 2, 12])
def test_far_tails_do_not_depend_on_the_doubles_near_one(n: int, method: str) -> None:
    """The bounds meant, not their doubles, are crossed with the probability that is missed."""
    confidence = 1.0 - 1e-12
    with mpmath.workdps(50):
        critical = mpmath.mpf(critical_value(n, confidence, method))
        found = oracle.crossing(oracle.bounds_at(method, n, critical))
        assert -1e-11 < found / ((1 - mpmath.mpf(confidence)) / 2) - 1 <= 0


@pytest.mark.parametrize("n", [19_999, 20_000, 20_001, 30_000])
def test_around_the_size_at_which_the_grid_begins(n: int) -> None:
    around = band("weighted-ell", n, 0.025)
    assert around.algorithm == ("exact" if n <= 20_000 else "exact on a square-root grid")
    assert -1e-8 < bands.crossing("weighted-ell", n, around.critical) / 0.025 - 1 <= 0
    assert around.critical == pytest.approx(5.2e-3, rel=0.02)
    assert around(0) * n == pytest.approx(5.25, rel=2e-3)  # log(1 / eta)
    values = around(np.arange(n + 1))
    assert (np.diff(values) >= 0).all()
    assert values[-1] == 1.0


def shipped_values() -> Any:
    text = resources.files("leakscore.data").joinpath("critical-values.json").read_text("utf-8")
    return json.loads(text)


@pytest.mark.parametrize("n", [1, 10, 1000, 20_001])
@pytest.mark.parametrize("method", bands.LEVEL_METHODS)
def test_shipped_values_are_those_that_the_search_finds(method: str, n: int) -> None:
    for confidence in (0.9, 0.99):
        miss = (1.0 - confidence) / 2.0
        shipped = shipped_values()[method][repr(miss)][str(n)]
        assert shipped == pytest.approx(bands.search(method, n, miss), rel=1e-9)
        assert critical_value(n, confidence, method) == shipped


def test_shipped_values_keep_to_the_safe_side() -> None:
    for method, columns in shipped_values().items():
        for miss, column in columns.items():
            for n in (n for n in map(int, column) if n <= 2000):
                crossed = bands.crossing(method, n, column[str(n)])
                assert -1e-8 < crossed / float(miss) - 1 <= 0, (method, miss, n)


@pytest.mark.parametrize("method", bands.LEVEL_METHODS)
def test_huge_samples(method: str) -> None:
    for n in (200_001, 10**7, 10**9):
        large = band(method, n, (1 - 0.95) / 2)  # shipped
        assert large.algorithm.startswith("exact on square-root grids of both ends, a maximal")
        assert large.knots.size < 100_000
        assert (np.diff(large.knots) > 0).all()
        assert (np.diff(large.values) >= 0).all()
        rates = large.knots / n
        middle = np.sqrt(rates * (1 - rates) / n)
        # No wider anywhere than six standard deviations and the tails' few counts.
        assert (large.values >= rates).all()
        assert (large.values - rates <= 6.5 * middle + 20 / n + 1e-3 * rates).all()


def test_the_middle_of_a_huge_sample_by_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The maximal inequalities alone, with ends of 40 counts and a miss of 0.4, are seldom wrong.

    Without the ratio of rates and with Chernoff's bound at each block alone they would be.
    """
    sizes(monkeypatch, band_ends=40)
    n, miss, rounds = 3000, 0.4, 1500
    knots, values = bands.far_counts(n, miss)
    assert knots.min() > 40
    assert knots.max() < n - 40
    rng = np.random.default_rng(4)
    # The bound of k errors fails iff the next order statistic lies above it.
    sorted_draws = np.sort(rng.random((rounds, n)), axis=1)
    failed = (sorted_draws[:, knots] > values).any(axis=1).mean()
    assert failed <= miss
    rates = knots / n
    assert (np.abs(values - rates) < 5.5 * np.sqrt(rates * (1 - rates) / n) + 0.01).all()


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((0,), ValueError, "n=0"),
        ((10**12 + 1,), ValueError, r"n=1000000000001 must be in \[1, 1000000000000\]"),
        ((10.5,), TypeError, "n=10.5"),
        ((10, 1.0), ValueError, "confidence"),
        ((10, 0.9, "best"), ValueError, ", ".join(BAND_METHODS)),
        ((10, 0.9, None), TypeError, "method"),
    ],
)
def test_refused(arguments: tuple, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        critical_value(*arguments)


@pytest.mark.parametrize("method", bands.LEVEL_METHODS)
@pytest.mark.parametrize("n", [1, 2, 30])
def test_the_last_confidence_below_one(n: int, method: str) -> None:
    """Few doubles are left below 1, where a bound may be."""
    confidence = 1.0 - 2.0**-53
    found = critical_value(n, confidence, method)
    assert bands.crossing(method, n, found) <= 2.0**-54
    assert (band(method, n, 2.0**-54)(np.arange(n)) > 0.5).all()
