"""Reports on long csv files, and on patterns of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leakscore_app import report
from leakscore_app.cli import main
from leakscore_app.tables.sources import texts
from tests.helpers.streamed import short_files
from tests.report.test_long_files import NAMES, N, numbers

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
ASKED = {"n": 200, "rounds": 400, "seed": 4}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take tables of more than 1000 rows for long ones, and read 16 kB at a time."""
    short_files(monkeypatch)


@pytest.fixture
def values() -> np.ndarray:
    table = np.random.default_rng(3).standard_t(4, size=(N, 3)) + 9
    table[[40, 2999], [1, 2]] = np.nan
    return table


def write(path: Path, values: np.ndarray, header: str = ",".join(NAMES)) -> str:
    lines = [header, *(",".join(map(repr, row)) for row in values.tolist())]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def without_lines(result: report.Report) -> object:
    plain = numbers(result)
    for record in plain["records"] + plain["game"] + plain["drivers"]:
        record.pop("line", None)
    return [plain[key] for key in ("records", "game", "drivers", "counts", "remedies")]


def test_csv_gives_the_numbers_of_parquet(
    values: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.csv", values)
    table = pyarrow.table({name: values[:, j] for j, name in enumerate(NAMES)})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    opened = [report.open_table(each) for each in (path, tmp_path / "a.parquet")]
    assert not any(isinstance(each, report.Table) for each in opened)  # neither is read as a whole
    found, other = (report.analyse(each, **ASKED) for each in opened)
    assert without_lines(found) == without_lines(other)
    assert found.lines is not None
    np.testing.assert_array_equal(found.lines, found.rows + 1)
    again = report.analyse(report.read_table(path), **ASKED)
    assert numbers(found) == numbers(again)
    assert found.input.sha256 == again.input.sha256
    monkeypatch.setattr(texts.KeptPieces, "keep", lambda *_: None)
    forgetful = report.analyse(report.open_table(path), **ASKED)
    assert forgetful.to_json() == found.to_json()


def test_a_pattern_of_csv_files_is_one_table(values: np.ndarray, tmp_path: Path) -> None:
    whole_path = write(tmp_path / "whole.csv", values)
    write(tmp_path / "part1.csv", values[:2000])
    write(tmp_path / "part2.csv", values[2000:])
    found = report.analyse(report.open_table(str(tmp_path / "part*.csv")), **ASKED)
    once = report.analyse(report.open_table(whole_path), **ASKED)
    assert found.input.name == "part1.csv to part2.csv (2 files)"
    assert found.input.rows == N
    np.testing.assert_allclose(found.informed.leakage[:5], once.informed.leakage[:5], rtol=1e-12)
    for size in (300, 40):  # the parts of a short table need not be long
        for k in (1, 2):
            write(tmp_path / f"short{k}.csv", values[k * size : (k + 1) * size])
        short = report.analyse(report.open_table(str(tmp_path / "short*.csv")), **ASKED | {"n": 50})
        assert short.input.rows == 2 * size


@pytest.mark.parametrize(
    ("header", "cell", "message"),
    [
        ("height,weight,x", "1", "p2.csv has the columns height, weight, x, p1.csv has height, we"),
        (",".join(NAMES), "tall", "'tall' is no number"),
        ("", "", "p2.csv is empty"),
    ],
)
def test_bad_parts_are_refused_in_one_line(
    values: np.ndarray,
    tmp_path: Path,
    header: str,
    cell: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(tmp_path / "p1.csv", values)
    path = Path(write(tmp_path / "p2.csv", values[:500], header))
    lines = path.read_text().splitlines()
    lines[400] = cell + lines[400][lines[400].index(",") :]
    path.write_text("\n".join(lines) if header else "")
    assert main(["report", str(tmp_path / "p*.csv"), "--quiet"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_bad_last_cell_is_refused_with_its_line(
    values: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(write(tmp_path / "a.csv", values[:2500]))
    path.write_text(path.read_text() + "1,2,<0.5\n")
    assert main(["report", str(path), "--quiet"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "a.csv, line 2502, column 'dose': '<0.5'" in line


def test_columns_of_text_are_left_out_or_not_read(values: np.ndarray, tmp_path: Path) -> None:
    path = Path(write(tmp_path / "a.csv", values[:2500]))
    first, *others = path.read_text().splitlines()
    lines = [f"{line},r{k % 7}" for k, line in enumerate(others)]
    path.write_text("\n".join([f"{first},region", *lines]))
    found = report.analyse(report.open_table(str(path)), **ASKED)
    (left,) = found.input.columns_left_out
    assert (left.name, left.reason) == ("region", "text in 2500 of 2500 cells (line 2: 'r0')")
    excluded = report.analyse(report.open_table(str(path), exclude=["region"]), **ASKED)
    assert excluded.input.columns_left_out[0].reason == "as asked"


def test_text_in_a_parquet_file_is_not_read_if_it_is_excluded(
    values: np.ndarray, tmp_path: Path
) -> None:
    columns = {name: values[:, j] for j, name in enumerate(NAMES)}
    plain = pyarrow.table(columns)
    parquet.write_table(plain, tmp_path / "plain.parquet")
    parquet.write_table(plain.append_column("t", [["x"] * N]), tmp_path / "text.parquet")
    opened = report.open_table(str(tmp_path / "text.parquet"), exclude=["t"])
    assert not isinstance(opened, report.Table)
    found = report.analyse(opened, **ASKED)
    expected = report.analyse(report.open_table(str(tmp_path / "plain.parquet")), **ASKED)
    np.testing.assert_array_equal(found.informed.leakage, expected.informed.leakage)
    assert [(one.name, one.reason) for one in found.input.columns_left_out] == [("t", "as asked")]


def test_a_mean_below_a_long_table_is_no_record(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also if it is rounded, as programs print it."""
    short_files(monkeypatch)
    values = np.random.default_rng(0).normal(40.0, 9.0, size=(1200, 3)).round(3)
    values = np.vstack([values, values.mean(axis=0).round(3)])
    path = tmp_path / "t.csv"
    np.savetxt(path, values, delimiter=",", header="a,b,c", comments="", fmt="%.3f")
    with pytest.raises(ValueError, match="line 1202: the record is the mean of all others"):
        report.analyse(report.open_table(str(path)), rounds=200)
