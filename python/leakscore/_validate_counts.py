"""What counts and histograms may be; `_validate` has all else that users pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import _validate
from leakscore._validate import Doubles

__all__ = ["edges", "histogram", "sampled", "whole"]


def edges(name: str, value: object) -> Doubles:
    """Edges of bins: at least two, ascending, the first and the last perhaps infinite."""
    array = np.array(_validate.real_array(name, value), dtype=np.float64)
    if array.ndim != 1 or array.size < 2:
        raise ValueError(f"Expected {name} of shape {array.shape} to be 1-D, two edges at least")
    rising = array[1:] > array[:-1]
    if not rising.all():
        index = int(np.argmin(rising))
        pair = f"{float(array[index])!r}, {float(array[index + 1])!r}"
        raise ValueError(f"Expected {name} to ascend, not {name}[{index}:{index + 2}]={pair}")
    array.flags.writeable = False
    return array


def histogram(name: str, value: object, size: int) -> npt.NDArray[np.int64]:
    """Whole counts of `size` bins, not all 0, together at most what float64 counts to."""
    array = whole(name, value, 0)
    if array.shape != (size,):
        raise ValueError(f"Expected {name} of shape {array.shape} to be ({size},)")
    total = int(array.sum())  # rounded beyond 2^53, where the sum of integers might overflow
    if total <= 2**53:
        total = int(array.astype(np.int64).sum())
    if not 0 < total <= 2**53:
        raise ValueError(f"Expected {name} with a sum of {total} in [1, 2**53]")
    return array.astype(np.int64)


def whole(name: str, value: object, low: int, *, why: str = "") -> Doubles:
    """An array of whole numbers of any shape, from `low` to the last that float64 counts to."""
    array = _validate.real_array(name, value)
    if array.dtype.kind == "b":
        raise TypeError(f"Expected {name} to hold numbers, not dtype {array.dtype}")
    if array.dtype.kind not in "iu":
        array = array.astype(np.float64)
    inside = (array >= low) & (array <= 2**53) & (np.floor(array) == array)
    if not inside.all():
        bad = array.flat[int(np.argmin(inside))].item()
        raise ValueError(f"Expected {name}={bad!r} to be a whole number in [{low}, 2**53]{why}")
    return array.astype(np.float64)


def sampled(name: str, rate: float, n: int, low: int = 1) -> int:
    """Return how many of n records a rate samples, a whole number; names the nearest such rates."""
    count = round(rate * n)
    # Rounding of a rate such as 1 - 0.9 is let pass, never a fraction of a record.
    slack = max(min(1e-12 * n, 1e-3), 2.3e-16 * rate * n)
    if count < low or abs(rate * n - count) > slack:
        below = max(low, int(rate * n))
        rates = f"{below / n!r} and {(below + 1) / n!r}"
        raise ValueError(
            f"Expected {name}={rate} to average a whole number of the n={n} records, at least "
            f"{low}; the nearest such rates are {rates}"
        )
    return count
