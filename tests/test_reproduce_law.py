"""Areas of paired rounds, and the Gaussian theory of the attacks on softmax regression."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore.audit import Audit
from leakscore.reproduce import _epoch, _law
from leakscore.reproduce._auc import Auc
from leakscore.whitebox import aggregate
from tests.pictures import setting

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


def test_theory_is_that_of_gaussian_scores() -> None:
    rng = np.random.default_rng(2)
    law = _law.Law(
        mean=np.full((4, 3), -1.0),
        variance=np.full((4, 3), 2.0),
        shift=np.full((4, 3), 3.0),
        excess=np.zeros((4, 3)),
        batch=64,
    )
    np.testing.assert_allclose(law.leakage, 4.5)
    rounds = 4000
    absent = -1 + np.sqrt(2) * rng.normal(size=(rounds, 3, 4))
    exposed = rng.integers(4, size=rounds)
    present = absent.copy()
    present[np.arange(rounds), :, exposed] += 3
    attack = "all", "covariance"
    played = _epoch.Played({attack: present}, {attack: absent}, exposed)
    row = law.row("all", attack, 1, played)
    assert row.ok
    assert row.theory == pytest.approx(4.5)
    assert 0 < row.tolerance < 0.4
    again = -1 + np.sqrt(2) * rng.normal(size=(rounds, 4))
    again[np.arange(rounds), exposed] += 3
    measured = Audit(aggregate(again, "one-epoch"), aggregate(absent[:, 0], "one-epoch")).auc()
    assert law.auc(attack, 0, rng) == pytest.approx(measured, abs=0.03)


def test_population_laws_are_those_of_the_rows(setting: tuple[Any, ...]) -> None:
    model, records, known, path = setting
    chosen = records.candidates[:3]
    found = _law.laws(model, records, 8, path, chosen, known["all"])
    rows = model.gradients(path[1], *records.take(records.population)).astype(float)
    reference = known["all"].references[1]
    own = model.gradients(path[1], *records.take(chosen)).astype(float)
    for kind, weights in (
        ("covariance", reference.solve(own - reference.mean)),
        ("scalar", own - reference.mean),
    ):
        values = rows @ weights.T
        law = found[kind]
        shift = (own * weights).sum(axis=1) - values.mean(axis=0)
        np.testing.assert_allclose(law.shift[1], shift / 8, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(law.variance[1], values.var(axis=0) / 8, rtol=1e-3)
