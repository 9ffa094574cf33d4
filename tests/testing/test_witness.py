"""The witness of a refuted claim shows an output of the event that was counted."""

from __future__ import annotations

import re

import numpy as np
import pytest

from leakscore.testing import check_private
from tests.testing.mechanisms import PURE

BUFFER = np.zeros(2)


def in_one_array(data, rng):
    """Return the same array each time, filled anew."""
    BUFFER[:] = data, rng.integers(2)
    return BUFFER


def raises(data, rng):
    if data and rng.random() < 0.5:
        raise OSError("no disk")
    return 1.0


@pytest.mark.parametrize(
    ("mechanism", "event"),
    [
        (lambda data, rng: "yes" if rng.random() < 0.1 + 0.8 * data else "no", r"'(yes|no)'"),
        (lambda data, rng: {"count": 5 * data + int(rng.integers(2))}, r"{'count': [0156]}"),
        (in_one_array, r"array\(\[[01]\., [01]\.\]\)"),
        (raises, r"('OSError: no disk'|1\.0)"),
    ],
)
@pytest.mark.filterwarnings("ignore:mechanism gave two")
def test_shows_an_output_of_the_event(mechanism, event: str) -> None:
    found = check_private(mechanism, 1, 0, claim=PURE, rounds=1000, rng=1)
    assert found.refuted
    assert re.search(rf" \(for example {event}\) in \d+ of \d+ rounds with data", found.witness)


def test_the_output_is_beyond_the_threshold() -> None:
    found = check_private(lambda data, rng: data + rng.laplace(), 0.0, 4.0, claim=PURE, rng=1)
    said = r"number 1 of the output is at (most|least) (\S+) \(for example (\S+)\)"
    side, threshold, example = re.match(said, found.witness).groups()
    assert (float(example) <= float(threshold)) == (side == "most")


@pytest.mark.parametrize("outputs", ["ab", "ba", (0.0, 1.0), (1.0, 0.0), (7.0, -3.0)])
def test_all_rounds_of_an_event_are_counted(outputs) -> None:
    found = check_private(lambda data, rng: outputs[data], 1, 0, claim=PURE, rng=1)
    counts = r" in (\d+) of (\d+) rounds with data, (\d+) of (\d+) with neighbour"
    hits, of, alarms, others = map(int, re.search(counts, found.witness).groups())
    assert {(hits, alarms)} <= {(of, 0), (0, others)}


@pytest.mark.parametrize("far", [0.0, 4.0])
def test_rounds_on_one_side_of_the_threshold_are_counted(far: float) -> None:
    """Those of the bets, which come last, by what the mechanism noted of each call."""
    said = r"number 1 .* at (most|least) (\S+) .* in (\d+) of (\d+) .*, (\d+) of (\d+) with"
    sides = []
    for seed in range(4):
        calls = []

        def noisy(data, rng, calls=calls):
            calls.append((data, data + rng.laplace()))
            return calls[-1][1]

        found = check_private(noisy, far, 4.0 - far, claim=PURE, rng=seed)
        assert len(calls) == 2 + found.rounds
        if event := re.match(said, found.witness):
            sides.append(event[1])
            member, output = np.array(calls[2 + 1200 :]).T
            sign = 1.0 if sides[-1] == "least" else -1.0
            inside = sign * output >= sign * float(event[2]) - 1e-4
            laws = member == far, member != far
            truth = [int(count) for law in laws for count in ((law & inside).sum(), law.sum())]
            assert list(map(int, event.groups()[2:])) == truth
    assert set(sides) == {"most", "least"}


def test_one_attack_alone() -> None:
    """Outputs that are alike at first, and differ where attacks are chosen."""
    calls = []

    def late(data, rng):
        calls.append(data)
        return data * (len(calls) > 17)

    found = check_private(late, 1.0, 0.0, claim=PURE, rounds=100, rng=1)
    assert (found.claim, found.confidence) == (PURE, 0.95)
    assert len(calls) == 2 + found.rounds
