"""The slack of composed masses, and their tails, are the stated terms in every end."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from leakscore.tradeoff.composition import sums as composition
from leakscore.tradeoff.composition.sums import _Range, _Tilt
from tests.helpers.parts import EqualSteps, Window, compose_lattices
from tests.oracles import lattices as oracle
from tests.tradeoff.test_errors import masses


@pytest.mark.parametrize("theta", [1.0, -3.0])
def test_every_mass_is_moved_by_the_slack(monkeypatch: pytest.MonkeyPatch, theta: float) -> None:
    """By as many units as the logs that go into a mass are large, for each of 70 steps."""
    logs = np.log(masses("spread", 30))
    window = Window(theta, 20.0, 20.0, theta - 2.0, theta + 2.0)
    sums = []
    for unit in (0.0, 1e-6):
        monkeypatch.setattr(composition, "_UNIT", unit)
        sums.append(compose_lattices([(-0.7, logs, 70)], 0.05, 3, (window,)))
    top = abs(float((logs + theta * 0.05 * np.arange(30)).max()))
    slack = 70e-6 * (4.0 + (1.0 + abs(theta)) * (0.7 + 0.05 * 30) + top)
    none, more = sums
    for before, after, way in ((none.low, more.low, -1.0), (none.high, more.high, 1.0)):
        seen = np.isfinite(before)
        assert seen.sum() > 10
        np.testing.assert_allclose(after[seen] - before[seen], way * slack, rtol=1e-6)


@pytest.mark.parametrize("theta", [-1.0, -3.0])
@pytest.mark.parametrize("scale", [0.4, 2.5])
def test_tails_are_bounded_by_chernoff(
    monkeypatch: pytest.MonkeyPatch, theta: float, scale: float
) -> None:
    """Also of laws that do not sum to 1: the tilted bound, scaled back at the edge, with slack."""
    monkeypatch.setattr(composition, "_UNIT", 1e-6)
    logs, first, spacing, n = np.log(scale * masses("spread", 30)), -0.7, 0.05, 70
    windows = tuple(Window(t, 3.0, 3.0, t - 2.0, t + 2.0) for t in (theta, 1.0 - theta))
    sums = compose_lattices([(first, logs, n)], spacing, 3, windows)
    loss = first + spacing * np.arange(30)
    points = sums.points
    for found, edge, t, last, inner in (
        (sums.log_below, points[0], theta, theta - 2.0, points[0] - spacing),
        (sums.log_above, points[-1], 1.0 - theta, 3.0 - theta, points[-1]),
    ):
        steep, own = (n * float(np.logaddexp.reduce(logs + tilt * loss)) for tilt in (last, t))
        least = min(steep - (last - t) * inner, own)  # no more than all of the tilted law
        top = abs(float((logs + t * spacing * np.arange(30)).max()))
        slack = n * 1e-6 * (4.0 + (1.0 + abs(t)) * (0.7 + 0.05 * 30) + top)
        assert found == pytest.approx(least - t * edge + slack, rel=1e-9)


def test_what_a_few_cells_do_not_hold() -> None:
    law = masses("held", 60)
    first, width, rest = composition._heaviest(law)
    assert rest == pytest.approx(1.0 - law[first : first + width].sum(), rel=1e-9)


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
    law = _Tilt([EqualSteps(0.0, np.log([0.3, 0.2, 0.5]), 2)], 0.1, 0.0)
    assert law.last == 4
    found = law.window(_Range(1, 4, -30.0, 30.0), 1)
    for bound, mass in zip(found.log_outside, (0.09, 0.25), strict=True):
        assert np.log(mass) <= bound <= 0.0
    assert law.window(_Range(0, 5, -30.0, 30.0), 1).log_outside == (-np.inf, -np.inf)


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
    size, n = 1536, 10**6
    with np.errstate(divide="ignore"):
        tilted = _Tilt([EqualSteps(0.0, np.log(law), n)], 0.1, 0.0)
    _, error = tilted._spectrum(size)
    unit = composition._transforms([law], size)[0][1]
    sizes = np.abs(np.fft.fft(law, size))
    powers = sizes**n
    own = n * composition._PRODUCT + composition._fft_unit(size)
    assert error == pytest.approx(
        float(((sizes + unit) ** n - powers + own * powers).mean()), rel=1e-3
    )
