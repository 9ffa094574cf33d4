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
    """The published numbers do not exist without the records of one person.

    Attributes
    ----------
    column : str
        The column about which only these records have information.
    row : int
        The first of these records in the block, counted from 0.

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
    """A release that is the mean of phi(z) over the n records, or a function of that mean.

    All that holds for a mean of records z holds for the mean of the features phi(z). The leakage of
    a record is M / n, where M is the squared Mahalanobis distance of phi(z) by the mean and
    covariance of phi.

    Attributes
    ----------
    exact : {"exact", "asymptotic"}
        Whether the release is a mean of phi at any n, or only in the limit of large n.
    columns : tuple of str
        Names of the columns of a block; set by `on`.
    levels : mapping
        Column of categories -> its levels; the block holds the number of the level. Set by `on`.
    kind : str
        Name of the statistic in a report's JSON.
    said : str
        What is published, as the start of a sentence: a format string with `records` and other
        fields.
    totals : bool
        Whether the published numbers are sums over the records rather than means.
    blockwise : bool
        Whether `prepare` needs only the moments of the columns. Then a table of any length can be
        judged block by block.
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
        bound = replace(self, columns=names, levels=_levels_dict(levels))
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
        """Columns that the statistic names; it needs them even if constant or linearly dependent.

        A column that is a linear combination of these and others is judged, too: its mean with
        weights w does not follow from their means.
        """
        return ()

    def weights_of(self, block: npt.ArrayLike) -> Doubles | None:  # noqa: ARG002, overridden
        """Return the weights of the records if they are public; otherwise None.

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
        """Return the statistic with the estimates that its features need; here there are none.

        Parameters
        ----------
        values : (N, d) array_like or Moments
            Records; the columns are those that `on` was given. If the statistic is ``blockwise``,
            their moments suffice.

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
            these must be among them.
        owners : (k,) array_like of int, optional
            The number of the person to whom each record belongs. All of a person's records are
            in the data or none, and all must be in the block. By default each record is of another
            person.

        Returns
        -------
        (k, D) ndarray of float64

        Raises
        ------
        NoFitError
            If the published numbers do not exist without one of the persons.
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

        Noise on the published numbers is the noise on the means of the features times these units.
        For numbers that follow from the means of several features see `jacobian`.

        Parameters
        ----------
        means : (D,) array_like
            Of the features, in the order of `names`.
        n : int
            Records in the release.

        Returns
        -------
        (D,) ndarray of float64
            n for a sum or a count, 1 for a mean or a share. For the mean of a group, one over the
            share of the group's cell; for a weighted mean, one over the mean weight.

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
        """Return the published numbers, one a feature: fitted by `prepare`, or from the means.

        Parameters
        ----------
        means : (D,) array_like
            Of the features, in the order of `names`.
        n : int
            Records in the release.

        Returns
        -------
        (D,) ndarray of float64
            `Covariance` returns covariances after `prepare`, and means of products before it.

        Examples
        --------
        >>> from leakscore import statistics
        >>> statistics.Sum().on(["a"]).estimates([2.5], n=40)
        array([100.])
        """
        fitted = self._estimates()
        if fitted is not None:
            return fitted
        with np.errstate(invalid="ignore"):  # the mean of an empty cell is NaN, or infinite
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
        """Return the fitted numbers if the features are shifts of them; otherwise None."""
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
        """Return phi of checked records of persons; here it depends on no other record."""
        return self._features(values)

    def _require(self) -> None:
        """Refuse columns on which the statistic is not defined; here those of categories."""
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

    def _numeric(self, *without: str) -> list[int]:
        """Return the indices of the columns of numbers, except those named."""
        excluded = {*without, *(self.levels or {})}
        return [j for j, name in enumerate(self.columns) if name not in excluded]


@dataclass(frozen=True, eq=False)
class SampleSums:
    """Numbers that are not sums over the records, but functions of such sums.

    Attributes
    ----------
    summands : (N, p) ndarray
        The p summands of each record.
    leverages : (N,) ndarray
        The share by which the presence of each record narrows the spread of the numbers.
    moves : callable
        Maps sums (R, p) of samples to the differences (R, D) from the numbers of all records.
    """

    summands: Doubles
    leverages: Doubles
    moves: Callable[[Doubles], Doubles]

    @property
    def width(self) -> int:
        """Number of summands of a record."""
        return int(self.summands.shape[1])

    def refitted(self, weights: npt.ArrayLike) -> Doubles:
        """Return the differences (R, D) from the numbers of all records, of samples (R, N).

        A row of weights says how often a sample has each record. Rows of NaN are samples for which
        the numbers do not exist.
        """
        return self.moves(np.asarray(weights, dtype=np.float64) @ self.summands)


def indicators(codes: Doubles, size: int) -> Doubles:
    """Return `size` columns of 0 and 1, one for each level; NaN codes have NaN rows."""
    present = np.isfinite(codes)
    rows = np.equal(codes[:, None], np.arange(size)).astype(np.float64)
    rows[~present] = np.nan
    return np.asarray(rows)


def moments_of(values: npt.ArrayLike | Moments) -> Moments:
    """Return the moments of records, or moments as they are."""
    if isinstance(values, Moments):
        return values
    array = validation.matrix("values", values)
    moments = Moments(array.shape[1])
    moments.update(array)
    return moments


def names_of(by: object) -> tuple[str, ...]:
    """Return a name, or a sequence of names, as a tuple."""
    names = tuple(by) if isinstance(by, Iterable) and not isinstance(by, str) else (by,)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"by={by!r} must be the name of a column, or several")
    return names


def _levels_dict(levels: object) -> dict[str, tuple[str, ...]]:
    """Return the levels of each column of categories."""
    if levels is None:
        return {}
    if not isinstance(levels, Mapping):
        raise TypeError(f"levels={levels!r} must map columns to their levels")
    return {name: tuple(given) for name, given in levels.items()}


@dataclass(frozen=True)
class ResponseStatistic(Statistic):
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

    The first bin is left out, since the counts add up to n. A bin includes its lower edge, the last
    bin both edges. A further bin has the values outside all edges.

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
        """Convert the edges to float64, as they are compared."""
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
