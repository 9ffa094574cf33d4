"""What the texts are made of: wrapped lines, headings, aligned tables.

Hidden characters of foreign names are shown escaped here, before anything is broken or aligned.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from leakscore._visible import visible

__all__ = ["counted", "table", "title", "wrapped"]


def wrapped(text: str, width: int, indent: str = "", first: str | None = None) -> list[str]:
    """Break a text into lines."""
    return textwrap.wrap(
        visible(text),
        width,
        initial_indent=visible(indent if first is None else first),
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def title(text: str, width: int) -> str:
    """Return a heading, underlined to the right end."""
    text = visible(text)
    return f"{text} {'-' * (width - len(text) - 1)}"


def table(rows: Sequence[Sequence[str]], left: int = 1) -> Iterator[str]:
    """Columns as wide as needed, two blanks apart: the first `left` flush left, others right."""
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if j < left else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()


def counted(count: int, noun: str) -> str:
    """Return 1 column, 2 columns."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
