"""The audit of a membership attack: its scores, sorted once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import results, validation
from leakscore.audit.certified import Certified
from leakscore.audit.claims import Refuted
from leakscore.audit.roc import Rates
from leakscore.audit.scores import ClassScores, RankedBits, ScoreHistogram, arrays_of, samples_of
from leakscore.typing import Seed

_VERSION = 1  # of the bytes
_BY_CHANCE = 8  # different scores: so few may be equal in two sets of rounds


class Audit(Certified, Refuted, Rates):
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
            missing, or `scores` is not 1-D, is empty or holds NaN.
        TypeError
            If `scores` or `member` is not an array of real numbers, or `random_bits` or `rng` is
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
    """Return whether both hold equal scores, of more values than are equal by chance."""
    names = ["members", "nonmembers"]
    if isinstance(first, ScoreHistogram):
        names = ["edges", "member_counts", "nonmember_counts"]
    return (
        type(first) is type(second)
        and all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)
        and first.points().thresholds.size > _BY_CHANCE + 1
    )
