"""The law of a record's gradient in a linear regression, at any parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.reference import Reference
from leakscore.results import Result
from leakscore.typing import Doubles, Row, Rows

_LARGE = "theta, target, response and residual_std must be so small that gradients do not overflow"


@dataclass(frozen=True, eq=False)
class RegressionGradients(Result):
    """Gradients of a linear regression's records; see `linear_regression`, which makes it.

    Attributes
    ----------
    mean : (..., d) ndarray
        Mean of a record's gradient, C D.
    target_gradient : (..., d) ndarray
        Gradient of the target.
    squared_mahalanobis : float or (...) ndarray
        Of the target's gradient, in the law of a record's gradient.
    loss_scale : float or (...) ndarray
        v = residual_std^2 + D'C D, the mean of the squared residual.
    deviation : (..., d) ndarray
        D = theta - optimum.
    covariance : (d,) or (d, d) ndarray
        C, of the inputs.

    Examples
    --------
    >>> import leakscore
    >>> found = leakscore.sequential.linear_regression(
    ...     [0.5, 0.0], [0.0, 0.0], [1.0, 1.0], 1.0, target=[2.0, 1.0], response=3.0
    ... )
    >>> print(round(float(found.squared_mahalanobis), 4))
    16.7
    """

    mean: Doubles
    target_gradient: Doubles
    squared_mahalanobis: float | Doubles
    loss_scale: float | Doubles
    deviation: Doubles
    covariance: Doubles

    def reference(self, *index: int) -> Reference:
        """Mean and covariance v C + C D D'C of a record's gradient.

        Parameters
        ----------
        *index : int
            Index of the parameters, if `theta` has several.

        Returns
        -------
        Reference
            Of kind "low-rank" where the inputs are uncorrelated, else "full". With noise on the
            gradients it is what `gradient_llr` and `dpsgd_error_rates` need.
        """
        mean = self.mean[index]
        if mean.ndim != 1:
            raise ValueError(f"There must be {self.mean.ndim - 1} index(es), not {len(index)}")
        scaled = float(np.asarray(self.loss_scale)[index]) * self.covariance
        if self.covariance.ndim == 1:
            return Reference.low_rank(mean, scaled, mean[:, np.newaxis])
        return Reference(mean, scaled + np.outer(mean, mean))

    @overload
    def llr(self, gradients: Rows, n: int, *, noise_std: float = ...) -> Doubles: ...
    @overload
    def llr(self, gradients: Row, n: int, *, noise_std: float = ...) -> float: ...
    @overload
    def llr(
        self, gradients: npt.ArrayLike, n: int, *, noise_std: float = ...
    ) -> float | Doubles: ...
    def llr(self, gradients: npt.ArrayLike, n: int, *, noise_std: float = 0.0) -> float | Doubles:
        """Log-likelihood ratios of the target in all steps at once.

        `gradient_llr` with the mean and covariance of each step, in O(d^2) a step, or O(d) if the
        inputs are uncorrelated.

        Parameters
        ----------
        gradients : (..., d) array_like
            Averaged gradient of the batch at each of the parameters.
        n : int
            Number of records averaged, at least 2.
        noise_std : float
            Standard deviation of the Gaussian noise on each coordinate of the averaged gradient.

        Returns
        -------
        float or (...) ndarray
            Natural log-likelihood ratios; larger means member.

        Raises
        ------
        ValueError
            If shapes do not fit, `n` < 2, or a value is not finite.
        """
        given = validation.doubles("gradients", gradients)
        if given.shape != self.mean.shape:
            raise ValueError(
                f"gradients of shape {given.shape} must be {self.mean.shape}, one at each "
                "of the parameters"
            )
        n = validation.count("n", n, 2, why=validation.ONE)
        deviation = validation.scalar("noise_std", noise_std, 0.0)
        noise = deviation * deviation  # inf where ** would raise
        if not noise < np.inf:
            raise ValueError(f"noise_std={deviation!r} must have noise_std^2 < 1.8e308")
        away, shift, bend = given - self.mean, self.target_gradient - self.mean, self.mean
        values = self.covariance
        if values.ndim == 2:  # its eigenbasis is that of v C + s^2 as well
            values, basis = np.linalg.eigh(values)
            away, shift, bend = away @ basis, shift @ basis, bend @ basis
        with np.errstate(over="ignore", invalid="ignore"):
            spread = np.asarray(self.loss_scale)[..., np.newaxis] * values / n
            out = _Inverse(spread + noise, bend, 1.0 / n)
            within = _Inverse(spread * ((n - 1) / n) + noise, bend, (n - 1) / n**2)
            volume = -np.log1p(-spread / n / out.diagonal).sum(axis=-1)
            volume += out.correction - within.correction
            ratio: Doubles = 0.5 * (volume + out.square(away) - within.square(away - shift / n))
        if not np.isfinite(ratio).all():
            raise ValueError("gradients must be so small that the ratios do not overflow")
        result: float | Doubles = ratio[()]
        return result


class _Inverse:
    """Inverses of diag(diagonal) + share u u', by Sherman and Morrison, along the last axis."""

    def __init__(self, diagonal: Doubles, bend: Doubles, share: float) -> None:
        self.diagonal, self.bend, self.share = diagonal, bend, share
        self.scaled = share * (bend**2 / diagonal).sum(axis=-1)
        self.correction = np.log1p(self.scaled)
        """Log of the determinant, less that of diag(diagonal)."""

    def square(self, rows: Doubles) -> Doubles:
        """Return the quadratic form of every row."""
        along = (rows * self.bend / self.diagonal).sum(axis=-1)
        plain = (rows**2 / self.diagonal).sum(axis=-1)
        return np.asarray(plain - self.share * along**2 / (1.0 + self.scaled))


def linear_regression(
    theta: npt.ArrayLike,
    optimum: npt.ArrayLike,
    covariance: npt.ArrayLike,
    residual_std: float,
    target: npt.ArrayLike,
    response: float,
) -> RegressionGradients:
    """Law of a record's gradient in a linear regression, and the target's place in it.

    Records are inputs x of the law N(0, C) with responses y = optimum'x + residual_std e, e
    standard normal; the loss is (y - theta'x)^2 / 2 and its gradient (theta'x - y) x.

    Parameters
    ----------
    theta : (d,) or (..., d) array_like
        Parameters at which the gradients are taken: one vector, or one for each step and training.
    optimum : (d,) array_like
        The true parameters.
    covariance : (d,) or (d, d) array_like
        C: variances of uncorrelated inputs, or their covariance matrix; not singular.
    residual_std : float
        Standard deviation of a response given its input, at least 0.
    target : (d,) array_like
        Input of the target.
    response : float
        Response of the target.

    Returns
    -------
    RegressionGradients
        Mean and target's gradient, its squared Mahalanobis distance M, `reference` for each of the
        parameters, and `llr` for all of them at once.

    Raises
    ------
    SingularCovarianceError
        If `covariance` is singular.
    ValueError
        If shapes do not fit, a value is not finite, or `residual_std` is 0 with some theta at the
        optimum, where all gradients are 0.

    Notes
    -----
    With D = theta - optimum, q = D'C D and v = residual_std^2 + q, mean C D and covariance
    v C + C D D'C. For the deviation b of the target's gradient from the mean,
    M = (b'C^-1 b - (D'b)^2 / (v + q)) / v; at the optimum (residual / residual_std)^2 x'C^-1 x.
    Gradients are not Gaussian, but their averages are nearly so. The power of `llr` changes along
    the trajectory, as M and the covariance do.

    References
    ----------
    T. Michel, D. Basu and E. Kaufmann, sequential membership inference, lemmas F.6 to F.9 and
    theorem F.10, which has M at the optimum only.

    Examples
    --------
    >>> import leakscore
    >>> found = leakscore.sequential.linear_regression(
    ...     [0.0, 0.0], [0.0, 0.0], [1.0, 1.0], 1.0, target=[4.0, 0.0], response=5.0
    ... )
    >>> print(found.squared_mahalanobis)
    400.0
    """
    parameters = validation.doubles("theta", theta)
    if parameters.ndim == 0 or parameters.size == 0:
        raise ValueError(f"theta of shape {parameters.shape} must be (..., d), not empty")
    dim = parameters.shape[-1]
    true_parameters = validation.vector("optimum", optimum, size=dim)
    x = validation.vector("target", target, size=dim)
    y = validation.scalar("response", response)
    inputs = Reference(np.zeros(dim), validation.doubles("covariance", covariance))
    deviation_std = validation.scalar("residual_std", residual_std, 0.0)
    input_covariance = inputs.cov
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = parameters - true_parameters
        mean = (
            deviation * input_covariance
            if input_covariance.ndim == 1
            else deviation @ input_covariance
        )
        square = _dot(deviation, mean)
        scale = np.square(deviation_std) + square
        gradient = (_dot(parameters, x) - y)[..., np.newaxis] * x
        shift = gradient - mean
        projection = _dot(deviation, shift)
    if not all(np.isfinite(values).all() for values in (shift, scale, projection)):
        raise ValueError(_LARGE)
    if not (scale > 0.0).all():
        raise ValueError(
            f"residual_std={deviation_std!r} must be > 0, as theta is the optimum somewhere"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        inverse = _dot(shift, inputs.solve(shift.reshape(-1, dim)).reshape(shift.shape))
        distance = np.maximum(inverse - projection * (projection / (scale + square)), 0.0) / scale
    if not np.isfinite(distance).all():
        raise ValueError(_LARGE)
    return RegressionGradients(mean, gradient, distance[()], scale[()], deviation, input_covariance)


def _dot(first: Doubles, second: Doubles) -> Doubles:
    """Return the inner products along the last axis."""
    return np.asarray(np.einsum("...i,...i->...", first, second))
