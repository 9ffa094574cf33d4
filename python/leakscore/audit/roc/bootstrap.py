"""Percentile bootstrap of empirical statistics. It is approximate and certifies nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakscore import _core
from leakscore.audit.assumptions import Assuming
from leakscore.audit.data.histogram import ScoreHistogram
from leakscore.audit.data.points import spread_ranks
from leakscore.audit.data.samples import ClassScores, allowed_errors
from leakscore.typing import Counts, Doubles

# Up to the first number of scores or bins each is a cell; more are grouped into about the second
# number of cells per class.
_CELLS, _GROUPS = 2**16, 2**11
_BLOCK = 2**16  # draws and cells of the resamples that are worked on at once


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
        measure(*(x.resampled(min(rows, resamples - done)) for x in draws))
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

    def resampled(self, rows: int) -> Counts:
        """Return the counts of the cells in that many resamples, one a row."""
        if not self.single:
            return self.rng.multinomial(self.n, self.counts / self.n, size=rows)
        return _core.cell_counts(self.rng.random((rows, self.n)), self.cell_of, self.counts.size)
