"""Curves made of polygons: no vertex is lost, by the tests of all outcomes of two laws."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest

from leakscore import tradeoff
from leakscore.tradeoff import TradeOff


class Laws(NamedTuple):
    """Masses of some outcomes without the record and with it, and the polygon of the two."""

    outside: np.ndarray
    inside: np.ndarray
    curve: TradeOff


def drawn(outside: list[float], inside: list[float]) -> Laws:
    """The polygon from ratios of a hundred draws of members."""
    p, q = np.array(outside), np.array(inside)
    with np.errstate(divide="ignore"):
        ratio = np.log(q / p)
    return Laws(p, q, tradeoff.from_llr(llr_h1=np.repeat(ratio, np.rint(100 * q).astype(int))))


def claimed(epsilon: float, delta: float) -> Laws:
    """Randomised response that tells the truth for sure with probability delta."""
    yes = (1.0 - delta) / (1.0 + math.exp(-epsilon))
    p = np.array([delta, yes, 1.0 - delta - yes, 0.0])
    return Laws(p, p[::-1], tradeoff.approximate_dp(epsilon, delta))


LAWS = {
    "both have all": drawn([0.3, 0.2, 0.2, 0.15, 0.1, 0.05], [0.05, 0.1, 0.1, 0.25, 0.2, 0.3]),
    "a member is sure": drawn([0.3, 0.25, 0.25, 0.1, 0.1, 0.0], [0.1, 0.05, 0.25, 0.1, 0.2, 0.3]),
    "both are sure": claimed(0.7, 0.2),
}
each_law = pytest.mark.parametrize("laws", LAWS.values(), ids=LAWS)
ALPHA = np.linspace(0.0, 1.0, 57)


def corners(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Both error rates of the tests that accuse the outcomes of the largest ratios, (k, 2)."""
    with np.errstate(divide="ignore"):
        order = np.argsort(-q / p, kind="stable")
    alpha, caught = (np.concatenate([[0.0], np.cumsum(law[order])]) for law in (p, q))
    return np.stack([alpha, 1.0 - caught], axis=1)


def below_all(points: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """The lower convex hull of points, as the least chord of any two of them."""
    best = np.full(alpha.shape, np.inf)
    for (a, b), (c, d) in itertools.product(points, points):
        if a <= c:
            share = np.clip((alpha - a) / max(c - a, 1e-300), 0.0, 1.0)
            line = np.where(alpha > c, d, b + share * (d - b))
            best = np.where(alpha >= a, np.minimum(best, line), best)
    return best


@each_law
@pytest.mark.parametrize("rate", [0.3, 0.9])
def test_no_vertex_of_a_polygon_is_lost(laws: Laws, rate: float) -> None:
    p, q, f = laws
    mixed = (1.0 - rate) * p + rate * q
    g = f.subsample(rate)
    for curve, points in (
        (f, corners(p, q)),
        (f.inverse(), corners(q, p)),
        (f.symmetrized(), np.concatenate([corners(p, q), corners(q, p)])),
        (g, corners(p, mixed)),
        (g.inverse(), corners(mixed, p)),
        (g.symmetrized(), np.concatenate([corners(p, mixed), corners(mixed, p)])),
    ):
        np.testing.assert_allclose(curve(ALPHA), below_all(points, ALPHA), atol=1e-12)
        power = 1.0 - below_all(points, ALPHA)
        np.testing.assert_allclose(curve.power(ALPHA), power, atol=1e-12)
        for epsilon in (-0.2, 0.0, 0.4, 2.0):
            gain = (1.0 - points[:, 1] - math.exp(epsilon) * points[:, 0]).max()
            assert curve.delta(epsilon, "forward") == pytest.approx(max(gain, 0.0), abs=1e-12)


@each_law
def test_looks_at_a_polygon(laws: Laws) -> None:
    """Between its vertices a test flips a coin in each look."""
    f = laws.curve
    alpha, looks = np.linspace(0.0, 0.999, 57), 3
    one = -np.expm1(np.log1p(-alpha) / looks)
    points = corners(laws.outside, laws.inside)
    missed = below_all(points, one) * (1.0 - one) ** (looks - 1)
    np.testing.assert_allclose(f.best_of(looks)(alpha), missed, atol=1e-12)


@pytest.mark.parametrize("rate", [0.3, 0.9])
def test_limits_of_a_small_alpha(rate: float) -> None:
    """Of Laplace noise a record of the largest ratio, e, flags members; of the least, strangers."""
    f = tradeoff.laplace(1.0).subsample(rate)
    for g, ratio in (
        (f, 1.0 / (1.0 - rate + rate * math.e)),
        (f.inverse(), 1.0 - rate + rate / math.e),
        (f.best_of(4), 4.0 / (1.0 - rate + rate * math.e + 3.0)),
    ):
        assert g.ppv(0.0, 0.5) == pytest.approx(1.0 / (1.0 + ratio), rel=1e-12)


def test_the_steepest_line_of_looks_at_delta_0_is_a_limit() -> None:
    """Of three looks (e^epsilon + 2)/3 at an alpha of 0; in reverse that of one look."""
    looks = tradeoff.laplace(1.0).best_of(3)
    assert looks.epsilon(0.0, "forward") == pytest.approx(math.log((math.e + 2.0) / 3.0), rel=1e-12)
    assert looks.epsilon(0.0, "reverse") == pytest.approx(1.0, rel=1e-12)
    assert looks.delta(1.0, "reverse") < 1e-15 < looks.delta(0.999, "reverse")
    assert tradeoff.gaussian(1.0).best_of(3).epsilon(0.0, "forward") == math.inf
