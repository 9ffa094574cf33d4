"""Parquet, feather and Arrow streams by pyarrow: their metadata are checked before all else.

What the buffers of a stream unpack to is read from the stream itself: pyarrow takes it on trust. A
compressed buffer begins with its length when it is unpacked (Arrow columnar format, "Compression"
of the IPC section). The metadata of a message are a flatbuffer, of which only the few fields are
read that say where the buffers lie.
"""

from __future__ import annotations

import contextlib
import struct
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore_app._visible import visible
from leakscore_app.tables.cells import Cells, Grid, ReadingOptions
from leakscore_app.tables.files import File

_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3  # MessageHeader of Message.fbs
_RAW = -1  # length of a buffer that is stored as it is


def unpacked_bytes(source: Any) -> int:
    """Return the bytes that all compressed buffers of a stream announce.

    Raises
    ------
    struct.error, ValueError
        If the metadata point beyond their end.
    """
    import pyarrow.ipc

    reader = pyarrow.ipc.MessageReader.open_stream(source)
    return sum(sum(_lengths(message)) for message in _messages(reader))


def unpacked_bytes_of_file(data: Any) -> int:
    """Return the same of a file whose footer says where its messages lie.

    Raises
    ------
    struct.error, ValueError
        If the footer or the metadata point beyond their end.
    """
    import pyarrow.ipc

    (size,) = struct.unpack("<i", data[-10:-6])
    if data[-6:].to_pybytes() != b"ARROW1" or not 0 < size <= len(data) - 10:
        raise ValueError("its footer is not at its end")
    buffer = memoryview(data)[-10 - size : -10]
    footer = _Table(buffer, struct.unpack_from("<I", buffer, 0)[0])
    places = [start for field in (2, 3) for start in footer.blocks(field)]
    if not all(0 <= start < len(data) for start in places):
        raise ValueError("its footer points beyond its end")
    messages = (pyarrow.ipc.read_message(data.slice(start)) for start in places)
    return sum(sum(_lengths(message)) for message in messages)


def _messages(reader: Any) -> Iterator[Any]:
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def _lengths(message: Any) -> Iterator[int]:
    """Yield what each compressed buffer of a message announces."""
    metadata = memoryview(message.metadata)
    root = _Table(metadata, struct.unpack_from("<I", metadata, 0)[0])
    kind = root.scalar(1, "<B")
    if kind not in (_DICTIONARY_BATCH, _RECORD_BATCH):
        return
    batch = root.table(2)
    if batch is not None and kind == _DICTIONARY_BATCH:
        batch = batch.table(1)
    if batch is None or batch.table(3) is None:
        return
    body = memoryview(message.body)
    for offset, length in batch.pairs(2):
        if length >= 8:
            (announced,) = struct.unpack_from("<q", body, offset)
            if announced < _RAW:
                raise ValueError(f"a buffer announces {announced} bytes")
            yield length if announced == _RAW else announced


class _Table:
    """A table of a flatbuffer: its fields are found through the offsets of its vtable."""

    def __init__(self, data: memoryview, position: int) -> None:
        self._data, self._position = data, position
        self._vtable = position - struct.unpack_from("<i", data, position)[0]
        if not 0 <= self._vtable < len(data):
            raise ValueError("a table of the metadata lies outside")

    def _field(self, index: int) -> int | None:
        """Return where a field lies, None if it is absent."""
        (size,) = struct.unpack_from("<H", self._data, self._vtable)
        entry = 4 + 2 * index
        if entry + 2 > size:
            return None
        (offset,) = struct.unpack_from("<H", self._data, self._vtable + entry)
        return self._position + offset if offset else None

    def scalar(self, index: int, form: str) -> int:
        """Return a number, 0 if it is absent."""
        field = self._field(index)
        return 0 if field is None else int(struct.unpack_from(form, self._data, field)[0])

    def table(self, index: int) -> _Table | None:
        """Return a table, None if it is absent."""
        field = self._field(index)
        if field is None:
            return None
        return _Table(self._data, field + struct.unpack_from("<I", self._data, field)[0])

    def pairs(self, index: int) -> Iterator[tuple[int, int]]:
        """Yield the structs of two whole numbers of a vector."""
        field = self._field(index)
        if field is None:
            return
        start = field + struct.unpack_from("<I", self._data, field)[0]
        (count,) = struct.unpack_from("<I", self._data, start)
        for k in range(count):
            yield struct.unpack_from("<qq", self._data, start + 4 + 16 * k)

    def blocks(self, index: int) -> Iterator[int]:
        """Yield where the messages of a footer's vector begin."""
        field = self._field(index)
        if field is None:
            return
        start = field + struct.unpack_from("<I", self._data, field)[0]
        (count,) = struct.unpack_from("<I", self._data, start)
        for k in range(count):
            yield struct.unpack_from("<q", self._data, start + 4 + 24 * k)[0]


_FLOAT = 8
_MARK = b"ARROW1\0\0"
_MESSAGE = b"\xff\xff\xff\xff"


class ArrowFile:
    """The columns of a file; those of parquet are read on first use.

    Attributes
    ----------
    names : tuple of str
    index : set of str
        The columns that pandas calls names of rows.
    types : dict
        Name -> pyarrow's type.
    rows : int
    """

    def __init__(self, file: File) -> None:
        try:
            import pyarrow.parquet
        except ImportError:
            raise ImportError(
                f"{file.name} is a {file.kind} file: reading it needs pyarrow "
                "(pip install 'leakscore[tables]')"
            ) from None
        self._file = file
        source = pyarrow.BufferReader(file.data)
        self._table: Any = None
        self._reader: Any = None
        with damage(file.name):
            if file.kind == "parquet":
                self._reader = pyarrow.parquet.ParquetFile(source)
                schema, rows = self._reader.schema_arrow, self._reader.metadata.num_rows
            else:
                self._table = _table(file, source)
                schema, rows = self._table.schema, self._table.num_rows
            self.names = tuple(schema.names)
            self.types = dict(zip(schema.names, schema.types, strict=True))
            self.rows = int(rows)
            self.index = index_of(schema)
        if len(self.types) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise ValueError(
                f"{file.name} has two columns named {visible(twice)!r}: rename one of them"
            )
        if self.rows < 0:
            raise ValueError(f"{file.name} is damaged: it announces {self.rows} rows")

    def cells(self, name: str) -> Cells:
        """Return a column; one that holds neither numbers nor text is not read."""
        import pyarrow

        kind, index = self.types[name], name in self.index
        if not (is_number(kind) or is_text(kind)):
            return Cells(name, other=kind_of(kind), index=index)
        column = self.column(name)
        with damage(self._file.name):
            if pyarrow.types.is_dictionary(column.type) and is_text(kind):
                self._require_decoded(column)
            return cells_of(name, column, index)

    def array(self, name: str) -> npt.NDArray[Any]:
        """Return a column of numbers as an array of its own dtype."""
        import pyarrow

        column = self.column(name)
        kinds, kind = pyarrow.types, column.type
        with damage(self._file.name):
            if kinds.is_boolean(kind) or kinds.is_decimal(kind) or column.null_count:
                column = column.cast(pyarrow.float64(), safe=False)
            return np.asarray(column.to_numpy())

    def _require_decoded(self, column: Any) -> None:
        """Refuse a dictionary whose words, written out, do not fit."""
        widths = [
            max((len(word or "") for word in chunk.dictionary.to_pylist()), default=0)
            for chunk in column.chunks
        ]
        self._file.require(max(widths, default=0) * self.rows)

    def column(self, name: str) -> Any:
        """Read a column after a check that it fits into the limit."""
        self._require()
        with damage(self._file.name):
            if self._table is not None:
                return self._table.column(name)
            column = self._reader.read(columns=[name], use_threads=False).column(name)
            if len(column) != self.rows:
                raise ValueError(f"{len(column)} values of {name!r} in {self.rows} rows")
            return column

    def _require(self) -> None:
        """Refuse a file above the limit, with its pages, a column and the column's copy.

        The sizes of single columns are not read: pyarrow ends the process where the metadata of a
        column are damaged (its binding of ColumnChunk lets C++ exceptions through).
        """
        sizes = [0]
        if self._reader is not None:
            with damage(self._file.name):
                metadata = self._reader.metadata
                groups = range(metadata.num_row_groups)
                sizes = [0, *(metadata.row_group(group).total_byte_size for group in groups)]
        if min(sizes) < 0:
            raise ValueError(f"{self._file.name} is damaged: it announces {min(sizes)} bytes")
        self._file.require(sum(sizes) + 3 * _FLOAT * self.rows)


def index_of(schema: Any) -> set[str]:
    """Return the columns that are the index of a table of pandas."""
    marked = {name for name in schema.names if name.startswith("__index_level_")}
    about = schema.pandas_metadata if b"pandas" in (schema.metadata or {}) else {}
    indices = about.get("index_columns", ()) if isinstance(about, dict) else ()
    return marked | {name for name in indices if isinstance(name, str)}


def _table(file: File, source: Any) -> Any:
    """Read a feather file or a stream whole, after a check of what it unpacks to.

    A file of version 2 is a stream between two marks; its footer, which points at the same
    batches, is needed only where no stream follows the first mark: polars writes such files.
    """
    import pyarrow.feather
    import pyarrow.ipc

    if file.data.startswith(b"FEA1"):
        with warnings.catch_warnings():  # version 1 is an old one
            warnings.simplefilter("ignore")
            return pyarrow.feather.read_table(source)
    skipped = len(_MARK) if file.data.startswith(_MARK) else 0
    stream = pyarrow.py_buffer(file.data).slice(skipped)
    if skipped and stream[:4].to_pybytes() != _MESSAGE:
        data = pyarrow.py_buffer(file.data)
        file.require(unpacked_bytes_of_file(data))
        table = pyarrow.ipc.open_file(data).read_all()
        table.validate(full=True)
        return table
    file.require(unpacked_bytes(stream))
    table = pyarrow.ipc.open_stream(stream).read_all()
    table.validate(full=True)
    return table


def read_arrow(file: File, options: ReadingOptions) -> Grid:
    """Read the columns that are wanted.

    Parameters
    ----------
    file : File
    options : ReadingOptions

    Returns
    -------
    Grid

    Raises
    ------
    ValueError
        If the file is damaged, too large, or a wanted column is nested.
    ImportError
        If pyarrow is missing.
    """
    content = ArrowFile(file)
    cells = [content.cells(name) for name in content.names]
    return Grid(file.name, cells, content.rows).without_last(options.skip_last)


def cells_of(name: str, column: Any, index: bool) -> Cells:
    """Return a column of pyarrow as cells: numbers, text, or neither."""
    import pyarrow

    if is_number(column.type):
        numbers = column.cast(pyarrow.float64(), safe=False).to_numpy()
        return Cells(name, numbers=np.asarray(numbers, np.float64), index=index)
    if is_text(column.type):
        return Cells(name, text=words_of(column), index=index)
    return Cells(name, other=kind_of(column.type), index=index)


def words_of(column: Any) -> Any:
    """Return a column of text as strings; pyarrow decodes no dictionary of views, as polars has."""
    import pyarrow

    if isinstance(column, pyarrow.ChunkedArray):
        return pyarrow.chunked_array([words_of(part) for part in column.chunks], pyarrow.string())
    if pyarrow.types.is_dictionary(column.type):
        words = column.dictionary.cast(pyarrow.string())
        column = pyarrow.DictionaryArray.from_arrays(column.indices, words)
    return column.cast(pyarrow.string())


def kind_of(kind: Any) -> str:
    """Say what columns of a type hold that are no numbers."""
    import pyarrow

    kinds = pyarrow.types
    if kinds.is_temporal(kind):
        return "dates"
    return f"nested ({kind})" if kinds.is_nested(kind) else str(kind)


def is_number(kind: Any) -> bool:
    """Whether a type of pyarrow is one of numbers, in a dictionary or not."""
    import pyarrow

    kinds = pyarrow.types
    if kinds.is_dictionary(kind):
        kind = kind.value_type
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
    return bool(
        kinds.is_string(kind)
        or kinds.is_large_string(kind)
        or (hasattr(kinds, "is_string_view") and kinds.is_string_view(kind))
    )


@contextlib.contextmanager
def damage(name: str) -> Iterator[None]:
    """Report a file that pyarrow cannot read as damaged."""
    import pyarrow

    try:
        yield
    except MemoryError as error:  # of what the file announces, or of what it holds
        raise ValueError(
            f"{name} is damaged, or needs more memory than there is: {error}"
        ) from None
    except (
        pyarrow.ArrowException,
        OSError,
        ValueError,
        struct.error,
        TypeError,
        KeyError,
        IndexError,
        OverflowError,
    ) as error:
        if str(error).startswith(name):  # too large, not damaged
            raise
        raise ValueError(f"{name} is damaged: {error}") from None
