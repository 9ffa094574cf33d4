"""Every statistic in simulation: means and variances of the score, where the limit holds and not.

Releases are simulated with and without a record, and the covariance attack scores what is published
itself: for coefficients, correlations and ratios their values, not the means of the features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from leakscore import Reference, leakage, scores, statistics
from leakscore_app import report

ROUNDS = 4000
NAMES = ["a", "b", "y"]
LEVELS = {"g": ["u", "v", "w"], "h": ["s", "t"]}


def numbers(size: int) -> np.ndarray:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(size, 2)) @ [[1.0, 0.4], [0.0, 2.0]] + [3.0, -1.0]
    return np.column_stack([x, x @ [0.5, -1.0] + rng.normal(size=size)])


def table(size: int = 4000) -> np.ndarray:
    """Two columns of categories, three of numbers, one of weights."""
    rng = np.random.default_rng(8)
    groups = np.column_stack([rng.integers(3, size=size), rng.random(size) < 0.2])
    return np.column_stack([groups, numbers(size), rng.gamma(4.0, size=size)])


TABLES = statistics.Several([statistics.GroupMeans("g"), statistics.Counts("h")])
EXACT: dict[str, tuple[statistics.Statistic, list[str]]] = {
    "sum": (statistics.Sum(), NAMES),
    "proportions": (statistics.Proportions(["g", "h"]), ["g", "h"]),
    "histogram": (statistics.Histogram("a", [-9.0, 2.0, 3.5, 9.0]), NAMES),
    "contingency table": (statistics.Counts(["g", "h"]), ["g", "h"]),
    "counts and means": (statistics.GroupMeans(["g", "h"]), ["g", "h", "a"]),
    "several tables": (TABLES, ["g", "h", "a"]),
    "weights are data": (statistics.WeightedMean("w"), ["a", "b", "w"]),
    "means and covariances": (statistics.Covariance(), NAMES),
    "cross-products": (statistics.CrossProducts("y"), NAMES),
}


def bound(case: str) -> tuple[np.ndarray, Any]:
    statistic, columns = EXACT[case]
    every = ["g", "h", *NAMES, "w"]
    block = table()[:, [every.index(name) for name in columns]]
    found = statistic.on(columns, {name: LEVELS[name] for name in columns if name in LEVELS})
    return block, found


def agrees(score: np.ndarray, mean: float, variance: float, room: float = 0.0) -> None:
    """Hold scores against their law: 4 standard errors, and `room` for a limit."""
    error = score.std() / np.sqrt(len(score))
    assert abs(score.mean() - mean) < 4 * error + room * variance
    spread = (score - score.mean()) ** 2
    assert abs(spread.mean() - variance) < 4 * spread.std() / np.sqrt(len(score)) + room * variance


@pytest.mark.parametrize("case", sorted(EXACT))
def test_scores_of_exact_statistics(case: str) -> None:
    """-m/2 and m/2, m and m (1 - 1/n): at any n, here 60."""
    block, statistic = bound(case)
    phi, n = statistic.features(block), 60
    phi = phi[:, phi.std(axis=0) > 0]  # no value lies outside the histogram
    others, target = np.delete(phi, 7, axis=0), phi[7]
    reference = Reference.fit(others)
    m = float(leakage.leakage_score(target, reference, n))
    rng = np.random.default_rng(3)
    drawn = others[rng.integers(len(others), size=(ROUNDS, n))]
    inside = np.concatenate([drawn[:, 1:], np.broadcast_to(target, (ROUNDS, 1, len(target)))], 1)
    for records, sign, lost in ((drawn, -1, 0.0), (inside, 1, 1 / n)):
        score = scores.covariance_score(records.mean(axis=1), target, reference, n)
        agrees(np.asarray(score), sign * m / 2, m * (1 - lost))


def coefficients(records: np.ndarray) -> np.ndarray:
    x = np.concatenate([np.ones((*records.shape[:2], 1)), records[..., :2]], axis=2)
    moment = np.swapaxes(x, 1, 2)
    return np.asarray(np.linalg.solve(moment @ x, moment @ records[..., 2:])[..., 0])


def correlations(records: np.ndarray) -> np.ndarray:
    away = records - records.mean(axis=1, keepdims=True)
    away /= np.sqrt((away**2).mean(axis=1, keepdims=True))
    pairs = np.swapaxes(away, 1, 2) @ away / records.shape[1]
    rows, columns = np.triu_indices(3, 1)
    return np.asarray(pairs[:, rows, columns])


def ratios(records: np.ndarray) -> np.ndarray:
    weight = np.abs(records[..., 2:])
    return np.asarray((weight * records[..., :2]).sum(axis=1) / weight.sum(axis=1))


LIMITS: dict[str, tuple[statistics.Statistic, Callable[[np.ndarray], np.ndarray]]] = {
    "regression": (statistics.Regression("y"), coefficients),
    "correlations": (statistics.Correlations(), correlations),
    "ratio": (statistics.WeightedRatio("y"), ratios),
}


@pytest.mark.parametrize("case", sorted(LIMITS))
def test_scores_of_what_is_published_follow_the_limit(case: str) -> None:
    """Of 400 records; the features are of first order, so 5 % of m are left for the rest."""
    statistic, published = LIMITS[case]
    block, n = numbers(4000), 400
    if case == "ratio":
        block[:, 2] = np.abs(block[:, 2])
    phi = statistic.on(NAMES).prepare(np.delete(block, 7, axis=0)).features(block)
    others, target = np.delete(block, 7, axis=0), phi[7]
    reference = Reference.fit(np.delete(phi, 7, axis=0))
    truth = published(others[np.newaxis])[0]
    m = float(leakage.leakage_score(target, reference, n))
    rng = np.random.default_rng(5)
    drawn = others[rng.integers(len(others), size=(ROUNDS // 2, n))]
    inside = np.concatenate([drawn[:, 1:], np.broadcast_to(block[7], (ROUNDS // 2, 1, 3))], 1)
    for records, sign in ((drawn, -1), (inside, 1)):
        released = published(records) - truth + reference.mean
        score = scores.covariance_score(released, target, reference, n)
        agrees(np.asarray(score), sign * m / 2, m, room=0.05)


FAILS: dict[str, tuple[statistics.Statistic, int]] = {
    "sum": (statistics.Sum(), 8),
    "contingency table": (statistics.Counts("g"), 40),
    "histogram": (statistics.Histogram("a", [0.0, 8.0, 1e9]), 40),
    "means and covariances": (statistics.Covariance(), 60),
    "weights are data": (statistics.WeightedMean("b"), 8),
    "regression": (statistics.Regression("b"), 30),
    "correlations": (statistics.Correlations(), 5),
}


@pytest.mark.parametrize("case", sorted(FAILS))
def test_far_from_the_limit_the_game_decides(case: str) -> None:
    """Skewed records and few of them: theory and game differ, and the report says so."""
    statistic, n = FAILS[case]
    rng = np.random.default_rng(11)
    values = rng.lognormal(sigma=1.3, size=(200, 2))
    labels = {"g": ["rare" if i < 3 else "usual" for i in range(200)]}
    groups = labels if case == "contingency table" else None
    given = report.table_of(values, ["a", "b"], groups=groups)
    result = report.analyse(given, statistic=statistic, n=n, rounds=4000, worst=1)
    assert any(game.differs for game in result.games)
    text = " ".join(result.to_text().split())
    assert "the number to act on is the game's" in text
    assert result.release.exact == statistic.exact
