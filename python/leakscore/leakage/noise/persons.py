"""The least noise for persons of several records, each left out of what is known of the others.

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

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from leakscore.leakage.noise.interior import Covering
from leakscore.leakage.noise.problem import DenseProblem, Indices, Solver, largest, regular
from leakscore.typing import Doubles

_GAPS = (0.1, 2e-5)
_IDLE = 1e-5
_MOST_ROUNDS = 60
_MOST_POINTS = 2  # of one person in one round


@dataclass(frozen=True)
class PersonBlock:
    """Persons of as many records: g persons, k rows each (or the same in fewer rows)."""

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
        for _ in range(_MOST_ROUNDS):
            gap, last = _GAPS[stage], stage == len(_GAPS) - 1
            solution = solver(self.floor, rows, gap)
            beyond = largest(self.excess(solution.noise), few, 1.0 + gap)
            if last and not beyond.size:
                break
            if not beyond.size:
                rows = rows[solution.multipliers > _IDLE * solution.multipliers.max()]
                stage += 1
            else:
                rows = np.concatenate([rows, self.points(solution.noise, beyond)])
        return solution


def _grams(rows: Doubles) -> Doubles:
    return np.asarray(rows @ rows.transpose(0, 2, 1))
