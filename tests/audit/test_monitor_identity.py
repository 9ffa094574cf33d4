"""`Monitor.merge`: no round is counted twice, whatever way its copy took."""

from __future__ import annotations

import copy
import pickle

import pytest

from leakscore.audit import Monitor
from tests.audit.test_monitor_parts import played, watched


def copied(monitor: Monitor) -> list[Monitor]:
    ways = (copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)))
    return [*(way(monitor) for way in ways), Monitor.from_bytes(monitor.to_bytes())]


def test_no_round_is_merged_twice() -> None:
    first, other, more = watched(1), watched(2), watched(3)
    both = first.merge(other)
    longer = copied(first)[0]
    longer.update([0.5], [True])
    for twin in (*copied(first), longer, *copied(both), *copied(both.merge(more))):
        for part in (first, both, copied(both)[0].merge(more)):
            for pair in ((part, twin), (twin, part)):
                with pytest.raises(ValueError, match="other rounds"):
                    pair[0].merge(pair[1])
    for part in (other, *copied(other)):
        for pair in ((part, both), (both, part), (both.merge(more), part)):
            with pytest.raises(ValueError, match="other rounds"):
                pair[0].merge(pair[1])
    assert copied(both)[3].merge(more).rounds == 600
    assert watched(1).merge(watched(1)).rounds == 400  # other rounds, though of equal scores


def test_copies_of_a_monitor_without_rounds_merge() -> None:
    """Workers are sent copies of one monitor, and count rounds of their own."""
    parts = copied(Monitor((0.5, 1e-3)))
    for part in parts:
        part.update([], [])
    for i, part in enumerate(parts):
        part.update(*played(i, 20))
    assert parts[0].merge(parts[1]).merge(parts[2].merge(parts[3])).rounds == 80


def test_rounds_without_a_member_are_rounds() -> None:
    monitor = Monitor((0.5, 1e-3))
    monitor.update([0.1, 0.2, 0.3], [False] * 3)
    raw = monitor.to_bytes()
    with pytest.raises(ValueError, match="other rounds"):
        Monitor.from_bytes(raw).merge(Monitor.from_bytes(raw))
