"""The compiled loop that scores rows to both attackers, against fits without each row."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.parts import TableLaw
from tests.helpers.sizes import sizes


def law_of(values: np.ndarray, limits: np.ndarray | None = None, scale: float = 3.0) -> TableLaw:
    """Return the law of rows in units that are not their standard deviations."""
    rows, dim = values.shape
    judged = values if limits is None else np.clip(values, *limits)
    units = scale * np.arange(1.0, dim + 1)
    cov = np.atleast_2d(np.cov((judged / units).T, bias=True))
    every = np.arange(dim)
    return TableLaw(every, every, rows, units, (judged / units).mean(axis=0), cov, limits)


def refitted(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leave each row out of mean and covariance; return what both attackers learn from it."""
    informed, weaker = np.empty(len(values)), np.empty(len(values))
    for row in range(len(values)):
        others = np.delete(values, row, axis=0)
        away = values[row] - others.mean(axis=0)
        cov = np.atleast_2d(np.cov(others.T, bias=True))
        informed[row] = away @ np.linalg.solve(cov, away)
        weight = away / np.diag(cov)
        weaker[row] = (weight @ away) ** 2 / (weight @ cov @ weight)
    return informed, weaker


@pytest.mark.parametrize(
    ("rows", "dim"), [(3, 1), (7, 2), (16, 3), (33, 5), (130, 20), (150, 64), (150, 65)]
)
@pytest.mark.parametrize("clipped", [False, True])
def test_both_equal_refits(rows: int, dim: int, clipped: bool) -> None:
    """Rows that fill lanes and do not; up to 64 columns compiled, more by BLAS."""
    rng = np.random.default_rng(rows + dim)
    values = rng.standard_t(3, size=(rows, dim)) @ rng.normal(size=(dim, dim)) + 50
    limits = np.quantile(values, [0.2, 0.9], axis=0) if clipped else None
    law = law_of(values, limits)
    expected = refitted(values if limits is None else np.clip(values, *limits))
    informed, weaker = law.both(values)
    np.testing.assert_allclose(informed, expected[0], rtol=1e-6 if dim > 60 else 1e-8)
    np.testing.assert_allclose(weaker, expected[1], rtol=1e-8)
    np.testing.assert_array_equal(law.distances(values), informed)


@pytest.mark.parametrize("dim", [1, 4, 30])
def test_layouts_have_the_same_bits(dim: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strided, reversed and column-major rows, one row alone; BLAS to rounding."""
    values = np.random.default_rng(dim).normal(size=(101, dim))
    law = law_of(values)
    informed, weaker = law.both(values)
    wide = np.zeros((202, 2 * dim))
    wide[::2, ::2] = values
    for other in (wide[::2, ::2], np.asfortranarray(values), values[::-1].copy()[::-1]):
        for found, expected in zip(law.both(other), (informed, weaker), strict=True):
            np.testing.assert_array_equal(found, expected)
    for row in (0, 17, 100):
        alone = law.both(values[row : row + 1])
        assert (alone[0][0], alone[1][0]) == (informed[row], weaker[row])
    sizes(monkeypatch, law_lanes=0)
    for found, expected in zip(law.both(values), (informed, weaker), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_a_column_in_which_only_one_row_varies() -> None:
    """Whatever is left of its variance by rounding, above 0 or below."""
    rng = np.random.default_rng(4)
    values = rng.normal(size=(40, 3))
    for most, one in rng.normal(size=(40, 2)):
        values[:, 1] = most
        values[21, 1] = one
        weaker = law_of(values).both(values)[1]
        assert weaker[21] == np.inf
        assert np.isfinite(np.delete(weaker, 21)).all()
    assert law_of(values).both(values[:0])[0].shape == (0,)
