"""Covariances, correlations and cross-products: means of products of two columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.reference import Moments
from leakscore.statistics._statistic import Exactness, NoFitError, Statistic
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

    phi(z) = (z, z_i z_j for i <= j): mean and covariance tell the mean of phi, and the other way
    round.

    Examples
    --------
    >>> from leakscore import statistics
    >>> statistics.Covariance().on(["a", "b"]).features([[2.0, 3.0]]).tolist()
    [[2.0, 3.0, 4.0, 6.0, 9.0]]
    """

    kind: ClassVar[str] = "covariance"
    blockwise: ClassVar[bool] = True

    def published(self, records: int, columns: str) -> str:
        """Say what is published, as the start of a sentence."""
        numbers = columns.replace("column", "number")
        return f"Means and covariances of n = {records} records ({numbers} in all)"

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
        _multiply_pairs(values, features[:, width:])
        return features


@dataclass(frozen=True)
class Correlations(Statistic):
    """Correlations of all pairs of columns alone, without means and standard deviations.

    phi(z) / N is exactly by how much the record shifts the correlations of the table of N that
    `prepare` was given. To first order phi = u_i u_j - rho_ij (u_i^2 + u_j^2) / 2, u the
    standardised columns, and as n grows the published correlations are rho plus the mean of phi
    (van der Vaart, *Asymptotic Statistics*, 1998, example 3.6).

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
    _means: tuple[float, ...] = field(default=(), kw_only=True, repr=False)
    _scales: tuple[float, ...] = field(default=(), kw_only=True, repr=False)
    _pairs: tuple[float, ...] = field(default=(), kw_only=True, repr=False)
    _count: int = field(default=0, kw_only=True, repr=False)

    def _require(self) -> None:
        super()._require()
        if len(self.columns) < 2:
            raise ValueError(f"columns={self.columns} must be two at least")

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
        if isinstance(values, Moments):
            means, cov = values.mean, values.cov
            scales = np.sqrt(np.diag(cov))
            self._require_varied(scales)
            all_pairs, count = cov / np.outer(scales, scales), values.count
        else:
            array = np.asarray(validation.matrix("values", values), dtype=np.float64)
            means, scales = array.mean(axis=0), array.std(axis=0)
            self._require_varied(scales)
            standard = (array - means) / scales
            all_pairs, count = standard.T @ standard / len(array), len(array)
        pairs = all_pairs[np.triu_indices(len(means), 1)]
        return replace(
            self,
            _means=tuple(means.tolist()),
            _scales=tuple(scales.tolist()),
            _pairs=tuple(pairs.tolist()),
            _count=count,
        )

    def _require_varied(self, scales: Doubles) -> None:
        if not (scales > 0).all():
            name = self.columns[int((scales == 0).argmax())]
            raise ValueError(f"column {name!r} must vary: it has no correlation")

    def published(self, records: int, columns: str) -> str:
        """Say what is published, as the start of a sentence."""
        numbers = columns.replace("column", "number")
        return f"The correlations of n = {records} records ({numbers} in all)"

    @property
    def names(self) -> tuple[str, ...]:
        """The pairs."""
        rows, columns = (at.tolist() for at in np.triu_indices(len(self.columns), 1))
        pairs = zip(rows, columns, strict=True)
        return tuple(f"correlation of {self.columns[i]} and {self.columns[j]}" for i, j in pairs)

    def _estimates(self) -> Doubles:
        return np.array(self._pairs)

    def _features(self, values: Doubles) -> Doubles:
        return self._features_of(values, np.arange(len(values)))

    def _features_of(self, values: Doubles, owners: npt.NDArray[np.intp]) -> Doubles:
        """Return an equal share of what each person shifts for all of the person's records."""
        if not self._pairs:
            raise ValueError("The correlations must be estimated: call prepare(values) first")
        u = (values - np.array(self._means)) / np.array(self._scales)
        rows, columns = np.triu_indices(values.shape[1], 1)
        _, first, owners = np.unique(owners, return_index=True, return_inverse=True)
        sizes = np.bincount(owners)
        sums, squares = _added(u, owners), _added(u * u, owners)
        products = _added(u[:, rows] * u[:, columns], owners)
        # What is left of N times the variances and covariances without a person of k records.
        others = np.maximum(self._count - sizes, 1)[:, None]
        variance = self._count - squares - sums**2 / others
        gone = (variance <= _ROUNDING * self._count) | (sizes[:, None] > self._count - 2)
        if gone.any():
            person, column = np.argwhere(gone)[0].tolist()
            raise NoFitError(self.columns[column], int(first[person]))
        pairs = np.array(self._pairs)
        covariance = self._count * pairs - products - sums[:, rows] * sums[:, columns] / others
        without = covariance / np.sqrt(variance[:, rows] * variance[:, columns])
        shifts = self._count * (pairs - without) / sizes[:, None]
        return np.asarray(shifts[owners])


def _added(values: Doubles, owners: npt.NDArray[np.intp]) -> Doubles:
    """Return the sums of the rows of each owner, who are numbered from 0."""
    order = np.argsort(owners, kind="stable")
    starts = np.searchsorted(owners[order], np.arange(owners[order[-1]] + 1))
    return np.asarray(np.add.reduceat(values[order], starts, axis=0))


@dataclass(frozen=True)
class CrossProducts(Statistic):
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

    response: str
    kind: ClassVar[str] = "cross-products"
    totals: ClassVar[bool] = True
    blockwise: ClassVar[bool] = True

    def _require(self) -> None:
        self._index("response", self.response)
        if len(self.columns) < 2:
            raise ValueError("There must be a column beside the response to predict it with")

    @property
    def apart(self) -> tuple[str, ...]:
        """The response."""
        return (self.response,)

    def _parts(self) -> tuple[list[int], int]:
        return self._numbers(self.response), self._index("response", self.response)

    def published(self, records: int, columns: str) -> str:
        """Say what is published, as the start of a sentence."""
        del columns  # the matrices say it
        return f"X'X and X'y of a regression on n = {records} records"

    @property
    def names(self) -> tuple[str, ...]:
        """Predictors, their products, the response, its products with predictors."""
        predictors, response = self._parts()
        x, y = [self.columns[j] for j in predictors], self.columns[response]
        rows, columns = np.triu_indices(len(x))
        squares = (f"{x[i]}*{x[j]}" for i, j in zip(rows.tolist(), columns.tolist(), strict=True))
        return (*x, *squares, y, *(f"{name}*{y}" for name in x))

    def _features(self, values: Doubles) -> Doubles:
        predictors, response = self._parts()
        x, y = values[:, predictors], values[:, [response]]
        width = x.shape[1]
        products = np.empty((len(x), width * (width + 1) // 2))
        _multiply_pairs(x, products)
        return np.concatenate([x, products, y, x * y], axis=1)


@dataclass(frozen=True)
class Quantile(Statistic):
    """The quantile at p of every column, as the test of membership sees it when n is large.

    phi(z) = p - 1{z <= q}, up to a factor: a record below the quantile has M = (1 - p) / p, one
    above p / (1 - p). This bounds no leakage of the published value, which may be the value of a
    record itself.

    Parameters
    ----------
    p : float
        In (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import statistics
    >>> median = statistics.Quantile(p=0.5).on(["a"]).prepare([[1.0], [2.0], [9.0]])
    >>> median.features([[1.0], [9.0]]).tolist()
    [[-0.5], [0.5]]
    """

    p: float
    exact: ClassVar[Exactness] = "asymptotic"
    kind: ClassVar[str] = "quantile"
    _quantiles: tuple[float, ...] = field(default=(), kw_only=True, repr=False)

    def _require(self) -> None:
        validation.scalar("p", self.p, 0, 1, closed="neither")

    def prepare(self, values: npt.ArrayLike | Moments) -> Quantile:
        """Estimate the quantiles from records.

        Parameters
        ----------
        values : (N, d) array_like

        Returns
        -------
        Quantile

        Raises
        ------
        TypeError
            If they are moments, which do not tell quantiles.
        """
        if isinstance(values, Moments):
            raise TypeError("values must be records: moments do not tell quantiles")
        array = np.asarray(validation.matrix("values", values), dtype=np.float64)
        points = np.quantile(array, self.p, axis=0, method="inverted_cdf")
        return replace(self, _quantiles=tuple(points.tolist()))

    @property
    def names(self) -> tuple[str, ...]:
        """Quantile and column."""
        return tuple(f"{100 * self.p:g} % quantile of {name}" for name in self.columns)

    def _features(self, values: Doubles) -> Doubles:
        if not self._quantiles:
            raise ValueError("The quantiles must be estimated: call prepare(values) first")
        below = np.where(np.isnan(values), np.nan, values <= np.array(self._quantiles))
        return np.asarray(self.p - below)
