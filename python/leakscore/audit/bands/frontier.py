"""The thresholds of two sorted score arrays that can be optimal for some objective."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leakscore import _core
from leakscore.audit.bands.uniform import Band
from leakscore.typing import Array, Counts, Doubles


class Frontier(NamedTuple):
    """Thresholds, ascending, that no other beats in both upper bounds.

    Any objective that falls with both bounds is largest at one of them. A threshold flags
    ``score > threshold``; an entry is an observed score or -inf.
    """

    threshold: Doubles
    false_positives: Counts
    false_negatives: Counts
    fpr_upper: Doubles
    fnr_upper: Doubles


def frontier(nonmembers: Array, members: Array, fpr_band: Band, fnr_band: Band) -> Frontier:
    """Return the frontier; the arrays are sorted, of one dtype and not empty."""
    if fpr_band.knots.size and fnr_band.knots.size:
        columns = _core.score_frontier(nonmembers, members, fpr_band.core, fnr_band.core)
        return Frontier(*columns)
    return _below_members(nonmembers, members, fpr_band, fnr_band)


def _below_members(nonmembers: Array, members: Array, fpr_band: Band, fnr_band: Band) -> Frontier:
    """A threshold just below a member's score flags the fewest non-members for its missed members.

    Among members between the same two non-members only the first is a candidate, and nothing lies
    below -inf. The last candidate flags none.
    """
    lowest = int(np.searchsorted(members, -np.inf, side="right"))
    ranks = np.append(np.searchsorted(nonmembers, members[lowest:]), nonmembers.size)
    first = np.flatnonzero(np.diff(ranks, prepend=-1))
    ranks, missed = ranks[first], first + lowest
    threshold = np.maximum(
        np.where(ranks > 0, nonmembers[ranks - 1], -np.inf),
        np.where(missed > 0, members[missed - 1], -np.inf),
    )
    flagged = nonmembers.size - ranks
    rates = fpr_band(flagged), fnr_band(missed)
    return Frontier(threshold.astype(np.float64) + 0.0, flagged, missed, *rates)  # no -0.0
