"""The least noise of many tables, roughly: for games in which it is computed anew from each."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from leakscore.leakage._noise import left_out_problem
from leakscore.leakage.noise.interior import covering
from leakscore.reference import Reference
from leakscore.typing import Doubles

__all__ = ["rough_noise"]


def rough_noise(table: Doubles, n: int, max_leakage: float, gap: float) -> Doubles:
    """Return the covariance (d, d) of about the noise of `noise_for_table` on the mean of n.

    No row's limit is exceeded by more than the share `gap`, and the cost is as near to the least.

    Parameters
    ----------
    table : (N, d) ndarray
        N > d; columns that are constant or depend on others are allowed.
    n : int
    max_leakage, gap : float
    """
    varies = np.ptp(table, axis=0) > 0
    if not varies.all():  # a trait that few rows have, and none of these: it needs no noise
        noise = np.zeros((len(varies), len(varies)))
        if varies.any():
            part = rough_noise(table[:, varies], n, max_leakage, gap)
            noise[np.ix_(varies, varies)] = part
        return noise
    reference = Reference.fit(table)
    problem = left_out_problem(table, reference, n, max_leakage)
    problem = replace(problem, values=problem.regular_values())
    over = np.flatnonzero(problem.excess(np.zeros(reference.dim)) > 1.0)
    if not over.size:
        return np.zeros_like(problem.values)
    scale = 1 / np.sqrt(np.diag(problem.values))
    scaled = replace(problem.among(over), scale=scale)
    noise = scaled.cover(partial(covering, certified=False), (gap,)).noise
    return np.asarray(noise / scale / scale[:, np.newaxis] / n)
