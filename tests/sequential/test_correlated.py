"""The ratio with correlated noise: against densities of the normal law of all releases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from leakscore import sequential, set_num_threads, tradeoff

RNG = np.random.default_rng(6)
STEPS = 6
PATTERNS = tradeoff.participation_patterns(STEPS, num_epochs=2)
SIGNED = np.tril(RNG.normal(size=(STEPS, STEPS))) + 2.0 * np.eye(STEPS)
MATRICES = {
    "identity": tradeoff.strategy_matrix("identity", STEPS),
    "tree": tradeoff.strategy_matrix("tree", STEPS),
    "banded": tradeoff.strategy_matrix("banded", STEPS, bands=2),
    "any": SIGNED,
}


def density_ratios(releases: np.ndarray, shifts: np.ndarray, matrix: np.ndarray, std: float) -> Any:
    """log densities of x + C^-1 z at the releases of one training, with less without the shift."""
    inverse = std * np.linalg.inv(matrix)
    flat = np.kron(inverse @ inverse.T, np.eye(releases.shape[-1]))
    return [
        multivariate_normal.logpdf(releases.ravel(), shift.ravel(), flat)
        - multivariate_normal.logpdf(releases.ravel(), np.zeros(shift.size), flat)
        for shift in shifts
    ]


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("dim", [1, 3])
def test_it_is_the_ratio_of_densities(name: str, dim: int) -> None:
    matrix, releases = MATRICES[name], RNG.normal(size=(4, STEPS, dim))
    for shape in ((dim,), (STEPS, dim), (4, STEPS, dim)):
        gradients = RNG.normal(size=shape)
        found = sequential.correlated_llr(releases, gradients, matrix, PATTERNS, 0.7)
        assert found.shape == (4, 3)
        each = np.broadcast_to(gradients, releases.shape)
        for r in range(4):
            shifts = PATTERNS[:, :, np.newaxis] * each[r]
            expected = density_ratios(releases[r], shifts, matrix, 0.7)
            np.testing.assert_allclose(found[r], expected, rtol=1e-10, atol=1e-10)


def test_layouts_and_threads() -> None:
    releases = RNG.normal(size=(300, 2, STEPS, 2)).astype(np.float32)
    for gradients in (RNG.normal(size=2), RNG.normal(size=releases.shape)):
        set_num_threads(1)
        expected = sequential.correlated_llr(
            releases.astype(np.float64), gradients, SIGNED, PATTERNS, 1.0
        )
        set_num_threads(8)
        for given in (releases, np.asfortranarray(releases)):
            found = sequential.correlated_llr(given, gradients, SIGNED, PATTERNS, 1.0)
            np.testing.assert_array_equal(found, expected)
    alone = sequential.correlated_llr(releases[0, 0], [1.0, 2.0], SIGNED, PATTERNS, 1.0)
    some = sequential.correlated_llr(releases, [1.0, 2.0], SIGNED, PATTERNS, 1.0)
    np.testing.assert_array_equal(alone, some[0, 0])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"releases": np.zeros(STEPS)}, "releases"),
        ({"releases": np.full((STEPS, 1), np.inf)}, "releases"),
        ({"target_gradients": [1.0, 2.0]}, "target_gradients"),
        ({"target_gradients": [np.nan]}, "target_gradients"),
        ({"strategy_matrix": np.eye(3)}, "strategy_matrix"),
        ({"strategy_matrix": SIGNED.T}, "lower triangular"),
        ({"strategy_matrix": np.eye(STEPS, k=-1)}, "diagonal"),
        ({"participation": [[1.0] * 5]}, "participation"),
        ({"participation": [[0.5] * STEPS]}, "participation"),
        ({"noise_std": 0.0}, "noise_std"),
        ({"target_gradients": [1e300], "noise_std": 1e-300}, "overflow"),
    ],
)
def test_what_is_refused(given: dict[str, Any], words: str) -> None:
    good: dict[str, Any] = {
        "releases": np.zeros((STEPS, 1)),
        "target_gradients": [1.0],
        "strategy_matrix": np.eye(STEPS),
        "participation": PATTERNS,
        "noise_std": 1.0,
    }
    with pytest.raises(ValueError, match=words):
        sequential.correlated_llr(**(good | given))
