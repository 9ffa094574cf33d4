"""Which tables are read block by block, and the others as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.statistics import Several, Statistic
from leakscore_app._visible import visible
from leakscore_app.report._setup import AnalysisOptions
from leakscore_app.report.statistic.featured import categories_of, learns, parts_of
from leakscore_app.tables import memory_limit
from leakscore_app.tables.cells import ReadingOptions
from leakscore_app.tables.sources import opened as sources
from leakscore_app.tables.sources.opened import Opened
from leakscore_app.tables.table import Table, table_of, table_of_frame

Tabular: TypeAlias = Table | npt.ArrayLike | Callable[[], Any] | Opened | Any


TEXT = "columns of text"


def opened_of(table: Tabular, asked: AnalysisOptions) -> Opened:
    """Open whatever holds a table; `asked` names what is looked at in a frame."""
    if isinstance(table, Opened):
        return table
    if isinstance(table, Table):
        return sources.of_table(table)
    if hasattr(table, "__arrow_c_stream__"):
        return sources.of_frame(table, _reading(asked))
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


def _reading(asked: AnalysisOptions) -> ReadingOptions:
    """Return which columns of a frame are published, and which are those of categories."""
    categories = () if asked.statistic is None else categories_of(asked.statistic)
    columns = None if asked.columns is None else tuple(asked.columns)
    return ReadingOptions(groups=categories, columns=columns, exclude=tuple(asked.exclude))


def why_whole(opened: Opened, table: Tabular, asked: AnalysisOptions) -> str:
    """Say why a table of any length is read as a whole; empty if it is read block by block."""
    if asked.previous is not None:
        return "earlier means"
    if asked.statistic is not None and not _is_blockwise(asked.statistic):
        return "known weights, and several statistics that learn from the records"
    if asked.shrinkage is not None:
        return "a shrunk covariance"
    if asked.noise_shape not in (None, "same"):
        return "noise of another shape"
    if isinstance(table, Table) and table.ids is not None:
        return "persons"
    return TEXT if opened.unsettled else ""


def _is_blockwise(statistic: Statistic) -> bool:
    """Tell whether features of a block need no more than moments of the columns."""
    if isinstance(statistic, Several) and learns(statistic):
        return False
    return all(part.blockwise for part in parts_of(statistic))


def whole_of(table: Tabular, opened: Opened, why: str) -> Table:
    """Read a table into memory, if it is not there yet; refuse more than the limit of files.

    `why` says what needs it whole; empty if it is short.
    """
    if isinstance(table, Table):
        return table
    if why:
        rows, columns = opened.source.rows, len(opened.columns)
        if rows is None:
            rows = sum(len(block.values) for block in opened.source.blocks())
        needed = 8 * rows * columns
        if needed > memory_limit.DEFAULT:
            raise ValueError(
                f"{opened.name} needs {memory_limit.shown(needed)} of memory: {why} are judged in "
                "memory, and not block by block; judge fewer columns, or a part of the records"
            )
    if hasattr(table, "__arrow_c_stream__"):
        return table_of_frame(table, tuple(opened.groups))
    if isinstance(table, Opened):
        return opened.whole()
    if callable(table):
        return table_of(opened.source.values(), opened.columns if opened.named else None)
    return table_of(np.asarray(table))
