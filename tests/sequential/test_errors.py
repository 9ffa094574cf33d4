"""Exact error rates of the tests, against series of 50 digits, quadrature and the paper's game."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from leakscore import sequential, tradeoff
from tests.oracles import sequential as oracle


@pytest.mark.parametrize(
    ("threshold", "distance", "n", "dim"),
    [
        (0.0, 9.0, 10, 3),
        (-4.0, 9.0, 10, 1),
        (1.5, 9.0, 2, 1),
        (4.6, 9.0, 10, 3),
        (0.4, 0.0, 5, 4),
        (-0.2, 0.0, 5, 4),
        (-40.0, 30.0, 20, 50),
        (15.0, 30.0, 20, 50),
        (0.5, 3.0, 1000, 200),
        (12.0, 400.0, 10, 5),
    ],
)
def test_error_rates_have_their_digits_in_both_tails(threshold, distance, n, dim) -> None:
    found = sequential.error_rates(threshold, distance, n, dim)
    truth = oracle.error_rates(threshold, distance, n, dim)
    assert min(truth) < 1.0
    np.testing.assert_allclose(found, truth, rtol=1e-11)


def test_error_rates_broadcast_and_end() -> None:
    gamma = np.linspace(-6, 6, 7)[:, np.newaxis]
    n = np.array([2, 10, 300])
    alpha, beta = sequential.error_rates(gamma, 4.0, n, 2)
    assert alpha.shape == beta.shape == (7, 3)
    one = sequential.error_rates(gamma[3, 0], 4.0, 10, 2)
    assert (alpha[3, 1], beta[3, 1]) == one
    largest = 0.5 * (4.0 - 2 * np.log1p(-1 / n))
    above = sequential.error_rates(np.nextafter(largest, np.inf), 4.0, n, 2)
    np.testing.assert_array_equal(above, [[0, 0, 0], [1, 1, 1]])
    ends = sequential.error_rates([-np.inf, np.inf], 4.0, 10, 2)
    np.testing.assert_array_equal(ends, [[1, 0], [0, 1]])


def test_far_thresholds_and_no_number() -> None:
    far = [-1e308, 1e308, np.nan]
    for rates in (
        sequential.error_rates(far, 9.0, 10, 3),
        sequential.uniform_error_rates(far, 9.0, 10, 3, 1),
    ):
        ends = np.reshape(rates, (2, -1, 3))
        np.testing.assert_array_equal(ends[0], [[1, 0, np.nan]] * ends.shape[1])
        np.testing.assert_array_equal(ends[1], [[0, 1, np.nan]] * ends.shape[1])
    steps = sequential.uniform_error_rates(far, 9.0, 10, 3, 4)
    np.testing.assert_allclose(steps.alpha, [[1, 0, np.nan]] * 2, atol=1e-11)
    np.testing.assert_allclose(steps.beta, [[0, 1, np.nan]] * 2, atol=1e-11)


@pytest.mark.parametrize(("distance", "n", "dim"), [(9.0, 10, 1), (0.0, 3, 5), (25.0, 40, 100)])
def test_the_trade_off_curve_is_the_same_test(distance, n, dim) -> None:
    gamma = np.linspace(-3.0, 0.45 * (distance + dim / n), 9)
    alpha, beta = sequential.error_rates(gamma, distance, n, dim)
    curve = tradeoff.gaussian_mean(distance, n, dim)
    np.testing.assert_allclose(curve(alpha), beta, rtol=1e-9)
    profile = 1.0 - beta - np.exp(gamma) * alpha
    np.testing.assert_allclose(curve.delta(gamma, "forward"), profile, rtol=1e-9, atol=1e-14)


def test_the_paper_s_statement_on_the_dimension_fails() -> None:
    """Power at alpha = 0.01, n = 10, M = 9, by dimension: the paper has it constant."""
    power = tradeoff.gaussian_mean(9.0, 10, [1, 10, 50, 100, 500]).power(0.01)
    np.testing.assert_allclose(power, [0.0732, 0.0772, 0.0952, 0.118, 0.325], atol=6e-4)


@pytest.mark.parametrize(
    ("steps", "near", "uniform", "largest", "last"),
    [
        (5, 0.98, 0.0314, 0.028890, 0.027341),
        (10, 0.735, 0.0236, 0.020932, 0.020847),
        (20, 0.54, 0.0188, 0.016248, 0.017023),
        pytest.param(50, 0.35, 0.0151, 0.012935, 0.014104, marks=pytest.mark.slow),
    ],
)
def test_power_by_the_number_of_steps(steps, near, uniform, largest, last) -> None:
    """The paper's figure 2a at alpha = 0.01; with 20 steps the largest is below the last mean."""
    curve = tradeoff.gaussian_mean(9.0, 10, 1)
    assert float(curve.best_of(steps).power(0.01)) == pytest.approx(largest, abs=1e-6)
    final = tradeoff.gaussian_mean(9.0, 10 * steps, 1).power(0.01)
    assert float(final) == pytest.approx(last, abs=1e-6)
    gamma = near + np.linspace(-0.03, 0.03, 4)
    alpha, beta = sequential.uniform_error_rates(gamma, 9.0, 10, 1, steps)
    power = np.interp(0.01, alpha.upper[::-1], (1 - beta.lower)[::-1])
    assert power == pytest.approx(uniform, abs=6e-5)


@pytest.mark.parametrize(
    ("prior", "distance", "n", "dim", "thresholds"),
    [
        ((0.5, 0.5), 9.0, 10, 1, (-0.7, 0.9)),
        ((0.2, 0.8), 4.0, 10, 3, (-0.7, 0.9)),
        ((0.5, 0.5), 9.0, 1000, 2, (-0.05, 0.1)),  # all ratios are near 1
        ((0.3, 0.7), 4.0, 1000, 3, (-0.05, 0.1)),
    ],
)
def test_brackets_of_two_steps_hold_the_integral(prior, distance, n, dim, thresholds) -> None:
    for threshold in thresholds:
        truth = oracle.pair_rates(threshold, distance, n, dim, prior)
        found = sequential.uniform_error_rates(threshold, distance, n, dim, 2, prior)
        for rate, (lower, upper) in zip(truth, found, strict=True):
            assert lower - 1e-9 <= rate <= upper + 1e-9
            assert upper - lower < 2e-4


def test_brackets_of_many_records_are_narrow() -> None:
    """The average of nearly equal normal ratios is nearly the ratio of a M / (n T)."""
    n, steps = 10**8, 5
    gamma = np.array([-1e-4, 0.0, 1e-4])
    found = sequential.uniform_error_rates(gamma, 9.0, n, 1, steps)
    far = sequential.uniform_error_rates([-50.0, 1e-2], 9.0, n, 1, steps)
    np.testing.assert_allclose(far.alpha, [[1.0, 0.0]] * 2, atol=1e-9)
    step = np.sqrt(9.0 / n / steps)
    for rate, mean, side in zip(found, (-9.0 / 2 / n, 9.0 / n), (-1, 1), strict=True):
        assert (np.subtract(rate.upper, rate.lower) < 1e-3).all()
        normal = stats.norm.cdf(side * (gamma - mean / steps) / step)
        np.testing.assert_allclose(rate.lower, normal, atol=2e-3)


def test_brackets_hold_simulated_rates() -> None:
    rng = np.random.default_rng(2)
    steps, rounds, m, n, dim = 6, 50_000, 6.0, 8, 2
    prior = np.array([0.3, 0.0, 0.1, 0.1, 0.2, 0.3])
    largest = 0.5 * (m - dim * np.log1p(-1 / n))
    out = largest - rng.noncentral_chisquare(dim, n * m, (rounds, steps)) / (2 * (n - 1))
    within = out.copy()
    step = rng.choice(steps, rounds, p=prior)
    member = largest - rng.noncentral_chisquare(dim, (n - 1) * m, rounds) / (2 * n)
    within[np.arange(rounds), step] = member
    gamma = np.array([-0.5, 0.0, 0.5, 1.0])
    found = sequential.uniform_error_rates(gamma, m, n, dim, steps, prior)
    above = (sequential.semi_uniform(out, prior)[:, np.newaxis] > gamma).mean(axis=0)
    below = (sequential.semi_uniform(within, prior)[:, np.newaxis] <= gamma).mean(axis=0)
    for rate, (lower, upper) in zip((above, below), found, strict=True):
        slack = 4 * np.sqrt(rate * (1 - rate) / rounds)
        assert (lower - slack <= rate).all()
        assert (rate <= upper + slack).all()


def test_brackets_at_the_ends() -> None:
    alpha, beta = sequential.uniform_error_rates([-np.inf, 50.0, np.inf], 9.0, 10, 1, 4)
    np.testing.assert_array_equal([alpha.lower, alpha.upper], [[1, 0, 0]] * 2)
    np.testing.assert_array_equal([beta.lower, beta.upper], [[0, 1, 1]] * 2)
    one = sequential.uniform_error_rates(0.5, 9.0, 10, 1, 3, [0.0, 1.0, 0.0])
    expected = sequential.error_rates(0.5, 9.0, 10, 1)
    assert [end for rate in one for end in rate] == [end for end in expected for _ in range(2)]
    far = sequential.uniform_error_rates([20.0, 24.0], 50.0, 10, 3, 5)
    assert (far.alpha.lower <= far.alpha.upper).all()
    assert (far.alpha.upper < 1e-9).all()
    assert (far.beta.lower > 1 - 1e-4).all()
