"""What attack scores prove about a mechanism: lower confidence bounds on epsilon, and the ROC.

Scores of members and non-members are all an `Audit` needs. Larger scores mean member; a threshold
flags a score as a member iff ``score > threshold``, so a tie is a non-member.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import _core, _validate
from leakscore._results import Result
from leakscore._validate import Array, Doubles

__all__ = ["Audit", "EpsilonBound", "Roc"]

# Whether the band of each method bounds an error rate on both sides.
_TWO_SIDED = {"dkw": False, "dkw-two-sided": True}


@dataclass(frozen=True)
class EpsilonBound(Result):
    """A certified lower bound on epsilon and the threshold that proves it; see `Audit.epsilon`.

    Every field but `confidence` and `method` is an array of delta's shape if delta was an array.

    Attributes
    ----------
    epsilon : float
        No (epsilon', delta)-DP mechanism with epsilon' below it gives such scores, at this
        confidence. 0 means no evidence, not safety.
    threshold : float
        The threshold that proves it, an observed score or -inf. With ``epsilon == 0``: the one
        that came closest; if none has a positive numerator, the largest score (flag no one).
    direction : str
        The inequality that proves it: ``"forward"``, ``tpr <= e^epsilon fpr + delta``, or
        ``"reverse"``, ``tnr <= e^epsilon fnr + delta``.
    fpr, fnr : float
        Observed share of non-members above the threshold, and of members not above it.
    fpr_upper, fnr_upper : float
        Upper confidence bounds on the two rates, valid at all thresholds at once.
    max_certifiable : float
        The bound that perfectly separated scores would give with as many members and non-members.
    delta, confidence : float
        As asked for.
    method : str
        As asked for.

    Examples
    --------
    >>> bound = Audit([2.0] * 50, [1.0] * 50).epsilon()
    >>> print(round(float(bound), 4), bound.threshold, bound.fpr, round(bound.fpr_upper, 4))
    1.4367 1.0 0.0 0.1921
    >>> sorted(bound.to_dict())[:4]
    ['confidence', 'delta', 'direction', 'epsilon']
    """

    epsilon: float | Doubles
    threshold: float | Doubles
    direction: str | npt.NDArray[np.str_]
    fpr: float | Doubles
    fnr: float | Doubles
    fpr_upper: float | Doubles
    fnr_upper: float | Doubles
    max_certifiable: float | Doubles
    delta: float | Doubles
    confidence: float
    method: str

    def __float__(self) -> float:
        if isinstance(self.epsilon, np.ndarray):
            raise TypeError("float() of an EpsilonBound needs a scalar delta; read .epsilon")
        return self.epsilon


@dataclass(frozen=True)
class Roc(Result):
    """The empirical ROC curve: one point per distinct score, from (0, 0) to (1, 1).

    Attributes
    ----------
    fpr, tpr : ndarray
        Share of non-members and of members with ``score > thresholds``, non-decreasing.
    thresholds : ndarray
        The distinct scores, descending, and -inf for the last point, at which everyone is flagged
        (scores of -inf included).

    Examples
    --------
    >>> roc = Audit([2.0, 3.0], [1.0, 2.0]).roc()
    >>> roc.to_json()
    '{"fpr": [0.0, 0.0, 0.5, 1.0], "tpr": [0.0, 0.5, 1.0, 1.0], \
"thresholds": [3.0, 2.0, 1.0, "-inf"]}'
    """

    fpr: Doubles
    tpr: Doubles
    thresholds: Doubles


class Audit:
    """Scores of a membership attack, sorted once, and what they prove.

    Parameters
    ----------
    members, nonmembers : array_like, shape (n1,), (n0,)
        One score per round in which the target was, and was not, a member; larger means member.
        Rounds are independent. Any real dtype; float32 scores stay float32. ``+-inf`` are legal
        and only ordered.

    Raises
    ------
    ValueError
        If an argument is not 1-D, is empty, or holds NaN.
    TypeError
        If an argument is not an array of real numbers.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> audit = Audit(rng.normal(3.0, 1.0, 1000), rng.normal(0.0, 1.0, 1000))
    >>> bound = audit.epsilon(delta=1e-5)
    >>> print(round(float(bound), 2), "of at most", round(bound.max_certifiable, 2))
    2.62 of at most 3.1
    """

    __slots__ = ("_members", "_nonmembers")

    def __init__(self, members: npt.ArrayLike, nonmembers: npt.ArrayLike) -> None:
        inside = _validate.sample("members", members)
        outside = _validate.sample("nonmembers", nonmembers)
        dtype = np.result_type(inside.dtype, outside.dtype, np.float32)
        self._members = _sorted("members", inside, dtype)
        self._nonmembers = _sorted("nonmembers", outside, dtype)

    @classmethod
    def from_rounds(
        cls,
        scores: npt.ArrayLike,
        member: npt.ArrayLike,
        *,
        rng: np.random.Generator | int | None = None,
    ) -> Audit:
        """Build an audit from one score and one membership bit per round.

        Parameters
        ----------
        scores : array_like, shape (T,)
            As the scores of `Audit`.
        member : array_like, shape (T,)
            Whether the target was a member in that round: bool, or 1 and 0. Both must occur.
        rng : numpy.random.Generator or int, optional
            For methods that order tied scores at random. None of the present ones does: a tie is
            a non-member, and no result depends on `rng` or on the order of the rounds.

        Returns
        -------
        Audit

        Raises
        ------
        ValueError
            If the lengths differ, `member` holds anything but True/False or 1/0, one class is
            missing, or `scores` is not 1-D, is empty or holds NaN.
        TypeError
            If `scores` or `member` is not an array of real numbers, or `rng` not as above.

        Examples
        --------
        >>> Audit.from_rounds([0.1, 2.0, 1.5, -1.0], [False, True, True, False])
        Audit(n_members=2, n_nonmembers=2)
        """
        if rng is not None:
            _validate.generator("rng", rng)
        array = _validate.sample("scores", scores)
        inside = _validate.membership("member", member, array.size)
        if array.dtype.kind not in "iub" and bool(np.isnan(array).any()):
            raise ValueError("Expected scores without NaN")
        return cls(array[inside], array[~inside])

    @property
    def n_members(self) -> int:
        """Number of member scores."""
        return self._members.size

    @property
    def n_nonmembers(self) -> int:
        """Number of non-member scores."""
        return self._nonmembers.size

    def __repr__(self) -> str:
        return f"Audit(n_members={self.n_members}, n_nonmembers={self.n_nonmembers})"

    def epsilon(
        self, delta: npt.ArrayLike = 0.0, confidence: float = 0.95, method: str = "dkw"
    ) -> EpsilonBound:
        """Certify a lower bound on epsilon: the largest that the scores refute at this confidence.

        Parameters
        ----------
        delta : float or array_like
            Delta of the (epsilon, delta)-DP claim, in [0, 1). An array costs no confidence: the
            bounds hold for all its entries at once.
        confidence : float
            Probability, in (0, 1), with which the bound holds, over the rounds.
        method : {"dkw", "dkw-two-sided"}
            The band around the error rates: Massart's one-sided inequality, or the wider two-sided
            one that Michel, Basu and Kaufmann use.

        Returns
        -------
        EpsilonBound
            With floats for a scalar delta, otherwise with arrays of its shape.

        Raises
        ------
        ValueError
            If `delta`, `confidence` or `method` is outside its range.
        TypeError
            If one of them has the wrong type.

        Notes
        -----
        With probability `confidence` the false positive rate is at most
        ``A(k0) = k0/n0 + sqrt(log(2/xi) / (2 n0))`` and the false negative rate at most
        ``B(k1) = k1/n1 + sqrt(log(2/xi) / (2 n1))``, xi = 1 - confidence, at every threshold at
        once, k0 and k1 the observed counts of errors (Massart 1990: xi/2 for each band; the
        two-sided bands have log(4/xi)). Then any (epsilon, delta)-DP mechanism satisfies

        ``epsilon >= log max((1 - delta - A) / B, (1 - delta - B) / A)``

        at every threshold: both directions follow from the same two events, so the threshold, the
        direction and delta may be chosen on the same scores. Ties are safe, and the result is never
        infinite. The last bits are rounded down.

        Lemma 5.1 of Michel, Basu and Kaufmann prints ``log(xi/4)``, which is negative; it must be
        ``log(4/xi)``, and the one-sided ``log(2/xi)`` is enough.

        Examples
        --------
        >>> audit = Audit(range(1000, 2000), range(1000))
        >>> bound = audit.epsilon(delta=1e-5)
        >>> print(bound.threshold, bound.direction, round(bound.epsilon, 4))
        999.0 forward 3.1039
        >>> audit.epsilon(delta=[0.0, 0.01], method="dkw-two-sided").epsilon.round(4)
        array([3.0138, 3.0032])
        """
        deltas = _validate.interval("delta", delta, 0.0, 1.0, closed="left")
        level = _validate.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
        two_sided = _TWO_SIDED[_validate.choice("method", method, tuple(_TWO_SIDED))]
        found = _core.dkw_epsilon(
            self._nonmembers, self._members, deltas.ravel(), (1.0 - level) / 2.0, two_sided
        )
        if deltas.ndim:
            columns = [column.reshape(deltas.shape) for column in found]
            direction: Any = np.where(columns[2], "forward", "reverse")
        else:
            columns = [column.item() for column in found]
            direction = "forward" if columns[2] else "reverse"
        value, threshold, _, errors0, errors1, fpr_upper, fnr_upper, cap = columns
        return EpsilonBound(
            epsilon=value,
            threshold=threshold,
            direction=direction,
            fpr=errors0 / self.n_nonmembers,
            fnr=errors1 / self.n_members,
            fpr_upper=fpr_upper,
            fnr_upper=fnr_upper,
            max_certifiable=cap,
            delta=deltas if deltas.ndim else deltas.item(),
            confidence=level,
            method=method,
        )

    def roc(self) -> Roc:
        """Return the empirical ROC curve: every distinct threshold, nothing dropped.

        Returns
        -------
        Roc

        Examples
        --------
        >>> Audit([2.0, 3.0], [1.0, 2.0]).roc()
        Roc(fpr=array([0. , 0. , 0.5, 1. ]), tpr=array([0. , 0.5, 1. , 1. ]), \
thresholds=array([  3.,   2.,   1., -inf]))
        """
        return Roc(*_core.score_roc(self._nonmembers, self._members))

    def auc(self) -> float:
        """Return the area under the ROC curve, exactly: P(member > non-member) + P(equal) / 2.

        Examples
        --------
        >>> Audit([2.0, 3.0], [1.0, 2.0]).auc()
        0.875
        """
        return _core.score_auc(self._nonmembers, self._members)

    def advantage(self) -> float:
        """Return the largest ``tpr - fpr`` over all thresholds.

        The threshold is chosen on the same scores, so the mean is 0.63 sqrt(1/n0 + 1/n1) even for
        an attack that knows nothing. It certifies nothing; `epsilon` does.

        Examples
        --------
        >>> Audit([2.0, 3.0], [1.0, 2.0]).advantage()
        0.5
        """
        return _core.score_advantage(self._nonmembers, self._members)

    def tpr_at(self, fpr: npt.ArrayLike) -> Any:
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
        >>> Audit([2.0, 3.0], [1.0, 2.0]).tpr_at([0.0, 0.49, 0.5]).tolist()
        [0.5, 0.5, 1.0]
        """
        allowed = _validate.interval("fpr", fpr, 0.0, 1.0)
        n0, n1 = self.n_nonmembers, self.n_members
        # The largest count of false positives with count / n0 <= fpr in floating point.
        count = np.rint(allowed * n0).astype(np.intp)
        count -= count / n0 > allowed
        # The threshold is the next non-member: it and everything below stays unflagged.
        threshold = self._nonmembers[np.maximum(n0 - 1 - count, 0)]
        missed = np.searchsorted(self._members, threshold, side="right")
        return np.where(count == n0, 1.0, (n1 - missed) / n1)[()]


def _sorted(name: str, scores: Array, dtype: np.dtype[Any]) -> Array:
    """Sort a copy of the scores; it is contiguous, in native byte order and read-only."""
    array = np.array(scores, dtype=dtype)
    array.sort()
    if np.isnan(array[-1]):  # NaN is sorted last
        raise ValueError(f"Expected {name} without NaN")
    array.flags.writeable = False
    return array
