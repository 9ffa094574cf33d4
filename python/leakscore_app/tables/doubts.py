"""What must be settled before a column is judged: cells, marks and codes that need a guess."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from leakscore_app._visible import visible
from leakscore_app.tables.cells import Cells, Grid
from leakscore_app.tables.grammar.affixes import is_near
from leakscore_app.tables.grammar.codes import code_in
from leakscore_app.tables.grammar.numbers import Survey
from leakscore_app.tables.grammar.vote import Vote
from leakscore_app.tables.labels import plain

_BELOW = 5  # lines below a table that are no records


class _DoubtfulColumn(Protocol):
    name: str
    values: npt.NDArray[np.float64]
    left: str
    refused: str
    remedy: str


def bad_cells(
    grid: Grid,
    name: str,
    cells: Cells,
    bad: npt.NDArray[np.bool_],
    total: int,
    *,
    read: str = "",
    complete: bool = False,
) -> tuple[str, str]:
    """Say which cells of a column of numbers are none, and what may be done about it."""
    row = int(bad.argmax())
    cell = "" if cells.text is None else str(cells.text[row].as_py()).strip()
    where = f"{grid.name}, {grid.place(row)}, column {visible(name)!r}"
    drop = "" if complete else "--bad-cells missing leaves their records out"
    if cell == name:
        return f"{where}: the names of the columns are repeated", _either("remove the line", drop)
    shown, count = visible(cell)[:40], int(bad.sum())
    what = f"{where}: {shown!r} is no number{read}"
    if read:
        return f"{what}, like {count} of {total} cells", _either("say --decimal", drop)
    below = ""
    if 0 < row == grid.rows - count and count <= _BELOW:
        lines = "a line" if count == 1 else "lines"
        below = f"--skip-last {count} leaves out {lines} below the table"
    if is_near(cell) and 2 * count > total:
        return f"{where}: {shown!r}: in {count} of {total} cells signs or units differ", drop
    word = f"{option('--missing-values', visible(cell))} reads this cell as missing"
    if complete or len(visible(cell)) > len(shown):
        word = ""
    return (
        f"{what}, like {count} of {total} cells",
        _either(below, drop, word) or "every record needs a number here",
    )


def _either(*remedies: str) -> str:
    return ", ".join(filter(None, remedies))


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
    columns: Iterable[_DoubtfulColumn], surveys: Mapping[str, Survey], vote: Vote, grid: Grid
) -> None:
    """Refuse numbers that may be read in two ways, and columns that contradict each other."""
    by_name = {column.name: column for column in columns if not column.left}
    for name, (row, mark) in vote.doubtful.items():
        if name in by_name:
            text = surveys[name].shown(row)
            by_name[name].refused = (
                f"{grid.name}, {grid.place(row)}, column {visible(name)!r}: {text!r} may be "
                f"{text.replace(mark, '.')} or {text.replace(mark, '')}"
            )
            by_name[name].remedy = f"say --decimal {mark} or --thousands {mark}"
    if vote.contrary and all(name in by_name for name in vote.contrary):
        first, second = vote.contrary[0], vote.contrary[-1]
        for name in (first, second):
            column = by_name[name]
            column.refused = _contradiction(grid, surveys, first, second)
            column.remedy = (
                "--decimal , --bad-cells missing or --decimal . --bad-cells missing reads one of "
                "them as missing"
            )


def _contradiction(grid: Grid, surveys: Mapping[str, Survey], first: str, second: str) -> str:
    one, other = surveys[first].contrast(surveys[second])
    return (
        f"{grid.name}: {one[1]!r} ({grid.place(one[0])}, column {visible(first)!r}) and "
        f"{other[1]!r} ({grid.place(other[0])}, column {visible(second)!r}) follow no common "
        "convention"
    )


def refuse_codes(columns: Sequence[_DoubtfulColumn], grid: Grid, *, complete: bool) -> None:
    """Refuse numbers far from all others that look like codes for missing values."""
    for column in columns:
        code = None if column.left or column.refused else code_in(column.values)
        if code is None:
            continue
        where = column.values == code
        shown = plain(code)
        column.refused = (
            f"{grid.name}, {grid.place(int(where.argmax()))}, column {visible(column.name)!r}: "
            f"{shown} in {int(where.sum())} of {int(np.isfinite(column.values).sum())} cells lies "
            "far from all others"
        )
        missing = "remove its line" if complete else f"--missing-values {shown}"
        column.remedy = (
            f"{missing} if it stands for a missing value, --missing-values none if it is a value"
        )
