"""The theorem of four outcomes by enumeration in whole numbers, and by a search without it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np
import pytest
from scipy.optimize import linprog

from leakscore import _core

Law = Sequence[int]
Bits = tuple[int, ...]
Doubles = np.ndarray

# e^epsilon and delta. Delta 0.2 leaves many rounds exposed.
CLAIMS = [
    (ratio, delta)
    for ratio in (Fraction(21, 20), Fraction(2), Fraction(12))
    for delta in (Fraction(0), Fraction(1, 50), Fraction(1, 5))
]


def four(ratio: Fraction, delta: Fraction) -> tuple[Law, Law]:
    """Weights of the outcomes for a member and for a non-member, the highest ratio first."""
    hidden = delta.denominator - delta.numerator
    right, wrong = hidden * ratio.numerator, hidden * ratio.denominator
    exposed = delta.numerator * (ratio.numerator + ratio.denominator)
    return (exposed, right, wrong, 0), (0, wrong, right, exposed)


def arrangements(rounds: int, members: int) -> list[Bits]:
    chosen = combinations(range(rounds), members)
    return [tuple(int(i in inside) for i in range(rounds)) for inside in chosen]


def ranked(n1: int, n0: int, members: Law, others: Law) -> dict[Bits, Fraction]:
    """Return the probability of each ranking of the bits: outcomes in this order, ties by lots."""
    weights = dict.fromkeys(arrangements(n1 + n0, n1), 0)
    for levels in combinations_with_replacement(range(len(members)), n1 + n0):
        orders = math.factorial(n1 + n0)
        for level in set(levels):
            orders //= math.factorial(levels.count(level))
        for bits in weights:
            pairs = zip(bits, levels, strict=True)
            weights[bits] += orders * math.prod((others, members)[b][level] for b, level in pairs)
    total = sum(weights.values())
    return {bits: Fraction(weight, total) for bits, weight in weights.items()}


def above(bits: Bits) -> list[int]:
    """Return the members among the first 1, ..., N - 1."""
    return np.cumsum(bits[:-1]).tolist()


def events(n1: int, n0: int) -> Iterator[tuple[list[int], set[Bits]]]:
    """Every event "C_i >= c_i for some i": its complement lies below a highest ranking."""
    rankings = arrangements(n1 + n0, n1)
    for highest in rankings:
        critical = [count + 1 for count in above(highest)]
        crossed = {
            bits
            for bits in rankings
            if any(count >= c for count, c in zip(above(bits), critical, strict=True))
        }
        yield critical, crossed


def computed(critical: Sequence[int], n1: int, n0: int, claim: tuple[Fraction, Fraction]) -> float:
    counts = np.array([n1 + n0 + 1, *critical, n1 + n0 + 1])
    return _core.four_outcomes_crossing(
        counts, n1, n0, float(claim[1]), math.log(claim[0]), spare=1e-15
    )


@pytest.mark.parametrize("rounds", range(2, 9))
def test_every_event_of_few_rounds(rounds: int) -> None:
    """The probability that the test computes, against enumeration in whole numbers."""
    for n1 in range(1, rounds):
        n0 = rounds - n1
        sets = list(events(n1, n0))
        assert len(sets) == math.comb(rounds, n1)
        for claim in CLAIMS:
            chances = ranked(n1, n0, *four(*claim))
            for critical, crossed in sets:
                exact = float(sum((chances[bits] for bits in crossed), Fraction(0)))
                value = computed(critical, n1, n0, claim)
                assert exact + 1e-11 * (1.0 - exact) - 1e-15 <= value <= exact + 3e-11


def weak_orders() -> list[list[list[int]]]:
    """All 75 rankings of the four outcomes, with ties: the groups from the highest on."""
    orders = {}
    for levels in product(range(4), repeat=4):
        groups = [[z for z in range(4) if levels[z] == level] for level in sorted(set(levels))]
        orders[str(groups)] = groups
    return list(orders.values())


@pytest.mark.parametrize(("n1", "n0"), [(1, 3), (2, 2), (3, 1), (2, 3), (3, 2), (3, 3)])
def test_no_ranking_of_the_outcomes_crosses_more_often(n1: int, n0: int) -> None:
    """The theorem in whole numbers: every ranking of the outcomes and every event."""
    orders, sets = weak_orders(), list(events(n1, n0))
    assert len(orders) == 75
    for claim in CLAIMS[1::3] + CLAIMS[2::3]:
        members, others = four(*claim)
        sorted_chances = ranked(n1, n0, members, others)
        limits = [sum(sorted_chances[bits] for bits in crossed) for _, crossed in sets]
        below = 0
        for groups in orders:
            laws = ([sum(law[z] for z in group) for group in groups] for law in (members, others))
            chances = ranked(n1, n0, *laws)
            for limit, (_, crossed) in zip(limits, sets, strict=True):
                rate = sum(chances[bits] for bits in crossed)
                assert rate <= limit
                below += rate < limit
        assert below == 74 * (len(sets) - 1)  # no other ranking attains them; one event is empty


def crossings(letters: int, n1: int, n0: int, critical: Sequence[int]) -> tuple[Doubles, Doubles]:
    """Return the arrangements of the bits, and P(crossed) given them and each round's letter.

    Letter 0 is the highest score; ties are ordered by lots.
    """
    rounds = n1 + n0
    bits = np.array(arrangements(rounds, n1))
    words = np.array(list(product(range(letters), repeat=rounds)))
    crossed = np.zeros((len(bits), len(words)))
    lots = list(permutations(range(rounds)))
    for lot in lots:
        order = np.argsort(words * rounds + np.array(lot), axis=1)
        counts = np.cumsum(bits[:, order], axis=2)[:, :, :-1]
        crossed += (counts >= np.array(critical)).any(axis=2)
    return bits, (crossed / len(lots)).reshape(len(bits), *[letters] * rounds)


def close(letters: int, ratio: float, delta: float) -> tuple[Doubles, Doubles]:
    """Return the hockey sticks on (others' law, members' law): matrix @ both <= limits."""
    subsets = np.array(list(product([0.0, 1.0], repeat=letters)))[1:-1]
    rows = np.vstack(
        [np.hstack([subsets, -ratio * subsets]), np.hstack([-ratio * subsets, subsets])]
    )
    return rows, np.full(len(rows), delta)


def climbed(rng: np.random.Generator, tensor: tuple[Doubles, Doubles], sticks: tuple) -> float:
    """Replace the pair of laws of one round after another by the best, until nothing changes."""
    bits, crossed = tensor
    rounds, letters = bits.shape[1], crossed.shape[-1]
    sums = np.kron(np.eye(2), np.ones(letters))

    def pair(slope: Doubles) -> tuple[Doubles, float]:
        answer = linprog(-slope.ravel(), *sticks, sums, np.ones(2), method="highs")
        return answer.x.reshape(2, letters), -answer.fun

    slopes = np.sort(rng.normal(size=(rounds, 2, letters)) * [[[-1.0], [1.0]]], axis=2)
    laws = np.array([pair(slope)[0] for slope in slopes * [[[1.0], [-1.0]]]])
    best = -1.0
    for _ in range(30):
        for i in range(rounds):
            slope = np.zeros((2, letters))
            for row, value in zip(bits, crossed, strict=True):
                for j in reversed(range(rounds)):
                    if j != i:
                        value = np.tensordot(value, laws[j, row[j]], (j, 0))
                slope[row[i]] += value / len(bits)
            laws[i], rate = pair(slope)
        if rate <= best + 1e-12:
            break
        best = rate
    return best


CASES = [(2, 2, [1, 2, 2], 2.0, 0.0), (2, 2, [1, 2, 2], 3.0, 0.1), (3, 1, [2, 2, 3], 1.5, 0.05)]
CASES += [(1, 3, [1, 2, 2], 1.2, 0.2), (2, 3, [2, 2, 2, 3], 2.0, 0.0)]


@pytest.mark.parametrize(("n1", "n0", "critical", "ratio", "delta"), CASES)
def test_search_among_laws_that_differ_by_round(
    n1: int, n0: int, critical: list[int], ratio: float, delta: float
) -> None:
    """Each round may have laws of its own; nothing but the hockey sticks limits them.

    The probability is linear in the pair of each round. From some starts a climb reaches the
    theorem's value, and never goes beyond it.
    """
    letters = 4 if delta else 3
    tensor = crossings(letters, n1, n0, critical)
    sticks = close(letters, ratio, delta)
    limit = computed(critical, n1, n0, (Fraction(ratio), Fraction(delta)))
    rng = np.random.default_rng(n1)
    climbs = [climbed(rng, tensor, sticks) for _ in range(12)]
    assert max(climbs) <= limit + 1e-9
    assert max(climbs) >= limit - 1e-6
