"""W7: a certified epsilon from raw scores, beside numpy with two sorts and one search."""

from __future__ import annotations

import math

import numpy as np

from bench._harness import compare, timed
from leakscore.audit import Audit

DELTA = 1e-5


def numpy_epsilon(members: np.ndarray, nonmembers: np.ndarray) -> float:
    """Bound epsilon by the one-sided DKW band, in place wherever numpy can.

    Only thresholds just below a member's score can be best, which spares numpy the concatenated
    thresholds. A stable argsort of the two sorted halves takes as long as the search; argsort of
    the raw scores with cumulative sums takes four times as long.
    """
    n1, n0 = members.size, nonmembers.size
    ranks = np.searchsorted(np.sort(nonmembers), np.sort(members))
    low = ranks * (-1.0 / n0)
    low += 1.0 + math.sqrt(math.log(2 / 0.05) / (2 * n0))
    high = np.arange(n1) * (1.0 / n1)
    high += math.sqrt(math.log(2 / 0.05) / (2 * n1))
    larger = np.maximum(low, high)
    np.minimum(low, high, out=low)
    np.subtract(1.0 - DELTA, larger, out=larger)
    larger /= low
    return math.log(max(1.0, float(larger.max())))


def same(ours: float, reference: float) -> None:
    assert 0 <= reference - ours < 1e-12, (ours, reference)  # ours is rounded down


def run() -> None:
    rng = np.random.default_rng(7)
    for n in (1000, 100_000, 1_000_000):
        for dtype in (np.float64, np.float32):
            members = rng.normal(1.0, 1.0, n).astype(dtype)
            nonmembers = rng.normal(0.0, 1.0, n).astype(dtype)
            compare(
                f"W7 {n} + {n} scores, {dtype.__name__}",
                lambda members=members, nonmembers=nonmembers: (
                    Audit(members, nonmembers).epsilon(DELTA).epsilon
                ),
                lambda members=members, nonmembers=nonmembers: numpy_epsilon(members, nonmembers),
                same=same,
                limit=min(
                    timed(lambda a=members, b=nonmembers: (np.sort(a), np.sort(b)))[0]
                    for _ in range(9)
                ),
                repeats=200 if n == 1000 else 9,
                note="limit: the two sorts",
            )
    large = rng.normal(1.0, 1.0, 10_000_000).astype(np.float32)
    other = rng.normal(0.0, 1.0, 10_000_000).astype(np.float32)
    seconds, _ = timed(lambda: Audit(large, other).epsilon(DELTA))
    print(f"    1e7 + 1e7 float32 scores: {seconds:.2f} s")
