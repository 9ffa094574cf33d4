"""The exact trade-off curve of the mean of a random sample of the records."""

from __future__ import annotations

from typing import Any, cast, overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.distributions import norm
from leakscore.numeric import falling_root
from leakscore.tradeoff.curve import TradeOff, aligned
from leakscore.tradeoff.families.gaussian import GaussianTradeOff, gaussian
from leakscore.tradeoff.premise import FIXED_SAMPLE, Premise
from leakscore.tradeoff.shapes.mirrored import Mirrored
from leakscore.typing import Doubles, Scalar, Value

_SAMPLED_MEAN = Premise("replace", (FIXED_SAMPLE,))


@overload
def subsampled_mean(leakage: Scalar, sample_rate: Scalar) -> SubsampledTradeOff[float]: ...
@overload
def subsampled_mean(
    leakage: npt.ArrayLike, sample_rate: npt.ArrayLike
) -> SubsampledTradeOff[Doubles]: ...
def subsampled_mean(leakage: npt.ArrayLike, sample_rate: npt.ArrayLike) -> SubsampledTradeOff[Any]:
    """Return the trade-off curve of the mean of k = rate n records, drawn without replacement.

    With probability 1 - rate a member is not in the sample, and the release reveals nothing. If it
    is, the mean of k records has the leakage score M/k = leakage/rate. In place of a non-member
    there is another record of the population: `neighbours` is "replace". For Poisson samples, and a
    record that is present or absent, sub-sample a curve: `TradeOff.subsample`.

    Parameters
    ----------
    leakage : array_like
        Leakage score m = M/n of the target in the mean of all n records, in [0, inf).
    sample_rate : array_like
        k/n, in (0, 1]; broadcast with `leakage`.

    Returns
    -------
    SubsampledTradeOff
        Of the broadcast shape: N(0, 1) against (1 - rate) N(0, 1) + rate N(mu, 1) with
        mu = sqrt(leakage/rate). Not symmetric: `inverse` and both directions of `delta` and
        `epsilon` are exact as well.

    Raises
    ------
    ValueError
        If `leakage` is negative or not finite, `sample_rate` is outside (0, 1], or they do not
        broadcast.

    Notes
    -----
    With G the Gaussian curve of leakage/rate:

    - power(alpha) = (1 - rate) alpha + rate G.power(alpha); advantage = rate G.advantage;
    - delta, forward: rate G.delta(log(1 + (e^epsilon - 1)/rate)), and 1 - e^epsilon where that
      logarithm does not exist;
    - delta, reverse: c G.delta(epsilon + log(rate/c)) with c = 1 - (1 - rate) e^epsilon, and 0
      where c <= 0.

    Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024), theorem 4.3, and
    theorem 4.2 of its later version claim the Gaussian curve of rate * leakage instead
    (``gaussian(leakage=rate * m)``). They mix each coordinate by itself, but a record is in the
    sample for all coordinates at once. Their advantage at m = 8.88 and a rate of 0.1 is .36, but no
    advantage can exceed the rate; at alpha = 0.01 their power is .083 instead of .109, so their
    curve is no bound either. Simulation agrees with the curve of this function.

    Examples
    --------
    >>> f = subsampled_mean(8.883, 0.1)
    >>> print(round(float(f.advantage()), 4), round(float(f.power(0.01)), 3))
    0.1 0.109
    >>> [round(float(f.delta(1.0, direction)), 4) for direction in ("forward", "reverse")]
    [0.1, 0.0]
    """
    score = validation.interval("leakage", leakage, 0.0, closed="left")
    rate = validation.interval("sample_rate", sample_rate, 0.0, 1.0, closed="right")
    score, rate = validation.broadcast(leakage=score, sample_rate=rate)
    with np.errstate(over="ignore"):
        mu = np.sqrt(score) / np.sqrt(rate)
    return SubsampledTradeOff(mu, np.array(rate))


class SampledCurve(TradeOff[Value]):
    """What the curve of a record sampled with a probability has in common with its inverse."""

    __slots__ = ("_curve", "_rate")

    def __init__(self, curve: TradeOff[Value], rate: Doubles, premise: Premise) -> None:
        super().__init__(curve.shape, curve.kind, curve.adversary, *premise)
        self._curve, self._rate = curve, rate

    def _advantage(self) -> Any:
        return self._rate * self._curve._advantage()

    def _auc(self) -> Any:
        return 0.5 * (1.0 - self._rate) + self._rate * self._curve._auc()


class Mixture(SampledCurve[Value]):
    """H1, a mixture of the law with the record and the law without it, against H0."""

    __slots__ = ()

    def _beta(self, alpha: Doubles) -> Any:
        rate = aligned(self._rate, alpha)
        return ((1.0 - rate) * (1.0 - alpha) + rate * self._curve._beta(alpha))[()]

    def _power(self, alpha: Doubles) -> Any:
        rate = aligned(self._rate, alpha)
        return ((1.0 - rate) * alpha + rate * self._curve._power(alpha))[()]

    def _log_power(self, log_alpha: Doubles) -> Any:
        rate, caught = aligned(self._rate, log_alpha), self._curve._log_power(log_alpha)
        with np.errstate(divide="ignore"):
            sum_of_logs = np.logaddexp(np.log1p(-rate) + log_alpha, np.log(rate) + caught)
        missed = (1.0 - rate) * np.expm1(log_alpha) + rate * np.expm1(caught)  # minus beta
        return np.where(missed > -0.5, np.log1p(np.maximum(missed, -0.5)), sum_of_logs)[()]

    def _epsilon(self, delta: Doubles) -> Any:
        rate = aligned(self._rate, delta)
        inner = self._epsilon_of_each(np.minimum(delta / rate, 1.0))
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            near = np.log1p(rate * np.expm1(np.minimum(inner, 700.0)))
            far = inner + np.log(rate + (1.0 - rate) * np.exp(-inner))
        return np.where(inner > 700.0, far, near)[()]

    def _epsilon_of_each(self, delta: Doubles) -> Any:
        """Give epsilon with the record in the sample, of every curve at a delta of its own."""
        return self._curve._epsilon(delta)


class _OfGaussian(SampledCurve[Value]):
    """The record is seen through the Gaussian curve of mu."""

    __slots__ = ()

    def __init__(self, mu: Doubles, rate: Doubles, premise: Premise = _SAMPLED_MEAN) -> None:
        super().__init__(cast("TradeOff[Value]", gaussian(mu)), rate, premise)

    @property
    def _mu(self) -> Doubles:
        return np.asarray(cast("GaussianTradeOff[Value]", self._curve).mu)

    @property
    def leakage(self) -> Value:
        """Leakage score m that the mean of all n records would have."""
        return cast("Value", (self._rate * self._mu**2)[()])

    @property
    def sample_rate(self) -> Value:
        """Share of the n records that is averaged."""
        return cast("Value", self._rate[()])

    def __repr__(self) -> str:
        rate = np.array2string(self._rate, separator=", ", threshold=10)
        if self.neighbours == "add-remove":
            return f"{self._curve!r}.subsample({rate})"
        leakage = np.array2string(self._rate * self._mu**2, separator=", ", threshold=10)
        return f"subsampled_mean(leakage={leakage}, sample_rate={rate})"

    def _symmetrized(self) -> TradeOff[Value]:
        """Return the lower convex hull of the curve and its inverse."""
        mu, rate = self._mu, self._rate
        start = np.asarray(norm.sf(0.5 * mu))
        end = (1.0 - rate) * (1.0 - start) + rate * start
        below = 0.5 * (norm.cdf(-mu / np.sqrt(2.0)) + start**2)  # of the Gaussian, to start
        area = (1.0 - rate) * (start - 0.5 * start**2) + rate * below
        steep = SubsampledTradeOff(mu, rate, self._premise)
        return _Symmetrized(steep, start, end, area)

    def _with(self, argument: Doubles) -> tuple[Doubles, Doubles, Doubles]:
        """Return mu, rate and the argument, all of the shape of the result."""
        mu, rate, point = np.broadcast_arrays(
            aligned(self._mu, argument), aligned(self._rate, argument), argument
        )
        return mu, rate, point


class SubsampledTradeOff(_OfGaussian[Value], Mixture[Value]):
    """H1, a mixture, against H0; made by `subsampled_mean`, and by `gaussian` (mu).subsample.

    Attributes
    ----------
    leakage : float or ndarray
        Leakage score that the mean of all records would have.
    sample_rate : float or ndarray
        Share of the records that is averaged.

    Examples
    --------
    >>> subsampled_mean(2.0, 0.5)
    subsampled_mean(leakage=2., sample_rate=0.5)
    """

    __slots__ = ()

    def _inverse(self) -> TradeOff[Value]:
        """Return the curve with the hypotheses swapped: another one."""
        return InverseSubsampledTradeOff(self._mu, self._rate, self._premise)

    def _delta(self, epsilon: Doubles) -> Any:
        mu, rate, epsilon = self._with(epsilon)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            left = (rate - 1.0) + np.exp(epsilon)  # rate times e^shifted
            shifted = _shifted(epsilon, rate, np.log(left / rate))
            mixed = rate * _core.gaussian_delta(np.where(left > 0.0, shifted, 0.0), mu)
            return np.where(left > 0.0, mixed, -np.expm1(epsilon))[()]

    def _epsilon_of_each(self, delta: Doubles) -> Any:
        axes = delta.ndim - self._mu.ndim
        return _core.gaussian_epsilon(delta, self._mu.reshape(self.shape + (1,) * axes))

    def _alpha_per_power(self) -> Doubles:
        return np.where(self._mu > 0.0, 0.0, 1.0)


class InverseSubsampledTradeOff(_OfGaussian[Value]):
    """H0 against the mixture: alpha is the share of the mixture, power that of H0."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{super().__repr__()}.inverse()"

    def _inverse(self) -> TradeOff[Value]:
        return SubsampledTradeOff(self._mu, self._rate, self._premise)

    def _beta(self, alpha: Doubles) -> Any:
        with np.errstate(divide="ignore"):
            threshold, certain = self._threshold(np.log(alpha), np.log1p(-alpha))
        return np.where(np.isnan(certain), norm.sf(threshold), 1.0 - certain)[()]

    def _power(self, alpha: Doubles) -> Any:
        with np.errstate(divide="ignore"):
            threshold, certain = self._threshold(np.log(alpha), np.log1p(-alpha))
        return np.where(np.isnan(certain), norm.cdf(threshold), certain)[()]

    def _log_power(self, log_alpha: Doubles) -> Any:
        with np.errstate(divide="ignore"):
            threshold, certain = self._threshold(log_alpha, np.log(-np.expm1(log_alpha)))
            log_certain = np.log(certain)
        return np.where(np.isnan(certain), norm.logcdf(threshold), log_certain)[()]

    def _threshold(self, log_alpha: Doubles, log_rest: Doubles) -> tuple[Doubles, Doubles]:
        """Return t with (1 - rate) Phi(t) + rate Phi(t - mu) = alpha, or the power if it is given.

        Solved in the logarithm of the smaller of both tails; log_rest = log(1 - alpha).
        """
        mu, rate, log_alpha = self._with(log_alpha)
        log_rest = np.broadcast_to(log_rest, log_alpha.shape)
        lower = log_alpha < log_rest
        with np.errstate(divide="ignore", invalid="ignore"):
            share, others = np.log(rate), np.log1p(-rate)
            base = np.where(lower, norm.ilogcdf(log_alpha), norm.ilogsf(log_rest))
        certain = np.where(np.isneginf(log_alpha), 0.0, np.nan)
        certain = np.where(np.isneginf(log_rest), 1.0, certain)
        open_ = np.isnan(certain)
        low, shift = np.where(open_, base, 0.0), np.where(open_, mu, 0.0)
        sign = np.where(lower, 1.0, -1.0)
        aim = np.where(lower, log_alpha, log_rest)

        def gap(t: Doubles) -> tuple[Doubles, Doubles]:
            tail = np.logaddexp(
                others + norm.logcdf(sign * t), share + norm.logcdf(sign * (t - shift))
            )
            density = np.logaddexp(others + norm.logpdf(t), share + norm.logpdf(t - shift))
            return sign * (aim - tail), -np.exp(density - tail)

        return falling_root(gap, low, low + shift), certain

    def _delta(self, epsilon: Doubles) -> Any:
        mu, rate, epsilon = self._with(epsilon)
        return _reverse_delta(epsilon, mu, rate)[()]

    def _epsilon(self, delta: Doubles) -> Any:
        mu, rate, delta = self._with(delta)
        above = _core.gaussian_epsilon(delta, mu)  # of a certain member: at least the root
        most = rate * _core.gaussian_advantage(mu)
        usual = (delta > 0.0) & (delta < most)

        def gap(y: Doubles) -> tuple[Doubles, Doubles]:
            # log of rate G.delta(y) / (rate + (1 - rate) e^y) over delta, which is concave in y
            profile = _core.gaussian_delta(y, mu)
            weight = np.logaddexp(np.log(rate), np.log1p(-rate) + y)
            beyond = _tail(mu, y)
            slope = -np.exp(y) * beyond / profile - np.exp(np.log1p(-rate) + y - weight)
            return np.log(rate * profile / delta) - weight, slope

        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            start = np.where(usual, above, 0.0)
            y = falling_root(gap, np.zeros_like(start), start)
            y = np.where(usual, y, np.where(delta < most, np.inf, 0.0))  # delta = 0: c = 0
            epsilon = np.where(rate == 1.0, above, -np.log1p(rate * np.expm1(-y)))
            # Near c = 0 the next double has another delta: end on the side of the smaller delta.
            for _ in range(4):
                short = usual & (_reverse_delta(epsilon, mu, rate) > delta)
                epsilon = np.where(short, np.nextafter(epsilon, np.inf), epsilon)
        return np.where(delta >= most, 0.0, epsilon)[()]

    def _alpha_per_power(self) -> Doubles:
        return np.where(self._mu > 0.0, 1.0 - self._rate, 1.0)


class _Symmetrized(Mirrored):
    """The curve down to slope -1, a chord of that slope, and the inverse curve."""

    __slots__ = ()
    _all_together = True  # the last bit of a root depends on the roots that are searched beside it

    @staticmethod
    def _log_chord(missed: Doubles, caught: Doubles) -> Any:  # noqa: ARG004
        return np.log(np.maximum(caught, 1e-308))

    def _auc(self) -> Any:
        start, end = self._start, self._end
        return 1.0 - (2.0 * self._area - start * end + 0.5 * (end**2 - start**2))


def _reverse_delta(epsilon: Doubles, mu: Doubles, rate: Doubles) -> Doubles:
    """Return c G.delta(epsilon + log(rate/c)), c = 1 - (1 - rate) e^epsilon; 0 where c <= 0."""
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        rest = np.where(rate == 1.0, 1.0, -np.expm1(epsilon + np.log1p(-rate)))
        shifted = _shifted(epsilon, rest, epsilon + np.log(rate / rest))
        mixed = rest * _core.gaussian_delta(np.where(rest > 0.0, shifted, 0.0), mu)
    return np.where(rest > 0.0, mixed, 0.0)


def _shifted(epsilon: Doubles, share: Doubles, direct: Doubles) -> Doubles:
    """Return log(1 + (e^epsilon - 1)/share), from its logarithm where epsilon is very negative."""
    near = np.log1p(np.expm1(np.minimum(epsilon, 1.0)) / share)
    far = (epsilon - np.log(share)) + np.log1p((share - 1.0) * np.exp(-np.maximum(epsilon, 0.0)))
    return np.where(epsilon < -1.0, direct, np.where(epsilon > 1.0, far, near))


def _tail(mu: Doubles, epsilon: Doubles) -> Doubles:
    """Return Phi(-epsilon/mu - mu/2), the alpha at which the Gaussian slope is -e^epsilon."""
    return np.asarray(norm.sf(epsilon / mu + 0.5 * mu))
