"""The test of two variances in two coordinates, of which every number has a closed form."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from leakscore.tradeoff import TradeOff, averaged_gaussian_attack, gaussian_mean
from tests.helpers.parts import log_rest

CASES = [(22, 0.5), (3, 0.7)]  # ratios of variances 1.21 and 4
ALPHA = [1e-300, 1e-30, 1e-4, 0.05, 0.3, 0.5, 0.7, 0.999, 1 - 2.0**-40]
EPSILON = [-800.0, -3.0, -0.3, -0.05, 0.0, 0.02, 0.1, 0.185, 0.19, 0.3, 1.3, 20.0, 200.0]


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    with mp.workdps(60):
        yield


@cache
def pair(case: tuple[int, float]) -> tuple[TradeOff, TradeOff, TradeOff]:
    f = averaged_gaussian_attack(*case, 1, 2)
    return f, f.inverse(), f.symmetrized()


def ratio_of(case: tuple[int, float]) -> Any:
    records, rate = case
    return (mpf(int(records * rate)) / int((records - 1) * rate)) ** 2


def narrow(alpha: Any, r: Any) -> tuple[Any, Any]:
    """Power and beta of small sums: alpha is 1 - e^(-s/2), power 1 - e^(-rs/2)."""
    log_beta = r * mp.log1p(-alpha)
    return -mp.expm1(log_beta), mp.exp(log_beta)


def wide(alpha: Any, r: Any) -> tuple[Any, Any]:
    """Power and beta of large sums: alpha is e^(-s/2), power e^(-s/(2r))."""
    power = alpha ** (1 / r)
    return power, 1 - power


def touched(epsilon: Any, r: Any, large: bool) -> Any:
    """Alpha at slope -e^epsilon, or the end nearest to it."""
    if large:
        return min((r * mp.exp(epsilon)) ** (-r / (r - 1)), mpf(1))
    return max(1 - (mp.exp(epsilon) / r) ** (1 / (r - 1)), mpf(0))


def delta(epsilon: Any, r: Any, large: bool) -> Any:
    alpha = touched(mpf(epsilon), r, large)
    return (wide if large else narrow)(alpha, r)[0] - mp.exp(mpf(epsilon)) * alpha


@pytest.mark.parametrize("case", CASES)
def test_rates(case: tuple[int, float]) -> None:
    r = ratio_of(case)
    for curve, exact in zip(pair(case)[:2], (narrow, wide), strict=True):
        for alpha in ALPHA:
            power, beta = exact(mpf(alpha), r)
            assert curve.power(alpha) == pytest.approx(float(power), rel=2e-13)
            assert curve(alpha) == pytest.approx(float(beta), rel=1e-10, abs=1e-300)
        for log_alpha in (-1e6, -800.0, -30.0, -0.3):
            power = mp.log(exact(mp.exp(mpf(log_alpha)), r)[0])
            assert curve.log_power(log_alpha) == pytest.approx(float(power), rel=1e-13)


@pytest.mark.parametrize("case", CASES)
def test_profiles(case: tuple[int, float]) -> None:
    """Forward to the last digits of power, in reverse to those of delta; and the larger of both."""
    r = ratio_of(case)
    f, g, hull = pair(case)
    for epsilon in EPSILON:
        small, large = (float(delta(epsilon, r, which)) for which in (False, True))
        assert f.delta(epsilon, "forward") == pytest.approx(small, rel=1e-13, abs=3e-16)
        assert g.delta(epsilon, "forward") == pytest.approx(large, rel=1e-12, abs=1e-300)
        largest = max(small, large)
        assert hull.delta(epsilon) == pytest.approx(largest, rel=1e-12, abs=3e-16)
    assert f.delta(float(mp.log(r)) + 0.01, "forward") == 0.0
    for curve in (f, g, hull):
        assert curve.advantage() == pytest.approx(float(delta(0, r, True)), rel=2e-14)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("share", [0.999, 0.3, 1e-3, 1e-20, 1e-300, 1e-310, 5e-324])
def test_epsilons(case: tuple[int, float], share: float) -> None:
    r = ratio_of(case)
    f, g, hull = pair(case)
    target = share * g.advantage() if share > 1e-300 else share
    least = max((1 - r) * mp.log(mpf(target) * r / (r - 1)) - mp.log(r), mpf(0))
    spacing = 1e-12 if target > 1e-320 else 1e-3  # the last double above 0 is half the next one
    assert g.epsilon(target, "forward") == pytest.approx(float(least), rel=spacing, abs=1e-13)
    assert hull.epsilon(target) == pytest.approx(float(least), rel=spacing, abs=1e-13)
    if target > 1e-9:
        assert delta(f.epsilon(target, "forward"), r, False) == pytest.approx(target, rel=1e-9)
    else:
        assert f.epsilon(target, "forward") == pytest.approx(float(mp.log(r)), rel=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_ends_of_epsilon(case: tuple[int, float]) -> None:
    f, g, hull = pair(case)
    most = float(mp.log(ratio_of(case)))
    assert [curve.epsilon(0.0, "forward") for curve in (g, hull)] == [np.inf, np.inf]
    assert f.epsilon(0.0, "forward") == pytest.approx(most, rel=1e-15)
    for curve in (f, g, hull):
        for target in (curve.advantage() * (1.0 + 1e-15), 0.9, 1.0):
            assert curve.epsilon(target, "forward") == 0.0
    assert f.ppv(0.0, 0.5) == pytest.approx(float(mpf(1) / (1 + mp.exp(-most))), rel=1e-15)
    assert g.ppv(0.0, 0.5) == hull.ppv(0.0, 0.5) == 1.0


@pytest.mark.parametrize("case", CASES)
def test_the_hull(case: tuple[int, float]) -> None:
    """Large sums down to slope -1, a chord, and small sums: the area below each is an integral."""
    r = ratio_of(case)
    f, g, hull = pair(case)
    start = touched(mpf(0), r, True)
    end = wide(start, r)[1]
    for share in (1e-200, 1e-9, 0.3, 1.0):
        alpha = share * float(start)
        assert hull(alpha) == pytest.approx(float(wide(mpf(alpha), r)[1]), rel=1e-13)
        assert hull.power(alpha) == pytest.approx(float(wide(mpf(alpha), r)[0]), rel=1e-13)
        beyond = 1.0 - share * (1.0 - float(end))
        assert hull(beyond) == pytest.approx(float(narrow(mpf(beyond), r)[1]), rel=1e-9)
        assert hull.power(beyond) == pytest.approx(float(narrow(mpf(beyond), r)[0]), rel=1e-13)
        between = float(start + share * (end - start))
        beta = start + end - mpf(between)
        assert hull(between) == pytest.approx(float(beta), rel=1e-13)
        assert hull.power(between) == pytest.approx(float(1 - beta), rel=1e-13)
        assert hull.log_power(np.log(between)) == pytest.approx(float(mp.log1p(-beta)), rel=1e-12)
    arc = start - start ** (1 + 1 / r) / (1 + 1 / r) + (1 - end) ** (1 + r) / (1 + r)
    area = arc + (end - start) * (start + end) / 2
    assert hull.auc() == pytest.approx(float(1 - area), rel=2e-15)
    assert f.auc() == g.auc() == pytest.approx(float(r / (1 + r)), rel=1e-14)
    assert hull.inverse() is hull


def test_a_batch_that_changes() -> None:
    """Of 3 records at a rate of .7 the batch is 2 or 1; of 10 at .25 it is 2 either way."""
    assert averaged_gaussian_attack(2, 1.0, 1, 2).auc() == pytest.approx(0.8, rel=1e-14)
    assert averaged_gaussian_attack(10, 0.25, 1, 2).power(0.1) == 0.1
    one = averaged_gaussian_attack(3, 0.7, 1, 1)  # |2 X| > |Y|, in a single coordinate
    assert one.auc() == pytest.approx(float(2 * mp.atan(2) / mp.pi), rel=1e-12)


def test_the_rest_of_a_rate() -> None:
    """log(1 - alpha) from log alpha, to the last digits at either end."""
    for log_alpha in (-1e-300, -1e-20, -1e-3, -0.5, -0.7, -1.4, -30.0, -700.0):
        exact = mp.log(-mp.expm1(mpf(log_alpha)))
        assert log_rest(np.asarray(log_alpha)) == pytest.approx(float(exact), rel=1e-15)
    assert log_rest(np.array([0.0, -np.inf])).tolist() == [-np.inf, 0.0]


@pytest.mark.parametrize("df", [60, 400])
def test_laws_that_hardly_meet(df: int) -> None:
    """Where e^epsilon is large and power too, one form of delta cancels: incomplete gammas."""
    f = averaged_gaussian_attack(3, 0.7, 1, df)
    half, r = mpf(df) / 2, mpf(4)
    most = half * mp.log(r)

    def above(s: Any) -> Any:
        return mp.gammainc(half, s / 2, regularized=True)

    def below(s: Any) -> Any:
        return mp.gammainc(half, 0, s / 2, regularized=True)

    for epsilon in (-20.0, -3.0, 0.0, 3.0, 8.0, 20.0, 30.0):
        s = 2 * (most - epsilon) / (r - 1)
        small = below(s * r) - mp.exp(mpf(epsilon)) * below(s)
        assert f.delta(epsilon, "forward") == pytest.approx(float(small), rel=1e-12, abs=3e-16)
        s = 2 * (most + epsilon) / (r - 1)
        large = above(s) - mp.exp(mpf(epsilon)) * above(s * r)
        assert f.delta(epsilon, "reverse") == pytest.approx(float(large), rel=1e-12, abs=3e-16)
    s = 2 * most / (r - 1)
    start, end = above(s * r), below(s)
    alpha = float((start + end) / 2)
    hull = f.symmetrized()
    assert start < alpha < end
    assert hull.log_power(np.log(alpha)) == pytest.approx(float(mp.log1p(-alpha)), rel=1e-11, abs=0)


@pytest.mark.parametrize("rest", [0.499, 1e-6, 1e-11, 2.0**-50, 2.0**-53])
def test_epsilons_next_to_1(rest: float) -> None:
    """1 - delta is what the test misses and e^epsilon alpha, to the digits of a double."""
    f = averaged_gaussian_attack(3, 0.7, 1, 4000)
    half, r = mpf(2000), mpf(4)
    for accused, direction in ((0, "forward"), (1, "reverse")):
        epsilon = mpf(float(f.epsilon(1.0 - rest, direction)))
        s = 2 * (half * mp.log(r) - (-epsilon if accused else epsilon)) / (r - 1)
        below = mp.gammainc(half, 0, s / 2, regularized=True)
        above = mp.gammainc(half, s * r / 2, regularized=True)
        missed, paid = (below, above) if accused else (above, below)
        assert missed + mp.exp(epsilon) * paid == pytest.approx(rest, rel=1e-12)


def test_laws_of_which_the_advantage_is_rounded_to_0() -> None:
    """The mean of 2^53 records, with and without one at their own mean: no epsilon hides it."""
    f = gaussian_mean(0.0, 2**53, 1)
    assert f.advantage() < 1e-15
    assert f.epsilon(0.0) == np.inf
    assert f.epsilon(0.0, "forward") == pytest.approx(2.0**-54, rel=1e-12)


def test_a_hull_whose_arcs_have_no_length() -> None:
    """Of two laws that share less than the smallest double."""
    hull = averaged_gaussian_attack(3, 0.7, 10**6, 10**6).symmetrized()
    assert (hull.auc(), hull.power(1e-300), hull(1e-300)) == (1.0, 1.0, 0.0)
