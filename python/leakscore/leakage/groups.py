"""Leakage scores of the rows of a table, or groups of them, each against the others; their noise.

A group is for example the records of one person.

Leaving out a group of k rows changes the scatter matrix S of the N rows by a matrix of rank k: with
D the group's rows less the mean of all, f = N - k - ddof and R the ridge, the covariance of the
others is (A - D'WD) / f, A = S + f R, W = I + 11'/(N - k), and their mean is further away from a
row of the group by the mean of D'11'/(N - k). A sum of rows with weights a is D'Wa away from its
expectation. With K = W^(1/2) D A^-1 D' W^(1/2) (Woodbury) its distance is

    f (W^(1/2) a)' K (I - K)^-1 W^(1/2) a,

which for one row is the formula of `leave_one_out`. W^(1/2) = I + c 11', c = (sqrt(N/(N-k)) - 1)/k.

What earlier means of a table's first rows revealed of a person stays revealed: the noise on the
present mean may use only what remains of the limit. Means of the first rows give away the means of
batches; the last batch is that of the present mean, and its mean has the noise times n over its
size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.leakage._shaped import (
    SAFE,
    ShapedNoise,
    Task,
    Wish,
    largest_errors,
    solve,
    weights_of,
)
from leakscore.leakage.noise.problem import PersonBlock, PersonsProblem
from leakscore.reference import Reference, SingularCovarianceError, left_out
from leakscore.reference.covariances import Table
from leakscore.reference.left_out import CovarianceFit
from leakscore.typing import Array, Doubles, Flags

__all__ = ["Groups", "OwnedBatches", "OwnedTable", "Wish"]

Integers: TypeAlias = npt.NDArray[np.intp]

_BLOCK = 2**20  # numbers in the largest temporary: 8 MB

# Directions in which the other rows vary less than this, in variances of the table, have no
# variance; a sum further away along them than this differs from every other.
_NO_VARIANCE, _NO_SHIFT = 1e-12, 1e-7


def leave_one_out(
    X: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    population: Literal["infinite", "finite"] = "infinite",
) -> Doubles:
    """Leakage score of every row of a table, each against the table without it.

    An outlying row inflates the variances with which it is measured, so its score within the sample
    stays below n0 / n however far out it lies. An attacker's reference does not hold the row.

    Parameters
    ----------
    X : (n0, d) array_like
        The table that `reference` was fitted on.
    reference : Reference
        From `Reference.fit`, with any options; also after `add_diagonal`.
    n : int
        Number of records averaged in the release, at least 2.
    population : {"infinite", "finite"}
        "infinite": the other records of the release are new draws from the population. "finite":
        they are drawn without replacement from these N = n0 rows, n < N; the mean then varies less,
        by the factor 1 - n/N, and the scores are divided by it.

    Returns
    -------
    (n0,) ndarray
        m of each row; +inf where the row differs from the others in a direction in which the
        others do not vary (up to rounding): then the mean makes its presence certain.

    Raises
    ------
    ValueError
        If `reference` was not fitted, or `X` is not its table; if population="finite" and n >= N;
        if a shrunk covariance would have to be estimated too many times.
    SingularCovarianceError
        If the covariance of the whole table is singular.

    Notes
    -----
    With M the in-sample distance, ddof 0 and no shrinkage or ridge, M (n0/(n0-1)) / (1 - M/(n0-1)).
    In general, with c = n0/(n0-1), f = n0 - 1 - ddof, A the covariance with the divisor f (and the
    ridge), and t = c (x-mean)' A^-1 (x-mean) / f: the distance is c f t / (1 - t), as leaving a row
    out subtracts c (x-mean)(x-mean)' from the scatter matrix (Sherman and Morrison). A diagonal
    reference has the same formula in every coordinate. Shrinkage changes every entry, so the
    covariance is then estimated again without each row, the intensity included.

    Examples
    --------
    >>> import leakscore
    >>> X = [[0.0], [1.0], [2.0], [3.0], [24.0]]
    >>> reference = leakscore.Reference.fit(X)
    >>> leakscore.leakage.leakage_score(X, reference, 10).round(3)
    array([0.044, 0.03 , 0.02 , 0.011, 0.395])
    >>> leakscore.leakage.leave_one_out(X, reference, 10).round(3)
    array([6.20e-02, 4.10e-02, 2.60e-02, 1.40e-02, 4.05e+01])
    """
    validation.instance("reference", reference, Reference)
    n = validation.count("n", n, low=2)
    validation.choice("population", population, ("infinite", "finite"))
    table = validation.matrix("X", X, cols=reference.dim)
    fit = left_out.require_own_table(table, reference)
    divisor = n * left_to_chance(n, fit.rows) if population == "finite" else float(n)
    return left_out.distances(table, reference, fit) / divisor


def left_to_chance(n: int, rows: int) -> float:
    """Return 1 - n/N, by which the mean of n of N rows varies less than that of a population's."""
    if n >= rows:
        raise ValueError(
            f"n={n} must be < {rows}, the number of rows, with population='finite': the mean of "
            "all rows leaves nothing to chance"
        )
    return 1 - n / rows


def leave_group_out(
    X: npt.ArrayLike,
    reference: Reference,
    n: npt.ArrayLike,
    groups: npt.ArrayLike,
    *,
    batches: npt.ArrayLike | None = None,
    population: Literal["infinite", "finite"] = "infinite",
) -> Doubles:
    """Leakage score of groups of rows of a table, each against the table without its rows.

    A group is all records of one person. It is in the data as a whole or not at all, so neither its
    own rows nor their spread are part of what an attacker knows of the others.

    Parameters
    ----------
    X : (n0, d) array_like
        The table that `reference` was fitted on.
    reference : Reference
        From `Reference.fit`, with any options; also after `add_diagonal`.
    n : int or (T,) array_like of int
        Number of records averaged in the release, at least 2; with `batches`, that of each batch,
        at least 1.
    groups : (n0,) array_like of int or str
        The group of each row.
    batches : (n0,) array_like of int, optional
        Which batch each row is in, 0 to T - 1. The mean of every batch is released, as it is by the
        difference of two cumulative means (`release_leakage`).
    population : {"infinite", "finite"}
        As in `leave_one_out`. "finite" needs one release, and n rows outside of each group.

    Returns
    -------
    (P,) ndarray
        m of each group, in the order of ``numpy.unique(groups)``; +inf where a batch holds no row
        of another group, or the group's rows add up to something in a direction in which the others
        do not vary. Groups of one row have the bits of `leave_one_out`.

    Raises
    ------
    TypeError
        If the labels are neither integers nor strings.
    ValueError
        If `reference` was not fitted, or `X` is not its table; if a group has more rows than the
        release, or leaves too few for a covariance or for a finite population; if a covariance
        would have to be estimated too many times.
    SingularCovarianceError
        If the covariance of the whole table is singular.

    Notes
    -----
    With mu and C the mean and covariance of the other rows and s_t the sum of x - mu over the
    group's rows in batch t: the sum over t of s_t' C^-1 s_t / n_t, because the batches are disjoint
    and their means independent. This is the limit as n_t grows beyond the group. The k rows of a
    group change the scatter matrix by a matrix of rank k, so no covariance is estimated anew
    (Woodbury), unless a group has nearly all of the variance in some direction.

    Examples
    --------
    >>> import leakscore
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [9.0], [9.0]]
    >>> person = ["a", "b", "c", "d", "e", "f", "f"]
    >>> reference = leakscore.Reference.fit(X)
    >>> leakscore.leakage.leave_group_out(X, reference, 20, person).round(2)
    array([0.11, 0.05, 0.02, 0.01, 0.  , 4.9 ])
    """
    validation.instance("reference", reference, Reference)
    validation.choice("population", population, ("infinite", "finite"))
    table = validation.matrix("X", X, cols=reference.dim)
    fit = left_out.require_own_table(table, reference)
    owned = Groups(_codes("groups", groups, len(table)))
    sizes, batch = _sizes(n, batches, len(table), population)
    owned_rows = _held(owned, batch, sizes)
    divisors = sizes.copy()
    if population == "finite":
        most = fit.rows - int(owned.sizes.max())
        if sizes[0] > most:
            raise ValueError(
                f"n={int(sizes[0])} must be <= {most} with population='finite': no more "
                "rows are left to draw without the largest group"
            )
        divisors *= 1 - sizes / fit.rows
    every = divisors[batch]
    scores = owned.scores(
        lambda: left_out.distances(table, reference, fit) / every,
        lambda: distances(table, reference, owned, batch, 1 / np.sqrt(every)),
    )
    scores[owned_rows] = np.inf
    return scores


def _codes(name: str, labels: npt.ArrayLike, size: int) -> npt.NDArray[np.intp]:
    """Number the labels in their order."""
    validation.unmasked(name, labels)
    array = np.asarray(labels)
    if array.dtype.kind not in "iuU":
        raise TypeError(f"{name} must hold integers or strings, not dtype {array.dtype}")
    return validation.owners(name, array, size)[0]


def _sizes(
    n: npt.ArrayLike, batches: npt.ArrayLike | None, rows: int, population: str
) -> tuple[Doubles, npt.NDArray[np.intp]]:
    """Return how many records each batch has, and the batch of each row."""
    if batches is None:
        records = validation.count("n", n, low=2)
        return np.array([float(records)]), np.zeros(rows, dtype=np.intp)
    if population == "finite":
        raise ValueError("batches must not be given with population='finite': each is drawn anew")
    sizes = validation.whole("n", n, 1)
    if sizes.ndim != 1 or sizes.size == 0:
        raise ValueError(f"n of shape {sizes.shape} must be (T,) with T >= 1")
    batch = validation.whole("batches", batches, 0)
    validation.require_size("batches", batch, rows)
    if batch.max() >= sizes.size:
        raise ValueError(f"batches={int(batch.max())} must be in [0, {sizes.size - 1}]")
    return sizes, batch.astype(np.intp)


def _held(owned: Groups, batch: npt.NDArray[np.intp], sizes: Doubles) -> npt.NDArray[np.intp]:
    """Return the groups that are all of a batch; refuse those that are more."""
    pair, counts = np.unique(owned.of_row * len(sizes) + batch, return_counts=True)
    most = sizes[pair % len(sizes)]
    if (counts > most).any():
        at = int(np.argmax(counts > most))
        raise ValueError(
            f"n={int(most[at])} must be >= {counts[at]}, the rows of the largest group"
        )
    return np.asarray(pair[counts == most] // len(sizes))


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

    def scores(self, of_rows: Callable[[], Doubles], of_several: Callable[[], Doubles]) -> Doubles:
        """Return scores of groups, (P,): of one row from those of rows, (N,), of others from (P,).

        What no group needs is not computed.
        """
        scores = np.zeros(len(self.sizes)) if self.alone.all() else of_several()
        if self.alone.any():
            scores[self.alone] = of_rows()[self.first[self.alone]]
        return scores

    def blocks(self, dim: int, least: int = 2) -> Iterator[tuple[Integers, Integers]]:
        """Yield groups of equal size, `least` or more, and their rows (g, k), some MB at a time."""
        several = np.flatnonzero(self.sizes >= least)
        several = several[np.argsort(self.sizes[several], kind="stable")]
        starts = np.flatnonzero(np.diff(self.sizes[several], prepend=0))
        for alike in np.split(several, starts)[1:]:
            size = int(self.sizes[alike[0]])
            width = max(1, _BLOCK // (size * max(dim, min(size, dim))))
            for start in range(0, len(alike), width):
                block = alike[start : start + width]
                yield block, self.order[self._starts[block][:, np.newaxis] + np.arange(size)]


@dataclass(frozen=True, eq=False)
class OwnedBatches:
    """Persons, and the batches of records of which means are published.

    Attributes
    ----------
    owned : Groups
        The records of each person.
    batch : (N,) ndarray of int
        Which batch each record is in.
    sizes : (T,) ndarray of int
        Records of each batch; the last is the batch of the present mean.
    """

    owned: Groups
    batch: Integers
    sizes: Integers

    @property
    def last(self) -> int:
        """The batch that the present mean adds."""
        return len(self.sizes) - 1

    @cached_property
    def new(self) -> Flags:
        """Which persons have a record in the last batch, (P,)."""
        new = np.zeros(len(self.owned.sizes), dtype=bool)
        new[self.owned.of_row[self.batch == self.last]] = True
        return new

    @cached_property
    def pairs(self) -> tuple[Integers, Integers, Integers]:
        """Pairs of person and batch, how many records each has, and the pair of each record."""
        keys = self.owned.of_row * len(self.sizes) + self.batch
        pair, of_row, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return pair, counts, of_row.reshape(-1)

    def given_away(self, batches: slice = slice(None)) -> Flags:
        """Which persons are all of a batch: its mean is that of their values, (P,)."""
        pair, counts, _ = self.pairs
        person, batch = np.divmod(pair, len(self.sizes))
        meant = np.isin(batch, np.arange(len(self.sizes))[batches])
        certain = np.zeros(len(self.owned.sizes), dtype=bool)
        certain[person[meant & (counts >= self.sizes[batch])]] = True
        return certain


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

    The reference is that of all rows; each sum is compared with that of equally many records drawn
    from the law of the others. Groups of one row are 0 here: `Groups.scores` takes them from
    `reference.left_out`.

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
        result[group] = fitted.refitted(rows, sums_of(batch[rows], weight[rows]))
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
                f"groups must be of fewer than {rows} of the {self.fit.rows} rows, not one of "
                f"{largest}: the others have no covariance"
            )

    def require_little_work(self, times: int) -> None:
        """Refuse too many estimates without a group."""
        if times * left_out.work_of(self.table, self.reference.kind) > left_out.MOST_WORK:
            raise ValueError(
                f"reference must be without shrinkage={self.fit.shrinkage!r}, or groups fewer, for "
                f"X of shape {self.table.shape}: {times} groups need an estimate of their own"
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

    def refitted(self, rows: Integers, weights: Doubles) -> float:
        """Distance of one group from an estimate without it."""
        refitted = left_out.refitted(self.table, rows, self.fit, self.reference.kind)
        sums = weights.T @ np.asarray(self.table[rows] - refitted.mean, dtype=np.float64)
        scale = np.sqrt(self.fit.variances)
        if refitted.kind == "full":
            relative = np.linalg.eigvalsh(refitted.cov / np.outer(scale, scale))
            if relative[0] <= _NO_VARIANCE * len(scale):  # a factor may not show it
                return _without_inverse(sums, refitted, scale)
        try:
            return float(np.sum(sums * refitted.solve(sums)))
        except SingularCovarianceError:
            return _without_inverse(sums, refitted, scale)


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


# --- noise for persons, and after earlier means ---------------------------------------------------


def earlier_counts(value: object, rows: int, n: int) -> tuple[int, ...]:
    """Return the counts behind earlier means of the first rows; the present one is of all."""
    values: Sequence[object] = [value] if np.ndim(value) == 0 else list(value)  # type: ignore[arg-type, call-overload]
    counts = tuple(validation.count("previous", count, 1, rows - 1) for count in values)
    if not counts or any(later <= count for count, later in pairwise(counts)):
        raise ValueError(f"previous={value!r} must increase")
    if n != rows:
        raise ValueError(f"n={n} with previous must be {rows}, the number of rows")
    return counts


@dataclass(frozen=True, eq=False)
class OwnedTable(OwnedBatches):
    """A table whose rows belong to persons, and the batches of rows of which means are published.

    Attributes
    ----------
    table : (N, d) ndarray
    reference : Reference
        Fitted on the table, of kind "full" and without shrinkage.
    n : int
        Records in the present mean.
    share : float
        1 - n/N of a finite population, otherwise 1.
    """

    table: Array
    reference: Reference
    n: int
    share: float

    @property
    def fit(self) -> CovarianceFit:
        """How the covariance was estimated."""
        return left_out.fit_of(self.reference)

    @property
    def size(self) -> int:
        """Records in the present batch."""
        return int(self.sizes[-1])

    @property
    def per_record(self) -> float:
        """By what the noise on the mean is multiplied to be added to one record's covariance."""
        return self.n * (self.n / self.size)

    def can_spare(self, person: int) -> bool:
        """Whether the noise can be computed without a person."""
        others = np.delete(np.arange(len(self.batch)), self.owned.rows(person))
        largest = int(np.delete(self.owned.sizes, person).max(initial=0))
        counts = np.bincount(self.batch[others], minlength=len(self.sizes))
        few = len(others) - self.fit.ddof - max(largest, 1) <= self.reference.dim
        return not few and int(counts[-1]) > 0 and largest < int(self.sizes[-1])

    def without(self, person: int) -> OwnedTable:
        """Return the table without a person's rows; the mean is still of n records."""
        kept = np.delete(np.arange(len(self.batch)), self.owned.rows(person))
        values = self.table[kept]
        return replace(
            self,
            table=values,
            reference=Reference.fit(values, ddof=self.fit.ddof),
            owned=Groups(np.unique(self.owned.of_row[kept], return_inverse=True)[1].reshape(-1)),
            batch=self.batch[kept],
        )

    def earlier_leakage(self) -> Doubles:
        """Leakage of every person from the earlier means, (P,)."""
        if self.last == 0:
            return np.zeros(len(self.owned.sizes))
        weight = np.where(self.batch < self.last, 1 / np.sqrt(self.sizes[self.batch]), 0.0)
        scores = self.owned.scores(
            lambda: left_out.distances(self.table, self.reference, self.fit) * weight**2,
            lambda: distances(self.table, self.reference, self.owned, self.batch, weight),
        )
        scores[self.given_away(slice(0, -1))] = np.inf
        return scores

    def added(self, noise_cov: Doubles) -> Doubles:
        """Leakage of every person from the present batch, under noise on the mean, (P,)."""
        kept = np.ones(self.reference.dim, dtype=bool)
        problem = self._problem(np.ones(len(self.owned.sizes)), kept)
        return problem.distances(self.per_record * noise_cov) / self.size

    def noise(self, wish: Wish, earlier: Doubles) -> ShapedNoise:
        """Find the least noise that keeps earlier leakage and what is added within the limit."""
        if self.given_away(slice(-1, None)).any():
            raise ValueError(
                f"The {self.size} records that the mean adds must be of several persons: no "
                "noise hides one who is all of them"
            )
        weights, kept = weights_of(
            wish.weights, self.reference, largest_errors("X", self.table, self.reference.mean)
        )
        remaining = np.maximum(wish.budget - earlier, 0.0)
        problem = self._problem(self.size * remaining * SAFE, kept)
        judged = self.new

        def leakage(factor: Doubles) -> Doubles:
            inner = factor[kept]
            added = problem.distances(self.per_record * (inner @ inner.T)) / self.size
            return np.where(judged, earlier + added, 0.0)

        task = Task(
            argument="X",
            reference=self.reference,
            problem=problem,
            owner=self.owned.of_row,
            wish=wish,
            per_record=self.per_record,
            weights=weights,
            kept=kept,
            divisor=self.size,
            leakage=leakage,
            share=self.share,
        )
        return solve(task)

    def _problem(self, limits: Doubles, kept: Flags) -> PersonsProblem:
        """Return the problem with the largest distance of every person who is judged, (P,)."""
        total, ddof = self.fit.rows, self.fit.ddof
        largest = int(self.owned.sizes.max())
        if largest >= total - ddof:
            raise ValueError(
                f"ids must be of fewer than {total - ddof} of the {total} rows each, not of "
                f"{largest}: the others have no covariance"
            )
        ridge = np.broadcast_to(self.fit.ridge, (self.reference.dim,))
        scatter = (total - ddof) * (self.reference.cov - np.diag(ridge))
        least = (total - largest - ddof) / self.share
        part = np.ix_(kept, kept)
        return PersonsProblem(
            values=(scatter / least + self.share * np.diag(ridge))[part],
            scatter=scatter[part],
            freedom=least,
            blocks=tuple(self._blocks(limits, kept)),
            scale=np.ones(int(kept.sum())),
            rounding=self.reference.covariance.rounding,
            total=len(self.owned.sizes),
        )

    def _blocks(self, limits: Doubles, kept: Flags) -> Iterator[PersonBlock]:
        judged = self.new
        for persons, rows in self.owned.blocks(self.reference.dim, least=1):
            chosen = judged[persons]
            if not chosen.any():
                continue
            persons, rows = persons[chosen], rows[chosen]
            away = np.asarray(self.table[rows] - self.reference.mean, dtype=np.float64)
            present = (self.batch[rows] == self.last).astype(np.float64)
            away, along = grown(away[:, :, kept], present[:, :, np.newaxis], self.fit.rows)
            along = along[:, :, 0]
            if away.shape[1] > away.shape[2]:  # the same products from fewer rows
                turn, away = np.linalg.qr(away)
                along = np.einsum("gkj,gk->gj", turn, along)
            freedom = (self.fit.rows - rows.shape[1] - self.fit.ddof) / self.share
            yield PersonBlock(persons, freedom, away / np.sqrt(freedom), along, limits[persons])
