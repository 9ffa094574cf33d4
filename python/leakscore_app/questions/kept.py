"""The file of a ledger: one program at a time, and written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from leakscore_app._visible import visible
from leakscore_app.tables import outputs

__all__ = ["LedgerFile", "opened"]


class LedgerFile:
    """A ledger's file that is locked.

    Attributes
    ----------
    path : str
    content : bytes or None
        What it held when it was opened; None if it did not exist.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.content = self._read()

    def _read(self) -> bytes | None:
        try:
            return Path(self.path).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, content: bytes) -> None:
        """Replace the file, unless another program has changed it without its lock."""
        if self._read() != self.content:
            raise ValueError(f"{visible(self.path)} was changed meanwhile: nothing is answered")
        outputs.write(self.path, content.decode("ascii"))
        self.content = content


@contextlib.contextmanager
def opened(path: str) -> Iterator[LedgerFile]:
    """Lock a ledger's file by a file beside it, which stays; refuse if another program has it.

    The system takes the lock from a program that ends, however it ends.
    """
    with Path(f"{path}.lock").open("ab") as file:
        try:
            _lock(file.fileno())
        except OSError:
            raise ValueError(
                f"{visible(path)} is open in another program: ask again when that has ended"
            ) from None
        yield LedgerFile(path)


def _lock(descriptor: int) -> None:
    if os.name == "nt":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
