"""Tails of right guesses: p-values are not below the truth, and refuted levels not above it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import comb
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore import _core


@pytest.fixture(autouse=True, scope="module")
def sixty_digits() -> Iterator[None]:
    with mp.workdps(60):
        yield


def tails(made: int, correct: int, epsilon: float) -> tuple[Any, Any, Any]:
    """Return P(W >= correct), P(W < correct) and 1 - q, term by term."""
    wrong = 1 / (1 + mp.exp(mp.mpf(epsilon)))
    term, sums = wrong**made, [mp.mpf(0), mp.mpf(0)]
    for k in range(made + 1):
        sums[k < correct] += term
        term *= (1 - wrong) / wrong * (made - k) / (k + 1)
    return *sums, wrong


@pytest.mark.parametrize(
    ("made", "correct"),
    [
        *((n, n) for n in range(1021, 1076, 9)),
        *((1080, 1075), (1090, 1088), (1100, 1090), (1200, 1150), (1500, 1350), (1600, 1415)),
        *((20_000, v) for v in (12_600, 12_650, 12_675)),
    ],
)
def test_p_values_below_all_normal_numbers(made: int, correct: int) -> None:
    """Fair coins, in whole numbers: a unit that is no normal number errs, and the sum with it."""
    orders = [comb(made, correct)]
    for k in range(correct, made):
        orders.append(orders[-1] * (made - k) // (k + 1))
    exact = Fraction(sum(orders), 2**made)
    found = Fraction(_core.one_run_p_value(made, correct, 0.0, 0.0))
    assert exact <= found <= exact * (1 + Fraction(1, 10**11)) + Fraction(1, 10**319)
    assert Fraction(_core.one_run_p_value(made, correct, 1e-310, 0.0)) >= exact + Fraction(5e-311)


@pytest.mark.parametrize("made", [1, 2, 3, 10, 100, 300])
def test_p_values_are_rounded_up(made: int) -> None:
    rng = np.random.default_rng(made)
    for correct in {0, 1, made // 2, int(0.7 * made), made - 1, made}:
        for epsilon in (0.0, 1e-9, float(rng.uniform(0, 3)), 30.0):
            for exposed in (0.0, 1e-9, 3.0):
                at_least, _, wrong = tails(made, correct, epsilon)
                exact = min(mp.mpf(1), at_least + wrong * exposed)
                found = _core.one_run_p_value(made, correct, exposed, epsilon)
                assert exact <= found <= exact * (1 + mp.mpf(1e-11)) + mp.mpf(1e-319)


@pytest.mark.parametrize("made", [1, 2, 5, 20, 30, 100, 1000])
@pytest.mark.parametrize("correct", [1, 2, 5])
def test_bounds_at_any_confidence_are_refuted(made: int, correct: int) -> None:
    """The first step of the search is an epsilon at which the confidence is just not reached."""
    rng = np.random.default_rng(made + correct)
    for _ in range(3 if correct <= made else 0):
        epsilon = float(rng.uniform(0.0, 700.0 / made))
        for exposed in (0.0, 1e-3):
            _, below, wrong = tails(made, correct, epsilon)
            reached = below - wrong * exposed
            if not 1e-320 < reached < 0.5:
                continue
            confidence = float(reached)
            while mp.mpf(confidence) < reached:
                confidence = float(np.nextafter(confidence, 1.0))
            counts = made, correct, exposed, 1.0 - confidence, confidence
            bound = _core.one_run_epsilon(*counts, 2.0 * epsilon)
            _, below, wrong = tails(made, correct, bound)
            assert bound < epsilon
            assert bound == 0.0 or below - wrong * exposed > confidence
            # A subnormal confidence has few digits.
            assert bound > epsilon * (1 - 1e-11) - 1e-11 or reached < 1e-305 or exposed > 0.0


def test_logarithms_of_rare_masses_keep_their_last_digits() -> None:
    """One right guess of few, at e^-520 to e^-640: half a unit of such a logarithm is 6e-14."""
    rng = np.random.default_rng(6)
    for _ in range(60):
        made = int(rng.integers(1, 8))
        epsilon = float(rng.uniform(520.0, 640.0)) / made
        _, below, _ = tails(made, 1, epsilon)
        confidence = float(below)
        while mp.mpf(confidence) < below:
            confidence = float(np.nextafter(confidence, 1.0))
        bound = _core.one_run_epsilon(made, 1, 0.0, 1.0, confidence, 2.0 * epsilon)
        assert epsilon * (1.0 - 1e-13) < bound < epsilon
