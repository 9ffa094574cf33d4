"""The level of bands of more than 200,000 scores: 99 % for both ends, 1 % for the middle."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp
from scipy.stats import beta

from leakscore.audit import Audit, critical_value
from tests.helpers.parts import crossing

ENDS = 100_000
N = 400_000


def middle(n: int, miss: float, count: int) -> float:
    """Chernoff and Doob at a hundredth of `miss`: an upper bound below the median, by mpmath."""
    number = math.ceil(math.log(n / 2 / ENDS) / math.log(1.25)) + 2
    with mp.workdps(30):
        exponent = mp.log(2 * number / (mp.mpf(miss) / 100)) / n
        bounds = []
        for i in range(number):
            a = mp.mpf(ENDS) / n * mp.mpf(1.25) ** (i - 1)

            def excess(x, a=a):
                return x * mp.log(x / a) + (1 - x) * mp.log((1 - x) / (1 - a)) - exponent

            low = mp.findroot(excess, (a / 2, a * (1 - mp.mpf(10) ** -9)), solver="anderson")
            bounds.append(max(a, mp.mpf(count) / n * a / low))
        return float(min(bounds))


@pytest.mark.parametrize("method", ["weighted-ell", "ell", "berk-jones"])
def test_the_middle_has_a_hundredth_of_the_level(method: str) -> None:
    """The bound at a count between the ends, by the public audit and from the inequality itself."""
    confidence = 0.95
    miss = (1.0 - confidence) / 2.0
    # All scores but `count` non-members' lie below every member: one threshold, one count.
    for count in (120_000, 150_000, 190_000):
        nonmembers = np.repeat([0.0, 2.0], [N - count, count])
        bound = Audit(np.full(50, 1.0), nonmembers).epsilon(0.0, confidence, method)
        found = float(bound.fpr_upper)
        assert bound.fpr == count / N
        knot = ENDS  # the next count that has a bound
        while knot < count:
            knot += math.floor(max(0.2 * math.sqrt(knot * (1.0 - knot / N)), 5e-4 * knot))
        assert found == pytest.approx(middle(N, miss, knot), rel=1e-9)
        for share in (0.9, 1.1):
            assert abs(found - middle(N, share * miss, knot)) > 1e-6


@pytest.mark.parametrize("method", ["weighted-ell", "ell", "berk-jones"])
def test_the_ends_have_the_rest(method: str) -> None:
    """Their crossing probability, which has tests of its own, is 99 % of the miss."""
    for confidence in (0.95, 0.6):
        miss = (1.0 - confidence) / 2.0
        found = crossing(method, N, critical_value(N, confidence, method))
        assert 0.99 * miss * (1.0 - 1e-7) < found <= 0.99 * miss


@pytest.mark.parametrize(("n", "share"), [(2 * ENDS, 1.0), (2 * ENDS + 1, 0.99)])
def test_the_first_size_that_has_a_middle(n: int, share: float) -> None:
    confidence = 0.8  # of which no critical value is shipped
    miss = (1.0 - confidence) / 2.0
    found = crossing("ell", n, critical_value(n, confidence, "ell"))
    assert share * miss * (1.0 - 1e-7) < found <= share * miss
    words = Audit(np.zeros(n), np.ones(9)).mu(method="ell").algorithm
    assert ("maximal inequality" in words) == (share < 1.0)


def test_level_of_the_ends_by_simulation() -> None:
    """Both bands of order statistics of 400,000 uniform variables, at a level of 20 %."""
    miss, audits = 0.2, 300
    eta = critical_value(N, 1.0 - 2.0 * miss, "ell")
    index = np.unique(np.geomspace(1, ENDS, 400).astype(int))
    limits = [beta.isf(eta, i, N + 1 - i) for i in (index, N + 1 - index)]
    rng, failed = np.random.default_rng(40), 0
    for _ in range(audits):
        low, high = (np.cumsum(rng.exponential(size=ENDS)) for _ in range(2))
        rest = rng.gamma(N + 1 - 2 * ENDS)
        whole = low[-1] + rest + high[-1]
        failed += bool(
            (low[index - 1] / whole > limits[0]).any()
            or (1.0 - high[index - 1] / whole > limits[1]).any()
        )
    error = math.sqrt(miss / audits)
    assert 0.6 * miss <= failed / audits <= 0.99 * miss + 3.0 * error
