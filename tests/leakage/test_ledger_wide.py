"""Questions about many columns at once, against a dense decomposition and columns one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import leakscore
from leakscore.leakage import Answer, Ledger
from tests.leakage.test_ledger import answered, masks

N, WIDTH = 3000, 30
X = np.random.default_rng(0).normal(size=(N, WIDTH)) * 10.0 ** np.arange(-15, 15)
X[:, 20] = 2.0 * X[:, 3] - X[:, 4]  # follows from others of the same question
X[:, 21] = X[:, 5] + 1e-3 * X[:, 6]  # and nearly so
BOUNDS: dict[str, Any] = {
    "bounds": {j: (float(X[:, j].min()), float(X[:, j].max())) for j in range(WIDTH)},
    "reference": "uniform",
}


def dense(features: list[np.ndarray]) -> np.ndarray:
    """Leakage of every record from an orthonormal basis of centred features."""
    Z = np.stack(features, axis=1)
    Z = Z / np.linalg.norm(Z, axis=0)
    U, sizes, _ = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
    used = N / (N - 1) * np.square(U[:, sizes > 1e-9]).sum(axis=1)
    return np.asarray(used / (1 - used))


@pytest.mark.parametrize("size", [1, 2, 8, 9, 24, 25, 30])
def test_any_number_of_columns(size: int) -> None:
    ledger, features = Ledger(X, max_leakage=10.0), []
    for k, mask in enumerate(masks(4, rows=N)):
        columns = np.random.default_rng(k).permutation(WIDTH)[:size].tolist()
        answer = answered(ledger, mask, ("sum", "mean")[k % 2], columns)
        sums = X[mask][:, columns].sum(axis=0) / (mask.sum() if k % 2 else 1)
        np.testing.assert_allclose(answer.values, sums, rtol=1e-9, atol=1e-12)
        features += [mask * 1.0] * (k % 2) + [mask * X[:, j] for j in columns]
    np.testing.assert_allclose(ledger.leakage, dense(features), rtol=1e-6)
    assert answered(ledger, mask, "mean", columns).free
    again = Ledger.from_bytes(ledger.to_bytes(), X)
    np.testing.assert_allclose(again.leakage, ledger.leakage, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, BOUNDS])
def test_columns_at_once_are_columns_one_by_one(options: dict[str, Any]) -> None:
    """Selections of the public rule are shared by columns; by no rule does the order matter."""
    chosen = masks(3, rows=N)
    X_ = np.delete(X, 20, axis=1) if not options else X
    at_once, one_by_one = (Ledger(X_, max_leakage=1e6, **options) for _ in range(2))
    if options:
        for ledger in (at_once, one_by_one):
            answered(ledger, chosen[2], "sum", [7])  # a selection of one column alone
    for mask in chosen[:2]:
        assert at_once.ask(np.arange(N) < 1, "sum", range(9)).leakage == np.inf  # nothing is kept
        answered(at_once, mask, "sum", range(29))
        for column in range(29):
            answered(one_by_one, mask, "sum", [column])
    np.testing.assert_allclose(at_once.leakage, one_by_one.leakage, rtol=1e-7)
    kept = Ledger.from_bytes(at_once.to_bytes(), X_)
    np.testing.assert_allclose(kept.leakage, at_once.leakage, rtol=1e-9)
    assert answered(kept, chosen[0], "sum", range(28, -1, -1)).free


def test_threads_change_no_bit() -> None:
    before, results = leakscore.get_num_threads(), []
    try:
        for threads in (1, 2):
            leakscore.set_num_threads(threads)
            ledger = Ledger(X, max_leakage=1e6)
            for mask in masks(3, rows=N):
                answered(ledger, mask, "mean", range(WIDTH))
            results.append(ledger.leakage)
    finally:
        leakscore.set_num_threads(before)
    np.testing.assert_array_equal(*results)


def test_sums_are_finite() -> None:
    """Of numbers up to the largest double over the records; others are refused by column."""
    table = np.array([[1.0, 1.0], [0.0, -0.5], [1.0, 0.25], [0.0, 0.75]]) * [1.0, 1e300]
    ledger = Ledger(np.vstack([table, table * 0.5]), max_leakage=1e6)
    answer = ledger.ask(np.ones(8, bool), "sum", [1])
    assert isinstance(answer, Answer)
    np.testing.assert_allclose(answer.values, [2.25e300], rtol=1e-12)
    with pytest.raises(ValueError, match=r"table must be in .*, but column 1 holds"):
        Ledger(table * 4.6e7, max_leakage=1e6)
