"""The mean and covariance of one record, and Gaussian noise on a release of records.

Noise has a standard deviation per column, a covariance matrix, or a factor of one.
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.reference import covariances, fitting
from leakscore.reference.covariances import Diagonal, Full, Kind
from leakscore.reference.fitting import CovarianceFit
from leakscore.reference.low_rank import LARGEST_MATRIX, CovarianceForm, LowRank, low_rank
from leakscore.typing import Doubles, Row, Rows

__all__ = [
    "GaussianNoise",
    "Reference",
    "SingularCovarianceError",
    "noise_given",
    "noise_of_factor",
]


_ROUNDED = 1e-13  # a variance up to this share of the largest is a rounded 0


class SingularCovarianceError(ValueError):
    """The covariance has no inverse, and the call adds no noise that would give it one.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 0.0])
    >>> reference.squared_mahalanobis([1.0, 0.0])
    Traceback (most recent call last):
    leakscore.reference.SingularCovarianceError: The covariance is singular: ...
    """

    __module__ = "leakscore.reference"  # where users find it, also in a traceback


class Reference:
    """What the attacker knows about one record: its mean and covariance.

    Immutable and picklable. Holds float64 copies of its arguments.

    Parameters
    ----------
    mean : (d,) array_like
        Mean of one record.
    cov : (d,) or (d, d) array_like
        Covariance of one record: the variances of uncorrelated coordinates, or the whole matrix.
        It may be singular: calls with noise work exactly, and those that need its inverse raise
        `SingularCovarianceError`. Singular means that a variance is 0, or that less than a share
        1e-14 d of the variance of a coordinate remains given the coordinates before it.

    Raises
    ------
    ValueError
        If a variance is negative; if the matrix is not symmetric to within 1.5e-8 of the standard
        deviations (float32: 3.5e-4), or not positive semidefinite; if shapes do not fit or a value
        is not finite.

    See Also
    --------
    Reference.fit : Estimate both from a table.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 1.0], [[4.0, 2.0], [2.0, 5.0]])
    >>> reference
    Reference(dim=2, kind='full')
    >>> reference.squared_mahalanobis([2.0, 4.0])
    2.0
    """

    __slots__ = ("_covariance", "_fit", "_mean")

    _mean: Doubles
    _covariance: CovarianceForm
    _fit: CovarianceFit | None

    def __init__(self, mean: npt.ArrayLike, cov: npt.ArrayLike) -> None:
        centre = validation.vector("mean", mean)
        dim = centre.size
        array = validation.real_array("cov", cov)
        if array.shape not in ((dim,), (dim, dim)):
            raise ValueError(f"cov of shape {array.shape} must be ({dim},) or ({dim}, {dim})")
        if array.ndim == 1:
            variances = np.array(validation.doubles("cov", array))
            covariances.require_variances("cov", variances, 1)
            self._set(centre.copy(), Diagonal(variances, covariances.rounding(array.dtype)), None)
            return
        values, rounding = covariances.symmetric("cov", array)
        self._set(centre.copy(), Full(values, rounding), None)
        if self._covariance.problem() is not None:
            covariances.require_semidefinite(values, rounding)

    def _set(
        self, mean: Doubles, covariance: CovarianceForm, fit: CovarianceFit | None
    ) -> Reference:
        mean.flags.writeable = False
        self._mean, self._covariance, self._fit = mean, covariance, fit
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (self._mean, self._covariance, self._fit)

    def __repr__(self) -> str:
        rows = "" if self._fit is None else f", n_reference={self._fit.rows}"
        return f"Reference(dim={self.dim}, kind={self.kind!r}{rows})"

    @property
    def mean(self) -> Doubles:
        """Mean of one record, (d,)."""
        return self._mean

    @property
    def cov(self) -> Doubles:
        """Variances (d,) or covariance matrix (d, d) of one record.

        For kind "low-rank" with r < d it is computed on each access, and refused for d > 16384.
        """
        return self._covariance.values

    @property
    def variances(self) -> Doubles:
        """Variances of one record, (d,)."""
        return self._covariance.variances

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(self._mean.size)

    @property
    def kind(self) -> Kind:
        """How the covariance is held: "diagonal", "full" or "low-rank"."""
        return self._covariance.kind

    @property
    def n_reference(self) -> int | None:
        """Number of rows the reference was fitted on; None if mean and covariance were given."""
        return None if self._fit is None else self._fit.rows

    @property
    def shrinkage(self) -> float | None:
        """Intensity by which `fit` shrank the covariance, in [0, 1]; None if it was given."""
        return None if self._fit is None else self._fit.intensity

    @property
    def logdet(self) -> float:
        """Natural logarithm of the determinant of the covariance; -inf if it is singular."""
        return self._covariance.logdet() if self._covariance.problem() is None else -np.inf

    @overload
    def squared_mahalanobis(self, Z: Rows) -> Doubles: ...
    @overload
    def squared_mahalanobis(self, Z: Row) -> float: ...
    @overload
    def squared_mahalanobis(self, Z: npt.ArrayLike) -> float | Doubles: ...
    def squared_mahalanobis(self, Z: npt.ArrayLike) -> float | Doubles:
        """Squared Mahalanobis distance M = (z - mean)' C^-1 (z - mean).

        Parameters
        ----------
        Z : (d,) or (k, d) array_like
            One row or several, read in place (no copy of the whole).

        Returns
        -------
        float or (k,) ndarray
            M of every row, without a unit; inf beyond 1.8e308. Computed in float64 from the stored
            values of `Z`, so an offset of the data costs float32 rows no digits.

        Raises
        ------
        SingularCovarianceError
            If the covariance is singular.

        Examples
        --------
        >>> import leakscore
        >>> leakscore.Reference([0.0, 1.0], [1.0, 4.0]).squared_mahalanobis([[1, 3], [0, 1]])
        array([2., 0.])
        """
        rows = validation.rows("Z", Z, cols=self.dim)
        result = covariances.distances(self.invertible(), "Z", rows, self._mean)
        return float(result[0]) if rows.ndim == 1 else result

    @property
    def covariance(self) -> CovarianceForm:
        """The covariance in its representation; its methods take validated arrays."""
        return self._covariance

    def invertible(self) -> CovarianceForm:
        """The covariance, after a check that it has an inverse.

        Returns
        -------
        CovarianceForm
            `covariance` itself.

        Raises
        ------
        SingularCovarianceError
            With the coordinate, or the combination of coordinates, that has no variance.

        Examples
        --------
        >>> import leakscore
        >>> leakscore.Reference([0.0, 1.0], [1.0, 4.0]).invertible().kind
        'diagonal'
        """
        problem = self._covariance.problem()
        if problem is not None:
            raise SingularCovarianceError(problem)
        return self._covariance

    def solve(self, V: npt.ArrayLike) -> Doubles:
        """C^-1 v of one row or of every row.

        Parameters
        ----------
        V : (d,) or (k, d) array_like
            Right-hand sides, one a row.

        Returns
        -------
        (d,) or (k, d) ndarray
            C^-1 v, in the shape of `V`.

        Raises
        ------
        SingularCovarianceError
            If the covariance is singular.

        Examples
        --------
        >>> import leakscore
        >>> leakscore.Reference([0.0, 1.0], [1.0, 4.0]).solve([1.0, 2.0])
        array([1. , 0.5])
        """
        return covariances.solve(self.invertible(), "V", validation.rows("V", V, cols=self.dim))

    @overload
    def inner(self, U: Rows, V: npt.ArrayLike) -> Doubles: ...
    @overload
    def inner(self, U: npt.ArrayLike, V: Rows) -> Doubles: ...
    @overload
    def inner(self, U: Row, V: Row) -> float: ...
    @overload
    def inner(self, U: npt.ArrayLike, V: npt.ArrayLike) -> float | Doubles: ...
    def inner(self, U: npt.ArrayLike, V: npt.ArrayLike) -> float | Doubles:
        """Inner products u' C^-1 v of every row of one argument with every row of the other.

        Parameters
        ----------
        U : (d,) or (T, d) array_like
            Left-hand rows. They are not centred: pass differences from the mean if you need them.
        V : (d,) or (k, d) array_like
            Right-hand rows.

        Returns
        -------
        float, (T,), (k,) or (T, k) ndarray
            u' C^-1 v of every pair.

        Raises
        ------
        SingularCovarianceError
            If the covariance is singular.

        Examples
        --------
        >>> import leakscore
        >>> reference = leakscore.Reference([0.0, 1.0], [1.0, 4.0])
        >>> reference.inner([[1.0, 2.0], [0.0, 4.0]], [1.0, 1.0])
        array([1.5, 1. ])
        """
        first = validation.rows("U", U, cols=self.dim)
        second = validation.rows("V", V, cols=self.dim)
        result = covariances.inner(self.invertible(), first, second)
        shape = first.shape[:-1] + second.shape[:-1]
        return result.reshape(shape) if shape else float(result[0, 0])

    def add_diagonal(self, variance: npt.ArrayLike) -> Reference:
        """Reference with the covariance C + diag(variance).

        Parameters
        ----------
        variance : float or (d,) array_like
            At least 0, **per record**: noise of standard deviation s on the released mean of n
            records counts as a variance of n s^2.

        Returns
        -------
        Reference
            A new reference; this one, if `variance` is 0.

        Examples
        --------
        >>> import leakscore
        >>> leakscore.Reference([0.0, 1.0], [1.0, 4.0]).add_diagonal(0.5).cov
        array([1.5, 4.5])
        """
        extra = validation.per_coordinate("variance", variance, self.dim)
        return self._add(extra)

    @property
    def precision(self) -> Literal["double", "single"]:
        """How `squared_mahalanobis` computes: see `with_precision`."""
        return "single" if self._covariance.single else "double"

    def with_precision(self, precision: Literal["double", "single"]) -> Reference:
        """Reference with the same numbers, whose distances may be computed in float32.

        Parameters
        ----------
        precision : {"double", "single"}
            "single" whitens the rows of many distances in float32, in less time, wherever a
            check allows it. It gives up digits. The check aims at a relative error of 1e-5 in a
            squared distance, by random sums and without proof. On 2000 coordinates of a
            well-conditioned covariance it is about 1e-7. "double" is the default.

        Returns
        -------
        Reference
            A new reference, which shares the arrays of this one. Only references of kind "full"
            have distances in single precision; others stay in double precision.

        Notes
        -----
        float32 keeps fewer digits, and finally none, as the covariance approaches a singular one.
        No condition number is trusted. Instead randomly weighted sums of every 64 whitened rows are
        also computed in float64. If they differ by a quarter of the error above, that block of rows
        and all after it are computed in float64. A larger error would have to cancel in all eight
        sums of its 64 rows.

        Examples
        --------
        >>> import leakscore
        >>> reference = leakscore.Reference([0.0, 1.0], [[4.0, 2.0], [2.0, 5.0]])
        >>> quick = reference.with_precision("single")
        >>> quick.precision, round(quick.squared_mahalanobis([2.0, 4.0]), 4)
        ('single', 2.0)
        """
        validation.choice("precision", precision, ("double", "single"))
        covariance = self._covariance
        if isinstance(covariance, Full):
            covariance = covariance.in_precision(single=precision == "single")
        return restored(self._mean, covariance, self._fit)

    @classmethod
    def low_rank(
        cls, mean: npt.ArrayLike, diagonal: npt.ArrayLike, factor: npt.ArrayLike
    ) -> Reference:
        """Reference with the covariance C = diag(diagonal) + factor factor'.

        Parameters
        ----------
        mean : (d,) array_like
            Mean of one record.
        diagonal : float or (d,) array_like
            Variances of the uncorrelated part, at least 0. Where one is 0, C may be singular.
        factor : (d, r) array_like
            Stored as a copy in its dtype or, where r >= d, as the d x d matrix.

        Returns
        -------
        Reference
            Of kind "low-rank". With r < d no d x d matrix is made unless `cov` is read.

        Examples
        --------
        >>> import leakscore
        >>> leakscore.Reference.low_rank([0.0, 0.0], 1.0, [[1.0], [2.0]]).cov
        array([[2., 2.],
               [2., 5.]])
        """
        return restored(*low_rank(mean, diagonal, factor), None)

    @classmethod
    def fit(
        cls,
        X: npt.ArrayLike,
        cov: Literal["full", "diagonal", "low-rank"] = "full",
        *,
        shrinkage: float | Literal["auto", "ledoit-wolf", "oas"] | None = None,
        ridge: float = 0.0,
        ddof: int = 0,
    ) -> Reference:
        """Estimate mean and centred covariance from the rows of a table.

        Parameters
        ----------
        X : (n0, d) array_like
            One record a row, n0 >= 2, read in place. Constant columns are allowed; they make the
            covariance singular.
        cov : {"full", "diagonal", "low-rank"}
            The whole covariance matrix, the variances alone, or the whole matrix stored as the n0
            rows, for n0 << d. "low-rank" takes time n0^2 d, and memory 2 n0^2 + d in addition to
            `X`, and as much again for each of the last two noises of a score. `X` is kept as a
            view: do not change it.
        shrinkage : float in [0, 1], "auto", "ledoit-wolf", "oas" or None
            Replace the sample covariance S by (1 - s) S + s T. A number s, and "auto" [1]_, shrink
            towards T = diag(S), so that the units of the columns do not matter (and variances, or
            cov="diagonal", do not change). "ledoit-wolf" [2]_ and "oas" [3]_ are scikit-learn's,
            towards a multiple of the identity. With cov="low-rank" None means "auto".
        ridge : float
            Added to every variance, in the squared units of the columns; at least 0.
        ddof : int
            Variances divide by n0 - ddof.

        Returns
        -------
        Reference
            With `n_reference` = n0 and the intensity s in `shrinkage`.

        Raises
        ------
        ValueError
            If cov="full" has n0 <= d and neither shrinkage nor ridge, as it would be singular.

        Notes
        -----
        Always centred. Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024),
        section 3, use the second moment sum x x' / n0 in place of the covariance. That lowers the
        measured leakage (of their easiest target from 8.88 to 8.02 with n = 1000) and shifts the
        score, so that none of their thresholds holds.

        Columns are summed relative to the first row, in float64, so an offset of the data costs no
        digits. Matrix products of large float32 tables run in float32 by blocks of at most 4096
        rows, centred first, if the covariance is well conditioned. With cov="low-rank" they run by
        blocks of columns, in float32 where float32 holds the numbers of a large table; solutions
        are then corrected in float64 to a relative error of 1e-8, or RuntimeError is raised.

        References
        ----------
        .. [1] J. Schaefer and K. Strimmer, "A shrinkage approach to large-scale covariance matrix
           estimation", Stat. Appl. Genet. Mol. Biol. 4 (2005), table 2, target D on correlations.
        .. [2] O. Ledoit and M. Wolf, "A well-conditioned estimator for large-dimensional covariance
           matrices", J. Multivariate Anal. 88 (2004).
        .. [3] Y. Chen, A. Wiesel, Y. C. Eldar and A. O. Hero, "Shrinkage algorithms for MMSE
           covariance estimation", IEEE Trans. Signal Process. 58 (2010), with scikit-learn's terms.

        Examples
        --------
        >>> import leakscore
        >>> leakscore.Reference.fit([[0.0, 1.0], [2.0, 5.0]], cov="diagonal").cov
        array([1., 4.])
        """
        return restored(*fitting.estimate(X, cov, shrinkage=shrinkage, ridge=ridge, ddof=ddof))

    def _add(self, extra: Doubles) -> Reference:
        """Add to the variances; the covariance stays semidefinite."""
        if not extra.any():
            return self
        fit = None if self._fit is None else self._fit.with_ridge(extra)
        return restored(self._mean, self._covariance.plus(extra), fit)


def restored(mean: Doubles, covariance: CovarianceForm, fit: CovarianceFit | None) -> Reference:
    """Make a reference of valid arrays, to which no other object refers."""
    return Reference.__new__(Reference)._set(mean, covariance, fit)


class GaussianNoise:
    """Gaussian noise of independent coordinates, or with a covariance.

    `std` () or (d,) always holds the standard deviations; `cov` (d, d) or `factor` (d, r) the
    covariance, at most one of them, where the coordinates are not independent.
    """

    __slots__ = ("cov", "factor", "std")

    def __init__(
        self, std: Doubles, cov: Doubles | None = None, factor: Doubles | None = None
    ) -> None:
        self.std, self.cov, self.factor = std, cov, factor

    @property
    def independent(self) -> bool:
        """Whether the coordinates are independent, so that `std` is the whole law."""
        return self.cov is None and self.factor is None

    def any(self) -> bool:
        """Whether there is noise."""
        return bool(self.std.any())

    def everywhere(self) -> bool:
        """Whether there is noise in every direction, but for rounding."""
        if self.independent or not self.std.all():
            return bool(self.std.all())
        root = self.root() / self.std[:, np.newaxis]
        if root.shape[1] < len(root):
            return False
        variances = np.linalg.svd(root, compute_uv=False) ** 2
        return bool(variances[-1] > _ROUNDED * variances[0])

    def added(self, reference: Reference, per_record: float) -> Reference:
        """Add the noise to the covariance of one record, `per_record` times."""
        if not self.any():
            return reference
        with np.errstate(over="ignore"):
            variance = per_record * self.std**2
        if not np.isfinite(variance).all():
            name, square = ("noise_std", "noise_std^2") if self.independent else ("noise", "noise")
            raise ValueError(f"{name}={float(self.std.max())!r} must have n {square} < 1.8e308")
        if self.independent:
            return reference.add_diagonal(variance if variance.size > 1 else variance.reshape(()))
        covariance = _add_noise(reference.covariance, self, per_record)
        return restored(reference.mean, covariance, None)

    def root(self) -> Doubles:
        """Return F, (d, r), with F F' the covariance of the noise of all coordinates."""
        if self.factor is not None:
            return self.factor
        if self.cov is None:
            return np.diag(self.std)
        return covariances.root(self.cov)

    def log_ratio(self, noisy: Reference, scale: float) -> float:
        """Return log det (C + scale S) / det C of a noisy covariance C, also where S is tiny.

        With S = F F' it is log det (1 + scale F' C^-1 F). The eigenvalues of scale F' C^-1 F have
        full relative accuracy.
        """
        root = np.ascontiguousarray(self.root().T)
        small = scale * (root @ noisy.covariance.solve(root.copy()).T)
        shares = np.linalg.eigvalsh(0.5 * (small + small.T))
        return float(np.log1p(np.maximum(shares, 0.0)).sum())


def noise_given(
    noise_std: object, noise_cov: object, noise_factor: object, dim: int
) -> GaussianNoise:
    """Validate the arguments of a function that takes noise in one of three forms."""
    std = validation.per_coordinate("noise_std", noise_std, dim)
    if noise_cov is None and noise_factor is None:
        return GaussianNoise(std)
    present = std.any(), noise_cov is not None, noise_factor is not None
    names = ("noise_std", "noise_cov", "noise_factor")
    names_given = [name for name, given in zip(names, present, strict=True) if given]
    if len(names_given) > 1:
        raise ValueError(f"One kind of noise must be given, not {' and '.join(names_given)}")
    return (
        _dense_noise(noise_cov, dim) if noise_factor is None else _factor_noise(noise_factor, dim)
    )


def _dense_noise(value: object, dim: int) -> GaussianNoise:
    array = validation.real_array("noise_cov", value)
    if array.shape != (dim, dim):
        raise ValueError(f"noise_cov of shape {array.shape} must be ({dim}, {dim})")
    cov, rounding = covariances.symmetric("noise_cov", array)
    variances = np.diag(cov)
    covariances.require_semidefinite(cov, rounding, "noise_cov")
    std = np.sqrt(variances)
    if np.count_nonzero(cov) == np.count_nonzero(variances):
        return GaussianNoise(std)
    return GaussianNoise(std, cov=cov)


def noise_of_factor(factor: Doubles) -> GaussianNoise:
    """Return noise with the covariance F F' of a valid factor."""
    return GaussianNoise(np.sqrt(np.einsum("ij,ij->i", factor, factor)), factor=factor)


def _factor_noise(value: object, dim: int) -> GaussianNoise:
    table = validation.real_array("noise_factor", value)
    if table.ndim != 2 or len(table) != dim:
        raise ValueError(f"noise_factor of shape {table.shape} must be ({dim}, r)")
    factor = validation.doubles("noise_factor", table)
    with np.errstate(over="ignore"):
        std = np.sqrt(np.einsum("ij,ij->i", factor, factor))
    if not np.isfinite(std).all():
        raise ValueError("noise_factor must have variances below 1.8e308")
    return GaussianNoise(std, factor=factor.copy()) if std.any() else GaussianNoise(std)


def _add_noise(covariance: CovarianceForm, noise: GaussianNoise, scale: float) -> CovarianceForm:
    """Return C + scale S, of low rank if that takes less memory than a matrix."""
    dim = covariance.variances.size
    if (
        noise.factor is not None
        and noise.factor.shape[1] < dim
        and not isinstance(covariance, Full)
    ):
        rows, diagonal = np.sqrt(scale) * noise.factor.T, covariance.variances
        if isinstance(covariance, LowRank):
            factor = covariance.centred.columns(np.arange(dim)) * np.sqrt(covariance.scale)
            rows, diagonal = np.vstack([factor, rows]), covariance.diagonal
        if len(rows) < dim:
            rows = np.ascontiguousarray(rows)
            rows.flags.writeable = False
            variances = np.asarray(covariance.variances + scale * noise.std**2)
            return LowRank((rows,), np.zeros(dim), 1.0, diagonal.copy(), variances)
    if dim > LARGEST_MATRIX:
        raise ValueError(
            f"noise_factor must have few columns for {dim} coordinates: the covariance would "
            f"be a matrix of {8e-9 * dim * dim:.3g} GB"
        )
    cov = noise.cov if noise.cov is not None else noise.root() @ noise.root().T
    values = covariance.values
    matrix = scale * cov + (np.diag(values) if values.ndim == 1 else values)
    return Full(np.asarray(matrix), covariance.rounding)
