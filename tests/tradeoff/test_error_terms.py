"""What laws of sums say about their own errors: each is met, and met by a stated factor at most."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.helpers.parts import (
    Component,
    MixedStep,
    Octaves,
    joined,
    log_losses,
    loss_step,
    ratio_losses,
    ratio_step,
)

U = 2.0**-53


def of_losses(rounding: float, moved: float, lost: tuple[float, float]) -> Octaves:
    law, _ = loss_step([Component(1.0, 0.8, 1e-3)], 4, 64)
    return replace(law, rounding=rounding, moved=moved, lost=lost)


def of_ratios(steps: float, lost: tuple[float, float]) -> Octaves:
    return replace(ratio_step(0.8, 4, 64), steps=steps, lost=lost)


def test_errors_of_a_sum_of_losses() -> None:
    """Lost masses and relative errors of masses add up; places are as far off as the worse."""
    first = of_losses(1e-3, 2e-5, (1e-4, 2e-4))
    second = of_losses(3e-3, 1e-5, (4e-4, 8e-4))
    for total in (joined(first, second), joined(second, first)):
        assert total.lost == pytest.approx((5e-4, 1e-3), rel=1e-12)
        assert 2e-5 + 6.0 * U < total.moved < 2e-5 + 64.0 * U
        assert 4e-3 + 80.0 * U < total.rounding < 4e-3 + 1e-11


def test_what_is_lost_of_a_sum_of_ratios() -> None:
    """One random step is that of H1: the mass of H1 is lost if it is in that part, else of H0."""
    first, second = of_ratios(3.0, (1e-4, 5e-4)), of_ratios(1.0, (2e-4, 9e-4))
    total = joined(first, second)
    with_record = 0.75 * 5e-4 + 0.25 * 1e-4 + 0.25 * 9e-4 + 0.75 * 2e-4
    assert total.lost == pytest.approx((3e-4, with_record), rel=1e-12)
    assert total.steps == 4.0


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 6.0, 16.0])
def test_places_are_off_by_the_rounding_of_exponents(mu: float) -> None:
    """At least four roundings of the largest exponent, and of what is added to it."""
    largest = mu * (12.5 + mu)
    moved = ratio_step(mu, 2, 64).moved
    assert 4.0 * U * (1.0 + largest) <= moved <= 16.0 * U * (1.0 + largest)
    parts = [Component(0.5, mu, 1e-4), Component(0.5, 0.5 * mu, 1e-3)]
    for order in (parts, parts[::-1]):
        moved = loss_step(order, 2, 64)[0].moved
        assert 4.0 * U * (2.0 + largest) <= moved <= 16.0 * U * (2.0 + largest)


def test_places_of_logs_are_off_by_their_rounding() -> None:
    law = replace(ratio_step(0.8, 4, 64), moved=1e-3)
    losses = ratio_losses(law)
    most = float(np.abs(losses.points).max())
    assert 2.0 * U * (1.0 + most) <= losses.moved - 1e-3 <= 2e-15 * (1.0 + most)
    at_zero = float(law.under_h0[0, 0])  # no ratio is 0: such a sum is not told apart
    assert law.origin == 0.0 < at_zero
    assert at_zero < losses.lost[0] - law.lost[0] < 1.01 * at_zero
    sums, start = loss_step([Component(1.0, 0.8, 1e-3)], 4, 64)
    losses = log_losses(replace(sums, moved=1e-3), -1e3 + start)
    numbers = float((losses.points + 1e3 - start).max())
    extra = losses.moved - 1e-3 * numbers
    assert 3.0 * U * 1e3 <= extra <= 1e-15 * 2e3


def test_errors_of_weights_and_rates_move_masses_and_places() -> None:
    parts = (Component(0.25, 1.0, 1e-3), Component(0.75, 1.0, 2e-3))
    plain = log_losses(*loss_step(list(parts), 1, 2048))
    for error in (0.0, 1e-4, plain.moved):
        wide = MixedStep(components=parts, error=error).whole()
        assert wide.rounding == pytest.approx(plain.rounding + error, rel=1e-9, abs=0.0)
        assert wide.moved == pytest.approx(plain.moved + error, rel=1e-9, abs=0.0)


def test_both_laws_of_ratios_and_losses_have_all_mass() -> None:
    sums, start = loss_step([Component(1.0, 0.8, 1e-3)], 4, 64)
    for losses in (ratio_losses(ratio_step(0.8, 4, 64)), log_losses(sums, start)):
        for logs in losses.dominating:
            assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-9)
