"""Holders of a rare trait are played behind decoys that leak more in theory, and less in truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from leakscore.statistics import KnownWeights, Sum
from leakscore_app import analyse, report, table_of

SIZE, OLD, NEW = 1001, 401, 600
DECOYS = [700, 701, 702]


def decoyed(holders: list[int], far: float) -> np.ndarray:
    """Some records share a trait; three others lie `far` from all in a column of their own."""
    values = np.random.default_rng(3).normal(size=(SIZE, 4))
    values[DECOYS] = np.sqrt(far * SIZE) * np.eye(4)[:3]
    return np.column_stack([values, np.isin(np.arange(SIZE), holders)])


def judged(
    values: np.ndarray, limit: float, **options: Any
) -> tuple[report.Report, dict[int, Any]]:
    """Return a report and the games of the informed attacker by row."""
    ids, names = options.pop("ids", None), options.pop("names", None)
    result = analyse(
        table_of(values, names, ids=ids), max_advantage=limit, noise_shape="same", **options
    )
    return result, {game.row: game for game in result.games if game.attacker == "informed"}


def is_refused(result: report.Report, row: int, limit: float) -> None:
    """The verdict is about this row, whose leakage is below the limit in theory alone."""
    assert result.verdict is not None
    assert result.verdict.decision != "publish"
    assert result.verdict.worst.row == row
    assert result.verdict.worst.theory < limit < result.verdict.worst.value
    assert result.noise is not None
    assert row in result.noise.rows_played or not result.noise.confirmed


@pytest.mark.parametrize("statistic", [None, Sum()])
def test_a_record_of_the_last_batch(statistic: Sum | None) -> None:
    """The other holder is in 600 draws as often as the binomial law says."""
    values = decoyed([10, 500], 1.1)
    result, games = judged(values, 0.54, previous=OLD, statistic=statistic)
    truth = stats.binom.pmf(0, NEW, 1 / (SIZE - 1))
    assert set(games) > {501, *(row + 1 for row in DECOYS)}
    assert abs(games[501].advantage.simulated - truth) < 4 * games[501].advantage.std_error
    is_refused(result, 501, 0.54)


def test_a_person_in_two_batches() -> None:
    """The score is that of both means: sums of two binomial laws over the sizes of the batches."""
    ids = np.arange(SIZE).astype(str)
    ids[800] = ids[10]
    values = decoyed([10, 500, 800, 900], 1.3)
    result, games = judged(values, 0.56, previous=OLD, ids=ids)
    counts = np.arange(40)
    laws = []
    for inside in (0, 1):
        old, new = (
            stats.binom.pmf(counts - inside, size - inside, 2 / (SIZE - 2)) for size in (OLD, NEW)
        )
        laws.append(np.outer(old, new).ravel())
    order = np.argsort((counts[:, None] / OLD + counts / NEW).ravel())
    truth = float(np.cumsum((laws[0] - laws[1])[order]).max())
    assert games[11].advantage.theory < min(games[row + 1].advantage.theory for row in DECOYS)
    assert truth - 0.01 < games[11].advantage.upper < truth + 0.03
    is_refused(result, 11, 0.56)


def test_a_light_record_of_a_weighted_mean() -> None:
    """Its weight is small beside the others', and most sums hold no other trait."""
    weights = np.random.default_rng(5).gamma(2, size=SIZE)
    weights[[10, 500]], weights[DECOYS] = (0.3, 0.5), 1.3
    values = decoyed([10, 500], 1.0)
    table = np.column_stack([values, weights])
    result, games = judged(
        table, 0.3, names=[*"abcde", "w"], statistic=KnownWeights("w"), rounds=8000
    )
    others, rest = np.delete(values, 500, axis=0), np.delete(weights, 500)
    away = values[500] - others.mean(axis=0)
    direction = np.linalg.solve(np.cov(others.T, ddof=0), away)
    line = (others - others.mean(axis=0)) @ direction
    rng, rounds = np.random.default_rng(7), 8000
    draws = rng.integers(SIZE - 1, size=(2 * rounds, SIZE - 1))
    sums = line[draws] @ rest
    sums[:rounds] += weights[500] * (away @ direction)
    sums[rounds:] += weights[500] * line[rng.integers(SIZE - 1, size=rounds)]
    truth = stats.ks_2samp(sums[:rounds], sums[rounds:], alternative="less").statistic
    assert {11, 501} < set(games)
    assert games[501].advantage.theory < 0.1
    assert games[501].advantage.simulated == pytest.approx(truth, abs=4 / np.sqrt(rounds))
    is_refused(result, 501, 0.3)


def test_one_population_without_replacement() -> None:
    """None of two others is among 100 of 1,000 with a chance of about .81."""
    values = decoyed([10, 400, 500], 0.54)
    ids = np.arange(SIZE).astype(str)
    ids[30] = ids[31]
    result, games = judged(values, 0.795, n=100, population="finite", ids=ids)
    truth = stats.hypergeom.pmf(0, SIZE - 1, 2, 100)
    played = {11, 401, 501} & set(games)
    assert played
    for row in played:
        assert games[row].advantage.theory < games[DECOYS[0] + 1].advantage.theory
        assert abs(games[row].advantage.simulated - truth) < 4 * games[row].advantage.std_error
    assert result.verdict is not None
    assert result.verdict.worst.row in played
    assert result.verdict.decision != "publish"


def test_the_text_says_how_many_the_law_ranks() -> None:
    values = decoyed([10, 500], 1.1)
    many, _ = judged(values, 0.9, previous=OLD, rounds=400)
    assert "puts among the worst, of 400 ranked by it, and" in " ".join(many.to_text().split())
    few, _ = judged(values[:350, :4], 0.9, rounds=400)
    assert "puts among the worst, and the middle" in " ".join(few.to_text().split())
