"""Games of numbers that are fitted again, after numbers of fewer records: both are seen."""

from __future__ import annotations

from typing import Any

import numpy as np

import leakscore_app
from leakscore import statistics

ROUNDS, DRAWN = 20_000, 60_000
NEW, BEFORE, SIZE = 110, 90, 120


def _table() -> np.ndarray:
    """Weights and values; one new record has a large weight, and an old one a value far out."""
    rng = np.random.default_rng(5)
    weight = np.round(rng.lognormal(0, 0.8, SIZE), 3)
    value = np.round(5 + rng.normal(0, 1, SIZE), 3)
    weight[[3, 4, NEW]], value[[3, 4, NEW]] = [7, 4, 6], [3, 7, 8]
    return np.column_stack([weight, value])


def _sums(table: np.ndarray, own: list[int], inside: bool) -> list[np.ndarray]:
    """Draw sums of weight and of weight times value over the old records and the new ones."""
    rng = np.random.default_rng(7 + inside)
    products = np.column_stack([table[:, 0], table.prod(axis=1)])
    others, sums = np.delete(products, own, axis=0), []
    for low, high in ((0, BEFORE), (BEFORE, SIZE)):
        held = [row for row in own if inside and low <= row < high]
        drawn = rng.integers(len(others), size=(DRAWN, high - low - len(held)))
        sums.append(np.stack([others[drawn, k].sum(axis=1) for k in (0, 1)], axis=1))
        sums[-1] += products[held].sum(axis=0)
    return sums


def _scores(sums: list[np.ndarray], shares: tuple[float, float]) -> np.ndarray:
    """Return the ratio of the new records as if ratios were linear, and that of the old ones."""
    old, every = (each[:, 1] / each[:, 0] for each in (sums[0], sums[0] + sums[1]))
    new = (SIZE * every - BEFORE * old) / (SIZE - BEFORE)
    return np.asarray(shares[0] * old + shares[1] * new)


def _advantage(with_it: np.ndarray, without: np.ndarray) -> float:
    """Of a threshold on what is seen with the records and without, chosen on other rounds."""
    (first, last), (other, final) = (np.array_split(each, 2) for each in (with_it, without))
    at = np.quantile(np.concatenate([first, other]), np.linspace(0.01, 0.99, 99))
    gaps = [(first > t).mean() - (other > t).mean() for t in at]
    best = at[int(np.argmax(np.abs(gaps)))]
    return abs(float((last > best).mean() - (final > best).mean()))


def _stated(table: np.ndarray, row: int, **options: Any) -> Any:
    report = leakscore_app.analyse(
        leakscore_app.table_of(table, columns=["w", "a"], **options),
        statistic=statistics.WeightedRatio("w"),
        previous=[BEFORE],
        rounds=ROUNDS,
        max_noise=0,
        distinct_records=not options,
    )
    return next(game for game in report.games if (game.row, game.attacker) == (row, "informed"))


def test_a_new_record_is_played_in_both_ratios() -> None:
    """Of the new records alone a ratio shows less of it than the difference of both ratios."""
    table = _table()
    seen = [_scores(_sums(table, [NEW], inside), (0, 1)) for inside in (True, False)]
    game = _stated(table, NEW + 1)
    error = np.sqrt(0.5 / ROUNDS + 0.5 / DRAWN)
    assert game.advantage.simulated > _advantage(*seen) - 2 * error


def test_a_person_in_both_is_played() -> None:
    """Three records of one person: no weighing of both ratios tells more than is stated."""
    table, own = _table(), [3, 4, NEW]
    ids = [str(4 if row in own else row + 1) for row in range(SIZE)]
    shares = [(share, 1 - share) for share in np.linspace(0, 1, 21)]
    sums = [_sums(table, own, inside) for inside in (True, False)]
    best = max(_advantage(*(_scores(each, share) for each in sums)) for share in shares)
    game = _stated(table, 4, ids=ids)
    assert game.advantage.simulated > best - 3 * np.sqrt(0.5 / ROUNDS + 0.5 / DRAWN)
