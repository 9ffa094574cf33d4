"""Levels of bounds that share nothing: what is reached lies just below the nominal level."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy.stats import binom

from leakscore.audit import Audit
from leakscore.distributions import clopper_pearson
from tests.audit.test_four_outcomes import four, ranked


@pytest.mark.parametrize("alpha", [0.2, 0.01])
@pytest.mark.parametrize("n", [3, 20, 300])
def test_clopper_and_pearson_reach_their_level(n: int, alpha: float) -> None:
    """At rates just beyond a bound, exactly: P(X <= k) there is alpha."""
    counts = np.arange(n + 1)
    for side in ("upper", "lower"):
        bound = clopper_pearson(counts, n, alpha=alpha, side=side)[0]
        inner = bound[:-1] if side == "upper" else bound[1:]
        rates = inner * (1.0 + 1e-12) if side == "upper" else inner * (1.0 - 1e-12)
        reached = [
            binom.pmf(counts[bound < rate if side == "upper" else bound > rate], n, rate).sum()
            for rate in rates
        ]
        assert min(reached) > alpha * (1.0 - 1e-7)
        assert max(reached) < alpha * (1.0 + 1e-7)  # at rates that are beyond the bound


@pytest.mark.parametrize(("epsilon", "confidence"), [(0.05, 0.5), (0.5, 0.8)])
def test_four_outcomes_reach_their_level(epsilon: float, confidence: float) -> None:
    """Over all rankings of 6 + 6 records of the least favourable scores, lots included."""
    chances, rankings = ranked(6, 6, *(law[1:3] for law in four(epsilon, 0.0)))
    wrong = 0.0
    for chance, bits in zip(chances, rankings.astype(bool), strict=True):
        order = np.arange(12, 0, -1.0)
        bound = Audit(order[bits], order[~bits]).epsilon(0.0, confidence, "four-outcomes")
        wrong += chance * (float(bound) > epsilon + 1e-9)
    assert len(chances) == comb(12, 6)
    assert 0.4 * (1.0 - confidence) <= wrong <= 1.0 - confidence
