"""How much memory a file may take while it is read: a limit, checked before the memory is taken.

A few kilobytes may announce or unpack to more than a machine holds, and a stream may never end. The
limit counts the bytes of the file, packed and unpacked.
"""

from __future__ import annotations

import io
import re
from typing import Any

DEFAULT = 1 << 30
"""Bytes that a file may take by default."""

LIBRARIES = 1 << 30
"""Bytes of addresses that the libraries of a report take at most, with the threads of BLAS."""

COLUMN = 512
"""Bytes of a column beside its values: its name, and its entries in lists."""

CELL = 25
"""Bytes of a number of a text file until the table is made: three copies of 8 bytes."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ?([KMGT]?)(?:i?B)?", re.ASCII | re.IGNORECASE)
_CHUNK = 1 << 20


def parse_size(text: str) -> int:
    """Return the bytes of a size such as 512M or 4G; K, M, G and T are powers of 1024.

    Examples
    --------
    >>> from leakscore_app.tables.memory_limit import parse_size
    >>> parse_size("1.5K"), parse_size("4GiB"), parse_size("100")
    (1536, 4294967296, 100)
    """
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if size < 1:
        raise ValueError(f"{text!r} is no size such as 500M or 4G")
    return size


def shown(size: int) -> str:
    """Return a size in words."""
    power = min(max(int(size).bit_length() - 1, 0) // 10, 4)
    unit, count = ("bytes", "KiB", "MiB", "GiB", "TiB")[power], size / 1024**power
    return f"{count:.3g} {unit}" if power and count < 100 else f"{count:.0f} {unit}"


def of_table(rows: int, columns: int) -> int:
    """Return the bytes of a table of numbers."""
    return columns * (8 * rows + COLUMN)


def require(name: str, needed: int, limit: int) -> None:
    """Refuse a need above the limit."""
    if needed > limit:
        raise ValueError(f"{name} needs {shown(needed)} of memory, {_remedy(limit)}")


def require_libraries() -> None:
    """Refuse a process that may not have the memory of its libraries.

    They end in other ways: BLAS waits for memory without end, C++ aborts.
    """
    try:
        import resource
    except ImportError:  # not Unix
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < LIBRARIES:
        raise MemoryError(
            f"this process may have {shown(limit)}, and the libraries alone take up to "
            f"{shown(LIBRARIES)} (ulimit -v)"
        )


def _remedy(limit: int) -> str:
    return (
        f"more than the {shown(limit)} that it may take "
        "(max_memory, or --max-memory on the command line, allows more)"
    )


def read_bounded(stream: Any, name: str, limit: int, start: bytes = b"") -> bytes:
    """Read a stream to its end, and refuse it as soon as it is longer than the limit.

    The announced length is not trusted: memory is taken as the bytes come. `start` has been read
    already.
    """
    taken = io.BytesIO()
    block = start or stream.read(_CHUNK)
    while block:
        taken.write(block)
        if taken.tell() > limit:
            raise ValueError(f"{name} is larger: {_remedy(limit)}")
        block = stream.read(_CHUNK)
    return taken.getvalue()
