"""The exact error rates of a test at a threshold, and the means of its log-likelihood ratio."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from leakscore import _validate_counts, validation
from leakscore.distributions import chi2, ncx2, norm
from leakscore.sequential._combined import probabilities
from leakscore.typing import Doubles, Row, Rows, Scalar

_FAR = 2.0**200  # the last noncentrality of ncx2


@overload
def error_rates(
    threshold: Scalar, squared_mahalanobis: Scalar, n: Scalar, dim: Scalar
) -> tuple[float, float]: ...
@overload
def error_rates(
    threshold: npt.ArrayLike,
    squared_mahalanobis: npt.ArrayLike,
    n: npt.ArrayLike,
    dim: npt.ArrayLike,
) -> tuple[Doubles, Doubles]: ...
def error_rates(
    threshold: npt.ArrayLike,
    squared_mahalanobis: npt.ArrayLike,
    n: npt.ArrayLike,
    dim: npt.ArrayLike,
) -> tuple[float, float] | tuple[Doubles, Doubles]:
    """Error rates of the exact log-likelihood ratio of a batch mean, for every n and dimension.

    The test says member if `scores.gaussian_llr` (or `gradient_llr`) is above the threshold.

    Parameters
    ----------
    threshold : array_like
        Threshold gamma on the log-likelihood ratio; -inf and inf are legal, NaN gives NaN.
    squared_mahalanobis : array_like
        M = (z - mean)' C^-1 (z - mean) of the target, at least 0 and finite.
    n : array_like of int
        Number of records in the target's batch, at least 2; the count of all records for a test
        on the last cumulative mean.
    dim : array_like of int
        Number of coordinates d, at least 1.

    Returns
    -------
    alpha, beta : float or ndarray
        Type I and type II error, of the shape that the arguments broadcast to. Above the largest
        ratio, gmax = (M - d log(1 - 1/n)) / 2, they are 0 and 1.

    Raises
    ------
    ValueError
        If an argument is out of range, one other than `threshold` is NaN, or they do not
        broadcast.

    See Also
    --------
    leakscore.tradeoff.gaussian_mean : The trade-off curve, privacy profile and AUC of this test.

    Notes
    -----
    The ratio is gmax - S / (2 (n-1)) with S = n (x - z)' C^-1 (x - z), of the law of a noncentral
    chi-square with d degrees of freedom and noncentrality n M under H0, and (n-1)/n times that of
    noncentrality (n-1) M under H1. So with r = 2 (gmax - gamma) alpha = F_d((n-1) r; n M) and
    beta = 1 - F_d(n r; (n-1) M). Corollary B.6 of the paper has n^2 M in place of M in r, and no
    type II error beyond d = 1. Its appendix H.3 states that the power does not depend on d, but at
    n = 10, M = 9 and alpha = 0.01 it rises from .073 (d = 1) to .325 (d = 500).

    References
    ----------
    T. Michel, D. Basu and E. Kaufmann, sequential membership inference, lemmas 3.5 to 3.8 and
    corollary B.6.

    Examples
    --------
    >>> import leakscore
    >>> alpha, beta = leakscore.sequential.error_rates(0.0, 9.0, n=10, dim=3)
    >>> print(f"{alpha:.4f} {beta:.4f}")
    0.3308 0.2930
    """
    gamma, distance, records, dims = validation.broadcast(
        threshold=validation.interval("threshold", threshold, nan=True),
        squared_mahalanobis=_distance(squared_mahalanobis),
        n=_validate_counts.whole("n", n, 2, why=validation.ONE),
        dim=_validate_counts.whole("dim", dim, 1),
    )
    others = records - 1.0
    volume = dims * np.log1p(-1.0 / records)
    with np.errstate(over="ignore"):
        # A quarter of the room: the whole may overflow.
        room = np.maximum(0.25 * distance - 0.25 * volume - 0.5 * gamma, 0.0)
        # The excess of near and far over the noncentralities, without cancellation.
        above = -distance - others * (2.0 * gamma + volume)
        beyond = distance - records * (2.0 * gamma + volume)
        return (
            _noncentral("cdf", (4.0 * others, room), dims, (records, distance), above),
            _noncentral("sf", (4.0 * records, room), dims, (others, distance), beyond),
        )


@overload
def max_error_rates(
    alpha: Rows, beta: npt.ArrayLike, prior: npt.ArrayLike | None = ..., axis: int = ...
) -> tuple[Doubles, Doubles]: ...
@overload
def max_error_rates(
    alpha: npt.ArrayLike, beta: Rows, prior: npt.ArrayLike | None = ..., axis: int = ...
) -> tuple[Doubles, Doubles]: ...
@overload
def max_error_rates(
    alpha: Row, beta: Row, prior: npt.ArrayLike | None = ..., axis: int = ...
) -> tuple[float, float]: ...
@overload
def max_error_rates(
    alpha: npt.ArrayLike, beta: npt.ArrayLike, prior: npt.ArrayLike | None = ..., axis: int = ...
) -> tuple[float, float] | tuple[Doubles, Doubles]: ...
def max_error_rates(
    alpha: npt.ArrayLike, beta: npt.ArrayLike, prior: npt.ArrayLike | None = None, axis: int = -1
) -> tuple[float, float] | tuple[Doubles, Doubles]:
    """Error rates of the largest of independent steps' ratios, from those of each step.

    The test says member if `semi_max` is above the threshold.

    Parameters
    ----------
    alpha, beta : array_like
        Type I and type II error of each step at the common threshold, along `axis`, as
        `error_rates` gives them; in [0, 1]. They broadcast: batches and targets may differ by step.
    prior : (T,) array_like, optional
        Probability that the target is in each step, at least 0, of sum 1. None: all the same.
    axis : int
        The axis of the steps.

    Returns
    -------
    alpha, beta : float or ndarray
        1 - prod (1 - alpha_t), and sum_t prior_t beta_t prod_{s != t} (1 - alpha_s), without
        `axis`.

    Raises
    ------
    ValueError
        If an error rate is outside [0, 1] or NaN, shapes do not fit, or `prior` is not a
        distribution.

    See Also
    --------
    leakscore.tradeoff.TradeOff.best_of : The trade-off curve for equal steps.

    References
    ----------
    T. Michel, D. Basu and E. Kaufmann, sequential membership inference, corollaries E.2 and E.3,
    for equal steps.

    Examples
    --------
    >>> import leakscore
    >>> alpha, beta = leakscore.sequential.max_error_rates([0.1, 0.2], [0.5, 0.25])
    >>> print(round(alpha, 12), round(beta, 12))
    0.28 0.3125
    """
    false_alarms, missed = validation.broadcast(
        alpha=validation.interval("alpha", alpha, 0.0, 1.0),
        beta=validation.interval("beta", beta, 0.0, 1.0),
    )
    if false_alarms.ndim == 0:
        raise ValueError("Expected alpha or beta to be an array of one or more steps")
    place = validation.count("axis", axis, -false_alarms.ndim, false_alarms.ndim - 1)
    false_alarms, missed = np.moveaxis(false_alarms, place, -1), np.moveaxis(missed, place, -1)
    if false_alarms.shape[-1] == 0:
        raise ValueError(f"Expected alpha of shape {false_alarms.shape} to have at least one step")
    weights = probabilities("prior", prior, false_alarms.shape[-1])
    with np.errstate(divide="ignore"):
        any_step = 0.0 - np.expm1(np.log1p(-false_alarms).sum(axis=-1))
    silent = np.ones((*false_alarms.shape[:-1], false_alarms.shape[-1] + 1))
    np.cumprod(1.0 - false_alarms, axis=-1, out=silent[..., 1:])
    before = silent[..., :-1].copy()
    np.cumprod(1.0 - false_alarms[..., ::-1], axis=-1, out=silent[..., 1:])
    after = silent[..., -2::-1]
    return any_step[()], ((missed * before * after) @ weights)[()]


@overload
def mean_llr(squared_mahalanobis: Scalar, n: Scalar, dim: Scalar) -> tuple[float, float]: ...
@overload
def mean_llr(
    squared_mahalanobis: npt.ArrayLike, n: npt.ArrayLike, dim: npt.ArrayLike
) -> tuple[Doubles, Doubles]: ...
def mean_llr(
    squared_mahalanobis: npt.ArrayLike, n: npt.ArrayLike, dim: npt.ArrayLike
) -> tuple[float, float] | tuple[Doubles, Doubles]:
    """Means of the exact log-likelihood ratio of a batch mean, without and with the target.

    Parameters
    ----------
    squared_mahalanobis : array_like
        M = (z - mean)' C^-1 (z - mean) of the target, at least 0 and finite.
    n : array_like of int
        Number of records in the batch, at least 2.
    dim : array_like of int
        Number of coordinates d, at least 1.

    Returns
    -------
    under_h0, under_h1 : float or ndarray
        Of the shape that the arguments broadcast to. -under_h0 is the Kullback-Leibler divergence
        D(H0 || H1), and under_h1 is D(H1 || H0).

    Raises
    ------
    ValueError
        If an argument is out of range, or they do not broadcast.

    Notes
    -----
    -(d/2) (log(1 - 1/n) + 1/(n-1)) - M/(2(n-1)) and -(d/2) (log(1 - 1/n) + 1/n) + M/(2n), with the
    differences in brackets, of the order of 1/n^2, free of cancellation.

    References
    ----------
    T. Michel, D. Basu and E. Kaufmann, sequential membership inference, theorem B.2 and lemma B.4.

    Examples
    --------
    >>> import leakscore
    >>> under_h0, under_h1 = leakscore.sequential.mean_llr(9.0, n=10, dim=3)
    >>> print(f"{under_h0:.4f} {under_h1:.4f}")
    -0.5086 0.4580
    """
    distance, records, dims = validation.broadcast(
        squared_mahalanobis=_distance(squared_mahalanobis),
        n=_validate_counts.whole("n", n, 2, why=validation.ONE),
        dim=_validate_counts.whole("dim", dim, 1),
    )
    others = records - 1.0
    under_h0 = 0.5 * (dims * _log1p_less(1.0 / others) - distance / others)
    under_h1 = 0.5 * (distance / records - dims * _log1p_less(-1.0 / records))
    return under_h0[()], under_h1[()]


@overload
def hotelling_error_rates(
    threshold: Scalar, squared_mahalanobis: Scalar, n: Scalar, dim: Scalar
) -> tuple[float, float]: ...
@overload
def hotelling_error_rates(
    threshold: npt.ArrayLike,
    squared_mahalanobis: npt.ArrayLike,
    n: npt.ArrayLike,
    dim: npt.ArrayLike,
) -> tuple[Doubles, Doubles]: ...
def hotelling_error_rates(
    threshold: npt.ArrayLike,
    squared_mahalanobis: npt.ArrayLike,
    n: npt.ArrayLike,
    dim: npt.ArrayLike,
) -> tuple[float, float] | tuple[Doubles, Doubles]:
    """Error rates of `hotelling` with known mean and covariance, for an unknown target.

    Parameters
    ----------
    threshold : array_like
        Threshold on n (x - mean)' C^-1 (x - mean), at least 0; inf is legal, NaN gives NaN.
    squared_mahalanobis : array_like
        M = (z - mean)' C^-1 (z - mean) of the target, at least 0 and finite.
    n : array_like of int
        Number of records in the batch, at least 2.
    dim : array_like of int
        Number of coordinates d, at least 1.

    Returns
    -------
    alpha, beta : float or ndarray
        Type I and type II error, of the shape that the arguments broadcast to.

    Raises
    ------
    ValueError
        If an argument is out of range, another than `threshold` NaN, or they do not broadcast.

    Notes
    -----
    The statistic is a chi-square variable with d degrees of freedom under H0, and (n-1)/n times a
    noncentral one of noncentrality M / (n-1) under H1. The attacker is that of Kaissis et al.,
    "Optimal privacy guarantees for a relaxed threat model" (NeurIPS 2023), who does not know the
    target; the game is that of T. Michel, D. Basu and E. Kaufmann, sequential membership inference.

    Examples
    --------
    >>> import leakscore
    >>> from leakscore.distributions import chi2
    >>> cut = chi2.isf(0.05, 5)
    >>> alpha, beta = leakscore.sequential.hotelling_error_rates(cut, 36.0, n=10, dim=5)
    >>> print(f"{alpha:.4f} {1 - beta:.4f}")
    0.0500 0.2263
    """
    cut, distance, records, dims = validation.broadcast(
        threshold=validation.interval("threshold", threshold, 0.0, nan=True),
        squared_mahalanobis=_distance(squared_mahalanobis),
        n=_validate_counts.whole("n", n, 2, why=validation.ONE),
        dim=_validate_counts.whole("dim", dim, 1),
    )
    others = records - 1.0
    one = np.ones_like(cut)
    with np.errstate(over="ignore", invalid="ignore"):
        wider, noncentral = cut * (records / others), distance / others
        missed = _noncentral("cdf", (one, wider), dims, (one, noncentral), wider - noncentral)
    return chi2.sf(cut, dims), missed


def _noncentral(
    which: str,
    point: tuple[Doubles, Doubles],
    dims: Doubles,
    noncentrality: tuple[Doubles, Doubles],
    excess: Doubles,
) -> Any:
    """Return a tail of ncx2 where the point and the noncentrality are products of two numbers.

    Beyond the range of `ncx2` the root of the variable is normal to all digits, as dims is at most
    2^53, and dims / (2 sqrt nc) below 1e-14; `excess` is the point less the noncentrality.
    """
    x, nc = point[0] * point[1], noncentrality[0] * noncentrality[1]
    far = nc > _FAR
    if not far.any():
        return getattr(ncx2, which)(x, dims, nc)
    near = getattr(ncx2, which)(x, dims, np.where(far, 0.0, nc))
    roots = [np.sqrt(a) * np.sqrt(b) for a, b in (point, noncentrality)]
    with np.errstate(invalid="ignore"):
        z = np.where(np.isinf(excess), excess, excess / (roots[0] + roots[1]))
    return np.where(far, getattr(norm, which)(z), near)[()]


def _distance(value: npt.ArrayLike) -> Doubles:
    return validation.interval("squared_mahalanobis", value, 0.0, closed="left")


def _log1p_less(x: Doubles) -> Doubles:
    """Return log(1 + x) - x for -1/2 <= x <= 1, to the last digits for the smallest x too.

    With s = x / (2 + x), log(1 + x) = 2 artanh s and 2 s - x = -x s. |s| <= 1/3: 18 terms.
    """
    s = x / (2.0 + x)
    square = s * s
    series = np.zeros_like(x)
    for k in range(37, 1, -2):
        series = series * square + 2.0 / k
    return np.asarray(s * (square * series - x))
