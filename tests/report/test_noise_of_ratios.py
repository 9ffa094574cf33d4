"""Noise on ratios: a mean is a sum over a count, and noise on the count does not hide it.

The release is computed by numpy from raw records, with noise as it is stated on every number; the
attack is the best linear one, learned from other rounds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from leakscore import statistics
from leakscore_app import report
from tests.helpers.parts import Slopes

ROUNDS, SIZE, FEW = 40_000, 150, 30
ERROR = 4 * np.sqrt(0.5 / ROUNDS)  # of an advantage


def numbers(rows: np.ndarray) -> dict[str, np.ndarray]:
    """The count of the second ward and the means of both, of rounds (T, n, 2)."""
    inside, value = rows[..., 0] == 1, rows[..., 1]
    count = inside.sum(axis=1)
    return {
        "ward=b": count,
        "x where ward=a": np.where(inside, 0.0, value).sum(axis=1) / (SIZE - count),
        "x where ward=b": np.where(inside, value, 0.0).sum(axis=1) / count,
    }


def weighted(rows: np.ndarray) -> dict[str, np.ndarray]:
    """The sum of the weights and the weighted mean of rounds (T, n, 2)."""
    weight, value = rows[..., 0], rows[..., 1]
    total = weight.sum(axis=1)
    return {"sum of w": total, "x weighted by w": (weight * value).sum(axis=1) / total}


Release = Callable[[np.ndarray], dict[str, np.ndarray]]


def released(table: np.ndarray, row: int, release: Release) -> list[dict[str, np.ndarray]]:
    """Return what rounds without the record, and with it, publish before there is noise."""
    rng, others, published = np.random.default_rng(5), np.delete(table, row, axis=0), []
    for inside in (False, True):
        rounds = others[rng.integers(len(others), size=(2 * ROUNDS, SIZE))]
        if inside:
            rounds[:, 0] = table[row]
        published.append(release(rounds))
    return published


def played(rounds: list[dict[str, np.ndarray]], std: dict[str, float]) -> float:
    """Return the advantage of the linear attack, its threshold learned from other rounds."""
    rng, halves = np.random.default_rng(6), []
    for published in rounds:
        values = np.column_stack([published[name] for name in std])
        halves.append(values + rng.normal(size=values.shape) * list(std.values()))
    learned, judged = (
        [half[part] for half in halves] for part in (slice(ROUNDS), slice(ROUNDS, None))
    )
    weight = np.linalg.solve(
        sum(np.cov(half.T) for half in learned), learned[1].mean(axis=0) - learned[0].mean(axis=0)
    )
    scores = [half @ weight for half in learned]
    cuts = np.quantile(np.concatenate(scores), np.linspace(0.02, 0.98, 97))
    gains = [(scores[1] > cut).mean() - (scores[0] > cut).mean() for cut in cuts]
    cut = cuts[int(np.argmax(gains))]
    return float((judged[1] @ weight > cut).mean() - (judged[0] @ weight > cut).mean())


def table_of(weights: bool) -> np.ndarray:
    """Wards or weights, and values whose means are five standard deviations from 0."""
    rng = np.random.default_rng(2 if weights else 0)
    first = rng.uniform(0.5, 4.0, SIZE) if weights else np.arange(SIZE) >= SIZE - FEW
    table = np.column_stack([first, rng.normal(50, 10, SIZE)]).astype(float)
    table[140] = 4.0 if weights else 1.0, 130.0
    return table


OPTIONS = {"max_noise": 20.0, "noise_shape": "same", "seed": 1}


@pytest.mark.parametrize(
    ("weights", "limit", "share"),
    [(False, 0.35, 0.9), (True, 0.25, 0.8)],
    ids=["wards", "weights"],
)
def test_noise_on_a_count_hides_no_mean(weights: bool, limit: float, share: float) -> None:
    table, release = table_of(weights), weighted if weights else numbers
    if weights:
        given, statistic = report.table_of(table, ["w", "x"]), statistics.WeightedMean("w")
    else:
        wards = ["b" if each else "a" for each in table[:, 0]]
        given = report.table_of(table[:, 1:], ["x"], groups={"ward": wards})
        statistic = statistics.GroupMeans("ward")
    noise = report.analyse(given, statistic=statistic, max_advantage=limit, **OPTIONS).noise
    assert noise is not None
    assert noise.binding_row == 141
    assert set(noise.noise_std) == set(release(table[np.newaxis]))
    rounds = released(table, 140, release)
    assert played(rounds, dict.fromkeys(noise.noise_std, 1e-9)) > limit + 0.1
    assert limit - 2 * ERROR < played(rounds, noise.noise_std) < limit + ERROR
    fewer = {name: share * std for name, std in noise.noise_std.items()}
    assert played(rounds, fewer) > limit + ERROR


def by_two(rows: np.ndarray) -> dict[str, np.ndarray]:
    """The counts by a, by a and b, and the means by both, of rounds (T, n, 3)."""
    first, second, value = np.moveaxis(rows, -1, 0)
    published = {"a=1": first.sum(axis=1)}
    for a, b in np.ndindex(2, 2):
        inside = (first == a) & (second == b)
        published[f"a={a}, b={b}"] = inside.sum(axis=1)
        means = np.where(inside, value, 0.0).sum(axis=1) / inside.sum(axis=1)
        published[f"x where a={a}, b={b}"] = means
    return published


def test_noise_on_counts_of_which_a_count_follows() -> None:
    """The last count of the crossed table follows from two others; its mean hangs on both."""
    codes = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [40, 40, 45, 25], axis=0)
    values = np.random.default_rng(4).normal(50, 10, SIZE)
    table = np.column_stack([codes, values])
    table[140, 2] = 125.0
    groups = {name: [str(code) for code in codes[:, j].tolist()] for j, name in enumerate("ab")}
    given = report.table_of(table[:, 2:], ["x"], groups=groups)
    several = statistics.Several([statistics.Counts("a"), statistics.GroupMeans(["a", "b"])])
    noise = report.analyse(given, statistic=several, max_advantage=0.25, **OPTIONS).noise
    assert noise is not None
    assert noise.binding_row == 141
    assert "a=1, b=1" not in noise.noise_std
    rounds = released(table, 140, by_two)
    assert 0.25 - 2 * ERROR < played(rounds, noise.noise_std) < 0.25 + ERROR


LEVELS = {"g": ["u", "v", "w"]}


@pytest.mark.parametrize(
    "statistic",
    [
        statistics.GroupMeans("g"),
        statistics.Several([statistics.GroupMeans("g"), statistics.Mean()]),
        statistics.Several([statistics.Mean(), statistics.GroupMeans("g")]),
        statistics.WeightedMean("b"),
    ],
)
def test_derivatives_of_numbers_by_means_of_features(statistic: statistics.Statistic) -> None:
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.integers(0, 3, 90), rng.normal(50, 9, 90), rng.uniform(1, 2, 90)])
    weighted = isinstance(statistic, statistics.WeightedMean)
    bound = statistic.on(["a", "b"]) if weighted else statistic.on(["g", "a", "b"], LEVELS)
    means = bound.features(rows[:, 1:] if weighted else rows).mean(axis=0)
    slopes = bound.jacobian(means, 90)
    assert slopes is not None
    steps = 1e-6 * np.maximum(1.0, np.abs(means))
    for k, step in enumerate(np.diag(steps)):
        moved = bound.estimates(means + step, 90) - bound.estimates(means - step, 90)
        np.testing.assert_allclose(slopes[:, k], moved / (2 * steps[k]), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(np.diag(slopes), bound.units(means, 90))
    assert statistics.Mean().on(["a"]).jacobian([1.0], 90) is None


@pytest.mark.parametrize("person", [[0], [3, 4, 40]])
def test_noise_on_features_is_that_of_numbers_without_a_person(person: list[int]) -> None:
    """Against differences of the published numbers at the means of the others' features."""
    rng = np.random.default_rng(7)
    rows = np.column_stack([rng.integers(0, 3, 60), rng.normal(50, 9, 60)])
    bound = statistics.GroupMeans("g").on(["g", "a"], LEVELS)
    features = bound.features(rows)
    means, every = features.mean(axis=0), np.arange(features.shape[1])
    none = np.empty(0, np.intp), np.empty((0, len(every)))
    slopes = Slopes(bound, 60, 60, len(person), means, every, *none)
    std = rng.uniform(0.5, 2.0, len(every))
    others = np.delete(features, person, axis=0).mean(axis=0)
    steps = np.diag(1e-5 * np.maximum(1.0, np.abs(others)))
    moved = [bound.estimates(others + at, 60) - bound.estimates(others - at, 60) for at in steps]
    inverse = np.linalg.inv(np.column_stack(moved) / (2 * np.diag(steps)))
    expected = inverse @ np.diag(std**2) @ inverse.T
    found = slopes.on_features(std, features[person])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    # A mean of a cell of s records is stated for the s - k that a person of k records leaves it.
    sizes = np.bincount(rows[:, 0].astype(int))
    fewer = (60 - len(person)) / (sizes - len(person))
    np.testing.assert_allclose(slopes.units, [60.0, 60.0, *fewer], rtol=1e-12)
