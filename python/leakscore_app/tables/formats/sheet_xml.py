"""What a sheet says beside its values: formulas that were never calculated, what it hides."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from leakscore_app._visible import listed, visible
from leakscore_app.tables.files import File

UNCALCULATED = "formula without a value"
"""What stands in the cell of a formula whose result the workbook does not hold."""

_SHEET = re.compile(rb"<sheet\s[^>]*r:id=\"([^\"]+)\"")
_PART = re.compile(rb"<Relationship\s[^>]*>")
_HIDDEN = rb"<%s\s(?=[^>]*hidden=\"(?:1|true)\")[^>]*>"
_HIDDEN_ROW, _HIDDEN_COLUMNS = re.compile(_HIDDEN % b"row"), re.compile(_HIDDEN % b"col")
# A calculated empty text has the type "str".
_FORMULA = re.compile(
    rb"<c r=\"([A-Z]+)(\d+)\"(?![^>]*t=\"str\")[^>]*>\s*<f(?:\s[^>]*)?(?:/>|>[^<]*</f>)\s*"
    rb"(?:<v\s*/>|<v></v>)?\s*</c>"
)
_OPEN = re.compile(rb"table:visibility=\"(?:collapse|filter)\"")


@dataclass(frozen=True)
class Unsaid:
    """What a sheet says beside its values; rows and columns from 1.

    Attributes
    ----------
    formulas : tuple of (int, int)
        Row and column of each formula without a value.
    rows, columns : frozenset of int
        The hidden ones.
    unknown : bool
        Whether something is hidden, and it is not known what.
    """

    formulas: tuple[tuple[int, int], ...] = ()
    rows: frozenset[int] = frozenset()
    columns: frozenset[int] = frozenset()
    unknown: bool = False

    def filled(self, rows: list[list[Any]]) -> list[list[Any]]:
        """Write into the cells of formulas that they have no value."""
        width = max((column for _, column in self.formulas), default=0)
        for row in rows:
            row += [""] * (width - len(row))
        for at, column in self.formulas:
            if at <= len(rows):
                rows[at - 1][column - 1] = UNCALCULATED
        return rows

    def notes(self, names: Sequence[str], lines: Sequence[int]) -> Iterator[str]:
        """Say it of the columns and the records of a table."""
        if self.formulas:
            yield (
                f"{len(self.formulas)} formulas have no value (line {self.formulas[0][0]}, ...): a "
                "spreadsheet program that saves the workbook writes them"
            )
        columns = [visible(name) for j, name in enumerate(names, 1) if j in self.columns]
        if columns:
            yield f"hidden columns are read like others ({listed(columns)})"
        rows = [line for line in lines if line in self.rows]
        if rows:
            yield f"hidden rows are read like others ({len(rows)}, the first is line {rows[0]})"
        if self.unknown:
            yield "hidden rows and columns of the workbook are read like others"


def unsaid(file: File, sheet: int) -> Unsaid:
    """Return what the sheet of this place says beside its values, as far as its format is XML.

    Raises
    ------
    KeyError, zipfile.BadZipFile
        If the workbook is damaged.
    """
    if not zipfile.is_zipfile(io.BytesIO(file.data)):
        return Unsaid()
    with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
        members = archive.namelist()
        if "xl/workbook.xml" not in members:
            hidden = "content.xml" in members and _OPEN.search(archive.read("content.xml"))
            return Unsaid(unknown=bool(hidden))
        ids = _SHEET.findall(archive.read("xl/workbook.xml"))
        path = _path(archive.read("xl/_rels/workbook.xml.rels"), ids[sheet : sheet + 1])
        data = archive.read(path) if path in members else b""
    spans = [_numbers(tag, b"min", b"max") for tag in _HIDDEN_COLUMNS.findall(data)]
    return Unsaid(
        tuple((int(row), column_of(letters)) for letters, row in _FORMULA.findall(data)),
        frozenset(row for tag in _HIDDEN_ROW.findall(data) for row in _numbers(tag, b"r")),
        frozenset(j for first, last in spans for j in range(first, min(last, 1 << 14) + 1)),
    )


def _path(relations: bytes, sheets: Sequence[bytes]) -> str:
    for part in _PART.findall(relations):
        target = re.search(rb"Target=\"([^\"]+)\"", part)
        if target and any(b'Id="%s"' % sheet in part for sheet in sheets):
            path = target[1].decode()
            return path[1:] if path.startswith("/") else f"xl/{path}"
    return ""


def _numbers(tag: bytes, *names: bytes) -> list[int]:
    """Return attributes that are whole numbers; none if one is lacking."""
    found = [re.search(rb"\s%s=\"(\d{1,9})\"" % name, tag) for name in names]
    return [int(match[1]) for match in found if match] if all(found) else [0] * len(names)


def column_of(letters: bytes) -> int:
    """Return the number of a column from 1."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number
