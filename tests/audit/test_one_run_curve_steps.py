"""Every step of a contradiction is rounded down, and hardly more than it must be."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from leakscore import _core

ULP = 2.0**-52
BITS = 1200
Curve = tuple[np.ndarray, np.ndarray, np.ndarray]


def hinge(at: float, slope: float) -> Curve:
    """A curve of two lines: 0 up to a place, then of one slope."""
    return np.array([0.0, at]), np.zeros(2), np.array([0.0, slope])


def exact_steps(
    counts: tuple[int, int, int], level: float, inverse: Callable[[Fraction], Fraction]
) -> list[Fraction]:
    """Return the r of the proof, cut off at 1200 bits."""
    canaries, guesses, correct = counts
    right = Fraction(level) * correct / canaries
    wrong = Fraction(level) * (guesses - correct) / canaries
    found = [right]
    for i in range(correct - 1, 0, -1):
        above = inverse(right)
        if above <= wrong:
            break
        right += Fraction(i, guesses - i) * (above - wrong)
        right, wrong = Fraction(int(right * 2**BITS), 2**BITS), above
        found.append(right)
        if len(found) == 4000:
            break
    return found


@pytest.mark.parametrize(
    ("counts", "at", "slope", "level"),
    [
        ((652, 364, 186), 0.005689274816925367, 1.0, 0.4636862145976922),
        ((603, 318, 218), 0.005587973110409059, 0.5, 0.18930043739194735),
        ((1_000_000, 1_000_000, 800_200), 0.0, 0.25, 0.5),  # thousands of small terms
        ((5844, 1948, 1948), 0.0, 0.25, 8.648973353004184e-258),  # terms of which most round up
    ],
)
def test_steps_are_rounded_down(
    counts: tuple[int, int, int], at: float, slope: float, level: float
) -> None:
    def inverse(right: Fraction) -> Fraction:
        return max(Fraction(0), Fraction(slope) * (right - Fraction(at)))

    arguments = *map(float, counts), level
    _, steps = _core.one_run_lines_contradiction(*arguments, *hinge(at, slope))
    exact = exact_steps(counts, level, inverse)
    assert len(steps) > 30
    for found, most in zip(steps.tolist(), exact, strict=False):
        assert most * (1 - Fraction(4, 10**11)) <= Fraction(found) <= most
    first = float(1 - Fraction(float(steps[0])) / exact[0])
    assert 10 * ULP <= first <= 14 * ULP


@pytest.mark.parametrize("exponent", range(0, 300, 13))
def test_gaussian_curves_of_rare_events_are_rounded_down(exponent: int) -> None:
    """One right guess of one: the parameter up to which its level contradicts, in many digits."""
    canaries, level = 2.0 * 10.0**exponent, 0.6
    with mpmath.workdps(60):

        def quantile(mass: mpmath.mpf) -> mpmath.mpf:
            start = -mpmath.sqrt(-2 * mpmath.log(mass)) if mass < 0.01 else mpmath.mpf(0)
            return mpmath.findroot(lambda x: mpmath.log(mpmath.ncdf(x) / mass), start)

        right = mpmath.mpf(level) / mpmath.mpf(canaries)
        largest = quantile(right) - quantile((1 - mpmath.mpf(level)) / mpmath.mpf(canaries))
        above = float(largest * (1 + mpmath.mpf(2) ** -52))
        below = float(largest * (1 - mpmath.mpf(10) ** -10))
    assert _core.one_run_gaussian_excess(canaries, 1.0, 1.0, level, above) <= 0.0
    assert _core.one_run_gaussian_excess(canaries, 1.0, 1.0, level, below) > 0.0


@pytest.mark.parametrize(("guesses", "correct"), [(2, 2), (5, 4), (30, 23)])
def test_right_guesses_alone_contradict(guesses: int, correct: int) -> None:
    """Guesses of one kind: half as many canaries; what is right is at most 1."""
    canaries = guesses / 2
    curve = np.array([0.0]), np.array([0.0]), np.array([0.0])
    edge = canaries / correct
    for level, contradicts in ((edge * (1 - ULP), False), (edge * (1 + 1e-14), True)):
        arguments = float(canaries), float(guesses), float(correct), level
        assert _core.one_run_lines_contradiction(*arguments, *curve)[0] is contradicts


def test_what_is_always_true_contradicts_no_curve() -> None:
    """Any number of guesses of which one at least is right, with a level of 1."""
    curve = np.array([0.0]), np.array([0.0]), np.array([0.0])
    for guesses in range(2, 2000):
        arguments = 1.5 * guesses, float(guesses), 1.0, 1.0
        assert not _core.one_run_lines_contradiction(*arguments, *curve)[0]
