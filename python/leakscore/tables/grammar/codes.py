"""Numbers that may stand for a missing value: -999, 9999, 88 far from all other values."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

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
    if not finite.size or not (_is_code(float(finite.max())) or _is_code(float(finite.min()))):
        return None
    different = np.unique(finite)
    for ordered in (different[::-1], different):
        outer = 0
        while outer < min(_MOST, len(ordered) - 1) and _is_code(float(ordered[outer])):
            outer += 1
        for count in range(outer, 0, -1):
            rest = ordered[count:]
            spread = abs(float(rest[0] - rest[-1]))
            code = float(ordered[0])
            with np.errstate(over="ignore"):
                distance = abs(float(ordered[count - 1] - rest[0]))
            if distance > spread > 0 or (spread == 0 and _stands_alone(finite, code, rest[0])):
                return code
    return None


def _stands_alone(finite: npt.NDArray[np.float64], code: float, other: float) -> bool:
    """Whether a code of three digits, less frequent than the only other value, is far from it."""
    rare = 2 * int((finite == code).sum()) < finite.size
    return rare and abs(code) >= _LONG and abs(code - other) > 10 * abs(other)


def _is_code(value: float) -> bool:
    if abs(value) >= _HUGE:
        return True
    shown = repr(value)
    return _CODE.fullmatch(shown.removesuffix(".0")) is not None and abs(value) >= 9
