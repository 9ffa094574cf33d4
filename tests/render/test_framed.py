"""A report in a notebook: its own page, in a frame from which nothing gets out."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from leakscore_app import audit_file, report

EVIL = '"><script>alert(1)</script>&<b>'


class Tags(HTMLParser):
    """The tags of a text, as a browser sees them, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_a_report_shows_its_page_in_a_frame() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    result = report.analyse(report.table_of(X, ["age", EVIL]), rounds=2000)
    [(tag, attributes)] = Tags(result._repr_html_()).found
    assert tag == "iframe"
    assert attributes["sandbox"] == ""
    shown, page = attributes["srcdoc"], result.to_html()
    assert shown is not None
    assert page.startswith(shown.partition("</header>")[0])
    assert result.verdict is not None
    assert result.verdict.decision.upper() in shown.upper()


@pytest.mark.parametrize("rounds", [40, 400])
def test_an_audit_does(rounds: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    member = rng.random(rounds) < 0.5
    path = tmp_path / "scores.csv"
    table = np.column_stack([rng.normal(member), member])
    np.savetxt(path, table, delimiter=",", header="score,member", comments="")
    found = audit_file(str(path))
    [(tag, attributes)] = Tags(found._repr_html_()).found
    shown = attributes["srcdoc"]
    assert tag == "iframe"
    assert shown is not None
    assert found.to_html().startswith(shown.partition("</header>")[0])
    assert "epsilon" in shown
