"""What the pages are made of: one self-contained file, inline style, no script, nothing fetched.

A page carries a Content-Security-Policy that allows its one style sheet, told by its hash, and
nothing else: what a name of a column might smuggle in is not run, fetched or sent. So no element
has a style attribute; what is as long as a number is drawn as SVG.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from importlib import resources

from leakscore._results import Notice
from leakscore._visible import markup

__all__ = [
    "bar",
    "card",
    "cell",
    "definitions",
    "notices",
    "page",
    "paragraph",
    "section",
    "table",
]


def page(title: str, body: str) -> str:
    """Return a whole page; it is well-formed XML too."""
    style = (resources.files("leakscore") / "data" / "page.css").read_text("utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml"><head>'
        f'<meta charset="utf-8"/>{_policy(style)}'
        '<meta name="viewport" content="width=device-width, '
        'initial-scale=1"/><meta name="color-scheme" content="light"/>'
        f"<title>{markup(title)}</title><style>{style}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
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


def bar(start: float, length: float, style: str = "informed") -> str:
    """Draw a bar as wide as a share of its cell, from 0 to 1."""
    return (
        '<svg class="share" aria-hidden="true">'
        f'<rect class="{style}" x="{100 * start:.1f}%" width="{100 * max(length, 0.005):.1f}%"/>'
        "</svg>"
    )


def section(title: str, content: Iterable[str]) -> str:
    """Return a part of the page under its heading."""
    return f"<section><h2>{markup(title)}</h2>{''.join(content)}</section>"


def paragraph(text: str, style: str = "") -> str:
    """Return a paragraph; the text is escaped."""
    attribute = f' class="{style}"' if style else ""
    return f"<p{attribute}>{markup(text)}</p>"


class _Cell(str):
    """A cell of a table that is markup already."""

    __slots__ = ()


def cell(style: str, content: str) -> str:
    """Return a cell of a table whose content is markup."""
    return _Cell(f'<td class="{style}">{content}</td>')


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str,
    first: str = "",
    words: Sequence[str] = (),
) -> str:
    """Lay out a table; texts are escaped, those of `cell` are taken as they are.

    `first` is the style of the first row, `words` names the columns that hold no numbers.
    """
    styles = ("word" if text in words else "number" if text else "meter" for text in header)
    head = "".join(
        f'<th scope="col" class="{style}">{markup(text)}</th>'
        for text, style in zip(header, styles, strict=True)
    )
    lines: list[str] = []
    for row in rows:
        style = f' class="{first}"' if first and not lines else ""
        cells = "".join(
            text if isinstance(text, _Cell) else f"<td>{markup(text)}</td>" for text in row[1:]
        )
        lines.append(f'<tr{style}><th scope="row">{markup(row[0])}</th>{cells}</tr>')
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{markup(caption)}">'
        f"<table><caption>{markup(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def card(style: str, title: str, figure: str, unit: str, text: str) -> str:
    """Return one large figure with its title and what it means."""
    return (
        f'<div class="card {style}"><h2>{markup(title)}</h2><p class="big">'
        f"{markup(figure)} <small>{markup(unit)}</small></p>{paragraph(text)}</div>"
    )


def notices(found: Iterable[Notice]) -> str:
    """Return what the reader must know as a list; its style is the level."""
    items = (f'<li class="{notice.level}">{markup(notice.message)}</li>' for notice in found)
    return f'<ul class="notices">{"".join(items)}</ul>'


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names and what they are."""
    items = (f"<dt>{markup(name)}</dt><dd>{markup(text)}</dd>" for name, text in pairs)
    return f"<dl>{''.join(items)}</dl>"
