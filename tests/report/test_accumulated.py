"""What earlier means told and what a release adds are summed: by refits without the person."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore_app import report
from tests.oracles.leakage import groups_left_out
from tests.report.test_numbers import advantage

ROWS, OLD, NEVER = 300, 150, 1e300
PERSON = np.arange(ROWS)
PERSON[200] = 10  # one old record and one new one
BATCH = np.repeat([0, 1], [OLD, ROWS - OLD])


def table(share: float) -> np.ndarray:
    """The person's old record tells this share of what the new one adds, as squares."""
    values = np.random.default_rng(7).normal(size=(ROWS, 2))
    values[200] = [3.6, 1.0]
    values[10] = values[200] * np.sqrt(share)
    return values


def parts(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (
        groups_left_out(values, PERSON, [OLD, NEVER], BATCH),
        groups_left_out(values, PERSON, [NEVER, ROWS - OLD], BATCH),
    )


def with_noise(values: np.ndarray, noise: np.ndarray) -> float:
    """The person's leakage, the present mean of all 300 noised: twice the noise on the batch's."""
    others = values[PERSON != 10]
    known = np.cov(others.T, ddof=0) + (ROWS - OLD) * (ROWS / (ROWS - OLD)) ** 2 * noise
    away = values[200] - others.mean(axis=0)
    return float(away @ np.linalg.solve(known, away)) / (ROWS - OLD)


def judged(values: np.ndarray, limit: float, **asked: Any) -> report.Report:
    made = report.table_of(values, ids=list(map(str, PERSON)))
    options = {"previous": OLD, "rounds": 400, "max_advantage": advantage(limit)}
    return report.analyse(made, **options | asked)


@pytest.mark.parametrize("share", [0.3, 0.7, 1.0])
def test_each_alone_is_within_the_limit_and_both_are_not(share: float) -> None:
    values = table(share)
    told, added = parts(values)
    limit = 0.5 * (max(told[10], added[10]) + told[10] + added[10])
    verdict = judged(values, limit).to_dict()["verdict"]
    assert verdict["decision"] != "publish"
    assert verdict["worst"]["row"] == 11
    assert verdict["worst"]["theory"] == pytest.approx(advantage(told[10] + added[10]), rel=1e-9)


@pytest.mark.parametrize(("share", "left"), [(0.5, 0.41), (0.9, 0.31)])
def test_larger_batches_are_counted_with_what_was_told(share: float, left: float) -> None:
    values = table(share)
    told, added = parts(values)
    limit = told[10] + left * added[10]
    larger = [x for x in judged(values, limit).remedies if x.kind == "larger batch"]
    batches = [int("".join(filter(str.isdigit, x.what))) for x in larger]
    others = added[added < added[10]].max()
    for batch, remedy in zip(batches, larger, strict=True):
        expected = max(told[10] + added[10] * (ROWS - OLD) / batch, others * (ROWS - OLD) / batch)
        assert remedy.leakage == pytest.approx(expected, rel=1e-9)
    least = (ROWS - OLD) * added[10] / (limit - told[10]) - 1e-9  # a whole number, to rounding
    assert min(b for b, x in zip(batches, larger, strict=True) if x.leakage <= limit) == np.ceil(
        least
    )


@pytest.mark.parametrize("shape", ["same", "independent", "optimal"])
def test_noise_leaves_room_for_what_was_told(shape: str) -> None:
    """Just enough: the theory's noise meets the limit for both together, and no more than that."""
    values = table(0.5)
    told, added = parts(values)
    limit = told[10] + 0.5 * added[10]
    noise = judged(values, limit, noise_shape=shape).noise
    assert noise
    std = np.array(list(noise.noise_std.values()))
    matrix = np.diag(std**2) if noise.covariance is None else np.asarray(noise.covariance)
    total = told[10] + with_noise(values, matrix)
    assert total == pytest.approx(noise.leakage, rel=1e-6)
    assert total <= limit * (1.0 + 1e-9)
    asked = matrix * (noise.theory_standard_errors / noise.standard_errors) ** 2
    in_theory = told[10] + with_noise(values, asked)
    if shape == "same":
        assert in_theory == pytest.approx(limit, rel=1e-6)
