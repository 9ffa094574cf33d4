"""The result of a method of `Audit.epsilon`."""

from __future__ import annotations

from typing import NamedTuple

from leakscore.typing import Counts, Doubles, Flags


class Found(NamedTuple):
    """One entry per delta; the algorithm and the sizes are common to all."""

    epsilon: Doubles
    threshold: Doubles
    forward: Flags
    false_positives: Counts
    false_negatives: Counts
    fpr_upper: Doubles
    fnr_upper: Doubles
    max_certifiable: Doubles
    algorithm: str
    flags_low: Flags  # whether the test flags score < threshold
    counted: tuple[int, int]  # non-members and members among which errors were counted
