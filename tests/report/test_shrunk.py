"""Leakages under a shrunk covariance against a covariance estimated anew without each record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from leakscore import Reference
from leakscore_app import report
from tests.helpers.parts import Population


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("shrinkage", [0.2, "auto"])
@pytest.mark.parametrize("far", [1.0, 30.0, 1e3])
def test_both_attackers_equal_refits(finite: bool, shrinkage: float | str, far: float) -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_t(4, size=(70, 5)) @ rng.normal(size=(5, 5)) + 2
    values[11] *= far
    n, share = 20, 1 - 20 / 70 if finite else 1.0
    people = Population(values, n, finite=finite, shrinkage=shrinkage)
    informed, weaker = people.informed(), people.weaker()
    for row in range(70):
        others = Reference.fit(np.delete(values, row, axis=0), shrinkage=shrinkage)
        away = values[row] - others.mean
        weight = away / np.diag(others.cov)
        expected = away @ np.linalg.solve(others.cov, away) / n / share
        assert informed[row] == pytest.approx(expected, rel=1e-9)
        expected = (weight @ away) ** 2 / (weight @ others.cov @ weight) / n / share
        assert weaker[row] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shrinkage", [0.2, None])
def test_a_larger_release_is_one_judged_anew(
    finite: bool, weighted: bool, shrinkage: float | None
) -> None:
    rng = np.random.default_rng(4)
    values = rng.standard_t(4, size=(70, 5)) @ rng.normal(size=(5, 5)) + 2
    more: dict[str, Any] = {
        "finite": finite,
        "shrinkage": shrinkage,
        "weights": rng.uniform(1, 3, size=70) if weighted else None,
    }
    people = Population(values, 20, **more)
    people.informed()
    people.without(3)
    larger, anew = people.larger(33), Population(values, 33, **more)
    assert (larger.n, larger.root) == (33, pytest.approx(anew.root, rel=1e-12))
    np.testing.assert_allclose(larger.informed(), anew.informed(), rtol=1e-12)
    np.testing.assert_allclose(larger.weaker(), anew.weaker(), rtol=1e-12)
    np.testing.assert_allclose(larger.added(0.3), anew.added(0.3), rtol=1e-12)
    np.testing.assert_allclose(larger.without(3).cov, anew.without(3).cov, rtol=1e-12)
    assert people.n == 20


@pytest.mark.parametrize(("size", "dim"), [(30, 29), (60, 59), (60, 90)])
def test_a_shrunk_covariance_does_not_publish_below_what_records_leak_on_average(
    size: int, dim: int
) -> None:
    """Three factors and little else: in the sample the little is gone, in the population not."""
    rng = np.random.default_rng(size + dim)
    loadings = rng.normal(size=(dim, 3))
    law = loadings @ loadings.T + 1e-4 * np.eye(dim)
    values = rng.multivariate_normal(np.zeros(dim), law, size=size)
    true = np.einsum("ij,ji->i", values, np.linalg.solve(law, values.T)) / size
    advantage = 2 * stats.norm.cdf(np.sqrt(true) / 2) - 1
    table = report.table_of(values, [f"x{j}" for j in range(dim)])
    result = report.analyse(table, max_advantage=0.33, rounds=2000)
    assert result.verdict.worst.value < 0.33 < advantage.mean()
    assert result.verdict.decision == "do not publish"
    assert f"how {dim} columns vary together" in result.verdict.why
    assert f"records leak {dim / size:.3g} on average" in result.verdict.why
    few = report.table_of(values[:, :3], ["a", "b", "c"])
    shrunk = report.analyse(few, max_advantage=0.4, rounds=2000, shrinkage=0.1)
    assert shrunk.verdict.decision == "publish"
    said = [
        next(each.message for each in judged.notices if each.code == "shrinkage")
        for judged in (result, shrunk)
    ]
    assert said[0].startswith(
        f"{size} records do not determine the covariance of {dim} columns: it"
    )
    assert said[1].startswith("The covariance is shrunk towards its diagonal by 0.1. ")
