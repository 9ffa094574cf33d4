"""Steps hardly wider than what a sum of binary numbers carries: remainders of drawn sums."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore_app import report

ROUNDS = 20_000


def best_guess(with_record: np.ndarray, without: np.ndarray, parts: int) -> float:
    """Return the advantage that the first half of the draws says is best, on the second half."""
    counts = np.zeros((2, 2, parts), int)
    for which, sums in enumerate((with_record, without)):
        for half in range(2):
            counts[which, half] = np.bincount(sums[half::2], minlength=parts)
    chosen = counts[0, 0] > counts[1, 0]
    return float((counts[0, 1] - counts[1, 1])[chosen].sum() / (ROUNDS / 2))


@pytest.mark.parametrize("seed", [2, 10, 23])
def test_numbers_of_all_digits_go_in_no_steps(seed: int) -> None:
    """Most of 30 are even to 14 decimals by chance; a sum shows no values of its own."""
    values = np.random.default_rng(seed).normal(size=(30, 5))
    table = report.table_of(values, [f"x{j}" for j in range(5)])
    result = report.analyse(table, rounds=2000, noise_shape="same", max_advantage=0.9)
    assert "arithmetic" not in result.verdict.why
    rng = np.random.default_rng(1)
    for record in result.arithmetic.records:
        row, column = record.row - 1, values[:, int(record.column[1:])]
        others = np.delete(column, row)
        played = [
            column[row] * size + others[rng.integers(29, size=(ROUNDS, 30 - size))].sum(axis=1)
            for size in (1, 0)
        ]
        parts = [np.rint(sums % record.step / record.step * 16).astype(int) % 16 for sums in played]
        error = 1 / np.sqrt(ROUNDS / 2)
        assert best_guess(parts[0], parts[1], 16) < record.advantage + 4 * error


def test_steps_far_above_the_dust_are_those_of_the_decimals() -> None:
    """Of a record that is .3 off whole numbers a mean tells, though others are near their dust."""
    values = np.random.default_rng(3).integers(10**6, 10**7, size=(30, 1)).astype(float)
    values[4, 0] += 0.3
    table = report.table_of(values, ["x0"])
    result = report.analyse(table, rounds=2000, noise_shape="same", max_advantage=0.9)
    (record,) = result.arithmetic.records
    assert (record.row, record.exact) == (5, 1.0)


def test_noise_is_sought_where_a_game_and_arithmetic_are_above_the_limit() -> None:
    """In theory alone they are within it, and the noise was 0."""
    values = np.random.default_rng(9).integers(0, 4, size=(12, 1)).astype(float)
    options = {"n": 9, "population": "finite", "max_noise": 100.0, "noise_shape": "same"}
    table = report.table_of(values, ["x"])
    result = report.analyse(table, rounds=8000, max_advantage=0.8, **options)
    assert result.verdict.worst.arithmetic > 0
    assert result.verdict.worst.value > 0.8
    assert result.verdict.decision == "publish with noise"
    assert result.noise.noise_std["x"] >= 1 / 9  # a step of the sum


def test_a_number_too_long_for_its_decimals_that_lies_on_the_steps() -> None:
    """2e13 is a multiple of .05: it leaves no remainder."""
    rng = np.random.default_rng(0)
    steps = np.append(rng.integers(0, 100, 199) * 0.05, 2e13)
    table = report.table_of(np.column_stack([steps, rng.normal(size=200)]), ["x", "y"])
    assert report.analyse(table, rounds=200, noise_shape="same").arithmetic.records == ()
