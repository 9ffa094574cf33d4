"""Noise under a budget, the cheaper remedies and the audit, computed again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from leakscore.audit import Audit
from leakscore_app import report
from tests.helpers.parts import Budget, least_size
from tests.report.test_numbers import advantage, power


@pytest.fixture(scope="module")
def table() -> report.Table:
    return report.embedded_table()


@pytest.fixture(scope="module")
def result(table: report.Table) -> report.Report:
    return report.analyse(table, rounds=4000, audit=True)


def leakages(values: np.ndarray, n: int, noise: np.ndarray | float = 0.0) -> np.ndarray:
    """Leakage of every record by as many refits; noise is the standard deviation on the mean."""
    found = []
    for i, x in enumerate(values):
        others = np.delete(values, i, axis=0)
        away = x - others.mean(axis=0)
        cov = np.cov(others.T, ddof=0) + n * np.diag(np.broadcast_to(noise, len(x)) ** 2)
        found.append(away @ np.linalg.solve(cov, away) / n)
    return np.array(found)


@pytest.mark.parametrize("limit", [0.05, 0.5])
def test_noise_brings_every_record_under_the_advantage(table: report.Table, limit: float) -> None:
    noise = report.analyse(table, max_advantage=limit, rounds=200, noise_shape="same").noise
    std = np.array([noise.noise_std[name] for name in table.columns])
    errors = table.values.std(axis=0) / np.sqrt(100)
    np.testing.assert_allclose(std / errors, noise.standard_errors, rtol=1e-9)
    asked = leakages(table.values, 100, noise.theory_standard_errors * errors)
    assert advantage(asked.max()) == pytest.approx(limit, rel=1e-7)
    after = leakages(table.values, 100, std)
    assert noise.binding_row == after.argmax() + 1
    assert noise.leakage == pytest.approx(after.max(), rel=1e-6)
    assert noise.standard_errors >= noise.theory_standard_errors


def test_noise_under_epsilon_and_delta(table: report.Table) -> None:
    noise = report.analyse(table, epsilon=2.0, delta=1e-4, rounds=200, noise_shape="same").noise
    errors = table.values.std(axis=0) / np.sqrt(100)
    mu = np.sqrt(leakages(table.values, 100, noise.theory_standard_errors * errors).max())
    delta = stats.norm.cdf(mu / 2 - 2 / mu) - np.exp(2) * stats.norm.cdf(-mu / 2 - 2 / mu)
    assert delta == pytest.approx(1e-4, rel=1e-6)
    assert noise.budget == {"epsilon": 2.0, "delta": 1e-4}


def test_noise_is_checked_by_the_game(result: report.Report) -> None:
    game = result.noise.game
    assert game.noise_std > 0
    assert game.row == result.noise.binding_row
    assert game.leakage == pytest.approx(result.noise.leakage, rel=1e-9)
    assert abs(game.advantage.z) < 5
    assert game.advantage.upper is not None
    assert game.advantage.simulated < game.advantage.upper <= 0.2
    assert 0.19 < game.advantage.theory <= 0.2


def test_no_noise_where_none_is_needed() -> None:
    values = np.random.default_rng(0).normal(size=(400, 2))
    found = report.analyse(report.table_of(values), max_advantage=0.9, rounds=200)
    assert found.noise.standard_errors == 0
    assert "No noise is needed" in found.to_text()
    assert "No noise is needed" in found.to_html()


def test_finite_population_needs_noise_for_its_smaller_variance() -> None:
    values = np.random.default_rng(0).normal(size=(50, 3))
    asked = {"max_advantage": 0.1, "rounds": 200, "noise_shape": "same"}
    found = report.analyse(report.table_of(values), n=25, population="finite", **asked)
    asked = found.noise.theory_standard_errors
    std = asked * values.std(axis=0) * np.sqrt(0.5 / 25)
    half = []
    for i, x in enumerate(values):
        others = np.delete(values, i, axis=0)
        away = x - others.mean(axis=0)
        cov = 0.5 * np.cov(others.T, ddof=0) + 25 * np.diag(std**2)
        half.append(away @ np.linalg.solve(cov, away) / 25)
    assert advantage(max(half)) == pytest.approx(0.1, rel=1e-7)
    offered = np.array(list(found.noise.noise_std.values()))
    np.testing.assert_allclose(offered * asked / std, found.noise.standard_errors, rtol=1e-9)


def test_remedies(result: report.Report, table: report.Table) -> None:
    remedies = {remedy.what: remedy for remedy in result.remedies}
    assert {remedy.kind for remedy in result.remedies} == {
        "fewer columns",
        "winsorising",
        "fewer records",
        "larger n",
    }
    values = table.values
    one = next(r for r in result.remedies if r.kind == "fewer columns")
    dropped = one.what.split(": ")[1]
    low, high = np.quantile(values, [0.01, 0.99], axis=0)
    clipped = np.clip(values, low, high)
    rescored = {
        one.what: leakages(values[:, [name != dropped for name in table.columns]], 100),
        "columns clipped at 1 % and 99 %": leakages(clipped, 100),
        "without the worst record": leakages(np.delete(values, 152, axis=0), 100),
        "the mean of 500 records": leakages(values, 500),
    }
    for what, expected in rescored.items():
        remedy = remedies[what]
        assert remedy.leakage == pytest.approx(expected.max(), rel=1e-6), what
        assert remedy.power == pytest.approx(power(expected.max()), rel=1e-6)
        assert remedy.above["50%"] == sum(power(m) > 0.5 for m in expected)
    assert remedies["without the worst record"].worst_row == 213
    moved = np.abs(clipped.mean(axis=0) - values.mean(axis=0)) / values.std(axis=0) * 10
    assert f"{moved.max():.2g} standard errors" in remedies[list(rescored)[1]].cost


def test_text_and_page_say_what_remedies_cost(table: report.Table) -> None:
    def said(**options: Any) -> list[str]:
        found = report.analyse(table, n=100, rounds=200, noise_shape="same", **options)
        return [" ".join(text.split()) for text in (found.to_text(), found.to_html())]

    values, moved = table.values, []
    for share in (0.01, 0.05):
        clipped = np.clip(values, *np.quantile(values, [share, 1 - share], axis=0))
        shift = np.abs(clipped.mean(axis=0) - values.mean(axis=0))
        moved.append((shift / values.std(axis=0) * 10).max())
    beyond = "More records than these 569 need more than this table."
    for text in said():
        assert (
            f"Clipping moves a mean: at 1 % and 99 % by up to {moved[0]:.2g} standard errors, at "
            f"5 % and 95 % by up to {moved[1]:.2g} standard errors."
        ) in text
        assert beyond in text
    for text in said(population="finite"):
        assert beyond not in text


def test_the_first_dropped_column_helps_most(result: report.Report, table: report.Table) -> None:
    one = next(r for r in result.remedies if r.kind == "fewer columns")
    without = {}
    for j, name in enumerate(table.columns):
        kept = np.delete(table.values, j, axis=1)
        others = np.delete(kept, 152, axis=0)
        away = kept[152] - others.mean(axis=0)
        without[name] = away @ np.linalg.solve(np.cov(others.T, ddof=0), away)
    assert one.what == f"without 1 column: {min(without, key=without.get)}"


def test_enough_records_for_the_budget(result: report.Report) -> None:
    enough = [r for r in result.remedies if r.kind == "larger n"][-1]
    n = int(enough.what.split()[3])
    worst = float(result.informed.leakage.max()) * 100
    assert advantage(worst / n) <= 0.2 < advantage(worst / (n - 1))
    assert enough.cost == f"{n - 569} more records than there are"


@pytest.mark.parametrize("worst", [1.0, 2.3, 40.0, 41.0, 1e5])
def test_fewest_records_is_the_fewest(worst: float) -> None:
    budget = Budget(max_advantage=0.2, epsilon=None, delta=1e-5)
    n = least_size(lambda n: budget.met_by(worst / n), 1, 10**9)
    assert n is not None
    assert advantage(worst / n) <= 0.2
    assert n == 2 or advantage(worst / (n - 1)) > 0.2
    assert least_size(lambda n: budget.met_by(np.inf), 1, 10**9) is None


def test_audit_is_that_of_the_worst_game(result: report.Report) -> None:
    game, audit = result.games[0], result.audit
    assert audit is not None
    bound = Audit(game.members, game.nonmembers).epsilon(1e-5, 0.95)
    assert audit.epsilon == pytest.approx(float(bound))
    assert 0 < audit.epsilon < audit.max_certifiable
    assert (audit.row, audit.rounds) == (153, 4000)


def test_audit_without_evidence_says_so() -> None:
    values = np.random.default_rng(0).normal(size=(3000, 1))
    found = report.analyse(report.table_of(values), n=3000, rounds=200, audit=True)
    assert found.audit is not None
    assert found.audit.epsilon == 0
    assert "0 is no evidence, not privacy" in found.to_text()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"max_advantage": 0.0}, "max_advantage=0.0"),
        ({"max_advantage": 1.0}, "max_advantage=1.0"),
        ({"epsilon": -1.0}, "epsilon=-1.0"),
        ({"epsilon": 1.0, "max_advantage": 0.1}, "not both"),
        ({"max_power": 0.1, "max_advantage": 0.1}, "not both"),
        ({"max_power": 0.1, "epsilon": 1.0}, "not both"),
        ({"max_power": 0.01}, "max_power=0.01"),
        ({"max_power": 1.0}, "max_power=1.0"),
        ({"max_noise": -1.0}, "max_noise=-1.0"),
        ({"max_noise": np.inf}, "max_noise=inf"),
        ({"epsilon": 1.0, "delta": 0.0}, "delta=0.0"),
        ({"n": 1}, "n=1"),
        ({"n": 570}, "n=570 must be <= 569"),
        ({"n": 568, "population": "finite"}, "n=568 must be <= 567"),
        ({"population": "both"}, "population='both'"),
        ({"base_population": 99}, "base_population=99"),
        ({"confidence": 1.0}, "confidence=1.0"),
        ({"worst": 0}, "worst=0"),
        ({"rounds": 10}, "rounds=10"),
        ({"seed": -1}, "seed=-1"),
        ({"shrinkage": 1.5}, "shrinkage=1.5"),
        ({"shrinkage": "some"}, "shrinkage='some'"),
        ({"missing": "maybe"}, "missing='maybe'"),
    ],
)
def test_parameters_out_of_range(table: report.Table, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        report.analyse(table, **wrong)


def test_a_release_of_equal_records_leaks_nothing() -> None:
    """One record in 400 has a 1: clipped, or without that record, all are the same."""
    values = np.zeros((400, 1))
    values[5] = 1.0
    result = report.analyse(report.table_of(values, ["rare"]), rounds=200)
    by_kind = {remedy.what: remedy for remedy in result.remedies}
    for what in ("columns clipped at 1 % and 99 %", "without the worst record"):
        assert (by_kind[what].leakage, by_kind[what].advantage) == (0.0, 0.0)
        assert by_kind[what].power == pytest.approx(0.01)


def test_others_without_spread_have_no_skewness() -> None:
    values = np.array([[5.0, 1, 9, 5], [7, 3, 7, 3], [7, 3, 7, 3], [7, 3, 7, 3]])
    result = report.analyse(report.table_of(values), rounds=200)
    assert all(np.isfinite(game.skewness) for game in (*result.games, result.noise.game))
