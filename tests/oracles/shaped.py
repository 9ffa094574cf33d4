"""The smallest ellipsoid around a covariance and records, slow and obviously right."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import sqrtm
from scipy.optimize import minimize

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
    a = (errors.T * lam) @ errors
    half = np.real(sqrtm(w - slack))
    values = np.linalg.eigvalsh(half @ a @ half)
    inner = float(np.sqrt(np.maximum(values, 0.0)).sum())
    return 2 * inner + float(np.trace((slack - w) @ cov)) - float(limits @ lam)


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
