"""Scores that are reversed, at the edge of three exact standard errors; families that cross."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from leakscore.audit import Audit
from leakscore.tradeoff import TradeOff, approximate_dp, gaussian

N1, N0 = 8, 12


def deviation() -> float:
    """Standard deviation of the number of pairs in order, over all orders of N1 + N0 scores."""
    places = np.array(list(combinations(range(N1 + N0), N1)))
    return float(np.std(places.sum(axis=1)))


def audit_of(pairs: int) -> Audit:
    """Scores of which so many pairs are in order: the member's is the higher."""
    below = np.full(N1, pairs // N1) + (np.arange(N1) < pairs % N1)
    return Audit(below - 0.5, np.arange(float(N0)))


def test_scores_are_turned_round_below_three_exact_deviations() -> None:
    limit = 0.5 * N1 * N0 - 3.0 * deviation()
    assert 9.0 < limit < 9.5
    for pairs in range(30):
        result = audit_of(pairs).compare(gaussian(0.0), confidence=0.02, method="dkw")
        assert result.max_margin > 0.0
        assert result.verdict == ("cannot-tell" if pairs < limit else "consistent")


def test_a_claim_is_refuted_by_scores_that_are_turned_round() -> None:
    members = np.where(np.arange(1000) < 200, 10.0, -10.0) + np.arange(1000) / 2000
    audit = Audit(members, np.arange(1000) / 1000)
    result = audit.compare(gaussian(0.3), method="dkw")
    error = math.sqrt(math.log(40) / 2000)
    assert result.margin == pytest.approx(float(gaussian(0.3)(error)) - 0.8 - error, abs=1e-9)
    assert 0.0 < result.margin < 0.1
    assert result.verdict == "refuted"


def test_families_that_cross_are_refused_and_constant_ones_are_not() -> None:
    audit = Audit(np.arange(400.0) + 200.0, np.arange(400.0))

    def crossing(parameter: float) -> TradeOff:
        return gaussian(2.0) if parameter < 0.5 else approximate_dp(0.5, 0.5)

    with pytest.raises(ValueError, match="leak more"):
        audit.parameter_lower_bound(crossing, high=1.0, method="dkw")
    bound = audit.parameter_lower_bound(lambda m: gaussian(min(m, 3.0)), high=9.0, method="dkw")
    assert bound.parameter == pytest.approx(audit.mu(method="dkw").mu, rel=1e-9)
    bound = audit.parameter_lower_bound(lambda _: gaussian(0.1), high=9.0, method="dkw")
    assert bound.parameter == 9.0
