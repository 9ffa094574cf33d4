"""Clipping and the scores of single steps, against many digits, plain loops and simulations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from leakscore import Reference, SingularCovarianceError
from leakscore.whitebox import clip, covariance_attack
from tests.oracles import whitebox as oracle

RNG = np.random.default_rng(17)
L, D, N = 7, 5, 12
SQUARE = RNG.normal(size=(D, D))
FULL = Reference(RNG.normal(size=D), SQUARE @ SQUARE.T + np.eye(D))
DIAGONAL = Reference(RNG.normal(size=D), RNG.random(D) + 0.2)
LOW_RANK = Reference.low_rank(RNG.normal(size=D), RNG.random(D) + 0.2, RNG.normal(size=(D, 2)))
THETA = RNG.normal(size=(L + 1, D))
TARGETS = RNG.normal(size=(L, D))


def matrix(reference: Reference) -> np.ndarray:
    return reference.cov if reference.cov.ndim == 2 else np.diag(reference.cov)


def test_clip_finds_what_is_not_finite_in_any_block() -> None:
    rows = RNG.normal(size=(20_000, 8)) * np.resize(10.0 ** np.arange(-3, 6), (20_000, 1))
    expected = np.concatenate([clip(part, 1.0) for part in np.split(rows, 200)])
    np.testing.assert_array_equal(clip(rows, 1.0), expected)
    for bad in (np.nan, np.inf):
        rows[17_777, 3] = bad
        with pytest.raises(ValueError, match="g must be finite"):
            clip(rows, 1.0)


@pytest.mark.parametrize("magnitude", [1e-322, 1e-310, 1e-200, 1e-140, 1.0, 1e150, 1e200, 1e308])
@pytest.mark.parametrize("bound", [1e-308, 1e-3, 1.0, 1e300])
def test_clip_at_any_magnitude(magnitude: float, bound: float) -> None:
    rows = magnitude * np.clip(RNG.normal(size=(6, 9)), -1.7, 1.7)
    rows[2] = 0.0
    result = clip(rows, bound)
    expected = [oracle.clipped(row, bound) for row in rows]
    np.testing.assert_allclose(result, expected, rtol=1e-14, atol=5e-323)


def test_clip_keeps_short_rows_and_its_argument() -> None:
    rows = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]], dtype=np.float32)
    rows.flags.writeable = False
    result = clip(rows, 5.0)
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, rows)
    assert clip([6.0, 8.0], 5.0).tolist() == [3.0, 4.0]
    assert np.all(np.linalg.norm(clip(RNG.normal(size=(100, 30)), 0.1), axis=1) < 0.1 * (1 + 1e-15))
    with pytest.raises(ValueError, match="g of shape"):
        clip(np.ones((1, 2, 3)), 1.0)


@pytest.mark.parametrize("reference", [FULL, DIAGONAL, LOW_RANK], ids=lambda known: known.kind)
@pytest.mark.parametrize("rates", [0.25, np.linspace(0.1, 0.9, L)], ids=["constant", "schedule"])
def test_the_attack_is_the_score_of_every_step(reference: Reference, rates: np.ndarray) -> None:
    each = np.broadcast_to(rates, L)
    expected = [
        oracle.step_score(
            THETA[t], THETA[t + 1], TARGETS[t], reference.mean, matrix(reference), each[t], N
        )
        for t in range(L)
    ]
    scores = covariance_attack(THETA, TARGETS, reference, rates, N)
    np.testing.assert_allclose(scores, expected, rtol=1e-11)
    same = covariance_attack(THETA, TARGETS, L * [reference], rates, N)
    np.testing.assert_allclose(same, expected, rtol=1e-11)


def test_a_reference_for_each_step() -> None:
    known = [Reference(RNG.normal(size=D), (1 + t) * matrix(FULL)) for t in range(L)]
    noise = 0.3
    expected = [
        oracle.step_score(
            THETA[t], THETA[t + 1], TARGETS[t], known[t].mean,
            known[t].cov + N * noise**2 * np.eye(D), 0.5, N,
        )
        for t in range(L)
    ]  # fmt: skip
    scores = covariance_attack(THETA, TARGETS, tuple(known), 0.5, N, noise_std=noise)
    np.testing.assert_allclose(scores, expected, rtol=1e-11)


def test_blocks_of_steps_agree() -> None:
    dim, steps = 300_000, 8  # three steps a block
    path, targets = RNG.normal(size=(steps + 1, dim)), RNG.normal(size=(steps, dim))
    reference = Reference(RNG.normal(size=dim), RNG.random(dim) + 0.2)
    single = [
        covariance_attack(path[t : t + 2], targets[t : t + 1], reference, 0.5, N)[0]
        for t in range(steps)
    ]
    scores = covariance_attack(path, targets, reference, 0.5, N)
    np.testing.assert_allclose(scores, single, rtol=1e-9)


def test_descent_steps_raise_the_score_of_those_who_took_part() -> None:
    """Steps along -gradient, as training takes them: N(-m/2, m) without and N(m/2, m) with."""
    rounds, n, rate = 4000, 40, 0.1
    z = DIAGONAL.mean + 3.0 * np.sqrt(DIAGONAL.cov)
    m = float(DIAGONAL.squared_mahalanobis(z)) / n
    scores = {}
    for inside in (0, 1):
        others = RNG.normal(size=(rounds, D)) * np.sqrt(DIAGONAL.cov / (n - inside))
        released = (inside * z + (n - inside) * (DIAGONAL.mean + others)) / n
        theta = np.concatenate([np.zeros((1, D)), -rate * released.cumsum(axis=0)])
        scores[inside] = covariance_attack(theta, np.tile(z, (rounds, 1)), DIAGONAL, rate, n)
        mean, spread = scores[inside].mean(), np.sqrt(m / rounds)
        assert abs(mean - (2 * inside - 1) * m / 2) < 4 * spread
    auc = stats.mannwhitneyu(scores[1], scores[0]).statistic / rounds**2
    assert auc == pytest.approx(stats.norm.cdf(np.sqrt(m / 2)), abs=4 * 0.5 / np.sqrt(rounds))


def test_a_reference_of_clipped_gradients_for_every_step() -> None:
    tables = 3.0 * RNG.normal(size=(L, 60, D))
    references = [Reference.fit(clip(table, 2.0), ddof=1) for table in tables]
    steps = covariance_attack(THETA, clip(TARGETS, 2.0), references, 0.5, N, noise_std=0.1)
    for t, step in enumerate(steps):
        rows = np.array([oracle.clipped(row, 2.0) for row in tables[t]])
        cov = np.cov(rows.T) + N * 0.01 * np.eye(D)
        z = oracle.clipped(TARGETS[t], 2.0)
        expected = oracle.step_score(THETA[t], THETA[t + 1], z, rows.mean(axis=0), cov, 0.5, N)
        assert step == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"theta": THETA[:-1]}, ValueError, r"theta of shape \(7, 5\) must be \(8, 5\)"),
        ({"theta": THETA[:, :-1]}, ValueError, "theta of shape"),
        ({"theta": 1e308 * (-1.0) ** np.arange(L + 1)[:, None] * np.ones(D)}, ValueError, "theta"),
        ({"reference": Reference([0.0], [1.0])}, ValueError, "reference of 1 coordinates"),
        ({"reference": 3 * [FULL]}, ValueError, "one Reference or 7 of them, not 3"),
        ({"reference": []}, ValueError, "not 0"),
        ({"reference": [FULL, None]}, TypeError, r"reference\[1\]"),
        ({"reference": "full"}, TypeError, "reference"),
        ({"reference": Reference(np.zeros(D), np.zeros(D))}, SingularCovarianceError, "singular"),
        ({"learning_rate": np.ones(L - 1)}, ValueError, "learning_rate"),
        ({"learning_rate": np.zeros(L)}, ValueError, r"learning_rate\[0\]"),
        ({"n": 1}, ValueError, "n=1"),
    ],
)
def test_attacks_that_do_not_fit(changes: dict, error: type[Exception], words: str) -> None:
    given = {
        "theta": THETA,
        "target_gradients": TARGETS,
        "reference": FULL,
        "learning_rate": 0.5,
        "n": N,
    }
    with pytest.raises(error, match=words):
        covariance_attack(**given | changes)
