"""Areas of paired rounds, and the Gaussian theory of the attacks on softmax regression."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from leakscore.audit import Audit
from leakscore.scores import covariance_score, scalar_product
from leakscore.whitebox import aggregate
from reproduce import _epoch, _law
from reproduce._auc import Auc
from tests.helpers.pictures import setting

__all__ = ["setting"]  # a fixture


def test_area_and_standard_error_of_paired_rounds() -> None:
    rng = np.random.default_rng(1)
    shared = rng.normal(size=(1500, 60))
    members = shared + 0.8 + 0.3 * rng.normal(size=shared.shape)
    areas = [Auc.of(inside, outside) for inside, outside in zip(members, shared, strict=True)]
    expected = [
        Audit(inside, outside).auc() for inside, outside in zip(members, shared, strict=True)
    ]
    np.testing.assert_allclose([area.value for area in areas], expected, rtol=1e-12)
    spread = np.std(expected)
    assert np.mean([area.error for area in areas]) == pytest.approx(spread, rel=0.1)
    tied = Auc.of(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    assert tied.value == pytest.approx(0.875)
    sure = Auc.of(np.arange(50.0) + 100, np.arange(50.0))
    assert (sure.value, sure.error) == (1.0, 1 / 50)
    worse = areas[0].at_least(Auc.of(shared[0] + 9, shared[0]), "worse")
    assert not worse.ok
    assert worse.z < -4
    better = Auc.of(shared[0] + 9, shared[0]).at_least(areas[0], "better")
    assert better.ok
    assert better.z == 0


def test_theory_is_that_of_random_batches() -> None:
    rng = np.random.default_rng(2)
    steps, rounds = 4, 4000
    values = (3 * rng.standard_t(5, size=(steps, 5000, 3)) - 1).astype(np.float32)
    law = _law.Law(values, np.full((steps, 3), 40.0), batch=16)
    np.testing.assert_allclose(law.mean, -1, atol=0.3)
    np.testing.assert_allclose(law.variance, 9 * (5 / 3) / 16, rtol=0.2)
    np.testing.assert_allclose(law.leakage, (41 / 16) ** 2 / (15 / 16), rtol=0.1)
    excess = stats.kurtosis(values[:, :, 1], axis=1).mean() / 16
    assert law.excess(1) == pytest.approx(excess, rel=1e-3)
    attack = "all", "covariance"
    absent, exposed = np.empty((rounds, 3, steps)), rng.integers(steps, size=rounds)
    present = np.empty_like(absent)
    for i in range(rounds):
        batches = rng.integers(5000, size=(steps, 16))
        for inside, scores in ((False, absent), (True, present)):
            drawn = values[np.arange(steps)[:, np.newaxis], batches].astype(float)
            if inside:
                drawn[exposed[i], 3] = 40.0
            scores[i] = drawn.mean(axis=1).T
    played = _epoch.Played({attack: present}, {attack: absent}, exposed)
    row = law.row("all", attack, 1, played)
    assert row.ok
    assert row.theory == law.leakage[1]
    assert 0 < row.tolerance < 0.1 * row.theory
    for j in range(3):
        scores = (aggregate(rows[:, j], "one-epoch") for rows in (present, absent))
        row = Auc.of(*scores).row("name", law.auc(attack, j, rng))
        assert row.ok
        assert row.tolerance < 0.03
        assert law.gaussian_auc(attack, j, rng) == pytest.approx(row.theory, abs=0.03)


def test_gaussian_theory_is_that_of_gaussian_scores() -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(-1.0, 4.0, size=(1, 20000, 1)).astype(np.float32)
    law = _law.Law(values, np.array([[31.0]]), batch=16)
    advantage = stats.norm.cdf(law.shift[0, 0] / np.sqrt(2 * law.variance[0, 0]))
    for attack in (("all", "covariance"), ("all", "scalar")):
        assert law.gaussian_auc(attack, 0, rng) == pytest.approx(advantage, abs=0.01)
        assert law.auc(attack, 0, rng).value == pytest.approx(advantage, abs=0.01)


def test_population_laws_are_those_of_the_rows(setting: tuple[Any, ...]) -> None:
    model, records, known, path = setting
    chosen = records.candidates[:3]
    found = _law.laws(model, records, 8, path, chosen, known["all"])
    rows = model.gradients(path[1], *records.take(records.population)).astype(float)
    reference = known["all"].references[1]
    own = model.gradients(path[1], *records.take(chosen)).astype(float)
    for kind, score in (
        ("covariance", covariance_score(rows, own, reference, 8)),
        ("scalar", scalar_product(rows, own, reference.mean)),
    ):
        law = found[kind]
        np.testing.assert_allclose(law.values[1], score, rtol=1e-3, atol=1e-3)
        at = covariance_score(own, own, reference, 8, paired=True)
        at = at if kind == "covariance" else ((own - reference.mean) * own).sum(axis=1)
        np.testing.assert_allclose(law.own[1], at, rtol=1e-4, atol=1e-4)
