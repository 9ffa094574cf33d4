"""Text from users' files made visible: escapes for characters that are obeyed or not displayed.

Names of columns, files and cells are not trusted. A control character may drive the terminal, a
bidirectional mark may reverse a line, an invisible character may make two names look the same.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from html import escape

# Controls, format characters (bidirectional marks among them), surrogates, ends of lines.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})

# Letters, marks and signs that draw nothing or select a variant (Unicode's
# Default_Ignorable_Code_Point beyond the categories above, and the blank Braille cell), and code
# points without a character.
_BLANK = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2065, 0x2065),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0xFFFE, 0xFFFF),
    (0xE0000, 0xE0FFF),
)


def _is_hidden(character: str) -> bool:
    code = ord(character)
    return unicodedata.category(character) in _HIDDEN or any(
        low <= code <= high for low, high in _BLANK
    )


def visible(text: str) -> str:
    r"""Return a text on one line, with hidden characters escaped as in Python's literals.

    Examples
    --------
    >>> from leakscore_app._visible import visible
    >>> print(visible("age\x1b[2J\u202e"))
    age\x1b[2J\u202e
    """
    if text.isascii() and text.isprintable():
        return text
    hidden = filter(_is_hidden, set(text))
    return text.translate({ord(each): each.encode("unicode_escape").decode() for each in hidden})


_ESCAPED = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[nrt])")


def unescaped(text: str) -> str:
    """Undo `visible`, for a text that had no backslash before."""
    return _ESCAPED.sub(lambda match: match[0].encode().decode("unicode_escape"), text)


def markup(text: str) -> str:
    """Return a text for a page: hidden characters made visible, and HTML escaped."""
    return escape(visible(text))


def listed(
    names: Sequence[str], most: int = 8, between: str = ", ", count: int | None = None
) -> str:
    """Return the first names of a list, and the number of the others, of `count` if given.

    Examples
    --------
    >>> from leakscore_app._visible import listed
    >>> listed(["age", "sex", "income"], 2)
    'age, sex and 1 more'
    """
    shown = names[:most]
    more = (len(names) if count is None else count) - len(shown)
    return between.join(map(visible, shown)) + (f" and {more} more" if more > 0 else "")


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: "1 column", "2 columns"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def capitalised(text: str) -> str:
    """Return a text with a capital at its beginning."""
    return f"{text[:1].upper()}{text[1:]}"


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the question for the nearest name; empty if none is near.

    Examples
    --------
    >>> from leakscore_app._visible import nearest
    >>> nearest("ward", ["Ward", "Age"])
    'did you mean Ward?'
    """
    by_letters = {other.lower(): other for other in names}
    longer = [other for other in by_letters if name and other.startswith(name.lower())]
    near = longer or get_close_matches(name.lower(), by_letters, 1)
    return f"did you mean {visible(by_letters[near[0]])}?" if near else ""


def no_column(where: str, name: str, names: Iterable[str], option: str = "") -> str:
    """Return the message that a file has no such column, with the nearest and all names."""
    names = list(names)
    near = nearest(name, names)
    return (
        f"{visible(where)} has no column '{visible(name)}'{near and f' ({near})'}; it has "
        f"{listed(names)}{option and f' ({option})'}"
    )


def in_json(document: str) -> str:
    """Return an equivalent JSON document whose strings escape all hidden characters."""
    hidden = filter(_is_hidden, set(document) - {"\n"})
    return document.translate({ord(each): json.dumps(each)[1:-1] for each in hidden})
