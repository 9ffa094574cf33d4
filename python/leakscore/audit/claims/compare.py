"""Whether scores refute a claim about a mechanism, given as a trade-off curve."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leakscore.audit.assumptions import Assuming
from leakscore.audit.claims.models import margins
from leakscore.audit.data.histogram import ScoreHistogram
from leakscore.audit.data.samples import ClassScores
from leakscore.tradeoff import TradeOff
from leakscore.tradeoff.premise import UNSTATED, Premise, joined, settled
from leakscore.typing import Doubles


@dataclass(frozen=True, eq=False)
class Comparison(Assuming):
    """The verdict of the scores on a claimed trade-off curve f; see `Audit.compare`.

    Attributes
    ----------
    verdict : {"refuted", "consistent", "cannot-tell"}
        ``"refuted"``: at this confidence the mechanism does not satisfy f. ``"consistent"``: it may
        or may not satisfy f; samples of these sizes could have refuted it. ``"cannot-tell"``: even
        perfectly separated scores of these sizes would not refute f; or the scores are no evidence,
        as they are all equal, or members score lower than non-members where large scores are to
        mean a member.
    threshold : float
        The threshold that refutes f by the widest margin, or comes closest.
    fpr, fnr : float
        Observed share of non-members that this test flags, and of members that it does not.
    fpr_upper, fnr_upper : float
        Upper confidence bounds on the two rates, valid at all thresholds at once.
    claimed : float
        f(fpr_upper), the least false negative rate that the claim allows at that false positive
        rate; of the lower curve where f is known within bounds.
    margin : float
        claimed - fnr_upper, less a relative 1e-13: positive iff f is refuted.
    max_margin : float
        The margin that perfectly separated scores would have with as many members and non-members.
    claim : str
        The curve, as it prints itself.
    kind, adversary : str
        Of the curve. Refuting a curve of kind ``"attack"`` shows that the audited attack does
        better than the curve's, and breaks no guarantee.
    neighbours : {"replace", "add-remove"}
        The relation of the two data sets that the verdict is about.
    confidence : float
        As given.
    method : str
        As given.
    orientation : str
        ``"high"``: the test flags ``score > threshold``; ``"low"``: ``score < threshold``.
    algorithm : str
        How the critical values of the bands were found.
    assumptions : tuple of str
        What must be true, beyond the scores, for this to hold, and what the claim assumes about the
        mechanism: a refutation may also mean that one of these assumptions is false.

    Examples
    --------
    >>> from leakscore.audit import Audit
    >>> from leakscore.tradeoff import gaussian
    >>> found = Audit([2.0] * 50, [1.0] * 50).compare(gaussian(1.0), method="dkw")
    >>> print(found.verdict, round(found.fnr_upper, 3), "<", round(found.claimed, 3))
    refuted 0.192 < 0.448
    """

    verdict: str
    threshold: float
    fpr: float
    fnr: float
    fpr_upper: float
    fnr_upper: float
    claimed: float
    margin: float
    max_margin: float
    claim: str
    kind: str
    adversary: str
    neighbours: str
    confidence: float
    method: str
    orientation: str
    algorithm: str


def widest(curve: TradeOff, fpr: Doubles, fnr: Doubles) -> tuple[int, float]:
    """Return the point with the widest margin, and that margin."""
    gaps = margins(curve, fpr, fnr)
    index = int(np.argmax(gaps))
    return index, float(gaps[index])


def turned_round(samples: ClassScores | ScoreHistogram) -> bool:
    """Whether the AUC is three standard errors below that of scores that know nothing."""
    members, nonmembers = samples.n_members, samples.n_nonmembers
    error = math.sqrt((members + nonmembers + 1) / (12 * members * nonmembers))  # Mann-Whitney
    return samples.auc() < 0.5 - 3 * error


class Family:
    """A family of curves that are all about one relation of the two data sets, the stated one."""

    def __init__(self, make: Callable[[float], TradeOff], stated: str | None) -> None:
        self._make, self._stated = make, stated
        self._premise, self._first, self._made = UNSTATED, "", False
        settled(self._premise, stated, make)  # refuses an unknown relation

    def __call__(self, parameter: float) -> TradeOff:
        curve = self._make(parameter)
        if isinstance(curve, TradeOff):
            settled(curve._premise, self._stated, curve)
            name, premise = f"family({parameter!r})", curve._premise
            self._premise = joined([(self._first, self._premise), (name, premise)])
            self._first = self._first or (name if premise.neighbours else "")
            self._made = True
        return curve

    def is_of(self, make: Callable[[float], TradeOff]) -> bool:
        """Whether the curves are those that this function makes."""
        return self._make is make

    def about(self, parameter: float) -> Premise:
        """Give the premise of the curves made so far, at least of one parameter."""
        if not self._made:
            self(parameter)
        return self._premise._replace(neighbours=self._stated or self._premise.neighbours)
