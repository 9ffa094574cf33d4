"""`Monitor`: merging, bytes, and input that is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from leakscore import results
from leakscore.audit import Monitor
from leakscore.tradeoff import gaussian


def played(seed: int, rounds: int, shift: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([20, seed])
    member = rng.random(rounds) < 0.5
    return rng.normal(shift * member), member


def watched(seed: int, rounds: int = 200, shift: float = 2.0, **options: object) -> Monitor:
    monitor = Monitor(options.pop("claim", (0.5, 1e-3)), **options)
    monitor.update(*played(seed, rounds, shift))
    return monitor


def test_wealths_multiply_and_maxima_do_not() -> None:
    leaks, nothing = watched(1, 60), watched(2, 400, 0.0)
    assert leaks.p_value * nothing.p_value < 1 / math.exp(nothing.log_e_value + leaks.log_e_value)
    both = leaks.merge(nothing)
    assert both.log_e_value == pytest.approx(leaks.log_e_value + nothing.log_e_value, abs=1e-9)
    assert both.rounds == 460
    assert both.members == leaks.members + nothing.members
    assert both.p_value == pytest.approx(min(1.0, math.exp(-both.log_e_value)), rel=1e-9)
    assert both.p_value > leaks.p_value  # what the part had shown no longer counts
    assert nothing.merge(leaks).log_e_value == pytest.approx(both.log_e_value)
    assert nothing.rounds == 400  # the parts stay as they are


def test_running_bounds_of_a_merged_monitor() -> None:
    parts = [watched(seed, 150, claim=None, delta=0.0) for seed in range(4)]
    both = parts[0].merge(parts[1]).merge(parts[2].merge(parts[3]))
    assert both.epsilon() > max(part.epsilon() for part in parts)
    assert both.rounds == 600


def test_a_merged_monitor_goes_on() -> None:
    both = watched(1).merge(watched(2))
    before = both.log_e_value
    more = watched(3, 100)
    rng = np.random.default_rng(4)
    member = rng.random(50) < 0.5
    both.update(rng.normal(2.0 * member), member)
    assert both.log_e_value > before  # with what both have learned
    assert both.merge(more).rounds == 550
    assert Monitor.from_bytes(both.to_bytes()).log_e_value == both.log_e_value


@pytest.mark.parametrize(("first", "second"), [(50, 1000), (1000, 50), (50, 50)])
def test_frozen_parts_merge(first: int, second: int) -> None:
    parts = [watched(i, 300, history=h) for i, h in enumerate((first, second))]
    with pytest.raises(ValueError, match="same history"):
        parts[0].merge(watched(3, history=7))
    both = watched(0, 300, history=first).merge(watched(1, 30, history=first))
    log = both.log_e_value
    member = np.random.default_rng(5).random(200) < 0.5
    both.update(np.where(member, 3.0, -1.0), member)
    assert both.log_e_value > log


def test_halves_that_wait() -> None:
    """A half is bet on with its pair only, and never across the parts of a merge."""
    scores = np.random.default_rng(6).normal(size=60) + np.repeat([2.0, 0.0], 30)
    members_first = Monitor((0.2, 0.0), design="pairs")
    members_first.update(scores[:30], [1] * 30)
    assert (members_first.waiting, members_first.e_value) == (30, 1.0)
    members_first.update(scores[30:], [0] * 30)
    in_turn = Monitor((0.2, 0.0), design="pairs")
    in_turn.update(scores.reshape(2, 30).T.ravel(), [1, 0] * 30)
    assert members_first.log_e_value == in_turn.log_e_value > 0.0
    assert members_first.waiting == in_turn.waiting == 0
    alone = [Monitor((0.2, 0.0), design="pairs") for _ in range(2)]
    alone[0].update(scores[:30], [1] * 30)
    alone[1].update(scores[30:], [0] * 30)
    both = alone[0].merge(alone[1])
    assert (both.e_value, both.waiting, both.rounds) == (1.0, 0, 60)


def test_rounding_is_on_the_safe_side() -> None:
    """The p-value is that of the largest e-value, lowered by 2^-44 a round."""
    rng = np.random.default_rng(7)
    member = rng.random(2000) < 0.5
    scores = rng.normal(0.6 * member)
    monitor = Monitor((0.1, 0.0), epsilons=())
    largest = 0.0
    for score, bit in zip(scores, member, strict=True):
        monitor.update([score], [bit])
        largest = max(largest, monitor.log_e_value - 2.0**-44 * monitor.rounds)
    assert largest > 1.0
    assert -math.log(monitor.p_value) == pytest.approx(largest, rel=4e-16, abs=4e-15)


@pytest.mark.parametrize(
    "options",
    [
        *({"claim": (1.0, 0.5)}, {"claim": gaussian(1.0), "delta": 1e-3}, {"confidence": 0.9}),
        *({"design": "pairs"}, {"epsilons": [1.0]}, {"mus": [1.0]}, {"inclusion": 0.4}),
        {"delta": 0.5},
    ],
)
def test_other_monitors_do_not_merge(options: dict) -> None:
    one, other = Monitor((0.5, 1e-3)), Monitor(**{"claim": (0.5, 1e-3)} | options)
    with pytest.raises(ValueError, match="other must have the same"):
        one.merge(other)
    for same in (one, watched(1)):
        with pytest.raises(ValueError, match="same monitor"):
            same.merge(same)
    with pytest.raises(TypeError, match="other"):
        one.merge(options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scores", "member"),
    [
        *(([1.0], [2]), ([1.0], [0.5]), ([1.0], [math.nan]), ([1.0], [1, 0]), ([1.0, 2.0], [1])),
        *(([math.nan], [1]), ([[1.0]], [1]), ([1.0], [[1]]), (1.0, True), ([], [1]), ([1.0], [-1])),
        *((["a"], [1]), ([1.0], ["1"]), ([1j], [1]), ([None], [1]), (None, [1])),
    ],
)
def test_refused_rounds_are_not_counted(scores: object, member: object) -> None:
    monitor = watched(8)
    before = monitor.to_bytes()
    with pytest.raises((ValueError, TypeError), match=r"scores|member"):
        monitor.update(scores, member)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="NaN"):
        monitor.update([*[1.0] * 3000, math.nan], [1] * 3001)
    assert monitor.to_bytes() == before


def test_refused_monitors() -> None:
    for claim in ((-1.0, 0.0), (1.0, 1.0), (math.nan, 0.0), (math.inf, 0.0)):
        with pytest.raises(ValueError, match="claim"):
            Monitor(claim)
    for claim in (1.0, "1", (1.0,), (1.0, None), {}):
        with pytest.raises(TypeError, match="claim"):
            Monitor(claim)
    with pytest.raises(ValueError, match="shape"):
        Monitor(gaussian([1.0, 2.0]))
    for options in ({}, {"epsilons": [1.0]}, {"epsilons": (), "delta": 0.1}):
        with pytest.raises(ValueError, match=r"delta|nothing"):
            Monitor(None, **options)
    for grid in ([1.0, 1.0], [2.0, 1.0], [0.0], [-1.0], [math.nan], [math.inf], [[1.0]]):
        with pytest.raises(ValueError, match="epsilons"):
            Monitor((1.0, 0.0), epsilons=grid)
    with pytest.raises(ValueError, match="inclusion"):
        Monitor((1.0, 0.0), design="pairs", inclusion=0.3)
    curve = Monitor(gaussian(1.0))
    for name in ("epsilon", "mu"):
        with pytest.raises(ValueError, match="The monitor must have"):
            getattr(curve, name)()
    with pytest.raises(ValueError, match="another delta"):
        Monitor((1.0, 1e-5)).epsilon(1e-6)
    with pytest.raises(ValueError, match="running bounds only"):
        _ = Monitor(None, delta=0.0).p_value


@pytest.mark.parametrize("claim", [(0.5, 1e-3), gaussian(1.0), None])
def test_bytes_that_are_not_a_monitor(claim: object) -> None:
    raw = watched(9, claim=claim, mus=[1.0], delta=0.0).to_bytes()
    again = Monitor.from_bytes(raw)
    assert again.to_bytes() == raw
    assert again.mu() == watched(9, claim=claim, mus=[1.0], delta=0.0).mu()
    rng = np.random.default_rng(10)
    for cut in (0, 1, 20, len(raw) // 2, len(raw) - 1):
        with pytest.raises(ValueError, match=r"data must be|data of"):
            Monitor.from_bytes(raw[:cut])
    for place in rng.integers(len(raw), size=200):
        bad = bytearray(raw)
        bad[place] ^= 1 << int(rng.integers(8))
        with pytest.raises(ValueError, match=r"data must be|data of"):
            Monitor.from_bytes(bytes(bad))


def test_forged_bytes_with_a_right_checksum() -> None:
    """Whatever the fields say, the worst is a ValueError or a monitor that works."""
    parts = results.unpack("monitor", 3, watched(11, 60).to_bytes(), "")
    rng = np.random.default_rng(12)
    refused = 0
    for place in rng.integers(sum(part.size for part in parts), size=600):
        bad = [part.copy() for part in parts]
        part, at = (bad[0], place) if place < bad[0].size else (bad[1], place - bad[0].size)
        part[at] = rng.integers(256)
        try:
            Monitor.from_bytes(results.pack("monitor", 3, bad)).update([0.0] * 30, [1, 0] * 15)
        except ValueError:
            refused += 1
    assert refused > 5
    fields = json.loads(parts[0].tobytes())
    claim = fields["claim"]
    strange = ({"more": 1}, {"origins": []}, {"origins": [1]}, {"origins": "ab"}, {"claim": 1})
    curves = ({"claim": ["f", rows, None, claim[3]]} for rows in ([], [[0.1, -1.0, 0.1]], [[1.0]]))
    told = {"claim": [*claim[:3], [1]]}
    changes = ({"history": 2**60}, {"design": "both"}, {"epsilons": [2.0]}, told, *strange, *curves)
    heads = [json.dumps(fields | change).encode() for change in changes]
    for head in (*heads, b"[]", b"[" * 10**5, b"\xff"):
        forged = [np.frombuffer(head, np.uint8), parts[1]]
        with pytest.raises(ValueError, match="data must hold a monitor"):
            Monitor.from_bytes(results.pack("monitor", 3, forged))
    for arrays in ([], parts[:1], [*parts, parts[1]], [parts[0], np.zeros(0)]):
        with pytest.raises(ValueError, match="data must hold a monitor"):
            Monitor.from_bytes(results.pack("monitor", 3, arrays))


def test_a_bound_is_the_end_of_the_initial_run() -> None:
    """A later value that is refuted proves nothing: the true one may be before it."""

    class Peaks:
        def __init__(self, *peaks: float) -> None:
            self.peaks = list(peaks)

        def log_peaks(self) -> list[float]:
            return self.peaks

    monitor = Monitor(None, delta=0.0, epsilons=[0.5, 1.0, 1.5])
    for peaks, bound in (((4, 1, 4), 0.5), ((1, 4, 4), 0.0), ((4, 4, 4), 1.5), ((4, 4, 2.9), 1.0)):
        monitor._wealth = Peaks(*peaks)  # type: ignore[assignment]
        assert monitor.epsilon() == bound
