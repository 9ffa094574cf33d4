"""Persons of several records, judged as a whole: against refits without them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from leakscore import Reference, leakage
from leakscore.statistics import GroupMeans
from leakscore_app import report
from tests.oracles.leakage import group_leakage, groups_left_out

ROWS, DIM = 150, 3


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.standard_t(6, size=(ROWS, DIM)) @ rng.normal(size=(DIM, DIM)) * [1, 50, 0.1] + 4


@pytest.fixture(scope="module")
def person() -> np.ndarray:
    """Numbers of persons, in no order, who have 1 to 7 records; 12 has several more."""
    person = np.random.default_rng(4).integers(0, 60, ROWS)
    person[[3, 50, 51, 140]] = 12
    return person


def judged(values: np.ndarray, person: Any, **asked: Any) -> report.Report:
    table = report.table_of(values, ids=[f"P-{p}" for p in person])
    return report.analyse(table, **{"rounds": 400, **asked})


def in_order(scores: np.ndarray, person: np.ndarray) -> np.ndarray:
    """Persons sorted by label to persons in the order of their first records."""
    _, first = np.unique(person, return_index=True)
    return scores[np.argsort(first)]


def test_persons_are_left_out_as_a_whole(values: np.ndarray, person: np.ndarray) -> None:
    result = judged(values, person)
    records = result.to_dict()["records"]
    expected = in_order(groups_left_out(values, person, [ROWS], np.zeros(ROWS)), person)
    np.testing.assert_allclose(result.informed.leakage, expected, rtol=1e-9)
    curve = np.sqrt(expected)
    np.testing.assert_allclose(result.informed.advantage, 2 * stats.norm.cdf(curve / 2) - 1)
    _, first = np.unique(person, return_index=True)
    for number, record in zip(person[np.sort(first)], records, strict=True):
        rows = (np.flatnonzero(person == number) + 1).tolist()
        assert (record["row"], record["id"], record["rows"]) == (rows[0], f"P-{number}", rows)
        others = values[person != number]
        away = (values[person == number] - others.mean(axis=0)).sum(axis=0)
        weight = away / others.var(axis=0)
        spread = weight @ np.cov(others.T, ddof=0) @ weight
        weaker = (weight @ away) ** 2 / spread / ROWS
        assert record["weaker"]["leakage"] == pytest.approx(weaker, rel=1e-9)
        seen = group_leakage(values[person == number], Reference.fit(values), ROWS)
        assert record["leakage_in_sample"] == pytest.approx(seen, rel=1e-9)
    assert len(records) == len(np.unique(person)) == result.counts[0].records


def test_worst_lists_name_the_person(values: np.ndarray, person: np.ndarray) -> None:
    result = judged(values, person)
    plain, text = result.to_dict(), " ".join(result.to_text().split())
    worst = plain["records"][int(np.argmax(result.informed.leakage))]
    assert plain["worst_rows"][0] == worst["row"] == plain["verdict"]["worst"]["row"]
    assert plain["verdict"]["worst"]["id"] == plain["drivers"][0]["id"] == worst["id"]
    more = len(worst["rows"]) - 1
    assert f"person {worst['id']} (record {worst['row']} and {more} more)" in text
    assert "all 3 values of all records of one person" in text
    (told,) = [n for n in plain["notices"] if n["code"] == "persons"]
    sizes = np.unique(person, return_counts=True)[1]
    assert f"{ROWS} records belong to {len(sizes)} persons" in told["message"]
    assert f"has {sizes.max()}" in told["message"]


def test_tables_name_persons_by_their_ids_and_fit(values: np.ndarray, person: np.ndarray) -> None:
    ids = [f"P-{p}" for p in person]
    groups = {"sex": np.where(person % 2, "m", "f")}
    table = replace(report.table_of(values, ids=ids, groups=groups), lines=np.arange(ROWS) + 1002)
    result = report.analyse(table, statistic=GroupMeans("sex"), rounds=400)
    text = result.to_text()
    assert max(map(len, text.splitlines())) <= 80
    worst = result.place(result.counts[0].worst_row)["id"]
    assert re.search(rf"^ *person {worst} ", text, flags=re.M)
    assert f"means by sex and the counts of n = {ROWS} records" in repr(result)
    assert f"{len(np.unique(person))} persons judged" in repr(result)


def test_persons_of_one_record_are_records(values: np.ndarray) -> None:
    with_ids = judged(values, np.random.default_rng(1).permutation(ROWS)).to_dict()
    without = report.analyse(report.table_of(values), rounds=400).to_dict()
    for previous in (None, [40, 100]):
        if previous:
            with_ids = judged(values, np.arange(ROWS), previous=previous).to_dict()
            table = report.table_of(values)
            without = report.analyse(table, previous=previous, rounds=400).to_dict()

        def bare(plain: Any) -> Any:
            if isinstance(plain, dict):
                return {k: bare(v) for k, v in plain.items() if k not in ("id", "rows")}
            return [bare(item) for item in plain] if isinstance(plain, list) else plain

        for key in set(without) - {"notices", "verdict"}:
            assert bare(with_ids[key]) == bare(without[key]), key
        assert with_ids["verdict"]["decision"] == without["verdict"]["decision"]


@pytest.mark.parametrize("copies", [2, 5])
def test_equal_copies_leak_with_their_square(values: np.ndarray, copies: int) -> None:
    table = np.r_[values, np.repeat(values[:1] + values.std(axis=0), copies, axis=0)]
    owner = np.r_[np.arange(ROWS), np.full(copies, ROWS)]
    found = judged(table, owner, n=100).informed.leakage[-1]
    others = Reference.fit(values)
    one = leakage.leakage_score(table[-1], others, 100)
    assert found == pytest.approx(copies**2 * one, rel=1e-9)


def test_without_ids_equal_records_are_told(values: np.ndarray) -> None:
    table = np.r_[values, values[:2], values[:1], values[5:6]]
    plain = report.analyse(report.table_of(table), rounds=200).to_dict()
    (told,) = [n for n in plain["notices"] if n["code"] == "duplicates"]
    assert "7 of 154 records are equal to another one (up to 3 alike)" in told["message"]
    assert "here up to 9 times" in told["message"]
    assert "--id" in told["message"]
    for other in (judged(table, np.arange(154)), report.analyse(report.table_of(values))):
        assert "duplicates" not in {n.code for n in other.notices}


def test_an_identifier_that_is_not_used_is_told(values: np.ndarray) -> None:
    """A table of visits: each judged alone says less than all of a person together."""
    visits = np.c_[1000 + np.arange(len(values)) // 3, values]
    names = ["patient_id", *(f"x{column}" for column in range(DIM))]
    plain = report.analyse(report.table_of(visits, names), rounds=200)
    (told,) = [n for n in plain.notices if n.code == "records-of-one"]
    assert told.level == "warning"
    assert told.message.startswith(f"patient_id has {ROWS // 3} different values in {ROWS} records")
    assert told.message.endswith("--id patient_id.")
    owned = report.table_of(visits, names, ids=[str(one) for one in visits[:, 0]])
    assert "records-of-one" not in {n.code for n in report.analyse(owned, rounds=200).notices}


def test_drivers_and_remedies_follow_persons(values: np.ndarray, person: np.ndarray) -> None:
    result = judged(values, person)
    for driven in result.drivers[:3]:
        number = person[driven.row - 1]
        assert sum(one.share for one in driven.columns) == pytest.approx(1)
        for one in driven.columns:
            kept = np.delete(np.arange(DIM), int(one.column[-1]) - 1)
            others = Reference.fit(values[person != number][:, kept])
            own = values[person == number][:, kept]
            expected = group_leakage(own, others, ROWS)
            assert one.leakage_without == pytest.approx(expected, rel=1e-9)
    worst = person[result.drivers[0].row - 1]
    rest, owner = values[person != worst], person[person != worst]
    expected = groups_left_out(rest, owner, [len(rest)], np.zeros(len(rest)))
    (remedy,) = [r for r in result.remedies if r.what == "without the worst person"]
    assert remedy.leakage == pytest.approx(expected.max(), rel=1e-9)
    (_, twice) = [r for r in result.remedies if r.kind == "larger n"][:2]
    n = int("".join(filter(str.isdigit, twice.what)))
    assert twice.leakage == pytest.approx(result.informed.leakage.max() * ROWS / n, rel=1e-9)


def test_noise_brings_persons_under_the_limit(values: np.ndarray, person: np.ndarray) -> None:
    noise = judged(values, person, max_advantage=0.15, noise_shape="same").noise
    assert noise
    added = ROWS * np.array(list(noise.noise_std.values())) ** 2
    after = in_order(groups_left_out(values, person, [ROWS], np.zeros(ROWS), ridge=added), person)
    assert after.max() == pytest.approx(noise.leakage, rel=1e-8)
    assert noise.confirmed
    assert 0.1 < noise.advantage <= 0.15


def test_shrinkage_is_estimated_again_without_each_person() -> None:
    values = np.random.default_rng(2).normal(size=(13, 9))
    person = np.array([0, 0, 0, 0, *range(1, 10)])  # 9 records of others: too few for 9 columns
    result = judged(values, person)
    assert result.covariance.shrinkage is not None
    for number, score in zip(range(10), result.informed.leakage, strict=True):
        others = Reference.fit((values / values.std(axis=0))[person != number], shrinkage="auto")
        own = (values / values.std(axis=0))[person == number]
        assert score == pytest.approx(group_leakage(own, others, 13), rel=1e-9)


def test_rows_with_holes_are_told_by_person(values: np.ndarray, person: np.ndarray) -> None:
    holes, owner = values.copy(), person.copy()
    owner[0] = 99  # has one record
    holes[[0, 3, 50], 1] = np.nan
    result = judged(holes, owner)
    (told,) = [n for n in result.notices if n.code == "persons-left-out"]
    assert "1 person by the rest of their records only and 1 person not at all" in told.message
    whole = np.isfinite(holes).all(axis=1)
    expected = groups_left_out(values[whole], owner[whole], [147], np.zeros(147))
    np.testing.assert_allclose(result.informed.leakage, in_order(expected, owner[whole]), rtol=1e-9)
    record = next(r for r in result.to_dict()["records"] if r["id"] == "P-12")
    assert record["rows"] == [i + 1 for i in np.flatnonzero(owner == 12) if i not in (3, 50)]


def test_refused(values: np.ndarray) -> None:
    table = values[:40]
    for owner, asked, match in (
        (np.zeros(40), {}, "person P-0.0 has 40 of 40 records: the 0 records of others"),
        (np.r_[np.zeros(38), 1, 2], {}, "has 38 of 40 records: the 2 records of others"),
        (np.r_[np.zeros(20), 1:21], {"n": 20}, "choose n of at least 21"),
        (
            np.r_[np.zeros(20), 1:21],
            {"n": 25, "population": "finite"},
            "cannot be drawn from the other 20; choose n of at most 19",
        ),
    ):
        with pytest.raises(ValueError, match=match):
            judged(table, owner, **asked)
    for blank in ("", "  ", "\t"):
        ids = [*map(str, range(39)), blank]
        with pytest.raises(ValueError, match="record 40 has no id, as 1 of 40 records"):
            report.analyse(report.table_of(table, ids=ids), rounds=200)


def test_a_trait_of_one_person_s_records_alone_gives_that_person_away(
    values: np.ndarray, person: np.ndarray
) -> None:
    """Nobody else has it, so without this person's five records its column has no spread."""
    trait = np.isin(np.arange(ROWS), [50, 140]).astype(float)
    result = judged(np.column_stack([values, trait]), person, max_noise=9.0)
    worst = result.drivers[0]
    assert result.verdict.given_away == (worst.row,) == (4,)
    assert worst.columns[0].column == "column 4"
    assert worst.columns[0].share > 0.9
    assert all(np.isnan(driver.leakage_without) for driver in worst.columns)
    assert result.to_dict()["drivers"][0]["columns"][0]["leakage_without"] is None
