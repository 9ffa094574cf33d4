"""Curves of the Laplace mechanism: the informed attacker's and the relaxed one's."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.distributions import folded_laplace
from leakscore.numeric import frozen
from leakscore.tradeoff.curve import Symmetric, TradeOff, aligned
from leakscore.tradeoff.shapes import Mirrored, OneStatistic, Parametric
from leakscore.typing import Doubles, Flags, of_numbers


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


_LOG2 = float(np.log(2.0))
_LARGEST = float(np.finfo(np.float64).max)


def _plain(mu: Doubles) -> bool:
    """Return whether no square of e^mu overflows, as one pass of the core takes for granted."""
    return bool((mu <= 300.0).all())


def _exps(mu: Doubles) -> tuple[Doubles, Doubles]:
    return np.exp(mu), np.exp(-mu)


def _log_above(x: Doubles) -> Doubles:
    """Return the log of the probability that Laplace noise of scale 1 is above x."""
    tail = -np.abs(x) - _LOG2
    return np.where(x > 0.0, tail, np.log1p(-np.exp(tail)))
