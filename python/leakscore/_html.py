"""What the pages are made of: one self-contained file, inline style, no script, nothing fetched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources

from leakscore._results import Notice

__all__ = ["card", "definitions", "notices", "page", "paragraph", "section", "table"]

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def page(title: str, body: str) -> str:
    """Return a whole page; it is well-formed XML too."""
    style = (resources.files("leakscore") / "data" / "page.css").read_text("utf-8")
    whole = (
        '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml"><head>'
        '<meta charset="utf-8"/><meta name="viewport" content="width=device-width, '
        'initial-scale=1"/><meta name="color-scheme" content="light"/>'
        f"<title>{escape(title)}</title><style>{style}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )
    return _NOT_XML.sub("\ufffd", whole)


def section(title: str, content: Iterable[str]) -> str:
    """Return a part of the page under its heading."""
    return f"<section><h2>{escape(title)}</h2>{''.join(content)}</section>"


def paragraph(text: str, style: str = "") -> str:
    """Return a paragraph; the text is escaped."""
    attribute = f' class="{style}"' if style else ""
    return f"<p{attribute}>{escape(text)}</p>"


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str,
    first: str = "",
    words: Sequence[str] = (),
) -> str:
    """Lay out a table; cells are escaped, those that start with a tag are taken as they are.

    `first` is the style of the first row, `words` names the columns that hold no numbers.
    """
    styles = ("word" if cell in words else "number" if cell else "meter" for cell in header)
    head = "".join(
        f'<th scope="col" class="{style}">{escape(cell)}</th>'
        for cell, style in zip(header, styles, strict=True)
    )
    lines: list[str] = []
    for row in rows:
        style = f' class="{first}"' if first and not lines else ""
        cells = "".join(
            cell if cell.startswith("<td") else f"<td>{escape(cell)}</td>" for cell in row[1:]
        )
        lines.append(f'<tr{style}><th scope="row">{escape(row[0])}</th>{cells}</tr>')
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}">'
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def card(style: str, title: str, figure: str, unit: str, text: str) -> str:
    """Return one large figure with its title and what it means."""
    return (
        f'<div class="card {style}"><h2>{escape(title)}</h2><p class="big">'
        f"{escape(figure)} <small>{escape(unit)}</small></p>{paragraph(text)}</div>"
    )


def notices(found: Iterable[Notice]) -> str:
    """Return what the reader must know as a list; its style is the level."""
    items = (f'<li class="{notice.level}">{escape(notice.message)}</li>' for notice in found)
    return f'<ul class="notices">{"".join(items)}</ul>'


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names and what they are."""
    items = (f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in pairs)
    return f"<dl>{''.join(items)}</dl>"
