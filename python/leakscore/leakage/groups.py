"""Groups of rows of a table, such as the records of one person, each against the other rows.

Leaving out a group of k rows changes the scatter matrix S of the N rows by a matrix of rank k: with
D the group's rows less the mean of all, f = N - k - ddof and R the ridge, the covariance of the
others is (A - D'WD) / f, A = S + f R, W = I + 11'/(N - k), and their mean is further away from a
row of the group by the mean of D'11'/(N - k). A sum of rows with weights a is D'Wa away from its
expectation. With K = W^(1/2) D A^-1 D' W^(1/2) (Woodbury) its distance is

    f (W^(1/2) a)' K (I - K)^-1 W^(1/2) a,

which for one row is the formula of `leave_one_out`. W^(1/2) = I + c 11', c = (sqrt(N/(N-k)) - 1)/k.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore.reference import Reference, SingularCovarianceError, left_out
from leakscore.reference.covariances import Table
from leakscore.typing import Doubles

__all__ = ["Groups"]

Integers: TypeAlias = npt.NDArray[np.intp]

_BLOCK = 2**20  # numbers in the largest temporary: 8 MB

# Directions in which the other rows vary less than this, in variances of the table, have no
# variance; a sum further away along them than this is told from every other.
_NO_VARIANCE, _NO_SHIFT = 1e-12, 1e-7


@dataclass(frozen=True)
class Groups:
    """Rows of a table by group.

    Attributes
    ----------
    of_row : (N,) ndarray of int
        The group of each row, 0 to P - 1; no group is empty.
    """

    of_row: Integers

    @cached_property
    def sizes(self) -> Integers:
        """How many rows each group has, (P,)."""
        return np.bincount(self.of_row)

    @cached_property
    def order(self) -> Integers:
        """The rows, group after group."""
        return np.argsort(self.of_row, kind="stable")

    @cached_property
    def first(self) -> Integers:
        """First row of each group, (P,)."""
        return np.asarray(self.order[self._starts])

    @cached_property
    def _starts(self) -> Integers:
        return np.cumsum(self.sizes) - self.sizes

    @property
    def alone(self) -> npt.NDArray[np.bool_]:
        """Which groups have one row only, (P,)."""
        return np.asarray(self.sizes == 1)

    def rows(self, group: int) -> Integers:
        """Return the rows of a group."""
        start = self._starts[group]
        return self.order[start : start + self.sizes[group]]

    def blocks(self, dim: int) -> Iterator[tuple[Integers, Integers]]:
        """Yield groups of equal size, at least 2, and their rows (g, k), some MB at a time."""
        several = np.flatnonzero(self.sizes > 1)
        several = several[np.argsort(self.sizes[several], kind="stable")]
        starts = np.flatnonzero(np.diff(self.sizes[several], prepend=1))
        for alike in np.split(several, starts)[1:]:
            size = int(self.sizes[alike[0]])
            width = max(1, _BLOCK // (size * max(dim, min(size, dim))))
            for start in range(0, len(alike), width):
                block = alike[start : start + width]
                yield block, self.order[self._starts[block][:, np.newaxis] + np.arange(size)]


def sums_of(batch: Integers, weight: Doubles) -> Doubles:
    """Return the weights a of each group's rows in the sums, (g, k, T), one sum a batch."""
    names, places = np.unique(batch, return_inverse=True)
    return np.asarray(
        (places.reshape(batch.shape)[..., np.newaxis] == np.arange(len(names)))
        * weight[..., np.newaxis]
    )


def grown(away: Doubles, weights: Doubles, total: int) -> tuple[Doubles, Doubles]:
    """Return W^(1/2) D, (g, k, d), and W^(1/2) a, (g, k, T), for groups of a table's `total` rows.

    The scatter matrix without a group is S less the square of the first; the group's sums are away
    from their expectation by the product of the two.
    """
    size = away.shape[1]
    grow = (np.sqrt(total / (total - size)) - 1) / size
    return (
        away + grow * away.sum(axis=1, keepdims=True),
        weights + grow * weights.sum(axis=1, keepdims=True),
    )


def distances(
    table: Table, reference: Reference, groups: Groups, batch: Integers, weight: Doubles
) -> Doubles:
    """Squared distances of weighted sums of each group's rows, added over batches, (P,).

    The reference is that of all rows; each sum is compared with as many records
    drawn from the law of these. Groups of one row are 0 here: `reference.left_out` has them.

    Parameters
    ----------
    table : (N, d) ndarray
    reference : Reference
        Fitted on the table.
    groups : Groups
    batch : (N,) ndarray of int
        Rows of a group in one batch add up; the batches of a group are independent.
    weight : (N,) ndarray
        Of each row in its sum.
    """
    fitted = _Fitted(table, reference, left_out.require_own_table(table, reference))
    reference.invertible()
    result = np.zeros(len(groups.sizes))
    if groups.alone.all():
        return result
    fitted.require_freedom(int(groups.sizes.max()))
    closed = fitted.fit.shrinkage is None and reference.kind != "low-rank"
    again = [] if closed else [np.flatnonzero(~groups.alone)]
    for block, rows in groups.blocks(reference.dim) if closed else ():
        near, share = fitted.changed(rows, sums_of(batch[rows], weight[rows]))
        result[block] = near
        again.append(block[~(share <= left_out.DOMINANT)])
    repeated = np.concatenate(again)
    fitted.require_little_work(len(repeated))
    for group in repeated:
        rows = groups.rows(int(group))
        result[group] = fitted.anew(rows, sums_of(batch[rows], weight[rows]))
    return result


@dataclass(frozen=True)
class _Fitted:
    """A table, the reference of all its rows, and how that was estimated."""

    table: Table
    reference: Reference
    fit: left_out.CovarianceFit

    def require_freedom(self, largest: int) -> None:
        """Refuse a group that leaves too few rows for a covariance."""
        rows = self.fit.rows - self.fit.ddof
        if largest >= rows:
            raise ValueError(
                f"Expected groups of fewer than {rows} of the {self.fit.rows} rows, not one of "
                f"{largest}: the others have no covariance"
            )

    def require_little_work(self, times: int) -> None:
        """Refuse too many estimates anew."""
        if times * left_out.work_of(self.table, self.reference.kind) > left_out.MOST_WORK:
            raise ValueError(
                f"Expected reference without shrinkage={self.fit.shrinkage!r}, or fewer groups, "
                f"for X of shape {self.table.shape}: {times} groups need an estimate of their own"
            )

    def changed(self, rows: Integers, weights: Doubles) -> tuple[Doubles, Doubles]:
        """Distances of groups (g, k) by the closed form, and their largest share of a variance."""
        total, size = self.fit.rows, rows.shape[1]
        freedom = total - size - self.fit.ddof
        full = self.reference.kind == "full"
        if full and total - size <= self.reference.dim and not self.ridge.any():
            return np.zeros(len(rows)), np.full(len(rows), np.inf)
        away = np.asarray(self.table[rows] - self.reference.mean, dtype=np.float64)
        away, weights = grown(away, weights, total)
        # N - ddof times the covariance is S + (N - ddof) R, and A = S + (N - ddof - k) R.
        scatter, more = (total - self.fit.ddof) * self.reference.cov, size * self.ridge
        if full:
            return _of_full(away, weights, scatter - np.diag(more), freedom)
        return _of_diagonal(away, weights, scatter - more, freedom)

    @property
    def ridge(self) -> Doubles:
        """What was added to the variances, (d,)."""
        return np.broadcast_to(self.fit.ridge, (self.reference.dim,))

    def anew(self, rows: Integers, weights: Doubles) -> float:
        """Distance of one group from an estimate without it."""
        refitted = left_out.refitted(self.table, rows, self.fit, self.reference.kind)
        sums = weights.T @ np.asarray(self.table[rows] - refitted.mean, dtype=np.float64)
        try:
            return float(np.sum(sums * refitted.solve(sums)))
        except SingularCovarianceError:
            return _without_inverse(sums, refitted, np.sqrt(self.fit.variances))


def _of_full(
    away: Doubles, weights: Doubles, scatter: Doubles, freedom: int
) -> tuple[Doubles, Doubles]:
    """Distances from the eigenvalues of K, or of the d x d matrix with the same ones."""
    scale = np.sqrt(np.diag(scatter))
    lower = np.linalg.cholesky(scatter / np.outer(scale, scale))
    white = (away / scale) @ np.linalg.inv(lower).T
    if white.shape[1] > white.shape[2]:
        weights, white = white.transpose(0, 2, 1) @ weights, white.transpose(0, 2, 1)
        shares, directions = np.linalg.eigh(white @ white.transpose(0, 2, 1))
        gains = 1 / np.maximum(1 - shares, 1 - left_out.DOMINANT)
    else:
        shares, directions = np.linalg.eigh(white @ white.transpose(0, 2, 1))
        shares = np.maximum(shares, 0.0)
        gains = shares / np.maximum(1 - shares, 1 - left_out.DOMINANT)
    along = directions.transpose(0, 2, 1) @ weights
    return freedom * np.sum(gains[..., np.newaxis] * along**2, axis=(1, 2)), shares[:, -1]


def _of_diagonal(
    away: Doubles, weights: Doubles, scatter: Doubles, freedom: int
) -> tuple[Doubles, Doubles]:
    """Each coordinate by itself."""
    shares = np.sum(away**2, axis=1) / scatter
    sums = away.transpose(0, 2, 1) @ weights
    remaining = scatter * np.maximum(1 - shares, 1 - left_out.DOMINANT)
    return freedom * np.sum(sums**2 / remaining[..., np.newaxis], axis=(1, 2)), shares.max(axis=1)


def _without_inverse(sums: Doubles, reference: Reference, scale: Doubles) -> float:
    """Distance by a singular covariance: +inf, unless the sums lie where the others vary."""
    cov = np.diag(reference.cov) if reference.kind == "diagonal" else reference.cov
    variances, directions = np.linalg.eigh(cov / np.outer(scale, scale))
    along = (sums / scale) @ directions
    varies = variances > _NO_VARIANCE * len(scale)
    if (np.abs(along[:, ~varies]) > _NO_SHIFT * (1 + np.abs(along).max())).any():
        return np.inf
    return float(np.sum(along[:, varies] ** 2 / variances[varies]))
