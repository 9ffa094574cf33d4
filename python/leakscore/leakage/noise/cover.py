"""The noise of a whole table from the few records that matter: cutting planes.

The noise for some records is at most as expensive as that for all. The others are checked, those
beyond their limits join, and the lower bound of the last round holds for all records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore.leakage.noise.interior import Covering
from leakscore.typing import Doubles

Solver: TypeAlias = Callable[[Doubles, Doubles, float], Covering]
Indices: TypeAlias = npt.NDArray[np.intp]

_GAPS = (0.1, 2e-5)  # of rough rounds, which find the records that matter, and of the last
_IDLE = 1e-3  # share of the largest multiplier below which a record leaves the few
_NEAR = 0.6  # share of its limit above which a record joins the last rounds
_MOST_ROUNDS = 40


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
