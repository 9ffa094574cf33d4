"""What a covariance is copied with: the same numbers, and a look at every pair of entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from leakscore import Reference, _core

SIZES = (1, 7, 8, 63, 64, 65, 130)


def correlated(dim: int) -> Any:
    rows = np.random.default_rng(dim).normal(size=(2 * dim, dim))
    return rows.T @ rows + np.eye(dim)


@pytest.mark.parametrize(
    "stored",
    [
        np.asarray,
        np.asfortranarray,
        lambda c: c.astype(np.float32),
        lambda c: c.astype(">f8"),
        lambda c: np.round(c).astype(np.int16),
        lambda c: c[::-1, ::-1],
        lambda c: np.repeat(np.repeat(c, 2, 0), 3, 1)[::2, ::3],
    ],
)
@pytest.mark.parametrize("dim", SIZES)
def test_copy_holds_numpys_numbers(stored: Callable[[Any], Any], dim: int) -> None:
    cov = stored(correlated(dim))
    copy, exact = _core.copy_symmetric(cov)
    assert exact
    np.testing.assert_array_equal(copy, np.asarray(cov, dtype=np.float64))
    assert not np.shares_memory(copy, cov)


@pytest.mark.parametrize("change", [5e-324, 1.0, np.nan, np.inf, -np.inf])
def test_every_entry_is_compared(change: float) -> None:
    dim = 67
    for i, j in np.ndindex(dim, dim):
        if i != j:
            cov = np.zeros((dim, dim))
            cov[i, j] = change
            assert not _core.copy_symmetric(cov)[1], (i, j)


@pytest.mark.parametrize("change", [np.nan, np.inf])
def test_pairs_that_are_not_finite_are_found(change: float) -> None:
    for i, j in np.ndindex(66, 66):
        cov = np.eye(66)
        cov[i, j] = cov[j, i] = change
        assert not _core.copy_symmetric(cov)[1], (i, j)


def test_zeros_of_either_sign_are_equal() -> None:
    cov = np.eye(66)
    cov[65, 3] = -0.0
    copy, exact = _core.copy_symmetric(cov)
    assert exact
    assert np.signbit(copy[65, 3])


@pytest.mark.parametrize("dim", [5, 129, 300])
def test_rounding_is_averaged_out_and_the_argument_left_alone(dim: int) -> None:
    cov = correlated(dim)
    cov[0, dim - 1] *= 1 + 1e-12
    cov[dim - 1, 1] *= 1 - 1e-12
    given = cov.copy()
    np.testing.assert_array_equal(Reference(np.zeros(dim), cov).cov, 0.5 * (given + given.T))
    np.testing.assert_array_equal(cov, given)


@pytest.mark.parametrize(("i", "j"), [(2, 0), (0, 299), (299, 130), (128, 127), (140, 290)])
def test_the_largest_gap_is_named(i: int, j: int) -> None:
    cov = np.eye(300)
    cov[i, j] = 0.5
    cov[4, 3] = 0.25
    first, second = sorted((i, j))
    with pytest.raises(ValueError, match=rf"symmetric: cov\[{first}, {second}\]="):
        Reference(np.zeros(300), cov)
