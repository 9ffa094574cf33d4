"""Shaped noise for persons of several records and after earlier means: by refits and by a game."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats

from leakscore import leakage
from leakscore_app import report
from tests.report.test_noise_shape import skewed

PERSONS = np.random.default_rng(5).integers(0, 70, size=120)


def refitted(values: Any, ids: Any, totals: list[int], n: int, cov: Any, share: float) -> Any:
    """What earlier means told of every person, and what the mean of n with noise adds."""
    ends = [0, *totals, len(values)] if totals else [0, len(values)]
    told, added = [], []
    for person in dict.fromkeys(ids.tolist()):
        others, parts = values[ids != person], []
        for start, stop in pairwise(ends):
            away = (values[start:stop][ids[start:stop] == person] - others.mean(axis=0)).sum(axis=0)
            size, last = (stop - start if totals else n), stop == len(values)
            law = share * np.cov(others.T, ddof=0) / size + last * (n / size) ** 2 * cov
            parts.append(away @ np.linalg.solve(law, away) / size**2)
        told.append(sum(parts[:-1]))
        added.append(parts[-1])
    return np.array(told), np.array(added)


def advantage(score: Any) -> Any:
    return 2 * stats.norm.cdf(np.sqrt(score) / 2) - 1


CASES: list[tuple[Any, list[int], dict[str, Any]]] = [
    (PERSONS, [], {"n": 40}),
    (PERSONS, [], {"n": 40, "population": "finite"}),
    (np.arange(120), [70], {}),
    (PERSONS, [50, 80], {"rounds": 4000}),  # which told some persons nearly as much as is allowed
]


@pytest.mark.parametrize(("ids", "totals", "options"), CASES)
@pytest.mark.parametrize("shape", ["optimal", "independent"])
def test_every_new_person_is_under_the_limit(
    shape: str, ids: Any, totals: list[int], options: dict[str, Any]
) -> None:
    values, limit = skewed(), 0.3 if len(totals) > 1 else 0.15
    result = report.analyse(
        report.table_of(values, ids=ids.astype(str)),
        previous=totals or None,
        noise_shape=shape,
        max_advantage=limit,
        **{"rounds": 2000, **options},
    )
    noise, n = result.noise, options.get("n", 120)
    assert (noise.shape, noise.confirmed, noise.why_same) == (shape, True, "")
    cov = noise.covariance
    if shape == "independent":
        assert cov is None
        cov = np.diag(np.square(list(noise.noise_std.values())))
    share = 1 - n / 120 if options.get("population") else 1.0
    told, added = refitted(values, ids, totals, n, cov, share)
    beyond = advantage(told) > limit
    new = np.isin(list(dict.fromkeys(ids.tolist())), ids[totals[-1] if totals else 0 :])
    after = np.where(beyond, 0.0, told) + added
    assert advantage(after[new]).max() <= limit
    assert noise.leakage == pytest.approx(after[new].max(), rel=1e-3)
    assert noise.game.advantage.upper <= limit
    first = np.unique(ids, return_index=True)[1] + 1
    assert set(noise.rows_at_limit) <= set(first.tolist())
    if shape == "optimal":
        assert noise.theory_standard_errors <= noise.beside["independent"] * (1 + 1e-4)
        if noise.told is not None:
            assert noise.told.leakage_without > noise.told.leakage


def test_the_noise_that_theory_asks_for_is_the_library_s() -> None:
    values = skewed()
    for totals, n in (([], 40), ([50, 80], 120)):
        result = report.analyse(
            report.table_of(values, ids=PERSONS.astype(str)),
            n=None if totals else n,
            previous=totals or None,
            max_advantage=0.3,
            rounds=400,
        )
        found = leakage.noise_for_table(
            values, n, ids=PERSONS, previous=totals or None, max_advantage=0.3
        )
        size = np.sqrt(np.mean(found.standard_errors**2))
        assert result.noise.theory_standard_errors == pytest.approx(size, rel=1e-3)


def test_another_game_of_the_persons_finds_what_the_report_confirms() -> None:
    """Rounds draw rows of the others; the present mean of all, with noise of the matrix."""
    values, totals, limit, rounds = skewed(), [90], 0.2, 30_000
    result = report.analyse(
        report.table_of(values, ids=PERSONS.astype(str)),
        previous=totals,
        max_advantage=limit,
        seed=3,
        rounds=20_000,
    )
    noise, rng = result.noise, np.random.default_rng(8)
    person = PERSONS[noise.game.row - 1]
    own = [PERSONS[start:stop] == person for start, stop in ((0, 90), (90, 120))]
    parts = [values[:90][own[0]], values[90:][own[1]]]
    others = values[person != PERSONS]
    mean, spread = others.mean(axis=0), np.cov(others.T, ddof=0)
    sizes, scores = (90, 30), []
    for member in (True, False):
        total = np.zeros(rounds)
        for rows, size in zip(parts, sizes, strict=True):
            own_sum = (rows - mean).sum(axis=0)
            law = spread / size
            if size == 30:  # the noise on the mean of all, as in that of the new records
                law = law + 16 * noise.covariance
            weight = np.linalg.solve(law, own_sum / size)
            k = len(rows) if member else 0
            drawn = rng.integers(0, len(others), (rounds, size - k))
            along = ((others - mean) @ weight)[drawn].sum(axis=1) + member * own_sum @ weight
            total += along / size - own_sum @ weight / (2 * size)
            if size == 30:
                total += 4 * rng.normal(size=rounds) * np.sqrt(weight @ noise.covariance @ weight)
        scores.append(total)
    share = [(one > 0).mean() for one in scores]
    error = np.sqrt(sum(p * (1 - p) for p in share) / rounds)
    game = noise.game.advantage
    assert abs(share[0] - share[1] - game.simulated) < 4 * np.hypot(error, game.std_error)
    assert share[0] - share[1] < limit + 3 * error
