"""Rows that occur several times are scored once, and score as they do alone."""

from __future__ import annotations

import numpy as np

from tests.helpers.parts import TableLaw


def test_repeated_rows_score_as_each_alone() -> None:
    rng = np.random.default_rng(0)
    cell = rng.integers(0, 101, 3000)
    values = np.eye(101)[cell][:, 1:]
    scale = values.std(axis=0)
    units = values / scale
    at = np.arange(100)
    law = TableLaw(at, at, 3000, scale, units.mean(axis=0), np.cov(units.T, bias=True))
    informed, weaker = law.both(values)
    for k in range(101):
        rows = np.flatnonzero(cell == k)
        assert len(set(informed[rows])) == len(set(weaker[rows])) == 1
        alone = law.both(values[rows[:1]])
        np.testing.assert_allclose(
            [informed[rows[0]], weaker[rows[0]]], np.ravel(alone), rtol=1e-12
        )
        others = np.delete(units, rows[0], axis=0)
        away = units[rows[0]] - others.mean(axis=0)
        expected = away @ np.linalg.solve(np.cov(others.T, bias=True), away)
        np.testing.assert_allclose(informed[rows[0]], expected, rtol=1e-9)
    np.testing.assert_allclose(law.distances(values), informed, rtol=1e-12)


def test_rows_of_one_key_that_differ_are_scored_each() -> None:
    values = np.zeros((10, 70))
    values[3:, 0] = 5e-324  # the product with it is 0 or the least number
    at = np.arange(70)
    law = TableLaw(at, at, 50, np.full(70, 1e-300), np.zeros(70), np.eye(70))
    alone = [law.distances(values[k : k + 1])[0] for k in range(10)]
    np.testing.assert_allclose(law.distances(values), alone, rtol=1e-12)
