"""Sets of records that can be listed: the best use of the list beside going through all sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from leakscore_app import report

SIZE = 12


def judged(values: np.ndarray, n: int, **options: object) -> report.Report:
    table = report.table_of(values, [f"x{j}" for j in range(values.shape[1])])
    options = {"max_advantage": 0.8, "rounds": 2000, "noise_shape": "same", **options}
    return report.analyse(table, n=n, population="finite", **options)


def advantages(
    values: np.ndarray, n: int, decimals: int | None, owners: Sequence[int] = range(SIZE)
) -> list[float]:
    """Return the total variation of the means with all records of each person and with none."""
    result = []
    for person in sorted(set(owners)):
        records = {row for row, owner in enumerate(owners) if owner == person}
        laws: list[Counter[tuple[float, ...]]] = [Counter(), Counter()]
        for members in combinations(range(len(values)), n):
            inside = len(records & set(members))
            if 0 < inside < len(records):
                continue
            mean = values[list(members)].mean(axis=0)
            shown = np.round(mean, 9 if decimals is None else decimals) + 0.0
            laws[inside > 0][tuple(shown.tolist())] += 1
        shares = [{key: count / law.total() for key, count in law.items()} for law in laws]
        keys = {*shares[0], *shares[1]}
        result.append(sum(abs(shares[0].get(k, 0) - shares[1].get(k, 0)) for k in keys) / 2)
    return result


@pytest.mark.parametrize("n", [4, 6, 9])
@pytest.mark.parametrize("decimals", [None, 1])
def test_the_best_use_of_the_list_is_that_of_all_sets(n: int, decimals: int | None) -> None:
    values = np.random.default_rng(1).integers(0, 4, size=(SIZE, 2)).astype(float)
    expected = advantages(values, n, decimals)
    result = judged(values, n, decimals=decimals, max_advantage=0.95).observations.listed
    assert result is not None
    assert result.advantage == pytest.approx(max(expected), abs=1e-12)
    assert expected[result.row - 1] == pytest.approx(max(expected), abs=1e-12)


@pytest.mark.parametrize("n", [4, 9])
@pytest.mark.parametrize("decimals", [None, 1])
def test_the_best_use_of_the_list_is_that_of_persons(n: int, decimals: int | None) -> None:
    owners = [0, 0, 1, 1, *range(2, 10)]
    values = np.random.default_rng(1).integers(0, 4, size=(SIZE, 1)).astype(float)
    expected = advantages(values, n, decimals, owners)
    table = report.table_of(values, ["x0"], ids=[f"P{owner}" for owner in owners])
    options = {"max_advantage": 0.95, "rounds": 2000, "noise_shape": "same"}
    judged = report.analyse(table, n=n, population="finite", decimals=decimals, **options)
    result = judged.observations.listed
    assert result is not None
    assert result.advantage == pytest.approx(max(expected), abs=1e-12)
    assert expected[owners[result.row - 1]] == pytest.approx(max(expected), abs=1e-12)
    refused = "sets of" in judged.verdict.why
    assert refused == (judged.verdict.worst.value <= 0.95 < max(expected))


def test_what_no_linear_score_shows_is_not_published() -> None:
    """All 220 means differ, and which set has the one that is published is known."""
    values = np.random.default_rng(5).normal(size=(SIZE, 1))
    result = judged(values, 9)
    assert max(advantages(values, 9, None)) == pytest.approx(1, abs=1e-9)
    assert result.verdict.worst.value <= 0.8
    assert result.verdict.decision == "do not publish"
    assert "only 220 sets of 9 of these 12 records exist" in result.verdict.why
    coarser = result.observations.listed.coarser
    assert f"--decimals {coarser}" in result.verdict.why
    assert max(advantages(values, 9, coarser)) <= 0.8 < max(advantages(values, 9, coarser + 1))
    assert judged(values, 9, decimals=coarser).verdict.decision == "publish"
    assert judged(values, 9, decimals=coarser + 1).verdict.decision == "do not publish"


def test_noise_hides_records_from_who_lists_all_sets() -> None:
    """With the noise that hides the worst from the linear score, .88 instead of .79."""
    values = np.random.default_rng(0).normal(size=(SIZE, 2))
    result = judged(values, 9, max_advantage=0.7915, rounds=8000)
    assert result.verdict.decision == "publish with noise"
    std = [result.noise.noise_std[name] for name in ("x0", "x1")]
    inside = np.array([[row in s for row in range(SIZE)] for s in combinations(range(SIZE), 9)])
    means, rng = inside @ values / 9 / std, np.random.default_rng(1)
    for record in range(SIZE):
        laws, chances = [means[inside[:, record] == member] for member in (True, False)], []
        for law in laws:
            drawn = law[rng.integers(len(law), size=4000)] + rng.standard_normal((4000, 2))
            gaps = [np.square(drawn[:, None] - each).sum(axis=2) for each in laws]
            densities = [np.exp(-gap / 2).mean(axis=1) for gap in gaps]
            chances.append(float((densities[0] > densities[1]).mean()))
        assert chances[0] - chances[1] < 0.7915 + 4 * np.sqrt(0.5 / 4000)


def test_sets_too_many_to_be_listed_are_not() -> None:
    values = np.random.default_rng(5).normal(size=(60, 1))
    result = judged(values, 30)
    assert result.observations.listed is None
    assert result.verdict.decision == "publish"
