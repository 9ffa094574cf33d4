"""What must be settled before columns are judged: cells, marks, codes, lines that are no record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles
from leakscore_app._visible import visible
from leakscore_app.tables.cells import Cells, Grid, ReadingOptions, plain
from leakscore_app.tables.formats.layout import is_amount, is_number
from leakscore_app.tables.numbers import MISSING, Survey, Vote, is_near, is_summary

_BELOW = 5  # lines below a table that are no records


@dataclass
class Column:
    """One column that is understood.

    Attributes
    ----------
    name : str
    values : (N,) ndarray of float64
        NaN where a value is missing or is no number.
    excluded : str
        Why it is not judged; empty if it can be.
    refused : str
        What must be settled before it can be judged, and what settles it; empty if nothing.
    """

    name: str
    values: npt.NDArray[np.float64]
    excluded: str = ""
    refused: str = ""


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
    """Say which cells of a column of numbers are none, and what may be done: `above`, if given."""
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


def option(name: str, value: str, *, of_list: bool = True) -> str:
    """Return an option as a shell takes it, with a value that is shown as `visible` does.

    A list of names is a line of csv.
    """
    if of_list and ("," in value or '"' in value):
        value = '"{}"'.format(value.replace('"', '""'))
    plain = value.replace("_", "").replace("-", "").isalnum()
    quoted = value if plain else "'{}'".format(value.replace("'", "'\\''"))
    return f"{name}{'=' if value.startswith('-') else ' '}{quoted}"


def refuse_marks(
    columns: Iterable[Column], surveys: Mapping[str, Survey], vote: Vote, grid: Grid
) -> None:
    """Refuse numbers that may be read in two ways."""
    by_name = {column.name: column for column in columns if not column.excluded}
    for name, (row, mark) in vote.doubtful.items():
        if name in by_name:
            text = surveys[name].shown(row)
            by_name[name].refused = (
                f"{grid.name}, {grid.place(row)}, column {visible(name)!r}: {text!r} may be "
                f"{text.replace(mark, '.')} or {text.replace(mark, '')}: say --decimal {mark} or "
                f"--thousands {mark}"
            )


def may_be_code(
    where: str, name: str, code: float, values: Doubles | None = None, *, complete: bool = False
) -> str:
    """Say of which column a number may be a code for missing values, and what settles it."""
    shown, cells = plain(code), ""
    if values is not None:
        cells = f" in {int((values == code).sum())} of {int(np.isfinite(values).sum())} cells"
    missing = "remove its line" if complete else f"--missing-values {shown}"
    return (
        f"{where}, column {visible(name)!r}: {shown}{cells} lies far from all others: {missing} if "
        "it stands for a missing value, --missing-values none if it is a value"
    )


def refusal(refused: str, name: str, *, alone: bool) -> str:
    """Return a refusal with one more remedy: a column that is not alone may be left out."""
    drop = f", {option('--exclude', visible(name))} leaves the column out"
    return refused if alone else refused + drop


_ABOVE = 20  # rows at the beginning that are searched for names of columns
_NUMBER = "0"
_LABELLED = 5  # rows at the end that are searched for labels


def remedy_above(
    grid: Grid, cells: Mapping[str, Cells], surveys: Mapping[str, Survey], options: ReadingOptions
) -> dict[str, str]:
    """Say how to read a first record that may be a line above the table; refuse what surely is one.

    That is text in columns of numbers: above the first number of all, or a name for each of them.
    As missing values such lines would pass for records.

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
    if grid.header == "no":
        remedy = f"--skip-lines {line} leaves out what stands above the numbers"
    named = all(column.name.strip() for column in cells.values())
    if row == 0 and text[:, row].sum() == 1 and named:
        return {list(cells)[int(text[:, row].argmax())]: f"{remedy} if it is no record"}
    if row == 0 and named and grid.header != "no":
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


def summary_of(name: str, place: str, count: int, what: str) -> str:
    """Say that the last records sum up others, from `place` on."""
    return (
        f"{name}, {visible(place)}: the record {what}: --skip-last {count} leaves "
        f"{'it' if count == 1 else f'the last {count}'} out, --skip-last 0 keeps all"
    )


def _labelled(text: Any) -> int:
    """Return how many records stand from the first label of sums on, if none above has it.

    Below the sums there may be a footnote.
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
