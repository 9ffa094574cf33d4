"""Parquet files as parts of a source: row groups are read one after another, never all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from leakscore._types import Doubles
from leakscore._visible import visible
from leakscore.tables.formats.arrow import damage, index_of, is_number, kind_of
from leakscore.tables.sources import states
from leakscore.tables.sources.blocks import ROWS
from leakscore.tables.sources.frames import doubles

_BUFFER = 1 << 20  # bytes of a column that are read at a time


@dataclass(frozen=True, eq=False)
class ParquetPart:
    """A parquet file.

    Attributes
    ----------
    left : dict
        Name of a column without numbers -> what it holds.
    index : tuple of str
        Columns that name the rows of a pandas frame.
    groups : tuple of int
        Rows of each row group.
    """

    path: str
    name: str
    columns: tuple[str, ...]
    rows: int
    state: states.State
    left: dict[str, str]
    index: tuple[str, ...]
    groups: tuple[int, ...]

    @classmethod
    def of(cls, path: str, name: str) -> ParquetPart:
        """Look at the metadata of a file."""
        state = states.state_of(path)
        with damage(name), _opened(path, name) as file:
            schema, metadata = file.schema_arrow, file.metadata
            groups = tuple(
                metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)
            )
            names, rows = tuple(schema.names), int(metadata.num_rows)
            kinds = dict(zip(names, schema.types, strict=True))
            index = tuple(sorted(index_of(schema)))
        if len(kinds) < len(names):
            twice = next(one for one in names if names.count(one) > 1)
            raise ValueError(f"{name} has two columns named {visible(twice)!r}: rename one of them")
        if rows < 0 or min(groups, default=0) < 0 or sum(groups) != rows:
            raise ValueError(f"{name} is damaged: it announces {rows} rows")
        left = {one: kind_of(kind) for one, kind in kinds.items() if not is_number(kind)}
        return cls(path, name, names, rows, state, left, index, groups)

    def require_same(self) -> None:
        """Refuse a file that changed since it was looked at first."""
        states.require_same(self.path, self.name, self.state)

    def batches(self, columns: Sequence[str], first: int, last: int | None) -> Iterator[Doubles]:
        """Yield rows; see `blocks.Part`."""
        stop = self.rows if last is None else last
        chosen, begin, skipped, end = [], None, 0, 0
        for group, count in enumerate(self.groups):
            start, end = end, end + count
            if start < stop and end > first:
                begin = start if begin is None else begin
                chosen.append(group)
        skipped = first - (begin or 0)
        self.require_same()
        found = 0
        with damage(self.name), _opened(self.path, self.name) as file:
            batches = file.iter_batches(
                batch_size=ROWS, row_groups=chosen, columns=list(columns), use_threads=False
            )
            for batch in states.part_of(
                self._doubles(batches, columns), skipped, skipped + stop - first
            ):
                found += len(batch)
                yield batch
        self.require_same()
        if found != stop - first:
            raise ValueError(f"{self.name} is damaged: {found} of {stop - first} rows are there")

    def _doubles(self, batches: Any, columns: Sequence[str]) -> Iterator[Doubles]:
        for batch in batches:
            at = {name: j for j, name in enumerate(batch.schema.names)}
            yield doubles(batch, [at[name] for name in columns])


def _opened(path: str, name: str) -> Any:
    """Open a file without buffers for more than a part of a column."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            f"{name} is a parquet file: reading it needs pyarrow (pip install 'leakscore[tables]')"
        ) from None
    return pyarrow.parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
