"""Refits of the gamma family against a general search, and where other families have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

from leakscore import statistics


@pytest.mark.parametrize("shape", [0.3, 1.0, 5.0])
def test_newton_steps_of_a_gamma_fit(shape: float) -> None:
    """Of few records of a wide law a step from the fit to all leaves the range, or is too short."""
    rng = np.random.default_rng(3)
    x = np.append(rng.uniform(0, 1, 39), 5.0)
    y = rng.gamma(shape, 1 / (1 + 2 * x) / shape)
    table, design = np.column_stack([x, y]), np.column_stack([np.ones(40), x])
    fit = statistics.GLM("y", "gamma").on(["x", "y"]).prepare(table)
    weights = rng.multinomial(40, np.full(40, 1 / 40), size=40).astype(float)

    def refit(w: np.ndarray) -> np.ndarray:
        used, share = w > 0, w / w.sum()

        def loss(b: np.ndarray) -> float:
            eta = design[used] @ b
            return float(share[used] @ (y[used] * eta - np.log(eta))) if eta.min() > 0 else np.inf

        start = [1 / (share @ y), 0.0]
        options: Any = {"xatol": 1e-10, "fatol": 1e-15, "maxiter": 4000}
        return np.asarray(optimize.minimize(loss, start, method="Nelder-Mead", options=options).x)

    exact = np.array([refit(w) for w in weights]) - refit(np.ones(40))
    moves = fit.equations(table).refitted(weights)
    np.testing.assert_allclose(moves, exact, atol=1e-4 * exact.std(axis=0).max())


def test_samples_without_a_record_that_no_longer_fits() -> None:
    """Of three of 18 records a step sends the mean of the first, who is not drawn, beyond doubles.

    Where they tell no slope, curvatures are of one direction but for rounding: there is no fit.
    """
    x = [-150.89, 0.23, -0.13, -0.48, 4.5, 6.5, -1.43, -0.01, -0.85, -1.2, 0.66, 1.46, -0.96, 0.07]
    y = [0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0, 1]
    table = np.column_stack([[*x, 1.77, 0.3, -0.76, 0.4], y])
    weights = np.random.default_rng(0).multinomial(3, np.full(18, 1 / 18), size=40_000)
    fit = statistics.GLM("y", "poisson").on(["x", "y"]).prepare(table)
    moves = fit.equations(table).refitted(weights)
    one_value = (weights > 0).sum(axis=1) == 1
    assert np.isnan(moves[one_value]).all()
    assert np.isnan(moves[:, 0]).mean() < 0.1
