"""What is remembered of the numbers of columns, block by block, and what it tells of a table.

Columns count, name or date the records; a number far from all others stands for a missing value;
the last records sum up the others. All that is seen in a few numbers of each column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles, Flags
from leakscore_app._visible import visible
from leakscore_app.tables.cells import Cells, Grid

_TAIL = 3  # last rows that may sum up the others
_CHANCE = 1e-4  # that a record agrees with the sum or mean of the others
_FEWEST = 4  # records, of which one may sum up the others
_FEWEST_DATES = 3
_FIRST_DAY, _LAST_DAY = 18_000_101, 22_000_101

_CODE = re.compile(r"-?(?:9+|8+)(?:\.9+|\.8+|\.0+)?|-9{3,}\.25")  # -999.25 in logs of wells
_HUGE = 1e19  # fill values: 1e20, 9.97e36 of netCDF, the largest of float32 and float64
_LONG = 99
_MOST = 3  # such codes at one end of a column
_KEPT = _MOST + 1  # different values at each end that are remembered


@dataclass(frozen=True, eq=False)
class Columns:
    """Of the finite values of each column; all arrays are (d,) but `tail`.

    Attributes
    ----------
    counts : ndarray of int
    low, high : ndarray
        NaN where there is no value.
    first, last : ndarray
        In the order of the rows.
    whole : ndarray of bool
        Whether all are whole numbers, none negative.
    dates : ndarray of bool
        Whether all are days such as 20240131.
    counting, stepping : ndarray of bool
        Whether every value is the one above it plus 1; or differs from it by 1.
    sums, sizes : ndarray
        Sums of the values and of their sizes.
    ends : tuple of (smallest, largest)
        Of each column, the values that might be codes for a missing one, and their neighbours.
    tail : (k, d) ndarray
        The last rows, at most 3, whatever they hold.
    """

    counts: npt.NDArray[np.int64]
    low: Doubles
    high: Doubles
    first: Doubles
    last: Doubles
    whole: Flags
    dates: Flags
    counting: Flags
    stepping: Flags
    sums: Doubles
    sizes: Doubles
    ends: tuple[tuple[Doubles, Doubles], ...]
    tail: Doubles

    @classmethod
    def of(cls, values: Doubles) -> Columns:
        """Look at rows, of which none, some or all values are finite."""
        seen = [_looked_at(column[np.isfinite(column)]) for column in values.T]
        arrays = {
            name: np.array([each[name] for each in seen], type(nothing))
            for name, nothing in _NOTHING.items()
        }
        ends = tuple(each["ends"] for each in seen)
        return cls(**arrays, ends=ends, tail=values[-_TAIL:].copy())

    @classmethod
    def of_repeated(cls, values: Doubles, place: npt.NDArray[np.int64]) -> Columns:
        """Look at finite rows that are there once; `place` says which of them each row is."""
        once = cls.of(values)
        if not len(place):
            return once
        repeats = np.bincount(place, minlength=len(values)).astype(np.float64)
        steps = [_stepping(column, place) for column in values.T]
        counting, stepping = np.array(steps, bool).reshape(-1, 2).T
        return replace(
            once,
            counts=np.full(values.shape[1], len(place), np.int64),
            first=values[place[0]],
            last=values[place[-1]],
            counting=counting,
            stepping=stepping,
            sums=np.asarray(repeats @ values),
            sizes=np.asarray(repeats @ np.abs(values)),
            tail=values[place[-_TAIL:]],
        )

    @classmethod
    def of_each(cls, columns: Sequence[Doubles]) -> Columns:
        """Look at columns of equally many rows."""
        return cls.of(np.column_stack([np.empty((len(columns[0]) if columns else 0, 0)), *columns]))

    def chosen(self, at: Sequence[int]) -> Columns:
        """Return the same of some columns."""
        chosen = {
            each.name: getattr(self, each.name)[..., at]
            for each in fields(self)
            if each.name != "ends"
        }
        return Columns(**chosen, ends=tuple(self.ends[j] for j in at))

    def codes(self, names: Sequence[str]) -> dict[str, float]:
        """Return the columns with a number that looks like a code for missing values, and which."""
        means = self.sums / np.maximum(self.counts, 1)
        codes = map(_code_at_end, self.ends, means.tolist())
        return {name: code for name, code in zip(names, codes, strict=True) if code is not None}

    def merge(self, other: Columns) -> Columns:
        """Add later rows."""
        none, more = self.counts == 0, other.counts == 0
        joined = none | more
        with np.errstate(over="ignore", invalid="ignore"):
            step = other.first - self.last
            sums, sizes = self.sums + other.sums, self.sizes + other.sizes
        return Columns(
            self.counts + other.counts,
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
            np.where(none, other.first, self.first),
            np.where(more, self.last, other.last),
            self.whole & other.whole,
            self.dates & other.dates,
            self.counting & other.counting & (joined | (step == 1)),
            self.stepping & other.stepping & (joined | (np.abs(step) == 1)),
            sums,
            sizes,
            tuple(map(_joined, self.ends, other.ends)),
            np.concatenate([self.tail, other.tail])[-_TAIL:],
        )


_NOTHING: dict[str, Any] = {
    **{"counts": 0, "sums": 0.0, "sizes": 0.0},
    **dict.fromkeys(("low", "high", "first", "last"), np.nan),
    **dict.fromkeys(("whole", "dates", "counting", "stepping"), True),
}
"""What `Columns` remembers of a column without values, but its ends."""


def _looked_at(values: Doubles) -> dict[str, Any]:
    """Return what `Columns` remembers of the finite values of a column."""
    if not len(values):
        return {**_NOTHING, "ends": (values, values)}
    low, high = float(values.min()), float(values.max())
    whole = low >= 0 and bool(values[0] == np.floor(values[0]))
    whole = whole and bool((values == np.floor(values)).all())
    with np.errstate(over="ignore", invalid="ignore"):
        sums, sizes = values.sum(), np.abs(values).sum()
        counting, stepping = _stepping(values)
    return {
        "counts": len(values),
        "low": low,
        "high": high,
        "first": values[0],
        "last": values[-1],
        "whole": whole,
        "dates": whole and _are_dates(values),
        "counting": counting,
        "stepping": stepping,
        "sums": sums,
        "sizes": sizes,
        "ends": _ends_of(values, low, high),
    }


def _stepping(values: Doubles, place: npt.NDArray[np.int64] | None = None) -> tuple[bool, bool]:
    """Return whether every row is the one above it plus 1, and whether it differs from it by 1."""
    for count in (2, None):  # mostly the first two do not
        steps = np.diff(values[:count] if place is None else values[place[:count]])
        if not (np.abs(steps) == 1).all():
            return False, False
    return bool((steps == 1).all()), True


def _joined(
    ours: tuple[Doubles, Doubles], more: tuple[Doubles, Doubles]
) -> tuple[Doubles, Doubles]:
    """Return the ends of both."""
    low, high = (np.unique(np.concatenate(pair)) for pair in zip(ours, more, strict=True))
    return low[:_KEPT], high[-_KEPT:]


# --- codes for missing values --------------------------------------------------------------------


def _code_at_end(ends: Sequence[npt.NDArray[np.float64]], mean: float) -> float | None:
    """Return a number that looks like a code, from the two ends of a column that is not kept.

    Parameters
    ----------
    ends : two (k,) ndarrays
        The smallest and the largest different values, increasing, as many as `_ends_of` returns.
    mean : float
        Of the column.
    """
    different = np.union1d(*ends)
    for ordered in (different[::-1], different):
        outer = 0
        while outer < min(_MOST, len(ordered) - 1) and _might_be_code(float(ordered[outer])):
            outer += 1
        for count in range(outer, 0, -1):
            rest = ordered[count:]
            code = float(ordered[0])
            with np.errstate(over="ignore"):
                spread = abs(float(rest[0] - rest[-1]))
                distance = abs(float(ordered[count - 1] - rest[0]))
            if distance > spread > 0 or (spread == 0 and _stands_alone(mean, code, rest[0])):
                return code
    return None


def _ends_of(values: Doubles, low: float, high: float) -> tuple[Doubles, Doubles]:
    """Return the values that `_code_at_end` needs: codes at either end, and what is beside them."""
    if not (_might_be_code(low) or _might_be_code(high)):
        return np.array([low]), np.array([high])
    different = np.unique(values)
    return different[:_KEPT], different[-_KEPT:]


def _stands_alone(mean: float, code: float, other: float) -> bool:
    """Whether a code of three digits, less frequent than the only other value, is far from it."""
    rare = 2 * (mean - other) / (code - other) < 1
    return rare and abs(code) >= _LONG and abs(code - other) > 10 * abs(other)


def _might_be_code(value: float) -> bool:
    """Tell whether the digits of a number are nines or eights, or it is huge."""
    if abs(value) >= _HUGE:
        return True
    shown = repr(float(value))  # a scalar of numpy 2 is shown with its type
    return _CODE.fullmatch(shown.removesuffix(".0")) is not None and abs(value) >= 9


# --- days ----------------------------------------------------------------------------------------


def date_in(columns: Columns, j: int) -> str:
    """Say that a column holds days, written as numbers such as 20240131; empty if it does not."""
    first = float(columns.first[j])
    dated = columns.whole[j] and columns.dates[j] and _FIRST_DAY <= first < _LAST_DAY
    shown = dated and columns.counts[j] >= _FEWEST_DATES
    return f"dates such as {int(first)}, no numbers" if shown else ""


def _are_dates(days: npt.NDArray[np.float64]) -> bool:
    """Tell whether whole numbers are days, written as 20240131."""
    if len(days) > 1 and not _are_dates(days[:1]):  # mostly the first one is none
        return False
    year, month, day = days // 10_000, days // 100 % 100, days % 100
    valid = (year >= 1800) & (year < 2200) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    return bool(valid.all())


# --- sums and means of the others ----------------------------------------------------------------


def summed_up(columns: Columns, rows: int, spreads: Doubles) -> tuple[int, str]:
    """Return how many records at the end begin with a sum or mean of all above, and in words.

    Parameters
    ----------
    columns : Columns
    rows : int
        Of the table.
    spreads : (d,) ndarray
        About the standard deviation of each column.
    """
    for count in range(1, _TAIL + 1):
        if rows - count < _FEWEST - 1 or not len(columns.counts):
            break
        tail = columns.tail[len(columns.tail) - count :]
        below = np.where(np.isfinite(tail), tail, 0.0)
        others = columns.counts - np.isfinite(tail).sum(axis=0)
        usable = np.isfinite(tail[0]) & (others >= _FEWEST - 1)
        # Of three others a sum in one column comes by chance.
        if usable.sum() <= (rows - count + 1 <= _FEWEST) or 2 * usable.sum() < len(usable):
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            sums = columns.sums - below.sum(axis=0)
            sizes = columns.sizes - np.abs(below).sum(axis=0)
        for what, divisor in (("sum", np.ones(len(others))), ("mean", np.maximum(others, 1))):
            with np.errstate(over="ignore", invalid="ignore"):
                expected, scale = (sums / divisor)[usable], (sizes / divisor)[usable]
            largest = np.maximum(np.abs(columns.low), np.abs(columns.high))[usable]
            agreed = _agree(tail[0, usable], expected, scale, spreads[usable])
            far = what == "sum" and bool((np.abs(tail[0, usable]) >= largest).any())
            if agreed is not None and (agreed < _CHANCE or far):
                return count, f"is the {what} of all others in every column"
    return 0, ""


def spread_of(values: Doubles) -> float:
    """Return the standard deviation of the finite values of a column."""
    finite = values[np.isfinite(values)]
    with np.errstate(over="ignore", invalid="ignore"):
        return float(finite.std()) if len(finite) else 0.0


def _agree(last: Doubles, expected: Doubles, scale: Doubles, spreads: Doubles) -> float | None:
    """Return how probable it is that a record comes so near by chance; None if it does not."""
    steps = np.array([_step(value) for value in last.tolist()])
    room = np.maximum(1e-9 * scale, steps / 2)
    with np.errstate(over="ignore", invalid="ignore"):
        if not (np.abs(last - expected) <= room * (1 + 1e-9)).all():
            return None
        chances = np.maximum(2 * room, steps) / (2.5 * np.where(spreads > 0, spreads, np.nan))
    return float(np.prod(np.fmin(chances, 1.0)))


def _step(value: float) -> float:
    """Return the unit of the last digit of a number as it is written."""
    mantissa, _, exponent = repr(value).partition("e")
    decimals = len(mantissa.partition(".")[2].rstrip("0")) if "." in mantissa else 0
    return float(10.0 ** (int(exponent or 0) - decimals))


INDEX = "it counts or names the records"
_PEOPLE = frozenset(
    ("patient", "person", "subject", "participant", "case", "individual", "respondent", "student")
)
_COUNTED = frozenset(
    (
        *("index", "idx", "row", "rows", "rownames", "nr", "nr.", "no", "no.", "number", "record"),
        *("obs", "#", "sno", "s.no", "s.no.", "nummer", "num", "n\u00b0", "laufnummer"),
        *("lfd. nr.", "lfd.nr.", "lfd nr", "lfdnr", "lfd. nr", "lfd", *_PEOPLE),
        *("line", "observation", "serial", "serial no", "serial no."),
    )
)
_NAMED = frozenset(
    (
        *("id", "level_0", "rowid", "subjid", "usubjid", "patid", "pid", "pnr", "uid", "caseid"),
        *("recordid", "respid", "respondentid", "patientid", "subjectid", "personid", "seqn"),
        *("mrn", "idnr", "id nr", "id-nr", "id_nr", "id no", "id no."),
    )
)
_IDENTIFIER = re.compile(r"(?i:.*[\W_]id\d?)|.*[a-z]I[Dd]")
_NUMBER_OF = re.compile(
    r"(?i:(?:patient|person|subject|participant|member|customer|client|case|record|employee"
    r"|student|user|visit)s?[\W_]*(?:no|nr|num|number|nummer|code|key)\.?)"
)
_ZEROS = r"^\s*0[0-9]+\s*$"
_DIGITS = r"^\s*[0-9]+\s*$"
_MANY = 30  # rows


def names_rows(
    columns: Columns, j: int, name: str, rows: int, *, unnamed: bool, values: Doubles | None = None
) -> bool:
    """Tell whether a column of numbers counts or names the records, by its name and its values.

    Parameters
    ----------
    columns : Columns
        What its values tell, under the number `j`.
    j : int
    name : str
    rows : int
        How many records there are: of many, a column that counts them needs no such name.
    unnamed : bool
        Whether it is the first column of a table that has names for the others alone.
    values : (N,) ndarray, optional
        Without them, numbers are distinct if as many lie between the ends.
    """
    name = name.strip()
    whole = bool(columns.counts[j] and columns.whole[j])
    counting = bool(columns.counts[j] > 1 and columns.counting[j])
    counted, identifier = name.lower() in _COUNTED, _is_identifier(name)
    if counted and whole and rows >= _MANY:
        distinct = (
            columns.high[j] - columns.low[j] + 1 if values is None else len(np.unique(values))
        )
        counting = counting or distinct == rows
    named = counted or identifier or (bool(name) and rows >= _MANY)
    unnamed = unnamed or name.startswith("Unnamed: 0")
    return (counting and named) or (whole and (unnamed or identifier))


def named_as_rows(name: str) -> bool:
    """Tell whether a column's name alone says that it counts or names the records."""
    name = name.strip()
    unnamed = not name or name.startswith("Unnamed: 0")
    return unnamed or name.lower() in _COUNTED or _is_identifier(name)


def names_people(name: str) -> bool:
    """Tell whether a column's name is one of those of which each value stands for a person."""
    name = name.strip()
    return name.lower() in _PEOPLE or _is_identifier(name)


def _is_identifier(name: str) -> bool:
    """Tell whether a name is that of a column of identifiers."""
    patterns = (_IDENTIFIER, _NUMBER_OF)
    return name.lower() in _NAMED or any(p.fullmatch(name) is not None for p in patterns)


def code_in(cells: Cells, grid: Grid) -> str:
    """Say that a column holds codes: digits only, some of which begin with a needless 0."""
    if cells.text is None or cells.numbers is not None:
        return ""
    import pyarrow.compute as compute

    zeros = compute.match_substring_regex(cells.text, _ZEROS).fill_null(False)
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

    return bool(compute.any(compute.match_substring_regex(text, _ZEROS)).as_py())
