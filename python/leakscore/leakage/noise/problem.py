"""Records, a covariance and limits, and the few records that matter: cutting planes.

In the units of a solver the cost of noise is its trace.
The noise for some records is at most as expensive as that for all. The others are checked, those
beyond their limits join, and the lower bound of the last round holds for all records.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore.leakage.noise.interior import Covering
from leakscore.reference import covariances
from leakscore.reference.covariances import Full
from leakscore.typing import Doubles

Table = npt.NDArray[Any]
Indices: TypeAlias = npt.NDArray[np.intp]
Solver: TypeAlias = Callable[[Doubles, Doubles, float], Covering]

_GAPS = (0.1, 2e-5)  # of rough rounds, which find the records that matter, and of the last
_IDLE = 1e-3  # share of the largest multiplier below which a record leaves the few
_NEAR = 0.6  # share of its limit above which a record joins the last rounds
_MOST_ROUNDS = 40
_MOST_ADDED = 2.0**40  # times the variances


@dataclass(frozen=True, kw_only=True)
class DenseProblem(ABC):
    """Limits on what is told with a covariance C + S, d x d, of which S is to be the least.

    The unit of column j is 1 / scale_j: then scale_j^2 is the weight of its variance in the cost.
    """

    values: Doubles
    """C, (d, d), which may be singular."""
    scale: Doubles
    rounding: float

    @property
    def floor(self) -> Doubles:
        """Return C in units of cost."""
        return np.asarray(self.values * self.scale * self.scale[:, np.newaxis])

    def regular_values(self) -> Doubles:
        """Return C; if it is singular, with the least variance with which it can be inverted."""
        return regular(self.values, self.rounding)

    @abstractmethod
    def excess(self, noise: Doubles, which: Indices | None = None) -> Doubles:
        """Return by what factor each limit is exceeded, or some: at most 1 within it."""

    def excess_of(self, factor: Doubles) -> Doubles:
        """Return the same for a factor of the noise."""
        return self.excess(factor @ factor.T)

    def multiples(self, factor: Doubles, which: Indices) -> Callable[[float], Doubles]:
        """Return the excess of some under t F F' as a function of t."""
        noise = factor @ factor.T
        return lambda times: self.excess(times * noise, which)

    def noisy(self, noise: Doubles) -> Doubles:
        """Return C + S in the units of the columns, of S in those of cost: (d, d) or (d,)."""
        if noise.ndim == 1:
            return np.asarray(self.values + np.diag(noise / self.scale**2))
        return np.asarray(self.values + noise / self.scale / self.scale[:, np.newaxis])


@dataclass(frozen=True, kw_only=True)
class Problem(DenseProblem):
    """Least noise S with e' (C + S)^-1 e <= limit for every e = row - centre."""

    rows: Table
    centre: Doubles
    limits: Doubles
    """Of each record, (k,), above 0."""

    def regular_values(self) -> Doubles:
        """Return C; if it is singular, with the least variance with which it can be inverted.

        That is about 1e-14 d of each variance, and of the records' in columns that only they vary
        in.
        """
        values: Doubles = self.values
        constant = np.diag(values) < np.finfo(np.float64).tiny
        if not constant.any():
            return regular(values, self.rounding)
        errors = np.abs(self.rows[:, constant].astype(np.float64) - self.centre[constant])
        values = values.copy()
        values[constant, constant] = 1e-14 * np.square(errors.max(axis=0)) / self.limits.max()
        return regular(values, self.rounding)

    def excess(self, noise: Doubles, which: Indices | None = None) -> Doubles:
        """Return e' (C + S)^-1 e over the limit, of all records or of some."""
        few = self if which is None else self.among(which)
        covariance = Full(regular(self.noisy(noise), self.rounding), self.rounding)
        return np.asarray(
            covariances.distances(covariance, "targets", few.rows, self.centre) / few.limits
        )

    def among(self, which: Indices) -> Problem:
        """Return the problem of some records."""
        return replace(self, rows=self.rows[which], limits=self.limits[which])

    def take(self, which: Indices) -> Doubles:
        """Return some records in units of cost, each over the root of its limit."""
        errors = self.rows[which].astype(np.float64) - self.centre
        return np.asarray(errors * self.scale / np.sqrt(self.limits[which])[:, np.newaxis])

    def cover(self, solver: Solver, gaps: tuple[float, ...] = _GAPS) -> Covering:
        """Solve for all records: the least noise for a few, which is then checked on all."""
        excess = self.excess(np.zeros(len(self.floor)))
        few = max(60, 3 * len(self.floor) // 2)
        used = largest(excess, few, 0.0)
        stage = 0 if len(excess) > used.size else len(gaps) - 1
        for _ in range(_MOST_ROUNDS):
            gap, last = gaps[stage], stage == len(gaps) - 1
            solution = solver(self.floor, self.take(used), gap)
            excess = self.excess(solution.noise)
            near = excess > _NEAR
            excess[used] = 0.0
            beyond = largest(excess, few, 1.0 + gap if last else 1.0)
            if last and not beyond.size:
                break
            if not beyond.size:  # the last round drops none, so none can come and go without end
                near[used[solution.multipliers > _IDLE * solution.multipliers.max()]] = True
                used = np.flatnonzero(near)
                stage += 1
            used = np.concatenate([used, beyond])
        return solution


def regular(matrix: Doubles, rounding: float) -> Doubles:
    """Return a semidefinite matrix with so much more variance that it can be inverted, if needed.

    That is about 1e-14 d of the variances, as in the other shapes of noise.
    """
    covariance = Full(matrix, rounding)
    least = 16 * covariances.tolerance(len(matrix), rounding)
    while covariance.problem() is not None:
        if (covariance.variances <= 0).any():
            raise ValueError("covariance must have no columns of variance 0")
        if not least < _MOST_ADDED:  # the diagonal alone would be regular by now
            raise ValueError("covariance must be semidefinite")
        values = matrix.copy()
        values.flat[:: len(matrix) + 1] *= 1 + least
        covariance, least = Full(values, rounding), 2 * least
    return covariance.values


def largest(values: Doubles, count: int, above: float) -> Indices:
    """Return where the largest values above a limit are."""
    indices = np.flatnonzero(values > above)
    if indices.size > count:
        indices = indices[np.argpartition(-values[indices], count)[:count]]
    return indices
