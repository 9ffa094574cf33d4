"""What is published of samples of a table's records, where it follows from sums over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles


@dataclass(frozen=True, eq=False)
class SampleSums:
    """Numbers that are no sums over the records, but follow from some.

    Attributes
    ----------
    summands : (N, p) ndarray
        Of all records.
    leverages : (N,) ndarray
        By what share each record narrows the spread of the numbers by being there.
    moves : callable
        By how much the numbers differ from those of all records, (R, D), from sums (R, p).
    """

    summands: Doubles
    leverages: Doubles
    moves: Callable[[Doubles], Doubles]

    @property
    def width(self) -> int:
        """How many numbers of each record a sample adds up."""
        return int(self.summands.shape[1])

    def refitted(self, weights: npt.ArrayLike) -> Doubles:
        """Return by how much the numbers differ, (R, D), for samples of weights (R, N).

        Rows of NaN are samples of which there are no such numbers.
        """
        return self.moves(np.asarray(weights, dtype=np.float64) @ self.summands)
