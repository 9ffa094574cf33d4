"""Laws that err: what is cut off or was lost counts as perfectly distinguished; wrong masses."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest

from leakscore.typing import Doubles
from tests.helpers.parts import Losses, StatedPair, lower_curve, upper_curve


def law(seed: int) -> Losses:
    """Sixty outcomes, of which some are rare, and the same ones of an attacker's statistic."""
    rng = np.random.default_rng(seed)
    places = np.arange(60) - rng.uniform(25.0, 35.0)
    logs = [-np.abs(places) * step - 3.0 for step in rng.uniform(0.4, 0.8, size=4)]
    normed = [values - np.log(np.exp(values).sum()) for values in logs]
    points = np.cumsum(rng.exponential(size=60))
    return Losses(points, (normed[0], normed[1]), (normed[2], normed[3]), 0.0, 0.0, (3e-3, 1e-2))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("hidden", [1e-4, 1e-2])
def test_all_that_is_cut_off_is_lost(seed: int, hidden: float) -> None:
    whole = law(seed)
    part = StatedPair(law=whole, advantage=1.0, log_finite=(0.0, 0.0), hidden=hidden)
    cut = part.losses
    assert whole.statistic is not None
    assert cut.statistic is not None
    kept = np.isin(whole.points, cut.points)
    first, last = np.flatnonzero(kept)[[0, -1]]
    assert kept[first : last + 1].all()
    assert not kept[0]
    assert not kept[-1]
    gone = []
    for before, after in zip(
        (*whole.dominating, *whole.statistic), (*cut.dominating, *cut.statistic), strict=True
    ):
        np.testing.assert_array_equal(before[kept], after)
        gone.append(math.fsum(np.exp(before[~kept])))
    for i in (0, 1):
        more = cut.lost[i] - whole.lost[i]
        assert max(gone) <= more
        assert more <= 1.01 * max(sum(gone[:2]), *gone[2:])
    for tail in (slice(None, first), slice(last + 1, None)):  # no more than was allowed
        assert np.exp(whole.dominating[0][tail]).sum() <= 0.5 * hidden
    without = replace(part, law=whole._replace(statistic=None)).losses
    np.testing.assert_array_equal(without.points, cut.points)
    assert without.lost[0] - whole.lost[0] >= max(gone[:2])


@pytest.mark.parametrize("seed", range(20))
def test_what_is_lost_is_rounded_up(seed: int) -> None:
    """Of one outcome, and another that was lost: 1e-12 to 1e-2 under H0, three times under H1."""
    lost = 10.0 ** -np.random.default_rng(seed).uniform(2.0, 12.0)
    rest: tuple[Doubles, Doubles] = np.log1p([-lost]), np.log1p([-3.0 * lost])
    losses = Losses(np.zeros(1), rest, rest, 0.0, 0.0, (lost, 3.0 * lost))
    log_alpha = upper_curve(losses, "informed").vertices[0]
    assert 0.0 < log_alpha[1] - mp.log(lost) < 4e-12
    log_beta = lower_curve(losses, "guarantee", "informed").vertices[1]
    assert -4e-12 < log_beta[0] - mp.log1p(-3.0 * lost) <= 0.0


@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
@pytest.mark.parametrize("seed", range(5))
def test_masses_that_err_bound_the_curve_of_those_that_do_not(
    seed: int, signs: tuple[int, int]
) -> None:
    """All masses of a law err by nearly as much as is said; every vertex is within the bounds."""
    rng, error = np.random.default_rng(seed), 1e-6
    ratios = np.sort(rng.normal(size=40) * 2.0)
    under_h0 = rng.exponential(size=40) ** 4
    under_h0 /= under_h0.sum()
    under_h1 = under_h0 * np.exp(ratios)
    under_h1 /= under_h1.sum()
    pair = np.log(under_h0), np.log(under_h1)
    given = pair[0] + 0.999 * error * signs[0], pair[1] + 0.999 * error * signs[1]
    losses = Losses(pair[1] - pair[0], given, given, error, 0.0, (0.0, 0.0))
    low, high = lower_curve(losses, "guarantee", "informed"), upper_curve(losses, "informed")
    alpha = np.array([math.fsum(under_h0[i:]) for i in range(1, 40)])
    beta = np.array([math.fsum(under_h1[:i]) for i in range(1, 40)])
    assert (low(alpha) <= beta).all()
    assert (beta <= high(alpha) + 1e-17).all()  # alpha is rounded
    # Of the smaller of a rate and 1 less the rate, and of what the other may make of it.
    steepest = np.exp(np.abs(ratios).max() + 1.0)
    small = np.minimum(beta, 1.0 - beta) + steepest * np.minimum(alpha, 1.0 - alpha)
    assert (high(alpha) - low(alpha) <= 6.0 * error * small + 1e-14).all()
