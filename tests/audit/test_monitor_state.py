"""States of a monitor that fit no rounds, or more than a test can play: made by hand."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from leakscore import _core

# Numbers, and vectors of doubles, of counts of members and others, and of rounds.
KINDS = (8, 8, "d", "d", "d", "d", 8, 8, 8, 8, "d", "d", "c", "c", "d", "c", "c")
ABOVE, BELOW, TOP, BOTTOM, EDGES, BINS, HISTORY = range(10, 17)
GROUPS = 48


def wealth() -> _core.Wealth:
    made = _core.Wealth(np.array([[0.5, 0.0, 0.0]]), [1], 1, 3.0, False, 0.5, 1000)
    rng = np.random.default_rng(4)
    made.add(rng.normal(size=60), rng.random(60) < 0.5)
    return made


def fields(raw: bytes) -> list[bytes]:
    found, place = [], 0
    for kind in KINDS:
        size = 8
        if kind != 8:
            (count,) = struct.unpack_from("<q", raw, place)
            size += count * {"d": 8, "c": 16}[str(kind)]
        found.append(raw[place : place + size])
        place += size
    assert place == len(raw)
    return found


def test_a_history_out_of_order_is_refused() -> None:
    made = wealth()
    parts = fields(made.state())
    made.restore(b"".join(parts))
    rounds = parts[HISTORY]
    parts[HISTORY] = rounds[:8] + rounds[24:40] + rounds[8:24] + rounds[40:]
    with pytest.raises(ValueError, match="damaged"):
        made.restore(b"".join(parts))


@pytest.mark.parametrize("more", [0, 1])
def test_groups_are_at_most_all(more: int) -> None:
    """All are ready after some 3e7 rounds."""
    made = wealth()
    parts, count = fields(made.state()), GROUPS + more
    scores = np.linspace(1.0, 2.0, count)
    for place, values in ((ABOVE, scores[::-1]), (BELOW, -scores[::-1])):
        parts[place] = struct.pack("<q", count) + values.tobytes()
    for place in (TOP, BOTTOM):
        parts[place] = struct.pack("<q", count) + bytes(16 * count)
    raw = b"".join(parts)
    if more:
        with pytest.raises(ValueError, match="damaged"):
            made.restore(raw)
    else:
        made.restore(raw)
        assert made.state() == raw


def test_groups_that_are_all_ready_leave_the_bins_their_single_bet() -> None:
    """Of groups that no score reaches nothing is bet, however many are ready."""
    wealths = []
    for count in (0, GROUPS):
        made = wealth()
        parts = fields(made.state())
        far = np.full(count, 1e300)
        for place, values in ((ABOVE, far), (BELOW, -far), (EDGES, np.zeros(1))):
            parts[place] = struct.pack("<q", values.size) + values.tobytes()
        for place in (TOP, BOTTOM):
            parts[place] = struct.pack("<q", count) + bytes(16 * count)
        parts[BINS] = struct.pack("<q4q", 2, 5, 25, 25, 5)
        made.restore(b"".join(parts))
        before = made.log_wealth(0)
        made.add(np.array([0.5]), np.array([True]))
        wealths.append(made.log_wealth(0) - before)
    assert wealths[0] == wealths[1] > 0.0


@pytest.mark.parametrize("order", [1, -1])
def test_wealths_far_from_those_of_another_process(order: int) -> None:
    """A claim of delta 1 loses each round, beside epsilon 0 of a score that is the membership."""
    rows = np.ascontiguousarray(np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])[::order])
    member = np.random.default_rng(2).random(3000) < 0.5
    logs = []
    for table in (rows, rows[:1], rows[1:]):
        made = _core.Wealth(table, [1] * len(table), 1, 1e6, False, 0.5, 4000)
        made.add(member + 0.0, member)
        logs += [made.log_wealth(process) for process in range(len(table))]
    assert logs[:2] == logs[2:]
    assert max(logs) > min(logs) + 1000.0
