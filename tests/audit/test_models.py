"""Audit.mu and epsilon_if_gaussian against a loop over every threshold."""

from __future__ import annotations

import functools
import json
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscore.audit import Audit
from leakscore.tradeoff import (
    gaussian,
    gdp_epsilon,
    laplace,
)
from tests.helpers.parts import largest_mu
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


def test_mu_of_one_rate_of_a_half_is_rounded_down() -> None:
    for rate in 10.0 ** np.random.default_rng(8).uniform(-15, -1, 100):
        with mpmath.workdps(40):
            best = -quantile(mpmath.mpf(rate))
        for pair in ((rate, 0.5), (0.5, rate)):
            found, _ = largest_mu(*(np.array([each]) for each in pair))
            assert best - 2e-14 < found <= best


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
        (np.arange(50.0), np.arange(50.0) + 100),  # reversed: upper bounds do not show it
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
