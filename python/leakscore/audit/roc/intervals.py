"""Intervals for the ROC curve and its summaries: simultaneous bands, and the bootstrap."""

from __future__ import annotations

import numpy as np

from leakscore import validation
from leakscore.audit.assumptions import of_rounds
from leakscore.audit.bands.uniform import BAND_METHODS
from leakscore.audit.roc.band import RocBand, roc_band
from leakscore.audit.roc.bootstrap import BootstrapInterval, curve_resamples, tpr_resamples
from leakscore.audit.roc.empirical import EmpiricalRoc
from leakscore.typing import Seed

_STATISTICS = ("auc", "advantage", "tpr_at")


class Intervals(EmpiricalRoc):
    """The intervals of an `Audit`."""

    __slots__ = ()

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
        return roc_band(self._samples, level, validation.choice("method", method, BAND_METHODS))

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
            raise ValueError(f"Expected fpr with statistic='tpr_at' alone, not fpr={fpr!r}")
        if fpr is not None:
            fpr = validation.scalar("fpr", fpr, 0.0, 1.0)
            estimate = float(self.tpr_at(fpr))
            resampled = tpr_resamples(self._samples, fpr, times, generator)
        else:
            estimate = self.auc() if name == "auc" else self.advantage()
            resampled = estimate + curve_resamples(self._samples, name, times, generator)
        ends = np.clip(np.quantile(resampled, [(1.0 - level) / 2.0, (1.0 + level) / 2.0]), 0.0, 1.0)
        return BootstrapInterval(
            statistic=name,
            estimate=estimate,
            lower=float(ends[0]),
            upper=float(ends[1]),
            fpr=fpr,
            confidence=level,
            resamples=times,
            seed=seed,
            assumptions=of_rounds("bootstrap"),
        )
