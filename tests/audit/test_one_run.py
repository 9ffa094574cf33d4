"""Audits with one training: right guesses, p-values and bounds on epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscore import _core
from leakscore.audit import one_run
from leakscore.distributions import clopper_pearson
from tests.oracles import one_run as oracle

M, GUESSES = 400, 100

# Counts are what these tests are about: who was in is made to give them.
pytestmark = pytest.mark.filterwarnings("ignore:.*a fair coin of its own decided each")


@pytest.fixture(autouse=True, scope="module")
def thirty_digits() -> Iterator[None]:
    with mpmath.workdps(30):
        yield


def played(correct: int, made: int, canaries: int, order: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return canaries in any order of which the `made` highest are guessed in, `correct` right."""
    included = np.zeros(canaries, dtype=bool)
    included[canaries - correct :] = True
    rng = np.random.default_rng(order)
    places = rng.permutation(canaries)
    return np.arange(float(canaries))[places], included[places]


@pytest.mark.parametrize(
    ("made", "correct", "exposed", "epsilon"),
    [
        *((50, 40, 1e-3, 0.0), (200, 150, 1e-3, 1.0), (300, 300, 0.1, 2.0)),
        *((500, 400, 2.0, 0.3), (400, 399, 4e-7, 8.0), (300, 300, 0.0, 0.0)),
        *((10, 2, 0.05, 0.5), (10, 0, 25.0, 0.5), (1, 1, 0.07, 3.0)),
    ],
)
def test_p_value_is_a_tail_and_what_delta_adds(
    made: int, correct: int, exposed: float, epsilon: float
) -> None:
    expected = oracle.p_value(made, correct, exposed, epsilon)
    excess = _core.one_run_p_value(made, correct, exposed, epsilon) / expected - 1
    assert 0 <= excess < 1e-12 or expected == 1


def is_last_refuted(
    epsilon: float, made: int, correct: int, exposed: float, confidence: float
) -> bool:
    """Whether the p-value passes 1 - confidence between epsilon and 1e-12 above it for good."""
    miss = 1 - mpmath.mpf(confidence)
    beyond = [oracle.p_value(made, correct, exposed, epsilon + i / 4) for i in range(1, 25)]
    if any(p < miss for p in beyond):
        return False
    at, above = (oracle.p_value(made, correct, exposed, epsilon + step) for step in (0, 1e-12))
    return epsilon == 0.0 or bool(at < miss <= above)


@pytest.mark.parametrize("confidence", [0.3, 0.95, 1 - 1e-9])
@pytest.mark.parametrize(
    ("correct", "delta"),
    [(100, 0.0), (100, 1e-6), (97, 1e-5), (80, 1e-5), (75, 1e-4), (100, 6e-4), (100, 0.02)],
)
def test_bound_is_the_last_refuted_epsilon(correct: int, delta: float, confidence: float) -> None:
    scores, included = played(correct, GUESSES, M)
    bound = one_run(scores, included, GUESSES, 0, delta, confidence)
    assert bound.correct == correct
    exposed = 0.5 * M * delta
    assert is_last_refuted(bound.epsilon, GUESSES, correct, exposed, confidence)
    assert is_last_refuted(bound.max_certifiable, GUESSES, GUESSES, exposed, confidence)
    assert 0 <= bound.p_value / oracle.p_value(GUESSES, correct, exposed, 0) - 1 < 1e-12
    if (correct, delta, confidence) == (100, 6e-4, 0.95):  # refuted from .4 to 3.2, not at 0
        assert bound.p_value > 0.05
        assert bound.epsilon > 2.0


@pytest.mark.parametrize("delta", [1e-5, 2e-4])
def test_guesses_of_both_kinds_pay_for_all_canaries(delta: float) -> None:
    """An exposed canary is guessed right whether it is in or out; 46 of 50 and 45 of 50 are."""
    included = np.arange(M) >= M // 2
    included[[0, 1, 2, 3, -1, -2, -3, -4, -5]] ^= True
    bound = one_run(np.arange(float(M)), included, 50, 50, delta)
    assert bound.correct == 91
    assert is_last_refuted(bound.epsilon, 100, 91, M * delta, 0.95)
    assert is_last_refuted(bound.max_certifiable, 100, 100, M * delta, 0.95)
    assert 0 <= bound.p_value / oracle.p_value(100, 91, M * delta, 0) - 1 < 1e-12


def test_epsilons_computed_by_others() -> None:
    """Without delta another implementation gives the same, to its own 1e-6.

    With delta it has the published formula: theorem 5 is .005 below to .03 above it.
    """
    for m, made, correct, delta, epsilon in [
        (100, 50, 45, 1e-5, 1.3927910),
        (1000, 200, 150, 1e-6, 0.8212544),
        (1000, 300, 299, 1e-5, 4.1213864),
        (200, 40, 40, 0.0, 2.5540105),
        (2000, 500, 400, 1e-5, 1.1972875),
    ]:
        scores, included = played(correct, made, m)
        found = one_run(scores, included, made, 0, delta).epsilon
        slack = (-0.005, 0.03) if delta else (-2e-6, 2e-6)
        assert slack[0] <= found - epsilon <= slack[1]


def test_without_delta_it_is_the_share_of_right_guesses() -> None:
    for made, correct in [(1, 1), (30, 18), (100_000, 60_000), (100_000, 100_000)]:
        scores, included = played(correct, made, made + 5)
        share, rest = clopper_pearson(correct, made, 0.95, "lower")
        expected = max(0.0, math.log(share / rest))
        assert 0 <= expected - one_run(scores, included, made, 0).epsilon < 1e-12


def test_many_canaries() -> None:
    """A million, in a fraction of a second; the normal approximation bounds the result."""
    scores, included = played(600_000, 1_000_000, 1_000_000)
    bound = one_run(scores, included, 1_000_000, 0, 1e-9)
    share = 0.6 - 1.645 * math.sqrt(0.24 / 1e6)
    assert math.log(share / (1 - share)) - 0.003 < bound.epsilon < math.log(0.6 / 0.4)


@settings(max_examples=150, deadline=None)
@given(
    scores=st.lists(st.sampled_from([-math.inf, -1.0, 0.0, 2.0, math.inf]), min_size=1, max_size=9),
    data=st.data(),
)
def test_ties_at_a_cut_are_wrong_in_any_order(scores: list[float], data: st.DataObject) -> None:
    m = len(scores)
    included = data.draw(st.lists(st.booleans(), min_size=m, max_size=m))
    k_plus = data.draw(st.integers(0, m))
    k_minus = data.draw(st.integers(1 if k_plus == 0 else 0, m - k_plus)) if k_plus < m else 0
    order = data.draw(st.permutations(range(m)))
    expected = oracle.right_guesses(scores, included, k_plus, k_minus)
    bound = one_run([scores[i] for i in order], [included[i] for i in order], k_plus, k_minus)
    assert (bound.correct, bound.guesses, bound.canaries) == (expected, k_plus + k_minus, m)


def test_a_grid_pays_for_its_pairs() -> None:
    rng = np.random.default_rng(3)
    included = rng.random(M) < 0.5
    scores = rng.normal(2.0 * included)
    pairs = [(10, 0), (0, 10), (40, 40)]
    grid = one_run(scores, included, *zip(*pairs, strict=True), 1e-6, 0.94)
    alone = [one_run(scores, included, *pair, 1e-6, 0.98) for pair in pairs]
    best = max(alone, key=float)
    assert grid.epsilon == pytest.approx(best.epsilon, abs=1e-12)
    assert (grid.k_plus, grid.k_minus) == (best.k_plus, best.k_minus)
    assert grid.max_certifiable == pytest.approx(max(one.max_certifiable for one in alone))
    assert grid.p_value == pytest.approx(3 * min(one.p_value for one in alone))


def test_everything_leaks_and_nothing_does() -> None:
    scores, included = played(GUESSES, GUESSES, M)
    assert one_run(scores, included, GUESSES, 0, 0.5).epsilon == 0.0
    assert one_run(scores, ~included, GUESSES, 0).epsilon == 0.0
    one = one_run([1.0], [True], 1, 0)
    assert one.epsilon == 0.0  # one right guess: 1/2 is not below 5 %
    assert one_run([1.0], [True], 1, 0, confidence=0.25).epsilon == pytest.approx(math.log(3))
    assert math.isfinite(one_run([1.0], [True], 1, 0, confidence=1e-300).epsilon)


def test_bad_input() -> None:
    scores, included = np.arange(6.0), [1, 0, 1, 0, 1, 0]
    for k_plus, k_minus in [(4, 3), (7, 0), (0, 0), (-1, 2)]:
        with pytest.raises(ValueError, match=r"k_plus|k_minus"):
            one_run(scores, included, k_plus, k_minus)
    for k_plus, k_minus in [([1, 2], [1]), ([1], 2), ([], []), ([1, 6], [1, 1])]:
        with pytest.raises(ValueError, match="k_plus"):
            one_run(scores, included, k_plus, k_minus)
    with pytest.raises(ValueError, match="NaN"):
        one_run([math.nan, *scores[1:]], included, 1, 1)
    for bits in ([1, 0, 1, 0, 1], [2, 0, 1, 0, 1, 0], [0.5] * 6):
        with pytest.raises(ValueError, match="included"):
            one_run(scores, bits, 1, 1)
    with pytest.raises(TypeError, match="k_plus"):
        one_run(scores, included, 1.0, 1)
    for delta in (-0.1, 1.0, math.nan):
        with pytest.raises(ValueError, match="delta"):
            one_run(scores, included, 1, 1, delta)


@pytest.mark.parametrize("delta", [0.0, 2e-4])
def test_level_on_randomised_response(delta: float) -> None:
    """The worst case: bits that tell the truth with probability q, or, at delta, always.

    The noise decides between tied scores, so that no guess is lost. Nominal 20 %, 4 standard
    errors; without delta it must also be close to the level, or this would test nothing.
    """
    rng, reps, epsilon, m = np.random.default_rng(7), 1000, 1.0, 60
    q = 1 / (1 + math.exp(-epsilon))
    violations = 0
    for _ in range(reps):
        included = rng.random(m) < 0.5
        exposed = rng.random(m) < delta
        truth = (rng.random(m) < q) | exposed
        scores = np.where(truth, included, ~included) + 3.0 * np.where(exposed, included - 0.5, 0)
        noise = rng.random(m) * 1e-3
        violations += one_run(scores + noise, included, 20, 0, delta, 0.8).epsilon > epsilon
    assert violations <= reps * 0.2 + 4 * math.sqrt(reps * 0.16)
    if delta == 0.0:
        least = next(v for v in range(21) if oracle.p_value(20, v, 0.0, epsilon) < 0.2)
        exact = float(oracle.p_value(20, least, 0.0, epsilon))
        assert abs(violations - reps * exact) < 4 * math.sqrt(reps * exact * (1 - exact))


def test_one_pair_counts_as_a_grid_does() -> None:
    """Without sorting and with it: scores that tie at cuts and at ends, and infinite ones."""
    rng = np.random.default_rng(21)
    for size in (1, 2, 3, 20, 400):
        scores = rng.integers(0, max(size // 2, 2), size).astype(float)
        scores[rng.random(size) < 0.1] = np.inf
        included = rng.random(size) < 0.5
        for plus in {0, 1, size // 3, size}:
            for minus in {0, 1, size // 4, size - plus} - ({0} if plus == 0 else set()):
                if plus + minus <= size:
                    alone = one_run(scores, included, plus, minus)
                    grid = one_run(scores, included, [plus] * 2, [minus] * 2)
                    assert alone.correct == grid.correct
