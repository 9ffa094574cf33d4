"""Distances in float32: within their error of float64 and of many digits, or in float64."""

from __future__ import annotations

import pickle
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from leakscore import Reference
from leakscore.reference import covariances
from tests.oracles import reference as oracle

ERROR = 1e-5


def with_condition(condition: float, dim: int, rows: int) -> tuple[Reference, Any, Any]:
    """Return a reference, rows of its law, and rows that are as long in every direction."""
    rng = np.random.default_rng(dim)
    turn, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
    values = np.geomspace(1, 1 / condition, dim)
    plain = rng.normal(size=(rows, dim))
    cov = (turn * values) @ turn.T
    reference = Reference(rng.normal(size=dim), (cov + cov.T) / 2)
    return reference, reference.mean + (plain * np.sqrt(values)) @ turn.T, plain


@pytest.mark.parametrize("condition", [1.0, 1e1, 1e2, 1e3, 1e4, 1e6, 1e8, 1e10])
@pytest.mark.parametrize(("dim", "rows"), [(5, 1), (40, 70), (150, 2500)])
def test_distances_keep_five_digits(condition: float, dim: int, rows: int) -> None:
    reference, own, plain = with_condition(condition, dim, rows)
    quick = reference.with_precision("single")
    for table in (own, plain):
        found, expected = (r.squared_mahalanobis(table) for r in (quick, reference))
        np.testing.assert_allclose(found, expected, rtol=ERROR)


def test_distances_equal_those_of_many_digits() -> None:
    reference, table, _ = with_condition(3.0, 20, 30)
    exact = oracle.squared_mahalanobis(table[:5], reference.mean, reference.cov)
    found = reference.with_precision("single").squared_mahalanobis(table)
    np.testing.assert_allclose(found[:5], exact, rtol=1e-6)
    assert not np.array_equal(found, reference.squared_mahalanobis(table))


def test_where_float32_loses_the_digits_the_numbers_are_those_of_float64() -> None:
    reference, table, _ = with_condition(1e6, 150, 2500)
    found = reference.with_precision("single").squared_mahalanobis(table)
    np.testing.assert_array_equal(found, reference.squared_mahalanobis(table))


def test_one_wrong_row_of_a_block_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    reference, table, _ = with_condition(3.0, 60, 700)
    whiten, quick = covariances._core.whiten_rows, reference.with_precision("single")

    def wrong(factor: Any, rows: Any) -> None:
        whiten(factor, rows)
        if rows.dtype == np.float32:
            rows[613] *= 1 + 4 * ERROR

    monkeypatch.setattr(covariances._core, "whiten_rows", wrong)
    found = quick.squared_mahalanobis(table)
    np.testing.assert_array_equal(found, reference.squared_mahalanobis(table))


def test_equal_rows_do_not_hide_each_other() -> None:
    rng = np.random.default_rng(4)
    turn, _ = np.linalg.qr(rng.normal(size=(2, 2)))
    spread = np.array([1.0, 1e-4])
    cov = (turn * spread**2) @ turn.T
    reference = Reference(np.zeros(2), (cov + cov.T) / 2)
    quick, far = reference.with_precision("single"), rng.normal(size=(64, 2))
    for i, j in combinations(range(64), 2):
        table = far.copy()
        table[[i, j]] = turn @ (rng.normal(size=2) * spread)
        found, expected = (r.squared_mahalanobis(table) for r in (quick, reference))
        np.testing.assert_allclose(found, expected, rtol=ERROR)


@pytest.mark.parametrize("size", [1e-30, 1e-18, 1e18, 1e30])
def test_numbers_that_float32_does_not_hold(size: float) -> None:
    reference, table, _ = with_condition(3.0, 10, 100)
    away = (table - reference.mean) * size
    away[3] = 0.0
    centred = Reference(np.zeros(10), reference.cov)
    found = centred.with_precision("single").squared_mahalanobis(away)
    np.testing.assert_allclose(found, centred.squared_mahalanobis(away), rtol=ERROR)


def test_an_offset_costs_no_digits() -> None:
    reference, table, _ = with_condition(3.0, 40, 300)
    offset = np.float32(table + 1000)
    far = Reference(reference.mean + 1000, reference.cov)
    found = far.with_precision("single").squared_mahalanobis(offset)
    np.testing.assert_allclose(found, far.squared_mahalanobis(offset), rtol=2e-6)


def test_precision_is_kept_and_other_kinds_have_none() -> None:
    reference, table, _ = with_condition(3.0, 40, 300)
    quick = reference.with_precision("single")
    assert (reference.precision, quick.precision) == ("double", "single")
    assert quick.with_precision("double").precision == "double"
    assert quick.add_diagonal(1.0).precision == "single"
    again = pickle.loads(pickle.dumps(quick)).squared_mahalanobis(table)
    np.testing.assert_array_equal(again, quick.squared_mahalanobis(table))
    for cov in ("diagonal", "low-rank"):
        other = Reference.fit(table[:30], cov).with_precision("single")
        assert other.precision == "double"


def test_nan_is_refused_and_spoils_no_other_row() -> None:
    reference, table, _ = with_condition(3.0, 40, 300)
    table[7, 3] = np.nan
    with pytest.raises(ValueError, match="Z"):
        reference.with_precision("single").squared_mahalanobis(table)
