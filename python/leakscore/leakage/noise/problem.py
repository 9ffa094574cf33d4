"""Records, a covariance and limits, and the few records that matter: cutting planes.

In the units of a solver the cost of noise is its trace.
The noise for some records is at most as expensive as that for all. The others are checked, those
beyond their limits join, and the lower bound of the last round holds for all records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore.leakage.noise.interior import Covering
from leakscore.reference import dense, forms
from leakscore.reference.covariances import Full
from leakscore.typing import Doubles

Table = npt.NDArray[Any]


@dataclass(frozen=True)
class Problem:
    """Least noise S, d x d, with e' (C + S)^-1 e <= limit for every e = row - centre.

    The unit of column j is 1 / scale_j: then scale_j^2 is the weight of its variance in the cost.
    """

    values: Doubles
    """C, (d, d), which may be singular."""
    rows: Table
    centre: Doubles
    limits: Doubles
    """Of each record, (k,), above 0."""
    scale: Doubles
    rounding: float

    @property
    def floor(self) -> Doubles:
        """Return C in units of cost."""
        return np.asarray(self.values * self.scale * self.scale[:, np.newaxis])

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

    def cover(self, solver: Solver) -> Cover:
        """Solve for all records."""
        return cover(self, solver)

    def excess(self, noise: Doubles, which: Indices | None = None) -> Doubles:
        """Return e' (C + S)^-1 e over the limit, of all records or of some."""
        extra = in_columns(noise, self.scale)
        matrix = self.values + (np.diag(extra) if extra.ndim == 1 else extra)
        rows = self.rows if which is None else self.rows[which]
        limits = self.limits if which is None else self.limits[which]
        covariance = Full(regular(matrix, self.rounding), self.rounding)
        return np.asarray(forms.distances(covariance, "targets", rows, self.centre) / limits)

    def excess_of(self, factor: Doubles, which: Indices | None = None) -> Doubles:
        """Return the same for a factor of the noise."""
        return self.excess(factor @ factor.T, which)

    def among(self, which: Indices) -> Problem:
        """Return the problem of some records."""
        return replace(self, rows=self.rows[which], limits=self.limits[which])

    def take(self, which: Indices) -> Doubles:
        """Return some records in units of cost, each over the root of its limit."""
        errors = self.rows[which].astype(np.float64) - self.centre
        return np.asarray(errors * self.scale / np.sqrt(self.limits[which])[:, np.newaxis])


def in_columns(noise: Doubles, scale: Doubles) -> Doubles:
    """Return noise in units of cost, (d, d) or (d,), in the units of the columns."""
    if noise.ndim == 1:
        return np.asarray(noise / scale**2)
    return np.asarray(noise / scale / scale[:, np.newaxis])


def regular(matrix: Doubles, rounding: float) -> Doubles:
    """Return a semidefinite matrix with so much more variance that it can be inverted, if needed.

    That is about 1e-14 d of the variances, as in the other shapes of noise.
    """
    covariance = Full(matrix, rounding)
    least = 16 * dense.tolerance(len(matrix), rounding)
    while covariance.problem() is not None:
        if (covariance.variances <= 0).any():
            raise ValueError("covariance must have no columns of variance 0")
        if not least < _MOST_ADDED:  # the diagonal alone would be regular by now
            raise ValueError("covariance must be semidefinite")
        values = matrix.copy()
        values.flat[:: len(matrix) + 1] *= 1 + least
        covariance, least = Full(values, rounding), 2 * least
    return covariance.values


Solver: TypeAlias = Callable[[Doubles, Doubles, float], Covering]
Indices: TypeAlias = npt.NDArray[np.intp]

_GAPS = (0.1, 2e-5)  # of rough rounds, which find the records that matter, and of the last
_IDLE = 1e-3  # share of the largest multiplier below which a record leaves the few
_NEAR = 0.6  # share of its limit above which a record joins the last rounds
_MOST_ROUNDS = 40
_MOST_ADDED = 2.0**40  # times the variances


class CoveredRecords(Protocol):
    """What the method asks of records, in units in which a cost is a trace."""

    @property
    def floor(self) -> Doubles:
        """The covariance C, (d, d)."""

    def excess(self, noise: Doubles) -> Doubles:
        """Return y' (C + S)^-1 y of every record, at most 1 within its limit."""

    def take(self, which: Indices) -> Doubles:
        """Return some records y."""


@dataclass(frozen=True)
class Cover:
    """Noise within all limits, and what its cost is at least."""

    noise: Doubles
    multipliers: Doubles
    used: Indices
    bound: float


def cover(records: CoveredRecords, solver: Solver, gaps: tuple[float, ...] = _GAPS) -> Cover:
    """Solve for all records; the least noise for a few, checked on all and then scaled."""
    excess = records.excess(np.zeros(len(records.floor)))
    few = max(60, 3 * len(records.floor) // 2)
    used = largest(excess, few, 0.0)
    stage = 0 if len(excess) > used.size else len(gaps) - 1
    for _ in range(_MOST_ROUNDS):
        gap, last = gaps[stage], stage == len(gaps) - 1
        solution = solver(records.floor, records.take(used), gap)
        excess = records.excess(solution.noise)
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
    return Cover(solution.noise, solution.multipliers, used, solution.bound)


def largest(values: Doubles, count: int, above: float) -> Indices:
    """Return where the largest values above a limit are."""
    indices = np.flatnonzero(values > above)
    if indices.size > count:
        indices = indices[np.argpartition(-values[indices], count)[:count]]
    return indices
