"""A cell of few records in which numbers vary less than elsewhere: who knows that is played, too.

The release is computed by numpy from raw records; the attack is the best linear one on the counts
and the means of the cell, learned from other rounds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import leakscore_app
from leakscore import statistics
from leakscore_app import report
from tests.helpers.sizes import sizes

ROUNDS, LIMIT = 40_000, 0.4
ERROR = 4 * np.sqrt(0.5 / ROUNDS)  # of an advantage
FEW, SIZE, RECORD = 24, 160, 4
NAMES = ("g=1", "g=2", "x where g=0", "y where g=0")


def table_of() -> tuple[np.ndarray, np.ndarray]:
    """In the first cell a number varies by half as much as elsewhere, but for a record."""
    rng = np.random.default_rng(0)
    cell = np.repeat([0, 1, 2], [FEW, (SIZE - FEW) // 2, (SIZE - FEW) // 2])
    values = rng.normal(10, 1.6, (SIZE, 2))
    values[:FEW, 0] = rng.normal(10, 0.7, FEW)
    values[RECORD, 0] = values[:FEW, 0].mean() + 4.0
    return cell, values


def played(cell: np.ndarray, values: np.ndarray, std: dict[str, float]) -> float:
    """Return the advantage of the attack on the record, with noise on what is published."""
    rng, others = np.random.default_rng(5), np.delete(np.arange(SIZE), RECORD)
    halves = []
    for inside in (False, True):
        rows = others[rng.integers(len(others), size=(2 * ROUNDS, SIZE))]
        if inside:
            rows[:, 0] = RECORD
        rows += SIZE * np.arange(2 * ROUNDS)[:, np.newaxis]
        often = np.bincount(rows.ravel(), minlength=2 * ROUNDS * SIZE).reshape(-1, SIZE)
        inner = [cell == g for g in range(3)]
        count, *others_of, x, y = (often @ np.column_stack([*inner, *(values.T * inner[0])])).T
        published = np.column_stack([*others_of, x / count, y / count])
        noise = [std[name] for name in NAMES]
        halves.append(published + rng.normal(size=published.shape) * noise)
    learned, judged = (
        [half[part] for half in halves] for part in (slice(ROUNDS), slice(ROUNDS, None))
    )
    shift = learned[1].mean(axis=0) - learned[0].mean(axis=0)
    weight = np.linalg.solve(sum(np.cov(half.T) for half in learned), shift)
    along = [half @ weight for half in learned]
    cuts = np.quantile(np.concatenate(along), np.linspace(0.02, 0.98, 97))
    gains = [(along[1] > cut).mean() - (along[0] > cut).mean() for cut in cuts]
    cut = cuts[int(np.argmax(gains))]
    return float((judged[1] @ weight > cut).mean() - (judged[0] @ weight > cut).mean())


def test_numbers_that_vary_less_in_a_cell_of_few_records() -> None:
    cell, values = table_of()
    given = report.table_of(values, ["x", "y"], groups={"g": cell.astype(str).tolist()})
    options = {"max_advantage": LIMIT, "max_noise": 20.0, "noise_shape": "same", "seed": 1}
    result = report.analyse(given, statistic=statistics.GroupMeans("g"), **options)
    assert result.pooled_cells == ("g=0",)  # not clearly narrow, so judged by all cells
    theory = float(result.informed.advantage[RECORD])
    without = played(cell, values, dict.fromkeys(NAMES, 1e-9))
    assert without > theory + 0.1
    (game,) = (
        each for each in result.games if each.row == RECORD + 1 and each.attacker == "informed"
    )
    assert game.advantage.upper is not None
    assert without - 2 * ERROR < game.advantage.upper < without + 2 * ERROR
    assert result.noise is not None
    assert result.noise.binding_row == RECORD + 1
    assert LIMIT - 3 * ERROR < played(cell, values, result.noise.noise_std) < LIMIT + ERROR


def test_records_of_such_a_cell_of_a_long_table_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three records are kept by the covariance of all cells, and three by each cell's own."""
    sizes(monkeypatch, kept=3)
    rng = np.random.default_rng(2)
    cell = np.repeat([0, 1, 2], [18, 15, 69_968])
    values = rng.normal(0.0, np.where(cell == 0, 0.6, 1.6))
    values[RECORD] = values[:18].mean() + 3.2
    values[18:21] = 4.6, -4.7, 4.8
    path = tmp_path / "t.csv"
    lines = [f"{g},{x:.6f}" for g, x in zip(cell.tolist(), values.tolist(), strict=True)]
    path.write_text("\n".join(["g,x", *lines]))
    table = leakscore_app.open_table(path, groups=("g",))
    options = {"max_advantage": 0.99, "rounds": 2000, "seed": 1}
    result = leakscore_app.analyse(table, statistic=statistics.GroupMeans("g"), **options)
    assert set(result.pooled_cells) == {"g=0", "g=1"}
    theory = dict(zip(result.rows.tolist(), result.informed.advantage.tolist(), strict=True))
    assert sum(theory[row] > theory[RECORD + 1] for row in (19, 20, 21)) == 3
    games = {game.row: game for game in result.games if game.attacker == "informed"}
    assert games[RECORD + 1].advantage.simulated > theory[RECORD + 1] + 0.1
