"""A record in an earlier fit of fewer records narrows that one's spread, not that of all."""

from __future__ import annotations

import numpy as np
import pytest

import leakscore_app
from leakscore import statistics

SIZE, BEFORE, ROUNDS = 300, 90, 8000


def _table() -> np.ndarray:
    """Return x and y; record 4 is far out in x, and on the line."""
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(2, SIZE))
    x[3], y[3] = 5.0, 0.0
    return np.column_stack([x, x + y])


def _spread(inside: bool, n: int) -> float:
    """Return the deviation of the record's fitted value over fits to n drawn records."""
    rng, table = np.random.default_rng(9), _table()
    others = np.delete(table, 3, axis=0)
    drawn = others[rng.integers(len(others), size=(ROUNDS, n))]
    if inside:
        drawn[:, 0] = table[3]
    x, y = drawn[..., 0], drawn[..., 1]
    away = x - x.mean(axis=1, keepdims=True)
    slope = (away * y).sum(axis=1) / (away * away).sum(axis=1)
    return float(np.std(y.mean(axis=1) + slope * (table[3, 0] - x.mean(axis=1))))


@pytest.mark.parametrize("previous", [None, [BEFORE]])
def test_the_leverage_is_that_in_the_first_fit(previous: list[int] | None) -> None:
    report = leakscore_app.analyse(
        leakscore_app.table_of(_table(), ["x", "y"]),
        statistic=statistics.Regression("y"),
        previous=previous,
        rounds=400,
        max_advantage=0.01,  # shifts are above it: the spread alone counts
        distinct_records=True,
    )
    narrowing = report.observations.narrowing
    assert narrowing is not None
    n = SIZE if previous is None else BEFORE
    expected = 1 - _spread(True, n) / _spread(False, n)
    assert narrowing.row == 4
    assert narrowing.leverage == pytest.approx(expected, abs=0.03)
