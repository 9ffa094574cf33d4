"""The smallest ellipsoid around a covariance and records, slow and obviously right."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize, nnls

Doubles = npt.NDArray[np.float64]


def excess(cov: Doubles, noise: Doubles, errors: Doubles) -> Doubles:
    """Return e' (C + S)^-1 e of every row."""
    return np.einsum("ij,ji->i", errors, np.linalg.solve(cov + noise, errors.T))


def certificate(
    cov: Doubles,
    weights: Doubles,
    errors: Doubles,
    limits: Doubles,
    lam: Doubles,
    slack: Doubles,
) -> float:
    """Return 2 tr[((W-L)^1/2 A (W-L)^1/2)^1/2] + tr(L C) - tr(W C) - sum limits lambda."""
    w = np.diag(weights)
    assert (lam >= 0).all()
    for matrix in (slack, w - slack):
        assert np.linalg.eigvalsh(matrix)[0] > -1e-9 * weights.max()
    values, vectors = np.linalg.eigh(w - slack)
    half = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    # tr (half A half)^1/2 is the sum of the singular values of half A^1/2.
    rows = errors * np.sqrt(lam)[:, None]
    inner = float(np.linalg.svd(half @ rows.T, compute_uv=False).sum())
    return 2 * inner + float(np.trace((slack - w) @ cov)) - float(limits @ lam)


def certified_cost(
    cov: Doubles,
    weights: Doubles,
    errors: Doubles,
    limits: Doubles,
    noise: Doubles,
    *,
    independent: bool = False,
) -> float:
    """Return a lower bound on the least cost, from multipliers that fit given noise best.

    W - Lambda = K^-1 A K^-1 and Lambda S = 0 are linear equations of the multipliers. For
    independent noise, the Lagrangian is convex: it lies above its tangent at the noise, whose
    least value over variances >= 0 is finite if no slope is below 0.
    """
    scale = np.sqrt(weights)
    c, s = (m * scale * scale[:, None] for m in (cov, noise))
    rows = errors * scale / np.sqrt(limits)[:, None]
    near = excess(c, s, rows) > 1 - 1e-3
    rows, eye, ones = rows[near], np.eye(len(c)), np.ones(near.sum())
    at = np.linalg.solve(c + s, rows.T).T
    size = float(np.trace(s))
    if independent:
        used = np.diag(s) > 1e-6 * size
        lam = nnls(np.square(at[:, used]).T, np.ones(used.sum()))[0]
        lam *= min(1.0, 1 / float((lam @ np.square(at)).max()))
        slopes = 1 - lam @ np.square(at)
        return size + float(lam @ (excess(c, s, rows) - 1)) - float(slopes @ np.diag(s))
    columns = np.stack([(np.outer(v, v) @ s).ravel() for v in at], axis=1)
    lam = nnls(columns / size, s.ravel() / size)[0]
    values, vectors = np.linalg.eigh((at.T * lam) @ at)
    best = 0.0
    for raised in (2.0, 0.999, 0.99):  # rounding leaves eigenvalues just below 1
        share = (vectors * np.where(values > raised, 1.0, np.minimum(values, 1.0))) @ vectors.T
        best = max(best, certificate(c, np.diag(eye), rows, ones, lam, eye - share))
    return best


def least_cost(
    cov: Doubles, weights: Doubles, errors: Doubles, limits: Doubles, *, independent: bool = False
) -> float:
    """Return the least cost that sequential quadratic programming finds, from several starts.

    Over a square factor of the noise, or over the standard deviations of independent noise.
    """
    d = len(cov)
    scale = np.sqrt(weights)
    c = cov * scale * scale[:, None]
    rows = errors * scale / np.sqrt(limits)[:, None]

    def noise(x: Doubles) -> Doubles:
        return np.diag(x**2) if independent else x.reshape(d, d) @ x.reshape(d, d).T

    def slack(x: Doubles) -> Doubles:
        return 1 - excess(c, noise(x), rows)

    best = np.inf
    for seed in range(4):
        rng = np.random.default_rng(seed)
        top = np.sqrt(excess(c, np.zeros((d, d)), rows).max())
        start = np.eye(d) * 2 * top + 0.1 * rng.normal(size=(d, d))
        found = minimize(
            lambda x: float(x @ x),
            np.diag(start) if independent else start.ravel(),
            jac=lambda x: 2 * x,
            constraints={"type": "ineq", "fun": slack},
            method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-12},
        )
        if slack(found.x).min() > -1e-7:
            best = min(best, float(found.fun))
    assert np.isfinite(best)
    return best


def worst_left_out(X: np.ndarray, n: int, noise: np.ndarray, ridge: float = 0.0) -> float:
    """Largest leakage of a row against mean and covariance of the others, estimated without it."""
    scores = []
    for i, row in enumerate(X):
        others = np.delete(X, i, axis=0)
        away = row - others.mean(axis=0)
        cov = np.cov(others.T, ddof=0) + ridge * np.eye(len(row)) + n * noise
        scores.append(float(away @ np.linalg.solve(cov, away)) / n)
    return max(scores)
