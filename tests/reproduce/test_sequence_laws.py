"""What figures compare with the best tests of sequences: against definitions and integrals."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate

from leakscore import sequential, tradeoff
from reproduce._sequences import (
    back_front_diff,
    back_front_ratio,
    delta_diff,
    delta_ratio,
    max_error_rates,
    mean_llr,
)


def test_baselines() -> None:
    losses = np.random.default_rng(3).uniform(0.1, 3.0, size=(4, 5, 7))
    falls, factors = losses[..., :-1] - losses[..., 1:], losses[..., :-1] / losses[..., 1:]
    np.testing.assert_array_equal(delta_diff(losses), falls.max(axis=-1))
    np.testing.assert_array_equal(delta_ratio(losses), factors.max(axis=-1))
    np.testing.assert_array_equal(back_front_diff(losses), losses[..., 0] - losses[..., -1])
    np.testing.assert_array_equal(back_front_ratio(losses), losses[..., 0] / losses[..., -1])
    assert delta_diff(np.array([1.0, 3.0])) == -2.0
    assert back_front_diff(np.array([-1.0, 3.0])) == -4.0


@pytest.mark.parametrize("n", [2, 3, 10, 60])
@pytest.mark.parametrize(("distance", "dim"), [(9.0, 3), (0.0, 50), (1e-9, 1)])
def test_means_of_the_ratio(n, distance, dim) -> None:
    with mp.workdps(60):
        number, m = mp.mpf(n), mp.mpf(distance)
        shrunk = -mp.mpf(dim) / 2 * mp.log(1 - 1 / number)
        under_h0 = shrunk - (dim + m) / (2 * (number - 1))
        under_h1 = shrunk - (dim - m) / (2 * number)
    found = mean_llr(distance, n, dim)
    np.testing.assert_allclose(found, [float(under_h0), float(under_h1)], rtol=1e-12, atol=1e-13)


def test_means_are_integrals_of_the_error_rates() -> None:
    largest = 0.5 * (9.0 - 3 * np.log1p(-0.1))
    points = np.linspace(-60.0, largest, 100_001)
    alpha, beta = sequential.error_rates(points, 9.0, 10, 3)
    for expected, below in zip(mean_llr(9.0, 10, 3), (1.0 - alpha, beta), strict=True):
        mean = largest - integrate.trapezoid(below, points)
        assert mean == pytest.approx(expected, abs=1e-6)


def test_the_largest_of_steps() -> None:
    rng = np.random.default_rng(1)
    alpha, beta = rng.uniform(size=(2, 4, 5))
    found = max_error_rates(alpha, beta)
    for row in range(4):
        missed = 0.0
        for t in range(5):
            rest = np.prod([1 - alpha[row, s] for s in range(5) if s != t])
            missed += beta[row, t] * rest / 5
        assert found[0][row] == pytest.approx(1 - np.prod(1 - alpha[row]), rel=1e-12)
        assert found[1][row] == pytest.approx(missed, rel=1e-12)
    tiny, _ = max_error_rates(np.full(7, 1e-20), np.full(7, 0.5))
    assert tiny == pytest.approx(7e-20, rel=1e-14)
    sure = max_error_rates([1.0, 0.5], [0.25, 1.0])
    assert sure == (1.0, 0.0625)  # only a target in the first step can be missed


def test_equal_steps_follow_best_of() -> None:
    alpha, beta = sequential.error_rates(1.0, 9.0, 10, 1)
    found = max_error_rates(np.full(5, alpha), np.full(5, beta))
    best = tradeoff.gaussian_mean(9.0, 10, 1).best_of(5)
    assert best(found[0]) == pytest.approx(found[1], rel=1e-9)
