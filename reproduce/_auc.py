"""Areas under ROC curves of rounds that are played in pairs, with and without the target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore.games._summary import share_below
from reproduce._outcome import STANDARD_ERRORS, AtLeast, Row

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Auc:
    """Area under a ROC curve of paired rounds, and the influence of each round."""

    value: float
    influence: Doubles

    @classmethod
    def of(cls, members: Doubles, nonmembers: Doubles) -> Auc:
        """Rank AUC; ties count half."""
        above = share_below(members, np.sort(nonmembers))
        below = 1 - share_below(nonmembers, np.sort(members))
        return cls(float(above.mean()), above + below)

    @property
    def error(self) -> float:
        """Standard error, at least that of one round, even for an area of 1."""
        return standard_error(self.influence)

    def row(self, name: str, theory: Auc) -> Row:
        """Compare with an area that was drawn from a law."""
        error = float(np.hypot(self.error, theory.error))
        return Row(name, self.value, theory.value, STANDARD_ERRORS * error)

    def at_least(self, other: Auc, name: str) -> Row:
        """Say that another area of the same rounds is not larger."""
        error = standard_error(self.influence - other.influence)
        return AtLeast(name, self.value - other.value, 0.0, STANDARD_ERRORS * error)


def standard_error(influence: Doubles) -> float:
    """Of a mean over rounds."""
    rounds = len(influence)
    return float(max(influence.std(ddof=1) / np.sqrt(rounds), 1 / rounds))
