"""Records, a covariance and limits, and the few records that matter: cutting planes.

In the units of a solver the cost of noise is its trace.
The noise for some records is at most as expensive as that for all. The others are checked, those
beyond their limits join, and the lower bound of the last round holds for all records.

**Persons of several records**, each left out of what is known of the others.
Leaving a person's k records out of N changes mean and covariance: as in `leakage.groups`, with D
their rows after its W^(1/2), S the scatter matrix of all rows and f = N - k - ddof, the others'
covariance is S/f + R - U U', U' = D / sqrt(f), and the sum of the person's records is
s = sqrt(f) U a away from what is expected. With noise T per record and a limit r,

    s' (S/f + R - U U' + T)^-1 s <= r   if and only if   S/f + R + T >= U U' + s s'/r = V V'

in the matrix order, for s is in the range of U. Let f0 be the least f. Then K = S/f0 + R + T
must hold the ellipsoid of M = V V' + (1/f0 - 1/f) S. It holds it if and only if it holds every
point y with y y' <= M, so each person stands for infinitely many records of the plain problem, and
cutting planes find those that matter: for a direction x, the point y = M x / sqrt(x' M x) has
y' x = sqrt(x' M x), as far as M reaches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
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
_IDLE_POINT = 1e-5  # the same of a point of a person
_MOST_POINT_ROUNDS = 60
_MOST_POINTS = 2  # of one person in one round
_MOST_ADDED = 2.0**40  # times the variances


@dataclass(frozen=True, kw_only=True)
class DenseProblem(ABC):
    """Limits on leakage under a covariance C + S, d x d, of which S is to be the least.

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


@dataclass(frozen=True)
class PersonBlock:
    """g persons who own equally many records: k rows each (or the same in fewer rows)."""

    persons: Indices
    freedom: float
    """f, the divisor of the covariance without one of these persons."""
    rows: Doubles
    """U', (g, k, d), in the units of the columns."""
    along: Doubles
    """a, (g, k): which of them are in the release."""
    limits: Doubles
    """r of each person, (g,)."""

    def some(self, which: Indices) -> PersonBlock:
        """Return those of the block that are among some persons."""
        here = np.isin(self.persons, which)
        return replace(
            self,
            persons=self.persons[here],
            rows=self.rows[here],
            along=self.along[here],
            limits=self.limits[here],
        )

    def widened(self) -> Doubles:
        """Return V' from U': the same, longer along a."""
        squares = np.square(self.along).sum(axis=1)
        more = np.sqrt(1 + self.freedom * squares / self.limits) - 1
        share = np.divide(more, squares, out=np.zeros_like(more), where=squares > 0)
        sums = np.einsum("gk,gkd->gd", self.along, self.rows)
        ways = share[:, np.newaxis] * self.along
        return np.asarray(self.rows + ways[:, :, np.newaxis] * sums[:, np.newaxis])


@dataclass(frozen=True, kw_only=True)
class PersonsProblem(DenseProblem):
    """Least noise T, d x d, with every person within a limit; other persons are not judged.

    C is S/f0 + R.
    """

    scatter: Doubles
    """S, (d, d)."""
    freedom: float
    """f0, the least of the blocks'."""
    blocks: tuple[PersonBlock, ...]
    total: int
    """How many persons there are."""

    def among(self, which: Indices) -> PersonsProblem:
        """Return the problem of some persons."""
        blocks = tuple(block.some(which) for block in self.blocks)
        return replace(self, blocks=tuple(block for block in blocks if len(block.persons)))

    def excess(self, noise: Doubles, which: Indices | None = None) -> Doubles:
        """Return by what factor V V' is too large for K - (1/f0 - 1/f) S, of all persons or some.

        At most 1 within the limit; 0 for persons who are not judged.
        """
        excess = np.zeros(self.total)
        few = self if which is None else self.among(which)
        for block, half in few._halves(noise):
            white = block.widened() @ half
            excess[block.persons] = np.linalg.eigvalsh(_grams(white))[:, -1]
        return excess if which is None else excess[which]

    def points(self, noise: Doubles, which: Indices) -> Doubles:
        """Return the points of some persons that are farthest out of K, in units of cost."""
        parts = []
        for block, half in self.among(which)._halves(noise):
            wide = block.widened()
            white = wide @ half
            values, turns = np.linalg.eigh(_grams(white))
            for j in range(1, min(_MOST_POINTS, values.shape[1]) + 1):
                relevant = (values[:, -j] > 1.0) | (j == 1)
                x = np.einsum("gk,gkd->gd", turns[relevant, :, -j], white[relevant]) @ half.T
                along = np.einsum("gkd,gd->gk", wide[relevant], x)
                y = np.einsum("gkd,gk->gd", wide[relevant], along)
                y += self._extra(block) * (x @ self.scatter)
                y /= np.sqrt(np.einsum("gd,gd->g", x, y))[:, np.newaxis]
                parts.append(y * self.scale)
        return np.concatenate(parts)

    def distances(self, noise: Doubles) -> Doubles:
        """Return s' (S/f + R - U U' + T)^-1 s of every person, inf where nothing hides it."""
        distances = np.zeros(self.total)
        for block, half in self._halves(noise):
            shares, turns = np.linalg.eigh(_grams(block.rows @ half))
            along = np.einsum("gkj,gk->gj", turns, block.along)
            with np.errstate(divide="ignore", invalid="ignore"):
                gains = np.maximum(shares, 0.0) / np.maximum(1 - shares, 0.0) * along**2
            gains[along == 0] = 0.0
            distances[block.persons] = block.freedom * gains.sum(axis=1)
        return distances

    def _extra(self, block: PersonBlock) -> float:
        """Return 1/f0 - 1/f."""
        return max(1 / self.freedom - 1 / block.freedom, 0.0)

    def _halves(self, noise: Doubles) -> Iterator[tuple[PersonBlock, Doubles]]:
        """Yield every block with an H for which H H' is the inverse of K - (1/f0 - 1/f) S."""
        matrix = self.noisy(noise)
        for block in self.blocks:
            inner = matrix - self._extra(block) * self.scatter
            inner = regular(inner, self.rounding)
            unit = 1 / np.sqrt(np.diag(inner))
            lower = np.linalg.cholesky(inner * unit * unit[:, np.newaxis])
            yield block, unit[:, np.newaxis] * np.linalg.inv(lower).T

    def cover(self, solver: Solver) -> Covering:
        """Solve for all persons; the least noise for a few of their points, checked on all."""
        few = max(60, 3 * len(self.scale) // 2)
        nothing = np.zeros_like(self.values)
        rows = self.points(nothing, largest(self.excess(nothing), few, 0.0))
        stage = 0
        for _ in range(_MOST_POINT_ROUNDS):
            gap, last = _GAPS[stage], stage == len(_GAPS) - 1
            solution = solver(self.floor, rows, gap)
            beyond = largest(self.excess(solution.noise), few, 1.0 + gap)
            if last and not beyond.size:
                break
            if not beyond.size:
                rows = rows[solution.multipliers > _IDLE_POINT * solution.multipliers.max()]
                stage += 1
            else:
                rows = np.concatenate([rows, self.points(solution.noise, beyond)])
        return solution


def _grams(rows: Doubles) -> Doubles:
    return np.asarray(rows @ rows.transpose(0, 2, 1))


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
