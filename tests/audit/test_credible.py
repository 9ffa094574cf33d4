"""The posterior of two rates at one threshold, integrated by QUADPACK: counts of any sizes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaincc, betaincinv, betaln

from leakscore.audit import Audit
from tests.helpers.audited import credible_epsilon

# Errors and scores of either class: alike, one class larger, none or all wrong, worse than chance.
COUNTS = [
    *((0, 10**6, 0, 10**6), (5000, 10**6, 5000, 10**6), (1, 500, 400, 10**4)),
    *((20, 50, 10**5, 10**7), (0, 50, 10**5, 10**7), (50, 50, 10**5, 10**7)),
    *((499, 500, 9600, 10**4), (40, 50, 9 * 10**6, 10**7), (50, 50, 9 * 10**6, 10**7)),
    *((0, 50, 9 * 10**6, 10**7), (100, 10**5, 50_000, 10**5), (2, 2, 1, 3)),
]
SHARES = np.array([1e-24, 1e-16, 1e-8, 1e-3, 0.2, 0.5])


def possible(counts: tuple[int, ...], delta: float, epsilon: float) -> float:
    """P(the rates are those of a mechanism that is (epsilon, delta)-DP)."""
    (a, b), (c, d) = ((k + 0.5, n - k + 0.5) for k, n in (counts[:2], counts[2:]))
    grown = math.exp(epsilon)

    def least(x: float) -> float:
        return max(0.0, 1.0 - delta - grown * x, (1.0 - delta - x) / grown)

    def density(t: float) -> float:
        x, rest = math.sin(t) ** 2, math.cos(t) ** 2
        between = betaincc(c, d, least(x)) - betaincc(c, d, 1.0 - least(rest))
        logs = (2.0 * a - 1.0) * math.log(math.sin(t)) + (2.0 * b - 1.0) * math.log(math.cos(t))
        return 2.0 * math.exp(logs - betaln(a, b)) * max(0.0, float(between))

    def quantiles(a: float, b: float) -> np.ndarray:
        return np.concatenate([betaincinv(a, b, SHARES), 1.0 - betaincinv(b, a, SHARES)])

    y = quantiles(c, d)
    below = [(1.0 - delta - y) / grown, 1.0 - delta - grown * y]
    above = [1.0 - (y - delta) / grown, delta + grown * (1.0 - y)]
    bend = (1.0 - delta) / (1.0 + grown)
    x = quantiles(a, b)
    places = np.concatenate([x, *below, *above, [bend, 1.0 - bend]])
    places = places[(places >= x.min()) & (places <= x.max())]
    ends = np.unique(np.arcsin(np.sqrt(places)))
    parts = [quad(density, *pair, epsrel=1e-11, full_output=True)[:2] for pair in pairwise(ends)]
    assert sum(error for _, error in parts) < 2e-11
    return math.fsum(part for part, _ in parts)


@pytest.mark.parametrize("delta", [0.0, 0.3])
@pytest.mark.parametrize("counts", COUNTS)
def test_credible_bounds_have_their_posterior_mass(counts: tuple[int, ...], delta: float) -> None:
    for miss in (0.05, 0.995):
        epsilon = credible_epsilon(counts, delta, miss)
        mass = possible(counts, delta, epsilon)
        if epsilon > 0.0:
            assert mass == pytest.approx(miss, rel=1e-9)
        else:
            assert mass > miss


@pytest.mark.parametrize("method", ["split", "credible"])
@pytest.mark.parametrize("sizes", [(30, 50), (50, 30)])
def test_separated_scores_certify_the_most(method: str, sizes: tuple[int, int]) -> None:
    least = {"split": 1.5, "credible": 2.0}
    audit = Audit(np.arange(100.0, 100.0 + sizes[0]), np.arange(float(sizes[1])))
    bound = audit.epsilon(1e-3, method=method, threshold=99.5)
    assert least[method] < bound.epsilon == bound.max_certifiable
    mixed = Audit(np.arange(95.0, 95.0 + sizes[0]), np.arange(60.0, 60.0 + sizes[1]))
    worse = mixed.epsilon(1e-3, method=method, threshold=99.5)
    assert worse.epsilon < worse.max_certifiable == bound.max_certifiable


@pytest.mark.parametrize("counts", [(0, 100, 100, 100), (100, 100, 0, 100)])
def test_no_mass_next_to_no_errors_is_left_out(counts: tuple[int, ...]) -> None:
    epsilon = credible_epsilon(counts, 0.0, 0.995)
    assert possible(counts, 0.0, epsilon) == pytest.approx(0.995, rel=1e-11)
