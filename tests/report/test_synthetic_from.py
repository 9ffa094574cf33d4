"""``leakscore report --synthetic-from``: what a table drawn from released numbers can tell."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from leakscore_app.cli import main
from tests.helpers.synthetic import played_and_bound

COLUMNS = ("--columns", "mean radius,mean texture")
ROUNDS = ("--rounds", "400", "--n", "300")


def words(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["report", *arguments]) == code
    out, err = capsys.readouterr()
    return " ".join((out if code == 0 else err).split())


def test_the_bound_is_that_of_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    written = []
    for source in (("--statistic", "covariance"), ("--synthetic-from", "means,covariance")):
        text = words(capsys, *COLUMNS, *ROUNDS, *source, "--json", "-")
        written.append(json.loads(text))
    plain, drawn = written
    assert (plain["release"].pop("synthetic"), drawn["release"].pop("synthetic")) == (False, True)
    assert drawn["notices"].pop(1)["code"] == "synthetic-bound"
    assert plain == drawn


def test_text_and_page_speak_of_a_synthetic_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    source = ("--synthetic-from", "covariance", "--html", str(page))
    text = words(capsys, *COLUMNS, *ROUNDS, *source)
    said = (
        "A synthetic table is published. It is drawn from means and covariances of n = 300 records "
        "(5 numbers in all) alone, without noise, and tells no more than these numbers do."
    )
    assert said in text
    assert said in page.read_text("utf-8")
    assert "Ranks and ranges of columns" in text
    text = words(capsys, *COLUMNS, *ROUNDS, "--synthetic-from", "means")
    assert "drawn from the mean of n = 300 records in 2 columns alone" in text


def test_cells_are_counts_of_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(2)
    cells = zip(rng.choice(["m", "f"], 400), rng.choice(["a", "b", "c"], 400), strict=True)
    path = tmp_path / "t.csv"
    path.write_text("sex,city\n" + "".join(f"{sex},{city}\n" for sex, city in cells))
    group = ("--group-by", "sex,city", "--rounds", "4000", "--distinct-records")
    text = words(capsys, str(path), *group, "--synthetic-from", "cells")
    assert "drawn from the counts by sex, city of n = 400 records (6 cells) alone" in text
    assert text.startswith("PUBLISH: ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--synthetic-from", "ranks"), "--synthetic-from ranks must be means"),
        (("--synthetic-from", "means,cells"), "--synthetic-from means,cells must be"),
        (("--synthetic-from", "cells"), "--synthetic-from cells needs --group-by"),
        (("--synthetic-from", "means", "--statistic", "sum"), "in place of --statistic"),
    ],
)
def test_other_generators_have_no_bound(
    options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in words(capsys, *options, code=1)


def test_attacks_stay_below_the_bound() -> None:
    upper, bound = played_and_bound(3, 1000)
    assert 0.1 < max(upper) < bound
