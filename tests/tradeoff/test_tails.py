"""The slack of composed masses, and their tails, are the stated terms in every end."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from tests.helpers.parts import Window, compose_lattices
from tests.oracles import lattices as oracle
from tests.tradeoff.composed_masses import (
    U,
    error_of,
    in_one_window,
    length_of,
    stated_error,
    stated_slack,
)
from tests.tradeoff.test_errors import masses


@pytest.mark.parametrize("theta", [-1.0, -3.0])
@pytest.mark.parametrize("scale", [0.4, 2.5])
def test_tails_are_bounded_by_chernoff(theta: float, scale: float) -> None:
    """Also of laws that do not sum to 1: the tilted bound, scaled back at the edge, with slack.

    The bound's own rounding comes on top.
    """
    logs, first, spacing, n = np.log(scale * masses("spread", 30)), -70.0, 0.05, 70
    windows = tuple(Window(t, 3.0, 3.0, t - 2.0, t + 2.0) for t in (theta, 1.0 - theta))
    sums = compose_lattices([(first, logs, n)], spacing, 3, windows)
    points = sums.points

    def steep(tilt: Any) -> Any:
        terms = (mp.exp(mp.mpf(x) + tilt * spacing * k) for k, x in enumerate(logs.tolist()))
        return n * (mp.log(mp.fsum(terms)) + mp.mpf(tilt) * first)

    with mp.workdps(40):
        for found, edge, t, last, inner in (
            (sums.log_below, points[0], theta, theta - 2.0, points[0] - spacing),
            (sums.log_above, points[-1], 1.0 - theta, 3.0 - theta, points[-1]),
        ):
            least = min(steep(last) - (last - t) * mp.mpf(inner), steep(t))  # at most all of it
            beyond = float(mp.mpf(found) - least + t * mp.mpf(edge))
            slack = stated_slack([(first, logs, n)], spacing, t)
            assert slack * (1.0 - 1e-2) <= beyond <= slack + 700.0 * n * U


@pytest.mark.parametrize("spacing", [0.3, 720.0, 800.0])
def test_blocks_of_one_cell_stay_at_its_point(spacing: float) -> None:
    """Those of 700 and more gave e^-width to the next: the same mass under H1 once more."""
    windows = tuple(Window(theta, 1e4, 1e4, theta - 1.0, theta + 1.0) for theta in (0.0, 1.0))
    sums = compose_lattices([(0.0, np.log([0.5, 0.3, 0.2]), 2)], spacing, 1, windows)
    assert sums.points[-1] == pytest.approx(5.0 * spacing)
    assert sums.low[0, 2] == pytest.approx(np.log(0.29), abs=1e-9)
    assert np.isneginf([sums.low[1], sums.high[1]]).all()


def test_a_single_cell_outside_is_counted() -> None:
    """The first and the last cell of a sum, in blocks of one."""
    parts = [(0.0, np.log([0.3, 0.2, 0.5]), 2)]
    sums = in_one_window(parts, reach=1e-9, tilts=(-300.0, 300.0))
    assert (sums.first, sums.low.shape[1]) == (1, 3)
    for bound, mass in ((sums.log_below, 0.09), (sums.log_above, 0.25)):
        assert np.log(mass) <= bound <= np.log(mass) + 1e-6
    whole = in_one_window(parts, tilts=(-300.0, 300.0))
    assert (whole.log_below, whole.log_above) == (-np.inf, -np.inf)


def test_tilts_far_apart_are_read_where_they_are_computed() -> None:
    """Where the errors of two would be equal lies outside of the window of the second."""
    logs, spacing, n = np.log(masses("spread", 30)), 0.05, 700
    windows = tuple(Window(t, 3.0, 3.0, t - 2.0, t + 2.0) for t in (0.0, 1.0, 40.0))
    sums = compose_lattices([(0.0, logs, n)], spacing, 3, windows)
    exact = oracle.power(logs, n)
    cells = [exact[3 * k : 3 * k + 3] for k in range(sums.first, sums.first + sums.low.shape[1])]
    for low, high, block in zip(
        *map(np.logaddexp.reduce, (sums.low, sums.high)), cells, strict=True
    ):
        total = mp.fsum(block)
        assert total < 1e-200 or low < float(mp.log(total)) < high


@pytest.mark.parametrize("period", [2, 3])
def test_the_error_is_a_mean_over_all_frequencies(period: int) -> None:
    """Of a law on every second cell the last counts once; on every third, one between twice."""
    law = np.zeros(4 * period + 1)
    law[::period] = [0.1, 0.3, 0.3, 0.2, 0.1]
    with np.errstate(divide="ignore"):
        parts = [(0.0, np.log(law), 10**4)]
    sums = in_one_window(parts, reach=230.0)
    size = length_of(sums.low.shape[1])
    assert size % period == 0
    assert error_of(parts, sums) == pytest.approx(stated_error(parts, size), rel=1e-2)
