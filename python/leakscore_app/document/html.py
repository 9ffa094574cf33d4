"""A document as a page: one self-contained file, inline style, no script, nothing fetched.

A page carries a Content-Security-Policy that allows its one style sheet, told by its hash, and
nothing else: what a name of a column might smuggle in is not run, fetched or sent. So no element
has a style attribute; what is as long as a number is drawn as SVG.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from html import escape
from importlib import resources

from leakscore_app._visible import markup
from leakscore_app.document import document as doc

_OPTION = re.compile(r"--[a-z]+(?:-[a-z]+)*")
_NARROW = 3  # columns of a table that stands in a narrow window as it is


def render(document: doc.Document) -> str:
    """Return a whole page; it is well-formed XML too."""
    style = (resources.files("leakscore_app") / "data" / "page.css").read_text("utf-8")
    name = markup(document.name)
    head = _parts(part for parts in document.head for part in parts)
    sections = "".join(
        f"<section><h2>{markup(section.title)}</h2>{_parts(section.parts)}</section>"
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


def framed(page: str) -> str:
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


def _parts(parts: Iterable[doc.Part]) -> str:
    return "".join(_part(part) for part in parts)


def _part(part: doc.Part) -> str:
    match part:
        case doc.Heading(text, style):
            return _heading(text, style)
        case doc.Paragraph(text, style):
            return f"<p{_class(style)}>{_words(text)}</p>"
        case doc.TextTable():
            return _table(part)
        case doc.Notices(notices):
            items = (
                f'<li class="{notice.level}">{_words(notice.message)}</li>' for notice in notices
            )
            return f'<ul class="notices">{"".join(items)}</ul>'
        case doc.Definitions(pairs):
            items = (f"<dt>{markup(name)}</dt><dd>{_words(text)}</dd>" for name, text in pairs)
            return f"<dl>{''.join(items)}</dl>"
        case doc.Cards(cards):
            return f'<div class="cards">{"".join(_card(card) for card in cards)}</div>'
        case doc.Figures(figures):
            return f'<div class="charts">{"".join(figures)}</div>'
        case doc.InWords(shown):
            return _part(shown)
        case doc.PageOnly(parts):
            return _parts(parts)


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


def _card(card: doc.Card) -> str:
    unit = f" <small>{markup(card.unit)}</small>" if card.unit else ""
    return (
        f'<div class="card {card.style}"><h2>{markup(card.title)}</h2><p class="big">'
        f"{markup(card.figure)}{unit}</p>"
        f"<p>{_words(card.text)}</p></div>"
    )


def _table(table: doc.TextTable) -> str:
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


def _cell(cell: str | doc.Bar, style: str, name: str) -> str:
    """Return a cell; on a narrow screen its column's name stands before it."""
    if isinstance(cell, doc.Bar):
        return (
            f'<td{_class(style)}><svg class="share" aria-hidden="true"><rect class="{cell.style}" '
            f'x="{100 * cell.start:.1f}%" width="{100 * max(cell.length, 0.005):.1f}%"/></svg></td>'
        )
    style = _class("flag" if isinstance(cell, doc.Flag) else style)
    return f'<td{style} data-name="{markup(name)}">{markup(cell)}</td>'
