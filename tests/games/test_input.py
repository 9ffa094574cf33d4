"""What the games refuse, and with which words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from leakscore.games import (
    Bernoulli,
    Empirical,
    EmpiricalMean,
    Gaussian,
    average_target,
    fixed_target,
    sequential,
)

NAN, INF = float("nan"), float("inf")
X = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Bernoulli([0.5, 1.1]), ValueError, "p[1]"),
        (lambda: Bernoulli([-0.1]), ValueError, "p[0]"),
        (lambda: Bernoulli([NAN]), ValueError, "p "),
        (lambda: Bernoulli([]), ValueError, "p "),
        (lambda: Bernoulli([[0.5]]), ValueError, "p "),
        (lambda: Bernoulli(0.5), ValueError, "p "),
        (lambda: Bernoulli(["a"]), TypeError, "p "),
        (lambda: Bernoulli([0.5 + 0j]), TypeError, "p "),
        (lambda: Gaussian([0.0], [-1.0]), ValueError, "cov"),
        (lambda: Gaussian([0.0], [1.0, 1.0]), ValueError, "cov"),
        (lambda: Gaussian([0.0, 0.0], [[1.0, 0.5], [0.4, 1.0]]), ValueError, "symmetric"),
        (lambda: Gaussian([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]), ValueError, "semidefinite"),
        (lambda: Gaussian([0.0, NAN], [1.0, 1.0]), ValueError, "mean"),
        (lambda: Gaussian([0.0, 1.0], [1.0, INF]), ValueError, "cov"),
        (lambda: Gaussian([], []), ValueError, "mean"),
        (lambda: Empirical([1.0, 2.0]), ValueError, "X "),
        (lambda: Empirical(np.empty((0, 3))), ValueError, "X "),
        (lambda: Empirical(np.empty((3, 0))), ValueError, "X "),
        (lambda: Empirical([[1.0]], exclude=0), ValueError, "X "),
        (lambda: Empirical(X, exclude=4), ValueError, "exclude=4"),
        (lambda: Empirical(X, exclude=-1), ValueError, "exclude=-1"),
        (lambda: Empirical(X, exclude=1.0), TypeError, "exclude"),
        (lambda: Empirical(X, exclude=True), TypeError, "exclude"),
        (lambda: Empirical(X, replace=1), TypeError, "replace"),
        (lambda: Empirical(X.astype(object)), TypeError, "X "),
        (lambda: Empirical(X.astype(complex)), TypeError, "X "),
        (lambda: Empirical(X.astype(str)), TypeError, "X "),
        (lambda: EmpiricalMean(1), ValueError, "n=1"),
        (lambda: EmpiricalMean(10.0), TypeError, "n=10.0"),
        (lambda: EmpiricalMean(True), TypeError, "n=True"),
        (lambda: EmpiricalMean(2**53 + 1), ValueError, "n="),
        (lambda: EmpiricalMean(5, noise_std=-1.0), ValueError, "noise_std"),
        (lambda: EmpiricalMean(5, noise_std=NAN), ValueError, "noise_std"),
        (lambda: EmpiricalMean(5, noise_std=[[1.0, 2.0]]), ValueError, "noise_std"),
        (lambda: EmpiricalMean(5, noise_std="1"), TypeError, "noise_std"),
        (lambda: EmpiricalMean(5, sample_rate=0.0), ValueError, "sample_rate"),
        (lambda: EmpiricalMean(5, sample_rate=1.5), ValueError, "sample_rate"),
        (lambda: EmpiricalMean(5, sample_rate=NAN), ValueError, "sample_rate"),
        (lambda: EmpiricalMean(5, sample_rate="all"), TypeError, "sample_rate"),
        (lambda: EmpiricalMean(1000, sample_rate=0.1004), ValueError, "0.1 and 0.101"),
        (lambda: EmpiricalMean(1000, sample_rate=1e-5), ValueError, "0.001 and 0.002"),
        (lambda: EmpiricalMean(10**13, sample_rate=0.1234567890123456), ValueError, "whole number"),
        (lambda: EmpiricalMean(3, sample_rate=0.333), ValueError, "0.6666666666666666"),
        (lambda: EmpiricalMean(5, neighbours="both"), ValueError, "neighbours"),
        (lambda: EmpiricalMean(4, sample_rate=0.5, neighbours="add-remove"), ValueError, "rate"),
    ],
)
def test_populations_and_mechanism(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        make()


def play(**changes: Any) -> Any:
    arguments: dict[str, Any] = {
        "population": Bernoulli([0.5, 0.5]),
        "target": [1.0, 0.0],
        "mechanism": EmpiricalMean(5),
        "rounds": 10,
        "rng": 1,
    }
    return fixed_target(**arguments | changes)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"population": [0.5, 0.5]}, TypeError, "population"),
        ({"mechanism": 5}, TypeError, "mechanism"),
        ({"mechanism": EmpiricalMean(5, noise_std=[1.0] * 3)}, ValueError, "noise_std"),
        ({"target": [1.0]}, ValueError, "target"),
        ({"target": [[1.0, 0.0]]}, ValueError, "target"),
        ({"target": [1.0, 0.5]}, ValueError, "target"),
        ({"target": [1.0, NAN]}, ValueError, "target"),
        ({"target": ["1", "0"]}, TypeError, "target"),
        ({"rounds": 0}, ValueError, "rounds=0"),
        ({"rounds": -3}, ValueError, "rounds=-3"),
        ({"rounds": 10.0}, TypeError, "rounds"),
        ({"rounds": 11, "balanced": True}, ValueError, "rounds=11"),
        ({"balanced": 1}, TypeError, "balanced"),
        ({"rng": 1.5}, TypeError, "rng"),
        ({"rng": 1.0}, TypeError, "rng"),
        ({"rng": -1}, ValueError, "rng=-1"),
        ({"rng": np.random.RandomState(1)}, TypeError, "rng"),
        ({"score": 3}, TypeError, "score"),
        ({"score": lambda rows: rows}, ValueError, "score(outputs)"),
        ({"score": lambda rows: rows[:-1, 0]}, ValueError, "score(outputs)"),
        ({"score": lambda rows: 1.0}, ValueError, "score(outputs)"),
        ({"score": lambda rows: rows[:, 0] * NAN}, ValueError, "NaN"),
        ({"score": lambda rows: rows[:, 0] + 1j}, TypeError, "score(outputs)"),
        ({"population": Gaussian([0.0] * 3, [1.0] * 3)}, ValueError, "target"),
    ],
)
def test_the_game(changes: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        play(**changes)


@pytest.mark.parametrize(("exclude", "most"), [(None, 4), (2, 3)])
def test_more_records_than_rows(exclude: int | None, most: int) -> None:
    """Without replacement only; a sub-sample is taken from n records, which must exist too."""
    finite = Empirical(X, exclude=exclude, replace=False)
    play(population=finite, target=X[2], mechanism=EmpiricalMean(most))
    for mechanism in (EmpiricalMean(most + 1), EmpiricalMean(2 * most + 2, sample_rate=0.5)):
        with pytest.raises(ValueError, match=rf"n={mechanism.n} must be in \[2, {most}\]"):
            play(population=finite, target=X[2], mechanism=mechanism)
    play(population=Empirical(X, exclude=exclude), target=X[2], mechanism=EmpiricalMean(most + 1))


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
@pytest.mark.parametrize("rows", [4, 200])
def test_a_table_that_is_not_finite(bad: float, rows: int) -> None:
    table = np.ones((rows, 3))
    table[:, 1] = bad
    with pytest.raises(ValueError, match="X must be finite"):
        play(population=Empirical(table), target=[1.0, 0.0, 0.0])


def test_infinite_scores_are_legal() -> None:
    scores, member = play(score=lambda rows: np.where(rows[:, 0] > 0.5, INF, -INF))
    assert np.all(np.isinf(scores))
    assert scores.shape == member.shape == (10,)


def test_what_is_given_is_neither_changed_nor_followed() -> None:
    p, target = np.array([0.25, 0.5]), np.array([1.0, 0.0])
    population = Bernoulli(p)
    expected = play(population=population, target=target)
    p[:] = 0.0
    again = play(population=population, target=target)
    np.testing.assert_array_equal(again[0], expected[0])
    assert target.tolist() == [1.0, 0.0]
    with pytest.raises(AttributeError):
        population.p = [0.1]  # type: ignore[misc]


def test_one_of_everything() -> None:
    outputs, member = play(population=Bernoulli([0.5]), target=[1], rounds=1)
    assert outputs.shape == (1, 1)
    assert member.dtype == bool
    outputs, _ = play(population=Empirical([[3.0]]), target=[5.0], mechanism=EmpiricalMean(2))
    assert set(outputs[:, 0].tolist()) <= {3.0, 4.0}
    mechanism = EmpiricalMean(2, sample_rate=0.5)  # one record of two: all or nothing of the target
    outputs, member = play(population=Empirical([[3.0]]), target=[5.0], mechanism=mechanism)
    assert set(outputs[:, 0].tolist()) <= {3.0, 5.0}


@pytest.mark.parametrize("rate", [k / 49 for k in range(1, 50)])
def test_rates_of_whole_numbers_are_accepted(rate: float) -> None:
    assert EmpiricalMean(49, sample_rate=rate).num_averaged == round(49 * rate)


@pytest.mark.parametrize("n", [3, 1000, 10**9, 10**13, 2**53])
def test_every_share_of_the_records_is_a_rate(n: int) -> None:
    rng = np.random.default_rng(n % 1000)
    for k in rng.integers(1, n, size=200, endpoint=True).tolist():
        assert EmpiricalMean(n, sample_rate=k / n).num_averaged == k
    if n <= 10**9:
        assert EmpiricalMean(10 * n, sample_rate=1 - 0.9).num_averaged == n


def test_a_table_is_written_by_its_shape() -> None:
    text = repr(Empirical(np.zeros((50, 3)), exclude=2, replace=False))
    assert text == "Empirical(X=<array (50, 3)>, exclude=2, replace=False)"


def test_a_random_state_is_refused_with_what_to_give_in_its_place() -> None:
    state, table = np.random.RandomState(1), Empirical(np.eye(3))
    with pytest.raises(TypeError, match=re.escape("rng=RandomState") + ".*randint"):
        fixed_target(table, np.zeros(3), EmpiricalMean(2), 9, rng=state)  # type: ignore[arg-type]
    fixed_target(table, np.zeros(3), EmpiricalMean(2), 9, rng=int(state.randint(2**31)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("replace", [True, False])
def test_tables_whose_sums_overflow_are_refused(replace: bool) -> None:
    """Their means would be infinite or NaN."""
    X = np.full((60, 2), 1e308)
    X[::2, 1] *= -1.0
    table = Empirical(X, replace=replace)
    message = "X and target must be so small that no sum of records overflows"
    with pytest.raises(ValueError, match=message):
        play(population=table, target=[0.0, 0.0], mechanism=EmpiricalMean(20))
    with pytest.raises(ValueError, match=message):
        average_target(table, EmpiricalMean(20), 10, 1)
    with pytest.raises(ValueError, match=message):
        sequential(table, [0.0, 0.0], 10, 2, 1, 10, 1)
