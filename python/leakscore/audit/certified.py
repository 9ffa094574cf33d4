"""An audit: the scores of an attack, sorted once, and the bounds on epsilon that they certify."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import _core, results, validation
from leakscore.audit.bands import BAND_METHODS, Band, band
from leakscore.audit.claims import Refuted
from leakscore.audit.methods import (
    MAX_EXPOSED,
    Credible,
    EpsilonMethod,
    FourOutcomes,
    RateBands,
    SortedBits,
    Split,
)
from leakscore.audit.results import Bound
from leakscore.audit.roc import Rates
from leakscore.audit.scores import (
    ClassScores,
    RankedBits,
    SampledAudit,
    ScoreHistogram,
    arrays_of,
    samples_of,
)
from leakscore.typing import Array, Doubles, Flags, Seed

__all__ = ["EPSILON_METHODS"]

EPSILON_METHODS: dict[str, EpsilonMethod] = {
    **{name: RateBands(name) for name in BAND_METHODS},
    **{method.name: method for method in (SortedBits(), FourOutcomes(), Split(), Credible())},
}
"""The methods by the names that stand for them, with their defaults."""
_NAMES = tuple(EPSILON_METHODS)
_QUICK_ROUNDS = 5000  # "four-outcomes" takes half a second for so many rounds
_VERSION = 1  # of the bytes
_BY_CHANCE = 8  # scores with no more distinct values may be equal in two sets of rounds by chance


@dataclass(frozen=True, eq=False)
class EpsilonBound(Bound):
    """A certified lower bound on epsilon and the threshold that proves it; see `Audit.epsilon`.

    If delta was an array, every field except `confidence`, `method`, `algorithm` and
    ``assumptions`` is an array of its shape.

    As a number it is `epsilon`: ``float``, ``<`` and ``>=`` take it so.
    ``round(bound, 2)`` and ``f"{bound:.2f}"`` round down, since more would not be
    certified.

    Attributes
    ----------
    epsilon : float
        No (epsilon', delta)-DP mechanism with epsilon' below it gives such scores, at this
        confidence. 0 means no evidence, not safety.
    threshold : float
        The threshold that proves it, an observed score or -inf; of "split" and "credible" the given
        one, or halfway between two scores. With ``epsilon == 0``: the one that came closest; if
        none has a positive numerator, the largest score (flag none).
    direction : str
        The inequality that proves it: ``"forward"``, ``tpr <= e^epsilon fpr + delta``, or
        ``"reverse"``, ``tnr <= e^epsilon fnr + delta``.
    fpr, fnr : float
        Observed share of non-members above the threshold, and of members not above it. For
        "sorted-bits" the scores tied with the threshold lie on either side, at random; for "split"
        and "credible" the scores that chose it are not counted.
    fpr_upper, fnr_upper : float
        Upper confidence bounds on the two rates, valid at all thresholds at once; 1 for
        "sorted-bits" and "four-outcomes", which bound no rate. For "split" they hold at this
        threshold. For "credible" they are bounds of the posterior of each rate, from which epsilon
        does not follow.
    max_certifiable : float
        The bound that perfectly separated scores would give with as many members and non-members.
    delta, confidence : float
        As given.
    method : str
        The method that proved it.
    orientation : str
        ``"high"``: the test flags ``score > threshold``; ``"low"``: ``score < threshold``.
    algorithm : str
        How the critical values were computed; for "sorted-bits" and "four-outcomes" also the
        counts that prove it. If no method was given, why it is not "four-outcomes".
    assumptions : tuple of str
        What must be true, beyond the scores, for this to hold.

    Examples
    --------
    >>> from leakscore.audit import Audit
    >>> bound = Audit([2.0] * 50, [1.0] * 50).epsilon(method="weighted-ell")
    >>> print(round(float(bound), 4), bound.threshold, bound.fpr, round(bound.fpr_upper, 4))
    2.1998 1.0 0.0 0.0998
    >>> sorted(bound.to_dict())[:3], bound.assumptions[-1]
    (['algorithm', 'assumptions', 'confidence'], 'No score was left out.')
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
    orientation: str | npt.NDArray[np.str_]
    algorithm: str

    _number = "epsilon"


class Audit(Refuted, Rates):
    """Scores of a membership attack, sorted once, and what they prove.

    Parameters
    ----------
    members, nonmembers : array_like, shape (n1,), (n0,)
        One score per round in which the target was, and was not, a member; larger means member.
        Rounds are independent. Any real dtype; float32 scores stay float32. ``+-inf`` are legal;
        only their order is used.

    Raises
    ------
    ValueError
        If an argument is not 1-D, is empty, or holds NaN.
    TypeError
        If an argument is not an array of real numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore.audit import Audit
    >>> rng = np.random.default_rng(0)
    >>> audit = Audit(rng.normal(3.0, 1.0, 1000), rng.normal(0.0, 1.0, 1000))
    >>> bound = audit.epsilon(delta=1e-5)
    >>> print(round(float(bound), 2), "of at most", round(bound.max_certifiable, 2))
    4.75 of at most 5.6
    """

    __slots__ = ()

    def __init__(self, members: npt.ArrayLike, nonmembers: npt.ArrayLike) -> None:
        self._samples = ClassScores(members, nonmembers)

    @classmethod
    def from_rounds(
        cls,
        scores: npt.ArrayLike,
        member: npt.ArrayLike,
        *,
        random_bits: bool = False,
        rng: Seed = 0,
    ) -> Audit:
        """Build an audit from one score and one membership bit per round.

        Parameters
        ----------
        scores : array_like, shape (T,)
            As the scores of `Audit`.
        member : array_like, shape (T,)
            Whether the target was a member in that round: bool, or 1 and 0. Both must occur.
        random_bits : bool
            True asserts that `member` holds independent fair coins, one per round, and that each
            score is a function of its own round only. It allows ``method="sorted-bits"`` of
            `epsilon` and changes nothing else. A design with fixed numbers of members and
            non-members is not of this kind.
        rng : None, int, SeedSequence, BitGenerator or Generator
            Orders tied scores at random for "sorted-bits", together with a hash of the scores, so
            that one seed does not order all audits alike; None: fresh entropy. The audit keeps the
            order, also in `to_bytes`. Every other method takes a tie for a non-member and does not
            depend on `rng`; only the halves of "split" and "credible" depend on the order of the
            rounds.

        Returns
        -------
        Audit

        Raises
        ------
        ValueError
            If the lengths differ, `member` holds anything but True/False or 1/0, one class is
            missing, or ``scores`` is not 1-D, is empty or holds NaN.
        TypeError
            If ``scores`` or `member` is not an array of real numbers, or `random_bits` or `rng` is
            not as above.

        Examples
        --------
        >>> from leakscore.audit import Audit
        >>> Audit.from_rounds([0.1, 2.0, 1.5, -1.0], [False, True, True, False])
        Audit(n_members=2, n_nonmembers=2)
        """
        random = validation.flag("random_bits", random_bits)
        generator = validation.generator("rng", rng)
        array = validation.sample("scores", scores)
        inside = validation.membership("member", member, array.size)
        if array.dtype.kind not in "iub" and bool(np.isnan(array).any()):
            raise ValueError("scores must hold no NaN")
        samples = ClassScores(array[inside], array[~inside])
        if random:
            ordered = array.astype(samples.members.dtype)
            samples.ranked = RankedBits.of(ordered, inside, generator)
        audit = cls.__new__(cls)
        audit._samples = samples
        return audit

    @classmethod
    def from_counts(
        cls,
        edges: npt.ArrayLike,
        member_counts: npt.ArrayLike,
        nonmember_counts: npt.ArrayLike,
        *,
        below: npt.ArrayLike | None = None,
        above: npt.ArrayLike | None = None,
    ) -> Audit:
        """Build an audit from histograms: any number of scores in the memory of their bins.

        Parameters
        ----------
        edges : array_like, shape (B+1,)
            Edges of the bins, ascending, from -inf to inf: `numpy.histogram` takes infinite edges,
            and silently drops the scores outside finite ones. Every bound holds whether or not the
            edges were chosen from these scores.
        member_counts, nonmember_counts : array_like, shape (B,)
            Scores in each bin, as `numpy.histogram` counts them (a score at an edge belongs to the
            bin above): whole numbers; together with `below` and `above`, at least 1 and at most
            2**53 per class.
        below, above : array_like, shape (2,), optional
            Where the first (last) edge is finite: how many members and non-members score below
            (above) it; ``(0, 0)`` if no score can. They become a separate bin.

        Returns
        -------
        Audit
            Its thresholds are edges, and the test at an edge flags the scores in the bins above it:
            ``score >= edge`` (``score > edge`` at a last edge that came with `above`, since numpy
            counts a score there in the bin below), and none at inf; with orientation ``"low"``
            those in the bins below it. Except for these names of the thresholds, every result is
            that of an audit of the bins' indices as scores. Methods that need single scores raise
            ValueError.

        Raises
        ------
        ValueError
            If `edges` does not ascend, holds NaN, or has a finite end without `below` (`above`), a
            length does not fit, a count is negative or not whole, or a class is empty.
        TypeError
            If an argument is not an array of real numbers.

        Notes
        -----
        A bin is a function of the score, so its index is itself a membership score, and what holds
        for all its thresholds holds at the edges. Coarse bins cost sharpness, never validity. This
        requires every score: dropping the scores outside finite edges leaves the laws of a score
        *given* that it lies inside. These laws may differ by a factor e^(2 epsilon) where the
        mechanism is epsilon-DP, so a bound on epsilon that is correct for them is up to twice too
        large. NaN scores are counted in no bin either: check that the counts sum to the rounds.
        The AUC counts two scores of one bin as tied, one half: the area under the line through the
        edges' points.

        Examples
        --------
        >>> import numpy as np
        >>> from leakscore.audit import Audit
        >>> rng = np.random.default_rng(0)
        >>> edges = np.concatenate([[-np.inf], np.linspace(-4.0, 6.0, 201), [np.inf]])
        >>> members, _ = np.histogram(rng.normal(2.0, 1.0, 10_000), edges)
        >>> nonmembers, _ = np.histogram(rng.normal(0.0, 1.0, 10_000), edges)
        >>> audit = Audit.from_counts(edges, members, nonmembers)
        >>> audit, round(audit.auc(), 3)
        (Audit(n_members=10000, n_nonmembers=10000), 0.922)
        """
        audit = cls.__new__(cls)
        audit._samples = ScoreHistogram(
            edges, member_counts, nonmember_counts, below=below, above=above
        )
        return audit

    def epsilon(
        self,
        delta: npt.ArrayLike = 0.0,
        confidence: float = 0.95,
        method: str | EpsilonMethod | None = None,
        *,
        orientation: str = "high",
        threshold: float | None = None,
    ) -> EpsilonBound:
        """Certify a lower bound on epsilon: the largest that the scores refute at this confidence.

        Parameters
        ----------
        delta : float or array_like
            Delta of the (epsilon, delta)-DP claim, in [0, 1), fixed before the scores were seen. An
            array costs no confidence with a band: its bounds hold for all entries, and all other
            deltas, at once. "sorted-bits" and "four-outcomes" take one number, at most
            0.1 / rounds; "split" and "credible" hold for all at once only with a threshold.
        confidence : float
            Probability, in (0, 1), with which the bound holds, over the rounds.
        method : str or method, optional
            A name, or `RateBands`, `Split`, `Credible`, `SortedBits` or `FourOutcomes`. By default
            "four-outcomes" for one delta of at most 0.1 / rounds and at most 5,000 rounds, and
            "weighted-ell" otherwise; the choice looks at no score, and the result names it.
            "four-outcomes" counts members above every threshold, for any audit of at most 20,000
            rounds, and is calibrated for both error rates together. All others up to
            "dkw-two-sided" are bands around the error rates. "weighted-ell": Clopper-Pearson bounds
            of level eta / sqrt(k + 1) for k errors, eta from the exact joint law of all of them;
            the tightest where the attack is strong. "ell": one level for all counts.
            "berk-jones": the Kullback-Leibler bound. "bonferroni": Clopper-Pearson bounds with a
            union bound. "ks": the exact law of the one-sided Kolmogorov-Smirnov statistic.
            "dkw": Massart's one-sided inequality; "dkw-two-sided": the two-sided one of Michel,
            Basu and Kaufmann.
            "sorted-bits" (experimental) has no band: it counts right guesses of bits that were
            fair coins, for audits from ``Audit.from_rounds(random_bits=True)``.
            "split" and "credible" use one threshold only; "credible" is not a confidence bound.
        orientation : {"high", "both"}
            ``"high"``: larger scores mean member. ``"both"``: larger or smaller ones; each
            orientation gets half of ``1 - confidence``, and the result names the one that proves
            more.
        threshold : float, optional
            For "split" and "credible" only: the one threshold, fixed before the scores were seen.
            All scores are then counted at it.

        Returns
        -------
        EpsilonBound
            With floats for a scalar delta, otherwise with arrays of its shape.

        Raises
        ------
        ValueError
            If `delta`, `confidence`, `method`, `orientation` or `threshold` is outside its range,
            or the method does not apply to this audit or takes no threshold.
        TypeError
            If one of them has the wrong type.

        Notes
        -----
        With probability `confidence` the false positive rate is at most A(k0) and the false
        negative rate at most B(k1) at every threshold at once, k0 and k1 the observed counts of
        errors: each band misses with probability at most xi/2, xi = 1 - confidence. "weighted-ell"
        is ``P(U_(i) > c_i for some i) = xi/2`` for the order statistics of n uniform variables,
        c_i the (1 - eta/sqrt(i))-quantile of Beta(i, n + 1 - i), and ``A(k) = c_(k+1)``; "ell" and
        "berk-jones" choose other c_i (Berk and Jones 1979; Moscovich and Nadler 2017), see
        `critical_value`. "dkw" is ``A(k) = k/n + sqrt(log(2/xi) / (2 n))`` (Massart 1990; with
        log(4/xi) for both sides). Then any (epsilon, delta)-DP mechanism satisfies

        ``epsilon >= log max((1 - delta - A) / B, (1 - delta - B) / A)``

        at every threshold: both directions follow from the same two events, so the threshold, the
        direction and delta may be chosen on the same scores. Ties are safe, and the result is never
        infinite. It is rounded down in the last bits.

        "split": the scores at even positions of each class, in the order in which they were given,
        choose the threshold (and the orientation, at no cost); the others are counted at it, and
        Clopper-Pearson bounds at ``(1 - confidence) / 2`` replace A and B. The order must not
        depend on the scores: never pass them sorted. "credible": the rates at that threshold
        have independent posteriors ``Beta(1/2 + errors, 1/2 + others)``, under which
        (epsilon, delta)-DP has probability ``1 - confidence`` (Zanella-Beguelin et al. 2023). That
        is a credible bound: for randomised response with epsilon 1 to 3, 30 scores of each class, a
        fixed threshold and delta = 0, it is too large in 11 to 22 % of all audits at a nominal 5 %.

        Lemma 5.1 of Michel, Basu and Kaufmann prints ``log(xi/4)``, which is negative; it must be
        ``log(4/xi)``, and the one-sided ``log(2/xi)`` is enough. Critical values of common sizes
        come with the package; the first call for another size takes up to two seconds.

        "sorted-bits" rests on another theorem, proved in docs/explanation/sorted-bits.md:
        among the g highest scores, members are no more frequent than coins of probability
        ``e^epsilon / (1 + e^epsilon)`` and a share delta of exposed rounds allow, at all g at once.
        Its bound is a multiple of 0.05, it bounds no error rate, and `algorithm` states the number
        of right guesses. The first call for given rounds, delta and confidence is slower.

        "four-outcomes" rests on the theorem of docs/explanation/four-outcomes.md: among all
        (epsilon, delta)-DP mechanisms, one of four outcomes makes it the most probable that the
        members above some threshold are critical. The theorem is of this project and not published
        elsewhere. Its bound, too, is a multiple of 0.05 and bounds no error rate; `band`, `mu` and
        `compare` are about rates and keep "weighted-ell". It takes 0.03 seconds for 500 rounds, 0.5
        for 5,000 and 3 for 20,000. As the choice of the default depends on the shape of delta, name
        the method to compare bounds at one delta with those at several.

        Examples
        --------
        >>> from leakscore.audit import Audit
        >>> audit = Audit(range(1000, 2000), range(1000))
        >>> bound = audit.epsilon(delta=1e-5)
        >>> print(bound.method, bound.epsilon, bound.max_certifiable)
        four-outcomes 5.6 5.6
        >>> round(audit.epsilon(delta=1e-5, method="weighted-ell"), 4)
        5.2318
        >>> audit.epsilon(delta=[0.0, 0.01], method="dkw-two-sided").epsilon.round(4)
        array([3.0138, 3.0032])
        >>> rng = np.random.default_rng(1)
        >>> bits = rng.random(2000) < 0.5
        >>> audit = Audit.from_rounds(rng.normal(bits), bits, random_bits=True)
        >>> bound = audit.epsilon(1e-5, method="sorted-bits")
        >>> print(bound.epsilon, bound.algorithm)
        1.4 exact crossing probability; 136 right guesses of 153, 136 are critical
        """
        deltas = np.array(validation.interval("delta", delta, 0.0, 1.0, closed="left"))
        level = validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
        chosen, reason = _default(self, deltas) if method is None else (_method_of(method), "")
        both = validation.choice("orientation", orientation, ("high", "both")) == "both"
        if threshold is not None:
            chosen = _with_threshold(chosen, validation.scalar("threshold", threshold))
        proof = chosen._certify(self._samples, deltas.ravel(), level, both)

        # Python's numbers for one delta: numpy's quotients and texts take as long as 1000 scores.
        scalar = deltas.ndim == 0

        def shaped(column: Array) -> Any:
            return column.item() if scalar else column.reshape(deltas.shape)

        def choose_text(flags: Any, true: str, false: str) -> Any:
            return (true if flags else false) if scalar else np.where(flags, true, false)

        return EpsilonBound(
            epsilon=shaped(proof.epsilon),
            threshold=shaped(proof.threshold),
            direction=choose_text(shaped(proof.forward), "forward", "reverse"),
            fpr=shaped(proof.false_positives) / max(1, proof.counted[0]),
            fnr=shaped(proof.false_negatives) / max(1, proof.counted[1]),
            fpr_upper=shaped(proof.fpr_upper),
            fnr_upper=shaped(proof.fnr_upper),
            max_certifiable=shaped(proof.max_certifiable),
            delta=shaped(deltas),
            confidence=level,
            method=chosen.name,
            orientation=choose_text(shaped(proof.flags_low), "low", "high"),
            algorithm=proof.algorithm + reason,
            assumptions=chosen.assumptions,
        )

    def merge(self, other: Audit) -> Audit:
        """Return the audit of all scores of this one and another.

        Audits of parts merge in any order and grouping to the same results, those of all scores at
        once. Sorted scores merge in linear time, histograms bin by bin. The bits of the rounds stay
        random (`from_rounds`) if those of both were. Tied rounds keep the lots that were drawn for
        them; rounds of equal lots keep the order of the parts.

        Parameters
        ----------
        other : Audit
            Of other rounds, independent of these, with the same mechanism and attack; a round that
            is in both counts twice and invalidates the bound. Both hold scores, or both histograms
            with the same edges. Decide what to merge before you see any result.

        Returns
        -------
        Audit

        Raises
        ------
        ValueError
            If one holds scores and the other a histogram (bin the scores first: `numpy.histogram`
            and `from_counts`), or the edges differ; if both are of the same rounds, as equal scores
            of more than 8 values show.
        TypeError
            If `other` is not an Audit.

        Examples
        --------
        >>> from leakscore.audit import Audit
        >>> Audit([2.0], [0.0, 1.0]).merge(Audit([3.0], [1.5]))
        Audit(n_members=2, n_nonmembers=3)
        """
        samples = validation.instance("other", other, Audit)._samples
        if other is self or _are_equal(self._samples, samples):
            raise ValueError(
                "other must hold other rounds than these: its scores are the same, and each "
                "round would count twice; play new rounds, or merge each part once"
            )
        merged = type(self).__new__(type(self))
        merged._samples = self._samples.merge(samples)
        return merged

    def to_bytes(self) -> bytes:
        """Return the scores, or the histogram, in a format that does not depend on the machine.

        Returns
        -------
        bytes
            For `from_bytes`: with the version of the format, and a digest that shows damage.
        """
        return results.pack("audit", _VERSION, arrays_of(self._samples))

    @classmethod
    def from_bytes(cls, data: bytes) -> Audit:
        """Return the audit from which `to_bytes` made these bytes.

        Parameters
        ----------
        data : bytes
            The bytes of one audit, whole; anything else, or another version, is refused.

        Returns
        -------
        Audit
            With the same results to the last bit.

        Raises
        ------
        ValueError
            If ``data`` is damaged, of another version, or no audit can have made it.
        TypeError
            If ``data`` is not bytes.

        Examples
        --------
        >>> from leakscore.audit import Audit
        >>> Audit.from_bytes(Audit([2.0, 1.0], [0.0]).to_bytes())
        Audit(n_members=2, n_nonmembers=1)
        """
        arrays = results.unpack("audit", _VERSION, data, "Audit.to_bytes()")
        audit = cls.__new__(cls)
        try:
            audit._samples = samples_of(arrays)
        except (TypeError, ValueError) as problem:
            raise ValueError(f"data must hold an audit: {problem}") from None
        return audit

    def __repr__(self) -> str:
        return f"Audit(n_members={self.n_members}, n_nonmembers={self.n_nonmembers})"


def _are_equal(first: ClassScores | ScoreHistogram, second: ClassScores | ScoreHistogram) -> bool:
    """Return whether both have equal scores, with too many distinct values to be so by chance."""
    names = ["members", "nonmembers"]
    if isinstance(first, ScoreHistogram):
        names = ["edges", "member_counts", "nonmember_counts"]
    return (
        type(first) is type(second)
        and all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)
        and first.points().thresholds.size > _BY_CHANCE + 1
    )


def _method_of(method: object) -> EpsilonMethod:
    """Return the method of this name, or the method itself."""
    if isinstance(method, EpsilonMethod):
        return method
    return EPSILON_METHODS[validation.choice("method", method, _NAMES)]


def _default(audit: SampledAudit, deltas: Doubles) -> tuple[EpsilonMethod, str]:
    """Return the default method for these rounds and deltas, and the reason if it is a band."""
    rounds = audit.n_members + audit.n_nonmembers
    if deltas.ndim:
        reason = "an array of delta"
    elif rounds > _QUICK_ROUNDS:
        reason = f"more than {_QUICK_ROUNDS} rounds"
    elif rounds * deltas.item() > MAX_EXPOSED:
        reason = f"delta * rounds > {MAX_EXPOSED}"
    else:
        return EPSILON_METHODS["four-outcomes"], ""
    return EPSILON_METHODS["weighted-ell"], f"; the default for {reason}"


def _with_threshold(method: EpsilonMethod, threshold: float) -> EpsilonMethod:
    """Return the method with a threshold that was fixed beforehand."""
    if not isinstance(method, Split):
        names = [name for name, kind in EPSILON_METHODS.items() if isinstance(kind, Split)]
        raise ValueError(
            f"threshold={threshold!r} must not be given with method={method.name!r}, which chooses "
            f"its own; only {' and '.join(names)} take one"
        )
    return replace(method, threshold=threshold)


def epsilons(
    scores: npt.ArrayLike,
    member: npt.ArrayLike,
    delta: npt.ArrayLike = 0.0,
    confidence: float = 0.95,
    method: str = "weighted-ell",
    *,
    orientation: str = "high",
) -> Doubles:
    """Certify a lower bound on epsilon for each row of scores: many audits at once.

    Parameters
    ----------
    scores : (R, T) array_like
        One audit a row, of one record or one attack; larger means member. Rounds of a row are
        independent. float32 scores stay float32; +-inf are legal.
    member : (T,) or (R, T) array_like of bool
        Whether the target was a member in that round, for all rows alike or row by row; 1 and 0
        will do. Each row needs both.
    delta : float or array_like
        As in `Audit.epsilon`.
    confidence : float
        Probability, in (0, 1), with which the bound of any one row holds. That all R hold at once
        needs ``1 - (1 - confidence) / R``.
    method : str
        A band of `Audit.epsilon`.
    orientation : {"high", "both"}
        As in `Audit.epsilon`.

    Returns
    -------
    ndarray, shape (R,) + delta.shape
        For each row the number of ``Audit.from_rounds(scores[row], member[row]).epsilon(...)`` with
        this method, to the bit.

    Raises
    ------
    ValueError
        If shapes do not fit, a score is NaN, a row has one class only, or another argument is out
        of range.
    TypeError
        If an argument is not an array of real numbers.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> member = np.arange(64) % 2 == 0
    >>> scores = rng.normal(size=(3, 64)) + np.outer([0.0, 2.0, 9.0], member)
    >>> print(epsilons(scores, member).round(2))
    [0.   0.68 1.74]
    """
    table = _score_table(scores)
    inside = _member_flags(member, table.shape)
    deltas = np.array(validation.interval("delta", delta, 0.0, 1.0, closed="left"))
    level = validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
    validation.choice("method", method, BAND_METHODS)
    validation.choice("orientation", orientation, ("high", "both"))
    both = orientation == "both"
    bands = partial(band, method, miss=(1.0 - level) / (4.0 if both else 2.0))
    result = _rows_epsilon(table, inside, deltas.ravel(), bands)
    if both:  # a test that flags low scores is the complement of one with the classes swapped
        low = _rows_epsilon(table, ~inside, deltas.ravel(), bands)
        result = np.where(low > result, low, result)
    return result.reshape(table.shape[:1] + deltas.shape)


def _score_table(scores: npt.ArrayLike) -> Array:
    array = validation.real_array("scores", scores)
    if array.ndim != 2 or not array.size:
        raise ValueError(
            f"scores of shape {array.shape} must be (R, T), one audit a row, and not empty"
        )
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        validation.sample("scores", array.ravel())
    table = np.ascontiguousarray(array, dtype=np.result_type(array.dtype, np.float32))
    nan = np.argwhere(np.isnan(table))
    if nan.size:
        raise ValueError(f"scores must hold no NaN, as at {nan[0].tolist()}")
    return table


def _member_flags(member: npt.ArrayLike, shape: tuple[int, ...]) -> Flags:
    array = validation.binary("member", validation.real_array("member", member))
    if array.shape not in (shape, shape[1:]):
        hint = ": transposed?" if array.shape == shape[::-1] else ""
        raise ValueError(f"member of shape {array.shape} must be {shape[1:]} or {shape}{hint}")
    inside = np.ascontiguousarray(np.atleast_2d(array) == 1)
    counts = inside.sum(axis=1)
    one_class = (counts == 0) | (counts == shape[1])
    if one_class.any():
        row = int(np.argmax(one_class))
        raise ValueError(f"member[{row}] must hold both members and non-members")
    return inside


def _rows_epsilon(
    table: Array, inside: Flags, deltas: Doubles, bands: Callable[[int], Band]
) -> Doubles:
    """Bound each row's epsilon; rows with equal numbers of members share their bands."""
    rounds = table.shape[1]
    counts = np.broadcast_to(inside.sum(axis=1), table.shape[:1])
    result = np.empty((table.shape[0], deltas.size))
    bits: Any = inside.view(np.uint8)
    for members in np.unique(counts).tolist():
        rows = np.flatnonzero(counts == members)
        sizes = rounds - members, members
        pair = (bands(size).core for size in sizes)
        result[rows] = _core.rows_epsilon(table, bits, rows, deltas, sizes[0], *pair)
    return result
