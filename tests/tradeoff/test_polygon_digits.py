"""Every number of a polygon against 400 digits: how near, and on which side, to a few roundings."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from tests.helpers.parts import Polygon

INF = np.inf
# Vertices whose logs are exact in binary; power at alpha = 0 or none, beta = 0 before 1 or at it.
SHAPES = {
    "both axes": (
        [-INF, -700.0, -40.0, -9.5, -1.25, -0.0625, -(2.0**-30)],
        [-(2.0**-40), -(2.0**-39), -(2.0**-12), -0.25, -2.5, -9.0, -INF],
    ),
    "from (0, 1)": (
        [-INF, -60.0, -12.0, -2.0, -0.5, 0.0],
        [0.0, -(2.0**-50), -(2.0**-5), -1.0, -2.0, -INF],
    ),
    "little power": (
        [-INF, -30.0, -3.0, -1.0, 0.0],
        [-(2.0**-60), -(2.0**-38), -(2.0**-3), -0.75, -INF],
    ),
    "far out": (
        [-INF, -700.25, -698.5, -690.125, -1.0],
        [0.0, -0.125, -1.75, -600.0, -INF],
    ),
    "underflown": ([-INF, -800.0, -760.0, -1.5], [-0.25, -2.0, -5.0, -INF]),
    "a line": ([-INF, 0.0], [-0.75, -INF]),
    "everything": ([-INF], [-INF]),
    "much": ([-INF, -300.0, -20.0, -3.0], [-0.5, -10.0, -50.0, -INF]),
}
UNIT, ROUNDED = 2.0**-53, 24.0 * 2.0**-53  # the code moves numbers by 16 units
ALPHAS = [0.0, 1e-300, 1e-25, 1e-17, 1e-9, 1e-4, 0.02, 0.13, 0.3, 0.55, 0.7, 0.93]
ALPHAS += [0.9985, 0.9995, 1.0 - 2.0**-20, 1.0 - 2.0**-40, 1.0 - 2.0**-53, 1.0]


def exact(logs: list[float]) -> list[Any]:
    return [mp.exp(mp.mpf(x)) if np.isfinite(x) else mp.mpf(0) for x in logs]


@pytest.fixture(params=[-1, 0, 1])
def side(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=[(name, back) for name in SHAPES for back in (False, True)], ids=str)
def logs(request: pytest.FixtureRequest) -> tuple[list[float], list[float]]:
    name, back = request.param
    x, y = SHAPES[name]
    return (y[::-1], x[::-1]) if back else (x, y)


def made(logs: tuple[list[float], list[float]], side: Any) -> Polygon:
    """Give the polygon, by way of the inverse of its inverse."""
    x, y = map(np.array, logs)
    turned = Polygon(y[::-1], x[::-1], "guarantee", side=side)
    curve = turned.inverse()
    assert isinstance(curve, Polygon)
    return curve


def beyond(side: int, found: Any, number: Any, slack: Any) -> None:
    """Fail unless a number lies on its side, 1 above, and no further than slack."""
    assert side * (mp.mpf(float(found)) - number) >= -5e-324
    assert abs(mp.mpf(float(found)) - number) <= slack


def on_edge(xs: list[Any], ys: list[Any], alpha: Any) -> tuple[Any, Any]:
    """Beta, and minus the steepest slope beside it."""
    xs, ys = [*xs, xs[-1] + 1, xs[-1] + 2], [*ys, mp.mpf(0), mp.mpf(0)]
    i = max(i for i in range(len(xs) - 1) if xs[i] <= alpha)
    slopes = [(a - b) / (d - c) for a, b, c, d in zip(ys, ys[1:], xs, xs[1:], strict=False)]
    near = [j for j in (i - 1, i) if j == i or alpha - xs[i] < 1e-13 * alpha + mp.mpf("1e-600")]
    steep = max(slopes[j] for j in near if j >= 0)
    return ys[i] - slopes[i] * (alpha - xs[i]), steep


def test_rates_of_errors(logs: tuple[list[float], list[float]], side: Any) -> None:
    f = made(logs, side)
    with mp.workdps(400):
        xs, ys = map(exact, logs)
        for alpha in ALPHAS:
            beta, steep = on_edge(xs, ys, mp.mpf(alpha))
            gap = mp.mpf(alpha if alpha < 0.999 else 1.0 - alpha)
            slack = ROUNDED * (beta + min(steep * gap, 2)) + 1e-320
            beyond(side, f(alpha), beta, slack)
            slack = ROUNDED * (1 - beta + min(steep * gap, 2)) + 1e-320
            beyond(-side if f.power(alpha) < 1.0 else 0, f.power(alpha), 1 - beta, slack)
        assert side == 1 or f.power(1.0) == 1.0


def test_log_power(logs: tuple[list[float], list[float]], side: Any) -> None:
    f = made(logs, side)
    with mp.workdps(500):
        xs, ys = map(exact, logs)
        for log_alpha in (
            -1e3,
            -701.3,
            -699.1,
            -697.7,
            -694.3,
            -691.9,
            -650.0,
            -55.0,
            -39.0,
            -11.0,
            -2.2,
            -0.7,
            -0.03,
            -(2.0**-45),
        ):
            beta, _ = on_edge(xs, ys, mp.exp(mp.mpf(log_alpha)))
            number = mp.log(1 - beta)
            slack = 20 * UNIT * (1 + abs(number) - log_alpha)
            found = f.log_power(log_alpha)
            beyond(-side if found < 0.0 else 0, found, number, slack)
        start = f.log_power(-INF)
        assert np.exp(start) == pytest.approx(float(1 - ys[0]), rel=2e-13, abs=0)


def test_profile(logs: tuple[list[float], list[float]], side: Any) -> None:
    f = made(logs, side)
    with mp.workdps(400):
        xs, ys = map(exact, logs)
        for epsilon in (-30.0, -3.0, -0.1, 0.0, 0.1, 0.4, 1.5, 4.0, 9.0, 25.0, 60.0, 600.0):
            weight = mp.exp(mp.mpf(epsilon))
            gains = [(1 - y - weight * x, 1 - y, weight * x) for x, y in zip(xs, ys, strict=True)]
            delta, power, paid = max(gains)
            slack = ROUNDED * (power + (paid * (1 + abs(mp.log(paid))) if paid else 0))
            found = f.delta(epsilon, "forward")
            beyond(-side if found < 1.0 else 0, found, delta, slack)
            assert found <= 1.0
        advantage, power, alpha = max((1 - y - x, 1 - y, x) for x, y in zip(xs, ys, strict=True))
        slack = ROUNDED * (power if power < 0.5 else 1 - alpha) + 2 * UNIT
        beyond(-side, f.advantage(), advantage, slack)
        edges = list(zip(xs, ys, xs[1:], ys[1:], strict=False))
        area = 1 - sum((c - a) * (b + d) / 2 for a, b, c, d in edges)
        beyond(-side, f.auc(), area, 20 * UNIT)


def test_epsilon(logs: tuple[list[float], list[float]], side: Any) -> None:
    f = made(logs, side)
    with mp.workdps(400):
        xs, ys = map(exact, logs)
        most = float(max(1 - y - x for x, y in zip(xs, ys, strict=True)))
        for delta in (0.0, 1e-300, 1e-19, 1e-13, 1e-6, *(s * most for s in (0.01, 0.5, 0.9))):
            if delta >= most:
                continue
            left = [
                ((1 - y - mp.mpf(delta)) / x if x else mp.inf, x, y)
                for x, y in zip(xs, ys, strict=True)
                if delta < 1 - y
            ]
            ratio, x, y = max(left, key=lambda one: one[0])
            found = f.epsilon(delta, "forward")
            if ratio == mp.inf:
                assert found == INF
                continue
            number, gain = mp.log(ratio), 1 - y - mp.mpf(delta)
            slack = ROUNDED * (abs(mp.log(gain)) + abs(mp.log(x)) + (1 - y) / gain + 1)
            beyond(-side, found, number, slack)
        assert f.epsilon(min(most * (1.0 + 1e-14), 1.0), "forward") == 0.0


def test_predictions_at_alpha_0(logs: tuple[list[float], list[float]], side: Any) -> None:
    f = made(logs, side)
    with mp.workdps(400):
        xs, ys = map(exact, logs)
        ratio = xs[1] / (1 - ys[1]) if ys[0] == 1 else 0
        number = float(0.25 / (0.25 + 0.75 * ratio))
    assert f.ppv(0.0, 0.25) == pytest.approx(number, rel=1e-14, abs=0)


def test_hulls(logs: tuple[list[float], list[float]], side: Any) -> None:
    """Of the curve and its inverse: by all pairs of points."""
    f = made(logs, side)
    hull = f.symmetrized()
    assert hull.inverse() is hull
    with mp.workdps(400):
        xs, ys = map(exact, logs)
        points = [*zip(xs, ys, strict=True), *zip(ys, xs, strict=True)]
        for alpha in (1e-300, 1e-9, 0.02, 0.3, 0.7, 0.9985, 1.0 - 2.0**-20):
            a = mp.mpf(alpha)
            below = [y for x, y in points if x <= a]
            chords = [
                p[1] + (q[1] - p[1]) * (a - p[0]) / (q[0] - p[0])
                for p in points
                for q in points
                if p[0] <= a < q[0]
            ]
            number = min(below + chords)
            slack = 3 * ROUNDED * (number + min(a, 1 - a if alpha > 0.999 else 1))
            beyond(side, hull(alpha), number, slack)
