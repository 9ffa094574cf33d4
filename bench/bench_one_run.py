"""Audits with one training, beside numpy and scipy."""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy import optimize, stats

from bench._harness import allclose, compare, timed
from leakscore.audit import Audit, one_run, one_run_fdp
from leakscore.tradeoff import gaussian, laplace

DELTA = 1e-9


def numpy_one_run(scores: np.ndarray, included: np.ndarray, k: int) -> float:
    """Count with two partitions, and solve with scipy's tails."""
    m = scores.size
    correct = int(included[np.argpartition(scores, m - k)[m - k :]].sum())
    correct += int((~included[np.argpartition(scores, k)[:k]]).sum())

    def excess(epsilon: float) -> float:
        share = 1 / (1 + math.exp(-epsilon))
        return float(stats.binom.sf(correct - 1, 2 * k, share)) + (1 - share) * m * DELTA - 0.05

    return float(optimize.brentq(excess, 0.0, 20.0, xtol=1e-12))


def scipy_one_run_fdp(scores: np.ndarray, included: np.ndarray, k: int) -> float:
    """Walk down guess by guess with scipy's special functions, and solve for mu."""
    from scipy.special import ndtr, ndtri

    m, made = scores.size, 2 * k
    order = np.argsort(scores)
    correct = int(included[order[m - k :]].sum() + (~included[order[:k]]).sum())

    def excess(mu: float) -> float:
        right, wrong = 0.05 * correct / m, 0.05 * (made - correct) / m
        for i in range(correct - 1, -1, -1):
            above = max(wrong, float(ndtr(ndtri(right) - mu)))
            if above == wrong:
                break
            right = min(right + i / (made - i) * (above - wrong), 1.0)
            wrong = above
        return right + wrong - made / m

    return float(optimize.brentq(excess, 0.0, 20.0, xtol=1e-12))


def run() -> None:
    rng = np.random.default_rng(9)
    for m in (1000, 100_000, 1_000_000):
        included = rng.random(m) < 0.5
        scores = rng.normal(2.0 * included)
        k = m // 10
        compare(
            f"one run: {m} canaries, {2 * k} guesses",
            lambda scores=scores, included=included, k=k: float(
                one_run(scores, included, k, k, DELTA)
            ),
            lambda scores=scores, included=included, k=k: numpy_one_run(scores, included, k),
            same=allclose(1e-8),
            limit=timed(functools.partial(np.sort, scores))[0],
            repeats=9 if m < 1_000_000 else 3,
            note="limit: one sort of numpy's",
        )
        if m > 100_000:
            continue
        compare(
            f"one run, mu-GDP: {m} canaries, {2 * k} guesses",
            lambda scores=scores, included=included, k=k: float(
                one_run_fdp(scores, included, k, k, gaussian)
            ),
            lambda scores=scores, included=included, k=k: scipy_one_run_fdp(scores, included, k),
            same=allclose(1e-8),
            repeats=5,
            note="ours also searches the largest mu",
        )
        seconds, _ = timed(
            lambda scores=scores, included=included, k=k: one_run_fdp(
                scores, included, k, k, laplace
            )
        )
        print(f"    the same for the family of Laplace curves, along lines: {1e3 * seconds:.1f} ms")
    members, nonmembers = rng.normal(1.0, 1.0, 1_000_000), rng.normal(0.0, 1.0, 1_000_000)
    audit = Audit(members, nonmembers)
    for method in ("split", "credible"):
        seconds, _ = timed(lambda method=method: audit.epsilon(1e-5, method=method))
        print(f"    {method}, 1e6 + 1e6 scores, already sorted: {1e3 * seconds:.1f} ms")
