"""From the noise of a solver to noise that meets every limit: the least factor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from leakscore._types import Doubles
from leakscore.leakage.noise.cover import Indices

Excess: TypeAlias = Callable[[Doubles, Indices | None], Doubles]
"""y' (C + F F')^-1 y over its limit, of a factor F, for all records or some."""

_NEAR = 0.9  # of the largest excess: records that may become the largest under another factor
_MOST_CHECKS = 60
_SAFE = 2e-13
_SMALL = (1e-4, 1e-6)  # shares of the largest direction's noise
_DEARER = 1e-5  # what noise in fewer directions may cost more


@dataclass(frozen=True)
class Fitted:
    """A factor F (d, r) of the noise F F' in units of cost, and its cost."""

    factor: Doubles
    cost: float


def fitted(excess: Excess, noise: Doubles) -> Fitted:
    """Scale noise, (d, d) or (d,), with its smallest directions left out where that is free."""
    return fitted_factor(excess, _factor(noise))


def fitted_factor(excess: Excess, factor: Doubles) -> Fitted:
    """Do the same for a factor with orthogonal columns."""
    sizes = np.square(factor).sum(axis=0)
    best = _scaled(excess, factor[:, sizes > 0])
    now = excess(best.factor, None)
    some = np.flatnonzero(now > _NEAR * now.max())
    for share in _SMALL:
        few = factor[:, sizes > share * sizes.max()]
        try:
            times = _least(excess, few, some, 1.0)
            if times * float(np.square(few).sum()) <= best.cost * (1 + _DEARER):
                fewer = _scaled(excess, few)
                return fewer if fewer.cost <= best.cost * (1 + _DEARER) else best
        except RuntimeError:
            continue
    return best


def _factor(noise: Doubles) -> Doubles:
    if noise.ndim == 1:
        return np.diag(np.sqrt(noise))
    values, vectors = np.linalg.eigh(noise)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _scaled(excess: Excess, factor: Doubles) -> Fitted:
    now = excess(factor, None)
    some = np.flatnonzero(now > _NEAR * now.max())
    times = 1.0
    for _ in range(_MOST_CHECKS):
        times = _least(excess, factor, some, times) * (1 + _SAFE)
        result = np.sqrt(times) * factor
        now = excess(result, None)
        if now.max() <= 1.0:
            return Fitted(result, float(np.square(result).sum()))
        some = np.union1d(some, np.flatnonzero(now > 1.0))
        times *= 1 + 1e-13
    raise RuntimeError(
        f"The noise did not converge: the largest limit is met {float(now.max())!r} x"
    )


def _least(excess: Excess, factor: Doubles, some: Indices, start: float) -> float:
    """Return the least factor, from `start`, that brings some records within their limits."""
    from scipy.optimize import brentq

    def beyond(log_times: float) -> float:
        return float(excess(np.exp(0.5 * log_times) * factor, some).max()) - 1.0

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
