"""N(0, 1) against N(d, r^2) where z0 is far out, in many digits."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import pytest

from leakscore.tradeoff import shifted_gaussian
from tests.tradeoff.test_shifted_digits import rates


def log_below(x: Any) -> Any:
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


@pytest.mark.parametrize(("shift", "scale", "half"), [(2e9, 1e-5, 0.1), (3e9, 1e-4, 0.9)])
def test_short_intervals_about_a_centre_beyond_1e9(shift: float, scale: float, half: float) -> None:
    """Both ends are on one side of each mean, and the further has no digit of a log rate."""
    with mp.workdps(60):
        d, r = mp.mpf(shift), mp.mpf(scale)
        end = half - d / (1 - r * r)
        log_alpha = float(log_below(end))
        for _ in range(5):
            end += (log_below(end) - log_alpha) / end  # minus the slope of log_below far out
        log_power = float(log_below((end + d) / r))
    # The end is a double of 9 digits before the point.
    assert shifted_gaussian(shift, scale).log_power(log_alpha) == pytest.approx(log_power, 2e-5)


def test_deltas_just_below_the_largest_ratio() -> None:
    """A millionth of the power: the difference of both rates has 7 digits, the integral 9."""
    with mp.workdps(60):
        d, r = mp.mpf(1.77), mp.mpf(0.97)
        top = d * d / (2 * (1 - r * r)) - mp.log(r)
        epsilons = [float(top - s) for s in (1e-6, 2e-6, 3e-6)]
        exact = []
        for epsilon in epsilons:
            alpha, power, _ = rates(d, r, epsilon)
            exact.append(float(power - mp.exp(mp.mpf(epsilon)) * alpha))
    deltas = shifted_gaussian(1.77, 0.97).delta(epsilons, "forward")
    assert deltas.tolist() == pytest.approx(exact, rel=1e-9, abs=0.0)


@pytest.mark.parametrize(
    ("shift", "scale"),
    [(234120876752.21832, 4.763265757935361e-18), (3.3312765148600146e30, 2.2593965931237097e20)],
)
def test_deltas_of_ends_that_round_to_minus_the_centre(shift: float, scale: float) -> None:
    """Both tails have logs within a rounding: the difference was above 0, and delta NaN."""
    f = shifted_gaussian(shift, scale)
    for epsilon in (0.0, 1e-6, 1.0, 1e5):
        with mp.workdps(200):
            alpha, power, _ = rates(mp.mpf(shift), mp.mpf(scale), epsilon)
            exact = float(power - mp.exp(mp.mpf(epsilon)) * alpha)
        assert f.delta(epsilon, "forward") == pytest.approx(exact, rel=1e-10)
