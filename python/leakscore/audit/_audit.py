"""The audit of a membership attack: its scores, sorted once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import _validate
from leakscore.audit._certified import Certified
from leakscore.audit._empirical import Empirical
from leakscore.audit._samples import Scores

__all__ = ["Audit"]


class Audit(Certified, Empirical):
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
    >>> from leakscore.audit import Audit
    >>> rng = np.random.default_rng(0)
    >>> audit = Audit(rng.normal(3.0, 1.0, 1000), rng.normal(0.0, 1.0, 1000))
    >>> bound = audit.epsilon(delta=1e-5)
    >>> print(round(float(bound), 2), "of at most", round(bound.max_certifiable, 2))
    2.62 of at most 3.1
    """

    __slots__ = ()

    def __init__(self, members: npt.ArrayLike, nonmembers: npt.ArrayLike) -> None:
        self._samples = Scores(members, nonmembers)

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
        >>> from leakscore.audit import Audit
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

    def __repr__(self) -> str:
        return f"Audit(n_members={self.n_members}, n_nonmembers={self.n_nonmembers})"
