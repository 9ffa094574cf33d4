"""Sums on lattices of octaves that are chosen anew for each: no mass and no mean is lost."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.helpers.parts import (
    Component,
    Octaves,
    in_use,
    joined,
    loss_step,
    power,
    ratio_step,
    upper_half_step,
    weighted,
)

U = 2.0**-53


def masses(seed: int, rows: int, half: int) -> Any:
    law = np.random.default_rng(seed).random((rows, 2 * half))
    law[1:, :half] = 0.0
    return law / law.sum()


def of_ratios(seed: int, origin: float, spacing: float, half: int) -> Octaves:
    h0, h1 = masses(seed, 3, half), masses(seed + 100, 3, half)
    return Octaves(origin, spacing, h0, h1, None, 1.0, 0.0, 0.0, (0.0, 0.0))


def of_logs(seed: int, origin: float, spacing: float, half: int) -> Octaves:
    h0, h1 = masses(seed, 2, half), masses(seed + 100, 2, half)
    plain = Octaves(origin, spacing, h0, h1, None, 1.0, 0.0, 0.0, (0.0, 0.0))
    tilted = h0 * np.exp(origin + plain.offsets)
    return Octaves(origin, spacing, h0, h1, tilted, 1.0, 0.0, 0.0, (0.0, 0.0))


def mean(law: Octaves, masses: Any, exponential: bool) -> float:
    used = in_use(masses) > 0.0
    values = np.exp(law.numbers[used]) if exponential else law.numbers[used]
    return math.fsum((in_use(masses)[used] * values).tolist())


def total(masses: Any) -> float:
    return math.fsum(in_use(masses).tolist())


LATTICES = [
    ((0.0, 0.1, 6), (0.0, 0.25, 8)),
    ((5.0, 0.02, 6), (9.0, 0.01, 20)),
    ((0.5, 1.0, 6),) * 2,
]


@pytest.mark.parametrize(("first", "second"), LATTICES)
def test_a_sum_of_ratios_keeps_means(first: Any, second: Any) -> None:
    """Of the law under H0, and of the sum one random step of which is that of H1."""
    one, other = of_ratios(1, *first), replace(of_ratios(2, *second), steps=3.0)
    one_mean, other_mean = (mean(law, law.under_h0, False) for law in (one, other))
    both = joined(one, other)
    assert both.steps == 4.0
    assert total(both.under_h0) == pytest.approx(1.0, rel=1e-12)
    assert total(both.shifted) == pytest.approx(1.0, rel=1e-12)
    assert mean(both, both.under_h0, False) == pytest.approx(one_mean + other_mean, rel=1e-12)
    hit = 0.25 * (mean(one, one.shifted, False) + other_mean)
    hit += 0.75 * (one_mean + mean(other, other.shifted, False))
    assert mean(both, both.shifted, False) == pytest.approx(hit, rel=1e-12)
    for law in (power(one, 2), joined(one, one)):
        assert law.steps == 2.0
        hit = mean(one, one.shifted, False) + one_mean
        assert mean(law, law.shifted, False) == pytest.approx(hit, rel=1e-12)


@pytest.mark.parametrize(("first", "second"), LATTICES)
def test_a_sum_of_logs_keeps_means(first: Any, second: Any) -> None:
    """Of e^S, which are products."""
    one, other = of_logs(1, *first), of_logs(2, *second)
    both = joined(one, other)
    for law in ("under_h0", "under_h1"):
        assert total(getattr(both, law)) == pytest.approx(1.0, rel=1e-12)
        exact = mean(one, getattr(one, law), True) * mean(other, getattr(other, law), True)
        assert mean(both, getattr(both, law), True) == pytest.approx(exact, rel=1e-12)
    assert both.tilted is not None
    assert one.tilted is not None
    assert other.tilted is not None
    assert total(both.tilted) == pytest.approx(total(one.tilted) * total(other.tilted), rel=1e-12)


@pytest.mark.parametrize("steps", [1, 2, 3, 6, 13, 100])
def test_powers_keep_means(steps: int) -> None:
    ratios, logs = of_ratios(3, 0.0, 0.25, 6), of_logs(4, 0.0, 0.02, 6)
    found = power(ratios, steps)
    assert total(found.under_h0) == pytest.approx(1.0, rel=1e-12)
    exact = steps * mean(ratios, ratios.under_h0, False)
    assert mean(found, found.under_h0, False) == pytest.approx(exact, rel=1e-12)
    exact += mean(ratios, ratios.shifted, False) - mean(ratios, ratios.under_h0, False)
    assert mean(found, found.shifted, False) == pytest.approx(exact, rel=1e-12)
    found = power(logs, steps)
    assert found.tilted is not None
    assert logs.tilted is not None
    assert total(found.tilted) == pytest.approx(total(logs.tilted) ** steps, rel=1e-11)
    exact = mean(logs, logs.under_h0, True) ** steps
    assert mean(found, found.under_h0, True) == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_an_excess_is_what_both_laws_differ_by(steps: int) -> None:
    """Of sums with themselves, with another law, and of powers, on whatever lattice."""
    one, other = of_ratios(1, 0.5, 0.25, 6), replace(of_ratios(2, 0.5, 0.25, 6), steps=3.0)
    one, other = (
        replace(law, excess=(np.maximum(gap, 0.0), np.maximum(-gap, 0.0)))
        for law, gap in ((law, law.shifted - law.under_h0) for law in (one, other))
    )
    for law in (power(one, steps), joined(other, power(one, steps)), joined(one, other)):
        assert law.excess is not None
        more, less = law.excess
        np.testing.assert_allclose(law.under_h0 + more - less, law.shifted, rtol=1e-9, atol=1e-16)
    assert joined(one, of_ratios(2, 0.5, 0.25, 6)).excess is None


def test_a_weight_multiplies_places() -> None:
    law = of_ratios(5, 0.5, 0.25, 6)
    found = weighted(law, 3.0)
    np.testing.assert_allclose(found.numbers, 3.0 * law.numbers, rtol=1e-15)
    assert found.steps == 3.0
    assert 1.9 * U < found.moved < 4.0 * U
    assert weighted(replace(law, moved=0.25), 3.0).moved >= 0.25 + 1.9 * U


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.05, *np.geomspace(0.4, 16.0, 40).tolist()])
def test_no_mass_of_a_step_is_beyond_its_lattice(mu: float) -> None:
    law = ratio_step(mu, 3, 64)
    for one in law.laws:
        assert one is not None
        assert total(np.atleast_2d(one)) == pytest.approx(1.0, abs=1e-12)
    loss, _ = loss_step([Component(0.5, mu, 0.5), Component(0.5, 0.1, 1e-3)], 3, 64)
    for one in (loss.under_h0, loss.tilted, loss.shifted):
        assert total(one) == pytest.approx(1.0, abs=1e-12)
    half, above = upper_half_step(mu, 0.5, 64), 0.5 * math.erfc(mu / math.sqrt(8.0))
    assert total(half.under_h0) == pytest.approx(above, rel=1e-12)
    for one in (half.tilted, half.shifted):
        assert total(one) == pytest.approx(1.0 - 0.5 * (1.0 - above) - 0.5 * above, rel=1e-12)


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 6.0])
def test_masses_and_places_err_by_every_operation(mu: float) -> None:
    """A density of (12.5 + mu)^2/2, nodes of a hundredth at most, and sixteen sums of them."""
    law = ratio_step(mu, 2, 64)
    with np.errstate(divide="ignore"):
        x = np.log(law.numbers) / mu + 0.5 * mu
    widest = float(np.diff(np.clip(x, -12.5, mu + 12.5)).max())
    terms = law.rounding / U - (12.5 + mu) ** 2 - 40.0
    assert 16.0 + widest / 0.01 - 1e-6 <= terms <= 18.0 + widest / 0.01
    for shift in (mu, 40.0):
        largest = shift * (12.5 + shift)
        assert 3.0 * U * (2.0 + largest) <= upper_half_step(shift, 0.3, 64).moved
    # A component's weight and the sum with others come on top.
    parts = [Component(0.5, mu, 1e-4), Component(0.5, 0.5 * mu, 1e-3)]
    for order in ([Component(1.0, mu, 0.2)], parts, parts[::-1]):
        (loss, _), most, terms = loss_step(order, 2, 64), max(one.rate for one in order), 0.0
        for one in order:
            with np.errstate(divide="ignore", over="ignore"):
                own = np.expm1(loss.numbers) * (1.0 - most) - (most - one.rate)
                x = np.log(np.maximum(own, 0.0) / one.rate) / one.mu + 0.5 * one.mu
            widest = float(np.diff(np.clip(x, -12.5, one.mu + 12.5)).max())
            terms = max(terms, 18.0 + widest / 0.01 - 1e-6)
        assert loss.rounding / U - (12.5 + mu) ** 2 - 40.0 >= terms
    one = of_ratios(2, 0.0, 0.1, 6)
    both = joined(of_ratios(1, 0.0, 0.1, 6), one)
    assert both.rounding >= (3 * 6 + 8 * 3 + 60) * U
    long = masses(1, 20, 6)
    both = joined(Octaves(0.0, 0.1, long, long, None, 1.0, 0.0, 0.0, (0.0, 0.0)), one)
    assert both.rounding >= (3 * 6 + 8 * 20 + 60) * U


@pytest.mark.parametrize("at", [0, 3])
def test_powers_of_one_place(at: int) -> None:
    """A number that does not vary."""
    alone = np.zeros((1, 12))
    alone[0, at] = 1.0
    law = Octaves(0.5, 0.25, alone, alone, None, 1.0, 0.0, 0.0, (0.0, 0.0))
    place = 0.5 + 0.25 * at
    found = power(law, 5)
    assert mean(found, found.under_h0, False) == pytest.approx(5.0 * place, rel=1e-12)
    logs = Octaves(0.5, 0.25, alone, alone, alone * math.exp(place), 1.0, 0.0, 0.0, (0.0, 0.0))
    found = power(logs, 5)
    assert mean(found, found.under_h0, True) == pytest.approx(math.exp(5.0 * place), rel=1e-12)
    assert found.tilted is not None
    assert total(found.tilted) == pytest.approx(math.exp(5.0 * place), rel=1e-12)


@pytest.mark.parametrize("of", ["ratios", "logs"])
@pytest.mark.parametrize("larger", ["statistic", "ratio"])
def test_what_is_dropped_at_either_end_is_lost(of: str, larger: str) -> None:
    """Under each hypothesis its own mass beside what was lost, with all that masses err by.

    Under H1 the larger one of the pair and of the statistic. Masses above e-30 of all are kept.
    """
    h0, h1 = masses(1, 3, 6), masses(2, 3, 6)
    h0[0, :2], h0[2, 6:] = 1e-33, 1e-38
    h1[0, :2], h1[2, 6:] = (3e-32, 5e-35) if larger == "statistic" else (1e-40, 1e-40)
    plain = Octaves(5.0, 0.25, h0, h1, None, 1.0, 0.01, 0.05, (1e-32, 2e-32))
    zero = np.eye(1, 12)
    law, nothing = plain, replace(of_ratios(1, 0.0, 0.25, 6), under_h0=zero, under_h1=zero)
    if of == "logs":
        law = replace(plain, tilted=h0 * np.exp(5.0 + plain.offsets))
        nothing = replace(nothing, tilted=zero)
    found = joined(law, replace(nothing, steps=0.0))
    gone = (in_use(plain.offsets) < 0.5) | (in_use(plain.offsets) >= 6.0)
    inside, statistic = (float(one[gone].sum()) for one in (law.laws[1], in_use(h1)))
    ends = float(in_use(h0)[gone].sum()), max(inside, statistic)
    for lost, before, mass in zip(found.lost, law.lost, ends, strict=True):
        assert mass * (1.0 + 0.02 + 0.05) <= lost - before <= mass * (1.0 + 0.02 + 0.0501)
    kept = replace(law, under_h0=np.maximum(h0, np.where(h0 > 0.0, 1e-29, 0.0)))
    assert joined(kept, replace(nothing, steps=0.0)).lost == law.lost
