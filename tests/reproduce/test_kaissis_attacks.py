"""Figures 3a, 3c and 7 of Kaissis et al.: attacks on trained models, and reconstruction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore import tradeoff
from reproduce import kaissis_attacks, kaissis_reconstruction
from reproduce._outcome import Above, Erratum
from reproduce.kaissis_calibration import Training
from tests.helpers.sizes import figure_sizes

SMALL = Training("small", 2.0, 0.1, 30, 1e-5, 0.0)


@pytest.mark.parametrize("figure", [kaissis_attacks.LOGIT, kaissis_attacks.GRADIENT])
def test_attacks_have_their_curves(figure: Any, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    found = figure.reproduce(rounds=24, seed=4)
    assert [str(row) for row in found.rows if not row.ok] == []
    assert len({row.name for row in found.rows}) == len(found.rows)
    assert any(isinstance(row, Erratum) for row in found.rows)
    assert any(isinstance(row, Above) for row in found.rows)
    pytest.importorskip("matplotlib")
    figure.draw(found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 20_000


def test_gradients_of_the_network_lie_in_the_range_of_its_first_layer() -> None:
    pytest.importorskip("sklearn")
    network = kaissis_attacks.Network.trained(50, np.random.default_rng(2))
    assert network.rank == 10
    basis = np.linalg.qr(network.first)[0]
    np.testing.assert_allclose(network.gradients @ basis @ basis.T, network.gradients, atol=1e-12)
    sizes = np.linalg.norm(network.gradients, axis=1)
    assert sizes.max() <= network.clip * (1 + 1e-12)
    assert len(network.at_the_clip) == 221
    x, y = kaissis_attacks.diabetes()
    np.testing.assert_allclose(x.std(axis=0), 1.0)
    weights = np.linalg.lstsq(x, y, rcond=None)[0]
    # Trained: a residual is (x'w - y) of the product of both layers, near least squares.
    wrong = np.sign(x @ weights - y)
    latent = x @ network.first.T
    ours = np.sign(np.einsum("ij,ij->i", network.gradients, latent))
    assert (ours == wrong).mean() > 0.9


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"EPSILONS": (4.0,), "PLAYED": (4.0,), "TRAININGS": (SMALL,)}
    figure_sizes(monkeypatch, kaissis_reconstruction, **few)


def test_reconstruction(few: None, tmp_path: Path) -> None:
    found = kaissis_reconstruction.reproduce(rounds=300, seed=3)
    assert [str(row) for row in found.rows if not row.ok] == []
    gamma = found.curves["gamma"]["small"]
    assert np.all(gamma[:, 0, 1] > gamma[:, 1, 1])  # informed above unaligned
    noise = SMALL.calibrated(4.0, "informed")
    curve = tradeoff.subsampled_gaussian(noise, SMALL.rate, SMALL.steps)
    assert float(curve.epsilon(SMALL.delta)) == pytest.approx(4.0, abs=1e-3)
    assert gamma[0, 0, 1] == pytest.approx(1 - float(curve(0.1)), abs=1e-3)
    pytest.importorskip("matplotlib")
    kaissis_reconstruction.draw(found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 20_000
