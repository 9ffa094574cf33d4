"""What a mechanism returns, as rows of numbers."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from leakscore.typing import Doubles

MISSING = -1e6
RAISED = -1.0  # in the place of how many numbers an output has
_NEGATIVE_ZERO = -5e-324  # as numbers the two zeros are equal, but not to who reads them
_MOST = 10_000  # numbers of one output
_HARDLY = 0.9  # of the rounds without an output

Mechanism = Callable[[Any, np.random.Generator], object]


@dataclass
class Failures:
    """Rounds without an output: how many, and what the first that raised raised."""

    rounds: int = 0
    raised: int = 0
    first: Exception | None = None

    def told(self, rounds: int) -> str:
        """Return what a check that found nothing says of them; refuse one without any output."""
        raised = f"{self.raised} raised"
        if self.first is not None:
            raised += f", the first {type(self.first).__name__}: {self.first}"
        if self.rounds == rounds:
            raise ValueError(
                f"Expected mechanism(data, rng) to return an output, but none of {rounds} rounds "
                f"did: {raised}. Nothing was tested"
            ) from self.first
        if self.rounds > _HARDLY * rounds:
            warnings.warn(
                f"Only {rounds - self.rounds} of {rounds} rounds returned an output, {raised}: "
                "hardly anything was tested",
                stacklevel=3,
            )
        return f"; of these {raised}" if self.raised else ""


def played(
    mechanism: Mechanism, data: Any, rng: np.random.Generator, failures: Failures
) -> list[float]:
    """Return one output as numbers: how many there are, its form, and themselves.

    An exception is an output too.
    """
    try:
        answer = mechanism(data, rng)
    except Exception as error:
        failures.rounds += 1
        failures.raised += 1
        failures.first = failures.first or error
        return [RAISED, 0.0, _hashed(f"{type(error).__name__}: {error}")]
    parts: list[float] = []
    form: list[str] = []
    try:
        _flatten(answer, parts, form)
    except RecursionError:
        raise ValueError(
            "Expected mechanism to return no output that is so deeply nested"
        ) from None
    if answer is None or not parts:
        failures.rounds += 1
    return [float(len(parts)), _form("".join(form)), *parts]


def table(outputs: list[list[float]]) -> Doubles:
    """Return one row for each output: length, form, its numbers, then MISSING."""
    width = max(map(len, outputs))
    rows = np.full((len(outputs), width), MISSING)
    for row, output in zip(rows, outputs, strict=True):
        row[: len(output)] = output
    return rows


def _flatten(value: object, parts: list[float], form: list[str]) -> None:
    """Append the numbers of an output, depth first, what is no number by a hash; and its types."""
    if type(value) is float:  # most outputs
        form.append("f")
        _append(parts, [_number(value)])
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        _flatten_array(value, parts, form)
    elif isinstance(value, np.ndarray):
        _flatten(value.tolist(), parts, form)
    elif isinstance(value, (bool, int, float, np.number, np.bool_)):
        form.append(f"{type(value).__name__},")
        _append(parts, _exact(value))
    elif value is None:
        form.append("-")
        _append(parts, [MISSING])
    elif isinstance(value, (list, tuple)):
        form.append("[" if isinstance(value, list) else "(")
        for part in value:
            _flatten(part, parts, form)
        form.append("]")
    elif isinstance(value, dict):
        form.append("{")
        for key in sorted(value, key=str):
            _flatten(key, parts, form)
            _flatten(value[key], parts, form)
        form.append("}")
    elif isinstance(value, (str, bytes)):
        form.append("s" if isinstance(value, str) else "b")
        _append(parts, [_hashed(value if isinstance(value, str) else value.decode("latin-1"))])
    else:
        raise TypeError(
            f"Expected mechanism to return numbers, strings, None, arrays, tuples, lists or dicts "
            f"of them, not {type(value).__name__}"
        )


def _flatten_array(array: np.ndarray, parts: list[float], form: list[str]) -> None:
    """Append an array of real numbers, with its shape."""
    _require_few(len(parts) + array.size)
    form.append(f"{array.dtype.str}{array.shape}")
    # What a mask hides is no output.
    if array.dtype.kind in "iu" and array.size:
        whole = np.ma.filled(array, 0)
        if _beyond(int(whole.min()), int(whole.max())):
            for number in whole.ravel().tolist():
                _append(parts, _exact(number))
            return
    numbers = np.ma.filled(array.astype(np.float64), np.nan).ravel()
    numbers[(numbers == 0.0) & np.signbit(numbers)] = _NEGATIVE_ZERO
    _append(parts, np.nan_to_num(numbers, nan=MISSING, posinf=1e300, neginf=-1e300).tolist())


def _beyond(low: int, high: int) -> bool:
    return low < -(2**53) or high > 2**53


def _exact(value: Any) -> list[float]:
    """Return a number; of an integer that a float cannot hold also what is left of it."""
    if isinstance(value, (int, np.integer)) and _beyond(int(value), int(value)):
        near = _number(value)
        return [near, _number(int(value) - int(near))]
    return [_number(value)]


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
    if number == 0.0:
        return _NEGATIVE_ZERO if math.copysign(1.0, number) < 0.0 else 0.0
    return min(max(number, -1e300), 1e300)


@lru_cache(maxsize=256)
def _form(types: str) -> float:
    """Return a number that depends on the types and the nesting of an output."""
    return _hashed(types)


def _hashed(text: str) -> float:
    """Return a number in [0, 1) that depends on the text only."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return int.from_bytes(digest, "little") / 2.0**48
