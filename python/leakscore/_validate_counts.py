"""Validation of counts and histograms; `_validate` has that of all other arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from leakscore import validation
from leakscore.typing import Counts, Doubles

Beyond: TypeAlias = tuple[int, int] | tuple[()]


def edges(name: str, value: object) -> Doubles:
    """Edges of bins: at least two, ascending; the first and the last may be infinite."""
    array = np.array(validation.real_array(name, value), dtype=np.float64)
    if array.ndim != 1 or array.size < 2:
        raise ValueError(f"{name} of shape {array.shape} must be 1-D, two edges at least")
    rising = array[1:] > array[:-1]
    if not rising.all():
        index = int(np.argmin(rising))
        pair = f"{float(array[index])!r}, {float(array[index + 1])!r}"
        raise ValueError(f"{name} must ascend, not {name}[{index}:{index + 2}]={pair}")
    array.flags.writeable = False
    return array


def complete(bounds: Doubles, below: object, above: object) -> tuple[Doubles, Beyond, Beyond]:
    """Edges from -inf to inf, and the members and non-members of the bins that were added.

    Counts on a part of the line are counts given that a score lies there. They belong to
    conditional laws, whose epsilon may be twice that of the mechanism.
    """
    first, last = float(bounds[0]), float(bounds[-1])
    lower = _beyond("below", below, first == -np.inf)
    upper = _beyond("above", above, last == np.inf)
    sides = (("below", lower, first == -np.inf), ("above", upper, last == np.inf))
    missing = [name for name, pair, infinite in sides if not pair and not infinite]
    if missing:
        pairs = " and ".join(f"{name}=(members, nonmembers)" for name in missing)
        raise ValueError(
            f"edges must go from -inf to inf, not from {first!r} to {last!r}: numpy.histogram "
            "drops the scores outside, and what is left certifies nothing. Count between "
            f"np.concatenate([[-np.inf], edges, [np.inf]]), or give the numbers outside as {pairs}"
        )
    every = np.concatenate([[-np.inf] * bool(lower), bounds, [np.inf] * bool(upper)])
    every.flags.writeable = False
    return every, lower, upper


def _beyond(name: str, value: object, infinite: bool) -> Beyond:
    """Members and non-members beyond the finite edges on one side; none if not given."""
    if value is None:
        return ()
    array = whole(name, value, 0)
    if array.shape != (2,):
        raise ValueError(f"{name} of shape {array.shape} must be (members, nonmembers)")
    pair = int(array[0]), int(array[1])
    if infinite:
        raise ValueError(f"{name}={pair} must not be given: no score lies {name} an infinite edge")
    return pair


def histogram(
    name: str, value: object, size: int, below: Sequence[int] = (), above: Sequence[int] = ()
) -> Counts:
    """Whole counts of `size` bins and of those below and above.

    Not all are 0, and their sum is at most 2**53, which float64 counts to.
    """
    array = whole(name, value, 0)
    validation.require_size(name, array, size)
    array = np.concatenate([below, array, above])
    total = int(array.sum())  # rounded beyond 2^53, where the sum of integers might overflow
    if total <= 2**53:
        total = int(array.astype(np.int64).sum())
    if not 0 < total <= 2**53:
        raise ValueError(f"{name} must have a sum in [1, 2**53], not {total}")
    return array.astype(np.int64)


def whole(name: str, value: object, low: int, *, why: str = "") -> Doubles:
    """An array of whole numbers of any shape, from `low` to 2**53, which float64 counts to."""
    array = validation.real_array(name, value)
    if array.dtype.kind == "b":
        raise TypeError(f"{name} must hold numbers, not dtype {array.dtype}")
    if array.dtype.kind not in "iu":
        array = array.astype(np.float64)
    inside = (array >= low) & (array <= 2**53) & (np.floor(array) == array)
    if not inside.all():
        bad = array.flat[int(np.argmin(inside))].item()
        raise ValueError(f"{name}={bad!r} must be a whole number in [{low}, 2**53]{why}")
    return array.astype(np.float64)


def sampled(name: str, rate: float, n: int, low: int = 1) -> int:
    """Return how many of n records a rate samples, a whole number; name the nearest such rates."""
    count = round(rate * n)
    # The rounding of a rate such as 1 - 0.9 is accepted, a fraction of a record is not.
    slack = max(min(1e-12 * n, 1e-3), 2.3e-16 * rate * n)
    if count < low or abs(rate * n - count) > slack:
        below = max(low, int(rate * n))
        rates = f"{below / n!r} and {(below + 1) / n!r}"
        raise ValueError(
            f"{name}={rate} must average a whole number of the n={n} records, at least "
            f"{low}; the nearest such rates are {rates}"
        )
    return count
