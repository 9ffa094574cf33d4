"""Doubts about columns, which exclude a column or must be settled before it is judged.

Statistics of the columns' numbers, merged block by block, show columns that count, name or date the
records, codes for missing values, and last records that sum up the others. Cells of text show what
is no number, marks that can be read in two ways, and lines that are no record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles, Flags
from leakscore_app._visible import visible
from leakscore_app.tables.cells import Cells, Grid, ReadingOptions, plain
from leakscore_app.tables.formats.layout import is_amount, is_number
from leakscore_app.tables.numbers import MISSING, Survey, Vote, is_near, is_summary

# --- a column, and what its refusal says ---------------------------------------------------------


@dataclass
class Column:
    """One decoded column.

    Attributes
    ----------
    name : str
    values : (N,) ndarray of float64
        NaN where a value is missing or is no number.
    excluded : str
        Why it is not judged; empty if it can be.
    refused : str
        What must be settled before it can be judged, and how; empty if nothing.
    """

    name: str
    values: npt.NDArray[np.float64]
    excluded: str = ""
    refused: str = ""


def option(name: str, value: str, *, of_list: bool = True) -> str:
    """Return an option as a shell takes it, with a value that is shown as `visible` does.

    A list of names is a line of csv.
    """
    if of_list and ("," in value or '"' in value):
        value = '"{}"'.format(value.replace('"', '""'))
    plain = value.replace("_", "").replace("-", "").isalnum()
    quoted = value if plain else "'{}'".format(value.replace("'", "'\\''"))
    return f"{name}{'=' if value.startswith('-') else ' '}{quoted}"


def refusal(refused: str, name: str, *, alone: bool) -> str:
    """Return a refusal with one more remedy: a column that is not alone may be left out."""
    drop = f", {option('--exclude', visible(name))} leaves the column out"
    return refused if alone else refused + drop


# --- what is remembered of numbers ---------------------------------------------------------------

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
    """Statistics of the finite values of each column; all arrays but `tail` are (d,).

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
    sums, squares : ndarray
        Sums of the values, and of the squares of their distances from the mean.
    ends : tuple of (smallest, largest)
        Values of each column that might be codes for a missing value, and their neighbours.
    tail : (k, d) ndarray
        The last rows, at most 3, finite or not.
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
    squares: Doubles
    ends: tuple[tuple[Doubles, Doubles], ...]
    tail: Doubles

    @classmethod
    def of(cls, values: Doubles) -> Columns:
        """Measure rows; any values may be missing or infinite."""
        seen = [_looked_at(column[np.isfinite(column)]) for column in values.T]
        arrays = {
            name: np.array([each[name] for each in seen], type(nothing))
            for name, nothing in _NOTHING.items()
        }
        ends = tuple(each["ends"] for each in seen)
        return cls(**arrays, ends=ends, tail=values[-_TAIL:].copy())

    @classmethod
    def of_repeated(cls, values: Doubles, place: npt.NDArray[np.int64]) -> Columns:
        """Measure rows by their distinct finite ones; `place` is each row's place among these."""
        once = cls.of(values)
        if not len(place):
            return once
        repeats = np.bincount(place, minlength=len(values)).astype(np.float64)
        sums = np.asarray(repeats @ values)
        steps = [_stepping(column, place) for column in values.T]
        counting, stepping = np.array(steps, bool).reshape(-1, 2).T
        return replace(
            once,
            counts=np.full(values.shape[1], len(place), np.int64),
            first=values[place[0]],
            last=values[place[-1]],
            counting=counting,
            stepping=stepping,
            sums=sums,
            squares=np.asarray(repeats @ (values - sums / len(place)) ** 2),
            tail=values[place[-_TAIL:]],
        )

    @classmethod
    def of_each(cls, columns: Sequence[Doubles]) -> Columns:
        """Measure columns of equal length."""
        return cls.of(np.column_stack([np.empty((len(columns[0]) if columns else 0, 0)), *columns]))

    @property
    def means(self) -> Doubles:
        """Means of the values, 0 where there is none."""
        return self.sums / np.maximum(self.counts, 1)

    def chosen(self, at: Sequence[int]) -> Columns:
        """Return the statistics of some columns."""
        chosen = {
            each.name: getattr(self, each.name)[..., at]
            for each in fields(self)
            if each.name != "ends"
        }
        return Columns(**chosen, ends=tuple(self.ends[j] for j in at))

    def codes(self, names: Sequence[str]) -> dict[str, float]:
        """Return the columns with a number that looks like a code for missing values, and which."""
        codes = map(_code_at_end, self.ends, self.means.tolist())
        return {name: code for name, code in zip(names, codes, strict=True) if code is not None}

    def merge(self, other: Columns) -> Columns:
        """Add later rows."""
        none, more = self.counts == 0, other.counts == 0
        joined, counts = none | more, self.counts + other.counts
        with np.errstate(over="ignore", invalid="ignore"):
            step = other.first - self.last
            sums, apart = self.sums + other.sums, other.means - self.means
            between = apart**2 * (self.counts * other.counts / np.maximum(counts, 1))
            squares = self.squares + other.squares + between
        return Columns(
            counts,
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
            np.where(none, other.first, self.first),
            np.where(more, self.last, other.last),
            self.whole & other.whole,
            self.dates & other.dates,
            self.counting & other.counting & (joined | (step == 1)),
            self.stepping & other.stepping & (joined | (np.abs(step) == 1)),
            sums,
            squares,
            tuple(map(_joined, self.ends, other.ends)),
            np.concatenate([self.tail, other.tail])[-_TAIL:],
        )


_NOTHING: dict[str, Any] = {
    **{"counts": 0, "sums": 0.0, "squares": 0.0},
    **dict.fromkeys(("low", "high", "first", "last"), np.nan),
    **dict.fromkeys(("whole", "dates", "counting", "stepping"), True),
}
"""What `Columns` remembers of a column without values, but its ends."""


def _looked_at(values: Doubles) -> dict[str, Any]:
    """Return the statistics of the finite values of a column."""
    if not len(values):
        return {**_NOTHING, "ends": (values, values)}
    low, high = float(values.min()), float(values.max())
    whole = low >= 0 and bool(values[0] == np.floor(values[0]))
    whole = whole and bool((values == np.floor(values)).all())
    with np.errstate(over="ignore", invalid="ignore"):
        sums, squares = values.sum(), len(values) * values.var()
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
        "squares": squares,
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
    """Merge the ends of two parts of a column."""
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
    """Whether the digits of a number are nines or eights, or it is huge."""
    if abs(value) >= _HUGE:
        return True
    shown = repr(float(value))  # a scalar of numpy 2 is shown with its type
    return _CODE.fullmatch(shown.removesuffix(".0")) is not None and abs(value) >= 9


def may_be_code(
    where: str, name: str, code: float, values: Doubles | None = None, *, complete: bool = False
) -> str:
    """Word the doubt that a column's number is a code for missing values, and what settles it."""
    shown, cells = plain(code), ""
    if values is not None:
        cells = f" in {int((values == code).sum())} of {int(np.isfinite(values).sum())} cells"
    missing = "remove its line" if complete else f"--missing-values {shown}"
    return (
        f"{where}, column {visible(name)!r}: {shown}{cells} lies far from all others: {missing} if "
        "it stands for a missing value, --missing-values none if it is a value"
    )


# --- days ----------------------------------------------------------------------------------------


def date_in(columns: Columns, j: int) -> str:
    """Say that a column holds days, written as numbers such as 20240131; empty if it does not."""
    first = float(columns.first[j])
    dated = columns.whole[j] and columns.dates[j] and _FIRST_DAY <= first < _LAST_DAY
    shown = dated and columns.counts[j] >= _FEWEST_DATES
    return f"dates such as {int(first)}, no numbers" if shown else ""


def _are_dates(days: npt.NDArray[np.float64]) -> bool:
    """Whether whole numbers are days, written as 20240131."""
    if len(days) > 1 and not _are_dates(days[:1]):  # mostly the first one is none
        return False
    year, month, day = days // 10_000, days // 100 % 100, days % 100
    valid = (year >= 1800) & (year < 2200) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    return bool(valid.all())


# --- sums and means of the others ----------------------------------------------------------------


def summed_up(columns: Columns, rows: int) -> tuple[int, str]:
    """Return how many last rows begin with a sum or mean of all above, and the doubt in words."""
    largest = np.maximum(np.abs(columns.low), np.abs(columns.high))
    for count in range(1, _TAIL + 1):
        if rows - count < _FEWEST - 1 or not len(columns.counts):
            break
        tail = columns.tail[len(columns.tail) - count :]
        below = np.where(np.isfinite(tail), tail, 0.0)
        # A fill value in a line below says nothing of how large the others are.
        filled = np.abs(below[1:]).max(axis=0, initial=0.0) >= largest
        sizes = np.where(filled, np.abs(below[0]), largest)
        others = columns.counts - np.isfinite(tail).sum(axis=0)
        usable = np.isfinite(tail[0]) & (others >= _FEWEST - 1)
        # Of three others a sum in one column comes by chance.
        if usable.sum() <= (rows - count + 1 <= _FEWEST) or 2 * usable.sum() < len(usable):
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            sums = columns.sums - below.sum(axis=0)
            spreads = np.sqrt(columns.squares / np.maximum(columns.counts, 1))[usable]
        for what, divisor in (("sum", np.ones(len(others))), ("mean", np.maximum(others, 1))):
            with np.errstate(over="ignore", invalid="ignore"):
                expected = (sums / divisor)[usable]
                scale = (others / divisor * sizes)[usable]
            agreed = _agree(tail[0, usable], expected, scale, spreads)
            far = what == "sum" and bool((np.abs(tail[0]) >= largest)[usable].any())
            if agreed is not None and (agreed < _CHANCE or far):
                return count, f"is the {what} of all others in every column"
    return 0, ""


def _agree(last: Doubles, expected: Doubles, scale: Doubles, spreads: Doubles) -> float | None:
    """Return the probability that a record comes so near by chance; None if it is not near."""
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


# --- names of rows, codes ------------------------------------------------------------------------

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


def names_rows(columns: Columns, j: int, name: str, rows: int, unnamed: bool) -> bool:
    """Whether a column of numbers counts or names the records, by its name and its values.

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
    """
    name = name.strip()
    whole = bool(columns.counts[j] and columns.whole[j])
    counting = bool(columns.counts[j] > 1 and columns.counting[j])
    counted, identifier = name.lower() in _COUNTED, _is_identifier(name)
    if counted and whole and rows >= _MANY:
        width = columns.high[j] - columns.low[j] + 1
        every = abs(columns.squares[j] / (rows * (rows**2 - 1) / 12) - 1) < 1e-9
        gaps = name.lower() in _PEOPLE  # as numbers of persons have
        counting = counting or bool(width >= rows if gaps else width == rows and every)
    named = counted or identifier or (bool(name) and rows >= _MANY)
    unnamed = unnamed or name.startswith("Unnamed: 0")
    return (counting and named) or (whole and (unnamed or identifier))


def named_as_rows(name: str) -> bool:
    """Whether a column's name alone says that it counts or names the records."""
    name = name.strip()
    unnamed = not name or name.startswith("Unnamed: 0")
    return unnamed or name.lower() in _COUNTED or _is_identifier(name)


def names_people(name: str) -> bool:
    """Whether a column's name is one of those of which each value stands for a person."""
    name = name.strip()
    return name.lower() in _PEOPLE or _is_identifier(name)


def _is_identifier(name: str) -> bool:
    """Whether a name is that of a column of identifiers."""
    patterns = (_IDENTIFIER, _NUMBER_OF)
    return name.lower() in _NAMED or any(p.fullmatch(name) is not None for p in patterns)


def code_in(cells: Cells, grid: Grid) -> str:
    """Say that a column holds codes: digits only, some of which begin with a needless 0."""
    if cells.text is None or cells.numbers is not None:
        return ""
    import pyarrow.compute as compute

    zeros = compute.match_substring_regex(cells.text, _ZEROS)
    if not compute.any(zeros).as_py():
        return ""
    if not compute.all(compute.match_substring_regex(cells.text, _DIGITS)).as_py():
        return ""
    row = int(compute.index(zeros, True).as_py())
    shown = visible(str(cells.text[row].as_py()).strip())[:40]
    return f"it holds codes such as {shown!r} ({grid.place(row)}), no numbers"


def may_hold_codes(text: Any) -> bool:
    """Whether some cell of a text is a number with a needless 0 before it."""
    import pyarrow.compute as compute

    return bool(compute.any(compute.match_substring_regex(text, _ZEROS)).as_py())


# --- cells ---------------------------------------------------------------------------------------

_BELOW = 5  # lines below a table that are no records


def bad_cells(
    grid: Grid,
    name: str,
    cells: Cells,
    bad: npt.NDArray[np.bool_],
    total: int,
    *,
    read: str = "",
    above: str = "",
    complete: bool = False,
) -> str:
    """Word the refusal of cells that are no numbers, with the remedies, and `above` if given."""
    row, count = int(bad.argmax()), int(bad.sum())
    cell = "" if cells.text is None else str(cells.text[row].as_py()).strip()
    where = f"{grid.name}, {grid.place(row)}, column {visible(name)!r}"
    shown, many = visible(cell)[:40], f"like {count} of {total} cells"
    drop = "" if complete else "--bad-cells missing leaves their records out"
    if cell == name:
        why, remedies = "the names of the columns are repeated", ["remove the line", drop]
    elif read:
        why = f"{shown!r} is no number{read}, {many}"
        remedies = [f"--decimal {',' if ',' in shown else '.'} reads it", drop]
    elif is_near(cell) and 2 * count > total:
        why, remedies = f"{shown!r}: in {count} of {total} cells signs or units differ", [drop]
    else:
        below = word = ""
        if 0 < row == grid.rows - count and count <= _BELOW:
            lines = "a line" if count == 1 else "lines"
            below = f"--skip-last {count} leaves out {lines} below the table"
        if not complete and visible(cell) == shown:
            word = f"{option('--missing-values', shown)} reads this cell as missing"
        why = f"{shown!r} is no number, {many}"
        remedies = [below, drop, word] if below or drop else ["every record needs a number here"]
    remedy = above or ", ".join(filter(None, remedies))
    return f"{where}: {why}" + (f": {remedy}" if remedy else "")


def refuse_marks(
    columns: Iterable[Column], surveys: Mapping[str, Survey], vote: Vote, grid: Grid
) -> None:
    """Refuse numbers with marks that can be read in two ways."""
    by_name = {column.name: column for column in columns if not column.excluded}
    for name, (row, mark) in vote.doubtful.items():
        if name in by_name:
            text = surveys[name].shown(row)
            by_name[name].refused = (
                f"{grid.name}, {grid.place(row)}, column {visible(name)!r}: {text!r} may be "
                f"{text.replace(mark, '.')} or {text.replace(mark, '')}: say --decimal {mark} or "
                f"--thousands {mark}"
            )


# --- lines that are no record --------------------------------------------------------------------

_ABOVE = 20  # rows at the beginning that are searched for names of columns
_NUMBER = "0"
_LABELLED = 5  # rows at the end that are searched for labels


def remedy_above(
    grid: Grid, cells: Mapping[str, Cells], surveys: Mapping[str, Survey], options: ReadingOptions
) -> dict[str, str]:
    """Return remedies if the first record may be a line above the table; refuse a certain one.

    Such a line has text in columns of numbers: above the first number of all, or a name for each.
    With that text read as missing values it would pass for a record.

    Parameters
    ----------
    grid : Grid
    cells : mapping
        Name -> column of numbers.
    surveys : mapping
        Name -> what its text is.
    options : ReadingOptions

    Returns
    -------
    dict
        Name of a column -> the remedy; empty if the first record is one.
    """
    if grid.lines is None or not any(surveys[n].bad is not None for n in cells if n in surveys):
        return {}
    columns = [_first_words(grid, cells[n], surveys.get(n), options) for n in cells]
    words = np.array(columns, object)
    number, text = words == _NUMBER, (words != _NUMBER) & (words != "")
    top = int(number.any(axis=0).argmax())
    rows = [
        row
        for row in np.flatnonzero(text.any(axis=0)).tolist()
        if len({*words[text[:, row], row]}) == text[:, row].sum()  # names differ
        and (row < top or (text[:, row].all() and not number[:, :row].all(axis=0).any()))
    ]
    if not rows:
        return {}
    row = rows[-1]
    line = int(grid.lines[row])
    remedy = f"--skip-lines {line - 1} makes this line the names of the columns"
    if not grid.named:
        remedy = f"--skip-lines {line} leaves out what stands above the numbers"
    named = all(column.name.strip() for column in cells.values())
    if row == 0 and text[:, row].sum() == 1 and named:
        return {list(cells)[int(text[:, row].argmax())]: f"{remedy} if it is no record"}
    if row == 0 and named and grid.named:
        remedy += ", and units below names must be removed"
    shown = ", ".join(repr(visible(word)[:40]) for word in words[text[:, row], row][:4])
    raise ValueError(
        f"{grid.name}, {grid.place(row)}: text above the first numbers ({shown}): {remedy}"
    )


def _first_words(
    grid: Grid, cells: Cells, survey: Survey | None, options: ReadingOptions
) -> list[str]:
    """Return the first cells of a column of numbers: words, numbers as `_NUMBER`, "" for none."""
    rows = min(_ABOVE, grid.rows)
    absent = MISSING | options.words_for_missing
    words = [""] * rows
    if cells.text is not None:
        words = [(word or "").strip() for word in cells.text[:rows].to_pylist()]
    sure = survey is None or survey.bad is None
    typed = np.zeros(rows, bool) if cells.numbers is None else ~np.isnan(cells.numbers[:rows])
    return [
        _NUMBER
        if is_typed
        or (word and word.lower() not in absent and (sure or is_number(word) or is_amount(word)))
        else ("" if word.lower() in absent else word)
        for word, is_typed in zip(words, typed.tolist(), strict=True)
    ]


def require_no_label(grid: Grid, labels: Sequence[Cells]) -> None:
    """Refuse a table whose first or last records have a label such as "total", and no other."""
    texts = [c.text for c in labels if c.text is not None and not c.other and len(c.text) > 1]
    count, what = max(map(_labelled, texts), default=0), "is labelled as a sum or mean of others"
    if count:
        raise ValueError(summary_of(grid.name, grid.place(grid.rows - count), count, what))
    if any(map(_labelled_first, texts)):
        raise ValueError(
            f"{grid.name}, {visible(grid.place(0))}: the first record is labelled as a sum or mean "
            "of others: remove it from the file, or --skip-last 0 keeps all"
        )


def _labelled(text: Any) -> int:
    """Return the number of records from the first label of sums on, if none above has it.

    A footnote may follow the sums.
    """
    last = [_plain(word) for word in text[-_LABELLED:].to_pylist()]
    first = next((i for i, word in enumerate(last) if is_summary(word)), len(last))
    count = len(last) - first
    if not 0 < count < len(text):
        return 0
    above = {_plain(word) for word in text[: len(text) - count].unique().to_pylist()}
    return 0 if above & {word for word in last[first:] if is_summary(word)} else count


def _labelled_first(text: Any) -> bool:
    first = _plain(text[0].as_py())
    return is_summary(first) and all(
        _plain(word) != first for word in text[1:].unique().to_pylist()
    )


def _plain(word: str | None) -> str:
    return (word or "").strip().lower()


def summary_of(name: str, place: str, count: int, what: str) -> str:
    """Word the refusal of last records, from `place` on, that sum up the others."""
    return (
        f"{name}, {visible(place)}: the record {what}: --skip-last {count} leaves "
        f"{'it' if count == 1 else f'the last {count}'} out, --skip-last 0 keeps all"
    )
