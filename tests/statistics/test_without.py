"""What a record shifts what is published of a table, against refits without it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from leakscore import statistics
from leakscore.reference import Moments

NAMES = ["a", "b", "c", "d", "y"]
ROWS = 300


def records(seed: int = 3) -> np.ndarray:
    """Of lasting influence: an outlier, a column far from 0, one that nearly follows."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(ROWS, 5))
    values[:, 0] += 50.0
    values[:, 1] += 0.99 * values[:, 2]
    values[:, 4] = np.abs(values[:, 0] + values[:, 3] + rng.normal(size=ROWS))
    values[5] *= 8.0
    values[11, 3] *= 30.0
    return values


def coefficients(values: np.ndarray) -> np.ndarray:
    design = np.column_stack([np.ones(len(values)), values[:, :4]])
    return np.asarray(np.linalg.lstsq(design, values[:, 4], rcond=None)[0])


def correlations(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.corrcoef(values.T)[np.triu_indices(5, 1)])


def weighted(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.average(values[:, :4], axis=0, weights=values[:, 4]))


FITS: dict[str, tuple[statistics.Statistic, Callable[[np.ndarray], np.ndarray]]] = {
    "regression": (statistics.Regression("y"), coefficients),
    "correlations": (statistics.Correlations(), correlations),
    "ratio": (statistics.WeightedRatio("y"), weighted),
}


@pytest.mark.parametrize("from_moments", [False, True])
@pytest.mark.parametrize("name", sorted(FITS))
def test_features_are_what_each_record_shifts(name: str, from_moments: bool) -> None:
    statistic, refit = FITS[name]
    values = records()
    fitted = statistic.on(NAMES).prepare(values)
    if from_moments:
        moments = Moments(5)
        moments.update(values)
        fitted = statistic.on(NAMES).prepare(moments)
    whole = refit(values)
    shifts = [whole - refit(np.delete(values, i, axis=0)) for i in range(ROWS)]
    np.testing.assert_allclose(fitted.features(values) / ROWS, shifts, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("name", sorted(FITS))
def test_features_of_a_person_add_up_to_what_the_person_shifts(name: str) -> None:
    statistic, refit = FITS[name]
    values = records()
    owners = np.random.default_rng(4).integers(0, 90, ROWS)
    owners[[5, 11, 200]] = 91
    features = statistic.on(NAMES).prepare(values).features(values, owners) / ROWS
    whole = refit(values)
    for person in np.unique(owners):
        shift = whole - refit(values[owners != person])
        np.testing.assert_allclose(
            features[owners == person].sum(axis=0), shift, rtol=1e-7, atol=1e-10
        )


def owned(case: str) -> tuple[np.ndarray, str, int]:
    """A table in which one record alone tells of a column, that column, and the record."""
    values = records(seed=7)
    if case == "flag":
        values[:, 1] = 0.0
        values[17, 1] = 1.0
        return values, "b", 17
    values[:, 2] = values[:, 1]
    values[23, 2] += 3.0
    return values, "c", 23


@pytest.mark.parametrize("from_moments", [False, True])
@pytest.mark.parametrize("case", ["flag", "follows but for one"])
def test_a_regression_that_needs_a_record_is_refused(case: str, from_moments: bool) -> None:
    values, column, row = owned(case)
    moments = Moments(5)
    moments.update(values)
    fitted = statistics.Regression("y").on(NAMES).prepare(moments if from_moments else values)
    with pytest.raises(statistics.NoFitError, match=f"record {row + 1} .*{column!r}") as caught:
        fitted.features(values)
    assert (caught.value.column, caught.value.row) == (column, row)
    remaining = np.delete(values, row, axis=0)
    with pytest.raises(ValueError, match=r"linearly independent: leave out '[bc]'"):
        statistics.Regression("y").on(NAMES).prepare(remaining)


def test_a_fit_that_needs_a_person_is_refused_for_the_person_alone() -> None:
    values, column, row = owned("flag")
    values[40, 1] = 1.0
    owners = np.arange(ROWS)
    for statistic in (statistics.Regression("y"), statistics.Correlations()):
        fitted = statistic.on(NAMES).prepare(values)
        assert np.isfinite(fitted.features(values, owners)).all()
        owners[40] = row
        with pytest.raises(statistics.NoFitError) as caught:
            fitted.features(values, owners)
        assert (caught.value.column, caught.value.row) == (column, row)
        owners[40] = 40


def test_correlations_and_ratios_that_need_a_record_are_refused() -> None:
    values, column, row = owned("flag")
    values[row, [0, 2, 3, 4]] = np.delete(values, row, axis=0)[:, [0, 2, 3, 4]].mean(axis=0)
    with pytest.raises(statistics.NoFitError) as caught:
        statistics.Correlations().on(NAMES).prepare(values).features(values)
    assert (caught.value.column, caught.value.row) == (column, row)
    with pytest.raises(statistics.NoFitError) as caught:
        statistics.WeightedRatio("b").on(NAMES).prepare(values).features(values)
    assert (caught.value.column, caught.value.row) == (column, row)


@pytest.mark.parametrize("owners", [[0.5] * 3, [[0, 1, 2]], [0, 1]])
def test_owners_are_whole_numbers_of_the_records(owners: list[float]) -> None:
    with pytest.raises(ValueError, match="owners of shape"):
        statistics.Mean().on(["a"]).features([[1.0], [2.0], [3.0]], np.array(owners))
