"""Categories of long files and frames, block by block: the bits of the table read as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore import statistics
from leakscore_app import report
from leakscore_app.cli import main
from leakscore_app.tables import categories
from tests.helpers.streamed import short_files
from tests.report.test_long_files import Stranger, numbers

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
csv = pytest.importorskip("pyarrow.csv")

N = 1300
ASKED: dict[str, Any] = {"n": 1250, "rounds": 200, "max_advantage": 0.9}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take tables of more than 1000 rows for long ones, and read 16 kB at a time."""
    short_files(monkeypatch)


def words(rng: np.random.Generator, of: list[str], p: list[float]) -> np.ndarray:
    return np.array(of, object)[rng.choice(len(of), N, p=p)]


@pytest.fixture
def frame() -> Any:
    """Levels with commas and accents, blank cells, words for missing, a level of one lost row."""
    rng = np.random.default_rng(8)
    values = rng.standard_t(6, size=(N, 2)) + 5
    values[17, 1] = np.nan
    region = words(rng, ["n", "s ", "\u00e9, e"], [0.5, 0.3, 0.2])
    region[[17, 30, 1290, 40]] = ["lost", None, "  ", "s"]
    sex = words(rng, ["f", "m"], [0.6, 0.4])
    sex[5:40] = "NA"
    columns = {
        "region": pyarrow.array(region, pyarrow.string()),
        "a": values[:, 0],
        "code": rng.integers(1, 5, N),
        "sex": pyarrow.array(sex, pyarrow.string()),
        "b": pyarrow.array(values[:, 1], from_pandas=True),
        "note": pyarrow.array([f"text {k}" for k in range(N)]),
    }
    return pyarrow.table(columns)


def written(frame: Any, folder: Path) -> tuple[str, str]:
    parquet.write_table(frame, folder / "a.parquet", row_group_size=300)
    csv.write_csv(frame, folder / "a.csv")
    return str(folder / "a.csv"), str(folder / "a.parquet")


def without_places(result: report.Report) -> Any:
    """All numbers, but for the lines of a csv file."""
    plain = numbers(result)
    names = ("records", "game", "drivers", "cells", "counts", "remedies", "noise")
    return _without_lines({key: plain[key] for key in names if key in plain})


def _without_lines(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_lines(of) for key, of in value.items() if "line" not in key}
    return list(map(_without_lines, value)) if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("statistic", "reading"),
    [
        (statistics.GroupMeans("region"), {"groups": ["region"]}),
        (statistics.GroupMeans("code"), {"groups": ["code"], "missing_values": ["2", "3"]}),
        (None, {"proportions": ["region", "sex"], "exclude": ["note"]}),
        (None, {"proportions": ["sex"], "columns": ["a", "b"], "missing_values": ["1", "0"]}),
        (statistics.Counts("code"), {"groups": ["code"], "proportions": ["sex"]}),
    ],
    ids=["means", "codes", "shares", "named", "both"],
)
def test_files_give_the_bits_of_the_whole_table(
    frame: Any,
    tmp_path: Path,
    statistic: statistics.Statistic | None,
    reading: dict[str, Any],
) -> None:
    found = []
    for path in written(frame, tmp_path):
        table = report.read_table(path, **reading)
        expected = report.analyse(table, statistic=statistic, **ASKED)
        blocks = report.open_table(path, **reading)
        assert not isinstance(blocks, report.Table)  # not read as a whole
        result = report.analyse(blocks, statistic=statistic, **ASKED)
        assert result.to_json() == expected.to_json()
        found.append(without_places(result))
    if "missing_values" not in reading:  # in parquet numbers only stand for missing values
        assert found[0] == found[1]


def test_frames_have_groups_without_being_told(frame: Any, tmp_path: Path) -> None:
    """The columns that a statistic is by; words that no row has are no level."""
    pandas = pytest.importorskip("pandas")
    kinds = frame.to_pandas()
    kinds["sex"] = pandas.Categorical(kinds["sex"], categories=["m", "none", "f", "NA"])
    statistic = statistics.Several([statistics.Counts(["sex", "code"]), statistics.Counts("code")])
    _, path = written(frame, tmp_path)
    table = report.read_table(path, groups=["sex", "code"])
    expected = without_places(report.analyse(table, statistic=statistic, **ASKED))
    sources: list[Any] = [frame, Stranger(frame), kinds]
    for module in ("polars", "duckdb"):
        try:
            library = __import__(module)
        except ImportError:
            continue
        made = {"polars": "from_arrow", "duckdb": "from_arrow"}[module]
        sources.append(getattr(library, made)(frame))
    for source in sources:
        assert without_places(report.analyse(source, statistic=statistic, **ASKED)) == expected
    few = report.analyse(frame.slice(0, 900), statistic=statistics.Counts("sex"), rounds=200)
    assert [cell.cell for cell in few.cells] == ["sex=NA", "sex=f", "sex=m"]
    with pytest.raises(ValueError, match="has no column 'town'"):
        report.analyse(frame, statistic=statistics.Counts("town"))


def test_columns_of_text_do_not_change_what_a_long_table_is(frame: Any, tmp_path: Path) -> None:
    """Text is left out block by block; numbers that are written as text are read with all cells."""
    results = [report.analyse(frame, **ASKED)]
    results += [
        report.analyse(report.open_table(path), **ASKED) for path in written(frame, tmp_path)
    ]
    assert all("long-table" in {one.code for one in result.notices} for result in results)
    first, *others = map(without_places, results)
    assert first == others[0] == others[1]
    assert (
        results[2].input.columns_left_out[2].reason
        == "text in 1300 of 1300 cells (record 1: 'text 0')"
    )
    as_text = frame.set_column(1, "a", frame["a"].cast(pyarrow.string()))
    again = without_places(report.analyse(as_text, **ASKED))
    assert again["records"] == first["records"]


def test_levels_of_several_files_are_those_of_one_table(frame: Any, tmp_path: Path) -> None:
    """A level may be in one file only."""
    frame = frame.sort_by("region").select(["region", "a", "b"])
    parquet.write_table(frame, tmp_path / "whole.parquet")
    for part, (start, stop) in enumerate([(0, 700), (700, N)]):
        parquet.write_table(frame.slice(start, stop - start), tmp_path / f"part{part}.parquet")
    reading = {"groups": ["region"]}
    both = report.open_table(str(tmp_path / "part*.parquet"), **reading)
    once = report.open_table(str(tmp_path / "whole.parquet"), **reading)
    statistic = statistics.Counts("region")
    results = [report.analyse(one, statistic=statistic, **ASKED) for one in (both, once)]
    cells = [[(cell.cell, cell.records) for cell in one.cells] for one in results]
    assert cells[0] == cells[1]
    np.testing.assert_allclose(results[0].informed.leakage, results[1].informed.leakage, rtol=1e-12)


def test_too_many_levels_are_refused_while_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without looking at the rest of the table."""
    size = 20_000
    who = [f"p{k}" for k in range(size)]
    frame = pyarrow.table({"a": np.arange(size) % 7 / 8, "who": who})
    seen = []
    add = categories.Categories.add

    def counted(self: Any, file: str, name: str, column: Any) -> None:
        seen.append(len(column))
        add(self, file, name, column)

    monkeypatch.setattr(categories.Categories, "add", counted)
    parquet.write_table(frame, tmp_path / "a.parquet", row_group_size=1000)
    csv.write_csv(frame, tmp_path / "a.csv")
    for name in ("a.csv", "a.parquet"):
        for option, most, why in (
            ("--group-by", 5001, "too many groups to publish anything of them"),
            ("--proportions", 1000, "they are no categories"),
        ):
            seen.clear()
            assert main(["report", str(tmp_path / name), option, "who"]) == 1
            assert capsys.readouterr().err == (
                f"leakscore: error: {name}: column 'who' has more than {most} levels, {why} "
                f"({option}): join them to coarser ones, or leave the column out\n"
            )
            if name == "a.csv":
                assert sum(seen) < 8000
    with pytest.raises(ValueError, match=r"the Table: column 'who' has more than 5001 levels"):
        report.analyse(frame, statistic=statistics.Counts("who"))


def test_dates_do_not_group(tmp_path: Path) -> None:
    days = pyarrow.array(np.arange(N, dtype=np.int32)).cast(pyarrow.date32())
    frame = pyarrow.table({"a": np.arange(N) % 7 / 8, "day": days})
    parquet.write_table(frame, tmp_path / "a.parquet")
    for option, why in (("groups", "cannot group records"), ("proportions", "holds no words")):
        with pytest.raises(ValueError, match=f"a.parquet: column 'day' {why}"):
            report.open_table(str(tmp_path / "a.parquet"), **{option: ["day"]})
    found = report.analyse(report.open_table(str(tmp_path / "a.parquet")), **ASKED)
    assert json.loads(found.to_json())["input"]["columns_left_out"] == [
        {"name": "day", "reason": "dates, no numbers"}
    ]
