"""The sorted-bits test: its probabilities and level by enumeration, what it refuses, its fields."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from leakscore import _core
from leakscore.audit import Audit
from tests.oracles import sorted_bits as oracle

METHOD = "sorted-bits"


def exact_q(epsilon: float) -> Fraction:
    """A fraction within 1e-16 of e^epsilon / (1 + e^epsilon)."""
    return Fraction(1 / (1 + math.exp(-epsilon)))


def coins(rounds: int, seed: int, shift: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    bits = rng.random(rounds) < 0.5
    return rng.normal(shift * bits), bits


@pytest.mark.parametrize("rounds", [2, 3, 9, 200, 2001, 100_000])
def test_sizes_are_the_preset_ones(rounds: int) -> None:
    assert _core.sorted_bits_grid(rounds).tolist() == oracle.grid(rounds)


@pytest.mark.parametrize("delta", [0.0, 0.003, 0.2])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
@pytest.mark.parametrize("rounds", [2, 7, 12])
def test_crossing_probability_is_exact(rounds: int, epsilon: float, delta: float) -> None:
    """Against all strings of coins and all numbers of exposed rounds, for all sorts of counts."""
    sizes = oracle.grid(rounds)
    rng = np.random.default_rng(rounds)
    for _ in range(4):
        critical = np.sort(rng.integers(1, rounds // 2 + 2, len(sizes)))
        exact = oracle.crossing(rounds, Fraction(delta), exact_q(epsilon), sizes, critical.tolist())
        found = _core.sorted_bits_crossing(rounds, delta, epsilon, critical)
        assert float(exact) <= found <= float(exact) * (1 + 2e-10) + 2e-16


def test_exposed_rounds_do_most_at_the_first_places() -> None:
    """Lemma 2 for every set of exposed places, and random critical counts."""
    sizes, q = oracle.grid(10), exact_q(0.7)
    rng = np.random.default_rng(3)
    for critical in np.sort(rng.integers(1, 6, (4, len(sizes)))).tolist():
        first = [
            oracle.crossing_given([1] * f + [0] * (5 - f), q, sizes, critical) for f in range(6)
        ]
        assert len(set(first)) > 1
        for exposed in product((0, 1), repeat=5):
            assert oracle.crossing_given(exposed, q, sizes, critical) <= first[sum(exposed)]


@pytest.mark.parametrize("delta", [0.0, 0.003, 0.05])
@pytest.mark.parametrize("epsilon", [0.01, 0.35, 0.5, 2.0])
@pytest.mark.parametrize(("rounds", "miss"), [(12, 0.2), (2, 0.6), (4, 0.6)])
def test_critical_counts_have_the_largest_level(
    rounds: int, miss: float, epsilon: float, delta: float
) -> None:
    sizes, q = oracle.grid(rounds), exact_q(epsilon)

    def at(i: int) -> list[int]:
        level = Fraction(miss * 2 ** (-i / 16))
        tails = [[oracle.binomial_tail(g, q, c) for c in range(g + 2)] for g in sizes]
        return [min(c for c, tail in enumerate(row) if tail <= level) for row in tails]

    def probability(i: int) -> Fraction:
        return oracle.crossing(rounds, Fraction(delta), q, sizes, at(i))

    i = next(i for i in range(200) if probability(i) <= miss)
    found = _core.sorted_bits_critical(rounds, delta, miss, np.array([epsilon]))
    assert found.tolist() == [at(i)]


def test_level_by_enumeration_of_all_bits() -> None:
    """Every rank is guessed with the largest probability q that the mechanism allows."""
    rounds, epsilon, confidence = 10, 0.4, 0.6
    q = float(exact_q(epsilon))
    wrong = 0.0
    scores = np.arange(rounds)
    for right in product((False, True), repeat=rounds):
        bits = np.array(right) == (scores >= rounds // 2)
        if bits.all() or not bits.any():
            continue
        bound = Audit.from_rounds(scores, bits, random_bits=True).epsilon(0.0, confidence, METHOD)
        if bound.epsilon > epsilon:
            wrong += q ** sum(right) * (1 - q) ** (rounds - sum(right))
    assert 0.1 < wrong <= 1 - confidence


def test_search_does_not_depend_on_where_it_begins() -> None:
    epsilons = np.arange(1, 300) / 100
    table = _core.sorted_bits_critical(400, 1e-5, 0.025, epsilons)
    for k in (0, 100, 298):
        assert (_core.sorted_bits_critical(400, 1e-5, 0.025, epsilons[k : k + 1]) == table[k]).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("flip", [False, True])
def test_result_can_be_checked_by_hand(seed: int, flip: bool) -> None:
    scores, bits = coins(500, seed, -2.0 if flip else 2.0)
    audit = Audit.from_rounds(scores, bits, random_bits=True)
    bound = audit.epsilon(1e-5, method=METHOD, orientation="both" if flip else "high")
    assert bound.orientation == ("low" if flip else "high")
    flagged = scores < bound.threshold if flip else scores > bound.threshold
    assert bound.fpr == (flagged & ~bits).sum() / (~bits).sum()
    assert bound.fnr == (~flagged & bits).sum() / bits.sum()
    guessed = flagged if bound.direction == "forward" else ~flagged
    right = (guessed & (bits if bound.direction == "forward" else ~bits)).sum()
    sizes = oracle.grid(500)
    j = sizes.index(int(guessed.sum()))
    miss = 0.05 / (4 if flip else 2)
    critical, beyond = _core.sorted_bits_critical(
        500, 1e-5, (1 - 0.95) / (4 if flip else 2), np.array([bound.epsilon, bound.epsilon + 0.05])
    )
    assert right >= critical[j]
    counts = f"{right} right guesses of {sizes[j]}, {critical[j]} are critical"
    assert bound.algorithm == f"exact crossing probability; {counts}"
    assert _core.sorted_bits_crossing(500, 1e-5, bound.epsilon, critical) <= miss
    order = bits[np.argsort(scores if flip else -scores)]
    members = np.cumsum(order)[np.array(sizes) - 1]
    nonmembers = np.cumsum(~order[::-1])[np.array(sizes) - 1]
    assert (np.maximum(members, nonmembers) < beyond).all()
    assert bound.fpr_upper == bound.fnr_upper == 1.0
    assert 0 < bound.epsilon <= bound.max_certifiable


def test_perfect_separation_reaches_the_cap_and_no_evidence_is_zero() -> None:
    bits = np.arange(400) % 2 == 0
    audit = Audit.from_rounds(np.where(bits, np.inf, -np.inf), bits, random_bits=True)
    bound = audit.epsilon(method=METHOD)
    assert bound.epsilon == bound.max_certifiable > audit.epsilon(method="dkw").max_certifiable
    assert (
        Audit.from_rounds(-1.0 * bits, bits, random_bits=True).epsilon(method=METHOD).epsilon == 0
    )
    one = Audit.from_rounds([0.0, 1.0], [False, True], random_bits=True).epsilon(method=METHOD)
    assert one.epsilon == one.max_certifiable == 0.0


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "f2", "i1"])
def test_scores_of_any_dtype_and_layout(dtype: str) -> None:
    scores, bits = coins(300, 1)
    plain = np.round(scores * 8).astype(dtype)
    spread = np.zeros((300, 3), dtype)
    spread[:, 1] = plain
    bounds = [
        Audit.from_rounds(values, bits, random_bits=True, rng=3).epsilon(method=METHOD)
        for values in (plain, spread[:, 1], plain.astype(float))
    ]
    assert bounds[0].to_json() == bounds[1].to_json() == bounds[2].to_json()


def test_ties_are_ordered_by_the_generator_alone() -> None:
    scores, bits = coins(2000, 5)
    coarse = np.round(scores)

    def bound(values: np.ndarray, member: np.ndarray, **rng: object) -> str:
        audit = Audit.from_rounds(values, member, random_bits=True, **rng)  # type: ignore[arg-type]
        return pickle.loads(pickle.dumps(audit)).epsilon(1e-6, method=METHOD).to_json()

    assert bound(coarse, bits) == bound(coarse, bits, rng=0)
    assert bound(coarse, bits, rng=7) == bound(coarse, bits, rng=np.random.default_rng(7))
    assert len({bound(coarse, bits, rng=seed) for seed in range(5)}) > 1
    order = np.random.default_rng(1).permutation(2000)
    assert bound(scores, bits) == bound(scores[order], bits[order], rng=9)
    assert bound(np.where(scores < 0, -0.0, 0.0), bits) == bound(np.zeros(2000), bits)


@pytest.mark.parametrize("first", ["members", "nonmembers", "same seed"])
def test_tied_scores_show_nothing(first: str) -> None:
    """The order of the rounds and a seed shared with the bits do not leak through ties."""
    wrong = 0
    for seed in range(300):
        bits = np.random.default_rng(seed).random(200) < 0.5
        if first != "same seed":
            bits = np.sort(bits) if first == "nonmembers" else np.sort(bits)[::-1]
        audit = Audit.from_rounds(np.zeros(200), bits, random_bits=True, rng=seed)
        wrong += audit.epsilon(method=METHOD).epsilon > 0
    assert wrong <= 300 * 0.05 + 4 * math.sqrt(300 * 0.05 * 0.95)


def test_refused_calls() -> None:
    scores, bits = coins(1000, 1)
    for audit in (Audit(scores[bits], scores[~bits]), Audit.from_rounds(scores, bits)):
        with pytest.raises(ValueError, match=r"random_bits=True.*bound error rates"):
            audit.epsilon(method=METHOD)
    audit = Audit.from_rounds(scores, bits, random_bits=True)
    assert audit.epsilon(5e-5, method=METHOD).epsilon > 0
    assert audit.epsilon(1e-4, method=METHOD).epsilon > 0  # 1000 * 1e-4 is the limit itself
    with pytest.raises(ValueError, match=r"delta=0.000101 must be <= 0.1/rounds = 0.0001"):
        audit.epsilon(1.01e-4, method=METHOD)
    with pytest.raises(ValueError, match=r"delta of shape \(2,\) must be one number"):
        audit.epsilon([0.0, 1e-6], method=METHOD)
    assert audit.epsilon([1e-6], method=METHOD).epsilon.shape == (1,)
    with pytest.raises(ValueError, match="orientation"):
        audit.epsilon(method=METHOD, orientation="low")
    many = np.arange(1_000_002)
    with pytest.raises(ValueError, match="rounds must be at most 1000000"):
        Audit.from_rounds(many, many % 2, random_bits=True).epsilon(method=METHOD)
    for word in (1, None, "yes", np.array([True])):
        with pytest.raises(TypeError, match="random_bits"):
            Audit.from_rounds(scores, bits, random_bits=word)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="both members and non-members"):
        Audit.from_rounds(scores, np.ones(1000), random_bits=True)


def test_extreme_confidence_is_finite() -> None:
    scores, bits = coins(1000, 2, 8.0)
    audit = Audit.from_rounds(scores, bits, random_bits=True)
    bounds = [
        audit.epsilon(1e-6, confidence, METHOD).epsilon
        for confidence in (1e-6, 0.5, 0.95, 1 - 1e-9, 1 - 1e-15, np.nextafter(1, 0))
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert 4 < bounds[0] < 20
    assert bounds[-1] == 0
