"""Exact confidence bounds on a binomial probability."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.typing import Doubles, of_numbers


@of_numbers(tuple[float, float], tuple[Doubles, Doubles])
def clopper_pearson(
    k: npt.ArrayLike,
    n: npt.ArrayLike,
    confidence: npt.ArrayLike | None = None,
    side: str = "upper",
    *,
    alpha: npt.ArrayLike | None = None,
) -> tuple[float, float] | tuple[Doubles, Doubles]:
    """Bound a binomial probability from `k` successes in `n` trials, on one side and exactly.

    The upper bound U solves P(Bin(n, U) <= k) = 1 - confidence, and the lower bound L solves
    P(Bin(n, L) >= k) = 1 - confidence: whatever the true probability p is, p <= U (or L <= p) with
    at least that confidence. For a two-sided interval use 1 - (1 - confidence) / 2 on each side.

    Parameters
    ----------
    k : array_like of int
        Successes, 0 <= k <= n.
    n : array_like of int
        Trials, from 1 to 2**53.
    confidence : array_like, optional
        In (0, 1), of this one side; 0.95 if neither it nor `alpha` is given.
    side : {"upper", "lower"}
        Which bound.
    alpha : array_like, optional
        1 - confidence in (0, 1), in place of `confidence`: for a probability of error, such as
        1e-100, that no `confidence` can state.

    Returns
    -------
    bound : float or ndarray
        Of the broadcast shape of the arguments. k = n has the upper bound 1, k = 0 the lower
        bound 0.
    complement : float or ndarray
        1 - bound, with all its digits where the bound is nearly 1.

    Raises
    ------
    TypeError
        If an argument is not real, or both `confidence` and `alpha` are given.
    ValueError
        If `k` or `n` is not whole or out of range (NaN included), `confidence` or `alpha` is
        outside (0, 1), `side` is another word, or the shapes do not broadcast.

    Notes
    -----
    Both results are within 4e-15 (relative) of exact arithmetic and lie on the safe side: an upper
    bound is never too small, a lower bound never too large, and their complements accordingly.
    Clopper & Pearson (1934), Biometrika 26, 404-413, solved by Halley's steps on log P, where P is
    an integral with positive integrand: its cost does not grow with `n`.

    Examples
    --------
    >>> bound, complement = clopper_pearson([0, 3, 100], 100, 0.975)
    >>> bound
    array([0.03621669, 0.08517605, 1.        ])
    >>> clopper_pearson([3, 100], 100, 0.975, "lower")[0]
    array([0.00622997, 0.96378331])
    >>> float(clopper_pearson(10**9 - 1, 10**9)[1])  # the bound itself is nearly 1
    5.129329438623503e-11
    """
    if confidence is not None and alpha is not None:
        raise TypeError("confidence and alpha must not both be given")
    side = validation.choice("side", side, ("upper", "lower"))
    successes, trials = validation.whole("k", k, 0), validation.whole("n", n, 1)
    if alpha is not None:
        miss = validation.interval("alpha", alpha, 0.0, 1.0, closed="neither")
        sure = 1.0 - miss
    else:
        given = 0.95 if confidence is None else confidence
        sure = validation.interval("confidence", given, 0.0, 1.0, closed="neither")
        miss = 1.0 - sure
    successes, trials, miss, sure = validation.broadcast(
        k=successes, n=trials, alpha=miss, confidence=sure
    )
    if (successes > trials).any():
        index = int(np.argmax(successes > trials))
        raise ValueError(
            f"k={successes.flat[index]:.0f} must be at most n={trials.flat[index]:.0f}"
        )
    flat = [np.ascontiguousarray(array).ravel() for array in (successes, trials, miss, sure)]
    bounds = _core.clopper_pearson(flat[0], flat[1], flat[2], flat[3], side == "upper")
    bound, complement = (array.reshape(successes.shape)[()] for array in bounds)
    return bound, complement
