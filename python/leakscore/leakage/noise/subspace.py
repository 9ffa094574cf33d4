"""The least noise in very many columns: a small problem in the subspace that holds it.

With K = C + S, the optimum has S = K^-1 A K^-1 S, A = sum lambda_i y_i y_i': its range lies in that
of K^-1 y_1, K^-1 y_2, ... . In a subspace with an orthonormal basis Q (p, d), S = Q' s Q, and
y' K^-1 y = v' (c + s)^-1 v + (y' C^-1 y - v' c^-1 v) with c = (Q C^-1 Q')^-1 and v = c Q C^-1 y.
The last bracket is 0 if y is in the subspace. So the problem for p columns is the same as for d.

With its solution the subspace moves. S = sum t_j f_j f_j' with orthonormal f_j, and
S = K^-1 A K^-1 S is (C + t_j) f_j = sum_i lambda_i (y_i' K^-1 f_j) y_i: a system that is solved for
the t_j found so far, a few of them for all (a rational Krylov space). This goes on until the lower
bound, which knows of no subspace, meets the cost. Nothing of size d x d is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.leakage.noise.interior import Covering, covering, lower_bound
from leakscore.leakage.noise.problem import Indices, largest
from leakscore.reference import Reference, covariances
from leakscore.reference.record import noise_of_factor
from leakscore.typing import Doubles

_FEW = 60
_GAP = 2e-5
_ENOUGH = 6e-5
_MOST_ROUNDS = 40
_SHIFTS = 4
_DEPENDENT = 1e-13
_PRESENT = 1e-6  # of the most noise in a direction: less is left by a path that ends before 0


@dataclass(frozen=True)
class WideProblem:
    """As `Problem`, with a covariance that can be inverted but is no matrix."""

    reference: Reference
    rows: npt.NDArray[Any]
    centre: Doubles
    limits: Doubles
    scale: Doubles

    def excess_of(self, factor: Doubles) -> Doubles:
        """Return e' (C + S)^-1 e over the limit; of S = F F' a factor F in units of cost."""
        noisy = self.noisy(factor).invertible()
        return np.asarray(
            covariances.distances(noisy, "targets", self.rows, self.centre) / self.limits
        )

    def multiples(self, factor: Doubles, which: Indices) -> Callable[[float], Doubles]:
        """Return the excess of some records under t F F' as a function of t.

        e' (C + t F F')^-1 e = e' C^-1 e - t h' (1 + t F' C^-1 F)^-1 h with h = F' C^-1 e.
        """
        rows, limits = self.rows[which], self.limits[which]
        plain = covariances.distances(self.reference.invertible(), "targets", rows, self.centre)
        solved = self.solve(self.reference, np.ascontiguousarray(factor.T))
        values, turn = np.linalg.eigh(solved @ factor)
        errors = (rows.astype(np.float64) - self.centre) * self.scale
        shares = np.square(errors @ solved.T @ turn)

        def of(times: float) -> Doubles:
            return np.asarray((plain - shares @ (times / (1 + times * values))) / limits)

        return of

    def noisy(self, factor: Doubles) -> Reference:
        """Return C + F F'."""
        return noise_of_factor(factor / self.scale[:, np.newaxis]).added(self.reference, 1.0)

    def take(self, which: Indices) -> Doubles:
        """Return some records in units of cost, each over the root of its limit."""
        errors = self.rows[which].astype(np.float64) - self.centre
        return np.asarray(errors * self.scale / np.sqrt(self.limits[which])[:, np.newaxis])

    def solve(self, reference: Reference, rows: Doubles) -> Doubles:
        """Return K^-1 v in units of cost."""
        return np.asarray(
            covariances.solve(reference.invertible(), "targets", rows / self.scale) / self.scale
        )

    def variances(self, rows: Doubles) -> Doubles:
        """Return v' C v in units of cost."""
        scaled = rows * self.scale
        return self.reference.covariance.form(scaled, scaled)


def wide_cover(problem: WideProblem) -> Covering:
    """Solve for all records; `noise` of the result is a factor (d, r)."""
    factor, bound = np.zeros((len(problem.scale), 0)), 0.0
    used = largest(problem.excess_of(factor), _FEW, 0.0)
    grown: list[Doubles] = []
    for _ in range(_MOST_ROUNDS):
        small = _Small(problem, problem.take(used), grown)
        factor = small.factor
        bound = max(bound, small.bound())
        excess = problem.excess_of(factor)
        excess[used] = 0.0
        beyond = largest(excess, _FEW, 1.0 + _GAP)
        cost = float(np.square(factor).sum())
        if not beyond.size and cost - bound <= _ENOUGH * cost:
            break
        grown = [factor.T, *small.ahead()]
        if beyond.size:
            grown.append(problem.solve(problem.noisy(factor), problem.take(beyond)))
        near = small.multipliers > 1e-6 * small.multipliers.max()
        used = np.concatenate([used[near], beyond])
    return Covering(factor, small.multipliers, bound)


class _Small:
    """The problem in a subspace, solved: that of some rows and of others, by default C^-1 y."""

    def __init__(self, problem: WideProblem, rows: Doubles, others: list[Doubles]) -> None:
        self.problem, self.rows = problem, rows
        inverse = problem.solve(problem.reference, rows)
        self.basis = _orthonormal([rows, *(others or [inverse])])
        self.solved = problem.solve(problem.reference, self.basis)
        values, vectors = np.linalg.eigh(_symmetric(self.basis @ self.solved.T))
        self.floor = (vectors / values) @ vectors.T
        along = inverse @ self.basis.T
        self.inside = along @ self.floor
        rest = np.einsum("ij,ij->i", rows, inverse) - np.einsum("ij,ij->i", along, self.inside)
        share = 1.0 - np.maximum(rest, 0.0)
        solution = covering(self.floor, self.inside / np.sqrt(share)[:, np.newaxis], _GAP)
        self.noise, self.multipliers = solution.noise, solution.multipliers / share
        self.weights = np.linalg.solve(self.floor + self.noise, self.inside.T).T
        self.sizes, self.turn = np.linalg.eigh(self.noise)

    @property
    def factor(self) -> Doubles:
        """A factor (d, r) of the noise."""
        present = self.sizes > _PRESENT * self.sizes[-1]
        return np.asarray(self.basis.T @ (self.turn[:, present] * np.sqrt(self.sizes[present])))

    def ahead(self) -> list[Doubles]:
        """Return (C + t)^-1 b of every direction of the noise, with few values of t."""
        present = self.sizes > _PRESENT * self.sizes[-1]
        sizes, problem = self.sizes[present], self.problem
        beside = (self.weights @ self.turn[:, present]).T * self.multipliers @ self.rows
        parts = []
        for group in np.array_split(np.arange(len(sizes)), min(_SHIFTS, len(sizes))):
            shift = np.exp(np.mean(np.log(sizes[group])))
            shifted = problem.reference.add_diagonal(shift / problem.scale**2)
            parts.append(problem.solve(shifted, beside[group]))
        return parts

    def bound(self) -> float:
        """Return the lower bound for all noise, in the subspace or not.

        P is made from the weights in the subspace by a map V, (d, p), with Q V = 1. V = Q' would
        pay for C in these directions, V = C^-1 Q' c for directions beside them, in which P comes to
        be above 1. With V = Q' + U Theta, U = C^-1 Q' c - Q', the loss is about
        tr((1 - Theta)' U'C U (1 - Theta)) + tr(Theta' U'U Theta s), least where
        U'C U Theta + U'U Theta s = U'C U.
        """
        outward = self.floor @ self.solved - self.basis  # U'
        scaled = self.basis * self.problem.scale
        covariance = self.problem.reference.covariance.between_all(scaled)
        lost = _symmetric(covariance - self.floor)  # U'C U
        unit = float(np.trace(self.floor)) / len(self.floor)
        theta = _balanced(lost / unit, outward @ outward.T, self.sizes / unit, self.turn)
        weights = self.weights @ self.basis + self.weights @ theta.T @ outward
        return lower_bound(self.rows, weights, self.multipliers, self.problem.variances)


def _balanced(lost: Doubles, beside: Doubles, sizes: Doubles, turn: Doubles) -> Doubles:
    """Solve lost Theta + beside Theta s = lost, for s with some eigenvalues and eigenvectors."""
    from scipy.linalg import eigh

    total = lost + beside
    least = float(np.linalg.eigvalsh(total)[0])  # below 0 by rounding, where nothing is beside
    total.flat[:: len(total) + 1] += 1e-9 + 2 * max(-least, 0.0)
    shares, vectors = eigh(lost, total)
    shares = np.clip(shares, 0.0, 1.0)[:, np.newaxis]
    side = vectors.T @ lost @ turn
    weight = shares + (1 - shares) * np.maximum(sizes, 1e-300)
    return np.asarray(vectors @ (side / weight) @ turn.T)


def _symmetric(matrix: Doubles) -> Doubles:
    return np.asarray(0.5 * (matrix + matrix.T))


def _orthonormal(parts: list[Doubles]) -> Doubles:
    """Return an orthonormal basis of the span of some rows."""
    rows: Doubles = np.vstack(parts)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    for _ in range(2):  # twice is enough
        values, vectors = np.linalg.eigh(rows @ rows.T)
        independent = values > _DEPENDENT * values[-1] * len(rows)
        rows = np.asarray((vectors[:, independent] / np.sqrt(values[independent])).T @ rows)
    return rows
