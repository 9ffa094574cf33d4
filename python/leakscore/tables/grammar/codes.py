"""Numbers that may stand for a missing value: -999, 9999, 88 far from all other values."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

_CODE = re.compile(r"-?(?:9+|8+)(?:\.9+|\.8+|\.0+)?")
_MOST = 3  # such codes at one end of a column


def code_in(values: npt.NDArray[np.float64]) -> float | None:
    """Return a number that looks like a code for missing values, or None.

    Its digits are nines or eights, and its distance from all other values is larger than these are
    spread.
    """
    finite = values[np.isfinite(values)]
    if not finite.size or not (_is_code(float(finite.max())) or _is_code(float(finite.min()))):
        return None
    different = np.unique(finite)
    for ordered in (different[::-1], different):
        outer = 0
        while outer < min(_MOST, len(ordered) - 2) and _is_code(float(ordered[outer])):
            outer += 1
        for count in range(outer, 0, -1):
            rest = ordered[count:]
            spread = abs(float(rest[0] - rest[-1]))
            if abs(float(ordered[count - 1] - rest[0])) > spread > 0:
                return float(ordered[0])
    return None


def _is_code(value: float) -> bool:
    shown = repr(value)
    return _CODE.fullmatch(shown.removesuffix(".0")) is not None and abs(value) >= 9
