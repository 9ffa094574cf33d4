"""Text above a table is no record: the header is found, or refused with --skip-lines; never lost.

What is recoded, and by which column records are left out, stands in the report.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

import leakscore_app
from leakscore_app import read_table
from leakscore_app.cli import main

ROWS = 40
NAMES = ["age", "bmi", "dose", "sbp"]
VALUES = np.random.default_rng(3).normal(size=(ROWS, 4)).round(4)

Row = list[str | float | None]


def written(path: Path, above: list[Row], body: list[Row]) -> str:
    """Write rows as csv or as a workbook, as the name says."""
    rows = [*above, *body]
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(rows)
        return str(path)
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return str(path)


FOUND: dict[str, list[Row]] = {
    "two titles and a blank line": [["Study of doses"], ["Site A"], []],
    "filled up": [["Study of doses", None, None, None], ["Site A", None, None, None], []],
    "three titles": [["Study"], ["Site A"], ["all patients"], []],
}
REFUSED: dict[str, list[Row]] = {
    "a title and two words": [["Study", "of doses", None, None], []],
    "two words a line": [["Study", "doses", None, None], ["Site", "A", None, None], []],
    "a year": [["Study", 2024, None, None], ["Site", "A", None, None], []],
    "numbers in several lines": [["Study", "of", "x", None], ["Site", 7, 8, None], []],
}


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
@pytest.mark.parametrize("above", FOUND.values(), ids=FOUND)
def test_the_header_is_found(tmp_path: Path, above: list[Row], suffix: str) -> None:
    table = read_table(written(tmp_path / f"t{suffix}", above, [NAMES, *VALUES.tolist()]))
    assert table.columns == tuple(NAMES)
    np.testing.assert_array_equal(table.values, VALUES)
    assert table.lines is not None
    assert table.lines[0] == len(above) + 2


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
@pytest.mark.parametrize("above", REFUSED.values(), ids=REFUSED)
def test_or_the_lines_to_skip_are_named(
    tmp_path: Path, above: list[Row], suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --bad-cells missing, too: no line above the table becomes a record without values."""
    path = written(tmp_path / f"t{suffix}", above, [NAMES, *VALUES.tolist()])
    for options in ([], ["--bad-cells", "missing"]):
        assert main(["report", path, *options]) == 1
        told = capsys.readouterr().err
        assert "--bad-cells" not in told
        assert "--missing-values" not in told
        remedy = re.search(r"--skip-lines (\d+)", told)
        assert remedy
        assert int(remedy[1]) == len(above)
    table = read_table(path, skip_lines=int(remedy[1]))
    assert table.columns == tuple(NAMES)
    np.testing.assert_array_equal(table.values, VALUES)


def test_a_title_above_one_column(tmp_path: Path) -> None:
    """Its name may be a cell that is no number: it is not turned into a record, either."""
    path = written(tmp_path / "t.csv", [["Study"]], [["x"], *([v] for v in VALUES[:, 0].tolist())])
    told = read_table(path).refused[0]
    assert "'x' is no number" in told
    assert "--skip-lines 1" in told
    assert "--bad-cells" not in told
    assert read_table(path, skip_lines=1).columns == ("x",)


def test_a_record_with_a_word_is_a_record(tmp_path: Path) -> None:
    """Where other columns hold numbers, or the word is said to stand for a missing value."""
    rows: list[Row] = [["a", "b", "c"], ["refused", 1, 2], *VALUES[:, :3].tolist()]
    assert "--bad-cells missing" in read_table(written(tmp_path / "t.csv", [], rows)).refused[0]
    rows[1] = ["refused", "refused", "NA"]
    path = written(tmp_path / "t.csv", [], rows)
    assert len(read_table(path, missing_values=["refused"]).values) == ROWS + 1
    rows.insert(1, [1, 2, 3])
    assert len(read_table(written(tmp_path / "t.csv", [], rows), bad_cells="missing").values) == 42


def test_what_is_recoded_is_told(tmp_path: Path) -> None:
    """Yes and no, words for missing values, and the records left out by column."""
    answers = ["yes", "no", "unknown", "no"] * (ROWS // 4)
    doses = ["NA" if i in (3, 5) else value for i, value in enumerate(VALUES[:, 1].tolist())]
    body = [["dose", "smoker"], *map(list, zip(doses, answers, strict=True))]
    path = written(tmp_path / "t.csv", [], body)
    result = leakscore_app.analyse(read_table(path), rounds=200)
    assert result.input.notes == (
        "smoker: 'yes' is read as 1, 'no' as 0",
        "'NA' is read as missing (dose in 2 cells)",
        "'unknown' is read as missing (smoker in 10 cells)",
    )
    (lost,) = result.input.rows_left_out
    assert (lost.count, lost.columns) == (12, {"smoker": 10, "dose": 2})
    text = " ".join(result.to_text().split())
    assert "12 records are left out: a value is missing (records 3, 4, 6, 7, 11 and 7 more)" in text
    assert "smoker in 10, dose in 2." in text


def test_in_long_tables_too(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=(66_000, 2)).round(3).astype(str)
    values[[7, 40_000], 0] = "NA"
    values[65_999, 1] = "unknown"
    path = written(tmp_path / "t.csv", [], [["a", "b"], *values.tolist()])
    result = leakscore_app.analyse(leakscore_app.open_table(path), rounds=200)
    assert result.input.notes == (
        "'NA' is read as missing (a in 2 cells)",
        "'unknown' is read as missing (b in 1 cell)",
    )
    (lost,) = result.input.rows_left_out
    assert (lost.count, lost.columns) == (3, {"a": 2, "b": 1})
