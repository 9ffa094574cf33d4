"""The bound of a cell, from which a proof that one curve is above another is made, in fractions."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from leakscore.tradeoff import gaussian
from leakscore.tradeoff._calibrate import _above
from leakscore.tradeoff.operations import _cell_bounds
from tests.helpers.parts import Certificate


def convex(rng: np.random.Generator, x: list[Fraction], top: Fraction) -> list[Fraction]:
    """Falling convex values at these places, from `top` to 0."""
    falls = sorted(
        (Fraction(int(k), 4096) for k in rng.integers(1, 4096, len(x) - 1)), reverse=True
    )
    steps = [fall * (b - a) for fall, a, b in zip(falls, x, x[1:], strict=False)]
    scale = top / sum(steps)
    values = [top]
    for step in steps:
        values.append(values[-1] - scale * step)
    return values


def least(x: list[Fraction], f: list[Fraction], g: list[Fraction], cell: int) -> Fraction:
    """The least of all convex falling f through these points, less the chord of g, in a cell."""

    def lowest(t: Fraction) -> Fraction:
        lines = [Fraction(-1)] if cell == 0 else []
        if cell > 0:
            slope = (f[cell] - f[cell - 1]) / (x[cell] - x[cell - 1])
            lines.append(f[cell] + slope * (t - x[cell]))
        last = cell + 2 == len(x)
        slope = Fraction(0)
        if not last:
            slope = (f[cell + 2] - f[cell + 1]) / (x[cell + 2] - x[cell + 1])
        lines.append(f[cell + 1] + slope * (t - x[cell + 1]))
        share = (t - x[cell]) / (x[cell + 1] - x[cell])
        return max(lines) - (g[cell] + share * (g[cell + 1] - g[cell]))

    low, high = x[cell], x[cell + 1]
    ends = min(f[cell] - g[cell], f[cell + 1] - g[cell + 1])
    for _ in range(200):  # a convex function of t: by thirds
        third = (high - low) / 3
        if lowest(low + third) <= lowest(high - third):
            high -= third
        else:
            low += third
        low, high = (Fraction(round(each * 2**80), 2**80) for each in (low, high))
    return min(ends, lowest(low), lowest(high))


@pytest.mark.parametrize("seed", range(12))
def test_cells_are_bounded_by_the_lowest_convex_curve(seed: int) -> None:
    rng = np.random.default_rng(seed)
    places = np.unique(rng.integers(1, 1024, 7))
    x = [Fraction(0), *(Fraction(int(k), 1024) for k in places), Fraction(1)]
    f, g = (convex(rng, x, Fraction(int(k), 64)) for k in rng.integers(32, 65, 2))
    bounds = _cell_bounds(*(np.array([float(each) for each in row]) for row in (x, f, g)))
    exact = [float(least(x, f, g, cell)) for cell in range(len(x) - 1)]
    assert bounds == pytest.approx(exact, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("gap", [0.0, 1e-30, -1e-30])
@pytest.mark.parametrize("verdict", [None, False])
def test_a_comparison_without_proof_meets_no_requirement(verdict: bool | None, gap: float) -> None:
    """Noise is calibrated to a proof; points that agree to the last digit are none."""
    answer = Certificate(verdict, 0.5, gap, -np.inf, tolerance=1e-9)
    curve: Any = SimpleNamespace(at_least_as_private_as=lambda other: answer)
    assert _above(gaussian(1.0)).excess(curve) > 0.0
