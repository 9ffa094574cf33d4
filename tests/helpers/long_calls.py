"""Calls that would take many seconds if nobody interrupted them; little memory, where it can be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from leakscore import _core, audit, distributions, games, scores
from leakscore.reference import covariances

RNG = np.random.default_rng(0)
NO_NOISE = np.zeros(1)
Call = Callable[[], object]


def many_rows(rows: int, cols: int, dtype: type = np.float64) -> npt.NDArray[np.float64]:
    """Return a large table that takes the memory of one row."""
    return np.broadcast_to(np.linspace(-1, 1, cols).astype(dtype), (rows, cols))


def kolmogorov(size: int = 3_000_000) -> Call:
    q = RNG.random(size)
    return lambda: distributions.kolmogorov.ppf(q, 100.0)


def kolmogorov_broadcast() -> Call:
    # numpy calls the loop for one row at a time
    q = RNG.random((2_000_000, 2))[:, :1]
    return lambda: distributions.kolmogorov.ppf(q, np.array([20.0, 100.0]))


def kolmogorov_where() -> Call:
    q, out = RNG.random(4_000_000), np.zeros(4_000_000)
    where = q > 0.1  # the loops are a few elements long
    return lambda: distributions.kolmogorov.ppf(q, 100.0, out=out, where=where)


def kolmogorov_cast() -> Call:
    q = RNG.random(3_000_000).astype(np.float16)  # through numpy's buffer
    return lambda: distributions.kolmogorov.ppf(q, 100)


def chi2() -> Call:
    q = RNG.random(15_000_000)
    return lambda: distributions.chi2.isf(q, 3.0)


def edgeworth() -> Call:
    q, cumulants = RNG.random(8_000_000), np.array([0.0, 1.0, 0.1, 0.1])
    return lambda: distributions.edgeworth.ppf(q, cumulants)


def gx2() -> Call:
    # one point
    weights = RNG.random(1_000_000)
    ones, zeros = np.ones(weights.size), np.zeros(weights.size)
    return lambda: _core.gx2_ppf(np.array([0.3]), weights, ones, zeros, 0.0, 0.0)


def clopper_pearson() -> Call:
    k = RNG.integers(0, 10_000, 10_000_000)
    return lambda: distributions.clopper_pearson(k, 10_000, 0.95)


def gaussian_llr() -> Call:
    x, (mean, variance) = many_rows(4_000_000, 5000), np.ones((2, 5000))
    return lambda: _core.gaussian_llr(x, x[:1], mean, variance, NO_NOISE, 100.0, False)


def gaussian_llr_of_many() -> Call:
    x, z = many_rows(2000, 500_000), many_rows(1000, 500_000)
    mean, variance = np.ones((2, 500_000))
    return lambda: _core.gaussian_llr(x, z, mean, variance, NO_NOISE, 100.0, False)


def bernoulli_llr() -> Call:
    x, z = np.full((70, 2000), 0.3), RNG.integers(0, 2, (60_000, 2000), dtype=np.uint8)
    p = np.full(2000, 0.4)
    return lambda: scores.bernoulli_llr(x, z, p)


def homer() -> Call:
    x, z = many_rows(20_000, 5000), many_rows(1000, 5000)
    return lambda: _core.homer_distance(x, z, np.zeros(5000))


def distances() -> Call:
    x, z = many_rows(200_000, 5000), many_rows(100, 5000)
    return lambda: _core.quadratic_about(x, z, np.ones(5000))


def edgeworth_score() -> Call:
    x, z, law = many_rows(1000, 4096), many_rows(20_000, 4096), np.ones(4096)
    return lambda: _core.edgeworth_second(x, z, law, law, law, law, 1000.0)


def moments() -> Call:
    x = many_rows(10_000_000, 5000, np.float32)
    return lambda: _core.column_moments(x)


def scatter() -> Call:
    covariances.use_blas()
    x = many_rows(20_000, 6000)
    return lambda: _core.scatter(x, np.zeros(6000), False)


def cholesky() -> Call:
    covariances.use_blas()
    matrix = np.eye(6000)
    return lambda: _core.cholesky(matrix)


def solve() -> Call:
    covariances.use_blas()
    lower, rows = np.eye(5000), np.ones((5000, 5000))
    return lambda: _core.solve_rows(lower, rows)


def gram() -> Call:
    covariances.use_blas()
    x, unit = many_rows(6000, 60_000, np.float32), np.ones(60_000)
    return lambda: _core.gram(x, unit, unit, True)


def combine() -> Call:
    x, vectors = many_rows(1_000_000, 20_000), np.zeros((7, 20_000))
    return lambda: _core.combine(x, 0, vectors[0], np.ones((7, 1_000_000)), vectors)


def row_sums() -> Call:
    x, included = many_rows(1000, 50_000), np.zeros(2, np.bool_)
    key, out = np.zeros(2, np.uint64), np.zeros((2, 50_000))
    return lambda: _core.row_sums(key, 0, included, 1_000_000, True, x, -1, True, out)


def selections() -> Call:
    codes = [(np.zeros(1_000_000, np.uint8), 0)] * 2000
    columns, vectors = np.ones((1, 1_000_000)), np.ones((1, 1_000_000))
    return lambda: _core.sum_by_code(codes, columns, vectors)


def batches() -> Call:
    key, present, none = np.zeros(2, np.uint64), np.zeros(2, np.bool_), np.zeros((1, 1), np.bool_)
    drawn = ("poisson", 1_000_000, 10_000, 1, 1, 0, False)  # nobody comes
    return lambda: _core.draw_batches(key, 0, present, *drawn, none)


def fixed_target() -> Call:
    population, target = games.Bernoulli(np.full(5000, 0.3)), np.ones(5000)
    return lambda: games.fixed_target(
        population, target, games.EmpiricalMean(100), 200_000, rng=0, score=lambda x: x[:, 0]
    )


def one_run() -> Call:
    # Not refuted at 0, because of delta: every step of the search sums millions of terms.
    return lambda: _core.one_run_epsilon(1e13, 5.000004e12, 0.2, 0.05, 0.95, 1e-6)


def sorted_bits() -> Call:
    return lambda: _core.sorted_bits_critical(10_000_000, 1e-9, 0.05, np.ones(1))


def four_outcomes() -> Call:
    sizes = np.arange(1, 1_000_000)
    found = np.minimum(sizes, 500_000)
    return lambda: _core.four_outcomes_refuted(sizes, found, 500_000, 500_000, 1e-9, 0.05, 0.05)


def critical_value() -> Call:
    return lambda: audit.critical_value(20_000, 0.9123, method="berk-jones")


def auc() -> Call:
    same = np.zeros(600_000_000, np.float32)  # pages that nobody writes take no memory
    return lambda: _core.score_auc(same, same)


CALLS = [
    *(kolmogorov, kolmogorov_broadcast, kolmogorov_where, kolmogorov_cast, chi2, edgeworth, gx2),
    *(clopper_pearson, gaussian_llr, gaussian_llr_of_many, bernoulli_llr, homer, distances),
    edgeworth_score,
    *(moments, scatter, cholesky, solve, gram, combine, row_sums, batches, fixed_target, one_run),
    *(sorted_bits, four_outcomes, critical_value, auc, selections),
]
