"""The search for the largest epsilon refuted, beside a loop over all levels of each."""

from __future__ import annotations

import math

import numpy as np
import pytest

from leakscore import _core

LOWEST = 1600  # levels down to 2^-100 of the first
Refuted = tuple[int, int, int]


def farthest(counts: np.ndarray, sizes: np.ndarray, members: np.ndarray) -> int:
    """Return the critical threshold with the largest margin in units of its spread, or -1."""
    best, largest = -1, -1.0
    last = counts.size - 1
    for j, (size, inside) in enumerate(zip(sizes.tolist(), members.tolist(), strict=True)):
        if 0 < size < last and inside >= counts[size]:
            margin = (inside - counts[size]) / math.sqrt(min(size, last - size))
            if margin > largest:
                best, largest = j, margin
    return best


def refuted(
    found: tuple[np.ndarray, np.ndarray], n1: int, n0: int, delta: float, miss: float, unit: float
) -> Refuted:
    """Refute one epsilon after the other at the lowest level at which a count is critical."""
    best = (0, -1, 0)
    while True:
        epsilon, level, counts = unit * (best[0] + 1), -1, np.empty(0, np.int64)
        for k in range(LOWEST + 1):
            tried = _core.four_outcomes_critical(
                n1, n0, epsilon, math.log(miss) - k * (math.log(2.0) / 16.0)
            )
            if farthest(tried, *found) < 0:
                break
            level, counts = k, tried
        if level < 0 or not any(
            _core.four_outcomes_crossing(counts, n1, n0, delta, epsilon, spare * miss) <= miss
            for spare in (0.5, 1e-2, 1e-5)
        ):
            return best
        place = farthest(counts, *found)
        best = (best[0] + 1, place, int(counts[found[0][place]]))


@pytest.mark.parametrize("seed", range(40))
def test_every_level_of_every_epsilon(seed: int) -> None:
    """Few scores and large levels, too: there the first levels decide."""
    rng = np.random.default_rng(seed)
    n1, n0 = rng.integers(1, 4, 2).tolist() if seed % 2 else rng.integers(5, 30, 2).tolist()
    miss = float(rng.uniform(0.3, 0.99)) if seed % 2 else float(rng.uniform(0.01, 0.3))
    delta = 0.05 / (n1 + n0) * (seed % 3)
    order = np.argsort(-(rng.normal(size=n1 + n0) + 3.0 * (np.arange(n1 + n0) < n1)))
    sizes = np.arange(1, n1 + n0) if seed % 4 < 2 else np.array([max(1, n1 - 1)])
    members = np.cumsum(order < n1)[sizes - 1]
    unit = 0.03 if seed % 2 else 0.4
    found = _core.four_outcomes_refuted(sizes, members, n1, n0, delta, miss, unit)
    assert found == refuted((sizes, members), n1, n0, delta, miss, unit)


def test_levels_end() -> None:
    """Of scores apart the lowest level of all is critical."""
    n = 70
    sizes = np.array([n - 1, n])
    found = _core.four_outcomes_refuted(sizes, sizes, n, n, 0.0, 0.05, 0.7)
    assert found[0] > 2
    assert found == refuted((sizes, sizes), n, n, 0.0, 0.05, 0.7)
