"""What commands return: numbers and words, and the document that says them.

A document is sections of parts, built once and laid out twice: as aligned plain text, and as a page
of one self-contained file. What only the page shows says so: `PageOnly`, `Figures`,
`TextTable.page_only`. A part `InWords` stands on the page, and its sentence in the text. Nothing is
folded: a page is printed, too. Hidden characters of foreign names are shown escaped in both.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from importlib import resources
from typing import Any, ClassVar, TypeAlias

import leakscore
from leakscore import validation
from leakscore.results import ByValue, as_json
from leakscore_app._visible import in_json, markup, visible

_NARROWEST = 60  # characters of a line
_FIRST_COLUMN = 16  # characters that it keeps in a narrow window
_OPTION = re.compile(r"--[a-z]+(?:-[a-z]+)*")
_NARROW = 3  # columns of a table that stands in a narrow window as it is

HIDDEN = {"hidden": True}
"""Metadata of a field that is for text and page, and not in the JSON."""


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
    """Parts that say what the text says in other words; a text does not even make them."""

    parts: Callable[[], Sequence[Part]]


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


def as_text(document: Document, width: int = 80) -> str:
    """Lay a document out in lines of at most `width` characters where words allow it."""
    width = max(validation.count("width", width, 1), _NARROWEST)
    blocks = [_lines(parts, width, "") for parts in document.head]
    for section in document.sections:
        title = visible(section.title.upper())
        rule = "-" * (width - len(title) - 1)
        blocks.append([f"{title} {rule}", *_lines(section.parts, width, "  ")])
    text = "\n\n".join("\n".join(lines) for lines in blocks if lines)
    return text.replace("\u00a0", " ") + "\n"


def _lines(parts: Sequence[Part], width: int, indent: str) -> list[str]:
    return [line for part in parts for line in _lines_of(part, width, indent)]


def _lines_of(part: Part, width: int, indent: str) -> Iterator[str]:
    match part:
        case Heading(text) | Paragraph(text) | InWords(text=text):
            yield from _wrapped(text, width, indent)
        case Cards(cards):
            for card in cards:
                yield from _wrapped(card.text, width, indent)
        case Notices(notices):
            for notice in notices:
                mark = "! " if notice.level == "warning" else "- "
                yield from _wrapped(notice.message, width, indent, mark)
        case Definitions(pairs):
            widest = max(len(visible(name)) for name, _ in pairs)
            for name, text in pairs:
                yield from _wrapped(text, width, indent, f"{visible(name):{widest}}  ")
        case TextTable():
            yield from (indent + row for row in _table_in_text(part, width - len(indent)))
            yield from _wrapped(part.caption, width, indent)
        case Figures() | PageOnly():
            pass


def _wrapped(text: str, width: int, indent: str, first: str = "") -> list[str]:
    """Break a text into lines behind what stands before the first."""
    return textwrap.wrap(
        visible(text),
        width,
        initial_indent=indent + first,
        subsequent_indent=indent + " " * len(first),
        break_on_hyphens=False,
    )


def _table_in_text(table: TextTable, width: int) -> Iterator[str]:
    """Columns as wide as needed, two blanks apart; the first is broken where it is too wide."""
    names = [name for name in table.header if name and name not in table.page_only]
    flush_left = [j == 0 or name in table.words for j, name in enumerate(names)]
    heads = [name.split("\n") for name in names]
    height = max(len(head) for head in heads)
    rows = [
        [head[k - height] if height - k <= len(head) else "" for head in heads]
        for k in range(height)
    ]
    for row in table.rows:
        named = zip(table.header, row, strict=True)
        rows.append([visible(str(cell)) for name, cell in named if name in names])
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    widths[0] = max(min(widths[0], width - sum(widths[1:]) - 2 * len(widths[1:])), _FIRST_COLUMN)
    broken = []
    for first, *others in rows:
        *above, last = textwrap.wrap(first, widths[0], subsequent_indent="  ") or [""]
        broken += [*([line] + [""] * len(others) for line in above), [last, *others]]
    widths[0] = max(len(row[0]) for row in broken)
    for row in broken:
        cells = zip(row, widths, flush_left, strict=True)
        aligned = (cell.ljust(room) if on else cell.rjust(room) for cell, room, on in cells)
        yield "  ".join(aligned).rstrip()


def as_page(document: Document) -> str:
    """Return a whole page, which is well-formed XML too: inline style, no script, nothing fetched.

    Its Content-Security-Policy allows its one style sheet, told by its hash, and nothing else: what
    a name of a column might smuggle in is not run, fetched or sent. So no element has a style
    attribute; what is as long as a number is drawn as SVG.
    """
    style = (resources.files("leakscore_app") / "data" / "page.css").read_text("utf-8")
    name = markup(document.name)
    head = _markup(part for parts in document.head for part in parts)
    sections = "".join(
        f"<section><h2>{markup(section.title)}</h2>{_markup(section.parts)}</section>"
        for section in document.sections
    )
    return (
        '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml"><head>'
        f'<meta charset="utf-8"/>{_policy(style)}'
        '<meta name="viewport" content="width=device-width, '
        'initial-scale=1"/><meta name="color-scheme" content="light"/>'
        f"<title>{name}</title><style>{style}</style></head>"
        f'<body><main><header><p class="kicker">{name}</p>{head}</header>{sections}</main></body>'
        "</html>\n"
    )


def as_frame(page: str) -> str:
    """Return the head of a page in a frame, for a notebook; neither touches the other's style."""
    end = page.index("</header>") + len("</header>")
    head = page[:end] + page[page.rindex("</main>") :]
    return (
        '<iframe sandbox="" width="100%" height="560" frameborder="0" '
        f'srcdoc="{escape(head)}"></iframe>'
    )


def _policy(style: str) -> str:
    """Return the element that allows the style sheet and nothing else."""
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    rules = (
        "default-src 'none'",
        f"style-src 'sha256-{digest}'",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}"/>'


def _markup(parts: Iterable[Part]) -> str:
    return "".join(_markup_of(part) for part in parts)


def _markup_of(part: Part) -> str:
    match part:
        case Heading(text, style):
            return _heading(text, style)
        case Paragraph(text, style):
            return f"<p{_class(style)}>{_words(text)}</p>"
        case TextTable():
            return _table_on_page(part)
        case Notices(notices):
            items = (
                f'<li class="{notice.level}">{_words(notice.message)}</li>' for notice in notices
            )
            return f'<ul class="notices">{"".join(items)}</ul>'
        case Definitions(pairs):
            items = (f"<dt>{markup(name)}</dt><dd>{_words(text)}</dd>" for name, text in pairs)
            return f"<dl>{''.join(items)}</dl>"
        case Cards(cards):
            return f'<div class="cards">{"".join(_card(card) for card in cards)}</div>'
        case Figures(figures):
            return f'<div class="charts">{"".join(figures)}</div>'
        case InWords(shown):
            return _markup_of(shown)
        case PageOnly(parts):
            return _markup(parts())


def _words(text: str) -> str:
    """Return markup in which no option and no percentage is broken between two lines."""
    return _OPTION.sub(r"<code>\g<0></code>", markup(text).replace(" %", "\u00a0%"))


def _heading(text: str, style: str) -> str:
    if not style:
        return f"<h1>{_words(text)}</h1>"
    verdict, colon, why = text.partition(": ")
    big = f'<span class="big">{markup(verdict)}{colon.strip()}</span>'
    return f'<h1 class="card {style}">{big} {_words(why)}</h1>'


def _class(style: str) -> str:
    return f' class="{style}"' if style else ""


def _card(card: Card) -> str:
    unit = f" <small>{markup(card.unit)}</small>" if card.unit else ""
    return (
        f'<div class="card {card.style}"><h2>{markup(card.title)}</h2><p class="big">'
        f"{markup(card.figure)}{unit}</p>"
        f"<p>{_words(card.text)}</p></div>"
    )


def _table_on_page(table: TextTable) -> str:
    styles = ["word" if name in table.words else "" if name else "meter" for name in table.header]
    names = [f"{name[:1].upper()}{name[1:]}".replace("\n", " ") for name in table.header]
    head = "".join(
        f'<th scope="col"{_class(style)}>{markup(name)}</th>'
        for name, style in zip(names, styles, strict=True)
    )
    lines = []
    for first, *others in table.rows:
        cells = "".join(map(_cell, others, styles[1:], names[1:]))
        lines.append(f'<tr><th scope="row">{markup(str(first))}</th>{cells}</tr>')
    caption = markup(table.caption)
    wide = " wide" if len(names) > _NARROW else ""
    return (
        f'<div class="scroll{wide}" role="region" tabindex="0" aria-label="{caption}">'
        f"<table><caption>{caption}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cell(cell: str | Bar, style: str, name: str) -> str:
    """Return a cell; on a narrow screen its column's name stands before it."""
    if isinstance(cell, Bar):
        return (
            f'<td{_class(style)}><svg class="share" aria-hidden="true"><rect class="{cell.style}" '
            f'x="{100 * cell.start:.1f}%" width="{100 * max(cell.length, 0.005):.1f}%"/></svg></td>'
        )
    style = _class("flag" if isinstance(cell, Flag) else style)
    return f'<td{style} data-name="{markup(name)}">{markup(cell)}</td>'


@dataclass(frozen=True, eq=False, repr=False)
class Findings(ByValue, ABC):
    """Base of the frozen dataclasses of numbers and words that commands return.

    A subclass says which document its text and page are laid out from, and what its JSON holds
    between the envelope (``schema_version``, ``tool``, ``command``, ``tool_version``) and the
    ``notices``: infinite numbers are "inf" and "-inf", NaN is null.
    """

    command: ClassVar[str]
    schema_version: ClassVar[int] = 1

    @property
    @abstractmethod
    def notices(self) -> Sequence[Notice]:
        """What must be known to read the numbers."""

    @abstractmethod
    def document(self) -> Document:
        """Return the sections of the text and the page."""

    def contents(self) -> dict[str, Any]:
        """Return what the JSON holds besides envelope and notices: fields that are not hidden."""
        shown = [field.name for field in fields(self) if not field.metadata.get("hidden")]
        return {name: getattr(self, name) for name in shown}

    @property
    def tool_version(self) -> str:
        """Of this package."""
        return leakscore.__version__

    @property
    def doubts(self) -> Sequence[Notice]:
        """What leaves nothing of the numbers, or makes them doubtful."""
        return [notice for notice in self.notices if notice.level == "warning"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, words, lists and dicts."""
        envelope = {
            "schema_version": self.schema_version,
            "tool": "leakscore",
            "command": self.command,
            "tool_version": self.tool_version,
        }
        plain: dict[str, Any] = as_json({**envelope, **self.contents(), "notices": self.notices})
        return plain

    def to_json(self) -> str:
        """Return strict JSON, no NaN and no Infinity."""
        return in_json(json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False))

    def to_text(self, width: int = 80) -> str:
        """Return the findings as aligned plain text.

        Parameters
        ----------
        width : int
            Of a line, in characters, from 1 on; one below 60 counts as 60.

        Returns
        -------
        str

        Raises
        ------
        TypeError, ValueError
            If `width` is no integer from 1 on.
        """
        return as_text(self.document(), width)

    def to_html(self) -> str:
        """Return the findings as one self-contained page: inline style and charts, no script."""
        return as_page(self.document())

    def _repr_html_(self) -> str:
        """Show a notebook the page's head, in a frame that runs nothing and fetches nothing."""
        return as_frame(self.to_html())
