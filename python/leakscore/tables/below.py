"""Lines below a table that sum it up: a sum or a mean of all records is none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from leakscore._visible import visible
from leakscore.tables.cells import Cells, Grid
from leakscore.tables.grammar.words import is_summary

_LABELLED = 5  # rows at the end that are searched for labels
_CHANCE = 1e-4  # that a record agrees with the sum or mean of the others
_FEWEST = 4


class _Column(Protocol):
    name: str
    values: npt.NDArray[np.float64]
    left: str


def require_no_summary(grid: Grid, columns: Sequence[_Column], cells: Mapping[str, Cells]) -> None:
    """Refuse a table whose last records sum up the others.

    They have a label such as "total" that no other record has, or the last one equals the sum or
    the mean of all others in every column.
    """
    labelled = max((_labelled(cells[c.name]) for c in columns if c.name in cells), default=0)
    values = [column.values for column in columns if not column.left]
    found = ""
    if labelled:
        found = "is labelled as a sum or mean of the others"
    elif values and grid.rows > _FEWEST:
        found = _agrees(values)
    if not found:
        return
    count = max(1, labelled)
    row = grid.rows - count
    raise ValueError(
        f"{grid.name}, {visible(grid.place(row))}: the record {found}: --skip-last {count} leaves "
        f"{'it' if count == 1 else 'the last ' + str(count)} out, --skip-last 0 keeps all"
    )


def _labelled(cells: Cells) -> int:
    """Return how many of the last records have a label of sums, if no other record has one."""
    if cells.text is None or cells.other:
        return 0
    last = [word or "" for word in cells.text[-_LABELLED:].to_pylist()]
    labels = [is_summary(word) for word in last]
    if not labels or not labels[-1]:
        return 0
    count = 1 + next((i for i, label in enumerate(labels[-2::-1]) if not label), len(labels) - 1)
    above = cells.text[: len(cells.text) - count]
    names = {word.strip().lower() for word in last[-count:]}
    repeated = names & {(word or "").strip().lower() for word in above.unique().to_pylist()}
    return 0 if repeated else count


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
            if what == "mean":
                room = max(room, _step(last) / 2)
            if not abs(last - expected) <= room * (1 + 1e-9):
                break
            agreeing += 1
            chance *= _chance(last, others, room)
            far |= what == "sum" and abs(last) > float(np.abs(others).max())
        else:
            if 2 * agreeing >= len(columns) > 0 and agreeing and (chance < _CHANCE or far):
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
