"""Squared Mahalanobis distances of the rows of a table, each from the table without it.

Under a shrunk covariance no row needs a pass over the table. Let T be the scatter about the mean, z
a row less the mean and c = N/(N-1). Without that row the scatter is T - c z z', and the mean moves
by -d, with d = z/(N-1). The intensities need the sum over the other rows of
(x_j - m_j)^2 (x_l - m_l)^2. It follows from the sums over all rows of z_j^2 z_l^2 (A),
z_j^2 z_l (B) and z_j z_l (T). So a row takes d^3 / 3 steps, not N d^2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from leakscore import _core
from leakscore.reference import covariances, fitting
from leakscore.reference.covariances import Kind, Table
from leakscore.reference.fitting import CovarianceFit
from leakscore.reference.low_rank import LowRank
from leakscore.reference.record import Reference, SingularCovarianceError
from leakscore.reference.record import restored as _estimated
from leakscore.typing import Doubles

__all__ = [
    "DOMINANT",
    "MOST_WORK",
    "CovarianceFit",
    "distances",
    "refitted",
    "require_own_table",
    "weaker_if_shrunk",
    "work_of",
]

MOST_WORK = 2**37
"""Most multiplications for exact estimates without each of some rows: seconds."""

DOMINANT = 0.999
"""If one row has more than this share of the variance in some direction, the closed form loses
digits, and the covariance is estimated again without that row."""

# If the trace of S is larger than this, its inverse loses digits. If the rows are few, the
# covariance is then estimated again without each of them, too.
_STIFF = 1e4


def distances(table: Table, reference: Reference, fit: CovarianceFit) -> Doubles:
    """Return each row's distance from the others; inf if only that row varies in some direction."""
    reference.invertible()
    freedom = fit.rows - 1 - fit.ddof
    if freedom < 1:
        raise ValueError(
            f"reference must be fitted with ddof={fit.ddof} <= {fit.rows - 2}, the number "
            "of rows less 2"
        )
    if reference.kind == "diagonal":
        return _from_diagonal(table, reference, fit, freedom)
    if fit.shrinkage is None:
        covariance = reference.covariance
        if isinstance(covariance, LowRank) and (covariance.diagonal > 0).all():
            return _from_rows(table, covariance, fit)
        return _from_full(table, reference, fit, freedom)
    kind = reference.kind
    if kind == "full" and _is_wide(table, fit) and np.ndim(fit.ridge) == 0:
        kind = "low-rank"  # N^2 d steps a row in place of d^3
    if kind == "full" and fit.rows * reference.dim**3 <= MOST_WORK:
        result = Shrunk(table, fit).distances()
        lost = np.flatnonzero(np.isnan(result))
    else:
        result, lost = np.empty(fit.rows), np.arange(fit.rows)
    if len(lost) * work_of(table, kind) > MOST_WORK:
        raise ValueError(
            f"reference must be without shrinkage={fit.shrinkage!r} for X of shape {table.shape}: "
            "each row would need an estimate of its own. Use shrinkage=0.0 with ridge=..., or "
            "cov='diagonal', which have a closed form"
        )
    # Each iteration estimates a whole covariance; the loop itself costs nothing beside it.
    for row in lost.tolist():
        result[row] = _refit_row(table, row, fit, kind)
    return result


def weaker_if_shrunk(table: Table, reference: Reference) -> Doubles:
    """Return the distances to an attacker who knows variances only; nan where digits are lost."""
    fit = require_own_table(table, reference)
    if not _is_wide(table, fit):
        return Shrunk(table, fit).weaker()
    result, fit = np.full(fit.rows, np.nan), replace(fit, ridge=0.0)
    # Each iteration estimates a covariance of low rank; the loop itself costs nothing beside it.
    for row in range(fit.rows):
        others = refitted(table, row, fit, "low-rank")
        if (others.variances > _SAFE_SHARE * fit.variances).all():
            centred = (table[row] - others.mean)[np.newaxis]
            weights = centred / others.variances
            spread = float(others.covariance.form(weights, weights)[0])
            result[row] = float((weights @ centred.T)[0, 0]) ** 2 / (spread if spread > 0 else 1.0)
    return result


def _is_wide(table: Table, fit: CovarianceFit) -> bool:
    """Return whether N^2 d steps per row are fewer than those with d x d matrices."""
    return 2 * fit.rows < table.shape[1] and fit.shrinkage not in ("ledoit-wolf", "oas")


def fit_of(reference: Reference) -> CovarianceFit:
    """Return how a reference was fitted; refuse one whose covariance was given."""
    if reference._fit is None:
        raise ValueError(f"reference={reference!r} must be from Reference.fit")
    return reference._fit


def require_own_table(table: Table, reference: Reference) -> CovarianceFit:
    """Return how `reference` was fitted; refuse one that was not fitted on this table."""
    fit = reference._fit
    if fit is None:
        raise ValueError("reference must be fitted on X, by Reference.fit(X)")
    if len(table) != fit.rows:
        raise ValueError(f"X must have the {fit.rows} rows that reference was fitted on")
    mean, squares = fitting.moments("X", table)
    variances = squares / (fit.rows - fit.ddof)
    near = 1e-6 * np.sqrt(fit.variances) + 1e-12 * np.abs(reference.mean)
    if (np.abs(mean - reference.mean) > near).any() or not np.allclose(
        variances, fit.variances, rtol=1e-5, atol=0.0
    ):
        raise ValueError("X must be the table that reference was fitted on: its moments differ")
    return fit


def _from_diagonal(table: Table, reference: Reference, fit: CovarianceFit, freedom: int) -> Doubles:
    """Return the distances under independent coordinates, whose variances are without the row."""
    factor, growth = fit.rows / (fit.rows - 1), (fit.rows - fit.ddof) / freedom
    variances = (reference.cov - fit.ridge) * growth + fit.ridge
    sums = _core.left_out(table, reference.mean, factor / freedom / variances)
    return np.asarray(factor * freedom * sums)


def _from_full(table: Table, reference: Reference, fit: CovarianceFit, freedom: int) -> Doubles:
    """Return the distances by updates of rank one, and by new estimates for dominant rows."""
    growth = (fit.rows - fit.ddof) / freedom
    ridge = np.broadcast_to(fit.ridge, (reference.dim,))
    if not ridge.any() and fit.rows - 1 <= reference.dim:
        return np.full(fit.rows, np.inf)
    scaled = reference._add((1 / growth - 1) * ridge)  # times growth, it has the divisor `freedom`
    share = shares(table, scaled, fit)
    result = from_shares(share, fit)
    dominant = np.flatnonzero(share > DOMINANT)
    for row in dominant[: int(MOST_WORK // work_of(table))]:
        result[row] = _refit_row(table, row, fit)
    return np.asarray(result)


def shares(rows: Table, reference: Reference, fit: CovarianceFit) -> Doubles:
    """Return the share t of each row in the variance along its own direction, without a ridge."""
    factor, freedom = fit.rows / (fit.rows - 1), fit.rows - 1 - fit.ddof
    growth = (fit.rows - fit.ddof) / freedom
    return covariances.distances(reference.invertible(), "X", rows, reference.mean) * (
        factor / freedom / growth
    )


def from_shares(share: Doubles, fit: CovarianceFit) -> Doubles:
    """Return the distances c f t / (1 - t) of rows with shares t; inf where t is 1 to rounding."""
    factor, freedom = fit.rows / (fit.rows - 1), fit.rows - 1 - fit.ddof
    lost = covariances.tolerance(len(fit.variances), fitting.EPSILON)
    with np.errstate(divide="ignore"):
        return np.asarray(factor * freedom * share / np.where(1 - share > lost, 1 - share, 0.0))


def _from_rows(table: Table, covariance: LowRank, fit: CovarianceFit) -> Doubles:
    """Return the distances from the inverse of the n0 x n0 matrix S = I + X D^-1 X' / freedom.

    (x-mean)' A^-1 (x-mean) / f is 1 less the row's entry q on the diagonal of S^-1, and 1 - t is
    (n0 q - 1) / (n0 - 1). As the rows are centred, the direction of ones adds 1 / n0 to q. A large
    eigenvalue in that direction removes this part, so that it need not cancel.
    """
    rows = fit.rows
    gram = covariance.capacity().gram.matrix
    if _capacity_trace(gram, fit) > _STIFF and rows * work_of(table, "low-rank") <= MOST_WORK:
        return np.array([_refit_row(table, row, fit, "low-rank") for row in range(rows)])
    return _distances_of_gram(gram, fit)


def from_gram(gram: Doubles, fit: CovarianceFit) -> Doubles:
    """Return the distances of rows from their Gram matrix X D^-1 X' alone.

    Refuse a matrix whose inverse would lose digits.
    """
    if _capacity_trace(gram, fit) > _STIFF:
        raise ValueError(
            f"ridge must be larger: with {fit.ridge!r} the distances of rows that are not at "
            "hand would lose digits"
        )
    return _distances_of_gram(gram, fit)


def _capacity_trace(gram: Doubles, fit: CovarianceFit) -> float:
    freedom = fit.rows - 1 - fit.ddof
    return 1 + fit.rows + float(np.trace(gram)) / freedom


def _distances_of_gram(gram: Doubles, fit: CovarianceFit) -> Doubles:
    rows, freedom = fit.rows, fit.rows - 1 - fit.ddof
    matrix = gram / freedom
    matrix.flat[:: rows + 1] += 1
    trace = 1 + float(np.trace(matrix))
    matrix += (trace - 1) / rows
    lower, _ = _core.cholesky(matrix)
    inverse = np.eye(rows)
    _core.solve_rows(lower, inverse)
    remaining = (rows * np.diag(inverse) - 1 / trace) / (rows - 1)
    return np.asarray(rows / (rows - 1) * freedom * (1 - remaining) / remaining)


def work_of(table: Table, kind: str = "full") -> int:
    """Return the number of multiplications of one estimate."""
    rows, dim = table.shape
    return int((rows + dim) * (rows * rows if kind == "low-rank" else dim * dim))


def _refit_row(table: Table, row: int, fit: CovarianceFit, kind: Kind = "full") -> float:
    """Return a row's distance from the others, with mean and covariance estimated as in `fit`."""
    try:
        return float(refitted(table, row, fit, kind).squared_mahalanobis(table[row]))
    except SingularCovarianceError:
        return np.inf


def refitted(
    table: Table, rows: int | npt.NDArray[np.intp], fit: CovarianceFit, kind: Kind
) -> Reference:
    """Return mean and covariance of a table without some rows, estimated as in `fit`."""
    others = np.delete(table, rows, axis=0)
    freedom = len(others) - fit.ddof
    if kind == "low-rank":
        mean, low_rank, _ = fitting.estimate_of_gram(others, fit.shrinkage, 0.0, freedom)
        return _estimated(mean, low_rank.plus(np.asarray(fit.ridge)), None)
    mean, scatter = fitting.moments("X", others)
    if kind == "full":
        scatter = covariances.scatter(others, mean, single=False)
    options = fit.shrinkage, fit.ridge, freedom
    products = fitting.products_of(others, mean)
    return _estimated(*fitting.of_scatter(mean, scatter, len(others), options, products))


# If the others have less than this share of a sum, the difference has lost digits.
_SAFE_SHARE = 1e-3
# The same for a variance given earlier columns.
_LEAST_SHARE = 1e-9
_BLOCK_ENTRIES = 2**20  # entries of all covariances of a block


class Shrunk:
    """Sums over the rows of a table, and from them the distance of each from the others."""

    def __init__(self, table: Table, fit: CovarianceFit) -> None:
        mean, squares = fitting.moments("X", table)
        self.fit, self.rows, self.others = fit, fit.rows, fit.rows - 1
        self.freedom = self.others - fit.ddof
        variances = squares / fit.rows
        self.varying = bool((variances > 1e-20 * mean**2).all()) and bool(variances.all())
        common = fit.shrinkage in ("ledoit-wolf", "oas")  # these have one scale for all columns
        self.unit = np.sqrt(np.full_like(variances, variances.mean()) if common else variances)
        if not self.varying:
            return
        self.z = (table - mean) / self.unit
        dim = len(mean)
        both = np.concatenate([self.z * self.z, self.z], axis=1)
        sums = covariances.scatter(both, np.zeros(2 * dim), single=False)
        self.fourth, self.third = sums[:dim, :dim], sums[:dim, dim:]
        self.scatter = sums[dim:, dim:]

    def distances(self) -> Doubles:
        """Return the distance of each row from the others; nan where digits would be lost."""
        distances = np.full(self.rows, np.nan)
        ridge = np.asarray(self.fit.ridge) / self.unit**2
        grow = self.rows / self.others
        for rows, covs in self._covariances():
            np.einsum("ijj->ij", covs)[...] += ridge
            regular = _are_regular(covs)
            deviations = grow * self.z[rows[regular]]
            solved = np.linalg.solve(covs[regular], deviations[:, :, np.newaxis])[:, :, 0]
            distances[rows[regular]] = _sums(deviations * solved)
        return distances

    def weaker(self) -> Doubles:
        """Return the distances to an attacker who weights columns by variance; without ridge."""
        distances = np.full(self.rows, np.nan)
        for rows, covs in self._covariances():
            deviations = self.rows / self.others * self.z[rows]
            weights = deviations / np.diagonal(covs, axis1=1, axis2=2)
            spread = np.einsum("ij,ijk,ik->i", weights, covs, weights)
            distances[rows] = _sums(weights * deviations) ** 2 / np.where(spread > 0, spread, 1.0)
        return distances

    def _covariances(self) -> Iterator[tuple[npt.NDArray[np.intp], Doubles]]:
        """Yield rows, and for each the shrunk covariance without it; dominant rows are skipped."""
        if not self.varying or self.others < 2:
            return
        grow, variances = self.rows / self.others, np.diag(self.scatter)
        step = max(1, _BLOCK_ENTRIES // self.scatter.size)
        for start in range(0, self.rows, step):
            z = self.z[start : start + step]
            remaining = variances - grow * z * z
            safe: npt.NDArray[np.bool_] = np.all(remaining > _SAFE_SHARE * variances, axis=1)
            weights = 1 / np.where(safe[:, np.newaxis], remaining, 1.0)
            total = np.einsum("ij,ij->i", weights @ self.fourth, weights)
            safe &= self._products(z, weights, diagonal=True) > _SAFE_SHARE * total
            z = z[safe]
            covs = self.scatter - grow * z[:, :, np.newaxis] * z[:, np.newaxis, :]
            covs /= self.freedom
            self._shrink(covs, z)
            yield np.flatnonzero(safe) + start, covs

    def _shrink(self, covs: Doubles, z: Doubles) -> None:
        """Shrink covariances in place, as `fitting.shrink` does from the other rows."""
        rule = self.fit.shrinkage

        def products(rule: str, weights: Doubles) -> Doubles:
            return self._products(z, weights, diagonal=rule != "auto")

        plain = covs * (self.freedom / self.others)
        intensities = fitting.intensities_of(plain, rule, self.others, products)
        fitting.towards_targets(covs, rule, intensities)

    def _products(self, z: Doubles, weights: Doubles, *, diagonal: bool) -> Doubles:
        """Return, for each row left out, `fitting.row_products` of the other rows.

        It is the sum over j and l of w_j w_l [A_jl + 4 B_jl d_l + 2 T_jj d_l^2 + 4 T_jl d_j d_l +
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
    """Return which covariances leave each column a share of its variance given earlier columns."""
    regular = np.ones(len(covs), dtype=bool)
    try:
        factors = np.linalg.cholesky(covs)
    except np.linalg.LinAlgError:  # at least one is singular
        for i, cov in enumerate(covs):
            factor = covariances.factorise(cov, fitting.EPSILON)
            regular[i] = factor.dependent is None and factor.smallest_share > _LEAST_SHARE
        return regular
    shares = np.einsum("ijj->ij", factors) ** 2 / np.einsum("ijj->ij", covs)
    return np.asarray(shares.min(axis=1, initial=1.0) > _LEAST_SHARE)


def _sums(values: Doubles) -> Doubles:
    return np.asarray(values.sum(axis=1))
