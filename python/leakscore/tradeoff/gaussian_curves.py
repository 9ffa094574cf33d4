"""Two normal laws: of one spread, Gaussian curves; of two spreads, a mean of records and a score.

Gaussian curves are also those of an attack on a mistaken target. Where the record changes the
spread, the likelihood ratio is a function of the distance from a point: of a mean of n Gaussian
records, and of a record's score among shadow models.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.distributions import gx2, ncx2, norm
from leakscore.numeric import frozen, gauss_panels
from leakscore.tradeoff.curve import Symmetric, TradeOff
from leakscore.tradeoff.family import aligned
from leakscore.tradeoff.premise import Premise
from leakscore.tradeoff.shapes import LARGEST, OneStatistic, Parametric, either
from leakscore.tradeoff.two_spreads import Narrower
from leakscore.typing import Doubles, Flags, Value, of_numbers


class GaussianTradeOff(Symmetric[Value], Parametric[Value]):
    """G_mu, the curve of N(0, 1) against N(mu, 1); made by `gaussian`.

    Attributes
    ----------
    mu : float or ndarray
        Distance of the two means in standard deviations.
    leakage : float or ndarray
        mu squared.

    Examples
    --------
    >>> gaussian([0.5, 1.0]).shape
    (2,)
    """

    __slots__ = ()
    _title = "gaussian(mu={})"

    @property
    def mu(self) -> Value:
        """Distance of the two means in standard deviations."""
        return cast("Value", self._parameters[0][()])

    @property
    def leakage(self) -> Value:
        """Mu squared, the leakage score m."""
        return cast("Value", self._parameters[1][()])

    def _beta(self, alpha: Doubles) -> Any:
        return _core.gaussian_beta(alpha, aligned(self._parameters[0], alpha))

    def _power(self, alpha: Doubles) -> Any:
        return _core.gaussian_power(alpha, aligned(self._parameters[0], alpha))

    def _log_power(self, log_alpha: Doubles) -> Any:
        return _core.gaussian_log_power(log_alpha, aligned(self._parameters[0], log_alpha))

    def _delta(self, epsilon: Doubles) -> Any:
        return _core.gaussian_delta(epsilon, aligned(self._parameters[0], epsilon))

    def _epsilon(self, delta: Doubles) -> Any:
        return _core.gaussian_epsilon(delta, aligned(self._parameters[0], delta))

    def _advantage(self) -> Any:
        return _core.gaussian_advantage(self._parameters[0])

    def _auc(self) -> Any:
        return _core.gaussian_auc(self._parameters[0])

    def _touch(self, epsilon: float) -> tuple[float, float]:
        mu = float(self._parameters[0])
        return float(norm.cdf(-epsilon / mu - 0.5 * mu)), float(norm.cdf(epsilon / mu - 0.5 * mu))


@of_numbers(GaussianTradeOff[float], GaussianTradeOff[Doubles])
def gaussian(
    mu: npt.ArrayLike | None = None, *, leakage: npt.ArrayLike | None = None
) -> GaussianTradeOff[Any]:
    """Return the trade-off curve of N(0, 1) against N(mu, 1), G_mu(alpha) = Phi(z_alpha - mu).

    It is the curve of a released mean whose target has leakage score m = mu^2, and that of the
    Gaussian mechanism. No test of the two laws does better: it is a guarantee against an attacker
    who knows everything except the membership.

    Parameters
    ----------
    mu : array_like, optional
        Distance of the means in standard deviations, in [0, inf]. At 0 the laws are equal; at inf
        a test distinguishes them without error: f is 0 everywhere, f(0) included.
    leakage : array_like, optional
        The leakage score, mu squared, in [0, inf]. Exactly one of the two must be given.

    Returns
    -------
    GaussianTradeOff
        Of the shape of the argument.

    Raises
    ------
    TypeError
        If not exactly one of `mu` and `leakage` is given, or it is not real.
    ValueError
        If the argument is negative or NaN.

    Notes
    -----
    power(alpha) = Phi(Phi^-1(alpha) + mu), advantage = erf(mu / sqrt 8), auc = Phi(mu / sqrt 2) and

    ``delta(epsilon) = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)``

    The last is evaluated as an integral of positive terms, phi(a) int exp(-a s - s^2/2)
    (1 - exp(-mu s)) ds with a = epsilon/mu - mu/2, which keeps its relative accuracy where the
    difference loses it; epsilon(delta) inverts it by Newton steps on its logarithm.

    References
    ----------
    Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024), equations 8 and 9. Their
    appendix C.4 restates the threshold with +m/2; it is -m/2, as in Corollary 3.2.

    Examples
    --------
    >>> f = gaussian(leakage=4.0)
    >>> f
    gaussian(mu=2.)
    >>> print(round(float(f.power(0.05)), 4), round(float(f.epsilon(1e-5)), 3))
    0.6388 9.997
    """
    if (mu is None) == (leakage is None):
        raise TypeError("gaussian() takes exactly one of mu and leakage")
    with np.errstate(over="ignore", under="ignore"):
        if leakage is None:
            distance = validation.interval("mu", mu, 0.0)
            score = distance * distance
        else:
            score = validation.interval("leakage", leakage, 0.0)
            distance = np.sqrt(score)
    return GaussianTradeOff((frozen(np.array(distance)), frozen(np.array(score))))


@of_numbers(GaussianTradeOff[float], GaussianTradeOff[Doubles])
def misspecified(m_targ: npt.ArrayLike, m_scal: npt.ArrayLike) -> GaussianTradeOff[Any]:
    """Return the trade-off curve of an attack on a released mean that has the wrong target.

    The attack computes `leakscore.scores.covariance_score` for a target z_targ, but another record
    z is a member or not. The scores have the laws N(-m_targ/2, m_targ) and N(m_scal - m_targ/2,
    m_targ): a Gaussian curve with mu = abs(m_scal) / sqrt(m_targ).

    Parameters
    ----------
    m_targ : array_like
        Leakage score of the attack's target, ``leakage_score(z_targ, ...)``; at least 0.
    m_scal : array_like
        ``leakscore.leakage.cross_leakage(z_targ, z, ...)``, of either sign; broadcast with
        `m_targ`. 0 where `m_targ` is.

    Returns
    -------
    GaussianTradeOff
        Of the broadcast shape, kind "attack" and adversary "misspecified": an attacker who knows z
        does better, with ``gaussian(leakage=m)``, m = leakage_score(z, ...). The curve's `leakage`
        is m_scal^2 / m_targ.

    Raises
    ------
    ValueError
        If `m_targ` is negative, or 0 where `m_scal` is not; if one of them is not finite, or they
        do not broadcast.

    Notes
    -----
    The advantage 2 Phi(abs(m_scal) / (2 sqrt m_targ)) - 1 is attained at the threshold
    (m_scal - m_targ)/2 of the score; where m_scal < 0 members have the lower scores, and the curve
    is that of an attacker who accuses below the threshold. The informed attacker's advantage less
    this one is never negative, because m_scal^2 <= m m_targ.

    References
    ----------
    Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024), theorem 4.5. In its
    proof (C.6) the variance is printed as that of the true target and the threshold as 0; at
    m_targ = 4 and m_scal = 2 that threshold has an advantage of .341 instead of .383.

    Examples
    --------
    >>> f = misspecified(4.0, [2.0, -2.0])
    >>> f.kind, f.advantage().round(4)
    ('attack', array([0.3829, 0.3829]))
    """
    leakage = validation.interval("m_targ", m_targ, 0.0, closed="left")
    shared = validation.interval("m_scal", m_scal, closed="neither")
    leakage, shared = validation.broadcast(m_targ=leakage, m_scal=shared)
    if ((leakage == 0.0) & (shared != 0.0)).any():
        bad = float(shared[(leakage == 0.0) & (shared != 0.0)].flat[0])
        raise ValueError(f"m_scal={bad!r} must be 0 where m_targ is")
    root = np.sqrt(leakage)
    with np.errstate(over="ignore"):
        mu = np.divide(np.abs(shared), root, out=np.zeros(leakage.shape), where=leakage > 0.0)
        score = mu * mu
    given = frozen(np.array(mu)), frozen(np.array(score))
    return GaussianTradeOff(given, "attack", "misspecified")


@of_numbers(float, Doubles)
def gdp_epsilon(delta: npt.ArrayLike, mu: npt.ArrayLike) -> float | Doubles:
    """Return epsilon(delta) of `gaussian`, elementwise in both arguments.

    Parameters
    ----------
    delta : array_like
        In [0, 1].
    mu : array_like
        In [0, inf]; broadcast against `delta`.

    Returns
    -------
    float or ndarray
        Of the broadcast shape; at least 0, and inf where no finite epsilon suffices.

    Raises
    ------
    ValueError
        If an argument is out of range or NaN, or the shapes do not broadcast.

    Examples
    --------
    >>> print(round(float(gdp_epsilon(1e-5, mu=1.0)), 4))
    4.3772
    """
    arguments = validation.broadcast(
        delta=validation.interval("delta", delta, 0.0, 1.0), mu=validation.interval("mu", mu, 0.0)
    )
    epsilon: float | Doubles = _core.gaussian_epsilon(*arguments)
    return epsilon


@of_numbers(TradeOff[float], TradeOff[Doubles])
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

    Where the laws nearly coincide, power less alpha and delta are integrals of positive terms, of
    e^t alpha(t) over the slopes beyond. Where n M exceeds 1e9 sqrt(d) and 1e5 d, S has the law of
    one coordinate with M + (d - 1)/(2n) for M. To 6 standard deviations deltas have a relative
    error of 1e-9 at most, of 1e-8 to 38. For n M beyond 1.6e60 the curve is the limit, at every
    rate that a double holds.

    Examples
    --------
    >>> f = gaussian_mean(100.0, 20, 100)
    >>> print(round(float(f.advantage()), 4), round(float(f.power(0.01)), 4))
    0.7485 0.4747
    """
    distance = validation.interval("squared_mahalanobis", squared_mahalanobis, 0.0, closed="left")
    records = validation.whole("n", n, 2, why=validation.ONE)
    dims = validation.whole("dim", dim, 1)
    ratio = validation.interval("noise_ratio", noise_ratio, 0.0, closed="left")
    distance, records, dims, ratio = validation.broadcast(
        squared_mahalanobis=distance, n=records, dim=dims, noise_ratio=ratio
    )
    with np.errstate(over="ignore"):
        records = np.minimum(records * (1.0 + ratio), np.finfo(np.float64).max)
        product = records * distance
    many = np.asarray(product > np.maximum(_MANY * np.sqrt(dims), _AHEAD * dims))

    def near(where: Any) -> TradeOff[Any]:
        given = np.array(where(distance, 0.0)), records, np.array(dims)
        return MeanTradeOff(given, premise=_REPLACED)

    def line(where: Any) -> TradeOff[Any]:
        return _in_a_line(where(distance, 1.0), records, dims)

    def beyond(where: Any) -> TradeOff[Any]:
        # Of H0 against H1, the order of the larger ratios; for many records both are alike.
        return gaussian(np.sqrt(where(distance, 0.0) / (records - 1.0)))._about(_REPLACED)

    far = np.asarray(product > LARGEST)
    return either(many, near, lambda _: either(far, line, beyond))  # type: ignore[no-any-return]


_REPLACED = Premise("replace")
_MANY, _AHEAD = 1e9, 1e5  # n M over sqrt(d) and over d, beyond which one coordinate has the law


class MeanTradeOff(Narrower):
    """H1 against H0, which accuses small S, or H0 against H1, which accuses large S.

    S has the law ncx2(n M) under H0; n/(n-1) S has the law ncx2((n-1) M) under H1.
    """

    __slots__ = ()
    _title = "gaussian_mean({}, n={}, dim={})"

    def _laws(self) -> tuple[Doubles, Doubles, Doubles]:
        distance, records, dims = self._parameters
        return dims, records * distance, np.asarray(1.0 / (records - 1.0))

    def _auc(self) -> Any:
        """Return the probability that S is smaller under H1: gx2 of both laws' difference."""
        result = np.empty(self.shape)
        for i in np.ndindex(self.shape):
            m, n, d = (parameter[i] for parameter in self._parameters)
            result[i] = gx2.cdf(0.0, [(n - 1.0) / n, -1.0], [d, d], [(n - 1.0) * m, n * m])
        return result[()]


def _in_a_line(distance: Doubles, records: Doubles, dims: Doubles) -> TradeOff[Any]:
    """Return the curve in one coordinate whose S has the variance of that in `dims`.

    Its skewness differs by d / (n M)^1.5. The mean is another, which either law's threshold moves
    with, but for the largest ratio.
    """
    scale = np.sqrt((records - 1.0) / records)
    shift = np.sqrt(distance + 0.5 * (dims - 1.0) / records) / np.sqrt(records)
    most = 0.5 * (distance - dims * np.log1p(-1.0 / records))
    given = _frozen(shift, scale, 1.0 / (records * (1.0 + scale)), most)
    return _Shifted(given, premise=_REPLACED)


_LARGEST = 1e50  # of the arguments: squares of what the inverse curve has are doubles
_CLOSE = 0.03  # delta over power, up to which their difference is integrated
_REACH = 10.0  # standard deviations
_FAR = 1e9  # standard deviations, where logs of rates have no digit of the other tail
_NARROW = 0.5  # half-width times (1 + centre), up to which the density is integrated
_SHARES, _WEIGHTS = gauss_panels(np.arange(16) / 16.0, np.full(16, 1.0 / 16.0), 10)
_ANGLES = np.polynomial.legendre.leggauss(96)


@of_numbers(TradeOff[float], TradeOff[Doubles])
def shifted_gaussian(shift: npt.ArrayLike, scale: npt.ArrayLike) -> TradeOff[Any]:
    """Return the trade-off curve of N(0, 1) against N(shift, scale^2).

    It is the curve of a record's score whose mean and spread both depend on the membership, in
    units of the spread without the record: the likelihood-ratio attack on one output of a model, if
    both laws are known and normal.

    Parameters
    ----------
    shift : array_like
        Difference of the means in standard deviations without the record, in [-1e50, 1e50].
    scale : array_like
        Standard deviation with the record over the one without it, in [1e-50, 1e50]; broadcast
        with `shift`.

    Returns
    -------
    TradeOff
        Of the broadcast shape; a guarantee against attackers who see no more than the score. At
        scale 1 it is ``gaussian(abs(shift))``, otherwise it is not symmetric.

    Raises
    ------
    ValueError
        If an argument is out of range or NaN, or they do not broadcast.

    Notes
    -----
    With d = shift and r = scale the log-likelihood ratio of z is A (z - z0)^2 + C,
    A = (1 - 1/r^2)/2, z0 = d/(1 - r^2) and C = -log r + d^2/(2 (1 - r^2)): the best test accuses
    abs(z - z0) < q if r < 1, the outside if r > 1. alpha is the probability of this interval, or
    of its complement, under N(0, 1), and the power is the one under N(d, r^2). Near r = 1 z0 is
    huge, and the interval is given by its end next to 0 beside its half-width q. epsilon(0) is
    max(0, C) forward for r < 1 and inf for r > 1. The inverse curve is
    ``shifted_gaussian(d/r, 1/r)``.

    References
    ----------
    Carlini et al., "Membership inference attacks from first principles" (S&P 2022): the score whose
    curve this is.

    Examples
    --------
    >>> f = shifted_gaussian(1.0, [0.5, 1.0, 2.0])
    >>> print(f.power(0.05).round(4), f.epsilon(0.0, direction="forward").round(4))
    [0.1925 0.2595 0.4021] [1.3598    inf    inf]
    """
    moved = np.abs(validation.interval("shift", shift, -_LARGEST, _LARGEST))
    spread = validation.interval("scale", scale, 1.0 / _LARGEST, _LARGEST)
    moved, spread = validation.broadcast(shift=moved, scale=spread)

    def uneven(where: Any) -> TradeOff[Any]:
        return _uneven(where(moved, 0.0), where(spread, 0.5))

    def even(where: Any) -> TradeOff[Any]:
        return gaussian(np.array(where(moved, 0.0)))

    return either(np.asarray(spread == 1.0), uneven, even)  # type: ignore[no-any-return]


def _uneven(shift: Doubles, scale: Doubles) -> TradeOff[Any]:
    def narrower(where: Any) -> TradeOff[Any]:
        scales = where(scale, 0.5)
        return _Shifted(_with_most(where(shift, 0.0), scales, 1.0 - scales))

    def wider(where: Any) -> TradeOff[Any]:
        scales = where(scale, 2.0)
        given = _with_most(where(shift, 0.0) / scales, 1.0 / scales, (scales - 1.0) / scales)
        return _Shifted(given, swapped=True)

    return either(np.asarray(scale > 1.0), narrower, wider)  # type: ignore[no-any-return]


def _frozen(*parameters: Doubles) -> tuple[Doubles, ...]:
    return tuple(frozen(np.array(parameter)) for parameter in parameters)


def _with_most(shift: Doubles, scale: Doubles, rest: Doubles) -> tuple[Doubles, ...]:
    """Append the largest log-likelihood ratio, at z0."""
    log_scale = np.where(rest < 0.5, np.log1p(-np.minimum(rest, 0.5)), np.log(scale))
    with np.errstate(divide="ignore", invalid="ignore"):  # of other curves' elements
        most = 0.5 * shift * (shift / (rest * (1.0 + scale))) - log_scale
    return _frozen(shift, scale, rest, most)


class _Distance(NamedTuple):
    """abs(z - c) of a c >= 0: less c, in which digits of tails are, and as it is."""

    less: Doubles
    size: Doubles


def _quantile(function: str, value: Doubles, centre: Doubles) -> _Distance:
    """Take the one tail's where the other has no digit of it; elsewhere c has few digits."""
    less: Doubles = getattr(norm, function)(value)
    with np.errstate(all="ignore"):
        least = np.minimum(norm.logcdf(less), norm.logsf(less))
        alone = norm.logsf(2.0 * centre + less) < least - 40.0
        alone |= less > _FAR
        near = np.sqrt(getattr(ncx2, function)(value, 1.0, np.minimum(centre, _FAR) ** 2))
        size = np.where(alone, centre + less, np.where(centre < _FAR, near, 0.0))
        return _Distance(np.where(alone, less, size - centre), size)


class _Folded:
    """The law of abs(z - c), z standard normal: minus its `less` is the near end of an interval."""

    @classmethod
    def logsf(cls, at: _Distance, centre: Doubles) -> Doubles:
        with np.errstate(divide="ignore", under="ignore"):
            tails = np.logaddexp(norm.logsf(at.less), norm.logsf(centre + at.size))
            within = cls.cdf(at, centre)
            return np.asarray(np.where(within < 0.5, np.log1p(-within), tails))

    @staticmethod
    def logcdf(at: _Distance, centre: Doubles) -> Doubles:
        less, size, centre = np.broadcast_arrays(*at, centre)
        further = norm.logsf(centre + size)
        with np.errstate(all="ignore"):
            within = norm.logcdf(less)
            gap = np.minimum(further - within, -2.0 * centre * size)  # a bound, if they round
            ahead = within + np.log1p(-np.exp(gap))
            across = np.log1p(-(norm.sf(less) + np.exp(further)))
            result = np.array(np.where(less < 0.0, ahead, across))
            narrow = size * (1.0 + centre) < _NARROW
            result[narrow] = _by_density(centre[narrow], size[narrow])
        return result

    @classmethod
    def sf(cls, at: _Distance, centre: Doubles) -> Doubles:
        with np.errstate(under="ignore"):
            return np.exp(cls.logsf(at, centre))

    @classmethod
    def cdf(cls, at: _Distance, centre: Doubles) -> Doubles:
        with np.errstate(under="ignore"):
            return np.exp(cls.logcdf(at, centre))

    ppf, isf = (staticmethod(partial(_quantile, name)) for name in ("ppf", "isf"))
    ilogcdf, ilogsf = (staticmethod(partial(_quantile, name)) for name in ("ilogcdf", "ilogsf"))


def _by_density(centre: Doubles, half: Doubles) -> Doubles:
    """Integrate phi(c + t) over abs(t) < h: 2 phi(c) h times a mean of cosh(c t) exp(-t^2/2)."""
    shares, weights = gauss_panels(np.zeros(1), np.ones(1), 10)
    t = half[..., np.newaxis] * shares
    mean = np.sum(weights * np.cosh(centre[..., np.newaxis] * t) * np.exp(-0.5 * t * t), axis=-1)
    return np.asarray(norm.logpdf(centre) + np.log(2.0 * half) + np.log(mean))


class _Shifted(OneStatistic):
    """Squared distance from z0 with the record, of a scale below 1, against without it."""

    __slots__ = ()
    _low = True
    _title = "shifted_gaussian(shift={}, scale={})"

    def __repr__(self) -> str:
        shift, scale, *_ = self._parameters
        given = (shift / scale, 1.0 / scale) if self._reversed else (shift, scale)
        return self._title.format(
            *(np.array2string(a, separator=", ", threshold=10) for a in given)
        )

    def _centre(self) -> Doubles:
        shift, scale, rest, _ = self._parameters
        return np.asarray(shift / (rest * (1.0 + scale)))

    def _hypothesis(self, member: bool, like: Doubles) -> tuple[Any, ...]:
        centre = self._centre() * (self._parameters[1] if member else 1.0)
        return _Folded, aligned(np.asarray(centre), like)

    def _moved(self, statistic: Any, like: Doubles) -> Any:
        d, r, *_ = self._beside(like)
        less, size = statistic
        if self._reversed:
            return _Distance(r * less - d, r * size)
        size, centre = size / r, self._hypothesis(True, like)[1]
        return _Distance(np.where(size + centre < d / r, size - centre, (less + d) / r), size)

    def _at_end(self, statistic: Any, like: Doubles) -> Flags:
        del like
        return np.asarray(statistic.size < 1e-140)

    def _most(self) -> Doubles:
        return self._parameters[3]

    def _cuts(self, ratio: Doubles, like: Doubles) -> Any:
        d, r, rest, _ = self._beside(like)
        gap = rest * (1.0 + r)  # of the squared scales
        centre, moved = self._hypothesis(False, like)[1], self._hypothesis(True, like)[1]
        with np.errstate(over="ignore"):
            log_scale = np.where(rest < 0.5, np.log1p(-np.minimum(rest, 0.5)), np.log(r))
            highest = 0.5 * d * centre - log_scale
            size = np.sqrt(np.maximum(highest - ratio, 0.0) * (2.0 / gap))
            level = -2.0 * (log_scale + ratio) / gap

        def at(size: Doubles, centre: Doubles, squares: Doubles) -> _Distance:
            usual = (size > 0.0) & np.isfinite(size) & (size + centre > 1.0)
            with np.errstate(invalid="ignore"):
                less = squares / np.where(usual, size + centre, 1.0)
            return _Distance(np.where(usual, less, size - centre), size)

        return at(r * size, centre, r * r * level - centre * d), at(size, moved, level + centre * d)

    def _profile(self, epsilon: Doubles, like: Doubles) -> tuple[Doubles, Doubles]:
        delta, rest = super()._profile(epsilon, like)
        cut, moved = self._cut(epsilon, like)
        close = (delta < _CLOSE * self._law(True, "sf", moved, like)) & (cut.size > 0.0)
        if close.any():
            _, r, bend, _ = self._beside(like)
            bend = 0.5 * bend * (1.0 + r) / (r * r if not self._reversed else 1.0)
            fields = *cut, self._hypothesis(self._reversed, like)[1], epsilon, bend, close
            less, size, *others = (field[close] for field in np.broadcast_arrays(*fields)[:-1])
            delta[close] = self._gained(_Distance(less, size), *others)
        return delta, rest

    def _gained(self, at: _Distance, centre: Doubles, epsilon: Doubles, bend: Doubles) -> Doubles:
        """Integrate phi(z) (ratio(z) - e^epsilon) over what is accused: no term is negative.

        At a distance u from an end the log of the ratio exceeds epsilon by bend u (2 q -+ u), in
        and out of the interval.
        """
        inside, (less, size) = not self._reversed, at
        total = np.zeros(less.shape)
        for start in (-less,) if inside else (less, centre + size):
            first = np.maximum(-_REACH - start, 0.0)
            last = np.minimum(_REACH, 45.0 / np.maximum(start, 1.0)) + np.maximum(-start, 0.0)
            last = np.minimum(last, 2.0 * size) if inside else last
            span = np.maximum(last - first, 0.0)[..., np.newaxis]
            u = first[..., np.newaxis] + _SHARES * span
            other = 2.0 * size[..., np.newaxis] + (-u if inside else u)
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                log_density = norm.logpdf(start[..., np.newaxis] + u) + epsilon[..., np.newaxis]
                term = np.exp(log_density) * np.expm1(bend[..., np.newaxis] * u * other)
            total += np.sum(_WEIGHTS * np.where(np.isfinite(term), term, 0.0), -1) * span[..., 0]
        return total

    def _symmetrized(self) -> TradeOff[Any]:
        wider: _Shifted = self._like(*self._parameters, swapped=True)
        return wider._mirrored()

    def _auc(self) -> Any:
        """Return P(U V > 0) of two normal variables.

        The squared distances from z0 of a draw of each law differ by the product of U = X0 - X1 and
        V = X0 + X1 - 2 z0, of correlation (1 - r^2)/(1 + r^2).
        """
        d, r, rest, _ = self._parameters
        size = np.hypot(1.0, r)
        h, k = -d / size, (d - 2.0 * self._centre()) / size
        angle = 2.0 * np.arctan(rest / (1.0 + r))
        total = np.zeros(d.shape)
        for node, weight in zip(*_ANGLES, strict=True):
            theta = 0.5 * (1.0 + node) * angle
            with np.errstate(over="ignore", under="ignore"):
                exponent = ((h - k * np.sin(theta)) / np.cos(theta)) ** 2 + k * k
                total += weight * np.exp(-0.5 * exponent)
        near = norm.cdf(h) * norm.cdf(k) + norm.sf(h) * norm.sf(k) + total * angle / (2.0 * np.pi)
        return near[()]
