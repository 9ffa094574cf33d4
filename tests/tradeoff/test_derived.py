"""Curves made of brackets hold the truth of laws in closed form.

The ends differ by less than any slip, such as an end made from the wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from leakscore import tradeoff
from leakscore.tradeoff import TradeOff

SHIFT, RATE = 1.0, 0.2
ONE_STEP = tradeoff.subsampled_gaussian(1.0 / SHIFT, RATE, 1)  # a bracket of a law in closed form

Rates = tuple[Any, Any]


def one_step(x: Any) -> Rates:
    """Both error rates of accusing outputs above x: of N(0, 1), or at RATE N(SHIFT, 1)."""
    missed = (1.0 - RATE) * stats.norm.cdf(x) + RATE * stats.norm.cdf(x - SHIFT)
    return stats.norm.sf(x), missed


def sampled(rates: Rates, rate: float) -> Rates:
    alpha, beta = rates
    return alpha, (1.0 - rate) * (1.0 - alpha) + rate * beta


def largest(rates: Rates, looks: int) -> Rates:
    alpha, beta = rates
    return -np.expm1(looks * np.log1p(-alpha)), beta * (1.0 - alpha) ** (looks - 1)


# What is made of a bracket, and of the error rates of its tests.
MADE: dict[str, tuple[Callable[[TradeOff], TradeOff], Callable[[Rates], Rates]]] = {
    "itself": (lambda f: f, lambda r: r),
    "subsample": (lambda f: f.subsample(0.4), lambda r: sampled(r, 0.4)),
    "best_of": (lambda f: f.best_of(3), lambda r: largest(r, 3)),
    "twice": (lambda f: f.subsample(0.7).subsample(0.5), lambda r: sampled(r, 0.35)),
    "best_of, subsample": (
        lambda f: f.best_of(2).subsample(0.5),
        lambda r: sampled(largest(r, 2), 0.5),
    ),
    "subsample, best_of": (
        lambda f: f.subsample(0.5).best_of(2),
        lambda r: largest(sampled(r, 0.5), 2),
    ),
}
every = pytest.mark.parametrize("name", MADE)


def true_delta(rates: Callable[[Any], Rates], epsilon: float) -> float:
    """The largest 1 - beta - e^epsilon alpha over all thresholds."""

    def loss(x: float) -> float:
        alpha, beta = rates(x)
        return float(beta + math.exp(epsilon) * alpha - 1.0)

    grid = np.linspace(-7.0, 7.0, 141)
    best = grid[int(np.argmin([loss(x) for x in grid]))]
    found = optimize.minimize_scalar(
        loss, bounds=(best - 0.1, best + 0.1), method="bounded", options={"xatol": 1e-10}
    )
    return -float(found.fun)


@every
def test_a_derived_bracket_holds_the_truth(name: str) -> None:
    make, of = MADE[name]
    x = np.linspace(-2.5, 6.0, 35)
    alpha, beta = of(one_step(x))
    made = make(ONE_STEP)
    for f, a, b in ((made, alpha, beta), (made.inverse(), beta, alpha)):
        low, high = f.interval("beta", a)
        assert ((low <= b) & (b <= high)).all()
        assert 1e-9 < (high - low).max() < 1e-5
        np.testing.assert_array_equal(f(a), f.lower(a))
        np.testing.assert_array_equal(f.power(a), f.lower.power(a))


@every
@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_deltas_of_a_derived_bracket_hold_the_truth(name: str, epsilon: float) -> None:
    make, of = MADE[name]
    f = make(ONE_STEP)
    forward = true_delta(lambda x: of(one_step(x)), epsilon)
    reverse = true_delta(lambda x: of(one_step(x))[::-1], epsilon)
    for direction, truth in (("forward", forward), ("reverse", reverse)):
        low, high = f.interval("delta", epsilon, direction)
        assert low <= truth + 1e-15
        assert truth <= high + 1e-15
        assert 1e-10 < high - low < 1e-5
        assert f.delta(epsilon, direction) == high
    low, high = f.interval("epsilon", forward, "forward")
    assert low <= epsilon + 1e-13
    assert epsilon <= high + 1e-13
    if name == "best_of, subsample":  # no hull in closed pieces
        return
    hull = f.symmetrized()
    low, high = hull.interval("delta", epsilon)
    assert low <= max(forward, reverse) + 1e-15
    assert max(forward, reverse) <= high + 1e-15
    assert low < high
    assert hull.delta(epsilon) == high


@every
def test_areas_of_a_derived_bracket_hold_the_truth(name: str) -> None:
    make, of = MADE[name]
    x = np.linspace(-7.0, 9.0, 100_001)
    alpha, beta = of(one_step(x))
    area = 1.0 - abs(float(integrate.simpson(beta, x=alpha)))
    f = make(ONE_STEP)
    low, high = f.interval("auc")
    assert low - 1e-10 <= area <= high + 1e-10
    assert 1e-10 < high - low < 1e-5
    assert f.auc() == high


NUMBERS: list[tuple[str, tuple[float, ...]]] = [
    ("__call__", (0.2,)),
    ("power", (0.2,)),
    ("log_power", (-3.0,)),
    ("advantage", ()),
    ("auc", ()),
    ("delta", (0.1,)),
    ("epsilon", (1e-3,)),
    ("ppv", (0.01, 0.5)),
    ("bayes", (0.3,)),
    ("ppv", (0.0, 0.5)),
]
WIDE = tradeoff.correlated_gaussian([[1, 0], [-1, 2]], [[1, 1]])  # mu of 3.16 and of 1.41
WIDE_ENDS = tradeoff.subsampled_gaussian(1.0, 0.3, 3, "relaxed-aligned")


@pytest.mark.parametrize("number", NUMBERS, ids=str)
@pytest.mark.parametrize("f", [WIDE, WIDE_ENDS, WIDE_ENDS.inverse(), WIDE_ENDS.subsample(0.5)])
def test_every_number_is_that_of_the_lower_curve(
    f: TradeOff, number: tuple[str, tuple[float, ...]]
) -> None:
    name, given = number
    found, safe, other = (getattr(curve, name)(*given) for curve in (f, f.lower, f.upper))
    assert found == safe
    assert safe <= other if name == "__call__" else safe >= other
    if given[:1] != (0.0,) or "gaussian(" not in repr(f.lower):  # any ratio occurs
        assert safe != other


def test_a_hull_is_no_inverse() -> None:
    hull = WIDE_ENDS.symmetrized()
    alpha = np.linspace(0.01, 0.99, 33)
    for end, of in ((hull.lower, WIDE_ENDS.lower), (hull.upper, WIDE_ENDS.upper)):
        assert (end(alpha) <= np.minimum(of(alpha), of.inverse()(alpha)) + 1e-12).all()
        np.testing.assert_allclose(end.inverse()(alpha), end(alpha), atol=1e-12)


@pytest.mark.parametrize("name", ["itself", "subsample", "best_of"])
def test_hulls_of_both_ends(name: str) -> None:
    """Where alpha is small the hull is the curve; that of the inverse is the same."""
    f = MADE[name][0](ONE_STEP)
    hull, turned, alpha = f.symmetrized(), f.inverse().symmetrized(), np.geomspace(1e-4, 1e-2, 41)
    for end, same in ((hull.lower, turned.lower), (hull.upper, turned.upper)):
        np.testing.assert_allclose(end(alpha), same(alpha), rtol=1e-13)
    assert (hull.upper(alpha) >= f.upper(alpha) * (1.0 - 1e-13)).all()
    assert (hull.lower(alpha) <= f.lower(alpha) * (1.0 + 1e-13)).all()


@pytest.mark.parametrize(
    "f",
    [
        tradeoff.relaxed_laplace(1.0).subsample(0.1),
        tradeoff.shifted_gaussian(1.0, 0.7).subsample(0.9),
        tradeoff.relaxed_gaussian(2.0),
        tradeoff.relaxed_gaussian(2.0).best_of(3),
        tradeoff.gaussian(2.0).subsample(0.4).best_of(3),
    ],
    ids=str,
)
def test_epsilons_of_a_hull_are_those_of_the_worse_order(f: TradeOff) -> None:
    hull = f.symmetrized()
    for share in (0.9, 0.5, 1e-2, 1e-4, 1e-6):
        delta = share * float(f.advantage())
        both = [f.epsilon(delta, direction) for direction in ("forward", "reverse")]
        assert hull.epsilon(delta) == pytest.approx(max(both), rel=1e-12, abs=0.0)


@pytest.mark.parametrize("rate", [0.3, 0.9])
def test_outputs_that_the_record_alone_gives_in_the_inverse_of_a_sample(rate: float) -> None:
    """Beyond alpha = .99 of two looks nothing is missed: the mixture's tail is 1 - rate of H0's."""
    looks = tradeoff.approximate_dp(1.0, 0.1).best_of(2)
    assert looks.inverse().power(0.0) == pytest.approx(0.01)
    f = looks.subsample(rate)
    for alpha in (1e-9, 1e-4, 0.009 * (1.0 - rate)):
        assert f(1.0 - alpha / (1.0 - rate)) == pytest.approx(alpha, rel=1e-6)
        assert f.inverse().power(alpha) == pytest.approx(alpha / (1.0 - rate), rel=1e-12)
