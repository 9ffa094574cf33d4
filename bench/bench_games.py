"""Rounds of the membership game beside the fastest way to draw the same law with numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench._harness import compare, timed
from leakscore.games import (
    Batches,
    Bernoulli,
    Empirical,
    EmpiricalMean,
    Gaussian,
    Training,
    dpsgd,
    fixed_target,
    sequential,
)
from leakscore.games.projections import Projections

Game = Callable[[], tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]


def same_law(ours: Any, reference: Any) -> None:
    """Both hypotheses' outputs have the same mean and variance per coordinate, to 6 errors."""
    for side in (True, False):
        a, b = (outputs[member == side] for outputs, member in (ours, reference))
        spread = a.var(axis=0) / len(a) + b.var(axis=0) / len(b) + 1e-300
        assert np.all((a.mean(axis=0) - b.mean(axis=0)) ** 2 < 36 * spread)
        error = np.sqrt(2 / len(a) + 2 / len(b))
        # The average over coordinates, which may be as good as one if they are correlated.
        assert abs(np.mean(a.var(axis=0) / b.var(axis=0)) - 1) < 6 * error


def write_seconds(rounds: int, dim: int) -> float:
    """Write the outputs once: the floor of every sampler."""
    out = np.empty((rounds, dim))
    return min(timed(lambda: out.fill(1.0))[0] for _ in range(7))


def bernoulli(rounds: int, n: int, dim: int) -> tuple[Game, Game]:
    """Binomial counts: for numpy one array for each hypothesis."""
    rng = np.random.default_rng(0)
    p, z = rng.uniform(0.25, 0.75, dim), rng.integers(0, 2, dim).astype(float)

    def reference() -> Any:
        member = rng.random(rounds) < 0.5
        outputs = np.empty((rounds, dim))
        inside = int(member.sum())
        outputs[member] = (z + rng.binomial(n - 1, p, size=(inside, dim))) / n
        outputs[~member] = rng.binomial(n, p, size=(rounds - inside, dim)) / n
        return outputs, member

    population, mechanism = Bernoulli(p), EmpiricalMean(n)
    return lambda: fixed_target(population, z, mechanism, rounds, rng), reference


def gaussian(rounds: int, n: int, dim: int) -> tuple[Game, Game]:
    """Normals, scaled and shifted in place, the members' rows differently."""
    rng = np.random.default_rng(0)
    mu, variance, z = rng.normal(size=dim), rng.uniform(1, 2, dim), rng.normal(size=dim)
    scale = np.stack([np.sqrt(variance / n), np.sqrt(variance * (n - 1)) / n])
    offset = np.stack([mu, (z + (n - 1) * mu) / n])

    def reference() -> Any:
        member = rng.random(rounds) < 0.5
        outputs = rng.standard_normal((rounds, dim))
        for row, inside in zip(outputs, member.astype(int), strict=True):
            row *= scale[inside]
            row += offset[inside]
        return outputs, member

    population, mechanism = Gaussian(mu, variance), EmpiricalMean(n)
    return lambda: fixed_target(population, z, mechanism, rounds, rng), reference


def correlated(rounds: int, n: int, dim: int) -> tuple[Game, Game]:
    """White normals times a Cholesky factor: both by BLAS."""
    rng = np.random.default_rng(0)
    factor = np.tril(rng.normal(size=(dim, dim)) / np.sqrt(dim)) + np.eye(dim)
    cov, z = factor @ factor.T, rng.normal(size=dim)

    def reference() -> Any:
        member = rng.random(rounds) < 0.5
        outputs = rng.standard_normal((rounds, dim)) @ factor.T
        outputs *= np.where(member, np.sqrt(n - 1) / n, 1 / np.sqrt(n))[:, None]
        outputs[member] += z / n
        return outputs, member

    population, mechanism = Gaussian(np.zeros(dim), cov), EmpiricalMean(n)
    return lambda: fixed_target(population, z, mechanism, rounds, rng), reference


def table(rounds: int, n: int, rows: int, dim: int, *, replace: bool) -> tuple[Game, Game]:
    """Rows of a table: for numpy counts of drawn rows times the table, or sums of few rows."""
    rng = np.random.default_rng(0)
    X, z = rng.normal(size=(rows, dim)), rng.normal(size=dim)

    def counts(number: int) -> Any:
        if replace:
            return np.bincount(rng.integers(0, rows, number), minlength=rows)
        taken = np.zeros(rows)
        taken[rng.permutation(rows)[:number]] = 1
        return taken

    def reference() -> Any:
        member = rng.random(rounds) < 0.5
        if 8 * n < rows:
            sums = [X[rng.integers(0, rows, n - inside)].sum(axis=0) for inside in member]
            outputs = np.stack(sums)
        else:
            drawn = np.empty((rounds, rows))
            for row, inside in zip(drawn, member, strict=True):
                row[:] = counts(n - int(inside))
            outputs = drawn @ X
        outputs[member] += z
        outputs /= n
        return outputs, member

    population, mechanism = Empirical(X, replace=replace), EmpiricalMean(n)
    return lambda: fixed_target(population, z, mechanism, rounds, rng), reference


def growing(rounds: int, n: int, steps: int, dim: int) -> tuple[Game, Game]:
    """Means of a table that grows by batches; the target in the middle one."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=dim)
    counts = np.arange(1.0, steps + 1.0)[:, None]

    def reference() -> Any:
        member = rng.random(rounds) < 0.5
        outputs = rng.standard_normal((rounds, steps, dim))
        outputs /= np.sqrt(n)
        batch = outputs[:, steps // 2]
        batch[member] = batch[member] * np.sqrt((n - 1) / n) + z / n
        np.cumsum(outputs, axis=1, out=outputs)
        outputs /= counts
        return outputs, member

    population = Gaussian(np.zeros(dim), np.ones(dim))
    return lambda: sequential(population, z, n, steps, steps // 2, rounds, rng)[:2], reference


def trained(rounds: int, n: int, steps: int, dim: int) -> tuple[Game, Game]:
    """DP-SGD of a linear regression on rows of a table, all rounds of a block at once.

    A record's gradient is its residual times its inputs, whose lengths are found once.
    """
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(5000, dim))
    table_ = np.column_stack([inputs, inputs.sum(axis=1) + rng.normal(size=5000)])
    z, rate, clip, noise = rng.normal(size=dim + 1), 0.1, 2.0, 1.0
    with_z = np.vstack([table_, z])
    lengths = np.linalg.norm(with_z[:, :-1], axis=1)

    def reference() -> Any:
        member = rng.random(rounds) < 0.5
        outputs = np.zeros((rounds, steps + 1, dim))
        for first in range(0, rounds, 100):
            theta = outputs[first : first + 100, 0]
            for t in range(steps):
                drawn = rng.integers(0, 5000, (len(theta), n))
                if t == 0:
                    drawn[member[first : first + 100], 0] = 5000
                records = with_z.take(drawn, axis=0)
                x = records[..., :-1]
                residual = (x @ theta[..., None])[..., 0] - records[..., -1]
                norm = np.abs(residual) * lengths[drawn]
                residual *= clip / np.maximum(norm, clip)
                gradient = (residual[:, None, :] @ x)[:, 0]
                gradient += clip * noise * rng.standard_normal(theta.shape)
                theta = theta - rate / n * gradient
                outputs[first : first + 100, t + 1] = theta
        return outputs[:, 1:], member

    training = Training("linear", n, steps, rate, clip=clip, noise_multiplier=noise)

    def ours() -> Any:
        theta, member, _ = dpsgd(Empirical(table_), z, training, 0, rounds, rng)
        return theta[:, 1:], member

    return ours, reference


def batched(rounds: int, size: int, steps: int, rate: float) -> tuple[Game, Game]:
    """DP-SGD on Poisson batches of one data set; for numpy a mask of all records in every step."""
    rng = np.random.default_rng(0)
    dim, clip, noise = 10, 2.0, 1.0
    inputs = rng.normal(size=(size, dim))
    table_ = np.column_stack([inputs, inputs.sum(axis=1) + rng.normal(size=size)])
    z, n = rng.normal(size=dim + 1), max(2, round(rate * size))

    def reference() -> Any:
        member = rng.random(rounds) < 0.5
        outputs = np.zeros((rounds, steps + 1, dim))
        records = np.vstack([table_, z])
        x, y = records[:, :-1], records[:, -1]
        lengths = np.sqrt(np.einsum("ni,ni->n", x, x))
        for t in range(steps):
            theta = outputs[:, t]
            residual = theta @ x.T - y
            residual *= clip / np.maximum(np.abs(residual) * lengths, clip)
            drawn = rng.random(residual.shape) < rate
            drawn[:, -1] &= member
            gradient = (residual * drawn) @ x
            gradient += clip * noise * rng.standard_normal(theta.shape)
            outputs[:, t + 1] = theta - 0.1 / n * gradient
        return outputs[:, 1:], member

    training = Training("linear", n, steps, 0.1, clip=clip, noise_multiplier=noise)
    scheme = Batches("poisson", sample_rate=rate)

    def ours() -> Any:
        theta, member, _ = dpsgd(Empirical(table_, replace=False), z, training, scheme, rounds, rng)
        return theta[:, 1:], member

    return ours, reference


def projections(rounds: int, size: int) -> tuple[Game, Game]:
    """A table of one column, n of n: for numpy every record of every round."""
    rng = np.random.default_rng(0)
    values, z = rng.standard_t(5, size=size), 4.0

    def reference() -> Any:
        member = rng.random(rounds) < 0.5
        outputs = np.empty((rounds, 1))
        for output, inside in zip(outputs, member, strict=True):
            output[0] = values[rng.integers(0, size, size - inside)].sum() + inside * z
        return outputs / size, member

    population, mechanism = Projections(values[:, None]), EmpiricalMean(size)
    return lambda: fixed_target(population, [z], mechanism, rounds, rng), reference


def run() -> None:
    """Print the table."""
    for dim in (1, 50):
        ours, reference = growing(50_000, 10, 10, dim)
        limit = write_seconds(50_000, 10 * dim)
        name = f"growing table n=10 T=10 d={dim}, R=50000"
        compare(
            name,
            ours,
            reference,
            same=same_law,
            limit=limit,
            note="limit: writing the releases; over half of ours is drawing the normals",
        )
    ours, reference = trained(2000, 64, 10, 50)
    compare(
        "DP-SGD linear n=64 T=10 d=50, R=2000",
        ours,
        reference,
        same=same_law,
        repeats=5,
        note="numpy: take, matmul; lengths of the rows once",
    )
    ours, reference = batched(1000, 2000, 50, 0.02)
    compare("DP-SGD, Poisson batches of 2000 records, T=50", ours, reference, same=same_law)
    for rounds in (1000, 200):
        ours, reference = bernoulli(rounds, 1000, 5000)
        limit = write_seconds(rounds, 5000)
        compare(f"Bernoulli n=1000 d=5000, T={rounds}", ours, reference, same=same_law, limit=limit)
    ours, reference = bernoulli(1000, 100_000, 1000)
    compare("Bernoulli n=100000 d=1000, T=1000", ours, reference, same=same_law)
    ours, reference = bernoulli(1000, 10**8, 200)
    compare("Bernoulli n=1e8 d=200, T=1000 (rejection)", ours, reference, same=same_law)
    for rounds in (200, 1000):
        ours, reference = gaussian(rounds, 1000, 5000)
        limit = write_seconds(rounds, 5000)
        compare(
            f"Gaussian diagonal d=5000, T={rounds}", ours, reference, same=same_law, limit=limit
        )
    ours, reference = correlated(2000, 1000, 500)
    compare("Gaussian full d=500, T=2000", ours, reference, same=same_law)
    for replace in (True, False):
        name = f"table 569 x 30, n=300, T=10000, replace={replace}"
        ours, reference = table(10_000, 300, 569, 30, replace=replace)
        compare(name, ours, reference, same=same_law, repeats=5)
    ours, reference = table(500, 200, 20_000, 200, replace=True)
    compare("table 20000 x 200, n=200, T=500", ours, reference, same=same_law)
    for rounds, size in ((500, 100_000), (50, 1_000_000)):
        ours, reference = projections(rounds, size)
        name = f"{size} numbers by bins, n={size}, T={rounds}"
        compare(name, ours, reference, same=same_law, repeats=3)


if __name__ == "__main__":
    from bench._harness import HEADER

    print(HEADER)
    run()
