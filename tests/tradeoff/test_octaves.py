"""The lattice of octaves: sums against exact ones, and what each error term covers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore import _core
from tests.helpers.certified import curves
from tests.helpers.parts import (
    MEAN,
    Component,
    Losses,
    Octaves,
    in_use,
    joined,
    log_losses,
    loss_step,
    power,
    ratio_losses,
    ratio_step,
)
from tests.oracles import octaves as oracle

U = 2.0**-53


def some_law(seed: int, rows: int = 3, n: int = 6) -> Any:
    rng = np.random.default_rng(seed)
    law = rng.random((rows, 2 * n)) * 10.0 ** rng.integers(-12, 0, (rows, 2 * n))
    law[1:, :n] = 0.0
    return law / law.sum()


@pytest.mark.parametrize("keeps", [0, 1, 2])  # `octaves.hpp`
@pytest.mark.parametrize("spacing", [0.3, 1e-5])
def test_sums_are_those_of_exact_arithmetic(keeps: int, spacing: float) -> None:
    left, right = some_law(1), some_law(2)
    found = _core.octave_sum(left, right, spacing, keeps)
    with mp.workdps(40):
        exact = oracle.octave_sum(left, right, spacing, keeps)
        for row, true in zip(found, exact, strict=True):
            for mass, value in zip(row.tolist(), true, strict=True):
                error = abs(float((value - type(value)(mass)) / value)) if value else mass
                assert error <= 12 * U


@pytest.mark.parametrize("half", [1, 32])
def test_rows_of_whole_groups_and_of_two_points(half: int) -> None:
    """A row of 32 points meets 33 in 64 sums, a whole group; a mass of 1 stands beside others."""
    left, right = some_law(8, 3, half), some_law(9, 2, half)
    left[0, -1] = 1.0
    padded = np.vstack([right, np.zeros((1, 2 * half))])
    found = _core.octave_sum(left, right, 0.25, MEAN)
    for row, true in zip(found, oracle.octave_sum(left, padded, 0.25, 0), strict=True):
        for mass, value in zip(row.tolist(), true, strict=True):
            assert abs(Fraction(mass) - value) <= 40 * U * value


def test_a_sum_errs_by_no_more_than_its_rounding() -> None:
    one = Octaves(0.0, 0.25, some_law(3), some_law(3), None, 1, 0.0, 0.0, (0.0, 0.0))
    other = replace(one, under_h0=some_law(4), under_h1=some_law(5))
    total = joined(one, other)
    exact = oracle.octave_sum(one.under_h0, other.under_h0, 0.25, 0)
    errors = [
        abs(Fraction(mass) / true - 1)
        for row, exact_row in zip(total.under_h0.tolist(), exact, strict=True)
        for mass, true in zip(row, exact_row, strict=True)
        if true
    ]
    assert 0 < max(errors) <= total.rounding <= 200 * U
    thrice = joined(total, one)
    assert thrice.rounding > total.rounding


def moments(law: Octaves) -> tuple[Fraction, Fraction]:
    """The mass and the sum of the ratio under H0."""
    n, rows = law.half, law.under_h0.shape[0]
    steps = list(range(2 * n)) + [i << b for b in range(1, rows) for i in range(n, 2 * n)]
    places = [Fraction(law.origin) + Fraction(law.spacing) * k for k in steps]
    masses = [Fraction(m) for m in in_use(law.under_h0).tolist()]
    return sum(masses), sum(m * x for m, x in zip(masses, places, strict=True))


def on_another(law: Octaves, spacing: float, half: int) -> Octaves:
    """Add a number that is 0 on a wider lattice, which is that of the sum."""
    zero = np.zeros((1, 2 * half))
    zero[0, 0] = 1.0
    return joined(law, Octaves(0.0, spacing, zero, zero, None, 0.0, 0.0, 0.0, (0.0, 0.0)))


@pytest.mark.parametrize(("spacing", "half"), [(0.7, 6), (0.26, 9)])
def test_another_lattice_keeps_mass_and_mean(spacing: float, half: int) -> None:
    law = Octaves(0.1, 0.25, some_law(6), some_law(7), None, 1, 0.0, 0.0, (0.0, 0.0))
    moved = on_another(law, spacing, half)
    (mass, mean), (new_mass, new_mean) = moments(law), moments(moved)
    assert abs(new_mass / mass - 1) <= moved.rounding
    # A place may err, so that the mean does.
    assert 0 < abs(new_mean / mean - 1) <= moved.rounding + moved.moved <= 300 * U


@pytest.mark.parametrize("shift", [0.1, 1.0 / 3.0, 7.7])
def test_places_err_by_what_is_said(shift: float) -> None:
    """Two masses: their shares add up, and their mean errs by the places alone."""
    errors = []
    for at in range(2, 12):
        two = np.zeros((1, 12))
        two[0, [1, at]] = 0.25, 0.75
        law = Octaves(shift, 0.1, two, two, None, 1, 0.0, 0.0, (0.0, 0.0))
        moved = on_another(law, 0.37, 40)
        (mass, mean), (new_mass, new_mean) = moments(law), moments(moved)
        assert abs(new_mass / mass - 1) <= 4 * U
        errors.append(abs(new_mean / mean - 1))
        assert errors[-1] <= moved.moved + 4 * U <= 20 * U
    assert max(errors) > 0


def test_mass_beyond_a_lattice_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="beyond the lattice"):
        _core.octave_placed(some_law(1), 1.0, 0.0, 6, 0.1, 1, MEAN)
    with pytest.raises(RuntimeError, match="below the lattice"):
        _core.octave_placed(some_law(1), 1.0, -0.5, 6, 0.1, 9, MEAN)


@pytest.mark.parametrize("mu", [0.3, 16.0])
def test_masses_of_one_step(mu: float) -> None:
    law = ratio_step(mu, 10, 64)
    points = law.numbers
    with mp.workdps(22):
        x = [mp.log(mp.mpf(float(y))) / mu + mp.mpf(mu) / 2 for y in points[1:]]
        for i in (64, 127):
            if not -12 < x[i - 2] < x[i] < 12 + mu:
                continue
            for mean, found in ((0.0, law.under_h0), (mu, law.under_h1)):
                y = [mp.mpf(float(points[i + k])) for k in (-1, 0, 1)]

                def to_i(u: Any, y: Any = y, mean: float = mean) -> Any:
                    r = mp.exp(mu * u - mp.mpf(mu) ** 2 / 2)
                    part = (r - y[0]) / (y[1] - y[0]) if r < y[1] else (y[2] - r) / (y[2] - y[1])
                    return part * mp.npdf(u - mean)

                exact = mp.quad(to_i, mp.linspace(x[i - 2], x[i - 1], 5))
                exact += mp.quad(to_i, mp.linspace(x[i - 1], x[i], 5))
                mass = in_use(found)[i]
                assert abs(mass / exact - 1) <= law.rounding + 40 * law.moved * points[i] / float(
                    y[1] - y[0]
                )
    for total in (law.under_h0.sum(), law.under_h1.sum()):
        assert abs(total - 1.0) <= law.rounding + 1e-15
    assert law.lost[0] >= float(2 * mp.ncdf(-12.5))
    assert law.rounding < 1e-12


@pytest.mark.parametrize("half", [16, 64, 256])
@pytest.mark.parametrize(("mu", "steps"), [(1.0, 2), (1.0, 7), (0.2, 33), (3.0, 5), (2.0, 1000)])
def test_both_ends_are_nested_at_any_fineness(mu: float, steps: int, half: int) -> None:
    """A statistic whose shifted step were always the last would beat the guarantee."""
    finest = curves(ratio_losses(power(ratio_step(mu, steps, 512), steps)))
    lower, upper = curves(ratio_losses(power(ratio_step(mu, steps, half), steps)))
    alpha = np.concatenate([np.logspace(-25.0, -0.1, 200), 1.0 - np.logspace(-12.0, -1.0, 100)])
    assert (lower(alpha) <= upper(alpha)).all()
    assert (lower(alpha) <= finest[1](alpha)).all()
    assert (upper(alpha) >= finest[0](alpha)).all()


def test_sums_of_logs_keep_both_masses() -> None:
    steps = 300
    one, least = loss_step([Component(1.0, 2.0, 1e-3)], steps, 128)
    law = power(one, steps)
    found = log_losses(law, steps * least)
    for logs in (*found.dominating, found.statistic[1]):
        assert abs(np.exp(logs).sum() - 1.0) <= law.rounding + sum(law.lost)
    seen = np.isfinite(found.dominating[0]) & np.isfinite(found.dominating[1])
    gap = (found.dominating[1] - found.dominating[0] - found.points)[seen]
    assert np.abs(gap).max() <= 2.0 * law.rounding + found.moved


def pair(scale: float, error: float, seed: int) -> tuple[Any, Any, Any]:
    """Two laws on ascending ratios, and masses that err by up to `error`."""
    rng = np.random.default_rng(seed)
    ratio = np.sort(np.exp(scale * rng.standard_normal(60)))
    p = rng.random(60)
    p /= p.sum()
    ratio /= float(p @ ratio)
    return p, ratio, np.exp(error * rng.choice([-1.0, 1.0], 60))


@pytest.mark.parametrize(("rounding", "moved"), [(1e-3, 0.0), (0.0, 1e-3), (1e-3, 1e-3)])
@pytest.mark.parametrize("seed", range(6))
def test_curves_hold_what_their_terms_say(rounding: float, moved: float, seed: int) -> None:
    p, ratio, error = pair(1.0, rounding, seed)
    with np.errstate(divide="ignore"):
        outside = np.log(p * error)
        points = np.log(ratio) + moved * (-1.0) ** seed
    masses = outside, outside + np.log(ratio)
    found = Losses(points, (outside, outside + points), masses, rounding, moved, (0.0, 0.0))
    lower, upper = curves(found)
    alpha = np.linspace(0.0, 1.0, 301)
    exact = oracle.polygon_beta(p, p * ratio, alpha)
    assert (lower(alpha) <= exact + 1e-15).all()
    assert (upper(alpha) >= exact - 1e-15).all()
    assert np.abs(lower(alpha) - exact).max() < 6e-3


def test_a_mass_that_underflows_is_some_mass() -> None:
    """Where it is the only one that is accused, a test still has false positives (or misses)."""
    some, none = np.log([0.5, 0.5]), np.array([-np.inf, 0.0])
    points = np.array([-1.0, 1.0])
    for masses in ((none[::-1], some), (some, none)):
        upper = curves(Losses(points, masses, masses, 0.0, 0.0, (1e-36, 1e-36)))[1]
        assert upper(1e-300) > 0.999
        assert upper.inverse()(1e-300) > 0.999
