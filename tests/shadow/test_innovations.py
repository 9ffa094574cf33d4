"""Innovations of sequences of models: by least squares, and beside the law of the sequence."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

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
        shadow.innovations(signals[0, :, 0], signals[:, :, 0], included, start=1)
    with pytest.raises(ValueError, match="a model IN at least"):
        shadow.innovations(signals[0], signals, np.zeros_like(included), start=1)
