"""Numbers that may stand for a missing value: -999, 9999, 88 far from all other values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ends: TypeAlias = npt.NDArray[np.float64]

_CODE = re.compile(r"-?(?:9+|8+)(?:\.9+|\.8+|\.0+)?|-9{3,}\.25")  # -999.25 in logs of wells
_HUGE = 1e19  # fill values: 1e20, 9.97e36 of netCDF, the largest of float32 and float64
_LONG = 99
_MOST = 3  # such codes at one end of a column


def code_in(values: npt.NDArray[np.float64]) -> float | None:
    """Return a number that looks like a code for missing values, or None.

    Its digits are nines or eights, or it is huge, and its distance from all other values is larger
    than these are spread.
    """
    finite = values[np.isfinite(values)]
    ends = (float(finite.max()), float(finite.min())) if finite.size else ()
    if not any(map(might_be_code, ends)):
        return None
    return _code_among(np.unique(finite), lambda code, _: float((finite == code).mean()))


def code_at_end(ends: Sequence[npt.NDArray[np.float64]], mean: float) -> float | None:
    """Return a number that looks like a code, from the two ends of a column that is not kept.

    Parameters
    ----------
    ends : two (k,) ndarrays
        The smallest and the largest different values, increasing, as many as `ends_of` returns.
    mean : float
        Of the column.
    """
    if not len(ends[0]):
        return None
    return _code_among(np.union1d(*ends), lambda code, other: (mean - other) / (code - other))


def ends_of(values: npt.NDArray[np.float64]) -> tuple[Ends, Ends]:
    """Return the values that `code_at_end` needs: codes at either end, and what is beside them."""
    found: list[Ends] = []
    for sign in (1.0, -1.0):
        left = sign * values
        taken: list[float] = []
        while len(left) and len(taken) <= _MOST:
            taken.append(float(left.min()))
            if not might_be_code(sign * taken[-1]):
                break
            left = left[left > taken[-1]]
        found.append(np.sort(sign * np.array(taken)))
    return found[0], found[1]


def _code_among(
    different: npt.NDArray[np.float64], share: Callable[[float, float], float]
) -> float | None:
    """Look for a code among different values; `share` tells how frequent one of only two is."""
    for ordered in (different[::-1], different):
        outer = 0
        while outer < min(_MOST, len(ordered) - 1) and might_be_code(float(ordered[outer])):
            outer += 1
        for count in range(outer, 0, -1):
            rest = ordered[count:]
            spread = abs(float(rest[0] - rest[-1]))
            code = float(ordered[0])
            with np.errstate(over="ignore"):
                distance = abs(float(ordered[count - 1] - rest[0]))
            if distance > spread > 0 or (spread == 0 and _stands_alone(share, code, rest[0])):
                return code
    return None


def _stands_alone(share: Callable[[float, float], float], code: float, other: float) -> bool:
    """Whether a code of three digits, less frequent than the only other value, is far from it."""
    rare = 2 * share(code, other) < 1
    return rare and abs(code) >= _LONG and abs(code - other) > 10 * abs(other)


def might_be_code(value: float) -> bool:
    """Tell whether the digits of a number are nines or eights, or it is huge."""
    if abs(value) >= _HUGE:
        return True
    shown = repr(float(value))  # a scalar of numpy 2 is shown with its type
    return _CODE.fullmatch(shown.removesuffix(".0")) is not None and abs(value) >= 9
