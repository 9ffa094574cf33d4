"""The exact error rates of a test on one step, without noise and with that of DP-SGD."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.distributions import gx2, ncx2, norm
from leakscore.reference import Reference, covariances
from leakscore.reference.low_rank import LowRank
from leakscore.reference.record import GaussianNoise
from leakscore.scores.gaussian import ScoredRelease
from leakscore.sequential._gradients import NEIGHBOURS, Neighbours
from leakscore.tradeoff import TradeOff, gaussian
from leakscore.tradeoff.premise import EXACT_NOISE, Premise, about
from leakscore.typing import Doubles, Indices, Scalar, of_numbers

_FAR = 2.0**200  # the last noncentrality of ncx2


@of_numbers(tuple[float, float], tuple[Doubles, Doubles])
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
        If an argument is out of range, one other than `threshold` is NaN, `n` times
        `squared_mahalanobis` is above 1.6e60, or they do not broadcast.

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
        squared_mahalanobis=validation.interval(
            "squared_mahalanobis", squared_mahalanobis, 0.0, closed="left"
        ),
        n=validation.whole("n", n, 2, why=validation.ONE),
        dim=validation.whole("dim", dim, 1),
    )
    require_reach(distance, records)
    others = records - 1.0
    with np.errstate(over="ignore"):
        room = np.maximum(distance - dims * np.log1p(-1.0 / records) - 2.0 * gamma, 0.0)
        return (
            ncx2.cdf(others * room, dims, records * distance),
            ncx2.sf(records * room, dims, others * distance),
        )


def require_reach(distance: Doubles, records: Doubles) -> None:
    """Refuse a target so far out that its law is beyond the range of `ncx2`."""
    with np.errstate(over="ignore"):
        far = records * distance > _FAR
    if far.any():
        m, n = float(distance[far].flat[0]), float(records[far].flat[0])
        raise ValueError(
            f"squared_mahalanobis={m!r} must be <= {_FAR / n:g} with n={n:g}: beyond, one step's "
            "ratio tells a member without error"
        )


# Above this noncentrality a term w chi2'(1, nc) is normal: its third standardised cumulant,
# 3 / sqrt(nc), is below 1e-12.
_NORMAL = 1e25
_BLOCK = 2**13  # numbers of one QR factorisation, below every size at which OpenBLAS takes threads


@overload
def dpsgd_error_rates(
    threshold: Scalar,
    target_gradient: npt.ArrayLike,
    reference: Reference,
    n: int,
    noise_std: npt.ArrayLike,
    *,
    neighbours: Neighbours = ...,
) -> tuple[float, float]: ...
@overload
def dpsgd_error_rates(
    threshold: npt.ArrayLike,
    target_gradient: npt.ArrayLike,
    reference: Reference,
    n: int,
    noise_std: npt.ArrayLike,
    *,
    neighbours: Neighbours = ...,
) -> tuple[Doubles, Doubles]: ...
def dpsgd_error_rates(
    threshold: npt.ArrayLike,
    target_gradient: npt.ArrayLike,
    reference: Reference,
    n: int,
    noise_std: npt.ArrayLike,
    *,
    neighbours: Neighbours = "replace",
) -> tuple[float, float] | tuple[Doubles, Doubles]:
    """Error rates of the exact log-likelihood ratio of a noised, averaged gradient.

    The test says member if `gradient_llr` is above the threshold.

    Parameters
    ----------
    threshold : array_like
        Threshold gamma on the log-likelihood ratio; -inf and inf are legal, NaN gives NaN.
    target_gradient : (d,) array_like
        Gradient g of the target, already clipped where the training clips.
    reference : Reference
        Mean mu and covariance C of a record's clipped gradient. With noise, one of kind "low-rank"
        needs a diagonal that is the same for all coordinates.
    n : int
        Number of records averaged, at least 2.
    noise_std : float or (d,) array_like
        Standard deviation s of the Gaussian noise on the **averaged** gradient; one number unless
        the reference is of kind "diagonal".
    neighbours : {"replace", "add-remove"}
        As in `gradient_llr`. For "add-remove" the law is normal, as both covariances are the same.

    Returns
    -------
    alpha, beta : float or ndarray
        Type I and type II error, of the shape of `threshold`.

    Raises
    ------
    SingularCovarianceError
        If C is singular and there is no noise.
    ValueError
        If a diagonal or a noise is not the same for all coordinates where it must be, shapes do not
        fit, `n` < 2, or a value other than `threshold` is not finite.

    Notes
    -----
    In the eigenbasis of C, with the eigenvalues l_i, the coordinates y_i of g - mu,
    a_i = l_i/n + s^2 and b_i = (n-1) l_i/n^2 + s^2, the ratio is a constant less
    sum w_i chi2'(1, nc_i): w_i = l_i / (2 n^2 b_i), nc_i = y_i^2 n^2 a_i / l_i^2 under H0, and with
    a_i and b_i exchanged under H1. An eigenvalue 0 gives a normal term of mean -v/2 or v/2 and
    variance v = y_i^2 / (n^2 s^2). Their tails are those of `distributions.gx2`. Where the noise is
    large, constant and sum nearly cancel; the rest is formed without this cancellation. Without
    noise this is `error_rates`.

    The paper uses the test without noise. That costs power: with 50 variances from one to a
    thousandth of the largest, of sum 1/2, n = 64, s = 0.5/64 and a gradient of norm 1, equal in all
    coordinates, its power at alpha = 0.01 is .106; that of the exact test is .212.

    Time grows with the number of different eigenvalues: some seconds a threshold for 1e6.

    References
    ----------
    T. Michel, D. Basu and E. Kaufmann, sequential membership inference, section 4.2, made exact.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 0.25])
    >>> rates = leakscore.sequential.dpsgd_error_rates(0.5, [3.0, 2.0], reference, 10, 0.1)
    >>> print("{:.6f} {:.6f}".format(*rates))
    0.150992 0.350077
    """
    gamma = validation.interval("threshold", threshold, nan=True)
    validation.instance("reference", reference, Reference)
    gradient = validation.vector("target_gradient", target_gradient, size=reference.dim)
    n = validation.count("n", n, 2, why=validation.ONE)
    noise = validation.per_coordinate("noise_std", noise_std, reference.dim)
    if validation.choice("neighbours", neighbours, NEIGHBOURS) == "add-remove":
        return _normal_rates(gamma, _gaussian_variance(gradient, reference, n, noise))
    if not noise.any():
        return error_rates(gamma, reference.squared_mahalanobis(gradient), n, reference.dim)
    _release(gradient, reference, n, noise).without_target().invertible()
    terms = eigenterms(reference, gradient, noise)
    return _law(terms, n, member=False).above(gamma), _law(terms, n, member=True).below(gamma)


@of_numbers(TradeOff[float], TradeOff[Doubles])
def game_tradeoff(
    noise_multiplier: npt.ArrayLike, neighbours: Neighbours = "replace"
) -> TradeOff[Any]:
    """Return the trade-off curve that bounds every test of one target in a training by DP-SGD.

    Compare audits of this game with this curve: every batch is fresh and used once, so the target
    is in one known step, neither sub-sampled nor composed. An accountant's epsilon of the whole
    training, for adding or removing a record, is another quantity.

    Parameters
    ----------
    noise_multiplier : array_like
        Standard deviation of the noise on the **sum** of the clipped gradients over the clipping
        norm, at least 0. 0 and inf are legal: every test succeeds, or none.
    neighbours : {"replace", "add-remove"}
        What non-membership means: another record's gradient in the target's place, which moves the
        sum by up to twice the clipping norm, or none, which moves it by up to the clipping norm.

    Returns
    -------
    TradeOff
        gaussian(2 / noise_multiplier), or gaussian(1 / noise_multiplier) for "add-remove"; about
        these `neighbours`, for exact (real-valued) noise.

    Raises
    ------
    ValueError
        If `noise_multiplier` is negative or NaN.

    Notes
    -----
    A bound for the worst gradients of both records. `dpsgd_error_rates` has what the best test of a
    given target attains. T. Michel, D. Basu and E. Kaufmann, sequential membership inference,
    section 5, compare the audit with an accountant's epsilon.

    Examples
    --------
    >>> import leakscore
    >>> game = leakscore.sequential.game_tradeoff(2.0)
    >>> print(round(float(game.epsilon(1e-5)), 4))
    4.3772
    """
    multiplier = validation.interval("noise_multiplier", noise_multiplier, 0.0)
    relation = validation.choice("neighbours", neighbours, NEIGHBOURS)
    shift = 2.0 if relation == "replace" else 1.0
    with np.errstate(over="ignore", divide="ignore"):
        curve = gaussian(shift / np.abs(multiplier))  # -0.0 is 0 too
    return about(curve, Premise(relation, (EXACT_NOISE,)))


@dataclass(frozen=True)
class Eigenterms:
    """Groups of coordinates of the eigenbasis that have the same variance and noise."""

    variance: Doubles
    """Eigenvalue l of C."""
    noise: Doubles
    """Variance s^2 of the noise."""
    size: Doubles
    """Number of coordinates."""
    square: Doubles
    """Sum of the squared coordinates y^2 of the target's deviation."""


def eigenterms(reference: Reference, gradient: Doubles, noise: Doubles) -> Eigenterms:
    """Put covariance, noise and the target's deviation into the eigenbasis."""
    deviation = gradient - reference.mean
    with np.errstate(over="ignore"):
        if not np.isfinite(np.square(deviation).sum()):
            raise ValueError("target_gradient must be so near to the mean that no square overflows")
    if reference.kind == "diagonal":
        return _group(reference.variances, np.broadcast_to(noise**2, deviation.shape), deviation**2)
    if noise.ndim and (noise != noise[0]).any():
        raise ValueError(
            "noise_std must be the same for all coordinates, or a reference of kind 'diagonal'"
        )
    level = float(noise.flat[0]) ** 2
    covariance = reference.covariance
    if not isinstance(covariance, LowRank):
        values, vectors = np.linalg.eigh(reference.cov)
        coordinates = vectors.T @ deviation
        return _group(np.maximum(values, 0.0), np.full(deviation.size, level), coordinates**2)
    diagonal = float(covariance.diagonal[0])
    if (covariance.diagonal != diagonal).any():
        raise ValueError(
            "reference of kind 'low-rank' must have one diagonal for all coordinates, as "
            "Reference.low_rank(mean, number, factor) has, or a fit with shrinkage=0 and a ridge"
        )
    values, coordinates, rest = _factor_basis(covariance, deviation)
    variance, square = np.append(diagonal + values, diagonal), np.append(coordinates**2, rest)
    size = np.append(np.ones(values.size), deviation.size - values.size)
    return _group(variance, np.full(variance.size, level), square, size)


def _factor_basis(covariance: LowRank, deviation: Doubles) -> tuple[Doubles, Doubles, float]:
    """Return positive eigenvalues of scale F'F, coordinates along them, and the squared rest.

    The triangular factor of F' = QR is computed by strips of columns of F. It keeps the digits of
    small singular values.
    """
    rows = covariance.centred
    triangle = np.empty((0, len(rows)))
    for _, strip in rows.strips(len(rows)):
        triangle = _triangle(np.hstack([triangle.T, strip]))
    _, values, basis = np.linalg.svd(triangle)
    positive = values > values[0] * len(rows) * np.finfo(np.float64).eps
    values, basis = values[positive], basis[: values.size][positive]
    coordinates = (rows.products(deviation[np.newaxis])[0] @ basis.T) / values
    rest = deviation[np.newaxis].copy()
    rows.add_combination(-((coordinates / values) @ basis)[np.newaxis], rest)
    return covariance.scale * values**2, coordinates, float(np.square(rest).sum())


def _triangle(columns: Doubles) -> Doubles:
    """Return the triangular factor R of `columns`' = QR.

    With few rows, blocks of columns are reduced to their triangles, repeatedly. Blocks are so small
    that BLAS starts no threads, which would take ten times as long for such a matrix.
    """
    size = len(columns)
    height = _BLOCK // size
    factor: Any = np.linalg.qr  # whose types do not know mode "r"
    while 4 * size <= height < columns.shape[1]:
        blocks = -(-columns.shape[1] // height)
        padded = np.zeros((size, blocks * height))
        padded[:, : columns.shape[1]] = columns
        stack = padded.reshape(size, blocks, height).transpose(1, 2, 0)
        columns = factor(stack, mode="r").reshape(-1, size).T
    return np.asarray(factor(columns.T, mode="r"))


def _group(
    variance: Doubles, noise: Doubles, square: Doubles, size: Doubles | None = None
) -> Eigenterms:
    """Add up the coordinates of equal variance and noise."""
    sizes = np.ones(variance.size) if size is None else size
    keys = np.empty(variance.size, dtype=np.complex128)  # sorted by the first, then by the second
    keys.real, keys.imag = variance, noise
    pairs, place = np.unique(keys, return_inverse=True)
    sums = (_sums_by_group(place, values, pairs.size) for values in (sizes, square))
    return Eigenterms(pairs.real.copy(), pairs.imag.copy(), *sums)


def _sums_by_group(place: Indices, values: Doubles, count: int) -> Doubles:
    """Add up the values of each group."""
    return np.bincount(place, values, count).astype(np.float64)


@dataclass(frozen=True)
class _Ratio:
    """The law of the ratio: centre - (sum w chi2'(df, nc) - sum w nc) + sigma Z."""

    centre: float
    weights: Doubles
    df: Doubles
    nc: Doubles
    sigma: float

    def above(self, threshold: Doubles) -> Any:
        """Return the probability of a ratio above the threshold."""
        return self._tail("cdf", threshold)

    def below(self, threshold: Doubles) -> Any:
        """Return the probability of a ratio at or below the threshold."""
        return self._tail("sf", threshold)

    def _tail(self, side: str, threshold: Doubles) -> Any:
        room = self.centre - threshold
        if not self.weights.size and self.sigma > 0.0:
            return getattr(norm, side)(room / self.sigma)
        if not self.weights.size:  # the ratio is one number
            certain = ((room > 0.0) == (side == "cdf")).astype(np.float64)
            return np.where(np.isnan(room), np.nan, certain)[()]
        # All weights are positive, so the lower tail is below a normal one of the same variance,
        # and the upper one is sub-gamma: both are below e^-800 (Laurent and Massart, lemma 1).
        spread = 2.0 * self.weights**2 @ (self.df + 2.0 * self.nc) + self.sigma**2
        centred = room - self.weights @ self.df
        surely_below = centred < -40.0 * np.sqrt(spread)
        surely_above = centred > 40.0 * np.sqrt(spread) + 1600.0 * self.weights.max()
        # The sum of w nc may be far larger than the ratio that remains.
        high, low = _exact_sum(self.weights, self.nc)
        law = (self.weights, self.df, self.nc)
        points = np.where(surely_below | surely_above, 0.0, room) + low
        tail = getattr(gx2, side)(points, *law, sigma=self.sigma, offset=-high)
        return np.where(surely_below | surely_above, surely_above == (side == "cdf"), tail)[()]


def _law(terms: Eigenterms, n: int, *, member: bool) -> _Ratio:
    """Return the law of the ratio under one hypothesis, by the formulas of `dpsgd_error_rates`.

    The constant less sum w nc is formed at once: their difference is y^2 / (2 n^2) over the
    variance b under H1 (a minus sign) or a under H0 (a plus).
    """
    out = terms.variance / n + terms.noise
    within = (n - 1) / n * (terms.variance / n) + terms.noise
    variance, other, sign = (within, out, 1.0) if member else (out, within, -1.0)
    # A product of two small numbers would underflow, and one of two large ones overflow.
    gain = terms.variance / other / n**2
    centre = -0.5 * terms.size * np.log1p(-terms.variance / out / n**2)
    centre += sign * terms.square / other / (2.0 * n**2)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        nc = (terms.square / terms.variance) * (n**2 * variance / terms.variance)
    curved = (terms.variance > 0.0) & ((terms.square == 0.0) | (nc < _NORMAL))
    normal = ~curved
    weights = 0.5 * gain
    centre[normal] -= (weights * terms.size)[normal]
    spread = terms.square * (variance / other) / other / n**2 + 2.0 * weights**2 * terms.size
    weights, place = np.unique(weights[curved], return_inverse=True)
    df, nc = (
        _sums_by_group(place, values[curved], weights.size)
        for values in (terms.size, np.where(terms.square == 0.0, 0.0, nc))
    )
    used = weights > 0.0
    return _Ratio(
        fsum(centre), weights[used], df[used], nc[used], float(np.sqrt(spread[normal].sum()))
    )


def _exact_sum(first: Doubles, second: Doubles) -> tuple[float, float]:
    """Return the sum of products of two arrays as two doubles, to 32 digits."""
    product = first * second
    high, low = zip(*map(_halves, (first, second)), strict=True)
    lost = ((high[0] * high[1] - product) + high[0] * low[1] + low[0] * high[1]) + low[0] * low[1]
    parts = [*product.tolist(), *lost.tolist()]
    total = fsum(parts)
    return total, fsum([*parts, -total])


def _halves(x: Doubles) -> tuple[Doubles, Doubles]:
    """Split doubles into two of 26 digits each (Dekker)."""
    shifted = x * 134217729.0
    high = shifted - (shifted - x)
    return high, x - high


def _normal_rates(threshold: Doubles, variance: float) -> tuple[Any, Any]:
    """Return the error rates of a ratio of the laws N(-v/2, v) and N(v/2, v)."""
    empty = np.zeros(0)
    low, high = (_Ratio(s * variance / 2, empty, empty, empty, variance**0.5) for s in (-1.0, 1.0))
    return low.above(threshold), high.below(threshold)


def _gaussian_variance(gradient: Doubles, reference: Reference, n: int, noise: Doubles) -> float:
    """Return g' A^-1 g / n^2 with A = (n-1) C/n^2 + s^2, common to both hypotheses."""
    release, factor = _release(gradient, reference, n, noise).with_target()
    rows = gradient[np.newaxis]
    distance = covariances.distances(
        release.invertible(), "target_gradient", rows, np.zeros_like(gradient)
    )
    if not np.isfinite(distance).all():
        raise ValueError("target_gradient must be so small that no square overflows")
    return float(distance[0]) / (factor * n)


def _release(gradient: Doubles, reference: Reference, n: int, noise: Doubles) -> ScoredRelease:
    rows = gradient[np.newaxis]
    return ScoredRelease(rows, rows, reference, n, GaussianNoise(np.atleast_1d(noise)), False)
