"""Distances of rows from all others under a shrunk covariance, without a pass for each row.

With T the scatter about the mean, z a row less the mean and c = N/(N-1), the scatter of the others
is T - c z z', their mean moves by -d, d = z/(N-1), and the sum over them of (x_j - m_j)^2
(x_l - m_l)^2, which the intensities need, follows from the sums over all rows of z_j^2 z_l^2 (A),
z_j^2 z_l (B) and z_j z_l (T). So a row takes d^3 / 3 steps, not N d^2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from leakscore.reference import _estimate, dense
from leakscore.reference.covariances import Table
from leakscore.reference.fitting import CovarianceFit
from leakscore.typing import Doubles

# Where the others have less than this share of a sum, the difference has lost digits.
_SHARE = 1e-3
# The same, of a variance given those of earlier columns.
_LEFT = 1e-9
_AT_ONCE = 2**20  # entries of the covariances that are held


class Shrunk:
    """Sums over the rows of a table, and from them the distance of each from the others."""

    def __init__(self, table: Table, fit: CovarianceFit) -> None:
        mean, squares = _estimate.moments("X", table)
        self.fit, self.rows, self.others = fit, fit.rows, fit.rows - 1
        self.freedom = self.others - fit.ddof
        variances = squares / fit.rows
        self.varying = bool((variances > 1e-20 * mean**2).all()) and bool(variances.all())
        common = fit.shrinkage in ("ledoit-wolf", "oas")  # they know one scale for all columns
        self.unit = np.sqrt(np.full_like(variances, variances.mean()) if common else variances)
        if not self.varying:
            return
        self.z = (table - mean) / self.unit
        dim = len(mean)
        both = np.concatenate([self.z * self.z, self.z], axis=1)
        sums = dense.scatter(both, np.zeros(2 * dim), single=False)
        self.fourth, self.third = sums[:dim, :dim], sums[:dim, dim:]
        self.scatter = sums[dim:, dim:]

    def distances(self) -> Doubles:
        """Return the distance of each row from the others; nan where digits would be lost."""
        distances = np.full(self.rows, np.nan)
        if not self.varying or self.others < 2:
            return distances
        ridge = np.asarray(self.fit.ridge) / self.unit**2
        grow = self.rows / self.others
        for rows, covs in self._covariances():
            np.einsum("ijj->ij", covs)[...] += ridge
            regular = _are_regular(covs)
            away = grow * self.z[rows[regular]]
            solved = np.linalg.solve(covs[regular], away[:, :, np.newaxis])[:, :, 0]
            distances[rows[regular]] = _sums(away * solved)
        return distances

    def weaker(self) -> Doubles:
        """Return the same to an attacker who weighs columns by their variances; without ridge."""
        distances = np.full(self.rows, np.nan)
        if not self.varying or self.others < 2:
            return distances
        for rows, covs in self._covariances():
            away = self.rows / self.others * self.z[rows]
            weights = away / np.diagonal(covs, axis1=1, axis2=2)
            spread = np.einsum("ij,ijk,ik->i", weights, covs, weights)
            distances[rows] = _sums(weights * away) ** 2 / np.where(spread > 0, spread, 1.0)
        return distances

    def _covariances(self) -> Iterator[tuple[npt.NDArray[np.intp], Doubles]]:
        """Yield rows and the shrunk covariances of all others, without rows that dominate."""
        grow, variances = self.rows / self.others, np.diag(self.scatter)
        step = max(1, _AT_ONCE // self.scatter.size)
        for start in range(0, self.rows, step):
            z = self.z[start : start + step]
            remaining = variances - grow * z * z
            safe: npt.NDArray[np.bool_] = np.all(remaining > _SHARE * variances, axis=1)
            weights = 1 / np.where(safe[:, np.newaxis], remaining, 1.0)
            all_of_it = np.einsum("ij,ij->i", weights @ self.fourth, weights)
            safe &= self._products(z, weights, diagonal=True) > _SHARE * all_of_it
            z = z[safe]
            covs = self.scatter - grow * z[:, :, np.newaxis] * z[:, np.newaxis, :]
            covs /= self.freedom
            self._shrink(covs, z)
            yield np.flatnonzero(safe) + start, covs

    def _shrink(self, covs: Doubles, z: Doubles) -> None:
        """Shrink covariances in place, as `_estimate.shrink` does with the others at hand."""
        rule = self.fit.shrinkage

        def products(rule: str, weights: Doubles) -> Doubles:
            return self._products(z, weights, diagonal=rule != "auto")

        plain = covs * (self.freedom / self.others)
        intensities = _estimate.intensities_of(plain, rule, self.others, products)
        _estimate.towards_targets(covs, rule, intensities)

    def _products(self, z: Doubles, weights: Doubles, *, diagonal: bool) -> Doubles:
        """Return, for each row left out, what `_estimate.row_products` gives of the others.

        The sum over j and l of w_j w_l [A_jl + 4 B_jl d_l + 2 T_jj d_l^2 + 4 T_jl d_j d_l +
        N d_j^2 d_l^2 - (z + d)_j^2 (z + d)_l^2]; without j = l if not `diagonal`.
        """
        d = z / self.others
        fourth, third, second = self.fourth, self.third, self.scatter
        squares, away = d * d, (z + d) ** 2
        variances = np.diag(second)
        if not diagonal:
            fourth, third, second = (
                matrix - np.diag(np.diag(matrix)) for matrix in (fourth, third, second)
            )
        step = weights * d
        total = _sums((weights @ fourth) * weights) + 4 * _sums((weights @ third) * step)
        total += 4 * _sums((step @ second) * step)
        for factor, first, right in (
            (2.0, variances, squares),
            (float(self.rows), squares, squares),
            (-1.0, away, away),
        ):
            part = _sums(weights * first) * _sums(weights * right)
            if not diagonal:
                part -= _sums(weights**2 * first * right)
            total += factor * part
        return total


def _are_regular(covs: Doubles) -> npt.NDArray[np.bool_]:
    """Tell which covariances leave every column a share of its variance, given earlier ones."""
    regular = np.ones(len(covs), dtype=bool)
    try:
        factors = np.linalg.cholesky(covs)
    except np.linalg.LinAlgError:  # at least one is singular
        for i, cov in enumerate(covs):
            factor = dense.factorise(cov, _estimate.EPSILON)
            regular[i] = factor.dependent is None and factor.smallest_share > _LEFT
        return regular
    shares = np.einsum("ijj->ij", factors) ** 2 / np.einsum("ijj->ij", covs)
    return np.asarray(shares.min(axis=1, initial=1.0) > _LEFT)


def _sums(values: Doubles) -> Doubles:
    return np.asarray(values.sum(axis=1))
