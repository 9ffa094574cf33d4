"""The least noise that is independent between columns, for a few records: interior points.

minimise sum v_j subject to v >= 0 and q_i(v) = y_i' (C + diag v)^-1 y_i <= 1. The gradient of q_i
is minus the squares of g_i = (C + diag v)^-1 y_i, and its Hessian 2 g_i g_i' * (C + diag v)^-1, so
a step towards eta_j v_j = mu, lambda_i (1 - q_i) = mu solves d equations.
"""

from __future__ import annotations

import numpy as np

from leakscore.leakage.noise import certificate
from leakscore.leakage.noise.interior import Covering
from leakscore.typing import Doubles

_MOST_STEPS = 200
_MOST_HALVINGS = 60
_TO_BOUNDARY = 0.95


def independent_covering(floor: Doubles, rows: Doubles, gap: float) -> Covering:
    """Solve for a covariance (d, d), semidefinite, and rows (k, d), to a relative duality gap.

    What ends before this gap, because rounding stops it, has its honest bound all the same.
    """
    path = _IndependentPath(floor, rows)
    noise, multipliers, bound = path.noise, path.multipliers, 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for _ in range(_MOST_STEPS):
            try:
                path.advance()
            except np.linalg.LinAlgError:
                break
            noise, multipliers = path.noise, path.multipliers
            bound, cost = max(bound, path.bound()), float(noise.sum())
            if cost - bound <= gap * cost:
                break
    return Covering(noise, multipliers, bound)


class _Point:
    """Where some noise leaves the records; inside or not."""

    def __init__(self, floor: Doubles, rows: Doubles, noise: Doubles) -> None:
        half = np.linalg.inv(np.linalg.cholesky(floor + np.diag(noise)))
        self.inverse = half.T @ half
        self.weights = rows @ self.inverse
        self.squares = np.square(self.weights)
        self.slacks = 1.0 - np.square(rows @ half.T).sum(axis=1)


class _IndependentPath:
    """A point near the central path."""

    def __init__(self, floor: Doubles, rows: Doubles) -> None:
        self.floor, self.rows = floor, rows
        sizes = np.square(rows).max(axis=0)
        sizes = np.maximum(sizes, 1e-6 * sizes.max())
        self.noise = 2.0 * float((np.square(rows) / sizes).sum(axis=1).max()) * sizes
        self.at = _Point(floor, rows, self.noise)
        self.mu = float(self.noise.sum()) / (len(floor) + len(rows))
        self.multipliers, self.eta = self.mu / self.at.slacks, self.mu / self.noise
        self.aim = 0.5

    def bound(self) -> float:
        costs = np.ones(len(self.noise))
        return certificate.lower_bound_independent(
            self.at.weights, -self.at.slacks, self.multipliers, self.noise, costs
        )

    def advance(self) -> None:
        """Take one step towards a smaller mu."""
        at, noise, eta, multipliers = self.at, self.noise, self.eta, self.multipliers
        pairs = float(multipliers @ at.slacks + eta @ noise)
        mu = self.aim * pairs / (len(noise) + len(at.slacks))
        matrix = 2 * ((at.weights.T * multipliers) @ at.weights) * at.inverse
        matrix += (at.squares.T * (multipliers / at.slacks)) @ at.squares
        # Relative to the noise of each column, whatever its size.
        matrix = matrix * noise * noise[:, np.newaxis] + np.diag(eta * noise)
        side = noise * ((mu / at.slacks) @ at.squares - 1.0) + mu
        step = noise * np.linalg.solve(matrix, side)
        more = (mu - multipliers * (at.squares @ step)) / at.slacks - multipliers
        push = (mu - eta * step) / noise - eta
        longest = 1 / max(
            float((-step / noise).max()),
            float((-more / multipliers).max()),
            float((-push / eta).max()),
            1e-9,
        )
        self._move(step, more, push, min(1.0, _TO_BOUNDARY * longest))

    def _move(self, step: Doubles, more: Doubles, push: Doubles, length: float) -> None:
        """Go so far that the limits, which are not linear, keep a share of their slack."""
        for _ in range(_MOST_HALVINGS):
            moved = _Point(self.floor, self.rows, self.noise + length * step)
            if (moved.slacks > (1 - _TO_BOUNDARY) * self.at.slacks).all():
                break
            length *= 0.7
        else:
            raise np.linalg.LinAlgError("no step stays within the limits")
        self.noise, self.at = self.noise + length * step, moved
        self.multipliers = self.multipliers + length * more
        self.eta = self.eta + length * push
        self.aim = 0.1 if length > 0.7 else 0.3 if length > 0.3 else 0.6
