"""From the noise of a solver to noise that meets every limit: the least factor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakscore._types import Doubles
from leakscore.leakage.noise.cover import Cover, Indices
from leakscore.leakage.noise.problem import Problem

__all__ = ["Fitted", "fitted"]

_NEAR = 0.9  # of the largest excess: records that may become the largest under another factor
_MOST_CHECKS = 60
_SAFE = 2e-13
_SMALL = 1e-7  # directions with a smaller share of the largest are left without noise


@dataclass(frozen=True)
class Fitted:
    """A factor F (d, r) of the noise F F' in units of cost, and its cost."""

    factor: Doubles
    cost: float

    @property
    def noise(self) -> Doubles:
        """Return F F'."""
        return np.asarray(self.factor @ self.factor.T)


def fitted(problem: Problem, found: Cover) -> Fitted:
    """Scale the noise, with its smallest directions left out where that costs nothing."""
    factor = _factor(found.noise)
    sizes = np.square(factor).sum(axis=0)
    best = _scaled(problem, factor[:, sizes > 0])
    few = factor[:, sizes > _SMALL * sizes.max()]
    if few.shape[1] == best.factor.shape[1]:
        return best
    try:
        fewer = _scaled(problem, few)
    except RuntimeError:
        return best
    return fewer if fewer.cost <= best.cost * (1 + 1e-6) else best


def _factor(noise: Doubles) -> Doubles:
    if noise.ndim == 1:
        return np.diag(np.sqrt(noise))
    values, vectors = np.linalg.eigh(noise)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _scaled(problem: Problem, factor: Doubles) -> Fitted:
    noise = factor @ factor.T
    excess = problem.excess(noise)
    some = np.flatnonzero(excess > _NEAR * excess.max())
    times = 1.0
    for _ in range(_MOST_CHECKS):
        times = _least(problem, noise, some, times) * (1 + _SAFE)
        result = np.sqrt(times) * factor
        excess = problem.excess(result @ result.T)
        if excess.max() <= 1.0:
            return Fitted(result, float(np.square(result).sum()))
        some = np.union1d(some, np.flatnonzero(excess > 1.0))
        times *= 1 + 1e-13
    raise RuntimeError(f"The noise did not converge: the largest limit is met {excess.max()!r} x")


def _least(problem: Problem, noise: Doubles, some: Indices, start: float) -> float:
    """Return the least factor, from `start`, that brings some records within their limits."""
    from scipy.optimize import brentq

    def beyond(log_times: float) -> float:
        return float(problem.excess(np.exp(log_times) * noise, some).max()) - 1.0

    low = high = float(np.log(start))
    step = 1e-9
    if beyond(low) <= 0:
        while beyond(low) <= 0:
            high, low, step = low, low - step, 16 * step
            if low < -200:  # rounding made the noise: none is needed
                return 0.0
    else:
        while beyond(high) > 0:
            low, high, step = high, high + step, 16 * step
            if high > 200:
                raise RuntimeError("The noise did not converge: no multiple of it is enough")
    return float(np.exp(brentq(beyond, low, high, xtol=1e-15, rtol=1e-14) + 1e-15))
