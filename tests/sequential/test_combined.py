"""semi_uniform and semi_max; tiny rates; what the functions of the room refuse."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp

from leakscore import Reference, sequential

RNG = np.random.default_rng(3)
KNOWN = Reference([0.0, 0.0], [1.0, 2.0])
STEPS = np.ones((3, 2))


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e200])
def test_uniform_is_a_sum_of_exponentials(scale) -> None:
    llr = scale * RNG.normal(size=(50, 6))
    np.testing.assert_allclose(
        sequential.semi_uniform(llr), logsumexp(llr, axis=1) - np.log(6), rtol=1e-14
    )
    prior = np.array([0.1, 0.0, 0.3, 0.2, 0.15, 0.25])
    np.testing.assert_allclose(
        sequential.semi_uniform(llr, prior), logsumexp(llr, axis=1, b=prior), rtol=1e-13
    )
    np.testing.assert_array_equal(
        sequential.semi_uniform(llr.T, prior, axis=0), sequential.semi_uniform(llr, prior)
    )
    uniform, largest = sequential.semi_uniform(llr), sequential.semi_max(llr)
    assert (largest - np.log(6) <= uniform + 1e-12 * scale).all()
    assert (uniform <= largest + 1e-12 * scale).all()


@pytest.mark.parametrize("rate", [1e-300, 5e-324])
def test_poisson_of_a_tiny_rate_does_not_forget_the_other_steps(rate: float) -> None:
    for llr in (612.9, 690.0, 721.1, 744.5, 760.0, 789.0, 1e4):
        with mpmath.workdps(400):
            known = mpmath.log1p(mpmath.mpf(rate) * mpmath.expm1(llr))
        assert abs(sequential.poisson_llr([llr], rate) - known) <= 4e-15 * abs(float(known)), llr


def test_small_probabilities_keep_their_digits() -> None:
    # log(1 + 1e-320 e^740) by the larger of the terms, both near 1
    prior = np.array([1.0, 1e-320])
    expected = np.logaddexp(0.0, 740.0 + np.log(prior[1]))
    assert sequential.semi_uniform([0.0, 740.0], prior) == pytest.approx(expected, rel=1e-13)
    assert sequential.semi_uniform([-800.0, 0.0], [1.0, 5e-324]) == pytest.approx(np.log(5e-324))


def test_infinite_ratios_are_ordered() -> None:
    inf = np.inf
    llr = np.array([[0.0, -inf], [-inf, -inf], [0.0, inf], [-inf, inf], [800.0, 790.0]])
    expected = [-np.log(2), -inf, inf, inf, 800 + np.log1p(np.exp(-10)) - np.log(2)]
    np.testing.assert_allclose(sequential.semi_uniform(llr), expected)
    np.testing.assert_array_equal(sequential.semi_max(llr), [0, -inf, inf, inf, 800])
    certain = sequential.semi_uniform(llr, prior=[1.0, 0.0])
    np.testing.assert_array_equal(certain, llr[:, 0])
    single = sequential.semi_uniform(llr[0].astype(np.float32))
    assert single == pytest.approx(-np.log(2), rel=1e-15)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: sequential.batch_means(np.zeros((0, 2))), "cumulative_means"),
        (lambda: sequential.batch_means([1.0, 2.0]), "cumulative_means"),
        (lambda: sequential.batch_means([[1.0], [np.nan]]), "cumulative_means must be finite"),
        (lambda: sequential.batch_means(STEPS, [10, 10, 20]), "counts.*increase"),
        (lambda: sequential.batch_means(STEPS, [10, 5, 20]), "counts.*increase"),
        (lambda: sequential.batch_means(STEPS, [0, 5, 20]), "counts"),
        (lambda: sequential.batch_means(STEPS, [5, 20]), r"counts of shape \(2,\)"),
        (lambda: sequential.batch_means(STEPS, [1.5, 2, 3]), "counts=1.5"),
        (lambda: sequential.batch_means([[1e308], [-1e308]]), "overflow"),
        (lambda: sequential.semi_uniform([0.0, np.nan]), "llr must hold no NaN"),
        (lambda: sequential.semi_max([[], []]), "llr.*at least one step"),
        (lambda: sequential.semi_max(1.0), "llr"),
        (lambda: sequential.semi_max([1.0], axis=1), "axis"),
        (lambda: sequential.semi_uniform([0.0, 1.0], [0.5, 0.6]), "prior must have the sum 1"),
        (lambda: sequential.semi_uniform([0.0, 1.0], [1.5, -0.5]), "prior"),
        (lambda: sequential.semi_uniform([0.0, 1.0], [1.0]), "prior"),
        (lambda: sequential.semi_uniform([0.0, 1.0], [np.nan, 1.0]), "prior"),
        (lambda: sequential.error_rates(0.0, 9.0, 1, 3), "n=1.*the record itself"),
        (lambda: sequential.error_rates(0.0, np.nan, 5, 3), "squared_mahalanobis"),
        (lambda: sequential.error_rates(0.0, -1.0, 5, 3), "squared_mahalanobis"),
        (lambda: sequential.error_rates(0.0, 1.0, 5, 0), "dim"),
        (lambda: sequential.error_rates([0.0, 1.0], [1.0] * 3, 5, 2), "broadcast"),
        (lambda: sequential.uniform_error_rates(0.0, 9.0, 1, 3, 5), "n=1"),
        (lambda: sequential.uniform_error_rates(0.0, 9.0, 5, 3, 0), "num_steps"),
        (lambda: sequential.uniform_error_rates(0.0, 9.0, 5, 3, 2, [1.0]), "prior"),
        (lambda: sequential.gradient_llr(STEPS, STEPS, KNOWN, 1), "n=1.*the record itself"),
        (lambda: sequential.gradient_llr(STEPS, STEPS, KNOWN, [5, 5]), r"n of shape \(2,\)"),
        (lambda: sequential.gradient_llr(STEPS, STEPS, [KNOWN] * 2, 5), "reference.*3.*not 2"),
        (lambda: sequential.gradient_llr(STEPS, STEPS[:2], KNOWN, 5), "target_gradients"),
        (lambda: sequential.gradient_llr(STEPS[:, :1], STEPS[:, :1], KNOWN, 5), "reference"),
        (lambda: sequential.gradient_llr(STEPS * np.nan, STEPS, KNOWN, 5), "gradients must be"),
        (lambda: sequential.gradient_llr(STEPS, STEPS * np.inf, KNOWN, 5), "target_gradients must"),
        (lambda: sequential.gradient_llr(STEPS * 1e200, STEPS * 1e200, KNOWN, 5), "overflow"),
        (lambda: sequential.gradient_llr(STEPS, STEPS, KNOWN, 5, noise_std=-1.0), "noise_std"),
        (lambda: sequential.sgd_llr(STEPS[:1], STEPS[:0], KNOWN, 0.1, 5), "theta"),
        (lambda: sequential.sgd_llr(STEPS, STEPS[:2], KNOWN, 0.0, 5), "learning_rate"),
        (lambda: sequential.sgd_llr(STEPS, STEPS[:2], KNOWN, [0.1, -0.1], 5), "learning_rate"),
        (lambda: sequential.sgd_llr(STEPS, STEPS[:2], KNOWN, [0.1] * 3, 5), "learning_rate"),
        (lambda: sequential.sgd_llr(STEPS * np.nan, STEPS[:2], KNOWN, 0.1, 5), "theta"),
        (lambda: sequential.sgd_llr(STEPS, STEPS, KNOWN, 0.1, 5), "target_gradients"),
        (lambda: sequential.game_tradeoff(-1.0), "noise_multiplier"),
        (lambda: sequential.split_t([1.0, 1.0], [1.0, 1.0], STEPS, 5), "rows"),
        (lambda: sequential.split_t([1.0, 1.0], [0.0, 0.0], STEPS, 5, reference=KNOWN), "differ"),
        (lambda: sequential.hotelling([1.0, 1.0], STEPS[:2], 5), "more rows than columns"),
        (lambda: sequential.hotelling([1.0, 1.0], KNOWN, 1), "n=1"),
        (lambda: sequential.hotelling([1.0, 1.0], STEPS * np.nan, 5), "reference must be finite"),
        (
            lambda: sequential.split_t([1, 1], [2, 1], np.full((9, 2), np.inf), 5),
            "rows must be finite",
        ),
    ],
)
def test_bad_input_is_named(call, said) -> None:
    with pytest.raises(ValueError, match=said):
        call()
