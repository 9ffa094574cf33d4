"""The report on records: rank correlations by scipy and simulation, and what text and page say."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import leakscore_app
from leakscore import shadow
from tests.helpers.parts import ranking
from tests.shadow.test_risk import GAIN, INCLUDED, SCORES

TABLE = shadow.risk({"one": SCORES, "<b>two</b>": -SCORES}, INCLUDED, delta=0.01)


def test_lines_are_those_of_the_table() -> None:
    report = leakscore_app.risk_report(TABLE, prediction=GAIN, attack=0, count=7)
    top = TABLE.top(7)
    assert report.records.tolist() == top.tolist()
    assert report.names == tuple(map(str, top))
    for field in ("shift", "shift_low", "power_low", "certified", "epsilon"):
        np.testing.assert_array_equal(getattr(report, field), getattr(TABLE, field)[0, top])
    np.testing.assert_array_equal(report.prediction, GAIN[top])
    assert (report.n_records, report.n_certified) == (300, TABLE.n_certified[0])
    assert leakscore_app.risk_report(TABLE, attack=1).attack == "<b>two</b>"


def test_rank_correlations_are_spearmans() -> None:
    prediction = np.round(GAIN)  # ties
    report = leakscore_app.risk_report(TABLE, prediction=prediction)
    expected = [stats.spearmanr(prediction, shift)[0] for shift in TABLE.shift]
    np.testing.assert_allclose(report.correlation, expected, atol=1e-12)
    assert (report.correlation_low < report.correlation).all()
    assert (report.correlation < report.correlation_high).all()


def test_bounds_are_rounded_down_from_their_decimals() -> None:
    """The double 0.29 reads 0.29, although 100 times it is below 29."""
    report = leakscore_app.risk_report(TABLE, count=3)
    text = replace(report, power_low=np.array([0.29, 0.2899, 0.58])).to_text()
    rows = [line.split() for line in text.splitlines()]
    assert [row[5] for row in rows if "yes" in row] == ["0.29", "0.28", "0.58"]


@pytest.mark.parametrize("rho", [0.0, 0.5, -0.9])
def test_intervals_of_a_rank_correlation_cover(rho: float) -> None:
    rng = np.random.default_rng(0)
    truth = 6.0 / np.pi * np.arcsin(0.5 * rho)  # of normal pairs
    repeats, covered = 1000, 0
    for _ in range(repeats):
        x = rng.normal(size=60)
        y = rho * x + np.sqrt(1.0 - rho * rho) * rng.normal(size=60)
        one = ranking(np.exp(x), y, np.ones(60), 0.9)
        covered += one.low <= truth <= one.high
    assert abs(covered / repeats - 0.9) < 0.015 + 4 * np.sqrt(0.09 / repeats)


def test_ceiling_is_what_the_true_shifts_come_to() -> None:
    """In scores of normal laws, whose true shifts are normal too."""
    rng = np.random.default_rng(1)
    included = rng.permuted(np.tile([[True], [False]], (10, 4000)), axis=0)
    true = rng.normal(size=4000)
    table = shadow.risk(rng.normal(size=(20, 4000)) + true * included, included)
    report = leakscore_app.risk_report(table, prediction=true)
    ceiling = report.correlation_ceiling[0]
    assert ceiling == pytest.approx(np.corrcoef(true, table.shift[0])[0, 1], abs=0.03)
    assert report.correlation[0] == pytest.approx(ceiling, abs=0.05)
    assert report.drawn_shift.size == 1500
    assert report.drawn_shift.max() == table.shift[0].max()


def test_what_tells_nothing_is_no_number() -> None:
    few = shadow.risk(SCORES[:, :9], INCLUDED[:, :9])
    for table, prediction in ((TABLE, np.zeros(300)), (few, np.arange(9.0))):
        report = leakscore_app.risk_report(table, prediction=prediction)
        assert np.isnan(report.correlation[0])
        assert json.loads(report.to_json())["correlation_low"] == [None, None][: len(table.attacks)]
        assert " - " in report.to_text()
    assert leakscore_app.risk_report(TABLE).correlation is None
    infinite = shadow.risk(np.where(INCLUDED, 1.0, 0.0)[:, :12], INCLUDED[:, :12])
    page = leakscore_app.risk_report(infinite, prediction=np.arange(12.0))
    assert np.isnan(page.correlation[0])
    assert "inf" in page.to_text()
    assert "<svg" not in page.to_html()


def test_text_and_page_say_the_same() -> None:
    names = [f"patient <{n}>\u202e" for n in range(300)]
    report = leakscore_app.risk_report(TABLE, prediction=GAIN, names=names, count=3)
    text, page = report.to_text(100), report.to_html()
    assert max(map(len, text.splitlines())) <= 100
    for number in (report.correlation[0], report.shift[0], report.correlation_ceiling[0]):
        assert f"{number:.2f}" in text
        assert f"{number:.2f}" in page
    for word in ("patient &lt;", "&lt;b&gt;two", "<svg", "Measured shift against prediction"):
        assert word in page
    for word in ("<script", "<b>two", "\u202e"):
        assert word not in page
    assert "\u202e" not in text
    assert "\\u202e" in text
    assert json.loads(report.to_json())["records"] == report.records.tolist()
    assert "<iframe" in report._repr_html_()


def test_bounds_are_rounded_down() -> None:
    report = leakscore_app.risk_report(TABLE, count=50)
    rows = [line.split() for line in report.to_text().splitlines() if line.strip()[:1].isdigit()]
    printed = {int(row[0]): float(row[5]) for row in rows if len(row) == 9}
    assert len(printed) == 50
    for record, low in zip(report.records.tolist(), report.power_low, strict=True):
        assert low - 0.01 < printed[record] <= low


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="RecordRisk"):
        leakscore_app.risk_report("table")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"prediction of shape \(299,\) must be \(300,\)"):
        leakscore_app.risk_report(TABLE, prediction=GAIN[1:])
    with pytest.raises(ValueError, match=r"first prediction\[4\]=nan; leave such records out"):
        leakscore_app.risk_report(TABLE, prediction=np.where(np.arange(300) == 4, np.nan, GAIN))
    with pytest.raises(ValueError, match="sequence of 300"):
        leakscore_app.risk_report(TABLE, names=["a"])
    with pytest.raises(ValueError, match="sequence of 300"):
        leakscore_app.risk_report(TABLE, names="a" * 300)
    with pytest.raises(ValueError, match="attack"):
        leakscore_app.risk_report(TABLE, attack=2)
