"""Tests with unknown mean and covariance hold their level; linear regression's closed forms."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from leakscore import Reference, scores, sequential

DIM, N = 5, 10


def plays(rounds: int, rows: int, seed: int):
    """Releases without and with a target of M = 36, and reference records, a round at a time."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(DIM, DIM))
    mean, target = rng.normal(size=DIM), rng.normal(size=DIM)
    target = mean + root @ (target * 6 / np.linalg.norm(target))
    for _ in range(rounds):
        table = mean + rng.normal(size=(rows, DIM)) @ root.T
        batch = mean + rng.normal(size=(2, DIM)) @ root.T * np.sqrt([[1 / N], [(N - 1) / N**2]])
        batch[1] += (target - mean) / N
        yield batch, target, table


def within(rate: float, hits: float, rounds: int) -> bool:
    return abs(hits - rate) <= 4 * np.sqrt(rate * (1 - rate) / rounds)


def test_both_tests_hold_their_level_and_have_their_power() -> None:
    rounds = 1000
    found = np.empty((rounds, 2, 2))
    for i, (batch, target, table) in enumerate(plays(rounds, 60, seed=0)):
        found[i, 0] = sequential.split_t(batch, target, table, N, split=35).pvalue
        found[i, 1] = sequential.hotelling(batch, table, N).pvalue
    for which, power in ((0, 0.440), (1, 0.178)):
        null = found[:, which, 0]
        assert stats.kstest(null, "uniform").pvalue > 1e-4
        assert within(0.05, (null < 0.05).mean(), rounds)
        assert within(power, (found[:, which, 1] < 0.05).mean(), rounds)


def test_the_plug_in_ratio_does_not_hold_its_level() -> None:
    """What the docstring of `split_t` says of estimates in place of mean and covariance."""
    rounds = 1000
    scored = np.empty(rounds)
    for i, (batch, target, table) in enumerate(plays(rounds, 60, seed=1)):
        scored[i] = scores.gaussian_llr(batch[0], target, Reference.fit(table, ddof=1), N)
    cut = 0.5 * (36 - DIM * np.log1p(-1 / N)) - stats.ncx2.ppf(0.05, DIM, N * 36) / (2 * (N - 1))
    assert within(0.080, (scored > cut).mean(), rounds)


def test_split_t_is_students_test() -> None:
    (batch, target, table), *_ = plays(1, 30, seed=2)
    found = sequential.split_t(batch, target, table, N)
    first, rest = table[:15], table[15:]
    weight = np.linalg.solve(np.cov(first.T), target - first.mean(axis=0))
    along = rest @ weight
    spread = np.sqrt(along.var(ddof=1) * (1 / N + 1 / 15))
    expected = (batch @ weight - along.mean()) / spread
    np.testing.assert_allclose(found.statistic, expected, rtol=1e-9)
    np.testing.assert_allclose(found.pvalue, stats.t.sf(expected, 14), rtol=1e-9)
    assert found.df == (14,)
    one = sequential.split_t(batch[1], target, table, N)
    assert (one.statistic, one.pvalue) == (found.statistic[1], found.pvalue[1])
    given = sequential.split_t(batch, target, rest, N, reference=Reference.fit(first, ddof=1))
    np.testing.assert_allclose(given.statistic, found.statistic, rtol=1e-12)
    shifted = sequential.split_t(batch + 1e9, target + 1e9, table + 1e9, N)
    np.testing.assert_allclose(shifted.statistic, found.statistic, rtol=1e-5)


def test_hotelling_is_hotellings_test() -> None:
    (batch, _, table), *_ = plays(1, 30, seed=3)
    found = sequential.hotelling(batch, table, N)
    away = batch - table.mean(axis=0)
    squares = np.einsum("ij,ij->i", away, np.linalg.solve(np.cov(table.T), away.T).T)
    expected = squares / (1 / N + 1 / 30) * (30 - DIM) / (29 * DIM)
    np.testing.assert_allclose(found.statistic, expected, rtol=1e-10)
    np.testing.assert_allclose(found.pvalue, stats.f.sf(expected, DIM, 30 - DIM), rtol=1e-10)
    known = Reference(table.mean(axis=0), np.cov(table.T))
    sure = sequential.hotelling(batch, known, N)
    np.testing.assert_allclose(sure.statistic, N * squares, rtol=1e-10)
    np.testing.assert_allclose(sure.pvalue, stats.chi2.sf(N * squares, DIM), rtol=1e-9)
    assert sure.df == (DIM,)
    assert isinstance(sequential.hotelling(batch[0], known, N).to_dict()["pvalue"], float)


def test_a_target_far_out_is_found() -> None:
    (batch, target, table), *_ = plays(1, 400, seed=4)
    sure = sequential.split_t(batch[1] + 3 * (target - table.mean(axis=0)), target, table, N)
    assert 0 < sure.pvalue < 1e-100
    assert sequential.hotelling(batch[1] + 100, table, N).pvalue < 1e-100


# --- linear regression ----------------------------------------------------------------------------

RNG = np.random.default_rng(7)
OPTIMUM, INPUT, RESPONSE, STD = RNG.normal(size=DIM), RNG.normal(size=DIM), 2.5, 0.7
ROOT = RNG.normal(size=(DIM, DIM))
COVARIANCES = {"diagonal": RNG.uniform(0.5, 2, DIM), "full": ROOT @ ROOT.T + np.eye(DIM)}


def regression(theta, kind):
    return sequential.linear_regression(theta, OPTIMUM, COVARIANCES[kind], STD, INPUT, RESPONSE)


@pytest.mark.parametrize("kind", COVARIANCES)
def test_mean_and_covariance_are_those_of_drawn_gradients(kind) -> None:
    theta = OPTIMUM + 0.5 * RNG.normal(size=DIM)
    found = regression(theta, kind)
    cov = COVARIANCES[kind] if kind == "full" else np.diag(COVARIANCES[kind])
    rows = 200_000
    x = RNG.normal(size=(rows, DIM)) @ np.linalg.cholesky(cov).T
    y = x @ OPTIMUM + STD * RNG.normal(size=rows)
    gradients = (x @ theta - y)[:, np.newaxis] * x
    known = found.reference()
    assert known.kind == ("full" if kind == "full" else "low-rank")
    spread = np.sqrt(np.diag(known.cov) / rows)
    assert (np.abs(gradients.mean(axis=0) - known.mean) <= 4 * spread).all()
    products = (gradients - known.mean)[:, :, np.newaxis] * (gradients - known.mean)[:, np.newaxis]
    error = products.std(axis=0) / np.sqrt(rows)
    assert (np.abs(products.mean(axis=0) - known.cov) <= 4.5 * error).all()
    np.testing.assert_allclose(found.target_gradient, (theta @ INPUT - RESPONSE) * INPUT)
    m = known.squared_mahalanobis(found.target_gradient)
    assert found.squared_mahalanobis == pytest.approx(m, rel=1e-10)


@pytest.mark.parametrize("kind", COVARIANCES)
@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_the_ratios_of_all_steps_at_once(kind, noise) -> None:
    theta = OPTIMUM + RNG.normal(size=(3, 4, DIM))
    found = regression(theta, kind)
    gradients = found.mean + 0.3 * RNG.normal(size=theta.shape)
    ratios = found.llr(gradients, 50, noise_std=noise)
    assert ratios.shape == found.squared_mahalanobis.shape == (3, 4)
    for i, t in np.ndindex(3, 4):
        known = found.reference(i, t)
        target = found.target_gradient[i, t]
        expected = scores.gaussian_llr(gradients[i, t], target, known, 50, noise_std=noise)
        assert ratios[i, t] == pytest.approx(expected, rel=1e-10, abs=1e-12)
        m = known.squared_mahalanobis(target)
        assert found.squared_mahalanobis[i, t] == pytest.approx(m, rel=1e-10)
    known, targets = [found.reference(1, t) for t in range(4)], found.target_gradient[1]
    steps = sequential.gradient_llr(gradients[1], targets, known, 50, noise_std=noise)
    np.testing.assert_allclose(steps, ratios[1], rtol=1e-10)


def mp_distance(theta, kind):
    """M from the covariance matrix of a gradient, in 60 digits."""
    with mp.workdps(60):
        away, cov = mp.matrix(theta) - mp.matrix(OPTIMUM), mp.matrix(COVARIANCES[kind].tolist())
        mean, x = cov * away, mp.matrix(INPUT)
        v = mp.mpf(STD) ** 2 + (away.T * mean)[0]
        off = (mp.fdot(theta, INPUT) - mp.mpf(RESPONSE)) * x - mean
        return float((off.T * mp.lu_solve(v * cov + mean * mean.T, off))[0])


def test_at_the_optimum_the_residual_says_it_all() -> None:
    found = regression(OPTIMUM, "full")
    residual = (RESPONSE - OPTIMUM @ INPUT) / STD
    m = INPUT @ np.linalg.solve(COVARIANCES["full"], INPUT) * residual**2
    assert found.squared_mahalanobis == pytest.approx(m, rel=1e-12)
    np.testing.assert_allclose(found.mean, 0)
    distant = regression(1e100 * OPTIMUM, "full")
    at_100 = mp_distance(1e100 * OPTIMUM, "full")
    assert distant.squared_mahalanobis == pytest.approx(at_100, rel=1e-10)
    with pytest.raises(ValueError, match="gradients do not overflow"):
        regression(1e200 * OPTIMUM, "full")
    with pytest.raises(ValueError, match="gradients must be so small"):
        found.llr(np.full(DIM, 1e200), 50)
    with pytest.raises(ValueError, match="residual_std"):
        sequential.linear_regression(OPTIMUM, OPTIMUM, np.ones(DIM), 0.0, INPUT, RESPONSE)
