"""Files and patterns of files, to be read block by block or as a whole."""

from __future__ import annotations

from typing import Any

from leakscore_app.tables.cells import ReadingOptions
from leakscore_app.tables.sources import opened as sources
from leakscore_app.tables.sources.opened import LONG, Opened
from leakscore_app.tables.table import Table, read_table

_STREAMED = frozenset(
    {"columns", "exclude", "missing_values", "skip_last", "max_memory"}
    | {"delimiter", "decimal", "thousands", "header", "skip_lines", "groups", "proportions"}
)
_PLAIN: dict[str, Any] = {
    "key": None, "delimiter": None, "decimal": None, "thousands": None, "encoding": None,
    "header": "auto", "skip_lines": 0, "sheet": None, "bad_cells": "refuse", "id": None,
    "groups": (), "proportions": (),
}  # fmt: skip


def open_table(path: str, **reading: Any) -> Table | Opened:
    """Open a file, or all files of a pattern as one table, to be judged by `analyse`.

    Csv, parquet and npy files with more than 65536 records are read block by block whenever they
    are needed; all other files are read here, as `read_table` reads them. So are parquet files with
    numbers in a column of text that is published, and csv files whose cells must be looked at
    together: with units, yes and no, codes, or an encoding but UTF-8.

    Parameters
    ----------
    path : str
        A file, or a pattern such as ``data/*.parquet``: its files, sorted by name, are the parts of
        one table. They are csv, parquet or npy files with the same columns.
    **reading
        As in `read_table`. `encoding`, `bad_cells` and `id` need the table in memory.

    Returns
    -------
    Table or Opened
        For `analyse`.

    Raises
    ------
    ValueError
        As `read_table`; if no file fits a pattern, or its files have other columns.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import leakscore_app
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for year in (2024, 2025):
    ...         values = np.random.default_rng(year).normal(size=(40_000, 2))
    ...         np.save(Path(folder) / f"{year}.npy", values)
    ...     table = leakscore_app.open_table(f"{folder}/*.npy")
    ...     result = leakscore_app.analyse(table, rounds=2000)
    >>> result.input.rows, result.input.name
    (80000, '2024.npy to 2025.npy (2 files)')
    """
    paths = sources.paths_of(path)
    asked = {name for name, value in reading.items() if value != _PLAIN.get(name)}
    numbers = _numbers(reading.get("missing_values", ()))
    plain = asked <= _STREAMED and reading.get("skip_last") in (None, 0) and numbers is not None
    opened = sources.of_files(paths, _options(reading)) if plain else None
    if opened is None or (len(paths) == 1 and not opened.is_longer_than(LONG)):
        if len(paths) > 1:
            raise ValueError(
                f"{path} fits {len(paths)} files: as one table they are read only if they are "
                "csv, parquet or npy files, whose columns of text hold no numbers, without --id, "
                "--encoding and --bad-cells"
            )
        return read_table(paths[0], **reading)
    values = reading.get("missing_values", ())
    checked = "none" not in [word.lower() for word in values]
    opened = opened.publishing(reading.get("columns"), reading.get("exclude", ())).reading(
        missing=numbers or (), sums=reading.get("skip_last") is None, codes=checked
    )
    return opened if opened.is_longer_than(LONG) else opened.whole()


def _options(reading: dict[str, Any]) -> ReadingOptions:
    """Return what is asked of the reading as `read_table` takes it."""
    named = {name: value for name, value in reading.items() if value is not None}
    for name in ("missing_values", "columns", "exclude", "groups", "proportions"):
        if name in named:
            named[name] = tuple(named[name])
    return ReadingOptions(**named)


def _numbers(words: Any) -> tuple[float, ...] | None:
    """Return the numbers that stand for missing values; None if a word does."""
    found = []
    for word in words:
        if word.lower() == "none":
            continue
        try:
            found.append(float(word.replace(",", ".")))
        except ValueError:
            return None
    return tuple(found)
