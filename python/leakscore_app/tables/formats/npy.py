"""Arrays in npy files and npz archives: their headers are read and checked before any data.

An npy header is a Python literal. Only the few forms that numpy writes are parsed, never an
expression; an array of Python objects, which would be unpickled, is refused.
"""

from __future__ import annotations

import ast
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, BinaryIO

import numpy as np

from leakscore.typing import Array
from leakscore_app.tables.files import File, pickled

_MAGIC = b"\x93NUMPY"
_LENGTHS = {(1, 0): struct.Struct("<H"), (2, 0): struct.Struct("<I"), (3, 0): struct.Struct("<I")}
_LONGEST_HEADER = 1 << 20
_DEEPEST = 16

# Strings, whole numbers, the two truth values, brackets, commas and colons: no operator, no call.
_LITERAL = re.compile(
    r"""(?:[\s,:]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\d{1,20}L?|True|False|[][(){}])*""",
    re.ASCII | re.DOTALL,
)
_ENTRY = b"PK\x01\x02"
_ENTRY_COST = 1024  # bytes that zipfile keeps of an entry of its directory
_ENCRYPTED = 0x1


def load_npy(file: File) -> Array:
    """Return the array of an npy file, read-only where it lies."""
    stream = io.BytesIO(file.data)
    dtype, order, shape = _header(file, file.name, stream)
    start, size = stream.tell(), prod(shape) * dtype.itemsize
    if len(file.data) - start != size:
        raise _mismatch(file.name, shape, dtype, len(file.data) - start)
    flat = np.frombuffer(file.data, dtype=dtype, count=prod(shape), offset=start)
    return _checked(file.name, np.require(flat, requirements="A"), order, shape)


def load_npz(file: File) -> Mapping[str, Array]:
    """Return the arrays of an npz archive by name; each is read on first use."""
    file.require(_ENTRY_COST * file.data.count(_ENTRY))
    try:
        archive = zipfile.ZipFile(io.BytesIO(file.data))
    except _ZIP_ERRORS as error:
        raise _damaged(file.name, error) from None
    names = archive.namelist()
    if any(name.endswith(".pkl") for name in names):
        raise ValueError(pickled(file.name))
    keys = [name[:-4] for name in names if name.endswith(".npy")]
    if not keys:
        raise ValueError(f"{file.name} holds no arrays (a workbook? save it as csv)")
    if len(set(keys)) < len(keys):
        raise ValueError(f"{file.name} holds arrays of the same name")
    return _Archive(file, archive, keys)


# What zipfile raises for a damaged archive: NotImplementedError is a RuntimeError.
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
    KeyError,
    IndexError,
    OverflowError,
)


class _Archive(Mapping[str, Array]):
    """The arrays of an npz archive."""

    def __init__(self, file: File, archive: zipfile.ZipFile, keys: list[str]) -> None:
        self._file = file
        self._archive = archive
        self._keys = dict.fromkeys(keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, key: str) -> Array:
        if key not in self._keys:
            raise KeyError(key)
        where = f"{self._file.name}, array {key!r}"
        entry = self._archive.getinfo(f"{key}.npy")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _damaged(where, f"numpy does not compress by method {entry.compress_type}")
        if entry.flag_bits & _ENCRYPTED:
            raise ValueError(f"{where} is encrypted")
        try:
            stream = self._archive.open(entry)
        except _ZIP_ERRORS as error:
            raise _damaged(where, error) from None
        with stream:
            return _read(self._file, where, stream, entry.file_size)


def _read(file: File, where: str, stream: Any, size: int) -> Array:
    """Read an array from an archive; the archive's directory states that it has `size` bytes."""
    dtype, order, shape = _header(file, where, stream)
    needed = prod(shape) * dtype.itemsize
    if size - stream.tell() != needed:
        raise _mismatch(where, shape, dtype, size - stream.tell())
    flat = np.empty(prod(shape), dtype=dtype)
    room = flat.view(np.uint8).data if needed else memoryview(b"")
    done = 0
    while done < needed:
        block = _piece(where, stream, min(needed - done, 1 << 20))
        if not block:
            raise _mismatch(where, shape, dtype, done)
        room[done : done + len(block)] = block
        done += len(block)
    _piece(where, stream, 1)  # the sum of the entry is checked at its end
    return _checked(where, flat, order, shape)


def _piece(where: str, stream: Any, size: int) -> bytes:
    try:
        return bytes(stream.read(size))
    except _ZIP_ERRORS as error:
        raise _damaged(where, error) from None


def _header(file: File, where: str, stream: BinaryIO) -> tuple[np.dtype[Any], str, tuple[int, ...]]:
    """Read the header of an array: its dtype, its order in memory and its shape."""
    start = _piece(where, stream, len(_MAGIC) + 2)
    if not start.startswith(_MAGIC) or len(start) < len(_MAGIC) + 2:
        raise _damaged(where, "it is no npy array")
    length = _LENGTHS.get((start[-2], start[-1]))
    if length is None:
        raise _damaged(where, f"version {start[-2]}.{start[-1]} of npy is not known")
    prefix = _piece(where, stream, length.size)
    size = length.unpack(prefix)[0] if len(prefix) == length.size else _LONGEST_HEADER + 1
    text = _piece(where, stream, min(size, _LONGEST_HEADER))
    if len(text) < size:
        raise _damaged(where, "its header is cut off, or too long")
    dtype, order, shape = _parsed(where, text, "utf-8" if start[-2] == 3 else "latin-1")
    # An empty array may still have very many rows or columns, whose numbers and names take memory.
    file.require(prod(max(side, 1) for side in shape) * dtype.itemsize, where)
    return dtype, order, shape


def _parsed(where: str, header: bytes, encoding: str) -> tuple[np.dtype[Any], str, tuple[int, ...]]:
    try:
        literal = _literal(header.decode(encoding))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise _damaged(where, "its header is none that numpy writes") from None
    if not isinstance(literal, dict) or set(literal) != {"descr", "fortran_order", "shape"}:
        raise _damaged(where, "its header is none that numpy writes")
    shape = literal["shape"]
    if not isinstance(shape, tuple) or not all(type(side) is int for side in shape):
        raise _damaged(where, f"its shape is {shape!r}")
    if not isinstance(literal["fortran_order"], bool) or len(shape) > 32:
        raise _damaged(where, "its header is none that numpy writes")
    try:
        dtype = np.lib.format.descr_to_dtype(literal["descr"])
        if dtype.itemsize < 0:  # numpy 1 counts the bytes of a long text modulo 2^32
            raise ValueError
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, SyntaxError, MemoryError):
        raise _damaged(where, "its dtype is none that numpy writes") from None
    if dtype.hasobject:
        raise ValueError(f"{where} holds Python objects; only numbers are read")
    if not dtype.itemsize:
        raise _damaged(where, f"its values of dtype {dtype} have no bytes")
    return dtype, "F" if literal["fortran_order"] else "C", shape


def _literal(text: str) -> Any:
    """Evaluate a literal of strings, whole numbers, truth values, tuples, lists and dicts."""
    if not _LITERAL.fullmatch(text):
        raise ValueError(text)
    bare = re.sub(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", "''", text)
    depth = 0
    for bracket in re.findall(r"[][(){}]", bare):
        depth += 1 if bracket in "([{" else -1
        if depth > _DEEPEST:
            raise ValueError(text)
    if "L" in bare:  # numpy under Python 2 wrote long integers
        text = re.sub(r"(\d)L", r"\1", text)
    return ast.literal_eval(text.strip())


def _mismatch(where: str, shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> ValueError:
    return _damaged(where, f"its header announces shape {shape} of {dtype}, it has {size} bytes")


def _checked(where: str, flat: Array, order: str, shape: tuple[int, ...]) -> Array:
    """Return the array in its shape; refuse bytes that are not a value of its dtype."""
    for part in _parts(flat):
        if part.dtype.kind == "b" and part.size and bool((part.view(np.uint8) > 1).any()):
            raise _damaged(where, "a truth value is neither 0 nor 1")
        if part.dtype.kind == "U" and part.size:
            points = np.ascontiguousarray(part).view(part.dtype.str[0] + "u4")
            if bool(((points > 0x10FFFF) | ((points >= 0xD800) & (points < 0xE000))).any()):
                raise _damaged(where, "a text holds what is no character")
    try:
        return flat.reshape(shape, order="F" if order == "F" else "C")
    except ValueError:
        raise _damaged(where, f"its shape is {shape}") from None


def _parts(array: Array) -> Iterator[Array]:
    """Return the fields of an array, and their fields, without a copy."""
    if array.dtype.names is None:
        yield array
        return
    for name in array.dtype.names:
        yield from _parts(array[name])


def _damaged(where: str, why: object) -> ValueError:
    return ValueError(f"{where} is damaged: {why}")
