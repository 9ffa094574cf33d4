"""Games of persons of several records, and of persons in several batches, beside the theory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from leakscore_app import report
from tests.helpers.parts import Population, Published
from tests.helpers.played import play
from tests.oracles.leakage import groups_left_out

ROWS, DIM = 300, 3
OWN = [4, 5, 120, 280]
TOTALS = (100, 220)


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    rng = np.random.default_rng(13)
    values = rng.normal(size=(ROWS, DIM)) @ rng.normal(size=(DIM, DIM))
    values[OWN] += values.std(axis=0)
    return values


@pytest.fixture(scope="module")
def person() -> np.ndarray:
    person = np.arange(ROWS)
    person[OWN] = 4
    return person


def population(values: np.ndarray, person: np.ndarray, n: int, **more: Any) -> Population:
    totals = more.pop("totals", ())
    published = Published.of(person.astype(str), ROWS, n, totals)
    given = {"finite": False, "shrinkage": None, **more}
    return Population(values, n, published=published, **given)


def simulated(
    values: np.ndarray, person: np.ndarray, sizes: list[int], held: list[list[int]], rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the best linear test on means of drawn rows, without the person and with."""
    rng = np.random.default_rng(21)
    others = values[person != 4]
    mean, cov = others.mean(axis=0), np.cov(others.T, ddof=0)
    totals = []
    for member in (False, True):
        score = np.zeros(rounds)
        for size, rows in zip(sizes, held, strict=True):
            own = (values[rows] - mean).sum(axis=0)
            drawn = size - len(rows) * member
            picked = (others - mean) @ np.linalg.solve(cov, own)
            sums = picked[rng.integers(0, len(others), size=(rounds, drawn))].sum(axis=1)
            score += (sums + member * own @ np.linalg.solve(cov, own)) / size
        totals.append(score)
    return totals[0], totals[1]


@pytest.mark.parametrize("attacker", ["informed", "weaker"])
@pytest.mark.parametrize("noise", [0.0, 0.04])
@pytest.mark.parametrize("totals", [(), TOTALS])
def test_game_and_theory_agree(
    values: np.ndarray,
    person: np.ndarray,
    attacker: str,
    noise: float,
    totals: tuple[int, ...],
) -> None:
    """Means within 4 standard errors; the person's own records take some of the variance."""
    people = population(values, person, ROWS, totals=totals)
    game = play(
        people, 4, 5, attacker, rounds=20_000, rng=np.random.default_rng(2), noise_std=noise
    )
    if attacker == "informed":
        assert game.leakage == pytest.approx((people.earlier + people.added(noise))[4], rel=1e-9)
    elif not noise:
        assert game.leakage == pytest.approx(people.weaker()[4], rel=1e-9)
    for compared in game.mean:
        assert abs(compared.z) < 4
    without, with_it = game.variance
    assert abs(without.z) < 4
    share = 1 - max(k / b for k, b in ([(4, 300)] if not totals else [(2, 100), (1, 80)]))
    assert with_it.theory * share * 0.95 < with_it.simulated < with_it.theory * 1.05
    assert abs(game.advantage.z) < 4


@pytest.mark.parametrize("totals", [(), TOTALS])
def test_theory_against_a_simulation_of_tables(
    values: np.ndarray, person: np.ndarray, totals: tuple[int, ...]
) -> None:
    rounds = 20_000
    sizes, held = ([100, 120, 80], [[4, 5], [120], [280]]) if totals else ([ROWS], [OWN])
    found = population(values, person, ROWS, totals=totals).informed()[4]
    without, with_it = simulated(values, person, sizes, held, rounds)
    gap, error = with_it.mean() - without.mean(), np.sqrt(2 * found / rounds)
    assert abs(gap - found) < 4 * error
    assert without.var() == pytest.approx(found, rel=4 * np.sqrt(2 / rounds))
    threshold = np.quantile(without, 0.99)
    power = stats.norm.sf(stats.norm.isf(0.01) - np.sqrt(found))
    # 4 standard errors of the share and of the threshold
    slope = np.exp(np.sqrt(found) * stats.norm.isf(0.01) - found / 2)
    error = np.hypot(np.sqrt(power * (1 - power) / rounds), slope * np.sqrt(0.0099 / rounds))
    assert abs(np.mean(with_it > threshold) - power) < 4 * error


def test_finite_population(values: np.ndarray, person: np.ndarray) -> None:
    people = population(values, person, 100, finite=True)
    found = people.informed()
    alone = groups_left_out(values, person, [100], np.zeros(ROWS)) / (1 - 100 / ROWS)
    np.testing.assert_allclose(found, alone, rtol=1e-9)
    game = play(people, 4, 5, "informed", rounds=20_000, rng=np.random.default_rng(5))
    assert game.leakage == pytest.approx(found[4], rel=1e-9)
    assert abs(game.mean[0].z) < 4
    assert abs(game.mean[1].z) < 4
    assert abs(game.advantage.z) < 4


def test_report_with_earlier_means(values: np.ndarray, person: np.ndarray) -> None:
    """A person with old and new records: what was told and what is added both count."""
    table = report.table_of(values, ids=list(map(str, person)))
    result = report.analyse(table, previous=list(TOTALS), rounds=400, max_advantage=0.4)
    batch, sizes = np.repeat([0, 1, 2], [100, 120, 80]), [100, 120, 80]
    expected = groups_left_out(values, person, sizes, batch)
    np.testing.assert_allclose(result.informed.leakage, expected, rtol=1e-9)
    plain = result.to_dict()
    record = plain["records"][4]
    assert (record["id"], record["rows"]) == ("4", [row + 1 for row in OWN])
    assert (record["new"], record["batch_sizes"]) == (True, sizes)
    assert record["power_if_gaussian"] is None
    alone = groups_left_out(values, person, [ROWS], np.zeros(ROWS))
    found = [r["alone"]["leakage"] for r in plain["records"]]
    np.testing.assert_allclose(found, alone, rtol=1e-9)
    assert "old-and-new" in {n.code for n in result.notices}
    noise = result.noise
    assert noise
    # New batch with noise, magnified by the subtraction of the old means; old batches without.
    added = 80 * (300 / 80 * np.array(list(noise.noise_std.values()))) ** 2
    told = groups_left_out(values, person, [100, 120, 1e300], batch)
    now = groups_left_out(values, person, [1e300, 1e300, 80], batch, ridge=added)
    limit = (2 * stats.norm.ppf(0.7)) ** 2
    new = np.isin(np.arange(len(told)), np.unique(np.searchsorted(np.unique(person), person[220:])))
    total = np.where(told > limit, 0, told) + now
    assert total[new].max() == pytest.approx(noise.leakage, rel=1e-6)
    assert noise.leakage <= limit


def test_a_person_who_is_all_of_the_new_batch(values: np.ndarray) -> None:
    owner = np.r_[np.arange(296), [296] * 4]
    table = report.table_of(values, ids=[f"P-{p}" for p in owner])
    result = report.analyse(table, previous=296, rounds=200)
    assert result.verdict
    assert result.noise is None
    assert result.verdict.given_away == (297,)
    assert "is given away by the difference of two means. Wait until" in result.verdict.why
    limit = (2 * stats.norm.ppf(0.6)) ** 2
    (remedy,) = [r for r in result.remedies if r.leakage <= limit]
    batch = int("".join(filter(str.isdigit, remedy.what)))
    distance = groups_left_out(values, owner, [1], np.zeros(ROWS))[296]
    assert remedy.leakage == pytest.approx(distance / batch, rel=1e-9)
    assert batch == int(np.ceil(distance / limit))
