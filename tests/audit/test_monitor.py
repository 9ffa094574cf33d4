"""`Monitor` against a slow twin, and what must not change its numbers."""

from __future__ import annotations

import copy
import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest

from leakscore.audit import Monitor
from leakscore.tradeoff import TradeOff, gaussian, laplace
from tests.helpers.parts import tangents_of
from tests.oracles.monitor import bets_of, log_e_values

PAIRS = {"design": "pairs"}


def played(rng: np.random.Generator, rounds: int, shift: float, places: int = 9, p: float = 0.5):
    """Scores of rounds with coins; few places make ties."""
    member = rng.random(rounds) < p
    return rng.normal(shift * member).round(places) + 0.0, member


def evidence(monitor: Monitor, scores, member) -> list[float]:
    logs = []
    for score, bit in zip(scores, member, strict=True):
        monitor.update([score], [bit])
        logs.append(monitor.log_e_value)
    return logs


@pytest.mark.parametrize("places", [9, 0])
@pytest.mark.parametrize("claim", [(0.3, 0.0), (1.0, 0.05), (0.0, 0.2), (3.0, 1e-5)])
@pytest.mark.parametrize("design", ["coins", "pairs"])
def test_the_strategy_is_that_of_the_note(claim, design: str, places: int) -> None:
    rng = np.random.default_rng([3, places])
    scores, member = played(rng, 160, 2.0, places)
    scores[[5, 40]] = np.inf, -np.inf
    found = evidence(Monitor(claim, design=design), scores, member)
    epsilon, delta = claim
    wanted = log_e_values(scores, member, [(epsilon, delta, delta)], pairs=design == "pairs")
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)
    assert max(np.abs(found)) > 0.001


@pytest.mark.parametrize("inclusion", [0.1, 0.8])
def test_other_coins(inclusion: float) -> None:
    scores, member = played(np.random.default_rng(4), 200, 2.5, p=inclusion)
    found = evidence(Monitor((0.5, 0.02), inclusion=inclusion), scores, member)
    wanted = log_e_values(scores, member, [(0.5, 0.02, 0.02)], inclusion=inclusion)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("curve", [gaussian(0.5), laplace(0.7), laplace(1.0).subsample(0.3)])
def test_a_curve_is_bet_against_by_its_tangents(curve: TradeOff) -> None:
    rows = tangents_of(curve)
    for epsilon, forward, reverse in rows:
        for delta, direction in ((forward, "forward"), (reverse, "reverse")):
            assert delta >= float(curve.lower.delta(epsilon, direction))
            assert delta <= float(curve.lower.delta(epsilon, direction)) + 1e-8
    scores, member = played(np.random.default_rng(5), 120, 2.0)
    found = evidence(Monitor(curve), scores, member)
    np.testing.assert_allclose(found, log_e_values(scores, member, rows), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("options", [{}, PAIRS, {"mus": [0.5, 1.0]}, {"history": 50}])
def test_batches_do_not_matter(options: dict) -> None:
    scores, member = played(np.random.default_rng(6), 2500, 1.5, 1)
    whole = Monitor((0.5, 1e-3), **options)
    whole.update(scores, member)
    parts = Monitor((0.5, 1e-3), **options)
    cut = [0, 0, 1, 2, 4, 5, 50, 51, 700, 2500]
    for start, end in pairwise(cut):
        parts.update(scores[start:end], member[start:end])
        parts = Monitor.from_bytes(parts.to_bytes())
    assert bets_of(parts.to_bytes()) == bets_of(whole.to_bytes())
    assert parts.p_value == whole.p_value < 1e-6
    assert parts.epsilon() == whole.epsilon() >= 0.5


def test_only_the_order_of_scores_counts() -> None:
    scores, member = played(np.random.default_rng(7), 600, 1.0)
    monitors = [Monitor((0.5, 0.0)) for _ in range(4)]
    for monitor, values in zip(
        monitors,
        (scores, np.exp(scores), 3 * scores - 7, scores.astype(">f8")[::-1][::-1]),
        strict=True,
    ):
        monitor.update(values, member)
    assert len({monitor.log_e_value for monitor in monitors}) == 1
    single = Monitor((0.5, 0.0))
    single.update(scores.astype(np.float32), member.astype(np.int8))
    assert single.rounds == 600


def test_the_largest_evidence_stays() -> None:
    rng = np.random.default_rng(8)
    monitor = Monitor((0.5, 0.0))
    logs = evidence(monitor, *played(rng, 150, 3.0))
    assert monitor.refuted
    before = monitor.p_value
    assert before == pytest.approx(np.exp(-max(logs)), rel=1e-9)
    assert before >= np.exp(-max(logs))  # rounded up
    logs += evidence(monitor, *played(rng, 600, 0.0))  # the leak has ended
    assert monitor.log_e_value < max(logs) - 1
    assert monitor.refuted
    assert monitor.p_value <= before


def test_before_any_bet() -> None:
    monitor = Monitor((1.0, 0.0), mus=[1.0])
    assert (monitor.e_value, monitor.p_value, monitor.refuted) == (1.0, 1.0, False)
    assert (monitor.epsilon(), monitor.mu(), monitor.rounds) == (0.0, 0.0, 0)
    assert monitor.epsilons == pytest.approx(np.arange(0.05, 10.01, 0.05), rel=1e-12)
    monitor.update([], [])
    monitor.update([1.0, 2.0, 3.0], [True, False, True])
    assert monitor.log_e_value == 0.0


def test_running_bounds_are_the_end_of_the_first_run() -> None:
    scores, member = played(np.random.default_rng(9), 3000, 2.0)
    grid = [0.2, 0.7, 1.3, 2.0, 9.0]
    bounds = Monitor(None, delta=1e-3, epsilons=grid, mus=[0.4, 1.1, 3.0])
    singles = [Monitor((epsilon, 1e-3)) for epsilon in grid]
    curves = [Monitor(gaussian(mu)) for mu in (0.4, 1.1, 3.0)]
    for part in range(0, 3000, 100):
        rows = slice(part, part + 100)
        for monitor in (bounds, *singles, *curves):
            monitor.update(scores[rows], member[rows])
        refuted = [monitor.refuted for monitor in singles]
        run = refuted.index(False)
        assert bounds.epsilon() == ([0.0, *grid][run])
        assert bounds.mu() == [0.0, 0.4, 1.1, 3.0][[m.refuted for m in curves].index(False)]
    assert bounds.epsilon(1e-3) >= 0.7
    assert bounds.mu() >= 0.4


def test_far_odds_do_not_overflow() -> None:
    member = np.arange(4000) % 3 == 0
    for epsilon in (0.0, 5.0, 40.0, 800.0):
        monitor = Monitor((epsilon, 1e-9))
        with pytest.warns(UserWarning, match="inclusion="):
            monitor.update(np.where(member, np.inf, -np.inf), member)
        assert np.isfinite(monitor.log_e_value)
    sure = Monitor((0.0, 0.0))
    sure.update(*played(np.random.default_rng(1), 4000, 50.0))
    assert sure.log_e_value > 709.8
    assert sure.e_value == np.inf
    assert sure.p_value == 0.0 or sure.p_value < 1e-300


def test_copies_are_apart() -> None:
    monitor = Monitor((0.5, 0.0))
    monitor.update(*played(np.random.default_rng(2), 100, 1.0))
    before = monitor.to_bytes()
    for twin in (copy.deepcopy(monitor), pickle.loads(pickle.dumps(monitor))):
        assert twin.to_bytes() == before
        twin.update([0.0], [True])
    assert monitor.to_bytes() == before


def test_frozen_edges_keep_counting() -> None:
    scores, member = played(np.random.default_rng(10), 5000, 1.0)
    kept, frozen = Monitor((0.3, 0.0), epsilons=()), Monitor((0.3, 0.0), epsilons=(), history=200)
    for monitor in (kept, frozen):
        monitor.update(scores[:200], member[:200])
    assert frozen.log_e_value == kept.log_e_value
    for monitor in (kept, frozen):
        monitor.update(scores[200:], member[200:])
    assert len(frozen.to_bytes()) < 10_000 < len(kept.to_bytes())
    assert frozen.log_e_value != kept.log_e_value
    assert frozen.refuted


def test_bits_that_are_no_coins_are_told() -> None:
    rng = np.random.default_rng(11)
    with pytest.warns(UserWarning, match="600 of 1000"):
        Monitor((1.0, 0.0)).update(rng.normal(size=1000), rng.permutation(np.arange(1000) < 600))
    for half in (np.arange(100) < 50, np.arange(100) % 2 == 0, rng.permutation(4000) < 2000):
        with pytest.warns(UserWarning, match="Exactly half"):
            Monitor((1.0, 0.0)).update(rng.normal(size=half.size), half)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Monitor((1.0, 0.0), design="pairs").update(np.arange(100.0), np.arange(100) < 50)
        Monitor((1.0, 0.0), inclusion=0.6).update(rng.normal(size=999), rng.random(999) < 0.6)
        Monitor((1.0, 0.0)).update([1.0] * 5, [True] * 5)  # one class alone


def test_evidence_beyond_doubles() -> None:
    monitor = Monitor((0.0, 0.0))
    member = np.random.default_rng(9).random(1600) < 0.5
    monitor.update(1.0 * member, member)
    assert 750.0 < monitor.log_e_value < 1400.0
    assert monitor.e_value == np.inf
    assert monitor.p_value == pytest.approx(np.exp(-monitor.log_e_value), abs=1e-300)
