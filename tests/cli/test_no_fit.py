"""Statistics that do not exist without a record are refused, by its number and its column."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from leakscore_app.cli import main

FAST = ("--rounds", "400", "--check")


def table(path: Path, case: str) -> str:
    """Write 300 records; record 18 alone tells of a column, whose name is returned."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    y = 2 * x + rng.normal(size=300)
    y[17] += 20
    other = np.zeros(300) if case == "flag" else x.copy()
    other[17] += 1
    words = np.array(["north", "south"])[rng.integers(0, 2, 300)].astype(object)
    words[17] = "alone"
    columns = [x, y, words if case == "level" else other]
    lines = ["x,y,z", *(f"{a!s},{b!s},{c!s}" for a, b, c in zip(*columns, strict=True))]
    path.write_text("\n".join(lines))
    return "z"


REGRESSION = ("--statistic", "regression", "--response", "y")
CASES = {
    "flag": ("flag", REGRESSION),
    "follows but for one": ("follows", REGRESSION),
    "level": ("level", (*REGRESSION, "--proportions", "z")),
    "correlations": ("flag", ("--statistic", "correlations")),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_it_is_refused_and_the_remedy_helps(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, options = CASES[case]
    path = tmp_path / "t.csv"
    table(path, kind)
    assert main(["report", str(path), *options, *FAST]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "without record 18" in error
    assert "column 'z" in error
    remedy = shlex.split(error.split("leave the column out (")[1].split(")")[0])
    assert main(["report", str(path), *options, *remedy, *FAST]) in (0, 2, 3)


def test_a_person_who_alone_tells_of_a_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=300), np.zeros(300)
    y = x + rng.normal(size=300)
    z[[17, 18]] = 1
    who = np.arange(300)
    who[18] = 17
    lines = ["who,x,y,z", *(f"{p},{a},{b},{c}" for p, a, b, c in zip(who, x, y, z, strict=True))]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    assert main(["report", str(path), *REGRESSION, "--id", "who", *FAST]) == 1
    assert "without the person of record 18" in capsys.readouterr().err
    assert main(["report", str(path), *REGRESSION, "--exclude", "who", *FAST]) in (0, 2, 3)


@pytest.mark.parametrize("words", ["level", "separated"])
@pytest.mark.parametrize("option", ["--factors", "--proportions"])
def test_categories_that_have_no_fit(
    words: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A category of one record, or without events: the option that leaves it out is named."""
    rng = np.random.default_rng(4)
    x, y, z = rng.normal(size=300), rng.integers(0, 2, 300), rng.choice(list("abc"), 300)
    z[17] = "d" if words == "level" else "c"
    y[z == "c"] *= words == "level"
    path = tmp_path / "t.csv"
    lines = [f"{a:.3f},{b},{c}" for a, b, c in zip(x, y, z, strict=True)]
    path.write_text("\n".join(["x,y,z", *lines]))
    model = ["--statistic", "glm", "--response", "y", "--family", "binomial"]
    assert main(["report", str(path), *model, option, "z", *FAST]) == 1
    error = capsys.readouterr().err
    assert ("leave 'z' out of --factors" in error) == (option == "--factors")
    remedy = ["--exclude", "z"] if "(--exclude z)" in error else []
    assert bool(remedy) == (option == "--proportions")
    given = [option, "z"] if remedy else []
    assert main(["report", str(path), *model, *given, *remedy, *FAST]) in (0, 2, 3)
