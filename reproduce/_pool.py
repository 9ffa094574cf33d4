"""Laws of attacks on the mean of a pool: of known people, and of a Gaussian population."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore.distributions import gx2, norm

__all__ = ["Linkage", "expected_auc"]

Doubles = npt.NDArray[np.float64]

_ROUNDING = 1e-13


def expected_auc(products: Doubles, n: int) -> float:
    """Return the expected AUC of the covariance score over pools of n out of N people.

    `products` is A_ik = (z_i - mu)'V^-1 (z_k - mu) of all N people, for the mu and V that the
    attacker has, right or wrong. The score of person i is the mean of A_ik over the pool's k, less
    A_ii / (2n). If i is in the pool and j is not, the n - 1 others are drawn without replacement
    from N - 2 people. So mean and variance of the difference of the two scores are exact sums over
    a finite population, without assumptions about the people's law, the covariance or relatedness.
    The only approximation is a Gaussian law for the difference, a sum of n - 1 terms. The AUC is
    the mean over all ordered pairs (i, j) of the probability that the difference is positive.
    """
    size, own = len(products), np.diag(products)
    totals, squares = products.sum(axis=1), products @ products.T
    # Terms A_ik - A_jk of the pair itself, k = i and k = j, which are not drawn.
    at_i, at_j = own[:, np.newaxis] - products.T, products - own
    others, drawn = size - 2, n - 1
    mean = (totals[:, np.newaxis] - totals - at_i - at_j) / others
    square = np.diag(squares)[:, np.newaxis] + np.diag(squares) - 2 * squares
    variance = (square - at_i**2 - at_j**2) / others - mean**2
    shift = at_i - (own[:, np.newaxis] - own) / 2 + drawn * mean
    spread = drawn * (others - drawn) / (others - 1) * variance
    # For twins both are 0 up to rounding, and so is the ratio: a tie.
    least = _ROUNDING * drawn * (np.diag(squares)[:, np.newaxis] + np.diag(squares))
    ratio = shift / np.sqrt(np.maximum(spread, least))
    return float(np.mean(norm.cdf(ratio[~np.eye(size, dtype=np.bool_)])))


@dataclass(frozen=True)
class Linkage:
    """The correlation of variants: the eigenvalues of their d x d correlation matrix."""

    size: int  # d
    eigenvalues: Doubles  # those above 0

    @classmethod
    def of(cls, counts: npt.NDArray[np.int8]) -> Linkage:
        """Estimate it from people's allele counts, one person a row.

        Their squares sum to tr(R^2), the mean over pairs of people i, k of (y_i'y_k)^2 with
        standardised genotypes y. Eigenvalues from few people spread too far, and are scaled to that
        sum.
        """
        y = counts - counts.mean(axis=0)
        y /= y.std(axis=0)
        products = y @ y.T
        people = len(products)
        raw = np.linalg.eigvalsh(products)[1:]  # without that of the mean, which is 0
        np.fill_diagonal(products, 0.0)
        squares = np.square(products).sum() / (people * (people - 1))
        raw = np.maximum(raw, 0.0)
        return cls(counts.shape[1], raw * np.sqrt(squares / np.square(raw).sum()))

    @property
    def effective_number(self) -> float:
        """Number of independent variants with the same information, d^2 / (sum of r^2)."""
        return float(self.size**2 / np.square(self.eigenvalues).sum())

    def auc(self, n: int, n_reference: int) -> float:
        """Return the AUC of the score that takes variants for independent, of Gaussian genotypes.

        The score of a member is larger by d/n in the mean. Two people's scores also differ by
        (z_i - z_j)'D^-1 e, where e is the error of the pool's mean less that of the
        references', the same for both. Along eigenvectors this is a sum of products of two normal
        variables, and each of these half the difference of two chi-squares.
        """
        shift = self.size / n / np.sqrt(2 * (1 / n + 1 / n_reference))
        weights = np.concatenate([self.eigenvalues, -self.eigenvalues]) / 2
        return float(gx2.sf(-shift, weights, 1, 0))
