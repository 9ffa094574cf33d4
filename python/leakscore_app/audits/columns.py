"""The named columns of a file of scores: every format of tables, and JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leakscore.typing import Array, Flags
from leakscore_app._visible import listed, visible
from leakscore_app.tables import files, memory_limit, strict_json
from leakscore_app.tables.cells import ReadingOptions, blank_at_end
from leakscore_app.tables.columns import content_of
from leakscore_app.tables.formats import npy
from leakscore_app.tables.summaries import INDEX, named_as_rows
from leakscore_app.tables.table import ARROW, grid_of, inner_file

WORDS: Mapping[str, float] = {
    **dict.fromkeys(("true", "yes", "member", "in", "train"), 1.0),
    **dict.fromkeys(("false", "no", "non-member", "nonmember", "non_member", "out", "test"), 0.0),
}
"""What else than 1 and 0 may stand for a member and a non-member."""

_INFINITE = {"inf": np.inf, "-inf": -np.inf}
"""How strict JSON, this package's too, spells numbers that it has not."""


@dataclass(frozen=True)
class ScoreColumns:
    """The columns of a file, each made an array when it is asked for.

    Attributes
    ----------
    file : File
    format : str
        "csv", "npz", "npy", "parquet", "json", or another one of `tables`.
    names : tuple of str
    notes : tuple of str
        What had to be found out.
    padding : callable
        The number of blank cells at the end of a column, which is shorter than others.
    place : callable
        The name of a row in a message.
    """

    file: files.File
    format: str
    names: tuple[str, ...]
    get: Callable[[str], Array]
    notes: tuple[str, ...] = ()
    padding: Callable[[str], int] | None = None
    place: Callable[[int], str] = lambda row: f"row {row + 1}"

    def where(self, name: str) -> str:
        """Name a column of this file in a message."""
        return f"{self.file.name}, column {name!r}"

    def vector(self, name: str) -> Array:
        """Return a column as a 1-D array, its padding left out."""
        array = self.get(name)
        if array.ndim > 1 and array.size == max(array.shape):
            array = array.reshape(-1)
        if array.ndim != 1:
            many = "; scores in several models are for leakscore risk" if array.ndim == 2 else ""
            raise ValueError(
                f"{self.where(name)} of shape {array.shape} must hold one value per round{many}"
            )
        blank = 0 if self.padding is None else self.padding(name)
        return array[: array.size - blank]

    def numbers(self, name: str) -> Array:
        """Return a column of real numbers without NaN, of the dtype that it has in the file."""
        array = self.vector(name)
        if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
            raise ValueError(f"{self.where(name)} must hold numbers, not {array.dtype}")
        if array.dtype.kind == "f" and bool((missing := np.isnan(array)).any()):
            place = self.place(int(missing.argmax()))
            raise ValueError(f"{self.where(name)}, {place}: the score is missing or NaN")
        return array

    def bits(self, name: str) -> Flags:
        """Return a column of memberships; words for 1 and 0 are understood."""
        try:
            array = self.vector(name)
        except ValueError as error:
            raise ValueError(f"{error} (a membership is 1 or 0, or {', '.join(WORDS)})") from None
        if array.dtype.kind in "US":
            text = np.char.decode(array, "latin-1") if array.dtype.kind == "S" else array
            numbers = [WORDS.get(word.strip().lower(), np.nan) for word in text.tolist()]
            bits = np.asarray(numbers, dtype=np.float64)
            bits[text == "1"], bits[text == "0"] = 1.0, 0.0
        elif array.dtype.kind in "fiub":
            bits = array
        else:
            raise ValueError(f"{self.where(name)} must hold 1 and 0, not {array.dtype}")
        wrong = (bits != 0) & (bits != 1)
        if bool(wrong.any()):
            row = int(wrong.argmax())
            raise ValueError(
                f"{self.where(name)}, {self.place(row)}: {array[row].item()!r} is neither 1 "
                "(member) nor 0 (non-member)"
            )
        return np.asarray(bits == 1)


def columns_of(file: files.File, options: ReadingOptions) -> ScoreColumns:
    """Return the columns of a file; its format is told by its content."""
    inner, options = inner_file(file, options)
    if inner.is_json and options != ReadingOptions(max_memory=options.max_memory):
        raise ValueError(f"{inner.name} is JSON, so that options for its form mean nothing")
    if inner.is_json:
        return _of_json(inner)
    if inner.kind == "npy":
        return _of_npy(inner)
    if inner.kind == "npz":
        arrays = npy.load_npz(inner)
        return ScoreColumns(inner, "npz", tuple(arrays), lambda name: np.asarray(arrays[name]()))
    return _of_grid(inner, options)


def _of_grid(file: files.File, options: ReadingOptions) -> ScoreColumns:
    """Return the columns of a file of cells; those that only count or name its rows are none."""
    options = replace(options, words=WORDS, complete=True)
    grid = grid_of(file, options)
    content = content_of(grid, options)
    columns = {column.name: column for column in content.columns}
    cells = {
        column.name.strip() or f"column {j}": column
        for j, column in enumerate(grid.columns, start=1)
    }
    # Scores may be the ranks of the records: a name decides what only counts them.
    ranks = {
        name
        for name, column in columns.items()
        if column.excluded == INDEX
        and not cells[name].index
        and not named_as_rows(cells[name].name)
    }
    names = tuple(
        name for name, column in columns.items() if column.excluded != INDEX or name in ranks
    )

    def get(name: str) -> Array:
        if name in content.groups:
            return content.groups[name]
        column = columns[name]
        if column.refused:
            raise ValueError(column.refused)
        if column.excluded and name not in ranks:
            raise ValueError(
                f"{file.name}, column {visible(name)!r} holds no numbers: {column.excluded}"
            )
        typed = cells[name].typed
        return column.values if typed is None else typed

    return ScoreColumns(
        file,
        "csv" if file.kind == "text" else file.kind,
        names,
        get,
        tuple(content.notes),
        None if file.kind in ARROW else lambda name: blank_at_end(cells[name]),
        grid.place,
    )


def _of_npy(file: files.File) -> ScoreColumns:
    array = npy.load_npy(file)
    if array.dtype.names is not None:
        return ScoreColumns(file, "npy", array.dtype.names, lambda name: np.asarray(array[name]))
    if array.ndim == 2:
        file.require(memory_limit.COLUMN * array.shape[1])
        names = tuple(f"column {j}" for j in range(1, array.shape[1] + 1))
        return ScoreColumns(
            file, "npy", names, lambda name: np.asarray(array[:, names.index(name)])
        )
    return ScoreColumns(file, "npy", ("scores",), {"scores": np.asarray(array)}.__getitem__)


def _of_json(file: files.File) -> ScoreColumns:
    document = strict_json.load_json(file)
    if isinstance(document, dict) and isinstance(document.get("primitives"), dict):
        document = document["primitives"]  # LeakPro's CombinedMetricResult
    columns = document if isinstance(document, dict) else {}
    _refuse_sacro(file, columns)
    names = [name for name, value in columns.items() if isinstance(value, (list, int, float))]
    if not names:
        raise ValueError(f"{file.name} must hold a JSON object of lists")
    return ScoreColumns(
        file,
        "json",
        tuple(names),
        lambda name: strict_json.array_of(file, name, _numbers(columns[name])),
    )


def _refuse_sacro(file: files.File, document: dict[str, Any]) -> None:
    """Name the archives in which SACRO-ML keeps the scores that its report.json leaves out."""
    experiments = [
        attack["attack_experiment_logger"]
        for attack in document.values()
        if isinstance(attack, dict) and isinstance(attack.get("attack_experiment_logger"), dict)
    ]
    if not experiments:
        return
    instances = [
        instance
        for experiment in experiments
        for instance in (experiment.get("attack_instance_logger") or {}).values()
        if isinstance(instance, dict)
    ]
    kept = [str(instance["arrays_file"]) for instance in instances if "arrays_file" in instance]
    where = f"in {listed(kept)}: audit one of them" if kept else "nowhere"
    raise ValueError(
        f"{file.name} is a report of SACRO-ML without the records' scores. They are {where}; an "
        "attack saves them if it runs with report_individual=True"
    )


def _numbers(value: Any) -> Any:
    """Return a list whose infinite numbers, which strict JSON has to spell, are numbers again."""
    if not isinstance(value, list):
        return value
    return [_INFINITE.get(cell, cell) if type(cell) is str else cell for cell in value]
