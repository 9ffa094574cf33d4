"""Arithmetic of small cells: sums of a cell with a record, beside all sums of the others."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from leakscore import statistics
from leakscore_app import report

FAST = {"rounds": 4000, "noise_shape": "same"}


@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_small_cell_tells_of_a_record_whatever_its_decimals(size: int) -> None:
    """All sums of up to seven draws of the others of a cell: none is near one with the record."""
    values = np.random.default_rng(size).normal(0.05, 0.01, (150, 1))
    ward = ["a" if k < size else "b" for k in range(150)]
    table = report.table_of(values, ["x"], groups={"ward": ward})
    means = statistics.GroupMeans(["ward"])
    options = {**FAST, "min_cell": 2, "max_noise": 6.0}
    result = report.analyse(table, statistic=means, max_advantage=0.99, **options)
    assert result.verdict.decision == "publish with noise"
    if size == 2:  # the other one does not vary: the game of the cell by itself sees it, too
        assert result.verdict.worst.simulated == 1.0
    else:
        assert result.verdict.worst.certain
    (row,) = {result.verdict.worst.row} & set(range(1, size + 1))
    others = np.delete(values[:size, 0], row - 1)
    for count in range(1, 8):
        sums = [np.sum(drawn) for drawn in combinations_with_replacement(others, count)]
        beside = [np.sum(drawn) for drawn in combinations_with_replacement(others, count - 1)]
        apart = np.subtract.outer(np.add(beside, values[row - 1, 0]), sums)
        assert np.abs(apart).min() > 1e-12
