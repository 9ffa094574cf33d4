"""Figures 1, 7 and 8 of Azize & Basu: misspecified targets, and distances of real gradients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from reproduce import azize_misspecified, azize_records
from reproduce._models import Logistic
from reproduce._outcome import Erratum
from tests.helpers.pictures import idx, pictures
from tests.helpers.sizes import figure_sizes


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    folder = tmp_path_factory.mktemp("pictures")
    paths = folder / "train-images-idx3-ubyte.gz", folder / "train-labels-idx1-ubyte.gz"
    for path, array in zip(paths, pictures(2400), strict=True):
        path.write_bytes(idx(array))
    return paths


def test_angles_and_the_table(tmp_path: Path) -> None:
    found = azize_misspecified.reproduce(rounds=10_000, seed=6)
    assert [str(row) for row in found.rows if not row.ok] == []
    assert len({row.name for row in found.rows}) == len(found.rows)
    printed = [row.name for row in found.rows if isinstance(row, Erratum)]
    assert {name for name in printed if name.startswith("Table 1")} == {
        "Table 1, Gaussian noise, unequal columns",
        "Table 1, sub-sampling, rho = 0.3: advantage",
        "Table 1, similar point, 60 degrees",
    }
    assert "angle 120: advantage at threshold 0" in printed
    # The record of the attacker and the target: their leakages in closed form.
    theory, m = {row.name: row.theory for row in found.rows}, azize_misspecified.M
    for name, angle, length in (("30", 30, 1), ("120", 120, 1), ("60, twice as long", 60, 2)):
        shared, own = m * length * np.cos(np.deg2rad(angle)), m * length**2
        means = [theory[f"angle {name}: mean, {law}"] for law in ("H0", "H1")]
        assert means == pytest.approx([-own / 2, shared - own / 2])
        advantage = 2 * stats.norm.cdf(abs(shared) / np.sqrt(own) / 2) - 1
        assert theory[f"angle {name}: advantage"] == pytest.approx(advantage)
    pytest.importorskip("matplotlib")
    azize_misspecified.draw(found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 20_000


def test_the_law_of_distances(
    data: tuple[Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = azize_records.LAW
    figure_sizes(monkeypatch, figure, RECORDS=1200, SIDE=3, STEPS=20)
    found = figure.reproduce(data=data, rounds=1500, seed=2)
    rows = {row.name: row for row in found.rows}
    assert rows["Gaussian records: distance from chi-square"].ok
    distances = {name: row for name, row in rows.items() if ": distance" in name}
    assert len(distances) >= 3
    for name, row in distances.items():
        values, dim = found.curves["drawn"][name.partition(":")[0]]
        expected = stats.kstest(values, stats.chi2(dim).cdf).statistic
        assert row.measured == pytest.approx(expected, abs=1e-12)
    assert all(row.ok for name, row in rows.items() if "batches" in name)
    pytest.importorskip("matplotlib")
    figure.draw(found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 20_000


def test_the_variance_of_a_batch_is_exact() -> None:
    """Against all pairs of a small population, drawn with replacement."""
    rows = np.random.default_rng(1).exponential(size=(40, 3))
    made = azize_records.Gradients.of("small", rows)
    y = made.rows.astype(np.float64)
    np.testing.assert_allclose(y.T @ y / 40, np.eye(3), atol=1e-6)
    pairs = 2 * np.square((y[:, np.newaxis] + y) / 2).sum(axis=2)
    assert made.variance(2) == pytest.approx(pairs.var(), rel=1e-5)
    assert made.variance(1) == pytest.approx(made.distances.var(), rel=1e-5)
    assert pairs.mean() == pytest.approx(3.0, rel=1e-5)


def test_distances_are_those_of_a_dense_inverse() -> None:
    images, labels = pictures(300, side=4)
    rows = Logistic(16).gradients(np.zeros(170), images, labels)[:, :153].astype(np.float64)
    made = azize_records.Gradients.of("start", rows)
    away = rows - rows.mean(axis=0)
    inverse = np.linalg.pinv(np.cov(rows.T, ddof=0), rcond=1e-9)
    expected = np.einsum("ij,jk,ik->i", away, inverse, away)
    np.testing.assert_allclose(made.distances, expected, rtol=1e-3)


def test_records_as_pictures(
    data: tuple[Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = azize_records.PICTURES
    figure_sizes(monkeypatch, figure, REFERENCES=150, CANDIDATES=60, POPULATION=1500)
    found = figure.reproduce(data=data, rounds=2000, seed=2)
    assert [str(row) for row in found.rows if row.name.endswith("one step") and not row.ok] == []
    groups = found.curves["groups"]
    lowest = [float(distances.min()) for _, distances in groups.values()]
    highest = [float(distances.max()) for _, distances in groups.values()]
    assert lowest[0] >= highest[1]
    assert lowest[1] >= highest[2]
    pytest.importorskip("matplotlib")
    figure.draw(found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 20_000
