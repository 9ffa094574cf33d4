"""Whether a table is the same in every pass."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from leakscore._types import Doubles

State: TypeAlias = tuple[int, int]


def state_of(path: str) -> State:
    """Return size and time of change of a file."""
    status = Path(path).stat()
    return status.st_size, status.st_mtime_ns


def require_same(path: str, name: str, state: State) -> None:
    """Refuse a file that changed since it was looked at first."""
    try:
        now = state_of(path)
    except FileNotFoundError:
        raise ValueError(f"{name} is not there any more: it is read several times") from None
    if now != state:
        raise ValueError(f"{name} changed while it was read: wait until it is complete")


@dataclass
class Digest:
    """Checksum and length of what a stream yielded first."""

    known: tuple[int, int] | None = None

    def watched(self, batches: Iterable[Doubles], name: str) -> Iterator[Doubles]:
        """Yield the batches; at the end, refuse others than the first time."""
        rows = checksum = 0
        for batch in batches:
            rows += len(batch)
            checksum = zlib.crc32(np.ascontiguousarray(batch).data, checksum)
            yield batch
        if self.known is None:
            self.known = (rows, checksum)
        elif self.known != (rows, checksum):
            raise ValueError(
                f"{name} yielded {rows} records that are not those of the first pass "
                f"({self.known[0]}): a report reads them several times, in the same order each time"
            )


def part_of(batches: Iterable[Doubles], first: int, last: int | None) -> Iterator[Doubles]:
    """Yield rows [first, last) of what is read from the beginning to the end."""
    start = 0
    for batch in batches:
        stop = len(batch) if last is None else last - start
        taken = batch[max(first - start, 0) : max(stop, 0)]
        start += len(batch)
        if len(taken):
            yield taken
