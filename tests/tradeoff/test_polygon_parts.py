"""Parts of which polygons are made, against exact sums: from laws, tests, masses; corners below."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from tests.helpers.parts import Polygon, below, joined_tests, lower_hull, moved_beta

INF = np.inf


def logs(values: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.log(np.array(values, dtype=float))


@pytest.mark.parametrize("seed", range(8))
def test_vertices_of_two_laws_are_sums_of_masses(seed: int) -> None:
    """Near 0 and near 1, and where a sum of masses rounds to more than 1."""
    rng = np.random.default_rng(seed)
    p, q = (rng.dirichlet(np.full(9, 0.3)) * 10.0 ** -rng.uniform(0, 9, 9) for _ in range(2))
    p[0], q[-1] = 1.0 - p[1:].sum(), 1.0 - q[:-1].sum()
    order = np.argsort(q / p)
    p, q = p[order], q[order]
    log_alpha, log_beta = Polygon.from_laws(logs(p), logs(q)).vertices

    def log_sum(masses: Any, others: Any) -> float:
        mass, rest = (sum(map(mp.mpf, some.tolist())) for some in (masses, others))
        return float(mp.log(mass) if mass < 0.5 else mp.log1p(-rest))

    with mp.workdps(40):
        for k in range(1, 9):  # the last k atoms are accused
            exact = log_sum(p[9 - k :], p[: 9 - k]), log_sum(q[: 9 - k], q[9 - k :])
            assert (log_alpha[k], log_beta[k]) == pytest.approx(exact, rel=1e-13, abs=1e-22)
    for total in (3, 8, 14, 49, 200):
        even = np.full(total, -np.log(total))
        assert Polygon.from_laws(even, even)(0.5) == pytest.approx(0.5, rel=1e-14)


def test_two_last_vertices_of_one_alpha() -> None:
    """An atom of so little mass that alpha stays the same, beyond which nothing is missed."""
    for side in (-1, 0, 1):
        x, y = np.array([-INF, -1.0, -1.0]), np.array([-0.5, -2.0, -INF])
        f = Polygon(x, y, "guarantee", side=side)  # type: ignore[arg-type]
        alpha = float(np.exp(-1.0))
        for at in (alpha, alpha * 1.001, 0.9, 1.0):
            assert f.power(at) == pytest.approx(1.0, rel=1e-14) or side == 1
            assert f.log_power(np.log(at)) == pytest.approx(0.0, abs=1e-14) or side == 1
            assert f(at) <= 1e-14 or side == 1
    f = Polygon.from_laws(logs([0.5, 1e-20, 0.5]), logs([0.0, 1e-30, 1.0]))
    assert (f.power(0.5), f.log_power(np.log(0.5)), f(0.5)) == (1.0, 0.0, 0.0)


def test_delta_at_the_slope_of_an_edge() -> None:
    """Both ends of the edge attain it; the first, whose numbers are smaller, has its digits."""
    for slope in np.random.default_rng(1).uniform(0.0, 1.0, 60) ** 4 * 700.0:
        for at_once in (1e-30, 1e-200):
            corner = -np.logaddexp(0.0, slope)
            x = np.array([-INF, corner, -at_once])
            f = Polygon(x, x[::-1], "guarantee")
            assert f.delta(slope) == pytest.approx(at_once, rel=1e-12, abs=0)
            assert f.delta([1e300, INF]).tolist() == [at_once, at_once]


@pytest.mark.parametrize("side", [-1, 1])
def test_profiles_of_rare_events_are_rounded_outwards(side: Any) -> None:
    """What is paid is an exponential of a large number, and nearly all of the power."""
    rng = np.random.default_rng(5)
    for size in rng.uniform(20.0, 640.0, 60):
        steep, short = rng.uniform(0.5, 20.0), 10.0 ** -rng.uniform(1.0, 17.0)
        points = np.array([-INF, -size, 0.0]), np.array([0.0, -np.exp(steep - size), -INF])
        f = Polygon(*points, "guarantee", side=side)
        with mp.workdps(400):
            power, alpha = -mp.expm1(mp.mpf(points[1][1])), mp.exp(mp.mpf(points[0][1]))
            epsilon = float(mp.log(power / alpha)) - short
            delta = max(power - mp.exp(mp.mpf(epsilon)) * alpha, 0)
            found = f.delta(epsilon, "forward")
            assert -side * (mp.mpf(float(found)) - delta) >= 0
            assert abs(mp.mpf(float(found)) - delta) <= 20 * 2.0**-53 * (2 + size) * power


def test_tests_are_joined_with_those_that_accuse_none_or_all() -> None:
    """Logs that rounding has lifted above 0 count as 0."""
    tests = np.array([1e-13, -1.0, -3.0, -0.5]), np.array([-INF, -1.5, -0.2, 1e-13])
    x, y = joined_tests(tests)
    assert (x[0], y[0], x[-1], y[-1]) == (-INF, 0.0, 0.0, -INF)
    points = [(0.0, 1.0), *zip(*np.exp(tests), strict=True), (1.0, 0.0)]
    for alpha in np.linspace(0.0, 1.0, 41):
        chords = [
            b[1] + (c[1] - b[1]) * (alpha - b[0]) / (c[0] - b[0])
            for b in points
            for c in points
            if b[0] <= alpha <= c[0] and b[0] < c[0]
        ]
        assert Polygon(x, y, "attack")(alpha) == pytest.approx(min(chords), abs=1e-14)


@pytest.mark.parametrize(("low", "high"), [(0.7, 1.01), (0.99, 1.3), (0.99, 1.01)])
@pytest.mark.parametrize("above", [0.0, 1e-3])
def test_masses_that_err_bound_beta(low: float, high: float, above: float) -> None:
    """One of both sums, and the lesser where beta passes 1/2."""
    masses = [Fraction(k, 45) for k in range(1, 10)]
    given = [[Fraction(float(m) * share) for m in masses] for share in (low, high)]
    missed = [sum(given[0][:k], Fraction(0)) for k in range(10)]
    caught = [1 - sum(given[1][k:], Fraction(0)) - Fraction(above) for k in range(10)]
    found = np.exp(moved_beta(logs(given[0]), logs(given[1]), float(logs(above))))
    turn = next(k for k in range(10) if missed[k] >= Fraction(1, 2))
    expected = [*missed[:turn], min(missed[turn], caught[turn]), *caught[turn + 1 :]]
    np.testing.assert_allclose(found, np.array(expected, dtype=float), rtol=1e-13)
    few = np.full(3, np.log(0.1))
    np.testing.assert_allclose(np.exp(moved_beta(few, few, -INF)), [0.0, 0.1, 0.2, 0.3])


def test_corners_below_lie_where_lines_meet() -> None:
    """Of exact points on two lines: no lower than the errors of points allow."""
    turn, places = (0.1, 0.15), np.array([0.05, 0.09, 0.13, 0.17])
    for slopes in ([8.0, 2.0], [1.0, 0.7], [2.0, 1e-6], [19.0, 1.5]):
        fall = np.where(places < turn[0], slopes[0], slopes[1]) * (places - turn[0])
        x, y = below(logs(places), logs(turn[1] - fall))
        off = np.maximum(np.abs(np.exp(x) - turn[0]), np.abs(np.exp(y) - turn[1]))
        assert off.min() < 1e-8


def test_below_keeps_points_to_their_errors() -> None:
    """Far out as well: a point moves by 4e-12 of its rate, or of 1 less the rate."""
    log_alpha = np.linspace(-60.0, -0.001, 80)
    log_beta = np.log1p(-np.exp(0.25 * log_alpha))
    x, y = below(log_alpha, log_beta)
    for given, found in ((log_alpha, x), (log_beta, y)):
        least = np.abs(found - given[:, np.newaxis]).min(axis=1)
        assert (least <= 4.1e-12 * np.minimum(-given, 1.0) + 5.0 * 2.0**-53).all()
    curve = Polygon(*lower_hull(x, y), "attack")
    for at in log_alpha[3:-3]:
        power = np.exp(0.25 * at)
        assert power * (1.0 - 1e-9) <= curve.power(np.exp(at)) <= power * 1.1
    bent = logs([0.1, 0.2, 0.3, 0.4]), logs([0.5, 0.45, 0.36, 0.2])  # no curve: chords
    assert np.isfinite(np.concatenate(below(*bent))[1:-1]).all()
