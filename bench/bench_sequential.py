"""Steps of many trainings and updates of many tables: ratios beside numpy, error rates by the call.

1000 rounds of 10 steps of 7850 float32 gradients, a law and a target a step (DP-SGD); 50,000 rounds
of 10 batches of 10 records (the paper's figure 2) from the cumulative means on; trainings of 1000
steps whose ratios are joined where the steps are hidden.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench._harness import allclose, compare, read_seconds
from leakscore import Reference, sequential

Array = np.ndarray[Any, Any]
STEPS = 10


def ratios_in_numpy(
    gradients: Array, targets: Array, means: Array, variances: Array, n: int, noise: float
) -> Callable[[], Array]:
    """Return the best of numpy for independent coordinates: an einsum a step, constants once."""
    shift = targets - means
    own, out = (n - 1) / n**2 * variances + noise**2, variances / n + noise**2
    linear, quadratic = shift / (n * own), 0.5 * (1 / own - 1 / out)
    constant = (0.5 * np.log(out / own) - 0.5 * shift**2 / (n**2 * own)).sum(axis=-1)

    def score() -> Array:
        result = np.empty(gradients.shape[:2])
        for t in range(gradients.shape[1]):
            away = gradients[:, t] - means[t]
            squares = np.einsum("ij,ij,j->i", away, away, quadratic[t])
            result[:, t] = away @ linear[t] - squares + constant[t]
        return result

    return score


def trainings() -> None:
    """Score averaged gradients, and parameters."""
    rng = np.random.default_rng(0)
    rounds, dim, n, noise = 1000, 7850, 64, 0.01
    gradients = rng.standard_normal((rounds, STEPS, dim), dtype=np.float32)
    targets, means = rng.normal(size=(2, STEPS, dim))
    variances = rng.uniform(0.5, 1.5, (STEPS, dim))
    known = [Reference(mean, variance) for mean, variance in zip(means, variances, strict=True)]
    compare(
        "gradient_llr, 1000 x 10 x 7850 float32",
        lambda: sequential.gradient_llr(gradients, targets, known, n, noise_std=noise),
        ratios_in_numpy(gradients, targets, means, variances, n, noise),
        same=allclose(1e-9, 1e-6),
        limit=read_seconds(gradients),
        repeats=3,
        note="numpy: einsum a step",
    )
    theta = np.cumsum(np.concatenate([gradients[:, :1], -0.1 * gradients], axis=1), axis=1)

    def differences() -> Array:
        made = (theta[:, :-1].astype(np.float64) - theta[:, 1:]) / 0.1
        return ratios_in_numpy(made, targets, means, variances, n, noise)()

    compare(
        "sgd_llr, 1000 x 11 x 7850 float32",
        lambda: sequential.sgd_llr(theta, targets, known, 0.1, n, noise_std=noise),
        differences,
        same=allclose(1e-9, 1e-6),
        limit=read_seconds(theta),
        repeats=3,
        note="numpy: differences, einsum",
    )


def updates() -> None:
    """Score the batches behind cumulative means, every step and all steps as one."""
    rng = np.random.default_rng(1)
    rounds, n = 50_000, 10
    for dim in (1, 10, 50):
        batches = rng.normal(size=(rounds, STEPS, dim)) / np.sqrt(n)
        weights = np.arange(1.0, STEPS + 1)[:, np.newaxis]
        means = np.cumsum(batches, axis=1) / weights
        target, known = np.full(dim, 3 / np.sqrt(dim)), Reference(np.zeros(dim), np.ones(dim))

        def ours(means: Array = means, target: Array = target, known: Any = known) -> Array:
            llr = sequential.gradient_llr(means, target, known, n, cumulative=True)
            uniform: Array = sequential.semi_uniform(llr)
            return uniform

        def theirs(means: Array = means, target: Array = target, weights: Array = weights) -> Array:
            batches = np.diff(means * weights, axis=1, prepend=0.0)
            away = batches - target
            squares = np.einsum("ijk,ijk->ij", away, away)
            largest = 0.5 * (9.0 - target.size * np.log1p(-1 / n))
            llr = largest - n / (2 * (n - 1)) * squares
            top = llr.max(axis=1)
            return np.log(np.exp(llr - top[:, np.newaxis]).mean(axis=1)) + top

        compare(
            f"from cumulative means to semi_uniform, d = {dim}",
            ours,
            theirs,
            same=allclose(1e-9, 1e-9),
            limit=read_seconds(means),
            repeats=3,
            note="50,000 x 10; numpy: einsum",
        )


def hidden_steps() -> None:
    """Score 2000 trainings of 1000 steps whose steps are hidden, from the ratios of the steps."""
    rng = np.random.default_rng(3)
    llr = rng.normal(size=(2000, 1000))

    def mean_in_numpy(of: Array) -> Array:
        top = of.max(axis=-1, keepdims=True)
        return np.log(np.exp(of - top).mean(axis=-1)) + top[..., 0]

    def sets_in_numpy() -> Array:
        """Means over sets of up to 10 steps, all trainings at once; plain doubles hold these."""
        ratios, means = np.exp(llr).T, np.zeros((11, len(llr)))
        means[0] = 1.0
        share = np.arange(1.0, 11.0)[:, np.newaxis]
        for t, ratio in enumerate(ratios, 1):
            with_it = means[:-1] * (share / t) * ratio
            means[1:] *= np.maximum(1.0 - share / t, 0.0)
            means[1:] += with_it
        return np.asarray(np.log(means[10]))

    def allocated(**given: Any) -> Callable[[], Array]:
        return lambda: np.asarray(sequential.allocation_llr(llr, **given))

    epochs = llr.reshape(-1, 10, 100)
    cases: dict[str, tuple[Callable[[], Array], Callable[[], Array]]] = {
        "allocation_llr, 1 of 1000": (allocated(), lambda: mean_in_numpy(llr)),
        "allocation_llr, 1 of 100, 10 epochs": (
            allocated(num_epochs=10),
            lambda: mean_in_numpy(epochs).sum(axis=-1),
        ),
        "allocation_llr, 10 of 1000": (allocated(selected=10), sets_in_numpy),
        "poisson_llr, rate 0.01": (
            lambda: np.asarray(sequential.poisson_llr(llr, 0.01)),
            lambda: np.log1p(0.01 * np.expm1(llr)).sum(axis=-1),
        ),
    }
    for name, (ours, theirs) in cases.items():
        compare(
            name,
            ours,
            theirs,
            same=allclose(1e-9, 1e-9),
            limit=read_seconds(llr),
            repeats=3,
            note="2000 trainings",
        )


def calls() -> None:
    """CPU time of single calls that have no counterpart in numpy."""
    rng = np.random.default_rng(2)
    many = 2 * rng.normal(size=10_000)
    thin = Reference.low_rank(np.zeros(10**6), 0.5, rng.normal(size=(10**6, 20)))
    wide = rng.normal(size=(1, STEPS, 10**6))
    spectrum = Reference(np.zeros(7850), rng.uniform(0.5, 1.5, 7850))
    gradient = rng.normal(size=7850) / 30
    prior = np.arange(1.0, 10_001) / np.arange(1.0, 10_001).sum()
    sequential.gradient_llr(wide, wide[0], thin, 64, noise_std=0.01)  # factorise once
    for name, call in {
        "error_rates, 10,000 thresholds": lambda: sequential.error_rates(many, 9.0, 10, 5),
        "uniform_error_rates, 5 steps": lambda: sequential.uniform_error_rates(0.5, 9.0, 10, 1, 5),
        "uniform_error_rates, 50 steps": lambda: sequential.uniform_error_rates(
            0.4, 9.0, 10, 1, 50
        ),
        "uniform_error_rates, 20,000 steps": lambda: sequential.uniform_error_rates(
            0.04, 9.0, 10, 1, 20_000
        ),
        "uniform_error_rates, 100,000 steps": lambda: sequential.uniform_error_rates(
            0.02, 9.0, 10, 1, 100_000
        ),
        "uniform_error_rates, 10,000 probabilities": lambda: sequential.uniform_error_rates(
            0.05, 9.0, 10, 1, 10_000, prior
        ),
        "dpsgd_error_rates, 7850 eigenvalues": lambda: sequential.dpsgd_error_rates(
            [0.0, 1.0], gradient, spectrum, 64, 0.1
        ),
        "dpsgd_error_rates, d = 1e6, rank 20": lambda: sequential.dpsgd_error_rates(
            0.0, wide[0, 0] / 1000, thin, 64, 0.1
        ),
        "gradient_llr, 10 steps, d = 1e6, rank 20": lambda: sequential.gradient_llr(
            wide, wide[0], thin, 64, noise_std=0.01
        ),
    }.items():
        best = np.inf
        for _ in range(3):
            start = time.process_time()
            call()
            best = min(best, time.process_time() - start)
        print(f"{name:44s} {1e3 * best:9.2f} ms")


def run() -> None:
    """Print the table."""
    trainings()
    updates()
    hidden_steps()
    calls()
