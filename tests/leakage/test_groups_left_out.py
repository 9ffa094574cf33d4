"""leave_group_out against plain refits without the rows of each group, and against a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leakscore import Reference, SingularCovarianceError
from leakscore.leakage import (
    leave_group_out,
    leave_one_out,
    release_leakage,
)
from tests.helpers.layouts import LAYOUTS
from tests.oracles.leakage import group_leakage, groups_left_out


def table(rows: int = 60, dim: int = 4, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, dim)) @ rng.normal(size=(dim, dim)) + 5
    X[rows // 2] *= 10
    return X


def owners(rows: int, people: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, people, rows)


@pytest.mark.parametrize("kind", ["full", "diagonal"])
@pytest.mark.parametrize("ddof", [0, 2])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize(("rows", "people"), [(60, 40), (60, 4), (25, 20), (300, 7)])
def test_equals_refits(kind: str, ddof: int, ridge: float, rows: int, people: int) -> None:
    """Groups of fewer rows than columns, and of more."""
    X, person = table(rows), owners(rows, people)
    reference = Reference.fit(X, cov=kind, ddof=ddof, ridge=ridge)
    batch, sizes = np.arange(rows) % 3, [rows, 400, 350]
    expected = groups_left_out(X, person, sizes, batch, kind, ddof, ridge)
    found = leave_group_out(X, reference, sizes, person, batches=batch)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    expected = groups_left_out(X, person, [500], 0 * batch, kind, ddof, ridge)
    np.testing.assert_allclose(leave_group_out(X, reference, 500, person), expected, rtol=1e-10)


@pytest.mark.parametrize("kind", ["full", "diagonal", "low-rank"])
def test_groups_of_one_row_are_rows(kind: str) -> None:
    X = table()
    for reference in (Reference.fit(X, cov=kind), Reference.fit(X, cov=kind, ridge=0.5)):
        for population in ("infinite", "finite"):
            found = leave_group_out(X, reference, 9, np.arange(60), population=population)
            expected = leave_one_out(X, reference, 9, population=population)
            np.testing.assert_array_equal(found, expected)
        sizes, batch = np.array([20, 25, 15]), np.repeat([0, 1, 2], [20, 25, 15])
        found = leave_group_out(X, reference, sizes, np.arange(60), batches=batch)
        np.testing.assert_array_equal(found, 2 * leave_one_out(X, reference, 2) / sizes[batch])


def test_order_and_labels() -> None:
    X, person = table(), owners(60, 20)
    reference = Reference.fit(X)
    expected = leave_group_out(X, reference, 60, person)
    names = np.array([f"person {p:03d}" for p in person])
    np.testing.assert_array_equal(leave_group_out(X, reference, 60, names), expected)
    np.testing.assert_array_equal(leave_group_out(X, reference, 60, list(names)), expected)
    np.testing.assert_array_equal(leave_group_out(X, reference, 60, -person), expected[::-1])


@pytest.mark.parametrize("copies", [2, 3, 7])
def test_equal_copies_leak_with_their_square(copies: int) -> None:
    X = np.r_[table(), np.repeat(table(1, seed=5), copies, axis=0)]
    person = np.r_[np.arange(60), np.full(copies, 60)]
    found = leave_group_out(X, Reference.fit(X), 400, person)[-1]
    others = Reference.fit(X[:60])
    one = leave_group_out(X[:61], Reference.fit(X[:61]), 400, np.arange(61))[-1]
    assert found == pytest.approx(copies**2 * one, rel=1e-10)
    assert found == pytest.approx(group_leakage(X[60:], others, 400), rel=1e-10)


def test_batches_are_those_of_cumulative_means() -> None:
    X, person = table(), np.r_[np.arange(58), 58, 58]
    reference, counts = Reference.fit(X), [40, 58, 60]
    batch = np.repeat([0, 1, 2], [40, 18, 2])
    found = leave_group_out(X, reference, [40, 18, 2], person, batches=batch)
    for row in (0, 39, 40, 57):
        others = Reference.fit(np.delete(X, row, axis=0))
        step = int(batch[row])
        assert found[row] == pytest.approx(release_leakage(X[row], others, counts, step=step))
    assert np.isinf(found[58])  # the last batch is this person's alone
    with pytest.raises(ValueError, match="n=1 must be >= 2, the rows of the largest group"):
        leave_group_out(X, reference, [40, 18, 1], person, batches=batch)


def test_power_of_a_person_in_two_batches() -> None:
    """The best test on two batch means recognises three records as often as the score foretells."""
    rng, rounds, dim = np.random.default_rng(8), 40_000, 3
    X = rng.normal(size=(200, dim)) @ rng.normal(size=(dim, dim))
    person = np.arange(200)
    person[[10, 11, 190]] = 10
    batch, sizes = np.repeat([0, 1], [120, 80]), np.array([120, 80])
    X[[10, 11, 190]] += 2 * X.std(axis=0)
    score = leave_group_out(X, Reference.fit(X), sizes, person, batches=batch)[
        list(np.unique(person)).index(10)
    ]
    others = X[person != 10]
    mean, cov = others.mean(axis=0), np.cov(others.T, ddof=0)
    sums = np.array(
        [X[(person == 10) & (batch == t)].sum(axis=0) - k * mean for t, k in [(0, 2), (1, 1)]]
    )
    factor = np.linalg.cholesky(cov)
    rates = []
    for member in (False, True):
        total = np.zeros(rounds)
        for t, k in ((0, 2), (1, 1)):
            # the mean of the records that are not the person's is Gaussian of this variance
            drawn = sizes[t] - k * member
            means = np.sqrt(drawn) * rng.normal(size=(rounds, dim)) @ factor.T + member * sums[t]
            total += means @ np.linalg.solve(cov, sums[t]) / sizes[t]
        rates.append(float(np.mean(total / np.sqrt(score) > stats.norm.isf(0.01))))
    for rate, wanted in zip(
        rates, (0.01, stats.norm.sf(stats.norm.isf(0.01) - score**0.5)), strict=True
    ):
        # 4 standard errors, and the share of the person's records in the variance
        assert abs(rate - wanted) < 4 * np.sqrt(wanted * (1 - wanted) / rounds) + 0.005


@pytest.mark.parametrize("shrinkage", [0.3, "auto", "oas"])
def test_shrinkage_is_estimated_again(shrinkage: Any) -> None:
    X, person = table(25), owners(25, 12)
    found = leave_group_out(X, Reference.fit(X, shrinkage=shrinkage), 30, person)
    for score, name in zip(found, np.unique(person), strict=True):
        others = Reference.fit(X[person != name], shrinkage=shrinkage)
        assert score == pytest.approx(group_leakage(X[person == name], others, 30), rel=1e-10)


def test_low_rank_is_estimated_again() -> None:
    X, person = table(12, 30), owners(12, 6)
    found = leave_group_out(X, Reference.fit(X, cov="low-rank"), 30, person)
    for score, name in zip(found, np.unique(person), strict=True):
        others = Reference.fit(X[person != name], cov="low-rank")
        assert score == pytest.approx(group_leakage(X[person == name], others, 30), rel=1e-9)


@pytest.mark.parametrize("kind", ["full", "diagonal"])
@pytest.mark.parametrize("far", [1e2, 1e4])
def test_a_group_that_has_nearly_all_variance(kind: str, far: float) -> None:
    X, person = table(), owners(60, 20)
    X[person == 7] *= far
    found = leave_group_out(X, Reference.fit(X, cov=kind), 70, person)
    expected = groups_left_out(X, person, [70], np.zeros(60), kind)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_what_only_one_group_has_is_certain(kind: str) -> None:
    X, person = np.c_[table(), np.full(60, 0.1)], np.r_[np.zeros(3), np.arange(1, 58)].astype(int)
    X[:2, 4] += [0.5, 0.25]
    found = leave_group_out(X, Reference.fit(X, cov=kind), 70, person)
    assert np.flatnonzero(np.isinf(found)).tolist() == [0]
    X[:2, 4] = [0.6, -0.4]  # adds up to nothing that the mean shows
    found = leave_group_out(X, Reference.fit(X, cov=kind), 70, person)
    expected = groups_left_out(X[:, :4], person, [70], np.zeros(60), kind)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)


def test_what_a_factor_does_not_show_is_certain() -> None:
    """Two records have a flag of three columns; rounding leaves a variance."""
    rng, flag = np.random.default_rng(12), np.isin(np.arange(25), [0, 5, 9]).astype(float)
    X = np.c_[x := rng.exponential(size=25), flag, flag * x, flag * rng.normal(size=25)]
    assert np.isinf(leave_group_out(X, Reference.fit(X), 25, np.r_[0, np.arange(24)])[0])


def test_too_few_rows_left() -> None:
    X = table(8)
    person = np.r_[np.zeros(4), np.arange(1, 5)].astype(int)  # 4 rows of 4 columns are left
    found = leave_group_out(X, Reference.fit(X), 10, person)
    assert np.isinf(found[0])
    assert np.isfinite(found[1:]).all()
    assert np.isfinite(leave_group_out(X, Reference.fit(X, ridge=1.0), 10, person)).all()
    with pytest.raises(ValueError, match="fewer than 8 of the 8 rows, not one of 8"):
        leave_group_out(X, Reference.fit(X), 10, np.zeros(8, dtype=int))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_layouts_and_float32(layout: str, kind: str) -> None:
    X, person = (table(300, 6) + 100).astype(np.float32), owners(300, 90)
    given = LAYOUTS[layout](X)
    found = leave_group_out(given, Reference.fit(given, cov=kind), 40, person)
    expected = groups_left_out(X.astype(np.float64), person, [40], np.zeros(300), kind)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@given(st.integers(1, 4), st.integers(1, 9), st.integers(0, 10**6))
def test_any_groups(dim: int, people: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, size=(8 * dim + 12, dim))
    person = np.r_[rng.integers(0, people, 3 * dim), np.arange(people, people + 5 * dim + 12)]
    found = leave_group_out(X, Reference.fit(X), 100, person)
    expected = groups_left_out(X, person, [100], np.zeros(len(X)))
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_finite_population() -> None:
    X, person = table(), np.minimum(np.arange(60), 56)
    reference = Reference.fit(X)
    found = leave_group_out(X, reference, 20, person, population="finite")
    expected = leave_group_out(X, reference, 20, person) / (1 - 20 / 60)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    with pytest.raises(ValueError, match="n=57 must be <= 56 with population='finite'"):
        leave_group_out(X, reference, 57, person, population="finite")
    with pytest.raises(ValueError, match="batches must not be given"):
        leave_group_out(
            X, reference, [30, 30], person, batches=np.arange(60) % 2, population="finite"
        )


def test_refuses() -> None:
    X, person = table(), owners(60, 20)
    reference = Reference.fit(X)
    for wrong, error, match in (
        ({"groups": person[:-1]}, ValueError, r"groups of shape \(59,\) must be \(60,\)"),
        ({"groups": person + 0.5}, TypeError, "integers or strings, not dtype float64"),
        ({"groups": [None] * 60}, TypeError, "integers or strings, not dtype object"),
        ({"groups": np.ma.masked_equal(person, 3)}, ValueError, "groups must hold no masked"),
        ({"n": 1}, ValueError, "n=1 must be >= 2"),
        ({"n": [60]}, TypeError, "n="),
        ({"n": [30, 30]}, TypeError, "n="),
        ({"n": 5, "groups": person // 4}, ValueError, r"n=5 must be >= \d+, the rows of the"),
        ({"n": [60], "batches": person}, ValueError, r"batches=19 must be in \[0, 0\]"),
        ({"n": [60], "batches": [0]}, ValueError, r"batches of shape \(1,\) must be \(60,\)"),
        ({"n": 60, "batches": 0 * person}, ValueError, r"n of shape \(\) must be \(T,\)"),
        ({"n": [0], "batches": 0 * person}, ValueError, "n=0"),
        ({"population": "half"}, ValueError, "population='half'"),
        ({"X": X + 0.01}, ValueError, "moments differ"),
        ({"reference": Reference(X.mean(axis=0), np.cov(X.T))}, ValueError, "must be fitted"),
    ):
        arguments: dict[str, Any] = {"X": X, "reference": reference, "n": 60, "groups": person}
        with pytest.raises(error, match=match):
            leave_group_out(**(arguments | wrong))
    Y = np.c_[X[:, :3], X[:, 2]]
    with pytest.raises(SingularCovarianceError, match="column 3 is a linear combination"):
        leave_group_out(Y, Reference.fit(Y), 60, person)
    wide = np.random.default_rng(0).normal(size=(4000, 150))
    with pytest.raises(ValueError, match=r"shrinkage='auto'.* 2000 groups need an estimate"):
        leave_group_out(wide, Reference.fit(wide, shrinkage="auto"), 9, np.arange(4000) // 2)
