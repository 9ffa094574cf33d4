"""N(0, 1) against N(d, r^2) in many digits, from the tails of an interval about z0."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore.tradeoff import shifted_gaussian
from leakscore.typing import Doubles

LAWS = [
    (0.0, 0.3),
    (0.0, 2.0),
    (1e-3, 1.0 - 1e-3),
    (1.0, 0.5),
    (1.0, 3.0),
    (2.0, 1.0 + 1e-12),
    (2.0, 1.0 - 1e-12),
    (0.7, 0.97),
    (0.7, 1.03),
    (0.3, 1.5),
    (4.0, 0.9),
    (9.0, 0.8),
    (40.0, 0.3),
    (40.0, 1.7),
    (5.0, 60.0),
    (300.0, 0.01),
    (1e5, 7.0),
    (0.0, 1e4),
    (1e-6, 1e-5),
    (1e-8, 1.0 + 1e-8),
    (1e-8, 1.0 - 1e-8),
    (1e-6, 1.0 - 1e-9),
]
EPSILONS = (-30.0, -0.2, -0.05, -1e-4, 0.0, 5e-9, 1e-3, 0.05, 0.6, 9.0, 600.0)


def above(x: Any) -> Any:
    return mp.erfc(x / mp.sqrt(2)) / 2


def masses(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the probability of (a, b) and of the rest."""
    inside = above(a) - above(b) if a + b > 0 else above(-b) - above(-a)
    return inside, above(-a) + above(b)


def rates(d: Any, r: Any, epsilon: float) -> tuple[Any, Any, Any]:
    """Return alpha, power and beta of the test at the ratio e^epsilon."""
    z0, square = d / (1 - r * r), d * d + 2 * (r * r - 1) * (mp.log(r) + epsilon)
    half = r * mp.sqrt(max(square, 0)) / abs(r * r - 1)
    without = masses(z0 - half, z0 + half)
    within = masses((z0 - half - d) / r, (z0 + half - d) / r)
    return without[r > 1], within[r > 1], within[r < 1]


def both(shift: float, scale: float) -> dict[str, tuple[Any, Any]]:
    """Return the parameters of the curve and of its inverse."""
    d, r = mp.mpf(shift), mp.mpf(scale)
    return {"forward": (d, r), "reverse": (d / r, 1 / r)}


def close(value: Any, exact: Any, tolerance: float) -> bool:
    return bool(abs(mp.mpf(float(value)) - exact) <= tolerance * abs(exact) + mp.mpf("1e-300"))


def at_ratios(shift: float, scale: float, direction: str) -> tuple[Doubles, ...]:
    """Return delta at each ratio; alpha, power and beta; log alpha and log power: as doubles.

    What belongs to a rounded alpha is moved along the tangent.
    """
    deltas, points, logs = [], [], []
    with mp.workdps(110):
        d, r = both(shift, scale)[direction]
        for epsilon in EPSILONS:
            alpha, power, beta = rates(d, r, epsilon)
            slope = mp.exp(mp.mpf(epsilon))
            deltas.append(float(power - slope * alpha))
            if mp.mpf("1e-300") < alpha < 1 - mp.mpf("1e-7"):
                moved = slope * (mp.mpf(float(alpha)) - alpha)
                points.append([float(x) for x in (alpha, power + moved, beta - moved)])
            if beta > mp.mpf("1e-9") and 0 < alpha < 1 - mp.mpf("1e-7"):
                log_alpha = mp.log(alpha)
                moved = slope * alpha * (mp.mpf(float(log_alpha)) - log_alpha) / power
                logs.append([float(x) for x in (log_alpha, mp.log(power) + moved)])
    columns = *np.array(points).reshape(-1, 3).T, *np.array(logs).reshape(-1, 2).T
    return np.array(deltas), *columns


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize(("shift", "scale"), LAWS)
def test_rates_and_deltas_at_each_ratio(shift: float, scale: float, direction: str) -> None:
    f = shifted_gaussian(shift, scale)
    curve = f if direction == "forward" else f.inverse()
    deltas, alpha, power, beta, log_alpha, log_power = at_ratios(shift, scale, direction)
    # The inverse has the scale 1/scale, rounded: what that is worth near 1.
    noise = 1e-10 + (2e-16 / abs(1.0 - scale) if direction == "reverse" else 0.0)
    np.testing.assert_allclose(f.delta(EPSILONS, direction), deltas, noise, 1e-300)
    np.testing.assert_allclose(curve.power(alpha), power, 1e-12)
    np.testing.assert_allclose(curve(alpha), beta, 1e-10, 1e-300)
    np.testing.assert_allclose(curve.log_power(log_alpha), log_power, 1e-11)


def at_deltas(shift: float, scale: float, direction: str) -> Doubles:
    """Return deltas as doubles, the epsilons that belong to them, and their least errors."""
    rows = []
    with mp.workdps(110):
        d, r = both(shift, scale)[direction]
        for epsilon in (1e-3, 0.6, 9.0, 600.0):
            alpha, power, _ = rates(d, r, epsilon)
            slope = mp.exp(mp.mpf(epsilon)) * alpha
            delta = power - slope
            if slope > 0 and delta > mp.mpf("1e-300"):
                moved = epsilon - (mp.mpf(float(delta)) - delta) / slope
                rows.append([float(x) for x in (delta, moved, epsilon + delta / slope)])
    return np.array(rows).reshape(-1, 3).T


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize(("shift", "scale"), LAWS)
def test_epsilon_at_the_delta_of_each_ratio(shift: float, scale: float, direction: str) -> None:
    f = shifted_gaussian(shift, scale)
    deltas, epsilons, noise = at_deltas(shift, scale, direction)
    assert (np.abs(f.epsilon(deltas, direction) - epsilons) <= 1e-12 * noise).all()
    top = shift**2 / (2 * (1 - scale) * (1 + scale)) - math.log(scale)
    if (scale < 1.0) == (direction == "forward"):
        top = max(top, 0.0) if scale < 1.0 else max(-top, 0.0)
        noise = 1e-13 + 2e-16 / abs(1.0 - scale)
        assert f.epsilon(0.0, direction) == pytest.approx(top, rel=noise)
    else:
        assert math.isinf(f.epsilon(0.0, direction))


def far_ratios(shift: float, scale: float) -> Doubles:
    """Return ratios about the mean of H1, far out for H0, and their deltas."""
    rows = []
    with mp.workdps(110):
        d, r = mp.mpf(shift), mp.mpf(scale)
        for t in (-3, -1, 0.5, 2, 23):
            epsilon = float((d + t * r) ** 2 / 2 - mp.mpf(t) ** 2 / 2 - mp.log(r))
            alpha, power, _ = rates(d, r, epsilon)
            rows.append([epsilon, float(power - mp.exp(mp.mpf(epsilon)) * alpha)])
    return np.array(rows).T


@pytest.mark.parametrize(
    ("shift", "scale"),
    [
        (300.0, 0.01),
        (30.0, 0.9),  # where the series begins, in the tail of both laws
        (51.0, 1.1),
        (60.0, 0.9),
        (60.0, 1 - 1e-9),
        (60.0, 1.1),
        (1e5, 7.0),
        (0.0, 1e4),
        (8.0, 60.0),
    ],
)
def test_deltas_where_alpha_has_no_double(shift: float, scale: float) -> None:
    epsilon, delta = far_ratios(shift, scale)
    f = shifted_gaussian(shift, scale)
    np.testing.assert_allclose(f.delta(epsilon, "forward"), delta, 1e-10, 1e-300)
    usual = (delta > 1e-300) & (delta < 0.999) & (epsilon > 0.0)
    again = f.epsilon(delta[usual], "forward")
    np.testing.assert_allclose(again, epsilon[usual], 1e-10)


@pytest.mark.parametrize(
    ("shift", "scale"), [(19.5, 0.77), (42.6, 0.02), (84.0, 6e-5), (68.0, 1.9), (1e4, 300.0)]
)
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_epsilons_have_their_deltas(shift: float, scale: float, direction: str) -> None:
    f = shifted_gaussian(shift, scale)
    for delta in (1e-200, 1e-9, 1e-2):
        epsilon = f.epsilon(delta, direction)
        with mp.workdps(200):
            deltas = []
            for share in (1 - mp.mpf(10) ** -12, 1 + mp.mpf(10) ** -12):
                at = epsilon * share
                alpha, power, _ = rates(*both(shift, scale)[direction], at)
                deltas.append(power - mp.exp(at) * alpha)
            assert deltas[1] <= delta <= deltas[0]


@pytest.mark.parametrize(("shift", "scale"), [(1.0, 0.5), (1.0, 0.97), (0.3, 1.5), (4.0, 3.0)])
def test_the_hull(shift: float, scale: float) -> None:
    """The arc of the wider law as H1 down to slope -1, a chord, and the mirror image."""
    hull = shifted_gaussian(shift, scale).symmetrized()
    d, r = both(shift, scale)["forward" if scale > 1.0 else "reverse"]
    with mp.workdps(30):
        z0, (alpha, _, beta) = d / (1 - r * r), rates(d, r, 0.0)
        least = r * mp.sqrt(d * d + 2 * (r * r - 1) * mp.log(r)) / (r * r - 1)

        def strip(half: Any) -> Any:
            missed = masses((z0 - half - d) / r, (z0 + half - d) / r)[0]
            return missed * (mp.npdf(z0 - half) + mp.npdf(z0 + half))

        ends = [least + x for x in (0, 1, 3, 6, 12)] + [least + abs(z0) + 12]
        below = 2 * mp.quad(strip, sorted(ends)) - alpha * beta
        chord = (beta - alpha) * (beta + alpha) / 2
        assert close(hull.auc(), 1 - below - chord, 1e-13)
    assert shifted_gaussian([shift] * 2, scale).symmetrized().auc().tolist() == [hull.auc()] * 2
    for share in (0.0, 0.3, 0.7, 1.0):
        at = float(alpha + share * (beta - alpha))
        assert hull(at) == pytest.approx(float(alpha + beta) - at, rel=1e-12)


def test_the_largest_arguments() -> None:
    for shift, scale in ((1.5e50, 2.0), (-1.5e50, 2.0), (1.0, 1.5e50), (1.0, 0.7e-50)):
        with pytest.raises(ValueError, match="must be in"):
            shifted_gaussian(shift, scale)


def test_ends_of_the_ratio() -> None:
    f = shifted_gaussian([0.3, 1.0], [0.5, 3.0])
    assert f.delta([-math.inf, math.inf], "forward").tolist() == [[1.0, 0.0]] * 2
    assert f.power([0.0, 1.0]).tolist() == f([1.0, 0.0]).tolist() == [[0.0, 1.0]] * 2
    assert f.log_power([-math.inf, 0.0]).tolist() == [[-math.inf, 0.0]] * 2


def test_intervals_that_shrink_in_both_laws_alike() -> None:
    """Below e^-600 of the density at z0: the ratio is the largest, exp(epsilon(0))."""
    for shift, scale in ((0.0, 0.5), (1.0, 0.5), (3.0, 0.9)):
        f = shifted_gaussian(shift, scale)
        top = f.epsilon(0.0, "forward")
        log_alpha = np.array([-8e2, -1e4, -1e9])
        np.testing.assert_allclose(f.log_power(log_alpha) - log_alpha, top, 1e-9, 1e-6)


@pytest.mark.parametrize(("shift", "scale"), [(75.0, 0.5), (3.0, 0.9), (1e4, 0.9)])
def test_narrow_intervals_far_out(shift: float, scale: float) -> None:
    """Just below the largest ratio: an interval about a z0 that is far from 0."""
    f = shifted_gaussian(shift, scale)
    with mp.workdps(110):
        d, r = mp.mpf(shift), mp.mpf(scale)
        top = d * d / (2 * (1 - r * r)) - mp.log(r)
        logs = [[mp.log(x) for x in rates(d, r, top - s)[:2]] for s in (1e-6, 0.01, 0.3, 3, 30)]
    log_alpha, log_power = np.array(logs, dtype=float).T
    noise = 1e-12 - 1e-15 * log_alpha.min()  # what a rounding of log alpha moves
    np.testing.assert_allclose(f.log_power(log_alpha), log_power, 1e-11, 2.0 * noise)
