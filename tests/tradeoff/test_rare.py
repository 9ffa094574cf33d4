"""Composition where records are hardly ever drawn: long tails of rare losses."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore.tradeoff import compose, subsampled_gaussian, subsampled_laplace, subsampled_mean
from tests.helpers.certified import curves
from tests.helpers.parts import (
    Component,
    GaussianStep,
    LaplaceStep,
    Parts,
    ends,
    log_losses,
    loss_step,
    lower_curve,
    power,
    rare_losses,
    ratio_losses,
    ratio_step,
    upper_curve,
)


@pytest.mark.parametrize(
    ("noise", "rate", "steps"),
    [(1.0, 1e-6, 1000), (1.0, 1e-6, 100_000), (1.0, 1e-5, 30), (0.5, 1e-5, 30), (1.0, 1e-4, 1000)],
)
def test_both_ends_are_close(noise: float, rate: float, steps: int) -> None:
    for adversary in ("informed", "relaxed-unaligned"):
        f = subsampled_gaussian(noise, rate, steps, adversary)
        low, high = f.interval("epsilon", 1e-10)
        assert 0.0 < low < high < 1.1 * low


@pytest.mark.parametrize(("noise", "rate"), [(1.0, 1e-6), (0.5, 1e-6), (2.0, 1e-5), (0.3, 1e-4)])
def test_one_step_holds_the_closed_form(noise: float, rate: float) -> None:
    f, g = subsampled_gaussian(noise, rate, 1), subsampled_mean(rate / noise**2, rate)
    alpha = np.concatenate([np.logspace(-30.0, -1.0, 60), np.linspace(0.1, 1.0, 50)])
    low, high = f.interval("beta", alpha)
    assert (low <= g(alpha) + 1e-16).all()
    assert (high >= g(alpha) - 1e-16).all()
    for direction in ("forward", "reverse"):
        epsilon = np.array([0.0, 1e-5, 1e-3, 0.1, 1.0, 5.0, 10.0])
        low, high = f.interval("delta", epsilon, direction)
        exact = g.delta(epsilon, direction)
        assert (low <= exact * (1.0 + 1e-12) + 1e-16).all()
        assert (high >= exact * (1.0 - 1e-12) - 1e-18).all()


def test_the_profile_never_rises() -> None:
    """Where the losses are bounded, what truncation may hide is all that is left of delta."""
    f = subsampled_laplace(1.0, 0.1, 10)
    for direction in ("forward", "reverse"):
        profile = f.delta(np.linspace(0.0, 60.0, 301), direction)
        assert (np.diff(profile) <= 0.0).all()
        assert profile[-1] > 0.0


@pytest.mark.parametrize(
    ("noise", "rate", "steps", "low", "high"),
    [(0.5, 1e-6, 100_000, 0.56261, 0.56264), (0.5, 1e-6, 10**6, 0.94864, 0.94872)],
)
def test_losses_of_20_beside_a_millionth(
    noise: float, rate: float, steps: int, low: float, high: float
) -> None:
    """One lattice spans both: its octaves."""
    found = subsampled_gaussian(noise, rate, steps).interval("epsilon", 1e-10, "forward")
    assert low < found[0] <= found[1] < high
    assert found[1] - found[0] < 5e-5


def test_octaves_and_an_even_lattice_agree() -> None:
    """Where both reach; different rates in one sequence too, with a step that tells nothing."""
    parts: Parts = [(GaussianStep(1.0, 1e-3), 300), (GaussianStep(2.0, 1e-4), 100)]
    none: Parts = [(LaplaceStep(1e-9, 1e-9), 1)]  # no octaves beside it
    octaves, even = curves(rare_losses(parts)), ends([*parts, *none], "guarantee", "informed")
    for direction in ("forward", "reverse"):
        for delta in (1e-4, 1e-6, 1e-8):
            ends_of = [
                [float(one.epsilon(delta, direction)) for one in both] for both in (octaves, even)
            ]
            assert max(upper for _, upper in ends_of) <= min(lower for lower, _ in ends_of)
            assert abs(ends_of[0][0] - ends_of[1][0]) < 2e-3 * max(ends_of[0][0], 0.1)


@pytest.mark.parametrize("mu", [0.3, 1.0, 4.0])
def test_a_guarantee_needs_no_statistic(mu: float) -> None:
    """The pair that dominates is the same without one, and gives no attack."""
    laws_of = [power(ratio_step(mu, 21, 128, statistic), 21) for statistic in (True, False)]
    both, alone = (ratio_losses(law) for law in laws_of)
    cases = [Component(0.3, mu, 1e-3), Component(0.7, 2.0 * mu, 1e-4)]
    made = [loss_step(cases, 300, 128, statistic) for statistic in (True, False)]
    logs, logs_alone = (log_losses(power(one, 300), 300 * least) for one, least in made)
    for one, other in ((both, alone), (logs, logs_alone)):
        lower, again = (lower_curve(some, "guarantee", "informed") for some in (one, other))
        alpha = np.logspace(-20.0, 0.0, 200)
        np.testing.assert_allclose(again(alpha), lower(alpha), rtol=1e-10, atol=1e-30)
        with pytest.raises(RuntimeError, match="no attack"):
            upper_curve(other, "informed")


def test_octaves_are_for_rare_gaussian_steps_alone() -> None:
    """A step of Laplace noise adds at most its largest loss, however rare its record is too."""
    rare, other = subsampled_gaussian(1.0, 1e-6, 1000), subsampled_laplace(1.0, 1e-4, 1)
    epsilon, most = np.array([2e-4, 3e-4, 5e-4]), np.log1p(1e-4 * np.expm1(1.0))
    low, high = compose([rare, other]).interval("delta", epsilon)
    assert (low <= rare.delta(epsilon - most)).all()
    assert (high >= rare.interval("delta", epsilon)[0]).all()
