"""Sums of uniform ratios in the convex order: both curves of an average hold its exact law."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore.sequential import _octaves
from leakscore.sequential._octaves import average
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
    monkeypatch.setattr(_octaves, "_RUNS", runs)
    weights = PRIORS[prior] / PRIORS[prior].sum()
    curves = average(UNIFORM, weights)
    assert curves is not None
    low, high = curves
    c = np.array([0.4, 0.8, 1.0, 1.2, 1.5])
    exact = [uniform_sum(weights, float(at)) for at in c]
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
