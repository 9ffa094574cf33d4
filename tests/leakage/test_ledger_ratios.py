"""Noise of one record's count and sums is in proportion to its values, which ratios would show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import leakage

N, TARGET = 500, 77
TABLE = np.random.default_rng(0).normal(40, 9, (N, 2))
OTHERS = np.arange(N) != TARGET
ALL = np.ones(N, dtype=bool)


def begun() -> leakage.Ledger:
    return leakage.Ledger(TABLE, max_advantage=0.2, max_noise=50.0)


@pytest.mark.parametrize(
    "questions",
    [
        [(ALL, "mean", [0]), (OTHERS, "mean", [0])],
        [(~OTHERS, "mean", [0])],
        [(ALL, "sum", [0, 1]), (OTHERS, "sum", [0, 1])],
        [(ALL, "sum", [0]), (OTHERS, "sum", [0]), (OTHERS, "count")],
        [(ALL, "sum", [0]), (OTHERS, "count"), (OTHERS, "sum", [0])],
        [(ALL, "sum", [0, 1]), (OTHERS, "sum", [0]), (OTHERS, "sum", [1])],
    ],
)
def test_what_shows_the_values_of_one_record_is_refused(questions: list[Any]) -> None:
    """With sums of all, (sum - sum of others) / (N - count of others) is the target's value."""
    ledger = begun()
    *before, last = questions
    for question in before:
        assert isinstance(ledger.ask(*question, rng=1), leakage.Answer)
    ledger = leakage.Ledger.from_bytes(ledger.to_bytes(), TABLE)
    refusal = ledger.ask(*last, rng=1)
    assert isinstance(refusal, leakage.Refusal)
    assert (refusal.exceeding, refusal.leakage, refusal.standard_errors) == (1, np.inf, np.inf)


def test_one_sum_of_one_record_has_noise() -> None:
    ledger = begun()
    ledger.ask(ALL, "sum", [0])
    answer = ledger.ask(OTHERS, "sum", [0])
    assert isinstance(answer, leakage.Answer)
    assert answer.noise_std[0] > 2 * TABLE[TARGET, 0]
    assert isinstance(ledger.ask(~OTHERS, "sum", [0]), leakage.Answer)  # the difference of these


def test_two_records_have_noise_of_two_directions() -> None:
    ledger = begun()
    two = np.isin(np.arange(N), [3, 4])
    mean = ledger.ask(two, "mean", [0])
    assert isinstance(mean, leakage.Answer)
    assert mean.noise_std[0] > 0
    assert isinstance(ledger.ask(two, "sum", [1]), leakage.Refusal)  # of two records it follows


@pytest.mark.parametrize("statistic", ["sum", "mean"])
def test_what_holds_in_every_record_shows_no_value(statistic: str) -> None:
    """Of a, b, a + b, or of shares that add up to 1, the last follows from the others, as known."""
    rng = np.random.default_rng(2)
    kinds = np.eye(3)[rng.integers(0, 3, N)]
    table = np.column_stack([TABLE, TABLE.sum(axis=1), kinds, 2.54 * TABLE[:, 0]])
    few = np.arange(N) < 30
    for columns in ([0, 1, 2], [3, 4, 5], [0, 6]):
        ledger = leakage.Ledger(table, max_advantage=0.1, max_noise=50.0)
        ledger.ask(few, "count")
        answer = ledger.ask(few, statistic, columns, rng=1)
        assert isinstance(answer, leakage.Answer)
        assert (answer.noise_std > 0).all()
        again = ledger.ask(few, statistic, columns[-1:])
        assert isinstance(again, leakage.Answer)
        assert again.free


def test_what_holds_in_most_records_shows_values() -> None:
    """Of the records of a selection a column is twice another, of one other it is not."""
    table = np.column_stack([TABLE, 2.0 * TABLE[:, 0]])
    table[-1, 2] += 1.0
    few = np.arange(N) < 30
    ledger = leakage.Ledger(table, max_advantage=0.1, max_noise=50.0)
    assert isinstance(ledger.ask(few, "sum", [0], rng=1), leakage.Answer)
    assert isinstance(ledger.ask(few, "sum", [2]), leakage.Refusal)
    assert isinstance(ledger.ask(few, "sum", [1, 0]), leakage.Answer)
