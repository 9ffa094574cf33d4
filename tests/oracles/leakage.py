"""Slow, readable twins of `leakscore.leakage`: the two laws of the release, and plain refits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import Reference

Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]


def leakage_score(
    Z: Array, mean: Array, cov: Array, n: int, noise_std: Any = 0.0, neighbours: str = "replace"
) -> Doubles:
    """The squared shift of the released mean in units of its covariance."""
    matrix = np.diag(cov) if cov.ndim == 1 else cov
    noise = np.diag(np.broadcast_to(np.asarray(noise_std, dtype=float) ** 2, mean.shape))
    if neighbours == "replace":
        shift, law = (Z - mean) / n, matrix / n + noise
    else:
        shift, law = Z / n, (n - 1) * matrix / n**2 + noise
    return np.einsum("ij,ij->i", shift, np.linalg.solve(law, shift.T).T)


def group_leakage(Z: Array, reference: Reference, n: int, noise_cov: Any = 0.0) -> float:
    """The squared sum of the shifts of a group's records, in units of the mean's covariance."""
    cov = np.diag(reference.cov) if reference.cov.ndim == 1 else reference.cov
    shift = (Z - reference.mean).sum(axis=0)
    return float(shift @ np.linalg.solve(cov + n * noise_cov, shift) / n)


def left_out_distances(X: Array, kind: str = "full", ddof: int = 0, ridge: Any = 0.0) -> Doubles:
    """Squared Mahalanobis distance of each row to mean and covariance of the others."""
    found = []
    for i, row in enumerate(X):
        others = np.delete(X, i, axis=0).astype(np.float64)
        cov = np.atleast_2d(np.cov(others.T, ddof=ddof))
        if kind == "diagonal":
            cov = np.diag(np.diag(cov))
        cov = cov + np.diag(np.broadcast_to(ridge, X.shape[1]))
        e = row - others.mean(axis=0)
        found.append(float(e @ np.linalg.solve(cov, e)))
    return np.array(found)


def least_scale(leakage_of: Any, budget: float) -> float:
    """Smallest c with leakage_of(c) <= budget, for a decreasing function, by bisection."""
    low, high = 0.0, 1.0
    while leakage_of(high) > budget:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if leakage_of(middle) > budget:
            low = middle
        else:
            high = middle
    return high


def groups_left_out(
    X: Array,
    groups: Array,
    sizes: Any,
    batch: Array,
    kind: str = "full",
    ddof: int = 0,
    ridge: Any = 0.0,
) -> Doubles:
    """Leakage of each group's sums in the means of batches, from the rows of the other groups."""
    found = []
    for group in np.unique(groups):
        others = X[groups != group].astype(np.float64)
        cov = np.atleast_2d(np.cov(others.T, ddof=ddof))
        if kind == "diagonal":
            cov = np.diag(np.diag(cov))
        cov = cov + np.diag(np.broadcast_to(ridge, X.shape[1]))
        total = 0.0
        for number, size in enumerate(sizes):
            own = X[(groups == group) & (batch == number)].astype(np.float64)
            shift = (own - others.mean(axis=0)).sum(axis=0)
            total += float(shift @ np.linalg.solve(cov, shift)) / size
        found.append(total)
    return np.array(found)
