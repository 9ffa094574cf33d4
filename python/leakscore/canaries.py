"""Canaries: the records or gradients whose presence an audit finds most easily.

The larger a record's squared Mahalanobis distance from the others, the more surely its membership
shows. So an audit inserts the candidates that are furthest out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.numeric import norms
from leakscore.reference import Reference, covariances
from leakscore.typing import Doubles, Indices

__all__ = ["canife_loss", "rank_sum", "select"]


_BLOCK = 1 << 18  # doubles of a table that are converted at once: 2 MB


def select(candidates: npt.ArrayLike, reference: Reference, k: int) -> tuple[Indices, Doubles]:
    """Choose the k candidates with the largest squared Mahalanobis distance.

    Parameters
    ----------
    candidates : (c, d) array_like
        Candidate records, or clipped per-sample gradients, one a row. Read where they are.
    reference : Reference
        Mean and covariance of one record (of one clipped gradient).
    k : int
        How many to choose, from 1 to c.

    Returns
    -------
    indices : (k,) ndarray of int
        Rows of `candidates`, the furthest first; candidates of equal distance stay in order.
    squared_distances : (k,) ndarray
        Their squared Mahalanobis distances. Over n, these are leakage scores.

    Raises
    ------
    SingularCovarianceError
        If the covariance is singular.
    ValueError
        If shapes do not fit, k is out of range or a value is not finite.

    References
    ----------
    A. Azize and D. Basu, "Some Targets Are Harder to Identify than Others" (AISTATS), algorithm 3.
    There the covariance is the uncentred second moment; a Reference is always centred.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> leakscore.canaries.select([[1.0, 0.0], [0.0, 4.0], [2.0, 2.0]], reference, k=2)
    (array([2, 1]), array([5., 4.]))
    """
    reference = validation.instance("reference", reference, Reference)
    rows = validation.matrix("candidates", candidates, cols=reference.dim)
    k = validation.count("k", k, low=1, high=len(rows))
    distances = covariances.distances(reference.invertible(), "candidates", rows, reference.mean)
    indices = _largest(distances, k)
    return indices, distances[indices]


def rank_sum(distances: npt.ArrayLike, k: int) -> Indices:
    """Choose the k candidates that rank highest over all steps of a training.

    At each step the candidates are ranked by distance, 1 for the smallest; the ranks of a candidate
    are added up over the steps. Ranks, unlike distances, give every step the same weight.

    Parameters
    ----------
    distances : (T, c) array_like
        Distance of each of the c candidates at each of T steps, in any increasing scale (the
        Mahalanobis distance or its square). Infinite distances are ordered like others.
    k : int
        How many to choose, from 1 to c.

    Returns
    -------
    (k,) ndarray of int
        Candidates, the one of the largest sum first; candidates of equal sum stay in order.

    Raises
    ------
    ValueError
        If distances is not 2-D, is empty or holds NaN, or k is out of range.

    Notes
    -----
    Candidates of equal distance share the mean of their ranks, so their order does not matter.

    References
    ----------
    A. Azize and D. Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024), algorithm 6.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.canaries.rank_sum([[1.0, 9.0, 3.0], [2.0, 1.0, 3.0], [0.0, 2.0, 1.0]], k=2)
    array([1, 2])
    """
    from scipy import stats

    steps = validation.matrix("distances", distances)
    k = validation.count("k", k, low=1, high=steps.shape[1])
    if np.isnan(steps).any():
        raise ValueError("distances must hold no NaN")
    return _largest(stats.rankdata(steps, axis=1).sum(axis=0), k)


def canife_loss(g: npt.ArrayLike, U: npt.ArrayLike, C: float) -> tuple[float, Doubles]:
    """Loss, and its gradient, with which CANIFE designs a canary's gradient.

    sum_i <u_i, g>^2 + max(C - norm(g), 0)^2: small for a gradient that is orthogonal to those of
    the other records and as long as clipping allows.

    Parameters
    ----------
    g : (d,) array_like
        Gradient of the canary.
    U : (r, d) array_like
        Gradients of other records, one a row. Read where they are.
    C : float
        Clipping norm, above 0, in the units of `g`.

    Returns
    -------
    loss : float
        At least 0.
    gradient : (d,) ndarray
        2 U'U g - 2 (C - norm(g))+ g / norm(g). At g = 0 the second term has a peak and no gradient;
        there it counts as 0.

    Raises
    ------
    ValueError
        If shapes do not fit, C <= 0, or a value is not finite or so large that the loss overflows.

    Notes
    -----
    Minimising g'U'U g over the sphere finds the same direction as maximising g'(U'U)^-1 g, but the
    two order other vectors differently (rank correlation -0.48 between random unit vectors). A
    canary of small loss need not have a large Mahalanobis distance, contrary to appendix D.2 of
    Azize & Basu, "Some Targets Are Harder to Identify than Others" (AISTATS), equation 26.

    References
    ----------
    S. Maddock, A. Sablayrolles and P. Stock, "CANIFE: Crafting canaries for empirical privacy
    measurement in federated learning" (ICLR 2023).

    Examples
    --------
    >>> import leakscore
    >>> leakscore.canaries.canife_loss([3.0, 0.0], [[1.0, 1.0], [0.0, 2.0]], C=5.0)
    (13.0, array([2., 6.]))
    """
    canary = validation.vector("g", g)
    others = validation.matrix("U", U)
    if others.shape[1] != canary.size:
        raise ValueError(
            f"g of shape {canary.shape} and U of shape {others.shape} must have as many coordinates"
        )
    bound = validation.scalar("C", C, 0.0, closed="neither")
    loss, gradient = 0.0, np.zeros(canary.size)
    step = max(1, _BLOCK // canary.size)
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, len(others), step):
            block = np.asarray(others[first : first + step], dtype=np.float64)
            products = block @ canary
            loss += float(products @ products)
            gradient += 2 * (products @ block)
        length = float(norms(canary[np.newaxis])[0])
        if length < bound:
            loss += (bound - length) * (bound - length)  # inf where ** would raise
            if length > 0.0:
                gradient -= (2 * (bound - length)) * (canary / length)
    if not (np.isfinite(loss) and np.isfinite(gradient).all()):
        validation.finite("U", others)
        raise ValueError("g, U and C must be so small that the loss does not overflow")
    return loss, gradient


def _largest(values: Doubles, k: int) -> Indices:
    """Return where the k largest values are, the largest first and equal ones in order."""
    return np.asarray(np.argsort(-values, kind="stable")[:k])
