"""What the attacker knows of one record: its mean and covariance."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from leakscore import _validate

__all__ = ["Reference", "SingularCovarianceError"]

_Doubles = npt.NDArray[np.float64]


class SingularCovarianceError(ValueError):
    """The covariance has no inverse, and the call has no noise that would give it one."""


class Reference:
    """Mean and covariance of one record: what the attacker knows of the population.

    Parameters
    ----------
    mean : (d,) array_like
        Mean of one record.
    cov : (d,) or (d, d) array_like
        Covariance of one record: the variances of uncorrelated coordinates, or the whole matrix.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 1.0], [1.0, 4.0])
    >>> reference.squared_mahalanobis([1.0, 3.0])
    2.0
    """

    def __init__(self, mean: npt.ArrayLike, cov: npt.ArrayLike) -> None:
        self._mean = _validate.vector("mean", mean).copy()
        dim = self._mean.size
        values = _validate.doubles("cov", cov)
        if values.shape not in ((dim,), (dim, dim)):
            raise ValueError(
                f"Expected cov of shape {values.shape} to be ({dim},) or ({dim}, {dim})"
            )
        self._cov = values.copy()
        if values.ndim == 2:
            scale = np.sqrt(np.abs(np.outer(np.diag(values), np.diag(values))))
            if (np.abs(values - values.T) > 1e-8 * scale).any():
                raise ValueError("Expected cov to be symmetric")
            self._cov = 0.5 * (values + values.T)
        variances = self._cov if self._cov.ndim == 1 else np.diag(self._cov)
        if (variances < 0).any():
            raise ValueError("Expected cov to have variances >= 0")
        self._n_reference: int | None = None

    @property
    def mean(self) -> _Doubles:
        """Mean of one record, (d,)."""
        return self._mean

    @property
    def cov(self) -> _Doubles:
        """Variances (d,) or covariance matrix (d, d) of one record."""
        return self._cov

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return self._mean.size

    @property
    def kind(self) -> Literal["diagonal", "full"]:
        """How the covariance is held."""
        return "diagonal" if self._cov.ndim == 1 else "full"

    @property
    def n_reference(self) -> int | None:
        """Number of rows the reference was fitted on, None if it was given."""
        return self._n_reference

    @property
    def logdet(self) -> float:
        """Logarithm of the determinant of the covariance."""
        if self._cov.ndim == 1:
            return float(np.log(self._variances()).sum())
        return float(2 * np.log(np.diag(self._factor())).sum())

    def _variances(self) -> _Doubles:
        if (self._cov == 0).any():
            raise SingularCovarianceError("the covariance is singular")
        return self._cov

    def _factor(self) -> _Doubles:
        try:
            return np.linalg.cholesky(self._cov)
        except np.linalg.LinAlgError:
            raise SingularCovarianceError("the covariance is singular") from None

    def squared_mahalanobis(self, Z: npt.ArrayLike) -> Any:
        """(z - mean)' C^-1 (z - mean) of one row (d,) or of every row of (k, d)."""
        rows = _validate.rows("Z", Z, cols=self.dim)
        centred = rows.astype(np.float64) - self._mean
        result = self._quadratic(_validate.finite("Z", centred))
        return float(result) if rows.ndim == 1 else result

    def _quadratic(self, centred: _Doubles) -> _Doubles:
        if self._cov.ndim == 1:
            return np.asarray(np.sum(centred * centred / self._variances(), axis=-1))
        white = np.linalg.solve(self._factor(), centred.T)
        return np.asarray(np.sum(white * white, axis=0))

    def solve(self, V: npt.ArrayLike) -> _Doubles:
        """C^-1 v of one row (d,) or of every row of (k, d); the same shape as `V`."""
        rows = _validate.finite("V", _validate.rows("V", V, cols=self.dim)).astype(np.float64)
        if self._cov.ndim == 1:
            return np.asarray(rows / self._variances())
        factor = self._factor()
        return np.ascontiguousarray(np.linalg.solve(factor.T, np.linalg.solve(factor, rows.T)).T)

    def inner(self, U: npt.ArrayLike, V: npt.ArrayLike) -> Any:
        """Inner products u' C^-1 v of every pair of rows: (), (T,), (k,) or (T, k)."""
        left = _validate.finite("U", _validate.rows("U", U, cols=self.dim)).astype(np.float64)
        result = np.inner(left, self.solve(V))
        return float(result) if result.ndim == 0 else result

    def add_diagonal(self, variance: npt.ArrayLike) -> Reference:
        """Return the reference with covariance C + diag(variance)."""
        extra = np.broadcast_to(_validate.doubles("variance", variance), (self.dim,))
        cov = self._cov + (extra if self._cov.ndim == 1 else np.diag(extra))
        result = Reference(self._mean, cov)
        result._n_reference = self._n_reference
        return result

    @classmethod
    def fit(
        cls,
        X: npt.ArrayLike,
        cov: Literal["full", "diagonal"] = "full",
        *,
        shrinkage: float | Literal["auto", "ledoit-wolf", "oas"] | None = None,
        ridge: float = 0.0,
        ddof: int = 0,
    ) -> Reference:
        """Estimate mean and (centred) covariance from the rows of a table."""
        if isinstance(shrinkage, str):
            raise ValueError(f"Expected shrinkage={shrinkage!r} to be a number or None")
        _validate.choice("cov", cov, ("full", "diagonal"))
        table = _validate.finite("X", _validate.matrix("X", X, min_rows=2)).astype(np.float64)
        count = len(table)
        if cov == "full" and count <= table.shape[1] and not shrinkage and not ridge:
            raise ValueError(f"Expected X of shape {table.shape} to have more rows than columns")
        mean = table.mean(axis=0)
        centred = table - mean
        spread = np.sum(centred * centred, axis=0) / (count - ddof) + ridge
        if cov == "full":
            matrix = centred.T @ centred / (count - ddof) * (1 - (shrinkage or 0.0))
            np.fill_diagonal(matrix, spread)
            spread = matrix
        result = cls(mean, spread)
        result._n_reference = count
        return result
