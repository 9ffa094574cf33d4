"""Statistics refuse by name what is no column, no edge, or not one mean a feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import statistics

CELLS = {"g": ["x", "y"]}
BOUND: list[statistics.Statistic] = [
    statistics.Mean().on(["a", "b"]),
    statistics.Sum().on(["a", "b"]),
    statistics.Covariance().on(["a", "b"]),
    statistics.Histogram("a", [0.0, 1.0, 2.0]).on(["a"]),
    statistics.WeightedMean("a").on(["a", "b"]),
    statistics.GroupMeans("g").on(["g", "a"], CELLS),
    statistics.Several([statistics.Mean(), statistics.Covariance()]).on(["a", "b"]),
]


@pytest.mark.parametrize("statistic", BOUND, ids=lambda each: type(each).__name__)
def test_means_are_one_a_feature(statistic: statistics.Statistic) -> None:
    size = len(statistic.names)
    for bad in (0.5, [], np.full(size - 1, 0.25), np.full(size + 1, 0.25), np.full((1, size), 0.5)):
        for function in (statistic.estimates, statistic.units):
            with pytest.raises(ValueError, match=rf"means of shape .* must be \({size},\)"):
                function(bad, 40)
    for wrong in (None, "text", ["a"] * size, [1j] * size, 10**400):
        with pytest.raises(TypeError, match=r"means must be an array of real numbers"):
            statistic.estimates(wrong, 40)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [0, -3, 2.5, True, "40", None])
def test_numbers_of_records(n: Any) -> None:
    for statistic in (BOUND[0], BOUND[1], BOUND[4]):
        with pytest.raises((ValueError, TypeError), match=r"^n=.* must be"):
            statistic.units(np.full(len(statistic.names), 0.25), n)


@pytest.mark.parametrize("by", [None, 3.5, 1j, [1], ["g", None], object(), len])
def test_columns_are_named(by: Any) -> None:
    for kind in (statistics.Counts, statistics.GroupMeans, statistics.Proportions):
        with pytest.raises(TypeError, match=r"^by=.* must be the name of a column"):
            kind(by)


@pytest.mark.parametrize("edges", ["a", None, 1.0, [1.0], [1.0, 0.0], [0.0, np.nan], [0, 1j]])
def test_edges_ascend(edges: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"^edges .*must"):
        statistics.Histogram("a", edges)


@pytest.mark.parametrize("levels", [True, 3.5, "g", ["x"], np.zeros(2)])
def test_levels_are_a_mapping(levels: Any) -> None:
    with pytest.raises(TypeError, match=r"^levels=.* must map columns"):
        statistics.Mean().on(["a"], levels)


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan])
def test_a_mean_weight_that_is_not_above_0(weight: float) -> None:
    mean = statistics.WeightedMean(weights="w").on(["w", "a"])
    for number in (mean.units, mean.jacobian, mean.estimates):
        with pytest.raises(ValueError, match=r"means\[0\]=.*the mean weight \('w'\).*records"):
            number([weight, 1.0], n=5)


def test_counts_come_back_whole_from_their_means() -> None:
    n = np.arange(1, 3000)
    histogram = statistics.Histogram("a", [0.0, 1.0, 2.0]).on(["a"])
    for size in n[n % 7 == 3]:
        counts = np.array([size // 3, size - size // 3])
        assert histogram.estimates(counts / size, n=int(size)).tolist() == counts.tolist()
    assert histogram.estimates([0.5 + 1e-12, 0.0], n=100)[0] != 50.0  # a mean with noise


def test_a_sum_in_a_cell_without_records_is_infinite_without_a_warning() -> None:
    """Means of features as a derivative takes them: the sum of a cell moves, its count is 0."""
    group = statistics.GroupMeans("g").on(["g", "a"], CELLS)
    np.testing.assert_array_equal(group.estimates([0.0, 2.0, 1e-9], n=10), [0.0, 2.0, np.inf])
