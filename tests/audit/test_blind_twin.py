"""A blind check by a slow twin, block by block, and sums of two ranks in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from leakscore import audit
from tests.helpers.sizes import sizes


def area(scores: np.ndarray, member: np.ndarray) -> Fraction:
    wins = stats.mannwhitneyu(scores[member], scores[~member]).statistic
    return Fraction(int(2 * wins), 2 * int(member.sum()) * int((~member).sum()))


def fitted(features: np.ndarray, member: np.ndarray, fold: np.ndarray, ridge: float) -> np.ndarray:
    """Cross-fitted ridge regressions with an intercept, which has no penalty."""
    columns = []
    for column in features.T:
        away = column - np.median(column)
        spread = np.median(np.abs(away[away != 0]))
        columns.append(np.clip(away / spread, -10.0, 10.0))
    table = np.column_stack([np.ones(len(features)), *columns])
    penalty = np.diag([0.0] + [ridge] * len(columns))
    scores = np.empty(len(features))
    for k in range(5):
        rows, labels = table[fold != k], member[fold != k].astype(float)
        slopes = np.linalg.solve(rows.T @ rows + penalty, rows.T @ labels)
        scores[fold == k] = (table[fold == k] - rows.mean(axis=0)) @ slopes
    return np.round(scores, 10)


@pytest.mark.parametrize("seed", range(4))
def test_a_check_is_its_slow_twin(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many labels are tried at once; two-sided p-values of columns in fractions."""
    rng = np.random.default_rng([90, seed])
    features = np.column_stack([rng.normal(size=14), rng.integers(0, 3, 14), rng.normal(size=14)])
    features[0, 0] = 40.0
    member = rng.permutation(14) < 6
    given = {} if seed % 2 else {"ridge": 0.25}
    checks = []
    for cells in (1, 100, 1 << 20):
        sizes(monkeypatch, blind_cells=cells)
        checks.append(audit.blind_check(features, member, rng=seed, relabellings=60, **given))
    draws = np.random.default_rng(seed)
    fold = draws.permutation(14) % 5
    labels = [member, *(draws.permuted(member.astype(float)) == 1.0 for _ in range(60))]
    areas = [area(fitted(features, each, fold, given.get("ridge", 1.0)), each) for each in labels]
    away = [[abs(area(column, each) - Fraction(1, 2)) for column in features.T] for each in labels]
    singles = [np.mean([each[j] >= away[0][j] for each in away]) for j in range(3)]
    holm = np.empty(3)
    order = np.argsort(singles, kind="stable")
    for place, j in enumerate(order):
        holm[j] = min(1.0, max((3 - i) * singles[order[i]] for i in range(place + 1)))
    p_value = np.mean([one >= areas[0] for one in areas])
    for check in checks:
        assert check.auc == pytest.approx(float(areas[0]), rel=1e-12)
        assert check.p_value == pytest.approx(p_value, rel=1e-12)
        np.testing.assert_allclose(check.column_p_values, holm, rtol=1e-12)


def test_values_at_either_end_of_doubles() -> None:
    member = np.arange(40) < 20
    features = np.where(member, 1.7e308, -1.7e308)[:, np.newaxis]
    assert audit.blind_check(features, member, rng=0).p_value == 0.001


@pytest.mark.parametrize("decoys", [999, 9_999])
def test_sums_of_two_ranks(decoys: int) -> None:
    """P = (t + 1)(t + 2) / (2 w^2), w = decoys + 1: rounded up, by no more than is claimed."""
    width = decoys + 1
    for total in range(0, decoys, decoys // 37):
        others = np.repeat([[1.0], [-1.0]], decoys, axis=1)
        others[0, total:] = -1.0
        found = Fraction(audit.rank_test([0.0, 0.0], others).p_value)
        exact = Fraction((total + 1) * (total + 2), 2 * width**2)
        assert 1 <= found / exact <= 1 + 1.2e-15 * width
    assert audit.rank_test([0.0, 0.0], np.ones((2, decoys))).p_value == 1.0


def test_one_nan_of_many_is_refused() -> None:
    for scores in ([1.0, np.nan], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="score must hold no NaN"):
            audit.rank_test(scores, np.zeros((2, 3)))
