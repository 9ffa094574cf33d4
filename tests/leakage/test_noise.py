"""noise_for: the least noise, on the safe side, for every kind of budget."""

from __future__ import annotations

import json

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscore import Reference, SingularCovarianceError
from leakscore.leakage import leakage_score, noise_for
from tests.oracles import leakage as oracle

BUDGETS = [
    {"max_advantage": 0.1},
    {"max_advantage": 1e-9},
    {"epsilon": 1.0, "delta": 1e-6},
    {"epsilon": 0.0, "delta": 0.05},
    {"max_power": 0.05},
    {"max_power": 0.3, "at_fpr": 0.2},
]


def case(kind: str, dim: int = 4) -> tuple[Reference, np.ndarray]:
    rng = np.random.default_rng(dim)
    X = rng.normal(size=(30, dim)) @ rng.normal(size=(dim, dim)) * 10.0 ** np.arange(dim) + 5
    return Reference.fit(X, cov=kind), X + 3 * X.std(axis=0) * rng.normal(size=X.shape)


def loss(budget: dict[str, float], mu: float) -> mpmath.mpf:
    """What the budget limits, over its limit, for a Gaussian shift mu: in 50 digits."""
    with mpmath.workdps(50):
        mu = mpmath.mpf(mu)
        if "max_advantage" in budget:
            return mpmath.erf(mu / mpmath.sqrt(8)) / budget["max_advantage"]
        if "max_power" in budget:
            fpr = mpmath.mpf(budget.get("at_fpr", 0.01))
            quantile = -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * fpr)
            return mpmath.ncdf(quantile + mu) / budget["max_power"]
        epsilon = mpmath.mpf(budget["epsilon"])
        delta = mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(
            -mu / 2 - epsilon / mu
        )
        return delta / budget["delta"]


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_budget_is_met_and_just_met(budget: dict[str, float]) -> None:
    reference, targets = case("full")
    for call in (targets, targets[0]):
        needed = noise_for(call, reference, 10, **budget)
        after = np.max(leakage_score(call, reference, 10, noise_std=needed.noise_std))
        assert needed.leakage_after == after <= needed.max_leakage
        assert loss(budget, float(np.sqrt(after))) <= 1
        assert loss(budget, float(np.sqrt(after * (1 + 3e-12)))) > 1
        before = np.max(leakage_score(call, reference, 10))
        assert needed.leakage_before == before > needed.max_leakage


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("shape", ["column-sd", "scalar"])
@pytest.mark.parametrize("kind", ["diagonal", "full"])
@pytest.mark.parametrize("advantage", [1e-4, 0.02, 0.2])
def test_is_the_least_multiple_of_its_shape(
    kind: str, shape: str, neighbours: str, advantage: float
) -> None:
    reference, targets = case(kind)
    needed = noise_for(
        targets, reference, 10, max_advantage=advantage, shape=shape, neighbours=neighbours
    )
    unit = np.sqrt(reference.variances) if shape == "column-sd" else np.ones(4)

    def leakage_of(scale: float) -> float:
        mean, cov = reference.mean, reference.cov
        return oracle.leakage_score(targets, mean, cov, 10, scale * unit, neighbours).max()

    expected = oracle.least_scale(leakage_of, needed.max_leakage) * unit
    np.testing.assert_allclose(needed.noise_std, expected, rtol=1e-10)
    found = leakage_score(targets, reference, 10, noise_std=needed.noise_std, neighbours=neighbours)
    assert needed.worst_target == np.argmax(found)
    errors = needed.noise_std * np.sqrt(10 / reference.variances)
    np.testing.assert_allclose(needed.standard_errors, errors, rtol=1e-14)


def test_closed_form_for_proportional_noise() -> None:
    reference, targets = case("diagonal")
    M = reference.squared_mahalanobis(targets).max()
    needed = noise_for(targets, reference, 10, max_advantage=0.1)
    expected = np.sqrt((M / (10 * needed.max_leakage) - 1) * reference.cov / 10)
    np.testing.assert_allclose(needed.noise_std, expected, rtol=1e-12)


def test_the_worst_target_may_change_on_the_way() -> None:
    """The first leaks most without noise, the second under noise that drowns the small column."""
    reference = Reference([0.0, 0.0], [1e-6, 1.0])
    targets = [[0.1, 0.0], [0.0, 10.0]]
    assert np.argmax(leakage_score(targets, reference, 10)) == 0
    needed = noise_for(targets, reference, 10, max_advantage=0.05, shape="scalar")
    assert needed.worst_target == 1


def test_no_noise_where_none_is_needed() -> None:
    reference, targets = case("full")
    needed = noise_for(targets, reference, 10**9, max_advantage=0.1)
    assert not needed.noise_std.any()
    assert not needed.standard_errors.any()
    assert needed.leakage_before == needed.leakage_after <= needed.max_leakage
    exact = noise_for(reference.mean, reference, 10, max_advantage=1e-12)
    assert not exact.noise_std.any()


@pytest.mark.parametrize("shape", ["column-sd", "scalar"])
def test_dependent_columns(shape: str) -> None:
    _, targets = case("full")
    twice = Reference.fit(np.c_[targets, targets[:, 0]])
    outside = np.c_[targets, targets[:, 0] + targets[:, 0].std()]
    needed = noise_for(outside, twice, 10, max_advantage=0.1, shape=shape)
    after = leakage_score(outside, twice, 10, noise_std=needed.noise_std).max()
    assert after <= needed.max_leakage
    assert after == pytest.approx(needed.max_leakage, rel=1e-12)
    assert needed.leakage_before == np.inf
    assert json.loads(needed.to_json())["leakage_before"] == "inf"


def test_constant_columns() -> None:
    reference = Reference([0.0, 0.0], [0.0, 1.0])
    with pytest.raises(SingularCovarianceError, match="shape='scalar'"):
        noise_for([1.0, 1.0], reference, 10, max_advantage=0.1)
    needed = noise_for([1.0, 1.0], reference, 10, max_advantage=0.1, shape="scalar")
    assert needed.leakage_after == pytest.approx(needed.max_leakage, rel=1e-12)
    assert needed.standard_errors[0] == np.inf
    nothing = noise_for([1.0], Reference([0.0], [0.0]), 10, max_advantage=0.1, shape="scalar")
    assert nothing.leakage_after == pytest.approx(nothing.max_leakage, rel=1e-12)


def test_result_as_json() -> None:
    reference, targets = case("full")
    needed = noise_for(targets, reference, 10, max_advantage=0.1)
    held = json.loads(needed.to_json())
    assert held == needed.to_dict()
    assert held["noise_std"] == needed.noise_std.tolist()
    with pytest.raises(AttributeError):
        needed.leakage_after = 0.0  # type: ignore[misc]


@given(st.integers(0, 10**6), st.integers(1, 8), st.floats(1e-6, 0.999))
def test_always_meets_the_budget(seed: int, dim: int, advantage: float) -> None:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(dim, dim)) * 10 ** rng.uniform(-5, 5, size=dim)
    reference = Reference(np.zeros(dim), factor.T @ factor + np.diag(rng.uniform(size=dim) ** 8))
    targets = rng.standard_cauchy(size=(5, dim))
    for shape in ("column-sd", "scalar"):
        needed = noise_for(targets, reference, 7, max_advantage=advantage, shape=shape)
        after = leakage_score(targets, reference, 7, noise_std=needed.noise_std)
        assert after.max() == needed.leakage_after <= needed.max_leakage


@pytest.mark.parametrize(
    ("budget", "match"),
    [
        ({}, "One budget"),
        ({"max_advantage": 0.1, "max_power": 0.1}, "One budget"),
        ({"max_advantage": 0.1, "epsilon": 1.0, "delta": 0.1}, "One budget"),
        ({"epsilon": 1.0}, "epsilon=1.0 and delta=None must be given together"),
        ({"delta": 0.1}, "given together"),
        ({"max_advantage": 0.1, "delta": 0.1}, "given together"),
        ({"epsilon": -1.0, "delta": 0.1}, "epsilon=-1.0"),
        ({"epsilon": 1.0, "delta": 0.0}, "delta=0.0"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta=1.0"),
        ({"max_advantage": 0.0}, "max_advantage=0.0"),
        ({"max_advantage": 1.0}, "max_advantage=1.0"),
        ({"max_power": 0.01}, "max_power=0.01"),
        ({"max_power": 1.0}, "max_power=1.0"),
        ({"max_power": 0.1, "at_fpr": 0.0}, "at_fpr=0.0"),
        ({"max_advantage": 0.1, "shape": "row"}, "shape='row'"),
        ({"max_advantage": 0.1, "neighbours": "swap"}, "neighbours='swap'"),
        ({"max_advantage": 0.1, "targets": [[np.nan] * 4]}, "targets must be finite"),
        ({"max_advantage": 0.1, "targets": [1.0]}, "targets of shape"),
        ({"max_advantage": 0.1, "n": 1}, "n=1 must be >= 2"),
    ],
)
def test_refuses(budget: dict[str, object], match: str) -> None:
    reference, targets = case("full")
    arguments = {"targets": targets, "reference": reference, "n": 10} | budget
    with pytest.raises(ValueError, match=match):
        noise_for(**arguments)  # type: ignore[arg-type]


def test_budgets_whose_leakage_is_next_to_no_double() -> None:
    """The advantage a is that of mu = a sqrt(2 pi), up to a^3; squares below 1e-300 are refused."""
    reference = Reference([0.0, 0.0], [1.0, 1.0])
    noise = noise_for([[1.0, 2.0]], reference, 10, max_advantage=1e-149)
    assert noise.max_leakage == pytest.approx(2.0 * np.pi * 1e-298, rel=1e-12)
    assert 0.0 < noise.leakage_after <= noise.max_leakage
    for most in (1e-155, 1e-200, 1e-300):
        with pytest.raises(ValueError, match="this one allows no leakage"):
            noise_for([[1.0, 2.0]], reference, 10, max_advantage=most)
