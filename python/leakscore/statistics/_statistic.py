"""What every statistic is, the mean of features of one record; means, sums, shares, histograms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.reference import Moments
from leakscore.typing import Doubles

Exactness: TypeAlias = Literal["exact", "asymptotic"]
Self_ = TypeVar("Self_", bound="Statistic")

_MOST_FEATURES = 5000

_ROUNDING = 8 * np.finfo(np.float64).eps  # share of a total


class NoFitError(ValueError):
    """What is published of some records does not exist without those of one person.

    Attributes
    ----------
    column : str
        What only these records tell of.
    row : int
        The first of them in the block, from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import statistics
    >>> X = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 4.0], [1.0, 3.0]])
    >>> fit = statistics.Regression("y").on(["flag", "y"]).prepare(X)
    >>> try:
    ...     fit.features(X)
    ... except statistics.NoFitError as error:
    ...     print(error.column, error.row)
    flag 3
    """

    def __init__(self, column: str, row: int) -> None:
        super().__init__(
            f"The statistic must exist without each record: record {row + 1} (counting from 1) "
            f"alone tells of column {column!r}, and what is published of it is that record's; "
            "leave the column out of columns, or the record out"
        )
        self.column, self.row = column, row


@dataclass(frozen=True, kw_only=True)
class Statistic(ABC):
    """A release that is the mean of phi(z) over the n records, or known as soon as that mean is.

    All that holds for a mean of records holds with the features phi in the place of z: the leakage
    of a record is M / n, M the squared Mahalanobis distance of phi(z) by the mean and covariance of
    phi.

    Attributes
    ----------
    exact : {"exact", "asymptotic"}
        Whether the release is a mean of phi at any n, or as n grows.
    columns : tuple of str
        Names of the columns of a block; set by `on`.
    levels : mapping
        Column of categories -> its levels, of which the block holds the numbers; set by `on`.
    kind : str
        Name of the statistic in a report's JSON.
    said : str
        What is published, as the start of a sentence, with places for `records` and others.
    totals : bool
        Whether what is published are sums over the records rather than means.
    blockwise : bool
        Whether all that `prepare` needs are the moments of the columns: then a table of any length
        is judged block by block.
    """

    columns: tuple[str, ...] = ()
    levels: Mapping[str, tuple[str, ...]] | None = None

    exact: ClassVar[Exactness] = "exact"
    kind: ClassVar[str] = "statistic"
    said: ClassVar[str] = "A statistic of {numbers} of n = {records} records"
    totals: ClassVar[bool] = False
    blockwise: ClassVar[bool] = False

    def on(
        self: Self_,
        columns: Sequence[str],
        levels: Mapping[str, Sequence[str]] | None = None,
    ) -> Self_:
        """Return the statistic of tables with these columns.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns of a block, in their order.
        levels : mapping, optional
            Column of categories -> its levels. The block holds the number of each level, from 0.

        Returns
        -------
        Statistic

        Raises
        ------
        ValueError
            If a name occurs twice or a column that the statistic needs is missing.

        Examples
        --------
        >>> from leakscore import statistics
        >>> statistics.Covariance().on(["a", "b"]).names
        ('a', 'b', 'a*a', 'a*b', 'b*b')
        """
        names = tuple(columns)
        if len(set(names)) < len(names):
            raise ValueError(f"columns={names} must have different names")
        bound = replace(self, columns=names, levels=_mapped(levels))
        bound._require()
        size = len(bound.names)
        if not size:
            raise ValueError(
                f"The {self.kind} must have a number to publish, but of the columns "
                f"{', '.join(map(repr, names))} there is none"
            )
        if size > _MOST_FEATURES:
            raise ValueError(
                f"The statistic must have at most {_MOST_FEATURES} features, not {size}: "
                "publish fewer columns, or coarser groups"
            )
        return bound

    @property
    def apart(self) -> tuple[str, ...]:
        """Columns that the statistic names: needed though they are constant or follow from others.

        The columns beside them are judged for themselves, too: a mean with weights w of a column
        that follows from w and others does not follow from their means.
        """
        return ()

    def weights_of(self, block: npt.ArrayLike) -> Doubles | None:  # noqa: ARG002, overridden
        """Return the weights of the records, where everybody knows them; otherwise None.

        Parameters
        ----------
        block : (k, d) array_like
            Records; the columns are those that `on` was given.

        Returns
        -------
        (k,) ndarray of float64 or None
        """
        return None

    def prepare(self: Self_, values: npt.ArrayLike | Moments) -> Self_:  # noqa: ARG002, overridden
        """Return the statistic with what its features need to know of the records: nothing.

        Parameters
        ----------
        values : (N, d) array_like or Moments
            Records; the columns are those that `on` was given. If the statistic is ``blockwise``,
            their moments do.

        Returns
        -------
        Statistic
        """
        return self

    def published(self, records: int, columns: str) -> str:
        """Say what is published, as the start of a sentence.

        Parameters
        ----------
        records : int
            How many there are.
        columns : str
            How many features there are: "3 columns".

        Returns
        -------
        str
        """
        return self.said.format(
            self=self,
            records=records,
            columns=columns,
            numbers=columns.replace("column", "number"),
            by=", ".join(names_of(getattr(self, "by", ()))),
        )

    def features(self, block: npt.ArrayLike, owners: npt.ArrayLike | None = None) -> Doubles:
        """Return phi of each record.

        Parameters
        ----------
        block : (k, d) array_like
            Records; the columns are those that `on` was given. If `prepare` was given records,
            these are of them.
        owners : (k,) array_like of int, optional
            The number of the person whom each record belongs to: all of a person's records stay or
            go together, and all are in the block. By default each is of another person.

        Returns
        -------
        (k, D) ndarray of float64

        Raises
        ------
        NoFitError
            If what is published does not exist without one of the persons.
        ValueError
            If `on` has not been called, or the shape does not fit.
        """
        values = self._checked(block)
        if owners is None:
            return self._features(values)
        persons = np.asarray(owners)
        if persons.shape != (len(values),) or persons.dtype.kind not in "iu":
            raise ValueError(
                f"owners of shape {persons.shape} must hold {len(values)} whole numbers"
            )
        return self._features_of(values, persons.astype(np.intp))

    def units(self, means: npt.ArrayLike, n: int) -> Doubles:
        """Return how much each published number changes with the mean of its feature.

        Noise on what is published is the noise on the means of the features times these units;
        of numbers that follow from the means of several features see `jacobian`.

        Parameters
        ----------
        means : (D,) array_like
            Of the features, in the order of `names`.
        n : int
            Records in the release.

        Returns
        -------
        (D,) ndarray of float64
            n of a sum or a count, 1 of a mean or a share; one over the share of its cell of the
            mean of a group, and one over the mean weight of a weighted mean.

        Examples
        --------
        >>> from leakscore import statistics
        >>> statistics.Sum().on(["a"]).units([2.5], n=40)
        array([40.])
        """
        records = validation.count("n", n, 1)
        return np.full(self._feature_means(means).shape, float(records) if self.totals else 1.0)

    def jacobian(self, means: npt.ArrayLike, n: int) -> Doubles | None:  # noqa: ARG002, overridden
        """Return how much published numbers change with the means of all features.

        Parameters
        ----------
        means : (D,) array_like
            Of the features, in the order of `names`.
        n : int
            Records in the release.

        Returns
        -------
        (D, D) ndarray of float64, or None
            A row for each number, with `units` in the diagonal; None if each number follows from
            the mean of its own feature. The mean of a group is a sum over a count, and a weighted
            mean one over the sum of the weights.

        Examples
        --------
        >>> from leakscore import statistics
        >>> statistics.WeightedMean(weights="w").on(["w", "a"]).jacobian([2.0, 6.0], n=40)
        array([[40. ,  0. ],
               [-1.5,  0.5]])
        """
        return None

    def estimates(self, means: npt.ArrayLike, n: int) -> Doubles:
        """Return the published numbers, one a feature: what was fitted, or what the means say.

        Parameters
        ----------
        means : (D,) array_like
            Of the features, in the order of `names`.
        n : int
            Records in the release.

        Returns
        -------
        (D,) ndarray of float64
            Of `Covariance` the covariances after `prepare`, before it means of products.

        Examples
        --------
        >>> from leakscore import statistics
        >>> statistics.Sum().on(["a"]).estimates([2.5], n=40)
        array([100.])
        """
        fitted = self._estimates()
        if fitted is not None:
            return fitted
        with np.errstate(invalid="ignore"):  # the mean of an empty cell is NaN
            units = self.units(means, n)
            numbers = self._feature_means(means) * units
        # A count comes back whole from its mean, however both are rounded.
        whole = np.rint(numbers)
        near = (units == n) & (np.abs(numbers - whole) <= _ROUNDING * np.abs(numbers))
        return np.where(near, whole, numbers)

    def _feature_means(self, means: npt.ArrayLike) -> Doubles:
        array = validation.real_array("means", means)
        validation.require_size("means", array, len(self.names), " one a feature")
        return array.astype(np.float64)

    def _estimates(self) -> Doubles | None:
        """Return what was fitted, where a feature is by how much a record shifts that."""
        return None

    def _checked(self, block: npt.ArrayLike) -> Doubles:
        if not self.columns:
            raise ValueError("The statistic must be of named columns: call on(columns) first")
        values = validation.matrix("block", block)
        if values.shape[1] != len(self.columns):
            raise ValueError(f"block of shape {values.shape} must have {len(self.columns)} columns")
        return np.asarray(values, dtype=np.float64)

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the features."""

    @abstractmethod
    def _features(self, values: Doubles) -> Doubles:
        """Return phi of checked records, each of another person."""

    def _features_of(self, values: Doubles, owners: npt.NDArray[np.intp]) -> Doubles:  # noqa: ARG002
        """Return phi of checked records of persons: the same where it hangs on no other record."""
        return self._features(values)

    def _require(self) -> None:
        """Refuse columns on which the statistic is not defined: it is, of numbers."""
        for name in self.levels or {}:
            raise ValueError(f"column {name!r} must hold numbers, not categories")

    def _index(self, argument: str, name: str) -> int:
        if name not in self.columns:
            raise ValueError(f"{argument}={name!r} must be one of {self.columns}")
        return self.columns.index(name)

    def _levels_of(self, argument: str, name: str) -> tuple[str, ...]:
        self._index(argument, name)
        levels = (self.levels or {}).get(name)
        if levels is None:
            raise ValueError(f"{argument}={name!r} must be a column of categories")
        return levels

    def _numbers(self, *without: str) -> list[int]:
        """Return the columns of numbers, but for those named."""
        excluded = {*without, *(self.levels or {})}
        return [j for j, name in enumerate(self.columns) if name not in excluded]


@dataclass(frozen=True, eq=False)
class SampleSums:
    """Numbers that are no sums over the records, but follow from some.

    Attributes
    ----------
    summands : (N, p) ndarray
        Of all records.
    leverages : (N,) ndarray
        By what share each record narrows the spread of the numbers by being there.
    moves : callable
        By how much the numbers differ from those of all records, (R, D), from sums (R, p).
    """

    summands: Doubles
    leverages: Doubles
    moves: Callable[[Doubles], Doubles]

    @property
    def width(self) -> int:
        """How many numbers of each record a sample adds up."""
        return int(self.summands.shape[1])

    def refitted(self, weights: npt.ArrayLike) -> Doubles:
        """Return by how much the numbers differ, (R, D), for samples of weights (R, N).

        Rows of NaN are samples of which there are no such numbers.
        """
        return self.moves(np.asarray(weights, dtype=np.float64) @ self.summands)


def indicators(codes: Doubles, size: int) -> Doubles:
    """Return one column of 0 and 1 for each of so many levels; NaN codes have NaN rows."""
    present = np.isfinite(codes)
    rows = np.equal(codes[:, None], np.arange(size)).astype(np.float64)
    rows[~present] = np.nan
    return np.asarray(rows)


def moments_of(values: npt.ArrayLike | Moments) -> Moments:
    """Return the moments of records, or these moments."""
    if isinstance(values, Moments):
        return values
    array = validation.matrix("values", values)
    moments = Moments(array.shape[1])
    moments.update(array)
    return moments


def names_of(by: object) -> tuple[str, ...]:
    """Return one name or several as a tuple."""
    names = tuple(by) if isinstance(by, Iterable) and not isinstance(by, str) else (by,)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"by={by!r} must be the name of a column, or several")
    return names


def _mapped(levels: object) -> dict[str, tuple[str, ...]]:
    """Return the levels of columns of categories."""
    if levels is None:
        return {}
    if not isinstance(levels, Mapping):
        raise TypeError(f"levels={levels!r} must map columns to their levels")
    return {name: tuple(given) for name, given in levels.items()}


@dataclass(frozen=True)
class Predicting(Statistic):
    """A statistic with a response that all other columns predict."""

    response: str

    def _require(self) -> None:
        self._index("response", self.response)
        if len(self.columns) < 2:
            raise ValueError("There must be a column beside the response to predict it with")

    @property
    def apart(self) -> tuple[str, ...]:
        """The response."""
        return (self.response,)


@dataclass(frozen=True)
class Mean(Statistic):
    """The mean of every column: phi(z) = z.

    Examples
    --------
    >>> from leakscore import statistics
    >>> statistics.Mean().on(["a"]).features([[1.5], [2.0]]).tolist()
    [[1.5], [2.0]]
    """

    kind: ClassVar[str] = "mean"
    blockwise: ClassVar[bool] = True
    said: ClassVar[str] = "The mean of n = {records} records in {columns}"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.columns

    def _features(self, values: Doubles) -> Doubles:
        return values


@dataclass(frozen=True)
class Sum(Mean):
    """The sum of every column, where the number of records is known: n times the mean.

    Examples
    --------
    >>> from leakscore import statistics
    >>> statistics.Sum().on(["a"]).exact
    'exact'
    """

    kind: ClassVar[str] = "sum"
    totals: ClassVar[bool] = True
    said: ClassVar[str] = "The sum of n = {records} records in {columns}"


@dataclass(frozen=True)
class ByLevels(Statistic):
    """A statistic of the levels of some columns."""

    by: str | Sequence[str]
    blockwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Take one name for a list of one."""
        object.__setattr__(self, "by", names_of(self.by))

    def _sizes(self) -> list[int]:
        """Return how many levels each column has."""
        if not self.by:
            raise ValueError("by=() must name a column of categories")
        return [len(self._levels_of("by", name)) for name in self.by]

    def _require(self) -> None:
        self._sizes()


@dataclass(frozen=True)
class Proportions(ByLevels):
    """The share of each level of columns of categories: phi is 1 where a record has a level.

    The first level of each column is left out, since the shares add up to 1. In a single column a
    record of a level with share p has M = 1/p - 1.

    Parameters
    ----------
    by : str or sequence of str
        Columns of categories.

    Examples
    --------
    >>> from leakscore import statistics
    >>> shares = statistics.Proportions(by=("sex",)).on(["sex"], {"sex": ["f", "m"]})
    >>> shares.names, shares.features([[0], [1]]).tolist()
    (('sex=m',), [[0.0], [1.0]])
    """

    kind: ClassVar[str] = "proportions"

    @property
    def names(self) -> tuple[str, ...]:
        """Column and level."""
        return tuple(
            f"{name}={level}" for name in self.by for level in self._levels_of("by", name)[1:]
        )

    def _features(self, values: Doubles) -> Doubles:
        parts = [
            indicators(values[:, self._index("by", name)], size)[:, 1:]
            for name, size in zip(self.by, self._sizes(), strict=True)
        ]
        return np.concatenate(parts, axis=1)


@dataclass(frozen=True)
class Histogram(Statistic):
    """Counts of a column between edges: phi is 1 where a value lies in a bin.

    The first bin is left out, since the counts add up to n. Bins hold their lower edge; the last
    one holds both; values outside all are in a bin of their own where there are any.

    Parameters
    ----------
    column : str
    edges : sequence of float
        Increasing.

    Examples
    --------
    >>> from leakscore import statistics
    >>> histogram = statistics.Histogram(column="a", edges=(0.0, 1.0, 2.0)).on(["a"])
    >>> histogram.names
    ('a in [1, 2]', 'a outside')
    >>> histogram.features([[0.5], [2.0], [7.0]]).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """

    column: str
    edges: Sequence[float]
    kind: ClassVar[str] = "histogram"
    totals: ClassVar[bool] = True
    blockwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Hold the edges as they are compared."""
        object.__setattr__(self, "edges", tuple(validation.edges("edges", self.edges).tolist()))

    def _require(self) -> None:
        self._index("column", self.column)

    @property
    def names(self) -> tuple[str, ...]:
        """The bins but the first, and what lies outside."""
        inner = zip(self.edges[1:-1], self.edges[2:], strict=True)
        closing = [")"] * (len(self.edges) - 3) + ["]"]
        bins = [
            f"{self.column} in [{low:g}, {high:g}{end}"
            for (low, high), end in zip(inner, closing, strict=False)
        ]
        return (*bins, f"{self.column} outside")

    def _features(self, values: Doubles) -> Doubles:
        column, edges = values[:, self._index("column", self.column)], np.asarray(self.edges)
        bins = np.asarray(np.searchsorted(edges, column, side="right") - 1.0, np.float64)
        bins[column == edges[-1]] = len(edges) - 2
        bins[(column < edges[0]) | (column > edges[-1])] = len(edges) - 1
        bins[np.isnan(column)] = np.nan
        return indicators(bins, len(edges))[:, 1:]
