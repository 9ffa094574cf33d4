"""Bounds on the scores of rows that are not looked at: never below, and met where they can be."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore_app.report.engine import crowd as changes
from tests.helpers.parts import Crowd, TableLaw


def law_of(values: np.ndarray, rows: int, units: float = 1.0) -> TableLaw:
    """Return the law of rows of which `values` are all, or a sample."""
    every = np.arange(values.shape[1])
    scale = units * np.arange(1.0, len(every) + 1)
    cov = np.atleast_2d(np.cov((values / scale).T, bias=True))
    return TableLaw(every, every, rows, scale, (values / scale).mean(axis=0), cov)


@pytest.mark.parametrize("dim", [1, 3, 8])
@pytest.mark.parametrize("sampled", [40, 400])
def test_a_guess_never_hides_a_row(dim: int, sampled: int) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        values = rng.standard_t(4, size=(800, dim)) @ rng.normal(size=(dim, dim)) + 3
        law, guess = law_of(values, 800), law_of(values[:sampled], 800, units=7.0)
        scores, guessed = law.distances(values), guess.distances(values)
        for share in (0.2, 0.9, 0.99):
            least = float(np.quantile(guessed, share))
            below = scores[guessed <= least]
            assert below.max() <= changes.bound_by_guess(law, guess, least)


@pytest.mark.parametrize("moved", [0.0, 0.3])
@pytest.mark.parametrize("wider", [0.5, 1.0, 1.5])
def test_the_bound_by_a_guess_is_met_in_one_column(moved: float, wider: float) -> None:
    """A guess of another mean and variance, and a row on the far side of both means."""
    values = np.random.default_rng(2).normal(size=(500, 1))
    law = law_of(values, 500)
    guess = TableLaw(law.kept, law.read, 500, law.scale, law.mean + moved, law.cov * wider)
    row = law.mean[np.newaxis] + 2.5
    row_of_guess = float(guess.distances(row)[0])
    found, score = changes.bound_by_guess(law, guess, row_of_guess), float(law.distances(row)[0])
    assert score <= found <= score * (1 + 1e-5)


def test_nothing_is_known_of_a_row_as_far_as_all_others_together() -> None:
    law = law_of(np.random.default_rng(3).normal(size=(50, 2)), 50)
    guess = TableLaw(law.kept, law.read, 50, law.scale, law.mean + 0.5, law.cov)
    assert changes.bound_by_guess(law, guess, 1e6) == np.inf
    assert changes.bound_by_guess(law, law, 7.0) == pytest.approx(7.0, rel=1e-5)


@pytest.mark.parametrize("size", [12, 2000])
def test_the_growth_is_met_in_one_column(size: int) -> None:
    """The worst of the others lies on the side of the row that is left out: the mean moves away."""
    values = np.zeros((size, 1))
    values[:, 0] = np.random.default_rng(5).normal(size=size)
    values[:2] = np.abs(values).max() * np.array([[1.2], [1.1]])
    law = law_of(values, size)
    crowd = Crowd(law, values, np.arange(size), 10, finite=False)
    worst, least = np.array([0]), float(law.distances(values[1:2])[0])
    leverage = changes.joint_leverage(crowd, worst)
    bound = changes.growth_bound(leverage, size, 1, least) * least
    after = float(law.without(values[worst]).distances(values[1:2])[0])
    assert after <= bound <= after * (1 + 1e-5)
