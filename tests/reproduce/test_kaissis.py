"""Figures of Kaissis et al.: the attacks agree with the curves, the curves with known values."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import reproduce
from leakscore import tradeoff
from reproduce import kaissis, kaissis_audits, kaissis_calibration, kaissis_power
from reproduce._outcome import Outcome

QUICK: dict[str, Any] = {
    "kaissis-1": (kaissis, 4000),
    "kaissis-2": (kaissis_power, 4000),
    "kaissis-3b": (kaissis_audits.GAUSSIAN, 24),
    "kaissis-5": (kaissis_audits.LAPLACE, 24),
    "kaissis-6": (kaissis_audits.SUBSAMPLED, 24),
}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    return {
        name: figure.reproduce(rounds=rounds, seed=3) for name, (figure, rounds) in QUICK.items()
    }


@pytest.mark.parametrize("name", QUICK)
def test_attacks_agree_with_the_curves(name: str, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[name]
    assert [str(row) for row in outcome.rows if not row.ok] == []
    assert len({row.name for row in outcome.rows}) == len(outcome.rows)


@pytest.mark.parametrize("name", QUICK)
def test_figures_are_drawn(name: str, outcomes: dict[str, Outcome], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    QUICK[name][0].draw(outcomes[name], tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 20_000


# Worked out by hand from the laws, independently of this library, to the digits given.
KNOWN = {
    "kaissis-1": {
        "Laplace 0.6: j(0.1)": 0.881453,
        "Laplace 0.6: inverse(0.1)": 0.834253,
        "Laplace 0.6: J(0.1)": 0.834253,
        "Laplace 1.5: j(0.1)": 0.764759,
        "Laplace 1.5: inverse(0.1)": 0.647667,
        "Gaussian 0.6, d = 1: j(0.1)": 0.839566,
        "Gaussian 0.6, d = 1: inverse(0.1)": 0.880440,
        "Gaussian 1.5, d = 1: J(0.1)": 0.556756,
        "Gaussian 1.5, d = 1: inverse(0.1)": 0.707391,
        "Gaussian 1, d = 1: j(0.1)": 0.736403,
        "Gaussian 1, d = 30: j(0.1)": 0.873415,
    },
    "kaissis-2": {
        "150 steps, d = 300: j(0.1)": 0.848903,
        "informed, ratio 2: power at 0.001": 0.137805,
        "informed, ratio 4: power at 0.001": 0.818527,
        "relaxed, ratio 3: power at 0.001": 0.385707,
        "relaxed, rate 0.3, ratio 3: power at 0.001": 0.116412,
        "informed, rate 0.3, ratio 3: power at 0.001": 0.139915,
    },
}


@pytest.mark.parametrize("name", KNOWN)
def test_theory_has_the_known_values(name: str, outcomes: dict[str, Outcome]) -> None:
    theory = {row.name: row.theory for row in outcomes[name].rows}
    for row, value in KNOWN[name].items():
        assert theory[row] == pytest.approx(value, abs=5.1e-7), row


def test_thirty_steps(outcomes: dict[str, Outcome]) -> None:
    theory = {row.name: row.theory for row in outcomes["kaissis-1"].rows}
    assert theory["30 steps, informed: f(0.1)"] == pytest.approx(0.79894, abs=2e-5)
    assert theory["30 steps, relaxed-unaligned: f(0.1)"] == pytest.approx(0.88761, abs=2e-5)


def test_the_law_of_an_empirical_threshold() -> None:
    """Against the mean over many draws of an order statistic of uniform levels."""
    curve, allowed = tradeoff.gaussian(1.5), np.array([0, 3, 20])
    draws = np.sort(np.random.default_rng(5).random((40_000, 64)), axis=1)
    found = kaissis_audits.averaged(curve, allowed, 64)
    for k, expected in zip(allowed, found, strict=True):
        values = curve(draws[:, k])
        assert abs(values.mean() - expected) < 4 * values.std() / np.sqrt(values.size)


def test_limits_are_the_mended_ones() -> None:
    curve = tradeoff.compose_relaxed_gaussian([0.2] * 150, 300)
    first, second = kaissis_power.limits(0.1, 6.0, 300)
    assert first == pytest.approx(0.845298, abs=1e-6)
    assert second == pytest.approx(0.850039, abs=1e-6)
    # As d grows at a fixed kappa / sqrt(d), both tend to the exact curve.
    for dim in (10**4, 10**6):
        kappa = 0.35 * np.sqrt(dim)
        exact = stats.ncx2.cdf(stats.chi2.isf(0.1, dim), dim, kappa)
        found = np.array(kaissis_power.limits(0.1, kappa, dim))
        assert np.abs(found - exact).max() < 0.1 / dim**0.5
    assert float(curve(0.1)) == pytest.approx(0.848903, abs=1e-6)
    # As printed, equation 7 is off by .090 and .786 at its worst.
    grid = np.linspace(0.001, 0.999, 999)
    printed = np.array([kaissis_power.printed_limits(a, 0.2, 150, 300) for a in grid])
    gaps = np.abs(printed - curve(grid)[:, np.newaxis]).max(axis=0)
    assert gaps == pytest.approx([0.090, 0.786], abs=1e-3)


@pytest.mark.slow
def test_calibration(tmp_path: Path) -> None:
    stream = io.StringIO()
    assert reproduce.run("kaissis-calibration", rounds=2000, seed=2, out=tmp_path, stream=stream), (
        stream.getvalue()
    )


@pytest.mark.slow
def test_calibrated_noise_is_that_of_the_paper() -> None:
    cifar, snli = kaissis_calibration.TRAININGS
    assert cifar.calibrated() == pytest.approx(2.6857, abs=2e-3)
    assert snli.calibrated() == pytest.approx(0.8619, abs=1e-3)
    for training, epsilon in ((cifar, 0.05007), (snli, 0.37898)):
        curve = training.curve(training.noise, "relaxed-unaligned")
        assert float(curve.epsilon(training.delta)) == pytest.approx(epsilon, abs=1e-4)
