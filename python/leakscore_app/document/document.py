"""What a report is made of: sections, built once, which `text` and `html` lay out.

What only the page shows says so: `PageOnly`, `Figures`, `Table.page_only`. A part `InWords` stands
on the page, and its sentence in the text. Nothing is folded: a page is printed, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Notice:
    """Something the reader must know, and a word that a program can test."""

    level: str
    code: str
    message: str


def warning(code: str, message: str) -> Notice:
    """Return a doubt."""
    return Notice("warning", code, message)


def note(code: str, message: str) -> Notice:
    """Return what must be known, but is no doubt."""
    return Notice("note", code, message)


def warnings_first(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """Return notices in their order, but doubts before the others."""
    return tuple(sorted(notices, key=lambda notice: notice.level != "warning"))


@dataclass(frozen=True)
class Heading:
    """The first words of a document: a verdict before a colon, in its style, and why."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; on the page in the style "lead", "soft", "plain" or none."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class Bar:
    """A cell of a table: a bar from `start`, both in shares of the cell's width."""

    length: float
    start: float = 0.0
    style: str = "informed"


class Flag(str):
    """A cell of a table that catches the eye on the page."""

    __slots__ = ()


@dataclass(frozen=True)
class TextTable:
    """A table; the text breaks the names of columns at their newlines, as a page may not.

    `words` and `page_only` are columns by name: those of words, and those for which a text has no
    room. Columns without a name hold a `Bar`, which only the page shows.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str | Bar]]
    caption: str
    words: Collection[str] = ()
    page_only: Collection[str] = ()

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Iterable[str | Bar]],
        caption: str,
        *,
        words: Collection[str] = (),
        page_only: Collection[str] = (),
    ) -> TextTable:
        """Return a table of columns, each beside its name."""
        rows = list(zip(*columns.values(), strict=True))
        return cls(list(columns), rows, caption, words, page_only)


@dataclass(frozen=True)
class Notices:
    """What the reader must know, one sentence or more each."""

    notices: Sequence[Notice]


@dataclass(frozen=True)
class Definitions:
    """Names, and what they are."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Card:
    """One large figure or word on the page; the text, whole sentences, says it too."""

    style: str
    title: str
    figure: str
    unit: str
    text: str


@dataclass(frozen=True)
class Cards:
    """Large figures side by side."""

    cards: Sequence[Card]


@dataclass(frozen=True)
class Figures:
    """Charts side by side, as SVG; a text has none."""

    figures: Sequence[str]


@dataclass(frozen=True)
class InWords:
    """A part that a page shows, and the sentences that stand for it in a text."""

    part: Part
    text: str


@dataclass(frozen=True)
class PageOnly:
    """Parts that say what the text says in other words."""

    parts: Sequence[Part]


Part: TypeAlias = (
    Heading | Paragraph | TextTable | Notices | Definitions | Cards | Figures | InWords | PageOnly
)


@dataclass(frozen=True)
class Section:
    """Parts under a title."""

    title: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Document:
    """A whole report; the text sets the groups of its head apart by a blank line."""

    name: str
    head: Sequence[Sequence[Part]]
    sections: Sequence[Section]
