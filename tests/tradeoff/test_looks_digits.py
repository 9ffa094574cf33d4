"""The best of several looks at a Laplace law or a claim against closed forms in 900 digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore.tradeoff import TradeOff, approximate_dp, gaussian, laplace, subsampled_gaussian

SHARES = ["1e-700", "1e-300", "1e-60", "1e-20", "1e-12", "1e-5", ".01", ".3", ".6", ".9", ".999"]
LOOKS = [1, 2, 7, 10**6]


def of_laplace(mu: float) -> Callable[[Any], Any]:
    def beta(alpha: Any) -> Any:
        ratio = mp.exp(-mp.mpf(mu))
        lines = 1 - alpha / ratio, ratio / (4 * alpha), ratio * (1 - alpha)
        return lines[0] if alpha < ratio / 2 else lines[1] if alpha <= 0.5 else lines[2]

    return beta


def of_claim(epsilon: float, delta: float) -> Callable[[Any], Any]:
    def beta(alpha: Any) -> Any:
        ratio, rest = mp.exp(mp.mpf(epsilon)), 1 - mp.mpf(delta)
        return max(mp.mpf(0), rest - ratio * alpha, (rest - alpha) / ratio)

    return beta


def of_sample(beta: Callable[[Any], Any], rate: float) -> Callable[[Any], Any]:
    share = mp.mpf(rate)
    return lambda alpha: (1 - share) * (1 - alpha) + share * beta(alpha)


CURVES: list[tuple[TradeOff, Callable[[Any], Any]]] = [
    (laplace(1.5), of_laplace(1.5)),
    (laplace(30.0), of_laplace(30.0)),
    (approximate_dp(1.0), of_claim(1.0, 0.0)),
    (approximate_dp(3.0, 0.1), of_claim(3.0, 0.1)),
    (approximate_dp(1.0).subsample(0.3), of_sample(of_claim(1.0, 0.0), 0.3)),
]


@pytest.mark.parametrize(("curve", "one"), CURVES)
@pytest.mark.parametrize("looks", LOOKS)
def test_log_powers(curve: TradeOff, one: Callable[[Any], Any], looks: int) -> None:
    """Of both orders, where one look's alpha is nearly 0 or 1."""
    best = curve.best_of(looks)
    for share in SHARES:
        with mp.workdps(900 if float(share) < 1e-200 else 160):
            for a in (mp.mpf(share), 1 - mp.mpf(share)):
                rest = (1 - a) ** (looks - 1)
                rates = 1 - (1 - a) * rest, one(a) * rest
                for f, alpha, beta in ((best, *rates), (best.inverse(), *rates[::-1])):
                    log_alpha = float(mp.log(alpha)) if alpha > 0 else -mp.inf
                    if not (-1e5 < log_alpha < 0.0 < beta < 1):
                        continue
                    exact = mp.log(1 - beta)
                    slack = 1e-12 * abs(exact) - 1e-14 * log_alpha
                    assert abs(f.log_power(log_alpha) - float(exact)) <= slack
                    if -700 < log_alpha < -1e-9 and beta > 1e-9:
                        for found, number in ((f.power, 1 - beta), (f, beta)):
                            scale = 1e-12 + 1e-14 / (1e-3 + abs(log_alpha)) - 1e-14 * log_alpha
                            at = found(float(mp.exp(log_alpha)))
                            assert at == pytest.approx(float(number), rel=float(scale / beta))


def corners(mu: float, looks: int, steepness: Any) -> list[Any]:
    """One look's alphas, of which one is where a line of minus this slope touches the curve."""
    ratio = mp.exp(-mp.mpf(mu))
    steep = looks * mp.mpf(steepness)
    # -b' (1 - a) + (T - 1) b = T w (1 - a), on the line and on the arc of one look's curve.
    line = (1 / ratio + looks - 1 - steep) / (looks / ratio - steep)
    cubic = [4 * steep, -4 * steep, ratio * (looks - 2), ratio]
    inside = []
    for root in np.roots(np.array(cubic, dtype=float)):
        a = mp.mpf(root.real)
        for _ in range(9):  # Newton's steps
            a -= (((cubic[0] * a + cubic[1]) * a + cubic[2]) * a + cubic[3]) / (
                (3 * cubic[0] * a + 2 * cubic[1]) * a + cubic[2]
            )
        if ratio / 2 <= a <= 0.5:
            inside.append(a)
    ends = [mp.mpf(0), ratio / 2, mp.mpf(0.5), mp.mpf(1)]
    return [*ends, *inside, *([line] if 0 <= line <= ratio / 2 else [])]


def gains(mu: float, looks: int, epsilon: float) -> tuple[Any, Any]:
    """Delta of the curve and of its inverse."""
    weight, one = mp.exp(mp.mpf(epsilon)), of_laplace(mu)

    def rates(a: Any) -> tuple[Any, Any]:
        return 1 - (1 - a) ** looks, (one(a) if a else mp.mpf(1)) * (1 - a) ** (looks - 1)

    forward = [rates(a) for a in corners(mu, looks, weight)]
    reverse = [rates(a) for a in corners(mu, looks, 1 / weight)]
    return max(1 - b - weight * a for a, b in forward), max(1 - a - weight * b for a, b in reverse)


@pytest.mark.parametrize("mu", [0.01, 1.5, 30.0])
@pytest.mark.parametrize("looks", LOOKS)
def test_profiles(mu: float, looks: int) -> None:
    best = laplace(mu).best_of(looks)
    with mp.workdps(120):
        for epsilon in (-5.0, -0.2, 0.0, 1e-3, 0.2, 1.4, 9.0, 29.0):
            for direction, exact in zip(
                ("forward", "reverse"), gains(mu, looks, epsilon), strict=True
            ):
                found = best.delta(epsilon, direction)
                assert found == pytest.approx(float(max(exact, 0)), rel=1e-9, abs=1e-15)
        for i, direction in enumerate(("forward", "reverse")):
            for share in (0.9, 0.3, 1e-3):
                delta = share * float(best.advantage())
                epsilon = best.epsilon(delta, direction)
                least, most = (gains(mu, looks, epsilon + s * 1e-9)[i] for s in (1, -1))
                assert least <= delta <= most
            assert best.epsilon([float(best.advantage()), 1.0], direction).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("mu", "epsilon"), [(41.0, 40.9), (41.0, 39.0), (100.0, 99.9)])
@pytest.mark.parametrize("looks", [3, 1000])
def test_profiles_of_tiny_rates(mu: float, epsilon: float, looks: int) -> None:
    """Where the search for the largest gain changes its steps, and far below."""
    with mp.workdps(300):
        exact, _ = gains(mu, looks, epsilon - math.log(looks))
        found = laplace(mu).best_of(looks).delta(epsilon - math.log(looks), "forward")
        assert found == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_profiles_of_arrays_are_those_of_their_numbers(direction: Any) -> None:
    best = laplace(1.5).best_of(3)
    for found, values in (
        (best.delta, np.linspace(-1.0, 1.4, 6)),
        (best.epsilon, np.linspace(0.0, 1.0, 6)),
    ):
        alone = [float(found(value, direction)) for value in values]
        table = found(values.reshape(2, 3), direction)
        np.testing.assert_allclose(table.ravel(), alone, rtol=1e-12)
        assert found(np.zeros((0, 2)), direction).shape == (0, 2)


@pytest.mark.parametrize("looks", [1, 2, 7])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (3.0, 0.1), (2.0, 1e-3)])
def test_no_test_gains_more_where_the_curve_bends(epsilon: float, delta: float, looks: int) -> None:
    best, one = approximate_dp(epsilon, delta).best_of(looks), of_claim(epsilon, delta)
    with mp.workdps(50):
        a = (1 - mp.mpf(delta)) / (1 + mp.exp(epsilon))
        alpha, beta = 1 - (1 - a) ** looks, one(a) * (1 - a) ** (looks - 1)
        for price in (0.0, 0.1, 0.3):
            gain = float(1 - beta - mp.exp(price) * alpha)
            assert best.delta(price, "forward") >= gain * (1.0 - 3e-11)


@pytest.mark.parametrize("mu", [0.01, 1.5, 30.0])
@pytest.mark.parametrize("looks", LOOKS)
def test_largest_ratios_and_areas(mu: float, looks: int) -> None:
    """The reverse ratio, b per 1 - a as a goes to 1, is that of one look."""
    best = laplace(mu).best_of(looks)
    with mp.workdps(50):
        largest = mp.log((mp.exp(mp.mpf(mu)) + looks - 1) / looks)
        assert best.epsilon(0.0, "forward") == pytest.approx(float(largest), rel=1e-12)
        assert best.epsilon(0.0, "reverse") == pytest.approx(mu, rel=1e-12)
        assert best.inverse().ppv(0.0, 0.25) == pytest.approx(
            float(1 / (1 + 3 * mp.exp(-mp.mpf(mu)))), rel=1e-12
        )


@pytest.mark.parametrize("looks", [*LOOKS, 10**9])
@pytest.mark.parametrize(("curve", "one"), CURVES)
def test_areas(curve: TradeOff, one: Callable[[Any], Any], looks: int) -> None:
    """T int b (1 - a)^(2T - 2) da, between the places where one look's curve bends."""
    best = curve.best_of(looks)
    with mp.workdps(22):  # Gauss's rule has an error below 1e-20
        bends = [mp.exp(mp.mpf(-30)) / 2, mp.exp(mp.mpf(-1.5)) / 2, 0.5, 0.9]
        bends += [0.9 / (1 + mp.exp(3)), 1 / (1 + mp.e)]
        logs = sorted([*map(mp.log, bends), *mp.linspace(-75, 0, 51)])

        def mass(x: Any) -> Any:
            return mp.exp(x) * one(mp.exp(x)) * (1 - mp.exp(x)) ** (2 * looks - 2)

        area = mp.quadgl(mass, logs, maxdegree=4)
    assert best.auc() == pytest.approx(float(1 - looks * area), abs=2e-15)


def test_outputs_that_one_law_alone_has() -> None:
    """A power at alpha = 0, in both orders."""
    best = approximate_dp(1.0, 0.1).best_of(3)
    for f, at_once in ((best, 0.1), (best.inverse(), 1e-3)):
        assert f.power(0.0) == pytest.approx(at_once, rel=1e-14)
        assert f.log_power([-np.inf, 0.0])[1] == 0.0
        assert f.epsilon([0.0, 0.5 * at_once], "forward").tolist() == [np.inf, np.inf]
        assert f([1.0, 1.0 - 1e-12])[0] == 0.0
        assert f.ppv(0.0, 0.3) == 1.0
    hull = laplace(1.0).best_of(3).symmetrized()
    assert hull.ppv(0.0, 0.25) == pytest.approx(1.0 / (1.0 + 3.0 / math.e), rel=1e-12)
    assert math.log((math.e + 2.0) / 3.0) <= hull.log_power(-1000.0) + 1000.0 <= 1.0 + 1e-6


@pytest.mark.parametrize(("delta", "looks"), [(0.1, 1), (0.1, 3), (0.7, 1), (0.7, 3)])
def test_both_axes(delta: float, looks: int) -> None:
    """One look's curve falls from 1 - delta, to 0 at 1 - delta; that of the best of T likewise."""
    best = approximate_dp(1.0, delta).best_of(looks)
    starts = 1.0 - delta, 1.0 - delta**looks
    for f, start, end in ((best, *starts), (best.inverse(), *starts[::-1])):
        assert f(0.0) == pytest.approx(start, rel=1e-14)
        assert f.delta([800.0, 1e300, np.inf], "forward") == pytest.approx(1.0 - start, rel=1e-13)
        beyond = np.append(np.nextafter(end, 1.0) + np.linspace(1e-15, 1.0 - end - 1e-15, 9), 1.0)
        assert f(beyond).tolist() == [0.0] * 10
        assert f.power(beyond).tolist() == [1.0] * 10
        assert f.log_power(np.log(beyond)).tolist() == [0.0] * 10
    hull = best.symmetrized()
    assert hull(0.0) == pytest.approx(min(starts), rel=1e-14)
    assert hull.power(0.0) == pytest.approx(1.0 - min(starts), rel=1e-13)
    assert hull(min(starts) * (1.0 + 1e-14)) == 0.0


@pytest.mark.parametrize("looks", [1, 3])
def test_laws_that_share_no_double(looks: int) -> None:
    best = gaussian(1e5).best_of(looks)  # beta has no double at any alpha that has one
    for f in (best, best.inverse(), best.symmetrized()):
        assert f([0.0, 1e-300, 0.3, 1.0]).tolist()[1:] == [0.0] * 3
        assert f.power([1e-300, 0.5, 1.0]).tolist() == [1.0] * 3
    for f in (best, best.inverse()):
        assert (f(0.0), f.power(0.0)) == (1.0, 0.0)


def test_deltas_of_0_have_no_sign() -> None:
    for curve in (gaussian(1.0), gaussian(0.0), laplace(1.0)):
        for f in (curve.best_of(3), curve.best_of(3).inverse()):
            assert not np.signbit(f.delta([0.0, 50.0, 1e300, np.inf], "forward")).any()
    assert (gaussian(1.0).best_of(3).delta(np.repeat([-np.inf, -800.0], 500)) == 1.0).all()


def test_names_and_ends() -> None:
    turned = gaussian(1.0).best_of(3).inverse()
    assert repr(turned.inverse()) == repr(gaussian(1.0).best_of(3))
    assert turned.power([0.0, 1.0]).tolist() == [0.0, 1.0]
    assert turned([0.0, 1.0]).tolist() == [1.0, 0.0]
    assert turned.log_power([-np.inf, 0.0]).tolist() == [-np.inf, 0.0]
    assert gaussian(1.0).at_least_as_private_as(gaussian(1.0)).bound == 0.0
    rough = subsampled_gaussian(2.0, 0.5, 20)
    open_ = rough.at_least_as_private_as(rough, tolerance=1e-12)
    assert (open_.verdict, open_.bound) == (None, -np.inf)
