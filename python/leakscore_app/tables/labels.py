"""Columns of words: categories that are published as proportions, and who a record belongs to."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from leakscore_app._visible import visible
from leakscore_app.tables.cells import Cells, Grid, ReadingOptions
from leakscore_app.tables.grammar.levels import levels_of
from leakscore_app.tables.row_names import names_people

_MOST_OF_ONE = 20  # records of a person, on average: whose have more is no person, but a hospital


def proportions_of(
    name: str, cells: Cells, grid: Grid, options: ReadingOptions
) -> dict[str, npt.NDArray[np.float64]]:
    """Return the columns of 0 and 1 that stand for the levels of a column, but the first.

    Parameters
    ----------
    name : str
    cells : Cells
    grid : Grid
    options : ReadingOptions

    Returns
    -------
    dict
        Name and level -> column.

    Raises
    ------
    ValueError
        If the cells are no words, or more than 1000 different ones.
    """
    labels = _labels(cells, grid.rows)
    if labels is None:
        raise ValueError(f"{grid.name}: column {visible(name)!r} holds no words (--proportions)")
    levels = levels_of(labels, options.words_for_missing)
    if levels is None:
        raise ValueError(
            f"{grid.name}: column {visible(name)!r} has more than 1000 levels: they are no "
            "categories (--proportions)"
        )
    return {f"{name}={level}": values for level, values in levels.items()}


def ids_of(grid: Grid, cells: Cells, name: str) -> npt.NDArray[np.str_]:
    """Return who each record belongs to; refuse a blank cell."""
    labels = _labels(cells, grid.rows)
    if labels is None:
        raise ValueError(f"{grid.name}: column {visible(name)!r} cannot label records (--id)")
    for row, label in enumerate(labels):
        if label is None:
            raise ValueError(
                f"{grid.name}, {grid.place(row)}: column {visible(name)!r} is blank, so that it is "
                "not known who the record belongs to (--id)"
            )
    return np.array(labels, np.str_)


def shared(grid: Grid, names: Mapping[str, Cells]) -> dict[str, int]:
    """Return the columns whose name is that of an identifier, and which several records share.

    They come with the number of their different values.
    """
    found = {}
    for name, cells in names.items():
        labels = _labels(cells, grid.rows) if names_people(name) else None
        if labels is None or None in labels:
            continue
        different = len(set(labels))
        if different < grid.rows < _MOST_OF_ONE * different:
            found[name] = different
    return found


def groups_of(grid: Grid, cells: Cells, name: str) -> npt.NDArray[np.str_]:
    """Return which group each record belongs to, "" where the cell is blank."""
    labels = _labels(cells, grid.rows)
    if labels is None:
        raise ValueError(f"{grid.name}: column {visible(name)!r} cannot group records (--group-by)")
    return np.array([label or "" for label in labels], np.str_)


def _labels(cells: Cells, rows: int) -> list[str | None] | None:
    """Return the cells as words, None where they are blank."""
    if cells.other and cells.text is None:
        return None
    words: list[str | None] = [None] * rows
    if cells.text is not None:
        words = [None if w is None or not w.strip() else w.strip() for w in cells.text.to_pylist()]
    if cells.numbers is None:
        return words
    return [
        word if word is not None or np.isnan(number) else plain(number)
        for word, number in zip(words, cells.numbers.tolist(), strict=True)
    ]


def plain(number: float) -> str:
    """Return a number without a needless point."""
    return str(int(number)) if number.is_integer() else repr(number)
