"""Slow and plain twins of the canaries and the white-box attacks."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np


def rank_sums(distances: np.ndarray) -> list[float]:
    """Sums over steps of ascending ranks; equal distances share the mean of their ranks."""
    sums = [0.0] * distances.shape[1]
    for step in distances:
        for i, mine in enumerate(step):
            below = sum(other < mine for other in step)
            equal = sum(other == mine for other in step)
            sums[i] += below + (equal + 1) / 2
    return sums


def clipped(row: Any, bound: float) -> list[float]:
    """Scale one row down to a norm, in many digits."""
    with mp.workdps(40):
        length = mp.sqrt(mp.fsum(mp.mpf(float(x)) ** 2 for x in row))
        factor = min(mp.mpf(1), bound / length) if length else mp.mpf(1)
        return [float(factor * mp.mpf(float(x))) for x in row]


def canife_loss(g: np.ndarray, U: np.ndarray, C: float) -> Any:
    """Return the loss in many digits, from its definition."""
    inner = [
        mp.fsum(mp.mpf(float(u)) * mp.mpf(x) for u, x in zip(row, g, strict=True)) for row in U
    ]
    short = C - mp.sqrt(mp.fsum(mp.mpf(x) ** 2 for x in g))
    return mp.fsum(x**2 for x in inner) + max(short, 0) ** 2


def step_score(before: Any, after: Any, z: Any, mean: Any, C: Any, rate: float, n: int) -> float:
    """Score one step by (z - mu)' C^-1 (x - mu) - (z - mu)' C^-1 (z - mu) / (2 n)."""
    released = (np.asarray(before) - np.asarray(after)) / rate
    a = np.linalg.inv(C) @ (z - mean)
    return float(a @ (released - mean) - a @ (z - mean) / (2 * n))


def aggregated(steps: Any, batches: str, rate: float | None = None) -> float:
    """Put steps together in many digits."""
    with mp.workdps(60):
        scores = [mp.mpf(float(s)) for s in steps]
        if batches == "max":
            return float(max(scores))
        if batches == "every-step":
            return float(mp.fsum(scores))
        if batches == "one-epoch":
            return float(mp.log(mp.fsum(map(mp.exp, scores)) / len(scores)))
        q = mp.mpf(rate)
        return float(mp.fsum(mp.log(1 - q + q * mp.exp(s)) for s in scores))
