"""Whether a table is the same in every pass."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from leakscore.typing import Doubles

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
    """Length of what a stream yielded first, and a checksum of each column that was read."""

    rows: int | None = None
    known: dict[str, int] = field(default_factory=dict)

    def watched(
        self, batches: Iterable[Doubles], columns: Sequence[str], name: str
    ) -> Iterator[Doubles]:
        """Yield batches of some columns; at the end, refuse others than the first time."""
        rows, checksums = 0, [0] * len(columns)
        for batch in batches:
            rows += len(batch)
            pairs = zip(np.ascontiguousarray(batch.T), checksums, strict=True)
            checksums = [zlib.crc32(column.data, checksum) for column, checksum in pairs]
            yield batch
        found = dict(zip(columns, checksums, strict=True))
        self.rows = rows if self.rows is None else self.rows
        if rows != self.rows or found != {**found, **self._seen(columns)}:
            raise ValueError(
                f"{name} yielded {rows} records that are not those of the first pass "
                f"({self.rows}): a report reads them several times, in the same order each time"
            )
        self.known |= found

    def _seen(self, columns: Sequence[str]) -> dict[str, int]:
        return {name: self.known[name] for name in columns if name in self.known}


def part_of(batches: Iterable[Doubles], first: int, last: int | None) -> Iterator[Doubles]:
    """Yield rows [first, last) of what is read from the beginning to the end."""
    start = 0
    for batch in batches:
        stop = len(batch) if last is None else last - start
        taken = batch[max(first - start, 0) : max(stop, 0)]
        start += len(batch)
        if len(taken):
            yield taken
