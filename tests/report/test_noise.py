"""The noise offered is one that the game confirms: against games of our own, with other seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from leakscore import tradeoff
from leakscore_app import report
from leakscore_app.report.engine.game import _averaged, _counted, _Drawn

TRIES = 400
LEAST = 0.95 - 4 * np.sqrt(0.95 * 0.05 / TRIES)  # of the upper ends above the truth


def skewed(size: int = 200, dim: int = 3) -> np.ndarray:
    return np.random.default_rng(9).lognormal(sigma=1.0, size=(size, dim)) * [1, 100, 0.01][:dim]


def played(
    values: np.ndarray, n: int, index: int, noise: np.ndarray, *, finite: bool, rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of a plain game, with the record and without: every round draws rows and noise."""
    rng = np.random.default_rng(2025)
    others = np.delete(values, index, axis=0)
    share = n / len(values) if finite else 0.0
    law = (1 - share) * np.cov(others.T, ddof=0) / n + np.diag(noise**2)
    away = values[index] - others.mean(axis=0)
    weight = np.linalg.solve(law, away)
    projected, own = (others - others.mean(axis=0)) @ weight, away @ weight
    spread = np.linalg.norm(noise * weight)
    scores = []
    for member in (True, False):
        if finite:
            rows = rng.random((rounds, len(others))).argpartition(n, axis=1)[:, : n - member]
        else:
            rows = rng.integers(0, len(others), (rounds, n - member))
        total = projected[rows].sum(axis=1) + member * own
        scores.append(total / n + spread * rng.normal(size=rounds) - own / (2 * n))
    return scores[0], scores[1]


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("limit", [0.02, 0.2, 0.4])
def test_another_game_finds_what_the_report_confirms(finite: bool, limit: float) -> None:
    values, n = skewed(), 25
    population = "finite" if finite else "infinite"
    noise = report.analyse(
        report.table_of(values), n=n, population=population, max_advantage=limit, seed=3
    ).noise
    assert noise.confirmed
    assert (
        noise.theory_standard_errors <= noise.standard_errors < 1.6 * noise.theory_standard_errors
    )
    upper = noise.game.advantage.upper
    assert upper is not None
    assert noise.game.advantage.simulated < upper <= limit
    assert len(noise.rows_played) == 4
    std = np.array(list(noise.noise_std.values()))
    for row in noise.rows_played[:2]:
        rounds = 20_000
        members, nonmembers = played(values, n, row - 1, std, finite=finite, rounds=rounds)
        found = (members > 0).mean() - (nonmembers > 0).mean()
        error = np.sqrt((members > 0).var() / rounds + (nonmembers > 0).var() / rounds)
        assert found < limit + 3 * error
        if row == noise.game.row:
            both = np.hypot(error, noise.game.advantage.std_error)
            assert abs(found - noise.game.advantage.simulated) < 4 * both


def test_noise_for_a_power() -> None:
    values, n, limit = skewed(), 25, 0.05
    noise = report.analyse(report.table_of(values), n=n, max_power=limit).noise
    assert noise.budget == {"max_power": limit}
    assert noise.game.power.upper is not None
    assert noise.game.power.simulated < noise.game.power.upper <= limit
    assert noise.power <= limit
    std = np.array(list(noise.noise_std.values()))
    members, nonmembers = played(values, n, noise.binding_row - 1, std, finite=False, rounds=40_000)
    found = (members > np.quantile(nonmembers, 0.99)).mean()
    slope = limit / 0.01  # the ROC is concave: at 1 % it is no steeper
    error = np.hypot(np.sqrt(limit / 40_000), slope * np.sqrt(0.01 / 40_000))
    assert found < limit + 3 * error


@pytest.mark.parametrize("limit", [0.001, 0.01, 0.1])
def test_few_rounds_confirm_a_small_limit(limit: float) -> None:
    """The error of a game with noise shrinks with the advantage: no limit is out of its reach."""
    values = np.random.default_rng(1).normal(size=(100, 2))
    noise = report.analyse(report.table_of(values), n=50, max_advantage=limit, rounds=1000).noise
    assert noise.confirmed
    assert noise.theory_standard_errors < noise.standard_errors
    assert noise.standard_errors < 1.2 * noise.theory_standard_errors


def test_noise_is_the_same_every_time_and_hardly_hangs_on_the_seed() -> None:
    table = report.table_of(skewed())
    found = [report.analyse(table, n=25, seed=seed).noise for seed in (0, 0, 1, 2)]
    assert found[0].standard_errors == found[1].standard_errors
    asked = {one.theory_standard_errors for one in found}
    assert len(asked) == 1
    offered = [one.standard_errors for one in found]
    assert max(offered) < 1.05 * min(offered)


def test_the_worst_under_noise_are_played() -> None:
    """Theory for all records, the game for the worst ones: those with the noise, not without."""
    values = skewed()
    asked = {"max_advantage": 0.1, "noise_shape": "same"}
    noise = report.analyse(report.table_of(values), n=25, **asked).noise
    std, after = np.array(list(noise.noise_std.values())), []
    for index in range(len(values)):
        others = np.delete(values, index, axis=0)
        away = values[index] - others.mean(axis=0)
        after.append(away @ np.linalg.solve(np.cov(others.T, ddof=0) + 25 * np.diag(std**2), away))
    worst = (np.argsort(after)[::-1] + 1)[:3].tolist()
    assert list(noise.rows_played[:3]) == worst
    assert 2 * stats.norm.cdf(np.sqrt(max(after) / 25) / 2) - 1 <= 0.1


def normal_game(rng: np.random.Generator, leakage: float, share: float) -> Any:
    """Power and advantage in a game whose theory is exact; `share` of the variance is noise."""
    spread, count = np.sqrt(leakage * (1 - share)), 1500
    members = leakage / 2 + spread * rng.normal(size=count)
    nonmembers = -leakage / 2 + spread * rng.normal(size=count)
    curve = tradeoff.gaussian(leakage=leakage)
    if share == 0:
        return _counted(curve, members, nonmembers, leakage)
    return _averaged(curve, _Drawn(members, nonmembers, np.sqrt(leakage * share)), leakage)


@pytest.mark.parametrize(("leakage", "share"), [(0.1, 0), (14.0, 0), (0.2, 0.9), (3.0, 0.3)])
def test_upper_ends_hold(leakage: float, share: float) -> None:
    rng = np.random.default_rng(4)
    games = [normal_game(rng, leakage, share) for _ in range(TRIES)]
    for k in (0, 1):
        above = [game[k].upper >= game[k].theory for game in games]
        assert np.mean(above) >= LEAST
        z = [game[k].z for game in games]
        assert abs(np.mean(z)) < 0.25
        assert 0.75 < np.std(z) < 1.25


def test_averages_over_the_noise_are_sharper_than_counts() -> None:
    rng = np.random.default_rng(5)
    plain, averaged = (normal_game(rng, 0.05, share)[0] for share in (0, 0.9))
    assert averaged.std_error < plain.std_error / 10
    assert abs(averaged.z) < 4


@pytest.mark.parametrize("far", [1e8, 1e20, 1e60])
def test_a_record_so_far_away_that_only_noise_varies(far: float) -> None:
    values = np.random.default_rng(0).normal(size=(60, 3))
    values[3] = far
    noise = report.analyse(report.table_of(values), rounds=400).noise
    assert noise.binding_row == 4
    assert noise.game.advantage.simulated == pytest.approx(noise.advantage, abs=1e-6)
    assert noise.standard_errors < 1.05 * noise.theory_standard_errors
