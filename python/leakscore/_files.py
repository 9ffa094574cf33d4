"""Files of numbers: what a file is, told by its content, and the arrays in it. Never unpickles."""

from __future__ import annotations

import hashlib
import io
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["File", "listed", "load_npy", "load_npz", "load_parquet", "open_file"]

_PICKLES = frozenset({".pkl", ".pickle", ".pt", ".pth", ".joblib"})
_PICKLED = re.compile(rb"\x80[\x02-\x05]")
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")  # gzip, xz, zstandard
_ARCHIVE = (b"PK\x03\x04", b"PK\x05\x06")


@dataclass(frozen=True)
class File:
    """The bytes of a file and what to call it."""

    name: str
    data: bytes = field(repr=False)

    @cached_property
    def kind(self) -> str:
        """What it is by its first bytes: "npz", "npy", "parquet", or "text"."""
        if self.data.startswith(_ARCHIVE):
            return "npz"
        if self.data.startswith(b"\x93NUMPY"):
            return "npy"
        return "parquet" if self.data.startswith(b"PAR1") else "text"

    @cached_property
    def sha256(self) -> str:
        """Hash of the bytes."""
        return hashlib.sha256(self.data).hexdigest()


def open_file(path: str) -> File:
    """Read a file, ``-`` being the standard input; refuse an empty, compressed or pickled one."""
    data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    name = os.fsencode(Path(path).name).decode("utf-8", "replace")
    file = File("standard input" if path == "-" else name, data)
    if not data:
        raise ValueError(f"{file.name} is empty")
    if data.startswith(_COMPRESSED):
        raise ValueError(f"{file.name} is compressed: unpack it first")
    named = file.kind == "text" and Path(path).suffix.lower() in _PICKLES
    if named or _PICKLED.match(data):
        raise ValueError(_pickled(file.name))
    return file


def _pickled(name: str) -> str:
    return (
        f"{name} is pickled: reading it could run any program; only numbers are read "
        "(save its arrays with numpy.savez)"
    )


def load_npy(file: File) -> Any:
    """Return the array of an npy file."""
    return _load(file)


def load_npz(file: File) -> Mapping[str, Any]:
    """Return the arrays of an npz archive by name, each read when it is asked for."""
    import zipfile

    try:
        entries = zipfile.ZipFile(io.BytesIO(file.data)).namelist()
    except zipfile.BadZipFile as error:
        raise ValueError(f"{file.name} is damaged: {error}") from None
    if any(entry.endswith(".pkl") for entry in entries):
        raise ValueError(_pickled(file.name))
    keys = [entry[:-4] for entry in entries if entry.endswith(".npy")]
    if not keys:
        raise ValueError(f"{file.name} holds no arrays (a workbook? save it as csv)")
    return _Archive(file, keys)


class _Archive(Mapping[str, Any]):
    """The arrays of an npz archive."""

    def __init__(self, file: File, keys: Sequence[str]) -> None:
        self._file = file
        self._keys = keys

    def __iter__(self) -> Any:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, key: str) -> Any:
        return _load(self._file, key)


def _load(file: File, key: str | None = None) -> Any:
    import zipfile
    import zlib

    try:
        loaded = np.load(io.BytesIO(file.data), allow_pickle=False)
        if key is None:
            return loaded
        with loaded as archive:
            return archive[key]
    except ValueError as error:
        if "pickle" in str(error).lower():
            raise ValueError(f"{file.name} holds Python objects; only numbers are read") from None
        raise ValueError(f"{file.name} is damaged: {error}") from None
    except (EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{file.name} is damaged: {error}") from None


def load_parquet(file: File) -> dict[str, Any]:
    """Return the columns of a parquet file by name, as pyarrow holds them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            f"{file.name} is a parquet file: reading it needs pyarrow "
            '(pip install "leakscore[parquet]")'
        ) from None
    try:
        table = pyarrow.parquet.read_table(pyarrow.BufferReader(file.data))
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{file.name} is damaged: {error}") from None
    columns = dict(zip(table.column_names, table.columns, strict=True))
    if len(columns) < table.num_columns:
        raise ValueError(f"{file.name} has columns of the same name")
    return columns


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return the first names of a list, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
