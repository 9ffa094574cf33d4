"""How a good file is made a bad one: bytes, pieces, numbers and headers."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable

import numpy as np

_TOKENS = (
    b"",
    b'""',
    b'"',
    b"\0",
    b"\n",
    b"\r",
    b",,,,,,,,",
    b"nan",
    b"NaN",
    b"-Infinity",
    b"inf",
    b"1e400",
    b"-1",
    b"1_000",
    b"9" * 31,
    b"9" * 5000,
    b"[" * 5000,
    b'{"a":' * 3000,
    b"null",
    b"true",
    b'"score": [1], ',
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xff" * 8,
    b"\x7f" + b"\xff" * 7,
    b"\0" * 64,
    b"\xe2\x80\xae\x1b[2J",
    b"PAR1",
    b"PK\x01\x02",
    b"\x93NUMPY",
    b"1e308",
    b"5e-324",
)
_SHAPES = (
    "()",
    "(0,)",
    "(-1,)",
    "(24, 0)",
    "(0, 1000000000)",
    "(1000000000000, 0)",
    "(4611686018427387904,)",
    "(4294967296, 4294967296)",
    f"({'9' * 25},)",
    "(True,)",
    "(2.0,)",
    "[24]",
    "((24,),)",
    f"({'1, ' * 70})",
    "(2**3,)",
    "(" * 300 + ")" * 300,
)
_TYPES = (
    "'|O'",
    "'<f16'",
    "'<f2'",
    "'<c16'",
    "'<M8[s]'",
    "'|V0'",
    "'<U0'",
    "'<U1000000000'",
    "'|S2000000000'",
    "'|b1'",
    "'<U2'",
    "'nonsense'",
    "'f8,O'",
    "1",
    "[]",
    "[('a', '<f8'), ('a', '<f8')]",
    "[('', '<f8')]",
    "[('score', '<f8', (1000000, 1000000))]",
    "[('score', [('x', '|O')])]",
    "{'names': ['a'], 'formats': ['O']}",
    "__import__('os')",
    "[" * 50 + "]" * 50,
)


def mutated(rng: np.random.Generator, data: bytes, others: list[bytes]) -> bytes:
    """Return the bytes of a file after one change, or a few; arrays mostly in their headers."""
    arrays = data.startswith((b"PK", b"\x93NUMPY"))
    for _ in range(int(rng.geometric(0.6))):
        change = _CHANGES[int(rng.integers(len(_CHANGES)))]
        change = _header if arrays and rng.random() < 0.5 else change
        data = change(rng, data, others)
    return data


def _place(rng: np.random.Generator, data: bytes) -> int:
    """Pick a place; the ends of a file, where formats keep their headers, more often."""
    size = len(data)
    near = int(rng.integers(64))
    where = (int(rng.integers(size + 1)), min(near, size), max(size - near, 0))
    return where[int(rng.integers(3))]


def _flip(rng: np.random.Generator, data: bytes, others: list[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(int(rng.geometric(0.5))):
        if changed:
            changed[min(_place(rng, data), len(changed) - 1)] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _overwrite(rng: np.random.Generator, data: bytes, others: list[bytes]) -> bytes:
    at = _place(rng, data)
    junk = rng.bytes(int(rng.integers(1, 9)))
    return data[:at] + junk + data[at + len(junk) :]


def _truncate(rng: np.random.Generator, data: bytes, others: list[bytes]) -> bytes:
    return data[: _place(rng, data)]


def _cut(rng: np.random.Generator, data: bytes, others: list[bytes]) -> bytes:
    start, end = sorted((_place(rng, data), _place(rng, data)))
    return data[:start] + data[end:]


def _repeat(rng: np.random.Generator, data: bytes, others: list[bytes]) -> bytes:
    start, end = sorted((_place(rng, data), _place(rng, data)))
    return data[:end] + data[start:end] * int(rng.integers(1, 4)) + data[end:]


def _splice(rng: np.random.Generator, data: bytes, others: list[bytes]) -> bytes:
    other = others[int(rng.integers(len(others)))]
    return data[: _place(rng, data)] + other[_place(rng, other) :]


def _token(rng: np.random.Generator, data: bytes, others: list[bytes]) -> bytes:
    at = _place(rng, data)
    return data[:at] + _TOKENS[int(rng.integers(len(_TOKENS)))] + data[at:]


def _value(rng: np.random.Generator, data: bytes, others: list[bytes]) -> bytes:
    """Put something else in the place of a number or a word of a text."""
    values = list(re.finditer(rb"[\w.+-]+", data[:100_000]))
    if not values:
        return data
    match = values[int(rng.integers(len(values)))]
    return data[: match.start()] + _TOKENS[int(rng.integers(len(_TOKENS)))] + data[match.end() :]


def _header(rng: np.random.Generator, data: bytes, others: list[bytes]) -> bytes:
    """Edit the header of an npy array, of one in an archive too, whose sums stay right."""
    if data.startswith(b"PK"):
        return _in_archive(rng, data)
    found = re.match(rb"\x93NUMPY\x01\0..({.*?})\s*\n", data, re.DOTALL)
    if found is None:
        return data
    header, body = found[1].decode("latin-1"), data[found.end() :]
    kind = int(rng.integers(4))
    if kind == 0:
        header = re.sub(
            r"\([^()]*\), }$", f"{_SHAPES[int(rng.integers(len(_SHAPES)))]}, }}", header
        )
    elif kind == 1:
        name = _TYPES[int(rng.integers(len(_TYPES)))]
        header = re.sub(r"'descr': .*, 'fortran", lambda _: f"'descr': {name}, 'fortran", header)
    elif kind == 2:
        header = header.replace("'shape'", "'shape': (3,), 'shape'")
    else:
        header = header[: int(rng.integers(len(header)))] + "-" * int(rng.integers(9000))
    version = int(rng.integers(1, 4))
    length = len(header) + 1
    size = length.to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + header.encode("latin-1") + b"\n" + body


def _in_archive(rng: np.random.Generator, data: bytes) -> bytes:
    """Write an archive again with one of its arrays changed."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # it is damaged already
        return data
    if not entries:
        return data
    names = list(entries)
    chosen = names[int(rng.integers(len(names)))]
    change = (_header, _flip, _truncate, _token)[int(rng.integers(4))]
    if not entries[chosen].startswith(b"PK"):
        entries[chosen] = change(rng, entries[chosen], [])
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return written.getvalue()


_CHANGES: tuple[Callable[[np.random.Generator, bytes, list[bytes]], bytes], ...] = (
    _flip,
    _overwrite,
    _truncate,
    _cut,
    _repeat,
    _splice,
    _token,
    _value,
    _header,
)
