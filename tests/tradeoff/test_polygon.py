"""Polygons of discrete laws, their hulls, and curves between two others."""

from __future__ import annotations

import pickle
from itertools import combinations

import numpy as np
import pytest
from mpmath import exp, mpf, workdps
from scipy.stats import binom

from leakscore import _core
from leakscore.tradeoff import (
    approximate_dp,
    compose,
    from_llr,
    from_profile,
    from_zcdp,
    gaussian,
)
from tests.helpers.parts import Between, Polygon, log_slopes, lower_hull

N, P, Q = 300, 0.3, 0.45
COUNTS = np.arange(N + 1)


@pytest.fixture
def polygon() -> Polygon:
    return Polygon.from_laws(binom.logpmf(COUNTS, N, P), binom.logpmf(COUNTS, N, Q))


def test_the_most_powerful_test_of_two_binomials(polygon: Polygon) -> None:
    """Vertices are tests of a threshold, accurate in both tails; between them one randomises."""
    tails = [binom.logsf(COUNTS[:-1], N, rate) for rate in (P, Q)]
    np.testing.assert_allclose(polygon.log_power(tails[0]), tails[1], rtol=1e-9, atol=1e-14)
    tails = [binom.logcdf(COUNTS, N, rate) for rate in (Q, P)]
    back = polygon.inverse()
    np.testing.assert_allclose(back.log_power(tails[0]), tails[1], rtol=1e-9, atol=1e-14)
    share, k = 0.3, 110
    alpha = binom.sf(k, N, P) + share * binom.pmf(k, N, P)
    beta = binom.cdf(k, N, Q) - share * binom.pmf(k, N, Q)
    assert polygon(alpha) == pytest.approx(beta, rel=1e-9)
    assert polygon(0.0) == 1.0
    assert polygon(1.0) == 0.0


@pytest.mark.parametrize("epsilon", [-40.0, -3.0, -0.1, 0.0, 0.4, 5.0, 60.0])
def test_hockey_sticks_are_sums_over_the_atoms(polygon: Polygon, epsilon: float) -> None:
    p, q = binom.pmf(COUNTS, N, P), binom.pmf(COUNTS, N, Q)
    forward = np.maximum(q - np.exp(epsilon) * p, 0).sum()
    reverse = np.maximum(p - np.exp(epsilon) * q, 0).sum()
    assert polygon.delta(epsilon, "forward") == pytest.approx(forward, rel=1e-10)
    assert polygon.delta(epsilon, "reverse") == pytest.approx(reverse, rel=1e-10)
    assert polygon.symmetrized().delta(epsilon) == pytest.approx(max(forward, reverse), rel=1e-10)
    if epsilon > 0 and forward > 0:
        assert polygon.epsilon(forward, "forward") == pytest.approx(epsilon, rel=1e-9)


def test_areas_and_advantage(polygon: Polygon) -> None:
    p, q = binom.pmf(COUNTS, N, P), binom.pmf(COUNTS, N, Q)
    assert polygon.advantage() == pytest.approx(0.5 * np.abs(p - q).sum(), rel=1e-12)
    assert polygon.auc() == pytest.approx((q * (np.cumsum(p) - 0.5 * p)).sum(), rel=1e-12)
    assert polygon.auc() == pytest.approx(polygon.inverse().auc(), rel=1e-12)


def test_laws_with_atoms_of_their_own() -> None:
    """One atom that only members have and one that only the others have."""
    with np.errstate(divide="ignore"):
        laws = [np.log(law) for law in ([0.25, 0.5, 0.25, 0.0], [0.0, 0.25, 0.5, 0.25])]
    f = Polygon.from_laws(*laws)
    alpha = np.array([0.0, 0.25, 0.5, 0.75, 0.9, 1.0])
    np.testing.assert_allclose(f(alpha), [0.75, 0.25, 0.125, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(f.inverse()([0.0, 0.25, 0.75, 1.0]), [0.75, 0.25, 0.0, 0.0])
    assert f.epsilon(0.2) == np.inf
    assert f.epsilon(0.3, "forward") == pytest.approx(np.log(1.8))
    assert f.auc() == pytest.approx(1 - (0.5 * (0.75 + 0.25) * 0.25 + 0.25 * 0.25))


def test_the_hull_is_the_brute_force_one() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        points = rng.uniform(size=(40, 2))
        points[0], points[1] = (0, 1), (1, 0)
        points = points[np.lexsort((points[:, 1], points[:, 0]))]
        with np.errstate(divide="ignore"):
            x, y = lower_hull(*np.log(points).T)
        known = rng.uniform(size=30)
        chords = [
            np.where(
                (a[0] <= known) & (known <= b[0]),
                a[1] + (known - a[0]) / (b[0] - a[0]) * (b[1] - a[1]),
                np.inf,
            )
            for a in points
            for b in points
            if a[0] < b[0]
        ]
        left = np.minimum.accumulate(points[:, 1])[np.searchsorted(points[:, 0], known) - 1]
        expected = np.minimum(np.min(chords, axis=0), left)
        np.testing.assert_allclose(np.interp(known, np.exp(x), np.exp(y)), expected, atol=1e-12)


def test_the_chain_keeps_what_no_chord_passes_below() -> None:
    """All triples of points in 60 digits, down to coordinates of 1e-300."""
    rng = np.random.default_rng(4)
    for scale in (1.0, 30.0, 690.0):
        for _ in range(4):
            x, y = np.sort(-scale * rng.uniform(size=(2, 16)) ** 2)
            y = np.ascontiguousarray(y[::-1])
            with workdps(60):
                a, b = ([exp(mpf(log)) for log in side.tolist()] for side in (x, y))
                passed = {
                    j
                    for i, j, k in combinations(range(x.size), 3)
                    if (b[j] - b[i]) * (a[k] - a[i]) >= (b[k] - b[i]) * (a[j] - a[i])
                }
            slopes = log_slopes(x, y)
            found = _core.convex_chain(x, y, slopes)
            assert found.tolist() == sorted(set(range(x.size)) - passed)
            whole = _core.convex_chain(x[found], y[found], log_slopes(x[found], y[found]))
            assert whole.tolist() == list(range(found.size))


def test_a_bracket_takes_the_end_of_larger_leakage() -> None:
    ends = gaussian(1.1), gaussian(1.0)
    f = Between(ends, name="between")
    assert (f.lower, f.upper) == ends
    for quantity, arguments in {
        "power": (0.1,),
        "advantage": (),
        "auc": (),
        "delta": (1.0,),
        "epsilon": (1e-5,),
        "reconstruction": (0.2,),
        "ppv": (0.01, 0.5),
        "log_power": (-50.0,),
    }.items():
        low, high = f.interval(quantity, *arguments)
        assert low < high == getattr(f, quantity)(*arguments)
        assert low == getattr(gaussian(1.0), quantity)(*arguments)
    low, high = f.interval("beta", [0.1, 0.5])
    assert (low < high).all()
    np.testing.assert_array_equal(low, f([0.1, 0.5]))
    assert f.interval("epsilon", delta=1e-5, direction="forward") == f.interval("epsilon", 1e-5)
    for other in (f.inverse(), f.symmetrized(), pickle.loads(pickle.dumps(f))):
        assert other.interval("epsilon", 1e-5) == f.interval("epsilon", 1e-5)
    assert repr(f.inverse()) == "between.inverse()"


def test_an_exact_curve_is_its_own_bracket() -> None:
    f = gaussian([1.0, 2.0])
    assert f.lower is f is f.upper
    low, high = f.interval("beta", 0.1)
    np.testing.assert_array_equal(low, high)
    with pytest.raises(ValueError, match="quantity='shape'"):
        f.interval("shape")


def test_copies_of_turned_polygons_have_the_same_bits() -> None:
    """Reversed arrays and their copies go through other exponentials of numpy."""
    alpha = np.r_[np.logspace(-300, 0, 97), np.linspace(0.0, 1.0, 53)]
    f = from_llr([-0.7, 0.0, 1.0], [0.5, 0.3, 0.2])
    for curve in (f, f.inverse(), f.symmetrized()):
        copied = pickle.loads(pickle.dumps(curve))
        assert copied == curve
        np.testing.assert_array_equal(copied.power(alpha), curve.power(alpha))
        np.testing.assert_array_equal(copied.log_power(-alpha), curve.log_power(-alpha))


def test_a_claim_that_lets_everything_be_told() -> None:
    """One vertex: no record is missed at alpha 0, and a guarantee's numbers end at 1."""
    for f in (from_profile([0.0, 1.0], [1.0, 1.0]), from_zcdp(1e300)):
        assert f(np.array([0.0, 0.3, 1.0])).tolist() == [0.0, 0.0, 0.0]
        assert f.power(np.array([0.0, 0.3])).tolist() == [1.0, 1.0]
        assert f.log_power(np.array([-np.inf, -700.0, -1.0])).tolist() == [0.0, 0.0, 0.0]
        assert (f.advantage(), f.auc(), f.delta(50.0)) == (1.0, 1.0, 1.0)
        assert f.epsilon(np.array([0.0, 0.5, 1.0])).tolist() == [np.inf, np.inf, 0.0]
        assert f.ppv(0.0, 0.25) == 1.0
        assert f.inverse()(0.0) == 0.0
        sampled = f.subsample(0.25)  # two vertices
        assert sampled(0.2) == pytest.approx(0.6, rel=1e-14)
        assert sampled.log_power(np.log(0.2)) == pytest.approx(np.log(0.4), rel=1e-13)
    for nearly in (from_zcdp(1e5), compose([approximate_dp(800.0, 0.1), gaussian(1.0)])):
        assert (nearly.advantage(), nearly.power(1.0)) == (1.0, 1.0)
