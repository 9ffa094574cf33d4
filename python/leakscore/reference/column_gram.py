"""Low-rank references of rows whose columns come in blocks, from several machines or layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy.typing as npt

from leakscore import validation
from leakscore.reference import _gram
from leakscore.reference._reference import Reference, _restore
from leakscore.reference.covariances import Table
from leakscore.reference.fitting import CovarianceFit, checked_options
from leakscore.reference.low_rank import LowRank
from leakscore.typing import Doubles


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
        self._columns = _gram.GramColumns(count, *options)

    def __repr__(self) -> str:
        return f"ColumnGram(rows={self.rows}, dim={self.dim})"

    @property
    def rows(self) -> int:
        """Number of rows n0."""
        return self._columns.rows

    @property
    def dim(self) -> int:
        """Number of columns seen."""
        return sum(part.shape[1] for part in self._columns.parts)

    def update(self, X: npt.ArrayLike) -> None:
        """Append columns; if a value is not finite, append none of them.

        Parameters
        ----------
        X : (n0, k) array_like
            The next columns of every row, read where they are. A view of them is kept.
        """
        part = validation.matrix("X", X)
        if len(part) != self.rows:
            raise ValueError(f"Expected X of shape {part.shape} to have {self.rows} rows")
        self._columns.add("X", part)

    def merge(self, other: ColumnGram) -> None:
        """Append the columns that another object with the same rows and options has seen.

        Parameters
        ----------
        other : ColumnGram
            Left as it is.
        """
        theirs, mine = validation.instance("other", other, ColumnGram)._columns, self._columns
        if theirs.options != mine.options:
            raise ValueError(
                f"Expected other={other!r} to have the rows and options of {self!r}: "
                f"{theirs.options}, not {mine.options}"
            )
        mine.extend(
            theirs.parts, theirs.means, theirs.squares, theirs.gram, theirs.fourth, theirs.single
        )

    def reference(self) -> Reference:
        """Reference of kind "low-rank" of the columns seen so far.

        Returns
        -------
        Reference
            The one that `Reference.fit` makes of the blocks side by side, up to rounding.

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
            raise ValueError("Expected at least one update(X) before this")
        return _restore(*estimate(self))


def with_columns(sums: ColumnGram, columns: Sequence[Table]) -> ColumnGram:
    """Return the same sums beside these columns, or beside none: small to send and to merge."""
    other = ColumnGram.__new__(ColumnGram)
    other._columns = replace(sums._columns, parts=list(columns))
    return other


def estimate(sums: ColumnGram) -> tuple[Doubles, LowRank, CovarianceFit]:
    """Return mean, covariance and fit of sums; without their columns it cannot multiply."""
    return sums._columns.estimate()
