"""The law of an attack on the mean of a pool that is drawn from known people."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore.distributions import norm

__all__ = ["expected_auc"]

Doubles = npt.NDArray[np.float64]

_ROUNDING = 1e-13


def expected_auc(products: Doubles, n: int) -> float:
    """Return the expected AUC of the covariance score over pools of n out of N people.

    `products` is A_ik = (z_i - mu)'V^-1 (z_k - mu) of all N people, for the mu and V that the
    attacker has, right or wrong. The score of person i is the mean of A_ik over the pool's k, less
    A_ii / (2n). If i is in the pool and j is not, the n - 1 others are drawn without replacement
    from N - 2 people. So mean and variance of the difference of the two scores are exact sums over
    a finite population, with nothing assumed of the people's law, the covariance or relatedness.
    Only then is the difference taken for Gaussian, as a sum of n - 1 terms. The AUC is the mean
    over all ordered pairs (i, j) of the probability that the difference is positive.
    """
    size, own = len(products), np.diag(products)
    totals, squares = products.sum(axis=1), products @ products.T
    # Terms A_ik - A_jk of the pair's own two, k = i and k = j, which are not drawn.
    at_i, at_j = own[:, np.newaxis] - products.T, products - own
    others, drawn = size - 2, n - 1
    mean = (totals[:, np.newaxis] - totals - at_i - at_j) / others
    square = np.diag(squares)[:, np.newaxis] + np.diag(squares) - 2 * squares
    variance = (square - at_i**2 - at_j**2) / others - mean**2
    shift = at_i - (own[:, np.newaxis] - own) / 2 + drawn * mean
    spread = drawn * (others - drawn) / (others - 1) * variance
    # Of twins both are 0 but for rounding, and so is the ratio: a tie.
    least = _ROUNDING * drawn * (np.diag(squares)[:, np.newaxis] + np.diag(squares))
    ratio = shift / np.sqrt(np.maximum(spread, least))
    return float(np.mean(norm.cdf(ratio[~np.eye(size, dtype=np.bool_)])))
