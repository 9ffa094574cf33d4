"""Foreign text made visible: characters that a terminal or browser obeys or hides are escaped.

Names of columns, files and cells come from others. A control character may drive the terminal, a
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

# Letters, marks and signs that draw nothing, or pick a variant (Unicode's Default_Ignorable_Code
# _Point beyond the categories above, and a blank Braille cell); and code points of no character.
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
    r"""Return a text on one line, hidden characters escaped as in Python's literals.

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
    """Return the text that `visible` shows so, if it has no backslash of its own."""
    return _ESCAPED.sub(lambda match: match[0].encode().decode("unicode_escape"), text)


def markup(text: str) -> str:
    """Return a text for a page: hidden characters made visible, then escaped for HTML."""
    return escape(visible(text))


def listed(
    names: Sequence[str], most: int = 8, between: str = ", ", count: int | None = None
) -> str:
    """Return the first names of a list, and how many more there are, of `count` if given.

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
    """Return 1 column, 2 columns."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def capitalised(text: str) -> str:
    """Return a text with a capital at its beginning."""
    return f"{text[:1].upper()}{text[1:]}"


def nearest(name: str, names: Iterable[str]) -> str:
    """Ask for the name that was meant; empty if none is near.

    Examples
    --------
    >>> from leakscore_app._visible import nearest
    >>> nearest("ward", ["Ward", "Age"])
    'did you mean Ward?'
    """
    by_letters = {other.lower(): other for other in names}
    begun = [other for other in by_letters if name and other.startswith(name.lower())]
    near = begun or get_close_matches(name.lower(), by_letters, 1)
    return f"did you mean {visible(by_letters[near[0]])}?" if near else ""


def no_column(where: str, name: str, names: Iterable[str], option: str = "") -> str:
    """Say that a file has no such column, which was meant, and which ones it has."""
    names = list(names)
    near = nearest(name, names)
    return (
        f"{visible(where)} has no column '{visible(name)}'{near and f' ({near})'}; it has "
        f"{listed(names)}{option and f' ({option})'}"
    )


def in_json(document: str) -> str:
    """Return the same JSON document without hidden characters: they are escaped in its strings."""
    hidden = filter(_is_hidden, set(document) - {"\n"})
    return document.translate({ord(each): json.dumps(each)[1:-1] for each in hidden})
