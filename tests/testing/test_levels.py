"""What a check counts as evidence: rounds that taught nothing, averaged over attacks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from leakscore.audit import Monitor
from leakscore.testing import PrivacyCheck, _check, check_private
from tests.testing.mechanisms import BUGS, TWINS, Case


def watched(monkeypatch: pytest.MonkeyPatch, case: Case) -> tuple[PrivacyCheck, list[Any]]:
    """Return a check of 1000 rounds, and the monitors that bet in it, with their evidence."""
    made: list[Any] = []

    class Recorded(Monitor):
        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            self.logs: list[float] = []
            made.append(self)

        def update(self, scores: Any, member: Any) -> None:
            super().update(scores, member)
            self.logs.append(self.log_e_value)

    monkeypatch.setattr(_check, "Monitor", Recorded)
    mechanism, claim, data, neighbour = case
    found = check_private(mechanism, data, neighbour, claim=claim, rounds=1000, rng=4)
    return found, [monitor for monitor in made if monitor.rounds]


@pytest.mark.parametrize("case", [BUGS["budget spent twice"], TWINS["two answers"]])
def test_evidence_is_the_average_over_the_attacks(
    monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    found, monitors = watched(monkeypatch, case)
    assert len(monitors) == 2
    logs = np.array([monitor.logs for monitor in monitors])
    assert abs(logs[0] - logs[1]).max() > 0.1
    average = np.logaddexp(*logs) - math.log(2.0)
    assert math.log(found.e_value) == pytest.approx(average[-1], abs=1e-9)
    assert math.log(found.p_value) == pytest.approx(-max(average.max(), 0.0), abs=1e-9)
    assert found.refuted == bool(average.max() >= math.log(20.0))


@pytest.mark.parametrize("case", [BUGS["low bits"], TWINS["laplace"]])
def test_rounds_that_taught_are_not_bet_on(monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    found, monitors = watched(monkeypatch, case)
    assert {monitor.rounds for monitor in monitors} == {found.rounds - 300}


def test_a_p_value_is_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """By 2^-44 a round, as a monitor's: more than the rounding of its factors."""
    found, monitors = watched(monkeypatch, BUGS["response at twice epsilon"])
    logs = np.logaddexp(*(np.array(monitor.logs) for monitor in monitors)) - math.log(2.0)
    steps = np.minimum(20 * np.arange(1, logs.size + 1), monitors[0].rounds)
    assert found.p_value == math.exp(-float((logs - 2.0**-44 * steps).max()))
    assert found.p_value > math.exp(-float(logs.max()))


def test_outputs_that_are_all_alike_are_no_evidence() -> None:
    found = check_private(lambda data, rng: "yes", 0, 1, claim=(1.0, 0.0))
    assert (found.refuted, found.p_value, found.e_value) == (False, 1.0, 1.0)
    with pytest.raises(ValueError, match="data and neighbour must differ"):
        check_private(lambda data, rng: 0, same := lambda: 0, same, claim=(1.0, 0.0))
