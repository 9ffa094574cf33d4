"""What points, commas, apostrophes and blanks in numbers mean: a file has one convention.

A convention is a decimal mark and a mark of thousands. A number of digits and marks excludes every
convention in which it is not well formed; what all numbers of a file leave is its convention. Two
may be left that read some number differently: 4,258 is 4.258 or 4258.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

BLANKS = " \u00a0\u2007\u2009\u202f"
_APOSTROPHES = "'\u2019"


@dataclass(frozen=True)
class Convention:
    """A decimal mark, and a mark of thousands or "" for none; " " stands for every blank."""

    decimal: str
    thousands: str

    @property
    def words(self) -> str:
        """For notes: how the numbers are read."""
        if not self.thousands:
            return f"decimal {_NAMES[self.decimal]}s"
        return f"decimal {_NAMES[self.decimal]}s and {_NAMES[self.thousands]}s between thousands"


_NAMES = {".": "point", ",": "comma", "'": "apostrophe", " ": "blank"}

CONVENTIONS = (
    Convention(".", ""),
    Convention(",", ""),
    Convention(".", ","),
    Convention(",", "."),
    Convention(".", "'"),
    Convention(",", "'"),
    Convention(".", " "),
    Convention(",", " "),
)
"""In order of preference where all that are left read the same numbers."""

ALL = (1 << len(CONVENTIONS)) - 1


def _bits(*chosen: tuple[str, str]) -> int:
    return sum(1 << i for i, c in enumerate(CONVENTIONS) if (c.decimal, c.thousands) in chosen)


_POINT = _bits((".", ""), (".", ","), (".", "'"), (".", " "))
_COMMA = _bits((",", ""), (",", "."), (",", "'"), (",", " "))
_BY_POINT, _BY_COMMA = _bits((",", ".")), _bits((".", ","))
_BY_QUOTE = (_bits((".", "'")), _bits((",", "'")))
_BY_BLANK = (_bits((".", " ")), _bits((",", " ")))


@dataclass(frozen=True)
class Shape:
    """What the marks of a number tell.

    Attributes
    ----------
    conventions : int
        Those in which the number is well formed, as bits in the order of `CONVENTIONS`.
    three : str
        The mark if it is single and stands before exactly three digits, so that it may be either of
        the two; otherwise empty.
    bare : bool
        Whether the number has digits only.
    """

    conventions: int
    three: str = ""
    bare: bool = False


_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
_SINGLE = re.compile(rf"[+-]?(?=[.,]?[0-9])[0-9]*(?:([.,])[0-9]+|(\.)){_EXPONENT}")
_THREE = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
_BARE = re.compile(rf"[+-]?[0-9]+{_EXPONENT}")
_GROUPS = re.compile(
    rf"[+-]?[1-9][0-9]{{0,2}}(?:([.,'\u2019{BLANKS}])[0-9]{{3}})(?:\1[0-9]{{3}})*"
    r"(?:([.,])[0-9]+)?"
)
_BARE_SHAPE = Shape(ALL, bare=True)
SINGLE = {".": Shape(_POINT), ",": Shape(_COMMA)}
THREE = {".": Shape(_POINT | _BY_POINT, "."), ",": Shape(_COMMA | _BY_COMMA, ",")}


def shape_of(number: str) -> Shape | None:
    """Return what the marks of a trimmed number tell, or None if it is no number."""
    if _BARE.fullmatch(number):
        return _BARE_SHAPE
    if single := _SINGLE.fullmatch(number):
        shapes = THREE if _THREE.fullmatch(number) else SINGLE
        return shapes[single[1] or single[2]]
    groups = _GROUPS.fullmatch(number)
    return None if groups is None else _grouped(groups[1], groups[2])


def _grouped(mark: str, decimal: str | None) -> Shape | None:
    if mark in ".,":
        if decimal == mark:
            return None
        return Shape(_BY_POINT if mark == "." else _BY_COMMA)
    point, comma = _BY_QUOTE if mark in _APOSTROPHES else _BY_BLANK
    return Shape({".": point, ",": comma, None: point | comma}[decimal])


def conventions_of(decimal: str | None, thousands: str | None) -> int:
    """Return the conventions that options leave; `thousands` "none" stands for no mark."""
    wanted = "" if thousands == "none" else thousands
    return sum(
        1 << i
        for i, convention in enumerate(CONVENTIONS)
        if decimal in (None, convention.decimal) and wanted in (None, convention.thousands)
    )


_MARKS = re.compile(rf"[{_APOSTROPHES}{BLANKS}]")


def parse(number: str, convention: Convention) -> float:
    """Return the value of a number that is well formed in a convention."""
    plain = _MARKS.sub("", number)
    if convention.thousands in (".", ","):
        plain = plain.replace(convention.thousands, "")
    return float(plain.replace(",", "."))
