"""Parquet files as parts of a source: row groups are read one after another, never all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from leakscore.typing import Doubles
from leakscore_app._visible import visible
from leakscore_app.tables.cells import ReadingOptions
from leakscore_app.tables.columns import GROUP
from leakscore_app.tables.formats.arrow import damage, index_of, is_number
from leakscore_app.tables.sources import states
from leakscore_app.tables.sources.blocks import ROWS
from leakscore_app.tables.sources.categories import Categories, Coded
from leakscore_app.tables.sources.frames import doubles
from leakscore_app.tables.sources.looked import of_other_kinds, texts_in

_BUFFER = 1 << 20  # bytes of a column that are read at a time


@dataclass(frozen=True, eq=False)
class ParquetPart:
    """A parquet file.

    Attributes
    ----------
    left : dict
        Name of a column without numbers -> why it is not judged.
    index : tuple of str
        Columns that name the rows of a pandas frame.
    groups : tuple of int
        Rows of each row group.
    levels : dict
        Name of a column of categories -> what its cells are numbered by.
    """

    path: str
    name: str
    columns: tuple[str, ...]
    rows: int
    state: states.State
    left: dict[str, str]
    index: tuple[str, ...]
    groups: tuple[int, ...]
    levels: Mapping[str, Coded] = field(default_factory=dict)

    @classmethod
    def of(
        cls, path: str, name: str, categories: Categories, options: ReadingOptions
    ) -> ParquetPart | None:
        """Look at a file; None if it is to be read as a whole: texts in it may be numbers.

        Only columns of words are read, and of these only columns that are published, and columns of
        categories.
        """
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
        options = categories.ask(name, names, options)
        for one in categories.names:
            categories.require_words(name, one, kinds[one])
        wordy = [one for one in names if not is_number(kinds[one])]
        left = of_other_kinds(schema, wordy)
        part = cls(path, name, names, rows, state, left, index, groups)
        texts = [one for one in wordy if one not in left]
        among = [one for one in texts if options.publishes(one)]
        found = part._texts(among, categories, options)
        if found is None:
            return None
        unread = dict.fromkeys(texts, "it is text") | found
        return replace(part, left=left | unread | dict.fromkeys(categories.groups, GROUP))

    def _texts(
        self, texts: Sequence[str], categories: Categories, options: ReadingOptions
    ) -> dict[str, str] | None:
        """Read columns of words; see `texts_in`."""
        columns = [*categories.names, *texts]
        if not columns:
            return {}
        with damage(self.name), _opened(self.path, self.name, columns) as file:
            batches = file.iter_batches(batch_size=ROWS, columns=columns, use_threads=False)
            return texts_in(batches, self.name, texts, categories, options)

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
        with damage(self.name), _opened(self.path, self.name, list(self.levels)) as file:
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
            yield doubles(batch, columns, self.levels)


def _opened(path: str, name: str, words: Sequence[str] = ()) -> Any:
    """Open a file without buffers for more than a part of a column.

    Columns of `words` are read as they are mostly stored: different words, and which of them each
    cell is.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            f"{name} is a parquet file: reading it needs pyarrow (pip install 'leakscore[tables]')"
        ) from None
    return pyarrow.parquet.ParquetFile(
        path, read_dictionary=list(words), buffer_size=_BUFFER, pre_buffer=False
    )
