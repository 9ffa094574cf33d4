"""Sequential audits in the black box, on small pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leakscore.games import Training
from leakscore.shadow import logit_margin
from reproduce import shadow_sequences as figure
from tests.helpers.pictures import idx, pictures
from tests.helpers.sizes import figure_sizes

STARTS, UPDATE = (
    figure.Design("from the start", (4, 8, 16), 0),
    figure.Design("an update", (8, 16, 20, 24), 16),
)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, ...]:
    paths = tmp_path / "train-images-idx3-ubyte.gz", tmp_path / "train-labels-idx1-ubyte.gz"
    for path, array in zip(paths, pictures(300), strict=True):
        path.write_bytes(idx(array))
    figure_sizes(monkeypatch, figure, RECORDS=200, STARTS=STARTS, UPDATE=UPDATE)
    return paths


def test_the_whole_figure(data: tuple[Path, ...], tmp_path: Path) -> None:
    found = figure.reproduce(data=data, rounds=8, seed=3)
    rows = {row.name: row for row in found.rows}
    assert len(rows) == len(found.rows) == 6
    for values in found.curves.values():
        assert list(values) == [figure.LAST, figure.BOTH, figure.ALL, figure.POOLED]
        assert all(np.isfinite(each).all() and each.shape == (8, 3) for each in values.values())
    best = [row for name, row in rows.items() if name.endswith("AUC by record")]
    # Records' own areas, by pairs of trainings: little below that of the best test.
    best += [row for name, row in rows.items() if name.endswith("the cost of moments")]
    assert len(best) == 4
    assert all(row.ok for row in best)
    pytest.importorskip("matplotlib")
    figure.draw(found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 20_000


@pytest.mark.parametrize("design", [STARTS, UPDATE])
def test_trainings_are_those_of_one_model_at_a_time(design: figure.Design) -> None:
    """Against gradient descent of each training by itself, in float64."""
    images, labels = pictures(60, side=6)
    x = np.ones((60, 37), dtype=np.float32)
    x[:, :-1] = images.reshape(60, -1) / np.float32(255)
    y = labels.astype(np.intp)
    made = figure.trained(design, (x, y), 4, np.random.default_rng(1))
    rng = np.random.default_rng(1)
    known = 30 if design.joins else 0
    included = figure.halves(4, 60 - known, rng)
    base = figure.halves(4, known, rng)
    np.testing.assert_array_equal(made.included, included)
    training = Training("logistic", 2, 1, figure.RATE, classes=10)
    records = np.column_stack([x, y])
    for model in range(4):
        theta = np.zeros(370)
        early = np.append(base[model], np.zeros(60 - known, dtype=bool))
        late = np.append(base[model], included[model])
        for step in range(1, design.releases[-1] + 1):
            own = records[late if step > design.joins else early]
            theta -= figure.RATE * training.gradients(theta, own).mean(axis=0)
            if step in design.releases:
                expected = logit_margin(x @ theta.reshape(10, -1).T.astype(np.float64), y)[known:]
                ours = made.signals[model, :, design.releases.index(step)]
                np.testing.assert_allclose(ours, expected, atol=2e-4)


def test_records_join_after_the_step_that_is_named() -> None:
    assert STARTS.start == 0
    assert UPDATE.start == 2
    assert figure.UPDATE.releases[figure.UPDATE.start] > figure.UPDATE.joins
