"""Bands and what they certify against high precision and loops over every threshold."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from scipy import special

from leakscore import _core
from leakscore.audit import Audit, critical_value
from tests.helpers.parts import BAND_METHODS, Band, band, beta_bounds
from tests.oracles import audit as thresholds_of
from tests.oracles import bands as oracle

MISS = (1 - 0.95) / 2  # of a band of the default confidence


@pytest.mark.parametrize("method", BAND_METHODS)
@pytest.mark.parametrize(("n", "miss"), [(1, 0.025), (2, 0.2), (9, 0.025), (9, 1e-7)])
def test_every_bound_against_high_precision(method: str, n: int, miss: float) -> None:
    found = band(method, n, miss)
    with mpmath.workdps(40):
        exact = oracle.band(method, n, miss, found.critical)
        for k in range(n + 1):
            bound = mpmath.mpf(float(found(k)))
            assert exact[k] * (1 - mpmath.mpf(10) ** -30) <= bound <= exact[k] * (1 + 2e-14)
            assert found.lower(n - k) <= 1 - bound
            assert found.lower(n - k) == pytest.approx(float(1 - exact[k]), abs=8e-15)


@pytest.mark.parametrize(("method", "weight"), [("ell", 0.0), ("weighted-ell", 0.5)])
@pytest.mark.parametrize("n", [100, 20_000, 20_001, 10**6])
def test_levels_of_larger_samples(method: str, weight: float, n: int) -> None:
    """The bound for k errors is a beta quantile wherever k + 1 is constrained."""
    found, eta = band(method, n, MISS), critical_value(n, 0.95, method)
    for k in (0, 1, 7, 50, 99):
        level = eta / (k + 1) ** weight
        assert special.betainc(k + 1, n - k, found(k)) == pytest.approx(1 - level, rel=1e-13)


def certified(
    members: np.ndarray, nonmembers: np.ndarray, delta: float, bands: tuple[Band, Band]
) -> mpmath.mpf:
    """Return the largest logarithm over all thresholds, from the bounds as they are."""
    best = mpmath.mpf(1)
    for threshold in thresholds_of.thresholds(members.tolist(), nonmembers.tolist()):
        k0, k1 = (nonmembers > threshold).sum(), (members <= threshold).sum()
        rates = [mpmath.mpf(float(b(k))) for b, k in zip(bands, (k0, k1), strict=True)]
        for low, high in (rates, rates[::-1]):
            best = max(best, (1 - mpmath.mpf(delta) - high) / low)
    return mpmath.log(best)


CASES: dict[str, Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]] = {
    "shifted": lambda rng: (rng.normal(2, 1, 70), rng.normal(0, 1, 40)),
    "ties": lambda rng: (rng.normal(1, 1, 200).round(), rng.normal(0, 1, 150).round()),
    "reversed": lambda rng: (rng.normal(-3, 1, 60), rng.normal(0, 1, 90)),
    "separated": lambda rng: (np.arange(50.0) + 100, np.arange(30.0)),
    "all equal": lambda rng: (np.zeros(40), np.zeros(60)),
    "one member": lambda rng: (np.ones(1), np.zeros(200)),
    "one non-member": lambda rng: (np.ones(200), np.zeros(1)),
    "infinities": lambda rng: (
        np.repeat([-np.inf, 0.0, 3.0, np.inf], [3, 5, 20, 90]),
        np.repeat([-np.inf, 0.0, 3.0, np.inf], [80, 20, 3, 1]),
    ),
    "only infinities": lambda rng: (np.full(30, -np.inf), np.full(20, -np.inf)),
}


@pytest.mark.parametrize("method", BAND_METHODS)
@pytest.mark.parametrize("case", CASES)
def test_epsilon_against_every_threshold(method: str, case: str) -> None:
    members, nonmembers = CASES[case](np.random.default_rng(11))
    audit, confidence = Audit(members, nonmembers), 0.9
    n0, n1 = nonmembers.size, members.size
    for orientation, miss in (("high", (1 - confidence) / 2), ("both", (1 - confidence) / 4)):
        bands = band(method, n0, miss), band(method, n1, miss)
        for delta in (0.0, 0.05):
            bound = audit.epsilon(delta, confidence, method, orientation=orientation)
            exact = certified(members, nonmembers, delta, bands)
            if orientation == "both":
                exact = max(exact, certified(-members, -nonmembers, delta, bands))
            assert 0 <= exact - bound.epsilon < 1e-13
            sign = 1.0 if bound.orientation == "high" else -1.0
            k0 = (sign * nonmembers > sign * bound.threshold).sum()
            missed = sign * members > sign * bound.threshold
            assert (bound.fpr, bound.fnr) == (k0 / n0, (~missed).sum() / n1)
            assert (bound.fpr_upper, bound.fnr_upper) == (bands[0](k0), bands[1]((~missed).sum()))
            assert bound.algorithm == bands[0].algorithm
            best = certified(np.ones(n1), np.zeros(n0), delta, bands)
            assert 0 <= best - bound.max_certifiable < 1e-13
            assert bound.epsilon > 0 or case != "separated"


@pytest.mark.parametrize("method", BAND_METHODS)
@pytest.mark.parametrize("case", CASES)
def test_the_frontier_dominates_every_threshold(method: str, case: str) -> None:
    members, nonmembers = CASES[case](np.random.default_rng(12))
    bands = band(method, nonmembers.size, 0.05), band(method, members.size, 0.05)
    found = Audit(members, nonmembers)._samples.frontier(*bands)
    assert (np.diff(found.threshold) > 0).all()
    assert found.false_positives.tolist() == [(nonmembers > t).sum() for t in found.threshold]
    assert found.false_negatives.tolist() == [(members <= t).sum() for t in found.threshold]
    assert found.fpr_upper.tolist() == bands[0](found.false_positives).tolist()
    assert found.fnr_upper.tolist() == bands[1](found.false_negatives).tolist()
    for t in thresholds_of.thresholds(members.tolist(), nonmembers.tolist()):
        rates = bands[0]((nonmembers > t).sum()), bands[1]((members <= t).sum())
        assert ((found.fpr_upper <= rates[0]) & (found.fnr_upper <= rates[1])).any()


@pytest.mark.parametrize(("n0", "n1"), [(19_999, 30_000), (20_001, 20_000), (200_001, 600)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sizes_at_which_the_grid_begins(n0: int, n1: int, dtype: type) -> None:
    rng = np.random.default_rng(n0)
    members = rng.normal(2, 1, n1).astype(dtype)
    nonmembers = rng.normal(0, 1, n0).astype(dtype)
    x0, x1 = np.sort(nonmembers), np.sort(members)
    gammas = np.concatenate([x0, x1])
    k0 = n0 - np.searchsorted(x0, gammas, side="right")
    k1 = np.searchsorted(x1, gammas, side="right")
    audit = Audit(members, nonmembers)
    for method in ("weighted-ell", "bonferroni"):
        fpr, fnr = band(method, n0, MISS)(k0), band(method, n1, MISS)(k1)
        larger = np.maximum((1 - 1e-5 - fnr) / fpr, (1 - 1e-5 - fpr) / fnr).max()
        bound = audit.epsilon(1e-5, method=method)
        assert bound.epsilon == pytest.approx(math.log(larger), abs=1e-13)
        assert bound.epsilon <= math.log(larger)


@pytest.mark.parametrize("k", [150, 900, 2500])
def test_counts_between_constrained_ones(k: int) -> None:
    """Theirs is the bound of the next constrained count, a tenth of a deviation away at most."""
    n, misses = 30_000, np.arange(30_000) < k
    found = Audit(1.0 - misses, 1.0 * misses).epsilon()
    eta = critical_value(n)
    for bound in (found.fpr_upper, found.fnr_upper):
        ends = [
            special.betaincinv(j + 1, n - j, 1 - eta / math.sqrt(j + 1))
            for j in (k, k + 2 + 0.1 * math.sqrt(k))
        ]
        assert ends[0] * (1 - 1e-12) <= bound <= ends[1]


def test_the_method_decides_the_tail() -> None:
    """Weights on the tail pay where few errors are counted; a uniform width does in the middle."""
    rng = np.random.default_rng(5)
    strong = Audit(rng.normal(3, 1, 1000), rng.normal(0, 1, 1000))
    found = {m: float(strong.epsilon(1e-5, method=m)) for m in BAND_METHODS}
    assert found["weighted-ell"] > found["ell"] > found["bonferroni"] > found["ks"] > found["dkw"]
    assert found["dkw"] > found["dkw-two-sided"]
    weak = Audit(rng.laplace(0.5, 1, 5000), rng.laplace(0, 1, 5000))
    assert float(weak.epsilon(method="ks")) > float(weak.epsilon(method="bonferroni"))


def test_mean_bound_of_gaussian_scores() -> None:
    """4.40 and 4.08 in an independent simulation of 2000 rounds, of a true 16.68."""
    rng = np.random.default_rng(6)
    audits = [Audit(rng.normal(3, 1, 1000), rng.normal(0, 1, 1000)) for _ in range(300)]
    for method, expected in (("weighted-ell", 4.40), ("ell", 4.08), ("berk-jones", 4.31)):
        values = np.array([float(audit.epsilon(1e-5, method=method)) for audit in audits])
        error = values.std() / math.sqrt(values.size)
        assert abs(values.mean() - expected) < 0.005 + 4 * math.hypot(error, 0.002)


@pytest.mark.parametrize("levels", [[0.1, np.nan, 0.3], [np.nan] * 3])
def test_without_a_root_the_bound_is_1(levels: list[float]) -> None:
    upper, rest = beta_bounds(np.arange(1, 4), 10, np.array(levels))
    none = np.maximum.accumulate(np.isnan(levels))
    np.testing.assert_array_equal(upper == 1.0, none)
    np.testing.assert_array_equal(rest == 0.0, none)


def test_what_follows_the_knots_in_memory_is_no_knot() -> None:
    """Two errors, two knots: a third number of the same array is the count."""
    knots, values = np.array([0, 10, 2]), np.array([0.1, 0.3, 1e-9])
    band = 0.0, knots[:2], values[:2]
    counts, delta = (np.array([0, 2]), np.array([10, 2])), np.zeros(1)
    found = _core.counts_epsilon(*counts, 10, 10, delta, band, band)
    assert float(found[0][0]) == pytest.approx(math.log(0.7 / 0.3), rel=1e-12)


@pytest.mark.parametrize("n", [1, 9, 10**6])
def test_a_linear_band_is_its_width_without_knots(n: int) -> None:
    found = band("dkw", n, MISS)
    assert found.knots.size == found.values.size == 0
    counts = np.unique([0, n // 2, n])
    exact = np.minimum(counts / n + math.sqrt(math.log(1.0 / MISS) / (2.0 * n)), 1.0)
    np.testing.assert_allclose(found(counts), exact, rtol=1e-14)
