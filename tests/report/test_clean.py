"""What is judged and what is left out, always with its reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore_app.report import Table, analyse, table_of


def judged(values: np.ndarray | Table, text: dict[int, str] | None = None, **options: Any) -> Any:
    """What a report says that it judges of a table."""
    if not isinstance(values, Table):
        columns = tuple("abcdefghijklmnop"[: values.shape[1]])
        values = Table("t.csv", "t.csv", "0" * 64, columns, values, text or {})
    return analyse(values, rounds=200, **options).input


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(50, 4)) * [1, 1e6, 1e-6, 1] + [0, 1e7, 0, -5]


def test_whole_table_is_judged(values: np.ndarray) -> None:
    seen = judged(values)
    assert (seen.columns_left_out, seen.rows_left_out, seen.dependent_columns) == ((), (), ())
    assert (seen.columns_judged, seen.rows_judged) == (("a", "b", "c", "d"), 50)


def test_rows_with_missing_values_keep_the_numbers_of_the_others(values: np.ndarray) -> None:
    values[[4, 7], 1] = np.nan
    values[9, 0] = -np.inf
    report = analyse(table_of(values), rounds=200)
    assert [(r.count, r.first) for r in report.input.rows_left_out] == [(2, (5, 8)), (1, (10,))]
    rows = np.delete(np.arange(50), [4, 7, 9])
    np.testing.assert_array_equal(report.rows, rows + 1)
    alone = analyse(table_of(values[rows]), rounds=200)
    np.testing.assert_array_equal(report.informed.leakage, alone.informed.leakage)


def test_columns_with_missing_values_instead(values: np.ndarray) -> None:
    values[[4, 7], 1] = np.nan
    seen = judged(values, missing="columns")
    assert seen.columns_judged == ("a", "c", "d")
    assert [c.reason for c in seen.columns_left_out] == ["missing or infinite in 2 record(s)"]
    assert seen.rows_judged == 50


def test_columns_are_left_out_with_their_reason(values: np.ndarray) -> None:
    empty, word = np.full(50, np.nan), np.full(50, np.nan)
    same = np.full(50, 0.1) * 3
    wide = np.column_stack([word, values, same, empty])
    seen = judged(wide, {0: "dates, no numbers"}, exclude=["d"])
    assert seen.columns_judged == ("b", "c", "e")
    assert {c.name: c.reason.split(":")[0] for c in seen.columns_left_out} == {
        "a": "dates, no numbers",
        "d": "as asked",
        "f": "the same in every record",
        "g": "no value in any record",
    }
    seen = judged(wide, {0: "dates, no numbers"}, columns=["c", "a"])
    assert seen.columns_judged == ("c",)


def test_copies_and_combinations_follow_from_earlier_columns(values: np.ndarray) -> None:
    double = 2.54 * values[:, 0] + 32
    total = values[:, 0] / 3 - values[:, 1] * 1e-6 + values[:, 3]
    wide = np.column_stack([values[:, :2], double, values[:, 2:], total, values[:, 3]])
    seen = judged(wide)
    assert seen.columns_judged == ("a", "b", "d", "e")
    assert seen.dependent_columns == ("c", "f", "g")
    reasons = [column.reason for column in seen.columns_left_out]
    assert reasons[0].startswith("a copy or a multiple of a:")
    assert reasons[1].startswith("a linear combination of a, b, e:")
    assert reasons[2].startswith("a copy or a multiple of e:")


def test_nearly_dependent_columns_are_kept(values: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    near = values[:, 0] + values[:, 3] + 1e-4 * rng.normal(size=50)
    assert judged(np.column_stack([values, near])).columns_judged == tuple("abcde")
    rounding = values[:, 0] + values[:, 3] + 1e-9 * rng.normal(size=50)
    assert judged(np.column_stack([values, rounding])).columns_judged == tuple("abcd")


def test_dummies_of_one_factor_lose_one(values: np.ndarray) -> None:
    factor = np.eye(3)[np.arange(50) % 3]
    assert judged(np.column_stack([factor, values])).columns_judged == tuple("abdefg")


def test_few_rows_leave_out_exact_copies_only() -> None:
    values = np.random.default_rng(1).normal(size=(8, 8))
    values[:, 5] = values[:, 2]
    seen = judged(values)
    assert seen.columns_judged == tuple("abcdegh")
    assert seen.columns_left_out[0].reason.startswith("a copy or a multiple of c:")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": ["a", "z"]}, "no column 'z'; it has a, b, c, d"),
        ({"exclude": ["a", "b", "c", "d"]}, "no column of numbers to judge"),
        ({"exclude": ["nope"]}, "no column 'nope'"),
    ],
)
def test_impossible_wishes(values: np.ndarray, change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        judged(values, **change)


def test_nothing_left() -> None:
    with pytest.raises(ValueError, match=r"no column of numbers to judge \(a: dates"):
        judged(np.full((5, 1), np.nan), {0: "dates"})
    with pytest.raises(ValueError, match=r"the same in every record"):
        judged(np.ones((5, 2)))
    with pytest.raises(ValueError, match=r"1 usable record\(s\)"):
        judged(np.ones((1, 2)))
    holes = np.where(np.eye(4, dtype=bool), np.nan, np.arange(16.0).reshape(4, 4))
    with pytest.raises(ValueError, match="4 miss a value"):
        judged(holes)
    with pytest.raises(ValueError, match="0 usable"):
        judged(np.empty((0, 2)))


@pytest.mark.parametrize("scale", [1e308, 1e150, 1e-200, 1e-310])
def test_values_that_cannot_be_squared_are_refused(scale: float) -> None:
    values = np.random.default_rng(0).normal(size=(20, 2)) * [1.0, scale]
    with pytest.raises(ValueError, match=r"'b', up to .* too large or too small to be squared"):
        judged(table_of(values, ["a", "b"]))
    assert judged(table_of(values, ["a", "b"]), exclude=["b"]).columns_judged == ("a",)
