"""Forms in the inverse of a covariance where squares, or differences, are beyond every double."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpmath import matrix, mp, mpf

import leakscore
from leakscore import canaries, games, leakage, sequential
from tests.contract.inputs import SMALL

DIM = 6
ROWS = SMALL[:, :DIM]
MOST = mpf(np.finfo(np.float64).max)
KINDS = {
    "diagonal": leakscore.Reference(ROWS[0], 0.5 + np.abs(ROWS[1])),
    "full": leakscore.Reference.fit(ROWS),
    "factor": leakscore.Reference.low_rank(ROWS[0], 1.0, ROWS[1:3].T),
    "low-rank": leakscore.Reference.fit(ROWS[:5], "low-rank", ridge=0.5),
}


@pytest.fixture(params=KINDS)
def reference(request: pytest.FixtureRequest) -> leakscore.Reference:
    return KINDS[request.param]


@pytest.fixture(params=[1e100, 1e153, 1e155, 1e200, 1e300, 1.7e308])
def rows(request: pytest.FixtureRequest) -> Any:
    table = np.random.default_rng(3).uniform(-1.0, 1.0, (4, DIM))
    table[0], table[1], table[2, 1:] = 1.0, -1.0, 0.0
    return request.param * table


def agree(found: Any, true: Any, size: Any) -> bool:
    """Whether it is the number, or inf with its sign where no double is."""
    if np.isinf(found):
        return bool(abs(true) > MOST * mpf(1 - 1e-9) and mp.sign(true) == np.sign(found))
    return bool(abs(mpf(float(found)) - true) <= 1e-8 * size)


def inverse(reference: leakscore.Reference) -> Any:
    cov = reference.cov
    return matrix((cov if cov.ndim == 2 else np.diag(cov)).tolist()) ** -1


def test_distances_products_and_solutions(reference: leakscore.Reference, rows: Any) -> None:
    with mp.workdps(60):
        weights = inverse(reference)
        vectors = [matrix(row.tolist()) for row in rows]
        solved = reference.solve(rows)
        products = reference.inner(rows, 1e-100 * ROWS[:3])
        distances = reference.squared_mahalanobis(rows)
        for i, row in enumerate(vectors):
            away = row - matrix(reference.mean.tolist())
            true = (away.T * weights * away)[0]
            assert agree(distances[i], true, true)
            expected = weights * row
            size = max(abs(v) for v in expected)
            assert all(agree(a, b, size) for a, b in zip(solved[i], expected, strict=True))
            for k in range(3):
                true = (expected.T * matrix((1e-100 * ROWS[k]).tolist()))[0]
                assert agree(products[i, k], true, size * mpf(1e-99))


def test_who_uses_them_has_no_nan(reference: leakscore.Reference, rows: Any) -> None:
    scores = leakage.leakage_score(rows, reference, 10, noise_std=0.5)
    assert (scores > 1e190).all()
    assert not np.isnan(sequential.hotelling(rows, reference, 10).statistic).any()
    np.testing.assert_array_equal(sequential.hotelling(rows, reference, 10).pvalue, 0.0)
    assert (canaries.select(rows, reference, 2)[1] > 1e190).all()


def test_ordinary_rows_beside_them_keep_every_bit(reference: leakscore.Reference) -> None:
    mixed = np.vstack([ROWS[:4], np.full((1, DIM), 1e200)])
    for found, alone in (
        (reference.squared_mahalanobis(mixed), reference.squared_mahalanobis(ROWS[:4])),
        (reference.inner(mixed, ROWS[0]), reference.inner(ROWS[:4], ROWS[0])),
    ):
        np.testing.assert_allclose(found[:4], alone, rtol=1e-12)
        assert found[4] == np.inf or abs(found[4]) > 1e190


def test_split_t_does_not_see_the_target_s_scale() -> None:
    plain = sequential.split_t(ROWS[:3], 1e10 * np.ones(DIM), ROWS, 10)
    for scale in (1e150, 1e200, 1e300, 1.7e308):
        far = sequential.split_t(ROWS[:3], scale * np.ones(DIM), ROWS, 10)
        np.testing.assert_allclose(far.statistic, plain.statistic, rtol=1e-8)
    with pytest.raises(ValueError, match="observed"):
        sequential.split_t(np.full((2, DIM), 1.7e308), np.ones(DIM), ROWS, 10)


def test_noise_for_far_targets() -> None:
    reference = leakscore.Reference([0.0], [1.0])
    needed = leakage.noise_for([1e140], reference, 9, max_advantage=0.2)
    assert needed.leakage_after <= needed.max_leakage
    # e^2 / (n (1 + n s^2)) = m
    expected = 1e140 / 9 / np.sqrt(needed.max_leakage)
    np.testing.assert_allclose(needed.noise_std, expected, rtol=1e-9)
    with pytest.raises(ValueError, match=r"targets\[0\]"):
        leakage.noise_for([1e200], reference, 9, max_advantage=0.2)


def test_others_name_what_overflows() -> None:
    training = games.Training("linear", 5, 1, 0.1)
    with pytest.raises(ValueError, match="theta and records"):
        training.gradients([1.7e308, -1.7e308], [2.0, 2.0, 1.0])
    with pytest.raises(ValueError, match="theta and records"):
        training.losses([1.7e308, -1.7e308], [2.0, 2.0, 1.0])
    with pytest.raises(ValueError, match="C must be so small"):
        canaries.canife_loss([1.0], [[1.0]], 1e200)
    moments = leakscore.Moments(2)
    moments.update([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="X must"):
        moments.update([[1e200, 1e200]])
    assert moments.count == 2
    with pytest.raises(ValueError, match="dim="):
        leakscore.Moments(2**40)


def test_summaries_of_huge_scores_are_those_of_small_ones() -> None:
    scores, member = np.arange(40.0) ** 1.5, np.arange(40) % 3 == 0
    small = games.summarize(scores, member, threshold=20.0)
    large = games.summarize(2.0**900 * scores, member, threshold=2.0**900 * 20.0)
    assert large.member_mean == 2.0**900 * small.member_mean
    assert large.member_mean_se == pytest.approx(2.0**900 * small.member_mean_se, rel=1e-12)
    assert large.auc == small.auc
    assert large.member_variance == np.inf
