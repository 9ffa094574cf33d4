"""A column that follows from others but for few records is refused, and rounding is not."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore_app import report
from tests.helpers.sizes import sizes

N = 600


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(0).normal([50.0, 5.0], [10.0, 1.0], size=(N, 2)).round(3)


def analyse(values: np.ndarray | report.Table) -> report.Report:
    return report.analyse(values, rounds=200)


@pytest.fixture(params=["whole", "blocks"])
def held(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Judge in memory, and block by block."""
    if request.param == "blocks":
        sizes(monkeypatch, long=100)
    return str(request.param)


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("holders", [1, 2, 4])
@pytest.mark.parametrize("kind", ["copy", "sum"])
def test_few_records_that_differ_are_refused_by_name(
    kind: str, holders: int, values: np.ndarray
) -> None:
    third = values[:, 0] if kind == "copy" else values.sum(axis=1)
    third = third + np.where(np.isin(np.arange(N), range(7, 7 + holders)), 1e-4, 0.0)
    with pytest.raises(
        ValueError, match=r"'column 3' follows from others but for record (8|9|10|11),"
    ):
        analyse(np.column_stack([values, third]))


@pytest.mark.usefixtures("held")
def test_rounding_and_many_holders_are_left_out(values: np.ndarray) -> None:
    single = values.astype(np.float32).astype(np.float64)
    many = np.where(np.arange(N) % 20 == 0, 1e-5, 0.0)
    for third in (
        values.sum(axis=1),
        2.54 * values[:, 0] + 32,
        (single[:, 0] + single[:, 1]).astype(np.float32).astype(np.float64),
        values[:, 0] + many,
    ):
        table = np.column_stack([values, third])
        assert analyse(table).input.dependent_columns == ("column 3",)


def test_records_of_one_person_count_together(values: np.ndarray) -> None:
    few = np.isin(np.arange(N), range(7, 17))
    table = np.column_stack([values, values[:, 0] + np.where(few, 1e-5, 0.0)])
    names = ["a", "b", "c"]
    assert analyse(report.table_of(table, names)).input.dependent_columns == ("c",)
    who = np.where(few, "p", np.arange(N).astype(str))
    with pytest.raises(ValueError, match="'c' follows from others but for record 8"):
        analyse(report.table_of(table, names, ids=who.tolist()))


@pytest.mark.usefixtures("held")
def test_digits_beyond_the_twelfth_are_refused_by_name(values: np.ndarray) -> None:
    last = 1e12 + (np.arange(N) == 7)
    with pytest.raises(ValueError, match=r"'column 3' differ only beyond their twelfth digit"):
        analyse(np.column_stack([values, last]))
    last = np.where(np.arange(N) == 7, 0.1 + 0.2, 0.3)
    assert "column 3" not in analyse(np.column_stack([values, last])).input.columns_judged


def test_the_threshold_is_where_the_default_limit_is() -> None:
    """A record with a share of 0.2 of a direction has an advantage of 0.2 in a mean of all."""
    flag = np.zeros(N)
    flag[:5] = 1
    informed = analyse(flag[:, None]).informed
    assert informed.leakage[0] == pytest.approx(0.25, rel=0.01)
    assert informed.advantage[0] == pytest.approx(0.2, abs=0.005)
