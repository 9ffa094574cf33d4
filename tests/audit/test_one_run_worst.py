"""One training against the worst mechanism that a curve allows, found by linear programming."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.stats import binom

from leakscore import _core
from leakscore.audit import one_run_fdp
from leakscore.tradeoff import gaussian
from tests.helpers.parts import Polygon
from tests.oracles import one_run as oracle

# Laws of one canary's best score, out and in: the curve between them is the claim.
RESPONSE = np.array([0.75, 0.25]), np.array([0.25, 0.75])
ASYMMETRIC = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.35, 0.55])
EXPOSED = np.array([0.1, 0.6, 0.3, 0.0]), np.array([0.0, 0.3, 0.6, 0.1])
CLAIMS = {"response": RESPONSE, "asymmetric": ASYMMETRIC, "exposed": EXPOSED}

Laws = tuple[np.ndarray, np.ndarray]
Guess = tuple[tuple[int, ...], tuple[int, ...]]  # the canaries guessed in, and those guessed out


def outputs(m: int, k_plus: int, k_minus: int) -> list[Guess]:
    return [
        (inside, outside)
        for inside in combinations(range(m), k_plus)
        for outside in combinations(sorted(set(range(m)) - set(inside)), k_minus)
    ]


def hockey_sticks(laws: Laws) -> list[tuple[float, float]]:
    """Return slopes t and P1(A) - t P0(A) at most: with all ratios of the laws, the whole curve."""
    outside, inside = laws
    ratios = np.unique((inside[outside > 0] / outside[outside > 0]).round(12))
    return [(t, float(np.maximum(inside - t * outside, 0.0).sum())) for t in (0.0, *ratios)]


def worst_probability(m: int, k_plus: int, k_minus: int, correct: int, laws: Laws) -> float:
    """Return the largest probability of this many right guesses, over all mechanisms.

    A mechanism is a law over the guesses for each of the 2^m sets of canaries. Where one canary is
    in or out, its two laws P1 and P0 obey sum over guesses of (P1 - t P0)+ <= P1(A) - t P0(A).
    """
    guesses, sets = outputs(m, k_plus, k_minus), list(product((0, 1), repeat=m))
    column = {each: i for i, each in enumerate((bits, guess) for bits in sets for guess in guesses)}
    entries: list[tuple[int, int, float]] = []
    limits: list[float] = []
    columns = len(column)
    for bits, i in product(sets, range(m)):
        if bits[i]:
            continue
        flipped = (*bits[:i], 1, *bits[i + 1 :])
        for slope, most in hockey_sticks(laws):
            first = columns
            for guess in guesses:  # an unknown that is at least the positive part
                row = len(limits)
                entries += [(row, column[flipped, guess], 1.0), (row, columns, -1.0)]
                entries.append((row, column[bits, guess], -slope))
                limits.append(0.0)
                columns += 1
            entries += [(len(limits), each, 1.0) for each in range(first, columns)]
            limits.append(most)
    rows, places, values = zip(*entries, strict=True)
    inequalities = coo_array((values, (rows, places)), shape=(len(limits), columns))
    equalities = np.zeros((len(sets), columns))
    gain = np.zeros(columns)
    for (bits, guess), place in column.items():
        equalities[sets.index(bits), place] = 1.0
        right = sum(bits[j] for j in guess[0]) + sum(1 - bits[j] for j in guess[1])
        gain[place] = (right >= correct) / len(sets)
    found = linprog(
        -gain,
        A_ub=inequalities.tocsr(),
        b_ub=limits,
        A_eq=equalities,
        b_eq=np.ones(len(sets)),
        method="highs",
    )
    assert found.status == 0
    return float(-found.fun)


def bounded_probability(m: int, k_plus: int, k_minus: int, correct: int, laws: Laws) -> float:
    with np.errstate(divide="ignore"):
        curve = Polygon.from_laws(*map(np.log, laws))
    included = np.zeros(m, dtype=bool)
    included[m - k_plus :] = np.arange(k_plus) < correct
    included[:k_minus] = np.arange(k_minus) >= correct - k_plus
    test = one_run_fdp(np.arange(float(m)), included, k_plus, k_minus, curve)
    assert test.correct == correct
    return test.p_value


ONE_KIND = [(m, k, v) for m in (1, 2, 3, 4) for k in range(1, m + 1) for v in range(1, k + 1)]


@pytest.mark.parametrize("kind", ["in", "out"])
@pytest.mark.parametrize("claim", CLAIMS)
def test_no_mechanism_beats_the_bound_with_guesses_of_one_kind(claim: str, kind: str) -> None:
    """All mechanisms, 4 canaries at most; an asymmetric curve is read in the guesses' direction."""
    closest = 1.0
    for m, k, correct in ONE_KIND:
        pair = (k, 0) if kind == "in" else (0, k)
        worst = worst_probability(m, *pair, correct, CLAIMS[claim])
        bound = bounded_probability(m, *pair, correct, CLAIMS[claim])
        assert worst <= bound + 1e-7, (m, k, correct)
        if m > 1 and bound < 1:
            closest = min(closest, bound - worst)
    assert closest < 0.03  # .06 of "exposed", with m in the place of m / 2


@pytest.mark.parametrize("claim", CLAIMS)
def test_no_mechanism_beats_the_bound_with_guesses_of_both_kinds(claim: str) -> None:
    for m, k_plus, k_minus in [(2, 1, 1), (3, 1, 1), (3, 2, 1)]:
        for correct in range(1, k_plus + k_minus + 1):
            worst = worst_probability(m, k_plus, k_minus, correct, CLAIMS[claim])
            bound = bounded_probability(m, k_plus, k_minus, correct, CLAIMS[claim])
            assert worst <= bound + 1e-7, (m, k_plus, k_minus, correct)


def test_guesses_of_both_kinds_gain_no_factor() -> None:
    """One canary of each kind: half of the canaries in the recursion would be too few."""
    worst = worst_probability(2, 1, 1, 2, RESPONSE)
    # Two guesses of one kind among two canaries run the recursion that two kinds would need.
    assert worst > bounded_probability(2, 2, 0, 2, RESPONSE) + 0.01


def test_one_kind_of_guess_in_figures() -> None:
    """20 right of 20 among 100; the recursion with m itself refutes .7694 at most."""
    included = np.arange(100) >= 50
    for pair in ((20, 0), (0, 20)):
        bound = one_run_fdp(np.arange(100.0), included, *pair, gaussian)
        assert bound.parameter == pytest.approx(0.8686, abs=5e-5)
    both = one_run_fdp(np.arange(100.0), included, 10, 10, gaussian)
    assert both.parameter == pytest.approx(0.7694, abs=5e-5)


@pytest.mark.parametrize(("m", "excess"), [(10, 0.096), (200, 0.020), (1000, 0.009)])
def test_no_mechanism_beats_the_bound_with_all_guessed(m: int, excess: float) -> None:
    """The worst of all mechanisms adds far less at 5 % than the (1 - q) m delta of theorem 5."""
    epsilon, delta = 1.0, 1e-3 / m
    for correct in sorted({1, m // 2, round(0.8 * m), m}):
        bound = _core.one_run_p_value(m, correct, m * delta, epsilon)
        assert oracle.worst_all(m, correct, epsilon, delta) <= bound + 1e-8
    q = 1.0 / (1.0 + np.exp(-epsilon))
    correct = int(binom.isf(0.05, m, q)) + 1
    added = oracle.worst_all(m, correct, epsilon, delta) - binom.sf(correct - 1, m, q)
    assert added / (m * delta) == pytest.approx(excess, abs=5e-4)


def test_the_published_inequality_is_exceeded_by_the_law_of_wrong_bits() -> None:
    """Two canaries, one right; the note's mechanism, found again by another linear programme."""
    q = 1.0 / (1.0 + np.exp(-1.0))
    published = 1.0 - (1.0 - q) ** 2 + 4 * 0.01 * (1.0 - q) ** 2
    assert oracle.worst_all(2, 1, 1.0, 0.01) == pytest.approx(0.931083, abs=1e-6)
    assert published < 0.9306
    assert _core.one_run_p_value(2, 1, 0.02, 1.0) > 0.931083


def test_the_published_inequality_is_exceeded_by_numbers_that_are_fixed() -> None:
    """Six canaries, two guessed in and one out, one right: by enumeration of all mechanisms."""
    q, claim = 1.0 / (1.0 + np.exp(-1.0)), (1.0, 0.01)
    worst = oracle.worst_some((2, 1), 6, 1, claim)
    assert worst == pytest.approx(0.98411, abs=5e-6)
    # P(W >= 1) and 2 m delta max_i P(1 - i <= W < 1)/i, the largest at i = 1
    published = 1.0 - (1.0 - q) ** 3 + 2 * 6 * 0.01 * (1.0 - q) ** 3
    assert published == pytest.approx(0.98288, abs=5e-6)
    assert worst < _core.one_run_p_value(3, 1, 6 * 0.01, 1.0)
    # The same as all outputs of all sets of canaries, each by itself.
    exposed = np.array([0.01, 0.99 * q, 0.99 * (1 - q), 0.0])
    other = worst_probability(3, 1, 1, 1, (exposed[::-1], exposed))
    assert oracle.worst_some((1, 1), 3, 1, claim) == pytest.approx(other, abs=1e-9)
