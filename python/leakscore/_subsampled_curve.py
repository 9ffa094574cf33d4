"""The trade-off curve of a sub-sampled mean: a mixture under H1, so that f and its inverse differ.

With probability rho the target is in the sample and the test meets a Gaussian curve G of leakage
m / rho; otherwise it meets nothing: f(alpha) = rho G(alpha) + (1 - rho)(1 - alpha).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from leakscore import _core
from leakscore._curve import TradeOff, aligned
from leakscore._validate import Doubles
from leakscore.distributions import norm

_HALVINGS = 120


class _OfSubsample(TradeOff):
    """What the curve, its inverse and their hull share: rho, and mu of the Gaussian part."""

    __slots__ = ("_mu", "_rate")

    def __init__(self, mu: Doubles, rate: Doubles) -> None:
        super().__init__(mu.shape, "guarantee", "informed")
        self._mu, self._rate = mu, rate

    @property
    def leakage(self) -> Any:
        """Leakage score m that the mean of all n records would have."""
        return (self._rate * self._mu**2)[()]

    @property
    def sample_rate(self) -> Any:
        """Share rho of the n records that is averaged."""
        return self._rate[()]

    def __repr__(self) -> str:
        return f"{self._word}(leakage={self.leakage!s}, sample_rate={self.sample_rate!s})"

    @property
    @abstractmethod
    def _word(self) -> str: ...

    def symmetrized(self) -> TradeOff:
        """Return the lower convex hull of the curve and its inverse."""
        return SymmetrizedSubsampledTradeOff(self._mu, self._rate)

    def _advantage(self) -> Any:
        return self._rate * _core.gaussian_advantage(self._mu)

    def _auc(self) -> Any:
        return 0.5 * (1.0 - self._rate) + self._rate * _core.gaussian_auc(self._mu)

    def _parts(self, argument: Doubles) -> tuple[Doubles, Doubles]:
        return aligned(self._mu, argument), aligned(self._rate, argument)


class SubsampledTradeOff(_OfSubsample):
    """The curve of the mean of a sub-sample; made by `subsampled_mean`.

    Examples
    --------
    >>> from leakscore.tradeoff import subsampled_mean
    >>> subsampled_mean(2.0, 0.5)
    subsampled_mean(leakage=2.0, sample_rate=0.5)
    """

    __slots__ = ()
    _word = "subsampled_mean"

    def inverse(self) -> TradeOff:
        """Return the curve with the hypotheses swapped: another one."""
        return InverseSubsampledTradeOff(self._mu, self._rate)

    def _beta(self, alpha: Doubles) -> Any:
        mu, rate = self._parts(alpha)
        return (1.0 - rate) * (1.0 - alpha) + rate * _core.gaussian_beta(alpha, mu)

    def _power(self, alpha: Doubles) -> Any:
        mu, rate = self._parts(alpha)
        return (1.0 - rate) * alpha + rate * _core.gaussian_power(alpha, mu)

    def _log_power(self, log_alpha: Doubles) -> Any:
        mu, rate = self._parts(log_alpha)
        with np.errstate(divide="ignore"):
            flagged = np.log(rate) + _core.gaussian_log_power(log_alpha, mu)
            return np.logaddexp(np.log1p(-rate) + log_alpha, flagged)

    def _delta(self, epsilon: Doubles) -> Any:
        mu, rate = self._parts(epsilon)
        return rate_delta(epsilon, mu, rate)

    def _epsilon(self, delta: Doubles) -> Any:
        mu, rate = self._parts(delta)
        inner = _core.gaussian_epsilon(np.minimum(delta / rate, 1.0), mu)
        with np.errstate(divide="ignore"):
            # log(1 + rho (e^inner - 1)) without overflow; log1p where inner is small.
            large = inner + np.log(rate + (1.0 - rate) * np.exp(-inner))
            return np.where(inner < 1.0, np.log1p(rate * np.expm1(np.minimum(inner, 1.0))), large)

    def _alpha_per_power(self) -> Doubles:
        return np.where(self._mu > 0.0, 0.0, 1.0)


class InverseSubsampledTradeOff(_OfSubsample):
    """The inverse of a sub-sampled curve: H1, the mixture, plays the part of the null.

    Examples
    --------
    >>> from leakscore.tradeoff import subsampled_mean
    >>> f = subsampled_mean(2.0, 0.5)
    >>> print(round(float(f.inverse()(f(0.1))), 12))
    0.1
    """

    __slots__ = ()
    _word = "inverse of subsampled_mean"

    def inverse(self) -> TradeOff:
        """Return the curve itself again."""
        return SubsampledTradeOff(self._mu, self._rate)

    def _beta(self, alpha: Doubles) -> Any:
        return norm.sf(self._thresholds(*_log_and_rest(alpha)))

    def _power(self, alpha: Doubles) -> Any:
        return norm.cdf(self._thresholds(*_log_and_rest(alpha)))

    def _log_power(self, log_alpha: Doubles) -> Any:
        with np.errstate(divide="ignore"):
            rest = np.log(-np.expm1(log_alpha))
        return norm.logcdf(self._thresholds(log_alpha, rest))

    def _thresholds(self, log: Doubles, log_rest: Doubles) -> Doubles:
        """Solve (1 - rho) Phi(t) + rho Phi(t - mu) = x for t by halving, on x's smaller side.

        As Phi(t - mu) <= x <= Phi(t), t lies in [z, z + mu] with z = Phi^-1(x).
        """
        mu, rate = np.broadcast_arrays(*self._parts(log))
        mu, rate, log, log_rest = np.broadcast_arrays(mu, rate, log, log_rest)
        lower = log < log_rest
        sign = np.where(lower, 1.0, -1.0)
        target = np.where(lower, log, log_rest)
        low = sign * norm.ilogcdf(target)
        with np.errstate(divide="ignore", over="ignore"):
            share, other = np.log1p(-rate), np.log(rate)
            # From (1 - rho) Phi(t) <= x as well; finite even for mu = inf.
            by_rate = np.minimum(log - share, 0.0)
            high = np.minimum(low + mu, np.where(by_rate < 0.0, norm.ilogcdf(by_rate), np.inf))
        high = np.maximum(high, low)
        known = ~(np.isfinite(low) & np.isfinite(high))
        for _ in range(_HALVINGS):
            with np.errstate(invalid="ignore"):
                middle = 0.5 * (low + high)
                value = np.logaddexp(
                    share + norm.logcdf(sign * middle), other + norm.logcdf(sign * (middle - mu))
                )
                # Both logs rise with t on the lower side, and fall on the upper one.
                small = np.where(lower, value < target, value > target)
            low = np.where(small & ~known, middle, low)
            high = np.where(small | known, high, middle)
        return np.asarray(high)

    def _delta(self, epsilon: Doubles) -> Any:
        mu, rate = self._parts(epsilon)
        return rate_delta_reverse(epsilon, mu, rate)

    def _epsilon(self, delta: Doubles) -> Any:
        """Halve [0, -log(1 - rho)]: beyond, the profile is 0. The end returned needs no more."""
        mu, rate, delta = np.broadcast_arrays(*self._parts(delta), delta)
        with np.errstate(divide="ignore"):
            end = np.where(rate < 1.0, -np.log1p(-rate), _core.gaussian_epsilon(delta, mu))
        low, high = np.zeros_like(end), np.array(end)
        enough = rate_delta_reverse(low, mu, rate) <= delta
        high = np.where(enough, 0.0, high)
        exact = (rate == 1.0) & ~enough
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            fits = rate_delta_reverse(middle, mu, rate) <= delta
            high = np.where(fits & ~exact, middle, high)
            low = np.where(fits | exact, low, middle)
        return high

    def _alpha_per_power(self) -> Doubles:
        return np.where(self._mu > 0.0, 1.0 - self._rate, 1.0)


class SymmetrizedSubsampledTradeOff(_OfSubsample):
    """The hull of a sub-sampled curve and its inverse: f, a chord of slope -1, and the inverse.

    The slope of f is -1 where that of G is, at alpha = Phi(-mu / 2) = G(alpha).

    Examples
    --------
    >>> from leakscore.tradeoff import subsampled_mean
    >>> f = subsampled_mean(2.0, 0.5)
    >>> bool(f.symmetrized()(0.9) < f(0.9))
    True
    """

    __slots__ = ()
    _word = "symmetrized subsampled_mean"

    def inverse(self) -> TradeOff:
        """Return the curve itself: it is symmetric."""
        return self

    def symmetrized(self) -> TradeOff:
        """Return the curve itself."""
        return self

    def _corner(self) -> tuple[Doubles, Doubles]:
        """Where the chord begins, alpha and f(alpha)."""
        at = norm.cdf(-0.5 * self._mu)
        return np.asarray(at), np.asarray((1.0 - self._rate) * (1.0 - at) + self._rate * at)

    def _pieces(self, alpha: Doubles) -> tuple[Any, Any]:
        at, below = (aligned(c, alpha) for c in self._corner())
        return alpha <= at, alpha < below

    def _beta(self, alpha: Doubles) -> Any:
        first, second = self._pieces(alpha)
        chord = aligned(np.add(*self._corner()), alpha) - alpha
        curve = SubsampledTradeOff(self._mu, self._rate)
        return np.select(
            [first, second], [curve._beta(alpha), chord], curve.inverse()._beta(alpha)
        )[()]

    def _power(self, alpha: Doubles) -> Any:
        first, second = self._pieces(alpha)
        chord = 1.0 - aligned(np.add(*self._corner()), alpha) + alpha
        curve = SubsampledTradeOff(self._mu, self._rate)
        return np.select(
            [first, second], [curve._power(alpha), chord], curve.inverse()._power(alpha)
        )[()]

    def _log_power(self, log_alpha: Doubles) -> Any:
        first, _ = self._pieces(np.exp(log_alpha))
        with np.errstate(divide="ignore"):
            rest = np.log(self._power(np.exp(log_alpha)))
        return np.where(
            first, SubsampledTradeOff(self._mu, self._rate)._log_power(log_alpha), rest
        )[()]

    def _auc(self) -> Any:
        """One minus the area: twice that of f left of the corner, less a square, and the chord's.

        G is symmetric about its corner, so that its area left of it is half of all and half the
        square on it.
        """
        at, below = self._corner()
        gaussian = 0.5 * (1.0 - _core.gaussian_auc(self._mu)) + 0.5 * at * at
        left = (1.0 - self._rate) * (at - 0.5 * at * at) + self._rate * gaussian
        return 1.0 - (2.0 * left - at * below + 0.5 * (below + at) * (below - at))

    def _delta(self, epsilon: Doubles) -> Any:
        mu, rate = self._parts(epsilon)
        return np.maximum(rate_delta(epsilon, mu, rate), rate_delta_reverse(epsilon, mu, rate))

    def _epsilon(self, delta: Doubles) -> Any:
        curve = SubsampledTradeOff(self._mu, self._rate)
        return np.maximum(curve._epsilon(delta), curve.inverse()._epsilon(delta))

    def _alpha_per_power(self) -> Doubles:
        return np.where(self._mu > 0.0, 0.0, 1.0)


def rate_delta(epsilon: Doubles, mu: Doubles, rate: Doubles) -> Any:
    """Return rho delta_G(log(1 + (e^epsilon - 1) / rho)); 1 - e^epsilon where that log has none."""
    with np.errstate(all="ignore"):
        ratio = np.expm1(np.minimum(epsilon, 1.0)) / rate
        small = np.log1p(ratio)
        large = epsilon - np.log(rate) + np.log1p(-(1.0 - rate) * np.exp(-np.abs(epsilon)))
        inner = np.where(epsilon < 1.0, small, large)
        none = (epsilon < 1.0) & ~(ratio > -1.0)
        inner = np.where(none, 0.0, inner)
        return np.where(none, -np.expm1(epsilon), rate * _core.gaussian_delta(inner, mu))[()]


def rate_delta_reverse(epsilon: Doubles, mu: Doubles, rate: Doubles) -> Any:
    """Return c delta_G(epsilon + log(rho / c)) with c = 1 - e^epsilon (1 - rho); 0 for c <= 0."""
    with np.errstate(all="ignore"):
        c = rate - np.expm1(epsilon) * (1.0 - rate)
        c = np.where(rate == 1.0, 1.0, c)
        positive = c > 0.0
        inner = np.where(positive, epsilon + np.log(rate / np.where(positive, c, 1.0)), 0.0)
        return np.where(positive, c * _core.gaussian_delta(inner, mu), 0.0)[()]


def _log_and_rest(x: Doubles) -> tuple[Doubles, Doubles]:
    with np.errstate(divide="ignore"):
        return np.log(x), np.log1p(-x)
