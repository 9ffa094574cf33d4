"""The ROC curve of the scores: empirical, with simultaneous bounds, and resampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.audit.bands import BAND_METHODS, Band, band
from leakscore.audit.results import ROUNDS, Assuming
from leakscore.audit.scores import (
    ClassScores,
    Flagged,
    SampledAudit,
    ScoreHistogram,
    allowed_errors,
    spread_ranks,
)
from leakscore.results import Result
from leakscore.typing import Array, Counts, Doubles, Scalar, Seed

# Up to this many scores or bins every threshold has a row.
_ROWS = 2**17
_SLACK = 2.0**-46  # beyond the rounding of a sum of 2^40 areas, pairwise


# Up to the first number of scores or bins each is a cell; more are grouped into about the second
# number of cells per class.
_CELLS, _GROUPS = 2**16, 2**11
_BLOCK = 2**16  # draws and cells of the resamples that are worked on at once


_STATISTICS = ("auc", "advantage", "tpr_at")


@dataclass(frozen=True, eq=False)
class Roc(Result):
    """The empirical ROC curve: one point per distinct score, from (0, 0) to (1, 1).

    Attributes
    ----------
    fpr, tpr : ndarray
        Share of non-members and of members with ``score > thresholds``, non-decreasing.
    thresholds : ndarray
        The distinct scores, descending, and -inf for the last point, at which all are flagged
        (scores of -inf too). For `Audit.from_counts` the upper edges of the bins that hold scores,
        and the first edge.

    Examples
    --------
    >>> from leakscore.audit import Audit
    >>> roc = Audit([2.0, 3.0], [1.0, 2.0]).roc()
    >>> roc.to_json()
    '{"fpr": [0.0, 0.0, 0.5, 1.0], "tpr": [0.0, 0.5, 1.0, 1.0], \
"thresholds": [3.0, 2.0, 1.0, "-inf"]}'
    """

    fpr: Doubles
    tpr: Doubles
    thresholds: Doubles


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


@dataclass(frozen=True, eq=False)
class BootstrapInterval(Assuming):
    """An approximate interval, without a guarantee; see `Audit.bootstrap`.

    Attributes
    ----------
    statistic : str
        As given.
    estimate : float
        The value on the scores themselves.
    lower, upper : float
        Ends of the interval.
    fpr : float or None
        As given; None unless the statistic is ``"tpr_at"``.
    confidence : float
        Nominal, for a single statistic; the true one is lower for small samples.
    resamples : int
        As given.
    kind : str
        ``"percentile bootstrap (approximate)"``.
    seed : int or None
        As `rng` it draws the same resamples; None if `rng` was an object that its owner has.
    assumptions : tuple of str
        What must be true, beyond the scores, for this to hold.

    Examples
    --------
    >>> from leakscore.audit import Audit
    >>> found = Audit([1.0, 2.0, 3.0], [0.0, 1.5]).bootstrap("tpr_at", fpr=0.0, rng=0)
    >>> found.kind, round(found.estimate, 3)
    ('percentile bootstrap (approximate)', 0.667)
    """

    statistic: str
    estimate: float
    lower: float
    upper: float
    fpr: float | None
    confidence: float
    resamples: int
    kind: str = "percentile bootstrap (approximate)"
    seed: int | None = None


class Rates(SampledAudit):
    """The ROC curve of an `Audit`, and intervals for it."""

    __slots__ = ()

    def roc(self) -> Roc:
        """Return the empirical ROC curve: every distinct threshold, nothing dropped.

        Returns
        -------
        Roc

        Examples
        --------
        >>> from leakscore.audit import Audit
        >>> Audit([2.0, 3.0], [1.0, 2.0]).roc()
        Roc(fpr=array([0. , 0. , 0.5, 1. ]), tpr=array([0. , 0.5, 1. , 1. ]), \
thresholds=array([  3.,   2.,   1., -inf]))
        """
        return Roc(*self._samples.roc())

    def auc(self) -> float:
        """Return the area under the ROC curve, exactly: P(member > non-member) + P(equal) / 2.

        Examples
        --------
        >>> from leakscore.audit import Audit
        >>> Audit([2.0, 3.0], [1.0, 2.0]).auc()
        0.875
        """
        return self._samples.auc()

    def advantage(self) -> float:
        """Return the largest ``tpr - fpr`` over all thresholds.

        The threshold is chosen on the same scores, so the mean is 0.63 sqrt(1/n0 + 1/n1) even for
        scores without information. This certifies nothing; `epsilon` does.

        Examples
        --------
        >>> from leakscore.audit import Audit
        >>> Audit([2.0, 3.0], [1.0, 2.0]).advantage()
        0.5
        """
        return self._samples.advantage()

    @overload
    def tpr_at(self, fpr: Scalar) -> float: ...
    @overload
    def tpr_at(self, fpr: npt.ArrayLike) -> Doubles: ...
    def tpr_at(self, fpr: npt.ArrayLike) -> float | Doubles:
        """Return the largest true positive rate whose empirical false positive rate is allowed.

        Parameters
        ----------
        fpr : float or array_like
            Largest false positive rate allowed, in [0, 1].

        Returns
        -------
        float or ndarray
            Of the shape of `fpr`: the best observed threshold with at most that rate, without
            interpolation.

        Raises
        ------
        ValueError
            If `fpr` is outside [0, 1] or NaN.

        Examples
        --------
        >>> from leakscore.audit import Audit
        >>> Audit([2.0, 3.0], [1.0, 2.0]).tpr_at([0.0, 0.49, 0.5]).tolist()
        [0.5, 0.5, 1.0]
        """
        allowed = validation.interval("fpr", fpr, 0.0, 1.0)
        n0, n1 = self.n_nonmembers, self.n_members
        count = allowed_errors(allowed, n0)
        # The threshold is the next non-member: it and all scores below stay unflagged.
        place = self._samples.nth_nonmember(np.minimum(count, n0 - 1))
        return np.where(count == n0, 1.0, self._samples.members_above(place) / n1)[()]

    def band(self, confidence: float = 0.95, method: str = "weighted-ell") -> RocBand:
        """Bound the true ROC curve: both rates, from both sides, at all thresholds at once.

        Parameters
        ----------
        confidence : float
            Probability, in (0, 1), with which all bounds hold, over the rounds.
        method : str
            The band around the error rates: a method of `epsilon` that is a band.

        Returns
        -------
        RocBand
            With simultaneous bounds for the AUC, the advantage and the true positive rate at any
            false positive rate.

        Raises
        ------
        ValueError
            If `confidence` or `method` is outside its range.
        TypeError
            If one of them has the wrong type.

        Notes
        -----
        The band A of `method` bounds the probability of an error from the number k of errors among
        n scores at all thresholds at once. Four such bands, each of which fails with probability
        at most (1 - confidence) / 4, bound the false positive rate from above, ``A(k0)``, and, as
        one minus the true negative rate, from below, ``1 - A(n0 - k0)``, and the true positive rate
        likewise. They hold for any law of the scores, ties and discrete scores included.

        At most 131072 scores have one row per distinct threshold. Of more scores the rows are the
        thresholds at which the band steps up, which loses nothing; a band that rises at every
        count ("dkw", "ks") keeps 131072 ranks per class, and a row bounds all thresholds up to the
        one before it.

        The default is the tightest at small rates. For the AUC only, "dkw" is as good from about
        1e5 scores per class, and 14 % tighter at 1e6 (at 1000 it is 10 % wider).

        For an audit from `Audit.from_counts` these are the rates of tests at the edges: the
        lower bounds of `RocBand.tpr_at` and `RocBand.advantage` hold for the single scores too.

        Examples
        --------
        >>> from leakscore.audit import Audit
        >>> band = Audit(range(500, 1500), range(1000)).band(confidence=0.9)
        >>> print([round(end, 2) for end in band.auc()])
        [0.82, 0.91]
        """
        level = validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
        chosen = validation.choice("method", method, BAND_METHODS)
        miss = (1.0 - level) / 4.0
        fpr_band = band(chosen, self._samples.n_nonmembers, miss)
        tpr_band = band(chosen, self._samples.n_members, miss)
        complete = self._samples.most_thresholds <= _ROWS
        points = self._samples.points(None if complete else (_ranks(fpr_band), _ranks(tpr_band)))
        fpr_lower, fpr_upper = _bounds(points.nonmembers, fpr_band)
        tpr_lower, tpr_upper = _bounds(points.members, tpr_band)
        return RocBand(
            thresholds=points.thresholds,
            fpr=points.nonmembers.counts / self._samples.n_nonmembers,
            tpr=points.members.counts / self._samples.n_members,
            fpr_lower=fpr_lower,
            fpr_upper=fpr_upper,
            tpr_lower=tpr_lower,
            tpr_upper=tpr_upper,
            confidence=level,
            method=chosen,
            assumptions=ROUNDS,
        )

    def bootstrap(
        self,
        statistic: str = "auc",
        *,
        rng: Seed,
        fpr: float | None = None,
        confidence: float = 0.95,
        resamples: int = 1000,
    ) -> BootstrapInterval:
        """Return an approximate interval: the percentile bootstrap, which certifies nothing.

        Members are drawn with replacement from the members, non-members from the non-members, as
        many as in the sample; the interval holds the middle share `confidence` of the statistic.

        Parameters
        ----------
        statistic : {"auc", "advantage", "tpr_at"}
            The method of this name.
        rng : None, int, SeedSequence, BitGenerator or Generator
            Source of the resamples; None: fresh entropy. The result keeps the seed.
        fpr : float, optional
            For "tpr_at" only: the false positive rate allowed, in [0, 1].
        confidence : float
            Nominal level, in (0, 1).
        resamples : int
            How many, at least 1.

        Returns
        -------
        BootstrapInterval

        Raises
        ------
        ValueError
            If an argument is outside its range, or `fpr` is missing or superfluous.
        TypeError
            If an argument has the wrong type.

        Notes
        -----
        No finite sample makes this interval valid. It is far too short where few scores decide: at
        false positive rates of less than about ten over the number of non-members, or with rates
        of exactly 0 or 1, which every resample repeats. The advantage is biased upwards, and that
        of its resamples even more. `band` has bounds that hold.

        The resamples of `tpr_at` are not drawn score by score: an order statistic of n0 draws is a
        beta variable, and the members above it are binomial, which is their exact law. For the
        others more than 65536 scores are grouped into cells, about 2048 per class, and the change
        that this makes in the statistic of the sample itself is subtracted.

        References
        ----------
        Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), section 13.3.

        Examples
        --------
        >>> from leakscore.audit import Audit
        >>> audit = Audit(range(500, 1500), range(1000))
        >>> found = audit.bootstrap("auc", rng=0)
        >>> print(found.estimate, round(found.lower, 2), round(found.upper, 2))
        0.875 0.86 0.89
        """
        name = validation.choice("statistic", statistic, _STATISTICS)
        level = validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
        times = validation.steps("resamples", resamples)
        generator, seed = validation.seeded("rng", rng)
        if (fpr is None) == (name == "tpr_at"):
            raise ValueError(f"fpr={fpr!r} must be given with statistic='tpr_at', and only then")
        if fpr is not None:
            fpr = validation.scalar("fpr", fpr, 0.0, 1.0)
            estimate = float(self.tpr_at(fpr))
            resample = tpr_resamples(self._samples, fpr, times, generator)
        else:
            estimate = self.auc() if name == "auc" else self.advantage()
            resample = estimate + curve_resamples(self._samples, name, times, generator)
        ends = np.clip(np.quantile(resample, [(1.0 - level) / 2.0, (1.0 + level) / 2.0]), 0.0, 1.0)
        return BootstrapInterval(
            statistic=name,
            estimate=estimate,
            lower=float(ends[0]),
            upper=float(ends[1]),
            fpr=fpr,
            confidence=level,
            resamples=times,
            seed=seed,
            assumptions=ROUNDS,
        )


def _ranks(upper: Band) -> Array:
    """Return the ranks where the bounds of either side step; spread ranks if every rank steps."""
    if upper.knots.size == 0:
        return spread_ranks(upper.n, _ROWS)
    ranks = np.union1d(upper.knots, upper.n - 1 - upper.knots)
    return ranks[(ranks >= 0) & (ranks < upper.n)]


def _bounds(flagged: Flagged, upper: Band) -> tuple[Doubles, Doubles]:
    """Return bounds on the shares that thresholds flag."""
    return upper.lower(flagged.least), upper(flagged.counts)


def _area(x: Doubles, y: Doubles) -> float:
    """Return the area under a polyline."""
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1]))) / 2.0


def tpr_resamples(
    samples: ClassScores | ScoreHistogram, fpr: float, resamples: int, rng: np.random.Generator
) -> Doubles:
    """Return `tpr_at` of resamples, without resampling: two draws have exactly the same law.

    With k false positives allowed, the threshold is the (k+1)-th largest of n0 non-members drawn
    with replacement, at rank floor(n0 V) of the sample, V the (k+1)-th smallest of n0 uniforms:
    Beta(k+1, n0-k). The members above it are then binomial.
    """
    n0, n1 = samples.n_nonmembers, samples.n_members
    k = int(allowed_errors(np.float64(fpr), n0))
    if k == n0:
        return np.ones(resamples)
    ranks = (n0 * rng.beta(k + 1, n0 - k, resamples)).astype(np.int64)
    flagged = samples.members_above(samples.nth_nonmember(np.minimum(ranks, n0 - 1)))
    return rng.binomial(n1, flagged / n1) / n1


def curve_resamples(
    samples: ClassScores | ScoreHistogram, statistic: str, resamples: int, rng: np.random.Generator
) -> Doubles:
    """Return the AUC or the advantage of resamples, minus that of the sample in the same cells."""
    if samples.most_thresholds <= _CELLS:
        points = samples.points()
    else:
        sizes = (samples.n_nonmembers, samples.n_members)
        points = samples.points((spread_ranks(sizes[0], _GROUPS), spread_ranks(sizes[1], _GROUPS)))
    cells = [np.diff(x.counts, prepend=0) for x in (points.nonmembers, points.members)]
    measure = _core.cells_auc if statistic == "auc" else _core.cells_advantage
    draws = [_Draws(counts, rng) for counts in cells]
    rows = max(1, _BLOCK // max(x.work for x in draws))
    drawn = [
        measure(*(x.resample(min(rows, resamples - done)) for x in draws))
        for done in range(0, resamples, rows)
    ]
    return np.concatenate(drawn) - measure(*(counts[None] for counts in cells))


class _Draws:
    """Draws with replacement from the scores of one class: single ones, or the cells' counts."""

    def __init__(self, counts: Counts, rng: np.random.Generator) -> None:
        self.counts, self.rng = counts, rng
        self.n = int(counts.sum())
        self.single = self.n <= 8 * counts.size
        self.work = counts.size + self.n * self.single
        if self.single:
            self.cell_of = np.repeat(np.arange(counts.size), counts)

    def resample(self, rows: int) -> Counts:
        """Return the counts of the cells in `rows` resamples, one per row."""
        if not self.single:
            return self.rng.multinomial(self.n, self.counts / self.n, size=rows)
        return _core.cell_counts(self.rng.random((rows, self.n)), self.cell_of, self.counts.size)
