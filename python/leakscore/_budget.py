"""Privacy budgets as leakage scores, and the least noise that meets one."""

from __future__ import annotations

from math import exp, inf, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import _dense, _validate
from leakscore.reference import Reference

Doubles = npt.NDArray[np.float64]


def largest_leakage(
    max_advantage: object, epsilon: object, delta: object, max_power: object, at_fpr: object
) -> float:
    """Return the largest leakage score m under exactly one kind of budget, on the safe side."""
    if (epsilon is None) != (delta is None):
        raise ValueError(f"Expected epsilon={epsilon!r} and delta={delta!r} to be given together")
    if sum(budget is not None for budget in (max_advantage, epsilon, max_power)) != 1:
        raise ValueError(
            f"Expected one budget, not max_advantage={max_advantage!r}, epsilon={epsilon!r}, "
            f"max_power={max_power!r}"
        )
    fpr = _validate.scalar("at_fpr", at_fpr, 0.0, 1.0, closed="neither")
    if max_advantage is not None:
        mu = _mu_of_advantage(
            _validate.scalar("max_advantage", max_advantage, 0.0, 1.0, closed="neither")
        )
    elif max_power is not None:
        mu = _mu_of_power(_validate.scalar("max_power", max_power, fpr, 1.0, closed="neither"), fpr)
    else:
        mu = _mu_of_delta(
            _validate.scalar("epsilon", epsilon, 0.0),
            _validate.scalar("delta", delta, 0.0, 1.0, closed="neither"),
        )
    return mu * mu


def _mu_of_advantage(advantage: float) -> float:
    """Advantage erf(mu / sqrt 8); the inverse of erf has no cancellation for small advantages."""
    from scipy.special import erfinv

    return float(sqrt(8.0) * erfinv(advantage))


def _mu_of_power(power: float, fpr: float) -> float:
    """Power Phi(Phi^-1(fpr) + mu), less the rounding of both quantiles."""
    from scipy.special import ndtri

    high, low = float(ndtri(power)), float(ndtri(fpr))
    mu = high - low - 1e-15 * (abs(high) + abs(low))
    if mu <= 0:
        raise ValueError(f"Expected max_power={power!r} to lie farther above at_fpr={fpr!r}")
    return mu


def _mu_of_delta(epsilon: float, delta: float) -> float:
    """Largest mu with Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) <= delta, by bisection."""
    from scipy.special import log_ndtr

    def exceeds(mu: float) -> bool:
        left = float(log_ndtr(mu / 2 - epsilon / mu))
        right = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
        return exp(left) - exp(min(right, left)) > delta

    low, high = 0.0, 1.0
    while not exceeds(high):
        low, high = high, 2 * high
    while low == 0.0 or high - low > 2e-16 * high:
        middle = sqrt(low * high) if low > 0 else high / 16
        if not low < middle < high:
            break
        if exceeds(middle):
            high = middle
        else:
            low = middle
    return low


def start(reference: Reference, scale: Doubles, errors: Doubles, limit: float) -> float:
    """Return an x > 0 at which a singular C + x diag(scale) can be factorised, near 0.

    The second term bounds the root from below, as e' (C + x D)^-1 e >= e' D^-1 e / (tr D^-1 C + x).
    """
    share = np.divide(reference.variances, scale, out=np.zeros(reference.dim), where=scale > 0)
    weight = np.divide(1.0, scale, out=np.zeros(reference.dim), where=scale > 0)
    least = 16 * _dense.tolerance(reference.dim, reference._rounding) * float(share.max())
    return max(least, float(((errors * errors) @ weight).max()) / limit - float(share.sum()))


def root(reference: Reference, scale: Doubles, error: Doubles, limit: float, x: float) -> float:
    """Solve f(x) = e' (C + x diag(scale))^-1 e = limit from an x with f(x) > limit.

    f is a sum of p / (lambda + x), so 1/f is concave and increases: Newton's steps on 1/f never
    pass the root, and end quadratically.
    """
    for _ in range(200):
        noisy = reference.add_diagonal(x * scale)
        weights = noisy.solve(error)
        value = float(error @ weights)
        if value <= limit:
            return x
        step = (value / limit - 1) * value / float(scale @ (weights * weights))
        if not step > 1e-15 * x:
            return x
        x += step
    raise RuntimeError(f"The least noise did not converge: at {x!r} leakage is {value / limit!r} m")


def jsonable(value: Any) -> Any:
    """Arrays as lists; what is not finite as None, for which JSON has no number."""
    if isinstance(value, np.ndarray):
        return [jsonable(entry) for entry in value.tolist()]
    return None if isinstance(value, float) and not -inf < value < inf else value
