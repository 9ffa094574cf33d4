"""Reports on releases other than means of columns."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from leakscore import Reference, leakage, statistics
from leakscore_app import report
from leakscore_app.cli import main


def table(size: int = 300, **options: Any) -> report.Table:
    rng = np.random.default_rng(4)
    values = rng.normal(size=(size, 3)) @ [[1.0, 0.3, 0.0], [0.0, 2.0, 0.5], [0.0, 0.0, 1.0]]
    return report.table_of(values, ["a", "b", "y"], **options)


def groups(size: int = 300) -> dict[str, list[str]]:
    return {"g": ["north" if i % 3 else "south" for i in range(size)]}


CASES: dict[str, tuple[statistics.Statistic, str]] = {
    "covariance": (statistics.Covariance(), "Means and covariances of n = 300 records"),
    "sum": (statistics.Sum(), "The sum of n = 300 records in 3 columns is published"),
    "cross": (statistics.CrossProducts("y"), "X'X and X'y of a regression"),
    "regression": (statistics.Regression("y"), "The coefficients of the regression of y"),
    "groups": (statistics.GroupMeans("g"), "The means by g and the counts of n = 300 records"),
    "histogram": (statistics.Histogram("a", [-9, 0, 9]), "A statistic of 1 number of n = 300"),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_leakage_is_that_of_the_features(case: str) -> None:
    statistic, said = CASES[case]
    given = table(groups=groups()) if case == "groups" else table()
    result = report.analyse(given, statistic=statistic, rounds=400)
    codes = [float(label == "south") for label in groups()["g"]]
    block = np.column_stack([codes, given.values]) if case == "groups" else given.values
    names = ["g", *given.columns] if case == "groups" else given.columns
    bound = statistic.on(names, {"g": ["north", "south"]} if case == "groups" else None)
    phi = bound.prepare(block).features(block)
    phi = phi[:, phi.std(axis=0) > 0]
    for row in (0, 7, 299):
        others = np.delete(phi, row, axis=0)
        expected = leakage.leakage_score(phi[row], Reference.fit(others), 300)
        assert result.informed.leakage[row] == pytest.approx(expected, rel=1e-8)
    assert said in " ".join(result.to_text().split())
    assert result.to_dict()["release"]["exact"] == statistic.exact


def test_cells_are_listed_and_small_ones_refused() -> None:
    labels = ["big"] * 280 + ["small"] * 12 + ["tiny"] * 8
    result = report.analyse(
        table(groups={"g": labels}), statistic=statistics.GroupMeans("g"), rounds=400
    )
    assert [(cell.cell, cell.records) for cell in result.cells] == [
        ("g=big", 280),
        ("g=small", 12),
        ("g=tiny", 8),
    ]
    for cell in result.cells:
        index = int(np.searchsorted(result.rows, cell.row))
        assert cell.leakage == result.informed.leakage[index]
        inside = np.array(labels) == cell.cell[2:]
        assert cell.leakage == result.informed.leakage[inside].max()
    assert result.verdict.decision == "do not publish"
    assert "1 cell holds fewer than 10 records (8: g=tiny)." in result.to_text().replace("\n", " ")
    assert "THE CELLS" in result.to_text()
    assert result.to_dict()["cells"][2]["records"] == 8
    kept = report.analyse(
        table(groups={"g": labels}), statistic=statistics.GroupMeans("g"), rounds=400, min_cell=5
    )
    assert "fewer than" not in kept.verdict.why


def test_a_cell_of_one_is_answered_with_what_keeps_the_others() -> None:
    groups = {"g": ["big"] * 280 + ["small"] * 19 + ["alone"]}
    why = report.analyse(
        table(groups=groups), statistic=statistics.GroupMeans("g"), rounds=400
    ).verdict.why
    assert "every mean with it shows it. 1 cell holds fewer than 10 records (1: g=alone)." in why
    assert "--drop-small-cells" in why


def test_small_cells_are_dropped_and_the_rest_is_judged_as_if_they_were_not_there() -> None:
    labels = ["big"] * 280 + ["small"] * 12 + ["tiny"] * 8
    given = table(groups={"g": labels})
    options: dict[str, Any] = {"statistic": statistics.GroupMeans("g"), "rounds": 400}
    dropped = report.analyse(given, drop_small_cells=True, **options)
    rest = report.analyse(
        report.table_of(given.values[:292], groups={"g": labels[:292]}), **options
    )
    np.testing.assert_array_equal(dropped.informed.leakage, rest.informed.leakage)
    assert [cell.cell for cell in dropped.cells] == ["g=big", "g=small"]
    assert dropped.input.rows_dropped == 8
    assert "8 records of small cells are left out. Publish no total" in dropped.verdict.why
    text = " ".join(dropped.to_text().split())
    assert "in a cell of fewer than 10, or in none (records 293, 294, " in text
    with pytest.raises(ValueError, match="every cell holds fewer than 300 records"):
        report.analyse(given, drop_small_cells=True, min_cell=300, **options)
    with pytest.raises(
        ValueError, match="drop_small_cells must not be given: nothing is published"
    ):
        report.analyse(given, drop_small_cells=True)


@pytest.mark.parametrize("tables", [1, 2])
def test_a_cell_that_is_missing_tells_of_who_is_in_it(tables: int) -> None:
    """One of nine, with cells of ten published: in the others' draws it is there with the tenth.

    In two tables one is among nine, and nobody else in both cells: by .16 for .12.
    """
    rng, rounds = np.random.default_rng(8), 200_000
    labels = ["big"] * 200 + ["other"] * 91 + ["tiny"] * 9
    others = ["tiny"] * 8 + ["big"] * 150 + ["other"] * 133 + ["tiny"] + ["big"] * 8
    given = table(groups={"g": labels, "h": others})
    shares, seen = np.array([8 / 299] * tables + [1 - 8 * tables / 299]), []
    for inside in (1, 0):
        drawn = inside + rng.multinomial(300 - inside, shares, rounds)[:, :tables]
        cells = (drawn >= 10) @ 2 ** np.arange(tables)
        seen.append(np.bincount(cells, minlength=4) / rounds)
    told = 0.5 * np.abs(seen[0] - seen[1]).sum()
    by_group = [statistics.Counts("g"), statistics.Counts("h")]
    options: dict[str, Any] = {
        "statistic": by_group[0] if tables == 1 else statistics.Several(by_group),
        "drop_small_cells": True,
        "rounds": 8000,
    }
    error = 1 / np.sqrt(rounds)
    strict = report.analyse(given, max_advantage=float(told - 4 * error), **options).verdict
    assert strict.decision == "do not publish"
    assert "That a cell is missing tells that fewer than 10 are in it" in strict.why
    loose = report.analyse(given, max_advantage=float(told + 4 * error), **options).verdict
    assert loose.decision == "publish"
    larger = int(strict.why.partition("--min-cell ")[2].partition(")")[0])
    share = (larger - 2) / 299
    assert stats.binom.pmf(larger - 1, 299, share) * (1 - share) < told - 4 * error


def test_cells_that_suffice_take_no_array_of_all_records() -> None:
    """Counts of a cell of so many records are of Poisson's law."""
    given = table(groups={"g": ["big"] * 200 + ["other"] * 91 + ["tiny"] * 9})
    options: dict[str, Any] = {"drop_small_cells": True, "max_advantage": 0.115, "rounds": 8000}
    result = report.analyse(given, statistic=statistics.Counts("g"), **options)
    many = replace(result, input=replace(result.input, rows_dropped=10**6))
    tracemalloc.start()
    why = many.verdict.why
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    enough = next(k for k in range(10, 100) if stats.poisson.pmf(k - 1, k - 2) <= 0.115)
    assert f"(--min-cell {enough})" in why
    assert most < 10**6


def test_small_cells_of_persons_and_of_several_tables() -> None:
    """A cell that is small only once others are dropped goes, too."""
    sex = ["f"] * 150 + ["m"] * 138 + ["x"] * 12
    place = ["u"] * 140 + ["v"] * 150 + ["w"] * 10
    given = table(groups={"sex": sex, "place": place})
    both = statistics.Several([statistics.Counts("sex"), statistics.GroupMeans("place")])
    result = report.analyse(given, statistic=both, drop_small_cells=True, min_cell=11, rounds=400)
    assert [cell.cell for cell in result.cells] == ["sex=f", "sex=m", "place=u", "place=v"]
    assert len(result.rows) == 288
    ids = [str(i // 4) for i in range(300)]
    given = table(groups={"g": ["big"] * 260 + ["small"] * 40}, ids=ids)
    result = report.analyse(
        given, statistic=statistics.GroupMeans("g"), drop_small_cells=True, min_cell=11, rounds=400
    )
    assert [(cell.cell, cell.persons) for cell in result.cells] == [("g=big", 65)]


def test_a_cell_of_one_gives_its_record_away() -> None:
    labels = ["big"] * 299 + ["alone"]
    result = report.analyse(
        table(groups={"g": labels}), statistic=statistics.GroupMeans("g"), rounds=400
    )
    assert np.isinf(result.informed.leakage[299])
    assert result.verdict.decision == "do not publish"
    assert result.counts[0].worst_row == 300


def test_records_without_a_group_are_left_out() -> None:
    labels = ["" if i in (4, 9) else "uv"[i % 2] for i in range(300)]
    result = report.analyse(
        table(groups={"g": labels}), statistic=statistics.GroupMeans("g"), rounds=400
    )
    assert len(result.rows) == 298
    assert {5, 10}.isdisjoint(result.rows.tolist())
    assert "its group is not known (records 5, 10)" in " ".join(result.to_text().split())


def test_cells_of_persons_count_persons() -> None:
    labels = ["big"] * 280 + ["small"] * 20
    ids = [str(i) for i in range(280)] + [f"p{i // 4}" for i in range(20)]
    given = table(groups={"g": labels}, ids=ids)
    result = report.analyse(given, statistic=statistics.GroupMeans("g"), rounds=400)
    assert [(cell.records, cell.persons) for cell in result.cells] == [(280, 280), (20, 5)]
    small = result.cells[1]
    people = result.rows.searchsorted([281 + 4 * i for i in range(5)])
    assert small.leakage == result.informed.leakage[people].max()
    assert small.row in result.rows[people]
    assert result.verdict is not None
    assert result.verdict.decision == "do not publish"
    text = " ".join(result.to_text().split())
    assert "1 cell holds fewer than 10 persons (5: g=small)." in text
    assert "worst person" in text


def test_small_cells_need_the_game() -> None:
    """Cells of 20 skewed records: the normal theory is off, and the report follows the game."""
    rng = np.random.default_rng(2)
    values = rng.lognormal(sigma=1.5, size=(200, 1))
    labels = [str(i // 20) for i in range(200)]
    given = report.table_of(values, ["v"], groups={"g": labels})
    result = report.analyse(given, statistic=statistics.GroupMeans("g"), rounds=20_000, worst=3)
    assert any(game.differs for game in result.games)


def test_groups_of_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    rows = [f"{'uv'[i % 2]},{x:.3f},{y:.3f}" for i, (x, y) in enumerate(rng.normal(size=(80, 2)))]
    path.write_text("\n".join(["g,a,b", *rows]))
    arguments = ["report", str(path), "--group-by", "g", "--rounds", "400", "--check"]
    assert main(arguments) in (0, 2, 3)
    text = " ".join(capsys.readouterr().out.split())
    assert "The means by g and the counts of n = 80 records (5 numbers in all)" in text
    assert "g is left out: it tells which group a record belongs to." in text


def test_another_statistic_is_refused() -> None:
    with pytest.raises(TypeError, match="statistic='mean'"):
        report.analyse(table(), statistic="mean")  # type: ignore[arg-type]
