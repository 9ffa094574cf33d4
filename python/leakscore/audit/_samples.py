"""The scores of an audit, sorted once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import _core, _validate
from leakscore._validate import Array, Doubles
from leakscore.audit._bands import Band
from leakscore.audit._frontier import Frontier, frontier

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

    @property
    def n_members(self) -> int:
        """Number of member scores."""
        return self.members.size

    @property
    def n_nonmembers(self) -> int:
        """Number of non-member scores."""
        return self.nonmembers.size

    def swapped(self) -> Scores:
        """Return the same scores with the classes swapped; nothing is copied."""
        other = object.__new__(Scores)
        other.members, other.nonmembers = self.nonmembers, self.members
        return other

    def next_above(self, thresholds: Doubles) -> Doubles:
        """Return the lowest observed score above each threshold, inf if there is none."""
        found = np.full(thresholds.shape, np.inf)
        for scores in (self.members, self.nonmembers):
            places = np.searchsorted(scores, thresholds.astype(scores.dtype), side="right")
            inside = places < scores.size
            found[inside] = np.minimum(found[inside], scores[places[inside]])
        return found + 0.0  # -0.0 becomes 0.0

    def frontier(self, fpr_band: Band, fnr_band: Band) -> Frontier:
        """Return the thresholds that can be best for any objective that falls with both bounds."""
        return frontier(self.nonmembers, self.members, fpr_band, fnr_band)

    def epsilon(self, fpr_band: Band, fnr_band: Band, deltas: Doubles) -> tuple[Array, ...]:
        """Return the best threshold for each delta and what it certifies, as columns.

        (epsilon, threshold, forward, false_positives, false_negatives, fpr_upper, fnr_upper,
        max_certifiable)
        """
        return _core.score_epsilon(
            self.nonmembers, self.members, deltas, fpr_band.core, fnr_band.core
        )


class Sampled:
    """What every part of an audit sees of its scores."""

    __slots__ = ("_samples",)

    _samples: Scores

    @property
    def n_members(self) -> int:
        """Number of member scores."""
        return self._samples.n_members

    @property
    def n_nonmembers(self) -> int:
        """Number of non-member scores."""
        return self._samples.n_nonmembers


def _sorted(name: str, scores: Array, dtype: np.dtype[Any]) -> Array:
    """Sort a copy of the scores; it is contiguous, in native byte order and read-only."""
    array = np.array(scores, dtype=dtype)
    array.sort()
    if np.isnan(array[-1]):  # NaN is sorted last
        raise ValueError(f"Expected {name} without NaN")
    array.flags.writeable = False
    return array
