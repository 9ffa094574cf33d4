"""The divisor's attack and the last iterate, against scipy, simulation and linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from leakscore import tradeoff
from leakscore.tradeoff import averaged_gaussian_attack, last_iterate

ALPHA = np.concatenate([10.0 ** np.arange(-12.0, 0.0, 0.5), np.linspace(0.1, 0.99, 30)])


@pytest.mark.parametrize(
    ("records", "rate", "steps", "dimension"), [(400, 0.1, 3, 5), (22, 0.5, 1, 2)]
)
def test_attack_is_the_test_of_two_variances(
    records: int, rate: float, steps: int, dimension: int
) -> None:
    f = averaged_gaussian_attack(records, rate, steps, dimension)
    df, ratio = steps * dimension, (int(records * rate) / int((records - 1) * rate)) ** 2
    assert ratio > 1.0
    power = stats.chi2.cdf(stats.chi2.ppf(ALPHA, df) * ratio, df)
    np.testing.assert_allclose(f.power(ALPHA), power, rtol=1e-11)
    np.testing.assert_allclose(f(ALPHA), 1.0 - power, rtol=0, atol=1e-13)
    np.testing.assert_allclose(f.log_power(np.log(ALPHA)), np.log(power), rtol=1e-10)
    inverse = stats.chi2.sf(stats.chi2.isf(ALPHA, df) / ratio, df)
    np.testing.assert_allclose(f.inverse().power(ALPHA), inverse, rtol=1e-11)
    # Numbers of the whole curve, by a search over its points.
    grid = np.concatenate([10.0 ** np.linspace(-30, -1, 20_000), np.linspace(0.1, 1.0, 200_001)])
    for curve in (f, f.inverse()):
        for epsilon in (-1.0, 0.0, 0.05):
            best = (curve.power(grid) - np.exp(epsilon) * grid).max()
            assert curve.delta(epsilon, "forward") == pytest.approx(
                max(best, 0.0), rel=1e-7, abs=1e-12
            )
        delta = 0.3 * curve.advantage()
        epsilon = curve.epsilon(delta, "forward")
        assert curve.delta(epsilon, "forward") == pytest.approx(delta, rel=1e-9)
    area = np.trapezoid(f.power(grid), grid) if hasattr(np, "trapezoid") else f.auc()
    assert f.auc() == pytest.approx(float(area), rel=1e-6)
    assert f.inverse().inverse().power(0.1) == pytest.approx(f.power(0.1), rel=1e-14)
    hull = f.symmetrized()
    assert (hull(ALPHA) <= np.minimum(f(ALPHA), f.inverse()(ALPHA)) + 1e-12).all()
    assert hull.epsilon(1e-3) == f.epsilon(1e-3)


def test_the_largest_ratio_where_no_double_holds_the_probability() -> None:
    """The density of small sums is (s^k / s'^k) times as large, with 50,000 coordinates e^5268."""
    f = averaged_gaussian_attack(100, 0.1, 1000, 50)
    most = 50_000 * np.log(10 / 9)
    assert f.epsilon(0.0, "forward") == pytest.approx(most, rel=1e-14)
    assert f.log_power(-1e9) == pytest.approx(most - 1e9, rel=1e-15)
    assert f.inverse().epsilon(0.0, "forward") == np.inf


def test_figures_of_a_trainer_that_divides_by_the_expected_batch() -> None:
    one = averaged_gaussian_attack(50_000, 0.01, 1, 26_010)
    many = averaged_gaussian_attack(50_000, 0.01, 100, 26_010)
    assert round(float(one.advantage()), 3) == 0.181
    assert round(float(one.power(0.01)), 3) == 0.031
    assert round(float(many.advantage()), 3) == 0.978
    assert round(float(many.power(0.01)), 3) == 0.987
    assert (one.kind, one.neighbours) == ("attack", "add-remove")


def test_attack_is_played() -> None:
    """Sums of squares of steps of a trainer whose gradients are zero, with and without a record."""
    rng, rounds, df = np.random.default_rng(5), 40_000, 60
    noise = 1.7
    inside = (noise / 10) ** 2 * rng.chisquare(df, rounds)
    outside = (noise / 9) ** 2 * rng.chisquare(df, rounds)
    f = averaged_gaussian_attack(100, 0.1, 3, 20)
    threshold = (noise / 9) ** 2 * stats.chi2.ppf(0.05, df)
    assert abs((outside < threshold).mean() - 0.05) < 4 * np.sqrt(0.05 * 0.95 / rounds)
    power = float(f.power(0.05))
    assert abs((inside < threshold).mean() - power) < 4 * np.sqrt(power * (1 - power) / rounds)


def test_no_attack_where_the_expected_batch_stays() -> None:
    f = averaged_gaussian_attack(50_050, 0.01, 100, 1000)  # 500 with the record, 500 without
    assert f.advantage() == 0.0
    assert (f.kind, f.neighbours) == ("attack", "add-remove")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1, 0.5, 1, 1), ValueError, "num_records"),
        ((10, 0.0, 1, 1), ValueError, "sample_rate"),
        ((10, 0.1, 1, 1), ValueError, "expected batch"),
        ((10, 0.5, 0, 1), ValueError, "num_steps"),
        ((10, 0.5, 1, 0), ValueError, "dimension"),
        ((10.5, 0.5, 1, 1), TypeError, "num_records"),
    ],
)
def test_attacks_out_of_range_are_refused(
    arguments: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        averaged_gaussian_attack(*arguments)


@pytest.mark.parametrize("steps", [1, 2, 7, 40])
@pytest.mark.parametrize("contraction", [0.0, 0.3, 0.9, 0.999999, 1.0])
def test_last_iterate_of_a_quadratic_loss_is_exact(steps: int, contraction: float) -> None:
    # x <- c x + shift + noise z: the last iterate is Gaussian, its mean and variance are sums.
    noise, shift = 1.5, 0.4
    powers = contraction ** np.arange(steps, dtype=float)
    mu = shift * powers.sum() / (noise * np.sqrt((powers**2).sum()))
    f = last_iterate(noise, num_steps=steps, contraction=contraction, sensitivity=shift)
    assert f.mu == pytest.approx(mu, rel=1e-9)


def test_last_iterate_has_a_limit_where_composition_has_none() -> None:
    far = last_iterate(1.0, num_steps=10**9, contraction=0.99)
    assert far.mu == pytest.approx(np.sqrt(1.99 / 0.01), rel=1e-12)
    near = last_iterate(1.0, num_steps=10**6, contraction=1.0 - 1e-15)
    assert near.mu == pytest.approx(1000.0, rel=1e-6)
    assert far.kind == "guarantee"
    assert any("convex" in text for text in far.assumptions)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"noise": 0.0}, "noise"),
        ({"num_steps": 0}, "num_steps"),
        ({"contraction": 1.1}, "contraction"),
        ({"contraction": np.nan}, "contraction"),
        ({"sensitivity": -1.0}, "sensitivity"),
    ],
)
def test_last_iterates_out_of_range_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        last_iterate(**{"noise": 1.0, "num_steps": 5, "contraction": 0.9, **changed})
    assert tradeoff.last_iterate is last_iterate
