"""The masses of one step's cells against high precision, and the two laws that they make."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore.tradeoff.composition.steps import GaussianStep, LaplaceStep, Step, _split, lattice
from leakscore.tradeoff.composition.sums import _U, _UNIT


@pytest.mark.parametrize(
    ("step", "spacing"),
    [
        (GaussianStep(0.5, 1.0), 1e-2),
        (GaussianStep(0.5, 1.0), 0.5),
        (GaussianStep(2.5, 0.3), 1e-3),
        (GaussianStep(0.1, 0.01), 1e-5),
        (LaplaceStep(1.5, 0.2), 1e-3),
    ],
)
def test_masses_of_cells(step: Step, spacing: float) -> None:
    """Both masses of a cell, under H0 and H1, and no more than the unit times their logarithms."""
    low, high = step.support
    first, last = step.loss(np.array([low, high])).tolist()
    points = first + spacing * np.arange(int((last - first) / spacing))
    x = np.maximum.accumulate(step.position(step.inverse_loss(points)))
    x[0] = low
    left, right = _split(step, x[:-1], np.diff(x), np.ones(x.size - 1))
    cells = np.r_[1:12, np.random.default_rng(2).integers(1, x.size - 1, 50)]
    worst = 0.0
    with mp.workdps(120):
        for k in cells.tolist():
            ends = [mp.mpf(float(value)) for value in x[k : k + 2]]
            if ends[1] <= ends[0]:
                continue
            tops = [tail(step, end) for end in ends]
            outside, inside = (a - b for a, b in zip(*tops, strict=True))
            parts = [mp.exp(mp.mpf(float(side[k]))) for side in (left, right)]
            weights = [mp.exp(mp.mpf(float(points[k])) + shift) for shift in (0, mp.mpf(spacing))]
            found = parts[0] + parts[1], parts[0] * weights[0] + parts[1] * weights[1]
            for value, true in zip(found, (outside, inside), strict=True):
                unit = 4.0 + abs(first) + (last - first) + abs(float(mp.log(true)))
                worst = max(worst, float(abs(value / true - 1)) / unit)
    assert _U / 20.0 < worst < _UNIT


def tail(step: Step, x: Any) -> tuple[Any, Any]:
    """Masses above x, under H0 and H1."""
    mu, rate = mp.mpf(step.mu), mp.mpf(step.rate)
    if isinstance(step, GaussianStep):
        above, own = mp.ncdf(-x), mp.ncdf(mu - x)
    else:
        above = mp.exp(-x) / 2
        own = 1 - mp.exp(x - mu) / 2 if x < mu else mp.exp(mu - x) / 2
    return above, (1 - rate) * above + rate * own


def test_a_lattice_is_a_pair_of_laws() -> None:
    """Clipped ends included: both laws have all of their mass but what is hidden."""
    for step in (GaussianStep(1.3, 0.4), GaussianStep(0.2, 1e-4), LaplaceStep(0.8, 0.3)):
        law = lattice(step, 1e-3)
        for logs in law.rounded:
            assert float(np.exp(logs).sum()) == pytest.approx(1.0, abs=1e-13)
        points = law.first + 1e-3 * np.arange(law.dominating.size)
        for weights in (np.zeros(points.size), points):
            assert float(np.exp(law.dominating + weights).sum()) == pytest.approx(1.0, abs=1e-13)
