"""Parquet, feather and Arrow streams by pyarrow: their metadata are checked before all else.

What the buffers of a stream unpack to is read from the stream itself: pyarrow takes it on trust. A
compressed buffer begins with its length when it is unpacked (Arrow columnar format, "Compression"
of the IPC section). The metadata of a message are a flatbuffer, of which only the few fields are
read that say where the buffers lie.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore_app._visible import visible
from leakscore_app.tables.cells import Cells, Grid, ReadingOptions
from leakscore_app.tables.files import File, libraries

_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3  # MessageHeader of Message.fbs
_DAMAGE = (OSError, EOFError, ValueError, TypeError, LookupError, OverflowError, struct.error)
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
    return sum(sum(_lengths(message)) for message in reader)


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
    places = [start for field in (2, 3) for (start,) in footer.structs(field, "<q", 24)]
    if not all(0 <= start < len(data) for start in places):
        raise ValueError("its footer points beyond its end")
    messages = (pyarrow.ipc.read_message(data.slice(start)) for start in places)
    return sum(sum(_lengths(message)) for message in messages)


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
    for offset, length in batch.structs(2, "<qq", 16):
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

    def structs(self, index: int, form: str, size: int) -> Iterator[tuple[int, ...]]:
        """Yield the first whole numbers of the structs of a vector."""
        field = self._field(index)
        if field is None:
            return
        start = field + struct.unpack_from("<I", self._data, field)[0]
        (count,) = struct.unpack_from("<I", self._data, start)
        for k in range(count):
            yield struct.unpack_from(form, self._data, start + 4 + size * k)


_FLOAT = 8
_MARK = b"ARROW1"
_END = b"\xff\xff\xff\xff\0\0\0\0"  # of a stream


def read_arrow(file: File, options: ReadingOptions) -> Grid:
    """Read all columns that hold numbers or text, one after another.

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
        If the file is damaged or too large.
    ImportError
        If pyarrow is missing.
    """
    libraries(file.name, "pyarrow", "pyarrow.parquet")
    import pyarrow.parquet

    content: Any
    with damage(file.name):
        if file.kind == "parquet":
            content = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(file.data))
            schema, about = content.schema_arrow, content.metadata
        else:
            content = about = _table(file)
            schema = content.schema
        rows = int(about.num_rows)
        # The sizes of single columns are not read: pyarrow ends the process where the metadata of a
        # column are damaged (its binding of ColumnChunk lets C++ exceptions through).
        groups = range(getattr(about, "num_row_groups", 0))
        sizes = [0, *(about.row_group(group).total_byte_size for group in groups)]
    if min(rows, *sizes) < 0:
        raise ValueError(f"{file.name} is damaged: it announces {rows} rows, {min(sizes)} bytes")
    file.require(sum(sizes) + 3 * _FLOAT * rows)  # pages, a column and the column's copy

    def column_of(name: str) -> Any:
        if file.kind != "parquet":
            return content.column(name)
        column = content.read(columns=[name], use_threads=False).column(name)
        if len(column) != rows:
            raise ValueError(f"{len(column)} values of {name!r} in {rows} rows")
        return column

    grid = grid_of_columns(file.name, schema, rows, column_of, typed=options.complete, file=file)
    return grid.without_last(options.skip_last)


def grid_of_columns(
    name: str,
    schema: Any,
    rows: int,
    column_of: Callable[[str], Any],
    *,
    typed: bool = False,
    file: File | None = None,
) -> Grid:
    """Return columns of pyarrow as cells; those that hold neither numbers nor text are not read.

    With `typed` numbers are there in their own dtype, too. Words of a dictionary must fit into
    what `file` may take when they are written out.
    """
    require_names(name, schema)
    index, cells = index_of(schema), []
    for each, kind in zip(schema.names, schema.types, strict=True):
        if not (is_number(kind) or is_text(kind)):
            cells.append(Cells(each, other=kind_of(kind), index=each in index))
            continue
        with damage(name):
            column = column_of(each)
            if is_number(kind):
                numbers = np.asarray(column.cast("float64", safe=False).to_numpy(), np.float64)
                exact = _own_dtype(column) if typed else None
                cells.append(Cells(each, numbers=numbers, index=each in index, typed=exact))
            else:
                if file is not None:
                    _require_decoded(file, column)
                cells.append(Cells(each, text=words_of(column), index=each in index))
    return Grid(name, cells, rows)


def _own_dtype(column: Any) -> npt.NDArray[Any]:
    import pyarrow

    kinds, kind = pyarrow.types, column.type
    if kinds.is_boolean(kind) or kinds.is_decimal(kind) or column.null_count:
        column = column.cast("float64", safe=False)
    return np.asarray(column.to_numpy())


def _require_decoded(file: File, column: Any) -> None:
    """Refuse a dictionary whose words, written out, do not fit."""
    chunks = getattr(column, "chunks", [])
    words = (chunk.dictionary.to_pylist() for chunk in chunks if hasattr(chunk, "dictionary"))
    widths = [max((len(word or "") for word in each), default=0) for each in words]
    file.require(max(widths, default=0) * len(column))


def require_names(name: str, schema: Any) -> None:
    """Refuse two columns of one name."""
    names = schema.names
    twice = next((each for each in names if names.count(each) > 1), None)
    if twice is not None:
        raise ValueError(f"{name} has two columns named {visible(twice)!r}: rename one of them")


def index_of(schema: Any) -> set[str]:
    """Return the columns that are the index of a table of pandas."""
    marked = {name for name in schema.names if name.startswith("__index_level_")}
    about = schema.pandas_metadata if b"pandas" in (schema.metadata or {}) else {}
    indices = about.get("index_columns", ()) if isinstance(about, dict) else ()
    return marked | {name for name in indices if isinstance(name, str)}


def _table(file: File) -> Any:
    """Read a feather file or a stream whole, after a check of what it unpacks to."""
    import pyarrow.ipc

    data = pyarrow.py_buffer(file.data)
    by_footer = file.data.startswith(_MARK)
    if not by_footer and not file.data.endswith(_END):  # pyarrow reads what is there of it
        raise ValueError(f"{file.name} is damaged: its end is missing; export it again")
    file.require(unpacked_bytes_of_file(data) if by_footer else unpacked_bytes(data))
    table = (pyarrow.ipc.open_file if by_footer else pyarrow.ipc.open_stream)(data).read_all()
    table.validate(full=True)
    return table


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
    return _is_one_of(kind, "integer", "floating", "boolean", "decimal")


def is_text(kind: Any) -> bool:
    """Whether a type of pyarrow is one of strings, in a dictionary or not."""
    return _is_one_of(kind, "string", "large_string", "string_view")


def _is_one_of(kind: Any, *names: str) -> bool:
    import pyarrow

    kinds = pyarrow.types
    kind = kind.value_type if kinds.is_dictionary(kind) else kind
    kinds_of = [getattr(kinds, f"is_{name}", None) for name in names]  # old versions have no views
    return any(is_of(kind) for is_of in kinds_of if is_of is not None)


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
    except (pyarrow.ArrowException, *_DAMAGE) as error:
        if str(error).startswith(name):  # too large, not damaged
            raise
        raise ValueError(f"{name} is damaged: {error}") from None
