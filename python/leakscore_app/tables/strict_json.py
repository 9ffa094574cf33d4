"""JSON from others: duplicate keys, odd numbers and too deep nesting are refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore_app.tables.files import File

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


def array_of(file: File, name: str, value: Any) -> npt.NDArray[Any]:
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
