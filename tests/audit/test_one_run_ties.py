"""Tied scores say nothing about the coins, in whatever order canaries and rounds are given."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare

from leakscore.audit import Audit, one_run, one_run_fdp
from leakscore.tradeoff import gaussian
from tests.audit.test_one_run_every import slow_twin

MEMBER = np.random.default_rng(1).random(1001) < 0.5
ORDERS = {
    "members first": np.sort(MEMBER)[::-1],
    "members last": np.sort(MEMBER),
    "members at both ends": np.roll(np.sort(MEMBER), 250),
    "in turn": np.arange(1001) % 2 == 0,
    "drawn": MEMBER,
}
SEEDS = range(40)


def bounds(member: np.ndarray, scores: np.ndarray) -> list[tuple[float, float]]:
    """Every bound that orders ties by lots."""
    found = []
    for seed in SEEDS:
        audit = Audit.from_rounds(scores, member, random_bits=True, rng=seed)
        bits = audit.epsilon(0.0, method="sorted-bits").epsilon
        found.append((one_run(scores, member, k="all", rng=seed).epsilon, bits))
    return found


@pytest.mark.parametrize("order", ORDERS)
def test_equal_scores_prove_nothing(order: str) -> None:
    """At 95 %, more than 7 of 40 bounds above 0 have a probability below .1 %."""
    for scores in (np.zeros(1001), np.full(1001, -np.inf)):
        found = np.array(bounds(ORDERS[order], scores))
        assert ((found > 0.0).sum(axis=0) <= 7).all()
        assert found.max() < 0.5


@pytest.mark.parametrize("order", ORDERS)
def test_few_values_prove_what_values_in_groups_do(order: str) -> None:
    """Three values that are drawn without the coins: the order within each tells nothing."""
    scores = np.random.default_rng(2).integers(3, size=1001).astype(float)
    found = np.array(bounds(ORDERS[order], scores))
    assert ((found > 0.0).sum(axis=0) <= 7).all()


@pytest.mark.parametrize("order", ["members first", "members last"])
def test_guesses_among_ties_at_a_cut_are_wrong(order: str) -> None:
    member, scores = ORDERS[order], np.ones(1001)
    for k in ((100, 100), (300, 0), (0, 300), ([10, 100], [100, 10])):
        assert one_run(scores, member, *k).correct == 0
        assert not one_run_fdp(scores, member, *k, gaussian(0.01)).refuted
    # A group that is guessed whole is in order: those that are in are right.
    scores[:100] = 2.0
    assert one_run(scores, member, 100, 0).correct == member[:100].sum()
    assert one_run(scores, member, 101, 0).correct == member[:100].sum()
    assert one_run(-scores, member, 0, 100).correct == (~member[:100]).sum()
    assert one_run(-scores, member, 0, 99).correct == 0


@pytest.mark.parametrize("order", ["members first", "members last", "in turn"])
def test_lots_are_all_orders_alike(order: str) -> None:
    """P-values of eight tied canaries against those of all 70 orders; the exact chi-square."""
    first = {"members first": [1] * 4 + [0] * 4, "in turn": [1, 0] * 4}
    member = first.get(order, [0] * 4 + [1] * 4)
    exact: Counter[float] = Counter()
    for places in combinations(range(8), 4):
        ordered = np.isin(np.arange(8), places)
        exact[one_run(np.arange(8.0), ordered, k="all").p_value] += 1
    assert len(exact) > 3
    lots = Counter(one_run(np.ones(8), member, k="all", rng=seed).p_value for seed in range(1400))
    assert set(lots) <= set(exact)
    values = sorted(exact)
    expected = [20.0 * exact[value] for value in values]
    assert chisquare([lots[value] for value in values], expected).pvalue > 1e-3


def test_a_seed_is_not_lucky_for_every_audit() -> None:
    """The scores are part of the seed: the same lots everywhere would order all audits alike."""
    member = ORDERS["members last"][100:901]
    found = {one_run(np.full(801, float(c)), member, k="all", rng=5).p_value for c in range(12)}
    assert len(found) > 6
    zero = [one_run(np.full(801, c), member, k="all").p_value for c in (0.0, -0.0)]
    assert zero[0] == zero[1]


SIZE, EPSILON, LEVEL, AUDITS = 300, 0.55, 0.2, 500


def test_levels_of_the_walks_and_of_their_union() -> None:
    """Responses that are right with probability q refute q's epsilon at 20 % by design.

    The three walks have 10, 5 and 5 % of it. Monte Carlo, three standard errors: a walk refutes at
    its share at most, each at half of it at least, and together they reach half of the level.
    """
    rng = np.random.default_rng(30)
    q = 1.0 / (1.0 + math.exp(-EPSILON))
    by: Counter[str] = Counter()
    for _ in range(AUDITS):
        member = rng.random(SIZE) < 0.5
        says = member ^ (rng.random(SIZE) >= q)
        scores = says + 0.9 * rng.random(SIZE)
        if 2 * member.sum() == SIZE:
            continue
        found = one_run(scores, member, k="all", confidence=1.0 - LEVEL)
        if found.epsilon > EPSILON - 1e-9:
            by["in" if not found.k_minus else "out" if not found.k_plus else "both"] += 1
    for walk, share in (("both", 0.5), ("in", 0.25), ("out", 0.25)):
        nominal = share * LEVEL
        error = math.sqrt(nominal / AUDITS)
        assert 0.5 * nominal <= by[walk] / AUDITS <= nominal + 3.0 * error, walk
    assert 0.5 * LEVEL <= sum(by.values()) / AUDITS <= LEVEL + 3.0 * math.sqrt(LEVEL / AUDITS)


def test_levels_of_p_values() -> None:
    """Without a leak p <= x in a share x of audits at most, and in half of that at least."""
    rng = np.random.default_rng(31)
    members = (rng.random(SIZE) < 0.5 for _ in range(AUDITS))
    p = np.array(
        [
            one_run(rng.random(SIZE), member, k="all").p_value
            for member in members
            if 2 * member.sum() != SIZE
        ]
    )
    for level in (0.02, 0.05, 0.1, 0.2, 0.4):
        reached = (p <= level).mean()
        error = math.sqrt(level / p.size)
        assert 0.5 * level - 2.0 * error <= reached <= level + 3.0 * error


@pytest.mark.parametrize("side", ["in", "out"])
@pytest.mark.parametrize("wrong", [0, 1])
@pytest.mark.parametrize("delta", [0.0, 2e-3])
def test_one_end_that_leaks_has_a_quarter_of_the_level(side: str, wrong: int, delta: float) -> None:
    """The other end in turn: only one walk counts, and the twin's shares are written out."""
    member = np.concatenate([np.arange(12) % 2 == 0, np.ones(12, bool)])
    member[12 : 12 + wrong] = False
    scores = np.arange(24.0)
    if side == "out":
        member, scores = ~member, -scores
    found = one_run(scores, member, k="all", delta=delta, confidence=0.8)
    assert found.epsilon == slow_twin(scores, member, delta, 1.0 - 0.8) > 0.3
    assert (found.k_minus == 0, found.k_plus == 0) == (side == "in", side == "out")
