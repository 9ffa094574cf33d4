"""Which data set H0 is, after every operation: one table of operations, orientations and kinds.

Truths come from a pair of laws that is written down here, by the lemma of Neyman and Pearson on
their outcomes, or by quadrature of noncentral chi-square laws (scipy).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from leakscore import tradeoff
from leakscore.tradeoff import TradeOff
from tests.helpers.parts import Premise, settled

# Guarantees, attacks and brackets that are not their own inverse.
ASYMMETRIC: dict[str, TradeOff] = {
    "relaxed_gaussian": tradeoff.relaxed_gaussian(3.0),
    "relaxed_laplace": tradeoff.relaxed_laplace(1.5),
    "shifted_gaussian": tradeoff.shifted_gaussian(1.0, 0.7),
    "sub-sampled": tradeoff.gaussian(2.0).subsample(0.3),
    "attack": tradeoff.gaussian(2.0).best_of(3),
    "bracket": tradeoff.subsampled_gaussian(1.0, 0.1, 10),
    "bracket of an attack": tradeoff.subsampled_gaussian(1.0, 0.1, 10).best_of(2),
    "batches": tradeoff.random_allocation(1.0, 5),
    "discrete": tradeoff.subsampled_laplace(1.0, 0.2, 4),
}
SYMMETRIC: dict[str, TradeOff] = {
    "gaussian": tradeoff.gaussian(1.0),
    "laplace": tradeoff.laplace(1.0),
    "claim": tradeoff.approximate_dp(1.0, 1e-5),
    "sequence": tradeoff.compose([tradeoff.laplace(1.0), (tradeoff.gaussian(0.5), 2)]),
    "correlated noise": tradeoff.correlated_gaussian([[1, 0], [-1, 2]], [[1, 1]]),
}
OF_ONE_LAW: dict[str, Callable[[TradeOff], Any]] = {
    "subsample": lambda f: f.subsample(0.3),
    "best_of": lambda f: f.best_of(3),
}
every = pytest.mark.parametrize("name", ASYMMETRIC)


@every
def test_what_h0_is(name: str) -> None:
    f = ASYMMETRIC[name]
    assert (f.null, f.inverse().null, f.symmetrized().null) == ("without", "with", "either")
    assert f.inverse().inverse().null == "without"
    assert f.symmetrized().inverse().null == f.symmetrized().symmetrized().null == "either"
    assert f.inverse().symmetrized().null == "either"
    for end in (f.inverse().lower, f.inverse().upper):
        assert end.null == "with"
    assert (f.best_of(2).null, f.best_of(2).inverse().null) == ("without", "with")


@pytest.mark.parametrize("name", SYMMETRIC)
def test_a_symmetric_curve_stays_as_it_is(name: str) -> None:
    f = SYMMETRIC[name]
    assert f.inverse() is f.symmetrized() is f
    assert f.null == "without"
    for operation in OF_ONE_LAW.values():
        operation(f.inverse())


@every
@pytest.mark.parametrize("operation", OF_ONE_LAW)
def test_operations_that_mix_the_laws_take_h0_without_the_record(name: str, operation: str) -> None:
    f, act = ASYMMETRIC[name], OF_ONE_LAW[operation]
    if f.neighbours != "replace":
        act(f)
        act(f.inverse().inverse())
    for g in (f.inverse(), f.symmetrized(), f.inverse().symmetrized()):
        for end in (g, g.lower, g.upper):
            with pytest.raises(ValueError, match=rf"{operation}, not '{g.null}': .* first, then"):
                act(end)


def test_the_mixture_of_a_hull_is_attained_by_no_attacker() -> None:
    """Both ends of its epsilon would be 33.7, where the mechanism's own is .253 (by quadrature).

    H0: N(0, 1). H1 with probability .1: N(1, 1/4).
    """
    f, delta = tradeoff.shifted_gaussian(1.0, 0.5), 1e-5
    h0, h1 = stats.norm(0.0, 1.0), stats.norm(1.0, 0.5)
    sampled = f.subsample(0.1)
    true = sampled.epsilon(delta)
    x = np.linspace(-12.0, 12.0, 400_001)
    mixed = 0.9 * h0.pdf(x) + 0.1 * h1.pdf(x)
    for p, q in ((h0.pdf(x), mixed), (mixed, h0.pdf(x))):
        delta_there = np.trapezoid(np.maximum(q - math.exp(true) * p, 0.0), x)
        assert delta_there <= delta * (1.0 + 1e-6)
    assert true < 0.3
    with pytest.raises(ValueError, match="not 'either': sub-sample first"):
        f.symmetrized().subsample(0.1)


@every
def test_comparisons_are_of_one_order(name: str) -> None:
    """Of the same inverse on both sides the answer is that of the curves themselves."""
    f = ASYMMETRIC[name]
    symmetric = tradeoff.approximate_dp(60.0, 0.999)
    for g in (f, f.inverse()):
        assert g.lower.at_least_as_private_as(g.lower, tolerance=1e-5).verdict is not False
        assert g.lower.at_least_as_private_as(f.symmetrized().lower, tolerance=1e-5).verdict
        assert symmetric.at_least_as_private_as(g).verdict is False
    for one, other in ((f, f.inverse()), (f.inverse(), f)):
        for end, wall in ((one, other), (one.lower, other.lower)):
            with pytest.raises(ValueError, match=r"H0 'with.*not 'with.*: invert both or none"):
                end.at_least_as_private_as(wall)


@every
def test_compositions_take_no_turned_curve(name: str) -> None:
    """Products of laws are in one order."""
    for turned in (ASYMMETRIC[name].inverse(), ASYMMETRIC[name].symmetrized()):
        for g in (turned, turned.lower, turned.upper):
            with pytest.raises(ValueError, match=r"compose, not .*: compose first, then invert"):
                tradeoff.compose([tradeoff.gaussian(1.0), (g, 2)])


def test_what_was_claimed_of_an_inverse_was_false() -> None:
    """The mixture of an inverse promised epsilon 2.288; the mechanism's own is 12.015.

    H0: x^2 of N(0, 1). H1 with probability .1: x^2 of N(+-3, 1). The true delta, by quadrature.
    """
    rate, mu, delta = 0.1, 3.0, 1e-5
    h0, h1 = stats.chi2(1), stats.ncx2(1, mu**2)

    def caught_beyond(epsilon: float) -> float:
        # The mixture against H0: where its ratio (1 - q) + q h1/h0 is above e^epsilon.
        level = math.log((math.exp(epsilon) - 1 + rate) / rate)
        cut = brentq(lambda x: h1.logpdf(x) - h0.logpdf(x) - level, 1e-9, 2000.0)
        mixture = (1 - rate) * h0.sf(cut) + rate * h1.sf(cut)
        return float(mixture - math.exp(epsilon) * h0.sf(cut))

    true = brentq(lambda epsilon: caught_beyond(epsilon) - delta, 1.0, 40.0)
    f = tradeoff.relaxed_gaussian(mu).subsample(rate)
    assert true == pytest.approx(12.015, abs=2e-3)
    assert f.epsilon(delta, "forward") == pytest.approx(true, rel=1e-7)
    assert f.inverse().epsilon(delta, "reverse") == pytest.approx(true, rel=1e-7)
    assert caught_beyond(2.288) == pytest.approx(0.0298, abs=5e-4)


P = np.array([0.5, 0.2, 0.2, 0.1])  # H0, and below H1, of one mechanism with four outcomes
Q = np.array([0.1, 0.2, 0.25, 0.45])


def hull(p: np.ndarray, q: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """The least missed share of `q` by tests that flag `alpha` of `p`, by Neyman and Pearson."""
    order = np.argsort(-q / p, kind="stable")
    x, y = (np.concatenate([[0.0], np.cumsum(law[order])]) for law in (p, q))
    return 1.0 - np.interp(alpha, x, y)


@pytest.mark.parametrize("rate", [0.2, 0.7])
@pytest.mark.parametrize("looks", [1, 3])
def test_operations_on_laws_that_are_written_down(rate: float, looks: int) -> None:
    """Sub-sampling mixes Q into P; the best of looks flags by the largest ratio of T draws."""
    alpha = np.linspace(0.0, 1.0, 41)
    f = tradeoff.from_llr(llr_h1=np.repeat(np.log(Q / P), np.rint(1000 * Q).astype(int)))
    np.testing.assert_allclose(f(alpha), hull(P, Q, alpha), atol=1e-12)
    np.testing.assert_allclose(f.inverse()(alpha), hull(Q, P, alpha), atol=1e-12)
    mixed = (1 - rate) * P + rate * Q
    g = f.subsample(rate)
    np.testing.assert_allclose(g(alpha), hull(P, mixed, alpha), atol=1e-12)
    np.testing.assert_allclose(g.inverse()(alpha), hull(mixed, P, alpha), atol=1e-12)
    # Thresholds on the largest of T ratios: all draws of P, or one of them of Q.
    order = np.argsort(Q / P)
    below, caught = np.cumsum(P[order]), np.cumsum(Q[order])
    best = f.best_of(looks)
    np.testing.assert_allclose(best(1.0 - below**looks), caught * below ** (looks - 1), atol=1e-12)


def test_a_claim_is_about_a_share_of_rounds_without_the_record() -> None:
    with pytest.raises(ValueError, match="must have H0 'without'"):
        settled(Premise("replace", (), "with"), None, "the claim")
    for null in ("without", "either"):
        assert settled(Premise("replace", (), null), None, "the claim") == "replace"
