"""Shaped noise where the least cost is a formula: one column is paid for, others are free."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import Reference
from leakscore.leakage import noise_for
from tests.helpers.parts import (
    PersonBlock,
    PersonsProblem,
    Problem,
    lower_bound,
    lower_bound_independent,
)
from tests.leakage.test_shaped import SHAPES


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("free", [0, 1, 3])
@pytest.mark.parametrize("others", [0, 1])
@pytest.mark.parametrize("share", [1e-3, 0.5, 1e3])
def test_the_cost_and_its_bound_lie_on_either_side_of_the_least(
    shape: Any, free: int, others: int, share: float
) -> None:
    """Free noise hides its own columns; the paid one needs e^2 / limit - C, `share` times C."""
    n, limit, variance = 10, 0.5, 4.0
    reference = Reference(
        np.zeros(1 + others + free), [variance, *np.ones(others), *np.linspace(1.0, 9.0, free)]
    )
    targets = np.full((2, reference.dim), 50.0)
    targets[:, 1 : 1 + others] = 0.0  # paid for, and in need of none
    targets[:, 0] = np.sqrt(n * limit * variance * (1.0 + share)), 0.1
    targets[1, 1 + others :] = 900.0  # who is hidden by free noise alone
    weights = np.array([0.25, *np.ones(others), *np.zeros(free)])
    noise = noise_for(targets, reference, n, max_leakage=limit, shape=shape, weights=weights)
    least = 0.25 * share * variance
    bound = noise.cost * (1.0 - noise.gap)
    # What free noise does not hide is a millionth of the limit: of C and S together.
    beyond = 1.1e-6 * (1.0 + share) / share
    assert least * (1.0 - 1e-9) <= noise.cost <= least * (1.0 + beyond + 1e-4)
    assert least * (1.0 - 1e-4) - 4e-6 * others <= bound <= least * (1.0 + beyond)
    counted = np.where(weights > 0, weights, 1e-16 / reference.variances)  # the least price is 1
    assert noise.cost == pytest.approx(n * float(counted @ np.square(noise.std)), rel=1e-12)


@pytest.mark.parametrize("share", [0.5, 1.0, 2.0, 30.0])
@pytest.mark.parametrize("times", [1.5, 3.0])
def test_a_radius_is_paid_for_and_part_of_the_bound(times: float, share: float) -> None:
    """In one column C + S is the larger of what the radius and what the record ask for."""
    n, limit, variance = 10, 0.5, 4.0
    reference = Reference([0.0, 0.0], [variance, 1.0])
    targets = [[np.sqrt(n * limit * variance * times * share), 0.0]]
    radius = np.sqrt(n * limit * times)
    noise = noise_for(targets, reference, n, max_leakage=limit, shape="optimal", radius=radius)
    least = max(times * share, times) - 1.0 + times - 1.0
    assert noise.cost == pytest.approx(least, rel=1e-4)
    assert noise.cost >= least * (1.0 - 1e-9)
    assert least * (1.0 - 1e-4) <= noise.cost * (1.0 - noise.gap) <= least * (1.0 + 1e-9)
    assert noise.protected_radius >= radius


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_radius_is_no_shorter_by_its_last_bits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    turn = rng.normal(size=(4, 4))
    reference = Reference(np.zeros(4), turn @ turn.T + 0.1 * np.eye(4))
    radius = float(rng.uniform(5.0, 30.0))
    noise = noise_for(
        rng.normal(size=(3, 4)), reference, 10, max_leakage=0.5, shape="optimal", radius=radius
    )
    assert radius <= noise.protected_radius <= radius * (1.0 + 1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("variances", "target", "weights"),
    [
        ([4.0, 1.0, 1.0], [50.0, 0.0, 50.0], [1.0, 1e12, 0.0]),  # dear, and in need of none
        ([4.0, 0.0], [50.0, 3.0], [1.0, 0.0]),  # constant, and free
        ([4.0, 0.0], [50.0, 1e-60], [1.0, 1.0]),  # constant, at a price of 1e-120
    ],
)
def test_columns_that_cost_nothing_beside_another(
    shape: Any, variances: list[float], target: list[float], weights: list[float]
) -> None:
    """What a column of weight 0 counts is of the least price, and of no other column."""
    noise = noise_for(
        [target],
        Reference(np.zeros(len(target)), variances),
        10,
        max_leakage=0.5,
        shape=shape,
        weights=weights,
    )
    assert noise.cost == pytest.approx(50.0**2 / (10 * 0.5) - 4.0, rel=1e-4)
    assert (np.isfinite(noise.std) & (noise.std > 0.0))[np.array(target) != 0.0].all()
    assert noise.leakage_after <= 0.5


@pytest.mark.parametrize("shape", SHAPES)
def test_what_makes_a_covariance_regular_is_paid_for_and_part_of_no_bound(shape: Any) -> None:
    """Two columns that are alike, and a record on their line: no more is needed than to invert."""
    reference = Reference([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]])
    noise = noise_for([[1.0, 1.0]], reference, 10, max_leakage=1.0, shape=shape)
    assert noise.gap == 1.0
    assert noise.leakage_before == np.inf
    assert 0.0 < noise.cost < 1e-11
    assert noise.cost == pytest.approx(10 * float(np.square(noise.std).sum()), rel=1e-6)
    wider = np.zeros((3, 3))
    wider[:2, :2], wider[2, 2] = 1.0, 1.0
    noise = noise_for(  # a third column, of free noise, needs some
        [[1.0, 1.0, 50.0]],
        Reference(np.zeros(3), wider),
        10,
        max_leakage=1.0,
        shape=shape,
        weights=[1, 1, 0],
    )
    assert noise.gap > 0.5  # the rest of the cost is what the free column counts
    assert 0.0 < noise.cost < 1e-11


def test_a_constant_column_beside_those_that_need_no_noise() -> None:
    """Whatever makes it regular lies in that column alone, and is part of the same factor."""
    reference = Reference([0.0, 0.0], np.diag([0.0, 1e-4]))
    noise = noise_for(
        [[0.01, 0.0]], reference, 10, max_leakage=1.0, shape="optimal-diagonal", weights=[1.0, 1.0]
    )
    assert noise.std == pytest.approx([0.01 / np.sqrt(10 * 10), 0.0], rel=1e-4)
    assert noise.cost == pytest.approx(1e-5, rel=1e-4)
    assert noise.leakage_after <= 1.0


@pytest.mark.parametrize("shape", SHAPES)
def test_a_constant_column_alone(shape: Any) -> None:
    noise = noise_for(
        [[3.0]], Reference([0.0], [0.0]), 9, max_leakage=1.0, shape=shape, weights=[1]
    )
    assert (noise.leakage_before, noise.standard_errors[0]) == (np.inf, np.inf)
    assert noise.std[0] == pytest.approx(np.sqrt(9.0 / 9 / 9), rel=1e-6)
    beside = Reference([0.0, 7.0], [4.0, 0.0])  # where no record varies either
    noise = noise_for([[12.0, 7.0]], beside, 9, max_leakage=1.0, shape=shape)
    assert noise.std == pytest.approx([np.sqrt((144.0 / 9 - 4.0) / 9), 0.0], rel=1e-6)


@pytest.mark.parametrize("share", [1e-3, 0.5, 1e3])
def test_very_many_columns_that_cost_little(share: float) -> None:
    """One column needs share / d of noise, in units in which all columns together vary by 1."""
    d, n, limit = 5000, 10, 0.5
    reference = Reference(np.zeros(d), np.ones(d))
    targets = np.sqrt(n * limit * (1.0 + share)) * np.eye(1, d)
    weights = np.full(d, 1.0 / d)
    noise = noise_for(targets, reference, n, max_leakage=limit, shape="optimal", weights=weights)
    assert noise.cost == pytest.approx(share / d, rel=1e-4)
    assert share / d * (1.0 - 1e-4) <= noise.cost * (1.0 - noise.gap) <= share / d * (1.0 + 1e-9)


def test_noise_of_columns_and_as_a_matrix_leaves_records_equally_far() -> None:
    rng = np.random.default_rng(0)
    limits, scale = np.array([1.0, 2.0, 0.5, 3.0]), np.array([1.0, 0.1, 5.0])
    rows = rng.normal(size=(4, 3))
    problem = Problem(
        values=np.cov(rows.T),
        rows=rows,
        centre=np.zeros(3),
        limits=limits,
        scale=scale,
        rounding=float(np.finfo(np.float64).eps),
    )
    noise = np.array([0.3, 2.0, 0.01])
    matrix = np.diag(noise)
    np.testing.assert_allclose(problem.excess(noise), problem.excess(matrix), rtol=1e-12)


def test_a_person_of_whom_nothing_is_in_the_release_is_hidden() -> None:
    """With or without others, who leave no more of the covariance than this person makes of it."""
    block = PersonBlock(np.array([0]), 4.0, np.ones((1, 1, 1)), np.zeros((1, 1)), np.ones(1))
    problem = PersonsProblem(
        values=np.ones((1, 1)),
        scatter=np.zeros((1, 1)),
        freedom=4.0,
        blocks=(block,),
        scale=np.ones(1),
        rounding=0.0,
        total=1,
    )
    np.testing.assert_array_equal(block.widened(), block.rows)
    assert problem.distances(np.zeros(1)) == 0.0


def test_very_many_columns_within_their_limits_need_no_noise() -> None:
    d = 5000
    reference = Reference(np.zeros(d), np.ones(d))
    noise = noise_for(np.eye(2, d), reference, 10, max_leakage=1.0, shape="optimal")
    assert noise.factor.shape == (d, 0)
    assert (noise.cost, noise.gap) == (0.0, 0.0)
    assert noise.leakage_before == noise.leakage_after == pytest.approx(0.1)


def test_multipliers_of_nothing_bound_nothing() -> None:
    rows, nothing = np.eye(2), np.zeros(2)
    assert lower_bound(rows, rows, nothing, lambda some: np.ones(len(some))) == 0.0
    assert lower_bound_independent(rows, nothing, nothing, nothing) == 0.0
    # A record within its limit would bound something, were its multiplier below 0.
    some = np.array([-5.0, 0.0])
    assert lower_bound_independent(0.1 * rows, np.full(2, -0.9), some, np.ones(2)) == 0.0
    with np.errstate(invalid="ignore"):
        assert lower_bound_independent(rows, nothing, np.full(2, np.inf), nothing) == 0.0
