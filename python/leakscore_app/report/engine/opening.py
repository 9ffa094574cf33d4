"""Whatever holds a table is opened: files, frames, arrays; some tables are read as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.statistics import Several, Statistic
from leakscore_app._visible import visible
from leakscore_app.report.engine.features import categories_of, learns, parts_of
from leakscore_app.report.engine.setup import AnalysisOptions
from leakscore_app.tables import memory_limit
from leakscore_app.tables.cells import ReadingOptions
from leakscore_app.tables.sources import opened as sources
from leakscore_app.tables.sources.opened import LONG, Opened
from leakscore_app.tables.table import Table, read_table, table_of, table_of_frame

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
    given = {name for name, value in reading.items() if value != _PLAIN.get(name)}
    numbers = _numbers(reading.get("missing_values", ()))
    plain = given <= _STREAMED and reading.get("skip_last") in (None, 0) and numbers is not None
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
    opened = replace(opened, max_memory=_options(reading).max_memory)
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


Tabular: TypeAlias = Table | npt.ArrayLike | Callable[[], Any] | Opened | Any


TEXT = "columns of text"


def opened_of(table: Tabular, options: AnalysisOptions) -> Opened:
    """Open whatever holds a table; `options` name what is looked at in a frame."""
    if isinstance(table, Opened):
        return table
    if isinstance(table, Table):
        return sources.of_table(table)
    if hasattr(table, "__arrow_c_stream__"):
        return sources.of_frame(table, _reading(options))
    if callable(table):
        return sources.of_callable(table)
    _require_records(table)
    return sources.of_array(validation.matrix("table", table))


def _require_records(table: Any) -> None:
    """Refuse what holds no records itself, and say what does."""
    kind = type(table).__name__
    if isinstance(table, str | PathLike):
        raise TypeError(
            f"Expected table to hold records, not to be a path ({visible(str(table))[:80]}): pass "
            "leakscore_app.open_table(path)"
        )
    if isinstance(table, Iterator):
        raise TypeError(
            f"a {kind} can be read once only, and a report reads its records several times: pass a "
            "function that returns a new one at each call"
        )
    if hasattr(table, "collect_schema"):
        raise TypeError(
            f"Expected table to hold its records, not a {kind}: pass what its collect() returns, "
            "or a parquet file"
        )
    if not hasattr(table, "__array__") and not isinstance(table, Sequence):
        raise TypeError(
            f"Expected table to be an array (N, d), a frame with __arrow_c_stream__, a function "
            f"that yields blocks, or from leakscore_app.open_table, not a {kind}"
        )


def _reading(options: AnalysisOptions) -> ReadingOptions:
    """Return which columns of a frame are published, and which are those of categories."""
    categories = () if options.statistic is None else categories_of(options.statistic)
    columns = None if options.columns is None else tuple(options.columns)
    return ReadingOptions(groups=categories, columns=columns, exclude=tuple(options.exclude))


def why_whole(opened: Opened, table: Tabular, options: AnalysisOptions) -> str:
    """Say why a table of any length is read as a whole; empty if it is read block by block."""
    if options.previous is not None:
        return "earlier means"
    if options.statistic is not None and not _is_blockwise(options.statistic):
        return "known weights, and several statistics that learn from the records"
    if options.shrinkage is not None:
        return "a shrunk covariance"
    if isinstance(table, Table) and table.ids is not None:
        return "persons"
    return TEXT if opened.unsettled else ""


def _is_blockwise(statistic: Statistic) -> bool:
    """Tell whether features of a block need no more than moments of the columns."""
    if isinstance(statistic, Several) and learns(statistic):
        return False
    return all(part.blockwise for part in parts_of(statistic))


def whole_of(table: Tabular, opened: Opened, why: str) -> Table:
    """Read a table into memory, if it is not there yet; refuse more than it may take.

    `why` says what needs all of its records at once; empty if it is short.
    """
    if isinstance(table, Table):
        return table
    if why:
        rows, columns = opened.source.rows, len(opened.columns)
        if rows is None:
            rows = sum(len(block.values) for block in opened.source.blocks())
        needed = 8 * rows * columns
        if needed > opened.max_memory:
            raise ValueError(
                f"{opened.name} needs {memory_limit.shown(needed)} of memory, more than the "
                f"{memory_limit.shown(opened.max_memory)} that it may take: {why} need all records "
                "at once; judge fewer columns or a part of the records, or allow more (of a file: "
                "--max-memory)"
            )
    if hasattr(table, "__arrow_c_stream__"):
        return table_of_frame(table, tuple(opened.groups))
    if isinstance(table, Opened):
        return opened.whole()
    if callable(table):
        return table_of(opened.source.values(), opened.columns if opened.named else None)
    return table_of(np.asarray(table))
