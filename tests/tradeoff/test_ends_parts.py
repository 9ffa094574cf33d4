"""Ends of short sequences in closed form: an unknown sign, magnitudes, cut losses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from leakscore.tradeoff.composition import ends as _ends
from leakscore.tradeoff.composition.ends import ends
from leakscore.tradeoff.composition.laws import Losses, StatedPair
from leakscore.tradeoff.composition.steps import (
    GaussianMagnitude,
    GaussianStep,
    Parts,
    on_lattice,
)
from leakscore.tradeoff.composition.sums import BlockMasses

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
    wide = _ends._widened(sums, 0.25)
    np.testing.assert_allclose(wide.low, row - 0.25, rtol=1e-15)
    np.testing.assert_allclose(wide.high, row + 0.25, rtol=1e-15)
    assert (wide.log_below, wide.log_above) == (-2.75, -3.75)
    assert _ends._widened(sums, 0.0) is sums
    for lost in ((1e-3, 2e-3), (2e-3, 1e-3)):
        law = Losses(np.zeros(1), (np.zeros(1),) * 2, None, 0.1, 0.2, lost)
        part = StatedPair(law=law)
        steps = [(on_lattice(part, 0.5), 3), (on_lattice(GaussianStep(1.0, 1.0), 0.5), 2)]
        errors = list(_ends._errors([(part, 3), (GaussianStep(1.0, 1.0), 2)], steps))
        rounding, moved, gone = (sum(one) for one in zip(*errors, strict=True))
        assert rounding == pytest.approx(0.3, rel=1e-12)
        assert moved == pytest.approx(0.6, rel=1e-12)
        assert gone == pytest.approx(6e-3, rel=1e-12)
