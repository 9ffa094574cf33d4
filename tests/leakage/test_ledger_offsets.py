"""Columns of whole numbers far from zero, against exact fractions: right, or refused."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leakscore.leakage import Answer, Ledger


class Exact:
    """Orthogonal directions of features of whole numbers."""

    def __init__(self, rows: int) -> None:
        self.directions: list[tuple[list[Fraction], Fraction]] = []
        self.add(np.ones(rows))

    def add(self, feature: np.ndarray) -> bool:
        """Add a feature; return whether it depends on no earlier ones."""
        rest = [Fraction(int(value)) for value in feature]
        for direction, square in self.directions:
            along = sum(a * b for a, b in zip(direction, rest, strict=True) if b) / square
            rest = [b - along * a for a, b in zip(direction, rest, strict=True)]
        square = sum((value * value for value in rest), Fraction(0))
        if square:
            self.directions.append((rest, square))
        return bool(square)

    def leakage(self) -> np.ndarray:
        """Return the leakage of every record."""
        rows = len(self.directions[0][0])
        shares = (
            sum((v[i] * v[i] / square for v, square in self.directions[1:]), Fraction(0))
            for i in range(rows)
        )
        used = [share * rows / (rows - 1) for share in shares]
        return np.array([np.inf if t == 1 else float(t / (1 - t)) for t in used])


def asked(ledger: Ledger, *question: Any) -> Answer | None:
    """Return the answer; None if the question, or its column, is refused."""
    with contextlib.suppress(ValueError):
        outcome = ledger.ask(*question)
        return outcome if isinstance(outcome, Answer) else None
    return None


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6, 1e7, 1e8, 1e9, 1e12, 1e15])
def test_offsets_are_right_or_refused(offset: float) -> None:
    answers = refusals = 0
    for trial, rows in enumerate([5, 20] * 9 + [500]):
        rng = np.random.default_rng(trial)
        X = rng.integers(0, 50, (rows, 1 + trial % 3)) + offset
        ledger, exact = Ledger(X, max_leakage=100.0), Exact(rows)
        for _ in range(6 if rows < 500 else 2):
            mask = rng.random(rows) < rng.choice([0.3, 0.5, 0.7, 0.9, 1.0])
            mask[rng.integers(rows)] = True
            statistic = ("count", "sum", "mean")[rng.integers(3)]
            columns = [] if statistic == "count" else list(range(1 + rng.integers(X.shape[1])))
            if not (outcome := asked(ledger, mask, statistic, columns)):
                refusals += 1
                continue
            answers += 1
            features = [mask * 1.0] * (statistic != "sum") + [mask * X[:, j] for j in columns]
            new = [exact.add(feature) for feature in features]
            assert outcome.free == (not any(new))
            np.testing.assert_allclose(ledger.leakage, exact.leakage(), rtol=1e-6, atol=1e-12)
            if statistic == "sum":
                np.testing.assert_allclose(outcome.values, mask @ X[:, columns], rtol=1e-15)
    assert answers > 15
    assert refusals > 5


def test_narrow_values_are_refused_by_column() -> None:
    """Also where the rest of the table is far from them; a constant column is a count."""
    X = np.column_stack([np.zeros(40), np.full(40, 7e9), np.arange(40.0)])
    X[20:, 0] = 1e12 + np.arange(20)
    ledger, mask = Ledger(X, max_leakage=100.0), np.arange(40) >= 20
    with pytest.raises(ValueError, match=r"column 0 must have values in the selection"):
        ledger.ask(mask, "mean", [0])
    assert isinstance(ledger.ask(mask, "sum", [1]), Answer)
    assert isinstance(ledger.ask(mask, "sum", [2]), Answer)


def test_no_answer_states_an_infinite_leakage() -> None:
    """Whatever the limit, what rounding takes for a direction of one record is not answered."""
    X = np.column_stack([np.ones(50), np.arange(50.0)])
    X[0, 0] = 2e4
    ledger = Ledger(X, max_leakage=1e6)
    assert not isinstance(ledger.ask(np.arange(50) < 40, "sum", [0]), Answer)
    assert ledger.leakage.max() == 0.0


@pytest.mark.parametrize("limit", [1e300, 2e6, 1e-101, 5e-324])
def test_limits_that_rounding_does_not_keep_are_refused(limit: float) -> None:
    with pytest.raises(ValueError, match=r"limit must be a leakage in \[1e-100, 1e6\], not"):
        Ledger(np.eye(4), max_leakage=limit)


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("limit", [1e-100, 1e6])
def test_limits_at_the_ends_are_kept(limit: float, bounded: bool) -> None:
    """With all noise that there is: no overflow, and nobody beyond the limit."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(12, 1))
        public = {"bounds": {0: (0, 1)}, "reference": "uniform"} if bounded else {}
        ledger = Ledger(X, max_leakage=limit, max_noise=1e150, share=1.0, **public)
        for number in range(6):
            where = (rng.random(12) < 0.6) | (np.arange(12) == number)
            ledger.ask(where, "mean", [0], rng=number)
            assert ledger.leakage.max() <= limit
