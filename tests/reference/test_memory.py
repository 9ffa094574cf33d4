"""Large low-rank references: what they take beside the rows, and what float32 sums cost."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from leakscore import Reference, scores
from tests.helpers.sizes import sizes

GROWTH = """
import resource, sys, numpy as np
from leakscore import Reference, leakage, scores
rows, dim, dtype = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
rng = np.random.default_rng(0)
small = rng.integers(0, 3, size=(16, 4100)).astype(dtype)
small = np.tile(small, (rows // 16 + 1, 1))[:rows] + (np.arange(rows)[:, None] % 2).astype(dtype)
warm = Reference.fit(small, "low-rank")  # imports scipy and starts BLAS
warm.squared_mahalanobis(small[:1]), warm.solve(small[:1])
X = np.empty((rows, dim), dtype=dtype)
for row in X:
    row[:] = rng.integers(0, 3, size=dim, dtype=np.int8)
before = used()
known = Reference.fit(X, "low-rank")
fitted = used()
scores.covariance_score(X[:2], X[0], known, 50)
print(X.nbytes / 2**20, fitted - before, used() - before)
"""


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_rows_are_never_copied(dtype: str) -> None:
    dim = 200_000
    given = [sys.executable, "-c", GROWTH, "200", str(dim), dtype]
    printed = subprocess.run(given, check=True, capture_output=True, text=True).stdout
    _, fitted, scored = map(float, printed.split())
    vector = 8 * dim / 2**20  # MiB
    assert fitted < 8 * vector + 20
    assert scored < 16 * vector + 20


def test_sums_in_float32_are_corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the sample, at a small intensity: C^-1 e is tiny beside D^-1 e."""
    sizes(monkeypatch, single_from=2**27)
    rng = np.random.default_rng(1)
    hidden = rng.normal(size=(3, 6000))
    X = rng.normal(size=(200, 6000)) + 3 * rng.normal(size=(200, 3)) @ hidden + 100
    X = X.astype(np.float32)
    quick = Reference.fit(X, "low-rank", shrinkage=0.05)
    exact = Reference.fit(X.astype(np.float64), "low-rank", shrinkage=0.05)
    assert quick.covariance.capacity().gram.single  # type: ignore[attr-defined]
    Z = np.vstack([X[:2], X[:1] + rng.normal(size=(1, 6000))])
    np.testing.assert_allclose(
        quick.squared_mahalanobis(Z), exact.squared_mahalanobis(Z), rtol=1e-8
    )
    weights, expected = quick.solve(Z - X[5]), exact.solve(Z.astype(np.float64) - X[5])
    scale = np.abs(expected).max(axis=1, keepdims=True)
    assert np.abs((weights - expected) / scale).max() < 1e-6
    found = scores.covariance_score(X[10:13], Z, quick, 50)
    np.testing.assert_allclose(
        found, scores.covariance_score(X[10:13], Z, exact, 50), rtol=1e-6, atol=1e-6
    )
