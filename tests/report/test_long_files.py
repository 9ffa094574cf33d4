"""Long tables from files, patterns, frames and callables: one result, or a refusal of one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore_app import report
from leakscore_app.cli import main
from leakscore_app.tables.sources import blocks, opened
from tests.helpers.sizes import sizes

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N = 3000
NAMES = ("height", "weight", "dose")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take tables of more than 1000 rows for long ones."""
    sizes(monkeypatch, long=1000)


@pytest.fixture
def values() -> np.ndarray:
    table = np.random.default_rng(3).standard_t(4, size=(N, 3)) + 9
    table[[40, 2999], [1, 2]] = np.nan
    return table


def frame(values: np.ndarray, names: tuple[str, ...] = NAMES) -> Any:
    return pyarrow.table({name: values[:, j] for j, name in enumerate(names)})


def numbers(result: report.Report) -> Any:
    """All numbers, without what the source is called and hashed to."""
    plain = json.loads(result.to_json())
    for key in ("name", "path", "sha256", "notes"):
        del plain["input"][key]
    return plain


class Stranger:
    """A frame that tells nothing but its stream, as those of polars and duckdb do."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


def test_one_result_for_every_source(values: np.ndarray, tmp_path: Path) -> None:
    table = frame(values)
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    lines = [",".join(NAMES), *(",".join(map(repr, row)) for row in values.tolist())]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    pandas = pytest.importorskip("pandas")
    sources = [
        report.open_table(str(tmp_path / "a.parquet")),
        report.read_table(str(tmp_path / "a.csv")),
        table,
        Stranger(table),
        pandas.DataFrame(values, columns=list(NAMES)),
        lambda: iter(table.to_batches(max_chunksize=77)),
    ]
    asked = {"n": 200, "rounds": 400, "seed": 4}
    found = [numbers(report.analyse(source, **asked)) for source in sources]
    for one in found:
        for record in one["records"] + one["game"] + one["drivers"]:
            record.pop("line", None)
    first = json.dumps(found[0]["records"])
    assert all(json.dumps(one["records"]) == first for one in found)
    assert all(one["counts"][0]["above"] == found[0]["counts"][0]["above"] for one in found)
    assert all(one["noise"]["standard_errors"] == found[0]["noise"]["standard_errors"]
               for one in found)  # fmt: skip
    np.save(tmp_path / "a.npy", values)
    unnamed = [
        numbers(report.analyse(source, **asked))
        for source in (
            values,
            np.asfortranarray(values),
            np.load(tmp_path / "a.npy", mmap_mode="r"),
            report.open_table(str(tmp_path / "a.npy")),
            lambda: (values[at : at + 999] for at in range(0, N, 999)),
        )
    ]
    assert all(one == unnamed[0] for one in unnamed)
    assert unnamed[0]["counts"] == found[2]["counts"]


def test_short_sources_are_judged_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes(monkeypatch, long=blocks.ROWS)
    values = np.random.default_rng(0).normal(size=(60, 3))
    plain = numbers(report.analyse(report.table_of(values, NAMES), rounds=400))
    for source in (frame(values), Stranger(frame(values)), lambda: iter([frame(values)])):
        assert numbers(report.analyse(source, rounds=400)) == plain


def test_files_of_a_pattern_are_one_table(
    values: np.ndarray,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("leakscore_app.cli.program._SECONDS", 0.0)
    for place, part in (("b", values[1100:]), ("a", values[:1100])):
        parquet.write_table(frame(part), tmp_path / f"{place}.parquet")
    asked = ["--n", "200", "--rounds", "1000", "--json", "-", "--progress"]
    assert main(["report", f"{tmp_path}/*.parquet", *asked]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert "pass 2, scoring every record: 3,000 of 3,000 records" in err
    assert "playing record" in err
    assert found["input"]["name"] == "a.parquet to b.parquet (2 files)"
    assert found["input"]["rows"] == N
    assert found["input"]["rows_left_out"][0]["first"] == [41, 3000]
    whole = report.analyse(frame(values), n=200, rounds=1000)
    worst = [record["leakage"] for record in found["records"]]
    np.testing.assert_allclose(worst, whole.informed.leakage[list(whole.worst)], rtol=1e-12)


def refused(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["report", *options]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def test_bad_files_are_refused_in_one_line(
    values: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no file is called" in refused(capsys, f"{tmp_path}/*.parquet")
    parquet.write_table(frame(values), tmp_path / "a.parquet")
    parquet.write_table(frame(values, ("height", "age", "dose")), tmp_path / "b.parquet")
    assert "b.parquet has the columns height, age, dose" in refused(capsys, f"{tmp_path}/*.parquet")
    (tmp_path / "b.parquet").write_text('{"height": 1}')
    assert "b.parquet is JSON" in refused(capsys, f"{tmp_path}/*.parquet")
    (tmp_path / "b.parquet").write_text("height,weight,dose\n1,2,yes\n4,5,no\n")
    assert "b.parquet is not read with others" in refused(capsys, f"{tmp_path}/*.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[:-5] + b"?" + whole[-4:])
    assert "damaged" in refused(capsys, f"{tmp_path}/a.parquet")
    values[-1] = np.nan  # nothing but the last block is hit
    values[:, 1] = np.nan
    parquet.write_table(frame(values), tmp_path / "c.parquet")
    assert main(["report", f"{tmp_path}/c.parquet", "--n", "100", "--rounds", "400"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "weight is left out: no value in any record" in text
    assert "1 record is left out: a value is missing (record 3000)" in text


def test_codes_and_sums_of_long_files(
    values: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "a.parquet")
    complete = np.nan_to_num(values, nan=9.0)
    parquet.write_table(frame(np.vstack([complete, complete.sum(axis=0)])), path)
    assert "sum of all others in every column: --skip-last 1" in refused(capsys, path)
    complete[[3, 77], 1] = -999
    parquet.write_table(frame(complete), path)
    assert "column 'weight': -999 lies far from all others" in refused(capsys, path)
    asked = ["--missing-values", "-999", "--n", "100", "--rounds", "400", "--json", "-"]
    assert main(["report", path, *asked]) == 0
    assert json.loads(capsys.readouterr().out)["input"]["rows_judged"] == N - 2


def test_what_changes_between_two_passes_is_refused(values: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(frame(values), path)
    source = report.open_table(str(path))
    parquet.write_table(frame(values + 1), path)
    with pytest.raises(ValueError, match=r"a\.parquet changed while it was read"):
        report.analyse(source, n=100)
    path.unlink()
    with pytest.raises(ValueError, match=r"a\.parquet is not there any more"):
        report.analyse(source, n=100)
    calls = iter(range(100))
    with pytest.raises(ValueError, match="not those of the first pass"):
        report.analyse(lambda: iter([np.nan_to_num(values) + next(calls)]), n=100)


def test_streams_that_are_read_once_are_refused(values: np.ndarray) -> None:
    with pytest.raises(ValueError, match="can be read once only"):
        report.analyse(frame(values).to_reader(), n=100)
    other = ("height", "weight", "age")
    with pytest.raises(ValueError, match="block 2 of the callable has the columns"):
        report.analyse(lambda: iter([frame(values), frame(values, other)]), n=100)
    with pytest.raises(ValueError, match="yields no block"):
        report.analyse(lambda: iter([]), n=100)


def test_what_needs_the_table_whole_reads_it_or_refuses(
    values: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = np.nan_to_num(values, nan=9.0)
    found = report.analyse(complete, previous=2000, rounds=400)
    assert found.previous is not None
    assert found.bars is None
    words = frame(complete).append_column("code", [["x"] * N])
    assert report.analyse(words, n=100, rounds=400).input.columns_unjudged == ("code",)
    monkeypatch.setattr(opened.Opened, "is_longer_than", lambda *_: True)
    np.save(tmp_path / "a.npy", complete)
    for allowed in (8 * complete.size, 8 * complete.size - 1):
        source = report.open_table(str(tmp_path / "a.npy"), max_memory=allowed)
        if allowed == 8 * complete.size:
            again = report.analyse(source, previous=2000, rounds=400)
            np.testing.assert_array_equal(again.informed.leakage, found.informed.leakage)
            continue
        with pytest.raises(ValueError, match=r"that it may take: earlier means need all records"):
            report.analyse(source, previous=2000)


def test_callables_and_frames_that_are_no_blocks(values: np.ndarray) -> None:
    for wrong in (None, values, frame(values)):
        with pytest.raises(TypeError, match=f"iterator of blocks, not {type(wrong).__name__}"):
            report.analyse(lambda wrong=wrong: wrong, n=100)
    with pytest.raises(ValueError, match="has 0 usable"):
        report.analyse(lambda: iter([np.empty((0, 2))]))
    pandas = pytest.importorskip("pandas")
    person = pandas.Index(np.random.default_rng(0).permutation(N), name="visit")
    named = pandas.DataFrame(values, columns=list(NAMES), index=person)
    assert report.analyse(named, n=100, rounds=400).input.columns_judged == NAMES


def test_what_only_resembles_a_frame_is_refused_with_the_remedy() -> None:
    pandas = pytest.importorskip("pandas")

    class LazyFrame:  # of polars, narwhals, ...
        def collect_schema(self) -> None: ...

    with pytest.raises(TypeError, match=r"not a LazyFrame: pass what its collect\(\) returns"):
        report.analyse(LazyFrame(), n=2)
    one = pandas.Series([1.0, 2.0, 4.0])
    streams = hasattr(one, "__arrow_c_stream__")  # an older one is an array
    remedy = r"not be a Series: make a frame of it \(to_frame\)" if streams else "2-D"
    with pytest.raises((TypeError, ValueError), match=remedy):
        report.analyse(one, n=2)
