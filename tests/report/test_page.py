"""The text, the page and the JSON: complete, well-formed, self-contained, the same every time."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from leakscore_app import report
from leakscore_app.document import Axis, Chart, decades, nice_ticks
from tests.helpers.page_policy import require_policy

XHTML = "{http://www.w3.org/1999/xhtml}"


@pytest.fixture(scope="module")
def result() -> report.Report:
    return report.analyse(report.embedded_table(), rounds=2000, audit=True)


def page(result: report.Report) -> ElementTree.Element:
    text = result.to_html()
    assert text.startswith("<!DOCTYPE html>\n")
    return ElementTree.fromstring(text.partition("\n")[2])


def test_text_begins_with_the_verdict_and_what_is_published(result: report.Report) -> None:
    text = " ".join(result.to_text().split())
    verdict, _, rest = text.partition(" The mean of n = 100 records")
    assert result.verdict is not None
    said = " This is the embedded table: leakscore report FILE judges yours."
    assert verdict == result.verdict.line.replace("\u00a0", " ") + said
    assert rest.startswith(
        " in 30 columns is published, without noise. The attacker knows "
        "the population's mean and covariance, and all 30 values of one record, not the other "
        "members, and asks: is that record in the mean? A weaker attacker knows"
    )
    game, record = result.games[0], result.informed.power[152]
    assert game.row == 153
    acted = f"{100 * game.power.simulated:.0f} times in 100 (theory {100 * record:.0f})"
    once = "if it is not, once in 100 (chosen rate of false alarms)."
    found = f"{100 * record:.0f} times in 100"
    said = acted if game.differs else found
    assert f"If record 153 is in the table, the attack says so {said}; {once}" in text
    half = 100 * result.counts[0].median_power
    assert f"Half of the records are recognised at most {half:.1f} times in 100" in text
    assert "This is not a differential-privacy guarantee." in text
    assert result.input.sha256 in text
    assert f"leakscore {result.tool_version}, seed 0" in text


def test_a_gaussian_epsilon_goes_to_the_json_only(result: report.Report) -> None:
    assert "gaussian_equivalent_epsilon" in result.to_json()
    for text in (result.to_text(), result.to_html()):
        assert "equivalent" not in text


@pytest.mark.parametrize("width", [60, 80, 100])
def test_text_fits(result: report.Report, width: int) -> None:
    longest = max(result.to_text(width).splitlines(), key=len)
    assert len(longest) <= max(width, 80), longest
    assert not re.search(r"[ \t]$", result.to_text(width), flags=re.M)


def test_every_section_is_in_text_and_page(result: report.Report) -> None:
    titles = re.findall(r"^([A-Z][A-Z ,]+) -+$", result.to_text(), flags=re.M)
    assert len(titles) == 9
    headings = [heading.text for heading in page(result).iter(f"{XHTML}h2")]
    for word in (
        "How many records",
        "worst records",
        "simulated game",
        "Noise",
        "remedies",
        "Audit",
        "To know",
        "What was read",
    ):
        assert any(word in (heading or "") for heading in headings), word
    assert (
        "AUDIT"
        not in report.analyse(report.embedded_table(), rounds=200, noise_shape="same").to_text()
    )


def test_page_is_well_formed_and_fetches_nothing(result: report.Report) -> None:
    root = page(result)
    style = root.find(f"{XHTML}head/{XHTML}style")
    assert style is not None
    assert not re.search(r"url\(|@import|https?:", style.text or "")
    require_policy(result.to_html())


def test_charts_are_described_for_those_who_do_not_see_them(result: report.Report) -> None:
    charts = [svg for svg in page(result).iter(f"{XHTML}svg") if svg.get("role") == "img"]
    assert len(charts) == 3
    for svg in charts:
        assert len(svg.get("aria-label", "")) > 60
        numbers = re.findall(
            r'(?:x|y|cx|cy|points)="([^"]*)"', ElementTree.tostring(svg, "unicode")
        )
        assert "nan" not in " ".join(numbers)
        assert "inf" not in " ".join(numbers)
    hidden = [svg for svg in page(result).iter(f"{XHTML}svg") if svg.get("aria-hidden") == "true"]
    assert len(hidden) >= 10


def test_rows_are_as_wide_as_their_headers(result: report.Report) -> None:
    """Also where the style sheet hides the bars, on paper and in narrow windows."""
    for table in page(result).iter(f"{XHTML}table"):
        head, body = table.find(f"{XHTML}thead"), table.find(f"{XHTML}tbody")
        assert body is not None
        if head is None:
            continue
        shown = [[cell.get("class") == "meter" for cell in row] for row in body]
        expected = [cell.get("class") == "meter" for cell in head[0]]
        assert all(row == expected for row in shown)


def test_names_are_escaped() -> None:
    values = np.random.default_rng(0).normal(size=(40, 2))
    names = ["<script>alert(1)</script>", "a & \"b\" 'c'"]
    found = report.analyse(report.table_of(values, names), n=20, rounds=200)
    root = page(found)
    assert not list(root.iter(f"{XHTML}script"))
    assert names[0] in "".join(root.itertext())
    assert found.to_dict()["input"]["columns_judged"] == names


def test_values_are_shown_only_when_asked() -> None:
    table = report.embedded_table()
    secret = f"{table.values[152, 16]:g}"  # the concavity error of row 153
    assert secret == "0.396"
    hidden, shown = (
        report.analyse(table, rounds=200, noise_shape="same", show_values=shows)
        for shows in (False, True)
    )
    for form in ("to_text", "to_html"):
        assert f"value {secret}" not in getattr(hidden, form)()
        assert f"value {secret}" in getattr(shown, form)()
    assert shown.drivers[0].columns[0].value == 0.396


def test_json_is_strict_and_complete(result: report.Report) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    parsed = json.loads(result.to_json(), parse_constant=refuse)
    assert parsed == result.to_dict()
    assert set(parsed) == {
        "schema_version", "tool", "command", "tool_version", "seed", "verdict", "input", "release",
        "threat_models", "differential_privacy", "counts", "worst_rows", "drivers", "covariance",
        "game", "arithmetic", "noise", "remedies", "audit", "notices", "records_listed", "records",
    }  # fmt: skip
    assert parsed["schema_version"] == 2
    assert parsed["differential_privacy"]["is_a_guarantee"] is False
    assert "members" not in parsed["game"][0]


def test_same_seed_same_bytes() -> None:
    table = report.table_of(report.embedded_table().values[:, :4])
    result, again, other = (
        report.analyse(table, rounds=400, audit=True, seed=seed) for seed in (0, 0, 1)
    )
    assert again.to_json() == result.to_json()
    assert again.to_html() == result.to_html()
    assert again.to_text() == result.to_text()
    assert result.noise.shape == "optimal"
    assert other.to_dict()["records"] == result.to_dict()["records"]
    assert other.to_dict()["game"] != result.to_dict()["game"]


def test_one_column_and_many(capsys: pytest.CaptureFixture[str]) -> None:
    values = np.random.default_rng(2).lognormal(size=(300, 1))
    found = report.analyse(report.table_of(values, ["income"]), rounds=200)
    assert "in 1 column is" in found.to_text()
    assert page(found) is not None
    assert capsys.readouterr().out == ""


def test_axes() -> None:
    assert decades(0.02, 300) == [(0.1, "0.1"), (1.0, "1"), (10.0, "10"), (100.0, "100")]
    assert nice_ticks(-20.5, 20.5, 5) == [
        (-20, "\u221220"), (-10, "\u221210"), (0, "0"), (10, "10"), (20, "20"),
    ]  # fmt: skip
    axis = Axis(1, 100, [], "x", log=True)
    assert [axis.share(value) for value in (0.1, 1, 10, 100, 1e9)] == pytest.approx(
        [0, 0, 0.5, 1, 1]
    )


def test_bars_leave_out_empty_intervals() -> None:
    chart = Chart("t", "d", Axis(0, 4, [], "x"), Axis(0, 2, [], "y"))
    chart.bars([0, 1, 2, 4], [1, 0, 2], "bar in", "name")
    assert chart.render().count("<rect") == 2 + 1  # two bars and the legend's
