"""The exact trade-off curve of the mean of n Gaussian records, for every n."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, _validate_counts, validation
from leakscore.distributions import gx2, ncx2, norm
from leakscore.numeric import doubled, falling_root
from leakscore.tradeoff.curve import TradeOff, aligned, require_one
from leakscore.tradeoff.families.gaussian import GaussianTradeOff, gaussian
from leakscore.tradeoff.premise import Premise
from leakscore.tradeoff.shapes.hull import Hull
from leakscore.tradeoff.shapes.joined import LARGEST, joined
from leakscore.typing import Doubles, Scalar


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
    return joined(  # type: ignore[no-any-return]
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
