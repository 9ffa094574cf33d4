"""References in one pass: from sums of rows and their products, or the rows' Gram matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from leakscore import results, validation
from leakscore.reference import covariances, fitting
from leakscore.reference.covariances import Table
from leakscore.reference.fitting import CovarianceFit, checked_options
from leakscore.reference.low_rank import LowRank
from leakscore.reference.record import Reference, restored
from leakscore.typing import Doubles

_KINDS = ("full", "diagonal")
_VERSION = 1  # of the bytes
_MOST_ROWS = 1 << 53  # larger counts are not exact in float64
_TINY = 1e-300  # a square may underflow although a product of two columns does not
_ROUNDING = 1e-6  # of products of two columns, relative to their deviations


class Moments:
    """Count, mean and covariance of the rows added so far, by batches; mergeable and picklable.

    Parameters
    ----------
    dim : int
        Number of coordinates d of a row.
    cov : {"full", "diagonal"}
        Keep the whole covariance matrix, or the variances alone.

    Notes
    -----
    Batches are centred on their own means and merged by the update of T. F. Chan, G. H. Golub and
    R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances"
    (1979), in float64: an offset of the data costs no digits, and the order changes rounding only.

    Examples
    --------
    >>> import leakscore
    >>> first, second = leakscore.Moments(2), leakscore.Moments(2)
    >>> first.update([[0.0, 1.0], [2.0, 5.0]])
    >>> second.update([4.0, 3.0])
    >>> first.merge(second)
    >>> first.count, first.mean
    (3, array([2., 3.]))
    """

    __slots__ = ("_count", "_mean", "_scatter")

    _count: int
    _mean: Doubles
    _scatter: Doubles

    def __init__(self, dim: int, cov: Literal["full", "diagonal"] = "full") -> None:
        size = validation.count("dim", dim, low=1)
        validation.choice("cov", cov, _KINDS)
        self._count = 0
        try:
            self._mean = np.zeros(size)
            self._scatter = np.zeros((size, size) if cov == "full" else size)
        except (MemoryError, ValueError):
            raise ValueError(f"dim={size} with cov={cov!r} must fit into memory") from None

    def __repr__(self) -> str:
        return f"Moments(dim={self.dim}, cov={self.kind!r}, count={self.count})"

    @property
    def kind(self) -> str:
        """Whether the covariance is "full" or "diagonal"."""
        return _KINDS[2 - self._scatter.ndim]

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(self._mean.size)

    @property
    def count(self) -> int:
        """Number of rows added."""
        return self._count

    @property
    def mean(self) -> Doubles:
        """Mean of the rows, (d,); at least one row is needed."""
        self._require(1)
        return np.array(self._mean)

    @property
    def cov(self) -> Doubles:
        """Covariance (d, d) or variances (d,) of the rows, divided by their number."""
        self._require(1)
        return np.asarray(self._scatter / self._count, dtype=np.float64)

    def _require(self, rows: int) -> None:
        if self._count < rows:
            raise ValueError(f"There must be at least {rows} row(s) before this, not {self._count}")

    def update(self, X: npt.ArrayLike, repeats: npt.ArrayLike | None = None) -> None:
        """Add rows; if a value is not finite, add none of them.

        Parameters
        ----------
        X : (d,) or (k, d) array_like
            One row or several, read in place.
        repeats : (k,) array_like of int, optional
            How often each of them is added.

        Examples
        --------
        >>> import leakscore
        >>> moments = leakscore.Moments(1)
        >>> moments.update([[0.0], [4.0]], repeats=[3, 1])
        >>> moments.mean, moments.cov
        (array([1.]), array([[3.]]))
        """
        table = np.atleast_2d(validation.rows("X", X, cols=self.dim))
        mean, squares = fitting.moments("X", table)
        count, full = len(table), self._scatter.ndim == 2
        if repeats is not None:
            times = validation.whole("repeats", repeats, 1)
            if times.shape != (count,):
                raise ValueError(f"repeats of shape {times.shape} must be of shape ({count},)")
            count = int(times.sum())
            mean = mean + times @ (table - mean) / count
            table = (table - mean) * np.sqrt(times)[:, np.newaxis]
            squares = np.square(table).sum(axis=0)
        centre = mean if repeats is None else np.zeros(self.dim)
        scatter = covariances.scatter(table, centre, single=False) if full else squares
        self._add("X", count, mean, scatter)

    def merge(self, other: Moments) -> None:
        """Add the rows of another object of the same kind and size.

        Parameters
        ----------
        other : Moments
            Left as it is.
        """
        other = validation.instance("other", other, Moments)
        if other._scatter.shape != self._scatter.shape:
            raise ValueError(f"other={other!r} must be like {self!r} in dim and cov")
        if other._count:
            self._add("other", other._count, other._mean, other._scatter)

    def part(self, columns: npt.ArrayLike) -> Moments:
        """Return the moments of some of the columns.

        Parameters
        ----------
        columns : (k,) array_like of int

        Returns
        -------
        Moments

        Examples
        --------
        >>> import leakscore
        >>> moments = leakscore.Moments(2)
        >>> moments.update([[0.0, 5.0], [4.0, 5.0]])
        >>> moments.part([0]).mean, moments.part([0]).cov
        (array([2.]), array([[4.]]))
        """
        at = validation.whole("columns", columns, 0).astype(np.intp)
        if at.ndim != 1 or not at.size or at.max() >= self.dim:
            raise ValueError(f"columns={at.tolist()} must be numbers of columns below {self.dim}")
        full = self._scatter.ndim == 2
        moments = Moments(at.size, "full" if full else "diagonal")
        scatter = self._scatter[np.ix_(at, at)] if full else self._scatter[at]
        moments._add("columns", self._count, self._mean[at], scatter)
        return moments

    def _add(self, name: str, count: int, mean: Doubles, scatter: Doubles) -> None:
        total = self._count + count
        share = count / total
        with np.errstate(over="ignore", invalid="ignore"):
            step = mean - self._mean
            weighted = step * (self._count * share)
            summed = self._scatter + scatter
            summed += np.outer(weighted, step) if scatter.ndim == 2 else weighted * step
        if not np.isfinite(summed).all():
            raise ValueError(f"{name} must have sums of squares below 1.8e308, joined to these")
        self._scatter = summed
        self._mean = self._mean + step * share if self._count else mean.copy()
        self._count = total

    def reference(
        self,
        *,
        shrinkage: float | Literal["oas"] | None = None,
        ridge: float = 0.0,
        ddof: int = 0,
    ) -> Reference:
        """Reference of the rows added so far, the same as `Reference.fit` of a table of them.

        Parameters
        ----------
        shrinkage : float in [0, 1], "oas" or None
            As in `Reference.fit`; its other rules need the rows themselves.
        ridge : float
            Added to every variance, at least 0.
        ddof : int
            Variances divide by count - ddof.

        Returns
        -------
        Reference
            Later updates do not change it.

        Examples
        --------
        >>> import leakscore
        >>> moments = leakscore.Moments(2, cov="diagonal")
        >>> moments.update([[0.0, 1.0], [2.0, 5.0]])
        >>> moments.reference(ddof=1).cov
        array([2., 8.])
        """
        self._require(2)
        if isinstance(shrinkage, str) and shrinkage in ("auto", "ledoit-wolf"):
            raise ValueError(
                f"shrinkage={shrinkage!r} must be a number, 'oas' or None: this rule needs "
                "the rows, which are not kept. Reference.fit has it"
            )
        return reference_of(self, (shrinkage, ridge, ddof), _no_rows)

    def to_bytes(self) -> bytes:
        """Return the state in a format that does not depend on the machine.

        Returns
        -------
        bytes
            For `from_bytes`: with the version of the format, and a digest that shows damage.
        """
        return results.pack(
            "moments", _VERSION, [np.array([self._count]), self._mean, self._scatter]
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Moments:
        """Return the object from which `to_bytes` made these bytes.

        Parameters
        ----------
        data : bytes
            The bytes of one object, whole; anything else, or another version, is refused.

        Returns
        -------
        Moments
            With the same count, mean and covariance.

        Examples
        --------
        >>> import leakscore
        >>> moments = leakscore.Moments(3)
        >>> leakscore.Moments.from_bytes(moments.to_bytes())
        Moments(dim=3, cov='full', count=0)
        """
        arrays = results.unpack("moments", _VERSION, data, "Moments.to_bytes()")
        if [array.dtype.str[1:] for array in arrays] != ["i8", "f8", "f8"]:
            raise ValueError("data must hold a count, a mean and a scatter")
        count, mean, scatter = arrays
        dim = mean.size
        shapes = ((dim,), (dim, dim))
        if dim < 1 or (count.shape, mean.shape) != ((1,), (dim,)) or scatter.shape not in shapes:
            raise ValueError(f"data must hold moments of one size: dim is {dim}")
        moments = cls.__new__(cls)
        moments._count = int(count[0])
        moments._mean = validation.finite("data", mean)
        moments._scatter = validation.finite("data", scatter)
        if not moments._is_possible():
            raise ValueError(
                "data must hold moments of rows: the mean and scatter of "
                f"{moments._count} rows are none"
            )
        return moments

    def _is_possible(self) -> bool:
        """Whether rows with this count, mean and scatter can exist, up to rounding."""
        if self._count < 0:
            return False
        if self._count == 0:
            return not (self._mean.any() or self._scatter.any())
        if self._count >= _MOST_ROWS:
            return False
        full = self._scatter.ndim == 2
        squares = np.diagonal(self._scatter) if full else self._scatter
        if bool((squares < 0).any()) or (self._count == 1 and bool(self._scatter.any())):
            return False
        if not full:
            return True
        deviations = np.sqrt(squares + _TINY)
        with np.errstate(over="ignore"):
            largest = np.outer(deviations, deviations)
            asymmetric = np.abs(self._scatter - self._scatter.T) > _ROUNDING * largest
            too_large = np.abs(self._scatter) > (1 + _ROUNDING) * largest
        return not bool(asymmetric.any() or too_large.any())


def reference_of(
    moments: Moments,
    options: tuple[object, object, object],
    products: fitting.RowProducts,
) -> Reference:
    """Return the reference of moments by shrinkage, ridge and ddof; see `products_of`.

    `products(rule, weights)` is the sum over all rows, for the rules that read them again.
    """
    mean, rows = moments._mean.copy(), moments.count
    method, ridge, freedom = fitting.checked_options(rows, moments.kind, *options)
    if moments.kind == "full" and rows <= mean.size and method is None and ridge == 0:
        raise ValueError(
            f"There must be more than the {rows} rows seen, {mean.size} at least for a covariance "
            "that is not singular. Pass shrinkage='oas', ridge > 0 or cov='diagonal'"
        )
    scatter = moments._scatter.copy()
    return restored(*fitting.of_scatter(mean, scatter, rows, (method, ridge, freedom), products))


def products_of(moments: Moments, rule: str, rows: Doubles, weights: Doubles) -> float:
    """Return the products that a rule of shrinkage needs from some of the rows of `moments`."""
    return fitting.row_products(rule, rows, moments._mean, weights)


def side_by_side(parts: Sequence[Moments]) -> Moments:
    """Join variances of different columns of the same rows."""
    joined = Moments(sum(part.dim for part in parts), "diagonal")
    joined._count = parts[0]._count
    joined._mean = np.concatenate([part._mean for part in parts])
    joined._scatter = np.concatenate([part._scatter for part in parts])
    return joined


def _no_rows(rule: str, weights: Doubles) -> float:
    """Refuse rules of shrinkage that read the rows again."""
    raise ValueError(f"The rows must be given for shrinkage={rule!r} with {weights.size} weights")


class ColumnGram:
    """Gram matrix and moments of rows whose columns come block by block; mergeable and picklable.

    Gradients of one batch of examples, sharded over machines or kept as one array a layer, give one
    Reference of kind "low-rank" without concatenation: each holder of columns makes one object, at
    the cost of one reading, and the objects are merged in the order of the columns.

    Parameters
    ----------
    rows : int
        Number of rows n0, at least 2: the same rows in every block.
    shrinkage : float in [0, 1] or "auto"
        As in `Reference.fit`; "auto" is computed after the last column.
    ridge : float
        Added to every variance, at least 0. With shrinkage="auto" it costs a second pass.
    ddof : int
        Variances divide by n0 - ddof.

    Notes
    -----
    Read-only views of the blocks are kept, not copies: do not change them while this object or its
    reference is used. Pickles hold their numbers.

    Examples
    --------
    >>> import leakscore
    >>> first, second = leakscore.ColumnGram(3), leakscore.ColumnGram(3)
    >>> first.update([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    >>> second.update([[5.0], [5.0], [2.0]])
    >>> first.merge(second)
    >>> first.reference().mean
    array([1., 1., 4.])
    """

    __slots__ = ("_columns",)

    def __init__(
        self,
        rows: int,
        *,
        shrinkage: float | Literal["auto"] = "auto",
        ridge: float = 0.0,
        ddof: int = 0,
    ) -> None:
        count = validation.count("rows", rows, low=2)
        options = checked_options(count, "low-rank", shrinkage, ridge, ddof)
        self._columns = fitting.GramColumns(count, *options)

    def __repr__(self) -> str:
        return f"ColumnGram(rows={self.rows}, dim={self.dim})"

    def __copy__(self) -> ColumnGram:
        return with_columns(self, self._columns.parts)

    @property
    def rows(self) -> int:
        """Number of rows n0."""
        return self._columns.rows

    @property
    def dim(self) -> int:
        """Number of columns added."""
        return sum(part.shape[1] for part in self._columns.parts)

    def update(self, X: npt.ArrayLike) -> None:
        """Append columns; if a value is not finite, append none of them.

        Parameters
        ----------
        X : (n0, k) array_like
            The next columns of every row, read in place. A view of them is kept.
        """
        part = validation.matrix("X", X)
        if len(part) != self.rows:
            raise ValueError(f"X of shape {part.shape} must have {self.rows} rows")
        self._columns.add("X", part)

    def merge(self, other: ColumnGram) -> None:
        """Append the columns of another object with the same rows and options.

        Parameters
        ----------
        other : ColumnGram
            Left as it is.
        """
        theirs, mine = validation.instance("other", other, ColumnGram)._columns, self._columns
        if theirs.options != mine.options:
            raise ValueError(
                f"other={other!r} must have the rows and options of {self!r}: "
                f"{theirs.options}, not {mine.options}"
            )
        mine.extend(theirs)

    def reference(self) -> Reference:
        """Reference of kind "low-rank" of the columns added so far.

        Returns
        -------
        Reference
            Equal, up to rounding, to `Reference.fit` of all columns in one table.

        Examples
        --------
        >>> import leakscore
        >>> gram = leakscore.ColumnGram(2, shrinkage=0.5, ddof=1)
        >>> gram.update([[0.0, 1.0], [2.0, 5.0]])
        >>> gram.reference().cov
        array([[2., 2.],
               [2., 8.]])
        """
        if not self._columns.parts:
            raise ValueError("There must be at least one update(X) before this")
        return restored(*estimate(self))


def with_columns(sums: ColumnGram, columns: Sequence[Table]) -> ColumnGram:
    """Return the same sums with these columns; without columns they are small to send and merge."""
    other = ColumnGram.__new__(ColumnGram)
    other._columns = replace(sums._columns, parts=list(columns))
    return other


def estimate(sums: ColumnGram) -> tuple[Doubles, LowRank, CovarianceFit]:
    """Return mean, covariance and fit; without its columns the covariance cannot multiply."""
    return sums._columns.estimate()
