"""Figures of Michel, Basu & Kaufmann: the games agree with the laws, the laws with known values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from reproduce import michel, michel_descent
from reproduce._batch_game import FINAL, LARGEST, STAR, TESTS, UNIFORM, Setting
from reproduce._outcome import Above, Erratum, Outcome
from tests.helpers.sizes import figure_sizes

# Exact: noncentral chi-square laws and their T-fold use, by scipy and by hand, to the digits given.
POWERS = [
    (Setting(5), STAR, 0.073225, 5e-7),
    (Setting(5), LARGEST, 0.028890, 5e-7),
    (Setting(10), LARGEST, 0.020932, 5e-7),
    (Setting(20), LARGEST, 0.016248, 5e-7),
    (Setting(50), LARGEST, 0.012935, 5e-7),
    (Setting(5), FINAL, 0.027341, 5e-7),
    (Setting(10), FINAL, 0.020847, 5e-7),
    (Setting(20), FINAL, 0.017023, 5e-7),
    (Setting(50), FINAL, 0.014104, 5e-7),
    (Setting(5), UNIFORM, 0.0314, 6e-5),
    (Setting(10), UNIFORM, 0.0236, 6e-5),
    pytest.param(Setting(20), UNIFORM, 0.0188, 6e-5, marks=pytest.mark.slow),
    pytest.param(Setting(50), UNIFORM, 0.0151, 6e-5, marks=pytest.mark.slow),
    (Setting(5, 6.0), UNIFORM, 0.1585, 1e-3),
    (Setting(5, 9.0), UNIFORM, 0.4919, 1e-3),
    (Setting(5, 6.0), STAR, 0.32557, 5e-6),
    (Setting(5, 6.0), LARGEST, 0.15772, 5e-6),
    (Setting(5, 6.0), FINAL, 0.06774, 5e-6),
    (Setting(5, 9.0), STAR, 0.70809, 5e-6),
    (Setting(5, 9.0), LARGEST, 0.49114, 5e-6),
    (Setting(5, 9.0), FINAL, 0.14361, 5e-6),
    (Setting(5, dim=2), STAR, 0.07366, 5e-6),
    (Setting(5, dim=50), STAR, 0.09515, 5e-6),
    (Setting(5, dim=500), STAR, 0.325, 5e-4),
]


@pytest.mark.parametrize(("setting", "test", "power", "error"), POWERS)
def test_exact_powers(setting: Setting, test: str, power: float, error: float) -> None:
    assert setting.power(test) == pytest.approx(power, abs=error)
    alpha, beta = setting.rates(test, setting.threshold(test))
    assert float(alpha) == pytest.approx(0.01, abs=2e-6 if test == UNIFORM else 1e-12)
    if test == STAR:
        square = setting.square
        quantile = stats.ncx2.ppf(0.01, setting.dim, 10 * square)
        expected = stats.ncx2.cdf(quantile * 10 / 9, setting.dim, 9 * square)
        assert 1.0 - float(beta) == pytest.approx(expected, abs=1e-8)


def test_exact_areas() -> None:
    few, many = Setting(5), Setting(50)
    for setting, test, area in (
        (few, STAR, 0.7543),
        (few, LARGEST, 0.6213),
        (few, FINAL, 0.6184),
        (many, LARGEST, 0.5284),
        (many, FINAL, 0.5378),
    ):
        assert setting.auc(test) == pytest.approx(area, abs=1.1e-4)
        assert michel.trapezoids(*setting.curve(test)) == pytest.approx(setting.auc(test), abs=1e-5)
    assert michel.trapezoids(*few.curve(UNIFORM)) == pytest.approx(0.6335, abs=1.1e-4)


def test_the_region_of_figure_8() -> None:
    setting = Setting(5, dim=2)
    assert setting.threshold(STAR) == pytest.approx(1.708647, abs=5e-7)
    assert michel.radius(setting) == pytest.approx(2.283437, abs=5e-7)
    assert michel.printed_alpha(setting) == 1.0


QUICK: dict[str, tuple[Any, int, dict[str, Any]]] = {
    "michel-1": (michel.ONE, 4000, {}),
    "michel-2": (michel.TWO, 8000, {"STEPS": (5,), "DISTANCES": (6.0,)}),
    "michel-4": (michel.FOUR, 8000, {"STEPS": (5,)}),
    "michel-7": (michel_descent, 600, {}),
    "michel-8": (michel.EIGHT, 8000, {}),
}


@pytest.fixture(scope="module", params=QUICK)
def outcome(request: pytest.FixtureRequest) -> Any:
    figure, rounds, attributes = QUICK[request.param]
    with pytest.MonkeyPatch.context() as patch:
        figure_sizes(patch, figure, **attributes)
        yield figure, figure.reproduce(rounds=rounds, seed=5)


def test_games_agree_with_the_laws(outcome: tuple[Any, Outcome]) -> None:
    found = outcome[1]
    equal = [row for row in found.rows if not isinstance(row, Above)]
    apart = [str(row) for row in equal if abs(row.z) > 4]
    assert apart == []
    assert len({row.name for row in found.rows}) == len(found.rows)
    assert all(np.isfinite([row.measured, row.theory, row.tolerance]).all() for row in found.rows)


def test_figures_are_drawn(outcome: tuple[Any, Outcome], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figure, found = outcome
    figure.draw(found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 20_000


def test_what_the_paper_prints_is_told_apart_at_the_default_rounds() -> None:
    """The final mean beats the maximum at T = 50, and power grows with d, by many errors."""
    final, largest = (Setting(50).power(test) for test in (FINAL, LARGEST))
    assert final - largest > 6 * np.sqrt(final / 500_000)
    flat, steep = Setting(5, dim=2).power(STAR), Setting(5, dim=50).power(STAR)
    assert steep - flat > 8 * np.sqrt(steep / 50_000)


@pytest.mark.parametrize("name", QUICK)
def test_too_few_rounds_are_refused(name: str) -> None:
    """The coins fall as they will: of four rounds one may be left for a hypothesis, or none."""

    def play_until_refused() -> None:
        for seed in range(40):
            rows = QUICK[name][0].reproduce(rounds=2, seed=seed).rows
            assert all(np.isfinite([row.measured, row.tolerance]).all() for row in rows)

    with pytest.raises(ValueError, match="must be more rounds"):
        play_until_refused()


def test_any_batch_of_the_target_has_the_same_scores() -> None:
    rng = np.random.default_rng(4)
    fixed, anywhere = (Setting(5, insertion=where).scores(20_000, rng) for where in (4, "uniform"))
    for test in TESTS:
        for first, second in zip(fixed[test], anywhere[test], strict=True):
            assert stats.ks_2samp(first, second).pvalue > 1e-4


def test_few_rounds_do_not_fail_for_want_of_rounds() -> None:
    """Numbers too close to distinguish are compared with the law only; others with both."""
    rows = {row.name: row for row in michel.EIGHT.reproduce(rounds=200, seed=1).rows}
    assert not isinstance(rows["d = 50, SeMI*: power"], Erratum)
    assert isinstance(rows["d = 2, corollary B.6: alpha"], Erratum)
    assert all(row.ok for row in rows.values())


def test_printed_radius_is_an_erratum() -> None:
    rows = [
        row
        for row in michel.EIGHT.reproduce(rounds=3000, seed=1).rows
        if isinstance(row, Erratum) and "B.6" in row.name
    ]
    assert [(row.ok, row.printed) for row in rows] == [(True, 1.0)]


@pytest.mark.slow
def test_powers_of_figure_7() -> None:
    """Powers against the reported target, to two digits, from other games of the same law."""
    powers = michel_descent.reproduce(rounds=10_000, seed=2).curves["powers"]
    for attack, first, last in (
        (michel_descent.SEMI, 0.23, 0.41),
        (michel_descent.DELTA, 0.05, 0.21),
        (michel_descent.FRONT, 0.02, 0.05),
    ):
        for step, power in ((0, first), (9, last)):
            found, error = powers["A", step, attack]
            assert abs(found - power) < 0.02 + 4 * error
