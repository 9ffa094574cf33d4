"""Composition of guarantees that are only stated: by enumeration, by the mechanism, by theory."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leakscore.tradeoff import (
    approximate_dp,
    compose,
    from_pld,
    from_profile,
    from_rdp,
    from_zcdp,
    gaussian,
    laplace,
    subsampled_gaussian,
)
from tests.helpers.parts import Polygon

ALPHA = np.array([1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 0.9])


def composed_delta(epsilon: float, delta: float, count: int, at: float) -> Fraction:
    """Kairouz, Oh & Viswanath 2015, theorem 3.3, in exact arithmetic: the pair that is enumerated.

    Randomised response of the rates that the double `epsilon` has, an ulp apart at most.
    """
    ratio, level = Fraction(math.exp(epsilon)), Fraction(math.exp(at))
    gain = (
        sum(
            math.comb(count, i) * max(ratio ** (count - i) - level * ratio**i, Fraction(0))
            for i in range(count + 1)
        )
        / (1 + ratio) ** count
    )
    return 1 - (1 - Fraction(delta)) ** count * (1 - gain)


@pytest.mark.parametrize(
    ("epsilon", "delta", "count"),
    [(1.0, 0.0, 5), (0.5, 1e-3, 20), (0.1, 1e-5, 200), (2.0, 0.05, 3)],
)
def test_equal_claims_are_those_of_the_optimal_composition(
    epsilon: float, delta: float, count: int
) -> None:
    f = compose([(approximate_dp(epsilon, delta), count)])
    assert (f.kind, f.adversary) == ("guarantee", "informed")
    for share in (0.0, 0.3, 0.7, 0.95):
        at = share * count * epsilon
        exact = float(composed_delta(epsilon, delta, count, at))
        assert exact * (1.0 - 1e-13) <= f.delta(at) <= exact * 1.02 + 1e-4
    # Between the losses of outcomes nothing is split, and the curve is as good as exact.
    at = 0.5 * epsilon if count % 2 == 0 else 0.0
    exact = float(composed_delta(epsilon, delta, count, at))
    assert exact * (1.0 - 1e-13) <= f.delta(at) <= exact * (1.0 + 1e-4)


@pytest.mark.parametrize("others", [[5.0], [0.7, 3.0], [0.1, 2.0, 2.0]])
def test_different_claims_are_different_steps(others: list[float]) -> None:
    """Randomised responses of several epsilons: all their outcomes are gone through."""
    epsilons = [0.1, *others]
    curves = [approximate_dp(epsilon) for epsilon in epsilons]
    for order in (curves, curves[::-1]):
        f = compose(order)
        for at in (0.0, 0.5 * sum(epsilons), 0.9 * sum(epsilons)):
            exact = 0.0
            for signs in itertools.product((1, -1), repeat=len(epsilons)):
                loss = sum(sign * epsilon for sign, epsilon in zip(signs, epsilons, strict=True))
                rates = [1 / (1 + math.exp(-s * e)) for s, e in zip(signs, epsilons, strict=True)]
                exact += math.prod(rates) * max(1 - math.exp(at - loss), 0.0)
            assert exact * (1.0 - 1e-13) <= f.delta(at) <= exact + 1e-4
    assert compose(curves) == compose([approximate_dp(epsilon) for epsilon in epsilons])


def test_what_reveals_the_record_is_multiplied_not_added() -> None:
    f = compose([(approximate_dp(0.1, 0.01), 50)])
    assert float(f(0.0)) <= 0.99**50 * (1.0 + 1e-12)
    assert float(f(0.0)) == pytest.approx(0.99**50, rel=1e-12)
    beside = compose([(approximate_dp(0.1, 0.01), 50), subsampled_gaussian(1.0, 0.01, 100)])
    assert float(beside(0.0)) == pytest.approx(0.99**50, rel=1e-9)
    for count in (7, 300):
        nothing = compose([(approximate_dp(0.0, 0.1), count)])
        assert nothing.delta(0.0) == pytest.approx(1.0 - 0.9**count, rel=1e-9)
        assert nothing.delta(50.0) == pytest.approx(1.0 - 0.9**count, rel=1e-9)
    beside = compose([(approximate_dp(0.0, 1e-3), 5), gaussian(1.0)])
    expected = 1.0 - 0.999**5 * (1.0 - gaussian(1.0).delta(1.0))
    assert expected <= beside.delta(1.0) <= expected + 1e-5


def test_a_stated_part_stands_for_the_mechanism_of_which_it_is() -> None:
    part = subsampled_gaussian(1.0, 0.01, 500)
    whole = subsampled_gaussian(1.0, 0.01, 1000)
    for stated in ([part.lower, part], [(part.lower, 2)], [part.lower, part.lower]):
        f = compose(stated)
        assert (f(ALPHA) <= whole.upper(ALPHA)).all()
        assert np.abs(f(ALPHA) - whole.lower(ALPHA)).max() < 1e-5
        assert f.neighbours == "add-remove"
        assert any("Poisson" in text for text in f.assumptions)
        assert f.epsilon(1e-5) >= whole.interval("epsilon", 1e-5)[0]
        assert f.epsilon(1e-5) == pytest.approx(whole.epsilon(1e-5), rel=1e-4)


def test_profiles_of_gaussian_curves_compose_as_these() -> None:
    grid = np.linspace(0.0, 8.0, 2000)
    stated = from_profile(grid, gaussian(1.0).delta(grid))
    for f, mu in ((compose([stated, gaussian(1.0)]), 2.0**0.5), (compose([(stated, 4)]), 2.0)):
        assert (f(ALPHA) <= gaussian(mu)(ALPHA)).all()
        assert np.abs(f(ALPHA) - gaussian(mu)(ALPHA)).max() < 1e-5


def test_one_order_keeps_its_order() -> None:
    """Losses of a pair that is not symmetric, added up by hand."""
    losses, mass = [-0.2, 1.5], np.array([0.0, 1.0])
    # Of both laws: p + q = 1, p e^0.2 + q e^-1.5 = 1.
    mass = np.linalg.solve([[1.0, 1.0], [math.exp(0.2), math.exp(-1.5)]], [1.0, 1.0])
    stated = from_pld(losses, mass)
    f = compose([(stated, 3)])
    for epsilon in (0.0, 0.4, 2.0, 4.2):
        for sign, direction in ((1.0, "forward"), (-1.0, "reverse")):
            gain = 0.0
            for k in range(4):
                total = (3 - k) * losses[0] + k * losses[1]
                member = math.comb(3, k) * mass[0] ** (3 - k) * mass[1] ** k
                laws = member, member * math.exp(-total)
                first, second = laws if sign > 0 else laws[::-1]
                gain += max(first - math.exp(epsilon) * second, 0.0)
            given = f.delta(epsilon, direction)
            assert gain - 1e-12 <= given <= gain + 2e-4, (epsilon, direction)


def test_every_conversion_is_composed_with_mechanisms() -> None:
    orders = np.arange(2, 65)
    for stated in (from_zcdp(0.5), from_rdp(orders, orders / 2), laplace(1.0)):
        f = compose([stated, (subsampled_gaussian(1.0, 0.01, 10), 3)])
        assert f.epsilon(1e-5) > stated.epsilon(1e-5)
        assert (f(ALPHA) <= stated(ALPHA)).all()


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        (lambda: approximate_dp(1.0, 1e-5).best_of(2), "from_profile"),
        (lambda: subsampled_gaussian(1.0, 0.1, 10).upper, "`lower`"),
        (
            lambda: from_pld(
                [-1.0, 1.0],
                [1 / (1 + math.e), math.e / (1 + math.e)],
                optimistic=([-1.0, 1.0], [1 / (1 + math.e), math.e / (1 + math.e)], 0.0),
            ),
            "`lower`",
        ),
    ],
)
def test_what_states_no_guarantee_is_refused(curve: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        compose([curve(), gaussian(1.0)])


def test_an_upper_end_is_refused_and_the_lower_one_is_composed() -> None:
    """The upper end of a bracket leaks less than the mechanism may."""
    logs = np.log([0.25, 0.5, 0.25]), np.log([0.125, 0.375, 0.5])
    vertices = Polygon.from_laws(*logs).vertices
    near, low, high = (Polygon(*vertices, "guarantee", side=side) for side in (0, -1, 1))
    for curve in (near, low):
        assert compose([curve, gaussian(1.0)]).kind == "guarantee"
    with pytest.raises(TypeError, match="`lower`"):
        compose([high, gaussian(1.0)])


def test_a_claim_that_hides_nothing_is_no_step() -> None:
    nothing = from_profile([0.0, 1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match=r"curves\[1\].* must bound a test"):
        compose([gaussian(1.0), nothing])


def test_a_claim_of_ratios_that_no_lattice_reaches_is_named() -> None:
    far = approximate_dp(1e7)
    with pytest.raises(ValueError, match=r"curves\[0\]=approximate_dp\(10000000.0, 0.0\).* below"):
        compose([(far, 2)])
    assert compose([(approximate_dp(9e5, 0.1), 2)])(0.0) == pytest.approx(0.81, rel=1e-9)


def test_what_was_composed_is_composed_again() -> None:
    """Its first two vertices have the same alpha, 0."""
    twice = compose([(approximate_dp(1.0), 2)])
    again = compose([(twice, 2)])
    for at in (0.0, 0.5, 2.0, 3.5):
        exact = float(composed_delta(1.0, 0.0, 4, at))
        lower, upper = again.interval("delta", at)
        assert lower <= exact * (1.0 + 1e-8)
        assert exact * (1.0 - 1e-8) <= upper
        assert again.delta(at) == pytest.approx(exact, rel=1e-7)
