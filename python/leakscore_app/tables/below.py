"""Lines that are no records: text above the first numbers, sums and means below the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from leakscore_app._visible import visible
from leakscore_app.tables.cells import Cells, Grid, ReadingOptions
from leakscore_app.tables.formats.layout import is_amount, is_number
from leakscore_app.tables.grammar.numbers import Survey
from leakscore_app.tables.grammar.words import MISSING, is_summary

_ABOVE = 20  # rows at the beginning that are searched for names of columns
_NUMBER = "0"
_LABELLED = 5  # rows at the end that are searched for labels
_UNLABELLED = 3  # rows at the end that may be a sum, a mean, a deviation
_CHANCE = 1e-4  # that a record agrees with the sum or mean of the others
_FEWEST = 4


class _SummedColumn(Protocol):
    name: str
    values: npt.NDArray[np.float64]
    left: str


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


def require_no_summary(
    grid: Grid, columns: Sequence[_SummedColumn], cells: Mapping[str, Cells]
) -> None:
    """Refuse a table whose last records sum up the others.

    They have a label such as "total" that no other record has, or equal the sum or the mean of all
    records above them in every column. So is a first record with such a label.
    """
    labels = [cells[column.name] for column in columns if column.name in cells]
    count, found = max(map(_labelled, labels), default=0), "is labelled as a sum or mean of others"
    if not count:
        count, found = _sums(grid.rows, [column.values for column in columns if not column.left])
    if count:
        raise ValueError(
            f"{grid.name}, {visible(grid.place(grid.rows - count))}: the record {found}: "
            f"--skip-last {count} leaves {'it' if count == 1 else f'the last {count}'} out, "
            "--skip-last 0 keeps all"
        )
    if any(map(_labelled_first, labels)):
        raise ValueError(
            f"{grid.name}, {visible(grid.place(0))}: the first record is labelled as a sum or mean "
            "of others: remove it from the file, or --skip-last 0 keeps all"
        )


def _labelled(cells: Cells) -> int:
    """Return how many records stand from the first label of sums on, if none above has it.

    Below the sums there may be a footnote.
    """
    if cells.text is None or cells.other or len(cells.text) < 2:
        return 0
    last = [_plain(word) for word in cells.text[-_LABELLED:].to_pylist()]
    first = next((i for i, word in enumerate(last) if is_summary(word)), len(last))
    count = len(last) - first
    if not 0 < count < len(cells.text):
        return 0
    above = {_plain(word) for word in cells.text[: len(cells.text) - count].unique().to_pylist()}
    return 0 if above & {word for word in last[first:] if is_summary(word)} else count


def _labelled_first(cells: Cells) -> bool:
    if cells.text is None or cells.other or len(cells.text) < 2:
        return False
    first = _plain(cells.text[0].as_py())
    return is_summary(first) and all(
        _plain(word) != first for word in cells.text[1:].unique().to_pylist()
    )


def _plain(word: str | None) -> str:
    return (word or "").strip().lower()


def _sums(rows: int, columns: Sequence[npt.NDArray[np.float64]]) -> tuple[int, str]:
    """Return how many records at the end begin with a sum or mean of all above, and in words."""
    for count in range(1, _UNLABELLED + 1):
        if rows - count < _FEWEST - 1 or not columns:
            break
        found = _agrees([column[: rows - count + 1] for column in columns])
        if found:
            return count, found
    return 0, ""


def _agrees(columns: Sequence[npt.NDArray[np.float64]]) -> str:
    """Say whether the last record is the sum or the mean of the others, beyond chance."""
    for what, function in (("sum", np.sum), ("mean", np.mean)):
        chance, agreeing, far = 1.0, 0, False
        for column in columns:
            last, others = float(column[-1]), column[:-1][np.isfinite(column[:-1])]
            if not np.isfinite(last) or len(others) < _FEWEST - 1:
                continue
            with np.errstate(over="ignore", invalid="ignore"):
                expected = float(function(others))
                room = 1e-9 * float(np.abs(others).sum()) / (1 if what == "sum" else len(others))
            room = max(room, _step(last) / 2)
            if not abs(last - expected) <= room * (1 + 1e-9):
                break
            agreeing += 1
            chance *= _chance(last, others, room)
            far |= what == "sum" and abs(last) > float(np.abs(others).max())
        else:
            # Of three others a sum in one column comes by chance.
            enough = agreeing > (len(columns[0]) <= _FEWEST)
            if 2 * agreeing >= len(columns) and enough and (chance < _CHANCE or far):
                return f"is the {what} of all others in every column"
    return ""


def _chance(last: float, others: npt.NDArray[np.float64], room: float) -> float:
    """Return about how probable it is that a record like the others comes so near."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(others.std())
    return min(1.0, max(2 * room, _step(last)) / (2.5 * spread)) if spread > 0 else 1.0


def _step(value: float) -> float:
    """Return the unit of the last digit of a number as it is written."""
    mantissa, _, exponent = repr(value).partition("e")
    decimals = len(mantissa.partition(".")[2].rstrip("0")) if "." in mantissa else 0
    return float(10.0 ** (int(exponent or 0) - decimals))
