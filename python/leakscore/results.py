"""Base classes of results, which compare by value and convert to plain data, JSON or bytes.

State as bytes is the same on every machine: a magic word, the kind, its version and the number of
arrays; of each array the dtype, the shape and the numbers, little-endian; and a digest of all that.
The digest shows damage. It is no signature: whoever reads checks what the numbers mean.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from leakscore.typing import Array

if TYPE_CHECKING:
    from typing_extensions import TypeVarTuple, Unpack

    Parts = TypeVarTuple("Parts")

__all__ = ["ByValue", "Drawn", "Result", "as_json", "pack", "unpack"]

_LONG = 10  # entries of an array that a repr shows
_MAGIC = b"leakscor"
_HEADER = struct.Struct("<8s8sHH")
_ARRAY = struct.Struct("<3sB")
_DTYPES = ("<f8", "<f4", "<i8", "<u4", "|u1")
_DIGEST = 16


class ByValue:
    """Mixin of dataclasses without an ``==`` of their own: equal if all of their fields are.

    Arrays are compared element by element, and NaN equals NaN in the same place. There is no hash
    if a field is an array, for its elements may change. ``repr`` gives the shape of long arrays.
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in cls.__dict__ and not hasattr(cls, "_stated_premise"):
            cls.__repr__ = ByValue._short  # type: ignore[assignment,method-assign]

    def _short(self) -> str:
        """Return the fields as text, with long arrays as their shapes."""
        shown = []
        for field in _fields(self):
            value = getattr(self, field.name)
            if field.repr and field.name != "assumptions":
                long = isinstance(value, np.ndarray) and value.size > _LONG
                text = f"<array {value.shape}>" if long else repr(value)
                shown.append(f"{field.name}={text}")
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def _values(self) -> dict[str, Any]:
        """Return the values that two equal objects of a class must share."""
        return {field.name: getattr(self, field.name) for field in _fields(self)}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ByValue) or type(other) is not type(self):
            return NotImplemented
        return _same(self._values(), other._values())

    def __hash__(self) -> int:
        values = self._values()
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                raise TypeError(
                    f"{type(self).__name__} has no hash: {name} is an array, which may change; "
                    "take to_json() as a key"
                )
        return hash(
            (type(self), *("nan" if _is_nan(value) else value for value in values.values()))
        )


class Result(ByValue):
    """Mixin of the frozen dataclasses that hold results, made with ``eq=False``."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain Python numbers, strings and (nested) lists."""
        # Keyword-only fields come last, as in a call.
        ordered = sorted(_fields(self), key=lambda field: field.kw_only is True)
        return {field.name: _plain(getattr(self, field.name)) for field in ordered}

    def to_json(self) -> str:
        """Return the fields as JSON; infinite numbers as "inf" and "-inf", NaN as null."""
        return json.dumps(as_json(self.to_dict()), allow_nan=False)


def _fields(value: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(value)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and value != value


def _same(first: Any, second: Any) -> bool:
    """Compare two fields of results by value."""
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        both = isinstance(first, np.ndarray) and isinstance(second, np.ndarray)
        return both and np.array_equal(
            first, second, equal_nan=first.dtype.kind == second.dtype.kind == "f"
        )
    if type(first) is type(second):
        if isinstance(first, (tuple, list)):
            return len(first) == len(second) and all(map(_same, first, second))
        if isinstance(first, dict):
            return first.keys() == second.keys() and all(_same(first[k], second[k]) for k in first)
        if dataclasses.is_dataclass(first) and not isinstance(first, ByValue):
            names = [field.name for field in _fields(first)]
            return all(_same(getattr(first, name), getattr(second, name)) for name in names)
    return (_is_nan(first) and _is_nan(second)) or bool(first == second)


def _plain(value: Any) -> Any:
    """Return plain data: numbers, texts and containers of them; other objects as their `repr`."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    plain = value is None or isinstance(value, (str, int, float, list, dict))
    return value if plain else repr(value)


def as_json(value: Any) -> Any:
    """Return plain data, arrays, results and other dataclasses as JSON-compatible data.

    Infinite numbers become "inf" and "-inf", NaN becomes None. Fields of dataclasses whose metadata
    say ``hidden`` are left out.
    """
    if hasattr(value, "to_dict"):
        return as_json(value.to_dict())
    if dataclasses.is_dataclass(value):
        shown = (field for field in _fields(value) if not field.metadata.get("hidden"))
        return {field.name: as_json(getattr(value, field.name)) for field in shown}
    if isinstance(value, dict):
        return {str(key): as_json(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(entry) for entry in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return as_json(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else str(value)
    return value


class Drawn(tuple["Unpack[Parts]"]):
    """A tuple of random draws; `seed`, passed as `rng`, repeats them.

    It is None where `rng` was a Generator or a BitGenerator, whose state moved on, or a
    SeedSequence that no int stands for: their owner has them.
    """

    seed: int | None

    def __new__(cls, parts: tuple[Unpack[Parts]], seed: int | None) -> Drawn[Unpack[Parts]]:
        """Store the parts and the seed."""
        drawn = super().__new__(cls, parts)
        drawn.seed = seed
        return drawn

    def __getnewargs__(self) -> tuple[tuple[Any, ...], int | None]:
        return tuple(self), self.seed


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
    """Return the arrays; refuse damaged bytes, or those of another kind or version."""
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
