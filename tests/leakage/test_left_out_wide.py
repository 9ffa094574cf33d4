"""Rows left out of tables of few rows and many columns: the covariance of the others, refitted."""

from __future__ import annotations

import numpy as np
import pytest

import leakscore
from leakscore.reference import left_out

TABLE = np.random.default_rng(31).standard_t(5, size=(12, 60)) * np.logspace(-3, 3, 60) + 7


@pytest.mark.parametrize("shrinkage", ["auto", 0.3, "oas", "ledoit-wolf"])
def test_the_distances_are_those_of_new_estimates(shrinkage: float | str) -> None:
    reference = leakscore.Reference.fit(TABLE, shrinkage=shrinkage)
    scores = leakscore.leakage.leave_one_out(TABLE, reference, 100)
    weaker = left_out.weaker_if_shrunk(TABLE, reference)
    for row, score in enumerate(scores.tolist()):
        others = leakscore.Reference.fit(np.delete(TABLE, row, axis=0), shrinkage=shrinkage)
        away = TABLE[row] - others.mean
        assert score == pytest.approx(away @ np.linalg.solve(others.cov, away) / 100, rel=1e-8)
        weight = away / np.diag(others.cov)
        expected = (weight @ away) ** 2 / (weight @ others.cov @ weight)
        assert weaker[row] == pytest.approx(expected, rel=1e-9)


def test_a_record_with_nearly_all_of_a_variance_is_estimated_elsewhere() -> None:
    values = TABLE.copy()
    values[3, 7] = 1e9
    weaker = left_out.weaker_if_shrunk(values, leakscore.Reference.fit(values, shrinkage="auto"))
    assert np.flatnonzero(np.isnan(weaker)).tolist() == [3]


@pytest.mark.parametrize("shrinkage", ["auto", 0.3])
def test_no_matrix_of_all_columns_is_factorised(
    shrinkage: float | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of 12 rows takes a thousandth of the steps."""
    reference = leakscore.Reference.fit(TABLE, shrinkage=shrinkage)

    def refused(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(left_out, "Shrunk", refused)
    leakscore.leakage.leave_one_out(TABLE, reference, 100)
    left_out.weaker_if_shrunk(TABLE, reference)
