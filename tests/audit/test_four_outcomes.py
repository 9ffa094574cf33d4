"""The test by four outcomes: random events and laws, its level, and its fields."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest

from leakscore import _core
from leakscore.audit import Audit

METHOD = "four-outcomes"
Law = Sequence[float]


def four(epsilon: float, delta: float) -> tuple[Law, Law]:
    """Members' and non-members' probabilities of the outcomes, the highest ratio first."""
    q = 1.0 / (1.0 + math.exp(-epsilon))
    hidden = ((1.0 - delta) * q, (1.0 - delta) * (1.0 - q))
    return (delta, *hidden, 0.0), (0.0, *hidden[::-1], delta)


def ranked(n1: int, n0: int, members: Law, others: Law) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability and the bits of rankings; level 0 is the highest, lots in each.

    Every order of the records that sorts their levels is one of N! / (counts of the levels)!.
    """
    found: dict[tuple[int, ...], float] = {}
    for levels in combinations_with_replacement(range(len(members)), n1 + n0):
        orders = math.factorial(n1 + n0)
        for level in set(levels):
            orders //= math.factorial(levels.count(level))
        for inside in combinations(range(n1 + n0), n1):
            bits = tuple(int(i in inside) for i in range(n1 + n0))
            laws = (members if bit else others for bit in bits)
            chance = math.prod(law[level] for law, level in zip(laws, levels, strict=True))
            found[bits] = found.get(bits, 0.0) + orders * chance
    chances = np.array(list(found.values()))
    return chances / chances.sum(), np.array(list(found))


def crossing(rankings: tuple[np.ndarray, np.ndarray], critical: np.ndarray) -> float:
    """Return P(C_i >= critical[i] for some i)."""
    chances, bits = rankings
    crossed = (np.cumsum(bits, axis=1)[:, :-1] >= critical[1:-1]).any(axis=1)
    return math.fsum(chances[crossed])


def random_counts(rng: np.random.Generator, rounds: int) -> np.ndarray:
    counts = [int(rng.integers(max(1, 2 * i // 3), i + 2)) for i in range(1, rounds)]
    return np.array([rounds + 1, *counts, rounds + 1])


SIZES = [(3, 3, 0.0, 0.7), (2, 4, 0.1, 0.5), (4, 2, 0.2, 1.0), (3, 3, 0.05, 2.0), (1, 5, 0.01, 1.0)]


@pytest.mark.parametrize(("n1", "n0", "delta", "epsilon"), SIZES)
def test_crossing_probability_is_exact(n1: int, n0: int, delta: float, epsilon: float) -> None:
    rankings, rng = ranked(n1, n0, *four(epsilon, delta)), np.random.default_rng(n1)
    for _ in range(6):
        critical = random_counts(rng, n1 + n0)
        exact = crossing(rankings, critical)
        found = _core.four_outcomes_crossing(critical, n1, n0, delta, epsilon, 1e-15)
        assert exact + 5e-12 * (1.0 - exact) - 1e-15 <= found <= exact + 3e-11
        cheap = _core.four_outcomes_crossing(critical, n1, n0, delta, epsilon, 0.02)
        assert found <= cheap + 1e-15  # what is left out counts as crossing


@pytest.mark.parametrize(("n1", "n0", "delta", "epsilon"), SIZES[:4])
def test_no_random_function_of_the_outcomes_crosses_more_often(
    n1: int, n0: int, delta: float, epsilon: float
) -> None:
    rng = np.random.default_rng(5)
    counts = [random_counts(rng, n1 + n0) for _ in range(6)]
    limits = [_core.four_outcomes_crossing(c, n1, n0, delta, epsilon, 1e-15) for c in counts]
    laws = np.array(four(epsilon, delta))
    below = []
    for kernel in rng.dirichlet([0.3] * 4, (4, 4)):
        rankings = ranked(n1, n0, *(laws @ kernel).tolist())
        rates = [crossing(rankings, c) for c in counts]
        assert max(rate - limit for rate, limit in zip(rates, limits, strict=True)) <= 1e-15
        below.append(max(limit - rate for rate, limit in zip(rates, limits, strict=True)))
    assert max(below) > 0.02


def close_pair(rng: np.random.Generator, epsilon: float, delta: float) -> tuple[Law, Law]:
    """Two laws of three scores at the edge of (epsilon, delta), by their hockey sticks alone."""
    first, second = rng.dirichlet([0.4] * 3, 2)

    def excess(weight: float) -> float:
        p = weight * first + (1.0 - weight) * second
        sticks = (
            np.maximum(a - math.exp(epsilon) * b, 0.0).sum() for a, b in ((p, second), (second, p))
        )
        return max(sticks) - delta

    low, high = 0.0, 1.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) <= 0.0 else (low, middle)
    members = low * first + (1.0 - low) * second
    return members.tolist(), second.tolist()


@pytest.mark.parametrize(("n1", "n0", "delta", "epsilon"), SIZES[:4])
def test_no_close_pair_crosses_more_often(n1: int, n0: int, delta: float, epsilon: float) -> None:
    """The theorem again, without the four outcomes: laws in any order that obey the claim."""
    rng = np.random.default_rng(6)
    counts = [random_counts(rng, n1 + n0) for _ in range(6)]
    limits = [_core.four_outcomes_crossing(c, n1, n0, delta, epsilon, 1e-15) for c in counts]
    near = math.inf
    for _ in range(40):
        rankings = ranked(n1, n0, *close_pair(rng, epsilon, delta))
        for limit, count in zip(limits, counts, strict=True):
            room = limit - crossing(rankings, count)
            assert room >= -1e-14
            near = min(near, room)
    assert near < 0.1


@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize("epsilon", [0.05, 0.7, 2.0])
def test_level_by_enumeration(epsilon: float, delta: float) -> None:
    """Bounds on the least favourable scores are above the truth in 1 - confidence at most."""
    n1, n0, confidence = 4, 5, 0.7
    wrong = []
    chances, rankings = ranked(n1, n0, *four(epsilon, delta))
    for bits in rankings.astype(bool):
        order = np.arange(bits.size, 0, -1.0)
        found = Audit(order[bits], order[~bits]).epsilon(delta, confidence, METHOD)
        wrong.append(float(found) > epsilon + 1e-9)
    rate = float(chances @ np.array(wrong))
    assert rate <= 1 - confidence
    assert (rate > 0.0) == (epsilon < 1.0)  # so few rounds prove no more than that


def test_level_of_many_rounds() -> None:
    """Randomised response, its ties ordered by noise: 200 audits; .05 + 4 errors is .112."""
    rng, wrong = np.random.default_rng(3), 0
    q = 1.0 / (1.0 + math.exp(-1.0))
    for _ in range(200):
        members, others = (np.where(rng.random(60) < p, 2.0, 0.0) for p in (q, 1.0 - q))
        audit = Audit(members + rng.random(60), others + rng.random(60))
        wrong += float(audit.epsilon(method=METHOD)) > 1.0
    assert 2 <= wrong <= 22


def test_it_proves_more_than_bands() -> None:
    rng = np.random.default_rng(0)
    for n, shift in ((50, 2.0), (300, 1.0)):
        gains = []
        for _ in range(8):
            audit = Audit(rng.normal(shift, 1.0, n), rng.normal(0.0, 1.0, n))
            gains.append(
                float(audit.epsilon(1e-5, method=METHOD))
                - float(audit.epsilon(1e-5, method="weighted-ell"))
            )
        assert np.mean(gains) > 0.3


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.float64])
def test_fields(dtype: type) -> None:
    rng = np.random.default_rng(4)
    members, others = (rng.integers(0, 40, n).astype(dtype) for n in (150, 90))
    members[::2] += 12
    audit = Audit(members[::-1], others)
    bound = audit.epsilon(1e-5, method=METHOD)
    flagged = [int((x > bound.threshold).sum()) for x in (members, others)]
    assert bound.fpr == flagged[1] / 90
    assert bound.fnr == pytest.approx(1 - flagged[0] / 150)
    assert f"{flagged[0]} members of the {sum(flagged)} highest, " in bound.algorithm
    assert bound.direction == ("forward" if sum(flagged) <= 120 else "reverse")
    assert (bound.fpr_upper, bound.fnr_upper) == (1.0, 1.0)
    assert 0.0 < bound.epsilon < bound.max_certifiable
    assert (
        bound.epsilon
        == Audit(3.0 * members - 7.0, 3.0 * others - 7.0).epsilon(1e-5, method=METHOD).epsilon
    )
    edges = np.array([-np.inf, *range(1, 60), np.inf])
    binned = Audit.from_counts(edges, *(np.histogram(x, edges)[0] for x in (members, others)))
    assert binned.epsilon(1e-5, method=METHOD).epsilon == bound.epsilon
    apart = Audit(np.arange(150) + 1000, np.arange(90))
    assert apart.epsilon(1e-5, method=METHOD).epsilon == bound.max_certifiable


def test_both_orientations_share_the_level() -> None:
    rng = np.random.default_rng(1)
    members, others = rng.normal(1.0, 1.0, 80), rng.normal(0.0, 1.0, 120)
    high = Audit(members, others).epsilon(confidence=0.95, method=METHOD)
    half = Audit(members, others).epsilon(confidence=0.975, method=METHOD)
    assert half.epsilon < high.epsilon
    both = Audit(members, others).epsilon(method=METHOD, orientation="both")
    low = Audit(-members, -others).epsilon(method=METHOD, orientation="both")
    assert both.epsilon == low.epsilon == half.epsilon
    assert (both.orientation, low.orientation) == ("high", "low")
    assert low.fpr == (-others < low.threshold).mean()
    assert low.fnr == (-members >= low.threshold).mean()
    assert low.max_certifiable == pytest.approx(both.max_certifiable)


def test_it_spends_its_level_on_ties_too() -> None:
    """Two values: one threshold; the bound is some way above that of a band."""
    members, others = np.repeat([1.0, 0.0], [73, 27]), np.repeat([1.0, 0.0], [27, 73])
    audit = Audit(members, others)
    assert float(audit.epsilon(method=METHOD)) >= float(audit.epsilon(method="split")) + 0.05
    assert float(audit.epsilon(method=METHOD)) >= float(audit.epsilon(method="weighted-ell")) + 0.2


def test_refusals_and_ends() -> None:
    audit = Audit(np.arange(30.0), np.arange(30.0) - 9)
    with pytest.raises(ValueError, match=r"shape \(2,\) must be one number"):
        audit.epsilon([0.0, 1e-5], method=METHOD)
    with pytest.raises(ValueError, match=r"delta=0.01 must be <= 0.1/rounds"):
        audit.epsilon(0.01, method=METHOD)
    with pytest.raises(ValueError, match="rounds must be at most 20000"):
        Audit(np.arange(20_000), [1.0]).epsilon(method=METHOD)
    with pytest.raises(ValueError, match=r"threshold=0\.5 must not be given"):
        audit.epsilon(method=METHOD, threshold=0.5)
    for members, others in (([1.0], [0.0]), ([1.0] * 9, [1.0] * 7), ([-np.inf], [np.inf] * 3)):
        bound = Audit(members, others).epsilon(method=METHOD)
        assert bound.epsilon == 0.0
        assert "nothing is refuted" in bound.algorithm
        assert np.isfinite(bound.max_certifiable)


@pytest.mark.parametrize(
    ("n1", "delta", "reason"),
    [
        (2600, 0.0, ""),
        (2600, 2e-5, ""),
        (2600, 2.1e-5, "the default for delta * rounds > 0.1"),
        (2601, 0.0, "the default for more than 5000 rounds"),
        (60, [0.0], "the default for an array of delta"),
    ],
)
def test_it_is_the_default_where_it_applies(n1: int, delta: float, reason: str) -> None:
    """The number of rounds and the shape of delta decide, and the result says why it is not."""
    audit = Audit(np.full(n1, 1.0), np.zeros(2400))
    bound = audit.epsilon(delta)
    assert bound.method == ("weighted-ell" if reason else METHOD)
    assert bound.algorithm.endswith(reason)
    expected = audit.epsilon(delta, method=bound.method)
    assert np.all(bound.epsilon == expected.epsilon)
    assert bound.algorithm == "; ".join(filter(None, (expected.algorithm, reason)))
    assert Audit(np.zeros(n1), np.arange(2400)).epsilon(delta).method == bound.method
