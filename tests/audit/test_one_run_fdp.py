"""Audits with one training against whole trade-off curves."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from leakscore import _core, tradeoff
from leakscore.audit import OneRunFamilyBound, OneRunTest, one_run_fdp
from tests.audit.test_one_run import played
from tests.helpers.parts import Between, Contradiction, Guesses, Polygon
from tests.oracles import one_run as oracle

FAMILIES = [
    (tradeoff.gaussian, oracle.gaussian_inverse),
    (tradeoff.laplace, oracle.laplace_inverse),
]
COUNTS = [(100, 20, 20), (200, 40, 35), (150, 150, 125), (1000, 5, 5), (300, 60, 31)]

# Counts are what these tests are about: who was in is made to give them.
pytestmark = pytest.mark.filterwarnings("ignore:.*a fair coin of its own decided each")


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize(("family", "inverse"), FAMILIES)
def test_parameter_is_the_last_refuted_one(family, inverse, counts) -> None:  # type: ignore[no-untyped-def]
    m, made, correct = counts
    scores, included = played(correct, made, m)
    bound = one_run_fdp(scores, included, made, 0, family)
    assert isinstance(bound, OneRunFamilyBound)
    level = 1 - mpmath.mpf(0.95)
    if bound.parameter == 0.0:
        assert bound.tradeoff is None
        assert not oracle.contradicted(mpmath.mpf(m) / 2, made, correct, level, inverse(2.0**-30))
        return
    assert oracle.contradicted(mpmath.mpf(m) / 2, made, correct, level, inverse(bound.parameter))
    assert not oracle.contradicted(
        mpmath.mpf(m) / 2, made, correct, level, inverse(mpmath.mpf(bound.parameter) * (1 + 1e-10))
    )
    assert float(bound) == bound.parameter <= bound.max_certifiable
    assert bound.tradeoff == family(bound.parameter)


@pytest.mark.parametrize("counts", COUNTS[:4])
@pytest.mark.parametrize(("family", "inverse"), FAMILIES)
def test_p_value_is_the_least_refuting_level(family, inverse, counts) -> None:  # type: ignore[no-untyped-def]
    m, made, correct = counts
    scores, included = played(correct, made, m)
    test = one_run_fdp(scores, included, made, 0, family(0.6))
    assert isinstance(test, OneRunTest)
    assert test.refuted == (test.p_value < 1 - 0.95)
    assert not oracle.contradicted(
        mpmath.mpf(m) / 2, made, correct, mpmath.mpf(test.p_value) * (1 - 1e-7), inverse(0.6)
    )
    assert oracle.contradicted(
        mpmath.mpf(m) / 2, made, correct, mpmath.mpf(test.p_value) * (1 + 1e-11), inverse(0.6)
    )


def test_gaussian_along_lines_is_the_closed_form() -> None:
    """The same curve, as a bracket of two, which is not known to be Gaussian."""
    scores, included = played(850, 1000, 5000)
    closed = one_run_fdp(scores, included, 600, 400, tradeoff.gaussian)

    def along_lines(mu: float) -> tradeoff.TradeOff:
        return Between((tradeoff.gaussian(mu), tradeoff.gaussian(mu)))

    lines = one_run_fdp(scores, included, 600, 400, along_lines)
    assert lines.parameter == pytest.approx(closed.parameter, rel=1e-10)


@pytest.mark.parametrize("pair", [(16, 0), (0, 16), (8, 8)])
def test_an_asymmetric_curve_is_read_in_its_direction(pair: tuple[int, int]) -> None:
    curve = Polygon(*np.log([[1e-300, 0.05, 0.6], [0.9, 0.4, 1e-300]]), "guarantee")
    # Highest scores are in and lowest out, except one of the 16 guesses.
    included = np.arange(50) >= 25
    included[0 if pair[1] else 49] ^= True
    test = one_run_fdp(np.arange(50.0), included, *pair, curve)
    assert test.correct == 15
    null = {(16, 0): curve.inverse(), (0, 16): curve, (8, 8): curve.symmetrized()}[pair]
    for slack, expected in ((1 - 1e-7, False), (1 + 1e-7, True)):
        assert (
            oracle.contradicted(
                *(50 if all(pair) else 25, 16, 15, mpmath.mpf(test.p_value) * slack),
                lambda r: mpmath.mpf(float(null(float(1 - r)))),
            )
            == expected
        )


def test_many_canaries_and_other_curves() -> None:
    scores, included = played(70_000, 100_000, 100_000)
    bound = one_run_fdp(scores, included, 100_000, 0, tradeoff.laplace)
    # Laplace noise reveals log(v / (g - v)) at most, and slightly less at this confidence.
    assert 0.8 < bound.parameter < math.log(7 / 3)
    scores, included = played(900, 1000, 10_000)
    for curve in (
        tradeoff.relaxed_laplace(1.0),
        tradeoff.subsampled_gaussian(1.0, 0.1, 10),
        tradeoff.discrete_laplace(1.0),
    ):
        test = one_run_fdp(scores, included, 1000, 0, curve)
        assert 0 < test.p_value <= 1


def test_grid_and_bad_input() -> None:
    scores, included = played(38, 40, 200)
    alone = [one_run_fdp(scores, included, k, 0, tradeoff.gaussian, 0.975) for k in (10, 40)]
    grid = one_run_fdp(scores, included, [10, 40], [0, 0], tradeoff.gaussian, 0.95)
    assert grid.parameter == pytest.approx(max(map(float, alone)), rel=1e-12)
    assert grid.to_dict()["tradeoff"] == repr(grid.tradeoff)
    test = one_run_fdp(scores, included, [10, 40], [0, 0], tradeoff.gaussian(0.3))
    one = one_run_fdp(scores, included, test.k_plus, 0, tradeoff.gaussian(0.3))
    assert test.p_value == pytest.approx(2 * one.p_value)
    with pytest.raises(TypeError, match="tradeoff"):
        one_run_fdp(scores, included, 10, 0, 1.0)
    with pytest.raises(TypeError, match="tradeoff"):
        one_run_fdp(scores, included, 10, 0, lambda mu: mu)
    with pytest.raises(ValueError, match="shape"):
        one_run_fdp(scores, included, 10, 0, tradeoff.gaussian([1.0, 2.0]))
    with pytest.raises(ValueError, match="k_plus"):
        one_run_fdp(scores, included, 150, 100, tradeoff.gaussian)


def test_a_family_that_cannot_leak_enough() -> None:
    """Right guesses alone refute every epsilon below 1; a bound of fewer does not depend on it."""

    def below_one(parameter: float) -> tradeoff.TradeOff:
        return tradeoff.approximate_dp(parameter / (1.0 + parameter))

    bound = one_run_fdp(*played(27, 40, 200), 40, 0, below_one)
    assert bound.parameter > 0.0
    assert bound.max_certifiable == math.inf
    with pytest.raises(RuntimeError, match="at every parameter"):
        one_run_fdp(*played(40, 40, 200), 40, 0, below_one)


@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_level_on_independent_canaries(mu: float) -> None:
    """Nominal 20 %, 4 standard errors, for independent canaries of the curve itself."""
    rng, reps, m, k = np.random.default_rng(11), 20_000, 60, 8
    for family, draw in ((tradeoff.gaussian, rng.normal), (tradeoff.laplace, rng.laplace)):
        included = rng.random((reps, m)) < 0.5
        order = np.argsort(draw(mu * included), axis=1)
        bits = np.take_along_axis(included, order, axis=1)
        correct = bits[:, m - k :].sum(axis=1) + (~bits[:, :k]).sum(axis=1)
        counts = range(2 * k + 1)
        tests = (one_run_fdp(*two_sided(right, k, m), family(mu), 0.8) for right in counts)
        least = next((test.correct for test in tests if test.refuted), 2 * k + 1)
        assert (correct >= least).mean() <= 0.2 + 4 * math.sqrt(0.16 / reps)


def two_sided(correct: int, k: int, m: int) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Return k guesses of each kind, with a given number of right ones."""
    included = np.arange(m) >= m // 2
    wrong = 2 * k - correct
    included[: min(k, wrong)] = True
    included[m - max(0, wrong - k) :] = False
    return np.arange(float(m)), included, k, k


@pytest.mark.parametrize(("m", "made", "correct"), [(100, 20, 20), (60, 40, 33), (200, 50, 48)])
@pytest.mark.parametrize("mu", [0.1, 0.3, 1.0])
def test_least_level_of_a_gaussian_curve(m: int, made: int, correct: int, mu: float) -> None:
    """The least double that refutes also refutes in 30 digits; one slightly smaller does not."""
    low, high = 0.0, 1.0
    assert _core.one_run_gaussian_excess(m, made, correct, 1.0, mu) > 0.0
    while np.nextafter(low, 1.0) < high:
        middle = 0.5 * (low + high)
        refuted = _core.one_run_gaussian_excess(m, made, correct, middle, mu) > 0.0
        low, high = (low, middle) if refuted else (middle, high)
    inverse = oracle.gaussian_inverse(mu)
    assert oracle.contradicted(m, made, correct, mpmath.mpf(high), inverse)
    assert not oracle.contradicted(m, made, correct, mpmath.mpf(high) * (1 - 2e-12), inverse)


@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_lines_lie_below_the_curve(mu: float) -> None:
    """At the points of an inverse of 1 - f, and to the right of each, in 30 digits."""
    against = Contradiction(tradeoff.laplace(mu), Guesses(200, 40, 0, 35))
    asked = np.geomspace(1e-3, 0.99, 80)
    at, value, slope = against.lines(asked)
    assert (at <= asked).all()
    inverse = oracle.laplace_inverse(mu)
    for k in range(80):
        start, height, rise = (mpmath.mpf(float(x[k])) for x in (at, value, slope))
        exact = inverse(start)
        assert 0 < (exact - height) / exact < 5e-12
        for right in (*asked[k:], 1.0):
            r = max(mpmath.mpf(float(right)), start)
            assert height + rise * (r - start) < inverse(r)
        if k:
            steepest = (exact - inverse(start * (1 - mpmath.mpf(2) ** -14))) * 2**14 / start
            # Above: what 1e-12 of the curve over the step makes of it, 600 times.
            assert 2**-13 >= 1 - rise / steepest >= 1e-5


def test_every_size_is_the_best_of_a_preset_grid() -> None:
    """Each pair at its share of the level."""
    rng = np.random.default_rng(6)
    included = rng.random(101) < 0.5
    scores = rng.normal(2.0 * included)
    pairs = [(4, 4), (8, 8), (16, 16), (32, 32), (51, 50)]
    pairs += [(8, 0), (0, 8), (16, 0), (0, 16), (32, 0), (0, 32)]
    found = one_run_fdp(scores, included, tradeoff=tradeoff.gaussian, k="all")
    each = [
        float(one_run_fdp(scores, included, *pair, tradeoff.gaussian, 1.0 - 0.05 / len(pairs)))
        for pair in pairs
    ]
    assert float(found) == pytest.approx(max(each), rel=1e-9)
    assert (found.k_plus, found.k_minus) == pairs[int(np.argmax(each))]
    test = one_run_fdp(scores, included, tradeoff=tradeoff.gaussian(0.8), k="all")
    p_values = [
        one_run_fdp(scores, included, *pair, tradeoff.gaussian(0.8)).p_value for pair in pairs
    ]
    assert test.p_value == pytest.approx(len(pairs) * min(p_values), rel=1e-6)
    assert test.refuted == (test.p_value < 0.05)
    assert float(one_run_fdp([1.0], [True], tradeoff=tradeoff.gaussian, k="all")) == 0.0
    for given, error in (({}, TypeError), ({"k": "al"}, ValueError), ({"k_plus": 3}, TypeError)):
        with pytest.raises(error, match="k"):
            one_run_fdp(scores, included, tradeoff=tradeoff.gaussian, **given)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="tradeoff"):
        one_run_fdp(scores, included, k="all")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="must be given without"):
        one_run_fdp(scores, included, 3, 3, tradeoff.gaussian, k="all")  # type: ignore[call-overload]


@pytest.mark.parametrize("pair", [(100, 100), (150, 0), (0, 80)])
def test_the_gaussian_family_needs_no_curves(pair: tuple[int, int]) -> None:
    """The function itself is answered without curves, a function around it with them."""
    rng = np.random.default_rng(pair)
    included = rng.random(1000) < 0.5
    scores = rng.normal(1.5 * included)
    short = one_run_fdp(scores, included, *pair, tradeoff.gaussian)
    long = one_run_fdp(scores, included, *pair, lambda mu: tradeoff.gaussian(mu))
    assert 0.0 < short.parameter < short.max_certifiable
    assert short.parameter == pytest.approx(long.parameter, rel=1e-12)
    assert short.max_certifiable == pytest.approx(long.max_certifiable, rel=1e-12)
    assert short.correct == long.correct
    assert short.assumptions == long.assumptions
