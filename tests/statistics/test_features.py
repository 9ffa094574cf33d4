"""Features against the statistics that they stand for, computed by numpy from the same records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import Reference, leakage, scores, statistics

NAMES = ["a", "b", "y"]


def records(size: int = 60, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(size, 2)) @ [[1.0, 0.4], [0.0, 2.0]] + [3.0, -1.0]
    y = x @ [0.5, -1.0] + rng.normal(size=size)
    return np.column_stack([x, y])


def mean(statistic: statistics.Statistic, X: np.ndarray) -> dict[str, float]:
    phi = statistic.features(X)
    return dict(zip(statistic.names, phi.mean(axis=0).tolist(), strict=True))


def test_mean_and_covariance_are_known_from_the_mean_of_the_features() -> None:
    X = records()
    told = mean(statistics.Covariance().on(NAMES), X)
    for i, first in enumerate(NAMES):
        assert told[first] == pytest.approx(X[:, i].mean())
        for j in range(i, 3):
            product = told[f"{first}*{NAMES[j]}"] - told[first] * told[NAMES[j]]
            assert product == pytest.approx(np.cov(X.T, ddof=0)[i, j])


def test_coefficients_are_known_from_the_cross_products() -> None:
    X = records()
    told = mean(statistics.CrossProducts("y").on(NAMES), X)
    square = [[1, told["a"], told["b"]], [told["a"], told["a*a"], told["a*b"]]]
    square.append([told["b"], told["a*b"], told["b*b"]])
    found = np.linalg.solve(square, [told["y"], told["a*y"], told["b*y"]])
    design = np.column_stack([np.ones(len(X)), X[:, :2]])
    expected = np.linalg.lstsq(design, X[:, 2], rcond=None)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_counts_and_means_by_group() -> None:
    X = records()
    codes = np.random.default_rng(1).integers(0, 2, size=(len(X), 2)).astype(float)
    table = np.column_stack([codes, X])
    levels = {"sex": ["f", "m"], "place": ["north", "south"]}
    means = statistics.GroupMeans(["sex", "place"]).on(["sex", "place", *NAMES], levels)
    told = mean(means, table)
    assert len(means.cells) == 4
    share_of_first = 1 - sum(told[cell] for cell in means.cells[1:])
    for k, cell in enumerate(means.cells):
        inside = means.cell_of(table) == k
        share = share_of_first if k == 0 else told[cell]
        assert share == pytest.approx(inside.mean())
        for j, name in enumerate(NAMES):
            assert told[f"{name} where {cell}"] / share == pytest.approx(X[inside, j].mean())


def test_weighted_means() -> None:
    X = np.abs(records())
    told = mean(statistics.WeightedMean("y").on(NAMES), X)
    for j, name in enumerate(NAMES[:2]):
        expected = np.average(X[:, j], weights=X[:, 2])
        assert told[f"{name} weighted by y"] / told["sum of y"] == pytest.approx(expected)


def test_histograms_are_numpys() -> None:
    X = records(200)
    edges = np.quantile(X[:, 0], [0.0, 0.2, 0.7, 1.0])
    histogram = statistics.Histogram("a", edges).on(NAMES)
    counts = np.histogram(X[:, 0], edges)[0]
    phi = histogram.features(X)
    assert phi[:, -1].sum() == 0  # nothing outside
    assert phi[:, :-1].sum(axis=0).tolist() == counts[1:].tolist()
    assert len(X) - phi.sum() == counts[0]


@pytest.mark.parametrize("share", [0.5, 0.1, 0.02])
def test_a_category_leaks_by_its_share(share: float) -> None:
    """M = 1/p - 1, in the sample; of a level of a column alone."""
    size = 500
    codes = (np.arange(size) < share * size).astype(float)[:, None]
    phi = statistics.Proportions("c").on(["c"], {"c": ["no", "yes"]}).features(codes)
    found = 2 * leakage.leakage_score(phi, Reference.fit(phi), 2)
    np.testing.assert_allclose(found[codes[:, 0] == 1], 1 / share - 1, rtol=1e-10)
    np.testing.assert_allclose(found[codes[:, 0] == 0], share / (1 - share), rtol=1e-10)


def test_a_cell_leaks_by_its_share_and_by_the_distance_within() -> None:
    """M = (1/p_g - 1) + M_g(z) / p_g, with M_g within the cell."""
    X = records(90)
    codes = np.repeat([0.0, 1.0, 2.0], [20, 30, 40])
    means = statistics.GroupMeans("g").on(["g", *NAMES], {"g": ["u", "v", "w"]})
    phi = means.features(np.column_stack([codes, X]))
    found = 2 * leakage.leakage_score(phi, Reference.fit(phi), 2)
    for g in range(3):
        inside = codes == g
        p = inside.mean()
        within = 2 * leakage.leakage_score(X[inside], Reference.fit(X[inside]), 2)
        np.testing.assert_allclose(found[inside], (1 / p - 1) + within / p, rtol=1e-9)


def test_coefficients_of_many_records_are_the_mean_of_the_features() -> None:
    """The remainder falls as 1/n: 4 times the records, a quarter of it."""
    rng = np.random.default_rng(5)
    population = records(200_000, seed=9)
    statistic = statistics.Regression("y").on(NAMES).prepare(population)
    design = np.column_stack([np.ones(len(population)), population[:, :2]])
    truth = np.linalg.lstsq(design, population[:, 2], rcond=None)[0]
    rest = []
    for size in (200, 800):
        remainders = []
        for _ in range(200):
            X = records(size, seed=int(rng.integers(1 << 30)))
            design = np.column_stack([np.ones(size), X[:, :2]])
            found = np.linalg.lstsq(design, X[:, 2], rcond=None)[0] - truth
            remainders.append(np.abs(found - statistic.features(X).mean(axis=0)).max())
        rest.append(float(np.mean(remainders)))
    assert 2.5 < rest[0] / rest[1] < 6.0


SIMULATED: dict[str, Any] = {
    "covariance": lambda X: (statistics.Covariance().on(NAMES), X),
    "cells": lambda X: (
        statistics.GroupMeans("g").on(["g", *NAMES], {"g": ["u", "v"]}),
        np.column_stack([X[:, 0] > 3.5, X]).astype(float),
    ),
}


@pytest.mark.parametrize("case", sorted(SIMULATED))
def test_the_score_has_the_mean_and_variance_of_the_theory(case: str) -> None:
    """-m/2 and m/2, and m (1 - 1/n) with the record; 4 standard errors of 4000 rounds a side."""
    statistic, table = SIMULATED[case](records(4000))
    phi, n, rounds = statistic.features(table), 100, 4000
    target, others = phi[7], np.delete(phi, 7, axis=0)
    reference = Reference.fit(others)
    m = float(leakage.leakage_score(target, reference, n))
    rng = np.random.default_rng(3)
    means = np.stack(
        [others[rng.integers(len(others), size=n)].mean(axis=0) for _ in range(rounds)]
    )
    inside = (
        means + (target - np.stack([others[rng.integers(len(others))] for _ in range(rounds)])) / n
    )
    for released, centre in ((means, -0.5), (inside, 0.5)):
        score = scores.covariance_score(released, target, reference, n)
        error = score.std() / np.sqrt(rounds)
        assert abs(score.mean() - centre * m) < 4 * error + 0.02 * m
        spread = np.abs(score - score.mean()) ** 2
        assert abs(spread.mean() - m) < 4 * spread.std() / np.sqrt(rounds) + 0.03 * m


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: statistics.Mean().features([[1.0]]), "call on"),
        (lambda: statistics.Mean().on(["a", "a"]), "different names"),
        (lambda: statistics.Mean().on(["a"]).features([[1.0, 2.0]]), "1 columns"),
        (lambda: statistics.Mean().on(["a"], {"a": ["x"]}), "must hold numbers"),
        (lambda: statistics.GroupMeans("g").on(["a"]), "by='g'"),
        (lambda: statistics.GroupMeans("a").on(["a"]), "column of categories"),
        (lambda: statistics.Proportions([]).on(["a"]), "name a column"),
        (lambda: statistics.Histogram("a", [1, 1]).on(["a"]), "must ascend"),
        (lambda: statistics.WeightedMean("w").on(["a"]), "weights='w'"),
        (lambda: statistics.WeightedMean("a").on(["a"]).features([[-1.0]]), "at least 0"),
        (lambda: statistics.WeightedMean("a").on(["a"]).prepare([[0.0]]), "all are 0"),
        (lambda: statistics.Regression("y").on(["y"]), "beside the response"),
        (lambda: statistics.Regression("y").on(["x", "y"]).features([[1.0, 2.0]]), "prepare"),
        (
            lambda: statistics.Regression("y").on(["x", "y"]).prepare([[1.0, 2.0], [1.0, 3.0]]),
            "linearly independent",
        ),
        (
            lambda: statistics.Regression("y").on(["x", "y"]).prepare([[1.0, 2], [2, 4], [3, 6]]),
            "response='y' must not follow from the predictors",
        ),
        (lambda: statistics.Correlations().on(["a"]), "two columns of numbers at least"),
        (
            lambda: statistics.Correlations().on(["a", "b"]).prepare([[1.0, 2], [1, 3]]),
            "'a' must v",
        ),
        (lambda: statistics.Correlations().on(["a", "b"]).features([[1.0, 2.0]]), "prepare"),
        (lambda: statistics.WeightedRatio("w").on(["w"]), "must have a number to publish"),
        (lambda: statistics.WeightedRatio("w").on(["w", "a"]).features([[1.0, 2.0]]), "prepare"),
        (lambda: statistics.KnownWeights("w").on(["a"]), "weights='w'"),
        (lambda: statistics.Several([]).on(["a"]), "hold a statistic"),
        (lambda: statistics.Several([statistics.Correlations()]), "a law that is exact"),
        (
            lambda: statistics.Several([statistics.Covariance(), statistics.CrossProducts("y")]),
            "both name a",
        ),
        (
            lambda: statistics.Counts("g").on(["g"], {"g": ["only"]}),
            "must have a number to publish",
        ),
        (lambda: statistics.Covariance().on([f"c{j}" for j in range(200)]), "at most 5000"),
        (
            lambda: statistics.GroupMeans("g").on(
                ["g", "a"], {"g": [str(k) for k in range(60_000)]}
            ),
            "coarser groups",
        ),
    ],
)
def test_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("rows", [1, 15, 100_001])
def test_products_block_by_block(rows: int) -> None:
    """Of more rows than a block has: the products of one row are those of that row alone."""
    X = np.random.default_rng(rows).normal(size=(rows, 3))
    told = statistics.Covariance().on(["a", "b", "c"]).features(X)
    a, b, c = X.T
    expected = np.column_stack([a, b, c, a * a, a * b, a * c, b * b, b * c, c * c])
    np.testing.assert_array_equal(told, expected)


def test_the_mean_of_an_empty_cell_is_no_number_and_no_warning() -> None:
    cells = statistics.GroupMeans("g").on(["x", "g"], {"g": ("u", "v")})
    numbers = cells.estimates([0.0, 3.0, 0.0], 20)
    assert numbers[:2].tolist() == [0.0, 3.0]
    assert np.isnan(numbers[2])


def test_the_mean_of_an_empty_first_cell_is_no_number_whatever_the_shares_add_up_to() -> None:
    cells = statistics.GroupMeans("g").on(["x", "g"], {"g": ("u", "v", "w", "y")})
    others = [0.2, 0.7, 0.1]
    assert sum(others) < 1
    numbers = cells.estimates([*others, 0.0, 2.0, 7.0, 4.0], 10)
    assert np.isnan(numbers[3])
    np.testing.assert_allclose(numbers[4:], [10.0, 10.0, 40.0])
