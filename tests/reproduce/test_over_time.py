"""The normal law of a sequence: against numpy's solver record by record, and `shadow.lira`."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from leakscore import shadow
from reproduce._over_time import over_time
from tests.shadow.test_innovations import sequences
from tests.shadow.test_left_out import auc


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
    found = over_time(observed, signals, included, start=start, variance="pooled")
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_a_single_step_is_lira_with_wider_laws() -> None:
    signals, included = sequences(12, 40, 1, 1, 0)
    found = over_time(signals[0], signals[1:], included[1:])
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
    every = over_time(observed, signals[1:], rest, start=3)
    last = over_time(observed[:, -1:], signals[1:, :, -1:], rest)
    assert auc(every[np.newaxis], member[np.newaxis]) > 0.78
    assert auc(last[np.newaxis], member[np.newaxis]) < 0.71
    several = over_time(signals[:2], signals[2:], included[2:], start=3)
    assert several.shape == (2, 4000)
