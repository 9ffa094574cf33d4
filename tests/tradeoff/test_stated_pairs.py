"""The pair of which a stated guarantee is the curve: its advantage and infinite losses."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore.tradeoff import approximate_dp, compose
from tests.helpers.parts import Polygon, lower_hull, stated_pair


def polygon(rng: np.random.Generator) -> tuple[Any, Any]:
    """A random convex curve below 1 - alpha, which ends before both axes."""
    alpha, beta = rng.uniform(0.0, 1.0, size=(2, 30)) ** rng.choice([1.0, 8.0])
    beta *= 1.0 - alpha
    order = np.argsort(alpha)
    x = np.concatenate([[-np.inf], np.log(alpha[order]), [np.log(0.97)]])
    y = np.concatenate([[np.log(0.98)], np.log(beta[order]), [-np.inf]])
    return lower_hull(x, y)


@pytest.mark.parametrize("seed", range(8))
def test_the_advantage_of_a_finite_loss_is_bounded_from_above(seed: int) -> None:
    """The outputs that H1 makes likelier, given that the loss is finite under either."""
    log_alpha, log_beta = polygon(np.random.default_rng(seed))
    pair = stated_pair(log_alpha, log_beta)
    with mp.workdps(40):
        x = [mp.exp(v) if np.isfinite(v) else mp.mpf(0) for v in log_alpha]
        y = [mp.exp(v) if np.isfinite(v) else mp.mpf(0) for v in log_beta]
        gains = [(y[i] - y[i + 1]) / y[0] - (x[i + 1] - x[i]) / x[-1] for i in range(len(x) - 1)]
        exact = sum(max(gain, mp.mpf(0)) for gain in gains)
        assert exact <= pair.advantage <= exact + 1e-13


def test_an_advantage_is_at_most_one_and_nothing_has_none() -> None:
    far = np.array([-np.inf, -700.0, 0.0]), np.array([0.0, -700.0, -np.inf])
    assert stated_pair(*far).advantage == 1.0
    nothing = np.array([-np.inf, 0.0]), np.array([0.0, -np.inf])
    assert stated_pair(*nothing).advantage == 0.0
    parts = [(approximate_dp(0.0, 0.0), 1000)]
    assert compose(parts).advantage() == 0.0  # type: ignore[arg-type]


def test_how_probable_finite_losses_are_is_rounded_down() -> None:
    """Nothing but an infinite loss is told: of one probability under H0, of another under H1."""
    for first, second in -np.random.default_rng(0).uniform(0.01, 0.3, size=(20, 2)):
        parts: Any = [
            (Polygon(np.array([-np.inf, x]), np.array([y, -np.inf]), "guarantee"), count)
            for x, y, count in ((first, second, 998), (-0.1, -0.3, 1))
        ]
        found: Any = compose(parts)
        logs = found.vertices[0][-1], found.vertices[1][0]
        for log, each, alone in zip(logs, (first, second), (-0.1, -0.3), strict=True):
            exact = 998 * Fraction(each) + Fraction(alone)
            assert exact * (1 + Fraction(3e-15)) <= Fraction(log) <= exact


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize(
    "claims",
    [
        [(0.1, 0.0, 1), (3.0, 0.0, 3)],
        [(0.0, 0.1, 1), (0.0, 0.3, 4)],
        [(1.0, 0.1, 2), (1.0, 0.3, 2), (0.3, 0.0, 3)],
    ],
)
def test_different_claims_are_not_counted_as_the_first_of_them(claims: Any, turn: int) -> None:
    """They once were. The oracle goes through all outcomes of randomised responses."""
    f = compose([(approximate_dp(eps, delta), count) for eps, delta, count in claims[::turn]])
    each = [eps for eps, _, count in claims for _ in range(count)]
    finite = math.prod((1.0 - delta) ** count for _, delta, count in claims)
    for at in (0.0, 0.3, 0.9 * sum(each)):
        gain = 0.0
        for signs in product((1, -1), repeat=len(each)):
            p = math.prod(1 / (1 + math.exp(s * e)) for s, e in zip(signs, each, strict=True))
            q = math.prod(1 / (1 + math.exp(-s * e)) for s, e in zip(signs, each, strict=True))
            gain += max(q - math.exp(at) * p, 0.0)
        exact = 1.0 - finite * (1.0 - gain)
        assert exact * (1.0 - 1e-12) <= f.delta(at) <= exact * 1.01 + 1e-4


def test_equal_claims_are_counted_together() -> None:
    f = approximate_dp(0.5, 1e-3)
    together, apart = compose([(f, 3)]), compose([f, approximate_dp(0.5, 1e-3), f])
    np.testing.assert_array_equal(
        together.interval("epsilon", [1e-2, 0.1]), apart.interval("epsilon", [1e-2, 0.1])
    )
