"""Every edge of a curve from an accountant lies on the safe side of one line, in 300 digits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore import tradeoff

Lines = list[tuple[Any, Any]]  # 1 - delta, and the slope


def values(logs: Any) -> list[Any]:
    return [mp.exp(mp.mpf(x)) if np.isfinite(x) else mp.mpf(0) for x in logs.tolist()]


def assert_below(f: Any, forward: Lines, reverse: Lines) -> None:
    """Both ends of each edge lie on or below the same line, and so does all between them."""
    xs, ys = map(values, f.vertices)
    lines = [(level, slope, mp.mpf(1)) for level, slope in forward]
    lines += [(level, mp.mpf(1), slope) for level, slope in reverse]
    above = [[level - a * x - b * y for level, a, b in lines] for x, y in zip(xs, ys, strict=True)]
    for here, there in pairwise(above):
        assert max(map(min, here, there)) >= 0


@pytest.mark.parametrize(
    ("reach", "decay"),
    [(0.2, 1.0), (3.0, 1.5), (30.0, 1.2), (300.0, 1.02), (1e-7, 1.0), (1e-12, 1.0), (1e-300, 1.0)],
)
@pytest.mark.parametrize("seed", range(6))
def test_edges_of_a_profile(reach: float, decay: float, seed: int) -> None:
    """Where two lines meet: rates of any size, next to 0 and to 1, and of about 1/e."""
    rng = np.random.default_rng(seed)
    epsilon = np.sort(rng.uniform(0.0, reach, 12))
    delta = rng.uniform(0.05, 0.9) * np.exp(-epsilon * decay - epsilon**2 / reach)
    for relation in ("forward", "both"):
        f = tradeoff.from_profile(epsilon, delta, relation=relation)
        with mp.workdps(300):
            lines = [(1 - mp.mpf(d), mp.exp(e)) for e, d in zip(epsilon, delta, strict=True)]
            assert_below(f, lines, lines if relation == "both" else [])


@pytest.mark.parametrize("reach", [1e-9, 1e-3, 1.0, 20.0])
@pytest.mark.parametrize("seed", range(6))
def test_edges_of_both_orders(reach: float, seed: int) -> None:
    """Lines of slopes on either side of -1, none of which is another one turned."""
    rng = np.random.default_rng(seed)
    epsilon = np.sort(rng.uniform(-reach, reach, 12))
    delta = 0.02 + 0.9 * rng.random() * (1.0 - np.exp(epsilon - reach))
    delta = np.maximum(delta, -np.expm1(epsilon))
    f = tradeoff.from_profile(epsilon, delta, relation="forward")
    with mp.workdps(60):
        assert_below(
            f, [(1 - mp.mpf(d), mp.exp(e)) for e, d in zip(epsilon, delta, strict=True)], []
        )


@pytest.mark.parametrize("seed", range(15))
def test_edges_that_meet_where_a_term_of_the_rounding_is_least(seed: int) -> None:
    """At rates of 1/e, of which log(-log) is 0; at steep lines of any delta."""
    rng = np.random.default_rng(seed)
    at = np.exp(-1.0 + 1e-4 * rng.normal(size=2))
    near = rng.uniform([0.05, 0.4], [0.3, 0.54])
    far = np.sort(rng.uniform(50.0, 700.0, 8))
    for epsilon, delta in (
        (near, 1.0 - at[0] - np.exp(near) * at[1]),
        (far, np.sort(rng.uniform(0.01, 0.9, 8))[::-1]),
    ):
        f = tradeoff.from_profile(epsilon, delta, relation="forward")
        with mp.workdps(60):
            lines = [(1 - mp.mpf(d), mp.exp(e)) for e, d in zip(epsilon, delta, strict=True)]
            assert_below(f, lines, [])
