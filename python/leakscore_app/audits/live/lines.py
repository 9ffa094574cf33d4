"""Whole lines of a stream, or of a file that grows."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from leakscore_app._visible import visible
from leakscore_app.tables import files
from leakscore_app.tables.formats import packed

STANDARD_INPUT = "-"

_CHUNK = 1 << 16
_LONGEST = 1 << 20  # bytes of a line
_PAUSE = 0.1  # seconds between two looks at a file that has not grown


@contextmanager
def opened(path: str) -> Iterator[LineStream]:
    """Open a file, or the standard input for ``-``."""
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise ValueError("standard input is closed")
        yield LineStream(sys.stdin.buffer, "standard input", grows=False)
        return
    with Path(path).open("rb") as file:
        grows = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        yield LineStream(file, visible(Path(path).name), grows=grows)


class LineStream:
    """Whole lines, as soon as they are there.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    grows : bool
        Whether more may follow behind the end: of a file, not of a stream.
    """

    def __init__(self, stream: Any, name: str, *, grows: bool) -> None:
        self.name, self.grows = name, grows
        self._stream = stream
        self._rest = b""
        self._read = 0

    @property
    def unfinished(self) -> bool:
        """Whether the last line had no end when it was read last."""
        return bool(self._rest)

    def until_now(self, length: int) -> bytes:
        """Return the first `length` bytes of a file, all of them whole lines."""
        data: bytes = self._stream.read(length)
        if len(data) < length:
            raise ValueError(f"{self.name} is shorter than it was: {len(data)} bytes of {length}")
        self._read = length
        return data

    def __call__(self, idle: float) -> Iterator[list[bytes]]:
        """Yield lines with their ends until none has come for `idle` seconds, or none can come."""
        waited = time.monotonic()
        while True:
            data = self._more()
            if data:
                waited = time.monotonic()
                *whole, self._rest = (self._rest + data).splitlines(keepends=True) or [b""]
                if self._rest.endswith(b"\n"):
                    whole, self._rest = [*whole, self._rest], b""
                self._require_text(whole[0] if whole else self._rest)
                if whole:
                    yield whole
            elif not self.grows:
                if self._rest:
                    yield [self._rest]
                self._rest = b""
                return
            elif time.monotonic() - waited >= idle:
                return
            else:
                time.sleep(min(_PAUSE, max(idle, 0.0)))

    def _more(self) -> bytes:
        read = getattr(self._stream, "read1", self._stream.read)
        data: bytes = read(_CHUNK)
        self._read += len(data)
        if not data and self.grows and os.fstat(self._stream.fileno()).st_size < self._read:
            raise ValueError(f"{self.name} became shorter while it was read")
        return data

    def _require_text(self, line: bytes) -> None:
        if packed.is_compressed(line) or packed.is_zip(line):
            raise ValueError(
                f"{self.name} is compressed, and --watch reads lines as they come: unpack it into "
                "a pipe, as in 'gzip -dc FILE | leakscore audit - --watch'"
            )
        if b"\0" in line or files.File(self.name, line[:64]).kind != "text":
            raise ValueError(
                f"{self.name} is no text: --watch reads csv, or JSON lines, a round in each; other "
                "tables are read whole, without --watch"
            )
        if len(line) > _LONGEST:
            raise ValueError(f"{self.name} has a line of more than {_LONGEST} bytes")
