"""Errors are counted exactly: at thresholds between two numbers, in bins, in rows."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import beta

from leakscore.audit import Audit, Split, epsilons
from leakscore.distributions import clopper_pearson

MISS = 1.0 - 0.95


@pytest.mark.parametrize("orientation", ["high", "low"])
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.7])
def test_thresholds_that_float32_does_not_hold(threshold: float, orientation: str) -> None:
    """float32 rounds 0.1 up and 0.7 down: a score there is above the first, below the second."""
    near = np.float32(threshold)
    sign = np.float32(1.0 if orientation == "high" else -1.0)
    members = np.r_[np.full(60, 9 * sign), np.full(5, near)].astype(np.float32)
    nonmembers = np.r_[np.full(60, -9 * sign), np.full(7, near)].astype(np.float32)
    bound = Audit(members, nonmembers).epsilon(
        method=Split(threshold=threshold), orientation="both"
    )
    assert bound.orientation == orientation
    flagged = [
        x.astype(float) > threshold if orientation == "high" else x.astype(float) < threshold
        for x in (nonmembers, members)
    ]
    assert (bound.fpr, bound.fnr) == (flagged[0].mean(), (~flagged[1]).mean())


def test_small_epsilon_at_one_threshold_is_rounded_down() -> None:
    """Of quotients next to 1, where the logarithm is far smaller than the quotient's rounding."""
    n, closest = 1_000_000, math.inf
    with mp.workdps(40):
        for k0 in range(498_300, 498_460):
            k1 = n - k0 - 2600
            audit = Audit.from_counts([-np.inf, 0.0, np.inf], [k1, n - k1], [n - k0, k0])
            bound = audit.epsilon(method=Split(threshold=0.0)).epsilon
            low, right = sorted(clopper_pearson(k, n, alpha=0.5 * MISS) for k in (k0, k1))
            exact = mp.log(mp.mpf(float(right[1])) / mp.mpf(float(low[0])))
            assert 0.0 < bound < 0.01
            assert bound < exact
            closest = min(closest, float(exact - bound))
    assert closest < 6e-16


@pytest.mark.parametrize(("k0", "k1", "direction"), [(1, 30, "forward"), (30, 1, "reverse")])
def test_the_direction_is_that_of_the_rarer_error(k0: int, k1: int, direction: str) -> None:
    audit = Audit.from_counts([-np.inf, 0.0, np.inf], [k1, 100 - k1], [100 - k0, k0])
    for method in ("split", "weighted-ell"):
        threshold = {"threshold": 0.0} if method == "split" else {}
        bound = audit.epsilon(method=method, **threshold)  # type: ignore[arg-type]
        assert bound.direction == direction
        rates = (bound.fpr_upper, bound.fnr_upper)
        smaller, larger = rates if direction == "forward" else rates[::-1]
        assert smaller < larger
        assert bound.epsilon == pytest.approx(math.log((1.0 - larger) / smaller), rel=1e-12)


def test_credible_bounds_of_rates_are_posterior_quantiles() -> None:
    audit = Audit.from_counts([-np.inf, 0.0, np.inf], [3, 47], [38, 2])
    bound = audit.epsilon(method="credible", threshold=0.0)
    expected = [beta.isf(0.5 * MISS, k + 0.5, n - k + 0.5) for k, n in ((2, 40), (3, 50))]
    assert [bound.fpr_upper, bound.fnr_upper] == pytest.approx(expected, rel=1e-9)
    single = Audit([1.0], [0.0]).epsilon(method="credible")
    assert (single.epsilon, single.fpr_upper, single.fnr_upper) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize("n", [2**31, 3_100_000_000])
def test_products_of_counts_beyond_64_bits(n: int) -> None:
    """n^2 is below 2^64 and 2 n^2 at or beyond 2^63: integers that wrap would be negative."""
    audit = Audit.from_counts([-np.inf, 0.0, np.inf], [0, n], [n, 0])
    assert (audit.auc(), audit.advantage()) == (1.0, 1.0)
    half = Audit.from_counts([-np.inf, 0.0, np.inf], [n // 2, n // 2], [n, 0])
    assert (half.auc(), half.advantage()) == (0.75, 0.5)


@pytest.mark.parametrize("method", ["dkw", "weighted-ell"])
def test_a_band_of_many_bins_is_that_of_the_scores(method: str) -> None:
    """More of either than a band has rows: only those of some ranks are looked at."""
    rng = np.random.default_rng(12)
    members, nonmembers = (
        np.unique(rng.integers(0, 200_000, 90_000) * 2 + member) for member in (0, 1)
    )
    assert min(members.size, nonmembers.size) > 70_000
    edges = np.r_[-np.inf, np.arange(0.5, 400_000.0), np.inf]
    counts = (np.histogram(x, edges)[0] for x in (members, nonmembers))
    binned, single = Audit.from_counts(edges, *counts), Audit(members, nonmembers)
    bands = [audit.band(method=method) for audit in (binned, single)]
    for name in ("fpr", "tpr", "fpr_lower", "fpr_upper", "tpr_lower", "tpr_upper"):
        assert np.array_equal(*(getattr(each, name) for each in bands)), name


def test_rows_that_are_refused_among_others() -> None:
    scores, member = np.arange(12.0).reshape(2, 6), np.array([[0, 1, 0, 1, 0, 1]] * 2)
    broken = scores.copy()
    broken[1, 4] = np.nan
    with pytest.raises(ValueError, match=r"scores must hold no NaN, as at \[1, 4\]"):
        epsilons(broken, member)
    with pytest.raises(ValueError, match="scores"):
        epsilons(np.full((2, 6), 2**53 + 1), member)
    for one in (0, 1):
        alike = member.copy()
        alike[1] = one
        with pytest.raises(ValueError, match=r"member\[1\] must hold both"):
            epsilons(scores, alike)


@pytest.mark.parametrize("spec", [".0g", ".1g", ".2g", ".5g", "g", ".3G", ".2e", ".1%", ".3f"])
def test_a_printed_bound_is_not_above_it(spec: str) -> None:
    for errors in range(1, 40, 3):
        audit = Audit.from_counts([-np.inf, 0.0, np.inf], [errors, 900 - errors], [800, errors])
        bound = audit.epsilon(method="split", threshold=0.0)
        scale = 0.01 if spec.endswith("%") else 1.0
        printed = float(format(bound, spec).rstrip("%")) * scale
        unit = 10.0 ** (0 if spec in (".0g", ".1g") else -1 if spec == ".2g" else -2)
        assert bound.epsilon - unit * (1.0 + 1e-9) <= printed <= bound.epsilon


def test_single_scores_come_back_from_bytes() -> None:
    audit = Audit.from_bytes(Audit([1.0], [0.0]).to_bytes())
    assert audit.auc() == 1.0
