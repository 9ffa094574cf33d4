"""Tables by group and shares of long tables: block by block, the numbers of the whole table."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from leakscore import statistics
from leakscore.statistics import Statistic
from leakscore_app import Table, report
from tests.helpers.sizes import sizes
from tests.helpers.streamed import assert_alike

N, NAMES = 2000, ("a", "b", "c")
BY = ("region", "sex")
STATISTICS: tuple[Statistic, ...] = (
    statistics.GroupMeans(BY),
    statistics.Counts(BY),
    statistics.Proportions(BY),
    statistics.Several([statistics.GroupMeans("region"), statistics.Counts("sex")]),
    statistics.Several([statistics.Counts("region"), statistics.Counts("sex")]),
    statistics.Several([statistics.GroupMeans(BY), statistics.Mean()]),
)
NAMED = [f"{place} {one.kind}" for place, one in enumerate(STATISTICS)]


def table(seed: int = 3, **groups: Any) -> Table:
    """Numbers with holes, groups that are not known, and a level of incomplete records only."""
    rng = np.random.default_rng(seed)
    values = rng.standard_t(6, size=(N, 3)) @ rng.normal(size=(3, 3)) + 5
    values[17, 1], values[1800, 0] = np.nan, np.inf
    values[:, 2] += 3 * (np.arange(N) % 7 == 0)
    region = np.array(["n", "s", "e"])[rng.choice(3, N, p=[0.5, 0.3, 0.2])]
    sex = np.array(["f", "m", ""])[rng.choice(3, N, p=[0.5, 0.49, 0.01])]
    region[17] = "incomplete"
    return report.table_of(values, NAMES, groups={"region": region, "sex": sex, **groups})


def both(
    monkeypatch: pytest.MonkeyPatch, one: Table, statistic: Statistic, **more: Any
) -> tuple[report.Report, report.Report]:
    asked: dict[str, Any] = {"n": 200, "rounds": 200, "records": "all", **more}
    sizes(monkeypatch, long=1000, block=256)
    streamed = report.analyse(one, statistic=statistic, **asked)
    sizes(monkeypatch, long=10**9)
    return streamed, report.analyse(one, statistic=statistic, **asked)


@pytest.mark.parametrize("statistic", STATISTICS, ids=NAMED)
def test_blocks_tell_what_the_whole_table_tells(
    monkeypatch: pytest.MonkeyPatch, statistic: Statistic
) -> None:
    found, whole = both(
        monkeypatch, table(), statistic, exclude=["c"], max_advantage=0.5, n=None, draw_noise=10**15
    )
    games = {"theory-differs"}  # by few rounds
    codes = [{one.code for one in each.notices} - games for each in (found, whole)]
    assert codes[0] == codes[1] | {"long-table"}
    assert_alike(found, whole)
    assert found.min_cell == whole.min_cell
    assert found.exact == pytest.approx(whole.exact, rel=1e-9)
    assert len(found.cells) == len(whole.cells)
    for cell, other in zip(found.cells, whole.cells, strict=True):
        ours_, plain_ = dataclasses.asdict(cell), dataclasses.asdict(other)
        for name in ("leakage", "advantage", "power"):
            assert ours_.pop(name) == pytest.approx(plain_.pop(name), rel=1e-9)
        assert ours_ == plain_


def test_cells_are_not_published_where_few_are_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record alone in its cell is given away, and both of a cell of two to each other."""
    labels = np.array(["many"] * N)
    labels[[5, 900]], labels[1999] = "two", "one"
    one = table(kind=labels)
    for found in both(monkeypatch, one, statistics.Counts("kind")):
        assert [(cell.cell, cell.records) for cell in found.cells] == [
            ("kind=many", N - int((one.groups["sex"] == "").sum()) - 3),
            ("kind=one", 1),
            ("kind=two", 2),
        ]
        assert [cell.row for cell in found.cells[1:]] == [2000, 6]
        assert np.isinf(found.cells[1].leakage)
        assert found.verdict is not None
        assert found.verdict.decision == "do not publish"


def test_the_count_of_the_first_cell_with_records_is_not_the_same_in_every_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first cell of all is empty; of the second the count is n less those of the others."""
    kind = np.where(np.arange(N) < 20, "b", "c")
    where = np.where((np.arange(N) % 2 == 0) | (kind == "b"), "v", "u")
    one = table(kind=kind, where=where)
    for found in both(monkeypatch, one, statistics.GroupMeans(("kind", "where"))):
        reasons = {left.name: left.reason for left in found.input.columns_left_out}
        assert reasons["kind=b, where=v"] == (
            "within its cell it is the same in all records, or follows from other columns"
        )
        assert reasons["a where kind=b, where=u"].startswith("the same in every record")
        assert "kind=b, where=v" in found.input.dependent_columns


@pytest.mark.parametrize("by", [("kind", "sex"), "kind"])
def test_cells_of_few_records_are_pooled(monkeypatch: pytest.MonkeyPatch, by: Any) -> None:
    """A number that does not vary within a large cell, and nearly none within a small one."""
    labels = np.array(["many"] * N)
    labels[::100], labels[[3, 4]], labels[[5, 6, 7]] = "few", "two", "three"
    one = table(kind=labels, region=np.array(["n"] * N))
    one.values[labels == "many", 1] = 2.0
    one.values[20:23, 2] += 30.0  # the worst of a large cell
    statistic = statistics.GroupMeans(by)
    found, whole = both(monkeypatch, one, statistic, max_advantage=0.5, decimals=2)
    assert_alike(found, whole)
    assert found.pooled_cells == whole.pooled_cells
    assert {"kind=few", "kind=two"} <= {cell.split(",")[0] for cell in found.pooled_cells}
    assert [cell.row for cell in found.cells] == [cell.row for cell in whole.cells]
    assert found.covariance.kind == whole.covariance.kind == "pooled"
    assert found.noise is not None
    assert whole.noise is not None
    assert found.noise.theory_standard_errors == pytest.approx(
        whole.noise.theory_standard_errors, rel=1e-9
    )
    for ours, plain in zip(found.remedies, whole.remedies, strict=True):
        assert ours.worst_row == plain.worst_row
        assert ours.leakage == pytest.approx(plain.leakage, rel=1e-9)


def test_a_column_of_too_many_levels_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes(monkeypatch, long=1000)
    size = 200_000
    one = report.table_of(np.eye(size, 1), groups={"who": np.arange(size).astype(str)})
    for statistic, message in (
        (statistics.Counts("who"), "fewer than 200000 cells: publish coarser groups"),
        (statistics.GroupMeans("who"), "fewer than 200000 cells: publish coarser groups"),
        (statistics.Proportions("who"), "at most 5000 features, not 199999"),
    ):
        with pytest.raises(ValueError, match=message):
            report.analyse(one, statistic=statistic)


def test_more_features_than_a_sample_may_have_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes(monkeypatch, long=1000)
    one = table(who=(np.arange(N) // 25).astype(str))
    sizes(monkeypatch, memory=8 * 65_536 * 79)
    assert report.analyse(one, statistic=statistics.Counts("who"), rounds=200).cells
    sizes(monkeypatch, memory=8 * 65_536 * 78)
    with pytest.raises(ValueError, match=r"79 features of .* need 39\.5 MiB of memory"):
        report.analyse(one, statistic=statistics.Counts("who"), rounds=200)


def test_records_are_left_out_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of covariances of many features, as many as fit are estimated in one pass."""
    alone = np.array(["many"] * N)
    alone[[5, 90, 1500]] = ["p", "q", "r"]
    found = []
    for together in (1, 9 * 3, 1 << 23):
        sizes(monkeypatch, covariances=together)
        streamed, _ = both(monkeypatch, table(kind=alone), statistics.Counts("kind"))
        found.append(streamed.to_json())
    assert found[0] == found[1] == found[2]


def test_statistics_of_numbers_refuse_categories(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes(monkeypatch, long=1000)
    with pytest.raises(ValueError, match="column 'region' must hold numbers, not categories"):
        report.analyse(table(), statistic=statistics.Covariance())
    with pytest.raises(ValueError, match="by='town' must be one of"):
        report.analyse(table(), statistic=statistics.GroupMeans("town"))


def test_blocks_of_many_cells_have_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    asked: dict[str, Any] = {"progress": lambda what, _: steps.append(what)}
    large, whole = both(monkeypatch, table(), statistics.GroupMeans(BY), **asked)
    assert not any(": 64 of 2,000 records" in step for step in steps)
    numbers = len(whole.input.columns_judged)
    sizes(monkeypatch, block_by_group=64 * numbers, fewest_rows=8)
    small, _ = both(monkeypatch, table(), statistics.GroupMeans(BY), **asked)
    assert_alike(small, large)
    assert any(": 64 of 2,000 records" in step for step in steps)


def test_of_equal_records_of_a_cell_the_first_is_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    """They lie in one block and in later ones, beside blocks without a record of the cell."""
    kind = np.array(["many"] * N)
    kind[300:500], kind[1500:1600] = "some", "some"
    one = table(kind=kind)
    for rows, value in (([301, 310, 1510], 90.0), ([600, 50, 1999], -90.0)):
        one.values[rows] = value
    for found in both(monkeypatch, one, statistics.GroupMeans("kind")):
        assert {cell.cell: cell.row for cell in found.cells} == {"kind=many": 51, "kind=some": 302}


def test_json_has_the_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = both(monkeypatch, table(), statistics.GroupMeans("region"), records="none")
    plain = json.loads(found.to_json())
    assert [one["cell"] for one in plain["cells"]] == ["region=e", "region=n", "region=s"]
    assert sum(one["records"] for one in plain["cells"]) == plain["input"]["rows_judged"]
    assert plain["min_cell"] == 10
