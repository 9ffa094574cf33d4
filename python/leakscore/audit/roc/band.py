"""Simultaneous confidence bounds on the true ROC curve, and on what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.audit.assumptions import Assuming, of_rounds
from leakscore.audit.bands.uniform import Band, band
from leakscore.audit.data.histogram import ScoreHistogram
from leakscore.audit.data.points import Flagged, spread_ranks
from leakscore.audit.data.samples import ClassScores
from leakscore.typing import Array, Doubles, Scalar

# Up to this many scores or bins every threshold has a row.
_ROWS = 2**17
_SLACK = 2.0**-46  # beyond the rounding of a sum of 2^40 areas, pairwise


@dataclass(frozen=True, eq=False)
class RocBand(Assuming):
    """Bounds on the true rates, valid at all thresholds and on all four sides at once.

    See `Audit.band`. Row i bounds the rates of all thresholds from ``thresholds[i]`` up to, but
    excluding, ``thresholds[i - 1]``.

    Attributes
    ----------
    thresholds, fpr, tpr : ndarray
        As in `Roc`: thresholds descending, and the observed rates.
    fpr_lower, fpr_upper, tpr_lower, tpr_upper : ndarray
        Confidence bounds on the true rates, each non-decreasing.
    confidence : float
        Probability that all of them hold.
    method : str
        As given.
    assumptions : tuple of str
        What must be true, beyond the scores, for this to hold.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore.audit import Audit
    >>> rng = np.random.default_rng(0)
    >>> band = Audit(rng.normal(2, 1, 1000), rng.normal(0, 1, 1000)).band()
    >>> print([round(end, 2) for end in band.auc()])
    [0.87, 0.96]
    >>> lower, upper = band.tpr_at([0.1, 0.2])
    >>> print(lower.round(2), upper.round(2))
    [0.6  0.78] [0.85 0.94]
    """

    thresholds: Doubles
    fpr: Doubles
    tpr: Doubles
    fpr_lower: Doubles
    fpr_upper: Doubles
    tpr_lower: Doubles
    tpr_upper: Doubles
    confidence: float
    method: str

    def auc(self) -> tuple[float, float]:
        """Bound the true area under the ROC curve, P(member > non-member) + P(equal) / 2.

        Returns
        -------
        lower, upper : float

        Notes
        -----
        Flag the scores above an observed score v, and those equal to v with probability p. As p
        goes from 0 to 1, the true rates go along a line from those of row i to those of the
        thresholds just below v, which row i + 1 bounds. So the true curve lies above the polyline
        through (`fpr_upper`, `tpr_lower`) and below the one through (`fpr_lower`, `tpr_upper`).
        """
        lower = _area(self.fpr_upper, self.tpr_lower)
        upper = _area(np.append(self.fpr_lower, 1.0), np.append(self.tpr_upper, 1.0))
        return max(0.0, lower - _SLACK), min(1.0, upper + _SLACK)

    def advantage(self) -> tuple[float, float]:
        """Bound the true largest ``tpr - fpr`` over all thresholds.

        Returns
        -------
        lower, upper : float
        """
        lower = float((self.tpr_lower - self.fpr_upper).max())
        upper = float((self.tpr_upper - self.fpr_lower).max())
        return max(0.0, lower - _SLACK), min(1.0, upper + _SLACK)

    @overload
    def tpr_at(self, fpr: Scalar) -> tuple[float, float]: ...
    @overload
    def tpr_at(self, fpr: npt.ArrayLike) -> tuple[Doubles, Doubles]: ...
    def tpr_at(self, fpr: npt.ArrayLike) -> tuple[float, float] | tuple[Doubles, Doubles]:
        """Bound the largest true positive rate whose true false positive rate is allowed.

        Parameters
        ----------
        fpr : float or array_like
            Largest false positive rate allowed, in [0, 1]. Several rates cost no confidence: the
            bounds hold for all of them at once.

        Returns
        -------
        lower, upper : float or ndarray
            Of the shape of `fpr`: bounds on the largest true positive rate of a threshold (ties are
            non-members) whose true false positive rate is at most `fpr`.

        Raises
        ------
        ValueError
            If `fpr` is outside [0, 1] or NaN.

        Notes
        -----
        A threshold with ``fpr_upper <= fpr`` is allowed, and its true positive rate is at least
        `tpr_lower`: the largest of these is the lower bound. An allowed threshold has a true false
        positive rate of at most `fpr`, and so ``fpr_lower <= fpr``: the largest `tpr_upper` of
        such rows is the upper bound. The bounds are monotone, so both are in the last such row;
        nothing is assumed about the shape of the curve.
        """
        allowed = validation.interval("fpr", fpr, 0.0, 1.0)
        rows = np.searchsorted(self.fpr_upper, allowed, side="right")
        lower = np.append(0.0, self.tpr_lower)[rows]
        # If every rate is allowed, flagging all is best.
        lower = np.where(allowed == 1.0, 1.0, lower)
        upper = self.tpr_upper[np.searchsorted(self.fpr_lower, allowed, side="right") - 1]
        return lower[()], upper[()]


def roc_band(samples: ClassScores | ScoreHistogram, confidence: float, method: str) -> RocBand:
    """Return the band, a quarter of the miss probability for each side of each class."""
    miss = (1.0 - confidence) / 4.0
    fpr_band = band(method, samples.n_nonmembers, miss)
    tpr_band = band(method, samples.n_members, miss)
    complete = samples.most_thresholds <= _ROWS
    points = samples.points(None if complete else (_ranks(fpr_band), _ranks(tpr_band)))
    fpr_lower, fpr_upper = _bounds(points.nonmembers, fpr_band)
    tpr_lower, tpr_upper = _bounds(points.members, tpr_band)
    return RocBand(
        thresholds=points.thresholds,
        fpr=points.nonmembers.counts / samples.n_nonmembers,
        tpr=points.members.counts / samples.n_members,
        fpr_lower=fpr_lower,
        fpr_upper=fpr_upper,
        tpr_lower=tpr_lower,
        tpr_upper=tpr_upper,
        confidence=confidence,
        method=method,
        assumptions=of_rounds(method),
    )


def _ranks(upper: Band) -> Array:
    """Return where the bounds of either side step up; evenly spread ranks if all do."""
    if upper.knots.size == 0:
        return spread_ranks(upper.n, _ROWS)
    ranks = np.union1d(upper.knots, upper.n - 1 - upper.knots)
    return ranks[(ranks >= 0) & (ranks < upper.n)]


def _bounds(flagged: Flagged, upper: Band) -> tuple[Doubles, Doubles]:
    """Return bounds on the share flagged."""
    return upper.lower(flagged.least), upper(flagged.counts)


def _area(x: Doubles, y: Doubles) -> float:
    """Return the area under a polyline."""
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1]))) / 2.0
