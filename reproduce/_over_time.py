"""A sequence of models as one vector: the log-ratio of two normal laws of a record's margins.

Every step has means of its own to be estimated, and few sequences do not know them: figures compare
this with the last model alone.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def over_time(
    observed: npt.NDArray[np.floating],
    signals: npt.NDArray[np.floating],
    included: Flags,
    *,
    start: int = 0,
    variance: Literal["shrunk", "pooled"] = "shrunk",
) -> Doubles:
    """Score records (N,) or (S, N) of sequences that hold them from step `start` on, or never.

    `observed` is (N, L) or (S, N, L) for L models, `signals` (K, N, L). Variances are those of a
    new sequence, (1 + 1/c) times as large, as means are known from c sequences only; correlations
    between steps are one for all records on each side.
    """
    shared = signals.mean(axis=0, dtype=np.float64)[:, :start]
    logs = []
    for inside in (included, ~included):
        count = inside.sum(axis=0)[:, np.newaxis]
        mask = inside[..., np.newaxis]
        mean = np.where(mask, signals, 0.0).sum(axis=0) / count
        away = np.where(mask, signals - mean, 0.0)
        squares = np.square(away).sum(axis=0)
        if variance == "pooled":
            sd = np.sqrt(squares.sum(axis=0) / (count - 1).sum()) * np.ones(squares.shape)
        else:
            sd = np.sqrt(np.stack([shrunk(step, count[:, 0] - 1.0) for step in squares.T], axis=1))
        standardised = (away / sd).reshape(-1, sd.shape[1])
        sums = standardised.T @ standardised
        scale = np.sqrt(np.diagonal(sums))
        factor = np.linalg.cholesky(sums / np.outer(scale, scale))
        target = observed - mean
        target[..., :start] = observed[..., :start] - shared
        sd = sd * np.sqrt(1.0 + 1.0 / count)
        rows = (target / sd).reshape(-1, sd.shape[1])
        distances = np.square(np.linalg.solve(factor, rows.T)).sum(axis=0)
        log_root = np.log(np.diagonal(factor)).sum() + np.log(sd).sum(axis=-1)
        logs.append(-0.5 * distances.reshape(target.shape[:-1]) - log_root)
    return np.asarray(logs[0] - logs[1])


def shrunk(squares: Doubles, dof: Doubles) -> Doubles:
    """Draw variances to a common value (Smyth 2004, section 6.2)."""
    d, raw = dof[dof >= 1.0], squares[dof >= 1.0] / dof[dof >= 1.0]
    raw = np.maximum(raw, 1e-5 * np.median(raw))
    e = np.log(raw) + np.log(0.5 * d) - special.digamma(0.5 * d)
    excess = float(np.var(e, ddof=1) - special.polygamma(1, 0.5 * d).mean())
    if excess <= 0.0:
        return np.full(squares.shape, np.exp(e.mean()))
    half = np.exp(
        optimize.brentq(lambda t: np.log(special.polygamma(1, np.exp(t)) / excess), -30.0, 30.0)
    )
    scale = np.exp(e.mean() + special.digamma(half) - np.log(half))
    return np.asarray((2.0 * half * scale + squares) / (2.0 * half + dof))
