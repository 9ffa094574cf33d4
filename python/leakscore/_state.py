"""State as bytes: arrays under a kind and a version, with a digest; the same on every machine.

The bytes are a magic word, the kind, its version and the number of arrays; of each array the dtype,
the shape and the numbers, little-endian; and a digest of all that. The digest shows damage. It is
no signature: whoever reads checks what the numbers mean.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence

import numpy as np

from leakscore.typing import Array

_MAGIC = b"leakscor"
_HEADER = struct.Struct("<8s8sHH")
_ARRAY = struct.Struct("<3sB")
_DTYPES = ("<f8", "<f4", "<i8", "<u4", "|u1")
_DIGEST = 16


def pack(kind: str, version: int, arrays: Sequence[Array]) -> bytes:
    """Return the bytes of some arrays."""
    parts = [_HEADER.pack(_MAGIC, kind.encode(), version, len(arrays))]
    for array in arrays:
        plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        parts.append(_ARRAY.pack(plain.dtype.str.encode(), plain.ndim))
        parts.append(struct.pack(f"<{plain.ndim}Q", *plain.shape))
        parts.append(plain.tobytes())
    body = b"".join(parts)
    return body + _digest(body)


def unpack(kind: str, version: int, data: object, maker: str) -> list[Array]:
    """Return the arrays; refuse what is damaged, of another kind or of another version."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"data of type {type(data).__name__} must be bytes")
    raw = bytes(data)
    foreign = ValueError(f"data must be the bytes of {maker}")
    if len(raw) < _HEADER.size + _DIGEST:
        raise foreign
    magic, tag, wrote, count = _HEADER.unpack_from(raw)
    if magic != _MAGIC or tag.rstrip(b"\0") != kind.encode():
        raise foreign
    if wrote != version:
        raise ValueError(
            f"data must be in version {version} of {maker}, not {wrote}: another release of "
            "leakscore wrote it"
        )
    body, digest = raw[:-_DIGEST], raw[-_DIGEST:]
    if _digest(body) != digest:
        raise ValueError(f"data of {len(raw)} bytes must be whole: its digest is another")
    return _arrays(body, count)


def _arrays(body: bytes, count: int) -> list[Array]:
    place, arrays = _HEADER.size, []
    try:
        for _ in range(count):
            code, ndim = _ARRAY.unpack_from(body, place)
            shape = struct.unpack_from(f"<{ndim}Q", body, place + _ARRAY.size)
            place += _ARRAY.size + 8 * ndim
            if code.decode("ascii", "replace") not in _DTYPES:
                raise ValueError
            dtype = np.dtype(code.decode())
            size = math.prod(shape)
            if size * dtype.itemsize > len(body) - place:  # nothing is allocated for absent bytes
                raise ValueError
            values = np.frombuffer(body, dtype, size, place).reshape(shape)
            arrays.append(values.astype(dtype.newbyteorder("=")))
            place += size * dtype.itemsize
        if place != len(body):
            raise ValueError
    except (struct.error, ValueError):
        raise ValueError(f"data must hold {count} arrays of numbers, and no more") from None
    return arrays


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST).digest()
