"""How a report shows itself at a prompt and in a notebook."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from leakscore_app import report
from tests.helpers.page_policy import require_policy


class Frames(HTMLParser):
    """The elements of a cell's output, with their attributes."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def analysed(seed: int = 0) -> report.Report:
    table = report.embedded_table()
    return report.analyse(table, rounds=2000, seed=seed, noise_shape="same")


@pytest.fixture(scope="module")
def made() -> report.Report:
    return analysed()


def test_repr_is_one_line_with_the_worst_record(made: report.Report) -> None:
    text = repr(made)
    assert "\n" not in text
    assert len(text) < 250
    worst = made.counts[0].worst_row
    assert f"worst record {worst}: " in text
    assert f"leakage {np.max(made.informed.leakage):.4g}" in text
    assert "the mean of n = 100 records in 30 columns, 569 records judged" in text


def test_repr_escapes_a_foreign_name(made: report.Report) -> None:
    text = repr(replace(made, input=replace(made.input, name="a\x1b[31m\nb")))
    assert "\n" not in text
    assert "\x1b" not in text


def test_a_notebook_shows_the_head_in_a_sandbox(made: report.Report) -> None:
    parser = Frames()
    parser.feed(made._repr_html_())
    ((tag, attributes),) = parser.seen  # one element: nothing of the page leaves the frame
    assert tag == "iframe"
    assert attributes["sandbox"] == ""
    page = attributes["srcdoc"]
    assert page is not None
    require_policy(page)
    assert set(attributes) == {"sandbox", "width", "height", "frameborder", "srcdoc"}
    assert '<span class="big">DO NOT PUBLISH:</span> asked whether record 153 is in, an' in page
    assert "The mean of n = 100 records in 30 columns is published, without noise.</p>" in page
    assert page.rstrip().endswith("</header></main></body></html>")
    assert "<section" not in page
    assert len(page) < len(made.to_html()) / 2


def test_reports_are_equal_by_value(made: report.Report) -> None:
    assert made == analysed()
    assert made != analysed(seed=1)
    assert made != "report"
    with pytest.raises(TypeError, match="Report has no hash: rows is an array"):
        hash(made)


def first_screen(result: report.Report) -> str:
    return " ".join(result.to_text().partition("HOW MANY")[0].split())


def test_the_first_screen_names_the_embedded_table(made: report.Report) -> None:
    said = "This is the embedded table: leakscore report FILE judges yours."
    assert f"{said} The mean of n = 100" in first_screen(made)
    assert said in made.to_html()


def test_the_first_screen_says_what_is_recoded(tmp_path: Path) -> None:
    values = np.random.default_rng(4).normal(size=60).round(2)
    lines = [f"{('no', 'yes')[i * i % 7 % 2]},{value}" for i, value in enumerate(values)]
    (tmp_path / "t.csv").write_text("\n".join(["smoker,x", *lines]))
    result = report.analyse(report.open_table(str(tmp_path / "t.csv")), rounds=400)
    assert "without noise. smoker: 'yes' is read as 1, 'no' as 0. The att" in first_screen(result)


def test_a_text_explains_its_own_columns(made: report.Report, tmp_path: Path) -> None:
    legend = "In sample: this record is among them"
    assert legend in made.to_text()
    np.savetxt(tmp_path / "t.csv", np.random.default_rng(4).normal(size=(60, 2)), delimiter=",")
    result = report.analyse(report.open_table(str(tmp_path / "t.csv")), rounds=400)
    assert "in sample" not in result.to_text()
    assert legend in result.to_html()
