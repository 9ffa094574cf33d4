"""Noise against an attacker who sees the output but not the record: Laplace and Gaussian.

Such an attacker uses the magnitude alone. The informed attacker's curve of Laplace noise is here
too; that of Gaussian noise is `gaussian_curves`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.distributions import chi2, folded_laplace, gx2, ncx2, norm
from leakscore.numeric import falling_root, frozen, norms, sign_change
from leakscore.tradeoff.curve import Symmetric, TradeOff
from leakscore.tradeoff.family import aligned
from leakscore.tradeoff.gaussian_curves import GaussianTradeOff
from leakscore.tradeoff.shapes import LARGEST, Mirrored, OneStatistic, Parametric, either
from leakscore.typing import Doubles, Flags, of_numbers

_LOG2 = float(np.log(2.0))
_LARGEST = float(np.finfo(np.float64).max)


def log_cosh(x: Doubles) -> Doubles:
    """Return log cosh(x) for x >= 0, to its last digit near 0 too."""
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.log1p(2.0 * np.sinh(0.5 * np.minimum(x, 1.0)) ** 2)
        return np.where(x < 1.0, near, x + (np.log1p(np.exp(-2.0 * x)) - np.log(2.0)))


@of_numbers(TradeOff[float], TradeOff[Doubles])
def laplace(mu: npt.ArrayLike) -> TradeOff[Any]:
    """Return the trade-off curve of Laplace(0, 1) against Laplace(mu, 1).

    It is the curve of the Laplace mechanism against an attacker who knows the record and both
    data sets: a guarantee.

    Parameters
    ----------
    mu : array_like
        Sensitivity over the scale of the noise, in [0, inf].

    Returns
    -------
    TradeOff
        Of the shape of `mu`; symmetric.

    Raises
    ------
    ValueError
        If `mu` is negative or NaN.

    Notes
    -----
    f(alpha) is 1 - e^mu alpha up to alpha = e^-mu/2, then e^-mu/(4 alpha), and e^-mu (1 - alpha)
    from 1/2 on; delta(epsilon) = 1 - exp((epsilon - mu)/2) for abs(epsilon) <= mu, so that
    epsilon(0) = mu.

    References
    ----------
    Kaissis et al., "Optimal privacy guarantees for a relaxed threat model" (NeurIPS 2023), eq. 19.

    Examples
    --------
    >>> f = laplace(1.5)
    >>> print(round(float(f(0.1)), 6), float(f.epsilon(0.0)))
    0.551831 1.5
    """
    return _Laplace((frozen(np.array(validation.interval("mu", mu, 0.0))),))


@of_numbers(TradeOff[float], TradeOff[Doubles])
def relaxed_laplace(mu: npt.ArrayLike) -> TradeOff[Any]:
    """Return the curve of the Laplace mechanism against an attacker who lacks the record's sign.

    The attacker sees the output but not the record, and so can use only the magnitude,
    abs(Laplace(0, 1)) against abs(Laplace(mu, 1)). No test of the two magnitudes does better than
    the curve.

    Parameters
    ----------
    mu : array_like
        Sensitivity over the scale of the noise, in [0, inf].

    Returns
    -------
    TradeOff
        Of the shape of `mu`, kind "guarantee" and adversary "relaxed". Not symmetric.

    Raises
    ------
    ValueError
        If `mu` is negative or NaN.

    Notes
    -----
    f(alpha) = e^-mu (1/alpha - alpha)/2 where alpha >= e^-mu, else 1 - alpha cosh(mu). The
    likelihood ratio lies in [e^-mu, cosh mu], so that epsilon(0) is log cosh(mu) forward and mu in
    reverse: at delta = 0 the relaxed attacker is no weaker. With B = exp(epsilon - mu), delta is
    1 - sqrt(2 B - e^(-2 mu)) forward and 1 - sqrt(B (2 - B)) in reverse; both are computed without
    cancellation. The hull is the inverse up to x1 = (1 - e^-mu) x0, a chord of slope -1, and the
    curve from x0 = (2 e^mu - 1)^(-1/2) on.

    References
    ----------
    Kaissis et al., "Optimal privacy guarantees for a relaxed threat model" (NeurIPS 2023),
    theorem 1. Their eq. 3 prints the threshold of the inverse as 1/2 - e^-mu/2; it is
    1/2 - e^(-2 mu)/2, as in their proof.

    Examples
    --------
    >>> f = relaxed_laplace(1.5)
    >>> print(round(float(f(0.1)), 6), round(float(f.symmetrized()(0.1)), 6))
    0.764759 0.647667
    """
    given = (frozen(np.array(validation.interval("mu", mu, 0.0))),)
    return _RelaxedLaplace(given, adversary="relaxed")


class _Laplace(Symmetric[Any], Parametric[Any]):
    __slots__ = ()
    _title = "laplace(mu={})"
    _rounded_down = True

    def _touch(self, epsilon: float) -> tuple[float, float]:
        """Return alpha and beta where the slope is -exp(epsilon), in [-mu, mu]; of shape ()."""
        alpha, beta = 0.5 * np.exp(-0.5 * (self._parameters[0] + np.array([epsilon, -epsilon])))
        return float(alpha), float(beta)

    def _threshold(self, log_alpha: Doubles, log_rest: Doubles) -> Doubles:
        """Return from where on a test accuses, less the shift."""
        (mu,) = self._beside(log_alpha)
        with np.errstate(invalid="ignore"):  # inf - inf
            rare, common = -(_LOG2 + log_alpha) - mu, (_LOG2 + log_rest) - mu
        threshold = np.where(log_alpha < -_LOG2, rare, common)
        return np.where(np.isinf(mu), -np.inf, threshold)

    def _rates(self, log_alpha: Doubles, log_rest: Doubles) -> tuple[Doubles, Doubles]:
        threshold = self._threshold(log_alpha, log_rest)
        return _log_above(threshold), _log_above(-threshold)

    def _beta(self, alpha: Doubles) -> Any:
        (mu,) = self._beside(alpha)
        if _plain(mu):
            return _core.laplace_beta(alpha, *_exps(mu))
        return _core.at_most_rest(super()._beta(alpha), alpha)

    def _power(self, alpha: Doubles) -> Any:
        (mu,) = self._beside(alpha)
        return _core.laplace_power(alpha, *_exps(mu)) if _plain(mu) else super()._power(alpha)

    def _auc(self) -> Any:
        finite = np.minimum(self._parameters[0], 800.0)
        return (1.0 - np.exp(-finite) * (0.5 + 0.25 * finite))[()]

    def _delta(self, epsilon: Doubles) -> Any:
        (mu,) = self._beside(epsilon)
        with np.errstate(over="ignore", invalid="ignore"):
            gap = np.where(np.isinf(mu), np.inf, mu - epsilon)
            inner = -np.expm1(-0.5 * np.maximum(gap, 0.0))
            return np.where(epsilon < -mu, -np.expm1(epsilon), inner)[()]

    def _epsilon(self, delta: Doubles) -> Any:
        (mu,) = self._beside(delta)
        enough = delta >= aligned(np.asarray(self._advantage()), delta)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(enough, 0.0, np.maximum(mu + 2.0 * np.log1p(-delta), 0.0))[()]


class _RelaxedLaplace(OneStatistic):
    """Magnitude with the record against without it; or, reversed, without against with."""

    __slots__ = ()
    _title = "relaxed_laplace(mu={})"
    _rounded_down = True

    def _symmetrized(self) -> TradeOff[Any]:
        (mu,) = self._parameters
        shrunk = np.exp(-mu)
        end = np.exp(-0.5 * mu) / np.sqrt(2.0 - shrunk)
        start = -np.expm1(-mu) * end
        log_end = -0.5 * (np.minimum(mu, 1e4) + np.log(2.0 - shrunk))
        area = 0.5 * (start * end - shrunk * log_end)
        return Mirrored(self if self._reversed else self.inverse(), start, end, area)

    def _touch(self, epsilon: float) -> tuple[float, float]:
        """Return alpha and beta where the slope is -exp(epsilon); of a curve of shape ()."""
        (mu,) = self._parameters
        ratio = -epsilon if self._reversed else epsilon
        alpha = float(1.0 / np.sqrt(2.0 * np.expm1(mu + ratio) + 1.0))
        beta = float(self._like(mu)._beta(np.asarray(alpha)))
        return (beta, alpha) if self._reversed else (alpha, beta)

    def _hypothesis(self, member: bool, like: Doubles) -> tuple[Any, ...]:
        return folded_laplace, np.minimum(self._beside(like)[0], _LARGEST) if member else 0.0, 1.0

    def _most(self) -> Doubles:
        return np.minimum(self._parameters[0], _LARGEST)

    def _moved(self, statistic: Doubles, like: Doubles) -> Doubles:
        """Make every test of an infinite shift a sure one."""
        return np.where(np.isinf(self._beside(like)[0]), np.inf if self._small else 0.0, statistic)

    def _at_end(self, statistic: Doubles, like: Doubles) -> Flags:
        return super()._at_end(statistic, like) & np.isfinite(self._beside(like)[0])

    def _beta(self, alpha: Doubles) -> Any:
        (mu,) = self._beside(alpha)
        if not _plain(mu):
            return _core.at_most_rest(super()._beta(alpha), alpha)
        if not self._reversed:
            return _core.relaxed_laplace_beta(alpha, np.exp(mu), 2.0 * np.sinh(0.5 * mu) ** 2)
        cut, sech = -0.5 * np.expm1(-2.0 * mu), 2.0 * np.exp(-mu) / (1.0 + np.exp(-2.0 * mu))
        return _core.relaxed_laplace_inverse(alpha, np.exp(mu), cut, sech)

    def _power(self, alpha: Doubles) -> Any:
        (mu,) = self._beside(alpha)
        if _plain(mu) and not self._reversed:
            return _core.relaxed_laplace_power(alpha, np.exp(mu), 2.0 * np.sinh(0.5 * mu) ** 2)
        return super()._power(alpha)

    def _auc(self) -> Any:
        finite = np.minimum(self._parameters[0], 800.0)
        return (1.0 - 0.5 * (1.0 + finite) * np.exp(-finite))[()]

    def _delta(self, epsilon: Doubles) -> Any:
        (mu,) = self._beside(epsilon)
        most, least = (mu, -log_cosh(mu)) if self._reversed else (log_cosh(mu), -mu)
        with np.errstate(over="ignore", invalid="ignore"):
            gap = np.where(np.isinf(mu), np.inf, most - epsilon)
            kept = np.exp(np.where(np.isinf(mu), -np.inf, epsilon - mu))
            if self._reversed:
                square = np.expm1(-np.maximum(gap, 0.0)) ** 2
                rest = np.sqrt(np.maximum(kept * (2.0 - kept), 0.0))
            else:
                least_square = np.exp(-2.0 * mu)
                far = 1.0 - 2.0 * kept + least_square
                square = np.where(gap > 1.0, far, 2.0 * kept * np.expm1(np.minimum(gap, 1.0)))
                rest = np.sqrt(np.maximum(2.0 * kept - least_square, 0.0))
            inner = np.where(gap > 0.0, square / (1.0 + rest), 0.0)
            return np.where(epsilon < least, -np.expm1(epsilon), inner)[()]

    def _epsilon(self, delta: Doubles) -> Any:
        (mu,) = self._beside(delta)
        enough = delta >= aligned(np.asarray(self._advantage()), delta)
        rest, square = 1.0 - delta, delta * (2.0 - delta)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self._reversed:
                epsilon = mu + (2.0 * np.log1p(-delta) - np.log1p(np.sqrt(square)))
            else:
                least = np.exp(-2.0 * mu)
                near, far = np.log1p(-square / (1.0 + least)), (rest * rest + least) / (1.0 + least)
                epsilon = log_cosh(mu) + np.where(delta < 0.5, near, np.log(far))
            return np.where(enough, 0.0, np.maximum(epsilon, 0.0))[()]


def _plain(mu: Doubles) -> bool:
    """Return whether no square of e^mu overflows, as one pass of the core takes for granted."""
    return bool((mu <= 300.0).all())


def _exps(mu: Doubles) -> tuple[Doubles, Doubles]:
    return np.exp(mu), np.exp(-mu)


def _log_above(x: Doubles) -> Doubles:
    """Return the log of the probability that Laplace noise of scale 1 is above x."""
    tail = -np.abs(x) - _LOG2
    return np.where(x > 0.0, tail, np.log1p(-np.exp(tail)))


@of_numbers(TradeOff[float], TradeOff[Doubles])
def relaxed_gaussian(mu: npt.ArrayLike, dim: npt.ArrayLike = 1) -> TradeOff[Any]:
    """Return the curve of the Gaussian mechanism against an attacker who lacks the direction.

    The attacker sees the noisy output in `dim` coordinates, and knows how far the record moves its
    mean but not in which direction. So only the squared length of the output is useful, a
    chi-square without the record and a noncentral one with it. No test of the two lengths does
    better, and no test of the whole output does better for every direction at once.

    Parameters
    ----------
    mu : array_like
        Sensitivity over the standard deviation of the noise per coordinate, in [0, inf).
    dim : array_like of int
        Number of coordinates, at least 1; broadcast with `mu`.

    Returns
    -------
    TradeOff
        Of the broadcast shape, kind "guarantee" and adversary "relaxed". Not symmetric.

    Raises
    ------
    ValueError
        If `mu` is negative, infinite or NaN, `dim` is no integer from 1 on, or they do not
        broadcast.

    Notes
    -----
    With the cdf F_d(x; k) and sf S_d(x; k) of the noncentral chi-square law,
    f(alpha) = F_d(S_d^-1(alpha; 0); mu^2), in one dimension Phi(z - mu) - Phi(-z - mu) with
    z = z_{alpha/2}. Where the two laws are close, their difference is integrated over the
    noncentrality, S_d(x; k) - S_d(x; 0) = int_0^k f_{d+2}(x; l) dl, so that delta keeps its
    relative accuracy at mu = 1e-8 as well. The likelihood ratio lies in [exp(-mu^2/2), inf):
    epsilon(0) is inf forward, mu^2/2 in reverse. As `dim` grows at fixed mu the curve tends to
    1 - alpha: against an attacker without the direction, the same noise per coordinate hides more
    the more coordinates there are. Above mu = 1.2e30 it is that of ``gaussian(mu)``, the limit.

    References
    ----------
    Kaissis et al., "Optimal privacy guarantees for a relaxed threat model" (NeurIPS 2023),
    theorem 2 and corollary 1.

    Examples
    --------
    >>> f = relaxed_gaussian(1.5, dim=[1, 1000])
    >>> print(f(0.1).round(4), f.epsilon(1e-5).round(3))
    [0.5568 0.8907] [6.358 0.169]
    """
    distance = validation.interval("mu", mu, 0.0, closed="left")
    dims = validation.whole("dim", dim, 1)
    distance, dims = validation.broadcast(mu=distance, dim=dims)
    return _squared_lengths(distance, dims, "guarantee", "relaxed")


_LARGEST_MU = float(np.sqrt(LARGEST))


def _squared_lengths(
    mu: Doubles, dims: Doubles, kind: Literal["guarantee", "attack"], adversary: str
) -> TradeOff:
    def near(where: Any) -> TradeOff:
        return _RelaxedGaussian((np.array(where(mu, 0.0)), np.array(dims)), kind, adversary)

    def beyond(where: Any) -> TradeOff:  # beside such a shift no direction matters
        far = np.array(where(mu, 0.0))
        with np.errstate(over="ignore"):
            return GaussianTradeOff((far, far * far), kind, adversary)

    return either(np.asarray(mu > _LARGEST_MU), near, beyond)  # type: ignore[no-any-return]


def compose_relaxed_gaussian(
    mus: npt.ArrayLike, dim: npt.ArrayLike, weights: str = "optimal"
) -> TradeOff:
    """Return the curve of several noisy outputs of one record in one unknown direction.

    The record moves every output in the same direction: `relaxed_gaussian` of their sum.

    Parameters
    ----------
    mus : (..., N) array_like
        Sensitivity over standard deviation of the noise of each output, in [0, inf).
    dim : array_like of int
        Number of coordinates, at least 1; broadcast with the leading axes of `mus`.
    weights : {"optimal", "equal"}
        ``"optimal"``: each output in proportion to its sensitivity over its noise variance, mu^2 =
        sum mu_i^2. A guarantee: no test of the outputs does better for every direction.
        ``"equal"``: the plain mean of outputs of equal noise, mu^2 = (sum mu_i)^2 / N. An attack:
        that test's own curve, its epsilon a lower bound.

    Returns
    -------
    TradeOff
        Of the broadcast shape, adversary "relaxed-aligned".

    Raises
    ------
    ValueError
        If a mu is negative, infinite or NaN, `mus` is empty or without an axis, their sum
        overflows, `dim` is not an integer from 1 on, or `weights` is unknown.

    Notes
    -----
    For outputs with unrelated directions the product of lengths is no bound for this curve.

    References
    ----------
    Kaissis et al., "Optimal privacy guarantees for a relaxed threat model" (NeurIPS 2023), lemma
    8. They call the mean of the outputs the best; it is best only if all D_i / s_i^2 are equal.
    At D = (1, 1/2), s = (1, 3), d = 3 and alpha = .3 it misses .667 of the members, the mean of
    outputs in units of their noise ("equal") .603, and the best weights .558. Nor may the mean be
    taken pairwise: three equal outputs give 3 mu^2, not 8/3 mu^2.

    Examples
    --------
    >>> best = compose_relaxed_gaussian([1.0, 0.5 / 3], dim=3)
    >>> print(round(float(best(0.3)), 4), best.kind, best.adversary)
    0.5575 guarantee relaxed-aligned
    """
    distances = validation.interval("mus", mus, 0.0, closed="left")
    if not distances.ndim or not distances.size:
        raise ValueError(f"mus of shape {distances.shape} must hold at least one output")
    chosen = validation.choice("weights", weights, ("optimal", "equal"))
    if chosen == "optimal":
        mu = norms(distances)
    else:
        with np.errstate(over="ignore"):
            mu = np.asarray((distances / np.sqrt(distances.shape[-1])).sum(axis=-1))
    if np.isinf(mu).any():
        raise ValueError(f"mus must have {weights} mu together of at most 1.8e308")
    mu, dims = validation.broadcast(mus=mu, dim=validation.whole("dim", dim, 1))
    kind: Literal["guarantee", "attack"] = "guarantee" if chosen == "optimal" else "attack"
    return _squared_lengths(mu, dims, kind, "relaxed-aligned")


class _RelaxedGaussian(OneStatistic):
    """Squared length with the record against without it; or, reversed, without against with."""

    __slots__ = ()
    _title = "relaxed_gaussian(mu={}, dim={})"
    _rounded_down = True

    def _hypothesis(self, member: bool, like: Doubles) -> tuple[Any, ...]:
        mu, dims = self._beside(like)
        return (ncx2, dims, mu**2) if member else (chi2, dims)

    def _cuts(self, ratio: Doubles, like: Doubles) -> tuple[Doubles, Doubles]:
        point = cut(*np.broadcast_arrays(ratio, *self._beside(like)))
        return point, point

    def _most(self) -> Doubles:
        return np.asarray(0.5 * self._parameters[0] ** 2)

    def _at_end(self, statistic: Doubles, like: Doubles) -> Flags:
        """Whether the ratio is e^(-mu^2/2): short lengths' probability underflows before them."""
        mu, dims = self._beside(like)
        return np.asarray(statistic * (1.0 + mu**2) < 1e-20 * dims)

    def _symmetrized(self) -> TradeOff[Any]:
        """Return the curve down to slope -1, a chord, and the inverse curve.

        The curve has the larger delta at every epsilon >= 0: its likelihood ratio is unbounded.
        """
        steep: _RelaxedGaussian = self._like(*self._parameters)
        return steep._mirrored()

    def _beta(self, alpha: Doubles) -> Any:
        in_line = self._in_line(alpha)
        beta = _core.line_beta(alpha, self._beside(alpha)[0]) if in_line else super()._beta(alpha)
        # The quantile's rounding may lift beta above 1 - alpha where the two laws are close.
        return _core.at_most_rest(beta, alpha)

    def _power(self, alpha: Doubles) -> Any:
        if self._in_line(alpha):
            return np.maximum(_core.line_power(alpha, self._beside(alpha)[0]), alpha)[()]
        return super()._power(alpha)

    def _in_line(self, alpha: Doubles) -> bool:
        """Whether the kernels of one coordinate have the curve; they take halves of alpha."""
        line = not self._reversed and bool((self._parameters[1] == 1.0).all())
        return line and bool((2.0 * (0.5 * alpha) == alpha).all())

    def _auc(self) -> Any:
        """Return the probability that the length is larger with the record."""
        half = self._parameters[0] / np.sqrt(2.0)
        result = np.array(1.0 - 2.0 * norm.sf(half) * norm.cdf(half))
        for i in np.ndindex(self.shape):
            mu, d = (parameter[i] for parameter in self._parameters)
            if d > 1.0:
                result[i] = gx2.sf(0.0, [1.0, -1.0], [d, d], [mu**2, 0.0])
        return result[()]

    def _delta(self, epsilon: Doubles) -> Any:
        point, _ = self._cut(epsilon, epsilon)
        mu, dims, epsilon = np.broadcast_arrays(*self._beside(epsilon), epsilon)
        return tails(point, mu, dims).delta(epsilon, self._reversed)[()]

    def _epsilon(self, delta: Doubles) -> Any:
        """Move the threshold from where epsilon = 0 until its hockey-stick divergence is delta."""
        mu, dims, delta = np.broadcast_arrays(*self._beside(delta), delta)
        origin = cut(np.zeros(mu.shape), mu, dims)
        most = tails(origin, mu, dims).delta(np.zeros(mu.shape), self._reversed)
        inner, apart = (delta > 0.0) & (delta < most), mu >= _APART
        usual = inner & ~apart
        sign = -1.0 if self._reversed else 1.0
        aim = np.where(usual, delta, 0.5)
        sure = aim > 0.5

        def excess(move: Doubles) -> Doubles:
            point = origin * np.exp(sign * move)
            laws, epsilon = tails(point, mu, dims), sign * log_ratio(point, mu, dims)
            log_rest = laws.log_rest(epsilon, self._reversed)
            log_delta = laws.log_delta(epsilon, self._reversed)
            size = np.where(sure, np.log1p(-aim) - log_rest, log_delta - np.log(aim))
            return np.where(usual, np.maximum(size, -1e300), 0.0)

        move = falling_root(excess, np.where(usual, 1.0, 0.0))
        point = origin * np.exp(sign * move)
        if apart.any():  # nothing is paid: a threshold as far out as any, on the safe side
            point = np.where(apart, self._law(True, "isf", delta, delta), point)
        epsilon = np.maximum(sign * log_ratio(point, mu, dims), 0.0)
        bound = 0.5 * mu * mu if self._reversed else np.full(mu.shape, np.inf)
        edge = np.where((delta <= 0.0) & (mu > 0.0), bound, 0.0)
        return np.where(inner, epsilon, edge)[()]


_NODES, _WEIGHTS = np.array(np.polynomial.legendre.leggauss(16))[:, :, np.newaxis]
_TILE = 4096  # points whose nodes are evaluated together
_APART = 1e8  # mu from which e^epsilon alpha moves no digit of the epsilon of a delta
_NEAR = 0.7  # log of the ratio of two tails, up to which their difference is integrated
_FAR = 1e16  # epsilons
_FLAT = 1e-3  # size of the likelihood ratio's expansion variable, up to which it is used


class Tails(NamedTuple):
    """Logs of both laws' tails beyond and below a point, and the mass that moves across it."""

    log_alpha: Doubles  # beyond, without the record
    log_power: Doubles  # beyond, with it
    log_spared: Doubles  # below, without it
    log_beta: Doubles  # below, with it
    moved: Doubles  # power - alpha = spared - beta

    def _sides(self, swapped: bool) -> tuple[Doubles, Doubles, Doubles]:
        """Return logs of what an accusation gains, costs and misses."""
        if swapped:
            return self.log_spared, self.log_beta, self.log_alpha
        return self.log_power, self.log_alpha, self.log_beta

    def log_delta(self, epsilon: Doubles, swapped: bool) -> Doubles:
        """Return the log of the gain less e^epsilon times the cost."""
        gain, cost, _ = self._sides(swapped)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            # So far out the sum has no digits, and what is paid is nothing beside the gain.
            paid = np.where(np.abs(epsilon) < _FAR, epsilon + cost, -np.inf)
            near = self.moved - np.expm1(epsilon) * np.exp(cost)
            # Beyond, the point is the end of the search, not the cut of this epsilon: delta is 0.
            close = (gain - cost < _NEAR) & np.isfinite(cost) & (epsilon < 1.0)
            far = gain + np.log(-np.expm1(np.minimum(paid - gain, 0.0)))
            kept = np.where(close, np.log(np.maximum(near, 0.0)), far)
        return np.where(np.isneginf(gain), -np.inf, kept)

    def delta(self, epsilon: Doubles, swapped: bool) -> Doubles:
        """Return the gain less e^epsilon times the cost."""
        return np.exp(self.log_delta(epsilon, swapped))

    def log_rest(self, epsilon: Doubles, swapped: bool) -> Doubles:
        """Return log(1 - delta), a sum: what is missed and e^epsilon times the cost."""
        _, cost, missed = self._sides(swapped)
        return np.asarray(np.logaddexp(missed, epsilon + cost))


def tails(point: Doubles, mu: Doubles, dims: Doubles) -> Tails:
    """Evaluate both laws at a squared length; all of one shape."""
    square = mu * mu
    log_alpha, log_spared = chi2.logsf(point, dims), chi2.logcdf(point, dims)
    log_power, log_beta = ncx2.logsf(point, dims, square), ncx2.logcdf(point, dims, square)
    with np.errstate(invalid="ignore", under="ignore"):
        above = log_power - log_alpha < _NEAR
        below = log_spared - log_beta < _NEAR
        direct = np.where(
            log_alpha < log_spared,
            np.exp(log_power) - np.exp(log_alpha),
            np.exp(log_spared) - np.exp(log_beta),
        )
    moved = np.array(direct)
    close = np.array(above & below)
    if close.any():
        moved[close] = _moved(point[close], mu[close], dims[close])
    return Tails(log_alpha, log_power, log_spared, log_beta, moved)


def _moved(point: Doubles, mu: Doubles, dims: Doubles) -> Doubles:
    """Integrate d/dk S_d(x; k) = f_{d+2}(x; k), k = u^2, over u from 0 to mu."""
    total = np.empty(point.shape)
    for start in range(0, len(point), _TILE):
        tile = slice(start, start + _TILE)
        shift = 0.5 * (1.0 + _NODES) * mu[tile]
        density = ncx2.pdf(point[tile], dims[tile] + 2.0, shift * shift)
        total[tile] = (_WEIGHTS * shift * mu[tile] * density).sum(axis=0)
    return total


def log_ratio(point: Doubles, mu: Doubles, dims: Doubles) -> Doubles:
    """Return the log-likelihood ratio of a squared length y, -mu^2/2 + log 0F1(; d/2; mu^2 y/4)."""
    square = mu * mu
    half = 0.5 * dims
    step = 0.25 * square * point / half
    line = dims == 1.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        # log(1 + z/b + ...) by powers of z/b, b = d/2: the next term is of the order step^3.
        second = step / (2.0 * (half + 1.0))
        third = step * step * 2.0 / (3.0 * (half + 1.0) * (half + 2.0))
        series = step * (1.0 - second + third) - 0.5 * square
        near = step < _FLAT
        if (near | line).all():
            dense = np.zeros(())
        else:
            dense = ncx2.logpdf(point, dims, square) - chi2.logpdf(point, dims)
        in_line = log_cosh(mu * np.sqrt(point)) - 0.5 * square
        return np.where(near, series, np.where(line, in_line, dense))


def cut(epsilon: Doubles, mu: Doubles, dims: Doubles) -> Doubles:
    """Return the squared length at which the log-likelihood ratio is epsilon; 0 if it never is.

    Results are stationary at this length, so an error of it enters them only squared.
    """
    square = mu * mu
    level = epsilon + 0.5 * square  # log 0F1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # acosh(e^level) = level + log(1 + sqrt(1 - e^(-2 level))), or 2 asinh(sqrt((e^level-1)/2))
        near = 2.0 * np.arcsinh(np.sqrt(0.5 * np.expm1(np.clip(level, 0.0, 1.0))))
        far = level + np.log1p(np.sqrt(-np.expm1(-2.0 * np.maximum(level, 1.0))))
        closed = (np.where(level < 1.0, near, far) / mu) ** 2
        least = np.maximum(2.0 * dims * level / square, 0.0)  # log 0F1(; b; z) <= z/b
        most = (np.sqrt(dims) + mu + 64.0) ** 2  # nothing beyond: S_d is at most e^(-64^2/2) there
    if (dims == 1.0).all():
        return np.where(level > 0.0, closed, 0.0)
    usual = (level > 0.0) & (least < most) & (dims > 1.0)
    start = np.where(usual, least, 1.0)
    aim = np.where(usual, epsilon, 0.0)

    def gap(y: Doubles) -> Doubles:
        return np.where(usual, aim - log_ratio(y, mu, dims), 0.0)

    low, high = start, np.where(usual, 1.25 * start, start)
    while (short := (high < most) & (gap(high) > 0.0)).any():
        low, high = np.where(short, high, low), np.where(short, 1.5 * high, high)
    root = sign_change(gap, low, high)
    usual_or_line = np.where(dims == 1.0, closed, np.where(usual, root, most))
    return np.where(level > 0.0, usual_or_line, 0.0)
