"""Columns of a parquet file: its metadata are checked before any of it is unpacked."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.tables.files import File

__all__ = ["Parquet", "is_number", "is_text"]

_FLOAT = 8


class Parquet:
    """The columns of a parquet file; each is read on first use.

    Attributes
    ----------
    names : tuple of str
    types : dict
        Name -> pyarrow's name of the type.
    rows : int
    """

    def __init__(self, file: File) -> None:
        try:
            import pyarrow.parquet
        except ImportError:
            raise ImportError(
                f"{file.name} is a parquet file: reading it needs pyarrow "
                '(pip install "leakscore[parquet]")'
            ) from None
        self._file = file
        source = pyarrow.BufferReader(file.data)
        with _damage(file):
            self._reader = pyarrow.parquet.ParquetFile(source)
            schema = self._reader.schema_arrow
            self.names = tuple(schema.names)
            self.types = dict(zip(schema.names, schema.types, strict=True))
            self.rows = int(self._reader.metadata.num_rows)
        if len(self.types) < len(self.names):
            raise ValueError(f"{file.name} has columns of the same name")
        if self.rows < 0:
            raise ValueError(f"{file.name} is damaged: it announces {self.rows} rows")

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """Return a column of numbers as float64, NaN where a value is missing."""
        import pyarrow

        column = self._column(name)
        with _damage(self._file):
            return np.asarray(column.cast(pyarrow.float64(), safe=False).to_numpy(), np.float64)

    def array(self, name: str) -> npt.NDArray[Any]:
        """Return a column as an array of its dtype, or of strings; missing ones are empty."""
        import pyarrow

        if is_text(self.types[name]):
            return self._strings(name)
        column = self._column(name)
        kinds, kind = pyarrow.types, column.type
        with _damage(self._file):
            if is_number(kind) and (
                kinds.is_boolean(kind) or kinds.is_decimal(kind) or column.null_count
            ):
                column = column.cast(pyarrow.float64(), safe=False)
            return np.asarray(column.to_numpy())

    def _strings(self, name: str) -> npt.NDArray[np.str_]:
        column = self._column(name)
        with _damage(self._file):
            parts = [chunk.dictionary_encode() for chunk in column.chunks]
            # The last word stands for missing values.
            words = [[*(word or "" for word in part.dictionary.to_pylist()), ""] for part in parts]
            width = max((len(word) for part in words for word in part), default=0)
        self._file.require(4 * width * self.rows)
        with _damage(self._file):
            missing = [len(part) - 1 for part in words]
            indices = [part.indices.fill_null(m) for part, m in zip(parts, missing, strict=True)]
            made = [np.array(w, np.str_)[i] for w, i in zip(words, indices, strict=True)]
            return np.concatenate(made) if made else np.empty(0, np.str_)

    def _column(self, name: str) -> Any:
        """Read a column after a check that it fits into the limit."""
        self._require()
        kind = self.types[name]
        if not (is_number(kind) or is_text(kind)):
            raise ValueError(f"{self._file.name}, column {name!r} holds {kind}, not numbers")
        with _damage(self._file):
            column = self._reader.read(columns=[name], use_threads=False).column(name)
            if len(column) != self.rows:
                raise ValueError(f"{len(column)} values of {name!r} in {self.rows} rows")
            return column

    def _require(self) -> None:
        """Refuse a file above the limit, with its pages, a column and the column's copy.

        The sizes of single columns are not read: pyarrow ends the process where the metadata of a
        column are damaged (its binding of ColumnChunk lets C++ exceptions through).
        """
        with _damage(self._file):
            metadata = self._reader.metadata
            sizes = [
                metadata.row_group(group).total_byte_size
                for group in range(metadata.num_row_groups)
            ]
        if min(sizes, default=0) < 0:
            raise ValueError(f"{self._file.name} is damaged: it announces {min(sizes)} bytes")
        self._file.require(sum(sizes) + 3 * _FLOAT * self.rows)


def is_number(kind: Any) -> bool:
    """Whether a type of pyarrow is one of numbers."""
    import pyarrow

    kinds = pyarrow.types
    return bool(
        kinds.is_integer(kind)
        or kinds.is_floating(kind)
        or kinds.is_boolean(kind)
        or kinds.is_decimal(kind)
    )


def is_text(kind: Any) -> bool:
    """Whether a type of pyarrow is one of strings, in a dictionary or not."""
    import pyarrow

    kinds = pyarrow.types
    if kinds.is_dictionary(kind):
        kind = kind.value_type
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind))


@contextlib.contextmanager
def _damage(file: File) -> Iterator[None]:
    """Report a file that pyarrow cannot read as damaged."""
    import pyarrow

    try:
        yield
    except (
        pyarrow.ArrowException,
        OSError,
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        OverflowError,
        MemoryError,
    ) as error:
        raise ValueError(f"{file.name} is damaged: {error}") from None
