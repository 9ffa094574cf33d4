"""Means with weights that everybody knows, or that are data of the records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore import statistics
from leakscore.statistics import KnownWeights
from leakscore_app import report
from leakscore_app.cli import main
from tests.helpers.sizes import sizes

SIZE = 120
RNG = np.random.default_rng(12)
X = RNG.standard_t(6, size=(SIZE, 2)) @ [[1.0, 0.4], [0.0, 2.0]] + [50.0, 1.0]
WEIGHTS = RNG.gamma(0.7, size=SIZE) + 0.05


def table(weights: np.ndarray = WEIGHTS, **options: Any) -> report.Table:
    return report.table_of(np.column_stack([X, weights]), ["a", "b", "w"], **options)


def distance(row: int) -> float:
    others = np.delete(X, row, axis=0)
    away = X[row] - others.mean(axis=0)
    return float(away @ np.linalg.solve(np.cov(others.T, ddof=0), away))


def test_a_record_leaks_by_the_square_of_its_weight() -> None:
    result = report.analyse(table(), statistic=KnownWeights("w"), rounds=400)
    sizes = (WEIGHTS @ WEIGHTS) / WEIGHTS**2  # of a plain mean that tells as much
    for row in (0, 5, 119):
        assert result.informed.leakage[row] == pytest.approx(distance(row) / sizes[row], rel=1e-9)
    effective = WEIGHTS.sum() ** 2 / (WEIGHTS @ WEIGHTS)
    assert result.to_dict()["effective_n"] == pytest.approx(effective)
    assert f"as one of {effective:.4g} records" in " ".join(result.to_text().split())
    assert result.input.columns_judged == ("a", "b")


def test_the_score_of_a_simulated_release_follows_the_law() -> None:
    """4 standard errors of 20,000 rounds: means, variances, rates of the report's own game.

    The weighted sums are drawn here anew, record by record; the score is the log-likelihood ratio
    of the release rescaled to one of equal weights.
    """
    row, rounds = int(np.argsort(WEIGHTS)[-9]), 20_000
    share = WEIGHTS / WEIGHTS.sum()
    others = np.delete(X, row, axis=0)
    centre, cov = others.mean(axis=0), np.cov(others.T, ddof=0)
    weight = np.linalg.solve(cov, X[row] - centre)
    line, own = (others - centre) @ weight, float((X[row] - centre) @ weight)
    scale, m = float(share @ share), float(own * share[row] ** 2 / (share @ share))
    rng = np.random.default_rng(7)
    drawn = line[rng.integers(len(line), size=(rounds, SIZE))]
    without = drawn @ share
    inside = without + share[row] * (own - drawn[:, row])
    result = report.analyse(table(), statistic=KnownWeights("w"), rounds=400)
    assert result.informed.leakage[row] == pytest.approx(m, rel=1e-9)
    for released, centred in ((without, -m / 2), (inside, m / 2)):
        score = released * share[row] / scale - m / 2
        assert abs(score.mean() - centred) < 4 * score.std() / np.sqrt(rounds)
        spread = (score - score.mean()) ** 2
        lost = share[row] ** 2 / scale if centred > 0 else 0.0  # one record less varies
        assert abs(spread.mean() - m * (1 - lost)) < 4 * spread.std() / np.sqrt(rounds)


def test_the_game_agrees_and_noise_hides() -> None:
    result = report.analyse(table(), statistic=KnownWeights("w"), rounds=4000, max_noise=9.0)
    game = result.games[-1]  # the record in the middle
    for one in (game.advantage, game.power, *game.mean):
        assert abs(one.z) < 4
    assert result.verdict is not None
    assert result.noise is not None
    assert result.verdict.decision == "publish with noise"
    assert result.noise.confirmed
    row, n = result.noise.binding_row - 1, result.to_dict()["effective_n"]
    std = result.noise.standard_errors / np.sqrt(n)
    others = np.delete(X, row, axis=0)
    cov = np.cov(others.T, ddof=0) + n * std**2 * np.diag(X.var(axis=0))
    away = X[row] - others.mean(axis=0)
    expected = float(away @ np.linalg.solve(cov, away)) * WEIGHTS[row] ** 2 / (WEIGHTS @ WEIGHTS)
    assert result.noise.leakage == pytest.approx(expected, rel=1e-8)


def test_few_heavy_weights_are_far_from_normal() -> None:
    """One record has half of the weight: the game decides, and the report says so."""
    heavy = np.ones(SIZE)
    heavy[[3, 4]] = 200.0
    result = report.analyse(table(heavy), statistic=KnownWeights("w"), rounds=20_000)
    assert any(game.differs for game in result.games)
    effective = heavy.sum() ** 2 / (heavy @ heavy)
    assert f"n = {effective:.4g} the normal theory is rough" in " ".join(result.to_text().split())


def test_equal_weights_are_a_plain_mean() -> None:
    plain = report.analyse(report.table_of(X, ["a", "b"]), rounds=400)
    same = report.analyse(table(np.full(SIZE, 0.3)), statistic=KnownWeights("w"), rounds=400)
    np.testing.assert_allclose(same.informed.leakage, plain.informed.leakage, rtol=1e-12)
    np.testing.assert_allclose(same.weaker.leakage, plain.weaker.leakage, rtol=1e-12)
    none = WEIGHTS.copy()
    none[7] = 0.0
    result = report.analyse(table(none), statistic=KnownWeights("w"), rounds=400)
    assert result.informed.leakage[7] == 0.0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.where(np.arange(SIZE) == 4, -1.0, 1.0), "at least 0, not -1.0 in record 5"),
        (np.where(np.arange(SIZE) == 4, np.nan, 1.0), "finite and at least 0, not nan in record 5"),
        (np.where(np.arange(SIZE) == 4, np.inf, 1.0), "finite and at least 0, not inf in record 5"),
        (np.zeros(SIZE), r"Two weights \('w'\) must be above 0: all are 0"),
        (np.where(np.arange(SIZE) == 4, 1.0, 0.0), "all others are 0"),
    ],
)
def test_no_weights(weights: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        report.analyse(table(weights), statistic=KnownWeights("w"))
    if not message.endswith("others are 0"):
        for data in (statistics.WeightedMean("w"), statistics.WeightedRatio("w")):
            with pytest.raises(ValueError, match="'w'"):
                report.analyse(table(weights), statistic=data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 60}, "all 120 records, not of n=60"),
        ({"population": "finite", "n": 100}, "n=100"),
        ({"previous": 50}, "one mean, without previous ones"),
        ({"exclude": ["w"]}, "column 'w' must be judged, but: --exclude"),
    ],
)
def test_what_no_law_is_known_for(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        report.analyse(table(), statistic=KnownWeights("w"), **options)
    ids = [str(i // 2) for i in range(SIZE)]
    with pytest.raises(ValueError, match="one record a person"):
        report.analyse(table(ids=ids), statistic=KnownWeights("w"))


@pytest.mark.parametrize("role", ["public", "ratio", "data"])
def test_columns_that_follow_from_the_weights_are_judged(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, role: str
) -> None:
    """A mean with weights w of a - w is no function of those of a and of w."""
    path = tmp_path / "t.csv"
    rows = np.column_stack([X[:, 0], X[:, 0] - WEIGHTS, WEIGHTS])
    np.savetxt(path, rows, delimiter=",", header="a,c,w", comments="", fmt="%.17g")
    arguments = ["report", str(path), "--weights", "w", "--weights-are", role, "--rounds", "400"]
    assert main([*arguments, "--columns", "a,c", "--worst", "1"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    columns = 3 if role == "data" else 2
    assert f"records in {columns} columns are judged" in text
    assert "must be judged" not in text
    assert main(["report", str(path), "--weights-are", role]) == 1
    assert "belongs to --weights" in capsys.readouterr().err


def test_games_of_long_tables_draw_weight_by_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """The game of the heaviest record, whose place is not that of the last one, is the same."""
    asked: dict[str, Any] = {"statistic": KnownWeights("w"), "rounds": 8000}
    plain = report.analyse(table(), **asked).games[0]
    sizes(monkeypatch, drawn=SIZE - 1)
    found = report.analyse(table(), **asked).games[0]
    assert found.row == plain.row
    assert found.advantage.simulated != plain.advantage.simulated  # other draws
    for name in ("advantage", "power", "false_positives"):
        one, other = getattr(found, name), getattr(plain, name)
        error = np.hypot(one.std_error, other.std_error)
        assert abs(one.simulated - other.simulated) < 4 * error, name


@pytest.mark.parametrize("case", ["alone with a value", "the others weigh nothing"])
def test_records_without_weight_leave_no_trace(case: str) -> None:
    """Even where one alone has a value, and where only they remain without the worst."""
    rng = np.random.default_rng(0)
    size = 60 if case == "alone with a value" else 12
    weights = rng.integers(0, 3, size) * 1.0
    if size == 12:
        weights[:] = np.isin(np.arange(size), [3, 4, 6, 8, 9])
    weights[7] = 0.0
    values = np.column_stack([rng.normal(size=size), np.arange(size) == 7, weights])
    columns = [0, 1, 2] if size == 60 else [0, 2]
    names = [["x", "flag", "w"][j] for j in columns]
    found = report.analyse(
        report.table_of(values[:, columns], names), statistic=KnownWeights("w"), rounds=400
    )
    assert all(np.isfinite(game.advantage.simulated) for game in found.games)


def test_the_numbers_of_a_csv_are_named_as_what_they_are() -> None:
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(40, 9, 300), rng.uniform(1, 3, 300)])
    result = report.analyse(
        report.table_of(values, ["age", "w"]),
        statistic=statistics.WeightedMean("w"),
        draw_noise=True,
        rounds=400,
        max_advantage=0.9,
        distinct_records=True,
    )
    lines = [line.split(",") for line in result.to_csv().splitlines()]
    average = np.average(values[:, 0], weights=values[:, 1])
    assert [name for name, _ in lines] == ["name", "sum of w", "age weighted by w"]
    assert [float(number) for _, number in lines[1:]] == pytest.approx(
        [values[:, 1].sum(), average]
    )
