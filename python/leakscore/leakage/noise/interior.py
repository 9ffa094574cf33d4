"""Solvers for a few records, by interior points, and lower bounds on what their noise costs.

**Lower bounds**, from multipliers of the records, by weak duality.
For every lambda >= 0, A = sum lambda_i y_i y_i' and 0 <= P <= 1 (P = 1 - Lambda, matrix order),
and every K that meets the limits, y_i' K^-1 y_i <= 1 and K >= C:

    tr(K - C) >= tr((1 - P) C) + tr(P K) - tr C >= tr(P K) + tr(A K^-1) - sum lambda - tr(P C)
              >= 2 tr (P^1/2 A P^1/2)^1/2 - sum lambda - tr(P C).

The last step is the arithmetic-geometric mean of matrices: with T = P^1/2 K P^1/2 and
B = P^1/2 A P^1/2, tr T + tr(B T^-1) - 2 tr B^1/2 is the squared Frobenius norm of
T^1/2 - T^-1/2 B^1/2. Scaling lambda by its best factor gives a^2 / sum lambda - tr(P C) with
a = tr (P^1/2 A P^1/2)^1/2, the sum of the singular values of the rows sqrt(lambda_i) y_i' P^1/2.

**The smallest ellipsoid** around a few records and a covariance.
In X = K^-1 the limits y'X y <= 1 are linear and K >= C = G G' is G'X G <= 1, so

    minimise tr X^-1  subject to  V = 1 - G'X G >= 0,  s_i = 1 - y_i' X y_i >= 0.

The method follows the central path W = X (G Omega G' + sum lambda_i y_i y_i') X with Omega V = mu
and lambda_i s_i = mu, by Newton steps in the scaling of Nesterov and Todd with Mehrotra's
predictor. In coordinates in which X = 1, and W = K, a step D solves

    D W + W D + M D M + sum (lambda_i / s_i) (y_i' D y_i) y_i y_i' = right side,

M = G N G', by conjugate gradients: no matrix of d^2 x d^2 numbers is made. The preconditioner takes
the diagonal of W and everything else exactly, in the eigenvectors of M. The path starts where mu is
so large that K is close to sqrt(mu) (C + sum y_i y_i')^1/2.

A record far out makes W as large in its direction as the square of its distance. An error of a step
that is small beside this W can be a large change of X in the other directions, so the gradients go
on until the error is small beside the W of every direction. Coordinates are turned so that the
longest record lies along the first, the next in the plane of two, and so on: then X is small in the
rows of the far ones, and steps, which act on its other side, round each row by its own size.

References: Y. E. Nesterov and M. J. Todd, "Primal-dual interior-point methods for self-scaled
cones", SIAM J. Optim. 8 (1998); S. Mehrotra, "On the implementation of a primal-dual interior point
method", SIAM J. Optim. 2 (1992).

**Noise that is independent between columns**:
minimise sum v_j subject to v >= 0 and q_i(v) = y_i' (C + diag v)^-1 y_i <= 1. The gradient of q_i
is minus the squares of g_i = (C + diag v)^-1 y_i, and its Hessian 2 g_i g_i' * (C + diag v)^-1, so
a step towards eta_j v_j = mu, lambda_i (1 - q_i) = mu solves d equations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leakscore.typing import Doubles

_NEARLY_ONE = (1.0, 0.999, 0.99, 0.9)


def lower_bound(
    rows: Doubles, weights: Doubles, multipliers: Doubles, variances: Callable[[Doubles], Doubles]
) -> float:
    """Bound tr(K - C) from below.

    `rows` (k, d) are the records y, `weights` (k, d) are K^-1 y for a K near the best, as at the
    optimum P = K^-1 A K^-1, which is 1 where there is noise. Its eigenvalues above 1 become 1;
    those nearly 1 do, too, if the bound is then higher. `variances` maps rows v to v' C v.
    """
    used = multipliers > 1e-12 * multipliers.max(initial=0.0)
    if not used.any():
        return 0.0
    roots = np.sqrt(multipliers[used])[:, np.newaxis]
    factor = roots * weights[used]
    _, shares, directions = np.linalg.svd(factor, full_matrices=False)
    weighty = shares > 1e-12
    shares, directions = shares[weighty], directions[weighty]
    touched, spread = (roots * rows[used]) @ directions.T, variances(directions)
    total, best = float(multipliers[used].sum()), 0.0
    for nearly in _NEARLY_ONE:
        raised = np.where(shares > nearly, 1.0, shares)  # P = directions' raised^2 directions
        nuclear = float(np.linalg.svd(touched * raised, compute_uv=False).sum())
        bound = nuclear**2 / total - float(np.square(raised) @ spread)
        best = max(best, bound) if np.isfinite(bound) else best
    return best


def lower_bound_independent(
    weights: Doubles, excess: Doubles, multipliers: Doubles, noise: Doubles
) -> float:
    """Bound the sum of v from below for noise v that is independent between columns.

    The sum of v + sum lambda_i (y_i' (C + diag v)^-1 y_i - 1) is convex in v. Above its tangent at
    `noise` it is least at v = 0, if no lambda is negative, and each so small that no slope is; that
    is lambda times the largest such factor up to 1. `weights` are K^-1 y, `excess` y' K^-1 y - 1.
    """
    multipliers = np.maximum(multipliers, 0.0)
    slopes = multipliers @ (weights * weights)
    factor = 1.0 / max(1.0, float(slopes.max()))
    bound = factor * (float(multipliers @ excess) + float(slopes @ noise))
    return max(bound, 0.0) if np.isfinite(bound) else 0.0


_MOST_STEPS = 120
_START = 0.8  # largest y'X y and eigenvalue of G'X G at the start
_TO_BOUNDARY = 0.95
_MOST_SOLVES = 300
_OFF_PATH = 0.5  # of mu: a gradient whose step would gain more keeps mu from falling
_SOLVED = 0.01  # of a relative change of X: what is left of it in any direction
_FELT = 1e-6  # of the least other term: below it a record does not change a step
_FAR = 30.0  # of the gap asked for: from here on no bound is computed


@dataclass(frozen=True)
class Covering:
    """Noise S, (d, d) or its variances (d,), multipliers of the records, a bound on its cost."""

    noise: Doubles
    multipliers: Doubles
    bound: float


def covering(floor: Doubles, rows: Doubles, gap: float, *, certified: bool = True) -> Covering:
    """Solve for a covariance (d, d), semidefinite, and rows (k, d), to a relative duality gap.

    What ends before this gap, because rounding stops it, has its honest bound all the same. If not
    `certified`, the gap is about that of a point on the path: no bound is computed, it is 0.
    """
    turn = _longest_first(rows)
    path, bound = _InteriorPath(turn.T @ floor @ turn, rows @ turn), 0.0
    far = _FAR * gap if certified else gap
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        noise, multipliers = path.noise(), path.multipliers
        for _ in range(_MOST_STEPS):
            try:
                path.advance()
            except np.linalg.LinAlgError:
                break
            ahead = path.noise()
            if not np.isfinite(ahead).all():
                break
            noise, multipliers = ahead, path.multipliers
            cost = float(np.trace(noise))
            if path.pairs() > far * cost:
                continue
            if not certified:
                break
            bound = max(bound, path.bound())
            if cost - bound <= gap * cost:
                break
        values, vectors = np.linalg.eigh(noise)
    vectors = turn @ vectors
    factor = vectors * np.sqrt(np.maximum(values, 0.0))  # rounding makes eigenvalues below 0
    return Covering(factor @ factor.T, multipliers, bound)


def _longest_first(rows: Doubles) -> Doubles:
    """Return a rotation (d, d) in whose coordinates the j-th longest row ends at coordinate j."""
    order = np.argsort(-np.square(rows).sum(axis=1), kind="stable")
    return np.asarray(np.linalg.qr(rows[order].T, mode="complete")[0])


def _root(matrix: Doubles) -> Doubles:
    """Return G, (d, r), with G G' = a semidefinite matrix."""
    try:
        return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


class _InteriorPath:
    """A point near the central path."""

    def __init__(self, floor: Doubles, rows: Doubles) -> None:
        self.floor, self.rows, self.root = floor, rows, _root(floor)
        self.degree = len(floor) + len(rows)
        values, vectors = np.linalg.eigh(floor + rows.T @ rows)
        values = np.maximum(values, 1e-15 * values[-1])
        half = vectors / values**0.25  # X = half half' / sqrt(mu)
        reach = max(
            float(np.square(rows @ half).sum(axis=1).max()),
            float(np.linalg.norm(self.root.T @ half, 2)) ** 2,
        )
        mu = (reach / _START) ** 2
        self.basis: Doubles = half / mu**0.25  # X = B B'
        self.inverse: Doubles = (mu * values)[:, np.newaxis] ** 0.25 * vectors.T
        self.multipliers = np.full(len(rows), mu)
        self.omega = mu * np.eye(self.root.shape[1])
        self.off = np.inf

    def noise(self) -> Doubles:
        """Return K - C, in coordinates in which K = 1: little noise is not lost beside much C."""
        root = self.basis.T @ self.root
        return np.asarray(self.inverse.T @ (np.eye(len(root)) - root @ root.T) @ self.inverse)

    def pairs(self) -> float:
        """Return the duality gap of a point on the path, the sum of its products."""
        gram = self.root.T @ self.basis
        v = np.eye(len(gram)) - gram @ gram.T
        slacks = 1.0 - np.square(self.rows @ self.basis).sum(axis=1)
        return float(np.vdot(v, self.omega) + self.multipliers @ slacks)

    def bound(self) -> float:
        """Return the lower bound of the multipliers."""
        return lower_bound(
            self.rows,
            (self.rows @ self.basis) @ self.basis.T,
            self.multipliers,
            lambda some: np.asarray(np.square(some @ self.root).sum(axis=1)),
        )

    def advance(self) -> None:
        """Take one step of predictor and corrector."""
        frame = _Frame(self)
        first = frame.solve(frame.cost, None, 0.1)
        ahead = frame.direction(first, 0.0, None, 0.0)
        length = 0.99 * min(1.0, frame.longest(ahead))
        aim = max((frame.mu_after(ahead, length) / frame.mu) ** 1.5, 1e-3)
        off = frame.residual()
        damping = off / (_OFF_PATH * frame.mu * frame.degree)
        if damping > aim and off < 0.9 * self.off:  # else rounding is what remains of it
            aim, self.off = damping, off
        aim = min(aim, 1.0)
        crossed, cross = frame.second_order(ahead, length)
        side = frame.side(ahead, length, aim, crossed, cross=cross)
        second = frame.direction(frame.solve(side, first, 1e-2), aim, crossed, cross)
        length = min(1.0, _TO_BOUNDARY * frame.longest(second))
        self._move(frame, second, length)

    def _move(self, frame: _Frame, step: _Direction, length: float) -> None:
        growth = np.linalg.cholesky(np.eye(len(self.floor)) + length * step.x)
        self.basis = self.basis @ (frame.vectors @ growth)
        self.inverse = np.linalg.solve(growth, frame.vectors.T @ self.inverse)
        self.multipliers = self.multipliers + length * step.multipliers
        self.omega = self.omega + length * (frame.back.T @ step.omega @ frame.back)


@dataclass(frozen=True)
class _Direction:
    """A step of X, and of V, Omega (both scaled), the slacks s and the multipliers."""

    x: Doubles
    v: Doubles
    omega: Doubles
    slacks: Doubles
    multipliers: Doubles


class _Frame:
    """The linear system of one step, where X = 1, M is diagonal and V = Omega = diag(d) too."""

    def __init__(self, path: _InteriorPath) -> None:
        rows, root = path.rows @ path.basis, path.basis.T @ path.root
        v = np.eye(root.shape[1]) - root.T @ root
        self.slacks = 1.0 - np.square(rows).sum(axis=1)
        if not self.slacks.min(initial=1.0) > 0:
            raise np.linalg.LinAlgError("a limit is reached up to rounding")
        self.multipliers = path.multipliers
        total = float(np.vdot(v, path.omega) + self.multipliers @ self.slacks)
        self.degree, self.mu = path.degree, total / path.degree
        lower = np.linalg.cholesky(v)
        squares, turn = np.linalg.eigh(lower.T @ path.omega @ lower)
        squares = np.maximum(squares, 1e-30 * squares[-1])
        self.d = np.sqrt(squares)
        self.back = np.sqrt(self.d)[:, np.newaxis] * (turn.T @ np.linalg.inv(lower))
        scaled = root @ self.back.T
        self.m, self.vectors = np.linalg.eigh(scaled @ scaled.T)
        self.m = np.maximum(self.m, 0.0)
        weight = path.inverse @ path.inverse.T
        self.cost = self.vectors.T @ weight @ self.vectors
        self.rows, self.scaled = rows @ self.vectors, self.vectors.T @ scaled
        self.ratio = self.multipliers / self.slacks
        spread = np.diag(self.cost)
        self.diagonal = np.outer(self.m, self.m) + spread + spread[:, np.newaxis]
        strength = self.ratio * np.square(self.rows).sum(axis=1) ** 2
        felt = strength > _FELT * spread.min()
        self.near, self.weight = self.rows[felt], self.ratio[felt]
        self._prepare(spread, strength)

    def _prepare(self, spread: Doubles, strength: Doubles) -> None:
        """Factorise the part of the preconditioner that the nearly active records make."""
        strong = strength > spread.min()
        self.active = np.ascontiguousarray(self.rows[strong])
        above = np.triu_indices(len(spread))
        share = np.where(above[0] == above[1], 1.0, 2.0) / self.diagonal[above]
        columns = np.ascontiguousarray(self.active.T)
        products = columns[above[0]]
        products *= columns[above[1]]
        products *= np.sqrt(share)[:, np.newaxis]
        small = products.T @ products
        small.flat[:: len(self.active) + 1] += 1.0 / self.ratio[strong]
        self.small = np.linalg.inv(small)

    def residual(self) -> float:
        """Return about what a Newton step at this mu would gain, twice: 0 on the path.

        The products fall by their own linear equations, also where W is far from the rest; then
        little noise is left for V, and steps end at its boundary.
        """
        gradient = self.cost - (self.scaled * self.d) @ self.scaled.T
        gradient -= (self.rows.T * self.multipliers) @ self.rows
        return float(np.vdot(gradient, self._conditioned(gradient)))

    def _times(self, x: Doubles) -> Doubles:
        product = x @ self.cost
        along = self.weight * np.einsum("ij,ij->i", self.near @ x, self.near)
        result = product + product.T
        result += self.m[:, np.newaxis] * x * self.m
        result += (self.near.T * along) @ self.near
        return np.asarray(result)

    def _conditioned(self, side: Doubles) -> Doubles:
        result = side / self.diagonal
        if len(self.active):
            along = self.small @ np.einsum("ij,ij->i", self.active @ result, self.active)
            result -= (self.active.T * along) @ self.active / self.diagonal
        return np.asarray(result)

    def solve(self, side: Doubles, start: Doubles | None, accuracy: float) -> Doubles:
        """Solve by conjugate gradients, to a relative accuracy in the preconditioner's norm."""
        x = np.zeros_like(side) if start is None else start.copy()
        residual = side.copy() if start is None else side - self._times(x)
        aim = accuracy**2 * float(np.vdot(side, self._conditioned(side)))
        better = self._conditioned(residual)
        along, size = better.copy(), float(np.vdot(residual, better))
        for _ in range(_MOST_SOLVES):
            if not (size > aim or float(np.linalg.norm(better)) > _SOLVED):
                break
            image = self._times(along)
            length = size / float(np.vdot(along, image))
            x += length * along
            residual -= length * image
            better = self._conditioned(residual)
            size, before = float(np.vdot(residual, better)), size
            along *= size / before
            along += better
        return np.asarray(0.5 * (x + x.T))

    def direction(
        self, x: Doubles, aim: float, crossed: Doubles | None, cross: Doubles | float
    ) -> _Direction:
        v = -self.scaled.T @ x @ self.scaled
        omega = np.diag(aim * self.mu / self.d - self.d) - v
        if crossed is not None:
            omega -= crossed
        slacks = -np.einsum("ij,ij->i", self.rows @ x, self.rows)
        multipliers = (aim * self.mu - cross) / self.slacks - self.multipliers
        return _Direction(x, v, omega, slacks, multipliers - self.ratio * slacks)

    def longest(self, step: _Direction) -> float:
        """Return the length of a step to the boundary, the same for X and the multipliers.

        Their product enters the gradient of tr X^-1, so steps of two lengths would leave the path.
        """
        half = 1.0 / np.sqrt(self.d)
        falls = [
            -float(np.linalg.eigvalsh(step.x)[0]),
            -float(np.linalg.eigvalsh(step.v * half * half[:, np.newaxis])[0]),
            -float(np.linalg.eigvalsh(step.omega * half * half[:, np.newaxis])[0]),
            float((-step.slacks / self.slacks).max()),
            float((-step.multipliers / self.multipliers).max()),
        ]
        return 1.0 / max(*falls, 1e-9)

    def mu_after(self, step: _Direction, length: float) -> float:
        here = np.diag(self.d)
        cone = np.sum((here + length * step.v) * (here + length * step.omega))
        limits = (self.slacks + length * step.slacks) @ (
            self.multipliers + length * step.multipliers
        )
        return max(float(cone + limits), 0.0) / self.degree

    def second_order(self, step: _Direction, length: float) -> tuple[Doubles, Doubles]:
        """Return the products of steps that a linear system leaves out."""
        product = step.v @ step.omega
        crossed = (product + product.T) / (self.d + self.d[:, np.newaxis])
        return length**2 * crossed, length**2 * step.slacks * step.multipliers

    def side(
        self, ahead: _Direction, length: float, aim: float, crossed: Doubles, *, cross: Doubles
    ) -> Doubles:
        """Return the right side of the corrector: minus the gradient, with what is not linear."""
        moved = np.linalg.inv(np.eye(len(self.cost)) + length * ahead.x)
        bent = moved @ self.cost @ moved.T
        linear = length * (ahead.x @ self.cost)
        inner = np.diag(aim * self.mu / self.d) - crossed
        pull = (aim * self.mu - cross) / self.slacks
        result = bent + linear + linear.T
        result -= self.scaled @ inner @ self.scaled.T
        result -= (self.rows.T * pull) @ self.rows
        return np.asarray(0.5 * (result + result.T))


_MOST_INDEPENDENT_STEPS = 200
_MOST_HALVINGS = 60


def independent_covering(floor: Doubles, rows: Doubles, gap: float) -> Covering:
    """Solve for a covariance (d, d), semidefinite, and rows (k, d), to a relative duality gap.

    What ends before this gap, because rounding stops it, has its honest bound all the same.
    """
    path = _IndependentPath(floor, rows)
    noise, multipliers, bound = path.noise, path.multipliers, 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for _ in range(_MOST_INDEPENDENT_STEPS):
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
        return lower_bound_independent(
            self.at.weights, -self.at.slacks, self.multipliers, self.noise
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
