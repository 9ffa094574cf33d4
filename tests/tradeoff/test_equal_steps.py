"""Equal steps: their tilts and Chernoff's exponents against exact arithmetic."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from tests.helpers.parts import EqualSteps
from tests.tradeoff.composed_masses import U, in_one_window, stated_slack


def logs(size: int, seed: int, rise: float = 3.0) -> Any:
    rng = np.random.default_rng(seed)
    some = rise * rng.standard_normal(size).cumsum() - 40.0 * rng.random(size)
    some[rng.random(size) < 0.05] = -np.inf
    return some - np.logaddexp.reduce(some)


def exact(log_mass: Any, step: float) -> Any:
    """Log of the sum of masses times e^(step k), in 50 digits."""
    terms = (mp.exp(mp.mpf(x) + mp.mpf(step) * k) for k, x in enumerate(log_mass.tolist()))
    return mp.log(mp.fsum(terms))


@pytest.mark.parametrize("step", [0.0, 0.3, -1.5, 40.0, -300.0])
@pytest.mark.parametrize("size", [1, 31, 200])
def test_tilted_masses(step: float, size: int) -> None:
    log_mass = logs(size, size)
    law = EqualSteps(-1.0, log_mass, 7)
    with mp.workdps(50):
        total = exact(log_mass, step)
        found = law.log_total(step)
        allowed = float(law.rounding(step, found))
        assert abs(float(found - total)) <= allowed
        assert allowed < 1e-14 * (20.0 + abs(step) * size + abs(found))
        true = [mp.mpf(x) + mp.mpf(step) * k - total for k, x in enumerate(log_mass.tolist())]
        masses = law.masses(step, found)
        assert masses.size == size
        for mass, value in zip(masses.tolist(), true, strict=True):
            assert mass == pytest.approx(float(mp.exp(value)), rel=2.0 * allowed, abs=1e-300)
    again, mean, variance = law.moments(step)
    places = np.arange(size)
    assert again == found
    assert mean == pytest.approx(float(masses @ places), rel=1e-9, abs=1e-9)
    assert variance == pytest.approx(float(masses @ (places - mean) ** 2), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_exponents_are_no_less_than_the_true_ones(seed: int) -> None:
    """A thousand steps: roundings of one are a thousandth of those of all."""
    count, log_mass, theta = 1000, logs(60, seed, 0.3), 0.2
    parts = [(0.0, log_mass, count)]
    slack = stated_slack(parts, 0.1, theta)
    for below, above in ((-0.12, 0.12), (-0.3, 0.25)):
        sums = in_one_window(parts, 0.1, theta, 400.0, (below, above))
        assert sums.first > 0
        for found, tilt, edge, inner in (
            (sums.log_below, below, sums.first, sums.first - 1),
            (sums.log_above, above, *[sums.first + sums.low.shape[1]] * 2),
        ):
            with mp.workdps(50):
                true = count * exact(log_mass, 0.1 * (theta + tilt))
                true -= mp.mpf(0.1) * (tilt * inner + theta * edge)
                excess = float(found - true) - slack
            assert 250.0 * count * U < excess < 600.0 * count * U  # both roundings


@pytest.mark.parametrize(("step", "height"), [(0.0, -1e7), (-300.1, 0.0), (300.1, 0.0)])
def test_sums_of_large_logs_and_of_steep_tilts(step: float, height: float) -> None:
    """Each is rounded by its size, where the other is small."""
    log_mass = height / 3.0 - step * np.arange(3000) - np.arange(3000) % 7
    law = EqualSteps(0.0, log_mass, 1)
    with mp.workdps(50):
        errors = abs(float(law.log_total(step) - exact(log_mass, step)))
    assert 150.0 * U < errors <= law.rounding(step, law.log_total(step))
