"""One training: epsilon is rounded down, p-values are at most 1, wrong guesses certify nothing."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

from leakscore.audit import one_run, one_run_fdp
from leakscore.distributions import clopper_pearson
from leakscore.tradeoff import gaussian


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
