"""Estimates of mean and covariance from a table, and intensities of shrinkage.

Covariances of few rows and many columns come from their Gram matrix, a block of columns at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from leakscore import _core, validation
from leakscore.reference import covariances, low_rank
from leakscore.reference.covariances import Table
from leakscore.typing import Doubles

Shrinkage: TypeAlias = float | Literal["auto", "ledoit-wolf", "oas"] | None
RowProducts: TypeAlias = Callable[[str, Doubles], float]
"""Maps a rule of shrinkage and weights to the sum of `row_products` over all rows."""


@dataclass(frozen=True)
class CovarianceFit:
    """How a covariance was estimated, as needed to estimate it without a row."""

    rows: int
    ddof: int
    shrinkage: Shrinkage
    intensity: float
    ridge: float | Doubles
    variances: Doubles

    def with_ridge(self, variance: Doubles) -> CovarianceFit:
        """Return the same fit with a larger addition to the variances."""
        return replace(self, ridge=self.ridge + variance)


def checked_options(
    rows: int, kind: str, shrinkage: Any, ridge: object, ddof: object
) -> tuple[Shrinkage, float, int]:
    """Return the shrinkage, the ridge and the divisor of the sums of squares.

    Shrinkage is None, an intensity in [0, 1] or the name of a rule for it; 0 becomes None.
    """
    if shrinkage is None:
        shrinkage = "auto" if kind == "low-rank" else None
    elif not isinstance(shrinkage, str):
        shrinkage = validation.scalar("shrinkage", shrinkage, 0.0, 1.0) or None
    else:
        validation.choice("shrinkage", shrinkage, ("auto", "ledoit-wolf", "oas"))
        if kind != "full" and shrinkage != "auto":
            raise ValueError(f"cov={kind!r} must be 'full' with shrinkage={shrinkage!r}")
    extra = validation.scalar("ridge", ridge, 0.0)
    return shrinkage, extra, rows - validation.count("ddof", ddof, 0, rows - 1)


def require_finite(name: str, table: Table, squares: Doubles) -> None:
    """Refuse a table whose sums of squares are not finite."""
    if not np.isfinite(squares).all():
        validation.finite(name, table)
        raise ValueError(f"{name} must have variances below 1.8e308: rescale its columns")


def schaefer_strimmer(rows: int, squared_correlations: Any, products: Any) -> Any:
    """Intensity from the sum of r_ij^2 over i != j, and of y_i^2 y_j^2 over i != j and rows."""
    correlated = ~(squared_correlations <= 0)
    squares = np.where(correlated, squared_correlations, 1.0)
    noise = (products / rows - squares) / (rows - 1)
    return np.where(correlated, np.clip(noise / squares, 0.0, 1.0), 1.0)[()]


@dataclass
class GramColumns:
    """Columns added so far: their moments, and the Gram matrix of the rows in standard units.

    The squared unit of a column is the covariance's diagonal entry D. If that is not known before
    the last column, because the intensity is not, it is the sample variance.
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
        """The options, which must be equal in objects that are merged."""
        return self.rows, self.shrinkage, self.ridge, self.freedom

    def _units(self) -> tuple[float, float]:
        """Return (a, b) where a * squares + b are the squared units."""
        share = 0.0 if self.shrinkage in ("auto", None) else float(self.shrinkage)
        if self.shrinkage == "auto" or share + self.ridge == 0.0:
            return 1 / self.rows, 0.0
        return share / self.freedom, self.ridge

    def add(self, name: str, part: Table) -> None:
        """Add columns, kept as a view; if a value is not finite, add none of them."""
        covariances.use_blas()
        single = low_rank.sums_in_float(part)
        rule = self.shrinkage == "auto"
        mean, squares, gram, fourth = _core.gram_and_moments(part, *self._units(), rule, single)
        require_finite(name, part, squares)
        view = part.view()
        view.flags.writeable = False
        self.extend(GramColumns(*self.options, [view], [mean], [squares], gram, fourth, single))

    def extend(self, other: GramColumns) -> None:
        """Append the columns of another object with the same options."""
        self.parts = self.parts + other.parts
        self.means = self.means + other.means
        self.squares = self.squares + other.squares
        if other.gram is not None:
            self.gram = other.gram if self.gram is None else self.gram + other.gram
        self.fourth += other.fourth
        self.single |= other.single

    def estimate(self) -> tuple[Doubles, low_rank.LowRank, CovarianceFit]:
        """Return mean, covariance, and how the covariance was estimated."""
        share, ridge = self._units()
        squares = _concatenate(self.squares)
        gram = low_rank.doubly_centred(self.gram.copy())  # type: ignore[union-attr]
        intensity = self._intensity(gram, squares)
        variances = squares / self.freedom
        diagonal = intensity * variances
        diagonal += self.ridge
        units = share * squares
        units += ridge
        gram_matrix = low_rank.Gram(gram, units, self.single).at(diagonal)
        mean = _concatenate(self.means)
        scale = (1 - intensity) / self.freedom
        total = variances + self.ridge if self.ridge else variances
        covariance = low_rank.LowRank(tuple(self.parts), mean, scale, diagonal, total, gram_matrix)
        ddof = self.rows - self.freedom
        fit = CovarianceFit(self.rows, ddof, self.shrinkage, intensity, self.ridge, variances)
        return mean, covariance, fit

    def _intensity(self, gram: Doubles, squares: Doubles) -> float:
        """Return the intensity; "auto" takes its sums over columns from the Gram matrix."""
        if self.shrinkage != "auto":
            return float(self.shrinkage or 0.0)
        if squares.size == 1:  # one variance: nothing to shrink towards
            return 0.0
        varying = int(np.count_nonzero(squares >= self.rows * low_rank.TINY))
        correlations = float(np.square(gram).sum()) / self.rows**2 - varying
        products = float(np.square(np.diag(gram)).sum()) - self.fourth
        return float(schaefer_strimmer(self.rows, np.float64(correlations), products))


def _concatenate(arrays: list[Doubles]) -> Doubles:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def estimate_of_gram(
    table: Table, shrinkage: Shrinkage, ridge: float, freedom: int
) -> tuple[Doubles, low_rank.LowRank, CovarianceFit]:
    """Estimate from a whole table."""
    columns = GramColumns(len(table), shrinkage, ridge, freedom)
    columns.add("X", table)
    return columns.estimate()


EPSILON = float(np.finfo(np.float64).eps)

# float32 tables are summed in float32 (half the time) from this many multiplications on, where the
# time is worth it. The covariance must be so well conditioned that M keeps its digits: more than
# this share of the variance of every coordinate remains given those before it.
_SINGLE_FROM = 2**31
_SINGLE_SHARE = 0.05


def estimate(
    X: object, kind: str, *, shrinkage: object, ridge: object, ddof: object
) -> tuple[Doubles, low_rank.CovarianceForm, CovarianceFit]:
    """Validate the arguments of `Reference.fit`; return mean, covariance and its fit."""
    validation.choice("cov", kind, ("full", "diagonal", "low-rank"))
    table = validation.matrix("X", X, min_rows=2)
    rows, dim = table.shape
    method, extra, freedom = checked_options(rows, kind, shrinkage, ridge, ddof)
    if kind == "low-rank":
        return estimate_of_gram(table, method, extra, freedom)
    if kind == "full" and rows <= dim and method is None and extra == 0:
        raise ValueError(
            f"X of shape {table.shape} must have more rows than columns: with cov='full' "
            "the covariance is singular otherwise. Pass shrinkage='auto', ridge > 0 or "
            "cov='diagonal'"
        )
    mean, squares = moments("X", table)
    options = method, extra, freedom
    if kind == "diagonal":
        return of_scatter(mean, squares, rows, options, products_of(table, mean))
    large = table.dtype == np.float32 and rows * dim * dim >= _SINGLE_FROM
    for single in (True, False) if large else (False,):
        scatter = covariances.scatter(table, mean, single=single)
        _, full, fit = of_scatter(mean, scatter, rows, options, products_of(table, mean))
        if isinstance(full, covariances.Full) and single and full.smallest_share > _SINGLE_SHARE:
            break
    # A table is recognised by its moments; products in float32, or about a rounded mean, differ.
    return mean, full, replace(fit, variances=squares / freedom)


def moments(name: str, table: Table) -> tuple[Doubles, Doubles]:
    """Mean and sum of squared deviations of each column; refuses what is not finite."""
    mean, squares = _core.column_moments(table)
    require_finite(name, table, squares)
    return mean, squares


def of_scatter(
    mean: Doubles,
    scatter: Doubles,
    rows: int,
    options: tuple[Shrinkage, float | Doubles, int],
    products: RowProducts,
) -> tuple[Doubles, covariances.Diagonal | covariances.Full, CovarianceFit]:
    """Estimate from sums of squares, (d,), or of squares and products, (d, d), overwritten.

    `options` are the shrinkage, the ridge and the divisor of the sums. `products(rule, weights)` is
    the sum of `row_products` over all rows, for rules that need it.
    """
    method, ridge, freedom = options
    cov = scatter
    cov /= freedom
    if cov.ndim == 1:
        fit = CovarianceFit(rows, rows - freedom, None, 0.0, ridge, cov)
        return mean, covariances.Diagonal(cov + ridge, EPSILON), fit
    variances = np.diag(cov).copy()
    intensity = shrink(cov, method, rows, freedom, products=products)
    fit = CovarianceFit(rows, rows - freedom, method, intensity, ridge, variances)
    cov.flat[:: mean.size + 1] += ridge
    return mean, covariances.Full(cov, EPSILON), fit


def shrink(
    cov: Doubles, shrinkage: Shrinkage, rows: int, freedom: int, *, products: RowProducts
) -> float:
    """Shrink a sample covariance with the divisor `freedom` in place; return the intensity."""
    if shrinkage is None:
        return 0.0

    def each(rule: str, weights: Doubles) -> Doubles:
        return np.array([products(rule, weights[0])])

    plain = cov * (freedom / rows)
    intensities = intensities_of(plain[np.newaxis], shrinkage, rows, each)
    towards_targets(cov[np.newaxis], shrinkage, intensities)
    return float(intensities[0])


def products_of(table: Table, mean: Doubles) -> RowProducts:
    """Return `row_products` of a whole table."""
    return lambda rule, weights: row_products(rule, table, mean, weights)


def towards_targets(covs: Doubles, shrinkage: Shrinkage, intensities: Doubles) -> None:
    """Shrink covariances (m, d, d) in place, each by its intensity."""
    variances, intensity = _diagonals(covs), intensities[:, np.newaxis]
    common = shrinkage in ("ledoit-wolf", "oas")
    target = variances.mean(axis=1, keepdims=True) if common else variances
    covs *= 1 - intensity[:, :, np.newaxis]
    np.einsum("ijj->ij", covs)[...] = (1 - intensity) * variances + intensity * target


def intensities_of(
    covs: Doubles, shrinkage: Shrinkage, rows: int, products: Callable[[str, Doubles], Doubles]
) -> Doubles:
    """Return the intensities (m,) for sample covariances (m, d, d), ddof=0, of `rows` rows each.

    `products(rule, weights)` maps weights (m, d) to the sums (m,) of `row_products`.
    """
    if covs.shape[1] == 1 and isinstance(shrinkage, str):
        return np.zeros(len(covs))  # one variance: nothing to shrink towards, as in scikit-learn
    if shrinkage == "auto":
        return _schaefer_strimmer(covs, rows, products)
    if shrinkage == "ledoit-wolf":
        return _ledoit_wolf(covs, rows, products)
    if shrinkage == "oas":
        return _oas(covs, rows)
    return np.full(len(covs), float(shrinkage or 0.0))


def row_products(rule: str, table: Table, mean: Doubles, weights: Doubles) -> float:
    """Return the sum over rows that a rule needs; sums of parts of a table add up.

    The summand is q^2, where q is the sum of w (x - mean)^2 over the coordinates. For "auto" it is
    q^2 less the sum of the squares of q's terms.
    """
    squares = _core.quadratic(table, mean, weights) ** 2
    if rule == "auto":
        squares = squares - _core.quartic(table, mean, weights)
    return float(squares.sum())


def _schaefer_strimmer(
    covs: Doubles, rows: int, products: Callable[[str, Doubles], Doubles]
) -> Doubles:
    """Return the sum of the variances of all correlations over the sum of their squares.

    With y the standardised data, the variance of r_ij is that of y_i y_j over n - 1. Its sum over
    i != j needs only sum_i y_i^2 and sum_i y_i^4 of each row: no n d^2 work.
    """
    variances = _diagonals(covs)
    varying = variances >= np.finfo(np.float64).tiny
    weights = np.where(varying, 1 / np.where(varying, variances, 1.0), 0.0)
    units = np.sqrt(weights)
    correlations = covs * units[:, np.newaxis, :]
    correlations *= units[:, :, np.newaxis]
    squared_correlations = _squares(correlations) - varying.sum(axis=1)
    return np.asarray(schaefer_strimmer(rows, squared_correlations, products("auto", weights)))


def _ledoit_wolf(covs: Doubles, rows: int, products: Callable[[str, Doubles], Doubles]) -> Doubles:
    """Ledoit and Wolf's intensities towards a multiple of the identity."""
    dim = covs.shape[1]
    scaled, scale = _mean_variance_one(covs)
    norm, weights = _squares(scaled), np.repeat(1 / scale[:, np.newaxis], dim, axis=1)
    noise = (products("ledoit-wolf", weights) / rows - norm) / rows
    spread = norm - dim * (_diagonals(scaled).sum(axis=1) / dim) ** 2
    varying = spread > 0
    share = np.where(varying, np.minimum(noise / np.where(varying, spread, 1.0), 1.0), 1.0)
    return np.where(noise <= 0, 0.0, share)


def _oas(covs: Doubles, rows: int) -> Doubles:
    """Chen, Wiesel, Eldar and Hero's intensities, as scikit-learn computes them."""
    dim = covs.shape[1]
    scaled, _ = _mean_variance_one(covs)
    mean_square = (scaled * scaled).reshape(len(covs), -1).mean(axis=1)
    square_mean = (_diagonals(scaled).sum(axis=1) / dim) ** 2
    spread = (rows + 1) * (mean_square - square_mean / dim)
    varying = spread > 0
    share = (mean_square + square_mean) / np.where(varying, spread, 1.0)
    return np.where(varying, np.minimum(share, 1.0), 1.0)


def _mean_variance_one(covs: Doubles) -> tuple[Doubles, Doubles]:
    """Return covariances over their mean variance, and that; squares neither over- nor underflow.

    A covariance of zeros stays as it is.
    """
    scale = _diagonals(covs).mean(axis=1)
    scale = np.where(scale < np.finfo(np.float64).tiny, 1.0, scale)
    return covs / scale[:, np.newaxis, np.newaxis], scale


def _diagonals(covs: Doubles) -> Doubles:
    return np.array(np.diagonal(covs, axis1=1, axis2=2))


def _squares(matrices: Doubles) -> Doubles:
    """Return the sum of the squared entries of each matrix."""
    return np.array([np.vdot(matrix, matrix) for matrix in matrices])
