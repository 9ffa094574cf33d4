"""A polygon below points that err: where two lines meet between points of both, in 40 digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from tests.helpers.parts import below

ERROR = 4e-12  # of a rate, and of 1 less the rate
ROUNDING = 4 * 2.0**-53  # of the log of a rate


def share(rng: np.random.Generator, near_1: bool) -> Any:
    small = mp.mpf(10.0 ** -rng.uniform(0.4, 13.0))
    return 1 - small if near_1 else small


def corner(rng: np.random.Generator, near_1: tuple[bool, bool]) -> tuple[Any, list[Any]]:
    """A curve of two lines: where it turns, and points on each, the first one far away."""
    while True:
        alpha, beta = (share(rng, near) for near in near_1)
        unit, scale = min(alpha, 1 - alpha), min(beta, 1 - beta)
        steep = scale / unit * mp.mpf(10.0 ** rng.uniform(-1.0, 1.0))
        flat = steep * mp.mpf(rng.uniform(0.01, 0.9))
        places = []
        for sign in (-1, 1):
            far = 10.0 ** -rng.uniform(0.4, 3.0)
            near = max(1e-5, far * 10.0 ** -rng.uniform(0.3, 3.0))
            places += [alpha + sign * unit * mp.mpf(x) for x in (far, far + near)]
        places = [alpha - unit * mp.mpf(0.97), places[1], places[0], places[2], places[3]]
        points = [(x, beta - (flat if x > alpha else steep) * (x - alpha)) for x in places]
        if all(0 < rate < 1 for point in points for rate in point):
            return (alpha, beta), points


def rounded(rate: Any, sign: float) -> float:
    log, most = mp.log(rate), mp.mpf(0.999)
    return float(log + sign * most * (ERROR * min(-log, 1) + ROUNDING))


def curve_below(points: list[Any], signs: tuple[int, ...]) -> Callable[[Any], Any]:
    logs = [
        np.array([rounded(point[k], sign) for point, sign in zip(points, signs, strict=True)])
        for k in range(2)
    ]
    x, y = ([mp.exp(v) if np.isfinite(v) else mp.mpf(0) for v in z] for z in below(*logs))

    def height(alpha: Any) -> Any:
        i = next((i for i in range(1, len(x)) if x[i] > alpha), 0)
        if not i:
            return mp.mpf(0)
        return y[i - 1] + (y[i] - y[i - 1]) * (alpha - x[i - 1]) / (x[i] - x[i - 1])

    return height


@pytest.mark.parametrize("near_1", [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize("signs", [(-1, 1, 1, -1), (1, 1, 1, 1), (0, 0, 0, 0)], ids=str)
def test_where_two_lines_meet(near_1: tuple[bool, bool], signs: tuple[int, ...]) -> None:
    """The first errors are the worst: the line before is too flat, the line after too steep."""
    rng = np.random.default_rng(0)
    with mp.workdps(40):
        for _ in range(60):
            turn, points = corner(rng, near_1)
            height = curve_below(points, (0, *signs))
            for alpha, beta in (turn, *points[2:4]):
                assert height(alpha) <= beta
