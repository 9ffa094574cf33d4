"""A record of high leverage narrows the spread of coefficients by being there: it is judged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from leakscore import statistics
from leakscore_app import report
from leakscore_app.cli import main
from tests.helpers.parts import narrowed
from tests.helpers.sizes import sizes

N, ROUNDS = 300, 20_000


def designed(residual: float, holders: int = 2) -> np.ndarray:
    """Return x, a flag of few holders, and y; the first holder's residual is about as given."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, N))
    flag = (np.arange(N) < holders).astype(float)
    table = np.column_stack([x, flag, x + y])
    for _ in range(50):  # what moves the fit moves the residual
        design = np.column_stack([np.ones(N), table[:, :2]])
        fit = np.linalg.lstsq(design, table[:, 2], rcond=None)[0]
        table[0, 2] += residual - (table[0, 2] - design[0] @ fit)
    return table


@pytest.mark.parametrize(("residual", "holders"), [(0.0, 2), (0.7, 2), (0.0, 3), (1.0, 4)])
def test_the_law_is_that_of_fits_to_drawn_responses(residual: float, holders: int) -> None:
    """Responses of the others are drawn anew, and coefficients fitted with the record and without.

    The best linear test of coefficients without it is along H_o^-1 x; its distribution functions
    are compared with the two normal laws at the ends of where the one with the record is likelier.
    """
    rng, table = np.random.default_rng(5), designed(residual, holders)
    design = np.column_stack([np.ones(N), table[:, :2]])
    truth = np.linalg.lstsq(design[1:], table[1:, 2], rcond=None)[0]
    gap = table[0, 2] - design[0] @ truth
    drawn = design @ truth + rng.normal(size=(ROUNDS, N))
    drawn[:, 0] = table[0, 2]
    with_record = drawn @ np.linalg.pinv(design).T - truth
    without = drawn[:, 1:] @ np.linalg.pinv(design[1:]).T - truth
    inverse = np.linalg.inv(design[1:].T @ design[1:])
    along = design[0] / np.sqrt(design[0] @ inverse @ design[0])
    seen = [with_record @ along, without @ along]
    fit = statistics.Regression(response="y").on(["x", "flag", "y"]).prepare(table)
    h = fit.leverages(table)[0]
    spread, shift = 1 - h, np.sqrt(h * (1 - h)) * gap
    assert np.std(seen[1]) == pytest.approx(1, rel=5 / np.sqrt(2 * ROUNDS))
    assert np.std(seen[0]) == pytest.approx(spread, rel=5 / np.sqrt(2 * ROUNDS))
    assert np.mean(seen[0]) == pytest.approx(shift, abs=5 * spread / np.sqrt(ROUNDS))
    points = np.linspace(-8, 8, 100_001)
    likelier = norm.pdf(points, shift, spread) > norm.pdf(points)
    low, high = points[likelier].min(), points[likelier].max()
    shares = [float(np.mean((scores > low) & (scores < high))) for scores in seen]
    leakage = shift**2 / spread
    advantage = float(narrowed(leakage, h))
    assert shares[0] - shares[1] == pytest.approx(advantage, abs=5 / np.sqrt(2 * ROUNDS))


def test_the_law_is_total_variation() -> None:
    points = np.linspace(-14, 14, 1_000_001)
    for leakage, h in [(0, 0.5), (0.25, 1e-9), (0.25, 1e-4), (1, 0.3), (4, 0.5), (0.01, 0.9)]:
        s = 1 - h
        gaps = np.abs(norm.pdf(points) - norm.pdf(points, np.sqrt(leakage * s), s))
        expected = gaps.sum() * (points[1] - points[0]) / 2
        assert narrowed(leakage, h) == pytest.approx(expected, abs=1e-6)
    assert narrowed([0.0, 1.0, np.inf], [0.0, 1.0, 0.1]).tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("held", ["whole", "blocks"])
@pytest.mark.parametrize(("holders", "decision"), [(2, "do not publish"), (20, "publish")])
def test_the_verdict_names_record_and_column(
    holders: int, decision: str, held: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes(monkeypatch, long=100 if held == "blocks" else 10**6)
    table = report.table_of(designed(0.0, holders), ["x", "flag", "y"])
    regression = statistics.Regression(response="y")
    verdict = report.analyse(
        table, statistic=regression, rounds=2000, max_advantage=0.3, distinct_records=True
    ).verdict
    assert verdict.decision == decision
    if holders == 2:
        assert "has leverage 0.5" in verdict.why
        assert "coefficient of 'flag', an advantage of 32.3 %" in verdict.why


def test_the_remedy_helps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    np.savetxt(path, designed(0.0), "%.12g", delimiter=",", header="x,flag,y", comments="")
    options = ["--statistic", "regression", "--response", "y", "--rounds", "400", "--check"]
    options += ["--max-advantage", "0.3"]
    assert main(["report", str(path), *options]) == 3
    assert "(--exclude flag)" in " ".join(capsys.readouterr().out.split())
    assert main(["report", str(path), *options, "--exclude", "flag"]) == 0


def models() -> list[tuple[statistics.GLM | statistics.Cox, report.Table]]:
    """Return a GLM and a Cox model in which three records hold a flag, and the third fits it."""
    rng = np.random.default_rng(3)
    x, flag = rng.normal(size=150), (np.arange(150) < 3).astype(float)
    y = rng.poisson(np.exp(1 + 0.3 * x)).astype(float)
    time = rng.exponential(1, 150)
    y[:3], time[:3] = 3, [0.9, 0.9001, 0.9002]
    counts, times = np.column_stack([x, flag, y]), np.column_stack([x, flag, time, np.ones(150)])
    return [
        (statistics.GLM("y", "poisson"), report.table_of(counts, ["x", "flag", "y"])),
        (statistics.Cox("t", "e"), report.table_of(times, ["x", "flag", "t", "e"])),
    ]


@pytest.mark.parametrize(("place", "theory", "played"), [(0, 0.01, 0.3), (1, 0.07, 0.12)])
def test_records_of_large_leverage_are_played_whatever_their_shift(
    place: int, theory: float, played: float
) -> None:
    model, table = models()[place]
    result = report.analyse(table, statistic=model, distinct_records=True, rounds=4000)
    (game,) = (game for game in result.games if game.row == 3)
    assert game.advantage.theory < theory
    assert game.advantage.simulated > played
    text = " ".join(result.to_text().split())
    assert "those of the largest leverages" in text
    assert "Not played: who knows the few records that hold a value" in text


def test_leverages_of_persons_are_those_of_all_their_records() -> None:
    table = designed(0.5)
    fit = statistics.Regression(response="y").on(["x", "flag", "y"]).prepare(table)
    owners = np.arange(N)
    owners[:3] = 0
    design = np.column_stack([np.ones(N), table[:, :2]])
    hat = design @ np.linalg.pinv(design)
    result = fit.leverages(table, owners)
    assert result[3:] == pytest.approx(np.diag(hat)[3:])
    assert result[:3] == pytest.approx(np.linalg.eigvalsh(hat[:3, :3])[-1])


def test_a_quiet_record_of_large_leverage_is_played_beside_loud_ones() -> None:
    """Records that are played for their shift take no place of those that narrow the spread."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=150)
    x[[3, 7, 11, 20]] = [9.0, -9.0, 8.5, 7.0]
    y = 0.5 * x + rng.normal(size=150)
    y[[3, 7, 11]] += [4.0, 4.0, -4.0]
    y[20] = np.polyval(np.polyfit(np.delete(x, 20), np.delete(y, 20), 1), 7.0)
    table = report.table_of(np.column_stack([x, y]), ["x", "y"])
    response = statistics.Regression(response="y")
    result = report.analyse(table, statistic=response, distinct_records=True, rounds=1000)
    assert {4, 8, 12, 21} <= {game.row for game in result.games}
