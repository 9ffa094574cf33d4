"""Privacy budgets as leakage scores, and the least noise that meets one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from leakscore import validation
from leakscore.reference import Reference, dense
from leakscore.tradeoff import gaussian
from leakscore.typing import Doubles


def largest_leakage(
    max_advantage: object,
    epsilon: object,
    delta: object,
    max_power: object,
    at_fpr: object,
    max_leakage: object = None,
) -> float:
    """Return the largest leakage score m within exactly one kind of budget, on the safe side."""
    if (epsilon is None) != (delta is None):
        raise ValueError(f"Expected epsilon={epsilon!r} and delta={delta!r} to be given together")
    budgets = (max_advantage, epsilon, max_power, max_leakage)
    if sum(budget is not None for budget in budgets) != 1:
        raise ValueError(
            f"Expected one budget, not max_advantage={max_advantage!r}, epsilon={epsilon!r}, "
            f"max_power={max_power!r}, max_leakage={max_leakage!r}"
        )
    fpr = validation.scalar("at_fpr", at_fpr, 0.0, 1.0, closed="neither")
    if max_leakage is not None:
        return validation.scalar("max_leakage", max_leakage, 0.0, closed="neither")
    if max_advantage is not None:
        limit = validation.scalar("max_advantage", max_advantage, 0.0, 1.0, closed="neither")
        mu = _largest_mu(lambda mu: gaussian(mu).advantage() <= limit)
    elif max_power is not None:
        limit = validation.scalar("max_power", max_power, fpr, 1.0, closed="neither")
        mu = _largest_mu(lambda mu: gaussian(mu).power(fpr) <= limit)
    else:
        point = validation.scalar("epsilon", epsilon, 0.0)
        limit = validation.scalar("delta", delta, 0.0, 1.0, closed="neither")
        mu = _largest_mu(lambda mu: gaussian(mu).delta(point) <= limit)
    return mu * mu


def _largest_mu(within: Callable[[float], Any]) -> float:
    """Bisect for the largest mu whose trade-off curve is within the budget, and never exceed it."""
    low, high = 0.0, 1.0
    while within(high):
        low, high = high, 2 * high
    while low == 0.0 or high - low > 4e-16 * high:
        middle = high / 16 if low == 0.0 else (low + high) / 2
        if middle < 1e-150:
            raise ValueError("Expected a budget that noise can meet: this one allows no leakage")
        if within(middle):
            low = middle
        else:
            high = middle
    return low


def start(reference: Reference, scale: Doubles, errors: Doubles, limit: float) -> float:
    """Return an x > 0 at which a singular C + x diag(scale) can be factorised, near 0.

    The second term bounds the root from below, as e' (C + x D)^-1 e >= e' D^-1 e / (tr D^-1 C + x).
    """
    share = np.divide(reference.variances, scale, out=np.zeros(reference.dim), where=scale > 0)
    weight = np.divide(1.0, scale, out=np.zeros(reference.dim), where=scale > 0)
    least = 16 * dense.tolerance(reference.dim, reference.covariance.rounding) * float(share.max())
    with np.errstate(over="ignore"):
        return max(least, float(((errors * errors) @ weight).max()) / limit - float(share.sum()))


def root(reference: Reference, scale: Doubles, error: Doubles, limit: float, x: float) -> float:
    """Solve f(x) = e' (C + x diag(scale))^-1 e = limit from an x with f(x) > limit.

    f is a sum of p / (lambda + x), so 1/f is concave and increases: Newton's steps on 1/f never
    pass the root, and end quadratically. inf if the root is no double.
    """
    weight = np.divide(1.0, scale, out=np.zeros(reference.dim), where=scale > 0)
    with np.errstate(over="ignore"):
        if not float((error * error) @ weight) / limit < np.inf:  # least root but tr D^-1 C
            return np.inf
    # Over a power of two, which the ratios below do not see, so that no square overflows.
    power = max(int(np.frexp(np.abs(error).max())[1]) - 300, 0)
    error, limit = np.ldexp(error, -power), float(np.ldexp(limit, -2 * power))
    for _ in range(200):
        noisy = reference.add_diagonal(x * scale)
        weights = noisy.solve(error)
        value = float(error @ weights)
        if value <= limit:
            return x
        excess, fall = value / limit - 1, float(scale @ (weights * weights))
        step = excess * value / fall if excess * value < np.inf else excess * (value / fall)
        if not step > 1e-15 * x:
            return x
        x += step
        if not x * float(scale.max()) < np.inf:
            return np.inf
    raise RuntimeError(f"The least noise did not converge: at {x!r} leakage is {value / limit!r} m")
