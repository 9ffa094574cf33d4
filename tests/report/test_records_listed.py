"""Which records the JSON lists: all, the worst or none; summaries speak of all of them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from leakscore_app import report
from leakscore_app.cli import main

SIZE = 70


@pytest.fixture(scope="module")
def table() -> report.Table:
    return report.table_of(np.random.default_rng(8).standard_t(3, size=(SIZE, 3)))


def judged(table: report.Table, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        report.analyse(table, rounds=200, noise_shape="same", **more).to_json()
    )
    return found


@pytest.mark.parametrize("previous", [None, [20, 50]])
def test_listed_records_are_those_of_the_whole_list(
    table: report.Table, previous: list[int] | None
) -> None:
    every = judged(table, previous=previous)
    assert every == judged(table, previous=previous, records="all")
    assert every["records_listed"] == {"which": "all", "count": SIZE, "of": SIZE}
    assert [record["row"] for record in every["records"]] == list(range(1, SIZE + 1))
    worst = judged(table, previous=previous, records="worst", worst=7)
    rows = [record["row"] for record in worst["records"]]
    assert rows == worst["worst_rows"]
    assert len(rows) == len(set(rows)) == 7
    for record in worst["records"]:
        assert record == every["records"][record["row"] - 1]
    assert worst["records_listed"] == {"which": "worst", "count": 7, "of": SIZE}


def test_summaries_do_not_depend_on_what_is_listed(table: report.Table) -> None:
    every, none = judged(table), judged(table, records="none")
    assert none["records"] == []
    assert none["records_listed"] == {"which": "none", "count": 0, "of": SIZE}
    for found in (every, none):
        del found["records"], found["records_listed"]
    assert every == none
    assert none["counts"][0]["records"] == SIZE


@pytest.mark.parametrize("ids", [None, [f"P{i // 2}" for i in range(30)]])
def test_lines_and_persons_are_those_of_the_listed(ids: list[str] | None) -> None:
    values = np.random.default_rng(2).normal(size=(30, 2))
    values[[3, 17]] = np.nan  # so that rows and indices differ
    found = judged(report.table_of(values, ids=ids), records="worst", worst=4)
    every = judged(report.table_of(values, ids=ids))
    by_row = {record["row"]: record for record in every["records"]}
    assert [by_row[record["row"]] for record in found["records"]] == found["records"]


@pytest.mark.parametrize(("size", "which"), [(10_000, "all"), (10_001, "worst")])
def test_by_default_all_up_to_ten_thousand(size: int, which: str) -> None:
    table = report.table_of(np.random.default_rng(8).normal(size=(size, 1)))
    found = judged(table, worst=3)
    count = size if which == "all" else 3
    assert found["records_listed"] == {"which": which, "count": count, "of": size}
    assert len(found["records"]) == count
    assert len(judged(table, records="all")["records"]) == size


def test_records_is_one_of_three_words(
    table: report.Table, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="records='some'"):
        report.analyse(table, records="some")
    assert main(["report", "--rounds", "200", "--records", "some"]) == 1
    assert "--records must be one of all, worst, none, not 'some'" in capsys.readouterr().err
