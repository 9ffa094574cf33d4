"""The error terms of `uniform_error_rates`, each against exact arithmetic.

Each is above the error that it bounds, and not so far above that ten times as much would go unseen.
"""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from flint import fmpz_poly
from scipy.stats import ncx2

from leakscore.sequential._uniform import _BELOW, _LAW, _Lattice, _means, _Sum
from tests.helpers.parts import Ratio, uniform_error_rates

U = 2.0**-53


def exact_square(masses: np.ndarray, other: np.ndarray) -> list[Fraction]:
    """Return the law of the sum of two, from the doubles as they are."""
    parts = [[int(Fraction(x) * 2**1100) for x in law.tolist()] for law in (masses, other)]
    product = (fmpz_poly(parts[0]) * fmpz_poly(parts[1])).coeffs()
    return [Fraction(int(c), 2**2200) for c in product]


@pytest.mark.parametrize(
    ("cells", "factor"), [(16, 500.0), (17, 1000.0), (200, 1500.0), (1000, 2000.0)]
)
@pytest.mark.parametrize("itself", [True, False])
def test_error_of_a_sum(cells: int, factor: float, itself: bool) -> None:
    """The bound takes the largest value of a transform for all of them: the more, the wider."""
    rng = np.random.default_rng(cells)
    left = _Sum(rng.random(cells) / cells, 0.0)
    right = left if itself else _Sum(rng.random(cells) ** 4 / cells, 0.0)
    found = left.plus(right)
    exact = exact_square(left.masses, right.masses)[:cells]
    errors = [Fraction(x) - y for x, y in zip(found.masses.tolist(), exact, strict=True)]
    true = float(sum(e * e for e in errors)) ** 0.5
    assert true <= found.error <= factor * true
    # Three transforms err, each by a share of the 2-norm of what it transforms.
    laws = left.masses, right.masses, np.convolve(left.masses, right.masses)
    norms = sum(float(np.linalg.norm(law)) for law in laws)
    assert found.error >= 8.0 * U * np.log2(2 * cells - 1) * norms
    # What both have from before passes through.
    more = _Sum(left.masses, 1e-3).plus(_Sum(right.masses, 1e-4))
    assert more.error == pytest.approx(found.error + 1.1e-3, rel=1e-15)


def test_error_of_a_mean() -> None:
    """The 2-norm of the error of a law times that of a distribution function, on either side."""
    rng = np.random.default_rng(3)
    masses, law = rng.random(50) / 50, np.sort(rng.random(51))
    error = rng.standard_normal(50)
    # The worst error there is: along the function itself.
    worst = law[:50][::-1] / np.sqrt((law[:50] ** 2).sum())
    for direction in (worst, error / np.sqrt((error**2).sum())):
        moved = _Sum(masses + 1e-6 * direction, 1e-6)
        truth = float(masses @ law[:50][::-1])
        upper = _means(moved, law, np.array([49]), 1e-300)[0]
        lower = _means(moved, law, np.array([49]), -1e-300)[0]
        assert lower - 1e-15 <= truth <= upper + 1e-15
        width = 2e-6 * float(np.sqrt((law[:50] ** 2).sum()))
        assert upper - lower == pytest.approx(width, rel=1e-2)
    # The first point alone, and nothing below it.
    exact = _Sum(masses, 0.0)
    first = [_means(exact, law, np.array([0]), slack)[0] for slack in (-1e-300, 1e-300)]
    assert first == [pytest.approx(masses[0] * law[0], rel=1e-15)] * 2
    assert _means(moved, law, np.array([-1]), -1e-300)[0] == 0.0


@pytest.mark.parametrize(
    ("distance", "n", "top"), [(9.0, 10, 0.9), (9.0, 10**6, 1e-5), (2.0, 10**9, 1e-6)]
)
def test_slack_of_a_law(distance: float, n: int, top: float) -> None:
    """Its error of evaluation and that of the logarithm of a ratio, which many records magnify."""
    step = Ratio(distance, n, 1)
    weights, counts = np.array([0.2]), np.array([5])
    lattice = _Lattice(step, weights, counts, top)
    weight, worst = mp.mpf(0.2), mp.mpf(0)
    places = np.linspace(1, lattice.laws[0][0].size - 2, 40).astype(int)
    with mp.workdps(60):
        number, m = mp.mpf(n), mp.mpf(distance)
        largest = (m - mp.log(1 - 1 / number)) / 2
        for k in places.tolist():
            value = mp.mpf(lattice.low) + k * mp.mpf(lattice.cell) / weight
            room = 2 * (largest - mp.log(value) - mp.mpf(top))
            for h, (scale, centre) in enumerate(((number - 1, number), (number, number - 1))):
                exact = 1 - within(scale * max(room, 0), centre * m)
                worst = max(worst, abs(mp.mpf(float(lattice.laws[0][h][k])) - exact))
    least = _LAW + _BELOW
    assert float(worst) <= lattice.slack
    ulps = lattice.slack - least
    if n >= 10**6:  # nearly all of it is the logarithm's
        assert ulps > 4e-13
        assert float(worst) > least
        assert ulps <= 60.0 * float(worst)
    else:
        assert 3000.0 * float(worst) >= _LAW


def within(x: mp.mpf, centre: mp.mpf) -> mp.mpf:
    """Return P(X <= x) of noncentral chi-square with one degree of freedom."""
    root, a = mp.sqrt(x), mp.sqrt(centre)
    return mp.ncdf(root - a) - mp.ncdf(-root - a)


def test_thresholds_on_points_of_the_lattice() -> None:
    """Where a place is a whole number up to rounding: never on the wrong side of it."""
    step = Ratio(9.0, 10, 1)
    lattice = _Lattice(step, np.array([0.2]), np.array([5]), 0.9)
    cells = lattice.laws[0][0].size - 2
    k = np.unique(np.geomspace(cells / 50, cells, 400).astype(int))
    gamma = np.log(lattice.low + k * lattice.cell) + lattice.top
    low, high = lattice.places(gamma)
    on_lattice = 0
    with mp.workdps(50):
        for value, below, above in zip(gamma.tolist(), low.tolist(), high.tolist(), strict=True):
            exact = (mp.exp(mp.mpf(value) - lattice.top) - lattice.low) / mp.mpf(lattice.cell)
            assert below <= exact - 4
            assert above >= exact
            assert above - below <= 7
            on_lattice += abs(exact - mp.nint(exact)) < 1e-8
    assert on_lattice == k.size


def test_thresholds_outside_the_lattice() -> None:
    """Below its first point nothing is certain; the last point is the largest threshold's."""
    lattice = _Lattice(Ratio(0.5, 10**6, 1), np.array([0.2]), np.array([5]), 1e-5)
    assert lattice.low > 0.0
    below = np.log(0.5 * lattice.low) + lattice.top
    low, high = lattice.places(np.array([below, lattice.top]))
    assert (low[0], high[0]) == (-1, 0)
    cells = lattice.laws[0][0].size - 2
    assert low[1] in (cells - 5, cells - 4)
    assert high[1] in (cells, cells + 1)


@pytest.mark.parametrize(("distance", "n"), [(9.0, 10**6), (2.0, 10**4), (0.0, 40)])
def test_where_a_lattice_starts(distance: float, n: int) -> None:
    """A ratio is below with 1e-15; where that is next to the end, the lattice starts at 0."""
    step = Ratio(distance, n, 1)

    def low(top: float) -> float:
        return _Lattice(step, np.array([0.2]), np.array([5]), top).low

    for top in (0.0, 0.5 * step.largest):
        below, _ = step.at_most(np.log([low(top)]) + top)
        assert below[0] == pytest.approx(1e-15, rel=1e-3, abs=0.0)
    least = np.log(low(0.0))
    assert low(least + 1.5e-6) == pytest.approx(1.0 - 1.5e-6, abs=1e-9)
    assert [low(least + more) for more in (9e-7, 1e-7, 0.0, -0.5, -20.0)] == [0.0] * 5


def test_the_largest_ratio_and_distances_beyond_reach() -> None:
    largest = Ratio(9.0, 10, 2).largest
    alpha, beta = uniform_error_rates([largest, largest + 1.0], 9.0, 10, 2, 5)
    assert np.array([*alpha, *beta]).tolist() == [[0.0, 0.0]] * 2 + [[1.0, 1.0]] * 2
    with pytest.raises(ValueError, match="squared_mahalanobis"):
        uniform_error_rates(0.5, 1.01 * 2.0**200 / 10, 10, 1, 5)


def test_every_step_pays_its_slack() -> None:
    """Beyond nearly all of the law: alpha may be what five steps err by, and beta is below 1."""
    step, steps = Ratio(50.0, 10, 3), 5
    lattice = _Lattice(step, np.array([0.2]), np.array([steps]), 24.0)
    slack, gamma = lattice.slack, np.array([20.0])
    ends = lattice.ends(gamma)
    lattice.slack = 0.0
    none = lattice.ends(gamma)
    assert ends[1][0] - none[1][0] == pytest.approx(steps * slack, rel=1e-3, abs=0.0)
    assert none[2][0] - ends[2][0] == pytest.approx(steps * slack, rel=1e-3, abs=0.0)


def test_each_end_moves_by_the_slack_of_all_steps() -> None:
    lattice, gamma = _Lattice(Ratio(9.0, 10, 1), np.array([0.2]), np.array([5]), 0.9), [0.5]
    ends = []
    for slack in (0.0, 1e-6):
        lattice.slack = slack
        ends.append(lattice.ends(np.array(gamma))[:, 0])
    np.testing.assert_allclose(ends[1] - ends[0], [-5e-6, 5e-6, -5e-6, 5e-6], rtol=1e-6)


@pytest.mark.parametrize("weights", [[0.1, 0.5], [0.5, 0.1], [0.2, 0.4]])
@pytest.mark.parametrize(("distance", "top"), [(50.0, 4.0), (50.0, 1.0), (50.0, -20.0), (9.0, 3.0)])
def test_the_slack_is_that_of_the_steepest_law(
    weights: list[float], distance: float, top: float
) -> None:
    """By densities of the log ratio, of every weight as far as its lattice goes, H0 and H1."""
    n, dim = 10, 2
    step = Ratio(distance, n, dim)
    lattice = _Lattice(step, np.array(weights), np.array([2, 1]), top)
    slopes = []
    for weight in weights:
        logs = np.linspace(top - 40.0, top - np.log(weight), 10_001)
        room = 2.0 * (step.largest - logs[logs < step.largest])
        slopes += [
            float((2.0 * scale * ncx2.pdf(scale * room, dim, centre * distance)).max())
            for scale, centre in ((n - 1.0, n), (n, n - 1.0))
        ]
    ulps = 8.0 * U * (1.0 + step.largest + abs(top))
    assert lattice.slack == pytest.approx(1e-13 + 1e-15 + ulps * max(slopes), rel=1e-3, abs=0.0)
