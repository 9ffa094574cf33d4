"""What histograms may be; `_validate` has all else that users pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import _validate
from leakscore._validate import Doubles

__all__ = ["edges", "histogram"]


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
    array = _validate.whole(name, value, 0)
    if array.shape != (size,):
        raise ValueError(f"Expected {name} of shape {array.shape} to be ({size},)")
    total = int(array.sum())  # rounded beyond 2^53, where the sum of integers might overflow
    if total <= 2**53:
        total = int(array.astype(np.int64).sum())
    if not 0 < total <= 2**53:
        raise ValueError(f"Expected {name} with a sum of {total} in [1, 2**53]")
    return array.astype(np.int64)
