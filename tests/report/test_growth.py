"""The bound on scores when records are left out, against scores that are computed anew."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore_app.report.engine import crowd as changes
from tests.helpers.parts import Crowd, TableLaw


@pytest.mark.parametrize("size", [30, 300, 5000])
@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("freedom", [3, 30])
def test_no_score_grows_more_than_the_bound(size: int, count: int, freedom: int) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        values = rng.standard_t(freedom, size=(size, 4)) + rng.normal(size=4)
        law = TableLaw(
            np.arange(4),
            np.arange(4),
            size,
            np.ones(4),
            values.mean(axis=0),
            np.cov(values.T, bias=True),
        )
        crowd = Crowd(law, values, np.arange(size), 10, finite=False)
        scores = law.distances(values)
        worst = np.argsort(-scores)[:count]
        rest = np.setdiff1d(np.arange(size), worst)
        anew = [_anew(values, rest, row) for row in rest] if size == 30 else None
        after = law.without(values[worst]).distances(values)[rest]
        if anew is not None:
            np.testing.assert_allclose(after, anew, rtol=1e-9)
        for share in (0.3, 0.9, 1.0):
            least = float(np.quantile(scores[rest], share))
            bound = growth(crowd, worst, least) * least
            largest = float(after[scores[rest] <= least].max())
            assert largest <= bound
            if size == 5000 and freedom == 30:  # and worth having
                assert bound < 1.1 * largest


def growth(crowd: Crowd, worst: np.ndarray, least: float) -> float:
    leverage = changes.joint_leverage(crowd, worst)
    return changes.growth_bound(leverage, crowd.size, len(worst), least)


def _anew(values: np.ndarray, rest: np.ndarray, row: int) -> float:
    others = values[rest[rest != row]]
    away = values[row] - others.mean(axis=0)
    return float(away @ np.linalg.solve(np.cov(others.T, bias=True), away))


def test_no_bound_where_records_weigh_much() -> None:
    values = np.random.default_rng(1).normal(size=(50, 2))
    values[7] = 1000.0
    cov = np.cov(values.T, bias=True)
    law = TableLaw(np.arange(2), np.arange(2), 50, np.ones(2), values.mean(axis=0), cov)
    crowd = Crowd(law, values, np.arange(50), 10, finite=False)
    assert growth(crowd, np.array([7]), 1.0) == np.inf
    assert growth(crowd, np.array([3]), -np.inf) == np.inf
