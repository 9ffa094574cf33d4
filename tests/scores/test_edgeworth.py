"""Edgeworth scores: formulas in plain loops, and exact ratios they near."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import Reference, SingularCovarianceError
from leakscore.scores import (
    bernoulli_llr,
    covariance_score,
    edgeworth_llr,
)
from tests.oracles import series as oracle

Array = np.ndarray[Any, Any]


def world(d: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    mean, variance = rng.normal(size=d), rng.uniform(0.3, 3.0, size=d)
    return {
        "x": mean + 0.1 * rng.normal(size=(5, d)),
        "z": mean + rng.normal(size=(3, d)),
        "reference": Reference(mean, variance),
        "skewness": rng.normal(size=d),
        "kurtosis": rng.normal(size=d),
    }


@pytest.mark.parametrize("d", [1, 7, 5000])
@pytest.mark.parametrize("order", [2, 3])
def test_edgeworth_against_the_formula(d: int, order: int) -> None:
    w = world(d)
    scores = edgeworth_llr(w["x"], w["z"], w["reference"], 50, w["skewness"], w["kurtosis"], order)
    for t, x in enumerate(w["x"]):
        for k, z in enumerate(w["z"]):
            terms = oracle.edgeworth(x, z, w["reference"], 50, w["skewness"], w["kurtosis"], order)
            assert abs(scores[t, k] - terms.sum()) < 1e-13 * np.abs(terms).sum()


@pytest.mark.parametrize(("n", "bounds"), [(10**4, (1e-5, 3e-7)), (10**6, (2e-8, 1e-10))])
def test_it_nears_the_exact_bernoulli_ratio(n: int, bounds: tuple[float, float]) -> None:
    """The printed constant, six times the right one, is worse than no correction at all."""
    rng = np.random.default_rng(1)
    p = rng.uniform(0.25, 0.75, 6)
    reference = Reference(p, p * (1 - p))
    l3, l4 = (1 - 2 * p) / np.sqrt(p * (1 - p)), 1 / (p * (1 - p)) - 6
    z, x = (rng.random(6) < 0.5).astype(float), rng.binomial(n, p, size=(4000, 6)) / n
    exact = bernoulli_llr(x, z, p)

    def error(score: Array) -> float:
        return float(np.sqrt(np.mean((score - exact) ** 2)))

    second = edgeworth_llr(x, z, reference, n, l3, l4)
    assert error(second) < bounds[0]
    assert error(edgeworth_llr(x, z, reference, n, l3, l4, order=3)) < bounds[1]
    linear = error(covariance_score(x, z, reference, n))
    assert 10 * error(second) < linear < error(edgeworth_llr(x, z, reference, n, 6 * l3, l4))


def test_order_3_nears_the_ratio_of_gamma_densities() -> None:
    """Sums of exponential records have gamma densities: skewness 2, kurtosis 6."""
    from scipy.stats import gamma

    z, reference, errors = np.array([2.5]), Reference([1.0], [1.0]), []
    for n in (400, 1600):
        x = 1 + np.linspace(-2, 2, 41)[:, np.newaxis] / np.sqrt(n)
        total = n * x[:, 0]
        exact = gamma.logpdf(total - z, n - 1) - gamma.logpdf(total, n)
        errors.append(
            [
                np.abs(edgeworth_llr(x, z, reference, n, 2.0, 6.0, order) - exact).max()
                for order in (2, 3)
            ]
        )
    second, third = np.divide(*np.array(errors))  # n four times as large
    assert second == pytest.approx(4**1.5, rel=0.15)
    assert third == pytest.approx(4**2, rel=0.15)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, ">f8"])
def test_layouts_and_dtypes(dtype: Any) -> None:
    w = world(2100)
    x = np.round(3 * w["x"]).astype(dtype)
    given = (w["z"], w["reference"], 50, w["skewness"], w["kurtosis"], 3)
    expected = edgeworth_llr(x.astype(float), *given)
    np.testing.assert_allclose(edgeworth_llr(x, *given), expected, rtol=1e-12)
    np.testing.assert_allclose(edgeworth_llr(np.asfortranarray(x), *given), expected, rtol=1e-12)
    np.testing.assert_allclose(edgeworth_llr(x[::-1][::2], *given), expected[::-1][::2], rtol=1e-12)
    assert edgeworth_llr(x[0], w["z"][0], *given[1:]) == expected[0, 0]


def test_bad_input() -> None:
    full = Reference([0.0, 0.0], [[2.0, 1.0], [1.0, 2.0]])
    with pytest.raises(TypeError, match="reference"):
        edgeworth_llr([0.0, 0.0], [1.0, 1.0], full, 10, 0.0, 0.0)
    singular = Reference([0.0, 0.0], [1.0, 0.0])
    with pytest.raises(SingularCovarianceError):
        edgeworth_llr([0.0, 0.0], [1.0, 1.0], singular, 10, 0.0, 0.0)
