"""Figure 3 of Michel, Basu & Kaufmann on small pictures: its parts, and the whole command."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

import reproduce
from reproduce import _data
from reproduce import michel_audit as figure
from tests.helpers.pictures import idx, pictures
from tests.helpers.sizes import figure_sizes

SIZES = {"PUBLIC": 100, "REFERENCES": 60, "CANDIDATES": 20, "BATCH": 8, "NOISES": (2.0, 0.5)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    figure_sizes(monkeypatch, figure, **SIZES)
    for name, array in zip(_data.PACKAGES["michel-3"].files, pictures(400), strict=True):
        (tmp_path / name).write_bytes(idx(array))
    return tmp_path


def test_the_command_end_to_end(folder: Path) -> None:
    stream = io.StringIO()
    reproduce.run("michel-3", rounds=40, data=folder, out=folder, stream=stream)
    text = stream.getvalue()
    assert (folder / "michel-3.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert text.count("epsilon of the game") == 2
    for line in text.splitlines():
        assert "FAILS" not in line or "mu of SeMI" in line, line


def test_target_and_separation_are_those_of_dense_matrices(folder: Path) -> None:
    images, labels = pictures(400)
    records = np.ones((400, images[0].size + 2), dtype=np.float32)
    records[:, :-2] = images.reshape(400, -1) / np.float32(255)
    records[:, -1] = labels
    setup = figure.Setup.of(records, np.random.default_rng(3))
    order = np.random.default_rng(3).permutation(400)
    training = figure.training_of(1.0, setup.start)
    known = training.gradients(setup.start, records[order[100:160]])
    own = training.gradients(setup.start, records[order[160:180]])
    mean, cov = known.mean(axis=0), np.cov(known.T)
    inverse = np.linalg.inv(cov / 8 + (1.0 / 8) ** 2 * np.eye(len(mean)))
    away = own - mean
    distances = np.einsum("ij,jk,ik->i", away, inverse, away)
    best = int(distances.argmax())
    np.testing.assert_array_equal(setup.target, records[order[160 + best]])
    mu = np.sqrt(distances[best]) / 8
    assert setup.separation(training.noise_std) == pytest.approx(mu, rel=1e-9)
    played = setup.play(1.0, 400, np.random.default_rng(4))
    assert played.predicted == pytest.approx(mu, rel=1e-9)
    assert played.epsilon == pytest.approx(8.8769, abs=1e-4)  # gaussian(2) at 1e-4
    members, nonmembers = played.scores[figure.SEMI]
    assert members.size + nonmembers.size == 400
    found, error = played.separated()
    pooled = np.sqrt((members.var(ddof=1) + nonmembers.var(ddof=1)) / 2)
    assert found == pytest.approx((members.mean() - nonmembers.mean()) / pooled)
    assert abs(found - mu) < 4 * error + 0.2 * mu
