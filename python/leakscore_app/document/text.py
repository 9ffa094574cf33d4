"""A document as aligned plain text.

Hidden characters of foreign names are shown escaped here, before anything is broken or aligned.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from leakscore import validation
from leakscore_app._visible import visible
from leakscore_app.document import document as doc

_NARROWEST = 60
_FIRST_COLUMN = 16  # characters that it keeps in a narrow window


def render(document: doc.Document, width: int = 80) -> str:
    """Lay a document out in lines of at most `width` characters where words allow it."""
    width = max(validation.count("width", width, 1), _NARROWEST)
    blocks = [_lines(parts, width, "") for parts in document.head]
    for section in document.sections:
        title = visible(section.title.upper())
        rule = "-" * (width - len(title) - 1)
        blocks.append([f"{title} {rule}", *_lines(section.parts, width, "  ")])
    text = "\n\n".join("\n".join(lines) for lines in blocks if lines)
    return text.replace("\u00a0", " ") + "\n"


def _lines(parts: Sequence[doc.Part], width: int, indent: str) -> list[str]:
    return [line for part in parts for line in _part(part, width, indent)]


def _part(part: doc.Part, width: int, indent: str) -> Iterator[str]:
    match part:
        case doc.Heading(text) | doc.Paragraph(text) | doc.InWords(text=text):
            yield from _wrapped(text, width, indent)
        case doc.Cards(cards):
            for card in cards:
                yield from _wrapped(card.text, width, indent)
        case doc.Notices(notices):
            for notice in notices:
                mark = "! " if notice.level == "warning" else "- "
                yield from _wrapped(notice.message, width, indent, mark)
        case doc.Definitions(pairs):
            widest = max(len(visible(name)) for name, _ in pairs)
            for name, text in pairs:
                yield from _wrapped(text, width, indent, f"{visible(name):{widest}}  ")
        case doc.TextTable():
            yield from (indent + row for row in _table(part, width - len(indent)))
            yield from _wrapped(part.caption, width, indent)
        case doc.Figures() | doc.PageOnly():
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


def _table(table: doc.TextTable, width: int) -> Iterator[str]:
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


def counted(count: int, noun: str) -> str:
    """Return 1 column, 2 columns."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
