"""The scores of an audit, sorted once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import _validate
from leakscore._validate import Array

__all__ = ["Sampled", "Scores"]


class Scores:
    """Member and non-member scores, each ascending, of one dtype and read-only."""

    __slots__ = ("members", "nonmembers")

    def __init__(self, members: npt.ArrayLike, nonmembers: npt.ArrayLike) -> None:
        inside = _validate.sample("members", members)
        outside = _validate.sample("nonmembers", nonmembers)
        dtype = np.result_type(inside.dtype, outside.dtype, np.float32)
        self.members = _sorted("members", inside, dtype)
        self.nonmembers = _sorted("nonmembers", outside, dtype)


class Sampled:
    """What every part of an audit sees of its scores."""

    __slots__ = ("_samples",)

    _samples: Scores

    @property
    def n_members(self) -> int:
        """Number of member scores."""
        return self._samples.members.size

    @property
    def n_nonmembers(self) -> int:
        """Number of non-member scores."""
        return self._samples.nonmembers.size


def _sorted(name: str, scores: Array, dtype: np.dtype[Any]) -> Array:
    """Sort a copy of the scores; it is contiguous, in native byte order and read-only."""
    array = np.array(scores, dtype=dtype)
    array.sort()
    if np.isnan(array[-1]):  # NaN is sorted last
        raise ValueError(f"Expected {name} without NaN")
    array.flags.writeable = False
    return array
