"""Figure 3 of Azize & Basu: gradients, trainings and scores against plain loops, and the whole."""

from __future__ import annotations

import importlib.util
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reproduce
from leakscore.whitebox import covariance_attack
from reproduce import _data, _epoch
from reproduce import azize_training as figure
from reproduce._models import Cnn
from tests.helpers.pictures import TINY, idx, pictures, setting
from tests.helpers.sizes import figure_sizes, sizes

TORCH = importlib.util.find_spec("torch") is not None
__all__ = ["setting"]  # a fixture

PACKAGE = _data.PACKAGES["azize-3"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Idx files with the names of the package's."""
    for name, array in zip(PACKAGE.files, pictures(400), strict=True):
        (tmp_path / name).write_bytes(idx(array))
    return tmp_path


def test_logistic_gradients_are_derivatives_of_the_loss(setting: tuple[Any, ...]) -> None:
    model, records, _, path = setting
    images, labels = records.take(records.population[:4])
    rows = model.gradients(path[2], images, labels)
    rng = np.random.default_rng(0)
    direction = rng.normal(size=path[2].size)

    def losses(step: float) -> np.ndarray:
        weights = (path[2] + step * direction).reshape(10, 145)
        x = np.column_stack([images.reshape(4, -1) / 255, np.ones(4)])
        scores = x @ weights.T
        return np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(4), labels]

    slopes = (losses(1e-4) - losses(-1e-4)) / 2e-4
    np.testing.assert_allclose(rows.astype(float) @ direction, slopes, rtol=1e-4, atol=1e-5)
    found = model.projections(path[2], np.array([direction, rows[0]]), images, labels)
    np.testing.assert_allclose(found, rows @ np.array([direction, rows[0]]).T, rtol=1e-4, atol=1e-4)
    mean = model.mean_gradient(path[2], images, labels)
    np.testing.assert_allclose(mean, rows.mean(axis=0), atol=1e-6)


def test_every_record_has_one_role() -> None:
    images, labels = pictures(400)
    records = _epoch.divide(images, labels, TINY, np.random.default_rng(0))
    roles = records.references, records.own, records.candidates, records.population
    np.testing.assert_array_equal(np.sort(np.concatenate(roles)), np.arange(400))
    assert [len(role) for role in roles] == [40, 24, 15, 321]
    with pytest.raises(ValueError, match="at least 127 images, not 126"):
        _epoch.divide(images[:126], labels[:126], TINY, np.random.default_rng(0))


def test_targets_are_the_furthest_the_middle_and_the_nearest(setting: tuple[Any, ...]) -> None:
    model, records, known, _ = setting
    chosen, distances = _epoch.targets(model, records, known["all"])
    rows = model.gradients(model.start, *records.take(records.candidates))
    every = known["all"].references[0].squared_mahalanobis(rows)
    ordered = np.sort(every)
    np.testing.assert_allclose(distances, ordered[[14, 7, 0]])
    assert records.candidates[np.argmax(every)] == chosen[0]


def test_scores_are_those_of_the_attack_on_each_training(setting: tuple[Any, ...]) -> None:
    model, records, known, _ = setting
    chosen, _ = _epoch.targets(model, records, known["all"])
    played = _epoch.play(model, records, TINY, chosen, known, 3, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    exposed = rng.integers(3, size=3)
    np.testing.assert_array_equal(played.exposed, exposed)
    for i in range(3):
        batches = rng.choice(records.population, 24, replace=False).reshape(3, 8)
        for j, target in enumerate(chosen):
            for inside, scores in ((False, played.nonmembers), (True, played.members)):
                mine = batches.copy()
                if inside:
                    mine[exposed[i], 0] = target
                path = [model.start]
                for batch in mine:
                    step = model.gradients(path[-1], *records.take(batch)).mean(axis=0)
                    path.append(path[-1] - 1e-3 * step)
                own = np.concatenate(
                    [model.gradients(p, *records.take([target])) for p in path[:-1]]
                )
                references = known["all"].references
                expected = covariance_attack(path, own, references, 1e-3, 8)
                np.testing.assert_allclose(
                    scores["all", "covariance"][i, j], expected, rtol=1e-3, atol=1e-3
                )
                steps = (np.array(path[:-1]) - path[1:]) / 1e-3
                away = own - [known.mean for known in references]
                np.testing.assert_allclose(
                    scores["all", "scalar"][i, j], (away * steps).sum(axis=1), rtol=1e-3, atol=1e-3
                )


def test_references_of_another_training_do_for_all(setting: tuple[Any, ...]) -> None:
    model, records, known, path = setting
    batches = records.population[:24].reshape(3, 8)
    here = _epoch.train(model, model.start, batches, records)
    rows = model.gradients(here[2], *records.take(records.references))
    ridge = _epoch.RIDGE * rows.var(axis=0, dtype=float).mean()
    refitted = _epoch.Reference.fit(rows, "low-rank", ridge=ridge)
    targets = model.gradients(here[2], *records.take(records.candidates))
    assert not np.array_equal(here[2], path[2])
    np.testing.assert_allclose(
        refitted.squared_mahalanobis(targets),
        known["all"].references[2].squared_mahalanobis(targets),
        rtol=0.02,
    )


def test_the_command_end_to_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure_sizes(monkeypatch, figure, SIZES=TINY)
    sizes(monkeypatch, epoch_draws=5000)
    stream = io.StringIO()
    assert reproduce.run("azize-3", rounds=12, data=folder, out=folder, stream=stream)
    lines = stream.getvalue().splitlines()
    assert (folder / "azize-3.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert sum(line.endswith("  ok") for line in lines) == (33 if TORCH else 20)
    missing = [line for line in lines if line.startswith("The CNN was NOT run")]
    assert len(missing) == (0 if TORCH else 1)
    assert all("pip install torch" in line for line in missing)


def test_without_pytorch_the_rest_is_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure_sizes(monkeypatch, figure, SIZES=TINY)
    sizes(monkeypatch, epoch_draws=5000)
    for name in ("torch", "torch.func"):
        monkeypatch.setitem(sys.modules, name, None)
    data = tuple(folder / name for name in PACKAGE.files)
    outcome = figure.reproduce(data=data, rounds=4, seed=2)
    assert outcome.ok
    assert "CNN" not in outcome.curves
    assert "The CNN was NOT run: leakscore.torch needs PyTorch" in outcome.notes[-1]
    assert outcome.to_dict()["notes"] == list(outcome.notes)
    assert figure.reproduce(data=data, rounds=4, seed=2).to_json() == outcome.to_json()


def test_wrong_files_are_named_with_the_package(folder: Path) -> None:
    (folder / PACKAGE.files[1]).write_bytes(b"not labels")
    with pytest.raises(ValueError, match=r"train-labels.*Debian's package dataset-fashion-mnist"):
        reproduce.run("azize-3", data=folder, stream=io.StringIO())


@pytest.mark.skipif(not TORCH, reason="PyTorch is not installed")
def test_cnn_gradients_are_derivatives_of_the_loss() -> None:
    images, labels = pictures(6)
    model = Cnn((12, 12), 4)
    np.testing.assert_array_equal(model.start, Cnn((12, 12), 4).start)
    rows = model.gradients(model.start, images, labels)
    assert rows.shape == (6, model.start.size)
    mean = model.mean_gradient(model.start, images, labels)
    np.testing.assert_allclose(mean, rows.mean(axis=0), atol=1e-6)
    direction = rows[0] / np.linalg.norm(rows[0])
    x = model.torch.from_numpy(images / np.float32(255)).unsqueeze(1)

    def loss(step: float) -> float:
        theta = model.torch.from_numpy(model.start + np.float32(step) * direction)
        model.torch.nn.utils.vector_to_parameters(theta, model.module.parameters())
        outputs = model.module.double()(x[:1].double())
        value = model.loss(outputs, model.torch.from_numpy(labels[:1].astype(int)))
        model.module.float()
        return float(value.detach())

    slope = (loss(1e-2) - loss(-1e-2)) / 2e-2
    assert rows[0] @ direction == pytest.approx(slope, rel=2e-3)
    last = rows[:, -model.last :].reshape(6, -1)
    np.testing.assert_allclose(last[:, -10:].sum(axis=1), 0, atol=1e-6)  # softmax less one label


@pytest.mark.slow
@pytest.mark.skipif(
    not Path(PACKAGE.folder).is_dir(), reason=f"Debian's {PACKAGE.name} is not installed"
)
def test_real_data() -> None:
    data = _data.find("azize-3", None)
    outcome = figure.reproduce(data=data)
    assert outcome.ok, outcome.table()
