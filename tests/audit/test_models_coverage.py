"""Monte Carlo: how often mu and the other parameters are too large, and means that are known."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from leakscore.audit import Audit
from leakscore.tradeoff import TradeOff, laplace, subsampled_mean
from tests.audit import BANDS

REPS = 400
ALLOWED = REPS * 0.1 + 4 * math.sqrt(REPS * 0.1 * 0.9)  # at a confidence of 90 %


def audits(n: int, shift: float = 0.0) -> list[Audit]:
    rng = np.random.default_rng(12)
    return [Audit(rng.normal(shift, 1, n), rng.normal(0, 1, n)) for _ in range(REPS)]


@pytest.mark.parametrize("method", BANDS)
@pytest.mark.parametrize(("n", "shift"), [(20, 0.0), (500, 0.0), (500, 1.0), (30, 3.0)])
def test_mu_is_seldom_exceeded(n: int, shift: float, method: str) -> None:
    """Scores that leak nothing included."""
    bounds = [audit.mu(0.9, method).mu for audit in audits(n, shift)]
    assert sum(bound > shift for bound in bounds) <= ALLOWED
    assert n < 100 or shift == 0.0 or np.mean(bounds) > 0.4


def test_uncorrected_rates_would_fail_this_test() -> None:
    """The check above can fail: observed rates in place of their bounds exceed mu often."""
    from leakscore.distributions import norm

    bounds = [audit.mu() for audit in audits(500, 1.0)]
    plain = [norm.isf(bound.fpr) - norm.ppf(bound.fnr) for bound in bounds]
    assert sum(value > 1.0 for value in plain) > ALLOWED


@pytest.mark.parametrize(
    ("family", "theta", "draw"),
    [
        (laplace, 1.0, lambda rng, bit, n: rng.laplace(bit, 1.0, n)),
        (
            lambda m: subsampled_mean(m, 0.5),
            2.0,
            lambda rng, bit, n: rng.normal(size=n) + 2.0 * bit * (rng.random(n) < 0.5),
        ),
    ],
)
def test_parameters_are_seldom_exceeded(
    family: Callable[[float], TradeOff],
    theta: float,
    draw: Callable[[np.random.Generator, int, int], np.ndarray],
) -> None:
    rng = np.random.default_rng(13)
    bounds = [
        Audit(draw(rng, 1, 400), draw(rng, 0, 400))
        .parameter_lower_bound(family, 0.9, "ks")
        .parameter
        for _ in range(REPS // 4)
    ]
    exceeded = np.mean(np.array(bounds) > theta)
    assert exceeded <= 0.1 + 4 * math.sqrt(0.1 * 0.9 * 4 / REPS)
    assert np.mean(bounds) > 0.3 * theta


@pytest.mark.parametrize(
    ("shift", "n", "delta", "method", "expected"),
    [
        (3.0, 1000, 1e-5, "dkw-two-sided", 12.88),
        (3.0, 1000, 1e-5, "ell", 14.50),
        (1.0, 1000, 1e-2, "ell", 1.70),
        (1.0, 1000, 1e-5, "dkw-two-sided", 3.31),
        (2.0, 100, 1e-2, "dkw-two-sided", 2.69),
    ],
)
def test_mean_epsilon_if_gaussian(
    shift: float, n: int, delta: float, method: str, expected: float
) -> None:
    """Means of an independent simulation of 2000 audits, known to two decimals."""
    found = [float(audit.epsilon_if_gaussian(delta, method=method)) for audit in audits(n, shift)]
    error = np.std(found) * math.sqrt(1 / REPS + 1 / 2000)
    assert abs(np.mean(found) - expected) < 0.005 + 4 * error


def test_epsilon_if_gaussian_is_wrong_elsewhere() -> None:
    """With Laplace noise it always exceeds the true epsilon; the certified bound never does."""
    rng = np.random.default_rng(14)
    played = [Audit(rng.laplace(1, 1, 1000), rng.laplace(0, 1, 1000)) for _ in range(50)]
    assert min(float(audit.epsilon_if_gaussian(1e-5)) for audit in played) > 1.0
    assert max(float(audit.epsilon(1e-5, method="weighted-ell")) for audit in played) < 1.0
