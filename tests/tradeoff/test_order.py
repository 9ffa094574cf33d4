"""What is proved about the order of schemes: one of the two is a post-processing of the other.

Brackets of both must not contradict it, in either direction and at any delta: the attack on the
weaker scheme stays within the guarantee of the stronger one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest

from leakscore import tradeoff
from leakscore.tradeoff import TradeOff

DELTAS = np.array([1e-12, 1e-9, 1e-5, 1e-2])
POINTS = np.array([0.0, 1e-12, 1e-5, 0.1, 0.5, 0.9, 1.0 - 1e-9])

allocated, poisson = tradeoff.random_allocation, tradeoff.subsampled_gaussian
fixed, cut, shuffled = (
    tradeoff.fixed_batch_gaussian,
    tradeoff.truncated_poisson_gaussian,
    tradeoff.shuffled_gaussian,
)

# The weaker scheme first.
ORDERED: dict[str, tuple[Callable[[], TradeOff], Callable[[], TradeOff]]] = {
    "noise": (lambda: allocated(0.81, 30), lambda: allocated(0.8, 30)),
    # An output goes to one of two steps by a coin, and the other step gets noise.
    "twice the steps": (lambda: allocated(0.9, 60), lambda: allocated(0.9, 30)),
    "one more epoch": (
        lambda: allocated(2.0, 20, num_epochs=9),
        lambda: allocated(2.0, 20, num_epochs=10),
    ),
    "the step is seen": (lambda: allocated(0.2, 2), lambda: tradeoff.gaussian(5.0)),
    # Both of an epoch's steps in the same block, or one in each of two halves.
    "a block each": (
        lambda: allocated(1.0, 40, selected=2),
        lambda: tradeoff.compose([(allocated(1.0, 20), 2)]),
    ),
    "fewer steps of one epoch": (
        lambda: allocated(1.5, 12, selected=2),
        lambda: allocated(1.5, 12, selected=11),
    ),
    "smaller batches": (lambda: fixed(2.0, 9, 100, 50), lambda: fixed(2.0, 10, 100, 50)),
    "batches of all but one": (
        lambda: fixed(3.0, 99, 100, 6),
        lambda: tradeoff.gaussian(2.0 / 3.0 * np.sqrt(6.0)),
    ),
    # With the cut revealed, a cut record is one that did not come.
    "Poisson, of another rate": (
        lambda: poisson(1.0, 0.0099, 100),
        lambda: cut(1.0, 0.01, 300, 10_000, 100),
    ),
    "shuffles": (
        lambda: shuffled(2.0, 40, neighbours="zero-out"),
        lambda: shuffled(2.0, 1, neighbours="zero-out"),
    ),
    "rare rates": (lambda: poisson(0.5, 1e-6, 1000), lambda: poisson(0.5, 1.001e-6, 1000)),
}


@lru_cache
def made(name: str) -> tuple[TradeOff, TradeOff]:
    weaker, stronger = ORDERED[name]
    return weaker(), stronger()


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("name", ORDERED)
def test_proved_order(name: str, direction: str) -> None:
    weaker, stronger = made(name)
    attack = weaker.interval("epsilon", DELTAS, direction=direction)[0]
    guarantee = stronger.interval("epsilon", DELTAS, direction=direction)[1]
    assert (attack <= guarantee).all()
    assert (guarantee > 0.0).any()


@pytest.mark.parametrize("name", ORDERED)
def test_ends_are_nested(name: str) -> None:
    for curve in made(name):
        for which in ("beta", "power", "epsilon"):
            low, high = curve.interval(which, DELTAS if which == "epsilon" else POINTS)
            assert (low <= high).all()
