"""Blocks of dask arrays, whatever the chunks, and the tree that merges their results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from leakscore.dask import cluster
from leakscore.typing import Array

ROWS = 65_536
"""Rows of a block."""
NUMBERS = 2**26
"""Numbers of a block, at most, if it need not have 65,536 rows: half a gigabyte of float64."""

_REAL = "iufb"


def table(name: str, data: Any) -> Any:
    """Return a dask array of two axes with known chunks and real numbers.

    Nothing is computed but unknown lengths, as of a frame's partitions.
    """
    array = _dask_array(name, data)
    if array.ndim != 2:
        raise ValueError(f"{name} of shape {array.shape} must have 2 axes")
    array = _with_chunk_sizes(array)
    if 0 in array.shape:
        raise ValueError(f"{name} of shape {array.shape} must have a row and a column")
    return array


def vector(name: str, data: Any) -> Any:
    """Return a dask array of one axis with known chunks and real numbers."""
    array = _dask_array(name, data)
    if array.ndim != 1:
        raise ValueError(f"{name} of shape {array.shape} must have 1 axis")
    return _with_chunk_sizes(array)


def is_dask(data: Any) -> bool:
    """Whether `data` is a dask array, frame or series."""
    return isinstance(data, cluster.dask().array.Array) or hasattr(data, "to_dask_array")


def _dask_array(name: str, data: Any) -> Any:
    if not is_dask(data):
        raise TypeError(
            f"{name} of type {type(data).__name__} must be a dask array or frame: arrays in "
            "memory are for leakscore.Reference, leakage, scores and audit"
        )
    if hasattr(data, "to_dask_array"):
        _require_numbers(name, data)
        with cluster.explain_lost_cluster():
            data = data.to_dask_array(lengths=True)
    if data.dtype.kind not in _REAL or data.dtype.itemsize > 8:
        raise TypeError(f"{name} must hold real numbers, not dtype {data.dtype}")
    return data


def _require_numbers(name: str, frame: Any) -> None:
    """Refuse a frame with a column that holds no numbers, and name it."""
    dtypes = frame.dtypes if frame.ndim == 2 else {name: frame.dtype}
    for column, dtype in dict(dtypes).items():
        if not isinstance(dtype, np.dtype) or dtype.kind not in _REAL:
            raise TypeError(
                f"{name} must hold real numbers: column {column!r} has dtype {dtype}. "
                "Leave it out, or convert it with astype"
            )


def _with_chunk_sizes(array: Any) -> Any:
    if any(math.isnan(size) for size in array.shape):
        with cluster.explain_lost_cluster():
            array = array.copy().compute_chunk_sizes()
    return array


def by_rows(array: Any, rows: int | None = None) -> Any:
    """Return the array cut into blocks of whole rows, 65,536 by default."""
    return array.rechunk({0: rows or ROWS, 1: -1})


def rows_of(width: int) -> int:
    """Return the number of rows of a block that is not summed: fewer if they are wide."""
    return max(1, min(ROWS, NUMBERS // width))


def tasks(array: Any) -> list[Any]:
    """Return a task for each block of a cut array, in the order of its axes."""
    return list(array.to_delayed().ravel())


def block(part: Any, dtype: Any) -> Array:
    """Return a block as a read-only, contiguous array of a dtype."""
    values: Array = np.ascontiguousarray(part, dtype=dtype).view()
    values.flags.writeable = False
    return values


def levels(leaves: Sequence[Any], merge: Callable[[Any, Any], Any]) -> list[list[Any]]:
    """Return the leaves, the merges of neighbours (0, 1), (2, 3), ..., and so on up to the root.

    The last of an odd number moves up as it is. The tree depends on the number of leaves only.
    """
    result = [list(leaves)]
    while len(result[-1]) > 1:
        result.append([_node(result[-1], i, merge) for i in range(0, len(result[-1]), 2)])
    return result


def root(leaves: Sequence[Any], merge: Callable[[Any, Any], Any]) -> Any:
    """Return the task that merges the results of all leaves by a function of two of them."""
    return levels(leaves, cluster.dask().delayed(merge))[-1][0]


def root_with(
    tree: list[list[Any]], place: int, leaf: Any, merge: Callable[[Any, Any], Any]
) -> Any:
    """Return the root of a tree with one leaf replaced; only the nodes above it are new."""
    node = leaf
    for level in tree[:-1]:
        changed = [*level[place - place % 2 : place], node, *level[place + 1 :][: 1 - place % 2]]
        node, place = _node(changed, 0, merge), place // 2
    return node


def _node(level: Sequence[Any], first: int, merge: Callable[[Any, Any], Any]) -> Any:
    pair = level[first : first + 2]
    return merge(*pair) if len(pair) == 2 else pair[0]
