"""Which attack is the most promising, and what it sees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaln

from leakscore.typing import Doubles, Flags


class Event(NamedTuple):
    """A group of extreme scores, and how much a bet on it would have won."""

    log_wealth: float
    highest: bool
    threshold: float


def best_event(scores: Doubles, member: Flags, epsilons: Doubles) -> Event:
    """Return the group of the highest or lowest scores that speaks most against a claim.

    The bet on a group learns its share as Krichevsky and Trofimov do; the claim allows q. Of a
    curve's tangents the best counts, less the logarithm of their number.
    """
    ordered = np.sort(scores)
    ranks = np.unique(np.rint(2.0 ** (np.arange(60) / 2.0)))
    ranks = ranks[ranks <= max(scores.size // 2, 1)].astype(np.intp)
    found = []
    for highest in (True, False):
        thresholds = np.unique(ordered[-ranks] if highest else ordered[ranks - 1])
        for threshold in thresholds.tolist():
            inside = scores >= threshold if highest else scores <= threshold
            size = int(inside.sum())
            right = int((member[inside] == highest).sum())
            found.append(Event(_log_wealth(right, size, epsilons), highest, threshold))
    return max(found, key=lambda event: event.log_wealth)


def _log_wealth(right: int, size: int, epsilons: Doubles) -> float:
    log_q = -np.log1p(np.exp(-epsilons))
    odds = np.log(right + 0.5) - np.log(size - right + 0.5)
    learned = betaln(right + 0.5, size - right + 0.5) - betaln(0.5, 0.5)
    allowed = right * log_q + (size - right) * (log_q - epsilons)
    # A share within the claim wins nothing; the closer to its end, the better.
    wins = np.where(odds > epsilons, learned - allowed, np.minimum(odds - epsilons, 0.0) - 50.0)
    return float(np.max(wins) - np.log(epsilons.size))
