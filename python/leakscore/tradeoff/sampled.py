"""The record in a random sample: the mean of the sample, and sub-sampling of any curve."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.distributions import norm
from leakscore.numeric import falling_root, sign_change
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.family import aligned
from leakscore.tradeoff.gaussian_curves import GaussianTradeOff, MeanTradeOff, gaussian
from leakscore.tradeoff.polygon import Polygon, lower_hull
from leakscore.tradeoff.premise import FIXED_SAMPLE, POISSON, Premise, joined
from leakscore.tradeoff.shapes import Hull, Mirrored, each_end
from leakscore.typing import Doubles, Value, of_numbers

_POISSON = Premise("add-remove", (POISSON,))
_SAMPLED_MEAN = Premise("replace", (FIXED_SAMPLE,))
_RARE = -700.0  # log rates, below which doubles have fewer digits, or none
_MOST_DOUBLES = 4  # that an epsilon is moved by
_LEAST = -1e300  # log rates, below which no search looks


class SampledCurve(TradeOff[Value]):
    """What the curve of a record sampled with a probability has in common with its inverse."""

    __slots__ = ("_curve", "_rate")

    def __init__(self, curve: TradeOff[Value], rate: Doubles, premise: Premise) -> None:
        super().__init__(curve.shape, curve.kind, curve.adversary, *premise)
        self._curve, self._rate = curve, np.asarray(rate)

    def __repr__(self) -> str:
        return f"{self._curve!r}.subsample({float(self._rate)!r})"

    @property
    def sample_rate(self) -> Value:
        """Probability of the record being in the sample."""
        return cast("Value", self._rate[()])

    def _auc(self) -> Any:
        return 0.5 * (1.0 - self._rate) + self._rate * self._curve._auc()

    def _each(
        self,
        quantity: str,
        argument: Doubles,
        *,
        swapped: bool = False,
        part: Any = None,  # noqa: ARG002
    ) -> Any:
        """Give a quantity with the record in the sample, of every curve at arguments of its own.

        `swapped` takes the inverse curves. `argument` may be but a `part` of all elements, which
        are alike here: there is one curve.
        """
        curve = self._curve.inverse() if swapped else self._curve
        return getattr(curve, f"_{quantity}")(argument)


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
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            inner = self._each("epsilon", np.minimum(delta / rate, 1.0))
            near = np.log1p(rate * np.expm1(np.minimum(inner, 700.0)))
            far = inner + np.log(rate + (1.0 - rate) * np.exp(-inner))
        return np.where(inner > 700.0, far, near)[()]

    def _delta(self, epsilon: Doubles) -> Any:
        """Return rate delta(e') with e^epsilon = 1 - rate + rate e^e', or 1 - e^epsilon."""
        rate = aligned(self._rate, epsilon)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            low, high = (rate - 1.0) + np.exp(epsilon), rate + np.expm1(epsilon)
            ratio = np.where(epsilon < -0.5, low, high)  # rate times e^e'
            inner = _shifted(epsilon, rate, np.log(ratio / rate))
            mixed = rate * self._each("delta", np.where(ratio > 0.0, inner, 0.0))
            return np.where(ratio > 0.0, mixed, -np.expm1(epsilon))[()]

    def _inverse(self) -> TradeOff[Value]:
        return InverseMixture(self._curve, self._rate, self._premise)

    def _symmetrized(self) -> TradeOff[Any]:
        """Join the curve and its inverse; the one with the smaller largest ratio comes first."""
        if self._advantage() == 0.0:  # 1 - alpha
            return self
        both = [self, self.inverse()]
        limits = [float(curve._epsilon(np.zeros(()))) for curve in both]
        first = int(limits[0] > limits[1])
        return Hull(both[first], both[1 - first], limits[first])

    def _touch(self, epsilon: float) -> tuple[float, float] | None:
        ratio = float(np.expm1(epsilon)) / self._rate + 1.0
        point = self._curve._touch(float(np.log(ratio)))
        if point is None:
            return None
        alpha, beta = point
        return alpha, float((1.0 - self._rate) * (1.0 - alpha) + self._rate * beta)


class InverseMixture(SampledCurve[Value]):
    """H0 against the mixture: alpha is the mixture's share, power that of H0."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{super().__repr__()}.inverse()"

    def _inverse(self) -> TradeOff[Value]:
        return Mixture(self._curve, self._rate, self._premise)

    def _symmetrized(self) -> TradeOff[Value]:
        return self.inverse().symmetrized()

    def _touch(self, epsilon: float) -> tuple[float, float] | None:
        point = self._inverse()._touch(-epsilon)
        return None if point is None else (point[1], point[0])

    def _rates(self, log_alpha: Doubles, log_rest: Doubles) -> tuple[Doubles, Doubles]:
        """Return logs of the power and of beta where the mixture's share is alpha.

        Below 1/2 the search is for the share of members in it, on the inverse of the curve; above,
        for the share of remaining non-members, on the curve; each in its logarithm.
        """
        rate, log_alpha, log_rest = np.broadcast_arrays(
            aligned(self._rate, log_alpha), log_alpha, log_rest
        )
        low = log_alpha < log_rest
        with np.errstate(divide="ignore"):
            inside, outside = np.log(rate), np.log1p(-rate)
        # alpha = (1 - rate) power + rate beta', or 1 - alpha = (1 - rate) rest + rate power'.
        few = partial(self._each, swapped=True, part=low)
        share, caught = _matched(few, log_alpha[low], inside[low], outside[low])
        many = partial(self._each, part=~low)
        missed, _ = _matched(many, log_rest[~low], outside[~low], inside[~low])
        log_power, log_beta = np.empty(log_alpha.shape), np.empty(log_alpha.shape)
        with np.errstate(divide="ignore"):
            spared = np.log(few("beta", np.exp(share)))  # exact where the power is nearly 1
            rare = (caught < -0.7) | (share < _RARE)
            log_power[low] = caught
            log_beta[low] = np.where(rare, np.log1p(-np.exp(caught)), spared)
            log_power[~low], log_beta[~low] = np.log1p(-np.exp(missed)), missed
        return log_power, log_beta

    def _delta(self, epsilon: Doubles) -> Any:
        return self._delta_at(epsilon, aligned(self._rate, epsilon))

    def _delta_at(self, epsilon: Doubles, rate: Doubles, part: Any = None) -> Any:
        """Return c delta(e') reversed; e^e' = rate e^epsilon/c, c = 1 - (1 - rate) e^epsilon."""
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            rest = -np.expm1(epsilon + np.log1p(-rate))
            inner = _shifted(epsilon, rest, epsilon + np.log(rate / rest))
            inner = np.where(rest > 0.0, inner, 0.0)
            mixed = rest * self._each("delta", inner, swapped=True, part=part)
            return np.where(rest > 0.0, mixed, 0.0)[()]

    def _epsilon(self, delta: Doubles) -> Any:
        most = aligned(np.asarray(self._advantage()), delta)
        rate, delta, most = np.broadcast_arrays(aligned(self._rate, delta), delta, most)
        mixed = rate < 1.0
        edge = self._each("epsilon", np.where(mixed, 0.0, delta), swapped=True)
        usual = (delta > 0.0) & (delta < most) & mixed
        aim = np.where(usual, delta, 0.5)
        with np.errstate(divide="ignore"):
            inside, outside = np.log(rate), np.log1p(-rate)

        def gap(inner: Doubles) -> Doubles:
            with np.errstate(over="ignore", divide="ignore"):
                profile = rate * self._each("delta", inner, swapped=True)
                weight = np.logaddexp(inside, outside + inner)
                return np.where(usual, np.log(profile / aim) - weight, 0.0)

        with np.errstate(divide="ignore"):
            sure = inside - outside + np.log1p(-aim) - np.log(aim)  # the root of perfect tests
        furthest = np.where(usual, np.maximum(sure, 0.0), 0.0)
        first = np.minimum(8.0 * (most / rate), 1.0)  # of the curve's scale, however small that is
        inner = np.where(usual, falling_root(gap, first, furthest), edge)
        epsilon, short = np.array(_outer(inner, rate)), np.array(usual)
        # Near c = 0 the next double has another delta: a few steps to the side of the smaller one.
        for _ in range(_MOST_DOUBLES):
            short[short] = self._delta_at(epsilon[short], rate[short], short) > delta[short]
            if not short.any():
                break
            epsilon[short] = np.nextafter(epsilon[short], np.inf)
        return np.where(delta >= most, 0.0, epsilon)[()]


class _OfGaussian(SampledCurve[Value]):
    """The record is seen through the Gaussian curve of mu; arrays of curves."""

    __slots__ = ()

    @property
    def _mu(self) -> Doubles:
        return np.asarray(cast("GaussianTradeOff[Value]", self._curve).mu)

    @property
    def leakage(self) -> Value:
        """Leakage score m that the mean of all n records would have."""
        return cast("Value", (self._rate * self._mu**2)[()])

    def __repr__(self) -> str:
        rate, leakage = (
            np.array2string(values, separator=", ", threshold=10)
            for values in (self._rate, self._rate * self._mu**2)
        )
        if self.neighbours == "add-remove":
            return f"{self._curve!r}.subsample({rate})"
        return f"subsampled_mean(leakage={leakage}, sample_rate={rate})"

    def _symmetrized(self) -> TradeOff[Any]:
        """Return the lower convex hull of the curve and its inverse."""
        mu, rate = self._mu, self._rate
        start = np.asarray(norm.sf(0.5 * mu))
        end = (1.0 - rate) * (1.0 - start) + rate * start
        below = 0.5 * (norm.cdf(-mu / np.sqrt(2.0)) + start**2)  # of the Gaussian, to start
        area = (1.0 - rate) * (start - 0.5 * start**2) + rate * below
        return Mirrored(SubsampledTradeOff(self._curve, rate, self._premise), start, end, area)

    def _each(
        self,
        quantity: str,
        argument: Doubles,
        *,
        swapped: bool = False,  # noqa: ARG002
        part: Any = None,
    ) -> Any:
        """Give a quantity of every curve, see `SampledCurve`; the curves are symmetric."""
        axes = argument.ndim if part is None else part.ndim
        mu = self._mu.reshape(self.shape + (1,) * (axes - len(self.shape)))
        if part is not None:
            mu = np.broadcast_to(mu, part.shape)[part]
        return getattr(_core, f"gaussian_{quantity}")(argument, mu)


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
        return InverseSubsampledTradeOff(self._curve, self._rate, self._premise)


class InverseSubsampledTradeOff(_OfGaussian[Value], InverseMixture[Value]):
    """H0 against the mixture."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{_OfGaussian.__repr__(self)}.inverse()"

    def _inverse(self) -> TradeOff[Value]:
        return SubsampledTradeOff(self._curve, self._rate, self._premise)


@of_numbers(SubsampledTradeOff[float], SubsampledTradeOff[Doubles])
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
    return SubsampledTradeOff(gaussian(mu), np.array(rate), _SAMPLED_MEAN)


def _shifted(epsilon: Doubles, share: Doubles, direct: Doubles) -> Doubles:
    """Return log(1 + (e^epsilon - 1)/share), from its logarithm where epsilon is very negative."""
    near = np.log1p(np.expm1(np.minimum(epsilon, 1.0)) / share)
    far = (epsilon - np.log(share)) + np.log1p((share - 1.0) * np.exp(-np.maximum(epsilon, 0.0)))
    return np.where(epsilon < -1.0, direct, np.where(epsilon > 1.0, far, near))


def _outer(inner: Doubles, rate: Doubles) -> Doubles:
    """Return the epsilon of H0 against the mixture from that without sampling, e'."""
    share = rate * np.expm1(-inner)
    with np.errstate(divide="ignore"):
        far = -np.logaddexp(np.log1p(-rate), np.log(rate) - inner)
    return np.asarray(np.where(share < -0.5, far, -np.log1p(np.maximum(share, -0.5))))


def subsampled(curve: TradeOff, rate: float) -> TradeOff:
    """Give the curve of a record included with probability `rate`; see `TradeOff.subsample`."""
    if rate == 1.0:
        return curve
    if isinstance(curve, Mixture):  # drawn twice: a sample of a sample
        return type(curve)(curve._curve, curve._rate * rate, curve._premise)
    premise = _sampled_premise(curve)
    if isinstance(curve, GaussianTradeOff) and curve.kind == "guarantee":
        return SubsampledTradeOff(curve, np.full(curve.shape, rate), premise)
    return each_end(curve, "subsample", rate, lambda end, _: _one_subsampled(end, rate, premise))


def _sampled_premise(curve: TradeOff) -> Premise:
    """Give what a sub-sampled curve is about, or refuse a curve for which the mixture is wrong.

    The mixture is right where H0 does not depend on the sample: the record is absent, or the
    records are drawn from the law that the curve of a mean assumes. A given other record would be
    sampled too.
    """
    if curve.neighbours == "replace":
        if isinstance(curve, MeanTradeOff):
            return joined([("the curve", curve._premise), ("the sample", _SAMPLED_MEAN)])
        raise ValueError(
            f"neighbours='add-remove' of {curve!r} must be sub-sampled, not 'replace': the "
            "other record is sampled too, so that both laws are mixtures; sub-sample the curve of "
            "a record that is there or not"
        )
    return joined([("the curve", curve._premise), ("the sample", _POISSON)])


def _one_subsampled(curve: TradeOff, rate: float, premise: Premise) -> TradeOff:
    if isinstance(curve, Polygon) and curve._complete:
        return _polygon(curve, rate, premise)
    return Mixture(curve, np.asarray(rate), premise)


def _matched(
    of: Callable[..., Any], aim: Doubles, log_share: Doubles, log_rest: Doubles
) -> tuple[Doubles, Doubles]:
    """Solve log(e^share x + e^rest power(x)) = aim; returns logs of x and of the power.

    `of` gives a quantity of every curve.
    """

    def log_power(log_x: Doubles) -> Doubles:
        return np.asarray(of("log_power", log_x))

    def excess(log_x: Doubles) -> Doubles:
        return np.asarray(np.logaddexp(log_share + log_x, log_rest + log_power(log_x)) - aim)

    at_once = log_rest + log_power(np.full(aim.shape, _LEAST))  # caught next to x = 0
    usual = np.isfinite(aim) & (aim > at_once)
    high = np.where(usual, aim, -1.0)  # power(x) >= x, so that x is at most the whole
    step = np.ones(aim.shape)
    low = high - step
    while (short := usual & (excess(low) > 0.0)).any():
        step = np.where(short, 2.0 * step, step)
        low = np.where(short, high - step, low)
    root = sign_change(lambda x: np.where(usual, excess(x), 0.0), low, high)
    root = np.where(usual, root, -np.inf)
    # Of a large shift the power has fewer digits than what x leaves of the whole.
    part = np.minimum(log_share + root - np.where(usual, aim, 0.0), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        remaining = aim + np.log1p(-np.exp(part)) - log_rest
    caught = np.where(usual & (part > -0.7), log_power(root), remaining)
    return root, np.where(np.isneginf(aim), aim, caught)


def _polygon(curve: Polygon, rate: float, premise: Premise) -> Polygon:
    """Mix every vertex with the line 1 - alpha; beyond the last vertex follows a line to (1, 0)."""
    log_alpha, log_beta = curve.vertices
    alpha, power = np.exp(log_alpha), -np.expm1(log_beta)
    caught = (1.0 - rate) * alpha + rate * power
    with np.errstate(divide="ignore"):
        rest = np.log(-np.expm1(log_alpha))  # of 1 - alpha, where alpha rounds to 1 too
        missed = np.logaddexp(np.log1p(-rate) + rest, np.log(rate) + np.asarray(log_beta))
    mixed = np.where(caught < 0.5, np.log1p(-np.minimum(caught, 0.5)), missed)
    name = f"{curve!r}.subsample({rate!r})"
    hull = lower_hull(np.append(log_alpha, 0.0), np.append(mixed, -np.inf))
    about: Any = {"name": name, "premise": premise, "side": curve._side}
    return Polygon(*hull, curve.kind, curve.adversary, **about)
