"""What is asked of long tables: columns, noise that is drawn, blocks without a complete row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore import statistics
from leakscore_app import report
from leakscore_app.cli import main
from tests.helpers.sizes import sizes

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N = 3000
NAMES = ("id", "height", "weight", "dose")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take tables of more than 1000 rows for long ones."""
    sizes(monkeypatch, long=1000)


def table(rows: int = N) -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.column_stack([rng.permutation(rows), rng.standard_t(4, size=(rows, 3)) + 9])


def frame(values: np.ndarray, names: tuple[str, ...] = NAMES) -> Any:
    return pyarrow.table({name: values[:, j] for j, name in enumerate(names)})


def command(capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    asked = ["--rounds", "400", "--json", "-", "--records", "worst"]
    assert main(["report", *options, *asked]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("options", "judged"),
    [
        ((), ["height", "weight", "dose"]),
        (("--exclude", "height"), ["weight", "dose"]),
        (("--columns", "weight,dose"), ["weight", "dose"]),
        (("--columns", "weight,dose", "--exclude", "dose"), ["weight"]),
        (("--columns", "id,dose"), ["id", "dose"]),  # asked for by name, it is judged
    ],
)
def test_columns_that_are_asked_for(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    judged: list[str],
) -> None:
    path = str(tmp_path / "a.parquet")
    parquet.write_table(frame(table()), path)
    found = command(capsys, path, "--n", "200", *options)
    assert found["input"]["columns_judged"] == judged
    sizes(monkeypatch, long=10**6)
    whole = command(capsys, path, "--n", "200", *options)
    for key in ("columns_left_out", "columns_published", "columns_unjudged", "sha256", "name"):
        assert found["input"][key] == whole["input"][key]
    worst = [record["leakage"] for record in found["records"]]
    np.testing.assert_allclose(worst, [one["leakage"] for one in whole["records"]], rtol=1e-12)
    assert main(["report", path, "--exclude", "age"]) == 1
    refusal = capsys.readouterr().err
    sizes(monkeypatch, long=1000)
    assert main(["report", path, "--exclude", "age"]) == 1
    assert capsys.readouterr().err == refusal


def test_a_column_of_one_value_with_holes_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of its cells are missing may tell something, whatever holds the table."""
    values = np.random.default_rng(1).normal(size=(1500, 3))
    values[:, 1] = np.where(np.arange(1500) % 9, 5.0, np.nan)
    for longest in (10**6, 1000):
        sizes(monkeypatch, long=longest)
        seen = report.analyse(values, n=200, rounds=400, missing="columns").input
        assert seen.columns_unjudged == ("column 2",)
        assert seen.columns_published == 3


def test_columns_are_counted_that_a_statistic_names() -> None:
    values = frame(np.random.default_rng(2).uniform(1, 2, (300, 3)), ("a", "b", "w"))
    mean = statistics.WeightedMean("w")
    seen = report.analyse(values, columns=("a",), statistic=mean, rounds=400).input
    assert (seen.columns_published, seen.columns_unjudged) == (2, ())


def test_columns_of_a_frame_that_are_not_judged() -> None:
    values = table()
    found = report.analyse(frame(values), n=200, rounds=400, exclude=["height"])
    assert found.input.columns_judged == ("weight", "dose")
    values[:, 2] = np.nan
    values[9, 3] = np.nan
    found = report.analyse(frame(values), n=200, rounds=400, missing="columns")
    assert found.input.columns_judged == ("height",)
    calls = iter(range(100))

    class Moving:
        """Other values of the column that is judged at each call."""

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            values[:, 1] += next(calls)
            return frame(values).__arrow_c_stream__(requested_schema)

    with pytest.raises(ValueError, match="not those of the first pass"):
        report.analyse(Moving(), n=200, rounds=400, missing="columns")


def test_files_of_a_short_pattern_are_read_as_one_file_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = table(120)
    parquet.write_table(frame(values), tmp_path / "whole.parquet")
    for place, part in (("a1", values[:70]), ("a2", values[70:])):
        parquet.write_table(frame(part), tmp_path / f"{place}.parquet")
    expected = command(capsys, str(tmp_path / "whole.parquet"), "--n", "50")
    found = command(capsys, f"{tmp_path}/a*.parquet", "--n", "50")
    assert found["input"]["name"] == "a1.parquet to a2.parquet (2 files)"
    for key in ("name", "path", "sha256"):
        del found["input"][key], expected["input"][key]
    assert found == expected
    values[100, 2] = -999
    parquet.write_table(frame(values[70:]), tmp_path / "a2.parquet")
    assert main(["report", f"{tmp_path}/a*.parquet"]) == 1
    assert "record 101, column 'weight': -999 in 1 of 120" in capsys.readouterr().err


def test_long_files_that_are_judged_whole_are_looked_at_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values, path = table(), str(tmp_path / "a.parquet")
    values[100, 2] = -999
    parquet.write_table(frame(values), path)
    assert main(["report", path, "--previous", "2000"]) == 1
    assert "-999 in 1 of 3000 cells lies far from all others" in capsys.readouterr().err
    asked = ["--previous", "2000", "--exclude", "weight"]
    found = command(capsys, path, *asked)
    assert found["input"]["columns_judged"] == ["height", "dose"]


def test_codes_in_every_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes(monkeypatch, block=256)
    path = tmp_path / "t.npy"
    values = np.random.default_rng(0).integers(0, 1000, size=(N, 2)).astype(float)
    asked: dict[str, Any] = {"n": 200, "rounds": 400}
    np.save(path, values)
    judged = report.analyse(report.open_table(path), **asked)
    assert judged.input.rows_judged == N  # 999 is one of many
    values //= 2
    values[::100, 1] = -999
    np.save(path, values)
    with pytest.raises(ValueError, match="-999 lies far from all others"):
        report.analyse(report.open_table(path), **asked)


def test_noise_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = table()[:, 1:]
    asked: dict[str, Any] = {"rounds": 400, "max_advantage": 0.05, "noise_shape": "same"}
    drawn = report.analyse(values, draw_noise=10**15, **asked).noise
    assert drawn is not None
    assert drawn.noisy_mean is not None
    means, std = values.mean(axis=0), np.array(list(drawn.noise_std.values()))
    expected = means + std * np.random.default_rng(10**15).standard_normal(3)
    np.testing.assert_allclose(list(drawn.noisy_mean.values()), expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"with the mean of all 3000 records, not of n=200"):
        report.analyse(values, n=200, draw_noise=10**15, **asked)


@pytest.mark.parametrize("last", ["missing", "infinite", "another"])
def test_blocks_without_a_row_to_judge(monkeypatch: pytest.MonkeyPatch, last: str) -> None:
    values = table()[: 256 * 8 + 1, 1:]  # the last block has one row
    values[-1] = {"missing": np.nan, "infinite": np.inf}.get(last, values[-1])
    if last == "another":  # all others are alike in a column: the row alone is left out
        values[:-1, 1] = 7
    sizes(monkeypatch, block=256)
    streamed = report.analyse(values, rounds=400, n=200)
    sizes(monkeypatch, long=10**6)
    whole = report.analyse(values, rounds=400, n=200)
    assert streamed.input.rows_judged == whole.input.rows_judged
    assert streamed.counts[0].above == whole.counts[0].above
    assert streamed.counts[0].worst_row == whole.counts[0].worst_row


def test_records_with_nearly_all_variance_are_not_subtracted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is left of a variance after 1e18 was taken from it is no number to tell."""
    sizes(monkeypatch, block=256)
    for seed in range(3):
        values = np.random.default_rng(seed).normal(size=(1500, 3))
        values[3, 0], values[4, 1] = 1e9, 1e6
        streamed = report.analyse(values, rounds=400)
        sizes(monkeypatch, long=10**6)
        whole = report.analyse(values, rounds=400, noise_shape="same")
        sizes(monkeypatch, long=1000)
        expected = {one.what: one.leakage for one in whole.remedies}
        for one in streamed.remedies:
            if one.kind == "fewer records":
                assert one.leakage == pytest.approx(expected[one.what], rel=1e-7)
