"""Leakages under a shrunk covariance against a covariance estimated anew without each record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import Reference
from leakscore_app.report.engine.population import Population


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
