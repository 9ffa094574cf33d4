"""The level that certified records reach together: above a stated share, not above all of it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, binom

from leakscore.shadow import risk
from tests.helpers.parts import DistinctHits

MODELS, RECORDS, MISS = 40, 200, 0.1


def is_certified(hits: int) -> bool:
    """Whether one record with so many hits of 20 is certified, the others having next to none."""
    inside = np.broadcast_to(np.arange(MODELS)[:, np.newaxis] % 2 == 0, (MODELS, RECORDS))
    count = np.where(np.arange(RECORDS) == 0, hits, 1)
    hit = np.arange(MODELS)[:, np.newaxis] // 2 < count
    scores = np.where(inside, np.where(hit, 2.0, -2.0), -1.0)
    return bool(risk(scores, inside, least_power=0.5, confidence=1.0 - MISS).certified[0, 0])


def test_holms_first_step_by_enumeration() -> None:
    """All records at exactly `least_power`: any is certified with probability below the level.

    Counts of 20 models are coarse: the least that is certified has less than its share; one hit
    less would have more than all.
    """
    least = next(hits for hits in range(10, 21) if is_certified(hits))
    reached, beyond = (1.0 - binom.cdf(k - 1, 20, 0.5) ** RECORDS for k in (least, least - 1))
    assert 0.35 * MISS <= reached <= MISS < beyond


def test_lower_bounds_of_rates_are_those_of_clopper_and_pearson() -> None:
    hits = np.array([0.0, 3.0, 20.0, 3.0, 300.0, 3.0])
    of = np.array([20.0, 20.0, 20.0, 5.0, 1000.0, 20.0])
    for used in (slice(4), slice(None)):
        k, n = hits[used], of[used]
        rates = DistinctHits.of_records(k, n).lower_rates(0.9)
        assert rates[0] == 0.0
        assert rates[1:] == pytest.approx(beta.ppf(0.1, k[1:], n[1:] - k[1:] + 1.0), rel=1e-9)
