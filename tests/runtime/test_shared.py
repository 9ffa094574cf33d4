"""Threads that share a Reference or an Audit: each gets what it would get alone, to the last bit.

Objects are fresh, and all threads begin at once, so that they meet where something is computed on
first use and kept. With the GIL they switch every few microseconds; without it they run together.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np
import pytest

from leakscore import Reference, audit, leakage, scores, tradeoff

THREADS = 8
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(60, 12))
TARGETS = RNG.normal(size=(THREADS, 12))
MEANS = RNG.normal(size=(5, 12)) / 8
MEMBERS, NONMEMBERS = RNG.normal(1.0, 1.0, 1500), RNG.normal(size=1500)

Job = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def _switching() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


def together(shared: Any, jobs: list[Job]) -> list[Any]:
    """Run the jobs on one object, all at once."""
    barrier = threading.Barrier(len(jobs))

    def run(job: Job) -> Any:
        barrier.wait()
        return job(shared)

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))


def reference_jobs() -> list[Job]:
    """Return calls of which neighbours differ, each with a target of its own."""
    kinds: list[Callable[[Reference, Any], Any]] = [
        lambda r, z: r.squared_mahalanobis(z),
        lambda r, z: scores.gaussian_llr(MEANS, z, r, 20),
        lambda r, z: r.solve(z),
        lambda r, z: leakage.leakage_score(z, r, 20, noise_std=0.25),
    ]
    return [
        lambda r, job=kinds[i % 4], z=TARGETS[i]: [job(r, z) for _ in range(5)]
        for i in range(THREADS)
    ]


@pytest.mark.parametrize("cov", ["full", "diagonal", "low-rank"])
def test_threads_share_a_reference(cov: Literal["full", "diagonal", "low-rank"]) -> None:
    jobs = reference_jobs()
    expected = [job(Reference.fit(ROWS, cov=cov, shrinkage=0.1)) for job in jobs]
    for _ in range(12):
        found = together(Reference.fit(ROWS, cov=cov, shrinkage=0.1), jobs)
        for mine, alone in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine, alone)


def test_threads_that_use_different_noise_do_not_meet() -> None:
    """A low-rank reference keeps sums with the last noises: another thread may ask for others."""
    stds = [0.1 * (1 + i) for i in range(THREADS)]
    jobs: list[Job] = [
        lambda r, s=s: [leakage.leakage_score(TARGETS, r, 20, noise_std=s) for _ in range(4)]
        for s in stds
    ]
    expected = [job(Reference.fit(ROWS, cov="low-rank", shrinkage=0.1)) for job in jobs]
    for _ in range(8):
        found = together(Reference.fit(ROWS, cov="low-rank", shrinkage=0.1), jobs)
        np.testing.assert_array_equal(found, expected)


def test_threads_that_score_different_targets_do_not_meet() -> None:
    """It keeps the weights of the last target, too."""
    jobs: list[Job] = [
        lambda r, z=z: [scores.gaussian_llr(MEANS[0], z, r, 20) for _ in range(60)] for z in TARGETS
    ]
    expected = [job(Reference.fit(ROWS, cov="low-rank", shrinkage=0.1)) for job in jobs]
    for _ in range(8):
        found = together(Reference.fit(ROWS, cov="low-rank", shrinkage=0.1), jobs)
        np.testing.assert_array_equal(found, expected)


def test_threads_share_an_audit() -> None:
    methods = ["weighted-ell", "ell", "dkw", "berk-jones", "ks"]
    jobs: list[Job] = [
        lambda a, m=methods[i % 5], i=i: (
            a.epsilon(1e-5, method=m).epsilon,
            a.compare(tradeoff.gaussian(0.3), confidence=0.9 + 0.01 * i).margin,
            a.auc(),
            a.mu().mu,
        )
        for i in range(THREADS)
    ]
    expected = [job(audit.Audit(MEMBERS, NONMEMBERS)) for job in jobs]
    for _ in range(5):
        assert together(audit.Audit(MEMBERS, NONMEMBERS), jobs) == expected


def test_threads_draw_games_of_their_own_seeds() -> None:
    from leakscore import games

    population = games.Empirical(ROWS)
    jobs: list[Job] = [
        lambda p, seed=seed: games.fixed_target(p, TARGETS[0], games.EmpiricalMean(9), 300, seed)[0]
        for seed in range(THREADS)
    ]
    expected = [job(population) for job in jobs]
    for mine, alone in zip(together(population, jobs), expected, strict=True):
        np.testing.assert_array_equal(mine, alone)
