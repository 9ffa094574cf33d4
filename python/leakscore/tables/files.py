"""Files of numbers: reading up to a limit, and recognising the format by the content.

Nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from leakscore._visible import visible
from leakscore.tables import memory_limit

__all__ = ["File", "listed", "open_file", "pickled"]

_PICKLES = frozenset({".pkl", ".pickle", ".pt", ".pth", ".joblib"})
_PICKLED = re.compile(rb"\x80[\x02-\x05]")
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")  # gzip, xz, zstandard
_ARCHIVE = (b"PK\x03\x04", b"PK\x05\x06")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_START = 4096  # bytes from which the format is recognised


@dataclass(frozen=True)
class File:
    """The bytes of a file and what to call it.

    Attributes
    ----------
    name : str
        For display: without the folder, hidden characters escaped.
    data : bytes
    limit : int
        Bytes that `data`, packed and unpacked, may take.
    """

    name: str
    data: bytes = field(repr=False)
    limit: int = memory_limit.DEFAULT

    @cached_property
    def kind(self) -> str:
        """The format by the first bytes: "npz", "npy", "parquet", or "text"."""
        if self.data.startswith(_ARCHIVE):
            return "npz"
        if self.data.startswith(b"\x93NUMPY"):
            return "npy"
        return "parquet" if self.data.startswith(b"PAR1") else "text"

    @cached_property
    def sha256(self) -> str:
        """Hash of the bytes."""
        return hashlib.sha256(self.data).hexdigest()

    def require(self, needed: int, what: str | None = None) -> None:
        """Refuse to unpack an amount that exceeds, together with the file, the limit."""
        memory_limit.require(what or self.name, len(self.data) + needed, self.limit)


def open_file(path: str, limit: int = memory_limit.DEFAULT) -> File:
    """Read a file, or the standard input for ``-``; refuse an empty, compressed or pickled one.

    `limit` is the number of bytes that the file, packed and unpacked, may take.
    """
    name = "standard input" if path == "-" else visible(Path(path).name)
    with _opened(path) as stream:
        if path != "-" and stat.S_ISREG((status := os.fstat(stream.fileno())).st_mode):
            memory_limit.require(name, status.st_size, limit)
        start = stream.read(_START)
        _require_known(File(name, start), path)  # at once: a stream of other content may never end
        return File(name, memory_limit.read_bounded(stream, name, limit, start), limit)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[Any]:
    if path != "-":
        with Path(path).open("rb") as file:
            yield file
    elif sys.stdin is None:
        raise ValueError("standard input is closed")
    else:
        yield sys.stdin.buffer


def _require_known(start: File, path: str) -> None:
    """Refuse a file whose first bytes show that it is not a file of numbers."""
    if not start.data:
        raise ValueError(f"{start.name} is empty")
    if start.data.startswith(_COMPRESSED):
        raise ValueError(f"{start.name} is compressed: unpack it first")
    named = start.kind == "text" and Path(path).suffix.lower() in _PICKLES
    if named or _PICKLED.match(start.data):
        raise ValueError(pickled(start.name))
    if start.kind == "text" and b"\0" in start.data and not start.data.startswith(_UTF_16):
        raise ValueError(f"{start.name} is neither csv, npz, npy nor parquet")


def pickled(name: str) -> str:
    """Say why a pickle is refused."""
    return (
        f"{name} is pickled: reading it could run any program; only numbers are read "
        "(save its arrays with numpy.savez)"
    )


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return the first names of a list, and how many more there are."""
    shown = ", ".join(map(visible, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
