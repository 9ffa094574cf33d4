"""Lines below a table that sum it up: a sum or a mean of all records is none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from leakscore_app._visible import visible
from leakscore_app.tables.cells import Cells, Grid
from leakscore_app.tables.grammar.words import is_summary

_LABELLED = 5  # rows at the end that are searched for labels
_UNLABELLED = 3  # rows at the end that may be a sum, a mean, a deviation
_CHANCE = 1e-4  # that a record agrees with the sum or mean of the others
_FEWEST = 4


class _SummedColumn(Protocol):
    name: str
    values: npt.NDArray[np.float64]
    left: str


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
