"""Curves of batches that are not Poisson samples: time and width, beside dp-accounting's bounds.

dp-accounting knows truncated Poisson batches (an upper bound). Asserted: its epsilon is no smaller
than what our attack attains, and ours no larger than its. Without it ours is timed alone.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

from leakscore.tradeoff import (
    TradeOff,
    compose,
    fixed_batch_gaussian,
    random_allocation,
    shuffled_gaussian,
    subsampled_gaussian,
    truncated_poisson_gaussian,
)

DELTA = 1e-5
TRUNCATED = (1.0, 0.01, 128, 10_000, 1000)


def _different(count: int) -> TradeOff:
    return compose([subsampled_gaussian(1.0 + 0.01 * k, 0.01, 10) for k in range(count)])


CASES: list[tuple[str, Callable[[], TradeOff], float]] = [
    ("1 of 1000", lambda: random_allocation(1.0, 1000), DELTA),
    ("1 of 100,000", lambda: random_allocation(1.0, 100_000), DELTA),
    ("1 of 1000, noise 0.5", lambda: random_allocation(0.5, 1000), DELTA),
    ("1 of 1000, noise 0.1", lambda: random_allocation(0.1, 1000), DELTA),
    ("1 of 100, 30 epochs", lambda: random_allocation(1.0, 100, num_epochs=30), DELTA),
    ("1 of 100,000, 100 epochs", lambda: random_allocation(1.0, 100_000, num_epochs=100), DELTA),
    ("10 of 1000", lambda: random_allocation(1.0, 1000, selected=10), DELTA),
    (
        "7 of 100,000, 10 epochs",
        lambda: random_allocation(0.5, 100_000, selected=7, num_epochs=10),
        DELTA,
    ),
    (
        "truncated at 12, rate 1e-4",
        lambda: truncated_poisson_gaussian(0.5, 1e-4, 12, 100_000, 10_000),
        DELTA,
    ),
    ("100 different mechanisms", lambda: _different(100), DELTA),
    ("fixed, 1 %, 1000 steps", lambda: fixed_batch_gaussian(1.0, 100, 10_000, 1000), DELTA),
    ("truncated at 128 of 100", lambda: truncated_poisson_gaussian(*TRUNCATED), DELTA),
    ("shuffled, 100 steps", lambda: shuffled_gaussian(1.0, 100), DELTA),
    ("rate 1e-6, 1e5 steps", lambda: subsampled_gaussian(0.5, 1e-6, 100_000), 1e-10),
    ("rate 1e-6, 1e6 steps", lambda: subsampled_gaussian(0.5, 1e-6, 10**6), 1e-10),
]


def _accounting() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import dp_accounting
            from dp_accounting.pld import PLDAccountant
    except ImportError:
        return None
    return dp_accounting, PLDAccountant


def run() -> None:
    """Print both ends of epsilon, forward, and CPU seconds with an empty cache."""
    print(f"{'batches':28s} {'attack':>10s} {'guarantee':>10s} {'seconds':>8s}")
    for name, make, delta in CASES:
        start = time.process_time()
        low, high = make().interval("epsilon", delta, "forward")
        print(f"{name:28s} {low:10.5f} {high:10.5f} {time.process_time() - start:8.2f}")
        assert 0.0 < low <= high
    theirs = _accounting()
    if theirs is None:
        print("dp-accounting is not installed (extra `bench`): not compared")
        return
    dp, accountant = theirs
    noise, rate, most, records, steps = TRUNCATED
    start = time.process_time()
    event = dp.TruncatedSubsampledGaussianDpEvent(records, rate, most, noise)
    relation = dp.NeighboringRelation.ADD_OR_REMOVE_ONE
    epsilon = accountant(relation).compose(event, steps).get_epsilon(DELTA)
    seconds = time.process_time() - start
    low, high = truncated_poisson_gaussian(*TRUNCATED).interval("epsilon", DELTA)
    print(
        f"truncated, dp-accounting: {epsilon:.5f} in {seconds:.2f} s; ours [{low:.5f}, {high:.5f}]"
    )
    assert low <= epsilon
    assert high <= epsilon * (1.0 + 1e-3)
