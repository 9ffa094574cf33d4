"""Arrays in npy files and npz archives, read by numpy after a check of what their headers announce.

Nothing is unpickled: an array of Python objects is refused.
"""

from __future__ import annotations

import io
import os
import tokenize
import warnings
import zipfile
from collections.abc import Callable
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from leakscore.typing import Array
from leakscore_app._visible import listed, visible
from leakscore_app.tables import files
from leakscore_app.tables.cells import Cells, Grid, ReadingOptions, numbered
from leakscore_app.tables.files import DAMAGE, File, directory_bytes, pickled

_ENCRYPTED = 0x1
_MOST_SIDES = 32
# What numpy raises for a damaged header, and zipfile for a damaged entry.
_ERRORS = (
    *(*DAMAGE, EOFError, SyntaxError, TypeError, IndexError, OverflowError, MemoryError),
    tokenize.TokenError,
)


def load_npy(file: File) -> Array:
    """Return the array of an npy file."""
    return _read(file, file.name, io.BytesIO(file.data), len(file.data))


def load_npz(file: File) -> dict[str, Callable[[], Array]]:
    """Return what reads each array of an npz archive, by name."""
    file.require(directory_bytes(file.data))
    try:
        archive = zipfile.ZipFile(io.BytesIO(file.data))
    except _ERRORS as error:
        raise _damaged(file.name, error) from None
    names = archive.namelist()
    if any(name.endswith(".pkl") for name in names):
        raise ValueError(pickled(file.name))
    keys = [name[:-4] for name in names if name.endswith(".npy")]
    if not keys:
        raise ValueError(f"{file.name} holds no arrays (a workbook? save it as csv)")
    if len(set(keys)) < len(keys):
        raise ValueError(f"{file.name} holds arrays of the same name")
    return {key: partial(_member, file, archive, key) for key in keys}


def _member(file: File, archive: zipfile.ZipFile, key: str) -> Array:
    where = f"{file.name}, array {key!r}"
    entry = archive.getinfo(f"{key}.npy")
    if entry.flag_bits & _ENCRYPTED:
        raise ValueError(f"{where} is encrypted")
    try:
        stream = archive.open(entry)
    except _ERRORS as error:
        raise _damaged(where, error) from None
    with stream:
        return _read(file, where, stream, entry.file_size)


def _read(file: File, where: str, stream: Any, size: int) -> Array:
    """Read an array of which file and header must announce the same size."""
    # An empty array may still have very many rows or columns, whose numbers and names take memory.
    require = partial(file.require, what=where)
    _require_size(where, stream, size, require)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = np.lib.format.read_array(stream, allow_pickle=False)
        stream.read(1)  # the sum of an archive's entry is checked at its end
    except _ERRORS as error:
        raise _damaged(where, error) from None
    require_values(where, array)
    return array


def mapped(path: str, name: str) -> Array:
    """Map the array of an npy file, of which the header must announce the size."""
    with Path(path).open("rb") as stream:
        _require_size(name, stream, os.fstat(stream.fileno()).st_size, lambda _: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def _require_size(where: str, stream: Any, size: int, require: Callable[[int], None]) -> None:
    """Refuse a header that announces another size than the file has, or objects."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy under Python 2 wrote other whole numbers
            shape, dtype = _announced(stream)
        start = stream.tell()
        stream.seek(0)
    except zipfile.BadZipFile as error:
        raise _damaged(where, error) from None
    except _ERRORS:  # numpy's words are for programmers, and may quote the whole header
        raise _damaged(where, "its header is none that numpy writes") from None
    if dtype.hasobject:
        raise ValueError(f"{where} holds Python objects; only numbers are read")
    require(prod(max(side, 1) for side in shape) * dtype.itemsize)
    if len(shape) > _MOST_SIDES or size - start != prod(shape) * dtype.itemsize:
        raise _damaged(
            where, f"its header announces shape {shape} of {dtype}, it has {size - start} bytes"
        )


def _announced(stream: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and dtype by the header."""
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError
    of_1_0 = np.lib.format.read_array_header_1_0
    # Version 3 differs from 2 in the encoding of the names of fields alone.
    read = of_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    if dtype.itemsize <= 0 or any(type(side) is not int or side < 0 for side in shape):
        raise ValueError
    return shape, dtype


def require_values(where: str, array: Array) -> None:
    """Refuse bytes that are no value of their dtype, in fields too."""
    for name in array.dtype.names or ():
        require_values(where, array[name])
    if array.dtype.kind == "b" and array.size and bool((array.view(np.uint8) > 1).any()):
        raise _damaged(where, "a truth value is neither 0 nor 1")
    if array.dtype.kind == "U" and array.size:
        points = np.ascontiguousarray(array).view(array.dtype.str[0] + "u4")
        if bool(((points > 0x10FFFF) | ((points >= 0xD800) & (points < 0xE000))).any()):
            raise _damaged(where, "a text holds what is no character")


def _damaged(where: str, why: object) -> ValueError:
    return ValueError(f"{where} is damaged: {why}")


# --- tables -------------------------------------------------------------------------------------


def read_arrays(file: File, options: ReadingOptions) -> Grid:
    """Read the cells of an npy file, or of one array of an npz archive."""
    if file.kind == "npy":
        return grid_of_array(file.name, load_npy(file), file).without_last(options.skip_last)
    arrays, key = load_npz(file), options.key
    if key is None and len(arrays) > 1:
        names = listed(list(arrays))
        raise ValueError(f"{file.name} holds several arrays, choose one with --key: {names}")
    if key is not None and key not in arrays:
        raise ValueError(f"{file.name} has no array {key!r}; it holds {listed(list(arrays))}")
    chosen = next(iter(arrays)) if key is None else key
    grid = grid_of_array(f"{file.name}[{visible(chosen)}]", arrays[chosen](), file)
    return grid.without_last(options.skip_last)


def grid_of_array(name: str, values: Array, file: File | None = None) -> Grid:
    """Return an array, or one of named fields, as cells that `file` must have room for."""
    if values.dtype.names is not None:
        if values.ndim != 1:
            raise ValueError(f"{name} of shape {values.shape} must hold one row per record")
        if file is not None:
            file.require(files.table_bytes(len(values), len(values.dtype.names)))
        cells = [_cells(field, values[field]) for field in values.dtype.names]
        return Grid(name, cells, len(values))
    if values.ndim != 2:
        hint = "; one column is (N, 1)" if values.ndim == 1 else ""
        raise ValueError(f"{name} of shape {values.shape} must be 2-D, one row per record{hint}")
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, not dtype {values.dtype}")
    if file is not None:
        same = values.dtype == np.float64 and values.flags.c_contiguous
        file.require(files.table_bytes(0 if same else len(values), values.shape[1]))
    with np.errstate(all="ignore"):  # a long double may be too large: then it is infinite
        numbers = np.asarray(values, dtype=np.float64)
    named = zip(numbered(values.shape[1]), numbers.T, strict=True)
    columns = [Cells(name, numbers=column) for name, column in named]
    notes = [f"columns of {name} have no names: numbered from 1"]
    return Grid(name, columns, len(values), notes=notes, named=False)


def _cells(name: str, values: Array) -> Cells:
    if values.ndim == 1 and values.dtype.kind in "fiub":
        with np.errstate(all="ignore"):
            return Cells(name, numbers=values.astype(np.float64))
    if values.dtype.kind in "US" and values.ndim == 1 and len(values):
        return Cells(name, other=f"text (record 1: {visible(str(values[0]))[:40]!r})")
    return Cells(name, other="dates" if values.dtype.kind in "mM" else "no numbers")
