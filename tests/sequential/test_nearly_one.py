"""Averages of ratios that are nearly 1, as those of steps of many records: small gains of tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import sequential
from tests.helpers.parts import OctaveCurves, Octaves, Ratio, average


@pytest.mark.parametrize(
    "term", [(1e-3, 0.0), (1e-2, 1e-3), (0.3, 0.1)], ids=["mass", "ratio", "far"]
)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("side", [-1.0, 0.0, 1.0])
def test_an_excess_errs_by_shares_of_itself(term: Any, seed: int, side: float) -> None:
    """Ratios of nearly 1: what the best test gains is far below its power, and is still bounded."""
    rounding, moved = term
    rng, sign = np.random.default_rng(seed), (-1.0) ** seed
    outside = rng.random(64)
    outside /= outside.sum()
    tilt = 1e-2 * np.linspace(-1.0, 1.0, 64)
    found = [outside * np.maximum(tilt, 0.0), outside * np.maximum(-tilt, 0.0)]
    moves = moved * outside * (sign > 0), moved * outside * (sign < 0)
    wrong = [np.exp(sign * rounding) * (found[0] + moves[0])]
    wrong.append(np.exp(-sign * rounding) * (found[1] + moves[1]))
    both = np.exp(side * rounding) * outside  # both laws err, too, in the same direction
    rows = [one.reshape(1, 64) for one in (both, both * (1.0 + tilt), *wrong)]
    pair = rows[2], rows[3]
    law = Octaves(1.0, 0.01, *rows[:2], None, 1.0, rounding, 1.02 * moved, (0.0, 0.0), pair)
    curves = OctaveCurves(law)
    c = np.linspace(0.991, 1.009, 40)
    k = curves.tests(c)
    below, below_h1 = (np.append(0.0, np.cumsum(law)) for law in (outside, outside * (1.0 + tilt)))
    gain = (below_h1[-1] - below_h1)[k] - c[:, None] * (below[-1] - below)[k]
    loss = c[:, None] * below[k] - below_h1[k]
    for best, found_low in ((gain, curves.gain_low(c)), (loss, curves.loss_low(c))):
        assert (found_low <= best.max(axis=1)).all()
        wide = 3.0 * np.exp(rounding) * (2e-2 * rounding + moved) + 1e-9
        assert (found_low >= best.max(axis=1) - wide).all()


def test_many_steps_of_many_records_are_narrow() -> None:
    """Ratios that vary by 1e-3 a step: between the bounds of Berry and Esseen's theorem."""
    steps, n = 100_000, 10**6
    deviation = 3.0 / np.sqrt(n * steps)  # to leading order, as is the error's constant
    gamma = deviation * np.array([0.0, 2.0, 5.0, 7.0])
    alpha, beta = sequential.uniform_error_rates(gamma, 9.0, n, 1, steps)
    assert (alpha.upper <= 1.4 * alpha.lower).all()
    assert (beta.upper <= 1.1 * beta.lower).all()
    from scipy import stats

    normal, error = stats.norm.sf([0.0, 2.0, 5.0, 7.0]), 0.4748 * 1.6 / np.sqrt(steps)
    assert (alpha.lower <= normal + 1.5 * error).all()
    assert (alpha.upper >= normal - 1.5 * error).all()


@pytest.mark.parametrize("steps", [1, 7])
def test_an_excess_is_what_the_laws_differ_by(steps: int) -> None:
    both = average(Ratio(9.0, 10**4, 1), np.repeat([0.25, 0.5], [steps, 1]))
    assert both is not None
    curves = both[0]
    assert curves.excess is not None
    more, less = (np.append(part[::-1].cumsum()[::-1], 0.0) for part in curves.excess)
    np.testing.assert_allclose(curves.above + more - less, curves.caught, rtol=1e-9, atol=1e-15)
    assert more[0] == pytest.approx(less[0], rel=1e-6)
    assert more[0] > 1e-4


@pytest.mark.parametrize("n", [10**4, 10**6])
def test_rates_of_two_steps_that_are_nearly_1(n: int) -> None:
    """The best test of two equal steps, against a fine grid of both normal outputs."""
    steps, distance = 2, 9.0
    one = Ratio(distance, n, 1)
    both = average(one, np.full(steps, 0.5))
    assert both is not None
    nodes = np.linspace(-9.0, 9.0, 3001)
    weights = np.exp(-0.5 * nodes * nodes)
    weights /= weights.sum()
    ratio = one.value(np.square(nodes + np.sqrt(n * distance)))
    outer = 0.5 * (ratio[:, np.newaxis] + ratio)
    c = 1.0 + 2.0 * np.sqrt(distance / n) * np.array([-0.5, 0.0, 0.5])
    gain = [float(weights @ np.maximum(outer - at, 0.0) @ weights) for at in c]
    low, high = both[0].gain_low(c), both[-1].gain_up(c)
    np.testing.assert_allclose(low, gain, rtol=1e-4)
    np.testing.assert_allclose(high, gain, rtol=1e-4)
    assert (low <= high).all()
    assert (high <= low * (1.0 + 1e-4)).all()
