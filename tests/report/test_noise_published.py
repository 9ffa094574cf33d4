"""The noise that a report states, added to what is published: the limit holds in a game of ours.

Each release is computed by numpy from the raw records, without the library. Half of the rounds hold
the worst record, the others are drawn from the rest of the table; the attack is the best linear
one, learned from other rounds, with its best threshold on these.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import leakscore_app
from leakscore import statistics

ROUNDS = 6000
LIMIT = 0.12
Release = Callable[[np.ndarray], dict[str, float]]

RNG = np.random.default_rng(20)
SIZE = 300
AGE, DOSE = RNG.normal(70.0, 9.0, SIZE), RNG.gamma(4.0, 2.0, SIZE)
WARD = RNG.choice(3, SIZE, p=[0.5, 0.35, 0.15])
WEIGHT = RNG.uniform(0.5, 1.5, SIZE)
AGE[7], DOSE[7], WARD[7], WEIGHT[7] = 112.0, 30.0, 2, 1.45
SITE = np.repeat([0, 1, 2], [150, 147, 3])
TABLE = np.column_stack([AGE, DOSE, WARD, WEIGHT, SITE])
NAMES = ("a", "b", "c")


def of_groups(rows: np.ndarray) -> dict[str, float]:
    published = {f"ward={NAMES[g]}": float((rows[:, 2] == g).sum()) for g in (1, 2)}
    for g in range(3):
        inside = rows[rows[:, 2] == g]
        for j, column in enumerate(("age", "dose")):
            published[f"{column} where ward={NAMES[g]}"] = float(inside[:, j].mean())
    return published


def covariance(rows: np.ndarray) -> dict[str, float]:
    cov = np.cov(rows[:, :2].T, bias=True)
    names = ("age", "dose", "age*age", "age*dose", "dose*dose")
    return dict(
        zip(names, [*rows[:, :2].mean(axis=0), cov[0, 0], cov[0, 1], cov[1, 1]], strict=True)
    )


def weighted(rows: np.ndarray) -> dict[str, float]:
    total = rows[:, 3].sum()
    means = rows[:, 3] @ rows[:, :2] / total
    return {"weight": total, "weight*age": means[0], "weight*dose": means[1]}


def products(rows: np.ndarray) -> dict[str, float]:
    x, y = rows[:, 0], rows[:, 1]
    return {"age": x.sum(), "age*age": x @ x, "dose": y.sum(), "age*dose": x @ y}


def regression(rows: np.ndarray) -> dict[str, float]:
    x = np.column_stack([np.ones(len(rows)), rows[:, 0]])
    return dict(
        zip(("intercept", "coefficient of age"), np.linalg.lstsq(x, rows[:, 1])[0], strict=True)
    )


def ratio(rows: np.ndarray) -> dict[str, float]:
    means = rows[:, 3] @ rows[:, :2] / rows[:, 3].sum()
    return {"age": means[0], "dose": means[1]}


def plain(rows: np.ndarray) -> dict[str, float]:
    return {"age": rows[:, 0].mean(), "dose": rows[:, 1].mean()}


CASES: dict[str, tuple[statistics.Statistic, list[int], Release, bool]] = {
    # Statistic, columns of the table, the release, and whether its units are not those of a mean.
    "mean": (statistics.Mean(), [0, 1], plain, False),
    "sum": (
        statistics.Sum(),
        [0, 1],
        lambda rows: {name: len(rows) * value for name, value in plain(rows).items()},
        True,
    ),
    "counts": (
        statistics.Counts("site"),
        [],
        lambda rows: {f"site={NAMES[g]}": float((rows[:, 4] == g).sum()) for g in (1, 2)},
        True,
    ),
    "proportions": (
        statistics.Proportions("site"),
        [],
        lambda rows: {f"site={NAMES[g]}": float((rows[:, 4] == g).mean()) for g in (1, 2)},
        False,
    ),
    "group means": (statistics.GroupMeans("ward"), [0, 1], of_groups, True),
    "covariance": (statistics.Covariance(), [0, 1], covariance, False),
    "correlations": (
        statistics.Correlations(),
        [0, 1],
        lambda rows: {"correlation of age and dose": np.corrcoef(rows[:, :2].T)[0, 1]},
        False,
    ),
    "weighted mean": (statistics.WeightedMean("weight"), [0, 1, 3], weighted, True),
    "weighted ratio": (statistics.WeightedRatio("weight"), [0, 1, 3], ratio, False),
    "cross products": (statistics.CrossProducts("dose"), [0, 1], products, True),
    "regression": (statistics.Regression("dose"), [0, 1], regression, False),
}
COLUMNS = ("age", "dose", "ward", "weight")


def report_of(name: str, **options: Any) -> leakscore_app.Report:
    statistic, columns, _, _ = CASES[name]
    by = {"ward": WARD, "site": SITE}
    groups = {name: [NAMES[int(g)] for g in by[name]] for name in getattr(statistic, "by", ())}
    chosen = columns or [0]
    values, names = TABLE[:, chosen], [COLUMNS[j] for j in chosen]
    table = leakscore_app.table_of(values, names, groups=groups or None)
    return leakscore_app.analyse(
        table,
        statistic=statistic,
        max_advantage=LIMIT,
        max_noise=100.0,
        rounds=4000,
        min_cell=2,
        noise_shape="same",
        **options,
    )


def advantage(release: Release, row: int, noise: dict[str, float], seed: int) -> float:
    """Play the game; return the advantage of the linear attack at its best threshold."""
    rng = np.random.default_rng(seed)
    others = np.delete(TABLE, row - 1, axis=0)
    scores = []
    for inside in (1, 0):
        rows = rng.integers(len(others), size=(2 * ROUNDS, SIZE - inside))
        drawn = [
            release(np.vstack([others[i], TABLE[[row - 1]]]) if inside else others[i]) for i in rows
        ]
        values = np.array([[each[name] for name in noise] for each in drawn])
        scores.append(values + rng.normal(size=values.shape) * np.array(list(noise.values())))
    with_it, without = (each[:ROUNDS] for each in scores)
    pooled = np.atleast_2d(np.cov(with_it.T) + np.cov(without.T))
    weight = np.linalg.solve(pooled, with_it.mean(axis=0) - without.mean(axis=0))
    caught, alarms = (each[ROUNDS:] @ weight for each in scores)
    both = np.sort(np.concatenate([caught, alarms]))
    rates = [
        np.searchsorted(np.sort(each), both, side="right") / ROUNDS for each in (alarms, caught)
    ]
    return float((rates[0] - rates[1]).max())


@pytest.mark.parametrize("name", CASES)
def test_noise_as_it_is_stated_keeps_the_limit(name: str) -> None:
    _, _, release, _ = CASES[name]
    report = report_of(name)
    noise = json.loads(report.to_json())["noise"]
    std = noise["noise_std"]
    assert set(std) <= set(release(TABLE))
    row = noise["binding_row"]
    # The largest of the thresholds is above the truth by some 1 / sqrt(ROUNDS) at most.
    error = 1.2 / np.sqrt(ROUNDS)
    assert advantage(release, row, dict.fromkeys(std, 0.0), 1) > LIMIT + 2 * error
    assert advantage(release, row, std, 2) < LIMIT + 2 * error
    # Nor is far too much asked for.
    assert advantage(release, row, {key: each / 3 for key, each in std.items()}, 3) > LIMIT


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3]])
def test_the_noise_of_means_of_features_would_not_do(name: str) -> None:
    _, _, release, _ = CASES[name]
    noise = report_of(name).noise
    assert noise is not None
    size = 10.0 if name == "group means" else SIZE
    small = {key: std / size for key, std in noise.noise_std.items()}
    assert advantage(release, noise.binding_row, small, 4) > LIMIT + 0.04


def test_text_and_page_state_the_same_noise() -> None:
    report = report_of("sum")
    assert report.noise is not None
    stated = " ".join(report.to_text().split()).partition("units of what is published: age ")[2]
    first = float(stated.partition(";")[0])
    assert first == pytest.approx(report.noise.noise_std["age"], rel=2e-3)
    assert "in the units of what is published" in report.to_html()


@pytest.mark.parametrize("name", ["counts", "group means"])
def test_counts_that_follow_are_published_too(name: str) -> None:
    (by,) = CASES[name][0].by
    lines = report_of(name, draw_noise=True).to_csv().splitlines()[1:]
    numbers = {each: float(value) for each, value in csv.reader(lines)}
    counts = [numbers[f"{by}={level}"] for level in NAMES]
    assert sum(counts) == pytest.approx(SIZE, rel=1e-12)
