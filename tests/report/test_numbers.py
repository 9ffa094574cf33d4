"""The numbers of the report, computed again with plain numpy and scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from leakscore_app import report
from tests.helpers.parts import interval_of


@pytest.fixture(scope="module")
def table() -> report.Table:
    return report.embedded_table()


@pytest.fixture(scope="module")
def result(table: report.Table) -> dict[str, Any]:
    return report.analyse(table, rounds=2000, audit=True).to_dict()


def distance(x: np.ndarray, others: np.ndarray) -> float:
    away = x - others.mean(axis=0)
    return float(away @ np.linalg.solve(np.cov(others.T, ddof=0), away))


def misspecified(x: np.ndarray, others: np.ndarray) -> float:
    """Power of the statistic w'(release - mu), w = D^-1 a, under the true covariance."""
    away, cov = x - others.mean(axis=0), np.atleast_2d(np.cov(others.T, ddof=0))
    weight = away / np.diag(cov)
    return float((weight @ away) ** 2 / (weight @ cov @ weight))


def power(leakage: float) -> float:
    return float(stats.norm.sf(stats.norm.isf(0.01) - np.sqrt(leakage)))


def advantage(leakage: float) -> float:
    return float(2 * stats.norm.cdf(np.sqrt(leakage) / 2) - 1)


@pytest.mark.parametrize("row", [1, 13, 153, 213, 471, 569])
def test_record(result: dict[str, Any], table: report.Table, row: int) -> None:
    record, x = result["records"][row - 1], table.values[row - 1]
    others = np.delete(table.values, row - 1, axis=0)
    assert record["row"] == row
    m = distance(x, others) / 100
    expected = {
        "leakage": m,
        "leakage_in_sample": distance(x, table.values) / 100,
        "advantage": advantage(m),
        "power": power(m),
        "ppv_at_base_rate": 100 * power(m) / (100 * power(m) + 469 * 0.01),
        "ppv_at_1_percent": power(m) / (power(m) + 99 * 0.01),
    }
    assert {key: record[key] for key in expected} == pytest.approx(expected, rel=1e-7)
    weak = misspecified(x, others) / 100
    weaker = {"leakage": weak, "advantage": advantage(weak), "power": power(weak)}
    assert {key: record["weaker"][key] for key in weaker} == pytest.approx(weaker, rel=1e-7)
    epsilon, mu = record["gaussian_equivalent_epsilon"], np.sqrt(m)
    delta = stats.norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * stats.norm.cdf(
        -mu / 2 - epsilon / mu
    )
    assert delta == pytest.approx(1e-5, rel=1e-6) or (epsilon == 0 and delta <= 1e-5)


def test_the_worst_record_is_the_headline(result: dict[str, Any]) -> None:
    """n = 100 of the embedded table: of 1000 tables with row 153, 932 are recognised."""
    assert result["worst_rows"] == [153, 213, 462, 13, 69]
    assert round(1000 * result["records"][152]["power"]) == 932
    assert round(1000 * result["records"][152]["weaker"]["power"]) == 95


def test_counts(result: dict[str, Any]) -> None:
    for counts, of in zip(result["counts"], (lambda r: r, lambda r: r["weaker"]), strict=True):
        powers = np.array([of(record)["power"] for record in result["records"]])
        assert counts["above"] == {
            f"{100 * level:g}%": int((powers > level).sum()) for level in (0.1, 0.5, 0.9)
        }
        assert counts["median_power"] == pytest.approx(np.median(powers))
        assert counts["worst_power"] == powers.max()
        assert counts["worst_row"] == powers.argmax() + 1
    assert result["counts"][0]["above"] == {"10%": 26, "50%": 3, "90%": 1}


def test_finite_population(table: report.Table) -> None:
    result = report.analyse(table, n=100, population="finite", rounds=2000).to_dict()
    others = np.delete(table.values, 152, axis=0)
    expected = distance(table.values[152], others) / 100 / (1 - 100 / 569)
    assert result["records"][152]["leakage"] == pytest.approx(expected, rel=1e-7)
    assert result["release"]["draw"] == "without replacement"


@pytest.mark.parametrize(
    ("n", "base_population", "rate"),
    [(569, None, None), (569, 10_000, 0.0569), (50, None, 50 / 569)],
)
def test_base_rate(
    table: report.Table, n: int, base_population: int | None, rate: float | None
) -> None:
    result = report.analyse(table, n=n, base_population=base_population, rounds=200).to_dict()
    assert result["release"]["base_rate"] == rate
    record = result["records"][0]
    if rate is None:
        assert record["ppv_at_base_rate"] is None
        assert "base-rate-unknown" in [warning["code"] for warning in result["notices"]]
    else:
        flagged = rate * record["power"] + (1 - rate) * 0.01
        assert record["ppv_at_base_rate"] == pytest.approx(rate * record["power"] / flagged)


def test_drivers(result: dict[str, Any], table: report.Table) -> None:
    for drivers in result["drivers"]:
        i = drivers["row"] - 1
        others = np.delete(table.values, i, axis=0)
        away = table.values[i] - others.mean(axis=0)
        products = away * np.linalg.solve(np.cov(others.T, ddof=0), away)
        shares = {one["column"]: one["share"] for one in drivers["columns"]}
        expected = dict(zip(table.columns, products / products.sum(), strict=True))
        assert shares == pytest.approx(expected, abs=1e-6)
        assert sum(shares.values()) == pytest.approx(1)
        assert drivers["negative_shares"] == sum(share < 0 for share in shares.values()) > 0
        assert {one["value"] for one in drivers["columns"]} == {None}
    for one in result["drivers"][0]["columns"][:4]:
        kept = [j for j, name in enumerate(table.columns) if name != one["column"]]
        others = np.delete(table.values, 152, axis=0)[:, kept]
        expected = distance(table.values[152, kept], others) / 100
        assert one["leakage_without"] == pytest.approx(expected, rel=1e-6)


def test_covariance(result: dict[str, Any], table: report.Table) -> None:
    known = result["covariance"]
    assert known["condition_number"] == pytest.approx(
        np.linalg.cond(np.corrcoef(table.values.T)), rel=1e-6
    )
    ratio = stats.chi2.ppf([0.025, 0.975], 568 - 30) / 568
    worst = result["records"][152]["leakage"]
    bounds = (known["leakage_low"], known["leakage_high"])
    assert bounds == pytest.approx(tuple(worst * ratio), rel=1e-9)
    assert known["power_low"] == pytest.approx(power(bounds[0]))


def test_interval_covers_the_true_leakage() -> None:
    """Gaussian tables of 60 rows: the true distance lies in the 90 % interval 90 % of the time."""
    rng, dim, rows, tables = np.random.default_rng(8), 6, 60, 2000
    target = np.full(dim, 3.0)
    inside = 0
    for _ in range(tables):
        low, high = interval_of(distance(target, rng.normal(size=(rows, dim))), rows, dim, 0.9)
        inside += low <= target @ target <= high
    # The mean is estimated too, which widens the law a little: 1 % is allowed for it.
    assert abs(inside / tables - 0.9) < 4 * np.sqrt(0.09 / tables) + 0.01


def test_a_column_of_one_record_gives_it_away() -> None:
    rng = np.random.default_rng(4)
    values = np.column_stack([rng.normal(size=(60, 3)), np.arange(60) == 17])
    found = report.analyse(report.table_of(values), n=30, rounds=200)
    result = found.to_dict()
    record = result["records"][17]
    assert record["certain"]
    assert (record["leakage"], record["weaker"]["leakage"]) == ("inf", "inf")
    assert (record["power"], record["advantage"]) == (1.0, 1.0)
    assert record["ppv_at_1_percent"] == pytest.approx(0.01 / (0.01 + 0.99 * 0.01))
    assert not any(r["certain"] for r in result["records"] if r["row"] != 18)
    assert result["worst_rows"][0] == 18
    assert result["drivers"][0]["columns"][0]["column"] == "column 4"
    assert {game["row"] for game in result["game"]} & {18} == set()
    assert [w for w in result["notices"] if w["code"] == "certain-records"]
    dropped = next(r for r in result["remedies"] if r["kind"] == "fewer columns")
    assert "column 4" in dropped["what"]
    assert dropped["leakage"] is not None
    assert "gives itself away" in found.to_text()


def test_fewer_records_than_columns_shrink_the_covariance() -> None:
    values = np.random.default_rng(5).normal(size=(20, 30))
    result = report.analyse(report.table_of(values), n=10, rounds=200).to_dict()
    assert 0 < result["covariance"]["shrinkage"] <= 1
    assert result["covariance"]["leakage_low"] is None
    assert "shrinkage" in [warning["code"] for warning in result["notices"]]
    fixed = report.analyse(report.table_of(values), n=10, rounds=200, shrinkage=0.4).to_dict()
    others = np.delete(values, 3, axis=0)
    away, cov = values[3] - others.mean(axis=0), np.cov(others.T, ddof=0)
    shrunk = 0.6 * cov + 0.4 * np.diag(np.diag(cov))
    expected = away @ np.linalg.solve(shrunk, away) / 10
    assert fixed["records"][3]["leakage"] == pytest.approx(expected, rel=1e-9)
    with pytest.raises(ValueError, match="shrinkage=0"):
        report.analyse(report.table_of(values), n=10, shrinkage=0)
