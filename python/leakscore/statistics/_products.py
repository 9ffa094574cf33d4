"""Covariances, correlations and cross-products: means of products of two columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from leakscore.reference import Moments
from leakscore.statistics._statistic import (
    Exactness,
    NoFitError,
    ResponseStatistic,
    SampleSums,
    Statistic,
    moments_of,
)
from leakscore.typing import Doubles

_ROUNDING = 1e-12  # share of a variance
_PRODUCTS = 1 << 16  # of two columns, in one block


def _multiply_pairs(x: Doubles, out: Doubles) -> None:
    """Write x_i x_j for i <= j, in blocks of records whose products stay in the cache."""
    rows, columns = np.triu_indices(x.shape[1])
    step = max(16, _PRODUCTS // max(1, rows.size))
    for start in range(0, len(x), step):
        block = slice(start, start + step)
        first, second = (np.take(x[block], which, axis=1) for which in (rows, columns))
        np.multiply(first, second, out=out[block])


@dataclass(frozen=True)
class Covariance(Statistic):
    """Means with the covariance matrix, or with standard deviations and correlations.

    phi(z) = (z, (z_i - c_i) (z_j - c_j) for i <= j). Whatever the centre c, the mean of phi follows
    from mean and covariance, and they from it. The centre is 0, or after `prepare` the mean. Then
    the mean of phi is what is published, and noise on it is noise on the covariances.

    Examples
    --------
    >>> from leakscore import statistics
    >>> statistics.Covariance().on(["a", "b"]).features([[2.0, 3.0]]).tolist()
    [[2.0, 3.0, 4.0, 6.0, 9.0]]
    """

    kind: ClassVar[str] = "covariance"
    blockwise: ClassVar[bool] = True
    said: ClassVar[str] = "Means and covariances of n = {records} records ({numbers} in all)"
    _centre: tuple[float, ...] = field(default=(), kw_only=True, repr=False)

    def prepare(self, values: npt.ArrayLike | Moments) -> Covariance:
        """Take the mean of records as the centre.

        Parameters
        ----------
        values : (N, d) array_like or Moments

        Returns
        -------
        Covariance
        """
        return replace(self, _centre=tuple(moments_of(values).mean.tolist()))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, and the products of two."""
        rows, columns = np.triu_indices(len(self.columns))
        products = zip(rows.tolist(), columns.tolist(), strict=True)
        return (
            *self.columns,
            *(f"{self.columns[i]}*{self.columns[j]}" for i, j in products),
        )

    def _features(self, values: Doubles) -> Doubles:
        width = values.shape[1]
        features = np.empty((len(values), width + width * (width + 1) // 2))
        features[:, :width] = values
        _multiply_pairs(values - np.array(self._centre or 0.0), features[:, width:])
        return features


@dataclass(frozen=True)
class Correlations(Statistic):
    """Correlations of all pairs of columns alone, without means and standard deviations.

    phi(z) / N is the exact shift that the record makes to the correlations of the N records that
    `prepare` was given. To first order phi = u_i u_j - rho_ij (u_i^2 + u_j^2) / 2, where u are the
    standardised columns. As n grows the published correlations are rho plus the mean of phi (van
    der Vaart, *Asymptotic Statistics*, 1998, example 3.6).

    Examples
    --------
    >>> from leakscore import statistics
    >>> rows = [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]
    >>> pairs = statistics.Correlations().on(["a", "b"]).prepare(rows)
    >>> pairs.names, pairs.features(rows)[0].round(2).tolist()
    (('correlation of a and b',), [1.79])
    """

    exact: ClassVar[Exactness] = "asymptotic"
    kind: ClassVar[str] = "correlations"
    blockwise: ClassVar[bool] = True
    said: ClassVar[str] = "The correlations of n = {records} records ({numbers} in all)"
    _means: tuple[float, ...] = field(default=(), kw_only=True, repr=False)
    _scales: tuple[float, ...] = field(default=(), kw_only=True, repr=False)
    _pairs: tuple[float, ...] = field(default=(), kw_only=True, repr=False)
    _count: int = field(default=0, kw_only=True, repr=False)

    def _require(self) -> None:
        super()._require()
        if len(self.columns) < 2:
            raise ValueError(
                "The correlations must be of two columns of numbers at least, not of "
                f"{', '.join(map(repr, self.columns)) or 'none'}"
            )

    def prepare(self, values: npt.ArrayLike | Moments) -> Correlations:
        """Estimate means, variances and correlations from records.

        Parameters
        ----------
        values : (N, d) array_like or Moments

        Returns
        -------
        Correlations

        Raises
        ------
        ValueError
            If a column is the same in all records.
        """
        moments = moments_of(values)
        scales = np.sqrt(np.diag(moments.cov))
        if not (scales > 0).all():
            name = self.columns[int((scales == 0).argmax())]
            raise ValueError(f"column {name!r} must vary: it has no correlation")
        pairs = (moments.cov / np.outer(scales, scales))[np.triu_indices(len(scales), 1)]
        return replace(
            self,
            _means=tuple(moments.mean.tolist()),
            _scales=tuple(scales.tolist()),
            _pairs=tuple(pairs.tolist()),
            _count=moments.count,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The pairs."""
        rows, columns = (at.tolist() for at in np.triu_indices(len(self.columns), 1))
        pairs = zip(rows, columns, strict=True)
        return tuple(f"correlation of {self.columns[i]} and {self.columns[j]}" for i, j in pairs)

    def leverages(self, block: npt.ArrayLike) -> Doubles:
        """Return the share by which each record's presence narrows the spread of a correlation.

        A value far out makes a column vary more, and all its correlations shrink. If h is the share
        of a record in the column's sum of squares, they shrink by the factor (1 - h)^1/2 where the
        record adds nothing else.

        Parameters
        ----------
        block : (k, d) array_like
            Records of the table that `prepare` was given.

        Returns
        -------
        (k,) ndarray of float64
            From 0 to 1, for the pair of columns where it is largest.

        Examples
        --------
        >>> from leakscore import statistics
        >>> rows = [[9.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 4.0]]
        >>> statistics.Correlations().on(["a", "b"]).prepare(rows).leverages(rows)[:2].round(2)
        array([0.65, 0.08])
        """
        shares = self._shares(self._checked(block))
        if shares.shape[1] > 2:
            shares = np.partition(shares, -2, axis=1)[:, -2:]
        return np.asarray(1.0 - np.sqrt(np.prod(1.0 - shares, axis=1)))

    def column_of(self, record: npt.ArrayLike) -> str:
        """Return the column in which a record is farthest out.

        Parameters
        ----------
        record : (d,) array_like

        Returns
        -------
        str
        """
        shares = self._shares(self._checked(np.asarray(record)[np.newaxis]))
        return self.columns[int(shares[0].argmax())]

    def equations(self, block: npt.ArrayLike) -> SampleSums:
        """Return the sums over records from which the correlations of samples follow.

        Parameters
        ----------
        block : (N, d) array_like
            The table that `prepare` was given.

        Returns
        -------
        SampleSums
            With `leverages`, and `refitted`, which takes samples of the records.

        Examples
        --------
        >>> from leakscore import statistics
        >>> rows = [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]
        >>> pairs = statistics.Correlations().on(["a", "b"]).prepare(rows)
        >>> pairs.equations(rows).refitted([[1.0, 1.0, 0.0, 0.0]]).round(2)
        array([[0.55]])
        """
        u = self._standardise(self._checked(block))
        width = u.shape[1]
        summands = np.empty((len(u), 1 + width + width * (width + 1) // 2))
        summands[:, 0], summands[:, 1 : width + 1] = 1.0, u
        _multiply_pairs(u, summands[:, width + 1 :])
        return SampleSums(summands, self.leverages(block), self._correlation_changes)

    def _correlation_changes(self, sums: Doubles) -> Doubles:
        """Return the changes of the correlations from sums of 1, of columns and of products."""
        width = len(self.columns)
        rows, columns = np.triu_indices(width)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = sums[:, 1 : width + 1] / sums[:, :1]
            cov = sums[:, width + 1 :] / sums[:, :1] - means[:, rows] * means[:, columns]
            variance = cov[:, rows == columns]
            variance = np.where(variance > _ROUNDING, variance, np.nan)
            pairs = rows != columns
            scales = np.sqrt(variance[:, rows[pairs]] * variance[:, columns[pairs]])
            return np.asarray(cov[:, pairs] / scales - np.array(self._pairs))

    def _standardise(self, values: Doubles) -> Doubles:
        if not self._pairs:
            raise ValueError("The correlations must be estimated: call prepare(values) first")
        return np.asarray((values - np.array(self._means)) / np.array(self._scales))

    def _shares(self, values: Doubles) -> Doubles:
        """Return the share of each record in the sum of squares of every column."""
        return np.asarray(np.minimum(np.square(self._standardise(values)) / self._count, 1.0))

    def _estimates(self) -> Doubles:
        return np.array(self._pairs)

    def _features(self, values: Doubles) -> Doubles:
        return self._features_of(values, np.arange(len(values)))

    def _features_of(self, values: Doubles, owners: npt.NDArray[np.intp]) -> Doubles:
        """Return phi, the shift by each person divided equally among the person's records."""
        u = self._standardise(values)
        rows, columns = np.triu_indices(values.shape[1], 1)
        _, first, owners = np.unique(owners, return_index=True, return_inverse=True)
        sizes = np.bincount(owners)
        sums, squares = _sums_by_owner(u, owners), _sums_by_owner(u * u, owners)
        products = _sums_by_owner(u[:, rows] * u[:, columns], owners)
        # N times the variances and covariances without a person of k records.
        others = np.maximum(self._count - sizes, 1)[:, None]
        variance = self._count - squares - sums**2 / others
        degenerate = (variance <= _ROUNDING * self._count) | (sizes[:, None] > self._count - 2)
        if degenerate.any():
            person, column = np.argwhere(degenerate)[0].tolist()
            raise NoFitError(self.columns[column], int(first[person]))
        pairs = np.array(self._pairs)
        covariance = self._count * pairs - products - sums[:, rows] * sums[:, columns] / others
        without = covariance / np.sqrt(variance[:, rows] * variance[:, columns])
        shifts = self._count * (pairs - without) / sizes[:, None]
        return np.asarray(shifts[owners])


def _sums_by_owner(values: Doubles, owners: npt.NDArray[np.intp]) -> Doubles:
    """Return the sum of the rows of each owner; owners are numbered from 0."""
    order = np.argsort(owners, kind="stable")
    starts = np.searchsorted(owners[order], np.arange(owners[order[-1]] + 1))
    return np.asarray(np.add.reduceat(values[order], starts, axis=0))


@dataclass(frozen=True)
class CrossProducts(ResponseStatistic):
    """The matrices X'X and X'y of a least-squares regression with an intercept.

    phi(z) = (x, x_i x_j for i <= j, y, x y). Coefficients follow from them.

    Parameters
    ----------
    response : str
        The column y; all others are predictors.

    Examples
    --------
    >>> from leakscore import statistics
    >>> statistics.CrossProducts(response="y").on(["x", "y"]).names
    ('x', 'x*x', 'y', 'x*y')
    """

    kind: ClassVar[str] = "cross-products"
    totals: ClassVar[bool] = True
    blockwise: ClassVar[bool] = True
    said: ClassVar[str] = "X'X and X'y of a regression on n = {records} records"

    def _split_columns(self) -> tuple[list[int], int]:
        return self._numeric(self.response), self._index("response", self.response)

    @property
    def names(self) -> tuple[str, ...]:
        """Predictors, their products, the response, its products with predictors."""
        predictors, response = self._split_columns()
        x, y = [self.columns[j] for j in predictors], self.columns[response]
        rows, columns = np.triu_indices(len(x))
        squares = (f"{x[i]}*{x[j]}" for i, j in zip(rows.tolist(), columns.tolist(), strict=True))
        return (*x, *squares, y, *(f"{name}*{y}" for name in x))

    def _features(self, values: Doubles) -> Doubles:
        predictors, response = self._split_columns()
        x, y = values[:, predictors], values[:, [response]]
        width = x.shape[1]
        products = np.empty((len(x), width * (width + 1) // 2))
        _multiply_pairs(x, products)
        return np.concatenate([x, products, y, x * y], axis=1)
