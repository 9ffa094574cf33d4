"""Files of numbers: reading up to a limit, unpacking, recognising the format, and JSON.

A few kilobytes may announce or unpack to more than a machine holds, and a stream may never end: the
limit counts the bytes of a file, packed and unpacked, and is checked before the memory is taken.
Nothing is ever unpickled. The content tells the format. In JSON duplicate keys, odd numbers and too
deep nesting are refused.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import importlib
import io
import json
import lzma
import re
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore_app._visible import listed, visible

# --- memory --------------------------------------------------------------------------------------

MAX_MEMORY = 1 << 30
"""Bytes that a file may take by default."""

_LIBRARIES = 1 << 30
"""Bytes of addresses that the libraries of a report take at most, with the threads of BLAS."""

COLUMN_BYTES = 512
"""Bytes of a column beside its values: its name, and its entries in lists."""

CELL_BYTES = 25
"""Bytes of a number of a text file until the table is made: three copies of 8 bytes."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ?([KMGT]?)(?:i?B)?", re.ASCII | re.IGNORECASE)
_CHUNK = 1 << 20


def parse_size(text: str) -> int:
    """Return the bytes of a size such as 512M or 4G; K, M, G and T are powers of 1024.

    Examples
    --------
    >>> from leakscore_app.tables.files import parse_size
    >>> parse_size("1.5K"), parse_size("4GiB"), parse_size("100")
    (1536, 4294967296, 100)
    """
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if size < 1:
        raise ValueError(f"{text!r} is no size such as 500M or 4G")
    return size


def shown_size(size: int) -> str:
    """Return a size in words."""
    power = min(max(int(size).bit_length() - 1, 0) // 10, 4)
    unit, count = ("bytes", "KiB", "MiB", "GiB", "TiB")[power], size / 1024**power
    return f"{count:.3g} {unit}" if power and count < 100 else f"{count:.0f} {unit}"


def table_bytes(rows: int, columns: int) -> int:
    """Return the bytes of a table of numbers."""
    return columns * (8 * rows + COLUMN_BYTES)


def require_memory(name: str, needed: int, limit: int) -> None:
    """Refuse a need above the limit."""
    if needed > limit:
        raise ValueError(f"{name} needs {shown_size(needed)} of memory, {_remedy(limit)}")


def require_libraries() -> None:
    """Refuse a process whose memory limit is below the need of its libraries.

    Without that, BLAS waits for memory without end, and C++ aborts.
    """
    try:
        import resource
    except ImportError:  # not Unix
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < _LIBRARIES:
        raise MemoryError(
            f"this process may have {shown_size(limit)}, and the libraries alone take up to "
            f"{shown_size(_LIBRARIES)} (ulimit -v)"
        )


def _remedy(limit: int) -> str:
    return (
        f"more than the {shown_size(limit)} that it may take "
        "(max_memory, or --max-memory on the command line, allows more)"
    )


def read_bounded(stream: Any, name: str, limit: int, start: bytes = b"") -> bytes:
    """Read a stream to its end, and refuse it as soon as it is longer than the limit.

    The announced length is not trusted: memory is taken as the bytes come. `start` has been read
    already.
    """
    taken = io.BytesIO()
    block = start or stream.read(_CHUNK)
    while block:
        taken.write(block)
        if taken.tell() > limit:
            raise ValueError(f"{name} is larger: {_remedy(limit)}")
        block = stream.read(_CHUNK)
    return taken.getvalue()


# --- compressed files and archives ---------------------------------------------------------------

_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
DAMAGE = (*_DAMAGE, ValueError, RuntimeError, KeyError, NotImplementedError)
"""What reading a damaged zip archive raises, refusals of other kinds among it."""

_ARCHIVE = (b"PK\x03\x04", b"PK\x05\x06")
_ENTRY_COST = 1024  # bytes that zipfile keeps of an entry of its directory
_WORKBOOKS = ("xl/workbook.xml", "xl/workbook.bin", "content.xml")


def is_compressed(data: bytes) -> bool:
    """Whether these are the first bytes of a compressed file."""
    return data.startswith(tuple(_OPENERS))


def decompressed(name: str, data: bytes, limit: int) -> bytes | None:
    """Unpack a compressed file, up to the limit; None if it is not compressed."""
    opener = next((opened for magic, opened in _OPENERS.items() if data.startswith(magic)), None)
    if opener is None:
        return None
    try:
        with opener(io.BytesIO(data)) as stream:
            return read_bounded(stream, name, limit - len(data))
    except _DAMAGE as error:
        raise ValueError(f"{name} is damaged: {error}") from None


def is_zip(data: bytes) -> bool:
    """Whether these are the first bytes of a zip archive."""
    return data.startswith(_ARCHIVE)


def directory_bytes(data: bytes) -> int:
    """Return the memory that zipfile takes for the entries of an archive."""
    return data.count(b"PK\x01\x02") * _ENTRY_COST


def kind_of_zip(data: bytes) -> str:
    """Return "workbook", "npz" or "zip"; a damaged archive is taken for the second."""
    if directory_bytes(data) > MAX_MEMORY:
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
        require_memory(name, len(data) + entry.file_size, limit)
        with archive.open(entry) as stream:
            return entry.filename, read_bounded(stream, name, limit - len(data))
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


# --- formats -------------------------------------------------------------------------------------

_PICKLES = frozenset({".pkl", ".pickle", ".pt", ".pth", ".joblib"})
_PICKLED = re.compile(rb"\x80[\x02-\x05]")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_START = 4096  # bytes from which the format is recognised

KINDS = {
    "npy": "npy",
    "npz": "npz",
    "zip": "zip",
    "parquet": "parquet",
    "feather": "feather",
    "arrow stream": "Arrow",
    "workbook": "workbook",
    "sav": "SPSS",
    "por": "SPSS",
    "dta": "Stata",
    "sas7bdat": "SAS",
    "xpt": "SAS",
    "text": "csv",
}
"""The formats, and what they are called."""

_MAGIC = (
    (b"\x93NUMPY", "npy"),
    (b"PAR1", "parquet"),
    (b"ARROW1", "feather"),
    (b"\xff\xff\xff\xff", "arrow stream"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "workbook"),
    (b"$FL2", "sav"),
    (b"$FL3", "sav"),
    (b"<stata_dta>", "dta"),
    (b"HEADER RECORD*******LIB", "xpt"),
    (bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00\x09\xc7\x31\x8c", "sas7bdat"),
)
_STATA = re.compile(rb"[\x68-\x73][\x01\x02]\x01\x00")  # versions 104 to 115

_NO_TABLES = (
    (re.compile(rb"\s*<(?:!doctype html|html|table|head|meta|!--)", re.IGNORECASE), "a web page"),
    (re.compile(rb"\s*<\?xml", re.IGNORECASE), "an XML file"),
    (re.compile(rb"%PDF"), "a PDF"),
    (re.compile(rb"\{\\rtf"), "an RTF text"),
    (re.compile(rb"\x28\xb5\x2f\xfd"), "compressed (zstandard)"),
)


@dataclass(frozen=True)
class File:
    """The bytes of a file and its name in messages.

    Attributes
    ----------
    name : str
        For display: without the folder, hidden characters escaped.
    data : bytes
        Unpacked if the file is compressed.
    limit : int
        Bytes that `data`, packed and unpacked, may take.
    packed : bytes or None
        The bytes of the file itself if it is compressed.
    """

    name: str
    data: bytes = field(repr=False)
    limit: int = MAX_MEMORY
    packed: bytes | None = field(default=None, repr=False)

    @cached_property
    def kind(self) -> str:
        """The format by the content, one of `KINDS`; "text" if it is none of the others."""
        for magic, kind in _MAGIC:
            if self.data.startswith(magic):
                return kind
        if is_zip(self.data):
            return kind_of_zip(self.data)
        if _STATA.match(self.data):
            return "dta"
        return "por" if b"SPSS PORT FILE" in self.data[:500] else "text"

    @property
    def is_json(self) -> bool:
        """Whether it is a text that begins as JSON does."""
        return self.kind == "text" and self.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")

    @cached_property
    def sha256(self) -> str:
        """Hash of the bytes of the file."""
        return hashlib.sha256(self.data if self.packed is None else self.packed).hexdigest()

    def require(self, needed: int, what: str | None = None) -> None:
        """Refuse to unpack an amount that exceeds, together with the file, the limit."""
        require_memory(what or self.name, len(self.data) + needed, self.limit)


# --- opening -------------------------------------------------------------------------------------


State: TypeAlias = tuple[int, int] | None


def state_of(path: str) -> State:
    """Return size and time of change of a regular file, None for a stream."""
    if path == "-" or not Path(path).is_file():
        return None
    status = Path(path).stat()
    return status.st_size, status.st_mtime_ns


def require_same(path: str, name: str, state: State) -> None:
    """Refuse a file that changed since it was looked at first."""
    now = state_of(path)
    if now is None and state is not None:
        raise ValueError(f"{name} is not there any more: it was removed before all of it was read")
    if now != state:
        raise ValueError(f"{name} changed while it was read: wait until it is complete")


def open_file(path: str, limit: int = MAX_MEMORY) -> File:
    """Read a file, or the standard input for ``-``; refuse an empty, foreign or pickled one.

    `limit` is the number of bytes that the file, packed and unpacked, may take. A file that is
    compressed by gzip, bzip2 or xz is unpacked.
    """
    name = "standard input" if path == "-" else visible(Path(path).name)
    state = state_of(path)
    if path == "-" and sys.stdin is None:
        raise ValueError("standard input is closed")
    with (
        contextlib.nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as stream
    ):
        if state is not None:
            require_memory(name, state[0], limit)
        start = stream.read(_START)
        _require_known(File(name, start), path)  # at once: a stream of other content may never end
        data = read_bounded(stream, name, limit, start)
    require_same(path, name, state)
    return _unpacked(name, data, limit, path)


def open_short(path: str, limit: int, lines: int) -> File | None:
    """Read a file of at most so many lines; None for others, for streams, parquet and npy files.

    These can be read block by block.
    """
    name, state, size, ends = visible(Path(path).name), state_of(path), 0, 0
    if state is None:
        return None
    pieces: list[bytes] = []
    with Path(path).open("rb", buffering=0) as stream:
        while piece := stream.read(_CHUNK):
            if not pieces and piece.startswith((b"PAR1", b"\x93NUMPY")):
                return None
            pieces.append(piece)
            size, ends = size + len(piece), ends + piece.count(b"\n")
            if ends > lines or size > limit:
                return None
    require_same(path, name, state)
    return _unpacked(name, b"".join(pieces), limit, path)


def _unpacked(name: str, data: bytes, limit: int, path: str) -> File:
    _require_known(File(name, data[:_START]), path)
    inner = decompressed(name, data, limit)
    if inner is None:
        return File(name, data, limit)
    if is_compressed(inner):
        raise ValueError(f"{name} is compressed twice: unpack it first")
    _require_known(File(name, inner[:_START]), path)
    return File(name, inner, limit, data)


def _require_known(start: File, path: str) -> None:
    """Refuse a file whose first bytes show that it is not a file of numbers."""
    if not start.data:
        raise ValueError(f"{start.name} is empty")
    for pattern, what in _NO_TABLES:
        if pattern.match(start.data):
            raise ValueError(f"{start.name} is {what}: save the table as csv, xlsx or parquet")
    if is_compressed(start.data):
        return
    named = start.kind == "text" and Path(path).suffix.lower() in _PICKLES
    if named or _PICKLED.match(start.data):
        raise ValueError(pickled(start.name))
    if start.kind == "text" and b"\0" in start.data and not _is_utf_16(start.data):
        raise ValueError(
            f"{start.name} is neither csv, npz, npy, parquet, feather, a workbook nor a file of "
            "SPSS, Stata or SAS: save the table as one of these"
        )


def _is_utf_16(start: bytes) -> bool:
    """Whether a text begins with a byte order mark, or every second byte is null."""
    nulls = [2 * start[k::2].count(0) / len(start) > 0.8 for k in (0, 1)]
    return start.startswith(_UTF_16) or (len(start) > 3 and nulls[0] != nulls[1])


def pickled(name: str) -> str:
    """Say why a pickle is refused."""
    return (
        f"{name} is pickled: reading it could run any program; only numbers are read "
        "(save its arrays with numpy.savez)"
    )


def libraries(name: str, *modules: str) -> Any:
    """Import what reads a file, or another holder of a table, and return the first module."""
    try:
        first, *_ = map(importlib.import_module, modules)
    except ImportError:
        names = dict.fromkeys(each.partition(".")[0].replace("_", "-") for each in modules)
        needed = " and ".join(names)
        raise ImportError(
            f"reading {name} needs {needed} (pip install 'leakscore[tables]'); npy and npz files "
            "are read without"
        ) from None
    return first


# --- JSON from others ----------------------------------------------------------------------------

_VALUE = 80  # bytes of a number with its place in a list
_EXACT = 1 << 53  # float64 holds all whole numbers up to this one


def load_json(file: File) -> Any:
    """Return the document of a JSON file."""
    text = 2 if file.data.isascii() else 5
    values = 1 + sum(map(file.data.count, (b",", b"[", b"{", b":")))
    file.require(text * len(file.data) + _VALUE * values)
    try:
        return json.loads(file.data.decode("utf-8-sig"), object_pairs_hook=_unique)
    except _TwiceError as error:
        raise ValueError(f"{file.name} has the key {error.args[0]!r} twice") from None
    except RecursionError:
        raise ValueError(f"{file.name} is no JSON of scores: it is too deep") from None
    except ValueError as error:  # no UTF-8, no JSON, or a number of thousands of digits
        raise ValueError(f"{file.name} is no JSON: {error}") from None


class _TwiceError(Exception):
    """An object has a key twice."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise _TwiceError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return entries


def array_of_json(file: File, name: str, value: Any) -> npt.NDArray[Any]:
    """Return the array of a list of numbers, or of words; `name` is what messages call it."""
    if isinstance(value, list) and set(map(type, value)) == {float}:
        return np.asarray(value)
    where = f"{file.name}, column {name!r}"
    longest = rows = whole = 0
    for row, cell in _cells(value):
        rows += 1
        if cell is None:
            raise ValueError(f"{where}, row {row}: null is not a number")
        if isinstance(cell, dict):
            raise ValueError(f"{where}, row {row}: an object is not a number")
        if isinstance(cell, str):
            longest = max(longest, len(cell), 32)
        elif type(cell) is int:
            whole = max(whole, abs(cell))
            if not -(1 << 63) <= cell < 1 << 63:
                raise ValueError(f"{where}, row {row}: a whole number of more than 64 bits")
    file.require(4 * longest * rows, where)
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{where}: its rows differ in length") from None
    if array.dtype.kind == "f" and whole > _EXACT:
        raise ValueError(f"{where}: {whole} among fractions would be rounded")
    return np.atleast_1d(array)


def _cells(value: Any) -> Iterator[tuple[int, Any]]:
    """Return the innermost values, each with the number of its row."""
    for row, entry in enumerate(value if isinstance(value, list) else [value], 1):
        stack = [entry]
        while stack:
            cell = stack.pop()
            if isinstance(cell, list):
                stack.extend(reversed(cell))
            else:
                yield row, cell
