"""Union bounds of audits: the level that is reached, above a stated share of the nominal one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, binom

from leakscore.audit import Audit, critical_value, one_run, one_run_fdp
from leakscore.tradeoff import gaussian

N, CONFIDENCE = 200, 0.8
MISS = 1.0 - CONFIDENCE


def at_one_threshold(errors: int, side: str, **options: object) -> float:
    """The upper bound on a rate with so many errors of 200, the other rate without any."""
    clean, mixed = np.zeros(N), np.repeat([0.0, 2.0], [N - errors, errors])
    scores = (clean + 2.0, mixed) if side == "fpr" else (2.0 - mixed, clean)
    bound = Audit(*scores).epsilon(0.0, CONFIDENCE, **options)
    assert getattr(bound, side) == pytest.approx(errors / N)
    return float(getattr(bound, f"{side}_upper"))


@pytest.mark.parametrize("side", ["fpr", "fnr"])
@pytest.mark.parametrize("orientation", ["high", "both"])
def test_each_rate_at_one_threshold_has_half_of_the_level(side: str, orientation: str) -> None:
    """Exactly, over all counts of errors; the threshold was fixed, so orientations share it."""
    options = {"method": "split", "threshold": 1.0, "orientation": orientation}
    nominal = MISS / (2.0 if orientation == "high" else 4.0)
    uppers = np.array([at_one_threshold(k, side, **options) for k in range(N // 2)])
    for rate in (0.1, 0.25):
        missed = binom.pmf(np.flatnonzero(uppers < rate), N, rate).sum()
        assert 0.6 * nominal <= missed <= nominal
    assert 1.0 - (1.0 - 0.6 * MISS / 2.0) ** 2 > 0.5 * MISS  # both rates together, as they vary


@pytest.mark.parametrize("method", ["ell", "weighted-ell"])
@pytest.mark.parametrize("orientation", ["high", "both"])
def test_each_band_has_half_of_the_level(method: str, orientation: str) -> None:
    """By simulation of order statistics; three standard errors of 4,000 samples."""
    confidence = CONFIDENCE if orientation == "high" else 1.0 - 0.5 * MISS
    nominal = 0.5 * (1.0 - confidence)
    k = np.arange(N)
    eta = critical_value(N, confidence, method) / (np.sqrt(k + 1.0) if "w" in method else 1.0)
    uppers = beta.isf(eta, k + 1.0, N - k)
    for errors in (0, 1, 20):
        for side in ("fpr", "fnr"):
            found = at_one_threshold(errors, side, method=method, orientation=orientation)
            assert found == pytest.approx(uppers[errors], rel=1e-9)
    samples = np.sort(np.random.default_rng(60).random((4000, N)), axis=1)
    missed = (samples > uppers).any(axis=1).mean()
    error = math.sqrt(nominal / 4000)
    assert 0.9 * nominal - 3.0 * error <= missed <= nominal + 3.0 * error


def right(high: int, low: int) -> tuple[np.ndarray, np.ndarray]:
    """400 canaries: so many of the 200 highest are in, so many of the 200 lowest out."""
    member = np.concatenate([np.arange(N) >= low, np.arange(N) < high])
    return np.arange(2.0 * N), member


@pytest.mark.filterwarnings("ignore:.*a fair coin of its own decided each")
def test_pairs_of_a_grid_share_the_level() -> None:
    """Guesses of two ends that share no canary: both counts are binomial, and independent."""
    epsilon, grid = 0.6, ([N, 0], [0, N])
    q = 1.0 / (1.0 + math.exp(-epsilon))

    def refuted(count: int, end: str) -> bool:
        data = right(count, 90) if end == "high" else right(90, count)
        return one_run(*data, *grid, confidence=CONFIDENCE).epsilon > epsilon

    reached = 1.0
    for end in ("high", "low"):
        least = next(count for count in range(90, N + 1) if refuted(count, end))
        one = binom.sf(least - 1, N, q)
        assert 0.6 * MISS / 2.0 <= one <= MISS / 2.0
        reached *= 1.0 - one
    assert 0.6 * MISS <= 1.0 - reached <= MISS


@pytest.mark.filterwarnings("ignore:.*a fair coin of its own decided each")
@pytest.mark.parametrize("high", [104, 115, 130])
def test_p_values_of_a_grid_are_multiplied_by_its_pairs(high: int) -> None:
    """Of one run exactly: a count without a leak is binomial; of a curve as for one pair."""
    data, grid = right(high, 90), ([N, 0, 50], [0, N, 0])
    worst = binom.sf(high - 1, N, 0.5)  # of the others 90 of 200 and 0 of 50 are right
    assert one_run(*data, *grid).p_value == pytest.approx(min(1.0, 3.0 * worst), rel=1e-9)
    curve = gaussian(0.01)
    alone = min(one_run_fdp(*data, *pair, curve).p_value for pair in zip(*grid, strict=True))
    whole = one_run_fdp(*data, *grid, curve).p_value
    assert whole == pytest.approx(min(1.0, 3.0 * alone), rel=1e-6)
