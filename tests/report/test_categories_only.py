"""Tables of categories: equal records, columns of the file, and the numbers that follow."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from leakscore_app import report
from leakscore_app.cli import main
from tests.helpers.parts import plain


@pytest.fixture
def path(tmp_path: Path) -> str:
    rng = np.random.default_rng(1)
    rows = [f"{rng.choice([*'mf'])},{rng.choice([*'abc'])},{rng.normal():.9f}" for _ in range(200)]
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["sex,ward,age", *rows]) + "\n")
    return str(file)


COUNTS = ("--statistic", "counts", "--group-by", "sex", "--group-by", "ward")
SHARES = ("--proportions", "sex,ward", "--columns", "sex,ward")


@pytest.mark.parametrize("arguments", [COUNTS, SHARES])
def test_equal_categories_are_no_doubt(
    arguments: tuple[str, ...], path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", path, *arguments, "--rounds", "2000", "--check"]) == 0
    assert "equal to another one" not in capsys.readouterr().out


def test_of_counts_two_cells_are_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.csv"
    file.write_text("ward\n" + "a\n" * 50 + "b\n" * 3 + "c\n" * 4)
    counts = ("--statistic", "counts", "--group-by", "ward", "--drop-small-cells")
    assert main(["report", str(file), *counts]) == 1
    assert "only one cell holds 10 records or more" in capsys.readouterr().err


def test_equal_measurements_are() -> None:
    values = np.random.default_rng(1).normal(size=(200, 2))
    values[1] = values[0]
    assert "equal to another one" in report.analyse(values, rounds=200).verdict.doubt


def test_shares_that_follow_are_published_and_columns_are_those_of_the_file(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, limit = tmp_path / "out.json", ("--max-advantage", "0.05", "--max-noise", "9")
    asked = ("--proportions", "sex,ward", "--draw-noise", "--rounds", "2000", "--json", str(out))
    assert main(["report", path, *asked, *limit, "--csv", str(tmp_path / "o.csv")]) == 0
    capsys.readouterr()
    found = json.loads(out.read_text())
    assert found["input"]["columns"] == 3
    noisy = found["noise"]["noisy_mean"]
    assert noisy["sex=f"] == pytest.approx(1 - noisy["sex=m"], rel=1e-12)
    assert noisy["ward=a"] == pytest.approx(1 - noisy["ward=b"] - noisy["ward=c"], rel=1e-12)
    written = dict(line.split(",") for line in (tmp_path / "o.csv").read_text().split()[1:])
    assert {name: float(value) for name, value in written.items()} == noisy


def test_large_numbers_are_short() -> None:
    assert [plain(x) for x in (1e200, -999.0, 0.5, -0.0)] == ["1e+200", "-999", "0.5", "0"]


def test_games_of_counts_see_no_rounding(tmp_path: Path) -> None:
    """A cell of two: the count is one more, of n draws among the others of which one is in it."""
    size, levels = 2000, 20
    cells = np.random.default_rng(0).integers(1, levels**2, size)
    cells[:2] = 0
    file, page = tmp_path / "t.csv", tmp_path / "t.json"
    file.write_text("g,h\n" + "".join(f"a{cell // levels},b{cell % levels}\n" for cell in cells))
    arguments = ("--statistic", "counts", "--group-by", "g,h", "--distinct-records")
    main(["report", str(file), *arguments, "--json", str(page)])
    counts, share = np.arange(60), 1 / (size - 1)
    laws = stats.binom.pmf(counts - 1, size - 1, share), stats.binom.pmf(counts, size, share)
    truth = 0.5 * np.abs(laws[0] - laws[1]).sum()
    played = [
        of["advantage"]
        for of in json.loads(page.read_text())["game"]
        if np.count_nonzero(cells == cells[of["row"] - 1]) == 2
    ]
    assert len(played) >= 4
    for advantage in played:
        assert abs(advantage["simulated"] - truth) < 4 * advantage["std_error"]
