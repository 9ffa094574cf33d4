"""Covariances of few rows and many columns from their Gram matrix, a block of columns at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from leakscore import _core
from leakscore.reference import _capacity, dense, low_rank
from leakscore.reference.covariances import Table
from leakscore.reference.fitting import CovarianceFit, Shrinkage, require_finite, schaefer_strimmer
from leakscore.typing import Doubles


@dataclass
class GramColumns:
    """Columns seen so far: their moments, and the Gram matrix of the rows in standard units.

    The unit of a column is the diagonal entry that the covariance will have, where it is known
    before all columns are, and the sample variance if the intensity is not known yet.
    """

    rows: int
    shrinkage: Shrinkage
    ridge: float
    freedom: int
    parts: list[Table] = field(default_factory=list)
    means: list[Doubles] = field(default_factory=list)
    squares: list[Doubles] = field(default_factory=list)
    gram: Doubles | None = None
    fourth: float = 0.0
    single: bool = False

    @property
    def options(self) -> tuple[int, Shrinkage, float, int]:
        """What two objects must have in common to be merged."""
        return self.rows, self.shrinkage, self.ridge, self.freedom

    def _units(self) -> tuple[float, float]:
        """Return (a, b) where a * squares + b are the squared units."""
        share = 0.0 if self.shrinkage in ("auto", None) else float(self.shrinkage)
        if self.shrinkage == "auto" or share + self.ridge == 0.0:
            return 1 / self.rows, 0.0
        return share / self.freedom, self.ridge

    def add(self, name: str, part: Table) -> None:
        """Add columns, kept as a view; if a value is not finite, add none of them."""
        dense._use_blas()
        single = _capacity.sums_in_float(part)
        rule = self.shrinkage == "auto"
        sums = _core.gram_and_moments(part, *self._units(), rule, single)
        mean, squares, gram, fourth = sums
        require_finite(name, part, squares)
        self.extend([_view(part)], [mean], [squares], gram, fourth, single)

    def extend(
        self,
        parts: list[Table],
        means: list[Doubles],
        squares: list[Doubles],
        gram: Doubles | None,
        fourth: float,
        single: bool,
    ) -> None:
        """Append the columns of another object."""
        self.parts = self.parts + parts
        self.means = self.means + means
        self.squares = self.squares + squares
        if gram is not None:
            self.gram = gram if self.gram is None else self.gram + gram
        self.fourth += fourth
        self.single |= single

    def estimate(self) -> tuple[Doubles, low_rank.LowRank, CovarianceFit]:
        """Return mean and covariance, and how they were made."""
        share, ridge = self._units()
        squares = _joined(self.squares)
        gram = _capacity.doubly_centred(self.gram.copy())  # type: ignore[union-attr]
        intensity = self._intensity(gram, squares)
        variances = squares / self.freedom
        diagonal = intensity * variances
        diagonal += self.ridge
        units = share * squares
        units += ridge
        gram_matrix = _capacity.Gram(gram, units, self.single).at(diagonal)
        mean = _joined(self.means)
        scale = (1 - intensity) / self.freedom
        total = variances + self.ridge if self.ridge else variances
        covariance = low_rank.LowRank(tuple(self.parts), mean, scale, diagonal, total, gram_matrix)
        ddof = self.rows - self.freedom
        fit = CovarianceFit(self.rows, ddof, self.shrinkage, intensity, self.ridge, variances)
        return mean, covariance, fit

    def _intensity(self, gram: Doubles, squares: Doubles) -> float:
        """Return the intensity; "auto" from sums over the columns that the Gram matrix holds."""
        if self.shrinkage != "auto":
            return float(self.shrinkage or 0.0)
        if squares.size == 1:  # one variance: nothing to shrink towards
            return 0.0
        varying = int(np.count_nonzero(squares >= self.rows * low_rank.TINY))
        correlations = float(np.square(gram).sum()) / self.rows**2 - varying
        products = float(np.square(np.diag(gram)).sum()) - self.fourth
        return float(schaefer_strimmer(self.rows, np.float64(correlations), products))


def _joined(arrays: list[Doubles]) -> Doubles:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _view(part: Table) -> Table:
    view: Table = part.view()
    view.flags.writeable = False
    return view


def estimate(
    table: Table, shrinkage: Shrinkage, ridge: float, freedom: int
) -> tuple[Doubles, low_rank.LowRank, CovarianceFit]:
    """Estimate from a whole table."""
    columns = GramColumns(len(table), shrinkage, ridge, freedom)
    columns.add("X", table)
    return columns.estimate()
