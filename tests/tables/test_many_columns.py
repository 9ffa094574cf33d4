"""Tables of more columns than a report judges: refused by their first lines."""

from __future__ import annotations

from pathlib import Path

import pytest

import leakscore_app
from leakscore import statistics

WIDTH = 5001


def written(path: Path, cells: list[str]) -> Path:
    names = ",".join(f"c{j}" for j in range(len(cells)))
    path.write_text("\n".join([names, *(",".join(cells) for _ in range(4))]) + "\n")
    return path


def test_more_columns_of_numbers_than_are_judged_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "wide.csv", ["1.5"] * WIDTH)
    with pytest.raises(ValueError, match=r"wide\.csv has 5001 columns of numbers.*--columns"):
        leakscore_app.read_table(path)
    # As many as the statistics of the library take.
    with pytest.raises(ValueError, match="at most 5000"):
        statistics.Mean().on([f"c{j}" for j in range(WIDTH)])


def test_surplus_columns_of_text_and_chosen_columns_are_no_reason(tmp_path: Path) -> None:
    text = written(tmp_path / "text.csv", ["1.5"] * (WIDTH - 1) + ["north"])
    assert len(leakscore_app.read_table(text).columns) == WIDTH
    wide = written(tmp_path / "wide.csv", ["1.5"] * WIDTH)
    assert leakscore_app.read_table(wide, columns=("c0", "c1")).columns
    assert leakscore_app.read_table(wide, exclude=("c7",)).columns
