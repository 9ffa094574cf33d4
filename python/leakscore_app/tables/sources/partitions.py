"""Tables of dask, which are computed part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def without_graph(table: Any) -> Any:
    """Return a frame or array of dask as a callable that yields its parts; others as they are.

    Raises
    ------
    TypeError
        If it is another collection of dask.
    ValueError
        If it is an array with another number of dimensions than two.
    """
    if not hasattr(table, "__dask_graph__"):
        return table
    kind = type(table)  # an object of dask.delayed has every attribute
    if hasattr(kind, "partitions") and hasattr(kind, "columns"):
        return _parts(lambda k: table.partitions[k], table.npartitions)
    if not hasattr(kind, "rechunk"):
        raise TypeError(f"Expected table to be a frame or array of dask, not {kind.__name__}")
    if table.ndim != 2:
        raise ValueError(f"Expected table of shape {table.shape} to be 2-D, one row per record")
    rows = table.rechunk({1: -1})
    return _parts(lambda k: rows.blocks[k], rows.numblocks[0])


def _parts(part: Callable[[int], Any], count: int) -> Callable[[], Iterator[Any]]:
    return lambda: (part(k).compute() for k in range(count))
