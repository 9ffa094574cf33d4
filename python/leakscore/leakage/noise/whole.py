"""The least noise for a table: floors, singular covariances.

The noise of a solver is scaled by the least factor with which it meets every limit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from leakscore.leakage.noise.interior import covering, independent_covering
from leakscore.leakage.noise.persons import PersonsProblem
from leakscore.leakage.noise.problem import Problem, regular
from leakscore.leakage.noise.subspace import WideProblem, wide_cover
from leakscore.typing import Doubles

_MOST_EXCESS = 1e100
_AWAY = 2.0  # times the rounding at which a matrix is called singular

Whole: TypeAlias = Problem | PersonsProblem
Named: TypeAlias = Callable[[int], str]
"""What messages call a record or a person."""


@dataclass(frozen=True)
class WholeAnswer:
    """A factor (d, r) of the least noise per record, and a lower bound on the least cost."""

    factor: Doubles
    bound: float
    before: float
    """Largest e' C^-1 e over its limit; inf if C is singular."""


def least_noise(
    problem: Whole, weights: Doubles, named: Named, *, independent: bool, least: float
) -> WholeAnswer:
    """Solve `problem` (its scale is set here) with C + S at least `least` times C.

    A singular C becomes `regular`: what that adds is noise as well.
    """
    none = np.zeros(len(weights))
    values = problem.regular_values()
    singular = values is not problem.values and bool((values != problem.values).any())
    excess = replace(problem, values=values).excess(none)
    before = _representable(excess, named)
    base = replace(problem, values=least * values)
    # A record within its limit without noise is so with any, and is not looked at again.
    over = np.flatnonzero((excess if least == 1 else base.excess(none)) > 1.0)
    factor, bound = np.zeros((len(weights), 0)), 0.0
    if over.size:
        factor, bound = _shaped(base.among(over), weights, independent)
    added = base.values - problem.values
    if added.any():
        factor = _together(factor, added)
        bound += (least - 1) * float(weights @ np.diag(problem.values))
    # Beside much noise, what makes C regular may be lost in the rounding of C + S. Another order of
    # adding them rounds otherwise, so C + S is kept away from the least that can be inverted.
    matrix = problem.values + factor @ factor.T
    margin = _AWAY if factor.shape[1] else 1.0
    added = regular(matrix, margin * problem.rounding) - matrix
    if added.any():
        factor = _together(factor, added)
    return WholeAnswer(factor, bound, np.inf if singular else before)


def least_wide_noise(problem: WideProblem, named: Named) -> WholeAnswer:
    """Solve a problem of very many columns, whose covariance can be inverted."""
    none = np.zeros((len(problem.scale), 0))
    before = _representable(problem.excess_of(none), named)
    if before <= 1.0:
        return WholeAnswer(none, 0.0, before)
    solution = wide_cover(problem)
    factor = _fitted(problem, solution.noise)
    return WholeAnswer(factor / problem.scale[:, np.newaxis], solution.bound, before)


def _representable(excess: Doubles, named: Named) -> float:
    """Return the largest excess; refuse one whose noise has no variance in doubles."""
    most = float(excess.max())
    if not most < _MOST_EXCESS:
        raise ValueError(
            f"{named(int(np.argmax(excess)))} must be nearer to the mean, or the limit larger: "
            f"without noise it is {most:.1e} times the limit"
        )
    return most


def _together(factor: Doubles, added: Doubles) -> Doubles:
    """Return a factor, (d, r) with r <= d, of the sum of two covariances."""
    scale = np.sqrt(np.diag(added) + np.square(factor).sum(axis=1))
    unit = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    matrix = (factor @ factor.T + added) * unit * unit[:, np.newaxis]
    values, vectors = np.linalg.eigh(matrix)
    positive = values > 0
    return np.asarray(scale[:, np.newaxis] * vectors[:, positive] * np.sqrt(values[positive]))


def _shaped(problem: Whole, weights: Doubles, independent: bool) -> tuple[Doubles, float]:
    """Return a factor in the units of the columns, and a lower bound on the least cost."""
    scaled = replace(problem, scale=np.sqrt(weights))
    solution = scaled.cover(independent_covering if independent else covering)
    factor = _fitted(scaled, _factor(solution.noise))
    return factor / scaled.scale[:, np.newaxis], solution.bound


_NEAR = 0.9  # of the largest excess: records that may become the largest under another factor
_MOST_CHECKS = 60
_SAFE = 2e-13
_SMALL = (1e-4, 1e-6)  # shares of the largest direction's noise
_DEARER = 1e-5  # what noise in fewer directions may cost more


def _fitted(problem: Whole | WideProblem, factor: Doubles) -> Doubles:
    """Scale a factor in units of cost, with its smallest directions left out where that is free.

    Its columns are orthogonal.
    """
    sizes = np.square(factor).sum(axis=0)
    best = _least(problem, factor[:, sizes > 0])
    now, cost = problem.excess_of(best), float(np.square(best).sum())
    nearest = np.flatnonzero(now > _NEAR * now.max())
    for share in _SMALL:
        few = factor[:, sizes > share * sizes.max()]
        if few.shape[1] == factor.shape[1]:
            return best
        try:
            times = _root(problem.multiples(few, nearest), 1.0)
            if times * float(np.square(few).sum()) <= cost * (1 + _DEARER):
                fewer = _least(problem, few)
                return fewer if np.square(fewer).sum() <= cost * (1 + _DEARER) else best
        except RuntimeError:
            continue
    return best


def _least(problem: Whole | WideProblem, factor: Doubles) -> Doubles:
    """Return the least multiple of a factor within all limits."""
    now = problem.excess_of(factor)
    active = np.flatnonzero(now > _NEAR * now.max())
    times, push = 1.0, 1e-13
    for _ in range(_MOST_CHECKS):
        root = _root(problem.multiples(factor, active), times) * (1 + _SAFE)
        times = max(root, times * (push > 1e-13))
        result = np.asarray(np.sqrt(times) * factor)
        now = problem.excess_of(result)
        if now.max() <= 1.0:
            return result
        active = np.union1d(active, np.flatnonzero(now > 1.0))
        times, push = times * (1 + push), 8 * push  # at the root up to rounding: over it
    raise RuntimeError(
        f"The noise did not converge: the largest limit is met {float(now.max())!r} x"
    )


def _root(multiples: Callable[[float], Doubles], start: float) -> float:
    """Return the least multiple, from `start`, that brings some records within their limits."""
    from scipy.optimize import brentq

    def beyond(log_times: float) -> float:
        return float(multiples(float(np.exp(log_times))).max()) - 1.0

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


def _factor(noise: Doubles) -> Doubles:
    if noise.ndim == 1:
        return np.diag(np.sqrt(noise))
    values, vectors = np.linalg.eigh(noise)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
