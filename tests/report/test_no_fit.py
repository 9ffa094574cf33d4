"""Samples of which none has coefficients, without a record and of few; who shifts no mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import leakscore_app
from leakscore import statistics
from leakscore_app.report import table_of

pytestmark = pytest.mark.filterwarnings("error")


def _flagged(rows: list[int], ids: list[str]) -> leakscore_app.Report:
    """A flag that these records alone have, in a Cox model that they hardly shift."""
    rng, flag = np.random.default_rng(18), np.isin(np.arange(40), rows)
    died = (rng.random(40) < 0.7) | flag
    values = np.column_stack([flag, rng.normal(size=40), rng.exponential(size=40), died])
    return leakscore_app.analyse(
        table_of(values, ["flag", "x", "t", "died"], ids=ids),
        statistic=statistics.Cox("t", "died"),
        rounds=2000,
        max_noise=100.0,
    )


def test_who_alone_makes_a_fit_is_told() -> None:
    with pytest.raises(ValueError, match="without record 3: nobody else tells of column 'flag'"):
        _flagged([2], [f"P{row}" for row in range(40)])


def test_a_person_who_alone_makes_a_fit_is_told_by_every_round() -> None:
    report = _flagged([2, 9, 17], [f"P{2 if row in (9, 17) else row}" for row in range(40)])
    assert report.verdict.worst.row == 3
    assert report.verdict.worst.value > 0.99
    assert report.verdict.decision == "do not publish"


def test_samples_without_coefficients_are_refused() -> None:
    table = table_of(np.random.default_rng(2).normal(size=(12, 3)), ["a", "b", "y"])
    with pytest.raises(ValueError, match="n=2 of these records must have coefficients, but none"):
        leakscore_app.analyse(table, statistic=statistics.Regression("y"), n=2, rounds=400)


def test_who_shifts_no_mean_is_played() -> None:
    """Each person has a 0 and a 1, of as many: no score tells of them, and none is divided by 0."""
    values = np.array([[0.0], [1.0]] * 6)
    table = table_of(values, ["x"], ids=[f"P{row // 2}" for row in range(12)])
    report = leakscore_app.analyse(table, rounds=2000)
    assert report.verdict.decision == "publish"
    assert report.verdict.worst.value < 0.02


def test_a_record_that_shifts_no_coefficient_is_played() -> None:
    """Its residual is 0 to the last bit, and its leverage a half: what it narrows is played."""
    table = table_of(np.array([[1, 0], [1, 0], [2, 1], [2, 1], [1, 1], [1, 1]]), ["t", "y"])
    report = leakscore_app.analyse(
        table, statistic=statistics.Regression("y"), rounds=200, max_noise=100.0
    )
    assert report.verdict.decision == "do not publish"


def test_little_noise_does_not_hide_that_there_is_a_fit() -> None:
    """Of four holders of a flag two have an event: without one, 0.36 of the samples have none."""
    rng, flag = np.random.default_rng(1), np.arange(60) < 4
    died = np.where(flag, np.arange(60) < 2, rng.random(60) < 0.6)
    values = np.column_stack([rng.normal(size=60), flag, rng.exponential(size=60), died])
    report = leakscore_app.analyse(
        table_of(values, ["x", "flag", "t", "died"]),
        statistic=statistics.Cox("t", "died"),
        rounds=600,
        worst=1,
        max_noise=1e4,
    )
    assert report.noise is not None
    assert report.noise.standard_errors > 10.0


@pytest.mark.parametrize("model", [statistics.Cox("t", "y"), statistics.GLM("y", "binomial")])
def test_coefficients_of_separated_outcomes_lie_far_out(
    model: statistics.Cox | statistics.GLM,
) -> None:
    """Without an event of a flag its coefficient has no end; else it is that of all steps."""
    rng, flag = np.random.default_rng(1), np.arange(80) < 12
    y = np.where(flag, np.arange(80) < 2, rng.random(80) < 0.6)
    values = np.column_stack([flag, rng.exponential(size=80), y])
    model = model.on(["flag", "t", "y"]).prepare(values)
    weights = np.ones((2, 80), dtype=np.intp)
    weights[0, :2], weights[1, :8], weights[1, 60:70] = 0, [3, 0, 0, 0, 0, 0, 0, 0], 2
    moves = model.equations(values).refitted(weights)
    assert moves[0, -2 if len(moves[0]) > 2 else 0] < -10.0
    anew = model.prepare(np.repeat(values, weights[1], axis=0))
    np.testing.assert_allclose(moves[1], anew.coefficients - model.coefficients, atol=0.02)


def test_equations_of_a_cox_model_are_those_of_fits_to_parts() -> None:
    """With times that are equal, and of records that are there twice, by Efron's ties nearly."""
    rng = np.random.default_rng(2)
    times = np.where(np.arange(80) < 40, rng.exponential(size=80), rng.integers(1, 30, size=80))
    table = np.column_stack([rng.standard_normal((80, 2)), times, rng.random(80) < 0.7])
    model = statistics.Cox("t", "died").on(["a", "b", "t", "died"])
    fit = model.prepare(table)
    for counts, tolerance in ((rng.permutation(80) < 60, 2e-3), (rng.poisson(1.0, 80), 0.02)):
        moved = fit.equations(table).refitted(counts[None].astype(float))[0]
        again = model.prepare(np.repeat(table, counts.astype(int), axis=0))
        np.testing.assert_allclose(moved, again.coefficients - fit.coefficients, atol=tolerance)
    distinct = table.copy()
    distinct[:, 2] += 1e-3 * rng.random(80)
    fit, chosen = model.prepare(distinct), rng.permutation(80) < 70
    moved = fit.equations(distinct).refitted(chosen[None].astype(float))[0]
    expected = model.prepare(distinct[chosen]).coefficients - fit.coefficients
    np.testing.assert_allclose(moved, expected, rtol=1e-6, atol=1e-8)


def verdict_on_cells(
    groups: dict[str, list[str]], statistic: statistics.Statistic, limit: float, **options: Any
) -> Any:
    """Judge 60 records by group: cells of any size may be published, with any noise."""
    values = np.random.default_rng(1).normal(size=(60, 1))
    return leakscore_app.analyse(
        table_of(values, ["a"], groups=groups),
        statistic=statistic,
        rounds=400,
        max_noise=1e9,
        min_cell=1,
        max_advantage=limit,
        distinct_records=True,
        **options,
    ).verdict


def with_small_cell(size: int) -> dict[str, list[str]]:
    return {"g": ["s"] * size + ["b"] * 30 + ["c"] * (30 - size)}


@pytest.mark.parametrize(("size", "limit"), [(2, 0.2), (4, 0.2), (4, 0.03)])
@pytest.mark.parametrize("statistic", [statistics.GroupMeans("g"), statistics.Counts("g")])
def test_no_noise_hides_that_there_is_a_cell(
    size: int, limit: float, statistic: statistics.Statistic
) -> None:
    """A sample of 60 that one of its records is not in lacks the others of a small cell, too."""
    others = np.arange(1, 60)[np.random.default_rng(1).integers(59, size=(100_000, 60))]
    lacking = float(np.mean((others >= size).all(axis=1)))
    verdict = verdict_on_cells(with_small_cell(size), statistic, limit)
    told = "That there is a cell g=s tells" in verdict.why
    assert told == (lacking > limit)
    assert (verdict.decision == "do not publish") >= told


@pytest.mark.parametrize(("size", "n"), [(2, 30), (3, 20), (2, 50)])
def test_a_cell_of_a_finite_population_is_told_by_draws_without_replacement(
    size: int, n: int
) -> None:
    rng = np.random.default_rng(1)
    others = rng.permuted(np.tile(np.arange(1, 60), (20_000, 1)), axis=1)[:, :n]
    lacking = float(np.mean((others >= size).all(axis=1)))
    for limit in (lacking - 0.02, lacking + 0.02):
        verdict = verdict_on_cells(
            with_small_cell(size), statistics.Counts("g"), limit, n=n, population="finite"
        )
        assert ("That there is a cell g=s tells" in verdict.why) == (lacking > limit)


@pytest.mark.parametrize("limit", [0.5897, 0.593])
def test_cells_of_two_tables_are_lacking_more_often_than_independent_ones(limit: float) -> None:
    """Record 1 is in a cell of two in both, each with another one: .5908, not 1 - (1 - .3586)^2."""
    exact = 2 * (58 / 59) ** 60 - (57 / 59) ** 60
    labels = np.array(["s", "s", *["b"] * 29, *["c"] * 29])
    groups = {"g": labels.tolist(), "h": labels[[0, *range(2, 60), 1]].tolist()}
    both = statistics.Several([statistics.Counts("g"), statistics.Counts("h")])
    verdict = verdict_on_cells(groups, both, limit)
    assert ("That there is a cell" in verdict.why) == (exact > limit)
