"""Sums and means below a table, whatever their labels; the option that is named removes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leakscore_app import read_table
from tests.helpers.parts import Columns

ROWS = [[1, 2], [2, 3], [4, 1], [5, 8]]
SUMS: dict[str, tuple[list[str], int]] = {
    "a label": (["Mean,3,3.4"], 1),
    "a label and what it is of": (["Total (n=4),12,14"], 1),
    "a label and a footnote": (["Summe:,12,14", "* estimated,,"], 2),
    "a label in Dutch": (["Gemiddelde,3,"], 1),
    "a label above a deviation": (["MW,3,3.5", "Stabw,1.8,3.1"], 2),
    "no label": ([",12,14"], 1),
    "a sum and a mean without labels": ([",12,14", ",3,3.5"], 2),
    "a label in a column of numbers": (["Total,12,14"], 1),
}


def write(path: Path, below: list[str], count: int = 4, *, numbered: bool = False) -> str:
    label = (lambda i: str(i + 1)) if numbered else (lambda i: f"person {i}")
    lines = [f"{label(i)},{a},{b}" for i, (a, b) in enumerate(ROWS[:count])]
    path.write_text("\n".join(["id,a,b", *lines, *below]) + "\n")
    return str(path)


@pytest.mark.parametrize("case", sorted(SUMS))
def test_sums_are_no_records(tmp_path: Path, case: str) -> None:
    below, count = SUMS[case]
    path = write(tmp_path / "t.csv", below, numbered="column of numbers" in case)
    with pytest.raises(ValueError, match=f"line 6.*--skip-last {count} leaves.*--skip-last 0"):
        read_table(path)
    table = read_table(path, skip_last=count)
    np.testing.assert_array_equal(table.values[:, 1:], ROWS)
    assert set(table.excluded) == {0}
    kept = read_table(path, skip_last=0)
    assert len(kept.values) == 4 + len(below)


def test_the_sum_of_three(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", [",7,6"], 3)
    with pytest.raises(ValueError, match=r"line 5.*sum of all others"):
        read_table(path)


def test_a_total_above_the_records(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,a\nTotal,12\nx,1\ny,2\nz,9\n")
    with pytest.raises(ValueError, match=r"line 2.*first record.*--skip-last 0"):
        read_table(str(path))
    assert len(read_table(str(path), skip_last=0).values) == 4


def test_a_level_named_as_a_sum_is_a_level(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("scope,a\nall,1.5\nsome,2.5\nall,7\nall,4\n")
    assert len(read_table(str(path)).values) == 4


def test_spreads_of_pieces_are_those_of_all_rows() -> None:
    """Far from 0, in pieces of any size, some of them without a value."""
    rng = np.random.default_rng(2)
    values = np.stack([rng.normal(1e9, 3.0, 1000), rng.normal(size=1000) ** 5], axis=1)
    values[:400, 1] = np.nan
    seen = Columns.of(values[:0])
    for piece in np.split(values, [0, 300, 301, 400]):
        seen = seen.merge(Columns.of(piece))
    np.testing.assert_array_equal(seen.counts, [1000, 600])
    np.testing.assert_allclose(seen.squares / seen.counts, np.nanvar(values, axis=0), rtol=1e-7)
