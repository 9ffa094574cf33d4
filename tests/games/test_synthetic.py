"""The game with generators of synthetic tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import Reference, audit, games, leakage, scores, tradeoff
from leakscore.games import Bernoulli, Empirical, Gaussian

TARGET = np.array([2.0, -1.0])


def of_moments(table: Any, rng: np.random.Generator) -> Any:
    return rng.multivariate_normal(table.mean(axis=0), np.cov(table.T), 40)


def test_a_generator_from_the_law_tells_nothing_and_one_that_copies_all() -> None:
    population = Gaussian(np.zeros(2), np.ones(2))

    def near(table: Any) -> float:
        return float(-np.abs(table - TARGET).max(axis=1).min())

    def law(_: Any, rng: np.random.Generator) -> Any:
        return rng.normal(size=(40, 2))

    for score in (near, "distance", "density", "moments"):
        auc = []
        for generator in (law, lambda table, rng: rng.permutation(table)):
            played, member = games.synthetic(
                generator, population, TARGET, 20, rounds=400, score=score, rng=3, balanced=True
            )
            auc.append(audit.Audit.from_rounds(played, member).auc())
        assert abs(auc[0] - 0.5) < 4 * np.sqrt(1 / (12 * 200) * 2)
        assert auc[1] > (0.6 if score == "moments" else 0.99)


def test_named_scores_are_those_beside_records_of_the_population() -> None:
    population = Gaussian(np.zeros(2), np.ones(2))
    named, member = games.synthetic(
        of_moments, population, TARGET, 20, rounds=300, score="moments", rng=3
    )
    reference = np.random.default_rng(1).normal(size=(5000, 2))
    other, same = games.synthetic(
        of_moments,
        population,
        TARGET,
        20,
        rounds=300,
        score=lambda t: scores.synthetic_scores(TARGET[None], t, reference, 20).moments[0],
        rng=3,
    )
    assert np.array_equal(member, same)
    assert np.corrcoef(named, other)[0, 1] > 0.95


def test_a_generator_of_means_leaks_no_more_than_the_means() -> None:
    """Data processing: its power is at most that of who sees the mean, and close to it here."""
    population, n = Gaussian(np.zeros(2), np.ones(2)), 10
    reference = Reference(np.zeros(2), np.ones(2))

    def of_mean(table: Any, rng: np.random.Generator) -> Any:
        return table.mean(axis=0) + rng.normal(size=(2000, 2)) * 1e-3

    played, member = games.synthetic(
        of_mean,
        population,
        TARGET,
        n,
        rounds=4000,
        score=lambda table: scores.gaussian_llr(table.mean(axis=0), TARGET, reference, n),
        rng=5,
    )
    bound = tradeoff.gaussian_mean(leakage.leakage_score(TARGET, reference, n) * n, n, 2).power(0.1)
    summary = games.summarize(played, member, alpha=[0.1])
    assert summary.power[0] < bound + 4 * summary.power_se[0]
    assert summary.power[0] > bound - 4 * summary.power_se[0]


@pytest.mark.parametrize(
    "population",
    [
        Bernoulli([0.3, 0.6]),
        Gaussian([1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]]),
        Empirical(np.arange(40.0).reshape(20, 2), exclude=3),
        Empirical(np.arange(40.0).reshape(20, 2), exclude=3, replace=False),
    ],
)
def test_tables_are_drawn_from_the_population(population: Any) -> None:
    seen = []

    def generator(table: Any, _: np.random.Generator) -> Any:
        seen.append(table.copy())
        return table

    target = [1.0, 0.0]
    arguments = (generator, population, target, 15)
    first = games.synthetic(*arguments, rounds=60, score=lambda table: table.sum(), rng=9)
    rows = np.concatenate(seen)
    again = games.synthetic(*arguments, rounds=60, score=lambda table: table.sum(), rng=9)
    assert np.array_equal(first[0], again[0])
    assert first.seed == 9
    members = [bool((table == target).all(axis=1).any()) for table in seen[:60]]
    if not isinstance(population, Bernoulli):
        assert members == first[1].tolist()
    if isinstance(population, Empirical):
        assert not (rows == population.X[3]).all(axis=1).any()  # type: ignore[call-overload, index]
        if not population.replace:
            assert all(len(np.unique(table, axis=0)) == 15 for table in seen)
    else:
        law = population.p if isinstance(population, Bernoulli) else population.mean
        outside = np.concatenate(
            [t for t, inside in zip(seen[:60], first[1], strict=True) if not inside]
        )
        error = outside.std(axis=0) / np.sqrt(len(outside))
        assert (np.abs(outside.mean(axis=0) - law) < 4 * error).all()


def test_bad_calls_are_refused() -> None:
    population = Gaussian(np.zeros(2), np.ones(2))
    rows = Empirical(np.eye(2), replace=False)
    good: dict[str, Any] = {"generator": of_moments, "population": population, "target": TARGET}
    good |= {"n": 20, "rounds": 2, "score": lambda table: table.sum(), "rng": 0}
    for changed, error, words in (
        ({"generator": 1}, TypeError, "generator=1"),
        ({"score": None}, TypeError, "score=None"),
        ({"score": "nearness"}, ValueError, "score='nearness'"),
        ({"population": TARGET}, TypeError, "population"),
        ({"target": [1.0]}, ValueError, "target"),
        ({"n": 1}, ValueError, "n=1"),
        ({"population": rows}, ValueError, "n=20"),
        ({"generator": lambda table, _: table[:, :1]}, ValueError, r"generator\(table, rng\)"),
        ({"generator": lambda table, _: table * np.nan}, ValueError, r"generator\(table, rng\)"),
        ({"score": lambda _: np.nan}, ValueError, r"score\(table\)"),
        ({"rounds": 3, "balanced": True}, ValueError, "rounds=3"),
    ):
        with pytest.raises(error, match=words):
            games.synthetic(**(good | changed))
