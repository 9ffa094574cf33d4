"""Audit.parameter_lower_bound against a loop over every threshold."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from leakscore.audit import Audit
from leakscore.tradeoff import (
    TradeOff,
    approximate_dp,
    gaussian,
    laplace,
    relaxed_laplace,
    subsampled_gaussian,
    subsampled_mean,
)
from tests.audit.test_models import sampled
from tests.helpers.parts import UNSTATED, Between, about
from tests.oracles import refuted as oracle

quantile = functools.cache(oracle.quantile)


def laplace_curve(mu: mpmath.mpf) -> oracle.Curve:
    def beta(alpha: mpmath.mpf) -> mpmath.mpf:
        grown = mpmath.exp(mu) * alpha
        if grown < 0.5:
            return 1 - grown
        return 1 / (4 * grown) if alpha <= 0.5 else mpmath.exp(-mu) * (1 - alpha)

    return beta


def mean_curve(leakage: mpmath.mpf) -> oracle.Curve:
    """Return the curve of a sub-sampled mean at a rate of .9: not symmetric."""
    mu = mpmath.sqrt(leakage / mpmath.mpf(0.9))

    def beta(alpha: mpmath.mpf) -> mpmath.mpf:
        if alpha >= 1:
            return mpmath.mpf(0)
        missed = mpmath.ncdf(quantile(1 - alpha) - mu)
        return (1 - mpmath.mpf(0.9)) * (1 - alpha) + mpmath.mpf(0.9) * missed

    return beta


def dp_curve(epsilon: mpmath.mpf) -> oracle.Curve:
    e, d = mpmath.exp(epsilon), mpmath.mpf(1e-3)
    return lambda alpha: max(mpmath.mpf(0), 1 - d - e * alpha, (1 - d - alpha) / e)


@pytest.mark.parametrize(
    ("family", "curve"),
    [
        (laplace, laplace_curve),
        (lambda m: subsampled_mean(m, 0.9), mean_curve),
        (lambda e: approximate_dp(e, 1e-3), dp_curve),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_parameter_against_every_threshold(
    family: Callable[[float], TradeOff], curve: Callable[[mpmath.mpf], oracle.Curve], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    members, nonmembers = rng.normal(1.7, 1, 60).round(1), rng.normal(0, 1, 50).round(1)
    bounds = list(oracle.upper_bounds(members.tolist(), nonmembers.tolist(), 0.9, "dkw"))
    best = oracle.parameter(curve, bounds, 64.0)
    assert best > 0.05
    found = Audit(members, nonmembers).parameter_lower_bound(family, 0.9, "dkw")
    assert -1e-13 < float(best - found.parameter) < 2e-11 * (1 + float(best))


def test_epsilon_as_a_parameter() -> None:
    audit = sampled()
    for delta in (0.0, 1e-3):
        bound = audit.parameter_lower_bound(lambda e, d=delta: approximate_dp(e, d))
        expected = audit.epsilon(delta, method="weighted-ell")
        assert bound.parameter == pytest.approx(expected.epsilon, abs=1e-11)
        assert bound.max_certifiable == pytest.approx(expected.max_certifiable, abs=1e-11)


def test_the_order_of_the_hypotheses_matters() -> None:
    """Swapping the classes (and turning the scores round) swaps the curve and its inverse.

    The inverse is refused as a claim; one with H0 misstated is not known to be one.
    """
    families = (
        relaxed_laplace,
        lambda mu: about(relaxed_laplace(mu).inverse(), UNSTATED),
        lambda mu: relaxed_laplace(mu).symmetrized(),
    )
    one, mixed = np.ones(2000), np.repeat([0.0, 1.0], [1200, 800])
    audits = Audit(one, mixed), Audit(-mixed, -one)
    found = [
        [audit.parameter_lower_bound(f, method="dkw").parameter for f in families]
        for audit in audits
    ]
    assert found[0][1] > found[0][0] + 0.1
    assert found[1] == pytest.approx([found[0][1], found[0][0], found[0][2]], rel=1e-11)
    assert found[0][2] <= found[0][0] + 1e-10


def test_brackets_count_by_their_lower_curve() -> None:
    audit = sampled(6, 2.0, 1000, 1000)
    exact = audit.mu().mu
    bound = audit.parameter_lower_bound(lambda x: Between((gaussian(x + 0.25), gaussian(x))))
    assert bound.parameter == pytest.approx(exact - 0.25, rel=1e-7)
    assert bound.parameter <= exact - 0.25


@pytest.mark.slow
def test_a_composed_family() -> None:
    audit = sampled(6, 2.0, 1000, 1000)
    made = []

    def family(parameter: float) -> TradeOff:
        made.append(subsampled_gaussian(1.0 / parameter, 0.9, 4))
        return made[-1]

    bound = audit.parameter_lower_bound(family)
    assert len(made) < 40
    last = [bound.parameter, bound.parameter * (1 + 1e-6)]
    found = [audit.compare(subsampled_gaussian(1.0 / x, 0.9, 4)).verdict for x in last]
    assert found == ["refuted", "consistent"]


@pytest.mark.slow
def test_a_family_that_leaks_too_little_at_any_parameter() -> None:
    """Four steps at a rate of a half miss the target in one training of 16, for any noise."""
    audit = sampled(6, 2.0, 1000, 1000)
    bound = audit.epsilon()  # fnr < (1 - fpr) / 16 is proved
    assert bound.direction == "reverse"
    assert bound.epsilon > math.log(16)
    with pytest.raises(RuntimeError, match="at every parameter"):
        audit.parameter_lower_bound(lambda x: subsampled_gaussian(1.0 / x, 0.5, 4))


def test_limits_of_the_parameter() -> None:
    audit = sampled(7, 3.0)
    free = audit.parameter_lower_bound(gaussian).parameter
    assert free > 1.5
    assert audit.parameter_lower_bound(gaussian, high=1.25).parameter == 1.25
    assert audit.parameter_lower_bound(gaussian, low=5.0).parameter == 5.0
    inside = audit.parameter_lower_bound(gaussian, low=0.9 * free, high=1.1 * free)
    assert inside.parameter == pytest.approx(free, abs=1e-11)
    tiny = audit.parameter_lower_bound(lambda x: gaussian(1e4 * x), high=1e-2)
    assert 1e4 * tiny.parameter == pytest.approx(free, abs=1e-9)
    far = audit.parameter_lower_bound(lambda x: gaussian(max(x, 0.0)), low=-1e3, high=0.1)
    assert far.parameter == far.max_certifiable == 0.1  # -1000 + 1000.1 is more
    shifted = audit.parameter_lower_bound(lambda x: gaussian(x + 50), low=-50.0)
    assert shifted.parameter + 50 == pytest.approx(free, abs=1e-9)
    # At rate .3 no leakage explains the scores; the saturated family is refuted throughout.
    with pytest.raises(RuntimeError, match="every parameter"):
        audit.parameter_lower_bound(lambda m: subsampled_mean(m, 0.3))
    # Observed rates that the family explains, separation that it would not.
    weak = sampled(8, 1.0).parameter_lower_bound(lambda m: subsampled_mean(m, 0.8), method="dkw")
    assert 0 < weak.parameter < weak.max_certifiable == np.inf


@pytest.mark.parametrize(
    ("family", "error", "words"),
    [
        (1.0, TypeError, "family=1.0"),
        (lambda _: 1.0, TypeError, "TradeOff"),
        (lambda x: gaussian([x, x]), ValueError, r"of shape \(2,\)"),
        (lambda x: gaussian(1 / (1e-3 + x)), ValueError, "leak more with a larger parameter"),
        (lambda x: gaussian(4 / x), ValueError, "leak more with a larger parameter"),
    ],
)
def test_families_that_are_none(family: object, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        sampled().parameter_lower_bound(family)  # type: ignore[arg-type]
