"""W7: a certified epsilon from raw scores, beside numpy with two sorts and one search."""

from __future__ import annotations

import math
import time

import numpy as np
from scipy.stats import poisson

import leakscore
from bench._harness import compare, timed
from leakscore import _core
from leakscore.audit import Audit, critical_value
from leakscore.audit.bands import band, beta_bounds

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


def numpy_banded(members: np.ndarray, nonmembers: np.ndarray) -> float:
    """Bound epsilon by tables of the default band for every count, just below each member."""
    n1, n0 = members.size, nonmembers.size
    ranks = np.searchsorted(np.sort(nonmembers), np.sort(members))
    fpr = band("weighted-ell", n0, 0.025)(n0 - ranks)
    fnr = band("weighted-ell", n1, 0.025)(np.arange(n1))
    larger = 1.0 - DELTA - np.maximum(fpr, fnr)
    larger /= np.minimum(fpr, fnr)
    return math.log(max(1.0, float(larger.max())))


def numpy_crossing(bounds: np.ndarray) -> float:
    """Cross a boundary by Poisson propagation over the live states, one np.convolve per index."""
    n = bounds.size
    means = n * np.diff(bounds, prepend=0.0)
    low, states = 0, np.ones(1)
    for i, mean in enumerate(means, 1):
        jumps = poisson.pmf(np.arange(int(mean + 12 * math.sqrt(mean)) + 24), mean)
        states = np.convolve(states, jumps)[i - low :]
        time = bounds[i - 1]
        room = math.ceil(n * time + 13 + 9 * math.sqrt(n * time * (1 - time)))
        low, states = i, states[: max(1, min(n, room) - i + 1)]
    rest = poisson.pmf(n - low - np.arange(states.size), n * (1 - bounds[-1]))
    return 1.0 - float(states @ rest) / float(poisson.pmf(n, n))


def critical_values() -> None:
    """Crossing probabilities beside numpy, and what the first call for a size costs."""
    for n in (1000, 10_000):
        bounds, rest = beta_bounds(np.arange(1, n + 1), n, 3e-4)
        index = np.arange(1, n + 1)
        compare(
            f"crossing probability, n = {n}",
            lambda given=(n, index, bounds, rest): _core.crossing_probability(*given)[0],
            lambda bounds=bounds: numpy_crossing(bounds),
            same=lambda ours, reference: np.testing.assert_allclose(ours, reference, rtol=1e-8),
            repeats=3,
        )
    for n in (9_999, 99_999, 999_999, 10**9 - 1):
        seconds, value = timed(lambda n=n: critical_value(n))
        print(f"    first critical value, n = {n}: {value:.5e} in {seconds:.2f} s")


def same(ours: float, reference: float) -> None:
    """Our bound is rounded down; the reference is rounded to nearest."""
    assert -4e-15 < reference - ours < 1e-12, (ours, reference)


def audits(n: int, dtype: type, method: str) -> None:
    """Audit n + n scores, the critical values known, beside numpy by the same band."""
    rng = np.random.default_rng(7)
    members, nonmembers = (rng.normal(shift, 1.0, n).astype(dtype) for shift in (1.0, 0.0))
    reference = numpy_epsilon if method == "dkw" else numpy_banded
    compare(
        f"W7 2 x {n} scores, {np.dtype(dtype)}, {method}",
        lambda: Audit(members, nonmembers).epsilon(DELTA, method=method).epsilon,
        lambda: reference(members, nonmembers),
        same=same,
        limit=min(timed(lambda: (np.sort(members), np.sort(nonmembers)))[0] for _ in range(9)),
        repeats=200 if n == 1000 else 9,
        note="limit: numpy's two sorts; numpy finds epsilon alone, no threshold and no rates",
    )


def two_threads() -> None:
    """Wall seconds of one audit with one thread and with two, in turn: each sorts one class."""
    rng = np.random.default_rng(7)
    members, nonmembers = rng.normal(1.0, 1.0, 3_000_000), rng.normal(0.0, 1.0, 3_000_000)
    wall = {1: math.inf, 2: math.inf}
    for _ in range(5):
        for threads in wall:
            leakscore.set_num_threads(threads)
            start = time.perf_counter()
            Audit(members, nonmembers).epsilon(DELTA, method="weighted-ell")
            wall[threads] = min(wall[threads], time.perf_counter() - start)
    leakscore.set_num_threads(1)
    print(
        f"    3e6 + 3e6 scores, weighted-ell: {wall[1]:.2f} s of wall time with one thread, "
        f"{wall[2]:.2f} s with two ({wall[1] / wall[2]:.2f})"
    )


def run() -> None:
    for n in (1000, 100_000, 1_000_000):
        for dtype in (np.float64, np.float32):
            for method in ("weighted-ell", "dkw"):
                audits(n, dtype, method)
    critical_values()
    two_threads()
    rng = np.random.default_rng(7)
    large = rng.normal(1.0, 1.0, 10_000_000).astype(np.float32)
    other = rng.normal(0.0, 1.0, 10_000_000).astype(np.float32)
    for method in ("dkw", "weighted-ell"):
        Audit(large[:9], other).epsilon(DELTA, method=method)  # the critical value
        seconds, _ = timed(lambda m=method: Audit(large, other).epsilon(DELTA, method=m))
        print(f"    1e7 + 1e7 float32 scores, {method}: {seconds:.2f} s")
