"""Ends of short sequences in closed form: an unknown sign, magnitudes, cut losses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from leakscore.tradeoff import TradeOff
from leakscore.tradeoff.composition.ends import Ends, _errors, _lower, _tests, _widened
from tests.helpers.parts import (
    AllocatedSteps,
    BlockMasses,
    GaussianMagnitude,
    GaussianStep,
    LaplaceStep,
    Losses,
    Parts,
    Premise,
    ReplacedStep,
    StatedPair,
    Step,
    ends,
    on_lattice,
)

ALPHA = np.array([1e-6, 1e-3, 0.05, 0.3, 0.7, 0.95])


@pytest.mark.parametrize(("mu", "rate"), [(0.5, 1.0), (1.5, 0.3), (4.0, 0.05)])
def test_a_sign_that_the_attacker_does_not_know(mu: float, rate: float) -> None:
    """One output: the best test looks at its size, whatever the rate."""
    bound = np.linspace(0.05, mu + 4.0, 25)
    alpha = 2.0 * norm.sf(bound)
    exact = (1.0 - rate) * (1.0 - alpha) + rate * (norm.cdf(bound - mu) - norm.cdf(-bound - mu))
    lower, upper = ends([(GaussianStep(mu, rate), 1)], "attack", "relaxed-aligned")
    assert (lower(alpha) <= exact + 1e-12).all()
    assert (upper(alpha) >= exact - 1e-12).all()
    np.testing.assert_allclose(upper(alpha), exact, atol=2e-3)
    known = (1.0 - rate) * norm.cdf(bound) + rate * norm.cdf(bound - mu)
    np.testing.assert_allclose(lower(norm.sf(bound)), known, rtol=1e-3)


def test_no_absolute_sum_of_different_steps() -> None:
    """Both signs are tried alone: twice the false positives of an attacker who knows the sign."""
    parts: Parts = [(GaussianStep(1.0, 1.0), 1), (GaussianStep(0.5, 1.0), 2)]
    _, upper = ends(parts, "attack", "relaxed-aligned")
    mu = np.sqrt(1.5)
    np.testing.assert_allclose(
        upper(ALPHA[:4]), norm.cdf(norm.isf(ALPHA[:4] / 2.0) - mu), rtol=1e-3
    )


@pytest.mark.parametrize("count", [1, 2, 5])
def test_magnitudes(count: int) -> None:
    """Of one, in closed form; more of them tell more."""
    bound = np.linspace(0.1, 4.0, 9)
    alpha, exact = 2.0 * norm.sf(bound), norm.cdf(bound - 1.0) - norm.cdf(-bound - 1.0)
    lower, upper = ends([(GaussianMagnitude(1.0, 1.0), count)], "guarantee", "informed")
    assert (lower(alpha) <= upper(alpha)).all()
    np.testing.assert_allclose(lower(alpha), upper(alpha), rtol=1e-3)
    if count == 1:
        np.testing.assert_allclose(upper(alpha), exact, rtol=1e-3)
    else:
        assert (upper(alpha) < exact).all()


@pytest.mark.parametrize(("mu", "rate", "count"), [(9.0, 1e-9, 3), (10.0, 1e-8, 2)])
def test_rare_losses_that_are_cut(mu: float, rate: float, count: int) -> None:
    """A few rare steps: the profile is that of one of them, times their number, at large losses."""
    lower, upper = ends([(GaussianStep(mu, rate), count)], "guarantee", "informed")
    for epsilon in (1.0, 3.0):
        x = (np.log(np.expm1(epsilon) / rate + 1.0)) / mu + 0.5 * mu
        exact = norm.sf(x) * (1.0 - rate) + rate * norm.sf(x - mu) - np.exp(epsilon) * norm.sf(x)
        for end in (lower, upper):
            assert end.delta(epsilon) == pytest.approx(count * exact, rel=2e-3, abs=2e-14)
        assert lower.delta(epsilon) >= count * exact * (1.0 - 10.0 * rate)


def test_what_a_known_law_adds_to_errors() -> None:
    """All masses move outwards by a share; of what is lost of either law the larger counts."""
    row = np.log([[0.3, 0.1], [0.2, 0.1]])
    sums = BlockMasses(0.0, 0.5, 0, row, row, -3.0, -4.0)
    wide = _widened(sums, 0.25)
    np.testing.assert_allclose(wide.low, row - 0.25, rtol=1e-15)
    np.testing.assert_allclose(wide.high, row + 0.25, rtol=1e-15)
    assert (wide.log_below, wide.log_above) == (-2.75, -3.75)
    assert _widened(sums, 0.0) is sums
    for lost in ((1e-3, 2e-3), (2e-3, 1e-3)):
        law = Losses(np.zeros(1), (np.zeros(1),) * 2, None, 0.1, 0.2, lost)
        part = StatedPair(law=law, advantage=1.0, log_finite=(0.0, 0.0))
        steps = [(on_lattice(part, 0.5), 3), (on_lattice(GaussianStep(1.0, 1.0), 0.5), 2)]
        errors = list(_errors([(part, 3), (GaussianStep(1.0, 1.0), 2)], steps))
        rounding, moved, gone = (sum(one) for one in zip(*errors, strict=True))
        assert rounding == pytest.approx(0.3, rel=1e-12)
        assert moved == pytest.approx(0.6, rel=1e-12)
        assert gone == pytest.approx(6e-3, rel=1e-12)


def test_thresholds_of_laws_in_different_windows() -> None:
    """An outcome that either law alone has; each cell's mass is that of both its ends."""

    def block(first: int, masses: list[float]) -> BlockMasses:
        logs = np.log(masses) + np.log([[0.25], [0.75]])
        return BlockMasses(0.0, 0.5, first, logs, logs, -np.inf, -np.inf)

    h0, h1 = block(0, [0.5, 0.3, 0.2]), block(1, [0.2, 0.3, 0.5])
    alpha, beta = (np.exp(logs) for logs in _tests(h0, h1, 0.0))
    np.testing.assert_allclose(alpha, [1.0, 0.5, 0.2, 0.0, 0.0], atol=1e-11)
    np.testing.assert_allclose(beta, [0.0, 0.0, 0.2, 0.5, 1.0], atol=1e-11)
    assert (alpha[1:3] >= [0.5, 0.2]).all()
    assert (beta[2:4] >= [0.2, 0.5]).all()
    beta, alpha = (np.exp(logs) for logs in _tests(h1, h0, 0.0))
    np.testing.assert_allclose(alpha, [0.0, 0.5, 0.8, 1.0, 1.0], atol=1e-11)
    np.testing.assert_allclose(beta, [1.0, 1.0, 0.8, 0.5, 0.0], atol=1e-11)


def end(which: int, parts: Parts, attack: Parts) -> TradeOff:
    return Ends(parts, attack, "guarantee", "informed", Premise())(which)


@pytest.mark.parametrize("far", [LaplaceStep(9e3, 0.2), GaussianStep(2e3, 0.2)])
def test_steps_that_reveal_the_record(far: Step) -> None:
    """With probability 1 - .8^n; else the others are seen."""
    revealed: tuple[Step, int] = (far, 3)
    other: tuple[Step, int] = (GaussianStep(0.7, 1.0), 1)
    kept = 0.8**3
    exact = kept * norm.cdf(norm.isf(ALPHA) - 0.7)
    parts: Parts
    for parts in ([revealed, other], [other, revealed]):
        found = end(0, parts, parts)(ALPHA)
        assert (found <= exact).all()
        np.testing.assert_allclose(found, exact, rtol=1e-3)
    found = end(0, [revealed], [revealed])(ALPHA)
    np.testing.assert_allclose(found, kept * (1.0 - ALPHA), rtol=1e-12)


def test_a_step_that_reveals_the_record_for_sure() -> None:
    sure: tuple[Step, int] = (LaplaceStep(9e3, 1.0), 1)
    other: tuple[Step, int] = (GaussianStep(0.7, 1.0), 1)
    parts: Parts
    for parts in ([sure], [sure, other], [other, sure]):
        lower = end(0, parts, parts)
        for curve in (lower, lower.inverse()):
            assert (curve(np.r_[0.0, ALPHA, 1.0]) == 0.0).all()
            assert (curve.delta(np.array([0.0, 700.0])) == 1.0).all()
            assert (curve.epsilon(np.array([0.0, 1.0 - 2e-16])) == np.inf).all()


def test_an_attack_of_its_own() -> None:
    """Gaussian steps are a closed form; a replaced record is attacked from both sides."""
    parts: Parts = [(GaussianStep(0.5, 1.0), 3), (GaussianStep(1.0, 1.0), 1)]
    attack: Parts = [(GaussianStep(0.5, 1.0), 2)]
    for which, mu in ((0, np.sqrt(1.75)), (1, np.sqrt(0.5))):
        exact = norm.cdf(norm.isf(ALPHA) - mu)
        np.testing.assert_allclose(end(which, parts, attack)(ALPHA), exact, rtol=1e-10)
    replaced: Parts = [(ReplacedStep(mu=1.0, sampled=0.3), 1), (GaussianStep(0.1, 0.5), 1)]
    for given in (replaced, replaced[::-1], replaced[:1]):
        upper = end(1, given, [(GaussianStep(1.0, 0.3), 1)])
        np.testing.assert_allclose(upper(ALPHA), upper.inverse()(ALPHA), rtol=1e-12)
    once = end(1, [(GaussianStep(1.0, 0.4), 1)], [(GaussianStep(1.0, 0.3), 1)])
    x = norm.isf(ALPHA)
    exact = 0.7 * norm.cdf(x) + 0.3 * norm.cdf(x - 1.0)
    np.testing.assert_allclose(once(ALPHA), exact, rtol=1e-3)
    assert (once(ALPHA) >= exact).all()


@pytest.mark.parametrize("hits", [1, 2])
def test_an_attack_on_one_of_two_steps(hits: int) -> None:
    """The sum of both losses, against masses on a grid: the record is in one, or in both."""
    mu, rate, x = 1.5, 0.5 * hits, np.linspace(-9.0, 10.5, 1501)
    loss = np.log1p(rate * np.expm1(mu * x - 0.5 * mu * mu))
    width = x[1] - x[0]
    other = norm.pdf(x - mu) if hits == 2 else norm.pdf(x)
    order = np.argsort(-(loss[:, np.newaxis] + loss).ravel())
    alpha, power = (
        np.cumsum(np.outer(first, second).ravel()[order]) * width**2
        for first, second in ((norm.pdf(x), norm.pdf(x)), (norm.pdf(x - mu), other))
    )
    _, upper = ends([(AllocatedSteps(mu, rate, slots=2, hits=hits), 2)], "attack", "informed")
    beta = np.interp(ALPHA[1:], alpha, 1.0 - power)
    np.testing.assert_allclose(upper(ALPHA[1:]), beta, atol=1e-3)


@pytest.mark.parametrize("loss", np.random.default_rng(4).uniform(-1e5, -5e4, 8))
def test_losses_of_many_digits_are_rounded_down(loss: float) -> None:
    """A loss far below 0 and one of 0: the sum of its log and that of its mass loses digits."""
    half = np.log([[0.5], [0.5]])
    sums = BlockMasses(loss, -loss, 0, half, half, -np.inf, 0.0)
    _, beta = _lower(sums, -np.inf, 0.0)
    spare = Fraction(loss) + Fraction(half[0, 0]) - Fraction(beta[np.isfinite(beta)].min())
    assert 0 < spare < 2e-15 * abs(loss) + 4e-12
