"""Columns that count, name or date the records: they look like numbers, but measure nothing."""

from __future__ import annotations

import re
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from leakscore_app._visible import visible
from leakscore_app.tables.cells import Cells, Grid

INDEX = "it counts or names the records"
_COUNTED = frozenset(
    (
        *("index", "idx", "row", "rows", "rownames", "nr", "nr.", "no", "no.", "number", "record"),
        *("obs", "case", "#", "sno", "s.no", "s.no.", "nummer", "num", "n\u00b0", "laufnummer"),
        *("lfd. nr.", "lfd.nr.", "lfd nr", "lfdnr", "lfd. nr", "lfd", "patient", "person"),
        *("subject", "participant", "line", "observation", "serial", "serial no", "serial no."),
    )
)
_NAMED = frozenset(
    (
        *("id", "level_0", "rowid", "subjid", "usubjid", "patid", "pid", "pnr", "uid", "caseid"),
        *("recordid", "respid", "respondentid", "patientid", "subjectid", "personid", "seqn"),
        *("mrn", "idnr", "id nr", "id-nr", "id_nr", "id no", "id no."),
    )
)
_PEOPLE = frozenset(("patient", "person", "subject", "participant", "case"))
_IDENTIFIER = re.compile(r"(?i:.*[\W_]id\d?)|.*[a-z]I[Dd]")
_NUMBER_OF = re.compile(
    r"(?i:(?:patient|person|subject|participant|member|customer|client|case|record|employee"
    r"|student|user|visit)s?[\W_]*(?:no|nr|num|number|nummer|code|key)\.?)"
)
_CODE = r"^\s*0[0-9]+\s*$"
_DIGITS = r"^\s*[0-9]+\s*$"
_FEWEST_DATES = 3
_MANY = 30  # rows
_FIRST_DAY, _LAST_DAY = 18_000_101, 22_000_101


class _NameColumn(Protocol):
    name: str
    values: npt.NDArray[np.float64]
    left: str


def why_left(column: _NameColumn, cells: Cells, grid: Grid, *, first: bool) -> str:
    """Say why a column of numbers is not judged unless it is asked for; empty if it is."""
    if cells.index:
        return INDEX
    name = cells.name.strip()
    unnamed = not name and first and grid.header != "no"
    whole = _are_whole(column.values)
    counting, rows = _counts(column.values), len(column.values)
    if name.lower() in _COUNTED and whole and rows >= _MANY:
        counting = counting or len(np.unique(column.values)) == rows
    if names_rows(name, unnamed=unnamed, whole=whole, counting=counting, rows=rows):
        return INDEX
    return (_code(cells, grid) or _date(column.values)) if whole else ""


def names_rows(name: str, *, unnamed: bool, whole: bool, counting: bool, rows: int) -> bool:
    """Tell whether a column names the records, by its name and what its values are.

    Parameters
    ----------
    name : str
    unnamed : bool
        Whether it is a first column without a name.
    whole, counting : bool
        Whether all values are whole numbers, and each is the one above it plus 1.
    rows : int
        How many there are: of many, a column that counts them needs no such name.
    """
    unnamed = unnamed or name.startswith("Unnamed: 0")
    counted = name.lower() in _COUNTED
    named = _is_identifier(name)
    return (counting and (counted or named or (bool(name) and rows >= _MANY))) or (
        (unnamed or named) and whole
    )


def named_as_rows(name: str) -> bool:
    """Tell whether a column's name alone says that it counts or names the records."""
    name = name.strip()
    return (
        not name
        or name.startswith("Unnamed: 0")
        or name.lower() in _COUNTED
        or (_is_identifier(name))
    )


def names_people(name: str) -> bool:
    """Tell whether a column's name is one of those of which each value stands for a person."""
    name = name.strip()
    low = name.lower()
    return low in _PEOPLE or _is_identifier(name)


def _is_identifier(name: str) -> bool:
    """Tell whether a name is that of a column of identifiers."""
    patterns = (_IDENTIFIER, _NUMBER_OF)
    return name.lower() in _NAMED or any(p.fullmatch(name) is not None for p in patterns)


def _counts(values: npt.NDArray[np.float64]) -> bool:
    known = values[np.isfinite(values)]
    with np.errstate(over="ignore"):
        return len(known) > 1 and bool((np.diff(known) == 1).all())


def _are_whole(values: npt.NDArray[np.float64]) -> bool:
    known = values[np.isfinite(values)]
    return bool(known.size) and bool(((known == np.floor(known)) & (known >= 0)).all())


def _code(cells: Cells, grid: Grid) -> str:
    """Say that a column holds codes: digits only, some of which begin with a needless 0."""
    if cells.text is None or cells.numbers is not None:
        return ""
    import pyarrow.compute as compute

    zeros = compute.match_substring_regex(cells.text, _CODE).fill_null(False)
    if not compute.any(zeros).as_py():
        return ""
    if not compute.all(compute.match_substring_regex(cells.text, _DIGITS)).as_py():
        return ""
    row = int(compute.index(zeros, True).as_py())
    shown = visible(str(cells.text[row].as_py()).strip())[:40]
    return f"it holds codes such as {shown!r} ({grid.place(row)}), no numbers"


def may_hold_codes(text: Any) -> bool:
    """Tell whether some cell of a text is a number with a needless 0 before it."""
    import pyarrow.compute as compute

    return bool(compute.any(compute.match_substring_regex(text, _CODE)).as_py())


def _date(values: npt.NDArray[np.float64]) -> str:
    """Say that a column holds days, written as numbers such as 20240131."""
    days = values[np.isfinite(values)]
    if len(days) < _FEWEST_DATES or not _FIRST_DAY <= days[0] < _LAST_DAY:
        return ""
    return dates_such_as(float(days[0])) if are_dates(days) else ""


def are_dates(days: npt.NDArray[np.float64]) -> bool:
    """Tell whether whole numbers are days, written as 20240131."""
    return _are_days(days[:1]) and _are_days(days)  # mostly the first one is none


def _are_days(days: npt.NDArray[np.float64]) -> bool:
    year, month, day = days // 10_000, days // 100 % 100, days % 100
    valid = (year >= 1800) & (year < 2200) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    return bool(valid.all())


def dates_such_as(first: float) -> str:
    """Say that a column holds days."""
    return f"dates such as {int(first)}, no numbers"
