"""The empirical ROC curve of the scores and its summaries, which certify nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.audit.data.samples import SampledAudit, allowed_errors
from leakscore.results import Result
from leakscore.typing import Doubles, Scalar


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


class EmpiricalRoc(SampledAudit):
    """The empirical curves of an `Audit`."""

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
