"""Other statistics than the mean of long tables: block by block, the numbers of the whole table."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from leakscore import Moments, statistics
from leakscore.statistics import Statistic
from leakscore_app import report
from tests.helpers.sizes import sizes
from tests.helpers.streamed import assert_alike

N, NAMES = 2000, ("a", "b", "c", "w")
STATISTICS: tuple[Statistic, ...] = (
    statistics.Covariance(),
    statistics.Correlations(),
    statistics.CrossProducts("w"),
    statistics.Regression("w"),
    statistics.WeightedMean("w"),
    statistics.WeightedRatio("w"),
    statistics.Several([statistics.WeightedMean("w"), statistics.Covariance()]),
    statistics.Histogram("a", [0.0, 3.0, 5.0, 9.0]),
)


@pytest.fixture
def values() -> np.ndarray:
    rng = np.random.default_rng(3)
    table = rng.standard_t(6, size=(N, 4)) @ rng.normal(size=(4, 4)) + 5
    table[:, 3] = rng.gamma(2.0, size=N)
    table[256:512, 3] *= np.arange(256) % 2  # many weights of 0
    table[17, 1], table[1800, 0] = np.nan, np.inf
    return table


def streamed(
    monkeypatch: pytest.MonkeyPatch, values: np.ndarray, statistic: Statistic, **more: Any
) -> report.Report:
    sizes(monkeypatch, long=1000, block=256)
    asked: dict[str, Any] = {"n": 200, "rounds": 200, "records": "all", **more}
    return report.analyse(report.table_of(values, NAMES), statistic=statistic, **asked)


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: one.kind)
def test_blocks_tell_what_the_whole_table_tells(
    monkeypatch: pytest.MonkeyPatch, values: np.ndarray, statistic: Statistic
) -> None:
    values[:, 2] = 2 * values[:, 1] if statistic.kind == "covariance" else values[:, 2]
    found = streamed(monkeypatch, values, statistic)
    sizes(monkeypatch, long=10**9)
    whole = report.analyse(
        report.table_of(values, NAMES), statistic=statistic, n=200, rounds=200, records="all"
    )
    assert "long-table" in {one.code for one in found.notices}
    assert "long-table" not in {one.code for one in whole.notices}
    assert_alike(found, whole)
    assert found.noise is not None
    assert whole.noise is not None
    assert found.noise.theory_standard_errors == pytest.approx(
        whole.noise.theory_standard_errors, rel=1e-6
    )


def test_a_sum_is_called_a_sum(monkeypatch: pytest.MonkeyPatch, values: np.ndarray) -> None:
    found = streamed(monkeypatch, values, statistics.Sum())
    assert json.loads(found.to_json())["release"]["statistic"] == "sum"
    assert found.release.what.startswith("The sum")


@pytest.mark.parametrize("statistic", STATISTICS[:7], ids=lambda one: one.kind)
def test_moments_prepare_as_the_records_do(values: np.ndarray, statistic: Statistic) -> None:
    table = values[np.isfinite(values).all(axis=1)] * [1.0, 1e-6, 1e6, 1.0] + [0, 1, 0, 0]
    moments = Moments(4)
    for start in range(0, len(table), 300):
        moments.update(table[start : start + 300])
    bound = statistic.on(NAMES)
    expected = bound.prepare(table).features(table)
    found = bound.prepare(moments).features(table)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())


def test_moments_refuse_what_the_records_do(values: np.ndarray) -> None:
    table = values[np.isfinite(values).all(axis=1)]
    regression = statistics.Regression("w").on(NAMES)
    alone = (table - table.mean(axis=0)) / table.std(axis=0)
    for column, of, message in (
        (2, alone[:, 0] - alone[:, 1], "predictors must be linearly independent"),
        (2, np.full(len(table), 3.0), "predictors must be linearly independent"),
        (3, 4 * alone[:, 0] + 1, "response='w' must not follow from the predictors"),
        (3, np.full(len(table), 3.0), "response='w' must vary"),
    ):
        alone_too = alone.copy()
        alone_too[:, column] = of
        moments = Moments(4)
        moments.update(alone_too)
        for told in (moments, alone_too):
            with pytest.raises(ValueError, match=message):
                regression.prepare(told)
    moments = Moments(2)
    moments.update([[1.0, 0.0], [2.0, 0.0]])
    for statistic, message in (
        (statistics.Correlations(), "column 'w' must vary"),
        (statistics.WeightedMean("w"), "above 0: all are 0"),
        (statistics.WeightedRatio("w"), "above 0: all are 0"),
    ):
        with pytest.raises(ValueError, match=message):
            statistic.on(["a", "w"]).prepare(moments)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.nan, "finite and at least 0, not nan in record 1501"),
        (-1.0, "finite and at least 0, not -1.0 in record 1501"),
        (np.inf, "finite and at least 0, not inf in record 1501"),
        (None, "above 0: all are 0"),
    ],
)
def test_bad_weights_are_refused(
    monkeypatch: pytest.MonkeyPatch, values: np.ndarray, weight: float | None, message: str
) -> None:
    values[slice(None) if weight is None else 1500, 3] = 0.0 if weight is None else weight
    for statistic in (statistics.WeightedMean("w"), statistics.WeightedRatio("w")):
        with pytest.raises(ValueError, match=message):
            streamed(monkeypatch, values, statistic)


def test_records_without_a_response_are_left_out(
    monkeypatch: pytest.MonkeyPatch, values: np.ndarray
) -> None:
    values[[3, 1999], 3] = np.nan
    found = streamed(monkeypatch, values, statistics.Regression("w"))
    assert [(one.reason, one.count, one.first) for one in found.input.rows_left_out] == [
        ("a value is missing", 3, (4, 18, 2000)),
        ("a value is infinite", 1, (1801,)),
    ]
    assert found.input.rows_judged == N - 4
    with pytest.raises(ValueError, match="column 'w' must be judged, but: --exclude"):
        streamed(monkeypatch, values, statistics.Regression("w"), exclude=["w"])


def test_blocks_of_many_features_have_fewer_rows(
    monkeypatch: pytest.MonkeyPatch, values: np.ndarray
) -> None:
    steps: list[str] = []
    asked: dict[str, Any] = {"progress": lambda what, _: steps.append(what)}
    large = streamed(monkeypatch, values, statistics.Covariance(), **asked)
    assert not any(": 64 of 2,000 records" in step for step in steps)
    sizes(monkeypatch, block_numbers=64 * 14, fewest_rows=8)
    assert_alike(streamed(monkeypatch, values, statistics.Covariance(), **asked), large)
    assert any(": 64 of 2,000 records" in step for step in steps)


def test_tables_of_few_columns_use_one_thread_of_blas(
    monkeypatch: pytest.MonkeyPatch, values: np.ndarray
) -> None:
    """There the threads of BLAS waited for each other: up to six times the CPU time."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    table = report.table_of(values[:600], NAMES)
    seen: list[set[int]] = []

    def progress(what: str, share: float) -> None:
        found = threadpoolctl.threadpool_info()
        seen.append({one["num_threads"] for one in found if one["user_api"] == "blas"})

    with threadpoolctl.threadpool_limits(2, "blas"):
        for most, threads in ((table.values.shape[1], {1}), (table.values.shape[1] - 1, {2})):
            sizes(monkeypatch, few_columns=most)
            seen.clear()
            report.analyse(table, shrinkage=0.1, rounds=200, progress=progress)
            assert seen
            assert set().union(*seen) == threads
