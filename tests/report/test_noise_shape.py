"""The noise of least cost that a report offers, held against refits and games of our own."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from leakscore import leakage
from leakscore.statistics import Sum
from leakscore_app import report
from leakscore_app.cli import main
from tests.helpers.parts import Population


def skewed(size: int = 120, dim: int = 4) -> np.ndarray:
    rng = np.random.default_rng(9)
    values = rng.lognormal(sigma=0.8, size=(size, dim)) @ rng.normal(size=(dim, dim))
    return values * [1, 100, 0.01, 5][:dim] + 3


def refitted(values: np.ndarray, n: int, cov: np.ndarray, *, finite: bool) -> np.ndarray:
    """Leakage of every record by as many refits, with noise of a covariance on the mean."""
    share, found = (1 - n / len(values) if finite else 1.0), []
    for index, x in enumerate(values):
        others = np.delete(values, index, axis=0)
        away = x - others.mean(axis=0)
        law = share * np.cov(others.T, ddof=0) / n + cov
        found.append(away @ np.linalg.solve(law, away) / n**2)
    return np.array(found)


def advantage(score: float) -> float:
    return float(2 * stats.norm.cdf(np.sqrt(score) / 2) - 1)


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("limit", [0.05, 0.3])
def test_the_matrix_brings_every_record_under_the_limit(finite: bool, limit: float) -> None:
    values, n = skewed(), 40
    result = report.analyse(
        report.table_of(values),
        n=n,
        population="finite" if finite else "infinite",
        max_advantage=limit,
        rounds=8000,
    )
    noise = result.noise
    assert (noise.shape, noise.confirmed, noise.why_same) == ("optimal", True, "")
    after = refitted(values, n, noise.covariance, finite=finite)
    assert noise.leakage == pytest.approx(after[noise.binding_row - 1], rel=1e-9)
    assert noise.leakage >= (1 - 1e-3) * after.max()  # one of those at the limit
    assert advantage(after.max()) <= limit
    assert noise.game.advantage.upper <= limit
    # In standard errors of the means, which vary less if drawn without replacement.
    share = 1 - n / len(values) if finite else 1.0
    errors = values.std(axis=0) * np.sqrt(share / n)
    std = np.sqrt(np.diag(noise.covariance))
    np.testing.assert_allclose(list(noise.noise_std.values()), std, rtol=1e-12)
    np.testing.assert_allclose(list(noise.column_standard_errors.values()), std / errors, rtol=1e-9)
    assert noise.standard_errors == pytest.approx(np.sqrt(np.mean((std / errors) ** 2)), rel=1e-9)
    assert noise.cost == pytest.approx(np.sum((std / errors) ** 2), rel=1e-9)


@pytest.mark.parametrize("finite", [False, True])
def test_it_costs_what_the_theory_says_and_less_than_the_others(finite: bool) -> None:
    values, n, limit = skewed(), 40, 0.1
    population = "finite" if finite else "infinite"
    found = {
        shape: report.analyse(
            report.table_of(values),
            n=n,
            population=population,
            max_advantage=limit,
            noise_shape=shape,
            rounds=4000,
        ).noise
        for shape in ("optimal", "independent", "same")
    }
    sizes = [found[shape].standard_errors for shape in ("optimal", "independent", "same")]
    assert sizes == sorted(sizes)
    assert sizes[0] < 0.95 * sizes[2]
    best = found["optimal"]
    beside = {shape: found[shape].theory_standard_errors for shape in ("independent", "same")}
    assert best.beside == pytest.approx(beside, rel=1e-12)
    for one in (best, found["independent"]):
        # The bound of the theory, on what is offered after the game.
        least = one.theory_standard_errors**2 * len(values.T)
        assert (1 - one.gap) * one.cost == pytest.approx(least, rel=1e-3)
        assert (1 - one.gap) * one.cost <= least * (1 + 1e-12)
        assert one.cost >= least
    assert found["independent"].covariance is None


def test_another_game_with_the_matrix_finds_what_the_report_confirms() -> None:
    """Every round draws rows, and noise of the matrix as the report says to draw it."""
    values, n, limit, rounds = skewed(), 25, 0.2, 30_000
    noise = report.analyse(report.table_of(values), n=n, max_advantage=limit, seed=3).noise
    rng = np.random.default_rng(77)
    for row in noise.rows_played[:2]:
        others = np.delete(values, row - 1, axis=0)
        away = values[row - 1] - others.mean(axis=0)
        weight = np.linalg.solve(np.cov(others.T, ddof=0) / n + noise.covariance, away)
        shares = []
        for member in (True, False):
            rows = rng.integers(0, len(others), (rounds, n - member))
            total = others[rows].sum(axis=1) + member * values[row - 1]
            drawn = rng.multivariate_normal(np.zeros(4), noise.covariance, size=rounds)
            score = (total / n + drawn - others.mean(axis=0)) @ weight - away @ weight / (2 * n)
            shares.append((score > 0).mean())
        found = shares[0] - shares[1]
        error = np.sqrt(sum(share * (1 - share) for share in shares) / rounds)
        assert found < limit + 3 * error
        if row == noise.game.row:
            game = noise.game.advantage
            assert abs(found - game.simulated) < 4 * np.hypot(error, game.std_error)


@pytest.mark.parametrize("finite", [False, True])
def test_leakages_under_a_matrix(finite: bool) -> None:
    values = skewed(60, 3)
    root = np.random.default_rng(1).normal(size=(3, 2))
    people = Population(values, 20, finite=finite, shrinkage=None)
    expected = refitted(
        values, 20, root @ root.T * np.outer(people.scale, people.scale), finite=finite
    )
    np.testing.assert_allclose(people.noisy(root @ root.T, people.earlier), expected, rtol=1e-9)
    nothing = people.noisy(np.zeros((3, 3)), people.earlier)
    np.testing.assert_allclose(nothing, people.informed(), rtol=1e-9)


def test_what_the_matrix_tells_of_the_worst_record() -> None:
    """Noise computed anew without the record, and its leakage under it, by the public functions."""
    values, n = skewed(), 40
    noise = report.analyse(report.table_of(values), n=n, max_advantage=0.1).noise
    told = noise.told
    assert told.row == noise.binding_row
    assert told.leakage == noise.leakage
    others = np.delete(values, told.row - 1, axis=0)
    low, high = 0.0, 0.1  # the limit that theory was asked for, after the game: from the cost
    for _ in range(40):
        middle = (low + high) / 2
        cost = leakage.noise_for_table(values, n, max_advantage=middle).cost
        low, high = (middle, high) if cost > noise.cost else (low, middle)
    without = leakage.noise_for_table(others, n, max_advantage=high).covariance
    away = values[told.row - 1] - others.mean(axis=0)
    law = np.cov(others.T, ddof=0) / n + without
    expected = away @ np.linalg.solve(law, away) / n**2
    assert told.leakage_without == pytest.approx(expected, rel=1e-2)
    assert told.advantage_without == pytest.approx(advantage(told.leakage_without), rel=1e-9)
    assert told.leakage_without > 1.2 * told.leakage


def test_the_json_has_what_it_takes_to_draw_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--n", "569", "--rounds", "2000", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    noise = found["noise"]
    matrix = np.array(noise["covariance"])
    assert noise["shape"] == "optimal"
    np.testing.assert_array_equal(matrix, matrix.T)
    std = list(noise["noise_std"].values())
    np.testing.assert_allclose(np.sqrt(np.diag(matrix)), std, rtol=1e-12)
    values = report.embedded_table().values
    after = refitted(values, 569, matrix, finite=False)
    assert advantage(after.max()) <= 0.2
    assert noise["gap"] < 0.2
    assert noise["cost"] == pytest.approx(30 * noise["standard_errors"] ** 2, rel=1e-9)
    assert found["verdict"]["noise_standard_errors"] == noise["standard_errors"]
    assert found["verdict"]["decision"] == "publish with noise"


def test_what_must_be_said_is_said() -> None:
    result = report.analyse(report.table_of(skewed()), n=40, max_advantage=0.1, max_noise=9)
    for told in (result.to_text(), result.to_html()):
        text = " ".join(told.replace("\u00a0", " ").split())
        for words in (
            "Draw it once, with numpy.random.default_rng().multivariate_normal(means, covariance)",
            "repeated draws has less noise",
            "Keep the matrix to yourself",
            "for an attacker who is not told the matrix",
            "an earlier, a public or a simulated one",
            "protects the records in this table",
            "It is no differential privacy.",
            f"without it {result.noise.told.leakage_without:.4g}",
        ):
            assert words in text, words
    assert "if its shape stays secret." in result.verdict.why


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"shrinkage": 0.1}, "with a shrunk covariance"),
        ({"statistic": Sum()}, "for another statistic than the mean"),
        ({"noise_shape": "same"}, "it was asked for"),
    ],
)
def test_where_it_is_the_same_in_every_column_the_text_says_why(options: dict, why: str) -> None:
    table = report.table_of(skewed())
    result = report.analyse(table, max_advantage=0.05, rounds=1000, **options)
    noise = result.noise
    assert (noise.shape, noise.covariance, noise.told, noise.beside) == ("same", None, None, None)
    assert why in noise.why_same
    text = " ".join(result.to_text().split())
    assert f"same in every column: {noise.why_same}." in text
    of_sum = "of its standard errors to each published number. The theory"
    of_mean = "standard errors of the mean to each column. The theory"
    assert (of_sum if "statistic" in options else of_mean) in text
    if "noise_shape" not in options:
        with pytest.raises(ValueError, match=f"noise_shape='optimal' must be 'same': {why}"):
            report.analyse(table, max_advantage=0.05, noise_shape="optimal", **options)


@pytest.mark.parametrize("shape", ["optimal", "independent", "same"])
def test_noise_on_one_column_is_not_said_to_differ_between_columns(shape: str) -> None:
    table = report.table_of(skewed(60, 1))
    result = report.analyse(table, max_advantage=0.1, rounds=400, noise_shape=shape)
    text = " ".join(result.to_text().split())
    assert result.noise.standard_errors > 0
    assert "standard errors of the mean to each column." in text
    assert "between columns" not in text


def test_an_unknown_shape_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="noise_shape"):
        report.analyse(report.table_of(skewed()), noise_shape="round")
    assert main(["report", "--noise-shape", "independent", "--rounds", "1000"]) == 0
    assert "independent between columns" in " ".join(capsys.readouterr().out.split())
    assert main(["report", "--noise-shape", "optimal", "--shrinkage", "0.1"]) == 1
    assert "shrunk covariance" in capsys.readouterr().err


def test_no_noise_is_needed_and_none_is_offered() -> None:
    values = np.random.default_rng(2).normal(size=(200, 2))
    noise = report.analyse(report.table_of(values), max_advantage=0.9).noise
    assert (noise.standard_errors, noise.covariance, noise.told) == (0, None, None)
    assert noise.confirmed


def test_no_other_shape_is_named_where_only_the_game_asks_for_noise() -> None:
    """In theory each of them takes none, which no game confirms."""
    result = report.analyse(report.table_of(skewed()), n=40, max_advantage=0.3, rounds=2000)
    other = "must be independent between columns"
    assert other in " ".join(result.to_text().split())
    none = {"independent": 0.0, "same": 0.0}
    noise = replace(result.noise, theory_standard_errors=0.0, beside=none)
    assert other not in " ".join(replace(result, noise=noise).to_text().split())
