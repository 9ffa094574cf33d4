"""Why theory and game differ: said only if skewness and kurtosis explain at least half of it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from leakscore_app import report
from leakscore_app.report.engine.attack import _expanded
from tests.oracles import edgeworth


@pytest.fixture(scope="module")
def result() -> report.Report:
    return report.analyse(report.embedded_table())


@pytest.mark.parametrize("z", [-1.5, 0.0, 2.25, 4.0])
def test_the_expansion_against_exact_polynomials(z: float) -> None:
    ratios = (Fraction(2, 5), Fraction(7, 10))  # skewness and excess kurtosis
    terms = edgeworth.tail_polynomials(ratios)
    powers = [sum(float(c) * z**k for k, c in enumerate(term)) for term in terms]
    expected = stats.norm.sf(z) + stats.norm.pdf(z) * sum(powers)
    mean, std = 3.0, 2.0
    cumulants = np.array([mean, std**2, 0.4 * std**3, 0.7 * std**4])
    assert _expanded(mean + std * z, cumulants) == pytest.approx(expected, rel=1e-12)


def along(game: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Projections of the other records on the attack, with their numbers; in units of theirs."""
    values, index = report.embedded_table().values, game.row - 1
    others = np.delete(values, index, axis=0)
    away = values[index] - others.mean(axis=0)
    weight = np.linalg.solve(np.cov(others.T, ddof=0), away)
    return (others - others.mean(axis=0)) @ weight, np.delete(np.arange(1, 570), index)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_reason_explains(result: report.Report, place: int) -> None:
    """Row 213: theory 873 of 1000, Edgeworth about 770, and record 462 has a third."""
    game = result.games[place]
    others, rows = along(game, 100)
    shares = others**2 / (others**2).sum()
    record = np.sqrt(game.leakage * 100 * others.var())
    moments = [(others**k).mean() for k in (2, 3, 4)]
    cumulants = np.array([0, moments[0], moments[1], moments[2] - 3 * moments[0] ** 2])
    without, with_it = 100 * cumulants, 99 * cumulants + np.array([record, 0, 0, 0])
    high = 30 * np.sqrt(without[1])
    cut = optimize.brentq(lambda x: _expanded(x, without) - 0.01, 0, high)
    expected = _expanded(cut, with_it)
    power = game.power
    explains = abs(expected - power.simulated) <= abs(power.simulated - power.theory) / 2
    assert game.differs
    assert (game.reason is not None) == explains
    if game.reason is not None:
        assert game.reason.quantity == "power"
        assert game.reason.edgeworth == pytest.approx(expected, rel=1e-6)
        assert game.reason.row == rows[shares.argmax()]
        assert game.reason.share == pytest.approx(shares.max(), rel=1e-6)


def test_it_is_said_in_words(result: report.Report) -> None:
    game = result.games[1]
    assert game.reason is not None
    assert (game.row, game.reason.row, round(game.reason.share, 2)) == (213, 462, 0.33)
    text = " ".join(result.to_text().split())
    found = round(100 * game.power.simulated)
    assert (
        f"Record 213: the simulation finds {found} in 100, the formula 87: record 462 alone makes "
        f"33 % of the variation along this attack. Use {found}."
    ) in text
    assert "skewness" not in text
    for word in (" he ", " his ", " him ", " she ", " her "):
        assert word not in text


def test_no_reason_that_explains_nothing(result: report.Report) -> None:
    """The expansion passes the game of record 153 by as much as the normal law fails it."""
    game = result.games[0]
    assert game.differs
    assert game.reason is None
    found, text = round(100 * game.power.simulated), " ".join(result.to_text().split())
    assert f"Record 153: the simulation finds {found} in 100, the formula 93. Use {found}." in text
