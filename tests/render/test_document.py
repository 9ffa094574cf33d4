"""One document, laid out as text and as page."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from leakscore_app.document import (
    Bar,
    Card,
    Cards,
    Definitions,
    Document,
    Figures,
    Flag,
    Heading,
    Notice,
    Notices,
    PageOnly,
    Paragraph,
    Part,
    Section,
    TextTable,
    Variant,
    as_page,
    as_text,
)

XHTML = "{http://www.w3.org/1999/xhtml}"
NASTY = "<b>\x1b[2J & \u202e"
SHOWN = r"<b>\x1b[2J & \u202e"
LONG = "a remedy of so many words that they fill two lines"
TABLE = TextTable(
    ["name", "cost", "agree", "", "power\nin theory"],
    [
        [LONG, "high", "yes", Bar(0.5), "1.0\u00a0%"],
        ["b", "none", Flag("no"), Bar(0.25, 0.75, "negative"), "23.4\u00a0%"],
    ],
    "What it costs",
    words=["cost", "agree"],
    page_only=["cost"],
)  # fmt: skip
DOCUMENT = Document(
    "name",
    [[Heading("First."), Paragraph("Second.", "lead")], [PageOnly(lambda: [Paragraph("Page.")])]],
    [
        Section("A table", [TABLE, Figures(["<svg/>"])]),
        Section("Lists", [
            Notices([Notice("warning", "w", "Mind this."), Notice("note", "n", "Know " * 12)]),
            Definitions([("a", "one"), ("long", "two " * 16)]),
            Cards([Card("informed", "Worst", "93 %", "identified", "--worst: 93 %.")]),
            Variant(TextTable(["column"], [["c"]], "Of all"), "One of all."),
        ]),
    ],
)  # fmt: skip


def test_text() -> None:
    """Names broken at newlines, columns aligned, what is for the page only left out."""
    assert as_text(DOCUMENT, 60) == (
        "First.\n"
        "Second.\n"
        "\n"
        "A TABLE ----------------------------------------------------\n"
        "                                                       power\n"
        "  name                                      agree  in theory\n"
        "  a remedy of so many words that they fill\n"
        "    two lines                               yes        1.0 %\n"
        "  b                                         no        23.4 %\n"
        "  What it costs\n"
        "\n"
        "LISTS ------------------------------------------------------\n"
        "  ! Mind this.\n"
        "  - Know Know Know Know Know Know Know Know Know Know Know\n"
        "    Know\n"
        "  a     one\n"
        "  long  two two two two two two two two two two two two two\n"
        "        two two two\n"
        "  --worst: 93 %.\n"
        "  One of all.\n"
    )


def test_the_first_column_keeps_its_room_in_a_wide_table() -> None:
    wide = TextTable(["name", *(f"column {k}" for k in range(8))], [[LONG, *"12345678"]], "Wide")
    lines = as_text(Document("name", [], [Section("t", [wide])]), 60).splitlines()
    assert [line[:18].strip() for line in lines[2:6]] == [
        "a remedy of so", "many words", "that they fill", "two lines",
    ]  # fmt: skip


def test_page() -> None:
    root = ElementTree.fromstring(as_page(DOCUMENT).partition("\n")[2])
    table, folded = root.iter(f"{XHTML}table")
    assert ["".join(cell.itertext()) for cell in table.iter(f"{XHTML}th")][:5] == [
        "Name", "Cost", "Agree", "", "Power in theory",
    ]  # fmt: skip
    styles = [[cell.get("class") for cell in row] for row in table.iter(f"{XHTML}tr")]
    assert styles == [
        [None, "word", "word", "meter", None],
        [None, "word", "word", "meter", None],
        [None, "word", "flag", "meter", None],
    ]
    bars = [rect.attrib for rect in table.iter(f"{XHTML}rect")]
    assert bars == [
        {"class": "informed", "x": "0.0%", "width": "50.0%"},
        {"class": "negative", "x": "75.0%", "width": "25.0%"},
    ]
    assert "".join(folded.itertext()) == "Of allColumnc"
    whole = "".join(root.itertext())
    assert [code.text for code in root.iter(f"{XHTML}code")] == ["--worst"]  # never broken
    for said in ("First.", "Second.", "Page.", "Mind this.", "93 % identified", ": 93\u00a0%."):
        assert said in whole
    assert "One of all." not in whole
    assert len(list(root.iter(f"{XHTML}svg"))) == 2 + 1


@pytest.mark.parametrize(
    "part",
    [
        Heading(NASTY),
        Paragraph(NASTY),
        TextTable(["a"], [[NASTY]], "caption"),
        TextTable(["a", "b"], [["1", NASTY]], "caption"),
        TextTable(["a"], [["1"]], NASTY),
        Notices([Notice("note", "code", NASTY)]),
        Definitions([(NASTY, "text")]),
        Definitions([("name", NASTY)]),
        Cards([Card("informed", "title", "1", "unit", NASTY)]),
        Variant(Paragraph(NASTY), NASTY),
    ],
)
def test_foreign_names_are_shown_escaped(part: Part) -> None:
    document = Document(NASTY, [[part]], [Section("title", [part])])
    assert as_text(document).count(SHOWN) == 2
    page = as_page(document)
    assert "".join(ElementTree.fromstring(page.partition("\n")[2]).itertext()).count(SHOWN) == 4
    for whole in (as_text(document), page):
        assert all(c == "\n" or c.isprintable() for c in whole)
