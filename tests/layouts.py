"""The same numbers in every way that numpy can hold them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def _strided(X: Array) -> Array:
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), dtype=X.dtype)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _misaligned(X: Array) -> Array:
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(X.dtype).reshape(X.shape)
    view[:] = X
    return view


def _read_only(X: Array) -> Array:
    held = X.copy()
    held.flags.writeable = False
    return held


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "byte-swapped": lambda X: X.astype(X.dtype.newbyteorder()),
    "byte-swapped Fortran": lambda X: np.asfortranarray(X.astype(X.dtype.newbyteorder())),
    "misaligned": _misaligned,
    "read-only": _read_only,
}


def memmap(X: Array, folder: Path) -> Array:
    """Return the table as a read-only memory map."""
    np.save(folder / "table.npy", X)
    return np.load(folder / "table.npy", mmap_mode="r")
