"""Upper ends of games hold at the best threshold: enumerated for few rounds, simulated for many."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from leakscore_app import report
from tests.helpers.parts import Summands, highest, laws, mean_upper, quantity_of

LEVEL = 0.05
SHARES = [0.0, 1e-6, 1e-3, 0.3, 0.999]


def test_of_hits_alone_it_is_that_of_clopper_and_pearson() -> None:
    for rounds in (20, 1000, 20_000):
        hits = np.array([0, 1, 3, rounds // 3, rounds - 2, rounds - 1])
        found = mean_upper(np.tile([1.0, 0.0], (6, 1)), np.stack([hits + 1, rounds - hits], axis=1))
        missed = stats.beta.sf(found, hits + 1, rounds - hits)
        assert (missed <= LEVEL).all()
        assert (missed > 0.95 * LEVEL).all()
    every = mean_upper(np.array([[1.0, 0.0]]), np.array([[21, 0]]))
    assert every.tolist() == [1.0]


@pytest.mark.parametrize(("rounds", "cost"), [(12, 1.0), (60, 1.0), (12, 6.0), (24, 15.0)])
def test_few_rounds_enumerated(rounds: int, cost: float) -> None:
    """At any power and false positives the end at a threshold misses at most 5 %, and nearly so."""
    places = range(rounds + 1)
    counts = np.array([c for c in product(places, repeat=3) if sum(c) <= rounds])
    counts = np.column_stack([counts, rounds - counts.sum(axis=1)])  # hit, both, alarm, neither
    values = np.tile([1.0, 1.0 - cost, -cost, 0.0], (len(counts), 1))
    ends = mean_upper(values, counts + np.array([1, 0, 0, 0]))
    misses = []
    for power, alarms in product([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1], [0, 0.01, 0.05, 0.2]):
        law = np.outer([power, 1 - power], [1 - alarms, alarms])
        cells = np.array([law[0, 0], law[0, 1], law[1, 1], law[1, 0]])
        chances = stats.multinomial.pmf(counts, rounds, cells)
        misses.append(float(chances[ends < power - cost * alarms - 1e-12].sum()))
    assert max(misses) <= LEVEL
    assert max(misses) > 0.75 * LEVEL


@pytest.mark.parametrize("leakage", [0.1, 1.0, 8.0])
def test_many_rounds_simulated(leakage: float) -> None:
    """For any share of noise the ends miss in no more than 5 % of games, and are not far off."""
    rng, tries, rounds, root = np.random.default_rng(6), 50, 300, np.sqrt(leakage)
    quantile = stats.norm.isf(0.01)
    slope = float(np.exp(root * quantile - leakage / 2))
    cases = {"advantage": (2 * stats.norm.cdf(root / 2) - 1, 1.0)}
    cases["power"] = (stats.norm.sf(quantile - root) - 0.01 * slope, slope)
    missed = dict.fromkeys(cases, 0)
    for share in SHARES:
        spread, noise = root * np.sqrt(1 - share), root * np.sqrt(share)
        above = dict.fromkeys(cases, 0.0)
        for _ in range(tries):
            drawn = spread * rng.normal(size=(2, rounds)) + [[leakage / 2], [-leakage / 2]]
            for name, (truth, cost) in cases.items():
                end = highest(drawn[0], drawn[1], leakage, cost, noise)
                missed[name] += end < truth
                above[name] += (end - truth) / tries
        error = np.sqrt((1 + np.array([1.0, slope**2 * 0.05])) * 0.25 / rounds)
        assert above["advantage"] < 4 * error[0] * np.sqrt(1 - share)
        assert above["power"] < 4 * error[1] * np.sqrt(1 - share)
    count = tries * len(SHARES)
    most = LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / count)
    assert max(missed.values()) <= most * count


@pytest.fixture(scope="module")
def rare() -> np.ndarray:
    """A trait that two of 1,001 records have."""
    values = np.random.default_rng(8).normal(size=(1001, 2))
    return np.column_stack([values, np.isin(np.arange(1001), [10, 500])])


def test_the_best_threshold_of_a_rare_trait_is_not_that_of_the_theory(rare: np.ndarray) -> None:
    """The other holder is in 600 draws as often as the binomial law says."""
    truth = stats.binom.pmf(0, 600, 1 / 1000)
    limit = 0.5
    result = report.analyse(
        report.table_of(rare), n=600, max_advantage=limit, noise_shape="same", rounds=20_000
    )
    game = result.games[0]
    assert game.row in (11, 501)
    assert game.advantage.theory < limit < truth - 0.01 < game.advantage.upper < truth + 0.03
    assert abs(game.advantage.simulated - truth) < 4 * game.advantage.std_error
    assert game.differs
    assert result.verdict is not None
    assert result.verdict.decision == "publish with noise"
    assert "try --rounds" not in result.verdict.why


def decoyed(size: int) -> np.ndarray:
    """Two records share a trait; three others leak more in theory, and less in truth."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(size, 4))
    values[20:23] = np.sqrt(1.1 * size) * np.eye(4)[:3]
    return np.column_stack([values, np.isin(np.arange(size), [10, 500])])


@pytest.mark.parametrize("size", [1001, 66_001])
def test_who_holds_a_rare_trait_is_played_behind_decoys(size: int) -> None:
    n = round(0.6 * (size - 1))
    truth = stats.binom.pmf(0, n, 1 / (size - 1))
    options = {"n": n, "noise_shape": "same", "max_advantage": 0.54}
    result = report.analyse(report.table_of(decoyed(size)), **options)
    games = {game.row: game for game in result.games if game.attacker == "informed"}
    theory = sorted(games, key=lambda row: -games[row].leakage)
    assert set(theory[:3]) == {21, 22, 23}
    for row in (11, 501):
        assert games[row].advantage.theory < games[theory[2]].advantage.theory
        assert abs(games[row].advantage.simulated - truth) < 4 * games[row].advantage.std_error
    assert (
        max(game.advantage.simulated for game in games.values())
        > 0.54
        > max(games[row].advantage.theory for row in games)
    )
    assert result.verdict is not None
    assert result.verdict.worst.row in (11, 501)
    assert result.verdict.decision != "publish"
    assert result.noise is not None
    assert {11, 501} <= set(result.noise.rows_played) or not result.noise.confirmed
    assert f"{len(games)} of {size} records played" in " ".join(result.to_text().split())


@pytest.mark.parametrize("finite", [False, True])
def test_laws_of_skewed_sums(finite: bool) -> None:
    """A trait alone is binomial; records of normal law are as the theory says."""
    share, count = 1 / 1000, 600
    trait = np.array([1 - share, -share])
    counts = np.array([1.0, 999.0])
    law = laws([Summands(trait, counts, 1 - share, (count - 1, count))], finite=finite)
    drawn = count / 1000  # once at most, with this chance
    expected = max(drawn, 1 - drawn) if finite else stats.binom.pmf(0, count, share)
    assert quantity_of(law, "advantage") == pytest.approx(expected, abs=0.01)
    normal = stats.norm.ppf((np.arange(4000) + 0.5) / 4000)
    root = np.sqrt(400 * (1 - 0.1 * finite)) * normal.std()
    law = laws([Summands(normal, np.ones(4000), 30.0, (399, 400))], finite=finite)
    expected = 2 * stats.norm.cdf(30 / root / 2) - 1
    assert quantity_of(law, "advantage") == pytest.approx(expected, abs=0.003)
    power = stats.norm.sf(stats.norm.isf(0.01) - 30 / root)
    assert quantity_of(law, "power") == pytest.approx(power, abs=0.003)
