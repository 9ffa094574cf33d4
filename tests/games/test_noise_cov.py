"""Games with noise that has a covariance: its moments, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import games
from tests.scores.test_noise_cov import forms


@pytest.mark.parametrize("kind", ["Bernoulli", "Gaussian", "correlated", "Empirical"])
def test_games_draw_noise_of_the_covariance(kind: str) -> None:
    rng = np.random.default_rng(4)
    root = rng.normal(size=(3, 3))
    factor = rng.normal(size=(3, 2))
    population: Any = {
        "Bernoulli": games.Bernoulli(np.full(3, 0.5)),
        "Gaussian": games.Gaussian(np.zeros(3), np.ones(3)),
        "correlated": games.Gaussian(np.zeros(3), root @ root.T),
        "Empirical": games.Empirical(rng.normal(size=(30, 3))),
    }[kind]
    target, rounds = np.ones(3), 20_000
    for noise in forms(factor):
        mechanism = games.EmpiricalMean(400, **noise)
        outputs, _ = games.fixed_target(population, target, mechanism, rounds, 7)
        bare, _ = games.fixed_target(population, target, games.EmpiricalMean(400), rounds, 7)
        drawn = outputs - bare  # the same key: the same means
        expected = factor @ factor.T
        error = np.sqrt((np.outer(expected.diagonal(), expected.diagonal()) + expected**2) / rounds)
        found = drawn.T @ drawn / rounds
        assert (np.abs(found - expected) < 5 * error).all()
        assert (np.abs(drawn.mean(axis=0)) < 5 * np.sqrt(expected.diagonal() / rounds)).all()
        away = (bare - bare.mean(axis=0)) / bare.std(axis=0)
        assert np.abs(away.T @ drawn / rounds / drawn.std(axis=0)).max() < 5 / np.sqrt(rounds)
    first, _, _ = games.sequential(population, target, 50, 2, 0, 4000, 3, noise_factor=factor)
    plain, _, _ = games.sequential(population, target, 50, 2, 0, 4000, 3)
    steps = (first - plain).reshape(-1, 3)
    error = np.sqrt((np.outer(expected.diagonal(), expected.diagonal()) + expected**2) / 8000)
    assert (np.abs(steps.T @ steps / 8000 - expected) < 5 * error).all()


def test_games_with_diagonal_noise_are_those_of_noise_std() -> None:
    population, target, std = games.Gaussian(np.zeros(3), np.ones(3)), np.ones(3), [0.5, 0.0, 2.0]
    cov = np.diag(np.square(std))
    played = [
        games.fixed_target(population, target, games.EmpiricalMean(40, **noise), 50, 7)[0]
        for noise in ({"noise_std": std}, {"noise_cov": cov})
    ]
    np.testing.assert_array_equal(*played)
    played = [
        games.sequential(population, target, 50, 2, 0, 50, 3, **noise)[0]
        for noise in ({"noise_std": std}, {"noise_cov": cov})
    ]
    np.testing.assert_array_equal(*played)


def test_games_refuse_what_scores_refuse() -> None:
    with pytest.raises(ValueError, match="One kind of noise"):
        games.EmpiricalMean(10, noise_std=1.0, noise_cov=np.eye(2))
    with pytest.raises(ValueError, match="noise_cov must be symmetric"):
        games.EmpiricalMean(10, noise_cov=np.triu(np.ones((2, 2))))
    mechanism = games.EmpiricalMean(10, noise_cov=np.eye(2) + 0.5)
    with pytest.raises(ValueError, match="noise_cov of shape"):
        games.fixed_target(games.Bernoulli(np.full(3, 0.5)), np.ones(3), mechanism, 10, 1)
