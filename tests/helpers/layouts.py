"""The same numbers in every way that numpy can hold them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def strided(X: Array) -> Array:
    """Return the array as part of a larger one."""
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), dtype=X.dtype)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def misaligned(X: Array) -> Array:
    """Return the array at an odd address, but contiguous."""
    raw = bytearray(1) + bytearray(X.tobytes())
    return np.frombuffer(raw, X.dtype, offset=1).reshape(X.shape)


def packed_field(X: Array) -> Array:
    """Return a field of records of an odd size: no stride is a multiple of the item's."""
    table = np.zeros(X.shape, dtype=[("flag", "u1"), ("x", X.dtype)])
    table["x"] = X
    return table["x"]


def unpickled(value: Any) -> Any:
    """Return a copy of an object whose arrays are read-only and lie at odd addresses."""
    found: list[pickle.PickleBuffer] = []
    stream = pickle.dumps(value, protocol=5, buffer_callback=found.append)
    odd = [memoryview(b"\0" + buffer.raw().tobytes())[1:] for buffer in found]
    return pickle.loads(stream, buffers=odd)


def read_only(X: Array) -> Array:
    """Return a copy that cannot be written to."""
    held = X.copy()
    held.flags.writeable = False
    return held


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "byte-swapped": lambda X: X.astype(X.dtype.newbyteorder()),
    "byte-swapped Fortran": lambda X: np.asfortranarray(X.astype(X.dtype.newbyteorder())),
    "misaligned": misaligned,
    "packed field": packed_field,
    "unpickled": unpickled,
    "read-only": read_only,
}


def memmap(X: Array, folder: Path) -> Array:
    """Return the table as a read-only memory map."""
    np.save(folder / "table.npy", X)
    return np.load(folder / "table.npy", mmap_mode="r")
