"""Each scheme of batches, played and audited: below its curve's guarantee, and near its attack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from leakscore import audit, games, sequential, tradeoff
from leakscore.games import Batches, Empirical, Training
from leakscore.tradeoff import TradeOff

FAR = 2.0**20
UP, DOWN, NONE = [1.0, -FAR], [1.0, FAR], [0.0, 0.0]  # gradients 1, -1 and 0 at a clip of 1
DELTA, ROUNDS = 0.05, 20_000
BANDED = tradeoff.strategy_matrix("banded", 8, bands=3)
ONE_PATTERN = tradeoff.participation_patterns(8, num_epochs=2)[:1]
KEPT = float(0.25 * np.minimum(1.0, 2 / (np.arange(9) + 1)) @ binom.pmf(np.arange(9), 8, 0.25))


def ratios(x: np.ndarray, shift: float, noise: float) -> np.ndarray:
    """Of steps whose mean is 0 or `shift`."""
    return np.asarray((shift * x - 0.5 * shift**2) / noise**2)


@dataclass(frozen=True)
class Played:
    """A scheme, the data of its attack, the best test there, and the curve."""

    batches: Batches
    steps: int
    noise: float
    score: Callable[[np.ndarray, float], Any]
    curve: TradeOff
    others: list[list[float]] = field(default_factory=lambda: [NONE])
    other: list[float] | None = None
    size: int = 0
    """Of a batch whose other contributions are -1."""
    matrix: Any = None

    def scores(self, theta: np.ndarray) -> Any:
        x = 2.0 * (theta[:, :-1, 0] - theta[:, 1:, 0]) + self.size
        return self.score(x, self.noise)


def _allocated(x: np.ndarray, noise: float, **options: Any) -> Any:
    return sequential.allocation_llr(ratios(x, 1.0, noise), **options)


SCHEMES = {
    "poisson": Played(
        Batches("poisson", sample_rate=0.25),
        8,
        1.0,
        lambda x, noise: sequential.poisson_llr(ratios(x, 1.0, noise), 0.25),
        tradeoff.subsampled_gaussian(1.0, 0.25, 8),
    ),
    "allocated": Played(
        Batches("allocated", num_epochs=2),
        8,
        0.7,
        lambda x, noise: _allocated(x, noise, num_epochs=2),
        tradeoff.random_allocation(0.7, 4, num_epochs=2),
    ),
    "two of six": Played(
        Batches("allocated", selected=2),
        6,
        0.7,
        lambda x, noise: _allocated(x, noise, selected=2),
        tradeoff.random_allocation(0.7, 6, selected=2),
    ),
    "balls in bins": Played(
        Batches("allocated", num_epochs=2, reallocate=False),
        8,
        0.8,
        lambda x, noise: _allocated(x, noise, num_epochs=2, reallocate=False),
        tradeoff.random_allocation(0.8, 4, num_epochs=2, reallocate=False),
    ),
    "fixed": Played(
        Batches("fixed", batch_size=2),
        5,
        2.0,
        lambda x, noise: sequential.poisson_llr(ratios(x, 2.0, noise), 0.25),
        tradeoff.fixed_batch_gaussian(2.0, 2, 8, 5),
        others=[DOWN] * 7,
        other=DOWN,
        size=2,
    ),
    "truncated": Played(
        Batches("truncated", sample_rate=0.25, max_batch_size=2),
        8,
        0.8,
        lambda x, noise: sequential.poisson_llr(ratios(x, 1.0, noise), KEPT),
        tradeoff.truncated_poisson_gaussian(0.8, 0.25, 2, 9, 8),
        others=[NONE] * 8,
    ),
    "shuffled, replace": Played(
        Batches("shuffled", num_epochs=2),
        8,
        1.5,
        lambda x, noise: sequential.allocation_llr(ratios(x, 2.0, noise), num_epochs=2),
        tradeoff.shuffled_gaussian(1.5, 4, num_epochs=2),
        others=[DOWN] * 7,
        other=DOWN,
        size=2,
    ),
    "shuffled, zero-out": Played(
        Batches("shuffled"),
        4,
        0.6,
        lambda x, noise: (
            sequential.allocation_llr(ratios(x, 2.0, noise))
            - sequential.allocation_llr(ratios(x, 1.0, noise))
        ),
        tradeoff.shuffled_gaussian(0.6, 4, neighbours="zero-out"),
        others=[DOWN] * 7,
        size=2,
    ),
    "correlated": Played(
        Batches("patterns", participation=ONE_PATTERN),
        8,
        1.0,
        lambda x, noise: sequential.correlated_llr(
            x[..., np.newaxis], [1.0], BANDED, ONE_PATTERN, noise
        )[:, 0],
        tradeoff.correlated_gaussian(BANDED, ONE_PATTERN, 1.0),
        matrix=BANDED,
    ),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_an_audit_ends_near_its_curve(name: str) -> None:
    played = SCHEMES[name]
    training = Training(
        "linear",
        2,
        played.steps,
        1.0,
        clip=1.0,
        noise_multiplier=played.noise,
        strategy_matrix=played.matrix,
    )
    scores, member, _ = games.dpsgd(
        Empirical(played.others, replace=False),
        UP,
        training,
        played.batches,
        ROUNDS,
        11,
        score=played.scores,
        other=played.other,
    )
    found = audit.Audit.from_rounds(scores, member)
    attack, guarantee = played.curve.interval("epsilon", DELTA)
    certified = float(found.epsilon(DELTA))
    assert 0.6 * attack < certified < guarantee, (attack, guarantee)
    # The best test's power, between what the attack attains and what the guarantee allows.
    threshold = np.quantile(scores[~member], 0.9)
    power = float((scores[member] > threshold).mean())
    # alpha at this threshold lies within four standard errors of 0.1, as does the power.
    around = 0.1 + 4.0 * np.array([-1.0, 1.0]) * (0.1 * 0.9 / (~member).sum()) ** 0.5
    error = 4.0 * (0.25 / member.sum()) ** 0.5
    low, high = played.curve.interval("power", around)
    assert low[0] - error < power < high[1] + error


@pytest.mark.parametrize("name", SCHEMES)
def test_the_score_is_the_ratio_of_the_data_played(name: str) -> None:
    """Its mean exponential is 1 under H0, and exp(-score) under H1."""
    played = SCHEMES[name]
    training = Training(
        "linear",
        2,
        played.steps,
        1.0,
        clip=1.0,
        noise_multiplier=4.0 * played.noise,
        strategy_matrix=played.matrix,
    )
    rows = Empirical(played.others, replace=False)

    def score(theta: np.ndarray) -> Any:
        x = 2.0 * (theta[:, :-1, 0] - theta[:, 1:, 0]) + played.size
        return played.score(x, 4.0 * played.noise)

    llr, member, _ = games.dpsgd(
        rows, UP, training, played.batches, 6000, 5, score=score, other=played.other
    )
    for values in (np.exp(llr[~member]), np.exp(-llr[member])):
        assert abs(values.mean() - 1.0) < 4.0 * values.std() / values.size**0.5
    assert llr.std() > 0.05
