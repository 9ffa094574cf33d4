"""The success of the best guess with a prior, against a search over all tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from leakscore import tradeoff

CURVES = {
    "gaussian": lambda: tradeoff.gaussian(1.3),
    "relaxed": lambda: tradeoff.relaxed_gaussian(2.0),
    "polygon": lambda: tradeoff.approximate_dp(1.0, 0.05),
    "laplace": lambda: tradeoff.laplace(1.5),
}


def searched(f: Any, prior: float) -> float:
    """The largest success over a fine grid of false positive rates, refined around the best."""
    grid = np.concatenate([[0.0], np.logspace(-12, 0, 4000)])
    success = prior * f.power(grid) + (1.0 - prior) * (1.0 - grid)
    i = int(success.argmax())
    ends = grid[max(i - 1, 0)], grid[min(i + 1, grid.size - 1)]
    refined = minimize_scalar(
        lambda a: -(prior * f.power(a) + (1.0 - prior) * (1.0 - a)),
        bounds=ends,
        method="bounded",
        options={"xatol": 1e-13},
    )
    return max(float(success[i]), -float(refined.fun))


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("prior", [0.0, 1e-6, 0.01, 0.3, 0.5, 0.8, 0.999, 1.0])
def test_bayes_is_the_best_of_all_tests(name: str, prior: float) -> None:
    f = CURVES[name]()
    assert f.bayes(prior) == pytest.approx(searched(f, prior), rel=1e-7)
    # With H0 and H1 exchanged the prior is still that of the record being there.
    assert f.inverse().bayes(prior) == pytest.approx(f.bayes(prior), rel=1e-9)


def test_bayes_of_a_gaussian_pair_in_closed_form() -> None:
    mu, prior = 2.0, np.array([0.2, 0.5, 0.7])
    threshold = mu / 2.0 + np.log((1.0 - prior) / prior) / mu
    truth = prior * norm.sf(threshold - mu) + (1.0 - prior) * norm.cdf(threshold)
    np.testing.assert_allclose(tradeoff.gaussian(mu).bayes(prior), truth, rtol=1e-14)


def test_bayes_has_the_shape_of_curves_and_priors_and_two_ends() -> None:
    assert tradeoff.gaussian([0.5, 1.0]).bayes([0.1, 0.2, 0.3]).shape == (2, 3)
    f = tradeoff.subsampled_gaussian(1.0, 0.1, 10)
    low, high = f.interval("bayes", 0.5)
    assert 0.5 < low <= high < low + 1e-3
    assert high == f.bayes(0.5) == pytest.approx(0.5 + f.advantage() / 2.0)


@pytest.mark.parametrize("prior", [-0.1, 1.1, np.nan])
def test_priors_out_of_range_are_refused(prior: float) -> None:
    with pytest.raises(ValueError, match="prior"):
        tradeoff.gaussian(1.0).bayes(prior)


def test_the_first_flagged_of_looks_in_either_direction() -> None:
    """The hull of a curve and its inverse flags as surely as the surer of both."""
    curve = tradeoff.laplace(1.0).best_of(2)
    both = curve.symmetrized()
    one, other = curve.ppv(0.0, 0.1), curve.inverse().ppv(0.0, 0.1)
    ratio = 2.0 * np.exp(-1.0) / (1.0 + np.exp(-1.0))  # alpha over power of two looks
    assert one == pytest.approx(0.1 / (0.1 + 0.9 * ratio))
    assert tradeoff.gaussian(1.0).ppv(0.0, [0.0, 0.5]).tolist() == [0.0, 1.0]
    assert both.ppv(0.0, 0.1) == max(one, other)
    assert both.ppv(1e-9, 0.1) == pytest.approx(both.ppv(0.0, 0.1), rel=1e-12)
