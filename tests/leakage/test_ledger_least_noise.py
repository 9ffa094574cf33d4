"""The least noise of all answers together in the value of a record."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore import leakage

N = 60
TABLE = np.random.default_rng(5).normal(size=(N, 1)) * 300


def least(features: np.ndarray, stds: list[float], held: np.ndarray) -> float:
    """Return it by generalized least squares, from the noise of every answer by itself."""
    weights = np.linalg.qr(features)[1]
    variances = np.linalg.solve(np.square(weights.T), np.square([0.0, *stds]))
    cov = (weights.T * variances) @ weights
    cov, held = cov[1:, 1:], held[1:]  # the number of records is no answer
    return float((held @ np.linalg.solve(cov, held)) ** -0.5) if held.any() else np.inf


@pytest.mark.parametrize("rule", ["exact", "public"])
def test_is_that_of_the_best_combination(rule: str) -> None:
    rng = np.random.default_rng(8)
    more = {"bounds": {0: (-2e3, 2e3)}, "reference": "uniform"} if rule == "public" else {}
    ledger = leakage.Ledger(TABLE, max_leakage=0.02, max_noise=50.0, share=0.2, rule=rule, **more)
    assert ledger.least_noise(3, 0) == np.inf
    masks = rng.random((5, N)) < 0.5
    masks[:, 0] = False
    stds = [float(ledger.ask(mask, "sum", [0], rng=1).noise_std[0]) for mask in masks]
    assert min(stds) > 0
    ones = np.ones((1, N)) if rule == "exact" else np.eye(1, N)  # nobody is in a selection
    features = np.concatenate([ones, masks * (TABLE[:, 0] if rule == "exact" else 1.0)]).T
    for record in range(8):
        held = np.array([False, *masks[:, record]])
        expected = least(features, stds, held)
        assert ledger.least_noise(record, 0) == pytest.approx(expected, rel=1e-9)
    assert np.array_equal(list(ledger.noisy_selections(0)), masks)
    ledger.preview(rng.random(N) < 0.5, "sum", [0])
    kept = leakage.Ledger.from_bytes(ledger.to_bytes(), TABLE)
    assert kept.least_noise(3, 0) == ledger.least_noise(3, 0)


def test_an_answer_without_noise_has_none() -> None:
    ledger = leakage.Ledger(np.c_[TABLE, -TABLE], max_advantage=0.3)
    ledger.ask(np.arange(N) < 30, "sum", [0])
    assert [ledger.least_noise(*place) for place in ((3, 0), (3, 1), (40, 0))] == [
        0.0,
        np.inf,
        np.inf,
    ]
    assert not list(ledger.noisy_selections(0))


@pytest.mark.parametrize("place", [(-1, 0), (N, 0), (0, 1), (0.5, 0)])
def test_refuses_what_the_table_lacks(place: tuple[int, int]) -> None:
    with pytest.raises((TypeError, ValueError), match="must be"):
        leakage.Ledger(TABLE, max_leakage=1.0).least_noise(*place)
