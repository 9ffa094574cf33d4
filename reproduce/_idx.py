"""Reader of idx files, the format of MNIST and Fashion-MNIST: a magic number, sizes, bytes."""

from __future__ import annotations

import gzip
import struct
import zlib
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["read_images_and_labels"]

_Bytes = npt.NDArray[np.uint8]

_UNSIGNED_BYTE = 0x08
_GZIP = b"\x1f\x8b"
_LARGEST = 1 << 30  # bytes of data that a file may announce: EMNIST has 550 million
_BLOCK = 1 << 20


def read_images_and_labels(images: Path, labels: Path, classes: int) -> tuple[_Bytes, _Bytes]:
    """Return images (k, height, width) and as many labels (k,) below `classes`."""
    pictures, names = _read(images, dimensions=3), _read(labels, dimensions=1)
    if len(pictures) != len(names):
        raise ValueError(
            f"{images} has {len(pictures)} images, but {labels} has {len(names)} labels"
        )
    if names.max() >= classes:
        raise ValueError(f"{labels} has a label {names.max()}; expected 0 to {classes - 1}")
    return pictures, names


def _read(path: Path, dimensions: int) -> _Bytes:
    """Return the array of a file, which may be compressed with gzip."""
    with path.open("rb") as raw:
        compressed = raw.read(len(_GZIP)) == _GZIP
        raw.seek(0)
        if not compressed:
            return _array(path, raw, dimensions)
        try:
            with gzip.open(raw) as stream:
                return _array(path, stream, dimensions)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} is a damaged gzip file: {error}") from error


def _array(path: Path, stream: Any, dimensions: int) -> _Bytes:
    """Read an array that is exactly as large as its header announces."""
    size = 4 + 4 * dimensions
    header = stream.read(size)
    if len(header) < size:
        raise ValueError(f"{path} ends after {len(header)} bytes, in the header of an idx file")
    found, *shape = struct.unpack(f">{1 + dimensions}I", header)
    magic = _UNSIGNED_BYTE << 8 | dimensions
    if found != magic:
        raise ValueError(
            f"{path} starts with {found:#010x}; an idx file of unsigned bytes in {dimensions} "
            f"dimension(s) starts with {magic:#010x}"
        )
    size = prod(shape)
    announced = f"{' x '.join(map(str, shape))} bytes"
    if not 0 < size <= _LARGEST:
        raise ValueError(f"{path} announces {announced}: none, or too many")
    content = bytearray()  # grows as the bytes come: the file may be shorter than announced
    while len(content) <= size and (block := stream.read(min(_BLOCK, size + 1 - len(content)))):
        content += block
    if len(content) != size:
        more = "more" if len(content) > size else f"only {len(content)}"
        raise ValueError(f"{path} announces {announced}, but has {more}")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)
