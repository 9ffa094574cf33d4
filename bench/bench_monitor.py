"""Audits that are watched: a round of a monitor, its memory, every size of one training."""

from __future__ import annotations

import resource
import subprocess
import sys
import warnings

import numpy as np

from bench._harness import timed
from leakscore.audit import Monitor, one_run
from leakscore.testing import check_private

ROUNDS = 20_000
MANY = 1_000_000
TARGETS = {"claim alone": 20.0, "200 epsilons": 200.0}  # microseconds a round


def played(rounds: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    member = rng.random(rounds) < 0.5
    return rng.normal(1.0 * member), member


def memory() -> None:
    """Print the MiB that a monitor of a million rounds adds; in a process of its own."""
    scores, member = played(MANY)
    monitor = Monitor((1.0, 1e-5), epsilons=())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for start in range(0, MANY, ROUNDS):
        part = slice(start, start + ROUNDS)
        monitor.update(scores[part], member[part])
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print((after - before) / 1024, monitor.rounds, len(monitor.to_bytes()) / 2**20)


def run() -> None:
    scores, member = played(ROUNDS)
    for name, epsilons in (("claim alone", ()), ("200 epsilons", None)):
        for label, cut in (("in one update", ROUNDS), ("in updates of one round", 1)):
            monitor = Monitor((1.0, 1e-5), epsilons=epsilons)
            parts = [slice(start, start + cut) for start in range(0, ROUNDS, cut)]

            def update(monitor: Monitor = monitor, parts: list[slice] = parts) -> None:
                for part in parts:
                    monitor.update(scores[part], member[part])

            cost = timed(update)[0] / ROUNDS * 1e6
            print(f"a round, {name}, {label}: {cost:.1f} us (target {TARGETS[name]:g})")
    code = "from bench.bench_monitor import memory; memory()"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    taken, rounds, saved = map(float, found.stdout.split())
    print(f"{rounds:.0f} rounds: {taken:.0f} MiB more at most (target 64), {saved:.2f} MiB saved")
    for m in (1000, 100_000):
        canaries = played(m)
        seconds, bound = timed(lambda canaries=canaries: one_run(*canaries, k="all", delta=1e-9))
        print(f"one run, every size, {m} canaries: {seconds:.2f} s (target 1), {bound.epsilon:g}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, check = timed(
            lambda: check_private(lambda x, _: x, 0, 0, claim=(1.0, 0.0), rounds=6000)
        )
        print(f"a check of equal outputs: {seconds:.2f} s, {check.rounds} rounds")
        seconds, check = timed(
            lambda: check_private(
                lambda x, rng: x + rng.laplace(), 0, 1, claim=(1.0, 0.0), rounds=6000
            )
        )
        print(f"a check of 6000 rounds: {seconds:.2f} s (target 60), {check.witness}")
