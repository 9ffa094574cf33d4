"""Who fills much of a mean, by records or by a known weight, narrows its spread: it is judged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import leakscore_app
from leakscore import statistics
from tests.helpers.parts import thinned

N, DIM, ROUNDS = 300, 6, 20_000
COLUMNS = [f"x{j}" for j in range(DIM)]


def _values(own: int) -> np.ndarray:
    """Return values of which the first few, all of one person, have the mean of the others."""
    values = np.random.default_rng(5).normal(size=(N, DIM))
    values[:own] += values[own:].mean(axis=0) - values[:own].mean(axis=0)
    return values


def _played(seen: list[np.ndarray], cov: np.ndarray) -> tuple[float, float]:
    """Return the advantage by the distance from the mean, at a threshold of the first half."""
    precision = np.linalg.inv(cov)
    near = [-np.einsum("ti,ij,tj->t", each, precision, each) for each in seen]
    first, second = ([each[half::2] for each in near] for half in (0, 1))
    at = np.quantile(np.concatenate(first), np.linspace(0, 1, 400))[:, None]
    best = at[np.argmax((first[0] > at).mean(axis=1) - (first[1] > at).mean(axis=1))]
    shares = [float((each > best).mean()) for each in second]
    return shares[0] - shares[1], float(np.sqrt(0.5 / len(second[0])))


@pytest.mark.parametrize(("leakage", "share"), [(0.0, 0.3), (0.5, 0.3), (2.0, 0.05), (0.2, 0.9)])
def test_the_law_is_total_variation(leakage: float, share: float) -> None:
    """By quadrature over the shift's direction and the length of what is across it."""
    narrow, shift = np.sqrt(1 - share), np.sqrt(leakage)
    along, across = np.linspace(-7, 7, 4001)[:, None], np.linspace(0, 7, 2001)
    without = stats.norm.pdf(along) * stats.chi.pdf(across, DIM - 1)
    with_it = stats.norm.pdf(along, shift, narrow) * stats.chi.pdf(across / narrow, DIM - 1)
    gap = np.abs(without - with_it / narrow) / 2
    expected = integrate.simpson(integrate.simpson(gap, x=across), x=along[:, 0])
    assert thinned(leakage, share, DIM) == pytest.approx(expected, abs=2e-5)


def test_the_law_at_its_ends() -> None:
    assert thinned([1.0, np.inf], [1.0, 0.1], 2).tolist() == [1.0, 1.0]
    assert thinned(0.5, 1e-3, 1) == pytest.approx(2 * stats.norm.cdf(np.sqrt(0.125)) - 1, abs=1e-3)


def _report_of(values: np.ndarray, limit: float, **options: Any) -> Any:
    weights = options.pop("weights", None)
    columns, statistic = COLUMNS, None
    if weights is not None:
        values, columns = np.column_stack([values, weights]), [*COLUMNS, "w"]
        statistic = statistics.KnownWeights("w")
    ids = options.pop("ids", None)
    table = leakscore_app.table_of(values, columns, ids=ids)
    options |= {"distinct_records": True} if ids is None else {}
    return leakscore_app.analyse(
        table, statistic=statistic, rounds=2000, max_advantage=limit, **options
    )


@pytest.mark.parametrize("kind", ["persons", "weights"])
def test_the_verdict_counts_it(kind: str) -> None:
    """A person with a third of the records, a record with a tenth of the weights: at .11 before."""
    own = 100 if kind == "persons" else 1
    values, rng = _values(own), np.random.default_rng(6)
    weights = np.ones(N)
    options: dict[str, Any] = {"ids": np.where(np.arange(N) < own, 0, np.arange(N))}
    if kind == "weights":
        weights[0] = N / 9
        options = {"weights": weights}
    seen = []
    for inside in (True, False):
        rows = rng.integers(own, N, size=(ROUNDS, N))
        if inside:
            rows[:, :own] = np.arange(own)
        rows += N * np.arange(ROUNDS)[:, None]
        shares = np.bincount(rows.ravel(), np.tile(weights / weights.sum(), ROUNDS), ROUNDS * N)
        seen.append(shares.reshape(ROUNDS, N) @ (values - values[own:].mean(axis=0)))
    expected, error = _played(seen, np.cov(seen[1].T))
    assert expected > 0.25
    verdict = _report_of(values, 0.2, **options).verdict
    assert verdict.decision == "do not publish"
    assert "narrows the spread of every number" in verdict.why
    loose = _report_of(values, 0.95, **options).verdict
    assert loose.decision == "publish"
    assert loose.worst.row == 1
    assert loose.worst.value == pytest.approx(expected, abs=0.02 + 4 * error)


def test_little_of_a_mean_is_not_counted() -> None:
    ids = np.arange(N) // 2
    report = _report_of(_values(1), 0.5, ids=ids)
    assert report.observations.narrowing is None
