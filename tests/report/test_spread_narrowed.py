"""Correlations and weighted ratios: a record far out, or of large weight, holds them fast."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import leakscore_app
from leakscore import statistics
from tests.helpers.sizes import sizes

N, ROUNDS = 200, 8000
OF = {
    "correlations": statistics.Correlations(),
    "ratio": statistics.WeightedRatio("w"),
    "ratios": statistics.WeightedRatio("w"),
}


def _table(kind: str) -> np.ndarray:
    """Return a table whose first record moves next to nothing by being there."""
    rng = np.random.default_rng(5)
    table = rng.normal(size=(N, 4))
    if kind == "correlations":
        table[0] = [20.0, *table[1:, 1:].mean(axis=0)]
        return table[:, :3]
    weight = rng.exponential(size=N) + 0.2
    weight[0] = 2 * N
    table[0] = weight[1:] @ table[1:] / weight[1:].sum()
    return np.column_stack([weight, table[:, : 4 if kind == "ratios" else 1]])


def _columns(kind: str, table: np.ndarray) -> list[str]:
    names = ["x", "y", "z", "u"]
    return names[: table.shape[1]] if kind == "correlations" else ["w", *names][: table.shape[1]]


def _samples(kind: str, table: np.ndarray) -> list[np.ndarray]:
    """Return what is published of samples with the first record, and of samples without it."""
    rng, seen = np.random.default_rng(6), []
    for inside in (1, 0):
        rows = table[rng.integers(1, N, size=(ROUNDS, N))]
        rows[:, :inside] = table[0]
        if kind == "correlations":
            rows = rows - rows.mean(axis=1, keepdims=True)
            cov = np.einsum("tni,tnj->tij", rows, rows)
            pairs = np.triu_indices(cov.shape[1], 1)
            scale = np.sqrt(np.diagonal(cov, axis1=1, axis2=2))
            cov /= scale[:, :, None] * scale[:, None]
            seen.append(cov[:, pairs[0], pairs[1]])
        else:
            weight = rows[:, :, :1]
            seen.append((weight * rows[:, :, 1:]).sum(axis=1) / weight.sum(axis=1))
    return seen


def _best(seen: list[np.ndarray]) -> tuple[float, float]:
    """Of two normal laws, fitted to one half of the rounds, and a threshold; and its error."""
    halves = [np.split(each, 2) for each in seen]
    laws = [(half.mean(axis=0), np.atleast_2d(np.cov(half.T))) for half, _ in halves]

    def score(each: np.ndarray) -> np.ndarray:
        away = [
            np.einsum("ti,ij,tj->t", each - mean, np.linalg.inv(cov), each - mean)
            for mean, cov in laws
        ]
        return away[1] - away[0]

    first, second = ([score(each[half]) for each in halves] for half in (0, 1))
    at = np.quantile(np.concatenate(first), np.linspace(0, 1, 400))[:, None]
    best = at[np.argmax((first[0] > at).mean(axis=1) - (first[1] > at).mean(axis=1))]
    shares = [float((each > best).mean()) for each in second]
    return shares[0] - shares[1], float(np.sqrt(sum(p * (1 - p) for p in shares) / len(second[0])))


def _report_of(kind: str, table: np.ndarray, **options: Any) -> Any:
    return leakscore_app.analyse(
        leakscore_app.table_of(table, columns=_columns(kind, table)),
        statistic=OF[kind],
        distinct_records=True,
        rounds=4000,
        **options,
    )


@pytest.mark.parametrize("kind", OF)
def test_games_compute_again_what_a_record_holds_fast(kind: str) -> None:
    """By a linear score they had .08, .24 and .18 of .39, .39 and .67."""
    table = _table(kind)
    expected, error = _best(_samples(kind, table))
    report = _report_of(kind, table, max_advantage=0.3)
    (game,) = (game for game in report.games if (game.row, game.attacker) == (1, "informed"))
    assert game.advantage.upper > expected - 3 * error
    assert game.advantage.simulated < expected + 4 * np.hypot(error, game.advantage.std_error)
    assert report.verdict.decision != "publish"


@pytest.mark.parametrize("kind", OF)
def test_noise_hides_it(kind: str) -> None:
    table = _table(kind)
    report = _report_of(kind, table, max_advantage=0.3, max_noise=100.0)
    assert report.verdict.decision == "publish with noise"
    std, rng = np.array(list(report.noise.noise_std.values())), np.random.default_rng(7)
    seen = [each + std * rng.standard_normal(each.shape) for each in _samples(kind, table)]
    advantage, error = _best(seen)
    assert advantage < 0.3 + 3 * error


@pytest.mark.parametrize("kind", OF)
def test_samples_of_the_records_are_computed_again(kind: str) -> None:
    table = _table(kind)
    of = OF[kind].on(_columns(kind, table)).prepare(table)
    weights = np.random.default_rng(8).integers(0, 3, size=(5, N))
    for moves, sample in zip(of.equations(table).refitted(weights), weights, strict=True):
        rows = np.repeat(table, sample, axis=0)
        if kind == "correlations":
            expected = np.corrcoef(rows.T) - np.corrcoef(table.T)
            expected = expected[np.triu_indices(len(expected), 1)]
        else:
            drawn, whole = (np.average(t[:, 1:], axis=0, weights=t[:, 0]) for t in (rows, table))
            expected = drawn - whole
        np.testing.assert_allclose(moves, expected, rtol=1e-9, atol=1e-12)
    nobody = of.equations(table).refitted(np.zeros((1, N)))
    assert np.isnan(nobody).all()


@pytest.mark.parametrize("kind", ["correlations", "ratio"])
def test_long_tables_are_refused_by_leverage(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes(monkeypatch, long=100)
    verdict = _report_of(kind, _table(kind), max_advantage=0.9).verdict
    assert verdict.decision == "do not publish"
    assert "record 1 has leverage" in verdict.why
    assert "hangs on few records" in verdict.why
