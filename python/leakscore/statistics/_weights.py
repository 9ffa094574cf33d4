"""Means with weights: as data of the records, or known to everybody."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.reference import Moments
from leakscore.statistics._statistic import Exactness, NoFitError, SampleSums, Statistic, moments_of
from leakscore.typing import Doubles

_ROUNDING = 1e-12  # share of a sum of weights


@dataclass(frozen=True)
class _Weighted(Statistic):
    """A statistic with a column of weights."""

    weights: str

    def _require(self) -> None:
        self._index("weights", self.weights)
        super()._require()

    @property
    def apart(self) -> tuple[str, ...]:
        """The weights."""
        return (self.weights,)

    def _weights(self, values: Doubles) -> Doubles:
        """Return the weights (k,); refuse negative and infinite numbers."""
        weight = values[:, self._index("weights", self.weights)]
        bad = ~np.isfinite(weight) | (weight < 0)
        if bad.any():
            row = int(bad.argmax())
            raise ValueError(
                f"The weights ({self.weights!r}) must be finite and at least 0, not "
                f"{float(weight[row])} in record {row + 1} (counting from 1)"
            )
        return weight

    def _split_weights(self, values: Doubles) -> tuple[Doubles, Doubles]:
        """Return the weights (k, 1) and the other columns."""
        return self._weights(values)[:, np.newaxis], values[:, self._numeric(self.weights)]

    def _moments(self, values: npt.ArrayLike | Moments) -> Moments:
        """Return the moments of records; refuse weights that are negative, infinite or all 0."""
        if not isinstance(values, Moments):
            self._weights(np.asarray(validation.matrix("values", values), dtype=np.float64))
        moments = moments_of(values)
        if not moments.mean[self._index("weights", self.weights)] > 0:
            raise ValueError(f"A weight ({self.weights!r}) must be above 0: all are 0")
        return moments

    def _other_names(self) -> tuple[str, ...]:
        return tuple(self.columns[j] for j in self._numeric(self.weights))


@dataclass(frozen=True)
class WeightedMean(_Weighted):
    """Means with a column of weights: phi(z) = (w, w z).

    The weights are data of the records, and their sum is taken to be published as well: then the
    law is exact. The ratio alone leaks less (`WeightedRatio`). For public weights see
    `KnownWeights`.

    Parameters
    ----------
    weights : str
        The column of weights.

    Examples
    --------
    >>> from leakscore import statistics
    >>> mean = statistics.WeightedMean(weights="w").on(["w", "a"])
    >>> mean.names, mean.features([[2.0, 5.0]]).tolist()
    (('sum of w', 'a weighted by w'), [[2.0, 10.0]])
    """

    kind: ClassVar[str] = "weighted-mean"
    blockwise: ClassVar[bool] = True
    said: ClassVar[str] = "The weighted mean of n = {records} records and the sum of their weights"

    @property
    def names(self) -> tuple[str, ...]:
        """The sum of the weights, and the weighted mean of every other column."""
        weights = self.weights
        return (
            f"sum of {weights}",
            *(f"{name} weighted by {weights}" for name in self._other_names()),
        )

    def prepare(self, values: npt.ArrayLike | Moments) -> WeightedMean:
        """Refuse weights that are all 0.

        Parameters
        ----------
        values : (N, d) array_like or Moments

        Returns
        -------
        WeightedMean
        """
        self._moments(values)
        return self

    def units(self, means: npt.ArrayLike, n: int) -> Doubles:
        """Return n for the weight, one over its mean for the others; see `Statistic.units`.

        Parameters
        ----------
        means : (D,) array_like
        n : int

        Returns
        -------
        (D,) ndarray of float64

        Raises
        ------
        ValueError
            If the mean weight is not above 0.
        """
        mean = self._feature_means(means)
        if not mean[0] > 0:
            raise ValueError(
                f"means[0]={mean[0]}, the mean weight ({self.weights!r}), must be above 0: give "
                "the means of records of which one has a weight"
            )
        return np.concatenate(
            [[float(validation.count("n", n, 1))], np.full(len(mean) - 1, 1.0 / mean[0])]
        )

    def jacobian(self, means: npt.ArrayLike, n: int) -> Doubles:
        """Return the derivatives of sums over the sum of weights; see `Statistic.jacobian`.

        Parameters
        ----------
        means : (D,) array_like
        n : int

        Returns
        -------
        (D, D) ndarray of float64
        """
        units, numbers = self.units(means, n), self.estimates(means, n)
        slopes = np.diag(units)
        slopes[1:, 0] = -units[1:] * numbers[1:]
        return slopes

    def _features(self, values: Doubles) -> Doubles:
        weight, others = self._split_weights(values)
        return np.concatenate([weight, weight * others], axis=1)


@dataclass(frozen=True)
class WeightedRatio(_Weighted):
    """Means with a column of weights that are data, without the sum of the weights.

    phi(z) = w (z - theta) / E w / (1 - h), where theta is the weighted mean of the N records of a
    table and h = w / sum w. phi / N is the exact shift that the record makes to theta. As n grows
    the published ratio is theta plus the mean of phi (a ratio estimator: Cochran, *Sampling
    Techniques*, 1977, section 6.4). `prepare` takes theta and E w from the table; features are
    defined for its records.

    Parameters
    ----------
    weights : str
        The column of weights.

    Examples
    --------
    >>> from leakscore import statistics
    >>> mean = statistics.WeightedRatio(weights="w").on(["w", "a"])
    >>> mean.prepare([[1.0, 0.0], [3.0, 4.0]]).features([[1.0, 0.0], [3.0, 4.0]]).tolist()
    [[-2.0], [6.0]]
    """

    exact: ClassVar[Exactness] = "asymptotic"
    kind: ClassVar[str] = "weighted-ratio"
    blockwise: ClassVar[bool] = True
    said: ClassVar[str] = (
        "The weighted mean of n = {records} records (not the sum of their weights)"
    )
    _sum: float = field(default=0.0, kw_only=True, repr=False)
    _means: tuple[float, ...] = field(default=(), kw_only=True, repr=False)
    _count: int = field(default=0, kw_only=True, repr=False)

    def prepare(self, values: npt.ArrayLike | Moments) -> WeightedRatio:
        """Estimate the weighted means and the mean weight from records.

        Parameters
        ----------
        values : (N, d) array_like or Moments

        Returns
        -------
        WeightedRatio
        """
        moments, at = self._moments(values), self._index("weights", self.weights)
        mean, others = float(moments.mean[at]), self._numeric(self.weights)
        means = moments.mean[others] + moments.cov[at, others] / mean
        return replace(self, _sum=mean, _means=tuple(means.tolist()), _count=moments.count)

    @property
    def names(self) -> tuple[str, ...]:
        """The other columns."""
        return self._other_names()

    def leverages(self, block: npt.ArrayLike) -> Doubles:
        """Return the share by which each record's presence narrows the spread of the means.

        A record has a share h of all weights. If the means vary by 1 without it, they vary by 1 - h
        with it, about a point that is h of the way to its values. So its presence shows even if its
        values are the means.

        Parameters
        ----------
        block : (k, d) array_like
            Records of the table that `prepare` was given.

        Returns
        -------
        (k,) ndarray of float64
            From 0 to 1.

        Examples
        --------
        >>> from leakscore import statistics
        >>> rows = [[1.0, 0.0], [3.0, 4.0]]
        >>> statistics.WeightedRatio(weights="w").on(["w", "a"]).prepare(rows).leverages(rows)
        array([0.25, 0.75])
        """
        self._require_prepared()
        return np.minimum(self._weights(self._checked(block)) / (self._sum * self._count), 1.0)

    def column_of(self, record: npt.ArrayLike) -> str:  # noqa: ARG002, that of every record
        """Return the column by which a record narrows the spread: the weights.

        Parameters
        ----------
        record : (d,) array_like

        Returns
        -------
        str
        """
        return self.weights

    def equations(self, block: npt.ArrayLike) -> SampleSums:
        """Return the sums over records whose ratios are the means of samples.

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
        >>> rows = [[1.0, 0.0], [3.0, 4.0]]
        >>> mean = statistics.WeightedRatio(weights="w").on(["w", "a"]).prepare(rows)
        >>> mean.equations(rows).refitted([[2.0, 0.0], [1.0, 1.0]])
        array([[-3.],
               [ 0.]])
        """
        self._require_prepared()
        weight, others = self._split_weights(self._checked(block))
        deviations = weight * (others - np.array(self._means))
        return SampleSums(np.hstack([weight, deviations]), self.leverages(block), _ratios)

    def _require_prepared(self) -> None:
        if not self._means:
            raise ValueError("The means must be estimated: call prepare(values) first")

    def _estimates(self) -> Doubles:
        return np.array(self._means)

    def _features(self, values: Doubles) -> Doubles:
        self._require_prepared()
        weight, others = self._split_weights(values)
        return self._shifts(weight, others, weight[:, 0])

    def _features_of(self, values: Doubles, owners: npt.NDArray[np.intp]) -> Doubles:
        weight, others = self._split_weights(values)
        _, owners = np.unique(owners, return_inverse=True)
        sums = np.bincount(owners, weight[:, 0]).astype(np.float64)
        return self._shifts(weight, others, sums[owners])

    def _shifts(self, weight: Doubles, others: Doubles, leaving: Doubles) -> Doubles:
        """Return phi; `leaving` is the total weight of the records that leave with each record."""
        remaining = 1 - leaving / (self._sum * self._count)
        if (remaining <= _ROUNDING).any():
            raise NoFitError(self.weights, int(remaining.argmin()))
        return np.asarray(
            weight * (others - np.array(self._means)) / self._sum / remaining[:, np.newaxis]
        )


def _ratios(sums: Doubles) -> Doubles:
    """Return ratios to the first sum, NaN where that is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sums[:, :1] > 0, sums[:, 1:] / sums[:, :1], np.nan)


@dataclass(frozen=True)
class KnownWeights(_Weighted):
    """Means with public weights, as those of a survey's design: phi(z) = z.

    With a = w / sum w the release is sum a_i z_i. A record of weight w_t leaks as in a plain mean
    of n_t = sum w^2 / w_t^2 records, M / n_t; the law is exact. A record of weight 0 leaks nothing.

    Parameters
    ----------
    weights : str
        The column of weights, which itself is public.

    Examples
    --------
    >>> from leakscore import statistics
    >>> mean = statistics.KnownWeights(weights="w").on(["w", "a"])
    >>> mean.names, mean.weights_of([[1.0, 5.0], [2.0, 7.0]]).tolist()
    (('a',), [1.0, 2.0])
    """

    kind: ClassVar[str] = "known-weights"
    said: ClassVar[str] = (
        "The mean of n = {records} records in {columns}, with weights that are known,"
    )

    @property
    def names(self) -> tuple[str, ...]:
        """The other columns."""
        return self._other_names()

    def weights_of(self, block: npt.ArrayLike) -> Doubles:
        """Return the weights of the records.

        Parameters
        ----------
        block : (k, d) array_like
            Records; the columns are those that `on` was given.

        Returns
        -------
        (k,) ndarray of float64

        Raises
        ------
        ValueError
            If a weight is negative or not finite, or fewer than two are above 0.
        """
        weight = self._weights(self._checked(block))
        if np.count_nonzero(weight) < 2:
            several = "all are 0" if not weight.any() else "all others are 0"
            raise ValueError(f"Two weights ({self.weights!r}) must be above 0: {several}")
        return np.array(weight)

    def _features(self, values: Doubles) -> Doubles:
        return self._split_weights(values)[1]
