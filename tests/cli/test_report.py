"""``leakscore report`` from end to end: good files, bad files, options."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import leakscore
from leakscore_app.cli import main

FAST = ["--rounds", "200"]


@pytest.fixture
def csv_file(tmp_path: Path) -> Path:
    values = np.random.default_rng(1).normal(size=(40, 3))
    path = tmp_path / "people.csv"
    np.savetxt(path, values, delimiter=",", header="age,height,income", comments="")
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def parsed(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    code, out, err = run(capsys, "report", *arguments, *FAST, "--json", "-")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"leakscore {leakscore.__version__}\n", "")


def test_report_without_data_is_the_embedded_table(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "report", *FAST)
    assert (code, err) == (0, "")
    assert out.startswith("DO NOT PUBLISH: asked whether record 153 is in, ")
    assert "\nThe mean of n = 100 records in 30 columns is published" in out
    assert "CC BY 4.0" in out


def test_as_a_program() -> None:
    command = [sys.executable, "-m", "leakscore"]
    done = subprocess.run([*command, "report", *FAST], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    failed = subprocess.run(
        [*command, "report", "nowhere.csv"], capture_output=True, text=True, check=False
    )
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == "leakscore: error: nowhere.csv: No such file or directory\n"


@pytest.mark.parametrize("ending", ["csv", "npy", "npz", "parquet"])
def test_every_format_gives_the_same_numbers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, csv_file: Path, ending: str
) -> None:
    values = np.loadtxt(csv_file, delimiter=",", skiprows=1)
    path = tmp_path / f"people.{ending}"
    if ending == "npy":
        np.save(path, values)
    elif ending == "npz":
        np.savez(path, people=values)
    elif ending == "parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        names = ["age", "height", "income"]
        pq.write_table(pa.table(dict(zip(names, values.T, strict=True))), path)
    expected, found = parsed(capsys, csv_file), parsed(capsys, path)
    for result in (expected, found):  # a file of arrays has no lines
        lined = result is expected or ending == "csv"
        assert all(("line" in record) == lined for record in result["records"])
        for record in (*result["records"], *result["game"]):
            record.pop("line", None)
    assert found["records"] == expected["records"]
    assert found["game"] == expected["game"]
    assert found["input"]["path"] == str(path)


def test_standard_input(
    capsys: pytest.CaptureFixture[str], csv_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with csv_file.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        found = parsed(capsys, "-")
    assert found["records"] == parsed(capsys, csv_file)["records"]
    assert found["input"]["name"] == "standard input"


def test_files_are_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, csv_file: Path
) -> None:
    page, numbers = tmp_path / "r.html", tmp_path / "r.json"
    code, out, _ = run(capsys, "report", csv_file, *FAST, "--html", page, "--json", numbers)
    assert code == 0
    assert "\nThe mean of n = 40 records in 3 columns" in out
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert json.loads(numbers.read_text("utf-8"))["release"]["n"] == 40
    code, out, _ = run(capsys, "report", csv_file, *FAST, "--html", "-", "--json", numbers)
    assert out == page.read_text("utf-8")
    assert run(capsys, "report", csv_file, *FAST, "--quiet") == (0, "", "")


def test_everything_left_out_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = ["id,name,a,b,c,same,twice,hole"]
    for i in range(30):
        a, b, c = rng.normal(size=3).tolist()
        hole = "NA" if i in (3, 8) else f"{rng.normal()}"
        lines.append(f"{i + 1},x{i},{a},{b},{c},7,{2 * a},{hole}")
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    code, out, _ = run(capsys, "report", path, *FAST)
    assert code == 0
    text = " ".join(out.split())
    for said in (
        "The verdict covers only 6 of 7 columns (name left out: --proportions or --group-by keeps "
        "text) and 28 of 30 records.",
        "name is left out: text in 30 of 30 cells (line 2: 'x0').",
        "--proportions name publishes the share of each value, --group-by name the means by it.",
        "id is left out: it counts or names the records.",
        "same is left out: the same in every record: it tells nothing.",
        "twice is left out: a copy or a multiple of a: it tells nothing more.",
        "2 records are left out: a value is missing (records 4, 9): hole in 2.",
        "'NA' is read as missing (hole in 2 cells).",
        "t.csv holds 30 records in 8 columns; 28 records in 4 columns are judged.",
        "compute them from the noisy means of the others",
    ):
        assert said in text, said
    found = parsed(capsys, path)
    assert found["input"]["columns_judged"] == ["a", "b", "c", "hole"]
    assert [row["row"] for row in found["records"]][:4] == [1, 2, 3, 5]
    codes = {warning["code"] for warning in found["notices"]}
    assert {"rows-left-out", "columns-left-out", "dependent-columns"} <= codes


def test_an_identifier_is_suspected(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(30, 2))
    path = tmp_path / "t.npy"
    np.save(path, np.column_stack([np.arange(30) + 1000, values]))
    left_out = parsed(capsys, path)["input"]["columns_left_out"]
    assert [(column["name"], "names the records" in column["reason"]) for column in left_out] == [
        ("column 1", True)
    ]


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("", [], "is empty"),
        ("a,b\n", [], "0 usable record(s)"),
        ("a,b\n1,2\n", [], "1 usable record(s)"),
        ("a,b\nx,y\nz,w\n", [], "no column of numbers to judge"),
        ("a,b\n1,2\n3\n", [], "line 3: 1 cells, but 2"),
        ("a,b\n1,2\n3,5\n4,4\n", ["--n", "9"], "--n 9 must be <= 3"),
        ("a,b\n1,2\n3,5\n4,4\n", ["--n", "x"], "--n must be a whole number, not 'x'"),
        ("a,b\n1,2\n3,5\n4,4\n", ["--columns", "c"], "no column 'c'"),
        ("a,b\n1,2\n3,5\n4,4\n", ["--json", "/nowhere/x.json"], "cannot write /nowhere/x.json"),
        ("a,b\n1,2\n3,5\n4,4\n", ["--html", "/tmp"], "cannot write /tmp: it is a directory"),
        ("a,b\n1,2\n3,5\n4,4\n", ["--key", "x"], "no npz or zip archive"),
        ("a,b\n1,2\n3,5\n4,4\n", ["--json", "-", "--html", "-"], "only one of"),
        ("a,b\n1,2\n3,5\n4,4\n", ["--epsilon", "1", "--max-advantage", ".1"], "not both"),
        ("a,b\n1,2\n3,5\n4,4\n", ["--delimiter", ",,"], "neither one character"),
        ("a,b\n1,2\n3,5\n4,4\n", ["--shrinkage", "most"], "neither a number nor auto"),
        ("a,b\n1,2\n3,5\n4,4\n", ["--nonsense"], "there is no option --nonsense"),
    ],
)
def test_errors_are_one_line_and_exit_code_1(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    content: str,
    arguments: list[str],
    message: str,
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    code, out, err = run(capsys, "report", path, *FAST, *arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
    assert "error: " in err


def test_a_directory_is_no_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = run(capsys, "report", tmp_path)
    assert (code, err.count("\n")) == (1, 1)


def test_nothing_is_unpickled(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple:
            return (Path.touch, (tmp_path / "sprung",))

    np.save(tmp_path / "t.npy", np.array([[Trap()]], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "t.npz", x=np.array([[Trap()]], dtype=object))
    for name in ("t.npy", "t.npz"):
        code, _, err = run(capsys, "report", tmp_path / name)
        assert (code, "Python objects" in err) == (1, True)
    assert not (tmp_path / "sprung").exists()


def test_progress_is_for_terminals_only(
    capsys: pytest.CaptureFixture[str], csv_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, out, err = run(capsys, "report", csv_file, *FAST)
    assert code == 0
    assert "playing record" in err
    assert run(capsys, "report", csv_file, *FAST, "--quiet")[2] == ""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert run(capsys, "report", csv_file, *FAST) == (0, out, "")
