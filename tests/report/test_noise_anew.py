"""The game in which noise is computed anew from every table, beside plain simulations of ours."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from leakscore import leakage, tradeoff
from leakscore_app import report
from leakscore_app.report.engine import noise as anew
from tests.helpers.parts import Population, rough_noise
from tests.helpers.sizes import sizes
from tests.report.test_noise_shape import advantage, refitted, skewed

LIMIT = 0.03


@pytest.mark.parametrize("n", [40, 200])
def test_rough_noise_is_nearly_within_the_limits_and_nearly_the_least(n: int) -> None:
    for values in (skewed(), np.random.default_rng(3).standard_t(2, size=(60, 6))):
        noise = rough_noise(values, n, LIMIT, 0.05)
        assert refitted(values, n, noise, finite=False).max() <= 1.06 * LIMIT
        exact = leakage.noise_for_table(values, n, max_leakage=LIMIT)
        cost = n * float(np.sum(np.diag(noise) / values.var(axis=0)))
        assert 0.94 * exact.cost <= cost <= 1.06 * exact.cost
    assert not rough_noise(skewed(), n, 1e6, 0.05).any()
    doubled = np.column_stack([skewed(), skewed()[:, :1]])  # a column twice
    assert np.isfinite(rough_noise(doubled, n, LIMIT, 0.05)).all()


def test_columns_that_do_not_vary_get_no_noise_and_change_none() -> None:
    values = skewed()
    flat = np.column_stack([np.zeros(len(values)), values, np.full(len(values), 0.1)])
    noise = rough_noise(flat, 40, LIMIT, 0.05)
    kept = slice(1, 1 + values.shape[1])
    np.testing.assert_allclose(noise[kept, kept], rough_noise(values, 40, LIMIT, 0.05), rtol=1e-9)
    assert np.count_nonzero(noise) == np.count_nonzero(noise[kept, kept]) > 0
    assert not rough_noise(flat[:, [0, -1]], 40, LIMIT, 0.05).any()


@pytest.mark.parametrize("ones", [1, 2, 3])
@pytest.mark.parametrize("size", [12, 60, 2000])
def test_a_trait_of_few_records_is_judged(size: int, ones: int) -> None:
    """Tables that are drawn with replacement may have none of these records."""
    values = np.random.default_rng(size + ones).normal(size=(size, 3))
    values[:, 2] = np.arange(size) < ones
    result = report.analyse(report.table_of(values, ["x", "y", "trait"]), rounds=2000)
    assert result.verdict.decision != "publish"
    told = None if result.noise is None else result.noise.told
    if ones > 1 and told is not None:
        assert told.anew is not None
        assert np.isfinite(told.anew.advantage)


def test_noise_that_does_not_depend_on_the_table_tells_nothing_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values, n = np.random.default_rng(1).normal(size=(400, 2)), 400
    values[0] = [9.0, -6.0]
    people = Population(values, n, finite=False, shrinkage=None)
    noise = np.diag([0.002, 0.001])
    monkeypatch.setattr(anew, "rough_noise", lambda *_: noise)
    sizes(monkeypatch, anew_tables=2000)
    found = anew.play_recomputed(people, 0, 0.1, rounds=10**6, rng=np.random.default_rng(2))
    away = people.values[0] - people.without(0).mean
    score = away @ np.linalg.solve(people.without(0).cov + n * noise, away) / n
    theory = float(tradeoff.gaussian(leakage=score).advantage())
    assert theory > 0.1
    assert abs(found.advantage - theory) < 4 * found.std_error
    assert found.tables == 2000
    assert theory < found.upper < theory + 0.1


def test_a_simple_attack_of_ours_on_exact_noise_finds_as_much() -> None:
    """A record within its limit under the matrix of its table is called a member."""
    rng = np.random.default_rng(6)
    values, n, rounds = rng.normal(size=(60, 3)), 60, 25
    values[0] = [6.0, 5.0, -5.0]
    people = Population(values, n, finite=False, shrinkage=None)
    found = anew.play_recomputed(people, 0, LIMIT, rounds=10_000, rng=np.random.default_rng(5))
    others = people.values[1:]
    away, cov = people.values[0] - others.mean(axis=0), np.cov(others.T, ddof=0)
    called = np.zeros(2)
    for member in (0, 1):
        for _ in range(rounds):
            table = others[rng.integers(len(others), size=n)]
            table[0] = people.values[0] if member else table[0]
            noise = leakage.noise_for_table(table, n, max_leakage=LIMIT).covariance
            called[member] += away @ np.linalg.solve(cov + n * noise, away) / n <= 2 * LIMIT
    simple = (called[1] - called[0]) / rounds
    public = float(tradeoff.gaussian(leakage=LIMIT).advantage())
    assert simple > 0.8 > 10 * public
    assert found.advantage > simple - 4 * np.hypot(found.std_error, 0.1)


def test_the_attack_is_judged_by_rounds_from_which_it_did_not_learn() -> None:
    """On what tells nothing it gains nothing; on what tells all it is certain."""

    def seen(logs: np.ndarray) -> np.ndarray:
        return np.stack([logs, np.full(len(logs), -1e-3), np.zeros(len(logs))])

    rng = np.random.default_rng(4)
    gains = []
    for _ in range(400):
        hits, alarms = anew.attack_chances(seen(rng.normal(size=50)), seen(rng.normal(size=50)))
        gains.append(hits.mean() - alarms.mean())
    assert abs(np.mean(gains)) < 4 * np.std(gains) / 20
    hits, alarms = anew.attack_chances(seen(rng.normal(size=50)), seen(rng.normal(size=50) + 20))
    assert (hits.mean(), alarms.mean()) == (1.0, 0.0)


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 0.05), (0.5, 0.05), (2.0, 0.3), (4.0, 1.0)])
def test_the_upper_end_misses_in_no_more_than_5_percent_of_games(
    shift: float, scale: float
) -> None:
    """The truth is that of the two rules that were learned, by the normal law of what they see."""
    rng, tries, half = np.random.default_rng(9), 150, 20
    missed, above = 0, 0.0
    for _ in range(tries):
        seen = [
            np.stack(
                [
                    rng.normal(-shift * member, 1, half),
                    rng.normal((member - 0.5) * scale**2, scale, half),
                    np.zeros(half),
                ]
            )
            for member in (1, 0)
        ]
        hits, alarms = anew.attack_chances(*seen)
        truth = 0.0
        for start in range(2):
            logs = [side[0, 1 - start :: 2] for side in seen]
            rule = anew.ThresholdRule.of(*logs)
            for member in (1, 0):
                below = stats.norm.cdf(rule.threshold + shift * member)
                means = (member - 0.5) * scale**2 + np.array([rule.below, rule.above])
                chance = np.array([below, 1 - below]) @ stats.norm.cdf(means / scale)
                truth += (chance if member else -chance) / 2
        end = anew.advantage_upper(hits - alarms)
        missed += end < truth
        above += (end - truth) / tries
    assert missed <= (0.05 + 3 * np.sqrt(0.05 * 0.95 / tries)) * tries
    assert above < 0.5


def test_a_report_has_both_numbers_and_says_why_one_is_missing() -> None:
    result = report.analyse(report.table_of(skewed()), n=40, max_advantage=0.1, rounds=2000)
    told = result.noise.told
    assert told.anew.tables == 20
    assert told.public == result.noise.game.advantage.simulated
    assert told.public == pytest.approx(advantage(told.leakage), abs=0.02)
    found = json.loads(result.to_json())["noise"]["told"]
    assert found["anew"]["advantage"] == told.anew.advantage > told.public
    assert found["public"] == told.public
    text = " ".join(result.to_text().replace("\u00a0", " ").split())
    assert f"the advantage is {100 * told.public:.1f} ±" in text
    assert f"has {100 * told.anew.advantage:.0f} ±" in text
    assert "if the matrix is published exactly, this attacker is certain" in text
    again = report.analyse(report.table_of(skewed()), n=40, max_advantage=0.1, rounds=2000)
    assert again.noise.told == told
    drawn = report.analyse(
        report.table_of(skewed()), n=40, max_advantage=0.1, rounds=2000, population="finite"
    )
    assert drawn.noise.told.anew is None
    assert drawn.noise.told.why_not_played in " ".join(drawn.to_text().split())


def test_what_takes_too_long_is_not_played() -> None:
    values = np.random.default_rng(0).normal(size=(3000, 40))
    people = Population(values, 3000, finite=False, shrinkage=None)
    assert "takes too long" in anew.why_not(people, 20_000)
