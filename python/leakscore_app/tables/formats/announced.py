"""What the buffers of an Arrow stream unpack to, as it says itself: pyarrow takes it on trust.

A compressed buffer begins with its length when it is unpacked (Arrow columnar format, "Compression"
of the IPC section). The metadata of a message are a flatbuffer, of which only the few fields are
read that say where the buffers lie.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

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
