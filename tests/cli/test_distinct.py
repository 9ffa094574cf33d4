"""Records that may be of one person: verdict and exit code say so until that is settled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leakscore_app import report
from leakscore_app.cli import main

FAST = ("--rounds", "2000", "--check")


def write(path: Path, columns: dict[str, np.ndarray]) -> str:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]))
    return str(path)


def copied(ids: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """400 records, the last four of which are copies of the first one."""
    values = np.random.default_rng(1).normal(size=(400, 3)).round(4)
    values[0, 0] = 2.5
    values[396:] = values[0]
    columns = dict(zip("abc", values.T, strict=True))
    return columns if ids is None else {"who": ids, **columns}


def verdict(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["report", *arguments, *FAST])
    return code, " ".join(capsys.readouterr().out.split("\n\n")[0].split())


def test_copies_are_in_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "t.csv", copied())
    code, line = verdict(capsys, path)
    assert code == 4
    assert line.startswith("PUBLISH: ")
    assert "5 of 400 records are equal to another one: say --id COLUMN" in line
    assert "--distinct-records" in line
    code, line = verdict(capsys, path, "--distinct-records")
    assert (code, "equal" in line) == (0, False)


def test_with_ids_persons_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    who = np.arange(400)
    who[396:] = 0
    path = write(tmp_path / "t.csv", copied(who))
    code, line = verdict(capsys, path, "--id", "who")
    assert code in (2, 3)
    assert "--distinct-records" not in line


@pytest.mark.parametrize("name", ["patient_no", "individual"])
def test_a_number_of_persons_that_repeats(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = copied()
    values = {name: column[:396] for name, column in columns.items()}
    who = np.random.default_rng(3).permutation(396) // 3 + 70_000
    path = write(tmp_path / "t.csv", {name: who, **values})
    code, line = verdict(capsys, path)
    assert code == 4
    assert f"Column {name!r} has 132 different values in 396: say --id {name}" in line
    assert verdict(capsys, path, "--distinct-records")[0] == 0


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("customer nr", np.random.default_rng(5).permutation(10**6)[:396]),
        ("Patient", np.random.default_rng(5).permutation(10**6)[:396]),
        ("anything", 5000 + np.arange(396)),
    ],
)
def test_numbers_of_persons_are_no_measurements(
    name: str, numbers: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = {column: values[:396] for column, values in copied().items()}
    path = write(tmp_path / "t.csv", {name: numbers, **values})
    result = report.analyse(report.open_table(path), rounds=200)
    assert result.input.columns_judged == ("a", "b", "c")
    assert verdict(capsys, path)[0] == 0


def test_no_verdict_but_to_publish_is_in_doubt() -> None:
    values = np.stack(list(copied().values()), axis=1)
    values[7] *= 100.0
    result = report.analyse(values, rounds=400, max_noise=0.0)
    assert result.verdict.decision == "do not publish"
    assert result.verdict.doubt
    assert report.exit_code_of(result.verdict) == 3


def test_long_tables_too() -> None:
    values = np.random.default_rng(2).normal(size=(66_000, 2))
    values[-3000:] = values[:3000]
    result = report.analyse(values, rounds=20_000)
    assert "records are equal to another one" in result.verdict.doubt
    assert report.exit_code_of(result.verdict) == 4
    settled = report.analyse(values, rounds=20_000, distinct_records=True)
    assert (settled.verdict.doubt, report.exit_code_of(settled.verdict)) == ("", 0)
