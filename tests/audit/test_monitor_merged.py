"""A monitor that goes on after a merge, beside a slow twin: what it has learned, and of whom."""

from __future__ import annotations

import math

import numpy as np
import pytest

from leakscore import _core
from leakscore.audit import Monitor
from tests.oracles.monitor import Betting

CLAIM = (0.4, 0.01)


class Pair:
    """A monitor and its twin, which see the same rounds."""

    def __init__(self, seed: int, rounds: int, history: int, inclusion: float = 0.5) -> None:
        self.monitor = Monitor(CLAIM, epsilons=(), history=history, inclusion=inclusion)
        self.twin = Betting(CLAIM[0], CLAIM[1], CLAIM[1], inclusion=inclusion, limit=history)
        self.before = self.most = 0.0
        self.play(seed, rounds)

    def play(self, seed: int, rounds: int) -> None:
        rng = np.random.default_rng([14, seed])
        member = rng.random(rounds) < self.twin.inclusion
        for score, bit in zip(rng.normal(2.0 * member).round(1), member, strict=True):
            self.monitor.update([score], [bit])
            self.twin.play([(float(score), int(bit))])
            log = self.monitor.log_e_value
            assert log == pytest.approx(self.log_e_value(), rel=1e-10, abs=1e-12)
            self.most = max(self.most, log - 2.0**-44 * self.monitor.rounds)
            assert -math.log(self.monitor.p_value) == pytest.approx(self.most, abs=2e-14)
        self.monitor = Monitor.from_bytes(self.monitor.to_bytes())

    def log_e_value(self) -> float:
        return self.before + self.twin.log_wealth()

    def merge(self, other: Pair) -> None:
        self.before = self.log_e_value() + other.log_e_value()
        members = self.monitor.members + other.monitor.members
        self.monitor, self.twin = self.monitor.merge(other.monitor), self.twin.merged(other.twin)
        assert self.monitor.members == members
        self.most = max(0.0, self.monitor.log_e_value - 2.0**-44 * self.monitor.rounds)


@pytest.mark.parametrize(
    ("first", "second"), [(1, 2), (2, 2), (3, 20), (60, 30), (15, 24), (16, 24), (17, 24)]
)
@pytest.mark.parametrize(("history", "inclusion"), [(40, 0.5), (10_000, 0.2)])
def test_a_merged_monitor_has_learned_all(
    first: int, second: int, history: int, inclusion: float
) -> None:
    for sizes in ((first, second), (second, first)):
        both, other = (Pair(i, size, history, inclusion) for i, size in enumerate(sizes))
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


def test_sticks_of_one_direction_cost_in_it() -> None:
    """Averages of several sticks, some of them with nothing to give in one direction."""
    sticks = [(0.1, 0.03, 0.0), (0.2, 0.0, 0.05), (0.5, 0.02, 0.01)]
    rng = np.random.default_rng(15)
    member = rng.random(90) < 0.5
    scores = rng.normal(2.0 * member).round(1)
    for rows in (sticks[:1], sticks[1:2], sticks):
        sizes = [1, len(rows) - 1] if len(rows) > 1 else [1]
        wealth = _core.Wealth(np.array(rows), sizes, len(sizes), 3.0, False, 0.5, 10_000)
        twins = [Betting(*row) for row in rows]
        for score, bit in zip(scores, member, strict=True):
            wealth.add(np.array([score]), np.array([bit]))
            for twin in twins:
                twin.play([(float(score), int(bit))])
        logs = [twin.log_wealth() for twin in twins]
        assert wealth.log_wealth(0) == pytest.approx(logs[0], rel=1e-10)
        if len(rows) > 1:
            mean = np.mean(np.exp(logs[1:]))
            assert wealth.log_wealth(1) == pytest.approx(math.log(mean), rel=1e-10)
