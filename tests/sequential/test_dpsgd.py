"""Error rates of DP-SGD's exact test, against quadrature of the region, limits and simulation."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore import Reference, SingularCovarianceError, sequential, tradeoff
from tests.oracles import sequential as oracle

RNG = np.random.default_rng(4)
N, NOISE = 10, 0.2
ROTATION = np.linalg.qr(RNG.normal(size=(2, 2)))[0]


@pytest.mark.parametrize(
    ("variances", "shift"),
    [
        ([1.0, 0.3], [3.0, -2.0]),
        ([2.0, 1e-3], [4.0, 2.0]),
        ([1.0, 0.0], [3.0, 2.0]),
        ([1e-6, 1e-9], [2.0, 1.0]),  # constant and sum are 1e9 times what they leave of the ratio
        ([1.0, 1e-12], [1.0, 2.5]),
    ],
)
@pytest.mark.parametrize("threshold", [-1.0, 0.8])
def test_rates_are_integrals_over_the_region(variances, shift, threshold) -> None:
    truth = oracle.plane_rates(threshold, shift, variances, N, NOISE)
    reference = Reference([0.5, -0.5], variances)
    target = reference.mean + shift
    found = sequential.dpsgd_error_rates(threshold, target, reference, N, NOISE)
    np.testing.assert_allclose(found, truth, rtol=1e-9, atol=1e-14)


def test_every_form_of_the_covariance_gives_the_same() -> None:
    dim, factor = 7, RNG.normal(size=(7, 3))
    target, gamma = 2 * RNG.normal(size=7), [-0.5, 0.3, 2.0]
    for own in (0.5, 0.0):
        thin = Reference.low_rank(np.zeros(dim), own, factor)
        full = Reference(np.zeros(dim), own * np.eye(dim) + factor @ factor.T)
        wide = Reference.low_rank(np.zeros(dim), own, np.hstack([factor, np.zeros((dim, 5))]))
        expected = sequential.dpsgd_error_rates(gamma, target, full, N, NOISE)
        for known in (thin, wide):
            found = sequential.dpsgd_error_rates(gamma, target, known, N, NOISE)
            np.testing.assert_allclose(found, expected, rtol=1e-9)
    turn = np.linalg.qr(RNG.normal(size=(dim, dim)))[0]
    variances = RNG.uniform(0.1, 2.0, dim)
    plain = sequential.dpsgd_error_rates(
        gamma, target, Reference(np.zeros(dim), variances), N, NOISE
    )
    turned = Reference(np.zeros(dim), turn @ np.diag(variances) @ turn.T)
    found = sequential.dpsgd_error_rates(gamma, turn @ target, turned, N, NOISE)
    np.testing.assert_allclose(found, plain, rtol=1e-9)
    table = RNG.normal(size=(5, dim))
    fitted = Reference.fit(table, cov="low-rank", shrinkage=0.0, ridge=0.1)
    found = sequential.dpsgd_error_rates(gamma, target, fitted, N, NOISE)
    dense = Reference(fitted.mean, fitted.cov)
    expected = sequential.dpsgd_error_rates(gamma, target, dense, N, NOISE)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_long_factor_keeps_its_small_singular_values() -> None:
    """Columns of disjoint support, scaled by 1 to 1e-6 and turned: the rates in their basis."""
    dim, rank, scales, noise = 9000, 3, np.array([1.0, 1e-3, 1e-6]), 1e-7
    place = RNG.integers(rank, size=dim)
    basis = RNG.normal(size=(dim, rank)) * (place[:, np.newaxis] == np.arange(rank))
    basis /= np.linalg.norm(basis, axis=0)
    factor = (basis * scales) @ np.linalg.qr(RNG.normal(size=(rank, rank)))[0]
    target = basis @ np.full(rank, 4e-6) + RNG.normal(size=dim) * 1e-8
    along = target @ basis
    shift = [*along, np.linalg.norm(target - basis @ along)]
    plane = Reference(np.zeros(rank + 1), [*scales**2, 0.0])
    thin, gamma = Reference.low_rank(np.zeros(dim), 0.0, factor), [-1.0, 0.1, 1.0]
    expected = sequential.dpsgd_error_rates(gamma, shift, plane, N, noise)
    found = sequential.dpsgd_error_rates(gamma, target, thin, N, noise)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_noise_in_proportion_to_the_variances_has_a_closed_form() -> None:
    variances, target, gamma = RNG.uniform(0.5, 2, 20), RNG.normal(size=20), [-1.0, 0.0, 0.6]
    reference = Reference(np.zeros(20), variances)
    ratio, m = 1.5, reference.squared_mahalanobis(target)
    noise = np.sqrt(ratio * variances / N)
    alpha, beta = sequential.dpsgd_error_rates(gamma, target, reference, N, noise)
    curve = tradeoff.gaussian_mean(m, N, 20, noise_ratio=ratio)
    np.testing.assert_allclose(curve(alpha), beta, rtol=1e-9)


def test_without_noise_it_is_the_batch_mean() -> None:
    reference = Reference(np.zeros(3), np.eye(3) + 0.5)
    target, gamma = [1.0, -2.0, 4.0], np.array([[-2.0, 0.0], [1.0, 9.0]])
    expected = sequential.error_rates(gamma, reference.squared_mahalanobis(target), N, 3)
    found = sequential.dpsgd_error_rates(gamma, target, reference, N, 0.0)
    np.testing.assert_array_equal(found, expected)
    nearly = sequential.dpsgd_error_rates(gamma, target, reference, N, 1e-9)
    np.testing.assert_allclose(nearly, expected, rtol=1e-9, atol=1e-300)
    lone = Reference.low_rank(np.zeros(3), [1.0, 2.0, 3.0], np.ones((3, 1)))
    m = lone.squared_mahalanobis(target)
    found = sequential.dpsgd_error_rates(gamma, target, lone, N, 0.0)
    np.testing.assert_array_equal(found, sequential.error_rates(gamma, m, N, 3))


def test_where_gradients_do_not_vary_the_law_is_normal() -> None:
    target, gamma = np.array([0.6, 0.8, 0.0]), np.array([-1.0, 0.0, 1.0])
    for variance in (0.0, 1e-30):
        constant = Reference(np.zeros(3), np.full(3, variance))
        found = sequential.dpsgd_error_rates(gamma, target, constant, N, 0.1)
        curve = tradeoff.gaussian(1.0)  # a shift of 1/n by noise of 1/n
        np.testing.assert_allclose(curve(found[0]), found[1], rtol=1e-9)
        np.testing.assert_allclose(
            curve.delta(gamma, "forward"), 1 - found[1] - np.exp(gamma) * found[0], rtol=1e-8
        )
    still = sequential.dpsgd_error_rates(
        gamma, np.zeros(3), Reference(np.zeros(3), np.zeros(3)), N, 0.1
    )
    np.testing.assert_array_equal(still, [[1, 0, 0], [0, 1, 1]])  # the ratio is 1, a tie is out


def test_add_remove_is_exactly_gaussian() -> None:
    mean, target = np.array([0.5, 1.0]), np.array([2.0, -1.0])
    gamma = np.array([-0.4, 0.0, 1.0, np.inf])
    for known in (
        Reference(mean, [1.0, 2.0]),
        Reference(mean, [[1.0, 0.5], [0.5, 2.0]]),
        Reference.low_rank(mean, [1.0, 0.3], [[0.5], [0.2]]),
    ):
        for noise in (0.0, NOISE):
            alpha, beta = sequential.dpsgd_error_rates(
                gamma, target, known, N, noise, neighbours="add-remove"
            )
            cov = np.diag(known.cov) if known.kind == "diagonal" else known.cov
            within = (N - 1) / N**2 * cov + noise**2 * np.eye(2)
            m = target @ np.linalg.solve(within, target) / N**2
            curve = tradeoff.gaussian(leakage=m)
            np.testing.assert_allclose(curve(alpha), beta, rtol=1e-12)
            assert beta[1] == pytest.approx(alpha[1], rel=1e-12)


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_rates_of_simulated_gradients(neighbours) -> None:
    dim, rounds = 6, 60_000
    factor = RNG.normal(size=(dim, dim - 1)) / 2
    mean = RNG.normal(size=dim)
    known, target = Reference(mean, factor @ factor.T), mean + 2 * RNG.normal(size=dim)
    own = (N - 1) / N**2 * known.cov + NOISE**2 * np.eye(dim)
    other = known.cov / N + NOISE**2 * np.eye(dim) if neighbours == "replace" else own
    centre = mean if neighbours == "replace" else mean * (N - 1) / N
    out = RNG.multivariate_normal(centre, other, rounds)[:, np.newaxis]
    within = RNG.multivariate_normal(mean * (N - 1) / N + target / N, own, rounds)[:, np.newaxis]
    options = {"noise_std": NOISE, "neighbours": neighbours}
    gamma = np.array([-0.5, 0.5, 1.5])
    above = sequential.gradient_llr(out, target, known, N, **options) > gamma
    below = sequential.gradient_llr(within, target, known, N, **options) <= gamma
    found = sequential.dpsgd_error_rates(gamma, target, known, N, NOISE, neighbours=neighbours)
    for rate, hits in zip(found, (above, below), strict=True):
        slack = 4 * np.sqrt(rate * (1 - rate) / rounds)
        assert (np.abs(hits.mean(axis=0) - rate) <= slack).all()


def test_the_threshold_is_the_slope_of_the_curve() -> None:
    """d beta / d alpha = -e^gamma for any law, by differences of both."""
    checked = 0
    for _ in range(150):
        dim, n = int(RNG.choice([1, 3, 12])), int(RNG.choice([2, 10, 10**4]))
        variances = 10 ** RNG.uniform(-8, 4, dim) * (RNG.random(dim) > 0.2)
        shift = 10 ** RNG.uniform(-2, 2, dim) * RNG.choice([-1, 0, 1], dim)
        gamma = RNG.normal(scale=3.0)
        known, noise = Reference(np.zeros(dim), variances), 10 ** RNG.uniform(-3, 2) / n
        points = gamma + np.array([-1e-5, 1e-5])
        alpha, beta = sequential.dpsgd_error_rates(points, shift, known, n, noise)
        change = alpha[0] - alpha[1], beta[1] - beta[0]
        assert min(change) >= 0.0
        large = change[0] > 1e-8 * alpha[0] and change[1] > 1e-8 * beta[0]
        if large and min(change) > 1e-250:
            checked += 1
            assert np.log(change[1] / change[0]) == pytest.approx(gamma, abs=2e-3)
    assert checked > 30


def test_the_test_without_noise_has_less_power() -> None:
    """The figures of the docstring of `dpsgd_error_rates`."""
    dim, n, rounds = 50, 64, 20_000
    variances, target = np.logspace(0, -3, dim), np.full(dim, dim**-0.5)
    known, noise = Reference(np.zeros(dim), variances / (2 * variances.sum())), 0.5 / n
    gamma = np.linspace(0.0, 6.0, 25)
    alpha, beta = sequential.dpsgd_error_rates(gamma, target, known, n, noise)
    exact = np.exp(np.interp(-np.log(0.01), -np.log(alpha), np.log(1 - beta)))
    assert exact == pytest.approx(0.212, abs=1e-3)
    out = RNG.normal(size=(rounds, dim)) * np.sqrt(known.cov / n + noise**2)
    within = RNG.normal(size=(rounds, dim)) * np.sqrt((n - 1) / n**2 * known.cov + noise**2)
    llr = [sequential.gradient_llr(x, target, known, n) for x in (out, within + target / n)]
    power = (llr[1] > np.quantile(llr[0], 0.99)).mean()
    assert power == pytest.approx(0.106, abs=4 * np.sqrt(2 * 0.1 * 0.9 / rounds))


def test_extreme_thresholds_and_large_dimensions() -> None:
    known = Reference([0.0, 0.0], [1.0, 0.5])
    ends = sequential.dpsgd_error_rates([-np.inf, np.inf, 500.0], [1.0, 2.0], known, N, NOISE)
    np.testing.assert_array_equal(ends, [[1, 0, 0], [0, 1, 1]])
    for neighbours in ("replace", "add-remove"):
        far = sequential.dpsgd_error_rates(
            [-1e308, -1e50, -1e5, np.nan], [1.0, 2.0], known, N, NOISE, neighbours=neighbours
        )
        np.testing.assert_array_equal(far, [[1, 1, 1, np.nan], [0, 0, 0, np.nan]])
        with pytest.raises(ValueError, match=r"target_gradient.*no square overflows"):
            sequential.dpsgd_error_rates(0, [1e200, 2.0], known, N, NOISE, neighbours=neighbours)
    dim = 20_000
    thin = Reference.low_rank(np.zeros(dim), 0.5, RNG.normal(size=(dim, 5)))
    alpha, beta = sequential.dpsgd_error_rates([0.0, 1.0], RNG.normal(size=dim) / 9, thin, 64, 0.5)
    assert (np.diff(alpha) < 0).all()
    assert (np.diff(beta) > 0).all()
    assert 0 < alpha[0] < 0.5
    assert 0 < beta[0] < 0.5


def test_what_has_no_law_is_refused() -> None:
    singular = Reference.low_rank(np.zeros(3), 0.0, [[1.0], [2.0], [0.5]])
    with pytest.raises(SingularCovarianceError, match="noise_std"):
        sequential.dpsgd_error_rates(0.0, np.ones(3), singular, N, 0.0)
    with pytest.raises(SingularCovarianceError, match="noise_std"):
        sequential.gradient_llr(np.ones((2, 3)), np.ones(3), singular, N)
    assert np.isfinite(sequential.dpsgd_error_rates(0.0, np.ones(3), singular, N, 0.1)).all()
    uneven = Reference.low_rank(np.zeros(3), [0.1, 0.2, 0.3], [[1.0], [2.0], [0.5]])
    with pytest.raises(ValueError, match="one diagonal for all"):
        sequential.dpsgd_error_rates(0.0, np.ones(3), uneven, N, 0.1)
    with pytest.raises(ValueError, match="noise_std"):
        sequential.dpsgd_error_rates(0.0, np.ones(3), singular, N, [0.1, 0.2, 0.3])
    half = Reference(np.zeros(2), [1.0, 0.0])
    with pytest.raises(SingularCovarianceError):
        sequential.dpsgd_error_rates(0.0, np.ones(2), half, N, [0.1, 0.0])


def test_the_game_s_own_bound() -> None:
    alpha = np.array([1e-6, 0.1, 0.5])
    for neighbours, mu in (("replace", 4.0), ("add-remove", 2.0)):
        game = sequential.game_tradeoff(0.5, neighbours)
        np.testing.assert_array_equal(game(alpha), tradeoff.gaussian(mu)(alpha))
    assert sequential.game_tradeoff([1.0, 2.0]).shape == (2,)
    bare = sequential.game_tradeoff([0.0, np.inf])
    np.testing.assert_allclose(bare.power(0.01), [1.0, 0.01])
    # No target with a gradient of norm 1 beats it, for any law of the others on the ball.
    known = Reference([-0.5, 0.0], [0.05, 0.05])
    curve = sequential.game_tradeoff(0.7)
    found = sequential.dpsgd_error_rates([0.0, 2.0], [1.0, 0.0], known, 16, 0.7 / 16)
    assert (curve(found[0]) < found[1]).all()
