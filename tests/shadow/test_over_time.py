"""Sequences of models: against numpy's solver record by record, and against the last one alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from leakscore import shadow
from tests.shadow.test_left_out import auc

Array = npt.NDArray[Any]


def sequences(models: int, records: int, steps: int, seed: int, start: int) -> tuple[Array, Array]:
    """Return signals that wander from step to step, and what members gain from `start` on."""
    rng = np.random.default_rng(seed)
    included = rng.permuted(np.tile([[True], [False]], (models // 2, records)), axis=0)
    noise = np.cumsum(rng.normal(size=(models, records, steps)), axis=-1)
    noise *= np.exp(0.3 * rng.normal(size=(records, 1)))
    gain = 1.5 * (np.arange(steps) >= start)
    return noise + rng.normal(size=(records, 1)) + gain * included[..., np.newaxis], included


@pytest.mark.parametrize("start", [0, 2])
def test_pooled_densities(start: int) -> None:
    signals, included = sequences(12, 40, 4, 0, start)
    observed, signals, included = signals[0], signals[1:], included[1:]
    expected = np.zeros(40)
    for inside, sign in ((True, 1), (False, -1)):
        groups = [signals[included[:, n] == inside, n] for n in range(40)]
        residuals = np.concatenate([g - g.mean(0) for g in groups])
        pooled = residuals.T @ residuals / sum(len(g) - 1 for g in groups)
        for n, group in enumerate(groups):
            mean = group.mean(axis=0)
            mean[:start] = signals[:, n, :start].mean(axis=0)
            law = stats.multivariate_normal(mean, pooled * (1 + 1 / len(group)))
            expected[n] += sign * law.logpdf(observed[n])
    found = shadow.over_time(observed, signals, included, start=start, variance="pooled")
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_a_single_step_is_lira_with_wider_laws() -> None:
    signals, included = sequences(12, 40, 1, 1, 0)
    found = shadow.over_time(signals[0], signals[1:], included[1:])
    # Scaled by its own spread, the pooled correlation of one step with itself is 1.
    counts = [side.sum(0) for side in (included[1:], ~included[1:])]
    t, x = signals[1:, :, 0], signals[0, :, 0]
    offline = shadow.lira(x, t, included[1:], kind="offline", variance="shrunk")
    z_out = -stats.norm.ppf(np.exp(-offline))
    flipped = shadow.lira(x, t, ~included[1:], kind="offline", variance="shrunk")
    z_in = -stats.norm.ppf(np.exp(-flipped))
    plain = shadow.lira(x, t, included[1:], variance="shrunk")
    log_scale = plain - 0.5 * (z_out**2 - z_in**2)  # of sd OUT over sd IN
    wide = [1 + 1 / count for count in counts]
    expected = 0.5 * (z_out**2 / wide[1] - z_in**2 / wide[0] + np.log(wide[1] / wide[0]))
    np.testing.assert_allclose(found, expected + log_scale, rtol=1e-8, atol=1e-8)


def test_earlier_models_help_the_last() -> None:
    """Members enter between two models: their difference tells more than the last one alone."""
    signals, included = sequences(22, 4000, 4, 2, 3)
    observed, member, rest = signals[0], included[0], included[1:]
    every = shadow.over_time(observed, signals[1:], rest, start=3)
    last = shadow.over_time(observed[:, -1:], signals[1:, :, -1:], rest)
    assert auc(every[np.newaxis], member[np.newaxis]) > 0.78
    assert auc(last[np.newaxis], member[np.newaxis]) < 0.71
    several = shadow.over_time(signals[:2], signals[2:], included[2:], start=3)
    assert several.shape == (2, 4000)


@pytest.mark.parametrize("start", [1, 3])
def test_innovations_by_least_squares(start: int) -> None:
    """One regression on all records, within each record's sides; copies of a step do no harm."""
    signals, included = sequences(10, 40, 4, 4, start)
    included[:2] = [[True], [False]]
    observed, signals, inside = signals[0], signals[1:], included[1:]
    inside[:2] = [[True], [False]]
    away = np.empty(signals.shape)
    for n in range(40):
        for side in (inside[:, n], ~inside[:, n]):
            away[side, n] = signals[side, n] - signals[side, n].mean(axis=0)
    design = away[..., :start].reshape(-1, start)
    slopes = np.linalg.lstsq(design, away[..., -1].reshape(-1), rcond=None)[0]
    x, t = shadow.innovations(observed, signals, inside, start=start)
    np.testing.assert_allclose(x, observed[:, -1] - observed[:, :start] @ slopes, rtol=1e-9)
    expected = signals[..., -1] - signals[..., :start] @ slopes
    np.testing.assert_allclose(t, expected, rtol=1e-9, atol=1e-9)
    twice = np.concatenate([signals[..., :1], signals], axis=-1)
    more = np.concatenate([observed[:, :1], observed], axis=-1)
    again, _ = shadow.innovations(more, twice, inside, start=start + 1)
    np.testing.assert_allclose(again, x, rtol=1e-7, atol=1e-7)


def test_innovations_tell_what_the_law_of_the_sequence_tells() -> None:
    """By simulation of sequences whose law is known: as good as their exact ratio, nearly."""
    signals, included = sequences(42, 3000, 3, 5, 2)
    observed, member = signals[:2], included[:2]
    x, t = shadow.innovations(observed, signals[2:], included[2:], start=2)
    exact = 1.5 * (observed[..., -1] - observed[..., -2])  # up to each record's scale
    found = shadow.bayes(x, t, included[2:])
    assert auc(found, member) > auc(exact, member) - 0.02
    last = shadow.bayes(observed[..., -1], signals[2:, :, -1], included[2:])
    assert auc(found, member) > auc(last, member) + 0.05


def test_refusals() -> None:
    signals, included = sequences(6, 10, 3, 3, 0)
    with pytest.raises(ValueError, match=r"\(K, N, L\)"):
        shadow.over_time(signals[0, :, 0], signals[:, :, 0], included)
    twice = np.concatenate([signals, signals[..., :1]], axis=-1)
    with pytest.raises(ValueError, match="singular; drop a step"):
        shadow.over_time(twice[0], twice, included, variance="pooled")
    with pytest.raises(ValueError, match="a model IN at least"):
        shadow.over_time(signals[0], signals, np.zeros_like(included))
