"""What is left out or refused of a table does not depend on its number of records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leakscore_app
from tests.helpers.streamed import short_files

pytest.importorskip("pyarrow")
VALUES = np.random.default_rng(0).normal(40, 9, size=(2000, 3)).round(3)
SIZES = [600, 2000]  # of which the second is long
INDEX = "it counts or names the records"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    short_files(monkeypatch)


def opened(path: Path, values: np.ndarray, name: str = "nr") -> Any:
    if path.suffix == ".npy":
        np.save(path, values)
    else:
        lines = [f"{name},a,b,c", *(",".join(map(str, row)) for row in values.tolist())]
        path.write_text("\n".join(lines) + "\n")
    return leakscore_app.open_table(str(path))


HOLDERS: dict[str, Callable[[Path, np.ndarray], Any]] = {
    "csv": lambda folder, values: opened(folder / "t.csv", values),
    "npy": lambda folder, values: opened(folder / "t.npy", values),
    "array": lambda folder, values: values,
    "blocks": lambda folder, values: lambda: iter([values[:300], values[300:]]),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("holder", HOLDERS)
def test_numbers_of_rows_are_left_out(tmp_path: Path, holder: str, size: int) -> None:
    values = np.column_stack([np.arange(size), VALUES[:size]])
    result = leakscore_app.analyse(HOLDERS[holder](tmp_path, values), rounds=200)
    (column,) = result.input.columns_left_out
    assert (column.name in ("nr", "column 1"), column.reason) == (True, INDEX)
    assert len(result.input.columns_judged) == 3
    assert result.input.name == {"csv": "t.csv", "npy": "t.npy"}.get(holder, holder)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("holder", ["csv", "npy"])
def test_sums_below_numbered_rows_are_no_record(tmp_path: Path, holder: str, size: int) -> None:
    """The number of the last row is no sum of those above it."""
    rows = np.vstack([VALUES[:size], VALUES[:size].sum(axis=0).round(3)])
    values = np.column_stack([np.arange(size + 1), rows])
    with pytest.raises(ValueError, match=r"is the sum of all others.*--skip-last 1"):
        leakscore_app.analyse(HOLDERS[holder](tmp_path, values), rounds=200)


@pytest.mark.parametrize("size", SIZES)
def test_names_of_rows_in_any_order(tmp_path: Path, size: int) -> None:
    order = np.random.default_rng(1).permutation(size)
    table = opened(tmp_path / "t.csv", np.column_stack([order, VALUES[:size]]))
    result = leakscore_app.analyse(table, rounds=200)
    assert [column.reason for column in result.input.columns_left_out] == [INDEX]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["nr", "patient"])
def test_numbers_with_gaps_or_twice(tmp_path: Path, name: str, size: int) -> None:
    """Those of persons have gaps; others may be measurements, as may those of 0 and 1."""
    rng = np.random.default_rng(1)
    twice = np.clip(rng.permutation(size), 3, size - 4)
    twice[[0, 1]] = 0, size - 1
    for numbers, gaps in ((rng.permutation(9 * size)[:size], True), (twice % 2, False)):
        table = opened(tmp_path / "t.csv", np.column_stack([numbers, VALUES[:size]]), name)
        left = leakscore_app.analyse(table, rounds=200).input.columns_left_out
        assert [column.reason for column in left] == [INDEX] * (gaps and name == "patient")
    if name == "nr":
        table = opened(tmp_path / "t.csv", np.column_stack([twice, VALUES[:size]]), name)
        assert not leakscore_app.analyse(table, rounds=200).input.columns_left_out


@pytest.mark.parametrize("size", SIZES)
def test_bytes_that_are_no_truth_value_are_refused(tmp_path: Path, size: int) -> None:
    values = np.random.default_rng(2).integers(2, size=(size, 2)).astype(np.uint8)
    values[size // 2, 1] = 2
    path = tmp_path / "t.npy"
    np.save(path, values.view(bool))
    with pytest.raises(ValueError, match=r"t\.npy is damaged: a truth value is neither 0 nor 1"):
        leakscore_app.analyse(leakscore_app.open_table(str(path)), rounds=200)
