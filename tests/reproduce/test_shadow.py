"""Attacks on trained models: their measures, their halves, and one small experiment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from reproduce import _shadow_models as models
from reproduce import shadow, shadow_choice


def test_measures_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    members = rng.random((3, 2000)) < 0.5
    scores = np.round(rng.normal(size=(3, 2000)) + members, 2)  # with ties
    for row, found in enumerate(shadow.measures(scores, members)):
        assert found[0] == pytest.approx(roc_auc_score(members[row], scores[row]), rel=1e-12)
        fpr, tpr, _ = roc_curve(members[row], scores[row], drop_intermediate=False)
        for rate, value in zip(shadow.RATES, found[1:], strict=True):
            assert value == pytest.approx(100 * tpr[fpr <= rate].max(), rel=1e-12)


def test_halves_are_complementary_and_random() -> None:
    halves = models.halves(6, 101, np.random.default_rng(0))
    assert (halves[::2] ^ halves[1::2]).all()
    assert halves.sum(axis=1).tolist() == [50, 51] * 3
    assert len({tuple(row) for row in halves.tolist()}) == 6


def test_a_small_experiment() -> None:
    setting = next(s for s in models.settings() if s.name == "Wisconsin")
    trained = models.train(setting, (), 0.125, 1)
    assert trained.signals.shape == (32, 500)
    assert trained.observed.shape == (8, 500)
    cells = shadow.attacked(trained)
    curves: dict[str, object] = {}
    shadow.add_predictions(setting, trained, cells, curves)  # type: ignore[arg-type]
    assert {(4, "base"), (16, "choose"), (0, "law")} <= set(cells)
    assert cells[4, "base"].sets == 8
    for name in ("base", "one step", "law"):
        size = 0 if name == "law" else 16
        assert cells[size, name].means[0] == pytest.approx(0.548, abs=4 * 0.006)
    assert len(shadow.printed_lines(setting, cells)) == 1 + len(cells)
    assert [row.ok for row in shadow.comparison_rows(setting, cells)] == [True, True]


def test_the_choice_on_a_few_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = shadow_choice.settings()
    assert len(every) == len({setting.name for setting in every}) == 20
    few = [s for s in every if s.name in ("Wisconsin, QDA", "Wisconsin, SVM")]
    monkeypatch.setattr(shadow_choice, "settings", lambda: tuple(few))
    outcome = shadow_choice.reproduce(rounds=2)
    assert [row.name.split(":")[0] for row in outcome.rows] == ["4 models", "8 models"]
    rates = outcome.curves["rates"][8]  # one set of models: the rate of what was chosen
    choices = np.stack([rates[name] for name in ("base", "one step", "paired")])
    assert (rates["choose"] == choices).any(axis=0).all()
    shadow_choice.draw(outcome, tmp_path / "choice.png")
    assert (tmp_path / "choice.png").stat().st_size > 10_000
