"""Epsilons at deltas next to 1, where 1 - delta has the digits, against tails in many digits."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import pytest

from leakscore.tradeoff import shifted_gaussian

RESTS = [1e-3, 1e-6, 1e-10, 1e-12]


def inside(low: Any, high: Any, mean: float = 0.0, scale: float = 1.0) -> Any:
    return mp.ncdf((high - mean) / scale) - mp.ncdf((low - mean) / scale)


@pytest.mark.parametrize("rest", RESTS)
@pytest.mark.parametrize("law", [(14.0, 0.7), (24.0, 1.5)])
def test_shifted_laws(law: tuple[float, float], rest: float) -> None:
    delta = 1.0 - rest
    epsilon = float(shifted_gaussian(*law).epsilon(delta, "forward"))
    with mp.workdps(150):
        d, r = map(mp.mpf, law)
        centre = d / (1 - r**2)
        level = 2 * r**2 * (mp.log(r) + epsilon) / (r**2 - 1) + d**2 / (r**2 - 1)
        half = mp.sqrt(centre**2 + level)
        low, high = centre - half, centre + half
        alpha, power = inside(low, high), inside(low, high, d, r)
        if r > 1:
            alpha, power = 1 - alpha, 1 - power
        left = 1 - power + mp.exp(epsilon) * alpha
        assert epsilon > 1.0
        assert float(left / (1 - mp.mpf(delta))) == pytest.approx(1.0, rel=1e-11)
