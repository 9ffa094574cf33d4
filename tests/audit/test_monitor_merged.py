"""A monitor that goes on after a merge, beside a slow twin: what it has learned, and of whom."""

from __future__ import annotations

import math

import numpy as np
import pytest

from leakscore.audit import Monitor
from tests.oracles.monitor import Betting

CLAIM = (0.4, 0.01)


class Pair:
    """A monitor and its twin, which see the same rounds."""

    def __init__(self, seed: int, rounds: int, history: int) -> None:
        self.monitor = Monitor(CLAIM, epsilons=(), history=history)
        self.twin = Betting(CLAIM[0], CLAIM[1], CLAIM[1], limit=history)
        self.before = 0.0
        self.play(seed, rounds)

    def play(self, seed: int, rounds: int) -> None:
        rng = np.random.default_rng([14, seed])
        member = rng.random(rounds) < 0.5
        for score, bit in zip(rng.normal(2.0 * member).round(1), member, strict=True):
            self.monitor.update([score], [bit])
            self.twin.play([(float(score), int(bit))])
            assert self.monitor.log_e_value == pytest.approx(self.log_e_value(), rel=1e-10)

    def log_e_value(self) -> float:
        return self.before + self.twin.log_wealth()

    def merge(self, other: Pair) -> None:
        self.before = self.log_e_value() + other.log_e_value()
        self.monitor, self.twin = self.monitor.merge(other.monitor), self.twin.merged(other.twin)


@pytest.mark.parametrize(
    ("first", "second"), [(1, 2), (2, 2), (3, 20), (60, 30), (15, 24), (16, 24), (17, 24)]
)
@pytest.mark.parametrize("history", [40, 10_000])
def test_a_merged_monitor_has_learned_all(first: int, second: int, history: int) -> None:
    for sizes in ((first, second), (second, first)):
        both, other = (Pair(i, size, history) for i, size in enumerate(sizes))
        both.merge(other)
        both.play(2, 70)
        assert both.monitor.rounds == first + second + 70


@pytest.mark.parametrize("sizes", [(41, 45), (45, 41), (40, 40), (100, 39), (39, 100)])
def test_edges_that_stay_are_those_of_the_longer_part(sizes: tuple[int, int]) -> None:
    both, other = (Pair(i, size, 40) for i, size in enumerate(sizes))
    both.merge(other)
    both.play(2, 30)
    third = Pair(3, 20, 40)
    both.merge(third)
    both.play(4, 30)
    assert math.isfinite(both.log_e_value())
