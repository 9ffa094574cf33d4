"""Slow and plain twins of batches: what is made of the words, and ratios by enumeration."""

from __future__ import annotations

from itertools import combinations
from math import ceil
from typing import Any

import mpmath as mp
import numpy as np

from leakscore.games import Batches
from tests.oracles.games import word

BATCH, KEPT = 8, 9


def shuffled(items: list[int], words: list[int]) -> list[int]:
    """Return the start of a Fisher-Yates shuffle: a place for each word."""
    order = list(items)
    for i, w in enumerate(words):
        j = i + (w * (len(order) - i) >> 64)
        order[i], order[j] = order[j], order[i]
    return order[: len(words)]


def drawn(key: Any, r: int, batches: Batches, present: bool, n: int, T: int) -> list[list[int]]:
    """Return the records of every step of round r; record 0 is there if present."""
    epochs = batches.num_epochs or 1
    slots, people = T // epochs, range(0 if present else 1, n)

    def words(stream: int, place: int, count: int) -> list[int]:
        return [word(key, stream, r, place * count + i) for i in range(count)]

    steps: list[list[int]] = [[] for _ in range(T)]
    if batches.kind == "fixed":
        size = batches.batch_size or 0
        return [shuffled(list(range(n)), words(BATCH, t, size)) for t in range(T)]
    if batches.kind == "shuffled":
        for e in range(epochs):
            order, size = shuffled(list(range(n)), words(BATCH, e, n)), n // slots
            for t in range(slots):
                steps[e * slots + t] = order[t * size : (t + 1) * size]
        return steps
    if batches.kind == "allocated":
        hits = batches.selected or 1
        for e in range(epochs):
            of_epoch = words(BATCH, e if batches.reallocate else 0, n * hits)
            for i in people:
                for t in shuffled(list(range(slots)), of_epoch[i * hits : (i + 1) * hits]):
                    steps[e * slots + t].append(i)
        return steps
    if batches.kind == "patterns":
        patterns = np.asarray(batches.participation)
        chosen = [w * len(patterns) >> 64 for w in words(BATCH, 0, n)]
        return [[i for i in people if patterns[chosen[i], t]] for t in range(T)]
    for t in range(T):
        comes = words(BATCH, t, n)
        steps[t] = [i for i in people if comes[i] < ceil((batches.sample_rate or 1.0) * 2**64)]
        most = batches.max_batch_size or n
        if len(steps[t]) > most:
            steps[t] = shuffled(steps[t], words(KEPT, t, most))
    return steps


def mean_over_sets(llr: Any, selected: int) -> mp.mpf:
    """Return log of the mean of exp(sum) over all sets of steps, one by one."""
    with mp.workdps(60):
        ratios = [mp.mpf(float(x)) for x in llr]
        sets = list(combinations(ratios, selected))
        return mp.log(mp.fsum(mp.exp(mp.fsum(s)) for s in sets) / len(sets))


def sampled(llr: Any, rate: float) -> mp.mpf:
    """Return the log ratio of a Poisson sample."""
    with mp.workdps(60):
        q = mp.mpf(rate)
        return mp.fsum(mp.log(1 - q + q * mp.exp(mp.mpf(float(x)))) for x in llr)
