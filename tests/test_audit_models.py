"""Audit.mu, epsilon_if_gaussian and parameter_lower_bound against a loop over every threshold."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscore.audit import Audit
from leakscore.audit._models import largest_mu
from leakscore.tradeoff import (
    TradeOff,
    approximate_dp,
    gaussian,
    gdp_epsilon,
    laplace,
    relaxed_laplace,
    subsampled_gaussian,
    subsampled_mean,
)
from leakscore.tradeoff._bracket import Between
from tests.oracles import refuted as oracle

quantile = functools.cache(oracle.quantile)
METHODS = ("dkw", "dkw-two-sided")
grid = st.sampled_from([-math.inf, -2.0, -0.5, 0.0, -0.0, 0.25, 1.0, 3.0, math.inf])
scores = st.lists(st.one_of(grid, st.floats(-5, 5, width=32)), min_size=1, max_size=30)


def sampled(seed: int = 3, shift: float = 2.0, n1: int = 400, n0: int = 300) -> Audit:
    rng = np.random.default_rng(seed)
    return Audit(rng.normal(shift, 1.0, n1), rng.normal(0.0, 1.0, n0))


@given(scores, scores, st.floats(0.001, 0.999999), st.sampled_from(METHODS))
@settings(max_examples=40)
def test_mu_against_every_threshold(
    members: list[float], nonmembers: list[float], confidence: float, method: str
) -> None:
    bound = Audit(members, nonmembers).mu(confidence, method)
    best = oracle.mu(members, nonmembers, confidence, method)
    assert bound.mu <= best
    assert float(best - bound.mu) < 1e-13
    cap = oracle.mu([1.0] * len(members), [0.0] * len(nonmembers), confidence, method)
    assert 0 <= float(cap - bound.max_certifiable) < 1e-13
    assert bound.fpr == np.mean(np.array(nonmembers) > bound.threshold)
    assert bound.fnr == np.mean(np.array(members) <= bound.threshold)
    if bound.mu > 0:
        proof = [oracle.quantile(mpmath.mpf(x)) for x in (bound.fpr_upper, bound.fnr_upper)]
        assert -float(sum(proof)) == pytest.approx(bound.mu, abs=1e-12)


def test_mu_of_any_two_bounds_is_rounded_down() -> None:
    rng = np.random.default_rng(9)
    rates = 10.0 ** rng.uniform(-12, 0, (2, 150))
    rates[:, 100:] = 1.0 - rates[:, 100:]
    for fpr, fnr in rates.T:
        found, _ = largest_mu(np.array([1.0, fpr, 0.5]), np.array([0.5, fnr, 1.0]))
        with mpmath.workdps(40):
            best = -quantile(mpmath.mpf(fpr)) - quantile(mpmath.mpf(fnr))
        assert found <= max(best, 0)
        assert float(best - found) < 2e-14 or found == 0.0


@pytest.mark.parametrize("method", ["dkw", "ks", "bonferroni"])
def test_gaussian_family_is_mu(method: str) -> None:
    for audit in (sampled(), sampled(4, 0.5, 3000, 200), sampled(5, 30.0)):
        bound, other = audit.mu(0.9, method), audit.parameter_lower_bound(gaussian, 0.9, method)
        assert 0 <= bound.mu - other.parameter < 2e-12
        assert bound.max_certifiable == pytest.approx(other.max_certifiable, rel=1e-12)
        assert bound.threshold == other.threshold
        assert bound.fnr_upper < gaussian(bound.mu - 1e-12)(bound.fpr_upper)


def test_perfect_separation_is_finite() -> None:
    bound = Audit(np.arange(1000.0, 2000.0), np.arange(1000.0)).mu(method="dkw")
    t = math.sqrt(math.log(40) / 2000)
    assert bound.mu == bound.max_certifiable == pytest.approx(-2 * float(oracle.quantile(t)))
    assert float(bound) == bound.mu
    assert (bound.threshold, bound.fpr, bound.fnr) == (999.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("members", "nonmembers"),
    [
        ([0.0] * 50, [0.0] * 70),  # all equal
        ([1.0], [0.0]),  # one score each: the band is everything
        ([math.inf] * 50, [math.inf] * 50),
        (np.arange(50.0), np.arange(50.0) + 100),  # turned round: upper bounds do not show it
    ],
)
def test_no_evidence(members: list[float], nonmembers: list[float]) -> None:
    audit = Audit(members, nonmembers)
    assert audit.mu().mu == 0.0
    assert math.copysign(1.0, audit.mu().mu) == 1.0
    assert float(audit.epsilon_if_gaussian(1e-5)) == 0.0
    assert float(audit.epsilon_if_gaussian(0.0)) == 0.0
    bound = audit.parameter_lower_bound(laplace, low=0.25)
    assert (bound.parameter, bound.fpr) == (0.25, np.mean(np.array(nonmembers) > bound.threshold))


def test_epsilon_if_gaussian_is_that_of_mu() -> None:
    audit = sampled()
    delta = np.array([[0.0, 1e-12], [1e-5, 0.999]])
    found = audit.epsilon_if_gaussian(delta, 0.9, "ks")
    mu = audit.mu(0.9, "ks").mu
    assert found.mu == mu > 1.0
    assert np.isposinf(found.epsilon_if_gaussian[0, 0])
    expected = gdp_epsilon(delta, mu)
    assert (found.epsilon_if_gaussian <= expected).all()
    np.testing.assert_allclose(found.epsilon_if_gaussian, expected, rtol=1e-12)
    assert (found.max_certifiable >= found.epsilon_if_gaussian).all()
    one = audit.epsilon_if_gaussian(1e-5, 0.9, "ks")
    assert float(one) == one.epsilon_if_gaussian == found.epsilon_if_gaussian[1, 0]
    assert "Gaussian" in repr(one)
    assert not hasattr(one, "epsilon")
    assert json.loads(audit.epsilon_if_gaussian(0.0).to_json())["epsilon_if_gaussian"] == "inf"
    with pytest.raises(TypeError, match="scalar delta"):
        float(found)


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
        expected = audit.epsilon(delta)
        assert bound.parameter == pytest.approx(expected.epsilon, abs=1e-11)
        assert bound.max_certifiable == pytest.approx(expected.max_certifiable, abs=1e-11)


def test_the_order_of_the_hypotheses_matters() -> None:
    """Swapping the classes (and turning the scores round) swaps the curve and its inverse."""
    families = (
        relaxed_laplace,
        lambda mu: relaxed_laplace(mu).inverse(),
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
        made.append(subsampled_gaussian(1.0 / parameter, 0.5, 4))
        return made[-1]

    bound = audit.parameter_lower_bound(family)
    assert len(made) < 40
    last = [bound.parameter, bound.parameter * (1 + 1e-6)]
    found = [audit.compare(subsampled_gaussian(1.0 / x, 0.5, 4)).verdict for x in last]
    assert found == ["refuted", "consistent"]


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
