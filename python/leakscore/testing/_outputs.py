"""What a mechanism returns, as rows of numbers."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from leakscore._types import Doubles

MISSING = -1e6
_MOST = 10_000  # numbers of one output

Mechanism = Callable[[Any, np.random.Generator], object]


def played(mechanism: Mechanism, data: Any, rng: np.random.Generator) -> list[float]:
    """Return one output as numbers; an exception is an output too."""
    try:
        answer = mechanism(data, rng)
    except Exception as error:
        return [-1.0, _hashed(f"{type(error).__name__}: {error}")]
    parts: list[float] = []
    try:
        _flatten(answer, parts)
    except RecursionError:
        raise ValueError(
            "Expected mechanism to return no output that is so deeply nested"
        ) from None
    return [float(len(parts)), *parts]


def table(outputs: list[list[float]]) -> Doubles:
    """Return one row for each output: its length first, then its numbers, then MISSING."""
    width = max(map(len, outputs))
    rows = np.full((len(outputs), width), MISSING)
    for row, output in zip(rows, outputs, strict=True):
        row[: len(output)] = output
    return rows


def _flatten(value: object, parts: list[float]) -> None:
    """Append the numbers of an output, depth first; what is no number by a hash."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        _require_few(len(parts) + value.size)
        # What a mask hides is no output.
        numbers = np.ma.filled(value.astype(np.float64), np.nan).ravel()
        _append(parts, np.nan_to_num(numbers, nan=MISSING, posinf=1e300, neginf=-1e300).tolist())
    elif isinstance(value, np.ndarray):
        _flatten(value.tolist(), parts)
    elif isinstance(value, (bool, int, float, np.number, np.bool_)):
        _append(parts, [_number(value)])
    elif value is None:
        _append(parts, [MISSING])
    elif isinstance(value, (list, tuple)):
        for part in value:
            _flatten(part, parts)
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            _flatten(key, parts)
            _flatten(value[key], parts)
    elif isinstance(value, (str, bytes)):
        _append(parts, [_hashed(value if isinstance(value, str) else value.decode("latin-1"))])
    else:
        raise TypeError(
            f"Expected mechanism to return numbers, strings, None, arrays, tuples, lists or dicts "
            f"of them, not {type(value).__name__}"
        )


def _append(parts: list[float], numbers: list[float]) -> None:
    parts.extend(numbers)
    _require_few(len(parts))


def _require_few(count: int) -> None:
    if count > _MOST:
        raise ValueError(
            f"Expected mechanism to return at most {_MOST} numbers in one output: test a part of "
            "it, or what is computed from it"
        )


def _number(value: Any) -> float:
    if np.iscomplexobj(value):
        raise TypeError("Expected mechanism to return real numbers, not complex ones")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if math.isnan(number):
        return MISSING
    return min(max(number, -1e300), 1e300)


def _hashed(text: str) -> float:
    """Return a number in [0, 1) that depends on the text only."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return int.from_bytes(digest, "little") / 2.0**48
