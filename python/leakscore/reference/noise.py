"""Noise on a release: one variance a column, a covariance matrix, or a factor of one."""

from __future__ import annotations

import numpy as np

from leakscore import validation
from leakscore.reference import dense
from leakscore.reference._reference import Reference, _restore
from leakscore.reference.covariances import Full
from leakscore.reference.low_rank import LARGEST_MATRIX, CovarianceForm, LowRank
from leakscore.typing import Doubles

__all__ = ["GaussianNoise", "given", "of_factor", "standard"]


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
        """Whether `std` says all."""
        return self.cov is None and self.factor is None

    def any(self) -> bool:
        """Whether there is noise."""
        return bool(self.std.any())

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
        covariance = _plus(reference.covariance, self, per_record)
        return _restore(reference.mean, covariance, None)

    def root(self) -> Doubles:
        """Return F, (d, r), with F F' the covariance of the noise of all coordinates."""
        if self.factor is not None:
            return self.factor
        if self.cov is None:
            return np.diag(self.std)
        scale = np.sqrt(np.diag(self.cov))
        unit = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        values, vectors = np.linalg.eigh(self.cov * unit * unit[:, np.newaxis])
        positive = values > 0
        return np.asarray(scale[:, np.newaxis] * vectors[:, positive] * np.sqrt(values[positive]))

    def log_ratio(self, noisy: Reference, scale: float) -> float:
        """Return log det (C + scale S) / det C of a noisy covariance C, however near they are.

        With S = F F' it is log det (1 + scale F' C^-1 F), of which the eigenvalues are known to
        full relative accuracy.
        """
        root = np.ascontiguousarray(self.root().T)
        small = scale * (root @ noisy.covariance.solve(root.copy()).T)
        shares = np.linalg.eigvalsh(0.5 * (small + small.T))
        return float(np.log1p(np.maximum(shares, 0.0)).sum())


def standard(std: Doubles) -> GaussianNoise:
    """Return noise of independent coordinates."""
    return GaussianNoise(std)


def given(noise_std: object, noise_cov: object, noise_factor: object, dim: int) -> GaussianNoise:
    """Validate the arguments of a function that takes noise in one of three forms."""
    std = validation.per_coordinate("noise_std", noise_std, dim)
    if noise_cov is None and noise_factor is None:
        return GaussianNoise(std)
    present = std.any(), noise_cov is not None, noise_factor is not None
    names = ("noise_std", "noise_cov", "noise_factor")
    named = [name for name, given in zip(names, present, strict=True) if given]
    if len(named) > 1:
        raise ValueError(f"One kind of noise must be given, not {' and '.join(named)}")
    return _of_matrix(noise_cov, dim) if noise_factor is None else _of_factor(noise_factor, dim)


def _of_matrix(value: object, dim: int) -> GaussianNoise:
    array = validation.real_array("noise_cov", value)
    if array.shape != (dim, dim):
        raise ValueError(f"noise_cov of shape {array.shape} must be ({dim}, {dim})")
    cov, rounding = dense.symmetric("noise_cov", array)
    variances = np.diag(cov)
    dense.require_semidefinite(cov, rounding, "noise_cov")
    std = np.sqrt(variances)
    if np.count_nonzero(cov) == np.count_nonzero(variances):
        return GaussianNoise(std)
    return GaussianNoise(std, cov=cov)


def of_factor(factor: Doubles) -> GaussianNoise:
    """Return noise with the covariance F F' of a valid factor."""
    return GaussianNoise(np.sqrt(np.einsum("ij,ij->i", factor, factor)), factor=factor)


def _of_factor(value: object, dim: int) -> GaussianNoise:
    table = validation.real_array("noise_factor", value)
    if table.ndim != 2 or len(table) != dim:
        raise ValueError(f"noise_factor of shape {table.shape} must be ({dim}, r)")
    factor = validation.doubles("noise_factor", table)
    with np.errstate(over="ignore"):
        std = np.sqrt(np.einsum("ij,ij->i", factor, factor))
    if not np.isfinite(std).all():
        raise ValueError("noise_factor must have variances below 1.8e308")
    return GaussianNoise(std, factor=factor.copy()) if std.any() else GaussianNoise(std)


def _plus(covariance: CovarianceForm, noise: GaussianNoise, scale: float) -> CovarianceForm:
    """Return C + scale S: low rank where that is smaller than a matrix, otherwise a matrix."""
    dim = covariance.variances.size
    if (
        noise.factor is not None
        and noise.factor.shape[1] < dim
        and not isinstance(covariance, Full)
    ):
        rows, diagonal = np.sqrt(scale) * noise.factor.T, covariance.variances
        if isinstance(covariance, LowRank):
            before = covariance.centred.columns(np.arange(dim)) * np.sqrt(covariance.scale)
            rows, diagonal = np.vstack([before, rows]), covariance.diagonal
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
