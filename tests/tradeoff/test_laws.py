"""From a law on octaves to a law of the loss: every point, what is lost, and what errs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore.tradeoff.composition.laws import _CELL
from tests.helpers.parts import (
    AllocatedEpoch,
    LargestOutput,
    Losses,
    Octaves,
    ReplacedStep,
    StatedPair,
    log_losses,
    lower_curve,
    ratio_losses,
    stated_pair,
)

H0 = np.array([[0.25, 0.5, 0.0, 0.0, 0.125, 0.0, 0.0, 0.0]])
H1 = np.array([[0.125, 0.0, 0.0, 0.25, 0.5, 0.0, 0.0, 0.0]])


def octaves(**fields: Any) -> Octaves:
    """Points 0, 0.5, ..., 3.5."""
    errors: Any = {"rounding": 1e-3, "moved": 0.0, "lost": (1e-5, 2e-5)}
    whole: Any = {"origin": 0.0, "spacing": 0.5, "under_h0": H0, "under_h1": H1, "tilted": None}
    return Octaves(**{**whole, "steps": 2.0, **errors, **fields})


def test_the_loss_of_a_sum_of_ratios() -> None:
    """A point of one law is kept, that of none is not, and a sum of 0 is lost."""
    found = ratio_losses(octaves())
    with np.errstate(divide="ignore"):
        h0, h1 = np.log([0.5, 0.0, 0.125]), np.log([0.0, 0.25, 0.5])
    points = np.log([0.25, 0.75, 1.0])
    np.testing.assert_array_equal(found.points, points)
    np.testing.assert_array_equal(found.dominating, [h0, h0 + points])
    np.testing.assert_array_equal(found.statistic, [h0, h1])
    assert found.rounding == 1e-3
    assert 0.25 < found.lost[0] - 1e-5 < 0.2505
    assert 0.125 < found.lost[1] - 2e-5 < 0.1253


def test_a_sum_of_ratios_without_a_statistic() -> None:
    found = ratio_losses(octaves(under_h1=None))
    np.testing.assert_array_equal(found.points, np.log([0.25, 1.0]))
    assert found.statistic is None
    assert 0.25 < found.lost[0] - 1e-5 < 0.2505
    assert found.lost[1] == 2e-5


@pytest.mark.parametrize("steps", [1.0, 1e-30, 1e200])
def test_logs_of_ratios_are_rounded(steps: float) -> None:
    """A quotient has one rounding, and its log one of its size; twice each."""
    size = 1.0 + max(abs(np.log(np.array([0.5, 2.0]) / steps)))
    extra = ratio_losses(octaves(steps=steps, moved=1e-30)).moved
    assert 4.0 * 2.0**-53 * size < extra < 1.5e-15 * size
    assert ratio_losses(octaves(steps=steps, moved=0.25)).moved == 0.25 + extra


def test_the_loss_of_a_sum_of_logs() -> None:
    """A point of any law is kept; of two laws one may be without mass."""
    tilted = np.array([[0.5, 0.0, 0.25, 0.0, 0.25, 0.0, 0.0, 0.0]])
    found = log_losses(octaves(tilted=tilted), -3.0)
    points = np.array([-3.0, -2.5, -2.0, -1.5, -1.0])
    np.testing.assert_array_equal(found.points, points)
    with np.errstate(divide="ignore"):
        member = np.log(tilted[0, :5])
        outside = np.log([0.25, 0.5, np.exp(member[2] + 2.0), 0.0, 0.125])
        inside = np.log(H1[0, :5])
    np.testing.assert_allclose(found.dominating, [outside, member], rtol=1e-15)
    np.testing.assert_array_equal(found.statistic, [found.dominating[0], inside])
    assert (found.rounding, found.lost) == (1e-3, (1e-5, 2e-5))
    without = log_losses(octaves(tilted=tilted, under_h1=None), -3.0)
    np.testing.assert_array_equal(without.points, points[[0, 1, 2, 4]])
    assert without.statistic is None


@pytest.mark.parametrize("log_mass", [-744.0, -720.0, -660.0])
def test_masses_that_lose_digits_are_those_of_the_other_law(log_mass: float) -> None:
    """Of a loss of 700; a subnormal mass has an error of its own."""
    under_h0, tilted = H0.copy(), H0.copy()
    under_h0[0, 4], tilted[0, 4] = np.exp(log_mass), np.exp(log_mass + 700.0)
    found = log_losses(octaves(under_h0=under_h0, tilted=tilted, under_h1=None), 698.0)
    assert found.points[-1] == 700.0
    assert found.dominating[0][-1] == pytest.approx(log_mass, abs=1e-12 if log_mass > -700 else 0.3)
    assert found.dominating[0][-1] >= found.dominating[1][-1] - 700.0 - 1e-12


@pytest.mark.parametrize("start", [-1e6, -3.0, 0.0, 1e6])
def test_places_of_logs_are_off(start: float) -> None:
    """By a share of the largest number, and by roundings of a sum."""
    size = abs(start) + max(abs(start), abs(start + 2.0))
    extra = log_losses(octaves(tilted=H0), start).moved
    assert 1.9 * 2.0**-53 * size < extra < 5e-16 * size
    assert log_losses(octaves(tilted=H0, moved=0.25), start).moved == 0.5 + extra


@pytest.mark.parametrize("size", [1e4, 3e5])
def test_logs_of_masses_are_rounded(size: float) -> None:
    """An outcome of mass e^-size without the record, or with it: less than that, by roundings."""
    rare, usual = np.array([0.0, -size]), np.array([-1.0, 0.0]) - np.log1p(np.exp(-1.0))
    for which, pair in enumerate([(rare, usual), (usual[::-1], rare[::-1])]):
        losses = Losses(np.array([-1.0, 1.0]), pair, None, 0.0, 0.0, (0.0, 0.0))
        rates = lower_curve(losses, "guarantee", "informed").vertices[which]
        spare = -size - rates[np.abs(rates + size) < 1.0]
        assert spare.size == 1
        assert 4.0 * 2.0**-53 * size < spare[0] < 1.5e-15 * size + 4e-12


@pytest.mark.parametrize(("mu", "slots"), [(1e-3, 2), (1.0, 2), (2.0, 50), (0.3, 10_000)])
def test_outputs_beyond_the_cells_are_lost(mu: float, slots: int) -> None:
    """The largest output is beyond either end less often than is said, in 60 digits."""
    law = LargestOutput(mu=mu, slots=slots).whole()
    with mp.workdps(60):
        low = max(-12.5, float(mp.sqrt(2) * mp.erfinv(2 * mp.exp(mp.mpf(-90) / (slots - 1)) - 1)))
        high = mp.mpf(low) + law.points.size * mp.mpf(_CELL)
        assert 2.0 * mu + 12.5 - 1e-9 <= high < 2.0 * mu + 12.501 + _CELL
        for shift in (mu, 2.0 * mu):
            below = mp.ncdf(low) ** (slots - 1) * mp.ncdf(low - shift)
            above = (slots - 1) * mp.ncdf(-high) + mp.ncdf(shift - high)
            assert below + above <= min(law.lost)
    assert max(law.lost) < 8e-36 * (slots + 1)


@pytest.mark.parametrize(("mu", "rate"), [(1.0, 0.5), (0.1, 0.9), (6.0, 0.01)])
def test_a_replaced_record(mu: float, rate: float) -> None:
    """Both laws have all mass, every loss is that of its masses, and so is the advantage."""
    law = ReplacedStep(mu=mu, sampled=rate).whole()
    outside, member = law.dominating
    np.testing.assert_array_equal(outside, member[::-1])
    np.testing.assert_array_equal(law.points, -law.points[::-1])
    assert np.exp(outside).sum() == pytest.approx(1.0, abs=1e-12)
    seen = np.isfinite(outside) & np.isfinite(member)
    errors = np.abs(member - outside - law.points)[seen]
    assert errors.max() <= law.moved + law.rounding
    gains = np.maximum(np.exp(member) - np.exp(outside), 0.0).sum()
    assert gains == pytest.approx(rate * math.erf(mu / math.sqrt(8.0)), rel=1e-12)
    half = ReplacedStep(mu=mu, sampled=rate, hidden=0.0).losses
    assert 1.4e-35 < half.lost[0] == half.lost[1] < 3.1e-35


def test_of_both_masses_that_are_lost_the_larger_is_hidden() -> None:
    for lost in ((1e-3, 2e-3), (2e-3, 1e-3)):
        law = Losses(np.zeros(1), (np.zeros(1),) * 2, None, 0.0, 0.0, lost)
        part = StatedPair(law=law, advantage=1.0, log_finite=(0.0, 0.0))
        assert part.unseen == 2e-3


@pytest.mark.parametrize("lost", [(1e-3, 3e-3), (3e-3, 1e-3)])
def test_what_is_lost_of_either_law_is_no_error_rate_of_the_other(lost: Any) -> None:
    """One outcome with all that is left of both laws."""
    rest = np.log1p([-lost[0]]), np.log1p([-lost[1]])
    vertices = lower_curve(Losses(np.zeros(1), rest, None, 0.0, 0.0, lost), "guarantee", "informed")
    for rates, gone in zip(vertices.vertices, lost, strict=True):
        assert -4e-12 < rates.max() - np.log1p(-gone) <= 0.0


@pytest.mark.parametrize("size", [0.8, 30.0])
def test_a_stated_pair_errs_by_the_size_of_its_logs(size: float) -> None:
    """Two outcomes, of masses e^-size and the rest and the other way round."""
    rest = float(np.log1p(-np.exp(-size)))
    law = stated_pair(np.array([-np.inf, -size, 0.0]), np.array([0.0, -size, -np.inf])).whole()
    np.testing.assert_allclose(law.dominating, [[rest, -size], [-size, rest]], atol=1e-15)
    for error in (law.rounding, law.moved):
        assert 16.0 <= error / (2.0**-53 * (size + 1.0)) < 18.0


def test_a_cut_leaves_errors_as_they_are() -> None:
    law = Losses(np.arange(3.0), (np.log([1e-3, 0.998, 1e-3]),) * 2, None, 1e-3, 2e-3, (0.0, 0.0))
    cut = StatedPair(law=law, advantage=1.0, log_finite=(0.0, 0.0), hidden=0.9).losses
    assert (cut.rounding, cut.moved) == (1e-3, 2e-3)
    assert cut.points.size == 1


def test_a_statistic_unless_a_guarantee_is_asked_for() -> None:
    epoch = AllocatedEpoch(mu=1.0, slots=3)
    assert epoch.whole().statistic is not None
    assert replace(epoch, guarantee=True).whole().statistic is None


def test_edges_of_a_stated_pair_are_sorted_by_their_slopes() -> None:
    """Widths of .1, .5 and .4, heights of .3, .05 and .65: those of a curve that is not convex."""
    with np.errstate(divide="ignore"):
        log_alpha, log_beta = np.log([0.0, 0.1, 0.6, 1.0]), np.log([1.0, 0.7, 0.65, 0.0])
    law = stated_pair(log_alpha, log_beta).whole()
    np.testing.assert_allclose(law.points, np.log([0.1, 1.625, 3.0]), rtol=1e-12)
    np.testing.assert_allclose(np.exp(law.dominating[0]), [0.5, 0.4, 0.1], rtol=1e-12)
