"""The result of a method of `Audit.epsilon`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leakscore._types import Doubles


class Found(NamedTuple):
    """One entry per delta; the algorithm and the sizes are common to all."""

    epsilon: Doubles
    threshold: Doubles
    forward: npt.NDArray[np.bool_]
    false_positives: npt.NDArray[np.int64]
    false_negatives: npt.NDArray[np.int64]
    fpr_upper: Doubles
    fnr_upper: Doubles
    max_certifiable: Doubles
    algorithm: str
    flags_low: npt.NDArray[np.bool_]  # whether the test flags score < threshold
    counted: tuple[int, int]  # non-members and members among which errors were counted
