"""Figure 4 of Kaissis et al.: DP-SGD at two noises, on small pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reproduce import kaissis_training as figure
from reproduce._models import Logistic
from reproduce._outcome import student
from tests.helpers.pictures import idx, pictures
from tests.helpers.sizes import figure_sizes


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, ...]:
    paths = tmp_path / "train-images-idx3-ubyte.gz", tmp_path / "train-labels-idx1-ubyte.gz"
    for path, array in zip(paths, pictures(500), strict=True):
        path.write_bytes(idx(array))
    small = {"records": 200, "rate": 0.1, "steps": 20}
    settings = {name: replace(getattr(figure, name), **small) for name in ("SOFTMAX", "CNN")}
    figure_sizes(monkeypatch, figure, **settings, TESTED=100, GAMES=800)
    return paths


def test_the_whole_figure(data: tuple[Path, ...], tmp_path: Path) -> None:
    found = figure.reproduce(data=data, rounds=2, seed=3)
    rows = {row.name: row for row in found.rows}
    assert len(rows) == len(found.rows)
    promise = [name for name in rows if "promise" in name]
    assert promise
    apart = [str(row) for name, row in rows.items() if name not in promise and abs(row.z) > 4]
    assert apart == []
    accuracy, noises = found.curves["settings"]["softmax"]
    assert accuracy.shape == (2, 2)
    assert noises[0] > noises[1]  # more noise for the informed attacker
    pytest.importorskip("matplotlib")
    figure.draw(found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 20_000


def test_without_noise_and_clipping_a_training_learns(data: tuple[Path, ...]) -> None:
    images, labels = pictures(500)
    setting = replace(figure.SOFTMAX, steps=100, learning_rate=4.0)
    model, own, tested = Logistic(144), np.arange(200), np.arange(400, 500)
    seeds = np.random.SeedSequence(1)
    kept = figure.accuracy_of(model, setting, 0.0, (images, labels), own, tested, seeds)
    lost = figure.accuracy_of(model, setting, 500.0, (images, labels), own, tested, seeds)
    assert kept > 0.8
    assert lost < 0.4


def test_clipped_sums_are_those_of_the_rows() -> None:
    images, labels = pictures(60)
    model = Logistic(144)
    theta = np.random.default_rng(2).normal(size=model.start.size) * 0.1
    rows = model.gradients(theta, images, labels).astype(np.float64)
    sizes = np.linalg.norm(rows, axis=1)
    for clip in (float(np.median(sizes)), 0.1, 100.0):
        expected = (rows * np.minimum(1.0, clip / sizes)[:, np.newaxis]).sum(axis=0)
        ours = model.clipped_sum(theta, images, labels, clip)
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)


def test_fewer_values_need_more_errors() -> None:
    from scipy import stats

    for size, errors in ((5, 2), (5, 4), (1000, 2)):
        assert stats.t.sf(student(size, errors), size - 1) == pytest.approx(stats.norm.sf(errors))


def test_the_cnn_sums_its_rows() -> None:
    pytest.importorskip("torch")
    from reproduce._models import Cnn

    images, labels = pictures(30)
    model = Cnn((12, 12), 1)
    rows = model.gradients(model.start, images, labels).astype(np.float64)
    sizes = np.linalg.norm(rows, axis=1)
    clip = float(np.median(sizes))
    expected = (rows * np.minimum(1.0, clip / sizes)[:, np.newaxis]).sum(axis=0)
    ours = model.clipped_sum(model.start, images, labels, clip)
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)
