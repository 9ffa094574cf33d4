"""Critical counts of the sorted-bits test: one convolution after the other, with numpy and scipy.

And times of bounds, by this test and by that of four outcomes.

The search for the level is the same on both sides: bisection over 2^(-i/16), from where the last
epsilon ended.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import binom

from bench._harness import compare, timed
from leakscore import _core
from leakscore.audit import Audit

MISS = 0.025
Array = np.ndarray[Any, Any]


def crossing(sizes: Array, critical: Array, exposed: Array, q: float, steps: list[Array]) -> float:
    """Convolve the law of min(F, g) + W from one size to the next, critical counts taken out."""
    crossed, f = 0.0, 1
    law = exposed[:1]
    for size, least, step in zip(sizes, critical, steps, strict=True):
        law = np.convolve(law, step)
        while f < exposed.size and f <= size:
            law[f:] += exposed[f] * binom.pmf(np.arange(size - f + 1), size - f, q)[: law.size - f]
            f += 1
        if least <= size:
            crossed += exposed[f:].sum()
            f = exposed.size
        crossed += law[least:].sum()
        law = law[:least]
    return float(crossed)


def numpy_critical(rounds: int, delta: float, epsilons: Array) -> Array:
    sizes = _core.sorted_bits_grid(rounds)
    exposed = binom.pmf(np.arange(8), rounds, delta / 2)
    rows, start = [], 32
    for epsilon in epsilons:
        q = 1 / (1 + np.exp(-epsilon))
        widths = np.diff(sizes, prepend=0)
        steps = [binom.pmf(np.arange(width + 1), width, q) for width in widths]

        def counts(i: int, q: float = q) -> Array:
            return binom.isf(MISS * 2 ** (-i / 16), sizes, q).astype(np.int64) + 1

        def holds(i: int, q: float = q, steps: list[Array] = steps) -> bool:
            return crossing(sizes, counts(i), exposed, q, steps) <= MISS

        while not holds(start):
            start += 1
        while start > 0 and holds(start - 1):
            start -= 1
        rows.append(counts(start))
    return np.array(rows)


def run() -> None:
    for rounds in (200, 2000, 20_000):
        epsilons = np.arange(50, 60) / 100
        compare(
            f"critical counts, {rounds} rounds, 10 epsilons",
            lambda rounds=rounds, epsilons=epsilons: _core.sorted_bits_critical(
                rounds, 0.02 / rounds, MISS, epsilons
            ),
            lambda rounds=rounds, epsilons=epsilons: numpy_critical(
                rounds, 0.02 / rounds, epsilons
            ),
            same=np.testing.assert_array_equal,
            repeats=3,
        )
    rng = np.random.default_rng(3)
    for rounds in (200, 2000, 100_000):
        bits = rng.random(rounds) < 0.5
        audit = Audit.from_rounds(rng.normal(bits), bits, random_bits=True)
        times = [
            timed(lambda a=audit, r=rounds: a.epsilon(0.03 / r, method="sorted-bits"))[0]
            for _ in range(9)
        ]
        print(f"    {rounds} rounds: first call {times[0]:.3f} s, next {1e3 * min(times):.2f} ms")
    for rounds in (500, 2000, 10_000, 20_000):
        members, others = rng.normal(1.0, 1.0, rounds // 2), rng.normal(0.0, 1.0, rounds // 2)
        audit = Audit(members, others)
        seconds = timed(lambda a=audit: a.epsilon(method="four-outcomes"))[0]
        print(f"    four outcomes, {rounds} rounds: {seconds:.3f} s")
