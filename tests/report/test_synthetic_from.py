"""``leakscore report --synthetic-from``: what a table drawn from released numbers can tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leakscore_app
from leakscore import audit, games, scores, statistics, tradeoff
from leakscore_app.cli import main

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


def fitted(table: Any, rng: np.random.Generator) -> Any:
    return rng.multivariate_normal(table.mean(axis=0), np.cov(table.T), len(table))


ATTACKS = ("moments", "distance", "density")


def played_and_bound(seed: int, rounds: int) -> tuple[list[float], float]:
    """Return upper ends of the advantages that are played on the worst record, and their bound."""
    rng = np.random.default_rng(seed)
    X, others = rng.normal(size=(200, 3)), rng.normal(size=(1000, 3))
    statistic = statistics.Covariance()
    report = leakscore_app.analyse(leakscore_app.table_of(X), statistic=statistic, rounds=400)
    worst = int(np.argmax(report.informed.leakage))
    target, played = X[[report.rows[worst] - 1]], []

    def score(table: Any) -> float:
        found = scores.synthetic_scores(target, table, others, 200)
        played.append([getattr(found, attack)[0] for attack in ATTACKS])
        return 0.0

    population = games.Gaussian(np.zeros(3), np.ones(3))
    _, member = games.synthetic(
        fitted, population, target[0], 200, rounds=rounds, score=score, rng=seed, balanced=True
    )
    audits = [audit.Audit.from_rounds(column, member) for column in np.transpose(played)]
    bound = tradeoff.gaussian(leakage=float(report.informed.leakage[worst]))
    return [each.band(0.95).advantage()[1] for each in audits], float(bound.advantage())


def test_attacks_stay_below_the_bound() -> None:
    upper, bound = played_and_bound(3, 2000)
    assert 0.1 < max(upper) < bound


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_the_bound_lies_above_the_bands_of_attacks(seed: int) -> None:
    upper, bound = played_and_bound(seed, 10_000)
    assert max(upper) < bound
