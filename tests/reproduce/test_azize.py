"""Figure 2 (a-e) of Azize & Basu (2024): numbers agree with the theory, and it shows if not."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import reproduce
from leakscore.games import Bernoulli, EmpiricalMean, fixed_target
from reproduce import azize

ALPHAS = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5]


@pytest.fixture(scope="module")
def outcome() -> object:
    return azize.reproduce(rounds=400, seed=3)


def row(outcome: azize.Outcome, name: str) -> azize.Row:
    (found,) = [row for row in outcome.rows if row.name == name]
    return found


def test_numbers_agree_with_the_theory(outcome: azize.Outcome) -> None:
    assert outcome.ok
    assert all(row.ok for row in outcome.rows)
    assert len(outcome.rows) == 7 * (5 + len(ALPHAS))
    assert len({row.name for row in outcome.rows}) == len(outcome.rows)


def test_the_setting_is_the_papers(outcome: azize.Outcome) -> None:
    """Leakage near its mean over p: 5(4 ln 2 - 1), d/n, 5(4 ln 3/2 - 1), and with noise."""
    leakage = {name: game.leakage for name, game in outcome.curves["targets"].items()}
    expected = {"easy": 5 * (4 * np.log(2) - 1), "medium": 5.0, "hard": 5 * (4 * np.log(1.5) - 1)}
    assert leakage == pytest.approx(expected, abs=0.2)
    noisy = {gamma: game.leakage for gamma, game in outcome.curves["noise"].items()}
    # The mean of (z - p)^2 / (p (1 - p) + gamma^2) for the easy target, by a midpoint sum.
    p = np.linspace(0.25, 0.75, 200_001)[:-1] + 1.25e-6
    apart = np.maximum(p, 1 - p) ** 2
    for gamma, m in noisy.items():
        assert m == pytest.approx(5 * np.mean(apart / (p * (1 - p) + gamma**2)), rel=0.02)


def test_the_theory_is_the_gaussian_one(outcome: azize.Outcome) -> None:
    for name, game in outcome.curves["targets"].items():
        m, rounds = game.leakage, outcome.rounds
        for hypothesis, mean in (("H0", -m / 2), ("H1", m / 2)):
            found = row(outcome, f"{name}: mean of the score, {hypothesis}")
            assert found.theory == mean
            assert found.tolerance == pytest.approx(4 * np.sqrt(m / rounds))
            found = row(outcome, f"{name}: variance, {hypothesis}")
            assert (found.theory, found.tolerance) == (
                m,
                pytest.approx(4 * m * np.sqrt(2 / rounds)),
            )
        x = stats.norm.cdf(-np.sqrt(m) / 2)
        found = row(outcome, f"{name}: advantage at score 0")
        assert found.theory == pytest.approx(1 - 2 * x)
        assert found.tolerance == pytest.approx(4 * np.sqrt(2 * x * (1 - x) / rounds))
        for alpha in ALPHAS:
            z = stats.norm.ppf(alpha)
            power = stats.norm.cdf(z + np.sqrt(m))
            slope = stats.norm.pdf(z + np.sqrt(m)) / stats.norm.pdf(z)
            variance = (power * (1 - power) + slope**2 * alpha * (1 - alpha)) / rounds
            found = row(outcome, f"{name}: power at {alpha:g}")
            assert found.theory == pytest.approx(power)
            assert found.tolerance == pytest.approx(4 * np.sqrt(variance))


def test_the_scores_are_equation_10() -> None:
    rng = np.random.default_rng(5)
    p, z = rng.uniform(0.25, 0.75, 300), rng.integers(0, 2, 300).astype(float)
    game = azize.play("name", z, p, 0.5, 40, np.random.default_rng(6))
    noisy = EmpiricalMean(1000, noise_std=0.5 / np.sqrt(1000))
    outputs, member = fixed_target(
        Bernoulli(p), z, noisy, 80, np.random.default_rng(6), balanced=True
    )
    weights = (z - p) / (p * (1 - p) + 0.25)
    scores = (outputs - p) @ weights - ((z - p) * weights).sum() / 2000
    np.testing.assert_allclose(game.members, scores[member], rtol=1e-10)
    np.testing.assert_allclose(game.nonmembers, scores[~member], rtol=1e-10)


@pytest.mark.parametrize("shift", [0.3, -0.3])
def test_scores_that_are_off_are_noticed(outcome: azize.Outcome, shift: float) -> None:
    game = outcome.curves["targets"]["easy"]
    members = game.members * (1 + shift)
    rows = azize.Game("easy", game.leakage, members, game.nonmembers).rows()
    assert not all(row.ok for row in rows)


def test_the_command_prints_and_draws(tmp_path: Path) -> None:
    stream = io.StringIO()
    folder = tmp_path / "new" / "folder"
    assert reproduce.run("azize-2", rounds=200, seed=1, out=folder, stream=stream)
    lines = stream.getvalue().splitlines()
    assert "200 rounds per hypothesis and setting, seed 1" in lines
    assert sum(line.endswith("  ok") for line in lines) == 77
    assert lines[-1] == f"Figure written to {folder / 'azize-2.png'}"
    assert (folder / "azize-2.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_failures_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of a figure one number of which is off."""
    rows = azize.Row("right", 1.0, 1.0, 0.1), azize.Row("off", 2.0, 1.0, 0.1)
    figure = SimpleNamespace(reproduce=lambda **_: azize.Outcome("title", 200, 1, rows, {}))
    monkeypatch.setitem(sys.modules, "reproduce.azize", figure)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    stream = io.StringIO()
    assert reproduce.run("azize-2", rounds=200, out=tmp_path, stream=stream) is False
    assert "FAILS" in stream.getvalue()
    assert "1 of them do not" in stream.getvalue()


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    stream = io.StringIO()
    assert reproduce.run("azize-2", rounds=200, out=tmp_path, stream=stream)
    assert "Figure not written" in stream.getvalue()
    assert "leakscore[plot]" in stream.getvalue()
    assert "77 numbers" in stream.getvalue()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"name": "azize-33"}, ValueError, "azize-2"),
        ({"name": 2}, TypeError, "name"),
        ({"name": "azize-2", "rounds": 1}, ValueError, "rounds=1"),
        ({"name": "azize-2", "rounds": 10.0}, TypeError, "rounds"),
        ({"name": "azize-2", "seed": -1}, ValueError, "seed=-1"),
    ],
)
def test_bad_arguments(arguments: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        reproduce.run(**arguments)


def test_names() -> None:
    names = reproduce.names()
    assert names == sorted(names)
    assert {"azize-2", "azize-5", "azize-6", "azize-subsampling", "genotypes"} <= set(names)


@pytest.mark.slow
def test_ten_thousand_rounds_per_hypothesis() -> None:
    outcome = azize.reproduce()
    assert outcome.rounds == 10_000
    assert outcome.ok, outcome.table()
