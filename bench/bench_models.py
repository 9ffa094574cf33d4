"""What each record shifts fitted coefficients by, and what a mean tells of one value of each.

The numpy side of a model fits it again without every record, from the fit to all: what influence
saves, and what it must agree with. That of values solves for all pairs at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench._harness import allclose, compare
from leakscore import Reference, leakage, statistics

Array = np.ndarray[Any, Any]
ROWS, STEPS = 1000, 4


def table(rng: np.random.Generator, rows: int, predictors: int) -> Array:
    x = rng.normal(size=(rows, predictors))
    eta = x @ rng.normal(size=predictors) / predictors
    return np.column_stack([x, rng.random(rows) < 1 / (1 + np.exp(-eta))])


def refits(values: Array, start: Array) -> Array:
    """Fit a logistic regression without each record by Newton's method."""
    x, y = np.column_stack([np.ones(len(values)), values[:, :-1]]), values[:, -1]
    shifts = np.empty_like(x)
    for i in range(len(x)):
        rows, targets, point = np.delete(x, i, axis=0), np.delete(y, i), start
        for _ in range(STEPS):
            mean = 1 / (1 + np.exp(-rows @ point))
            hessian = (rows.T * (mean * (1 - mean))) @ rows
            point = point + np.linalg.solve(hessian, rows.T @ (targets - mean))
        shifts[i] = start - point
    return shifts


def steps_agree(ours: Array, theirs: Array) -> None:
    gap = np.abs(ours - theirs).max(axis=0) / theirs.std(axis=0)
    assert (gap < 0.05).all(), f"shifts differ by {gap.max():.1e} standard deviations"


def run() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    values = table(rng, ROWS, 5)
    model = statistics.GLM("y", "binomial").on(["a", "b", "c", "d", "e", "y"])
    start = model.prepare(values).coefficients
    compare(
        f"GLM, binomial, {ROWS} records, 5 predictors",
        lambda: model.prepare(values).features(values) / ROWS,
        lambda: refits(values, start),
        same=steps_agree,
        note="numpy: a refit without each record",
    )
    reference, pairs = Reference.fit(rng.normal(size=(500, 50))), rng.normal(size=(2, 100_000, 50))

    def solved() -> Array:
        away = pairs[0] - pairs[1]
        return np.einsum("ij,ij->i", away, np.linalg.solve(999 * reference.cov, away.T).T)

    compare(
        "attribute_leakage, 100,000 pairs of 50 values",
        lambda: leakage.attribute_leakage(pairs[0], pairs[1], reference, 1000),
        solved,
        same=allclose(1e-9),
        note="numpy: solve",
    )
