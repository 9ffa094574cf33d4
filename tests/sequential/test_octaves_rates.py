"""Rates read from laws of known numbers: what each allowance holds, against sums in fractions."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore.distributions import ncx2
from leakscore.sequential._octaves import _sum
from tests.helpers.parts import OctaveCurves, Octaves, Ratio, average, rates, ratio_law
from tests.sequential.test_octaves import UNIFORM, law

HALF_ULP = 2.0**-53  # below 1


def atoms(numbers: Any, masses: Any, steps: float = 1.0) -> OctaveCurves:
    """Curves of a ratio with these masses at equidistant numbers, which are divided by steps."""
    points, outside = np.asarray(numbers, dtype=float), np.asarray(masses, dtype=float)
    rows = [one.reshape(1, -1) for one in (outside, outside * points / steps)]
    spacing = float(points[1] - points[0])
    return OctaveCurves(Octaves(points[0], spacing, *rows, None, steps, 0.0, 0.0, (0.0, 0.0)))


@pytest.mark.parametrize("term", ["mass", "place", "lost"])
@pytest.mark.parametrize("seed", range(4))
def test_rates_hold_for_laws_that_err_by_their_terms(term: str, seed: int) -> None:
    plain, (points, outside, _) = law(seed, 0.0, 0.0, 0.0)
    exact = OctaveCurves(plain)
    if term == "place":  # a pair that is moved is no law of a statistic
        wrong = replace(plain, spacing=plain.spacing * (1.0 + (-1.0) ** seed * 1e-2), moved=0.0102)
        low, high = exact, OctaveCurves(wrong)
    else:
        low = high = OctaveCurves(law(seed, 1e-2 * (term == "mass"), 0.0, term == "lost")[0])
    c = np.concatenate([[1e-3], (points[1:] + points[:-1]) / 2.0, [2.0 * points[-1]]])
    flagged = points > c[:, np.newaxis]
    truth = np.array([flagged @ outside, ~flagged @ (outside * points)])
    lower, upper = rates(low, high, np.log(c)).reshape(2, 2, -1).swapaxes(0, 1)
    assert (lower <= truth + 1e-14).all()
    assert (upper >= truth - 1e-14).all()
    assert ((lower >= 0.0) & (upper <= 1.0)).all()
    for end in rates(exact, exact, np.log(c)).reshape(2, 2, -1).swapaxes(0, 1):
        np.testing.assert_allclose(end, truth, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("share", [0.4, 0.6])
def test_rates_that_round_to_1(share: float) -> None:
    """1 less a part of an ulp: 1 - alpha is the mass at 0, 1 - beta is 3 times that at 3."""
    small = share * HALF_ULP
    curves = atoms(range(4), [small, 1.0, small, 0.0])
    low, high = rates(curves, curves, np.log([0.5]))[:2, 0].tolist()
    assert Fraction(low) <= 1 - Fraction(small) <= Fraction(high)
    curves = atoms(range(4), [small, 1.0, 0.0, small / 3.0])
    low, high = rates(curves, curves, np.log([2.9]))[2:, 0].tolist()
    assert Fraction(low) <= 1 - 3 * Fraction(small / 3.0) <= Fraction(high)


def test_rates_near_0_and_1_are_narrow() -> None:
    """To a thousandth of what they lack, though sums are only good to 2e-11."""
    small = 1e-9
    curves = atoms(range(4), [small, 1.0 - 2.0 * small, small, 0.0])
    alpha = rates(curves, curves, np.log([0.5]))[:2, 0]
    np.testing.assert_allclose(1.0 - alpha, small, rtol=1e-3)
    curves = atoms(range(4), [small, 1.0 - 1.5 * small, 0.0, small / 2.0])
    beta = rates(curves, curves, np.log([2.9]))[2:, 0]
    np.testing.assert_allclose(1.0 - beta, 1.5 * small, rtol=1e-3)
    masses = np.zeros(4000)
    masses[[1, 2000, 3999]] = 1e-6, 1.0 - 2e-6, 1e-6
    curves = atoms(np.arange(4000.0), masses, 2000.0)
    beta = rates(curves, curves, np.log([0.5]))[2:, 0]
    np.testing.assert_allclose(beta, 1e-6 / 2000.0, rtol=1e-3)


@pytest.mark.parametrize("gamma", [100.0, 300.0])
def test_a_threshold_may_lie_on_either_side_of_a_number(gamma: float) -> None:
    """As far as it is rounded: the ratio is 0 or e^gamma."""
    largest = math.exp(gamma)
    curves = atoms([0.0, largest], [1.0, 1.0 / largest])
    above, below = gamma + 2.0 * math.ulp(gamma), gamma - 2.0 * math.ulp(gamma)
    _, alpha, beta, _ = rates(curves, curves, np.array([above]))[:, 0]
    assert alpha >= 1.0 / largest
    assert beta == 0.0
    alpha, _, _, beta = rates(curves, curves, np.array([below]))[:, 0]
    assert alpha == 0.0
    assert beta >= 1.0


def test_running_sums_are_allowed_for() -> None:
    """Of 20,000 masses, against correctly rounded sums."""
    rng = np.random.default_rng(1)
    points, outside = 2.0**-13 * np.arange(20_000.0), rng.random(20_000)
    outside /= outside.sum()
    mean = math.fsum(outside * points)
    curves = atoms(points, outside, mean)
    c = np.linspace(0.02, 1.9, 40)
    distance = points / mean - c[:, np.newaxis]
    gain = np.array([math.fsum(row * outside) for row in np.maximum(distance, 0.0)])
    loss = np.array([math.fsum(row * outside) for row in np.maximum(-distance, 0.0)])
    assert (curves.gain_up(c) >= gain).all()
    assert (curves.loss_up(c) >= loss).all()
    assert (curves.gain_low(c) <= gain).all()
    assert (curves.loss_low(c) <= loss).all()


@pytest.mark.parametrize("steps", [3.0, 5.0, 7.0, 11.0, 13.0, 19.0, 23.0])
def test_numbers_are_rounded(steps: float) -> None:
    """A part of 2^-44 below the largest number, and above the least."""
    curves = atoms([1.0, 2.0, 3.0, 4.0], [0.25, 0.0, 0.0, 0.25], steps)
    for number, side in ((4.0, -1.0), (1.0, 1.0)):
        c = number / steps * (1.0 + side * 2.0**-44)
        exact = abs(Fraction(number) / Fraction(steps) - Fraction(c)) / 4
        bound = (curves.gain_up if side < 0.0 else curves.loss_up)(np.array([c]))
        assert Fraction(float(bound[0])) >= exact


def test_a_constant_takes_its_share_of_the_prior() -> None:
    """Weights that are too small for a ratio: the law of a step is then shifted less often."""
    law = _sum(UNIFORM, np.array([0.5]), np.array([1]), 0.5)
    assert law is not None
    found = OctaveCurves(law)
    assert law.steps == 1.0
    c = np.array([0.75, 1.0, 1.25])  # S = 1/2 + u, u uniform on (0, 1)
    exact = (1.5 - c) ** 2 / 2.0
    assert (found.gain_low(c) <= exact).all()
    np.testing.assert_allclose(found.gain_low(c), exact, rtol=1e-4)
    np.testing.assert_allclose(found.gain_up(c), exact, rtol=1e-4)
    wrong = replace(law, under_h1=law.under_h0)
    assert (OctaveCurves(wrong).gain_low(c) < found.gain_low(c)).all()


def test_a_constant_moves_a_law_and_is_rounded() -> None:
    """Of ratios that are nearly 1, whose least number is far above 0."""
    one, weights, counts = Ratio(9.0, 10**6, 1), np.array([0.125]), np.array([4])
    plain, moved = (_sum(one, weights, counts, sure) for sure in (0.0, 0.5))
    assert plain is not None
    assert moved is not None
    assert plain.origin > 0.1
    assert moved.origin == plain.origin + 0.5
    assert moved.rounding >= plain.rounding + 4.0 * HALF_ULP
    assert moved.moved >= plain.moved + 4.0 * HALF_ULP
    # The law of the sum is shifted less often, and what is lost is so under either hypothesis.
    assert moved.excess is not None
    more, less = moved.excess
    np.testing.assert_allclose(moved.under_h0 + more - less, moved.shifted, rtol=1e-9, atol=1e-15)
    assert more.sum() == pytest.approx(less.sum(), rel=1e-6)
    assert moved.lost[0] >= plain.lost[0]
    assert moved.lost[1] >= max(plain.lost)


def test_thresholds_in_blocks_and_beyond_doubles() -> None:
    curves = average(UNIFORM, np.array([0.5, 0.5]))
    assert curves is not None
    few = np.array([-0.3, 0.1, 0.4])
    many = rates(*curves, np.tile(few, 3000))
    np.testing.assert_array_equal(many, np.tile(rates(*curves, few), 3000))
    far = rates(*curves, np.array([-1e4, -900.0, -501.0, 601.0, 900.0, 1e4]))
    np.testing.assert_array_equal(far[0, 3:], 0.0)
    np.testing.assert_array_equal(far[3, 3:], 1.0)
    np.testing.assert_array_equal(far[1, :3], 1.0)
    np.testing.assert_array_equal(far[2, :3], 0.0)
    assert ((far >= 0.0) & (far <= 1.0)).all()


@pytest.mark.parametrize(("distance", "n"), [(0.0, 2), (500.0, 2), (500.0, 10**6), (1e-6, 10**6)])
def test_a_ratio_is_moved_by_less_than_is_said(distance: float, n: int) -> None:
    """At rounded places, against 40 digits."""
    one = Ratio(distance, n, 1)
    law_of = ratio_law(one, 100)
    assert law_of is not None
    far = float(ncx2.isf(1e-30, 1, n * distance))
    v = np.sqrt(np.linspace(float(ncx2.ppf(1e-30, 1, n * distance)), far, 60))
    found = one.value(v * v)
    with mp.workdps(40):
        top = (mp.mpf(distance) - mp.log1p(-1 / mp.mpf(n))) / 2
        exact = [top - mp.mpf(at) ** 2 / (2 * (n - 1)) for at in v.tolist()]
        errors = [abs(mp.log(mp.mpf(a)) - b) for a, b in zip(found.tolist(), exact, strict=True)]
    assert float(max(errors)) <= min(law_of.moved, law_of.rounding)


def test_probabilities_of_one_ratio() -> None:
    """Uniform on (0, 2) under H0, of density y / 2 under H1."""
    at = np.array([0.5, 1.5, 1.999, 2.0, 3.0])
    within = np.minimum(at, 2.0)
    under_h0, under_h1 = UNIFORM.at_most(np.log(at))
    np.testing.assert_allclose(under_h0, within / 2.0, rtol=1e-12)
    np.testing.assert_allclose(under_h1, within**2 / 4.0, rtol=1e-12)


def test_what_is_left_out_of_one_step() -> None:
    """The ends at which 3e-36 of either law is lost: the lower one of H0, the upper one of H1."""
    one = ratio_law(UNIFORM, 10)
    assert one is not None
    least, rest = 6e-36, 3e-36  # the lower end, and 2 less the upper one
    exact = least / 2.0 + rest / 2.0, least**2 / 4.0 + rest
    for lost, true in zip(one.lost, exact, strict=True):
        assert true <= lost <= 1.01 * true


def test_densities_are_used_where_their_error_is_stated() -> None:
    assert ratio_law(Ratio(1.5, 10**14, 1), 10) is None
    assert ratio_law(Ratio(0.0, 10**10, 1_500_000), 10) is None
    assert ratio_law(Ratio(0.5, 10**14, 1), 10) is not None
    assert ratio_law(Ratio(0.0, 10**10, 900_000), 10) is not None
