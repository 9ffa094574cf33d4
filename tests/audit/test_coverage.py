"""Monte Carlo: how often the bound is too large, and its mean where the truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from leakscore.audit import Audit

REPS = 400


def violations(draw, epsilon: float, n: int, method: str, delta: float) -> int:  # type: ignore[no-untyped-def]
    """Count the audits of a mechanism whose bound lies above its true epsilon(delta)."""
    rng = np.random.default_rng(12)
    bounds = [
        Audit(draw(rng, 1, n), draw(rng, 0, n)).epsilon(delta, 0.9, method) for _ in range(REPS)
    ]
    return sum(bound.epsilon > epsilon for bound in bounds)


def laplace(epsilon: float):  # type: ignore[no-untyped-def]
    return lambda rng, bit, n: rng.laplace(bit, 1 / epsilon, n)


def randomised_response(epsilon: float):  # type: ignore[no-untyped-def]
    keep = 1 / (1 + math.exp(-epsilon))
    return lambda rng, bit, n: (rng.random(n) < (keep if bit else 1 - keep)).astype(np.float32)


@pytest.mark.parametrize("method", ["dkw", "dkw-two-sided"])
@pytest.mark.parametrize("epsilon", [0.0001, 1.0, 3.0])
@pytest.mark.parametrize("mechanism", [laplace, randomised_response])
def test_true_epsilon_is_seldom_exceeded(mechanism, epsilon: float, method: str) -> None:  # type: ignore[no-untyped-def]
    """Nominal 10 %: at most that and 4 standard errors."""
    for n in (30, 1000):
        count = violations(mechanism(epsilon), epsilon, n, method, 0.0)
        assert count <= REPS * 0.1 + 4 * math.sqrt(REPS * 0.1 * 0.9)


def test_uncorrected_bands_would_fail_this_test() -> None:
    """The check above can fail: observed rates in place of their bounds exceed the truth often."""
    rng = np.random.default_rng(12)
    draw = randomised_response(1.0)
    bounds = [
        Audit(draw(rng, 1, 1000), draw(rng, 0, 1000)).epsilon(0.0, 0.9, "dkw") for _ in range(REPS)
    ]
    plain = sum(math.log((1 - b.fnr) / max(b.fpr, 1e-9)) > 1.0 for b in bounds)
    assert plain > REPS * 0.1 + 4 * math.sqrt(REPS * 0.1 * 0.9)


@pytest.mark.parametrize(
    ("shift", "n", "delta", "two_sided", "one_sided"),
    [
        (3.0, 1000, 1e-5, 2.58, 2.66),
        (1.0, 1000, 1e-5, 0.94, 0.99),
        (2.0, 100, 1e-5, 1.08, 1.17),
        (1.0, 1000, 1e-2, 0.91, 0.95),
    ],
)
def test_mean_bound_of_gaussian_scores(
    shift: float, n: int, delta: float, two_sided: float, one_sided: float
) -> None:
    """Means of an independent simulation, known to two decimals, of N(shift, 1) against N(0, 1)."""
    rng = np.random.default_rng(5)
    for method, expected in (("dkw-two-sided", two_sided), ("dkw", one_sided)):
        values = np.array(
            [
                Audit(rng.normal(shift, 1, n), rng.normal(0, 1, n)).epsilon(delta, method=method)
                for _ in range(REPS)
            ],
            dtype=float,
        )
        error = values.std() / math.sqrt(REPS)
        assert abs(values.mean() - expected) < 0.005 + 4 * math.hypot(error, 0.002)


@pytest.mark.parametrize("n", [500, 5000])
def test_advantage_of_an_attack_that_knows_nothing(n: int) -> None:
    """The mean of the one-sided Kolmogorov-Smirnov statistic, sqrt(2 pi)/4 sqrt(1/n0 + 1/n1)."""
    rng = np.random.default_rng(8)
    values = [Audit(rng.normal(size=n), rng.normal(size=n)).advantage() for _ in range(REPS)]
    mean = math.sqrt(2 * math.pi) / 4 * math.sqrt(2 / n)
    assert np.mean(values) == pytest.approx(
        mean, abs=4 * np.std(values) / math.sqrt(REPS) + 0.5 / n
    )
