"""Operating points of an audit: what its thresholds flag, in counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leakscore.typing import Array, Doubles


@dataclass(frozen=True)
class Flagged:
    """How many scores of one class descending thresholds flag; the last flags all.

    Each threshold stands for all thresholds from itself up to, but excluding, the one before it.
    They flag between `least` and `counts` scores: the same number unless thresholds were left out.
    """

    least: Array
    counts: Array

    @classmethod
    def from_above(cls, above: Array, at_or_above: Array, n: int) -> Flagged:
        """Take the scores above, and at or above, each threshold but the last."""
        return cls(np.append(0, at_or_above), np.append(above, n))


@dataclass(frozen=True)
class Points:
    """Thresholds, descending, and what they flag of each class; the last flags everyone."""

    thresholds: Doubles
    nonmembers: Flagged
    members: Flagged


def spread_ranks(n: int, count: int) -> Array:
    """Return about `count` of the ranks 0 to n - 1, at equal distances in standard errors.

    The count of scores above a threshold that has k on average has a standard deviation of
    sqrt(k (n - k) / n); ranks ``n sin(t)^2`` with equal steps of t are equally many of these
    deviations apart.
    """
    steps = np.arange(count) * (math.pi / (2 * count))
    return np.unique(np.append((n * np.sin(steps) ** 2).astype(np.int64), n - 1))
