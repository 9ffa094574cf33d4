"""The least noise in very many columns: a small problem in the subspace that holds it.

With K = C + S, the optimum has S = K^-1 A K^-1 S, A = sum lambda_i y_i y_i': its range lies in that
of K^-1 y_1, K^-1 y_2, ... . In a subspace with an orthonormal basis Q (p, d), S = Q' s Q, and
y' K^-1 y = v' (c + s)^-1 v + (y' C^-1 y - v' c^-1 v) with c = (Q C^-1 Q')^-1 and v = c Q C^-1 y.
The last bracket is 0 if y is in the subspace. So the problem for p columns is the same as for d;
with its solution the subspace grows by K^-1 y, until the lower bound, which knows of no subspace,
meets the cost. Nothing of size d x d is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore._types import Doubles
from leakscore.leakage.noise import certificate
from leakscore.leakage.noise.cover import Cover, Indices, largest
from leakscore.leakage.noise.interior import Covering, covering
from leakscore.reference import Reference
from leakscore.reference.noise import of_factor

_FEW = 60
_GAP = 2e-5
_ENOUGH = 6e-5
_MOST_ROUNDS = 40
_DEPENDENT = 1e-13


@dataclass(frozen=True)
class WideProblem:
    """As `Problem`, with a covariance that can be inverted but is no matrix."""

    reference: Reference
    rows: npt.NDArray[Any]
    centre: Doubles
    limits: Doubles
    scale: Doubles

    def excess(self, factor: Doubles, which: Indices | None = None) -> Doubles:
        """Return e' (C + S)^-1 e over the limit; of S = F F' a factor F in units of cost."""
        rows = self.rows if which is None else self.rows[which]
        limits = self.limits if which is None else self.limits[which]
        return np.asarray(self.noisy(factor)._distances("targets", rows, self.centre) / limits)

    def noisy(self, factor: Doubles) -> Reference:
        """Return C + F F'."""
        return of_factor(factor / self.scale[:, np.newaxis]).added(self.reference, 1.0)

    def take(self, which: Indices) -> Doubles:
        """Return some records in units of cost, each over the root of its limit."""
        errors = self.rows[which].astype(np.float64) - self.centre
        return np.asarray(errors * self.scale / np.sqrt(self.limits[which])[:, np.newaxis])

    def solve(self, reference: Reference, rows: Doubles) -> Doubles:
        """Return K^-1 v in units of cost."""
        return np.asarray(reference._solved("targets", rows / self.scale) / self.scale)

    def variances(self, rows: Doubles) -> Doubles:
        """Return v' C v in units of cost."""
        scaled = rows * self.scale
        return self.reference._covariance.form(scaled, scaled)


def wide_cover(problem: WideProblem) -> Cover:
    """Solve for all records; `noise` of the result is a factor (d, r)."""
    factor = np.zeros((len(problem.scale), 0))
    used = largest(problem.excess(factor), _FEW, 0.0)
    grown: list[Doubles] = []
    for _ in range(_MOST_ROUNDS):
        rows = problem.take(used)
        inverse = problem.solve(problem.reference, rows)
        small = _Small(problem, rows, inverse, _orthonormal([rows, *(grown or [inverse])]))
        found = small.solved()
        factor = small.factor(found)
        weights = problem.solve(problem.noisy(factor), rows)
        multipliers = found.multipliers / small.share
        bound = certificate.lower_bound(rows, weights, multipliers, problem.variances)
        excess = problem.excess(factor)
        excess[used] = 0.0
        beyond = largest(excess, _FEW, 1.0 + _GAP)
        cost = float(np.square(factor).sum())
        if not beyond.size and cost - bound <= _ENOUGH * cost:
            break
        near = multipliers > 1e-6 * multipliers.max()
        grown = [factor.T, weights[near]]
        if beyond.size:
            grown.append(problem.solve(problem.noisy(factor), problem.take(beyond)))
        used = np.concatenate([used[near], beyond])
    return Cover(factor, multipliers, used, bound)


class _Small:
    """The problem in a subspace."""

    def __init__(
        self, problem: WideProblem, rows: Doubles, inverse: Doubles, basis: Doubles
    ) -> None:
        self.basis = basis
        precision = basis @ problem.solve(problem.reference, basis).T
        values, vectors = np.linalg.eigh(0.5 * (precision + precision.T))
        self.floor = (vectors / values) @ vectors.T
        along = inverse @ basis.T
        self.rows = along @ self.floor
        whole = np.einsum("ij,ij->i", rows, inverse)
        rest = whole - np.einsum("ij,ij->i", along, self.rows)
        self.share = 1.0 - np.maximum(rest, 0.0)

    def solved(self) -> Covering:
        return covering(self.floor, self.rows / np.sqrt(self.share)[:, np.newaxis], _GAP)

    def factor(self, found: Covering) -> Doubles:
        values, vectors = np.linalg.eigh(found.noise)
        some = values > 1e-9 * values[-1]
        return np.asarray(self.basis.T @ (vectors[:, some] * np.sqrt(values[some])))


def _orthonormal(parts: list[Doubles]) -> Doubles:
    """Return an orthonormal basis of the span of some rows."""
    rows: Doubles = np.vstack(parts)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    for _ in range(2):  # twice is enough
        values, vectors = np.linalg.eigh(rows @ rows.T)
        some = values > _DEPENDENT * values[-1] * len(rows)
        rows = np.asarray((vectors[:, some] / np.sqrt(values[some])).T @ rows)
    return rows
