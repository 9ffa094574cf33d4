"""Sub-sampling and the best of several looks, of any curve: against loops and simulated attacks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.optimize import brentq

from leakscore.tradeoff import (
    TradeOff,
    discrete_laplace,
    gaussian,
    laplace,
    misspecified,
    relaxed_gaussian,
    relaxed_laplace,
    shifted_gaussian,
    subsampled_gaussian,
)

BASES = {
    "laplace": laplace(1.0),
    "relaxed_laplace": relaxed_laplace(1.0),
    "relaxed_gaussian": relaxed_gaussian(1.5),
    "in 30 dimensions": relaxed_gaussian(3.0, 30),
    "discrete_laplace": discrete_laplace(2.0, 3, relaxed=True),
}
each_base = pytest.mark.parametrize("name", BASES)
ALPHA = np.concatenate([np.geomspace(1e-9, 0.01, 150)[:-1], np.linspace(0.01, 1, 301)])


def in_order(f: TradeOff) -> None:
    """Both directions of a curve agree with its own values."""
    for curve in (f, f.inverse()):
        for epsilon in (-0.3, 0.0, 0.05, 0.2, 0.6):
            values = curve.power(ALPHA) - math.exp(epsilon) * ALPHA
            least = max(float(values.max()), 0.0)
            assert curve.delta(epsilon, "forward") == pytest.approx(least, abs=2e-3)
            assert curve.delta(epsilon, "forward") >= least - 1e-12
        for share in (1e-6, 0.1, 0.7):
            delta = float(curve.advantage()) * share
            epsilon = curve.epsilon(delta, "forward")
            assert curve.delta(epsilon, "forward") == pytest.approx(delta, rel=1e-6)
        area = trapezoid(np.r_[curve.power(0.0), curve.power(ALPHA)], np.r_[0.0, ALPHA])
        assert curve.auc() == pytest.approx(area, abs=2e-4)
        assert curve.delta(0.0) == pytest.approx(curve.advantage(), rel=1e-9)
        assert curve(1.0) == 0
        steepest = float(curve.ppv(0.0, 0.5))
        assert curve.ppv(1e-9, 0.5) <= steepest + 1e-6


@each_base
@pytest.mark.parametrize("rate", [0.01, 0.3, 1.0])
def test_subsample(name: str, rate: float) -> None:
    f = BASES[name]
    g = f.subsample(rate)
    alpha = np.array([0.0, 1e-12, 1e-3, 0.1, 0.5, 0.9, 1.0])
    np.testing.assert_allclose(g(alpha), (1 - rate) * (1 - alpha) + rate * f(alpha), rtol=1e-13)
    mixed = (1 - rate) * alpha + rate * f.power(alpha)
    np.testing.assert_allclose(g.power(alpha), mixed, rtol=1e-13)
    log_alpha = np.array([-600.0, -20.0, -1.0, -1e-3])
    parts = np.logaddexp(
        np.log(1 - rate + 5e-324) + log_alpha, np.log(rate) + f.log_power(log_alpha)
    )
    np.testing.assert_allclose(g.log_power(log_alpha), parts, rtol=1e-9)
    in_order(g)
    inner = np.array([1e-6, 0.01, 0.3, 0.8])
    np.testing.assert_allclose(g.inverse()(g(inner)), inner, atol=1e-12)
    assert (g.kind, g.adversary) == (f.kind, f.adversary)


@each_base
def test_hull_of_a_subsample(name: str) -> None:
    g = BASES[name].subsample(0.3)
    hull = g.symmetrized()
    alpha = np.linspace(0, 1, 401)
    assert (hull(alpha) <= np.minimum(g(alpha), g.inverse()(alpha)) + 1e-12).all()
    for epsilon in (0.0, 0.1, 0.3):
        assert hull.delta(epsilon) == pytest.approx(g.delta(epsilon), rel=1e-9, abs=1e-15)
    np.testing.assert_allclose(hull(hull(alpha[1:-1])), alpha[1:-1], atol=1e-9)


def test_it_does_not_commute_with_inverse() -> None:
    """At mu = 1.5 and a rate of .3 the formula for the inverse is wrong by up to .048."""
    f = relaxed_gaussian(1.5)
    alpha = np.linspace(0, 1, 501)
    wrong = 0.3 * f.inverse()(alpha) + 0.7 * (1 - alpha)
    gap = np.abs(f.subsample(0.3).inverse()(alpha) - wrong)
    assert gap.max() == pytest.approx(0.048, abs=1e-3)
    rng, rounds = np.random.default_rng(1), 400_000
    member = rng.random(rounds) < 0.3
    inside = np.abs(rng.standard_normal(rounds) + 1.5 * member)
    outside = np.abs(rng.standard_normal(rounds))
    cut = np.quantile(inside, 0.2)  # accuse non-members below
    beta, alpha_reached = (outside > cut).mean(), (inside <= cut).mean()
    exact = f.subsample(0.3).inverse()(alpha_reached)
    assert beta == pytest.approx(float(exact), abs=4 * 0.5 / math.sqrt(rounds) * 2)


def test_of_other_kinds() -> None:
    g = gaussian([1.0, 2.0]).subsample(0.25)
    np.testing.assert_allclose(g(0.1), 0.75 * 0.9 + 0.25 * gaussian([1.0, 2.0])(0.1), rtol=1e-14)
    composed = subsampled_gaussian(2.0, 0.1, 10)
    bracket = composed.subsample(0.5)
    low, high = bracket.interval("epsilon", 1e-5)
    assert 0 < low <= high <= float(composed.epsilon(1e-5))
    for call in (relaxed_laplace([1.0, 2.0]).subsample, relaxed_laplace([1.0, 2.0]).best_of):
        with pytest.raises(ValueError, match=r"shape \(2,\) must be of shape \(\)"):
            call(1 if call.__name__ == "best_of" else 0.5)


@pytest.mark.parametrize("looks", [1, 7])
@pytest.mark.parametrize("name", ["laplace", "relaxed_laplace", "discrete_laplace"])
def test_best_of(name: str, looks: int) -> None:
    f = BASES[name]
    g = f.best_of(looks)
    alpha = np.array([1e-12, 1e-3, 0.1, 0.5, 0.9])
    one = -np.expm1(np.log1p(-alpha) / looks)
    beta = f(one) * (1 - one) ** (looks - 1)
    np.testing.assert_allclose(g(alpha), beta, rtol=1e-11)
    caught = f.power(one) * (1 - one) ** (looks - 1) - np.expm1((looks - 1) * np.log1p(-one))
    np.testing.assert_allclose(g.power(alpha), caught, rtol=1e-11)
    in_order(g)
    inner = np.array([1e-6, 0.01, 0.3, 0.8])
    np.testing.assert_allclose(g.inverse()(g(inner)), inner, atol=1e-9)
    assert (g.kind, g.inverse().kind, g.symmetrized().kind) == ("attack",) * 3
    hull = g.symmetrized()
    some = ALPHA[::30]
    assert (hull(some) <= np.minimum(g(some), g.inverse()(some)) + 1e-5).all()
    for epsilon in (0.0, 0.1, 0.4):
        assert hull.delta(epsilon) == g.delta(epsilon, "both")
    assert hull.epsilon(1e-3) == g.epsilon(1e-3, "both")
    assert hull.advantage() == g.advantage()


def test_best_of_is_what_the_largest_of_ten_scores_does() -> None:
    rng, rounds, looks = np.random.default_rng(2), 100_000, 10
    scores = rng.standard_normal((2 * rounds, looks))
    outside = scores[:rounds].max(axis=1)
    scores[rounds:, 3] += 3.0
    inside = scores[rounds:].max(axis=1)
    g = gaussian(3.0).best_of(looks)
    for level in (0.01, 0.1, 0.4):
        cut = np.quantile(outside, 1 - level)
        alpha, power = (outside > cut).mean(), (inside > cut).mean()
        step = 4 * math.sqrt(alpha * (1 - alpha) / rounds)
        error = 4 * math.sqrt(power * (1 - power) / rounds)
        low, high = g.power([alpha - step, alpha + step])
        assert low - error <= power <= high + error
    assert g.log_power(-1e5) == pytest.approx(
        float(gaussian(3.0).log_power(-1e5 - math.log(10))), rel=1e-9
    )


def test_a_sample_of_a_sample_is_a_sample() -> None:
    for f in (gaussian(1.5), relaxed_laplace(1.5), misspecified(4, 3)):
        once, twice = f.subsample(0.3), f.subsample(0.6).subsample(0.5)
        alpha = np.array([1e-9, 0.01, 0.3, 0.9])
        np.testing.assert_allclose(twice(alpha), once(alpha), rtol=1e-14)
        np.testing.assert_allclose(twice.power(alpha), once.power(alpha), rtol=1e-14)
        assert twice.kind == once.kind
        hull = twice.symmetrized()
        np.testing.assert_array_less(
            hull(alpha), np.minimum(once(alpha), once.inverse()(alpha)) + 1e-15
        )


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.9])
def test_subsampled_polygons_in_both_directions(rate: float) -> None:
    """A polygon with vertices beyond all digits at both ends, against its own definition."""
    f = subsampled_gaussian(1.0, 0.1, 10).subsample(rate)
    alpha = np.linspace(0.0, 1.0, 20_001)
    for direction, g in (("forward", f), ("reverse", f.inverse())):
        for epsilon in (-0.3, 0.0, 0.05, 0.3):
            found = np.max(1.0 - g(alpha) - np.exp(epsilon) * alpha)
            assert f.delta(epsilon, direction) == pytest.approx(found, abs=2e-6)


def test_nothing_to_tell() -> None:
    f = misspecified(0.0, 0.0).subsample(0.5)
    assert f.symmetrized()(0.3) == 0.7
    assert f.inverse()(0.3) == pytest.approx(0.7, rel=1e-15)


def test_best_of_far_out() -> None:
    """Power is alpha r / T + alpha (T - 1)/T where alpha is tiny; r is the ratio's limit."""
    looks, alpha = 5, 1e-16
    f = laplace(1.0).best_of(looks)
    exact = alpha * (math.e + looks - 1.0) / looks
    np.testing.assert_allclose(f.power(alpha), exact, rtol=1e-14)
    np.testing.assert_allclose(f.log_power(math.log(alpha)), math.log(exact), rtol=1e-14)
    assert (f.delta([60.0, 800.0, math.inf]) < 1e-40).all()


def test_no_curve_is_above_the_chance_line() -> None:
    alpha = np.linspace(0.0, 1.0, 1001)
    for f in (gaussian([0.0, 1e-9]), laplace(1e-8), relaxed_laplace(1e-8)):
        for g in (f, f.inverse(), f.symmetrized()):
            assert (g(alpha) <= 1.0 - alpha).all()


@pytest.mark.parametrize("rate", [0.7, 0.9, 0.99])
@pytest.mark.parametrize("name", BASES)
def test_inverse_deltas_of_a_large_share(name: str, rate: float) -> None:
    """Up to the largest ratio, log(1/(1 - rate)): more than 1 if most records are drawn."""
    g = BASES[name].subsample(rate).inverse()
    alpha = np.concatenate([np.geomspace(1e-12, 0.01, 4000), np.linspace(0.01, 1, 20_001)])
    power = g.power(alpha)
    for epsilon in (0.9, 1.1, 1.4, 1.9, 2.5, 4.0, 5.0):
        least = max(float((power - math.exp(epsilon) * alpha).max()), 0.0)
        assert least - 1e-12 <= g.delta(epsilon, "forward") <= least + 2e-4


@pytest.mark.parametrize(
    ("f", "high"),
    [
        (relaxed_laplace(1.0).subsample(0.01), 0.0054),
        (relaxed_laplace(1.0).subsample(0.1), 0.052),
        (shifted_gaussian(1.0, 0.7).subsample(0.9), 2.4),
    ],
)
def test_chords_of_a_hull_where_the_larger_delta_changes(f: TradeOff, high: float) -> None:
    """Both curves touch a line of slope -e^epsilon where their deltas are equal.

    There the hull is 1 - delta - alpha e^epsilon, epsilon being Brent's root.
    """
    hull, g = f.symmetrized(), f.inverse()

    def gap(epsilon: float) -> float:
        return float(f.delta(epsilon, "forward") - g.delta(epsilon, "forward"))

    epsilon = brentq(gap, 0.6 * high, high, xtol=1e-16, rtol=1e-15)
    step = 1e-5  # minus the slope of delta is e^epsilon alpha
    sides = [curve.delta([epsilon - step, epsilon + step], "forward") for curve in (f, g)]
    ends = [(low - high) / (2.0 * step) * math.exp(-epsilon) for low, high in sides]
    for share in (0.2, 0.5, 0.9):
        alpha = ends[0] + share * (ends[1] - ends[0])
        line = 1.0 - float(f.delta(epsilon, "forward")) - alpha * math.exp(epsilon)
        assert hull(alpha) == pytest.approx(line, rel=1e-12)
