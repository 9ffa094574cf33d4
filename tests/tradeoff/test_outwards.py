"""Certified curves are rounded outwards, at both ends of alpha and in every number."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore.tradeoff import subsampled_gaussian
from tests.helpers.parts import Polygon

# Vertices whose logs are exact in binary, so that the polygon itself has no error.
LOG_ALPHA = np.array([-np.inf, -40.0, -9.5, -1.25, -0.0625, -(2.0**-30), -(2.0**-45)])
LOG_BETA = np.array([-(2.0**-40), -(2.0**-12), -0.25, -2.5, -9.0, -31.0, -np.inf])


def polygon(side: Any) -> Polygon:
    return Polygon(LOG_ALPHA, LOG_BETA, "guarantee", side=side)


def exact_vertices() -> tuple[list[Any], list[Any]]:
    def values(logs: Any) -> list[Any]:
        return [mp.exp(mp.mpf(float(x))) if np.isfinite(x) else mp.mpf(0) for x in logs]

    return values(LOG_ALPHA), values(LOG_BETA)


def exact_beta(alpha: float) -> Any:
    xs, ys = exact_vertices()
    a = mp.mpf(alpha)
    for i in range(len(xs) - 1):
        if xs[i] <= a <= xs[i + 1]:
            return ys[i] + (ys[i + 1] - ys[i]) * (a - xs[i]) / (xs[i + 1] - xs[i])
    return mp.mpf(0)


ALPHAS = np.concatenate(
    [10.0 ** -np.arange(0.5, 30.0), 1.0 - 10.0 ** -np.arange(0.5, 13.5), np.linspace(0.0, 1.0, 41)]
)


def test_beta_and_power_are_rounded_outwards_everywhere() -> None:
    low, high = polygon(-1), polygon(1)
    with mp.workdps(60):
        for alpha in ALPHAS.tolist():
            beta = exact_beta(alpha)
            assert low(alpha) <= beta <= high(alpha)
            assert high.power(alpha) <= 1 - beta <= low.power(alpha)
            # By a few units in the last place; of alpha, where it is far from 0 and from 1.
            slack = mp.mpf(1e-14) * (beta + (1 - beta) * (1e-3 < alpha < 0.9999))
            assert high(alpha) - low(alpha) <= slack + 1e-30
            if 0.0 < alpha < 1e-3:
                ends = [np.exp(f.log_power(np.log(alpha))) for f in (high, low)]
                assert ends[0] <= (1 - beta) * (1 + 1e-14)
                assert ends[1] >= (1 - beta) * (1 - 1e-14)


def test_a_sub_sampled_polygon_is_rounded_outwards_too() -> None:
    low, near, high = (polygon(side).subsample(0.3) for side in (-1, 0, 1))
    for number in (lambda f: f.power(1e-3), lambda f: f.delta(0.3), lambda f: f.epsilon(1e-3)):
        assert number(high) < number(near) < number(low)


@pytest.mark.parametrize("rate", [0.3, 1e-3, 1e-9, 0.999])
def test_numbers_of_a_sub_sampled_polygon_lie_on_either_side_of_the_mixture(rate: float) -> None:
    low, high = (polygon(side).subsample(rate) for side in (-1, 1))
    with mp.workdps(60):
        share = mp.mpf(rate)
        for alpha in ALPHAS.tolist():
            power = (1 - share) * mp.mpf(alpha) + share * (1 - exact_beta(alpha))
            assert high.power(alpha) <= power <= low.power(alpha) <= power * (1 + 1e-14)
            assert low(alpha) <= 1 - power <= high(alpha)
        xs, ys = exact_vertices()
        for epsilon in (-3.0, -1e-4, 0.0, 1e-4, 0.3, 2.0, 9.0, 20.0):
            paid = mp.exp(epsilon) - (1 - share)  # of alpha, for what is caught beside it
            delta = max(share * (1 - y) - paid * x for x, y in zip([*xs, 1], [*ys, 0], strict=True))
            ends = [f.delta(epsilon, "forward") for f in (high, low)]
            assert ends[0] <= delta <= ends[1] <= delta * (1 + 1e-11) + 1e-14


def test_log_power_delta_and_epsilon_are_rounded_outwards() -> None:
    low, high = polygon(-1), polygon(1)
    with mp.workdps(60):
        xs, ys = exact_vertices()
        for epsilon in (-3.0, 0.0, 0.3, 2.0, 5.0, 9.0, 20.0, 30.0, 60.0):
            delta = max(1 - y - mp.exp(epsilon) * x for x, y in zip(xs, ys, strict=True))
            assert high.delta(epsilon, "forward") <= delta <= low.delta(epsilon, "forward")
            assert low.delta(epsilon, "forward") <= delta * (1 + 1e-11)
        for log_delta in (-1.0, -3.0, -8.0, -8.3):
            delta = float(np.exp(log_delta))
            epsilon = max(
                mp.log((1 - y - mp.mpf(delta)) / x)
                for x, y in zip(xs[1:], ys[1:], strict=True)
                if 1 - y > delta
            )
            ends = [f.epsilon(delta, "forward") for f in (high, low)]
            assert ends[0] <= epsilon <= ends[1]
            assert ends[1] - ends[0] <= 1e-12 * epsilon
        for alpha in (2.0**-20, 2.0**-60, 2.0**-1000):
            log_alpha = float(np.log(alpha))
            power = mp.log(1 - _beta_at_log(log_alpha))
            ends = [f.log_power(log_alpha) for f in (high, low)]
            assert ends[0] <= power <= ends[1]
            assert ends[1] - ends[0] <= 1e-13 * abs(power)
        advantage = max(1 - y - x for x, y in zip(xs, ys, strict=True))
        assert high.advantage() <= advantage <= low.advantage() <= advantage * (1 + 1e-14)
        area = sum((xs[i + 1] - xs[i]) * (ys[i] + ys[i + 1]) / 2 for i in range(len(xs) - 1))
        assert high.auc() <= 1 - area <= low.auc() <= (1 - area) * (1 + 1e-14)


def _beta_at_log(log_alpha: float) -> Any:
    xs, ys = exact_vertices()
    a = mp.exp(mp.mpf(log_alpha))
    i = max(k for k in range(len(xs) - 1) if xs[k] <= a)
    return ys[i] + (ys[i + 1] - ys[i]) * (a - xs[i]) / (xs[i + 1] - xs[i])


@pytest.mark.parametrize(("mu", "rate"), [(1.0, 0.5), (3.0, 1e-3), (0.3, 0.9)])
def test_both_ends_hold_next_to_one(mu: float, rate: float) -> None:
    """The curve of one step in 60 digits, up to alpha = 1 - 1e-15, and that of its inverse."""
    f = subsampled_gaussian(1.0 / mu, rate, 1)
    with mp.workdps(60):
        for exponent in (2, 5, 8, 9, 10, 12, 14, 15):
            gap = 10.0**-exponent
            alpha = 1.0 - gap
            spared = 1 - mp.mpf(alpha)
            z = mp.findroot(lambda z, s=spared: mp.log(mp.ncdf(-z) / s), exponent**0.5 * 2.0)
            beta = (1 - mp.mpf(rate)) * spared + mp.mpf(rate) * mp.ncdf(-z - mp.mpf(mu))
            low, high = f.interval("beta", alpha)
            assert low <= beta <= high
            assert high - low <= 2e-3 * beta
            low, high = f.interval("beta", gap)
            beta = (1 - mp.mpf(rate)) * (1 - mp.mpf(gap))
            z = mp.findroot(lambda z, s=gap: mp.log(mp.ncdf(-z) / s), exponent**0.5 * 2.0)
            beta += mp.mpf(rate) * mp.ncdf(z - mp.mpf(mu))
            assert low <= beta <= high


@pytest.mark.parametrize("place", [2.0**-11, 3.0 * 2.0**-13, 2.0**-14, 2.0**-20])
def test_next_to_a_vertex_beta_is_rounded_outwards(place: float) -> None:
    """There beta is a difference of places that nearly cancels, after an edge from 0 to it."""
    first, second = -0.125, -60.0
    logs = np.array([-np.inf, -place, 0.0]), np.array([first, second, -np.inf])
    low, high = (Polygon(*logs, "guarantee", side=side) for side in (-1, 1))  # type: ignore[arg-type]
    with mp.workdps(60):
        vertex, left, right = mp.exp(-mp.mpf(place)), mp.exp(first), mp.exp(second)
        for step in range(60):
            alpha = float(np.exp(-place)) - step * 2.0**-53
            if mp.mpf(alpha) < vertex:
                beta = left + (right - left) * mp.mpf(alpha) / vertex
                assert low(alpha) <= beta <= high(alpha)
                assert high(alpha) - low(alpha) <= 1e-14 * (place + beta)


@pytest.mark.parametrize("size", [2, 40, 2000])
def test_areas_are_rounded_outwards_whatever_the_number_of_vertices(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(2 + 200 // size):
        alpha, beta = np.sort(rng.uniform(size=(2, size)) ** rng.choice([0.1, 1.0, 9.0]))
        logs = np.append(-np.inf, np.log(alpha)), np.append(np.log(beta[::-1]), -np.inf)
        low, high = (Polygon(*logs, "guarantee", side=side).auc() for side in (-1, 1))  # type: ignore[arg-type]
        with mp.workdps(30):
            x, y = ([mp.exp(mp.mpf(v)) for v in values.tolist()] for values in logs)
            area = 1 - sum((x[i + 1] - x[i]) * (y[i] + y[i + 1]) / 2 for i in range(size))
            assert high <= area <= low
            assert low - high <= 34 * 2.0**-53


def test_no_area_is_above_one() -> None:
    assert Polygon(np.array([-np.inf]), np.array([-np.inf]), "guarantee", side=-1).auc() == 1.0
