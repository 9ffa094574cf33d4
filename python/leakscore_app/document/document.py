"""The results of commands, and the documents that present them.

A document is sections of parts. It is built once and laid out twice: as aligned plain text, and as
a page, one self-contained file. `PageOnly`, `Figures` and `TextTable.page_only` are for the page
alone. A `Variant` is a part on the page and a sentence in the text. Nothing on a page is folded:
pages are also printed. Both layouts escape hidden characters in names from files.
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

_MIN_WIDTH = 60  # characters of a line, at least
_FIRST_COLUMN = 16  # characters of a table's first column, at least
_OPTION = re.compile(r"--[a-z]+(?:-[a-z]+)*")
_FEW_COLUMNS = 3  # a table of so many columns fits a narrow window

HIDDEN = {"hidden": True}
"""Metadata of a field that the JSON leaves out."""


@dataclass(frozen=True)
class Notice:
    """A message to the reader, with a code that a program can test."""

    level: str
    code: str
    message: str


def warning(code: str, message: str) -> Notice:
    """Return a notice that voids or weakens a result."""
    return Notice("warning", code, message)


def note(code: str, message: str) -> Notice:
    """Return a notice that explains a result."""
    return Notice("note", code, message)


def warnings_first(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """Return notices in their order, warnings before notes."""
    return tuple(sorted(notices, key=lambda notice: notice.level != "warning"))


@dataclass(frozen=True)
class Heading:
    """The first sentence of a document; with a style: a verdict, a colon and the reason."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; on the page in the style "lead", "soft", "plain" or none."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class Bar:
    """A cell with a horizontal bar; `start` and `length` are shares of the cell's width."""

    length: float
    start: float = 0.0
    style: str = "informed"


class Flag(str):
    """A cell that the page highlights."""

    __slots__ = ()


@dataclass(frozen=True)
class TextTable:
    """A table; the text breaks the names of columns at newlines, the page does not.

    `words` names the columns of words, `page_only` those that the text leaves out. Columns without
    a name hold a `Bar`, which the text leaves out, too.
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
        """Return a table of columns by name."""
        rows = list(zip(*columns.values(), strict=True))
        return cls(list(columns), rows, caption, words, page_only)


@dataclass(frozen=True)
class Notices:
    """A list of messages, each of one sentence or more."""

    notices: Sequence[Notice]


@dataclass(frozen=True)
class Definitions:
    """Pairs of a name and its value."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Card:
    """A large figure or word on the page; a text shows the sentences of `text`."""

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
class Variant:
    """A part on the page, and the sentences that replace it in the text."""

    part: Part
    text: str


@dataclass(frozen=True)
class PageOnly:
    """Parts for the page alone, built when the page is; the text has other words for them."""

    parts: Callable[[], Sequence[Part]]


Part: TypeAlias = (
    Heading | Paragraph | TextTable | Notices | Definitions | Cards | Figures | Variant | PageOnly
)


@dataclass(frozen=True)
class Section:
    """Parts under a title."""

    title: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Document:
    """A whole report; in the text blank lines separate the groups of its head."""

    name: str
    head: Sequence[Sequence[Part]]
    sections: Sequence[Section]


def as_text(document: Document, width: int = 80) -> str:
    """Return a document as lines of at most `width` characters, unless a word is longer."""
    width = max(validation.count("width", width, 1), _MIN_WIDTH)
    blocks = [_text_lines(parts, width, "") for parts in document.head]
    for section in document.sections:
        title = visible(section.title.upper())
        rule = "-" * (width - len(title) - 1)
        blocks.append([f"{title} {rule}", *_text_lines(section.parts, width, "  ")])
    text = "\n\n".join("\n".join(lines) for lines in blocks if lines)
    return text.replace("\u00a0", " ") + "\n"


def _text_lines(parts: Sequence[Part], width: int, indent: str) -> list[str]:
    return [line for part in parts for line in _part_lines(part, width, indent)]


def _part_lines(part: Part, width: int, indent: str) -> Iterator[str]:
    match part:
        case Heading(text) | Paragraph(text) | Variant(text=text):
            yield from _wrap(text, width, indent)
        case Cards(cards):
            for card in cards:
                yield from _wrap(card.text, width, indent)
        case Notices(notices):
            for notice in notices:
                mark = "! " if notice.level == "warning" else "- "
                yield from _wrap(notice.message, width, indent, mark)
        case Definitions(pairs):
            widest = max(len(visible(name)) for name, _ in pairs)
            for name, text in pairs:
                yield from _wrap(text, width, indent, f"{visible(name):{widest}}  ")
        case TextTable():
            yield from (indent + row for row in _table_in_text(part, width - len(indent)))
            yield from _wrap(part.caption, width, indent)
        case Figures() | PageOnly():
            pass


def _wrap(text: str, width: int, indent: str, prefix: str = "") -> list[str]:
    """Break a text into lines; the first one has a prefix, the others as many spaces."""
    return textwrap.wrap(
        visible(text),
        width,
        initial_indent=indent + prefix,
        subsequent_indent=indent + " " * len(prefix),
        break_on_hyphens=False,
    )


def _table_in_text(table: TextTable, width: int) -> Iterator[str]:
    """Yield the rows of a table in aligned columns; break the first column if it is too wide."""
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
    lines = []
    for first, *others in rows:
        *above, last = textwrap.wrap(first, widths[0], subsequent_indent="  ") or [""]
        lines += [*([part] + [""] * len(others) for part in above), [last, *others]]
    widths[0] = max(len(line[0]) for line in lines)
    for line in lines:
        cells = zip(line, widths, flush_left, strict=True)
        aligned = (cell.ljust(room) if left else cell.rjust(room) for cell, room, left in cells)
        yield "  ".join(aligned).rstrip()


def as_page(document: Document) -> str:
    """Return a document as a page: well-formed XML, inline style, no script, nothing fetched.

    Its Content-Security-Policy allows its style sheet, by hash, and nothing else. So nothing that a
    column's name smuggles in is run, fetched or sent. The policy forbids style attributes, too:
    bars whose length is a number are drawn as SVG.
    """
    style = (resources.files("leakscore_app") / "data" / "page.css").read_text("utf-8")
    name = markup(document.name)
    head = _parts_markup(part for parts in document.head for part in parts)
    sections = "".join(
        f"<section><h2>{markup(section.title)}</h2>{_parts_markup(section.parts)}</section>"
        for section in document.sections
    )
    return (
        '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml"><head>'
        f'<meta charset="utf-8"/>{_security_policy(style)}'
        '<meta name="viewport" content="width=device-width, '
        'initial-scale=1"/><meta name="color-scheme" content="light"/>'
        f"<title>{name}</title><style>{style}</style></head>"
        f'<body><main><header><p class="kicker">{name}</p>{head}</header>{sections}</main></body>'
        "</html>\n"
    )


def as_frame(page: str) -> str:
    """Return the head of a page in a frame for a notebook: their styles stay separate."""
    end = page.index("</header>") + len("</header>")
    head = page[:end] + page[page.rindex("</main>") :]
    return (
        '<iframe sandbox="" width="100%" height="560" frameborder="0" '
        f'srcdoc="{escape(head)}"></iframe>'
    )


def _security_policy(style: str) -> str:
    """Return the Content-Security-Policy, which allows the style sheet alone."""
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    rules = (
        "default-src 'none'",
        f"style-src 'sha256-{digest}'",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}"/>'


def _parts_markup(parts: Iterable[Part]) -> str:
    return "".join(_part_markup(part) for part in parts)


def _part_markup(part: Part) -> str:
    match part:
        case Heading(text, style):
            return _heading_markup(text, style)
        case Paragraph(text, style):
            return f"<p{_class(style)}>{_inline(text)}</p>"
        case TextTable():
            return _table_on_page(part)
        case Notices(notices):
            items = (
                f'<li class="{notice.level}">{_inline(notice.message)}</li>' for notice in notices
            )
            return f'<ul class="notices">{"".join(items)}</ul>'
        case Definitions(pairs):
            items = (f"<dt>{markup(name)}</dt><dd>{_inline(text)}</dd>" for name, text in pairs)
            return f"<dl>{''.join(items)}</dl>"
        case Cards(cards):
            return f'<div class="cards">{"".join(_card_markup(card) for card in cards)}</div>'
        case Figures(figures):
            return f'<div class="charts">{"".join(figures)}</div>'
        case Variant(variant):
            return _part_markup(variant)
        case PageOnly(parts):
            return _parts_markup(parts())


def _inline(text: str) -> str:
    """Return a text as markup that breaks no option and no percentage between lines."""
    return _OPTION.sub(r"<code>\g<0></code>", markup(text).replace(" %", "\u00a0%"))


def _heading_markup(text: str, style: str) -> str:
    if not style:
        return f"<h1>{_inline(text)}</h1>"
    verdict, colon, why = text.partition(": ")
    big = f'<span class="big">{markup(verdict)}{colon.strip()}</span>'
    return f'<h1 class="card {style}">{big} {_inline(why)}</h1>'


def _class(style: str) -> str:
    return f' class="{style}"' if style else ""


def _card_markup(card: Card) -> str:
    unit = f" <small>{markup(card.unit)}</small>" if card.unit else ""
    return (
        f'<div class="card {card.style}"><h2>{markup(card.title)}</h2><p class="big">'
        f"{markup(card.figure)}{unit}</p>"
        f"<p>{_inline(card.text)}</p></div>"
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
        cells = "".join(map(_cell_markup, others, styles[1:], names[1:]))
        lines.append(f'<tr><th scope="row">{markup(str(first))}</th>{cells}</tr>')
    caption = markup(table.caption)
    wide = " wide" if len(names) > _FEW_COLUMNS else ""
    return (
        f'<div class="scroll{wide}" role="region" tabindex="0" aria-label="{caption}">'
        f"<table><caption>{caption}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cell_markup(cell: str | Bar, style: str, name: str) -> str:
    """Return the markup of a cell, with its column's name for narrow screens."""
    if isinstance(cell, Bar):
        return (
            f'<td{_class(style)}><svg class="share" aria-hidden="true"><rect class="{cell.style}" '
            f'x="{100 * cell.start:.1f}%" width="{100 * max(cell.length, 0.005):.1f}%"/></svg></td>'
        )
    style = _class("flag" if isinstance(cell, Flag) else style)
    return f'<td{style} data-name="{markup(name)}">{markup(cell)}</td>'


@dataclass(frozen=True, eq=False, repr=False)
class Findings(ByValue, ABC):
    """Base of the results of commands: frozen dataclasses of numbers and words.

    A subclass defines the document of its text and page, and the fields of its JSON between the
    envelope (``schema_version``, ``tool``, ``command``, ``tool_version``) and the ``notices``.
    Infinite numbers are "inf" and "-inf" there, NaN is null.
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
        """Return the fields of the JSON besides envelope and notices: those that are not hidden."""
        names = [field.name for field in fields(self) if not field.metadata.get("hidden")]
        return {name: getattr(self, name) for name in names}

    @property
    def tool_version(self) -> str:
        """The version of this package."""
        return leakscore.__version__

    @property
    def doubts(self) -> Sequence[Notice]:
        """The notices that void or weaken the numbers."""
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
