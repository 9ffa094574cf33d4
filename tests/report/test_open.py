"""The page as a browser reads it: the verdict first, all that a release needs open to see."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from html.parser import HTMLParser

import numpy as np
import pytest

from leakscore_app import report


@dataclass
class Grid:
    """A table: its caption and its rows of cells."""

    caption: str = ""
    rows: list[list[str]] = field(default_factory=list)


class Page(HTMLParser):
    """Elements in their order, with the text of headings, cards and tables."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[Grid] = []
        self.headings: list[str] = []
        self.cards: list[tuple[str, str]] = []
        self._open: list[str] = []
        self._depth = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "rect", "line", "circle", "polyline"):
            self._open.append(tag)
        classes = dict(attrs).get("class") or ""
        if tag == "table":
            self.tables.append(Grid())
        elif tag == "tr":
            self.tables[-1].rows.append([])
        elif tag in ("td", "th"):
            self.tables[-1].rows[-1].append("")
        elif tag == "h1":
            self.headings.append("")
        elif tag == "div" and "card" in classes.split():
            self.cards.append((classes, ""))
            self._depth = len(self._open)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass
        if len(self._open) < self._depth:
            self._depth = 0

    def handle_data(self, data: str) -> None:
        data = data.replace("\u00a0", " ")
        if "table" in self._open and "svg" not in self._open:
            if "caption" in self._open:
                self.tables[-1].caption += data
            elif self.tables[-1].rows:
                self.tables[-1].rows[-1][-1] += data
        elif "h1" in self._open:
            self.headings[-1] += data
        elif self._depth:
            classes, text = self.cards[-1]
            self.cards[-1] = (classes, f"{text} {data}")

    def table(self, caption: str) -> Grid:
        """Return the one table whose caption begins so."""
        (found,) = [grid for grid in self.tables if grid.caption.startswith(caption)]
        return found


@pytest.fixture(scope="module")
def result() -> report.Report:
    return report.analyse(report.embedded_table(), rounds=4000)


@pytest.fixture(scope="module")
def page(result: report.Report) -> Page:
    return Page(result.to_html())


def test_the_verdict_is_the_first_line_in_text_and_page(result: report.Report, page: Page) -> None:
    assert result.verdict is not None
    line = result.verdict.line.replace("\u00a0", " ")
    assert page.headings == [line]
    assert ("h1", {"class": "card do-not-publish"}) in page.tags
    assert f"If record {result.verdict.worst.row} is in the table" in page.cards[0][1]
    assert all("in theory" in text or "simulated" in text for _, text in page.cards)
    text = " ".join(result.to_text().split())
    assert text.startswith(line)
    assert "an advantage of at most 20 % (right 60 times in 100), in theory and at the" in text


@pytest.mark.parametrize(
    ("options", "style"),
    [
        ({"max_advantage": 0.99, "decimals": 4}, "publish"),
        ({"max_noise": 9.0}, "publish-with-noise"),
    ],
)
def test_the_card_has_the_style_of_the_decision(options: dict, style: str) -> None:
    found = report.analyse(report.embedded_table(), rounds=2000, **options)
    assert ("h1", {"class": f"card {style}"}) in Page(found.to_html()).tags


def test_nothing_is_closed(page: Page) -> None:
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"details", "summary", "dialog", "template", "noscript"}
    assert not any("hidden" in attributes for _, attributes in page.tags)


def test_the_noise_of_every_column_is_an_open_table(result: report.Report, page: Page) -> None:
    _, *rows = page.table("Standard deviation of the noise").rows
    assert [name for name, *_ in rows] == list(result.input.columns_judged)
    for name, shown, errors in rows:
        needed, error = result.noise.noise_std[name], result.noise.column_standard_errors[name]
        assert needed <= float(shown) < needed * 1.002
        assert error <= float(errors) < error * 1.02
    text = " ".join(result.to_text().split())
    assert all(f"{name} {shown} ({errors})" in text for name, shown, errors in rows)


def test_charts_carry_their_numbers(result: report.Report, page: Page) -> None:
    assert sum(tag == "figure" for tag, _ in page.tags) == 3
    _, *bins = page.table("Records by leakage").rows
    assert sum(int(informed) for _, informed, _ in bins) == 569
    assert sum(int(weaker) for *_, weaker in bins) == 569
    low, high = (float(end) for end in bins[-1][0].split(" to "))
    inside = (result.informed.leakage >= low) & (result.informed.leakage <= high)
    assert int(bins[-1][1]) == inside.sum() > 0
    header, *rates = page.table("Power against record 153").rows
    assert header[1:] == ["Informed theory", "Informed game", "Weaker theory", "Weaker game"]
    one_percent = next(row for row in rates if row[0] == "1.0 %")
    assert one_percent[1] == f"{100 * result.games[0].power.theory:.1f} %"
    game = result.games[0]
    cut = np.quantile(game.nonmembers, 0.99)
    share = float(one_percent[2].split()[0]) / 100
    assert share == pytest.approx((game.members > cut).mean(), abs=0.02)
    _, *scores = page.table("Share of the tables").rows
    for column in (1, 2, 3, 4):
        cells = [row[column].removesuffix(" %").replace("< 0.1", "0") for row in scores]
        assert sum(map(float, cells)) == pytest.approx(100, abs=1.5)


def test_tables_scroll_in_a_box_that_the_keyboard_reaches(page: Page) -> None:
    boxes = [attributes for tag, attributes in page.tags if "scroll" in attributes.get("class", "")]
    assert len(boxes) == len(page.tables) >= 9
    assert all(box["tabindex"] == "0" and box["aria-label"] for box in boxes)


def test_how_the_file_was_read_is_said_in_sentences(tmp_path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "t.csv"
    path.write_text(
        "\n".join(["a;b;word", *(f"{x:.3f};{y:.3f};x" for x, y in rng.normal(size=(50, 2)))])
    )
    table = report.read_table(str(path))
    notes = ("the delimiter is a semicolon", "the encoding is cp1252")
    found = report.analyse(replace(table, notes=notes), rounds=200)
    for text in (" ".join(found.to_text().split()), found.to_html()):
        assert "t.csv holds 50 records in 3 columns; 50 records in 2 columns are judged." in text
        assert f"How it was read: {notes[0]}; {notes[1]}." in text
        assert "word is left out: " in text
