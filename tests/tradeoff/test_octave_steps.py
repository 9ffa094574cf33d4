"""Masses of one step on a lattice of octaves, against its exact split in 60 digits."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore.tradeoff.composition import octaves
from tests.helpers.parts import (
    MEAN,
    Component,
    Octaves,
    in_use,
    loss_step,
    ratio_step,
    upper_half_step,
)
from tests.oracles.lattices import normal

REACH = 12.5


def split_at(ratios: Sequence[Any], cases: Sequence[Component]) -> list[Any]:
    """Return the masses of the second of three ratios: under H0, times it, and under H1.

    The mean of the ratio z is kept: of mass m and mean m' between p and q, q takes (m' - p m) /
    (q - p). Its means under H0 and H1 are masses of normal laws about 0, mu and 2 mu.
    """
    total = [mp.mpf(0)] * 3
    for weight, mu, rate in ([mp.mpf(part) for part in case] for case in cases):
        ends = [place(ratio, mu, rate) for ratio in ratios]
        for side in (0, 1):
            (p, q), (a, b) = ratios[side : side + 2], ends[side : side + 2]
            if a >= b:
                continue
            none, once, twice = (normal(a - k * mu, b - k * mu) for k in range(3))
            twice *= mp.exp(mu * mu)
            means = [none, (1 - rate) * none + rate * once]
            means.append((1 - rate) ** 2 * none + 2 * rate * (1 - rate) * once + rate**2 * twice)
            right = [(mean - p * mass) / (q - p) for mass, mean in itertools.pairwise(means)]
            parts = right if not side else [means[0] - right[0], means[1] - right[1]]
            total[0] += weight * parts[0]
            total[1] += weight * parts[0] * ratios[1]
            total[2] += weight * parts[1]
    return total


def place(ratio: Any, mu: Any, rate: Any) -> Any:
    """Return the output with this ratio, at most 12.5 deviations from 0 and from mu."""
    own = (ratio - (1 - rate)) / rate
    x = mp.log(own) / mu + mu / 2 if own > 0 else -REACH
    return min(max(x, mp.mpf(-REACH)), mu + REACH)


def worst(law: Octaves, found: list[Any], ratio: Any, cases: Sequence[Component]) -> float:
    """Return the largest error over what masses and places may err by."""
    numbers, largest = law.numbers, 0.0
    inner = np.flatnonzero(found[0] > 1e-290)[1:-1]
    chosen = np.unique(np.r_[inner[:3], inner[-4:], np.random.default_rng(3).choice(inner, 6)])
    for k in chosen.tolist():
        exact = split_at([ratio(mp.mpf(float(one))) for one in numbers[k - 1 : k + 2]], cases)
        moved = law.moved * float(numbers[k] / (numbers[k] - numbers[k - 1]))
        for masses, true in zip(found, exact, strict=True):
            if true > 0:
                error = float(abs(mp.mpf(float(masses[k])) / true - 1))
                largest = max(largest, error / (law.rounding + 4.0 * moved))
    return largest


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.1, 0.5, 3.0, 8.0])
@pytest.mark.parametrize(("steps", "half"), [(2, 64), (10**6, 128)])
def test_a_ratio(mu: float, steps: int, half: int) -> None:
    law = ratio_step(mu, steps, half)
    assert law.half == half
    h0, _, h1 = law.laws
    with mp.workdps(60):
        found = [h0, h0 * law.numbers, h1]
        assert 1e-4 < worst(law, found, lambda number: number, [Component(1.0, mu, 1.0)]) < 1.0


@pytest.mark.parametrize(
    "cases",
    [
        [Component(1.0, 0.5, 1e-3)],
        [Component(1.0, 1e-3, 1e-6)],
        [Component(0.5, 1.0, 1e-3), Component(0.5, 4.0, 1e-5)],
        [Component(1.0, 3.0, 1.0 - 1e-9)],
        [Component(0.25, 20.0, 0.3), Component(0.75, 0.1, 0.9)],
        [Component(0.5, 35.0, 0.2), Component(0.5, 1.0, 0.4)],
    ],
)
@pytest.mark.parametrize(("steps", "half"), [(1, 128), (10**5, 64)])
def test_a_loss(cases: list[Component], steps: int, half: int) -> None:
    law, least = loss_step(cases, steps, half)
    found = [in_use(one) for one in (law.under_h0, law.tilted, law.shifted)]
    with mp.workdps(60):
        most = max(mp.mpf(case.rate) for case in cases)
        assert abs(least - mp.log(1 - most)) < 1e-15 * (1.0 + abs(least))
        largest = worst(law, found, lambda number: mp.exp(number) * (1 - most), cases)
    assert 1e-5 < largest < 1.0
    assert [float(masses.sum()) for masses in found] == pytest.approx([1.0] * 3, abs=1e-12)


@pytest.mark.parametrize(
    ("mu", "rate"), [(1e-3, 0.5), (1.0, 1e-3), (4.0, 0.9), (12.0, 1e-6), (35.0, 0.2)]
)
def test_the_upper_half(mu: float, rate: float) -> None:
    law = upper_half_step(mu, rate, 64)
    found = [in_use(one) for one in (law.under_h0, law.tilted, law.shifted)]
    with mp.workdps(60):
        assert 1e-5 < worst(law, found, mp.exp, [Component(1.0, mu, rate)]) < 1.0
        above = mp.ncdf(-mp.mpf(mu) / 2)
        totals = above, above + rate * (1 - 2 * above)
        for law_of, true in zip(found[:2], totals, strict=True):
            assert float(abs(mp.mpf(float(law_of.sum())) / true - 1)) < law.rounding + 1e-15


def test_a_value_that_is_rounded_beyond_its_cell_has_no_mass_below_0() -> None:
    def areas(_: Any, width: Any) -> tuple[Any, Any]:
        return width, width

    points, edges = np.arange(4.0), 1e-3 * np.arange(4.0)
    for beyond in (1.0 + 1e-15, -1e-15):
        laws, _ = octaves.masses(
            points, edges, lambda x, b=beyond: np.floor(1e3 * x) + b, areas, (MEAN,)
        )
        assert (laws[0] >= 0.0).all()
        assert laws[0].sum() == pytest.approx(3e-3, rel=1e-14)


def test_what_lies_beyond_is_lost_and_the_farthest_density_rounds() -> None:
    """A relative error u of x is one of x^2 u of exp(-x^2/2), at x of the largest shift."""
    cases = [Component(0.5, 1e-3, 0.1), Component(0.5, 60.0, 0.1)]
    laws = [(9.0, ratio_step(9.0, 10, 16)), (9.0, upper_half_step(9.0, 0.1, 16))]
    for mu, law in [*laws, (60.0, loss_step(cases, 10, 16)[0])]:
        assert min(law.lost) >= float(2 * mp.ncdf(-REACH))
        assert law.rounding >= (REACH + mu) ** 2 * 2.0**-53
