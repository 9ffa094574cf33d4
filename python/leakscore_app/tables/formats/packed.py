"""What is packed: gzip, bzip2 and xz; and zip archives, of which a table is one member."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from typing import Any

from leakscore_app._visible import listed
from leakscore_app.tables import memory_limit

_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
DAMAGE = (*_DAMAGE, ValueError, RuntimeError, KeyError, NotImplementedError)
"""What reading a damaged zip archive raises, refusals of other kinds among it."""

_ARCHIVE = (b"PK\x03\x04", b"PK\x05\x06")
_ENTRY = b"PK\x01\x02"
_ENTRY_COST = 1024  # bytes that zipfile keeps of an entry of its directory
_WORKBOOKS = ("xl/workbook.xml", "xl/workbook.bin", "content.xml")


def is_compressed(data: bytes) -> bool:
    """Whether these are the first bytes of a compressed file."""
    return data.startswith(tuple(_OPENERS))


def decompressed(name: str, data: bytes, limit: int) -> bytes | None:
    """Return what a compressed file unpacks to, up to the limit; None if it is not compressed."""
    opener = next((opened for magic, opened in _OPENERS.items() if data.startswith(magic)), None)
    if opener is None:
        return None
    try:
        with opener(io.BytesIO(data)) as stream:
            return memory_limit.read_bounded(stream, name, limit - len(data))
    except _DAMAGE as error:
        raise ValueError(f"{name} is damaged: {error}") from None


def is_zip(data: bytes) -> bool:
    """Whether these are the first bytes of a zip archive."""
    return data.startswith(_ARCHIVE)


def kind_of_zip(data: bytes) -> str:
    """Return "workbook", "npz" or "zip"; a damaged archive is taken for the second."""
    if data.count(_ENTRY) * _ENTRY_COST > memory_limit.DEFAULT:
        return "npz"
    try:
        names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    except DAMAGE:
        return "npz"
    if any(name in names for name in _WORKBOOKS):
        return "workbook"
    arrays = (".npy", ".pkl")
    return "npz" if not names or any(name.endswith(arrays) for name in names) else "zip"


def member_of(name: str, data: bytes, key: str | None, limit: int) -> tuple[str, bytes]:
    """Return the name and the bytes of one file of an archive: the only one, or `key`."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = [entry for entry in archive.infolist() if _is_file(entry)]
        if key is not None:
            members = [entry for entry in members if entry.filename == key]
        if len(members) != 1:
            raise ValueError(_choice(name, archive, key))
        entry = members[0]
        if entry.flag_bits & 1:
            raise ValueError(f"{name} is protected by a password: unpack it first")
        memory_limit.require(name, len(data) + entry.file_size, limit)
        with archive.open(entry) as stream:
            return entry.filename, memory_limit.read_bounded(stream, name, limit - len(data))
    except (*_DAMAGE, NotImplementedError, RuntimeError, KeyError) as error:
        raise ValueError(f"{name} is damaged: {error}") from None


def _is_file(entry: zipfile.ZipInfo) -> bool:
    hidden = entry.filename.startswith("__MACOSX/") or "/." in f"/{entry.filename}"
    return not (entry.is_dir() or hidden)


def _choice(name: str, archive: zipfile.ZipFile, key: str | None) -> str:
    files = listed([entry.filename for entry in archive.infolist() if _is_file(entry)])
    if not files:
        return f"{name} holds no file"
    if key is not None:
        return f"{name} has no file {key!r}; it holds {files}"
    return f"{name} holds several files, choose one with --key: {files}"
