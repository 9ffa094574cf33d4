"""Certified bounds of compositions against closed forms and quadrature."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from leakscore.tradeoff import compose, gaussian, subsampled_gaussian, subsampled_laplace
from tests.helpers.parts import (
    Cumulants,
    GaussianMagnitude,
    GaussianStep,
    LaplaceMagnitude,
    LaplaceStep,
    Polygon,
    Step,
    ends,
)
from tests.oracles import composition as oracle

ALPHAS = np.concatenate([10.0 ** -np.arange(1.0, 13.0), np.linspace(0.02, 0.98, 25)])
EPSILONS = np.array([-4.0, -0.5, 0.0, 0.05, 0.3, 1.0, 2.5, 5.0])


def bounds(steps: list[tuple[Step, int]], fineness: float = 1.0) -> tuple[Polygon, Polygon]:
    return ends(steps, "guarantee", "informed", fineness)


def between(low: Any, value: Any, high: Any, rtol: float = 1e-13) -> None:
    value = np.asarray(value)
    assert (np.asarray(low) <= value + rtol * np.abs(value)).all()
    assert (value - rtol * np.abs(value) <= np.asarray(high)).all()


@pytest.mark.parametrize(("mu", "steps"), [(0.02, 1), (1.0, 1), (0.1, 100), (0.005, 30_000)])
def test_sampling_of_everybody_is_the_gaussian_curve(mu: float, steps: int) -> None:
    """The closed form lies between the bounds that the general method gives."""
    exact = gaussian(mu * np.sqrt(steps))
    low, high = bounds([(GaussianStep(mu, 1.0), steps)])
    between(low(ALPHAS), exact(ALPHAS), high(ALPHAS))
    between(high.log_power(np.log(ALPHAS)), exact.log_power(np.log(ALPHAS)), 0.0)
    between(exact.log_power(np.log(ALPHAS)), low.log_power(np.log(ALPHAS)), 0.0)
    for direction in ("forward", "reverse"):
        between(high.delta(EPSILONS, direction), exact.delta(EPSILONS), 1.0)
        between(0.0, exact.delta(EPSILONS), low.delta(EPSILONS, direction) + 1e-18)
    deltas = 10.0 ** -np.arange(1.0, 11.0)
    between(high.epsilon(deltas), exact.epsilon(deltas), low.epsilon(deltas))
    scale = min(1.0, mu * np.sqrt(steps))
    assert (low.epsilon(deltas) - high.epsilon(deltas)).max() < 3e-4 * scale
    between(high.advantage(), exact.advantage(), low.advantage())
    between(high.auc(), exact.auc(), low.auc())
    assert low.advantage() - high.advantage() < 5e-5 * scale


@pytest.mark.parametrize(
    ("law", "tail"),
    [
        (GaussianStep, oracle.gaussian),
        (GaussianMagnitude, oracle.folded_gaussian),
        (LaplaceStep, oracle.laplace),
        (LaplaceMagnitude, oracle.folded_laplace),
    ],
)
@pytest.mark.parametrize(("mu", "rate"), [(0.1, 0.08), (1.0, 0.01), (2.5, 0.6), (0.7, 1.0)])
def test_one_step(law: type[Step], tail: Any, mu: float, rate: float) -> None:
    """Every test of one step, in high precision, lies between the bounds."""
    low, high = bounds([(law(mu, rate), 1)])
    end = 4.0 + mu if "Gaussian" in law.__name__ else mu
    for x in np.linspace(0.0, end, 12)[1:-1]:
        alpha, beta = (float(value) for value in oracle.one_step(tail, x, mu, rate))
        between(low(alpha), beta, high(alpha))
        assert high(alpha) - low(alpha) < 5e-5
        between(low.inverse()(beta), alpha, high.inverse()(beta), 1e-12)


@pytest.mark.parametrize(("mu", "rate"), [(0.4, 0.1), (1.2, 0.02), (0.8, 0.9)])
def test_two_and_three_steps(mu: float, rate: float) -> None:
    step = GaussianStep(mu, rate)
    two, three = bounds([(step, 2)]), bounds([(step, 3)])
    other = GaussianStep(0.5, 0.3)
    mixed = bounds([(step, 1), (other, 1)])
    for epsilon in (0.0, 0.1, 0.5, 1.5):
        exact = oracle.two_steps(epsilon, (mu, rate), (mu, rate))
        between(two[1].delta(epsilon), exact, two[0].delta(epsilon) + 1e-17, 1e-10)
        assert two[0].delta(epsilon) - two[1].delta(epsilon) < 1e-5
        exact = oracle.two_steps(epsilon, (mu, rate), (0.5, 0.3))
        between(mixed[1].delta(epsilon), exact, mixed[0].delta(epsilon) + 1e-17, 1e-10)
        exact = oracle.three_steps(epsilon, mu, rate)
        between(three[1].delta(epsilon), exact, three[0].delta(epsilon) + 1e-17, 1e-9)


@pytest.mark.parametrize(
    ("step", "count"),
    [
        (GaussianStep(1 / 10.5, 4096 / 50_000), 1000),
        (GaussianStep(0.8, 0.01), 60),
        (LaplaceStep(0.5, 0.1), 200),
        (LaplaceMagnitude(0.9, 0.3), 50),
    ],
)
def test_bounds_are_nested_and_shrink_with_the_square(step: Step, count: int) -> None:
    nested = [bounds([(step, count)], fineness) for fineness in (1.0, 2.0, 4.0)]
    gaps = []
    for (low, high), (inner_low, inner_high) in pairwise(nested):
        for at in ("delta", "epsilon"):
            where = EPSILONS if at == "delta" else np.array([1e-3, 1e-5, 1e-8])
            ordered = [getattr(f, at)(where) for f in (high, inner_high, inner_low, low)]
            for less, more in pairwise(ordered):
                assert (less <= more + 1e-12).all()
    for low, high in nested:
        gaps.append(low.epsilon(1e-5) - high.epsilon(1e-5))
    assert gaps[1] < 0.4 * gaps[0]
    assert gaps[2] < 0.4 * gaps[1]


def test_laplace_noise_in_closed_form() -> None:
    """One step without sampling: delta = 1 - exp((epsilon - mu)/2); n steps end at n mu."""
    low, high = bounds([(LaplaceStep(0.5, 1.0), 1)])
    epsilon = np.array([0.0, 0.1, 0.3, 0.4999])
    for direction in ("forward", "reverse"):
        exact = -np.expm1((epsilon - 0.5) / 2.0)
        between(high.delta(epsilon, direction), exact, low.delta(epsilon, direction))
    many = subsampled_laplace(2.0, 1.0, 10)
    low, high = many.interval("delta", 5.0 + 1e-9)
    assert low == 0.0
    assert high < 1e-12
    assert many.epsilon(1e-6) < 5.0 + 1e-6


@pytest.mark.parametrize(
    ("noise", "rate", "steps"),
    [(0.3, 0.3, 200), (0.3, 1.0, 200), (1.0, 1e-6, 1), (12.0, 1e-3, 3000), (100.0, 1e-6, 50)],
)
@pytest.mark.parametrize("adversary", ["informed", "relaxed-unaligned"])
def test_shape_of_the_curve(noise: float, rate: float, steps: int, adversary: str) -> None:
    f = subsampled_gaussian(noise, rate, steps, adversary)
    g = subsampled_laplace(noise, rate, steps, adversary)
    for curve in (f.lower, f.upper, g.lower, g.upper):
        alpha = np.concatenate([[0.0], 10.0 ** -np.arange(20.0, 0.0, -1.0), np.linspace(0, 1, 50)])
        alpha.sort()
        beta = curve(alpha)
        assert beta[0] == pytest.approx(1.0, abs=1e-9)
        assert beta[-1] == 0.0
        assert (beta <= 1.0 - alpha + 1e-15).all()
        assert (np.diff(beta) <= 1e-15).all()
        even = curve(np.linspace(0.0, 1.0, 101))
        assert (np.diff(even, 2) >= -1e-12).all()
    assert (f.lower(alpha) <= f.upper(alpha) + 1e-15).all()
    low, high = f.interval("epsilon", 1e-5)
    assert low <= high < np.inf


def test_tails_far_beyond_the_last_digit_are_wide_but_valid() -> None:
    f = subsampled_gaussian(4.0, 0.2, 300)
    log_alpha = np.array([-20.0, -40.0, -60.0, -300.0, -1e4])
    low, high = f.interval("log_power", log_alpha)
    assert (low <= high).all()
    assert (high[:2] - low[:2] < 2e-4).all()
    low, high = f.interval("epsilon", [1e-10, 1e-15, 1e-30, 1e-200])
    assert high[0] - low[0] < 1e-4
    assert (low <= high).all()
    assert f.epsilon(0.0) == np.inf


def test_steps_without_end() -> None:
    """A million steps; laws that no test distinguishes, and laws that every test does."""
    low, high = subsampled_gaussian(50.0, 0.001, 10**6).interval("epsilon", 1e-5)
    assert 0.0 < high - low < 5e-3 * high
    low, high = subsampled_gaussian(1e12, 1e-6, 3).interval("advantage")
    assert 0.0 <= low <= high < 1e-15
    sure = subsampled_gaussian(1e-3, 0.25, 2)  # seen unless never sampled
    np.testing.assert_allclose(sure([1e-9, 0.5]), [0.5625, 0.28125], atol=1e-9)
    hardly = compose([gaussian(1.0), subsampled_gaussian(1e200, 1e-3, 10)])
    assert hardly.advantage() == pytest.approx(gaussian(1.0).advantage(), rel=1e-5)
    assert compose([sure, gaussian(50.0)]).advantage() == pytest.approx(1.0)


def test_many_different_steps_at_once() -> None:
    """Wider by the square root of a few, and around the finer bounds."""
    steps = [GaussianStep(1.0 / (1.0 + 0.1 * i), 0.01) for i in range(16)]
    parts: list[tuple[Any, int]] = [(step, 20) for step in steps]
    coarse, fine = (
        [float(end.epsilon(1e-5)) for end in ends(parts, "guarantee", "informed", fineness)[::-1]]
        for fineness in (1.0, 3.0)
    )
    assert coarse[0] <= fine[0] < fine[1] <= coarse[1]
    assert coarse[1] - coarse[0] < 2e-4 * coarse[1]


@pytest.mark.parametrize("tilt", [-3.0, 0.0, 1.0, 9.0])
def test_tilted_laws_of_different_steps(tilt: float) -> None:
    """Sums over the steps of integrals over one output."""
    rate, shifts = 0.01, (1.0, 0.5, 0.25)
    found = Cumulants([(GaussianStep(mu, rate), 20) for mu in shifts])(tilt)
    total = mean = variance = 0.0
    for mu in shifts:

        def moment(x: float, order: int, mu: float = mu) -> float:
            loss = np.log1p(rate * np.expm1(mu * x - 0.5 * mu * mu))
            return float(loss**order * np.exp(tilt * loss) * norm.pdf(x))

        parts = [quad(moment, -12.0, 24.0, args=(k,), epsabs=1e-13, limit=200)[0] for k in range(3)]
        total += 20.0 * np.log(parts[0])
        mean += 20.0 * parts[1] / parts[0]
        variance += 20.0 * (parts[2] / parts[0] - (parts[1] / parts[0]) ** 2)
    expected = total, mean, np.sqrt(variance), False
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-9)
