"""From the noise of a solver to noise that meets every limit: the least factor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from leakscore.leakage.noise.cover import Indices
from leakscore.typing import Doubles

Excess: TypeAlias = Callable[[Doubles, Indices | None], Doubles]
"""y' (C + F F')^-1 y over its limit, of a factor F, for all records or some."""

Multiples: TypeAlias = Callable[[Doubles, Indices], Callable[[float], Doubles]]
"""The same of t F F', for some records and any t."""

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


def fitted_factor(excess: Excess, factor: Doubles, multiples: Multiples | None = None) -> Fitted:
    """Do the same for a factor with orthogonal columns.

    Where `excess` is dear, `multiples` gives that of all multiples of a factor, up to rounding.
    """
    scaling = _Scaling(excess, multiples)
    sizes = np.square(factor).sum(axis=0)
    best = scaling.least(factor[:, sizes > 0])
    now = excess(best.factor, None)
    nearest = np.flatnonzero(now > _NEAR * now.max())
    for share in _SMALL:
        few = factor[:, sizes > share * sizes.max()]
        if few.shape[1] == factor.shape[1]:
            return best
        try:
            times = scaling.root(few, nearest, 1.0)
            if times * float(np.square(few).sum()) <= best.cost * (1 + _DEARER):
                fewer = scaling.least(few)
                return fewer if fewer.cost <= best.cost * (1 + _DEARER) else best
        except RuntimeError:
            continue
    return best


def _factor(noise: Doubles) -> Doubles:
    if noise.ndim == 1:
        return np.diag(np.sqrt(noise))
    values, vectors = np.linalg.eigh(noise)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


@dataclass(frozen=True)
class _Scaling:
    """How much the multiples of a factor hide."""

    excess: Excess
    multiples: Multiples | None

    def least(self, factor: Doubles) -> Fitted:
        """Return the least multiple within all limits."""
        now = self.excess(factor, None)
        active = np.flatnonzero(now > _NEAR * now.max())
        times, push = 1.0, 1e-13
        for _ in range(_MOST_CHECKS):
            times = max(self.root(factor, active, times) * (1 + _SAFE), times * (push > 1e-13))
            result = np.sqrt(times) * factor
            now = self.excess(result, None)
            if now.max() <= 1.0:
                return Fitted(result, float(np.square(result).sum()))
            active = np.union1d(active, np.flatnonzero(now > 1.0))
            times, push = times * (1 + push), 8 * push  # at the root up to rounding: over it
        raise RuntimeError(
            f"The noise did not converge: the largest limit is met {float(now.max())!r} x"
        )

    def root(self, factor: Doubles, active: Indices, start: float) -> float:
        """Return the least factor, from `start`, that brings some records within their limits."""
        from scipy.optimize import brentq

        def plainly(times: float) -> Doubles:
            return self.excess(np.sqrt(times) * factor, active)

        of = plainly if self.multiples is None else self.multiples(factor, active)

        def beyond(log_times: float) -> float:
            return float(of(float(np.exp(log_times))).max()) - 1.0

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
