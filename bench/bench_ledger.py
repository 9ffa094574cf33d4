"""A ledger of questions on 1,000,000 x 20: an answer, a ledger that is opened, and its memory."""

from __future__ import annotations

import resource

import numpy as np

from bench._harness import timed
from leakscore.leakage import Answer, Ledger

ROWS, COLUMNS = 1_000_000, 20
LOOKED = (1, 10, 50, 100)  # answers
MANY = 1000


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _crowded(features: int) -> Ledger:
    """Return a ledger as after many sums, which are orthogonal, so that they need not be computed.

    Rows 2 k and 2 k + 1 have opposite values and are in the selection of the same one answer.
    """
    X = np.repeat(np.random.default_rng(1).normal(size=(ROWS // 2, COLUMNS)), 2, axis=0)
    X[1::2] *= -1
    ledger = Ledger(X, max_leakage=1e9)
    (directions,) = ledger._directions.values()
    span, pair = directions.span, np.arange(ROWS) // 2
    while span.size < features:
        mask, column = pair % features == span.size, span.size % COLUMNS
        length = float(np.linalg.norm(span.features.values(mask, column)))
        span.features.append(mask, column)
        span.restore(span.size, np.append(np.zeros(span.size), 1.0 / length), length)
        directions.append(0, np.zeros(1), np.zeros(1), 0.0)
    return ledger


def run() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS))
    before = _peak()
    seconds, ledger = timed(lambda: Ledger(X, max_leakage=1e9, max_noise=1e9))
    print(f"a ledger of {ROWS} x {COLUMNS}: {seconds:.2f} s")
    for k in range(max(LOOKED)):
        mask = rng.random(ROWS) < 0.5
        seconds, answer = timed(lambda m=mask, k=k: ledger.ask(m, "sum", [k % COLUMNS]))
        assert isinstance(answer, Answer)
        if k + 1 in LOOKED:
            print(f"answer {k + 1}, a sum: {seconds:.3f} s (target 1), {_peak() - before:.0f} MiB")
    seconds, _ = timed(lambda: ledger.preview(mask ^ (X[:, 0] > 0), "mean", range(COLUMNS)))
    print(f"means of {COLUMNS} columns after {max(LOOKED)} answers: {seconds:.2f} s")
    seconds, raw = timed(ledger.to_bytes)
    print(f"as bytes: {seconds:.2f} s, {len(raw) / 2**20:.1f} MiB")
    seconds, _ = timed(lambda: Ledger.from_bytes(raw, X))
    print(f"opened: {seconds:.2f} s")
    del ledger
    bounds = dict.fromkeys(range(COLUMNS), (-6.0, 6.0))
    ledger = Ledger(X, max_leakage=1e9, bounds=bounds, reference="uniform")
    for _ in range(5):
        ledger.ask(rng.random(ROWS) < 0.5, "mean", range(COLUMNS))
    seconds, _ = timed(lambda: ledger.preview(mask, "mean", range(COLUMNS)))
    print(f"by the public rule, the same after as many sums: {seconds:.2f} s")
    del ledger
    ledger = _crowded(MANY)
    seconds, _ = timed(lambda: ledger.preview(mask, "sum", [0]))
    print(f"a sum after {MANY}: {seconds:.2f} s (target 1), {_peak() - before:.0f} MiB (1024)")
    seconds, _ = timed(lambda: ledger.preview(mask, "sum", range(COLUMNS)))
    print(f"of {COLUMNS} columns: {seconds:.2f} s (target 1), {_peak() - before:.0f} MiB (1024)")
