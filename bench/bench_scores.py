"""Scores of 2000 releases of 5000 coordinates: W1 linear, W2 Gaussian, W3 Bernoulli; 1, 64 targets.

Then one release and many targets, Homer's distance, GLiR of one release and of many, and two
threads.

The numpy side is the fastest variant known of each: one matrix-vector product (which in float32
loses the digits that centring keeps), einsum for the quadratic form, log|1 - z - x| in place. The
limit is the time that a BLAS product takes to read the releases: kernels that bring the next rows
to the cache while they sum are faster than that, and show a share above 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import special

import leakscore
from bench._harness import compare, read_seconds
from leakscore import Reference, scores

ROUNDS, DIM, N = 2000, 5000, 1000
Array = np.ndarray[Any, Any]
Score = Callable[[], Array]


def agree(error: float) -> Callable[[Array, Array], None]:
    """Check that all scores agree to a share of their standard deviation."""

    def check(ours: Array, reference: Array) -> None:
        gap = np.abs(ours - reference).max() / ours.std()
        assert gap < error, f"scores differ by {gap:.1e} standard deviations"

    return check


def linear_in_numpy(x: Array, z: Array, mean: Array, variance: Array) -> Score:
    weight = ((z - mean) / variance).T
    constant = mean @ weight + 0.5 / N * ((z - mean) * weight.T).sum(axis=-1)
    weight = np.ascontiguousarray(weight.astype(x.dtype))
    return lambda: x @ weight - constant


def digits(x: Array, z: Array, reference: Reference, theirs: Score) -> str:
    """Say how far both covariance scores are from sums in extended precision, for 100 releases.

    Data with an offset cost the product their digits, as it does not centre: that is our price.
    """
    some = x[:100].astype(np.longdouble)
    weight = (z.astype(np.longdouble) - reference.mean) / reference.variances
    own = ((z - reference.mean) * weight).sum(axis=-1) / (2 * N)
    exact = (some - reference.mean) @ weight.T - own
    ours = scores.covariance_score(x[:100], z, reference, N)
    far = [float(np.abs(found - exact).max() / exact.std()) for found in (theirs()[:100], ours)]
    return f"errs by {far[0]:.0e} of the spread, ours by {far[1]:.0e}"


def off(theirs: Array, ours: Array, exact: Array, rival: str = "numpy") -> str:
    """Say how far either side is from values in extended precision, as a share of their spread."""
    far = [float(np.abs(found - exact).max() / exact.std()) for found in (theirs, ours)]
    return f"{rival} errs by {far[0]:.0e} of the spread, ours by {far[1]:.0e}"


def gaussian_digits(x: Array, z: Array, reference: Reference, theirs: Score) -> str:
    """Say how far both Gaussian scores are from sums in extended precision, for ten releases."""
    few, many = x[:10].astype(np.longdouble), np.atleast_2d(z).astype(np.longdouble)
    gap, centred = few - reference.mean, many - reference.mean
    linear = (gap / reference.variances) @ centred.T
    squares = (gap**2 / reference.variances).sum(axis=1)[:, np.newaxis]
    own = (centred**2 / reference.variances).sum(axis=1)
    exact = -0.5 * DIM * np.log1p(-np.longdouble(1) / N) - own / (2 * (N - 1))
    exact = exact + (linear - squares / 2) * (np.longdouble(N) / (N - 1))
    ours = scores.gaussian_llr(x[:100], z, reference, N)[:10]
    exact = exact if z.ndim == 2 else exact[:, 0]
    return off(theirs()[:10], ours, exact, "einsum")


def bernoulli_digits(x: Array, z: Array, p: Array, theirs: Score) -> str:
    """Say how far both Bernoulli scores are from sums in extended precision, for ten releases."""
    few, wide = x[:10].astype(np.longdouble), p.astype(np.longdouble)
    one, zero = np.log(few) - np.log(wide), np.log1p(-few) - np.log1p(-wide)
    some = z[:64]
    exact = (one - zero) @ some.T.astype(np.longdouble) + zero.sum(axis=1, keepdims=True)
    return off(theirs()[:10, :64], scores.bernoulli_llr(x, z, p)[:10, :64], exact)


def gaussian_in_numpy(x: Array, z: Array, mean: Array, variance: Array) -> Score:
    centre, inverse = mean.astype(x.dtype), (1 / variance).astype(x.dtype)
    weight = ((z - mean) / variance).T
    squares = ((z - mean) * weight.T).sum(axis=-1)
    weight = np.ascontiguousarray(weight.astype(x.dtype))
    constant = -0.5 * DIM * np.log1p(-1 / N) - squares / (2 * (N - 1))

    def score() -> Array:
        gap = x - centre
        quadratic = np.einsum("ij,ij,j->i", gap, gap, inverse)
        linear = gap @ weight
        quadratic = quadratic if linear.ndim == 1 else quadratic[:, np.newaxis]
        return constant + (linear - quadratic / 2) * (N / (N - 1))

    return score


def bernoulli_in_numpy(x: Array, z: Array, p: Array) -> Score:
    flip = (1 - z).astype(x.dtype)
    constant = np.log(np.abs(1 - z - p)).sum()

    def score() -> Array:
        gap = np.subtract(flip, x)
        np.abs(gap, out=gap)
        np.log(gap, out=gap)
        return gap.sum(axis=1) - constant

    return score


def paired_bernoulli_in_numpy(x: Array, z: Array, p: Array) -> Score:
    ones, zeros = np.log(p), np.log1p(-p)

    def score() -> Array:
        gap = np.where(z, x, 1 - x)
        np.log(gap, out=gap)
        return gap.sum(axis=1) - np.where(z, ones, zeros).sum(axis=1)

    return score


def workloads(dtype: type) -> None:
    """Time all workloads with observed means of one dtype."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.25, 0.75, DIM)
    variance = p * (1 - p)
    reference = Reference(p, variance)
    x = (rng.binomial(N, p, size=(ROUNDS, DIM)) / N).astype(dtype)
    z = (rng.random((64, DIM)) < p).astype(np.float64)
    each = rng.random((ROUNDS, DIM)) < p
    limit = read_seconds(x)
    name, error = np.dtype(dtype).name, 1e-9 if dtype is np.float64 else 3e-4

    def row(title: str, ours: Score, theirs: Score, *, read: float | None, note: str = "") -> None:
        compare(f"{title}, {name}", ours, theirs, same=agree(error), limit=read, note=note)

    for k, targets in ((1, z[0]), (64, z)):
        read, plural = (limit, "target") if k == 1 else (None, "targets")
        lost = digits(x, targets, reference, linear_in_numpy(x, targets, p, variance))
        row(
            f"W1 covariance_score, {k} {plural}",
            lambda z=targets: scores.covariance_score(x, z, reference, N),
            linear_in_numpy(x, targets, p, variance),
            read=read,
            note=f"numpy: {'gemv' if k == 1 else 'X @ W'}, {lost}",
        )
        gaussian = gaussian_in_numpy(x, targets, p, variance)
        row(
            f"W2 gaussian_llr, {k} {plural}",
            lambda z=targets: scores.gaussian_llr(x, z, reference, N),
            gaussian,
            read=read,
            note=gaussian_digits(x, targets, reference, gaussian),
        )
    row(
        "W3 bernoulli_llr, 1 target",
        lambda: scores.bernoulli_llr(x, z[0], p),
        bernoulli_in_numpy(x, z[0], p),
        read=limit,
        note="numpy: log|1 - z - x| in place",
    )
    row(
        "W3 bernoulli_llr, a target a release (bool)",
        lambda: scores.bernoulli_llr(x, each, p, paired=True),
        paired_bernoulli_in_numpy(x, each, p),
        read=limit + read_seconds(each.view(np.float64)),
        note="numpy: where, log in place",
    )


def many_bernoulli_in_numpy(x: Array, z: Array, p: Array) -> Score:
    bits, ones, zeros = z.T.copy(), np.log(p), np.log1p(-p)

    def score() -> Array:
        one, zero = np.log(x), np.log1p(-x)
        one -= ones
        zero -= zeros
        one -= zero
        return one @ bits + zero.sum(axis=1, keepdims=True)

    return score


def homer_in_numpy(x: Array, z: Array, p: Array) -> Score:
    def score() -> Array:
        result, gap = np.empty((len(x), len(z))), np.empty_like(x)
        for k, target in enumerate(z):
            np.abs(np.subtract(target, x, out=gap), out=gap)
            result[:, k] = np.abs(target - p).sum() - gap.sum(axis=1)
        return result

    return score


def glir_in_numpy(x: Array, z: Array, reference: Reference, n: int) -> Score:
    inverse, dim = 1 / reference.variances, reference.dim
    centre = n * ((z - reference.mean) ** 2 @ inverse)

    def score() -> Array:
        gap = x[:, np.newaxis] - z
        return -np.log(
            special.chndtr(n * np.einsum("tkj,tkj,j->tk", gap, gap, inverse), dim, centre)
        )

    return score


def one_release() -> None:
    """Time one release against many targets, which are read once."""
    rng = np.random.default_rng(3)
    mean, variance = rng.normal(size=DIM), rng.uniform(0.5, 2.0, DIM)
    x, targets = mean + rng.normal(size=DIM) / 30, mean + rng.normal(size=(ROUNDS, DIM))
    reference, gap, shares = Reference(mean, variance), x - mean, 1 / variance
    centre, limit = -0.5 * DIM * np.log1p(-1 / N), read_seconds(targets)

    def gaussian() -> Array:
        away = targets - mean
        own = np.einsum("ij,ij,j->i", away, away, shares) / (2 * (N - 1))
        shared = centre - gap**2 @ shares * N / (2 * (N - 1))
        return away @ (gap * shares) * (N / (N - 1)) - own + shared

    compare(
        "scalar_product, 1 by 2000 targets",
        lambda: scores.scalar_product(x, targets, mean),
        lambda: targets @ x - mean @ x,
        same=agree(1e-9),
        limit=limit,
        note="numpy: gemv, not centred",
    )
    compare(
        "gaussian_llr, 1 by 2000 targets",
        lambda: scores.gaussian_llr(x, targets, reference, N),
        gaussian,
        same=agree(1e-9),
        limit=limit,
        note="numpy: einsum",
    )


def two_threads() -> None:
    """Wall seconds with one thread and with two, in turn; the limit is a BLAS product of halves."""
    x = np.random.default_rng(4).normal(size=(4000, DIM)).astype(np.float32)
    reference, target = Reference(np.zeros(DIM), np.ones(DIM)), np.ones(DIM)
    ones = np.ones(DIM, dtype=x.dtype)
    ours, limit = {1: np.inf, 2: np.inf}, {1: np.inf, 2: np.inf}
    with ThreadPoolExecutor(2) as pool:
        for _ in range(15):
            for threads in (1, 2):
                leakscore.set_num_threads(threads)
                start = time.perf_counter()
                scores.gaussian_llr(x, target, reference, N)
                ours[threads] = min(ours[threads], time.perf_counter() - start)
                start = time.perf_counter()
                list(pool.map(lambda part: part @ ones, np.array_split(x, threads)))
                limit[threads] = min(limit[threads], time.perf_counter() - start)
    leakscore.set_num_threads(1)
    for name, wall in (("gaussian_llr", ours), ("a BLAS product", limit)):
        print(
            f"    {name} of 4000 x 5000 float32: {1e3 * wall[1]:.2f} ms of wall time with one "
            f"thread, {1e3 * wall[2]:.2f} ms with two ({wall[1] / wall[2]:.2f})"
        )


def many_targets() -> None:
    """Time what takes one target after the other."""
    rng = np.random.default_rng(2)
    p = rng.uniform(0.25, 0.75, DIM)
    for releases, targets in ((200, 64), (1, 2000)):
        x = rng.binomial(N, p, size=(releases, DIM)) / N
        bits = np.floor(rng.binomial(2, p, size=(targets, DIM)) / 2.0)
        logs = many_bernoulli_in_numpy(x, bits, p)
        compare(
            f"bernoulli_llr, {releases} by {targets} targets",
            lambda x=x, bits=bits: scores.bernoulli_llr(x, bits, p),
            logs,
            same=agree(1e-9),
            limit=None if releases > 1 else read_seconds(bits),
            note=f"{bernoulli_digits(x, bits, p, logs)}; ours checks the targets too",
        )
    x, z = rng.binomial(N, p, size=(200, DIM)) / N, rng.binomial(2, p, size=(64, DIM)) / 2.0
    compare(
        "homer_distance, 200 by 64 targets",
        lambda: scores.homer_distance(x, z, p),
        homer_in_numpy(x, z, p),
        same=agree(1e-9),
    )
    known = Reference(np.zeros(30), np.ones(30))
    for releases, targets in ((1, 5000), (500, 10)):
        x, z = rng.normal(size=(releases, 30)) / 10, rng.normal(size=(targets, 30))
        compare(
            f"glir, d = 30, {releases} by {targets} targets",
            lambda x=x, z=z: scores.glir(x, z, known, 100),
            glir_in_numpy(x, z, known, 100),
            same=agree(1e-9),
            note="numpy: einsum, scipy: chndtr",
        )


def small_calls() -> None:
    """CPU time of one call with 30 coordinates: what the Python side costs."""
    rng = np.random.default_rng(1)
    p, z = rng.uniform(0.25, 0.75, 30), rng.integers(0, 2, 30).astype(np.float64)
    x, reference = rng.uniform(0.25, 0.75, 30), Reference(p, p * (1 - p))
    for name, call in {
        "covariance_score": lambda: scores.covariance_score(x, z, reference, N),
        "gaussian_llr": lambda: scores.gaussian_llr(x, z, reference, N, noise_std=0.1),
        "bernoulli_llr": lambda: scores.bernoulli_llr(x, z, p),
        "scalar_product": lambda: scores.scalar_product(x, z, p),
    }.items():
        best = np.inf
        for _ in range(9):
            start = time.process_time()
            for _ in range(2000):
                call()
            best = min(best, (time.process_time() - start) / 2000)
        print(f"{name + ', one release of 30 coordinates':44s} {1e6 * best:8.1f} us a call")


def run() -> None:
    """Print the table."""
    for dtype in (np.float64, np.float32):
        workloads(dtype)
    one_release()
    many_targets()
    small_calls()
    two_threads()
