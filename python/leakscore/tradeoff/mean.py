"""The exact trade-off curves of a mean: of n Gaussian records, and of a random sample of them."""

from __future__ import annotations

from typing import Any, cast, overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, _validate_counts, validation
from leakscore.distributions import gx2, ncx2, norm
from leakscore.numeric import doubled, falling_root
from leakscore.tradeoff.curve import TradeOff, aligned, require_one
from leakscore.tradeoff.gaussian import GaussianTradeOff, gaussian
from leakscore.tradeoff.premise import FIXED_SAMPLE, Premise
from leakscore.tradeoff.shapes import LARGEST, Hull, Mirrored, either
from leakscore.typing import Doubles, Scalar, Value


@overload
def gaussian_mean(
    squared_mahalanobis: Scalar, n: Scalar, dim: Scalar, *, noise_ratio: Scalar = ...
) -> TradeOff[float]: ...
@overload
def gaussian_mean(
    squared_mahalanobis: npt.ArrayLike,
    n: npt.ArrayLike,
    dim: npt.ArrayLike,
    *,
    noise_ratio: npt.ArrayLike = ...,
) -> TradeOff[Doubles]: ...
def gaussian_mean(
    squared_mahalanobis: npt.ArrayLike,
    n: npt.ArrayLike,
    dim: npt.ArrayLike,
    *,
    noise_ratio: npt.ArrayLike = 0.0,
) -> TradeOff[Any]:
    """Return the trade-off curve of the mean of n Gaussian records, one replaced by the target.

    Exact for every n, dimension and covariance; `gaussian` (leakage=M/n) is its limit as n grows,
    and slightly understates the leakage.

    Parameters
    ----------
    squared_mahalanobis : array_like
        M = (z - mean)' C^-1 (z - mean) of the target, at least 0 and finite.
    n : array_like of int
        Number of records averaged, at least 2.
    dim : array_like of int
        Number of coordinates d, at least 1.
    noise_ratio : array_like
        kappa >= 0: Gaussian noise on the mean with the covariance kappa C / n, in proportion to the
        records' own. The same formulas with n (1 + kappa) for n.

    Returns
    -------
    TradeOff
        Of the shape that the arguments broadcast to; `neighbours` is "replace". Not symmetric.

    Raises
    ------
    ValueError
        If an argument is out of range, or they do not broadcast.

    Notes
    -----
    The log-likelihood ratio falls with S = n (x - z)' C^-1 (x - z), whose law is the noncentral
    chi-square with d degrees of freedom and noncentrality n M without the target, and (n - 1)/n
    times that of noncentrality (n - 1) M with it. So power(alpha) =
    F(n/(n-1) Q(alpha; n M); (n-1) M) with its cdf F and quantile Q, and the best threshold is
    S = (n - 1)(M - d log(1 - 1/n)). The ratio never exceeds exp((M - d log(1 - 1/n))/2), so epsilon
    at delta = 0 is finite forward, and infinite in reverse. With M = 5, n = 20 and d = 100 the
    advantage is .7485, of which the limit, eq. 8 of Azize & Basu, "How Much Does Each Datapoint
    Leak Your Privacy?" (2024), has .7364. The laws are those of T. Michel, D. Basu and E. Kaufmann,
    sequential membership inference, appendix B, with the type II error.

    Arguments of the laws carry a relative rounding of 1e-16, which moves results by about
    1e-16 sqrt(n M) where that exceeds 1e-13: for n M beyond 1e14 use the limit. For n M beyond
    1.6e60 sqrt(S) is normal to all digits under both laws, and the curve is that of these normals.

    Examples
    --------
    >>> f = gaussian_mean(100.0, 20, 100)
    >>> print(round(float(f.advantage()), 4), round(float(f.power(0.01)), 4))
    0.7485 0.4747
    """
    distance = validation.interval("squared_mahalanobis", squared_mahalanobis, 0.0, closed="left")
    records = _validate_counts.whole("n", n, 2, why=validation.ONE)
    dims = _validate_counts.whole("dim", dim, 1)
    ratio = validation.interval("noise_ratio", noise_ratio, 0.0, closed="left")
    distance, records, dims, ratio = validation.broadcast(
        squared_mahalanobis=distance, n=records, dim=dims, noise_ratio=ratio
    )
    with np.errstate(over="ignore"):
        records = np.minimum(records * (1.0 + ratio), np.finfo(np.float64).max)
        far = np.asarray(records * distance > LARGEST)
    return either(  # type: ignore[no-any-return]
        far,
        lambda where: _Mean(np.array(where(distance, 0.0)), records, np.array(dims)),
        lambda where: _FarMean(
            np.array(where(distance, LARGEST)), np.asarray(where(records, 2.0)), np.array(dims)
        ),
    )


_REPLACED = Premise("replace")


class _Mean(TradeOff[Any]):
    """H1 against H0, which accuses small S, or H0 against H1, which accuses large S.

    S has the law ncx2(n M) under H0; n/(n-1) S has the law ncx2((n-1) M) under H1.
    """

    __slots__ = ("_dims", "_distance", "_records", "_reversed")

    def __init__(
        self,
        distance: Doubles,
        records: Doubles,
        dims: Doubles,
        swapped: bool = False,
        premise: Premise = _REPLACED,
    ) -> None:
        super().__init__(distance.shape, "guarantee", "informed", *premise)
        self._distance, self._records, self._dims = distance, records, dims
        self._reversed = swapped

    def __repr__(self) -> str:
        given = (self._distance, self._records, self._dims)
        texts = [np.array2string(a, separator=", ", threshold=10) for a in given]
        name = "gaussian_mean({}, n={}, dim={})".format(*texts)
        return f"{name}.inverse()" if self._reversed else name

    def _inverse(self) -> _Mean:
        turned = self._distance, self._records, self._dims, not self._reversed
        return type(self)(*turned, self._premise)

    def _symmetrized(self) -> TradeOff[Any]:
        require_one(self, "take the hull of each")
        return Hull(self, self.inverse(), float(self._largest()))

    def _law(self, which: str, accused: bool, point: Doubles, like: Doubles) -> Any:
        """Evaluate a function of the law of S of one hypothesis, scaled as above.

        `which` is named for small S; the reversed curve takes the other tail.
        """
        if self._reversed:
            which = _OTHER_TAIL[which]
        count = aligned(self._records - (accused != self._reversed), like)
        distance, dims = aligned(self._distance, like), aligned(self._dims, like)
        return getattr(ncx2, which)(point, dims, count * distance)

    def _moved(self, quantile: Doubles, like: Doubles) -> Doubles:
        """Convert a value of the first hypothesis's variable to the scale of the second's."""
        grown = aligned(self._records / (self._records - 1.0), like)
        return quantile / grown if self._reversed else quantile * grown

    def _largest(self) -> Doubles:
        """Return the largest log-likelihood ratio of H1 to H0, at S = 0."""
        return np.asarray(0.5 * (self._distance - self._dims * np.log1p(-1.0 / self._records)))

    def _cuts(self, epsilon: Doubles, like: Doubles) -> tuple[Doubles, Doubles]:
        """Return S, on both scales, where the log-likelihood ratio of the accused is epsilon."""
        ratio = -epsilon if self._reversed else epsilon
        most, count = aligned(self._largest(), like), aligned(self._records, like)
        with np.errstate(over="ignore"):
            cut = np.maximum(2.0 * (count - 1.0) * (most - ratio), 0.0)
            other = np.maximum(2.0 * count * (most - ratio), 0.0)
        return (other, cut) if self._reversed else (cut, other)

    def _touch(self, epsilon: float) -> tuple[float, float]:
        """Return alpha and beta where the slope is -exp(epsilon)."""
        like = np.asarray(epsilon)
        cut, moved = self._cuts(like, like)
        alpha, beta = self._law("cdf", False, cut, like), self._law("sf", True, moved, like)
        return float(alpha), float(beta)

    def _beta(self, alpha: Doubles) -> Any:
        quantile = self._law("ppf", False, alpha, alpha)
        return self._law("sf", True, self._moved(quantile, alpha), alpha)

    def _power(self, alpha: Doubles) -> Any:
        quantile = self._law("ppf", False, alpha, alpha)
        return self._law("cdf", True, self._moved(quantile, alpha), alpha)

    def _log_power(self, log_alpha: Doubles) -> Any:
        quantile = self._law("ilogcdf", False, log_alpha, log_alpha)
        log_power = self._law("logcdf", True, self._moved(quantile, log_alpha), log_alpha)
        if self._reversed:
            return log_power
        # Where S is close to 0, or underflows, the ratio has its largest value.
        largest = np.minimum(log_alpha + aligned(self._largest(), log_alpha), 0.0)
        return np.where((quantile < 1e-280) & (log_alpha > -np.inf), largest, log_power)[()]

    def _advantage(self) -> Any:
        return self._delta(np.zeros(()))

    def _auc(self) -> Any:
        """Return the probability that S is smaller under H1: gx2 of both laws' difference."""
        result = np.empty(self.shape)
        for i in np.ndindex(self.shape):
            m, n, d = self._distance[i], self._records[i], self._dims[i]
            result[i] = gx2.cdf(0.0, [(n - 1.0) / n, -1.0], [d, d], [(n - 1.0) * m, n * m])
        return result[()]

    def _delta(self, epsilon: Doubles) -> Any:
        return self._profile(epsilon, epsilon)[0][()]

    def _profile(self, epsilon: Doubles, like: Doubles) -> tuple[Doubles, Doubles]:
        """Return delta, and minus its derivative: power - e^epsilon alpha, and its second term."""
        cut, moved = self._cuts(epsilon, like)
        log_power = self._law("logcdf", True, moved, like)
        log_alpha = self._law("logcdf", False, cut, like)
        missed, spared = self._law("sf", True, moved, like), self._law("sf", False, cut, like)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            weighted = np.exp(epsilon + log_alpha)
            rare = -np.exp(log_power) * np.expm1(epsilon + log_alpha - log_power)
            usual = -np.expm1(epsilon) + np.exp(epsilon) * spared - missed
            sure = (1.0 - missed) - weighted
        common = np.where(spared < 0.5, usual, sure)
        delta = np.where(missed > 0.5, np.where(np.isneginf(log_power), 0.0, rare), common)
        return np.clip(delta, 0.0, 1.0), np.where(np.isneginf(log_alpha), 0.0, weighted)

    def _epsilon(self, delta: Doubles) -> Any:
        most = aligned(np.asarray(self._advantage()), delta)
        bound = np.inf if self._reversed else aligned(self._largest(), delta)
        most, bound, aim = np.broadcast_arrays(most, bound, delta)
        usual = (aim > 0.0) & (aim < most)
        high = np.where(usual, np.where(np.isinf(bound), 1.0, bound), 0.0)
        if self._reversed:
            high = doubled(high, lambda high: usual & (self._profile(high, delta)[0] > aim))

        def gap(epsilon: Doubles) -> tuple[Doubles, Doubles]:
            profile, weighted = self._profile(epsilon, delta)
            return np.log(profile / np.where(usual, aim, 1.0)), -weighted / profile

        root = falling_root(gap, np.zeros_like(high), high)
        return np.where(usual, root, np.where((aim <= 0.0) & (most > 0.0), bound, 0.0))[()]

    def _alpha_per_power(self) -> Doubles:
        return np.zeros(self.shape) if self._reversed else np.exp(-self._largest())


class _FarMean(_Mean):
    """The same where n M is so large that the roots of both laws are normal to all digits.

    sqrt(S) is N(sqrt(n M), 1) under H0, and sqrt((n-1)/n) times N(sqrt((n-1) M), 1) under H1; d
    adds less than 1e-14 to them, as n M is above 1e60 and d at most 2^53. Their means differ by
    sqrt(M/n): so much that a test distinguishes both laws without error, or n is so large that
    their variances are the same.
    """

    __slots__ = ()

    def _symmetrized(self) -> GaussianTradeOff[Any]:
        return gaussian(self._shift())._about(self._premise)

    def _shift(self) -> Doubles:
        """Return the root of twice the mean log-likelihood ratio under the accused hypothesis."""
        others = self._records - 1.0 if self._reversed else self._records
        return np.asarray(np.sqrt(self._distance / others))

    def _moved_root(self, z: Doubles, like: Doubles) -> Any:
        """Give the second hypothesis's normal quantile at the first's, z, of small S."""
        shift = aligned(np.sqrt(self._distance / self._records), like)
        shrunk = aligned(np.sqrt((self._records - 1.0) / self._records), like)
        return shift + z * shrunk if self._reversed else (z + shift) / shrunk

    def _beta(self, alpha: Doubles) -> Any:
        return norm.sf(self._moved_root(norm.ppf(alpha), alpha))

    def _power(self, alpha: Doubles) -> Any:
        return norm.cdf(self._moved_root(norm.ppf(alpha), alpha))

    def _log_power(self, log_alpha: Doubles) -> Any:
        z = norm.ilogcdf(log_alpha)
        log_power = norm.logcdf(self._moved_root(z, log_alpha))
        if self._reversed:
            return log_power
        root = aligned(np.sqrt(self._distance) * np.sqrt(self._records), log_alpha)
        largest = np.minimum(log_alpha + aligned(self._largest(), log_alpha), 0.0)
        return np.where(-z < root, log_power, largest)[()]

    def _advantage(self) -> Any:
        return _core.gaussian_advantage(self._shift())

    def _auc(self) -> Any:
        return _core.gaussian_auc(self._shift())

    def _delta(self, epsilon: Doubles) -> Any:
        usual = _core.gaussian_delta(epsilon, aligned(self._shift(), epsilon))
        beyond = not self._reversed and epsilon >= aligned(self._largest(), epsilon)
        return np.where(beyond, 0.0, usual)[()]

    def _epsilon(self, delta: Doubles) -> Any:
        usual = _core.gaussian_epsilon(delta, aligned(self._shift(), delta))
        bound = np.inf if self._reversed else aligned(self._largest(), delta)
        return np.minimum(usual, bound)

    def _touch(self, epsilon: float) -> tuple[float, float]:
        touched = gaussian(self._shift())._touch(epsilon)
        return (0.0, 0.0) if touched is None else touched


_OTHER_TAIL = {
    "cdf": "sf",
    "sf": "cdf",
    "ppf": "isf",
    "logcdf": "logsf",
    "ilogcdf": "ilogsf",
}


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
