"""Curves of the Laplace mechanism: the informed attacker's and the relaxed one's."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.numeric import frozen
from leakscore.tradeoff.curve import Symmetric, TradeOff, aligned
from leakscore.tradeoff.shapes import Mirrored, Parametric
from leakscore.typing import Doubles, Scalar


def log_cosh(x: Doubles) -> Doubles:
    """Return log cosh(x) for x >= 0, to its last digit near 0 too."""
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.log1p(2.0 * np.sinh(0.5 * np.minimum(x, 1.0)) ** 2)
        return np.where(x < 1.0, near, x + (np.log1p(np.exp(-2.0 * x)) - np.log(2.0)))


@overload
def laplace(mu: Scalar) -> TradeOff[float]: ...
@overload
def laplace(mu: npt.ArrayLike) -> TradeOff[Doubles]: ...
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


@overload
def relaxed_laplace(mu: Scalar) -> TradeOff[float]: ...
@overload
def relaxed_laplace(mu: npt.ArrayLike) -> TradeOff[Doubles]: ...
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


class _LaplaceNoise(Parametric[Any]):
    """What both curves share: the sensitivity, and which of them a pass of the core computes."""

    __slots__ = ()

    @property
    def _mu(self) -> Doubles:
        return self._parameters[0]

    def _clipped(self, alpha: Doubles) -> Any:
        return self._beta(alpha) if _plain(self._mu) else super()._clipped(alpha)


class _Laplace(Symmetric[Any], _LaplaceNoise):
    __slots__ = ()
    _title = "laplace(mu={})"

    def _touch(self, epsilon: float) -> tuple[float, float]:
        """Return alpha and beta where the slope is -exp(epsilon); of a curve of shape ()."""
        if abs(epsilon) > self._mu:
            return (0.0, 1.0) if epsilon > 0.0 else (1.0, 0.0)
        ends = np.exp(-0.5 * (self._mu + np.array([epsilon, -epsilon]))) / 2.0
        return float(ends[0]), float(ends[1])

    def _pieces(self, alpha: Doubles) -> tuple[Doubles, Doubles, Doubles]:
        """Return e^mu alpha, and beta in the middle and on the right."""
        mu = aligned(self._mu, alpha)
        grown = _grown(alpha, mu)
        with np.errstate(divide="ignore", over="ignore"):
            return grown, 0.25 / grown, np.exp(-mu) * (1.0 - alpha)

    def _beta(self, alpha: Doubles) -> Any:
        if _plain(self._mu):
            return _core.laplace_beta(alpha, *_exps(aligned(self._mu, alpha)))
        grown, middle, right = self._pieces(alpha)
        return np.where(grown < 0.5, 1.0 - grown, np.where(alpha <= 0.5, middle, right))[()]

    def _power(self, alpha: Doubles) -> Any:
        if _plain(self._mu):
            return _core.laplace_power(alpha, *_exps(aligned(self._mu, alpha)))
        grown, middle, right = self._pieces(alpha)
        return np.where(grown < 0.5, grown, 1.0 - np.where(alpha <= 0.5, middle, right))[()]

    def _log_power(self, log_alpha: Doubles) -> Any:
        mu = aligned(self._mu, log_alpha)
        grown = mu + np.maximum(log_alpha, _LEAST)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            right = -np.exp(-mu) * np.expm1(log_alpha)
            missed = np.where(log_alpha <= -_LOG2, 0.25 * np.exp(-grown), right)
            return np.where(grown < -_LOG2, mu + log_alpha, np.log1p(-np.minimum(missed, 0.5)))[()]

    def _advantage(self) -> Any:
        return -np.expm1(-0.5 * self._mu)[()]

    def _auc(self) -> Any:
        finite = np.minimum(self._mu, 800.0)
        return (1.0 - np.exp(-finite) * (0.5 + 0.25 * finite))[()]

    def _delta(self, epsilon: Doubles) -> Any:
        mu = aligned(self._mu, epsilon)
        with np.errstate(over="ignore", invalid="ignore"):
            gap = np.where(np.isinf(mu), np.inf, mu - epsilon)
            inner = -np.expm1(-0.5 * np.maximum(gap, 0.0))
            return np.where(epsilon < -mu, -np.expm1(epsilon), inner)[()]

    def _epsilon(self, delta: Doubles) -> Any:
        mu = aligned(self._mu, delta)
        enough = delta >= aligned(np.asarray(self._advantage()), delta)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(enough, 0.0, np.maximum(mu + 2.0 * np.log1p(-delta), 0.0))[()]

    def _alpha_per_power(self) -> Doubles:
        return np.exp(-self._mu)


class _RelaxedLaplace(_LaplaceNoise):
    """Magnitude with the record against without it; or, reversed, without against with."""

    __slots__ = ()
    _title = "relaxed_laplace(mu={})"

    def _symmetrized(self) -> TradeOff[Any]:
        shrunk = np.exp(-self._mu)
        end = np.exp(-0.5 * self._mu) / np.sqrt(2.0 - shrunk)
        start = -np.expm1(-self._mu) * end
        log_end = -0.5 * (np.minimum(self._mu, 1e4) + np.log(2.0 - shrunk))
        area = 0.5 * (start * end - shrunk * log_end)
        return Mirrored(self if self._reversed else self.inverse(), start, end, area)

    def _touch(self, epsilon: float) -> tuple[float, float]:
        """Return alpha and beta where the slope is -exp(epsilon); of a curve of shape ()."""
        ratio = -epsilon if self._reversed else epsilon
        if ratio >= log_cosh(self._mu):
            alpha, beta = 0.0, 1.0
        elif ratio <= -self._mu:
            alpha, beta = 1.0, 0.0
        else:
            alpha = float(1.0 / np.sqrt(2.0 * np.expm1(self._mu + ratio) + 1.0))
            beta = float(self._like(self._mu)._beta(np.asarray(alpha)))
        return (beta, alpha) if self._reversed else (alpha, beta)

    def _missed(self, grown: Doubles, alpha: Doubles, rest: Doubles) -> Doubles:
        """Return beta where e^mu alpha = grown and 1 - alpha = rest."""
        mu = aligned(self._mu, alpha)
        square = np.exp(-2.0 * mu)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            if self._reversed:
                sech = 2.0 * np.exp(-mu) / (1.0 + square)
                arc = 1.0 / (grown + _one_more(grown))
                return np.where(alpha < -0.5 * np.expm1(-2.0 * mu), arc, rest * sech)
            line = 1.0 - (0.5 * (1.0 + square)) * grown
            return np.where(grown < 1.0, line, rest * (1.0 + alpha) * (0.5 / grown))

    def _caught(self, grown: Doubles, alpha: Doubles) -> Doubles:
        """Return the power where it is below 1/2."""
        mu = aligned(self._mu, alpha)
        square = np.exp(-2.0 * mu)
        with np.errstate(over="ignore", invalid="ignore"):
            if not self._reversed:
                return np.asarray(0.5 * grown * (1.0 + square))
            sech = 2.0 * np.exp(-mu) / (1.0 + square)
            near = (2.0 * np.sinh(0.5 * np.minimum(mu, 2.0)) ** 2 + alpha) * sech
            low = alpha < -0.5 * np.expm1(-2.0 * mu)
            return np.where(low, -np.expm1(-np.arcsinh(grown)), near)

    def _beta(self, alpha: Doubles) -> Any:
        mu = aligned(self._mu, alpha)
        if not _plain(mu):
            return self._missed(_grown(alpha, mu), alpha, 1.0 - alpha)[()]
        square = np.exp(-2.0 * mu)
        if not self._reversed:
            return _core.relaxed_laplace_beta(alpha, np.exp(mu), 1.0 + square)
        cut, sech = -0.5 * np.expm1(-2.0 * mu), 2.0 * np.exp(-mu) / (1.0 + square)
        return _core.relaxed_laplace_inverse(alpha, np.exp(mu), cut, sech)

    def _power(self, alpha: Doubles) -> Any:
        mu = aligned(self._mu, alpha)
        if _plain(mu) and not self._reversed:
            return _core.relaxed_laplace_power(alpha, np.exp(mu), 1.0 + np.exp(-2.0 * mu))
        grown = _grown(alpha, mu)
        beta = self._missed(grown, alpha, 1.0 - alpha)
        return np.where(beta > 0.5, self._caught(grown, alpha), 1.0 - beta)[()]

    def _log_power(self, log_alpha: Doubles) -> Any:
        mu = aligned(self._mu, log_alpha)
        log_grown = mu + np.maximum(log_alpha, _LEAST)
        slope = mu if self._reversed else log_cosh(mu)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            grown, alpha = np.exp(log_grown), np.exp(log_alpha)
            beta = self._missed(grown, alpha, -np.expm1(log_alpha))
            caught = np.log(self._caught(grown, alpha))
            usual = np.where(beta > 0.5, caught, np.log1p(-np.minimum(beta, 0.5)))
            # The reversed curve is a line in the limit: asinh(r) = r to the last digit at e^-40.
            line = log_grown < (-40.0 if self._reversed else 0.0)
            return np.where(line & np.isfinite(mu), slope + log_alpha, usual)[()]

    def _advantage(self) -> Any:
        shrunk = np.exp(-self._mu)
        return (np.expm1(-self._mu) ** 2 / (1.0 + np.sqrt(shrunk * (2.0 - shrunk))))[()]

    def _auc(self) -> Any:
        finite = np.minimum(self._mu, 800.0)
        return (1.0 - 0.5 * (1.0 + finite) * np.exp(-finite))[()]

    def _delta(self, epsilon: Doubles) -> Any:
        mu = aligned(self._mu, epsilon)
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
        mu = aligned(self._mu, delta)
        enough = delta >= aligned(np.asarray(self._advantage()), delta)
        square = delta * (2.0 - delta)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self._reversed:
                epsilon = mu + np.log1p(-np.sqrt(square))
            else:
                epsilon = log_cosh(mu) + np.log1p(-square / (1.0 + np.exp(-2.0 * mu)))
            return np.where(enough, 0.0, np.maximum(epsilon, 0.0))[()]

    def _alpha_per_power(self) -> Doubles:
        return np.exp(-self._mu if self._reversed else -log_cosh(self._mu))


_LOG2 = float(np.log(2.0))
_LEAST = -1e300  # log 0, for sums with an infinite mu


def _plain(mu: Doubles) -> bool:
    """Return whether no square of e^mu overflows, as one pass of the core takes for granted."""
    return bool((mu <= 300.0).all())


def _exps(mu: Doubles) -> tuple[Doubles, Doubles]:
    return np.exp(mu), np.exp(-mu)


def _grown(alpha: Doubles, mu: Doubles) -> Doubles:
    """Return e^mu alpha, through logarithms where e^mu overflows."""
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        direct = np.exp(np.minimum(mu, 700.0)) * alpha
        if not (mu > 700.0).any():
            return np.asarray(direct)
        logs = np.where(np.isinf(mu), np.inf, np.exp(mu + np.log(alpha)))
        return np.where(mu > 700.0, logs, direct)


def _one_more(x: Doubles) -> Doubles:
    """Return sqrt(1 + x^2) for x >= 0."""
    return np.hypot(x, 1.0) if (x > 1e150).any() else np.sqrt(1.0 + x * x)
