"""Errors of the command name columns and its options; those of functions their arguments."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from leakscore_app import report
from leakscore_app.cli import main

REGRESSION = "--statistic regression --response total"
COX = "--statistic cox --time a"


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Three columns, their sum, and one that is the same in every record."""
    values = np.random.default_rng(0).normal(size=(40, 3)).round(3)
    values = np.column_stack([values, values.sum(axis=1).round(3), np.full(40, 7)])
    path = tmp_path / "t.csv"
    np.savetxt(path, values, "%g", delimiter=",", header="a,b,c,total,same", comments="")
    return str(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (REGRESSION, "--response 'total' must not follow from the predictors 'a', 'b', 'c': leave"),
        (REGRESSION, "leave one of them out with --exclude"),
        ("--statistic regression --response same", "--response 'same' must vary: it is the same"),
        (
            "--statistic correlations --columns a",
            "must be of two columns of numbers at least, not of 'a'",
        ),
        (
            "--statistic counts --group-by same",
            "number to publish, but of the columns 'same' there",
        ),
        (f"{REGRESSION} --exclude total", "column 'total' must be judged, but: --exclude or --col"),
        (f"{REGRESSION} --columns total", "(total: an option of the statistic names it; "),
        (
            "--group-by a --exclude a",
            "column 'a' must not be in --exclude: --group-by or",
        ),
        (f"{REGRESSION} --proportions total", "but: --proportions takes it for categories"),
        (f"{COX} --event a", "column 'a' must be judged, but: two options name it"),
        (
            "--statistic covariance --sensitive a",
            "--sensitive 'a' must be a column of means, sums or shares",
        ),
        ("--sensitive a --previous 9", "--sensitive 'a' must be a column of one release without"),
        ("--statistic median", "instead (--statistic counts --group-by COLUMN)"),
        ("--n 50", "--n 50 must be <= 40"),
        ("--previous 9,3", "--previous 9,3 must increase"),
        ("--max-advantage 2", "--max-advantage 2.0 must be in (0, 1)"),
        ("--base-population 3", "--base-population 3 must be >= 40"),
        (
            "--draw-noise --n 9",
            "--draw-noise must be given with the mean of all 40 records, not of --n 9",
        ),
    ],
)
def test_options_are_named(
    options: str, message: str, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", table, *shlex.split(options)]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    for argument in ("response=", "n=", "columns=", "draw_noise", "max_advantage", "previous="):
        assert argument not in error


def test_functions_name_arguments(table: str) -> None:
    with pytest.raises(ValueError, match="n=50 must be <= 40"):
        report.analyse(report.open_table(table), n=50)


def test_too_few_records_name_the_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(1)
    lines = []
    for row, (a, b, c) in enumerate(rng.normal(size=(30, 3)).round(3).tolist()):
        lines.append(f"{a},{b},{c}" if row == 9 else (f"{a},{b}," if row < 9 else f"{a},,{c}"))
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,c", *lines]))
    assert main(["report", str(path)]) == 1
    error = capsys.readouterr().err
    assert "1 usable record(s)" in error
    assert "29 miss a value (b in 20, c in 9), try --missing columns or --exclude" in error
    for remedy in (["--exclude", "b"], ["--exclude", "c"], ["--missing", "columns"]):
        assert main(["report", str(path), "--rounds", "200", *remedy]) == 0


def test_the_help_of_risk_has_all_names_of_members(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["risk", "--help"]) == 0
    words = set(re.findall(r"[\w.]+", capsys.readouterr().out))
    assert words >= {"member", "is_member", "train", "in_train", "included", "true_labels"}
