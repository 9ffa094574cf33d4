"""Models and correlations after those of fewer records: both are attacked together, in numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import leakscore_app
from leakscore import statistics

SIZE, BEFORE, ROUNDS, ROW = 300, 100, 8000, 7
RNG = np.random.default_rng(11)
X = RNG.normal(size=(SIZE, 2))
X[ROW] = [2.0, -1.0]


def _responses(family: str) -> np.ndarray:
    rng, eta = np.random.default_rng(12), X @ [0.5, -0.3]
    y = (
        rng.poisson(np.exp(eta))
        if family == "poisson"
        else rng.random(SIZE) < 1 / (1 + np.exp(-eta))
    )
    y = y.astype(float)
    y[ROW] = 0.0
    return y


def _coefficients(family: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return Newton's fits of every sample, by how often each record is in it."""
    design, y = np.column_stack([np.ones(SIZE), X]), _responses(family)
    squares = np.einsum("ni,nj->nij", design, design).reshape(SIZE, 9)

    def fits(weights: np.ndarray) -> np.ndarray:
        b = np.zeros((len(weights), 3))
        for _ in range(12):
            eta = b @ design.T
            mean = np.exp(eta) if family == "poisson" else 1 / (1 + np.exp(-eta))
            spread = mean if family == "poisson" else mean * (1 - mean)
            gram = ((weights * spread) @ squares).reshape(-1, 3, 3)
            b += np.linalg.solve(gram, ((weights * (y - mean)) @ design)[..., None])[..., 0]
        return b

    return fits


def _correlations(weights: np.ndarray) -> np.ndarray:
    table = np.column_stack([X, _responses("poisson")])
    size = weights.sum(axis=1, keepdims=True)
    mean = weights @ table / size
    products = np.einsum("ni,nj->nij", table, table).reshape(SIZE, 9)
    cov = (weights @ products / size).reshape(-1, 3, 3) - mean[:, :, None] * mean[:, None]
    std = np.sqrt(np.einsum("tii->ti", cov))
    return np.column_stack(
        [cov[:, i, j] / (std[:, i] * std[:, j]) for i, j in [(0, 1), (0, 2), (1, 2)]]
    )


def _seen(inside: bool, numbers: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return what both releases publish, with the record among the first or not."""
    rng, others = np.random.default_rng(13 + inside), np.delete(np.arange(SIZE), ROW)

    def drawn(count: int) -> np.ndarray:
        return np.array(
            [np.bincount(rng.choice(others, count), minlength=SIZE) for _ in range(ROUNDS)]
        )

    first = drawn(BEFORE - inside).astype(float)
    first[:, ROW] += inside
    return np.column_stack([numbers(first), numbers(first + drawn(SIZE - BEFORE))])


def _advantage(with_it: np.ndarray, without: np.ndarray) -> float:
    """Of the best linear score of both releases, learned and its threshold too on other rounds."""
    half = ROUNDS // 2
    pooled = np.cov(with_it[:half].T) + np.cov(without[:half].T)
    weight = np.linalg.solve(pooled, with_it[:half].mean(axis=0) - without[:half].mean(axis=0))
    one, other = with_it @ weight, without @ weight
    at = np.quantile(np.concatenate([one[:half], other[:half]]), np.linspace(0.02, 0.98, 97))
    best = at[np.argmax([(one[:half] > t).mean() - (other[:half] > t).mean() for t in at])]
    return float((one[half:] > best).mean() - (other[half:] > best).mean())


@pytest.mark.parametrize("name", ["binomial", "poisson", "correlations"])
def test_the_advantage_of_both_releases_is_that_of_the_attack(name: str) -> None:
    fitted = name != "correlations"
    family = name if fitted else "poisson"
    numbers = _coefficients(family) if fitted else _correlations
    report = leakscore_app.analyse(
        leakscore_app.table_of(np.column_stack([X, _responses(family)]), ["a", "b", "y"]),
        statistic=statistics.GLM("y", family) if fitted else statistics.Correlations(),
        previous=[BEFORE],
        rounds=400,
        distinct_records=True,
    )
    stated = float(report.informed.advantage[ROW])
    error = 3 * np.sqrt(1 / ROUNDS) + 0.01
    played = _advantage(_seen(True, numbers), _seen(False, numbers))
    assert played == pytest.approx(stated, abs=error)
    assert report.previous is not None
    assert report.previous.alone.advantage[ROW] < played - error  # by the present release alone
