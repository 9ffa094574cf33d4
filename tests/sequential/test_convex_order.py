"""Sums of uniform ratios in the convex order: both curves of an average hold its exact law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid

from leakscore.sequential._octaves import _convex_bounds
from tests.helpers.parts import average
from tests.helpers.sizes import sizes
from tests.sequential.test_octaves import UNIFORM, uniform_sum

PRIORS = {
    "linear": np.arange(1.0, 11.0),
    "falling": 0.6 ** np.arange(9.0),
    "pairs": np.array([1.0, 1.9] * 4),
    "many small": np.array([8.0, 5.0, *[1.0] * 7]),
}


@pytest.mark.parametrize("runs", [64, 5, 3])
@pytest.mark.parametrize("prior", PRIORS)
def test_curves_hold_the_exact_law(runs: int, prior: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """E(S - c)+ and E(c - S)+, with weights as they are or in runs of similar ones."""
    sizes(monkeypatch, runs_of_weights=runs)
    weights = PRIORS[prior] / PRIORS[prior].sum()
    curves = average(UNIFORM, weights)
    assert curves is not None
    low, high = curves
    c = np.array([0.4, 0.8, 1.0, 1.2, 1.5])
    exact = [uniform_sum(tuple(weights.tolist()), float(at)) for at in c]
    # beta = c P(S <= c) - E(c - S)+, and E(S - c)+ = 1 - c + E(c - S)+.
    loss = np.array(
        [float(at * (1 - alpha) - beta) for at, (alpha, beta) in zip(c, exact, strict=True)]
    )
    gain = 1.0 - c + loss
    assert (low.gain_low(c) <= gain * (1 + 1e-12)).all()
    assert (high.gain_up(c) >= gain * (1 - 1e-12)).all()
    assert (low.loss_low(c) <= loss * (1 + 1e-12)).all()
    assert (high.loss_up(c) >= loss * (1 - 1e-12)).all()
    share = 1e-4 if runs == 64 else 0.6
    assert (high.gain_up(c) - low.gain_low(c) <= share * gain + 1e-6).all()


@pytest.mark.parametrize("runs", [64, 5])
@pytest.mark.parametrize("seed", range(8))
def test_runs_are_majorized_by_the_weights_and_the_weights_by_spread_runs(
    runs: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of the largest 1, 2, ... weights; the constant is a weight of no ratio at all."""
    sizes(monkeypatch, runs_of_weights=runs)
    rng = np.random.default_rng(seed)
    weights = [
        rng.gamma(0.3, size=700),
        0.97 ** np.arange(900.0),
        np.linspace(1.0, 1.4, 333),
        np.append(rng.random(90), np.full(70, 0.5)),
    ][seed % 4] * 10.0 ** -(seed // 4)
    low, high = _convex_bounds(weights)
    assert low[0].size <= runs
    assert high[2] == 0.0
    largest = [
        np.sort(np.repeat(values, counts))[::-1].cumsum() for values, counts, _ in (low, high)
    ]
    exact = np.sort(weights)[::-1].cumsum()
    total, size = exact[-1], max(exact.size, largest[1].size)
    below, above = (np.append(part, np.full(size - part.size, part[-1])) for part in largest)
    given = np.append(exact, np.full(size - exact.size, total))
    slack = 1e-13 * total
    assert (below <= given + slack).all()
    assert (given <= above + slack).all()
    assert abs(below[-1] + low[2] - total) <= slack
    assert abs(above[-1] - total) <= slack
    squares = [float(counts @ values**2) for values, counts, _ in (low, high)]
    assert squares[1] - squares[0] <= {64: 0.001, 5: 0.6}[runs] * float(weights @ weights)


@pytest.mark.parametrize("weights", range(1, 10))
def test_every_weight_is_added_as_often_as_it_is_counted(
    weights: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes(monkeypatch, work_of_sums=100_000)
    parts, counts = np.arange(1.0, weights + 1.0), np.arange(weights, 0, -1)
    both = average(UNIFORM, np.repeat(parts, counts))
    assert both is not None
    curves = both[0]
    assert curves.lost[0] >= counts.sum() * 3e-36
    # E S^2 of a sum of uniform ratios of mean 1 and variance 1/3, on a lattice that widens it.
    (low,), mean = [curves.gain_low(np.array([1e-9]))], float(parts @ counts)
    second = 1.0 + float(counts @ parts**2) / 3.0 / mean**2
    c = np.linspace(1e-9, 2.0, 4001)
    found = 2.0 * trapezoid(curves.gain_up(c), c)
    assert low[0] == pytest.approx(1.0, rel=1e-6)
    assert second <= found <= second * 1.02
