"""Low-rank references (W5): fit, scores and memory, beside numpy at its best."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import blas

from bench._harness import allclose, compare, read_seconds, timed
from leakscore import Reference
from leakscore.scores import covariance_score

Array = np.ndarray[Any, Any]
N, SHRINKAGE, WIDTH = 50, 0.5, 4096


def normal(rows: int, dim: int, seed: int) -> Array:
    table, rng = np.empty((rows, dim), dtype=np.float32), np.random.default_rng(seed)
    for row in table:
        rng.standard_normal(dtype=np.float32, out=row)
    return table


def _syrk_seconds(rows: int, dim: int) -> float:
    """Give the time of the Gram matrix alone: scipy's ssyrk, on a block that stays in the cache."""
    block = np.ones((rows, 1024), dtype=np.float32)
    return dim / 1024 * min(timed(lambda: blas.ssyrk(1.0, block.T, trans=1))[0] for _ in range(20))


def _whitened_gram(X: Array) -> Array:
    """Gram matrix of the rows in standard units, a block of columns at a time."""
    result = np.zeros((len(X), len(X)))
    for start in range(0, X.shape[1], WIDTH):
        block = X[:, start : start + WIDTH]
        white = block - block.mean(axis=0)
        variances = np.einsum("ij,ij->j", white, white)
        white *= 1 / np.sqrt(variances / len(X))
        result += white @ white.T
    return result


def _gram_of(X: Array) -> Any:
    held: Any = Reference.fit(X, "low-rank", shrinkage=SHRINKAGE).covariance
    return held._gram.matrix


def fit(rows: int, dim: int) -> None:
    X = normal(rows, dim, 2)
    limit = _syrk_seconds(rows, dim)
    row = compare(
        f"low-rank fit {rows} x {dim} float32",
        lambda: _gram_of(X),
        lambda: _whitened_gram(X) / SHRINKAGE,
        same=allclose(1e-3, 1e-5 * dim / SHRINKAGE),
        limit=limit,
        repeats=5,
        note="numpy: blocks of 4096 columns; limit: ssyrk alone",
    )
    print(f"  the ratio would be {row.reference[0] / limit:.2f} if ours took no time but ssyrk's")


class Woodbury:
    """C^-1 (z - mean) in numpy, float32 throughout, the factor of the small matrix known."""

    def __init__(self, X: Array, known: Reference) -> None:
        self.X, self.mean = X, known.mean.astype(np.float32)
        self.inverse = (1 / (SHRINKAGE * known.variances)).astype(np.float32)
        self.scale = (1 - SHRINKAGE) / len(X)
        held: Any = known.covariance
        self.small = np.linalg.inv(np.eye(len(X)) + self.scale * held.capacity().gram.matrix)

    def weights(self, z: Array) -> tuple[Array, Array]:
        away = z - self.mean
        weight = away * self.inverse
        dual = (self.small @ (self.X @ weight - self.mean @ weight)).astype(np.float32)
        weight -= self.scale * self.inverse * (dual @ self.X - dual.sum() * self.mean)
        return away, weight

    def weights_in_double(self, z: Array) -> tuple[Array, Array]:
        """The same with sums in float64, a block of columns at a time."""
        away = z.astype(np.float64) - self.mean
        weight, products = away * self.inverse, np.zeros(len(self.X))
        for start in range(0, z.size, WIDTH):
            cols = slice(start, start + WIDTH)
            products += (self.X[:, cols] - self.mean[cols].astype(np.float64)) @ weight[cols]
        dual = self.scale * (self.small @ products)
        for start in range(0, z.size, WIDTH):
            cols = slice(start, start + WIDTH)
            block = self.X[:, cols] - self.mean[cols].astype(np.float64)
            weight[cols] -= self.inverse[cols] * (dual @ block)
        return away, weight

    def score(self, observed: Array, away: Array, weight: Array) -> Array:
        return np.asarray(observed @ weight - (self.mean @ weight + away @ weight / (2 * N)))

    def scores(self, observed: Array, targets: Array) -> Array:
        """All targets, as products of matrices: two copies of the factor in standard units."""
        centred, away = self.X - self.mean, targets - self.mean
        weight = away * self.inverse
        dual = (weight @ centred.T) @ self.small.astype(np.float32)
        weight -= (self.scale * self.inverse) * (dual @ centred)
        constant = np.einsum("ij,ij->i", away, weight) / (2 * N)
        return np.asarray((observed - self.mean) @ weight.T - constant)


def _agree(error: float) -> Callable[[Array, Array], None]:
    def check(ours: Array, theirs: Array) -> None:
        gap = np.abs(ours - theirs).max()
        assert gap < error, f"scores differ by {gap:.1e}"

    return check


def score(rows: int, dim: int, releases: int) -> None:
    """One target, with new weights and with those of the previous call; a hundred targets."""
    X, z = normal(rows, dim, 3), normal(100, dim, 4)
    observed = normal(releases, dim, 5) / np.float32(np.sqrt(N))
    known = Reference.fit(X, "low-rank", shrinkage=SHRINKAGE)
    numpy = Woodbury(X, known)
    spread = float(np.sqrt(known.squared_mahalanobis(z[0]) / N))
    name = f"{rows} rows, {releases} x {dim} float32"
    read, factor = read_seconds(observed), read_seconds(X)
    exact = covariance_score(observed, z[0], known, N)
    error = np.abs(numpy.score(observed, *numpy.weights(z[0])) - exact).max() / spread
    print(f"{name}: numpy's float32 weights err by {error:.0e} of the score's spread")
    mine, theirs = itertools.cycle(z[:2]), itertools.cycle(z[:2])
    compare(
        f"score, new target, {name}",
        lambda: covariance_score(observed, next(mine), known, N),
        lambda: numpy.score(observed, *numpy.weights(next(theirs))),
        same=_agree(1e-3 * spread),
        limit=2 * factor + read,
        note="numpy: float32, unverified; ours verifies its weights to 1e-8",
    )
    compare(
        f"the same, numpy in float64, {name}",
        lambda: covariance_score(observed, next(mine), known, N),
        lambda: numpy.score(observed, *numpy.weights_in_double(next(theirs))),
        same=_agree(1e-3 * spread),
        limit=2 * factor + read,
        repeats=5,
        note="numpy: float64 sums by blocks of columns",
    )
    given = numpy.weights(z[0])
    compare(
        f"score, same target, {name}",
        lambda: covariance_score(observed, z[0], known, N),
        lambda: numpy.score(observed, *given),
        same=_agree(1e-3 * spread),
        limit=read,
        note="numpy: X @ a, a known; ours sees that the target is the same, sums in double",
    )
    compare(
        f"score, 100 targets, {name}",
        lambda: covariance_score(observed, z, known, N),
        lambda: numpy.scores(observed, z),
        same=_agree(2e-3 * spread),
        repeats=3,
        note="ours in float64 with 20 MB of scratch, numpy copies the factor in float32",
    )


def memory(*given: str) -> None:
    """Print what a fit and scores need, measured from outside."""
    call = [sys.executable, "-m", "bench.memory_low_rank", *given]
    print(subprocess.run(call, check=True, capture_output=True, text=True).stdout, end="")


def run() -> None:
    """Print the table."""
    fit(500, 1_000_000)
    score(500, 200_000, 100)
    memory("500", "1000000")
