"""One training: epsilon is rounded down, p-values are at most 1, wrong guesses certify nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp
from scipy.stats import binom

from leakscore.audit import one_run, one_run_fdp
from leakscore.distributions import clopper_pearson
from leakscore.tradeoff import approximate_dp, gaussian


def guesses(correct: int, wrong: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores and bits, half of them 1 but for three: the `correct + wrong` highest are guessed."""
    made = correct + wrong
    scores = np.arange(2.0 * made + 100.0, 0.0, -1.0)
    included = np.zeros(scores.size, dtype=bool)
    included[:correct] = included[made : 2 * made + 53 - correct] = True
    return scores, included


@pytest.mark.parametrize("near_half", [False, True])
def test_epsilon_without_delta_is_rounded_down(near_half: bool) -> None:
    """The logarithm of a lower bound of Clopper and Pearson over its complement, in 40 digits."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        wrong = 0 if not near_half else int(rng.integers(3, 30))
        correct = int(rng.integers(6, 9) ** 5) if not near_half else wrong + 8
        alpha = float(rng.uniform(0.02, 0.45))
        given = guesses(correct, wrong)
        bound = float(one_run(*given, k_plus=correct + wrong, k_minus=0, confidence=1.0 - alpha))
        alpha = 1.0 - (1.0 - alpha)
        share, rest = clopper_pearson(correct, correct + wrong, alpha=alpha, side="lower")
        with mp.workdps(40):
            exact = mp.log(mp.mpf(float(share))) - mp.log(mp.mpf(float(rest)))
        assert bound <= max(exact, 0.0)
        assert bound >= exact - 1e-14 * (1.0 + abs(exact))


def test_p_values_of_a_grid_are_at_most_1() -> None:
    scores, included = guesses(0, 5)
    bound = one_run(scores, included, k_plus=[2, 3], k_minus=[0, 0])
    assert (bound.p_value, bound.epsilon) == (1.0, 0.0)


def test_no_right_guess_certifies_nothing() -> None:
    bound = one_run_fdp(*guesses(0, 5), 5, 0, gaussian)
    assert float(bound) == 0.0


@pytest.mark.parametrize("canaries", [5, 20])
def test_a_right_guess_is_evidence_at_small_confidence(canaries: int) -> None:
    guess = np.arange(float(canaries)), np.arange(canaries) >= canaries // 2, 1, 0
    long = one_run_fdp(*guess, lambda mu: gaussian(mu), 0.3)
    short = one_run_fdp(*guess, gaussian, 0.3)
    assert 0.4 < float(long) == pytest.approx(float(short), rel=1e-12)


@pytest.mark.filterwarnings("ignore:Exactly half of 2000")
def test_the_least_p_value_of_a_curve() -> None:
    all_right = np.arange(2000.0), np.arange(2000) >= 1000, 1000, 1000
    p_value = one_run_fdp(*all_right, gaussian(0.01)).p_value
    assert math.exp(-690.0) <= p_value <= math.exp(-690.0) * (1.0 + 1e-8)  # 2^-2000 is no double


def test_every_count_of_few_canaries() -> None:
    one = one_run([1.0], [True], k="all")
    assert (one.epsilon, one.p_value, one.max_certifiable) == (0.0, 1.0, 0.0)
    assert (one.canaries, one.k_plus, one.k_minus, one.correct) == (1, 0, 0, 0)
    two = one_run([1.0, 2.0], [False, True], k="all")
    assert two.p_value == pytest.approx(0.5**2 / 0.5, rel=1e-9)  # both guesses, half of the level
    first = one_run([1.0, 2.0], [True, True], k="all")  # the highest is guessed first
    assert (first.k_plus, first.k_minus, first.correct) == (1, 0, 1)


def test_one_guess_of_a_kind_is_a_kind() -> None:
    """What delta adds depends on whether all guesses are of one kind, not on how many are."""
    canaries = np.arange(400.0), np.arange(400) >= 201

    def bounds(*pair: int) -> tuple[float, float, float]:
        claim = one_run_fdp(*canaries, *pair, approximate_dp(0.5, 2e-4))
        family = one_run_fdp(*canaries, *pair, gaussian)
        return float(one_run(*canaries, *pair, delta=2e-4)), claim.p_value, float(family)

    both = bounds(10, 10)
    for pair in ((1, 19), (19, 1), (2, 18), (18, 2)):
        assert bounds(*pair) == both
    for pair in ((20, 0), (0, 20)):
        epsilon, p_value, mu = bounds(*pair)
        assert epsilon > both[0] + 0.01
        assert p_value < 0.99 * both[1]
        assert mu > both[2] + 0.01


def test_a_grid_of_a_family() -> None:
    """The largest parameter and the largest that was possible, each at a half of the level."""
    canaries = np.arange(600.0), np.arange(600) >= 301
    grid = one_run_fdp(*canaries, [20, 280], [20, 280], gaussian, 0.9)
    alone = [one_run_fdp(*canaries, k, k, gaussian, 0.95) for k in (20, 280)]
    assert alone[1].max_certifiable > alone[0].max_certifiable > 0.8
    assert grid.max_certifiable == pytest.approx(alone[1].max_certifiable, rel=1e-9)
    assert 2.0 < float(grid) == pytest.approx(float(alone[1]), rel=1e-9)


@pytest.mark.parametrize("kind", ["both", "in", "out"])
def test_every_count_tells_the_walk_that_certifies(kind: str) -> None:
    """Right at both ends, or at one of them and nine times of ten at the other."""
    included = np.arange(600) % 2 == 0
    included[295 if kind == "out" else 305] ^= True
    if kind != "in":
        included[:200] = False
    if kind != "out":
        included[-200:] = True
    if kind == "in":
        included[:200] = np.arange(200) % 10 == 0
    if kind == "out":
        included[-200:] = np.arange(200) % 10 > 0
    bound = one_run(np.arange(600.0), included, k="all")
    assert bound.epsilon > 2.0
    assert bound.correct <= bound.k_plus + bound.k_minus
    if kind == "both":
        assert 0 <= bound.k_plus - bound.k_minus <= 1
    else:
        assert (bound.k_plus > 0, bound.k_minus > 0) == (kind == "in", kind == "out")
    order = included[::-1], ~included
    assert bound.correct == order[0][: bound.k_plus].sum() + order[1][: bound.k_minus].sum()
    right = np.cumsum(order[0][:300] if kind == "in" else order[1][:300])
    if kind == "both":
        right = np.cumsum(np.stack([order[0][:300], order[1][:300]], axis=1).ravel())
    q = 1.0 / (1.0 + np.exp(-bound.epsilon))  # the count that is shown is the rarest, by its tail
    tails = binom.logsf(right - 1, np.arange(1, right.size + 1), q)
    shown = binom.logsf(bound.correct - 1, bound.k_plus + bound.k_minus, q)
    assert tails.min() <= shown < tails.min() + 1.0
    assert tails.max() - tails.min() > 3.0
    wrong = one_run(np.arange(600.0), np.arange(600) < 301, k="all")
    assert (wrong.p_value, wrong.epsilon) == (1.0, 0.0)
