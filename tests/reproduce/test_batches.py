"""The table of schemes on a short training: what is compared, and what is said without others."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore import tradeoff
from reproduce import _batch_accountants
from reproduce import batches as figure
from tests.helpers.sizes import figure_sizes


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two epochs of five steps, one noise."""
    sizes: dict[str, Any] = {
        "RECORDS": 50,
        "BATCH": 10,
        "EPOCHS": 2,
        "SLOTS": 5,
        "STEPS": 10,
        "RATE": 0.2,
    }
    pattern = np.tile(np.eye(5), (1, 2))[:1]
    figure_sizes(monkeypatch, figure, **sizes, LARGEST=12, NOISES=(1.5,), PATTERN=pattern)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    monkeypatch.setitem(sys.modules, "jax_privacy.accounting", None)


def test_every_scheme_is_played_and_lies_in_its_bracket(tmp_path: Path) -> None:
    outcome = figure.reproduce(rounds=800, seed=2)
    assert outcome.ok, outcome.table()
    played = {row.name.rpartition(",")[0].rpartition(":")[0] for row in outcome.rows}
    assert len(outcome.curves) == 9
    assert len(played) == 9
    assert len(outcome.rows) == 3 * 9
    assert "not installed" in outcome.table()
    low, high = outcome.curves["fixed size, replace"][0]
    known = tradeoff.fixed_batch_gaussian(1.5, 10, 50, 10).interval("epsilon", figure.DELTA)
    assert (low, high) == known
    pytest.importorskip("matplotlib")
    figure.draw(outcome, tmp_path / "batches.png")
    assert (tmp_path / "batches.png").stat().st_size > 1000


def test_a_weaker_curve_fails() -> None:
    """The same scores against a curve of half the leakage: the table's checks can fail."""
    scheme = figure.schemes()[0]
    members, nonmembers = scheme.play(0.8, 3000, 1)
    right = figure.compared("right", scheme.curve(0.8), members, nonmembers)
    weaker = figure.compared("weaker", scheme.curve(2.4), members, nonmembers)
    stronger = figure.compared("stronger", scheme.curve(0.4), members, nonmembers)
    assert all(row.ok for row in right)
    assert not weaker[1].ok
    assert not stronger[0].ok


def test_accountants_that_are_missing_are_said_to_be() -> None:
    found = _batch_accountants.epsilons(0.2, 10, 12, 50, (1.0, 2.0), 1e-5)
    assert len(found) == 4
    assert all(one == ["not installed"] * 2 for one in found.values())
