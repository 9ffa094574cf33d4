"""Games of coefficients count what both tails tell: a record far out narrows the spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

import leakscore_app
from leakscore import statistics

N, ROUNDS = 120, 10_000
MODELS = {
    "regression": statistics.Regression("y"),
    "poisson": statistics.GLM("y", "poisson"),
    "binomial": statistics.GLM("y", "binomial"),
    "gamma": statistics.GLM("y", "gamma"),
    "cox": statistics.Cox("t", "died"),
}


def _table(kind: str) -> np.ndarray:
    """Return predictors and the response; the first record is far out, and where its fit is.

    Of a logistic model no outcome is; there five records hold a flag, and samples take few values.
    """
    rng = np.random.default_rng(5)
    x, u = rng.standard_normal(N), rng.random(N)
    x[0] = 8.0
    if kind == "binomial":
        z = rng.standard_normal(N)
        y = (u < special.expit(z)).astype(float)
        y[:5] = [1, 0, 1, 0, 1]
        return np.column_stack([np.arange(N) < 5, z, y]).astype(float)
    y = {
        "regression": rng.standard_normal(N),
        "poisson": rng.poisson(3.0, N).astype(float),
        "gamma": rng.gamma(20.0, 1 / 20, N) / (2 - 0.05 * x),
        "cox": -np.log(u),
    }[kind]
    if kind == "cox":
        y[0] = np.quantile(y, 0.8)
    else:
        line = float(_fits(kind, x[1:, None], y[1:], np.ones((1, N - 1)))[0] @ [1.0, x[0]])
        y[0] = {"regression": line, "poisson": round(np.exp(line))}.get(kind, 1 / line)
    return np.column_stack([x, y])


def _fits(kind: str, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return coefficients of samples by Newton's method, NaN where there is no fit."""
    design = np.column_stack([np.ones(len(x)), x])
    square = (-1, design.shape[1], design.shape[1])
    products = np.einsum("ni,nj->nij", design, design).reshape(len(x), -1)
    exists = np.linalg.cond((weights @ products).reshape(square)) < 1e12
    result, weights = np.full((len(weights), square[1]), np.nan), weights[exists]
    points = np.zeros((len(weights), square[1]))
    points[:, 0] = 1 / y.mean() if kind == "gamma" else 0.0
    for _ in range(1 if kind == "regression" else 12):
        line = np.clip(points @ design.T, 0.05 if kind == "gamma" else -20, 20)
        score, curvature = {
            "regression": lambda at: (y - at, np.ones(at.shape)),
            "poisson": lambda at: (y - np.exp(at), np.exp(at)),
            "binomial": lambda at: (y - special.expit(at), special.expit(at) * special.expit(-at)),
            "gamma": lambda at: (1 / at - y, at**-2.0),
        }[kind](line)
        gram = ((weights * curvature) @ products).reshape(square) + 1e-9 * np.eye(square[1])
        step = np.linalg.solve(gram, ((weights * score) @ design)[:, :, None])[:, :, 0]
        far = np.abs(step @ design.T / (line if kind == "gamma" else 3.0)).max(axis=1)
        points += step if kind == "regression" else step / np.maximum(1.0, far)[:, None]
    result[exists] = points
    return result


def _log_hazards(x: np.ndarray, times: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return log hazard ratios of samples, in which all die, by bisection."""
    order = np.argsort(-times)
    x, weights = x[order], weights[:, order]
    low, high = np.full(len(weights), -3.0), np.full(len(weights), 3.0)
    for _ in range(18):
        middle = (low + high) / 2
        risk = weights * np.exp(middle[:, None] * x)
        mean = np.cumsum(risk * x, axis=1) / np.maximum(np.cumsum(risk, axis=1), 1e-300)
        rising = (weights * (x - mean)).sum(axis=1) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return low


def _samples(kind: str, table: np.ndarray) -> list[np.ndarray]:
    """Return coefficients of samples with the first record, and of samples without it."""
    rng, seen = np.random.default_rng(6), []
    for inside in (1, 0):
        drawn = rng.integers(1, N, size=(ROUNDS, N - inside)) + N * np.arange(ROUNDS)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=ROUNDS * N).reshape(ROUNDS, N).astype(float)
        weights[:, 0] = inside
        x, y = table[:, :-1], table[:, -1]
        if kind == "cox":
            seen.append(_log_hazards(x[:, 0], y, weights)[:, None])
        else:
            seen.append(_fits(kind, x, y, weights))
    return seen


def _total_variation(seen: list[np.ndarray], bins: int = 40) -> float:
    """Of bins that are likelier with the record in one half of the rounds, counted in the other."""
    edges = np.unique(np.nanquantile(np.concatenate(seen), np.linspace(0, 1, bins + 1)[1:-1]))
    places = [
        np.where(np.isnan(each), len(edges) + 1, np.searchsorted(edges, each)) for each in seen
    ]
    shares = [
        [np.bincount(half, minlength=len(edges) + 2) / len(half) for half in np.split(each, 2)]
        for each in places
    ]
    likelier = shares[0][0] > shares[1][0]
    return float((shares[0][1] - shares[1][1])[likelier].sum())


def _played(kind: str, table: np.ndarray, **options: Any) -> Any:
    columns = [*["x", "z"][: table.shape[1] - 1], "y"]
    if kind == "cox":
        table, columns = np.column_stack([table, np.ones(N)]), ["x", "t", "died"]
    report = leakscore_app.analyse(
        leakscore_app.table_of(table, columns=columns),
        statistic=MODELS[kind],
        distinct_records=True,
        rounds=4000,
        **options,
    )
    return report, next(
        game for game in report.games if game.row == 1 and game.attacker == "informed"
    )


@pytest.mark.parametrize("kind", MODELS)
def test_the_game_counts_both_tails(kind: str) -> None:
    """The linear score has .12 of .24 (regression, gamma, Cox), .19 of .27, .36 of .44."""
    table = _table(kind)
    own = [1.0] if kind == "cox" else [1.0, *table[0, :-1]]
    expected = _total_variation([each @ own for each in _samples(kind, table)])
    _, game = _played(kind, table)
    error = float(np.sqrt(0.5 / (ROUNDS // 2)))
    assert game.advantage.upper > expected - 3 * error
    assert game.advantage.simulated < expected + 4 * np.hypot(error, game.advantage.std_error)


def test_noise_hides_what_refits_tell() -> None:
    """The mean of the scores is not that of the theory: it is no control for chances over noise."""
    rng = np.random.default_rng(1)
    x = np.where(np.arange(N) < 5, 10 + rng.standard_normal(N), 0.0)
    y = x + 0.5 * rng.standard_normal(N)
    y[0] += 2.0
    table = np.column_stack([x, y])
    report, _ = _played("regression", table, max_advantage=0.4)
    std = np.array(list(report.noise.noise_std.values()))
    seen = [each + std * rng.standard_normal(each.shape) for each in _samples("regression", table)]
    halves = [np.split(each, 2) for each in seen]
    known = [each[0][np.isfinite(each[0][:, 0])] for each in halves]
    shift = np.median(known[0], axis=0) - np.median(known[1], axis=0)
    spread = np.cov(np.clip(known[1], *np.quantile(known[1], [0.01, 0.99], axis=0)).T)
    along = np.linalg.solve(spread, shift)
    first, second = (
        [np.nan_to_num(each[half] @ along, nan=-np.inf) for each in halves] for half in (0, 1)
    )
    at = np.quantile(first[0], np.linspace(0, 1, 200))[:, None]
    best = at[np.argmax((first[0] > at).mean(axis=1) - (first[1] > at).mean(axis=1))]
    advantage = (second[0] > best).mean() - (second[1] > best).mean()
    game = report.noise.game
    assert (report.noise.confirmed, game.row) == (True, 1)
    assert advantage < 0.4
    assert game.advantage.upper > advantage - 3 * np.sqrt(0.5 / (ROUNDS // 2))
